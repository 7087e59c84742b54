"""One trial: a problem whose answer is known, one method, one row of measures. A failure is a row too."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

import simcomplete as sc
from simcomplete import metrics
from simcomplete._compare.trial import Split, machine
from simcomplete._result.completion import Completion
from simcomplete._types import Matrix
from simcomplete.errors import NotConvergedWarning, SimcompleteError

LEVEL = 0.9
DIGITS = 6  # of a measure in a row; the machine facts make rows long enough
NEIGHBOURS = 10
NEVER = -2.0  # below every similarity


@dataclass(frozen=True)
class Trial:
    """What tells one row from another. `missing` is the strength of the mask; without queries `n_q` is 0."""

    part: str
    dataset: str
    mask: str
    missing: float
    n_p: int
    n_q: int
    seed: int
    method: str
    effort: str | None = None

    @property
    def setting(self) -> Trial:
        """The same for every method: trials with one setting share a problem."""
        return replace(self, method="", effort=None)


KEY = tuple(Trial.__dataclass_fields__)


@dataclass(frozen=True, eq=False)
class Problem:
    """Similarities before completion, the true ones, and how to complete them.

    `solve` takes a method and its parameters. Without `n_candidates` every row is compared with every other one, and
    `counted` says which pairs have a truth.
    """

    S0: Matrix
    truth: Matrix
    solve: Callable[..., Completion]
    d: int
    n_candidates: int | None
    counted: NDArray[np.bool_] | None = None
    features: NDArray[np.bool_] | None = None  # over which similarities are true, row by row; None: over all


def of_split(data: Split) -> Problem:
    """Complete candidates and queries with values hidden."""
    solve = partial(sc.complete, data.P, data.Q, random_state=data.seed, progress=False)
    return Problem(data.S0, data.truth, solve, data.P.shape[1], len(data.P))


def of_rows(X: Matrix, X_true: Matrix, seed: int, counted: NDArray[np.bool_] | None = None) -> Problem:
    """Rows of which every one may be incomplete; the truth is over what was known before hiding."""
    S0, truth = (np.asarray(sc.overlap_similarity(rows, progress=False)) for rows in (X, X_true))
    solve = partial(sc.complete, X, random_state=seed, progress=False)
    features = ~np.isnan(X_true)
    return Problem(S0, truth, solve, X.shape[1], None, counted, None if features.all() else features)


def run(trial: Trial, problem: Problem) -> dict[str, Any]:
    """Complete by one method; whatever happens, a row comes back."""
    params = {} if trial.effort is None else {"effort": trial.effort}
    row: dict[str, Any] = {**asdict(trial), "d": problem.d, "outcome": "done"}
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # told by the status
            done = problem.solve(method=trial.method, **params)
        row["seconds"] = round(time.perf_counter() - began, 3)
        row["status"] = done.status.code
        row |= {name: round(value, DIGITS) for name, value in measures(problem, done).items()}
    except (SimcompleteError, ArithmeticError, ValueError, MemoryError, np.linalg.LinAlgError) as error:
        row |= {"outcome": "failed", "reason": " ".join(str(error).split()) or type(error).__name__}
    return {**row, "versions": versions()}


def measures(problem: Problem, done: Completion) -> dict[str, float]:
    """Error, recall, how far off S0 is at the root of the mean square, and coverage where there are error bars."""
    S0, truth, n_p, features = problem.S0, problem.truth, problem.n_candidates, problem.features
    same = features is not None and hasattr(done.model, "restricted")  # only such a model can tell the same quantity
    S = np.asarray(done.restricted(features) if same else done.similarity())
    told: dict[str, float] = {}
    if n_p is None:
        counted = ~np.eye(len(S), dtype=bool) if problem.counted is None else problem.counted
        S, S0, truth = (np.where(counted, matrix, NEVER) for matrix in (S, S0, truth))
        judged, pool = np.flatnonzero(counted.sum(axis=1) >= NEIGHBOURS), slice(None)
    else:
        counted, judged, pool = np.ones((len(S) - n_p, n_p), dtype=bool), np.arange(n_p, len(S)), slice(0, n_p)
        told["error_queries_candidates"] = metrics.relative_squared_error(
            S[n_p:, pool], S0[n_p:, pool], truth[n_p:, pool]
        )
    asked = slice(n_p or 0, None)  # queries, or all
    told["error"] = metrics.relative_squared_error(S, S0, truth)
    if judged.size:
        told["recall_ten"] = metrics.recall_at(S[judged, pool], truth[judged, pool], k=NEIGHBOURS)
    told["before"] = float(np.sqrt(np.mean((S0 - truth)[asked, pool][counted] ** 2)))
    if done.interval_model is not None:
        low, high = done.restricted(features, level=LEVEL)[1:] if same else done.interval(LEVEL)
        true = truth[asked, pool]
        told["coverage"] = float(((low <= true) & (true <= high))[counted].mean())
        told["width"] = float(((high - low) / 2)[counted].mean())
    return told


def versions() -> str:
    """Program and machine, in one line."""
    return ", ".join(f"{name} {value}" for name, value in machine().items())
