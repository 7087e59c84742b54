"""One block of complete candidates against all queries: H = [P^ B], and which pairs of B have evidence."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.xp import Array, empty, namespace, to_numpy
from simcomplete._similarity.exact import extended, ordinary, unit_rows
from simcomplete._similarity.measure import Measure, to_unit_interval
from simcomplete._similarity.products import Rows, cross


class Piece(NamedTuple):
    """Rows of H, the first `width` columns P^ and the others B; where B has evidence; which candidates are zero.

    Evidence is told the first time a block is read only, where B is kept.
    """

    H: Array
    supported: Array | None
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
    kept : dict, optional
        Where there is room for it, on an accelerator, B and the lengths of rows are kept by the position of the first:
        the passes after the first one then need no products for them.
    """

    queries: Rows
    measure: Measure
    kept: dict[int, tuple[Array, Array]] | None = field(default=None, repr=False, compare=False)

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

    def __call__(self, X: Array, start: int | None = None) -> Piece:
        """Read a block of rows; `start` is the position of the first, where it is one of a pass over all."""
        measure = self.measure
        if measure.metric == "cosine" and measure.epsilon == 0 and not measure.positive:
            piece = self._plain(X, start)
            if piece is not None:
                return piece
        unit = unit_rows(X, measure)
        B, supported = cross(Rows(unit, None), self.queries, measure)
        B = to_unit_interval(B) if measure.positive else B
        xp = namespace(X)
        zero = np.flatnonzero(to_numpy(~xp.any(unit != 0, axis=1)))
        return Piece(xp.concat([extended(unit, measure), B], axis=1), supported, zero)

    def _plain(self, X: Array, start: int | None) -> Piece | None:
        """The same with as few arrays of the size of the block as can be, or None where squares leave the range.

        The column of ones gives the whole length of a row along with its lengths on the queries' features.
        """
        xp = namespace(X)
        masks, values, fit = self._sides
        n, d = (int(size) for size in X.shape)
        H: Array = empty(masks, (n, d + self.n_queries))
        H[:, :d] = X  # cast on the way
        known = None if self.kept is None or start is None else self.kept.get(start)
        if known is not None and int(known[0].shape[0]) == n:
            H[:, d:] = known[0]
            H[:, :d] /= known[1]
            return Piece(H, None, np.zeros(0, np.int64))
        Z = H[:, :d]
        energy = (Z * Z) @ masks
        own = energy[:, -1:]
        if not ordinary(own):
            return None
        energy = energy[:, :-1]
        supported = (energy > 0) & fit
        B = Z @ values
        B /= xp.sqrt(xp.where(energy > 0, energy, xp.ones_like(energy)))
        B = xp.clip(B, -1.0, 1.0)
        own = xp.sqrt(own)
        if self.kept is not None and start is not None:
            self.kept[start] = (B, own)
        H[:, d:] = B
        H[:, :d] /= own
        return Piece(H, supported, np.zeros(0, np.int64))
