"""What a method is given: the data, checked, in the forms methods work on."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._rows.sink import Output
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, astype, is_numpy, like, namespace, to_numpy
from simcomplete._similarity.evidence import Uncounted
from simcomplete._similarity.exact import CandidateBlock, CandidateRows
from simcomplete._similarity.measure import Evidence, Measure
from simcomplete._similarity.operator import CandidateQuerySimilarity, DenseSimilarity, Operator
from simcomplete._similarity.overlap import overlap_matrix
from simcomplete.errors import InputError, NotConvergedWarning


@dataclass
class Task:
    """Samples or similarities to complete, and the settings every method shares.

    One of three forms: `samples` with `queries` (complete candidates, incomplete queries), `samples` alone (every
    row may be incomplete), or `given` (a similarity matrix, `n_candidates` leading rows exact).
    """

    rank: int
    penalty: float
    rng: np.random.Generator
    rank_asked: bool = False
    progress: bool | None = None
    measure: Measure = field(default_factory=Measure)
    samples: RowTable | None = None
    queries: RowTable | None = None
    given: Array | None = None
    given_candidates: int | None = None
    known: NDArray[np.bool_] | None = None
    overlap: NDArray[np.int64] | None = None
    labels: list[str] | None = None
    order: NDArray[np.int64] | None = None
    out: Output | None = None

    def rank_or(self, default: int) -> int:
        """The rank the user asked for, or a method's own default."""
        return self.rank if self.rank_asked else min(default, self.n)

    @property
    def together(self) -> bool:
        """Whether every row is candidate and query at once."""
        return self.queries is None and self.given_candidates is None

    @property
    def n(self) -> int:
        """How many rows in all."""
        if self.given is not None:
            return int(self.given.shape[0])
        assert self.samples is not None  # one of the three forms is always there
        return self.samples.n + (0 if self.queries is None else self.queries.n)

    @property
    def n_candidates(self) -> int:
        """How many rows are candidates."""
        if self.queries is not None and self.samples is not None:
            return self.samples.n
        return self.n if self.given_candidates is None else self.given_candidates

    @property
    def dtype(self) -> Any:
        """Type of the result: float32 only when everything given is."""
        arrays: list[Any] = [rows for rows in (self.samples, self.queries) if rows is not None]
        arrays = arrays or [self.given]
        xp = namespace(arrays[0])
        return xp.float32 if all(a.dtype == xp.float32 for a in arrays) else xp.float64

    @cached_property
    def exact(self) -> CandidateRows | CandidateBlock | None:
        """The candidates whose similarities are known, if any are."""
        if self.queries is not None and self.samples is not None:
            return CandidateRows(self.samples, self.measure)
        if self.given is not None and self.given_candidates is not None:
            return CandidateBlock(self.given[: self.given_candidates, : self.given_candidates])
        return None

    @cached_property
    def operator(self) -> Operator:
        """S0, as something to multiply with."""
        if self.given is not None:
            return DenseSimilarity(self.given, self.progress)
        assert self.samples is not None  # see n
        if self.queries is not None:
            return CandidateQuerySimilarity(self.samples, self.queries, self.measure, self.progress)
        S, evidence = overlap_matrix(self.samples, self.measure, progress=self.progress)
        self._evidence = evidence
        return DenseSimilarity(S, self.progress)

    _evidence: Evidence | None = None

    @property
    def evidence(self) -> Evidence | None:
        """What the similarities stand on; unknown for a given matrix."""
        operator = self.operator
        if isinstance(operator, CandidateQuerySimilarity):
            return operator.evidence()
        return self._evidence

    @cached_property
    def table(self) -> NDArray[np.float64]:
        """All rows in NumPy and float64, candidates first, NaN where missing, for methods that act on samples."""
        if self.samples is None:
            raise InputError("this needs the samples themselves; give them to complete()")
        both = [self.samples] if self.queries is None else [self.samples, self.queries]
        return np.concatenate([to_numpy(rows.whole()).astype(np.float64) for rows in both])

    @cached_property
    def similarities(self) -> NDArray[np.float64]:
        """S0 in NumPy and float64 with its whole diagonal, for methods that act on a dense matrix."""
        S = np.array(to_numpy(self.operator.dense()))
        lack = self.missing_diagonal()
        if lack is not None:
            S[np.diag_indices(self.n)] += to_numpy(lack)
        return S

    def missing_diagonal(self) -> Array | None:
        """What rows without any evidence lack on the diagonal: their 1 is no part of the spectral problem."""
        evidence = self.evidence
        if evidence is None or not evidence.rows_without:
            return None
        lack = np.zeros(self.n)
        lack[list(evidence.rows_without)] = 0.5 if self.measure.positive else 1.0
        return like(lack, self.operator.array, dtype=self.dtype)

    def cleared(self, V: Array) -> Array:
        """A factor whose rows without any evidence are exactly 0, where rounding would leave noise to search in."""
        evidence = self.evidence
        if evidence is None or not evidence.rows_without or self.measure.positive:
            return V
        keep = np.ones((self.n, 1))
        keep[list(evidence.rows_without)] = 0.0
        return V * like(keep, V, dtype=V.dtype)

    def seed(self) -> int:
        """A number for libraries that want one."""
        return int(self.rng.integers(2**31))

    def finish(self, method: str, params: dict[str, Any], matrix: SymmetricMatrix, **facts: Any) -> Completion:
        """Wrap a method's result, in the library and type of the input, with what every completion carries."""
        status = facts.get("status")
        if status is not None and not status.ok:
            warnings.warn(f"{method}: {status}", NotConvergedWarning, stacklevel=5)
        parts = {name: getattr(matrix, name) for name in ("factor", "signs", "diagonal", "dense")}
        arrays = {name: None if array is None else self._home(array) for name, array in parts.items()}
        step1: dict[str, Any] = {"metric": self.measure.metric, "min_overlap": self.measure.min_overlap}
        if self.measure.epsilon:
            step1["epsilon"] = self.measure.epsilon
        if self.measure.positive:
            step1["positive"] = True
        counted: Evidence | Uncounted | None = None
        if "operator" in self.__dict__:
            counted = self.evidence
        elif self.samples is not None:
            counted = Uncounted(self.samples, self.queries, self.measure, self.progress)
        return Completion(
            matrix=SymmetricMatrix(**arrays, unit=matrix.unit),
            n_candidates=self.n_candidates,
            together=self.together,
            method=method,
            params={**params, **({} if self.given is not None else step1)},
            counted=counted,
            labels=self.labels,
            order=self.order,
            exact=self.exact,
            **facts,
        )

    def _home(self, array: Array) -> Array:
        """Bring an array to the library, device and type of the input."""
        if isinstance(array, RowTable):
            return array
        if not is_numpy(array):
            return astype(array, self.dtype)
        return like(array, self.given, self.dtype) if self.samples is None else self.samples.like(array, self.dtype)
