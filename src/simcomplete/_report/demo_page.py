"""The demonstration as a page: what was done, the table, the spectrum, the errors, and some digits."""

from __future__ import annotations

from functools import partial
from html import escape
from pathlib import Path

import numpy as np

from simcomplete._report import figures, words
from simcomplete._report.demo import Demo
from simcomplete._report.neighbours import neighbours
from simcomplete._report.page import Section, figure, page, table, write
from simcomplete._report.results import HEAD, TEXT, cells
from simcomplete._version import __version__

# Rows of each kind in the error maps: enough for a pattern, few enough to see single entries.
SHOWN = 40

COLUMNS = {
    "rel. sq. error": "Squared distance to the truth over the whole matrix, divided by that of S0: below 1 "
    "is better than S0, above 1 is worse.",
    "recall@20%, recall@10": "Of a query's truly nearest 20 percent (or 10) of the candidates, the share "
    "found among as many by score; averaged over the queries.",
    "nDCG@20%": "The same with more weight on the first places.",
    "rank": "How many directions the completed matrix needs.",
    "valid": "Whether the result is a matrix of cosines in all five senses: equal to its transpose "
    "(symmetry); without negative eigenvalues (psd); 1 on the diagonal; entries from -1 to 1 (range); "
    "similarities among candidates, which are known, unchanged (candidates). If not, which of them fail.",
    "seconds": "For the completion alone, on this machine.",
}


def write_demo(demo: Demo, folder: Path) -> Path:
    """Write the page of a demonstration into a folder, and return its path."""
    path = folder / "index.html"
    write(path, render(demo))
    return path


def render(demo: Demo) -> str:
    """Write the demonstration as one HTML document."""
    lead = (
        f"<p>{demo.candidates} handwritten digits are complete: the candidates. {demo.queries} others, the "
        f"queries, have lost {demo.missing:.0%} of their pixels at random. How similar is each query to each "
        "candidate? Comparing only the pixels that two digits both have gives the overlap similarity S0; the "
        "methods below start from it. The truth S* is known here, because the pixels were only hidden.</p>"
    )
    sections = [
        Section("results", "Results", _results(demo)),
        Section("spectrum", "Spectrum before and after", _spectrum(demo)),
        Section("errors", "Where the errors are", _errors(demo)),
        Section("digits", "What is found for some queries", neighbours(demo)),
    ]
    command = (
        f"simcomplete demo --candidates {demo.candidates} --queries {demo.queries} "
        f"--missing {demo.missing:g} --seed {demo.seed}"
    )
    foot = (
        f"<p>simcomplete {escape(__version__)}. These results, except the seconds, come again from "
        f"<code>{escape(command)}</code>. The digits are scikit-learn's bundled ones.</p>"
    )
    return page("simcomplete: digits with missing pixels", lead, sections, foot)


def _results(demo: Demo) -> str:
    about = "One row per method. The truth itself would have error 0, recall 1 and nDCG 1."
    told = "\n".join(f"<li>{escape(sentence)}</li>" for sentence in words.summary(demo.rows, demo.featured))
    explained = "\n".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in COLUMNS.items())
    return (
        f"{table(about, HEAD, [cells(row) for row in demo.rows], TEXT)}\n"
        f"<details><summary>What the columns mean</summary>\n<dl>\n{explained}\n</dl></details>\n"
        f"<h3>In plain words</h3>\n<ul>\n{told}\n</ul>"
    )


def _spectrum(demo: Demo) -> str:
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
    return figure(partial(figures.spectrum, spectra), alt, caption)


def _errors(demo: Demo) -> str:
    n = demo.candidates + demo.queries
    first = np.unique(np.linspace(0, demo.candidates - 1, SHOWN).astype(int))
    rows = np.concatenate([first, np.unique(np.linspace(demo.candidates, n - 1, SHOWN).astype(int))])
    block = np.ix_(rows, rows)
    maps = {
        "|S0 - S*|": np.abs(demo.before - demo.truth)[block],
        f"|{demo.featured} - S*|": np.abs(demo.after - demo.truth)[block],
    }
    means = " and ".join(f"{values.mean():.3f} for {title}" for title, values in maps.items())
    caption = (
        f"Absolute errors of {len(first)} candidates and {len(rows) - len(first)} queries, evenly spaced, on "
        "the same colours; the brightest stands for anything above the bar. "
        f"Mean over the shown entries: {means}."
    )
    alt = f"Two heat maps of absolute errors with lines between candidates and queries; means {means}."
    return figure(lambda theme: figures.error_maps(maps, len(first), theme), alt, caption)
