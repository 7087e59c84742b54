"""`fmc`: every query placed against the exact candidates, one convex problem each (Ma, Yu, Zhang 2024).

    min |v - v0|^2   over   v  with  [[S_pp, v], [v^T, c]] positive semi-definite,

v0 the query's similarities over common features and c its diagonal, 1. With S_pp = U diag(s) U^T and b = U^T v0 the
condition is |y|^2 <= c for v = U diag(sqrt(s)) y. Either y = b / sqrt(s) meets it, or y = b sqrt(s) / (s + lam) with
the one lam > 0 that makes |y|^2 = c: ridge regression on the candidates, its weight chosen by the unit norm.

Two queries with |y| = 1 leave nothing to choose: their similarity is y.y'. For the others it is y.y' + N, N the matrix
nearest to what S0 has there that is positive semi-definite with diagonal c - |y|^2. So the result is the factor
[[P^, 0], [Y, L]], L L^T = N: positive semi-definite, exact on the candidates, never n x n.

========== ==================================================================================================
variant    "batch" (every query against the candidates), "sequential" (against the queries before it, too; the order
           matters; for each a small system, as large as there are queries before it), "onmc-b" (batch, but the queries
           among themselves calibrated apart, as the public OnMC-B does: not positive semi-definite as a whole)
========== ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from simcomplete._baselines.imputation.filled import complete_filled
from simcomplete._baselines.psd import alternating
from simcomplete._baselines.psd.fmc_sequential import sequential
from simcomplete._baselines.psd.fmc_step import CUT, place_queries
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import target_diagonal, with_diagonal
from simcomplete._method.memory import first_pass
from simcomplete._method.params import Parameters, Words, parameter
from simcomplete._method.problem import AllRows, CandidatesQueries, Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.budget import require
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import like, to_numpy, zeros
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError

SLACK = 1e-10  # of the diagonal: less than this left by |y|^2 is nothing to place
OFFMC = 50  # iterations of the public program that OnMC-B calls for the queries


@dataclass(frozen=True)
class Basis:
    """Candidates in the eigenbasis of S_pp, and the queries' similarities to them there.

    Attributes
    ----------
    s : array of shape (k,)
        Eigenvalues of S_pp, without those that are rounding of 0.
    rotation : array of shape (width, k)
        From that basis to the columns of the factor: a query with coordinates y has the row ``rotation @ y``.
    b : array of shape (k, n_q)
        U^T B.
    C, c : arrays of shape (n_q, n_q) and (n_q,)
        S0 among queries, and the diagonal they are to have.
    """

    s: Vector
    rotation: Matrix
    b: Matrix
    C: Matrix
    c: Vector


def basis_of_rows(operator: CandidateQuerySimilarity) -> Basis:
    """Candidates given by their features: one pass for [P^ B]^T [P^ B], then the smaller of two Gram matrices."""
    width, n_p = operator.candidates.width, operator.n_candidates
    gram = to_numpy(operator.gram())
    if n_p >= width:
        s, E = _positive(gram[:width, :width])
    else:
        P = to_numpy(operator.candidates.rows(slice(0, n_p)))
        s, U = _positive(P @ P.T)
        E = P.T @ (U / np.sqrt(s))
    C = to_numpy(operator.C).copy()
    return Basis(s, E, (E.T @ gram[:width, width:]) / np.sqrt(s)[:, None], C, np.ones(len(C)))


def basis_of_block(S0: Matrix, n_p: int, tol: float) -> tuple[Basis, Matrix]:
    """Candidates given by their similarities, and their rows of the factor, U diag(sqrt(s))."""
    c = target_diagonal(S0)[n_p:]
    w, U = np.linalg.eigh(S0[:n_p, :n_p])
    if w[0] < -tol * max(w[-1], 0.0):
        raise InputError(
            f"the block of candidates has an eigenvalue of {w[0]:.3g} and is not positive semi-definite, so nothing "
            "that keeps it is; use method='dmc', which does not keep it, or give exact similarities"
        )
    w, U = np.maximum(w[::-1], 0.0), U[:, ::-1]
    k = int(np.sum(w > CUT * w[0]))
    rotation = np.eye(n_p, k)
    return Basis(w[:k], rotation, U[:, :k].T @ S0[:n_p, n_p:], S0[n_p:, n_p:], c), U * np.sqrt(w)


def _positive(S: Matrix) -> tuple[Vector, Matrix]:
    w, U = np.linalg.eigh(S)
    kept = w > CUT * w[-1]
    return w[kept], U[:, kept]


def batch(basis: Basis) -> tuple[Matrix, int]:
    """Place all queries at once; their rows of the factor, and how many meet |y|^2 = c.

    Examples
    --------
    Two queries: one contradicts the only candidate, the other leaves room, which it fills alone.

    >>> basis = Basis(np.ones(1), np.eye(1), np.array([[2.0, 0.6]]), np.eye(2), np.ones(2))
    >>> batch(basis)
    (array([[1. , 0. ],
           [0.6, 0.8]]), 1)
    """
    return joined_candidates(place_queries(basis.s, basis.b, basis.c)[0] if len(basis.s) else basis.b, basis.C, basis.c)


def joined_candidates(y: Matrix, C: Matrix, c: Vector) -> tuple[Matrix, int]:
    """Rows [y, L] of placed queries, L L^T nearest to C - y^T y with diagonal c - |y|^2; how many have none left."""
    left = c - np.sum(y * y, axis=0)
    free = left > SLACK * c
    if not free.any():
        return y.T, len(free)
    size = float(left[free].max())
    target = left[free] / size
    rest = (C[np.ix_(free, free)] - y[:, free].T @ y[:, free]) / size
    np.fill_diagonal(rest, target)
    w, U = np.linalg.eigh(with_diagonal(newton(rest, target)[0], target))
    kept = w > len(w) * np.finfo(np.float64).eps * w[-1]
    L = np.zeros((len(free), int(kept.sum())))
    L[free] = U[:, kept] * np.sqrt(w[kept] * size)
    # The decomposition above rounds; the norm of a row, its diagonal, need not.
    L[free] *= np.sqrt(left[free] / np.sum(L[free] ** 2, axis=1))[:, None]
    return np.concatenate([y.T, L], axis=1), int(np.sum(~free))


def basis_of(problem: Problem) -> tuple[Basis, Matrix | None]:
    """The candidates' eigenbasis; where they are known by their similarities alone, also their rows of the factor."""
    if isinstance(problem, CandidatesQueries):
        return basis_of_rows(problem.operator), None
    tol = problem.n * float(np.finfo(to_numpy(problem.operator.array).dtype).eps)
    return basis_of_block(problem.similarities, problem.n_candidates, max(tol, 1e-8))


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Wire FMC: candidates to their eigenbasis, queries placed there, everything back as one factor."""
    variant = params["variant"]
    if isinstance(problem, AllRows):
        return among_rows(problem, settings, params)
    if problem.exact is None:
        raise InputError("method 'fmc' needs exact candidates; give them apart from the queries, or candidates=")
    basis, block = basis_of(problem)
    if variant == "sequential":
        rows = sequential(basis.s, basis.b, basis.C, basis.c)
        status = Status("computed", "each query is the nearest that the rows before it allow")
    else:
        rows, met = batch(basis)
        status = Status("computed", f"each query is the nearest that the candidates allow; {met} reach the boundary")
    matrix = assemble(problem, basis, rows, block)
    if variant == "onmc-b":
        matrix = apart(problem, basis, matrix)
        status = Status("computed", "queries were calibrated apart: expect the whole not to be positive semi-definite")
    return problem.result("fmc", as_recorded(params), matrix, status=status)


def among_rows(problem: AllRows, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete rows are the candidates of the others; every row stays where it is."""
    whole = ~np.isnan(problem.table).any(axis=1)
    if not whole.any():
        raise InputError(
            "method 'fmc' needs complete rows as candidates of the others, and none is complete; use 'posterior'"
        )
    if whole.all():
        status = Status("computed", "no value is missing: these are the exact similarities")
        return complete_filled(problem, "fmc", as_recorded(params), problem.table, status=status)
    order = np.concatenate([np.flatnonzero(whole), np.flatnonzero(~whole)])
    P, Q = (HeldRows(problem.rows.take(np.flatnonzero(some))) for some in (whole, ~whole))
    done = run(CandidatesQueries(P, Q, problem.measure, progress=settings.progress), settings, params)
    matrix = done.matrix.reordered(np.argsort(order))
    return problem.result("fmc", as_recorded(params), matrix, status=done.status)


