"""`dmc`: the nearest similarity matrix that is positive semi-definite with the right diagonal (Li 2015).

    min |S - S0|_F^2   over   S positive semi-definite,  S_ii = 1,  low <= S_ij <= high

The true matrix is among those S, so the solution is never further from it than S0: the one guarantee of error that no
penalty or bound on the rank can give. The box from -1 to 1 follows from the rest. Where S0 was given with another
diagonal, that one is kept, and low and high bound the cosines S_ij / sqrt(S_ii S_jj).

========== ==================================================================================================
variant    "newton" (exact, some ten eigendecompositions), "dykstra" (exact, takes a box, hundreds or more), "fixed"
           (exact; the candidate block held, or the entries `known`), "reference" (the public programs: an
           eigenvalue cut, a box without its increment, few iterations; neither exact nor of unit diagonal)
low, high  the box; other than -1 and 1 for variants "dykstra" and "reference" only
max_iter   most iterations; by variant 100, 5000, 1000 and 20
tol        stop where no constraint is missed by more; by variant 1e-10, 1e-8 and 1e-9. "reference": 1e-6, where X
           changes by less
time_limit seconds for the iterations
callback   ``callback(iteration, facts)`` after every one; something true ends the run
========== ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._baselines.iteration import limits
from simcomplete._baselines.psd import alternating, fmc
from simcomplete._correlation.newton import newton
from simcomplete._correlation.psd import target_diagonal, with_diagonal
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._method.memory import with_pairs
from simcomplete._method.params import ITERATION, Number, Parameters, Words, max_iter, parameter, tol
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError

# max_iter and tol of every variant.
VARIANTS = {"newton": (100, 1e-10), "dykstra": (5000, 1e-8), "fixed": (1000, 1e-9), "reference": (20, 1e-6)}


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Wire DMC: check, solve for the rows that have a diagonal, put the result in its place."""
    variant, low, high = _checked(problem, params)
    used = {**params, "low": low, "high": high}
    for name, default in zip(("max_iter", "tol"), VARIANTS[variant], strict=True):
        used[name] = default if params[name] is None else params[name]
    tol, within = float(used["tol"]), limits(settings, used, f"dmc, {variant}")
    if variant == "fixed" and problem.known is None:
        return held_block(problem, as_recorded(used), tol, within)
    S0 = problem.similarities
    b = target_diagonal(S0)
    size, alive = float(b.max()), b > 0
    S = np.zeros_like(S0)
    if size == 0:  # only the zero matrix is positive semi-definite with a zero diagonal
        return problem.result("dmc", as_recorded(used), SymmetricMatrix(dense=S))
    part = np.ix_(alive, alive)
    hold = None if problem.known is None else held_entries(problem)[part]
    up = int(np.sum(alive[: problem.n_candidates])) if problem.exact is not None else None
    result, ended = nearest_matrix(S0[part] / size, b[alive] / size, variant, tol, within, (low, high), hold, up)
    S[part] = result * size
    if variant != "reference":
        np.fill_diagonal(S, b)
    return problem.result(
        "dmc", as_recorded(used), SymmetricMatrix(dense=S), status=ended.status, history=ended.history
    )


def nearest_matrix(
    S0: Matrix,
    b: Vector,
    variant: str,
    tol: float,
    limits: Limits,
    box: tuple[float, float] = (-1.0, 1.0),
    hold: NDArray[np.bool_] | None = None,
    positive: int | None = None,
) -> tuple[Matrix, Run[Any]]:
    """Run one variant; the exact ones end with the scaling that makes the diagonal exactly b."""
    ended: Run[Any]
    if variant == "reference":
        return reference(S0, alternating.onto(b, *box, clip=True), tol, limits)
    if variant == "newton":
        X, ended = newton(S0, b, tol, limits)
        S = with_diagonal(X, b)
        return S, replace(ended, status=proved(ended, float(np.sum((S - S0) ** 2))))
    if variant == "dykstra":
        X, ended = alternating.dykstra(S0, alternating.onto(b, *box), tol, limits, positive)
    else:
        X, ended = newton(S0, b, tol, limits, held=hold)
    return with_diagonal(X, b), ended


def proved(ended: Run[Any], distance: float) -> Status:
    """Say by how much at most |S - S0|_F^2 exceeds the smallest possible, from the bound of the dual."""
    excess = max(distance - ended.facts["lower_bound"], 0.0) / distance if distance > 0 else 0.0
    what = f"|S - S0|^2 is within {excess:.0e} of the smallest possible"
    code = "optimal" if ended.status.ok else ended.status.code
    return Status(code, f"{ended.status.message}; {what}", ended.status.ok)


