"""New queries for a completion that was made by a posterior model."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.given import joined_labels
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.centred import CentredModel
from simcomplete._posterior.extend import FittedRows, as_fitted
from simcomplete._posterior.shared.rows import diagonal_deficit
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._result.unobserved import without_certainty
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.frames import FrameRows
from simcomplete._rows.matching import in_order_of
from simcomplete._rows.validate import as_rows, same_width
from simcomplete._rows.xp import Array, to_numpy
from simcomplete._types import Matrix
from simcomplete.errors import InputError

STATUS = Status("computed", "expected similarities of new queries, by the model of an earlier completion")


def answer_queries(fitted: FittedRows, done: Completion, Q: Any) -> Completion:
    """Vectors of new queries by the model behind a completion, below the rows that its candidates have there."""
    given = fitted.tables[0]
    if done.matrix.factor is None or int(done.matrix.factor.shape[1]) != fitted.d:
        raise InputError("a view of a completion takes no new queries; use the completion that it was made from")
    asked = as_rows(Q, "queries").in_memory()
    if isinstance(asked, FrameRows):
        asked = in_order_of(given, asked, "queries")
    same_width(given, asked)
    X = np.asarray(to_numpy(asked.array), dtype=np.float64)
    rows = X if done.scaling is None else np.asarray(done.scaling(X))
    model = CentredModel(fitted.model) if done.params.get("metric") == "pearson" else fitted.model
    found = model.vectors(as_fitted(model, fitted.scale, rows))
    n, old, facts = done.n_candidates, done.interval_model, dict[str, Any]()
    if isinstance(fitted.model, CandidateModel) and old is not None:  # candidates are complete
        facts["interval_model"] = IntervalModel(found.uncertainty, old.quantiles, old.ranked, found.match)
    blind = np.flatnonzero(np.isnan(X).all(axis=1))
    if len(blind):
        facts = without_certainty(facts, n + blind, n)
    if not done.all_rows_are_queries:
        facts["exact"] = done.exact
    deficit = np.zeros(n) if done.diagonal is None else to_numpy(done.diagonal)[:n]
    made = Completion(
        SymmetricMatrix(
            factor=_above(done.matrix.factor, n, found.u),
            diagonal=np.concatenate([deficit, diagonal_deficit(found.u)]),
            unit=True,
        ),
        n,
        done.method,
        params=done.params,
        status=STATUS,
        choice=done.choice,
        labels=joined_labels(None if done.labels is None else done.labels[:n], asked.labels, n, asked.n),
        frame=done.frame,
        scaling=done.scaling,
        model=replace_queries(fitted, asked),
        **facts,
    )
    return made._with_corrections(done._corrections)  # the candidates are the same


def replace_queries(fitted: FittedRows, asked: Any) -> FittedRows:
    """The same model, with other queries below its candidates."""
    return fitted._replace(tables=(fitted.tables[0], asked))


def _above(factor: Array, n: int, below: Matrix) -> Array:
    """The first n rows of a factor, and others below them; rows outside memory stay there."""
    if isinstance(factor, UnitRows):
        return UnitRows(factor.source, factor.source.like(below, factor.dtype))
    return np.concatenate([np.asarray(to_numpy(factor[:n, :])), below])
