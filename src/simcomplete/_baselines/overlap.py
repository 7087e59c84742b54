"""`overlap`: the similarities over common features themselves, S0, as the yardstick for everything else."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.problem import Task
from simcomplete._method.spec import Method
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.budget import require
from simcomplete._rows.xp import Array, like, namespace, to_numpy, zeros
from simcomplete._similarity.operator import CandidateQuerySimilarity
from simcomplete._spectral.eigen.routes import SMALL


def run(task: Task, params: dict[str, Any]) -> Completion:
    """Return S0: dense when small, else as a factor with signs, which is exact and never n x n."""
    operator = task.operator
    if isinstance(operator, CandidateQuerySimilarity) and operator.n > max(SMALL, operator.reduced_size):
        matrix = signed_factor(operator)
    else:
        matrix = SymmetricMatrix(dense=operator.dense())
    lack = task.missing_diagonal()
    if lack is not None and matrix.dense is not None:
        matrix = SymmetricMatrix(dense=matrix.dense + like(np.diag(to_numpy(lack)), matrix.dense))
    elif lack is not None:
        matrix = SymmetricMatrix(matrix.factor, matrix.signs, lack)
    status = Status("computed", "similarities over common features, not completed: expect it not to be PSD")
    return task.finish("overlap", params, matrix, status=status)


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
        out_of_sample=False,
        reference="cosine over common features, S^0 of the paper (appendix, inaccurate similarity score)",
        run=run,
    ),
)
