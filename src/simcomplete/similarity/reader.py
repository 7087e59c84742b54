"""One block of complete candidates against all queries: H = [P^ B], and which pairs of B have evidence."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete.arrays import Array, astype, namespace, to_numpy, zeros
from simcomplete.similarity.exact import extended, ordinary, unit_rows
from simcomplete.similarity.measure import Measure, to_unit_interval
from simcomplete.similarity.products import Rows, cross


class Piece(NamedTuple):
    """Rows of H, the first `width` columns P^ and the others B; where B has evidence; which candidates are zero."""

    H: Array
    supported: Array
    zero: NDArray[np.int64]


@dataclass(frozen=True)
class Reader:
    """Turns rows of candidates into rows of H, in float64; small enough to be sent to where the rows are.

    Attributes
    ----------
    queries : Rows
        Values and mask of the queries, float64.
    measure : Measure
        How rows are compared.
    """

    queries: Rows
    measure: Measure

    @property
    def n_queries(self) -> int:
        """How many queries."""
        return int(self.queries.Z.shape[0])

    @cached_property
    def _sides(self) -> tuple[Array, Array, Array]:
        """What the plain cosine multiplies with: masks and a column of ones, unit values, and who has evidence."""
        Z, M = self.queries
        assert M is not None  # queries are prepared with their mask
        xp = namespace(Z)
        norm = xp.sqrt(xp.sum(Z * Z, axis=1))
        count = xp.sum(M, axis=1)
        fit = (norm > 0) & (count >= self.measure.min_overlap)
        unit = xp.where(fit, 1 / xp.where(norm > 0, norm, xp.ones_like(norm)), xp.zeros_like(norm))
        return xp.concat([M, xp.ones_like(M[:1, :])], axis=0).T, (Z * unit[:, None]).T, fit

    def __call__(self, X: Array) -> Piece:
        """Read a block of rows."""
        measure = self.measure
        if measure.metric == "cosine" and measure.epsilon == 0 and not measure.positive:
            piece = self._plain(X)
            if piece is not None:
                return piece
        unit = unit_rows(X, measure)
        B, supported = cross(Rows(unit, None), self.queries, measure)
        B = to_unit_interval(B) if measure.positive else B
        xp = namespace(X)
        zero = np.flatnonzero(to_numpy(~xp.any(unit != 0, axis=1)))
        return Piece(xp.concat([extended(unit, measure), B], axis=1), supported, zero)

    def _plain(self, X: Array) -> Piece | None:
        """The same with as few arrays of the size of the block as can be, or None where squares leave the range.

        The column of ones gives the whole length of a row along with its lengths on the queries' features.
        """
        xp = namespace(X)
        Z = astype(X, xp.float64)
        masks, values, fit = self._sides
        energy = (Z * Z) @ masks
        own = energy[:, -1:]
        if not ordinary(own):
            return None
        d = int(Z.shape[1])
        H: Array = zeros(masks, (int(Z.shape[0]), d + self.n_queries))
        H[:, :d] = Z / xp.sqrt(own)
        energy = energy[:, :-1]
        supported = (energy > 0) & fit
        B = (Z @ values) / xp.sqrt(xp.where(energy > 0, energy, xp.ones_like(energy)))
        H[:, d:] = xp.clip(B, -1.0, 1.0)
        return Piece(H, supported, np.zeros(0, np.int64))
