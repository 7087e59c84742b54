"""`fgsr`: factor group-sparse regularization, X = A B with as few columns of A as the data ask for.

Fan, Ding, Chen, Udell, "Factor group-sparse regularization for efficient low-rank matrix recovery", NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from simcomplete._baselines.completion.fgsr_admm import admm
from simcomplete._baselines.completion.fgsr_p import reweighted
from simcomplete._baselines.completion.fgsr_palm import palm
from simcomplete._baselines.completion.modes import (
    MODE,
    MaskedMatrix,
    ModeFit,
    complete_by,
    factor_work,
    largest_singular,
)
from simcomplete._baselines.completion.reduced import reduced, table_memory
from simcomplete._baselines.iteration import limits
from simcomplete._method.iterate import Run
from simcomplete._method.memory import mode_memory
from simcomplete._method.params import ITERATION, Flag, Number, Parameters, Words, max_iter, parameter, tol
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete.errors import InputError


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete the table or smooth S0 with the variant asked for."""
    variant = params["variant"]
    within, quick = limits(settings, params, "fgsr"), bool(params["accelerate"])
    # Momentum is checked by the objective, everything else by how much a step changes.
    usual = 1e-5 if quick and variant in ("2/3", "1/2") else 1e-4
    tol = usual if params["tol"] is None else float(params["tol"])
    alpha = float(params["alpha"])
    rho, p = float(params["rho"]), float(params["p"])
    weight = data_weight(params["weight"], settings.penalty)

    def solve(data: MaskedMatrix) -> ModeFit:
        rank = min(settings.rank_or(100), *data.values.shape)
        used = {"weight": weight, "rank": rank, "tol": tol}
        result: Run[Any]
        if variant == "admm":
            if data.mode == "S":
                raise InputError("variant='admm' keeps observed entries, and all of S0 is observed; use '2/3' or '1/2'")
            result = admm(data, rank, weight, within, alpha=alpha, tol=tol)
        elif variant == "p":
            result = reweighted(data, rank, weight, within, p=p, alpha=alpha, tol=tol)
        else:
            small = reduced(data)
            given = data if small is None else small.data
            result = palm(given, rank, weight, within, kind=variant, alpha=alpha, rho=rho, tol=tol, accelerate=quick)
            if small is not None:
                X = small.restored(small.last_rows(result.state.A) @ result.state.B)
                return ModeFit(result.status, result.history, X, used=used)
        return ModeFit(result.status, result.history, left=result.state.A, right=result.state.B, used=used)

    return complete_by(problem, "fgsr", params, solve, largest_singular)


def data_weight(weight: Any, penalty: float) -> float:
    """Lambda, which multiplies the data term: as given, else 1/penalty, the same data divided by lambda."""
    return 1 / max(penalty, 1e-12) if weight is None else float(weight)


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """Data and what a pair leaves of them; without momentum also what two pairs before leave; some eight pairs."""
    kept = 0.0 if params["accelerate"] else 2.0
    more = {"admm": 6.0, "p": 2.5}.get(params["variant"], kept)

    def on_rows(n: int) -> float:
        return (4.0 + more) * n * s.d + 8.0 * min(s.rank, n, s.d) * (n + s.d) + 2 * min(n, s.d) ** 2

    on_table = on_rows(s.n) if params["variant"] in ("admm", "p") else table_memory(s, 2.2, on_rows)
    beside = 4.5 if params["variant"] == "p" else kept
    return mode_memory(s, params, on_table, max(3.0 * s.n**2, (2.0 + beside) * s.n**2 + 16.0 * min(s.rank, s.n) * s.n))


# The authors' parameters, which tuning tries, too.
ORIGINAL: dict[str, Any] = {"unit": 1.0, "weight": 0.01, "rho": 0.5, "accelerate": False, "max_iter": 500}

METHODS = (
    Method(
        name="fgsr",
        family="matrix completion",
        acts_on="both",
        regularizer="Schatten 2/3 (1/2, p) quasi-norm",
        solver="PALM (ADMM, reweighting)",
        psd=False,
        low_rank=False,
        keeps_candidates=False,
        random=False,
        reference="Fan, Ding, Chen, Udell, NeurIPS 2019",
        parameters=Parameters(
            *MODE,
            parameter(
                "variant", "2/3", Words("2/3", "1/2", "admm", "p"), meaning="which quasi-norm, and how it is minimised"
            ),
            parameter("weight", None, Number(above=True), meaning="weight of the data term; None: 1/penalty"),
            parameter("alpha", 1.0, Number(above=True), meaning="balance of the two factors"),
            parameter("rho", 1.0, Number(0.5), meaning="step of PALM, as a share of the curvature"),
            parameter("accelerate", True, Flag(), meaning="momentum, with a check that the objective falls"),
            parameter("p", 0.5, Number(1e-3, 1.0), meaning="of variant 'p'"),
            tol(None, "stop where a step changes less; None: by variant"),
            max_iter(1000),
            *ITERATION,
        ),
        original=ORIGINAL,
        grid=(*({"penalty": weight} for weight in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)), ORIGINAL),
        shared=MEASURE | {"rank", "penalty"},
        work=factor_work,
        memory=_memory,
        run=run,
    ),
)
