"""Plots of a result: its spectrum, similarities, neighbours and intervals.

Each function draws on `ax`, or on a new figure, and returns the axes. matplotlib is imported when a plot is drawn. Of a
large result an evenly spaced sample of rows is drawn, and the title says so; the whole matrix is never computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.matrix import Selection
from simcomplete._result.rows import positions_of
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError, optional

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

MOST_DRAWN = 400  # rows and columns of a picture of similarities
MOST_NAMED = 30  # labels that can be read beside a picture
MOST_EIGEN = 2000  # rows of a sample whose eigenvalues are computed, where there is no factor
LONGEST_LABEL = 24


def plot(done: Completion, ax: Any = None) -> Any:
    """Draw the similarities of queries with candidates; see `plot_similarity`."""
    return plot_similarity(done, "queries", "candidates", ax=ax)


def plot_similarity(done: Completion, rows: Any = None, cols: Any = None, *, ax: Any = None) -> Any:
    """Draw similarities as an image.

    Parameters
    ----------
    rows, cols : {"candidates", "queries"}, positions, labels or pair, optional
        Which rows and columns, as in `similarity`; all when left out. Of more than 400, 400 evenly spaced are drawn.
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib axes
    """
    axes = _axes(ax, (6.4, 5.2))
    which = [positions_of(done._resolve(some, name)) for some, name in ((rows, "rows"), (cols, "cols"))]
    drawn = [_some(positions) for positions in which]
    S = to_numpy(done.similarity(*drawn))
    widest = max(1.0, float(np.nanmax(np.abs(S), initial=0.0)))
    least = float(np.nanmin(S, initial=1.0))
    # The colours are symmetric around 0 if there are similarities of both signs; else they cover the range.
    low, colours = (-widest, "RdBu_r") if least < 0 else (np.floor(10 * least) / 10, "viridis")
    image = axes.imshow(S, vmin=low, vmax=widest, cmap=colours, aspect="auto")
    axes.figure.colorbar(image, ax=axes, label=_measure(done))
    for axis, positions, all_of_them in ((axes.yaxis, drawn[0], which[0]), (axes.xaxis, drawn[1], which[1])):
        axis.set_label_text(_group(done, all_of_them))
        if len(positions) <= MOST_NAMED:
            axis.set_ticks(range(len(positions)), [_name(done, row) for row in positions])
        else:
            axis.get_major_locator().set_params(integer=True)
            axis.set_major_formatter(_numbers(done, positions))
    if len(drawn[1]) <= MOST_NAMED:
        axes.tick_params(axis="x", labelrotation=90)
    said = " x ".join(
        f"{len(some)} of {len(every)}" if len(some) < len(every) else f"{len(every)}"
        for some, every in zip(drawn, which, strict=True)
    )
    axes.set_title(f"completed similarities, {said} ({done.method})")
    return axes


def plot_spectrum(done: Completion, *, ax: Any = None) -> Any:
    """Draw the eigenvalues of the completed matrix, largest first, on a logarithmic scale.

    Parameters
    ----------
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib axes
        Of a factor all eigenvalues of its product; of a dense matrix above 2000 rows, those of a sample of the rows.
    """
    axes = _axes(ax, (6.4, 4.0))
    S, note = done.matrix, ""
    if S.factor is not None and S.bounds is None and int(S.factor.shape[1]) <= done.n:
        values = to_numpy(S.factor_eigenvalues())
    else:
        sample = _some(np.arange(done.n), MOST_EIGEN)
        note = f" of {len(sample)} of {done.n} rows" if len(sample) < done.n else ""
        values = np.linalg.eigvalsh(to_numpy(S.block(sample, sample)).astype(np.float64))
    size = np.sort(np.abs(values))[::-1]
    order = np.argsort(-np.abs(values), kind="stable")
    kept = size > done.n * np.finfo(np.float64).eps * size.max(initial=0.0)
    place, negative = np.arange(1, len(size) + 1), values[order] < 0
    for some, mark, label in ((kept & ~negative, "o", "positive"), (kept & negative, "x", "negative, in magnitude")):
        if some.any():
            axes.semilogy(place[some], size[some], mark, markersize=4, label=label)
    if (kept & negative).any():
        axes.legend(frameon=False)
    axes.set(
        xlabel="eigenvalue, largest first",
        ylabel="magnitude",
        title=f"spectrum{note}: rank {int(kept.sum())} ({done.method})",
    )
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.grid(True, axis="y", alpha=0.3)
    return axes


def plot_neighbours(done: Completion, row: Any = None, k: int = 10, *, level: float = 0.9, ax: Any = None) -> Any:
    """Draw the nearest candidates of one row, with intervals where the result has them.

    Parameters
    ----------
    row : position, label or pair, optional
        The row; the first query that has neighbours when left out.
    k : int
        How many neighbours.
    level : float
        Of the intervals.
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib axes
    """
    if row is None:
        queries = positions_of(done._resolve("queries", "rows"))
        seen = queries if done.unobserved is None else np.setdiff1d(queries, done.unobserved)
        row = int(seen[0]) if len(seen) else None
    found = done.search(k, row, progress=False)
    table = found.columns(level)
    if len(found.ids) != 1 or not len(table["rank"]):
        why = f"{len(found.ids)} are named" if len(found.ids) != 1 else "nothing is observed of this one"
        raise InputError(f"row={row!r} must be one row that has neighbours, and {why}; choose another")
    axes = _axes(ax, (6.4, 0.9 + 0.32 * max(len(table["rank"]), 3)))
    at, score, scale = np.arange(len(table["rank"])), table["score"], _measure(done)
    if "low" in table:
        axes.errorbar(score, at, xerr=[score - table["low"], table["high"] - score], fmt="o", capsize=3)
        scale += f", with {level:.0%} intervals"
    else:
        axes.plot(score, at, "o")
    axes.set_yticks(at, [_short(name) for name in table["candidate"]])
    axes.invert_yaxis()
    who = _short(table["query"][0])
    who = who if done.labels is not None else f"{_group(done, positions_of(done._resolve(row, 'rows')))} {who}"
    axes.set(xlabel=scale, ylabel="candidate", title=f"nearest candidates of {who} ({done.method})")
    axes.grid(True, axis="x", alpha=0.3)
    return axes


def plot_intervals(done: Completion, rows: Any = None, *, level: float = 0.9, ax: Any = None) -> Any:
    """Draw the median width of the intervals of each row over its confidence.

    Rows of which nothing was observed are left out; their intervals are [-1, 1].

    Parameters
    ----------
    rows : optional
        As in `interval`: the queries when left out. Of more than 400, 400 evenly spaced are drawn.
    level : float
        Of the intervals.
    ax : matplotlib axes, optional
        Where to draw; a new figure unless given.

    Returns
    -------
    matplotlib axes
    """
    chosen = positions_of(done._resolve("queries" if rows is None else rows, "rows"))
    if done.unobserved is not None:
        chosen = chosen[~np.isin(chosen, done.unobserved)]
    first = done.n - done.n_queries
    if len(chosen) and chosen.min() < first:
        raise InputError("candidates are complete, and their similarities exact: give queries as rows")
    drawn = _some(chosen[np.argsort(done.confidence[chosen - first], kind="stable")])
    cols = _some(np.arange(done.n_candidates))
    low, high = (to_numpy(side) for side in done.interval(level, ("queries", drawn - first), cols))
    axes = _axes(ax, (6.4, 4.0))
    middle = np.median(high - low, axis=1)
    axes.plot(done.confidence[drawn - first], middle, "o", markersize=4, alpha=0.6)
    note = f", {len(drawn)} of {len(chosen)} rows" if len(drawn) < len(chosen) else f", {len(drawn)} rows"
    axes.set(
        xlabel="confidence of the row, 0 (nothing is known) to 1 (everything is)",
        ylabel=f"width of its {level:.0%} intervals (median)",
        title=f"intervals{note} ({done.method})",
    )
    axes.set_ylim(bottom=0.0)
    axes.grid(True, alpha=0.3)
    return axes


def _axes(ax: Any, size: tuple[float, float]) -> Any:
    """Return the axes to draw on: the given ones, or new ones."""
    if ax is not None:
        return ax
    pyplot = optional("matplotlib.pyplot", extra="plots", purpose="drawing a result")
    return pyplot.subplots(figsize=size, layout="constrained")[1]


def _some(positions: Selection | NDArray[np.int64], most: int = MOST_DRAWN) -> NDArray[np.int64]:
    """Return at most `most` of the positions, evenly spaced."""
    every = positions_of(positions)
    return every if len(every) <= most else every[np.linspace(0, len(every) - 1, most).round().astype(np.int64)]


def _measure(done: Completion) -> str:
    return {"pearson": "correlation", "cosine": "similarity (cosine)"}.get(done.params.get("metric", ""), "similarity")


def _group(done: Completion, positions: NDArray[np.int64]) -> str:
    """Return what some rows are, in one word."""
    if done.all_rows_are_queries or not len(positions):
        return "row"
    if positions.max() < done.n_candidates:
        return "candidate"
    return "query" if positions.min() >= done.n_candidates else "row: candidates, then queries"


def _numbers(done: Completion, positions: NDArray[np.int64]) -> Any:
    """What matplotlib writes at a place of an image with a row of its own for each of these positions."""
    first = done.n - done.n_queries

    def number(place: float, _: Any) -> str:
        i = round(place)
        if not 0 <= i < len(positions):
            return ""
        row = int(positions[i])
        return str(row - first if positions.min() >= done.n_candidates else row)

    return number


def _name(done: Completion, row: int) -> str:
    first = done.n - done.n_queries
    return _short(done.labels[row] if done.labels is not None else row - first if row >= done.n_candidates else row)


def _short(name: Any) -> str:
    """A label that fits beside a picture, and that matplotlib does not read as mathematics."""
    text = str(name).replace("$", r"\$")
    return text if len(text) <= LONGEST_LABEL else text[: LONGEST_LABEL - 3] + "..."
