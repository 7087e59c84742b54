"""`shrunk`: similarities over common features, drawn towards 0 where few features are in common, as for ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcomplete._method.memory import with_pairs
from simcomplete._method.params import Number, Parameters, parameter
from simcomplete._method.problem import AllRows, CandidatesQueries, Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.sparse import known_cells, stored_cells
from simcomplete._rows.table import RowTable
from simcomplete._similarity.measure import PLAIN
from simcomplete._types import Matrix

CHOSEN_ON = 2000  # rows at most, to choose the shrinkage on
DEFAULT = 30.0  # where too few values are known to hide some


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """S0 times n / (n + shrinkage) for pairs with n common features; the shrinkage by hiding known values."""
    import scipy.sparse

    from simcomplete._ratings.fitted import FittedRatings

    tables = _tables(problem)
    known = scipy.sparse.csr_array(scipy.sparse.vstack([known_cells(table) for table in tables]))
    given = params["shrinkage"]
    shrinkage = chosen_shrinkage(known, problem.measure.metric == "pearson") if given is None else float(given)
    S = _similarities(problem, known, shrinkage)
    status = Status(
        "computed", "similarities shrunk towards 0 where few features are in common: expect it not to be PSD"
    )
    return problem.result(
        "shrunk",
        params,
        SymmetricMatrix(dense=S),
        status=status,
        choice={"shrinkage": shrinkage, "by": "hidden values" if given is None else "the caller"},
        model=FittedRatings(tables),
    )


def _similarities(problem: Problem, known: Any, shrinkage: float) -> Matrix:
    """S0, drawn towards 0. The cosines of rows of which little is known are products of sparse matrices."""
    from simcomplete._ratings.neighbours import DENSE_SHARE, mask_of, pair_sums, shrunk_by_counts

    plain = problem.measure == PLAIN
    if plain and isinstance(problem, AllRows) and known.nnz <= DENSE_SHARE * known.shape[0] * known.shape[1]:
        largest = np.maximum(abs(known).max(axis=1).toarray().ravel(), 1e-300)
        scaled = known.copy()
        scaled.data = known.data / np.repeat(largest, np.diff(known.indptr))  # so that squares do not overflow
        return pair_sums(scaled).shrunk(shrinkage)
    S, M = problem.similarities, mask_of(known)
    for rows in row_blocks(problem.n, 4 * 8 * problem.n):
        S[rows] = shrunk_by_counts(S[rows], (M[rows] @ M.T).toarray(), shrinkage)
    np.fill_diagonal(S, 1.0)
    return S


def chosen_shrinkage(known: Any, pearson: bool) -> float:
    """The shrinkage with which neighbours come nearest to a tenth of the known values, which are hidden from them."""
    from simcomplete._ratings.biases import HIDDEN_SHARE, hidden_cells, learn_biases
    from simcomplete._ratings.neighbours import best_shrinkage, pair_sums

    rng = np.random.default_rng(0)
    known = known[np.sort(rng.permutation(known.shape[0])[:CHOSEN_ON])]
    cells = known.tocoo()
    hidden = hidden_cells(len(cells.data), HIDDEN_SHARE, rng)
    if not hidden.any() or not np.isfinite(np.sum(np.square(cells.data / max(np.abs(cells.data).max(), 1e-300)))):
        return DEFAULT
    size = max(float(np.abs(cells.data).max()), 1e-300)
    values = cells.data / size  # whose squares neither overflow nor vanish
    left = stored_cells(values[~hidden], cells.row[~hidden], cells.col[~hidden], known.shape)
    rows, columns = cells.row[hidden], cells.col[hidden]
    level = learn_biases(left, "column", (5.0, 5.0))
    compared = learn_biases(left, "row", (0.0, 0.0)).residuals(left) if pearson else left
    truth = values[hidden] - level.at(rows, columns)
    return best_shrinkage(pair_sums(compared), level.residuals(left).T.tocsr(), rows, columns, truth)


def _tables(problem: Problem) -> tuple[RowTable, ...]:
    if isinstance(problem, CandidatesQueries):
        return problem.candidates, problem.queries
    assert isinstance(problem, AllRows)  # a matrix alone is refused before
    return (problem.rows,)


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """S0 and a copy of it, known values three times, and what the shrinkage is chosen with."""
    known = s.n_candidates * s.d + s.n_queries * s.d * (1 - s.missing)
    return with_pairs(s, s.n**2 + 6 * known + 6 * min(s.n, CHOSEN_ON) ** 2)


METHODS = (
    Method(
        name="shrunk",
        family="overlap",
        acts_on="samples",
        regularizer="overlap",
        solver="none",
        psd=False,
        low_rank=False,
        keeps_candidates=False,
        random=False,
        reference="significance weighting of neighbours; Koren, Factor in the Neighbors (2010), section 2.2",
        parameters=Parameters(
            parameter(
                "shrinkage",
                None,
                Number(),
                meaning="number of common features that halves a similarity; None: chosen by hiding known values",
            ),
        ),
        shared=frozenset({"metric", "min_overlap"}),
        work=lambda sizes, params: 8.0 * sizes.n * sizes.n * sizes.d,
        factor=False,
        memory=_memory,
        run=run,
    ),
)
