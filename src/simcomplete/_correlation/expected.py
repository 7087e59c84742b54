"""What a factor model expects of the missing values of rows: their moments, and draws of complete rows.

Rows differ in size: days of panic, genes that hardly move. What is missing of a row varies as much more, or less, as
its observed values are further from the model, or nearer, than usual (a scale mixture of Gaussians, as Student's t is).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcomplete._correlation.moments import PairMoments
from simcomplete._correlation.psd import psd_gram
from simcomplete._posterior.all_rows.em import Factors, fit
from simcomplete._posterior.all_rows.packing import IncompleteRows, from_triangles
from simcomplete._types import Mask, Matrix, Vector

MOST_FACTORS = 24  # or half of the variables; loadings have priors, so that more factors than needed only take time
USUAL_VALUES = 4.0  # further values of usual size that the size of a row is estimated with
CLOSEST = 0.95  # share of a value that its own row may explain of it


@dataclass(frozen=True)
class ExpectedRows:
    """Rows in about standard units, NaN where missing, and what a model expects of them.

    Attributes
    ----------
    Z, values, variance : arrays of shape (n, d)
        The rows; the same with expected values where missing; variances of these, 0 where observed.
    model : Factors
        Fitted to the rows.
    z, roots : arrays of shape (n, r) and (n, r, r)
        Expected factors, and roots of their covariances.
    size : array of shape (n,)
        How much further rows are from the model than usual.
    """

    Z: Matrix
    model: Factors
    values: Matrix
    variance: Matrix
    z: Matrix
    roots: Matrix
    size: Vector

    @classmethod
    def fit(cls, Z: Matrix) -> ExpectedRows:
        """Fit factors to rows.

        Examples
        --------
        >>> rng = np.random.default_rng(0)
        >>> Z = rng.standard_normal((300, 1)) + 0.5 * rng.standard_normal((300, 6))
        >>> Z[:150, 0] = Z[150:, 1] = np.nan  # no row has both
        >>> found = ExpectedRows.fit(Z).moments()
        >>> bool(abs(found.correlation[0, 1] - 0.8) < 0.05)
        True
        """
        n, d = Z.shape
        rows = IncompleteRows.of(Z)
        model = fit(rows, max(1, min(MOST_FACTORS, n - 1, d // 2)))[0]
        r = model.rank
        filled = model.complete(rows)
        z, size, roots = np.empty((n, r)), np.empty(n), np.empty((n, r, r))
        for part, some in rows.blocks(model.row_bytes):
            latent = model.expect(some)
            misfit = np.maximum(latent.misfit, 0.0)
            size[part] = np.sqrt((misfit + USUAL_VALUES) / (some.observed.sum(axis=1) + USUAL_VALUES))
            z[part], roots[part] = latent.z, np.linalg.cholesky(from_triangles(latent.spread, r))
        roots *= size[:, None, None]
        return cls(Z, model, filled.values, filled.variance * size[:, None] ** 2, z, roots, size)

    @cached_property
    def observed(self) -> Mask:
        """Which values are."""
        return ~np.isnan(self.Z)

    def moments(self) -> PairMoments:
        """Expected second moments of the columns, and what their variances are made of."""
        n, d = self.Z.shape
        centre = self.values.mean(axis=0)
        m, v = self.values - centre, self.variance
        C, both, mixed = psd_gram(m.T), np.zeros((d, d)), np.zeros((d, d))
        for t in np.flatnonzero(~self.observed.all(axis=1)):
            lacks = np.flatnonzero(~self.observed[t])
            V = psd_gram(self.model.loadings[lacks] @ self.roots[t])
            np.fill_diagonal(V, 0.0)
            x, place = m[t, lacks], np.ix_(lacks, lacks)
            C[place] += V
            both[place] += V * (2 * np.outer(x, x) + V)
            mixed[place] += V * (x * x + v[t, lacks])[:, None]
        C[np.diag_indices(d)] += v.sum(axis=0)
        m2, pairs, seen = m * m, v.T @ v, self.observed.astype(np.float64)
        np.fill_diagonal(pairs, 0.0)
        own, fourth = np.sum(v * m2, axis=0), np.sum(v * v, axis=0)
        return PairMoments(n, centre, C / n, seen.T @ seen, v.T @ m2, (v * m).T @ m, own, both, mixed, pairs, fourth)

    def drawn(self, rng: np.random.Generator) -> Matrix:
        """Complete rows: a draw of what is missing, with noise that observed values have in the same column.

        Loadings and means are drawn too, as uncertain as the rows leave them.
        """
        model, (n, d) = self.model, self.Z.shape
        loadings, mean = self._drawn_model(rng)
        z = self.z + np.matmul(self.roots, rng.standard_normal((n, model.rank, 1)))[:, :, 0]
        near = np.stack([np.sum(np.square(model.loadings @ root), axis=1) for root in self.roots])
        near = np.minimum(near / (self.size[:, None] ** 2 * model.noise), CLOSEST)
        # What is left of an observed value is smaller than noise, because the factors were fitted to it.
        left = (self.Z - model.mean - self.z @ model.loadings.T) / np.sqrt(model.noise * (1 - near))
        left /= self.size[:, None]
        noise = np.empty((n, d))
        for f in range(d):
            noise[:, f] = rng.choice(left[self.observed[:, f], f], n)
        Y = mean + z @ loadings.T + self.size[:, None] * np.sqrt(model.noise) * noise
        return np.where(self.observed, self.Z, Y)

    def _drawn_model(self, rng: np.random.Generator) -> tuple[Matrix, Vector]:
        model = self.model
        assert model.spread is not None  # loadings are averaged over
        root = np.linalg.cholesky(from_triangles(model.spread, model.rank + 1))
        moved = np.matmul(root, rng.standard_normal((len(model.mean), model.rank + 1, 1)))[:, :, 0]
        moved *= np.sqrt(model.noise)[:, None]
        return model.loadings + moved[:, :-1], model.mean + moved[:, -1]
