"""The local Wiener filter of similarities: directions, noise along them, and expected vectors.

Candidates are rows U sqrt(w), S_pp = U diag(w) U^T; a query is a vector v in the same coordinates, seen through noise:

    y = diag(1/sqrt(w)) U^T s0 = v + noise,    noise of coordinate k has variance sig2 + tau2 / w_k

sig2 is noise of the query itself (it moves all its similarities together), tau2 noise of every similarity on its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.optimize

from simcomplete._posterior.shared.neighbours import smoothing, sparse_weights
from simcomplete._rows.xp import top_k
from simcomplete._types import Matrix

NEIGHBOURS = 64  # kept of every query
SMALLEST = 1e-8  # eigenvalues below this part of the largest are dropped
SPLITS = 2
REWEIGHTINGS = 8
LEADING_SHARE = 0.02  # directions left out of the noise fit: their own variance hides the noise


class WienerSetting(NamedTuple):
    """Effective neighbours k, strength b of the local prior, part f of the variance left around it."""

    k: float
    b: float
    f: float


@dataclass(frozen=True)
class Directions:
    """Eigenpairs of exact similarities, largest first, those near 0 dropped."""

    w: Matrix
    U: Matrix

    @classmethod
    def of(cls, S: Matrix) -> Directions:
        """Decompose a symmetric matrix, keeping what is clearly positive."""
        return cls.kept(*np.linalg.eigh(S))

    @classmethod
    def kept(cls, w: Matrix, U: Matrix) -> Directions:
        """Of rising eigenvalues keep those clearly positive."""
        keep = np.flatnonzero(w > max(SMALLEST * float(w[-1]), 0.0))[::-1]
        return cls(w[keep], U[:, keep])

    @property
    def rows(self) -> Matrix:
        """Candidates as rows whose products are their similarities."""
        return np.asarray(self.U * np.sqrt(self.w))

    def coordinates(self, s: Matrix) -> Matrix:
        """Vectors (n_q, r) whose products with the rows come nearest to the columns of s."""
        return (s.T @ self.U) / np.sqrt(self.w)


@dataclass(frozen=True)
class Noise:
    """Variance sig2 + tau2 / w_k of a coordinate; a query's own `scale` multiplies both."""

    sig2: float
    tau2: float

    def along(self, w: Matrix) -> Matrix:
        """Variance along directions with eigenvalues w."""
        return self.sig2 + self.tau2 / w


def noise_of(noise: Noise, scales: Matrix, w: Matrix) -> Matrix:
    """Noise of every coordinate of every query, (n_q, r); infinite where nothing was observed."""
    along = noise.along(w)
    known = np.where(np.isfinite(scales), scales, 0.0)[:, None] * along
    return np.where(np.isinf(scales)[:, None], np.inf, known)


def population(S: Matrix, rng: np.random.Generator) -> Matrix:
    """Variance of a new row along each eigenvector, out of sample: of one half of the candidates along the other's.

    In sample it would be w_k / n, too large for the first directions, which are fitted to the sample. There are n // 2.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((400, 4)) * [3, 2, 1, 1]
    >>> X /= np.linalg.norm(X, axis=1, keepdims=True)
    >>> population(X @ X.T, np.random.default_rng(0))[:4].round(1)
    array([0.5, 0.3, 0.1, 0.1])
    """
    n = len(S)
    size = n // 2
    if size == 0:
        return np.empty(0)
    found = np.zeros((SPLITS, size))
    for split in found:
        order = rng.permutation(n)
        A, H = order[:size], order[size:]
        y = Directions.of(S[np.ix_(A, A)]).coordinates(S[np.ix_(A, H)])
        split[:] = padded(np.mean(y * y, axis=0), size, 0.0)
    return np.asarray(found.mean(axis=0))


def padded(values: Matrix, size: int, default: float = 1.0) -> Matrix:
    """The first `size` values, the last one repeated where there are fewer, the default where there are none."""
    return values[np.minimum(np.arange(size), len(values) - 1)] if len(values) else np.full(size, default)


def fit_noise(t2: Matrix, lam: Matrix, w: Matrix) -> Noise:
    """Solve E t_k^2 = lam_k w_k + sig2 w_k + tau2 for sig2, tau2 >= 0 by re-weighted least squares.

    Parameters
    ----------
    t2 : array of shape (r,)
        Mean over queries of (u_k^T s0)^2.
    lam, w : array of shape (r,)
        Population variance and eigenvalue of every direction.

    Examples
    --------
    >>> w = np.linspace(100, 1, 50)
    >>> noise = fit_noise(0.02 * w + 0.03 * w + 0.5, np.full(50, 0.02), w)
    >>> round(noise.sig2, 6), round(noise.tau2, 6)
    (0.03, 0.5)
    """
    skip = int(np.ceil(LEADING_SHARE * len(w)))
    if len(w) - skip < 2:
        skip = 0
    known, w, rest = (lam * w)[skip:], w[skip:], (t2 - lam * w)[skip:]
    variance = known + np.maximum(rest, 0.0)
    fitted = np.zeros(2)
    for _ in range(REWEIGHTINGS if len(w) else 0):
        # A sum of squares varies by as much as its mean: weights 1 / variance^2.
        variance = np.maximum(variance, 1e-12 * variance.max() + 1e-150)
        fitted = scipy.optimize.nnls(np.column_stack([w, np.ones_like(w)]) / variance[:, None], rest / variance)[0]
        variance = known + fitted[0] * w + fitted[1]
    return Noise(float(fitted[0]), float(fitted[1]))


def local_prior(rows: Matrix, s0: Matrix, k: float) -> Matrix:
    """Weighted mean of the rows nearest by s0, for every column of s0; of all rows where s0 tells none apart."""
    n = len(rows)
    ids, best = top_k(np.ascontiguousarray(s0.T), max(1, min(NEIGHBOURS, n - 1)))
    mean = sparse_weights(ids, smoothing(np.asarray(best), k), n) @ rows
    blind = s0.max(axis=0) == s0.min(axis=0)
    return np.asarray(np.where(blind[:, None], rows.mean(axis=0), mean))


def filtered(y: Matrix, prior: Matrix, lam: Matrix, noise: Matrix, setting: WienerSetting) -> Matrix:
    """Expected vectors: v = mu + g (y - mu), mu = b * prior, g = f lam / (f lam + noise), made no longer than 1."""
    mu = setting.b * prior
    signal = setting.f * lam
    total = signal + noise
    # Without noise what was seen is kept, whatever f; infinite noise (nothing observed) leaves the prior.
    g = np.where(noise > 0, signal / np.where(noise > 0, total, 1.0), 1.0)
    return shortened(mu + g * (y - mu))


def shortened(v: Matrix) -> Matrix:
    """Rows longer than 1 brought to length 1."""
    return np.asarray(v / np.maximum(np.sqrt(np.sum(v * v, axis=1, keepdims=True)), 1.0))
