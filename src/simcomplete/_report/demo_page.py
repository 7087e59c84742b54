"""The demonstration as a page: the table, the spectrum, the errors, and the nearest candidates of some queries."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np

from simcomplete._report import figures
from simcomplete._report.demo import Demo
from simcomplete._report.figures import HIDDEN
from simcomplete._report.neighbours import first_queries, n_true
from simcomplete._report.page import ThemedFigure, render_page, themed, write_page
from simcomplete._report.results import COLUMN_MEANINGS, HEAD, TEXT, cells
from simcomplete._report.sentences import summary_sentences

# Candidates and queries in the error maps: few enough to see single entries.
MAP_ROWS = 40


def write_demo(demo: Demo, folder: Path) -> Path:
    """Write the page of a demonstration into a folder, and return its path."""
    path = folder / "index.html"
    write_page(path, render_demo(demo))
    return path


def render_demo(demo: Demo) -> str:
    """Write the demonstration as one HTML document."""
    command = (
        f"simcomplete demo --candidates {demo.candidates} --queries {demo.queries} "
        f"--missing {demo.missing:g} --seed {demo.seed}"
    )
    context = {
        "demo": demo,
        "command": command,
        "head": HEAD,
        "rows": [cells(row) for row in demo.rows],
        "words": TEXT,
        "columns": {name: COLUMN_MEANINGS[name] for name in HEAD[1:]},
        "summary": summary_sentences(demo.rows, demo.featured),
        "spectrum": _spectrum(demo),
        "errors": _errors(demo),
        "queries": first_queries(demo),
        "n_true": n_true(demo),
        "hidden_colour": HIDDEN,
    }
    return render_page("demo.html", context)


def _spectrum(demo: Demo) -> ThemedFigure:
    before, after, truth = (np.linalg.eigvalsh(S) for S in (demo.before, demo.after, demo.truth))
    spectra = {"S0, overlap similarity": before, f"after {demo.featured}": after, "S*, the truth": truth}
    small = 1e-9 * before.max()
    negative = [int((values < -small).sum()) for values in (before, after)]
    caption = (
        f"Of the {len(before)} eigenvalues of S0, {negative[0]} are negative (the lowest "
        f"is {before.min():.3g}); after {demo.featured}, {negative[1]} are. The scale is logarithmic "
        "above 0.1 and below -0.1, and linear between."
    )
    alt = (
        f"Curves of falling eigenvalues: S0 from {before.max():.3g} down to {before.min():.3g}, "
        f"{demo.featured} from {after.max():.3g} down to {after.min():.1f}, the truth from "
        f"{truth.max():.3g} down to {truth.min():.1f}."
    )
    return themed(partial(figures.spectrum, spectra), alt, caption)


def _errors(demo: Demo) -> ThemedFigure:
    n = demo.candidates + demo.queries
    first = np.unique(np.linspace(0, demo.candidates - 1, MAP_ROWS).astype(int))
    rows = np.concatenate([first, np.unique(np.linspace(demo.candidates, n - 1, MAP_ROWS).astype(int))])
    block = np.ix_(rows, rows)
    maps = {
        "|S0 - S*|": np.abs(demo.before - demo.truth)[block],
        f"|{demo.featured} - S*|": np.abs(demo.after - demo.truth)[block],
    }
    means = " and ".join(f"{values.mean():.3f} for {title}" for title, values in maps.items())
    caption = (
        f"Absolute errors of {len(first)} candidates and {len(rows) - len(first)} queries, evenly spaced, on "
        "the same scale of colours; values above the scale have its brightest colour. "
        f"Mean over the shown entries: {means}."
    )
    alt = f"Two heat maps of absolute errors with lines between candidates and queries; means {means}."
    return themed(lambda theme: figures.error_maps(maps, len(first), theme), alt, caption)
