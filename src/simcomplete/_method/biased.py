"""Subtract means of rows and columns before a method runs, and add them to imputed values afterwards."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcomplete._method.problem import AllRows, CandidatesQueries
from simcomplete._ratings.biases import Biases, BiasKind, check_biases, learn_biases
from simcomplete._ratings.fitted import BiasedValues, FittedRatings
from simcomplete._result.completion import Completion
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.sparse import SparseRows, known_cells
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError


def unbiased_problem(problem: AllRows | CandidatesQueries, kind: BiasKind) -> tuple[AllRows, Biases]:
    """Return the problem with the fitted means of rows and columns subtracted. Sparse rows stay sparse."""
    check_biases(kind)
    if isinstance(problem, CandidatesQueries):
        raise InputError(
            f"biases={kind!r} is learnt from rows that may all be incomplete; give all rows together, as complete(X), "
            "or use center='mean' with candidates and queries",
            about=("biases",),
        )
    rows = problem.rows.in_memory()
    stored = known_cells(rows)
    biases = learn_biases(stored, kind)
    if isinstance(rows, SparseRows):
        return replace(problem, rows=SparseRows(biases.residuals(stored).astype(rows.dtype), rows.labels)), biases
    left = to_numpy(rows.array).copy()
    for block in row_blocks(rows.n, 3 * 8 * rows.d):
        left[block] -= biases.of_rows(np.arange(block.start, block.stop))
    return replace(problem, rows=HeldRows(rows.like(left, rows.dtype), rows.labels)), biases


def with_biases(done: Completion, biases: Biases, given: AllRows) -> Completion:
    """Return the result with the biases recorded, and with imputed values to which they are added again."""
    model = done.model
    if isinstance(model, FittedRatings):
        model = FittedRatings((given.rows,), biases)
    elif hasattr(model, "imputed"):
        model = BiasedValues(model, biases, (given.rows,))
    facts = {"mean": biases.mean, "shrinkage": list(biases.shrinkage)}
    choice = {**(done.choice or {}), "biases": facts}
    return replace(done, model=model, params={**done.params, "biases": biases.kind}, choice=choice)
