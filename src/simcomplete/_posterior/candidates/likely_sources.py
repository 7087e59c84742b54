"""Likely sources of queries that may be copies: how far neighbours are, and vectors that are moved towards sources.

A vector is averaged with its likely sources, and moved to rank the likeliest first.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Solve
from simcomplete._rows.budget import row_blocks
from simcomplete._types import Mask, Matrix

SOURCES = 8  # likeliest candidates that enter a vector
WIDTHS = np.geomspace(0.01, 0.5, 10)
LARGEST = 0.25  # squared distance that a copy's own uncertainty grows to
LEAST_LIFT = 0.1  # weight of a source from which it is worth to rank it first
MOST_LIFT = 0.8  # part of that weight that may be used: more would cost fresh rows too much
MOST_MOVED = 0.95  # part of a vector that its source may replace where it is ranked first in any case
LITTLE_MORE = 1.2  # than is needed to be ranked before the neighbours: others may be ahead, too
SAME = 1 - 1e-9  # cosine of candidates that cannot be told apart
LEAST_APART = 0.05  # part of the change that must not be shared by another candidate
A_LITTLE_MORE = 1.02  # than makes candidates equal
AT_A_TIME = 2**22  # bytes of neighbours
LONGEST = 1 - 1e-9  # vector of a row that is not complete
APART = 10  # distances that tell a copy: to the best and nine others
FEW_COLUMNS = 16  # of them so many times fewer than there are


class Agreement(NamedTuple):
    """Neighbours of rows in the order of their distances.

    Attributes
    ----------
    distances : array of shape (rows, k)
        Mean squared differences in units of each feature's variance, rising; inf where a row has fewer neighbours.
    places : array of int, shape (rows, k)
        Which rows these are, in the same order.
    apart : array of shape (rows, 10)
        The first of the distances, then those of candidates that are not the same as the first.
    """

    distances: Matrix
    places: NDArray[np.int64]
    apart: Matrix

    @classmethod
    def of(cls, distances: Matrix, places: NDArray[np.int64], rows: Matrix) -> Agreement:
        """Sort neighbours, given as places in `rows`, by distance; equal distances stay in order.

        Examples
        --------
        >>> rows = np.array([[1.0], [2.0], [1.0]])
        >>> near = Agreement.of(np.array([[0.5, 9.0, 0.5]]), np.array([[0, 1, 2]]), rows)
        >>> near.places, near.apart[0, :3]
        (array([[0, 2, 1]]), array([0.5, 9. , 9. ]))
        """
        order = np.argsort(distances, axis=1, kind="stable")
        e, places = np.take_along_axis(distances, order, axis=1), np.take_along_axis(places, order, axis=1)
        count = np.isfinite(e).sum(axis=1)
        others = np.minimum(np.arange(1, APART), np.maximum(count - 1, 0)[:, None])
        for row in np.flatnonzero(e[:, 1] == e[:, 0]) if e.shape[1] > 1 else ():  # only these can be twins
            alike = int(np.searchsorted(e[row], e[row, 0], side="right"))
            twin = np.zeros(count[row], dtype=bool)
            twin[:alike] = (rows[places[row, :alike]] == rows[places[row, 0]]).all(axis=1)[: count[row]]
            left = np.flatnonzero(~twin)
            left = left if len(left) else np.maximum(count[row : row + 1] - 1, 0)
            others[row] = left[np.minimum(np.arange(APART - 1), len(left) - 1)]
        return cls(e, places, np.column_stack([e[:, 0], np.take_along_axis(e, others, axis=1)]))

    def some(self, rows: NDArray[np.int64]) -> Agreement:
        """Those of some rows."""
        return Agreement(self.distances[rows], self.places[rows], self.apart[rows])


def mean_squared_gaps(
    values: Matrix, observed: Mask, places: NDArray[np.int64], rows: Matrix, deviations: Matrix
) -> Matrix:
    """Mean squared differences, in deviations, of rows and some others each (places in `rows`) over what is observed.

    Examples
    --------
    >>> q, seen, rows = np.array([[1.0, 5.0]]), np.array([[True, False]]), np.array([[1.0, 2.0], [3.0, 5.0]])
    >>> mean_squared_gaps(q, seen, np.array([[0, 1]]), rows, np.ones(2))
    array([[0., 4.]])
    """
    out, alone = np.zeros(places.shape), len(places) == 1  # one row: only what it reads is divided
    divided, values = rows if alone else rows / deviations, values / deviations
    for seen, others, own, gaps in zip(observed, places, values, out, strict=True):
        if len(o := seen.nonzero()[0]):
            near = part_of(divided, others, o)
            gap = (near / deviations.take(o) if alone else near) - own.take(o)
            np.vecdot(gap, gap, out=gaps)
    out /= np.maximum(observed.sum(axis=1), 1)[:, None]
    return out


def part_of(rows: Matrix, some: NDArray[np.int64], columns: NDArray[np.int64]) -> Matrix:
    """rows[some][:, columns], which whole rows first are faster for unless most of them is not needed."""
    few = FEW_COLUMNS * len(columns) < rows.shape[1]
    return rows[some[:, None], columns] if few else rows.take(some, axis=0).take(columns, axis=1)


def length_of_incomplete(u: Matrix) -> Matrix:
    """Lengths of vectors of incomplete rows: below 1, which is that of complete ones, also where rounding says 1."""
    return np.asarray(np.minimum(np.sqrt(np.sum(u**2, axis=-1)), LONGEST))


def mixed(
    u: Matrix, p: Matrix, distances: Matrix, places: NDArray[np.int64], rows: Matrix, observed: Mask, tail: float
) -> Matrix:
    """Vectors of rows that are copies with probability p: between their own and those of the likeliest sources.

    Mass on sources beyond the likeliest goes back to the row's own vector.

    Parameters
    ----------
    u, p : array of shape (rows, d), array of shape (rows,)
        The vectors as they are, and the probabilities.
    distances, places : array of shape (rows, k)
        To each row's neighbours, rising, and which of `rows` these are; see `Agreement`.
    rows, observed : array
        Neighbours, and what is seen of the rows.
    tail : float
        Sum of the features' variances.
    """
    count = observed.sum(axis=1)[:, None]
    slope = count / (2 * WIDTHS**2)
    log = -count * np.log(WIDTHS) - slope * distances[:, :1]  # of the first candidate, (rows, widths)
    log = (log - log.max(axis=1, keepdims=True))[:, :, None] - slope[:, :, None] * (
        (distances - distances[:, :1])[:, None, :]
    )
    w = np.exp(log, out=log).sum(axis=1)
    w = (w / w.sum(axis=1, keepdims=True))[:, :SOURCES]
    sources = rows[places[:, :SOURCES]]
    size = np.sqrt(np.sum(sources**2, axis=2))
    size = np.where(size > 1e-100, size, 1.0)  # zero rows point nowhere
    beta = size / np.hypot(size, np.sqrt(np.minimum(distances[:, :1], LARGEST) * tail))
    copy = ((w * beta / size)[:, None, :] @ sources)[:, 0]
    return np.asarray((1 - p * w.sum(axis=1))[:, None] * u + p[:, None] * copy)


def lift_likely(
    u: Matrix, length: Matrix, unit: Matrix, places: NDArray[np.int64], first: NDArray[np.int64], weight: Matrix
) -> tuple[Matrix, Matrix]:
    """Vectors that may be moved towards their likeliest source, and their lengths; see `lifted`.

    Parameters
    ----------
    u, length : array of shape (rows, d), array of shape (rows,)
        The vectors and their lengths as they are.
    unit : array of shape (m, d)
        Unit rows of neighbours.
    places, first : array of int, shape (rows, k), array of int, shape (rows,)
        Which of them are each row's neighbours, and which is its likeliest source.
    weight : array of shape (rows,)
        How likely the source is one, which bounds how far a vector is moved.
    """
    out, sizes = u.copy(), length.copy()
    for some in row_blocks(len(u), 8 * places.shape[1] * u.shape[1], AT_A_TIME):
        out[some] = lifted(u[some], unit[first[some]], unit[places[some]], MOST_LIFT * weight[some], LITTLE_MORE)
    moved = np.flatnonzero((out != u).any(axis=1))
    sizes[moved] = length_of_incomplete(out[moved])
    return out, sizes


def ranked_first(u: Matrix, length: float, source: Matrix, neighbours: Matrix, solve: Solve) -> tuple[Matrix, float]:
    """A vector that ranks a source first in any case, and its length.

    Parameters
    ----------
    u, length : array of shape (d,), float
        The vector and its length as they are.
    source, neighbours : array of shape (d,), array of shape (k, d)
        Unit rows of the likeliest source and of the row's neighbours, itself among them.
    solve : callable
        B -> G^-1 B, see `raised_alone`.
    """
    raised = raised_alone(u, source, neighbours, solve)
    if raised is not None:
        return raised, length  # no more is known of the row than before: its length stays
    (moved,) = lifted(u[None], source[None], neighbours[None], np.array([MOST_MOVED]), LITTLE_MORE)
    return moved, float(length_of_incomplete(moved))


def lifted(u: Matrix, source: Matrix, neighbours: Matrix, most: Matrix, margin: float = 1.0) -> Matrix:
    """Vectors that are moved towards their likeliest source as far as ranks it first.

    It is ranked first by the smallest weight w for which (1 - w) u.s + w >= (1 - w) u.p + w s.p for all neighbours p.
    Where that is more than `most`, a vector stays as it is; else the odds w / (1 - w) are `margin` times as large.

    Parameters
    ----------
    u, source : array of shape (rows, d)
        Vectors and unit rows.
    neighbours : array of shape (rows, k, d)
        Unit rows.
    most : array of shape (rows,)
        Weights.
    margin : float
        At least 1.

    Examples
    --------
    >>> u, source, other = np.array([[0.1, 0.4]]), np.array([[1.0, 0.0]]), np.array([0.0, 1.0])
    >>> (found,) = lifted(u, source, np.stack([source[0], other])[None], np.array([0.5]))
    >>> bool(np.isclose(found @ source[0], found @ other))
    True
    """
    with_u, with_source = np.moveaxis(neighbours @ np.stack([u, source], axis=2), 2, 0)
    ahead = with_u - np.sum(u * source, axis=1)[:, None]
    rivals = (ahead > 0) & (with_source < SAME)
    odds = np.max(np.where(rivals, ahead, 0.0) / np.where(rivals, 1 - with_source, 1.0), axis=1)
    w = np.minimum(margin * odds / (1 + margin * odds), most)
    w = np.where(odds / (1 + odds) > most, 0.0, w)[:, None]
    return np.asarray((1 - w) * u + w * source)


def raised_alone(u: Matrix, source: Matrix, neighbours: Matrix, solve: Solve) -> Matrix | None:
    """A vector whose similarity with one candidate is as large as any can be, and others have changed least.

    No unit row has a larger product with u than |u|. Of all changes v that add 1 to the product with the source s, the
    one that changes those with all candidates least is v = G^-1 s / s.G^-1 s, G the mean of p p^T over candidates p:
    it minimises v.G v.

    Parameters
    ----------
    u, source : array of shape (d,)
        The vector, and the candidate's unit row.
    neighbours : array of shape (k, d)
        Unit rows of others, which must not come before the source.
    solve : callable
        B -> G^-1 B.

    Returns
    -------
    array of shape (d,), or None
        None where there is no such vector that is not longer than 1.

    Examples
    --------
    >>> u, source, other = np.array([0.1, 0.4]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> found = raised_alone(u, source, np.stack([source, other]), lambda B: B)
    >>> bool(found @ source > found @ other), float(found @ other)
    (True, 0.4)
    """
    v = solve(source[:, None])[:, 0]
    size = float(source @ v)
    if not size > 0:
        return None
    v = v / size
    share, ahead = neighbours @ v, (neighbours - source) @ u
    rivals = (ahead > 0) & (neighbours @ source < SAME)
    if (1 - share[rivals] < LEAST_APART).any():
        return None
    wanted = max([float(np.sqrt(u @ u) - u @ source), *(A_LITTLE_MORE * ahead[rivals] / (1 - share[rivals]))])
    moved = u + wanted * v
    return moved if moved @ moved <= LONGEST**2 else None
