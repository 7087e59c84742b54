"""Similarities alone, completed by the posterior: the call."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.problem import Similarities
from simcomplete._method.settings import Settings
from simcomplete._posterior.similarities.wiener import complete_similarities
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete.errors import InputError


def from_similarities(problem: Similarities, settings: Settings, params: dict[str, Any]) -> Completion:
    """Filter the similarities of queries, given an exact block of candidates."""
    n_p = problem.n_candidates
    if problem.n_exact is None or n_p == problem.n:
        raise InputError("posterior needs to know which rows are exact; give candidates= to complete_similarity()")
    S = problem.similarities
    seen = None if problem.overlap is None else np.diag(problem.overlap)
    found = complete_similarities(
        S[:n_p, :n_p],
        S[:n_p, n_p:],
        None if seen is None else seen[n_p:],
        None if seen is None else int(seen.max()),
        rng=settings.rng,
        effort="fast" if params["effort"] == "fast" else "full",
        query_diagonal=np.diag(S)[n_p:],
        exact=True,
    )
    uncertainty = np.sqrt(np.maximum(1 - found.lengths**2, 1e-4))
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=found.factor, diagonal=found.diagonal),
        choice=found.as_dict(),
        interval_model=IntervalModel(uncertainty, found.choice.quantiles),
        status=Status("computed", "expected similarities by a local Wiener filter, calibrated on the exact block"),
    )