def assemble(problem: Problem, basis: Basis, rows: Matrix, block: Matrix | None) -> SymmetricMatrix:
    """The factor [[P^, 0], [Y, L]], block by block in the library of the candidates."""
    n_p, k, width = problem.n_candidates, len(basis.s), len(basis.rotation)
    columns = width + rows.shape[1] - k
    require(2 * problem.n * columns * 8, f"a factor of {problem.n} x {columns}", "complete fewer queries at a time")
    queries = np.concatenate([rows[:, :k] @ basis.rotation.T, rows[:, k:]], axis=1)
    if block is not None:
        return SymmetricMatrix(factor=np.concatenate([np.pad(block, ((0, 0), (0, columns - width))), queries]))
    operator = cast("CandidateQuerySimilarity", problem.operator)  # candidates are a block or rows
    F = zeros(operator.C, (problem.n, columns))
    for part, P, _, _ in operator.blocks("similarities"):
        F[part, :width] = P
    F[n_p:, :] = like(queries, F)
    deficit = problem.diagonal_deficit()
    if deficit is None or not bool(np.any(to_numpy(deficit)[:n_p])):
        return SymmetricMatrix(factor=F)
    only = np.where(np.arange(problem.n) < n_p, to_numpy(deficit), 0.0)  # queries have their whole diagonal already
    return SymmetricMatrix(factor=F, diagonal=like(only, F))


