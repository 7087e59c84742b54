"""S0 of complete candidates and incomplete queries as something to multiply with, never held as n x n.

    S0 = [[P^ P^T, B], [B^T, C]],

P^ the candidates with unit rows, B and C the overlap similarities of queries with candidates and among
themselves, and everything is read from the candidates block by block, cast to float64 (with a strong common
direction, as all non-negative data have, float32 products lose the small eigenvalues).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import available_bytes, block_bytes, memory_limit, require, row_blocks
from simcomplete._rows.progress import track
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, astype, free_on_device, namespace, set_diagonal, zeros
from simcomplete._similarity.candidate_pass import FirstPass, GramOf, KeptSimilarities, Reader, common_direction, merge
from simcomplete._similarity.evidence import LazyEvidence
from simcomplete._similarity.exact import CandidateRows
from simcomplete._similarity.measure import Evidence, Measure
from simcomplete._similarity.overlap import overlap_matrix
from simcomplete._similarity.products import prepare_rows

# How much may be kept of similarities of candidates with queries, from the first pass for the others.
SHARE = 0.25  # of the free memory of a device, or of what a block may take where the caller said so
SHARE_OF_FREE = 0.125  # of the free memory of the computer, where the caller said nothing
MOST_BYTES = 2**31  # of that


def bytes_for_similarities(source: Array) -> int:
    """Return how much memory similarities may take.

    Examples
    --------
    >>> from simcomplete._rows.budget import working_memory
    >>> with working_memory("1 KiB"):
    ...     bytes_for_similarities(np.ones((2, 3)))
    256
    """
    on_device = free_on_device(source)
    if on_device or memory_limit():
        return int(SHARE * (on_device or block_bytes(source)))
    return int(min(SHARE_OF_FREE * available_bytes(), MOST_BYTES))


class CandidateQuerySimilarity:
    """S0 of complete candidates and incomplete queries, never held as n x n."""

    def __init__(
        self,
        candidates: RowTable,
        queries: RowTable,
        measure: Measure,
        progress: bool | None = None,
        evidence: LazyEvidence | None = None,
    ) -> None:
        self.candidates = CandidateRows(candidates, measure)
        self.queries = queries
        self.measure = measure
        self.progress = progress
        self.evidence = evidence or LazyEvidence(candidates, queries, measure, progress)

    @cached_property
    def reader(self) -> Reader:
        """What turns rows of candidates into rows of [P^ B]."""
        source = self.candidates.source
        known = prepare_rows(source.xp.astype(self.queries.whole(), source.xp.float64), self.measure)
        room = bytes_for_similarities(source.held)
        return Reader(known, self.measure, KeptSimilarities.within(room, self.candidates.n, self.queries.n))

    @cached_property
    def _among_queries(self) -> tuple[Array, Evidence]:
        double = self.queries.xp.float64
        return overlap_matrix(self.queries, self.measure, dtype=double, progress=self.progress)

    @property
    def C(self) -> Array:
        """Similarities among queries."""
        return self._among_queries[0]

    @property
    def query_evidence(self) -> Evidence:
        """What they stand on."""
        return self._among_queries[1]

    @property
    def array(self) -> Array:
        """An array that tells the library and device to work in."""
        return self.C

    @property
    def n_candidates(self) -> int:
        """How many candidates."""
        return self.candidates.n

    @property
    def n(self) -> int:
        """Candidates and queries together."""
        return self.candidates.n + self.queries.n

    @property
    def reduced_size(self) -> int:
        """Size of the problem that has all the non-zero eigenvalues."""
        return self.candidates.width + 2 * self.queries.n

    @property
    def bytes_per_row(self) -> int:
        """What one candidate takes while its block is worked on."""
        arrays = 2 if self.measure.is_plain_cosine else 3  # rows of other measures have an array for themselves
        return (arrays * self.candidates.width + 5 * self.queries.n) * 8

    def blocks(self, label: str) -> Iterator[tuple[slice, Array, Array, Array]]:
        """One pass over the candidates: rows, P^, B and which pairs of B have evidence."""
        w, source = self.candidates.width, self.candidates.source
        for rows in track(row_blocks(self.n_candidates, self.bytes_per_row, like=source), label, self.progress):
            H, supported, _ = self.reader(source[rows, :], rows.start)
            yield rows, H[:, :w], H[:, w:], supported

    @cached_property
    def _held(self) -> list[tuple[slice, Array, Array, Array]] | None:
        """All blocks, where they take no more than one may: iterative solvers multiply thousands of times."""
        size = self.n_candidates * (self.candidates.width + int(self.C.shape[0])) * 8
        return list(self.blocks("similarities")) if size <= block_bytes(self.candidates.source) else None

    @property
    def first(self) -> FirstPass:
        """What one pass over the candidates gives, remembered."""
        return self._computed[0]

    @cached_property
    def _computed(self) -> tuple[FirstPass, Evidence]:
        reflector = common_direction(self.candidates.source, self.reader)
        first = self.candidates.source.fold(
            GramOf(self.reader, reflector),
            merge,
            bytes_per_row=self.bytes_per_row,
            label="first pass",
            progress=self.progress,
        )
        evidence = Evidence.combined(self.n_candidates, first.without, first.empty, self.query_evidence, self.measure)
        self.evidence.known = evidence
        return first, evidence

    def gram(self) -> Array:
        """G = H^T H with H = [P^ B]."""
        return self.first.reflected_back()

    @property
    def max_rank(self) -> int:
        """The rank of F in S0 = F K F^T is at most its width."""
        return min(self.n, self.reduced_size)

    def diagonal_deficit(self) -> NDArray[np.float64] | None:
        """What rows without any evidence lack on the diagonal."""
        return self._computed[1].diagonal_deficit(self.n, self.measure)

    def squared_norm(self) -> float:
        """Return |S0|_F^2 = |P^T P|^2 + 2 |B|^2 + |C|^2, from the Gram matrix."""
        xp = namespace(self.C)
        G = self.gram()
        w = self.candidates.width
        twice_b = 2 * float(xp.sum(xp.linalg.diagonal(G[w:, w:])))
        return float(xp.sum(G[:w, :w] ** 2)) + twice_b + float(xp.sum(self.C**2))

    def matmul(self, V: Array) -> Array:
        """Return S0 @ V in float64, in two passes; small candidates are read once and kept."""
        xp = namespace(self.C)
        n_p = self.n_candidates
        V_q = astype(V[n_p:, :], xp.float64)
        inner = zeros(self.C, (self.candidates.width, V.shape[1]))
        bottom = self.C @ V_q
        for rows, P, B, _ in self._held or self.blocks("product, inner"):
            part = astype(V[rows, :], xp.float64)
            inner += P.T @ part
            bottom += B.T @ part
        outer = self._held or self.blocks("product, outer")
        top = [P @ inner + B @ V_q for _, P, B, _ in outer]
        return xp.concat([*top, bottom], axis=0)

    def dense(self) -> Array:
        """Return the whole matrix in float64."""
        n_p = self.n_candidates
        require(self.n**2 * 8 * 2, f"the {self.n} x {self.n} matrix", "use route='structured', which needs none")
        xp = namespace(self.C)
        S = zeros(self.C, (self.n, self.n))
        pieces = []
        for rows, P, B, _ in self.blocks("similarities"):
            pieces.append(P)
            S[rows, n_p:] = B
            S[n_p:, rows] = B.T
        P = xp.concat(pieces, axis=0)
        exact = P @ P.T
        exact = (exact + exact.T) / 2
        # Exactly 1 (and exactly 1/2 or 0 for a row without evidence), where the products leave a last digit.
        set_diagonal(exact, xp.round(2 * xp.linalg.diagonal(exact)) / 2)
        S[:n_p, :n_p] = exact
        S[n_p:, n_p:] = self.C
        return S
