"""Labels of points in a chart, placed so that none covers another or a point."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from simcomplete.errors import optional

Box = tuple[float, float, float, float]
# Where a label may be, as angles around its point: to the right first, then above and below, then to the left.
ANGLES = (20, -20, 60, -60, 90, -90, 120, -120, 160, -160, 0, 180)
DISTANCES = (7, 16, 28, 42, 58, 76)  # in points; from the second on a line leads to the label
MARKER = 5.0  # half the side of the square that a point takes
PADDING = 1.5


def place_labels(
    figure: Any, axes: Any, points: Sequence[tuple[float, float]], names: Sequence[str], ink: str
) -> list[Any]:
    """Write a name beside every point, away from other names and points, inside the axes.

    Parameters
    ----------
    figure, axes : matplotlib figure and axes
        With everything else drawn already: what is drawn later may move.
    points, names : sequences
        Positions in the units of the data, and what to write beside them.
    ink : str
        The colour.

    Returns
    -------
    list of matplotlib annotations
        In the order of the points.
    """
    canvas = optional("matplotlib.backends.backend_agg", extra="cli", purpose="drawing figures").FigureCanvasAgg(figure)
    canvas.draw()  # the layout decides where points are
    figure.set_layout_engine("none")  # and must not change any more
    renderer, scale = canvas.get_renderer(), figure.dpi / 72
    pixels = [(float(x), float(y)) for x, y in map(axes.transData.transform, points)]
    frame = axes.get_window_extent(renderer)
    inside: Box = (frame.x0, frame.y0, frame.x1, frame.y1)
    markers = [(x - MARKER * scale, y - MARKER * scale, x + MARKER * scale, y + MARKER * scale) for x, y in pixels]
    taken: list[Box] = []
    written = []
    for i, (name, point) in enumerate(zip(names, points, strict=True)):
        text = axes.annotate(name, point, (0, 0), textcoords="offset points", color=ink, fontsize=9)
        text.set_bbox({"facecolor": axes.get_facecolor(), "edgecolor": "none", "pad": 0.5})  # lines do not cross it
        extent = text.get_window_extent(renderer)
        size = (extent.width, extent.height)
        others = [*taken, *(box for j, box in enumerate(markers) if j != i)]
        offset, box = _free_place(pixels[i], size, others, inside, scale)
        text.set_position((offset[0] / scale, offset[1] / scale))
        if math.hypot(*_nearest(pixels[i], box)) > 7 * scale:
            x, y = _nearest(pixels[i], box)
            end = axes.transData.inverted().transform((pixels[i][0] + x, pixels[i][1] + y))
            axes.plot([point[0], end[0]], [point[1], end[1]], color=ink, linewidth=0.5, alpha=0.6, zorder=1)
        taken.append(box)
        written.append(text)
    return written


def _free_place(
    point: tuple[float, float], size: tuple[float, float], others: Sequence[Box], inside: Box, scale: float
) -> tuple[tuple[float, float], Box]:
    """Return the first place that covers nothing, or the one that covers least: its offset from the point, its box."""
    best: tuple[float, tuple[float, float], Box] | None = None
    for distance in DISTANCES:
        for angle in ANGLES:
            x, y = (distance * scale * f(math.radians(angle)) for f in (math.cos, math.sin))
            # The label grows away from the point.
            left = x if x > 1e-9 else x - size[0] if abs(angle) > 90 else x - size[0] / 2
            low = y - size[1] / 2
            corner = (point[0] + left, point[1] + low)
            box = (
                corner[0] - PADDING * scale,
                corner[1] - PADDING * scale,
                corner[0] + size[0] + PADDING * scale,
                corner[1] + size[1] + PADDING * scale,
            )
            outside = (box[2] - box[0]) * (box[3] - box[1]) - overlap_area(box, inside)
            covered = outside + sum(overlap_area(box, other) for other in others)
            if best is None or covered < best[0]:
                best = covered, (left, low), box
            if covered <= 1e-6:
                return (left, low), box
    assert best is not None
    return best[1], best[2]


def overlap_area(one: Box, other: Box) -> float:
    """Return the area that two boxes (left, low, right, high) share.

    Examples
    --------
    >>> overlap_area((0, 0, 2, 2), (1, 1, 3, 3)), overlap_area((0, 0, 1, 1), (2, 2, 3, 3))
    (1, 0)
    """
    width = min(one[2], other[2]) - max(one[0], other[0])
    height = min(one[3], other[3]) - max(one[1], other[1])
    return max(width, 0) * max(height, 0)


def _nearest(point: tuple[float, float], box: Box) -> tuple[float, float]:
    """Return the way from a point to the nearest point of a box."""
    x = min(max(point[0], box[0]), box[2]) - point[0]
    y = min(max(point[1], box[1]), box[3]) - point[1]
    return x, y
