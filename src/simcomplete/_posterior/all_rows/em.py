"""Factor analysis of rows of which every one may be incomplete, by EM.

    x = mean + W z + noise,   z ~ N(0, I_r),   noise_f ~ N(0, psi_f)

E step: G_i = I + sum over observed f of w_f w_f^T / psi_f, one matrix product for all rows. M step: one system of
r + 1 unknowns per feature, for (w_f, mean_f). `pooled` noise is probabilistic PCA. With `averaged` loadings the
uncertainty of (w_f, mean_f), noise_f * (its system)^-1, enters the E step and the completions, and every factor has
its own ridge, learnt from the loadings: then a rank that is too high does no harm (variational Bayes, Ilin & Raiko,
JMLR 11, 2010). Otherwise it is maximum likelihood with a small ridge. The bound that is maximised can only rise.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np

from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._posterior.all_rows.on_device import there
from simcomplete._posterior.all_rows.packing import (
    BLOCK,
    IncompleteRows,
    SomeRows,
    columns,
    from_triangles,
    to_triangles,
    triangle,
)
from simcomplete._rows.budget import require
from simcomplete._rows.xp import Array, like, namespace, to_numpy, zeros
from simcomplete._types import Matrix

ITERATIONS = 25
KAPPA = 5.0  # values that the prior of a noise counts for
FLOOR = 1e-3  # least noise, in mean variances
FIRST_NOISE = 0.3  # noise of a feature at the start, in its variances
RIDGE = 1e-3  # on W, times n / r
MEAN_RIDGE = 1e-3  # the observed mean of a feature counts for this many further values: columns seen nowhere stay there


class Latent(NamedTuple):
    """What the observed values of rows tell of their factors."""

    z: Matrix  # (rows, r), expected factors
    spread: Matrix  # (rows, r(r+1)/2), their covariance
    misfit: Matrix  # (rows,), squared distance of the observed values from the model, |o| in the mean
    bound: float  # sum of log-likelihoods (averaged loadings: of their lower bound)

    def moments(self) -> Array:
        """E[(z, 1)(z, 1)^T], flat: (rows, (r+1)(r+2)/2)."""
        z, r = self.z, int(self.z.shape[1])
        i, j = triangle(r).upper
        parts = [self.spread + columns(z, i) * columns(z, j), z, namespace(z).ones_like(z[:, :1])]
        return columns(namespace(z).concat(parts, axis=1), triangle(r + 1).joined)


class Filled(NamedTuple):
    """Completed rows: what is observed stays; variance of what is not; misfit per observed value."""

    values: Matrix
    variance: Matrix
    misfit: Matrix


@dataclass(frozen=True)
class Factors:
    """A fitted model; `spread` is the uncertainty of (w_f, mean_f) over noise_f, flat, or None for point loadings.

    Examples
    --------
    >>> one = Factors(np.zeros(2), np.ones((2, 1)), np.array([0.5, 0.5]))
    >>> one.complete(IncompleteRows.of(np.array([[3.0, np.nan]]))).values  # 3 * 1 / (1 + 0.5)
    array([[3., 2.]])
    """

    mean: Matrix
    loadings: Matrix
    noise: Matrix
    spread: Matrix | None = None
    ridge: Matrix | None = None
    prior: float = 0.0  # what the priors add to the bound

    @property
    def rank(self) -> int:
        """How many factors."""
        return int(self.loadings.shape[1])

    @cached_property
    def _precisions(self) -> Array:
        """w_f w_f^T / psi_f, flat; with the uncertainty of w_f where it is averaged over."""
        i, j = triangle(self.rank).upper
        outer = columns(self.loadings, i) * columns(self.loadings / self.noise[:, None], j)
        return outer if self.spread is None else outer + columns(self.spread, triangle(self.rank + 1).inner)

    def expect(self, rows: IncompleteRows) -> Latent:
        """The E step: expected factors of rows. Rows that share a mask share a factorisation."""
        psi, M, r = self.noise, rows.observed, self.rank
        xp = namespace(M)
        gap = (rows.values - self.mean) * M
        side = gap @ (self.loadings / psi[:, None])
        known = M @ xp.log(2 * np.pi * psi)
        if self.spread is not None:
            side = side - M @ columns(self.spread, triangle(r + 1).edge)
            known = known + M @ self.spread[:, -1]
        _, first, which = np.unique(rows.pattern, return_index=True, return_inverse=True)
        of_mask = like(which, M)
        G = from_triangles(xp.take(M, like(first, M), axis=0) @ self._precisions, r) + like(np.eye(r), M)
        inverse = xp.linalg.inv(G)
        z = xp.matmul(xp.take(inverse, of_mask, axis=0), side[:, :, None])[:, :, 0]
        misfit = xp.sum(gap * gap / psi, axis=1) - xp.sum(side * z, axis=1)
        bound = -0.5 * float(xp.sum(known + misfit + xp.take(xp.linalg.slogdet(G)[1], of_mask)))
        return Latent(z, xp.take(to_triangles(inverse), of_mask, axis=0), misfit, bound)

    @cached_property
    def _variances(self) -> tuple[Array, Array | None]:
        """What moments of the factors are multiplied with to give variances of values."""
        W, r = self.loadings, self.rank
        i, j = triangle(r).upper
        outer, spread = (columns(W, i) * columns(W, j) * like(triangle(r).times, W)).T, self.spread
        return outer, None if spread is None else (self.noise[:, None] * spread * like(triangle(r + 1).times, W)).T

    def complete(self, rows: IncompleteRows) -> Filled:
        """Expected values of what is missing, and their variances: noise, factors, and loadings where averaged."""
        model, moved = there(self, rows)
        values, variance, misfit = np.empty(rows.shape), np.empty(rows.shape), np.empty(rows.shape[0])
        for part, some in moved.blocks(self.row_bytes):
            latent, (outer, extra), xp = model.expect(some), model._variances, namespace(some.values)
            v = model.noise + latent.spread @ outer
            v = v if extra is None else v + latent.moments() @ extra
            seen = some.observed > 0
            values[part] = to_numpy(xp.where(seen, some.values, model.mean + latent.z @ model.loadings.T))
            variance[part] = to_numpy(xp.where(seen, xp.zeros_like(v), xp.clip(v, 0.0)))
            # One further value that fits as expected: rows with little observed are nothing special.
            misfit[part] = to_numpy((xp.clip(latent.misfit, 0.0) + 1.0) / (xp.sum(some.observed, axis=1) + 1.0))
        return Filled(values, variance, misfit)

    def sums(self, rows: IncompleteRows) -> FeatureSums:
        """The E step for all rows, summed up for the M step, block by block."""
        model, rows = there(self, rows)
        xp, (d, q), bound = namespace(rows.values), (len(self.mean), self.rank + 1), 0.0
        moments, cross = zeros(rows.values, (d, q * (q + 1) // 2)), zeros(rows.values, (d, q))
        for _, some in rows.blocks(self.row_bytes):
            latent = model.expect(some)
            moments += some.observed.T @ latent.moments()
            cross += some.values.T @ xp.concat([latent.z, xp.ones_like(latent.z[:, :1])], axis=1)
            bound += latent.bound
        return FeatureSums(to_numpy(moments), to_numpy(cross), bound)

    @property
    def row_bytes(self) -> int:
        """What one row of a block takes in the E step."""
        return 8 * (5 * (self.rank + 1) ** 2 + 4 * len(self.mean))


class FeatureSums(NamedTuple):
    """Per feature, over the rows where it is observed: E[(z, 1)(z, 1)^T], flat, and x (z, 1); and the bound."""

    moments: Matrix
    cross: Matrix
    bound: float


@dataclass(frozen=True)
class FactorProblem:
    """Rows, centred at the observed means of the features, and what the M step needs to know of them."""

    rows: SomeRows
    centre: Matrix
    counts: Matrix
    squares: Matrix
    variance: float
    pooled: bool
    averaged: bool

    @classmethod
    def of(cls, rows: SomeRows, pooled: bool, averaged: bool) -> FactorProblem:
        """Centre rows."""
        counts, sums, largest = rows.totals()
        centre = sums / np.maximum(counts, 1.0)
        centred = rows.centred(centre)
        squares = centred.squares()
        variance = float(np.mean(squares / np.maximum(counts, 1.0)))
        # Columns that never change still need a noise above 0: then the scale is that of the values.
        variance = max(variance, 1e-12 * (largest or 1.0) ** 2)
        return cls(centred, centre, counts, squares, variance, pooled, averaged)

    def start(self, rank: int) -> Factors:
        """From the SVD of the zero-filled rows divided by the observed share."""
        from sklearn import config_context  # slow to import, and needed here only
        from sklearn.utils.extmath import randomized_svd

        (n, d), known = self.rows.shape, float(self.counts.sum())
        with config_context(skip_parameter_validation=True):  # rows by block can be multiplied, but are no array
            _, s, Vt = randomized_svd(self.rows.over(max(known / (n * d), 1e-12)), rank, random_state=0)
        noise = FIRST_NOISE * np.maximum(self.squares / np.maximum(self.counts, 1.0), FLOOR * self.variance)
        noise = np.full_like(noise, noise.mean()) if self.pooled else noise
        return Factors(np.zeros_like(noise), Vt.T * (s / np.sqrt(n)), noise, None, np.full(rank, RIDGE * n / rank))

    def maximise(self, model: Factors, sums: FeatureSums) -> Factors:
        """The M step: a system of r + 1 unknowns per feature, its noise, and the ridge of every factor."""
        r, ridge = model.rank, model.ridge
        assert ridge is not None  # start gives one
        d, q = len(self.counts), r + 1
        A = from_triangles(sums.moments, q)
        A[:, np.arange(q), np.arange(q)] += np.append(ridge, MEAN_RIDGE)
        inverse = np.linalg.inv(A)
        both = np.matmul(inverse, sums.cross[:, :, None])[:, :, 0]
        # x^T x - b^T theta is the expected squared residual and what the ridge costs, in one.
        residual = np.maximum(self.squares - np.sum(sums.cross * both, axis=1), 0.0)
        noise = self._noise(residual)
        W, mean, spread = both[:, :r].copy(), both[:, r].copy(), None
        prior = -self._noise_prior(noise)
        if self.averaged:
            spread = to_triangles(inverse)
            own = np.sum(spread[:, triangle(q).times == 1], axis=0)
            ridge = d / np.maximum(np.sum(W * W / noise[:, None], axis=0) + own[:r], 1e-300)
            # Minus the divergence of what is known of (w_f, mean_f) from their prior, with the ridge just learnt.
            volume = float(np.sum(np.linalg.slogdet(A)[1])) - d * float(np.sum(np.log(ridge)) + np.log(MEAN_RIDGE))
            prior -= 0.5 * (float(own @ np.append(ridge, MEAN_RIDGE)) - d * q + volume)
        prior -= 0.5 * float(np.sum(both**2 @ np.append(ridge, MEAN_RIDGE) / noise))
        return Factors(mean, W, noise, spread, ridge, prior)

    def _noise(self, residual: Matrix) -> Matrix:
        floor = FLOOR * self.variance
        if self.pooled:
            shared = (residual.sum() + KAPPA * self.variance) / (self.counts.sum() + KAPPA)
            return np.full_like(residual, max(float(shared), floor))
        return np.maximum((residual + KAPPA * self.variance) / (self.counts + KAPPA), floor)

    def _noise_prior(self, noise: Matrix) -> float:
        each = 0.5 * KAPPA * (self.variance / noise + np.log(noise))
        return float(each[0] if self.pooled else each.sum())


EmIterate = tuple[Factors, FeatureSums]


def fit(
    rows: SomeRows,
    rank: int,
    *,
    pooled: bool = False,
    averaged: bool = True,
    limits: Limits | None = None,
    start: Factors | None = None,
) -> tuple[Factors, Run[EmIterate]]:
    """Fit a factor model to incomplete rows by EM.

    Parameters
    ----------
    rows, rank : Rows, int
        Rows of any scale, and how many factors: at most the smaller side of the rows.
    pooled : bool
        One noise for all features (probabilistic PCA) instead of one each (factor analysis).
    averaged : bool
        Average over the loadings instead of taking the likeliest.
    limits : Limits, optional
        25 iterations unless given.
    start : Factors, optional
        A model of as many factors to go on from.

    Returns
    -------
    Factors, Run
        The model, in the rows' own units, and how it went. The objective is minus the bound on the log-likelihood,
        priors included, per observed value: it never rises.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) @ np.ones((1, 6)) + 0.1 * rng.standard_normal((200, 6))
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> model, run = fit(IncompleteRows.of(X), rank=1)
    >>> bool(np.all(model.noise < 0.1)), run.n_iter, str(run.status)
    (True, 25, 'computed: all 25 iterations made')
    """
    (n, d), q = rows.shape, rank + 1
    require(
        8 * (4 * rows.values_held + 2 * d * q * q + 3 * d * q * (q + 1) // 2) + 2 * BLOCK,
        f"a model of {rank} factors of {n} x {d} values",
        "use fewer factors (ranks=...) or fewer features",
    )
    problem = FactorProblem.of(rows, pooled, averaged)
    count = max(float(problem.counts.sum()), 1.0)

    def step(state: EmIterate) -> EmIterate:
        model = problem.maximise(*state)
        return model, problem.rows.sums_by(model)

    def measure(state: EmIterate) -> Facts:
        model, sums = state
        return {"objective": -(sums.bound + model.prior) / count, "noise": float(model.noise.mean())}

    # The start has point loadings, whose bound is not comparable: the first M step comes before the counting.
    first = problem.start(rank) if start is None else replace(start, mean=start.mean - problem.centre)
    begun, limits = step((first, problem.rows.sums_by(first))), limits or Limits(ITERATIONS)
    run = iterate(begun, step, measure=measure, limits=limits)
    return replace(run.best[0], mean=problem.centre + run.best[0].mean), run
