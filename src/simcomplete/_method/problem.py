"""The three kinds of problem that a method may be given, with checked data.

`CandidatesQueries` has complete candidates and incomplete queries, `AllRows` rows of which every one may be
incomplete, `Similarities` only a matrix. A method ends by returning `problem.result(...)`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.unobserved import without_certainty
from simcomplete._rows.table import HeldRows, RowTable, as_row_table
from simcomplete._rows.xp import Array, astype, is_numpy, like, rows_not_finite, to_numpy
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._similarity.evidence import LazyEvidence
from simcomplete._similarity.exact import CandidateBlock, CandidateRows
from simcomplete._similarity.measure import PLAIN, Measure
from simcomplete._similarity.operator import DenseSimilarity, Operator, OverlapSimilarity
from simcomplete.errors import InputError, NotFiniteError


class Problem:
    """What the three problems have in common."""

    # Row labels, the library of the frame they came in, and where rows came from that were moved to the front.
    labels: list[str] | None = None
    frame: str | None = None
    order: NDArray[np.int64] | None = None
    # Hints about the entries of a given matrix: which are exact, and the number of common features of each.
    known: NDArray[np.bool_] | None = None
    overlap: NDArray[np.int64] | None = None
    measure: Measure = PLAIN
    all_rows_are_queries = False  # whether every row is candidate and query at once
    has_rows = True  # whether there are samples, and not only their similarities

    @property
    def n(self) -> int:
        """Number of all rows."""
        raise NotImplementedError

    @property
    def n_candidates(self) -> int:
        """Number of candidates."""
        raise NotImplementedError

    @property
    def dtype(self) -> Any:
        """Type of the result: float32 only when everything given is."""
        raise NotImplementedError

    @property
    def operator(self) -> Operator:
        """S0 as a linear operator."""
        raise NotImplementedError

    @property
    def evidence(self) -> LazyEvidence | None:
        """The numbers of pairs and rows without evidence, counted when first needed; None for a given matrix."""
        return None

    @property
    def exact(self) -> CandidateRows | CandidateBlock | None:
        """The candidates whose similarities are known, if any are."""
        return None

    @property
    def table(self) -> NDArray[np.float64]:
        """All rows in NumPy and float64, candidates first, NaN where missing, for methods that act on samples."""
        raise NotImplementedError

    def to_input_library(self, array: Array) -> Array:
        """Bring an array to the library, device and type of the input."""
        raise NotImplementedError

    @cached_property
    def similarities(self) -> NDArray[np.float64]:
        """S0 in NumPy and float64 with its whole diagonal, for methods that act on a dense matrix."""
        S = np.array(to_numpy(self.operator.dense()))
        deficit = self.operator.diagonal_deficit()
        if deficit is not None:
            S[np.diag_indices(self.n)] += deficit
        return S

    def diagonal_deficit(self) -> Array | None:
        """What to add to the diagonal of S0 for rows without any evidence; None if there are no such rows."""
        deficit = self.operator.diagonal_deficit()
        return None if deficit is None else like(deficit, self.operator.array, dtype=self.dtype)

    def zero_rows_without_evidence(self, V: Array) -> Array:
        """Set the factor's rows without any evidence to exactly 0, so that no search finds rounding errors in them."""
        deficit = self.operator.diagonal_deficit()
        if deficit is None or self.measure.positive:
            return V
        return V * like((deficit == 0)[:, None].astype(np.float64), V, dtype=V.dtype)

    def result(self, method: str, params: dict[str, Any], matrix: SymmetricMatrix, **facts: Any) -> Completion:
        """Wrap a method's result, in the input's library and type; every method ends here, so it is checked here."""
        factor, signs, diagonal, dense = (
            array if array is None or isinstance(array, RowTable) else self.to_input_library(array)
            for array in (matrix.factor, matrix.signs, matrix.diagonal, matrix.dense)
        )
        result = SymmetricMatrix(factor, signs, diagonal, dense, unit=matrix.unit)
        self._refuse_not_finite(result, method)
        if len(blind := self.unobserved()):
            facts = without_certainty(facts, blind, 0 if self.all_rows_are_queries else self.n_candidates)
        compared = {name: value for name, value in vars(self.measure).items() if value and self.has_rows}  # what is on
        return Completion(
            matrix=result,
            n_candidates=self.n_candidates,
            all_rows_are_queries=self.all_rows_are_queries,
            method=method,
            params={**params, **compared},
            evidence_source=self.evidence and (self.evidence.known or self.evidence),
            labels=self.labels,
            frame=self.frame,
            order=self.order,
            exact=self.exact,
            **facts,
        )

    def unobserved(self) -> NDArray[np.int64]:
        """Positions of rows about which nothing is known: rows without values, or without overlap in a matrix."""
        given: RowTable | None = getattr(self, "queries", getattr(self, "rows", None))
        if given is not None:
            return given.without_values() + (self.n - given.n)
        return np.flatnonzero([] if self.overlap is None else ~self.overlap.any(axis=1))

    def _refuse_not_finite(self, matrix: SymmetricMatrix, method: str) -> None:
        """Refuse a result with numbers in memory that are not finite."""
        # Rows that are computed when read, or were written to a file, are not read again: they come from finite rows.
        for array in (matrix.factor, matrix.dense, matrix.diagonal):
            held, start = (array, 0) if array is None or array.ndim == 1 else as_row_table(array).held_part
            bad = [] if held is None else (rows_not_finite(held) + start).tolist()
            if bad:
                first, kind = bad[0], "candidate" if bad[0] < self.n_candidates else "query"
                own = "" if self.all_rows_are_queries else f", {kind} {first - (kind == 'query') * self.n_candidates}"
                label = "" if self.labels is None else f", labelled {self.labels[first]!r}"
                raise NotFiniteError(
                    f"method {method!r} has no finite similarities for row {first}{own}{label} "
                    f"({len(bad)} of {self.n} rows); use another method, such as 'overlap', or leave the row out"
                )


