"""`posterior` when only similarities exist: exact ones among candidates, noisy ones to queries.

Every query becomes one vector v with |v| <= 1 in the coordinates of the candidates: S_pq = rows v, S_qq' = v.v',
diagonal 1. The whole is a Gram matrix plus a non-negative diagonal, so it is positive semi-definite by construction.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.similarities.calibrate import GRIDS, Choice, choose_wiener
from simcomplete._posterior.similarities.filtering import (
    SMALLEST,
    Directions,
    Noise,
    filtered,
    fit_noise,
    local_prior,
    noise_of,
    padded,
    population,
    shortened,
)
from simcomplete._types import Matrix
from simcomplete.errors import InputError

LANDMARKS = 3000
LARGEST = 1e6
COMPARED = 256  # candidates whose rows the deviation is measured on


@dataclass(frozen=True, eq=False)
class FilteredSimilarities:
    """Candidates and queries as rows of one factor, and what was chosen to make them.

    Attributes
    ----------
    candidates : array of shape (n_p, r)
        Rows whose products are the candidates' similarities.
    queries : array of shape (n_q, r)
        V: `candidates @ queries.T` are the completed similarities.
    diagonal : array of shape (n_p + n_q,)
        What the factor's product lacks on the diagonal; never negative.
    lengths : array of shape (n_q,)
        |v| of every query in unit scale: 1 when nothing is unknown.
    choice : Choice
        Setting (k, b, f), expected squared error of one similarity, quantiles of |error| / sqrt(1 - |v|^2) over
        simulated pairs.
    noise : Noise
        Variances that were fitted.
    deviation : float
        Largest difference, in unit scale, between a candidate similarity given and its product of rows, over
        at most 256 candidates: next to nothing for a positive semi-definite matrix, more where negative eigenvalues
        were clipped or landmarks stand for the rest.
    """

    candidates: Matrix
    queries: Matrix
    diagonal: Matrix
    lengths: Matrix
    choice: Choice
    noise: Noise
    deviation: float

    @property
    def factor(self) -> Matrix:
        """Rows of candidates, then of queries."""
        return np.concatenate([self.candidates, self.queries])

    def as_dict(self) -> dict[str, Any]:
        """What was chosen, as plain values."""
        return {
            **self.choice.setting._asdict(),
            "expected_squared_error": self.choice.error,
            "noise_of_query": self.noise.sig2,
            "noise_of_pair": self.noise.tau2,
            "candidate_deviation": self.deviation,
        }


def complete_similarities(
    S_pp: Any,
    S0_pq: Any,
    counts: Any = None,
    d: int | None = None,
    *,
    rng: np.random.Generator,
    effort: str = "full",
    query_diagonal: Any = None,
    landmarks: int = LANDMARKS,
    exact: bool = False,
) -> FilteredSimilarities:
    """Complete noisy similarities between candidates and queries by a local Wiener filter.

    Parameters
    ----------
    S_pp : array of shape (n_p, n_p)
        Exact similarities of candidates. Diagonals other than 1 are allowed and kept; negative eigenvalues are clipped
        and the diagonal restored (`deviation` tells by how much that moved an entry).
    S0_pq : array of shape (n_p, n_q)
        Noisy similarities to queries.
    counts : array of shape (n_q,), optional
        How many features each query's similarities stand on: its noise goes with 1/count - 1/d. A query with all d of
        them has none, one with 0 gets the mean of the candidates.
    d : int, optional
        How many features there are; without it noise goes with 1/count.
    rng : numpy.random.Generator
        For splits, held-out candidates, simulated noise and landmarks.
    effort : {"full", "fast"}
        "full" chooses neighbours, strength and remaining variance; "fast" only the last.
    query_diagonal : array of shape (n_q,), optional
        Similarity of every query to itself; 1 when left out.
    landmarks : int
        Above so many candidates a random subset of this size is decomposed and the others are expressed through it.
    exact : bool
        Add columns to the factor, 0 for queries, for what the rows leave of the candidates' similarities (tiny
        eigenvalues, landmarks): one more decomposition of size n_p.

    Returns
    -------
    FilteredSimilarities

    Examples
    --------
    Rows of three features, known through their similarities only, three of them through noise.

    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((203, 3))
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> S = X @ X.T
    >>> noisy = S[:200, 200:] + 0.5 * rng.standard_normal((200, 3))
    >>> done = complete_similarities(S[:200, :200], noisy, rng=rng)
    >>> before, after = noisy - S[:200, 200:], done.candidates @ done.queries.T - S[:200, 200:]
    >>> bool(np.mean(after**2) < 0.05 * np.mean(before**2)), bool(done.diagonal.min() >= 0)
    (True, True)
    """
    S, s0, own, scales = _checked(S_pp, S0_pq, counts, d, query_diagonal)
    if effort not in GRIDS:
        raise InputError(f"effort={effort!r} is unknown here; use one of {', '.join(map(repr, GRIDS))}")
    if landmarks < 1:
        raise InputError(f"landmarks={landmarks} must be at least 1")
    n = len(S)
    p, q = own[:n], own[n:]
    root = np.where(own > 0, np.sqrt(own), 1.0)
    # In unit scale a similarity lies within [-1, 1]. Noise may lead further, and cutting it off there would bias the
    # mean of many; only what would overflow is cut.
    S = (S + S.T) / 2 / root[:n, None] / root[:n]
    s0 = np.clip(s0 / root[:n, None] / root[n:], -LARGEST, LARGEST)

    few = np.sort(rng.choice(n, landmarks, replace=False)) if n > landmarks else np.arange(n)
    known, base = semidefinite(S[np.ix_(few, few)])
    rows = shortened(base.rows) if n == len(few) else shortened(base.coordinates(S[few]))
    lam = population(known, rng)
    y = base.coordinates(s0[few])
    own_lam = padded(lam, len(base.w))
    seen = np.isfinite(scales)
    noise = fit_noise(np.mean(y[seen] ** 2, axis=0) * base.w, own_lam, base.w) if seen.any() else Noise(0.0, 0.0)
    choice = choose_wiener(known, lam, noise, scales, effort, rng)
    # Neighbours among all candidates, landmarks or not: the denser they lie, the better they tell.
    prior = local_prior(rows, s0, choice.setting.k)
    v = filtered(y, prior, own_lam, noise_of(noise, scales, base.w), choice.setting)
    if exact:
        left = remainder(known if n == len(few) else S, rows)
        rows, v = shortened(np.hstack([rows, left])), np.pad(v, ((0, 0), (0, left.shape[1])))
    shown = np.unique(np.linspace(0, n - 1, min(n, COMPARED)).astype(int))
    gap = rows[shown] @ rows.T - S[shown]
    gap[np.arange(len(shown)), shown] = 0.0
    size = np.sum(v * v, axis=1)
    return FilteredSimilarities(
        rows * np.sqrt(p)[:, None],
        v * np.sqrt(q)[:, None],
        np.concatenate([p * _left(np.sum(rows * rows, axis=1)), q * _left(size)]),
        np.sqrt(np.minimum(size, 1.0)),
        choice,
        noise,
        float(np.abs(gap).max()),
    )


def semidefinite(S: Matrix) -> tuple[Matrix, Directions]:
    """Return S, with negative eigenvalues clipped and its diagonal restored where it has any, and its directions."""
    w, U = np.linalg.eigh(S)
    if w[0] < -SMALLEST * max(float(w[-1]), 0.0):
        # The clipped part adds to the diagonal; dividing it out again keeps S positive semi-definite.
        P = U * np.sqrt(np.maximum(w, 0.0))
        length = np.sqrt(np.sum(P * P, axis=1))
        P *= (np.sqrt(np.diag(S)) / np.where(length > 0, length, 1.0))[:, None]
        S = P @ P.T
        w, U = np.linalg.eigh(S)
    return S, Directions.kept(w, U)


def remainder(S: Matrix, rows: Matrix) -> Matrix:
    """More columns for rows, so that their products are S up to rounding."""
    w, U = np.linalg.eigh(S - rows @ rows.T)
    keep = w > len(S) * np.finfo(np.float64).eps * max(float(np.sum(rows * rows)), 0.0)
    return np.asarray(U[:, keep] * np.sqrt(w[keep]))


def _left(squares: Matrix) -> Matrix:
    """What squared lengths lack to 1."""
    return np.maximum(1.0 - squares, 0.0)


def _checked(
    S_pp: Any, S0_pq: Any, counts: Any, d: int | None, query_diagonal: Any
) -> tuple[Matrix, Matrix, Matrix, NDArray[np.float64]]:
    """Arrays of fitting shapes, the diagonal of all rows, and how noisy each query is relative to the mean."""
    S, s0 = np.asarray(S_pp, dtype=np.float64), np.asarray(S0_pq, dtype=np.float64)
    n = len(S)
    if S.shape != (n, n) or s0.ndim != 2 or len(s0) != n or s0.size == 0:
        raise InputError(
            f"similarities of shapes {S.shape} among candidates and {s0.shape} to queries do not fit; "
            "give (n_p, n_p) and (n_p, n_q), at least one of each"
        )
    n_q = s0.shape[1]
    own = np.concatenate([np.diag(S), _per_query(query_diagonal, n_q, "query_diagonal", 1.0)])
    if not (np.isfinite(S).all() and np.isfinite(s0).all() and np.isfinite(own).all()) or (own < 0).any():
        raise InputError("similarities must be finite with a diagonal of at least 0; put 0 where nothing is known")
    if counts is None:
        return S, s0, own, np.ones(n_q)
    c = _per_query(counts, n_q, "counts", 1.0)
    if not (c >= 0).all():
        raise InputError("counts must be 0 or more")
    with np.errstate(divide="ignore"):
        scales = np.maximum(1.0 / c - (0.0 if d is None else 1.0 / d), 0.0)
    seen = scales[np.isfinite(scales)]
    mean = float(seen.mean()) if len(seen) else 0.0
    return S, s0, own, scales / mean if mean > 0 else scales


def _per_query(values: Any, n_q: int, name: str, default: float) -> Matrix:
    if values is None:
        return np.full(n_q, default)
    array = np.asarray(values, dtype=np.float64)
    if array.shape != (n_q,):
        raise InputError(f"{name} has shape {array.shape}; give one number for each of the {n_q} queries")
    return array
