"""The similarity matrix S0 as something to multiply with.

Solvers see `Operator` only. `DenseSimilarity` holds a given matrix, `OverlapSimilarity` computes that of rows; with
complete candidates `CandidateQuerySimilarity`, in a file of its own, never holds one.
"""

from __future__ import annotations

from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require, row_blocks
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, astype, namespace
from simcomplete._similarity.evidence import LazyEvidence
from simcomplete._similarity.measure import Evidence, Measure
from simcomplete._similarity.overlap import overlap_matrix


class Operator(Protocol):
    """What solvers ask of a symmetric matrix."""

    @property
    def progress(self) -> bool | None:
        """Whether long work on it shows how far it is; None on a terminal only."""

    @property
    def array(self) -> Array:
        """An array that tells the library and device to work in."""

    @property
    def n(self) -> int:
        """How many rows."""

    def matmul(self, V: Array) -> Array:
        """Return S0 @ V in float64."""

    def squared_norm(self) -> float:
        """Return |S0|_F^2."""

    def dense(self) -> Array:
        """Return the whole matrix in float64, refused beforehand when it would not fit."""

    @property
    def max_rank(self) -> int:
        """A bound on how many eigenvalues are other than 0."""

    def diagonal_deficit(self) -> NDArray[np.float64] | None:
        """What rows without any evidence lack on the diagonal; None where there are none."""


class DenseSimilarity:
    """A similarity matrix that is held as it is; products are taken in float64, block by block."""

    def __init__(self, S: Array, progress: bool | None = None) -> None:
        self.S = S
        self.progress = progress

    @property
    def array(self) -> Array:
        """An array that tells the library and device to work in."""
        return self.S

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.S.shape[0])

    def matmul(self, V: Array) -> Array:
        """Return S0 @ V in float64."""
        xp = namespace(self.S)
        if self.S.dtype == xp.float64:
            return self.S @ V
        blocks = row_blocks(self.n, self.n * 8)
        return xp.concat([xp.astype(self.S[rows, :], xp.float64) @ V for rows in blocks], axis=0)

    def squared_norm(self) -> float:
        """Return |S0|_F^2, summed in float64."""
        xp = namespace(self.S)
        blocks = row_blocks(self.n, self.n * 8)
        return sum(float(xp.sum(xp.astype(self.S[rows, :], xp.float64) ** 2)) for rows in blocks)

    def dense(self) -> Array:
        """Return the whole matrix in float64."""
        xp = namespace(self.S)
        if self.S.dtype != xp.float64:
            require(self.n**2 * 8, f"a float64 copy of the {self.n} x {self.n} matrix", "use route='iterative'")
        return astype(self.S, xp.float64)

    @property
    def max_rank(self) -> int:
        """The size of the matrix."""
        return self.n

    def diagonal_deficit(self) -> NDArray[np.float64] | None:
        """The diagonal is as it was given."""
        return None


class OverlapSimilarity(DenseSimilarity):
    """S0 of rows that may all be incomplete, computed when it is first needed."""

    def __init__(
        self,
        rows: RowTable,
        measure: Measure,
        progress: bool | None = None,
        evidence: LazyEvidence | None = None,
    ) -> None:
        self.rows, self.measure, self.progress = rows, measure, progress
        self.evidence = evidence or LazyEvidence(rows, None, measure, progress)

    @cached_property
    def _computed(self) -> tuple[Array, Evidence]:
        S, evidence = overlap_matrix(self.rows, self.measure, progress=self.progress)
        self.evidence.known = evidence
        return S, evidence

    @property
    def S(self) -> Array:
        """The matrix, with diagonal 0 for rows without any evidence."""
        return self._computed[0]

    @property
    def n(self) -> int:
        """How many rows."""
        return self.rows.n

    def diagonal_deficit(self) -> NDArray[np.float64] | None:
        """What rows without any evidence lack on the diagonal."""
        return self._computed[1].diagonal_deficit(self.n, self.measure)
