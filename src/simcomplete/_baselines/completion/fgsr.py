"""`fgsr`: factor group-sparse regularization, X = A B with as few columns of A as the data ask for.

Fan, Ding, Chen, Udell, "Factor group-sparse regularization for efficient low-rank matrix recovery", NeurIPS 2019.
"""

from __future__ import annotations

from typing import Any

from simcomplete._baselines.completion.fgsr_admm import admm
from simcomplete._baselines.completion.fgsr_p import reweighted
from simcomplete._baselines.completion.fgsr_palm import palm
from simcomplete._baselines.completion.modes import Fit, Problem, choice, complete_by, largest_singular
from simcomplete._baselines.iteration import ITERATION, limits
from simcomplete._method.iterate import Run
from simcomplete._method.problem import Task
from simcomplete._method.spec import Method
from simcomplete._result.completion import Completion
from simcomplete._rows.validate import check_number
from simcomplete.errors import InputError

VARIANTS = ("2/3", "1/2", "admm", "p")


def run(task: Task, params: dict[str, Any]) -> Completion:
    """Complete the table or smooth S0 with the variant asked for."""
    variant = choice(params, "variant", VARIANTS)
    within, quick = limits(task, params, "fgsr"), bool(params["accelerate"])
    # Momentum is judged by the objective, everything else by how much a step changes.
    usual = 1e-5 if quick and variant in ("2/3", "1/2") else 1e-4
    tol = usual if params["tol"] is None else check_number(params["tol"], "tol")
    alpha = check_number(params["alpha"], "alpha", low=1e-300)
    rho, p = check_number(params["rho"], "rho", low=0.5), check_number(params["p"], "p", low=1e-3, high=1.0)
    weight = data_weight(params["weight"], task.penalty)

    def solve(problem: Problem) -> Fit:
        rank = min(task.rank_or(100), *problem.values.shape)
        used = {"weight": weight, "rank": rank, "tol": tol}
        found: Run[Any]
        if variant == "admm":
            if problem.mode == "S":
                raise InputError("variant='admm' holds what is observed, and S0 is observed whole; use '2/3' or '1/2'")
            found = admm(problem, rank, weight, within, alpha=alpha, tol=tol)
        elif variant == "p":
            found = reweighted(problem, rank, weight, within, p=p, alpha=alpha, tol=tol)
        else:
            found = palm(problem, rank, weight, within, kind=variant, alpha=alpha, rho=rho, tol=tol, accelerate=quick)
        return Fit(found.status, found.history, left=found.state.A, right=found.state.B, used=used)

    return complete_by(task, "fgsr", params, solve, largest_singular)


def data_weight(weight: Any, penalty: float) -> float:
    """Lambda, which multiplies the data term: as given, else 1/penalty, the same problem divided by lambda."""
    if weight is None:
        return 1 / max(penalty, 1e-12)
    if check_number(weight, "weight") == 0:
        raise InputError("weight=0 ignores the data; give a number above 0")
    return float(weight)


METHODS = (
    Method(
        name="fgsr",
        family="matrix completion",
        acts_on="both",
        regularizer="Schatten 2/3 (1/2, p) quasi-norm",
        solver="PALM (ADMM, reweighting)",
        psd=False,
        low_rank=True,
        keeps_candidates=False,
        random=False,
        out_of_sample=False,
        reference="Fan, Ding, Chen, Udell, NeurIPS 2019",
        parameters={
            "mode": None,
            "unit": "auto",
            "variant": "2/3",
            "weight": None,
            "alpha": 1.0,
            "rho": 1.0,
            "accelerate": True,
            "p": 0.5,
            "tol": None,
            "max_iter": 1000,
            **ITERATION,
        },
        original={"unit": 1.0, "weight": 0.01, "rho": 0.5, "accelerate": False, "max_iter": 500},
        grid=tuple({"penalty": weight} for weight in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)),
        run=run,
    ),
)
