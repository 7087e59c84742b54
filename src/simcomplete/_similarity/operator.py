"""The similarity matrix S0 as something to multiply with.

Solvers see `Operator` only. `DenseSimilarity` holds the matrix; `CandidateQuerySimilarity` never does: with
complete candidates

    S0 = [[P^ P^T, B], [B^T, C]],

P^ the candidates with unit rows, B and C the overlap similarities of queries with candidates and among
themselves, and everything is read from the candidates block by block, cast to float64 (with a strong common
direction, as all non-negative data have, float32 products lose the small eigenvalues).
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Protocol

from simcomplete._rows.budget import block_bytes, require, row_blocks
from simcomplete._rows.progress import track
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, astype, free_on_device, namespace, set_diagonal, zeros
from simcomplete._similarity.candidate_pass import Reader
from simcomplete._similarity.evidence import combined
from simcomplete._similarity.exact import CandidateRows
from simcomplete._similarity.gram import FirstPass, GramOf, common_direction, merge
from simcomplete._similarity.measure import Evidence, Measure
from simcomplete._similarity.overlap import overlap_matrix
from simcomplete._similarity.products import prepare


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


class CandidateQuerySimilarity:
    """S0 of complete candidates and incomplete queries, never held as n x n."""

    def __init__(self, candidates: RowTable, queries: RowTable, measure: Measure, progress: bool | None = None) -> None:
        xp = candidates.xp
        self.candidates = CandidateRows(candidates, measure)
        self.measure = measure
        self.progress = progress
        room = self.candidates.n * queries.n * 8 < 0.25 * free_on_device(candidates.held)
        known = prepare(xp.astype(queries.whole(), xp.float64), measure)
        self.reader = Reader(known, measure, {} if room else None)
        self.C, self.query_evidence = overlap_matrix(queries, measure, dtype=xp.float64, progress=progress)

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
        return self.candidates.n + int(self.C.shape[0])

    @property
    def reduced_size(self) -> int:
        """Size of the problem that has all the non-zero eigenvalues."""
        return self.candidates.width + 2 * int(self.C.shape[0])

    @property
    def bytes_per_row(self) -> int:
        """What one candidate takes while its block is worked on."""
        return (3 * self.candidates.width + 5 * int(self.C.shape[0])) * 8

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

    @cached_property
    def first(self) -> FirstPass:
        """What one pass over the candidates gives, remembered."""
        turn = common_direction(self.candidates.source, self.reader)
        return self.candidates.source.fold(
            GramOf(self.reader, turn),
            merge,
            bytes_per_row=self.bytes_per_row,
            label="first pass",
            progress=self.progress,
        )

    def gram(self) -> Array:
        """G = H^T H with H = [P^ B]."""
        return self.first.turned_back()

    def evidence(self) -> Evidence:
        """What the similarities stand on; counted in the same first pass."""
        return combined(self.n_candidates, self.first.without, self.first.empty, self.query_evidence, self.measure)

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