@dataclass(frozen=True)
class CandidatesQueries(Problem):
    """Complete candidates, in memory or not, and incomplete queries."""

    candidates: RowTable
    queries: HeldRows
    measure: Measure = PLAIN
    labels: list[str] | None = None
    progress: bool | None = None
    frame: str | None = None

    @property
    def n(self) -> int:
        """Candidates and queries."""
        return self.candidates.n + self.queries.n

    @property
    def n_candidates(self) -> int:
        """How many rows are candidates."""
        return self.candidates.n

    @property
    def dtype(self) -> Any:
        """Type of the result: float32 only when everything given is."""
        xp = self.candidates.xp
        return xp.float32 if self.candidates.dtype == self.queries.dtype == xp.float32 else xp.float64

    @cached_property
    def evidence(self) -> LazyEvidence:
        """What S0 stands on."""
        return LazyEvidence(self.candidates, self.queries, self.measure, self.progress)

    @cached_property
    def operator(self) -> CandidateQuerySimilarity:
        """S0, never held as n x n."""
        return CandidateQuerySimilarity(self.candidates, self.queries, self.measure, self.progress, self.evidence)

    @cached_property
    def exact(self) -> CandidateRows:
        """The candidates."""
        return CandidateRows(self.candidates, self.measure)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """All rows in NumPy and float64, candidates first."""
        return np.concatenate([to_numpy(table.whole()).astype(np.float64) for table in (self.candidates, self.queries)])

    def to_input_library(self, array: Array) -> Array:
        """Bring an array to the library, device and type of the candidates."""
        return self.candidates.like(array, self.dtype) if is_numpy(array) else astype(array, self.dtype)


@dataclass(frozen=True)
class AllRows(Problem):
    """Rows of which every one may be incomplete: each is candidate and query at once."""

    rows: RowTable
    measure: Measure = PLAIN
    labels: list[str] | None = None
    progress: bool | None = None
    frame: str | None = None
    all_rows_are_queries = True

    @property
    def n(self) -> int:
        """How many rows."""
        return self.rows.n

    @property
    def n_candidates(self) -> int:
        """All of them."""
        return self.rows.n

    @property
    def dtype(self) -> Any:
        """Type of the rows."""
        return self.rows.dtype

    @cached_property
    def evidence(self) -> LazyEvidence:
        """What S0 stands on."""
        return LazyEvidence(self.rows, None, self.measure, self.progress)

    @cached_property
    def operator(self) -> OverlapSimilarity:
        """S0, an n x n matrix made when it is first needed."""
        return OverlapSimilarity(self.rows, self.measure, self.progress, self.evidence)

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """All rows in NumPy and float64."""
        return to_numpy(self.rows.whole()).astype(np.float64)

    def to_input_library(self, array: Array) -> Array:
        """Bring an array to the library, device and type of the rows."""
        return self.rows.like(array, self.dtype) if is_numpy(array) else astype(array, self.dtype)


@dataclass(frozen=True)
class Similarities(Problem):
    """Only a similarity matrix; the first `n_exact` rows have an exact block, None where no row has."""

    S0: Array
    n_exact: int | None = None
    known: NDArray[np.bool_] | None = None
    overlap: NDArray[np.int64] | None = None
    labels: list[str] | None = None
    order: NDArray[np.int64] | None = None
    progress: bool | None = None
    frame: str | None = None
    has_rows = False

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.S0.shape[0])

    @property
    def n_candidates(self) -> int:
        """Rows with an exact block, or all."""
        return self.n if self.n_exact is None else self.n_exact

    @property
    def all_rows_are_queries(self) -> bool:  # type: ignore[override]
        """Whether no row has an exact block."""
        return self.n_exact is None

    @property
    def dtype(self) -> Any:
        """Type of the matrix."""
        return self.S0.dtype

    @cached_property
    def operator(self) -> DenseSimilarity:
        """S0."""
        return DenseSimilarity(self.S0, self.progress)

    @cached_property
    def exact(self) -> CandidateBlock | None:
        """The exact block."""
        return None if self.n_exact is None else CandidateBlock(self.S0[: self.n_exact, : self.n_exact])

    @property
    def table(self) -> NDArray[np.float64]:
        """There is none."""
        raise InputError("this needs the samples themselves; give them to complete()")

    def to_input_library(self, array: Array) -> Array:
        """Bring an array to the library, device and type of the matrix."""
        return like(array, self.S0, self.dtype) if is_numpy(array) else astype(array, self.dtype)
