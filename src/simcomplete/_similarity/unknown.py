"""Unknown entries of a given similarity matrix: filled in by a factor model of the known ones.

    s_ij = v_i . v_j + noise   for i != j,    v_i ~ N(m, I / ridge)

Every known pair is one observation, with a weight by the number of features it stands on where that is given; unknown
pairs have weight 0. Several ranks and ridges are averaged, by how well they find known pairs again which are hidden for
this. The vectors are found by alternating least squares: given the others, each is one small ridge regression, drawn to
their mean, so that a row of which nothing is known becomes an average one.
"""

from __future__ import annotations

import numpy as np

from simcomplete._rows.budget import require
from simcomplete._types import Mask, Matrix, Vector
from simcomplete.errors import InputError

RANKS = (1, 2, 3, 5, 8, 12)
RIDGES = (0.03, 0.1, 0.3, 1.0)  # in units of the mean weight of a row times the mean square of a vector's entry
STEPS = 30
HIDDEN = 0.15  # of the known pairs
MIN_PAIRS = 20  # known pairs to learn from which rank and ridge are good
# Entries are mostly unknown together, a block of them, and hidden pairs are scattered, which is easier: how much better
# one setting finds these is not taken at its face value.
SOFTNESS = 0.3
NEGLIGIBLE = 1e-3
MISFIT = 0.01  # variance of an entry about the model, besides that of an estimate from few features
LARGEST_N = 3000  # rows; ridge regressions for more would take hours


def fill_unknown(S: Matrix, counts: Matrix | None = None) -> Matrix:
    """Return a symmetric matrix in which NaN is replaced by expected similarities; known entries stay as they are.

    Parameters
    ----------
    S : array of shape (n, n)
        Similarities, NaN where unknown. Where only one of S_ij and S_ji is known, it counts for both.
    counts : array of shape (n, n), optional
        How many features each entry stands on.

    Examples
    --------
    >>> v = np.array([0.9, 0.8, 0.7, 0.6, 0.5, 0.9, 0.8, 0.7, 0.6])
    >>> S = np.outer(v, v)
    >>> np.fill_diagonal(S, 1.0)
    >>> S[0, 5] = S[5, 0] = S[3, 3] = np.nan
    >>> filled = fill_unknown(S)
    >>> float(filled[0, 5].round(2)), float(filled[3, 3])
    (0.8, 1.0)
    """
    n = len(S)
    S = np.where(np.isnan(S), S.T, S)
    known: Mask = ~np.isnan(S)
    if n > LARGEST_N:
        raise InputError(f"S0 has NaN among {n} rows, and up to {LARGEST_N} can be filled in; give the samples instead")
    require(8 * 12 * n * n, f"a factor model of {n} x {n} similarities", "use fewer rows")
    size = diagonal_size(S)
    R = np.where(known, S, 0.0) / np.outer(size, size)
    off = known & ~np.eye(n, dtype=bool)
    weights = np.where(off, 1.0 if counts is None else precision(counts), 0.0)
    expected = _expected(R, weights)
    # No similarity is above what the diagonal allows.
    filled = np.clip(expected, -1.0, 1.0) * np.outer(size, size)
    filled[np.diag_indices(n)] = size**2
    return np.where(known, S, (filled + filled.T) / 2)


def diagonal_size(S: Matrix) -> Vector:
    """Square roots of the diagonal; of an unknown entry, or one that is not above 0, that of a typical one."""
    diagonal = np.diag(S)
    good = diagonal > 0
    return np.sqrt(np.where(good, diagonal, float(np.median(diagonal[good])) if good.any() else 1.0))


def precision(counts: Matrix) -> Matrix:
    """Weights of entries, 1 for one that stands on many features: of n values, it has a variance of about 1/(n - 1)."""
    return np.asarray(MISFIT / (MISFIT + 1.0 / np.maximum(counts - 1.0, 1.0)))


def _expected(R: Matrix, weights: Matrix) -> Matrix:
    """Products of vectors, averaged over ranks and ridges by how well each finds hidden pairs."""
    i, j = np.nonzero(np.triu(weights, 1))
    settings = [(rank, ridge) for rank in RANKS if rank <= max(1, (len(R) - 1) // 3) for ridge in RIDGES]
    trust = np.ones(len(settings))
    if len(i) >= MIN_PAIRS:
        gone = np.random.default_rng(0).permutation(len(i))[: max(1, int(HIDDEN * len(i)))]
        i, j = i[gone], j[gone]
        left = weights.copy()
        left[i, j] = left[j, i] = 0.0
        tried = (factor_rows(R, left, *setting) for setting in settings)
        errors = np.array([np.sum(weights[i, j] * (np.sum(V[i] * V[j], axis=1) - R[i, j]) ** 2) for V in tried])
        trust = np.exp(-(errors / max(float(errors.min()), 1e-12) - 1) / SOFTNESS)
    expected = np.zeros_like(R)
    for setting, share in zip(settings, trust / trust.sum(), strict=True):
        if share > NEGLIGIBLE:
            V = factor_rows(R, weights, *setting)
            expected += share * (V @ V.T)
    return expected


def factor_rows(R: Matrix, weights: Matrix, rank: int, ridge: float) -> Matrix:
    """Vectors whose products are near to the entries that have a weight, by alternating least squares."""
    mean = float(np.sum(weights * R) / max(float(weights.sum()), 1e-300))
    start = np.where(weights > 0, R, mean)
    start[np.diag_indices(len(R))] = np.abs(start).max(axis=1)
    values, vectors = np.linalg.eigh((start + start.T) / 2)
    V = vectors[:, -rank:] * np.sqrt(np.maximum(values[-rank:], 1e-6))
    strength = max(ridge * float(weights.sum(axis=1).mean()) * float(np.mean(V * V)), 1e-9)
    eye = strength * np.eye(rank)
    side = weights * R
    for _ in range(STEPS):
        middle = V.mean(axis=0)
        G = np.einsum("ij,jk,jl->ikl", weights, V, V, optimize=True) + eye
        new = np.linalg.solve(G, (side @ V + strength * middle)[:, :, None])[:, :, 0]
        # Half of a step: both sides of a product change at once.
        V = (V + new) / 2
    return np.asarray(V)
