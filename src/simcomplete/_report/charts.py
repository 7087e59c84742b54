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
        ends = [row[measure] + either for row, either in zip(good, spread, strict=True)]
        axes.set_xlim(0, min(1.05 * max([1.05, *ends]), LONGEST))
    axes.set_yticks(positions, [row["method"] for row in good])
    axes.set_xlabel(title)
    return encode(figure)


def _minor(x: float, position: int) -> str:
    """Return the label of a tick between two powers of ten; some have none, for lack of space.

    Examples
    --------
    >>> _minor(0.5, 0), _minor(0.6, 0)
    ('0.5', '')
    """
    return f"{x:g}" if f"{x:e}"[0] in "235" else ""


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
    for axis in (axes.xaxis, axes.yaxis):  # 0.5 is easier to read than 5 x 10^-1
        axis.set_major_formatter("{x:g}")
    axes.yaxis.set_minor_formatter(_minor)
    axes.axhline(1.0, color=CURVES[0][0], linewidth=1.2, linestyle="--")
    axes.scatter([row["seconds"] for row in good], [row["error"] for row in good], color=CURVES[1][0], zorder=3)
    axes.set_xlabel("seconds")
    axes.set_ylabel("relative squared error")
    axes.margins(x=0.12, y=0.1)
    points = [(row["seconds"], row["error"]) for row in good]
    place_labels(figure, axes, points, [row["method"] for row in good], theme.ink)
    return encode(figure)
