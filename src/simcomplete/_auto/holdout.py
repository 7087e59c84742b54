"""Choose a method's parameters on the user's own data, by hiding known values and scoring every setting.

Some candidates become simulated queries: the features that are missing in real queries are hidden, each setting
completes the simulated queries, and the setting with the smallest error is taken. The missing values of the real
queries need not be known. `posterior` simulates queries itself, to learn from; `auto` scores the other methods on some
of these.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.problem import CandidatesQueries, Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method, Sizes
from simcomplete._posterior.candidates.fitting import Gathered
from simcomplete._posterior.method import from_candidates
from simcomplete._result.completion import Completion
from simcomplete._rows.progress import track
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy
from simcomplete._types import Matrix
from simcomplete.errors import InputError, SimcompleteError
from simcomplete.metrics import recall_at

SIMULATED_QUERIES = 100
SHARED_QUERIES = 32  # simulated queries taken from those of `posterior`
SHARED_FROM = 200  # candidates, of which it holds out 50: errors of fewer, which it was fitted to, are too small
MAX_CANDIDATES = 2000  # that simulated queries are completed against
MIN_CANDIDATES = 8  # without which there is nothing to hide
FLOPS = 2e10  # operations per second that a budget counts on; a slower machine takes longer, not another method
NUMBERS_FAILED = (ArithmeticError, np.linalg.LinAlgError)
FAILURES = (SimcompleteError, ValueError, *NUMBERS_FAILED)
TrialRow = dict[str, Any]  # of the table that a method is chosen from


@dataclass(frozen=True)
class Holdout:
    """Simulated queries, and their true similarities to the candidates and, unless `shared`, to each other."""

    problem: CandidatesQueries
    settings: Settings
    truth: NDArray[np.float64]

    @cached_property
    def overlap(self) -> NDArray[np.float64]:
        """The overlap similarities of the simulated queries; their relative error is 1 by definition."""
        return _rows_of_queries(self.problem)[:, : self.truth.shape[1]]

    @cached_property
    def unit(self) -> float:
        """The squared error that scores are relative to: that of S0, or the size of the truth if nothing is missing."""
        gap = float(np.sum((self.overlap - self.truth) ** 2))
        whole = float(np.sum(self.truth**2))
        return gap if gap > 1e-20 * whole else whole or 1.0

    def score(self, method: Method, params: Mapping[str, Any]) -> tuple[float, float]:
        """Run a method; return the relative squared error of the queries' similarities, and recall at 10."""
        if method.name == "overlap":
            return self.score_of(self.overlap)
        settings = self.settings.but(dict(params), self.problem.n)
        # Every run has a random generator of its own, so that no score depends on what was scored before.
        settings = replace(settings, rng=np.random.default_rng(0))
        # Ctrl-C ends the whole comparison: the score of an unfinished run means nothing. A certificate is not needed.
        given = {**params, "on_interrupt": None}
        if given.get("solver") == "exact" and given.get("verify") is None:
            given["verify"] = False
        done = method.run(self.problem, settings, own_parameters(method, given))
        return self.score_of(
            to_numpy(done.matrix.block(slice(self.problem.n_candidates, self.problem.n), slice(0, self.truth.shape[1])))
        )

    def score_of(self, S: Matrix) -> tuple[float, float]:
        """Return both scores of given similarities of the simulated queries."""
        n_p = self.problem.n_candidates
        error = float(np.sum((S - self.truth) ** 2)) / self.unit
        return error, float(recall_at(S[:, :n_p], self.truth[:, :n_p], k=10))


class SharedRun(NamedTuple):
    """The completion by `posterior`, its scores on its own simulated queries, and these queries for other methods."""

    completion: Completion
    seconds: float
    holdout: Holdout | None
    error: float = np.nan
    recall: float = np.nan


def plan(
    methods: Sequence[Method],
    sizes: Sizes,
    own: Mapping[str, dict[str, Any]],
    budget: float,
    shared: Mapping[str, Any] | None = None,
    short: Mapping[str, str] | None = None,
) -> tuple[dict[str, TrialRow], dict[str, float]]:
    """Plan which methods fit into the budget, fastest first.

    Returns the table rows of the methods that are not compared, and the expected seconds of those that are.

    The times are estimated from the sizes, not measured. `short` has a note for every method that would not fit into
    memory, `shared` the shared parameters that a method must be able to use.
    """
    seconds = {method.name: method.work(sizes, own[method.name]) / FLOPS for method in methods}
    notes, weights, left = dict(short or {}), {}, budget
    for method in sorted(methods, key=lambda method: seconds[method.name]):
        unused = [name for name in method.unused(shared or {}) if name not in ("rank", "penalty")]
        if method.name in notes:
            continue
        if unused:
            notes[method.name] = f"not tried: it does not use {', '.join(unused)}"
        elif seconds[method.name] > left or budget == 0:
            notes[method.name] = f"not tried: about {seconds[method.name]:.1f} s, beyond the budget of {budget:g} s"
        else:
            weights[method.name] = seconds[method.name]
            left -= seconds[method.name]
    return {method.name: row(method, notes[method.name]) for method in methods if method.name in notes}, weights


def score_all(
    methods: Sequence[Method],
    holdout: Holdout,
    own: Mapping[str, dict[str, Any]],
    known: Mapping[str, TrialRow],
    weights: Mapping[str, float],
    progress: bool | None,
    final: float = 0.0,
) -> list[TrialRow]:
    """Score the methods that have no row yet; `final` estimates the seconds of the best one on all data."""
    seconds = [0.0 if method.name in known else weights[method.name] for method in methods]
    share = (sum(seconds) + 1) / (sum(seconds) + final + 1)
    return [
        known[method.name] if method.name in known else score(method, holdout, own[method.name])
        for method in track(methods, "comparing methods", progress, weights=[s + 0.1 for s in seconds], share=share)
    ]