def apart(problem: Problem, basis: Basis, matrix: SymmetricMatrix) -> SymmetricMatrix:
    """OnMC-B: the batch answer with the queries among themselves by the public OffMC, which keeps no diagonal."""
    n_p = problem.n_candidates
    if n_p == problem.n:  # there are no queries
        return matrix
    S = to_numpy(matrix.block(slice(0, problem.n), slice(0, problem.n))).copy()
    here = alternating.Calibrated(basis.C)
    for _ in range(OFFMC):
        here = alternating.calibrate(here, alternating.onto(None, clip=True))
        if here.change <= 1e-6:
            break
    S[n_p:, n_p:] = here.Y
    return SymmetricMatrix(dense=S)


def fmc_memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """The pass over candidates and the factor; of a matrix a copy, and the eigenvectors of the candidates' block."""
    n, n_p, table = s.n, s.n_candidates, float(s.n * s.d)
    dense = 2.4 * n**2 if params["variant"] == "onmc-b" else 0.0
    if s.form == "similarities":
        return n**2 + max(4.0 * n_p**2, 3 * n_p**2 + n * n_p, dense + 2 * n * n_p)
    more = 2 * table if s.form == "rows" else 0.0  # rows are taken apart, and put back in their order
    return max(first_pass(s) + table, 3 * (s.d + s.n_queries) ** 2 + 2 * table, dense) + more


METHODS = (
    Method(
        name="fmc",
        family="psd",
        acts_on="similarities",
        regularizer="none",
        solver="Lagrangian, one root per query",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=False,
        reference="Ma, Yu, Zhang, WWW 2024; Yu, Zeng, Mao, Li, UAI 2023",
        parameters=Parameters(
            parameter(
                "variant",
                "batch",
                Words("batch", "sequential", "onmc-b"),
                meaning="queries given the candidates, also given earlier queries, or separately as by OnMC-B",
            ),
        ),
        original={"variant": "sequential"},
        work=lambda sizes, params: sizes.n * (sizes.d + sizes.n_queries) ** 2 + 1e2 * sizes.n_queries**3,
        memory=fmc_memory,
        run=run,
    ),
)
