"""Second moments of columns with gaps: what is expected of them, and their variances.

With m the observed and expected values of a row and V the covariance of what is missing of it, E[x x^T] = m m^T + V:
summed over rows this is positive semi-definite, equals the moments of complete rows where nothing is missing, and is
known where no row has both columns. What the sum is off by has a variance in closed form, since x is Gaussian given
what is observed: Var(x_i x_j) = m_i^2 V_jj + m_j^2 V_ii + 2 m_i m_j V_ij + V_ii V_jj + V_ij^2. Of a correlation, the
moments it is divided by vary too; x_i x_j - r (x_i^2 + x_j^2) / 2 is what counts then.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._correlation.psd import psd_gram
from simcomplete._types import Matrix, Vector


@dataclass(frozen=True)
class PairMoments:
    """Expected second moments of columns about their means, over the rows, and what their variances are made of.

    Attributes
    ----------
    mean, C : arrays of shape (d,) and (d, d)
        Means of the columns, and E[sum of (x - mean)(x - mean)^T] / n.
    common : array of shape (d, d)
        Rows that both columns have.
    squares, products, own : arrays of shape (d, d), (d, d) and (d,)
        Sums over rows of V_ii m_j^2, of V_ii m_i m_j and of V_ii m_i^2.
    both, mixed, pairs : arrays of shape (d, d), and `fourth` of shape (d,)
        Sums of V_ij (2 m_i m_j + V_ij), of V_ij (m_i^2 + V_ii), and of V_ii V_jj, i different from j; of V_ii^2.
    """

    n: int
    mean: Vector
    C: Matrix
    common: Matrix
    squares: Matrix
    products: Matrix
    own: Vector
    both: Matrix
    mixed: Matrix
    pairs: Matrix
    fourth: Vector

    @property
    def correlation(self) -> Matrix:
        """C scaled to unit diagonal; a column that is constant has 0 with others."""
        s = np.sqrt(np.diag(self.C))
        unit = np.where(s > 0, s, 1.0)
        R: Matrix = self.C / np.outer(unit, unit)
        np.fill_diagonal(R, 1.0)
        return R

    def entries(self, *, of_correlations: bool) -> Matrix:
        """Correlations, or C."""
        return self.correlation if of_correlations else self.C

    def variance(self, *, of_correlations: bool) -> Matrix:
        """Variances of the entries of `correlation` or of C, given what is observed, by the model."""
        r = self.correlation if of_correlations else np.zeros_like(self.C)
        V = self.squares + self.squares.T + (1 + r * r) * self.both + self.pairs
        if of_correlations:
            # In units of the columns' deviations, which r needs.
            s2 = np.diag(self.C)
            s2 = np.where(s2 > 0, s2, 1.0)
            size = np.outer(s2, s2)
            V = V / size
            root = np.sqrt(s2)
            for one in (self.products, self.mixed):
                scaled = one / (s2 * root)[:, None] / root
                V -= 2 * r * (scaled + scaled.T)
            alone = (self.own + self.fourth / 2) / s2**2
            V += r * r * (alone[:, None] + alone)
            np.fill_diagonal(V, 0.0)
        else:
            np.fill_diagonal(V, 4 * self.own + 2 * self.fourth)
        return np.maximum(V, 0.0) / self.n**2


def complete_moments(Z: Matrix) -> PairMoments:
    """Moments of rows without gaps.

    Examples
    --------
    >>> found = complete_moments(np.array([[1.0, 2.0], [3.0, 6.0]]))
    >>> found.C, bool(found.variance(of_correlations=True).any())
    (array([[1., 2.],
           [2., 4.]]), False)
    """
    n, d = Z.shape
    centre = Z.mean(axis=0)
    zero, none = np.zeros((d, d)), np.zeros(d)
    C = psd_gram((Z - centre).T) / n
    return PairMoments(n, centre, C, np.full((d, d), float(n)), zero, zero, none, zero, zero, zero, none)
