"""`posterior`: expected similarities given what was observed, the method to reach for first."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete.bars import Bars
from simcomplete.completion import Completion
from simcomplete.errors import InputError
from simcomplete.matrix import SymmetricMatrix
from simcomplete.method import Method
from simcomplete.posterior.gaussian import Matrix
from simcomplete.posterior.model import FEW, Posterior
from simcomplete.status import Status
from simcomplete.task import Task


def run(task: Task, params: dict[str, Any]) -> Completion:
    """Complete by whichever of the three forms fits what was given."""
    if task.samples is None or task.queries is None:
        raise InputError("posterior needs complete candidates and queries; give both to complete()")
    if task.measure.metric != "cosine":
        raise InputError(f"posterior estimates cosines; metric={task.measure.metric!r} is not one: leave it out")
    scale = typical_length(task.table[: task.n_candidates])
    table = task.table / scale
    P, Q = table[: task.n_candidates], table[task.n_candidates :]
    model = Posterior.fit(P, params["effort"])
    model = model.calibrate(~np.isnan(Q), rng=task.rng, effort=params["effort"], objective=params["objective"])
    found = model.vectors(Q)
    factor = np.concatenate([model.unit, found.u])
    own = np.sum(factor * factor, axis=1)
    trained = len(P) >= FEW
    assert model.choice is not None  # calibrated above
    spread = np.sqrt(np.where(found.length < 1, np.maximum(1 - found.length**2, 1e-4), 0.0))
    return task.finish(
        "posterior",
        params,
        SymmetricMatrix(factor=factor, diagonal=np.maximum(1 - own, 0.0), unit=True),
        choice=model.choice.as_dict(),
        bars=Bars(spread, model.choice.quantiles) if trained else None,
        status=Status("computed", f"expected similarities, calibrated on {'your own' if trained else 'no'} candidates"),
    )


def typical_length(P: Matrix) -> float:
    """Median length of a candidate, so that squares of huge or tiny values stay in range."""
    top = float(np.max(np.abs(P)))
    if top == 0:
        return 1.0
    length = np.sqrt(np.sum((P / top) ** 2, axis=1))
    return top * float(np.median(length[length > 0]))


METHODS = (
    Method(
        name="posterior",
        family="posterior",
        acts_on="samples",
        regularizer="Gaussian prior around neighbours",
        solver="conditional expectation",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=True,
        out_of_sample=True,
        reference="this project: local-prior Gaussian with learnt lengths",
        parameters={"effort": "full", "objective": "error"},
        run=run,
    ),
)