def held_block(problem: Problem, used: dict[str, Any], tol: float, limits: Limits) -> Completion:
    """Hold the candidate block, in a problem of its rank plus the queries.

    S with S_pp = U diag(s) U^T is positive semi-definite only as [[U, 0], [0, I]] M [[U, 0], [0, I]]^T, and since U is
    orthonormal, M is the matrix nearest to [[diag(s), U^T B], [B^T U, C]] that holds diag(s). The answer is FMC's
    factor with other rows for the queries, so the candidates are exact and nothing is n x n.
    """
    basis, block = fmc.basis_of(problem)
    k, size = len(basis.s), float(basis.c.max(initial=0.0)) or 1.0
    M0 = np.block([[np.diag(basis.s), basis.b], [basis.b.T, basis.C]]) / size
    np.fill_diagonal(M0[k:, k:], basis.c / size)
    which = np.eye(len(M0), dtype=bool)
    which[:k, :k] = True
    M, ended = newton(M0, np.diag(M0).copy(), tol, limits, held=which)
    # M_pp is diag(s) only to tol, so |y|^2 = c is met only to as much: what is that near to it is made so.
    y = M[:k, k:] * size / np.sqrt(basis.s)[:, None]
    squares = np.sum(y * y, axis=0)
    y *= np.sqrt(np.where(squares > (1 - 10 * tol) * basis.c, basis.c / np.where(squares > 0, squares, 1.0), 1.0))
    rows, _ = fmc.joined_candidates(y, M[k:, k:] * size, basis.c)
    matrix = fmc.assemble(problem, basis, rows, block)
    return problem.result("dmc", used, matrix, status=ended.status, history=ended.history)


def reference(S0: Matrix, project: Any, tol: float, limits: Limits) -> tuple[Matrix, Run[Any]]:
    """The iteration of the public programs; returns X, as they do, whose diagonal is not exactly b."""

    def stop(facts: Facts, recent: Any) -> Status | None:
        made, change = facts["iteration"], facts["change"]
        if made == 0 or (made < limits.max_iter and change > tol):
            return None
        if change <= tol:
            return Status("converged", f"after {made:.0f} iterations it changes by {change:.1e} <= tol={tol:g}")
        # As the programs do it: all iterations that were asked for are made, and that is that.
        return Status(
            "computed", f"{made:.0f} iterations made, as asked; still {change:.1e} a step from the projection"
        )

    ended = iterate(
        alternating.Calibrated(S0),
        lambda here: alternating.calibrate(here, project),
        measure=lambda here: {"change": here.change},
        stop=stop,
        limits=limits,
    )
    return (S0 if ended.state.X is None else ended.state.X), ended


def held_entries(problem: Problem) -> NDArray[np.bool_]:
    """True where variant "fixed" keeps an entry: the diagonal, the candidate block, and what is known."""
    which = np.eye(problem.n, dtype=bool)
    if problem.exact is not None:
        which[: problem.n_candidates, : problem.n_candidates] = True
    if problem.known is not None:
        which |= problem.known | problem.known.T
    return which


def _checked(problem: Problem, params: dict[str, Any]) -> tuple[str, float, float]:
    variant, low, high = params["variant"], float(params["low"]), float(params["high"])
    if low >= high:
        raise InputError(f"low={low:g} is not below high={high:g}; use low < high")
    if (low, high) != (-1.0, 1.0) and variant not in ("dykstra", "reference"):
        raise InputError(f"variant={variant!r} has no bounds; low={low:g} and high={high:g} need variant='dykstra'")
    if variant == "fixed" and problem.exact is None and problem.known is None:
        raise InputError("variant='fixed' needs entries to keep; give candidates and queries separately, or known=")
    if variant != "fixed" and problem.known is not None:
        raise InputError(f"variant={variant!r} keeps no entries; use variant='fixed' with known=, or leave known out")
    return variant, low, high


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """Eigenvectors of two points of the dual, both sides of the spectrum apart, and their squares.

    "fixed" is the most it can be: how many entries are held, and the rank of the candidates' block, are seen later.
    """
    if params["variant"] != "fixed":
        return with_pairs(s, {"newton": 9.0, "dykstra": 16.0, "reference": 13.0}[params["variant"]] * s.n**2)
    small = s.n if s.form == "similarities" else min(s.n_candidates, s.d) + s.n_queries
    return fmc.fmc_memory(s, params) + 16.0 * small**2


METHODS = (
    Method(
        name="dmc",
        family="psd",
        acts_on="similarities",
        regularizer="none",
        solver="semismooth Newton (Dykstra)",
        psd=True,
        low_rank=False,
        keeps_candidates=False,
        random=False,
        reference="Li, NIPS 2015; Higham, IMA J. Numer. Anal. 2002; Qi and Sun, SIAM J. Matrix Anal. Appl. 2006",
        parameters=Parameters(
            parameter(
                "variant",
                "newton",
                Words("newton", "dykstra", "fixed", "reference"),
                meaning="exact; exact with bounds; exact with fixed entries; the public programs",
            ),
            parameter("low", -1.0, Number(-1.0, 1.0), meaning="smallest cosine, for 'dykstra' and 'reference'"),
            parameter("high", 1.0, Number(-1.0, 1.0), meaning="largest cosine, for 'dykstra' and 'reference'"),
            max_iter(None, "most iterations; None: by variant 100, 5000, 1000 and 20"),
            tol(None, "stop where no constraint is violated by more; None: by variant 1e-10, 1e-8, 1e-9 and 1e-6"),
            *ITERATION,
        ),
        original={"variant": "reference", "max_iter": 20, "tol": 1e-6},
        uses=frozenset({"known"}),
        work=lambda sizes, params: 1.5e2 * sizes.n**3,
        factor=False,
        memory=_memory,
        run=run,
    ),
)
