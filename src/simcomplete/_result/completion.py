"""Completion: what every method returns.

It holds a factor wherever a method has one; blocks of similarities are computed when they are asked for, the whole
matrix only when it fits into memory.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._caller import warn_caller
from simcomplete._result import frames, plots, store, views
from simcomplete._result.certificate import Certificate
from simcomplete._result.imputed import WithValues
from simcomplete._result.intervals import IntervalModel, check_level, required
from simcomplete._result.matrix import Selection, SymmetricMatrix
from simcomplete._result.new_queries import TakesQueries
from simcomplete._result.probabilities import Probabilities
from simcomplete._result.rows import refuse_two_readings, resolve_rows
from simcomplete._result.searching import WithSearch
from simcomplete._result.status import COMPUTED, Status
from simcomplete._result.summary import completion_html, rank_in_words, summary
from simcomplete._result.validity import Validity, validate
from simcomplete._rows.atomic import as_path
from simcomplete._rows.scaling import FeatureScaling
from simcomplete._rows.table import as_row_table
from simcomplete._rows.xp import Array
from simcomplete._similarity.exact import CandidateBlock, CandidateRows
from simcomplete._similarity.measure import Evidence


@dataclass(frozen=True, eq=False)
class Completion(WithSearch, Probabilities, WithValues, TakesQueries):
    """Completed similarities: candidates first, then queries, in input order.

    ``S = F diag(signs) F^T + diag(diagonal)``, or a dense matrix where a method has no factor (then `factor` is None).
    Everything below works for both. Rows are selected as "candidates" or "queries", by position in the result (whole
    numbers, a slice, or a boolean for every row), by label, or by position within a group: ``("queries", [0, 3])``.

    Attributes
    ----------
    matrix : SymmetricMatrix
        The similarities, in a form that takes little memory.
    n_candidates : int
        The number of candidates, which are the first rows.
    all_rows_are_queries : bool
        True when there were no separate queries: every row is candidate and query at once.
    method, params : str, dict
        The method, with all parameters as used.
    status : Status
        How the run ended, and what to try.
    history : list of dict
        One entry per recorded iteration; empty for direct solutions.
    certificate : Certificate or None
        Proof of optimality, for methods that have one.
    labels : list of str or None
        Row labels, if there are any.
    order : array of int or None
        Original position of every row, where candidates had to be moved to the front.
    choice, election : dict or None
        What a method chose by itself, and the table of scores of "auto".
    unobserved : array of int or None
        Positions of rows of which nothing was observed: they have confidence 0 and no neighbours.
    frame : {"pandas", "polars", "pyarrow"} or None
        The kind of frame that the samples were given in; `to_frame` returns the same kind.
    scaling : FeatureScaling or None
        What was subtracted from every feature (`offset`) and what it was divided by (`divisor`): ``center=``,
        ``scale=``.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> P = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    >>> Q = np.array([[2.0, np.nan]])
    >>> done = sc.complete(P, Q, method="smcnn", rank=2)
    >>> done
    Completion(method='smcnn', candidates=3, queries=1, rank=2, status='optimal')
    >>> done.similarity("queries", "candidates").round(1)
    array([[1. , 0.1, 0.9]])
    >>> done.search(k=1).ids
    array([[0]])
    """

    matrix: SymmetricMatrix
    n_candidates: int
    method: str
    all_rows_are_queries: bool = False
    params: dict[str, Any] = field(default_factory=dict)
    status: Status = COMPUTED
    history: list[dict[str, float]] = field(default_factory=list)
    certificate: Certificate | None = None
    evidence_source: Evidence | Callable[[], Evidence] | None = field(default=None, repr=False)
    labels: list[str] | None = None
    order: NDArray[np.int64] | None = None
    choice: dict[str, Any] | None = None
    election: list[dict[str, Any]] | None = None
    exact: CandidateRows | CandidateBlock | None = field(default=None, repr=False)
    interval_model: IntervalModel | None = field(default=None, repr=False)
    # What the method fitted, which adds rows to the result.
    model: Any = field(default=None, repr=False)
    unobserved: NDArray[np.int64] | None = None
    frame: str | None = None
    scaling: FeatureScaling | None = field(default=None, repr=False)

    # These are described in their own modules.
    to_frame, to_pandas, to_polars = frames.to_frame, frames.to_pandas, frames.to_polars
    plot, plot_similarity, plot_spectrum = plots.plot, plots.plot_similarity, plots.plot_spectrum
    plot_neighbours, plot_intervals = plots.plot_neighbours, plots.plot_intervals
    view = views.view
    summary, _repr_html_ = summary, completion_html

    @property
    def factor(self) -> Array | None:
        """F, of shape (n, r), or None if the result is dense.

        Where rows are not all in memory, slices of rows, ``.T``, products, sums and means go block by block.
        """
        return None if self.matrix.factor is None else as_row_table(self.matrix.factor).array_like

    @property
    def signs(self) -> Array | None:
        """Signs of the factor's columns, or None for all +1."""
        return self.matrix.signs

    @property
    def diagonal(self) -> Array | None:
        """What is added to the diagonal of the factor's product, or None."""
        return self.matrix.diagonal

    @cached_property
    def evidence(self) -> Evidence | None:
        """The number of pairs, and the rows, that had no common features; None for a given matrix."""
        return self.evidence_source() if callable(self.evidence_source) else self.evidence_source

    @property
    def n(self) -> int:
        """Number of candidates and queries together."""
        return self.matrix.n

    @property
    def n_queries(self) -> int:
        """Number of queries; of all rows if there were no separate queries."""
        return self.n if self.all_rows_are_queries else self.n - self.n_candidates

    @property
    def together(self) -> bool:
        """The former name of `all_rows_are_queries`; it warns, and will be removed in 0.3."""
        warn_caller("'together' is now called 'all_rows_are_queries'; the old name goes in 0.3", FutureWarning)
        return self.all_rows_are_queries

    @cached_property
    def rank(self) -> int:
        """Numerical rank: eigenvalues above n * eps * the largest. The added diagonal is not counted."""
        return self.matrix.rank()

    @cached_property
    def validity(self) -> Validity:
        """Five checks of the matrix, each with its number."""
        return validate(self.matrix, self.exact)

    def similarity(
        self,
        rows: Any = None,
        cols: Any = None,
        *,
        unit_diagonal: bool = False,
        keep_candidates: bool = False,
        clip: bool = False,
    ) -> Array:
        """Return completed similarities, or a block of them.

        Parameters
        ----------
        rows, cols : {"candidates", "queries"}, positions, labels or pair, optional
            Which rows and columns; all when left out. A block that does not fit into memory raises an error.
        unit_diagonal, keep_candidates, clip : bool
            As in `view`.

        Returns
        -------
        array of shape (rows, cols)
        """
        other = unit_diagonal or keep_candidates or clip
        view = self.view(unit_diagonal=unit_diagonal, keep_candidates=keep_candidates, clip=clip) if other else self
        return view.matrix.block(self._resolve(rows, "rows"), self._resolve(cols, "cols"))

    def interval(self, level: float = 0.9, rows: Any = None, cols: Any = None) -> tuple[Array, Array]:
        """Return intervals for the similarities of queries with candidates, or of all rows with all.

        They are learnt from simulated queries. They have the stated coverage if values are missing at random or by
        occlusion; they are too narrow if a value is missing because of its size.

        Parameters
        ----------
        level : float
            Share of the true similarities that should lie inside the intervals.
        rows, cols : optional
            As in `similarity`; the queries and the candidates when left out. Where queries are separate, numbers for
            `rows` need their group, ``("queries", [0, 3])``.

        Returns
        -------
        low, high : array of shape (rows, cols)
            Clipped to [-1, 1]. Pairs of complete candidates are exact: their intervals have no width. Those of a row of
            which nothing was observed are -1 and 1.
        """
        required(self.interval_model, self.method)
        if not self.all_rows_are_queries:
            refuse_two_readings(rows, self.n_candidates)
        picked = self._resolve("queries" if rows is None else rows, "rows")
        among = self._resolve("candidates" if cols is None else cols, "cols")
        return self.interval_between(check_level(level), picked, among)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """One number per query, from 0 (nothing is known about it) to 1 (everything is)."""
        return required(self.interval_model, self.method).confidence

    def save(self, path: str | Path, *, overwrite: bool = False, candidates: bool = True) -> None:
        """Write the result to a folder of `.npy` and JSON files, completely or not at all; `sc.load` reads it.

        Parameters
        ----------
        path, overwrite : path, bool
            The folder to make, and whether to replace a completion saved there before.
        candidates : bool
            Also keep the exact candidate block, which views with `keep_candidates` and the fifth validity check need,
            and for "posterior" the model, which `query` and `imputed` need.
        """
        store.write(self, as_path(path), overwrite=overwrite, candidates=candidates)

    def __repr__(self) -> str:
        return (
            f"Completion(method={self.method!r}, candidates={self.n_candidates}, queries={self.n_queries}, "
            f"rank={rank_in_words(self)}, status={self.status.code!r})"
        )

    def _resolve(self, rows: Any, name: str) -> Selection:
        return resolve_rows(rows, name, self.n, self.n_candidates, self.all_rows_are_queries, self.labels)
