"""`overlap`: the similarities over common features themselves, S0, to compare everything else with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from simcomplete._method.memory import first_pass, making_pairs
from simcomplete._method.problem import CandidatesQueries, Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.budget import require
from simcomplete._rows.xp import Array, like, namespace, to_numpy, zeros
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._spectral.eigen.routes import SMALL


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Return S0: dense when small, else as a factor with signs, which is exact and never n x n."""
    if isinstance(problem, CandidatesQueries) and problem.n > max(SMALL, problem.operator.reduced_size):
        matrix = signed_factor(problem.operator)
    else:
        matrix = SymmetricMatrix(dense=problem.operator.dense())
    deficit = problem.diagonal_deficit()
    if deficit is not None and matrix.dense is not None:
        matrix = SymmetricMatrix(dense=matrix.dense + like(np.diag(to_numpy(deficit)), matrix.dense))
    elif deficit is not None:
        matrix = SymmetricMatrix(matrix.factor, matrix.signs, deficit)
    status = Status("computed", "similarities over common features, not completed: expect it not to be PSD")
    return problem.result("overlap", params, matrix, status=status)


def signed_factor(operator: CandidateQuerySimilarity) -> SymmetricMatrix:
    """S0 = F diag(signs) F^T with d + 2 n_q columns.

    In the notation of `spectral.reduced`, K is the identity on P^ and M = [[0, I], [I, C]] on the rest; with
    M = W diag(k) W^T the columns are [P^, 0] and [[B, 0], [0, I]] W sqrt|k|, signed by k.
    """
    xp = namespace(operator.C)
    n, n_q = operator.n, int(operator.C.shape[0])
    width, size = operator.candidates.width, operator.reduced_size
    require(n * size * 8, f"a signed factor of {n} x {size}", "search with a low-rank method instead")
    M = zeros(operator.C, (2 * n_q, 2 * n_q))
    M[:n_q, n_q:] = like(np.eye(n_q), M)
    M[n_q:, :n_q] = like(np.eye(n_q), M)
    M[n_q:, n_q:] = operator.C
    k, W = xp.linalg.eigh(M)
    W = W * xp.sqrt(xp.abs(k))
    F: Array = zeros(operator.C, (n, size))
    for rows, P, B, _ in operator.blocks("similarities"):
        F[rows, :width] = P
        F[rows, width:] = B @ W[:n_q, :]
    F[operator.n_candidates :, width:] = W[n_q:, :]
    signs = xp.concat([xp.ones_like(F[0, :width]), xp.sign(k)])
    return SymmetricMatrix(factor=F, signs=signs)


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """S0 itself, or the factor of `signed_factor`."""
    size = s.d + 2 * s.n_queries
    if s.form == "candidates" and s.n > max(SMALL, size):
        return first_pass(s) + s.n * size + 4 * size**2
    return making_pairs(s)


METHODS = (
    Method(
        name="overlap",
        family="overlap",
        acts_on="similarities",
        regularizer="none",
        solver="none",
        psd=False,
        low_rank=False,
        keeps_candidates=True,
        random=False,
        reference="cosine over common features, S^0 of the paper (appendix, inaccurate similarity score)",
        work=lambda sizes, params: 6.0 * sizes.n_queries * sizes.n * sizes.d,
        factor=False,
        memory=_memory,
        run=run,
    ),
)