def score(method: Method, holdout: Holdout, own: dict[str, Any]) -> TrialRow:
    """Score one method and return its row of the table."""
    start = time.perf_counter()
    try:
        error, recall = holdout.score(method, own)
    except FAILURES as problem:
        return row(method, failed(problem), time.perf_counter() - start)
    seconds = time.perf_counter() - start
    if not np.isfinite(error):
        return row(method, "failed: its answer is not finite", seconds)
    return {**row(method, "", seconds), "error": error, "recall": recall}


def row(method: Method, note: str = "", seconds: float = 0.0) -> TrialRow:
    """Return a table row without a score."""
    return {"method": method.name, "error": None, "recall": None, "seconds": seconds, "note": note}


def failed(problem: Exception) -> str:
    """Return a note that describes an error."""
    return f"failed: {' '.join(str(problem).split())}"


def run_tuned(method: Method, problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Run a method with the best of its settings in `grid`; `choice` of the result has the scores of all."""
    if not method.grid:
        raise InputError(f"method {method.name!r} has no settings to tune; leave tune out")
    holdout = hold_out(problem, settings)
    tried = []
    for option in track(method.grid, f"tuning {method.name}", settings.progress):
        try:
            error = holdout.score(method, {**params, **option})[0]
        except (InputError, ArithmeticError, np.linalg.LinAlgError):
            error = float("inf")  # a setting that cannot be used with these data is never chosen
        tried.append({**option, "error": error if np.isfinite(error) else float("inf")})
    best = min(range(len(tried)), key=lambda i: tried[i]["error"])
    if not np.isfinite(tried[best]["error"]):
        raise InputError(f"no setting of {method.name!r} gave a finite answer on these data; choose another method")
    chosen = {**params, **method.grid[best]}
    done = method.run(problem, settings.but(chosen, problem.n), own_parameters(method, chosen))
    return replace(done, choice={"tuned": dict(method.grid[best]), "tried": tried})


def hold_out(problem: Problem, settings: Settings) -> Holdout:
    """Turn some candidates into simulated queries with the masks of real queries."""
    if not isinstance(problem, CandidatesQueries):
        raise InputError(
            "known values of complete candidates must be hidden; give candidates and queries to complete()"
        )
    P, Q = problem.candidates, problem.queries
    if P.n < MIN_CANDIDATES:
        raise InputError(
            f"at least {MIN_CANDIDATES} candidates are needed to hide some of their values; {P.n} were given"
        )
    rng = np.random.default_rng(settings.seed())
    held = min(SIMULATED_QUERIES, P.n // 4)
    order = rng.permutation(P.n)[: held + MAX_CANDIDATES]
    hidden = np.isnan(to_numpy(Q.array))[rng.integers(Q.n, size=held)]
    true, rest = (to_numpy(P.take(np.sort(some))) for some in (order[:held], order[held:]))
    others = HeldRows(P.like(rest))
    some, measure = HeldRows(P.like(np.where(hidden, np.nan, true))), problem.measure
    shown = CandidatesQueries(others, some, measure, progress=settings.progress)
    truth = _rows_of_queries(CandidatesQueries(others, HeldRows(P.like(true)), measure, progress=False))
    return Holdout(shown, replace(settings, rank=min(settings.rank, shown.n), out=None), truth)


def _rows_of_queries(problem: CandidatesQueries) -> NDArray[np.float64]:
    """Return the rows of S0 that belong to queries."""
    operator = problem.operator
    B = [to_numpy(B) for _, _, B, _ in operator.blocks("similarities")]
    return np.hstack([np.concatenate(B).T, to_numpy(operator.C)])


def run_shared(problem: CandidatesQueries, settings: Settings, own: dict[str, Any]) -> SharedRun:
    """Complete by `posterior`, and keep its simulated queries for the other methods if there are enough of them."""
    began, rng = time.perf_counter(), np.random.default_rng(settings.seed())
    learnt: list[tuple[Gathered, Matrix]] = []
    done = from_candidates(problem, settings, own, lambda *found: learnt.append(found))
    seconds = time.perf_counter() - began
    simulated = learnt[-1][0].simulated if learnt else None
    if simulated is None or len(simulated.raw) < SHARED_QUERIES:  # of equal candidates, one is enough
        return SharedRun(done, seconds, None)
    (gathered, u), P, some = learnt[-1], problem.candidates, slice(0, SHARED_QUERIES)
    left = np.sort(rng.permutation(np.flatnonzero(~simulated.gone))[:MAX_CANDIDATES])
    lost = np.where(simulated.observed[some], simulated.raw[some], np.nan)
    others, rows = HeldRows(P.like(gathered.pool.raw[left])), HeldRows(P.like(lost))
    shown = CandidatesQueries(others, rows, problem.measure, progress=settings.progress)
    unit = gathered.pool.unit[left]
    truth, fitting = simulated.unit[some] @ unit.T, replace(settings, rank=min(settings.rank, shown.n), out=None)
    holdout = Holdout(shown, fitting, truth)
    return SharedRun(done, seconds, holdout, *holdout.score_of(u[some] @ unit.T))


def sizes_of_holdout(problem: CandidatesQueries, settings: Settings) -> Sizes:
    """Return the sizes of the holdout, for estimating how long each method takes."""
    n, d = problem.n_candidates, problem.candidates.d
    held = min(SIMULATED_QUERIES, n // 4)
    some = min(n - held, MAX_CANDIDATES)
    return Sizes(some, held, d, min(settings.rank, some + held))


def own_parameters(method: Method, params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters that belong to the method itself."""
    return {name: value for name, value in params.items() if name in method.parameters}
