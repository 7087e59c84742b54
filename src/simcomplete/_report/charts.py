"""Charts of a comparison: bars with standard deviations, and error against time."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from simcomplete._report.figures import CURVES, LIGHT, Theme, drawing, encode
from simcomplete._report.labels import place_labels

LONGEST = 3.0  # a bar of an error; longer ones are cut


def bars(rows: Sequence[dict[str, Any]], measure: str, title: str, theme: Theme = LIGHT) -> str:
    """Draw one bar per method with the standard deviation over runs, in the order of the rows.

    Examples
    --------
    >>> bars([{"method": "a", "error": 0.5, "error_spread": None}], "error", "error")[:22]
    'data:image/png;base64,'
    """
    good = [row for row in rows if row[measure] is not None]
    figure, axes = drawing(6.4, 0.9 + 0.32 * max(len(good), 1), theme)
    positions = np.arange(len(good))[::-1]
    spread = [row.get(f"{measure}_spread") or 0.0 for row in good]
    axes.barh(positions, [row[measure] for row in good], xerr=spread, color=CURVES[1][0], ecolor=theme.ink, height=0.65)
    if measure.startswith("error"):  # 1 is the error of the similarities over common features
        axes.axvline(1.0, color=CURVES[0][0], linewidth=1.2, linestyle="--")
        axes.set_xlim(0, min(max([1.1, *(row[measure] * 1.05 for row in good)]), LONGEST))
    axes.set_yticks(positions, [row["method"] for row in good])
    axes.set_xlabel(title)
    return encode(figure)


def error_against_time(rows: Sequence[dict[str, Any]], theme: Theme = LIGHT) -> str:
    """Draw every method as a point: seconds to the right, error upwards, both logarithmic.

    Examples
    --------
    >>> error_against_time([{"method": "a", "error": 0.5, "seconds": 0.1}])[:22]
    'data:image/png;base64,'
    """
    good = [row for row in rows if row["error"] and row["seconds"]]
    figure, axes = drawing(7.6, 5.2, theme)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.axhline(1.0, color=CURVES[0][0], linewidth=1.2, linestyle="--")
    axes.scatter([row["seconds"] for row in good], [row["error"] for row in good], color=CURVES[1][0], zorder=3)
    axes.set_xlabel("seconds")
    axes.set_ylabel("relative squared error")
    axes.margins(x=0.12, y=0.1)
    points = [(row["seconds"], row["error"]) for row in good]
    place_labels(figure, axes, points, [row["method"] for row in good], theme.ink)
    return encode(figure)
