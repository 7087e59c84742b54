"""One trial: hide values of complete data, run one method, and measure. A failure is a row with its reason."""

from __future__ import annotations

import platform
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy
from numpy.typing import NDArray

from simcomplete import masks, metrics
from simcomplete._api import complete
from simcomplete._compare.gaps import GappedRows
from simcomplete._registry import find
from simcomplete._result.completion import Completion
from simcomplete._rows.scaling import Center, Scale, learn_scaling
from simcomplete._rows.table import HeldRows
from simcomplete._rows.validate import as_array
from simcomplete._similarity.overlap import overlap_similarity
from simcomplete._version import __version__
from simcomplete.errors import InputError, InputWarning, NotConvergedWarning, SimcompleteError

PATTERNS = ("random", "square", "stripes", "by_value")


@dataclass(frozen=True)
class Split:
    """Candidates, queries with hidden values, the same queries complete, and the kind of similarity (`metric` ...)."""

    P: NDArray[np.float64]
    Q: NDArray[np.float64]
    Q_true: NDArray[np.float64]
    seed: int
    measure: dict[str, Any] = field(default_factory=dict)

    @cached_property
    def S0(self) -> NDArray[np.float64]:
        """Similarities over common features."""
        return np.asarray(overlap_similarity(np.concatenate([self.P, self.Q]), progress=False, **self.measure))

    @cached_property
    def truth(self) -> NDArray[np.float64]:
        """Similarities of the complete data."""
        return np.asarray(overlap_similarity(np.concatenate([self.P, self.Q_true]), progress=False, **self.measure))

    def scaled(self, center: Center, scale: Scale) -> Self:
        """The same with features scaled as candidates say: what is compared is then similarities of scaled rows."""
        change = learn_scaling(HeldRows(self.P), center, scale)
        return replace(self, P=change(self.P), Q=change(self.Q), Q_true=change(self.Q_true))

    @property
    def sizes(self) -> dict[str, Any]:
        """How many candidates and queries there are, for the row of a trial."""
        return {"candidates": len(self.P), "queries": len(self.Q)}

    def solve(self, method: str, **given: Any) -> Completion:
        """Complete the similarities by one method."""
        return complete(self.P, self.Q, method=method, random_state=self.seed, progress=False, **given)

    def measures(self, done: Completion) -> dict[str, Any]:
        """Return every measure of a result, as plain values."""
        return measure(done, done.similarity(), self.S0, self.truth, len(self.P))


def split(
    X: Any,
    *,
    missing: float = 0.8,
    pattern: str = "random",
    shape: tuple[int, int] | None = None,
    candidates: int | None = None,
    queries: int | None = None,
    seed: int = 0,
) -> Split:
    """Shuffle complete data, take candidates and queries from it, and hide values of the queries.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Complete data; zero rows are left out.
    missing, pattern, shape : float, str, tuple
        How much to hide and how; see `sc.masks`. `shape` is the shape of the images, for squares and stripes.
    candidates, queries : int, optional
        How many; by default at most 1000 and 200, and at most a sixth of the rows as queries.
    seed : int
        Seed for the order of the rows and the values to hide.

    Examples
    --------
    >>> part = split(np.arange(1.0, 61.0).reshape(20, 3), missing=0.3, queries=4)
    >>> part.P.shape, part.Q.shape, int(np.isnan(part.Q).sum())
    ((16, 3), (4, 3), 4)
    """
    rows = as_array(X, "data", complete=True).astype(np.float64)
    rng = np.random.default_rng(seed)
    rows = rows[rng.permutation(len(rows))]
    rows = rows[rows.any(axis=1)]
    n_q = min(200, len(rows) // 6) if queries is None else queries
    n_p = min(1000, len(rows) - n_q) if candidates is None else candidates
    if n_q < 1 or n_p < 2 or n_p + n_q > len(rows):
        raise InputError(
            f"{n_p} candidates and {n_q} queries were requested, but only {len(rows)} rows are not zero; "
            "use at least 2 candidates and 1 query, and no more than there are rows"
        )
    if pattern not in PATTERNS:
        raise InputError(f"pattern={pattern!r} is unknown; use one of {', '.join(PATTERNS)}", about=("pattern",))
    P, Q = rows[:n_p], rows[n_p : n_p + n_q]
    extra = {"shape": shape} if pattern in ("square", "stripes") else {}
    observed = getattr(masks, pattern)(Q, missing=missing, random_state=rng, **extra)
    return Split(P, masks.apply(Q, observed), Q, seed)


def measure(
    done: Completion, S: NDArray[Any], S0: NDArray[Any], truth: NDArray[Any], n_candidates: int
) -> dict[str, Any]:
    """Return every measure of one completed matrix, as plain values."""
    scores, true = S[n_candidates:, :n_candidates], truth[n_candidates:, :n_candidates]
    block = {"n_candidates": n_candidates}
    return {
        "error": metrics.relative_squared_error(S, S0, truth),
        "error_queries_candidates": metrics.relative_squared_error(S, S0, truth, **block, block="queries_candidates"),
        "recall_fifth": metrics.recall_at(scores, true, k=0.2),
        "recall_ten": metrics.recall_at(scores, true, k=10),
        "ndcg": metrics.ndcg_at(scores, true, k=0.2),
        "rank": done.rank,
        "valid": done.validity.ok,
        "fails": done.validity.failures(),
    }


def attempt(
    method: str,
    data: Split | GappedRows,
    params: dict[str, Any] | None = None,
    budget: float | None = None,
    after: Callable[[Completion], dict[str, Any]] | None = None,
) -> dict[str, Any]:
    """Run one method on one split, and return a row also where it fails.

    Parameters
    ----------
    method : str
        A name from `sc.methods()`.
    data : Split or GappedRows
        The data.
    params : dict, optional
        Parameters for `sc.complete`.
    budget : float, optional
        Seconds. Iterative methods stop there; a method that took longer is marked as over budget.
    after : callable, optional
        Is called with the result right after the solve; what it returns is added to the row.

    Returns
    -------
    dict
        `outcome` is "done", "over budget" or "failed" with its `reason`; the measures where there is a result.
    """
    given = dict(params or {})
    known = find(method).parameters.defaults
    exact = given.get("solver", known.get("solver")) == "exact"  # one decomposition, which has no time limit
    if budget is not None and "time_limit" in known and not exact:
        given.setdefault("time_limit", budget)
    row: dict[str, Any] = {"method": method, "outcome": "done", "reason": None, "seconds": None}
    start = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # the status is in the row
            warnings.simplefilter("ignore", InputWarning)  # which would come again with every trial
            done = data.solve(method, **given)
        row["seconds"] = time.perf_counter() - start
        row.update(after(done) if after is not None else {})
        row["status"] = done.status.code
        row.update(data.measures(done))
    except (SimcompleteError, ArithmeticError, ValueError, MemoryError, np.linalg.LinAlgError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        return {**row, "outcome": "failed", "reason": reason, "seconds": time.perf_counter() - start}
    if not done.status.ok:
        row["reason"] = done.status.message
    if budget is not None and (done.status.code == "time_limit" or row["seconds"] > budget):
        row["outcome"] = "over budget"
        row["reason"] = f"took {row['seconds']:.1f} s, more than the budget of {budget:g} s"
    return row


def machine() -> dict[str, Any]:
    """Return facts about the program and the machine, which are part of every row."""
    return {
        "simcomplete": __version__,
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "python": platform.python_version(),
        "machine": platform.machine(),
        "system": platform.system(),
    }
