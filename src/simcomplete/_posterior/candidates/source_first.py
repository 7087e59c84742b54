"""Vectors of queries that are likely copies, moved such that the likeliest source is ranked first."""

from __future__ import annotations

import numpy as np

from simcomplete._posterior.candidates.covariance import Solve
from simcomplete._types import Matrix

LEAST_LIFT = 0.1  # weight of a source from which it is worth to rank it first
MOST_LIFT = 0.8  # part of that weight that may be used: more would cost fresh rows too much
MOST_MOVED = 0.95  # part of a vector that its source may replace where it is ranked first in any case
LITTLE_MORE = 1.2  # than is needed to be ranked before the neighbours: others may be ahead, too
SAME = 1 - 1e-9  # cosine of candidates that cannot be told apart
LEAST_APART = 0.05  # part of the change that must not be shared by another candidate
A_LITTLE_MORE = 1.02  # than makes candidates equal
LONGEST = 1 - 1e-9  # vector of a row that is not complete


def ranked_first(
    u: Matrix, length: float, source: Matrix, neighbours: Matrix, solve: Solve, weight: float | None
) -> tuple[Matrix, float]:
    """A vector that ranks a source first, and its length.

    Parameters
    ----------
    u, length : array of shape (d,), float
        The vector and its length as they are.
    source, neighbours : array of shape (d,), array of shape (k, d)
        Unit rows of the likeliest source and of the row's neighbours, itself among them.
    solve : callable
        B -> G^-1 B, see `raised_alone`.
    weight : float or None
        How likely the source is one, which bounds how far the vector is moved; None where it is to be first in any
        case.
    """
    if weight is None:
        raised = raised_alone(u, source, neighbours, solve)
        if raised is not None:
            return raised, length  # no more is known of the row than before: its length stays
    moved = lifted(u, source, neighbours, MOST_MOVED if weight is None else MOST_LIFT * weight, LITTLE_MORE)
    return moved, min(float(np.sqrt(moved @ moved)), 1.0)


def lifted(u: Matrix, source: Matrix, neighbours: Matrix, most: float, margin: float = 1.0) -> Matrix:
    """A vector that is moved towards the likeliest source as far as ranks it first.

    It is ranked first by the smallest weight w for which (1 - w) u.s + w >= (1 - w) u.p + w s.p for all neighbours p.
    Where that is more than `most`, the vector stays as it is; else the odds w / (1 - w) are `margin` times as large.

    Examples
    --------
    >>> u, source, other = np.array([0.1, 0.4]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    >>> u = lifted(u, source, np.stack([source, other]), 0.5)
    >>> bool(np.isclose(u @ source, u @ other))
    True
    """
    cosines, ahead = neighbours @ source, (neighbours - source) @ u
    rivals = (ahead > 0) & (cosines < SAME)
    if not rivals.any():
        return u
    odds = float(np.max(ahead[rivals] / (1 - cosines[rivals])))
    if odds / (1 + odds) > most:
        return u
    w = min(margin * odds / (1 + margin * odds), most)
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
