"""`posterior` beside imputers followed by cosines: error, recall and processor time of the same work."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.data import MISSING, digits, hide, imagelike
from benchmarks.measure import Settings, timed
from benchmarks.peers import IMPUTERS, Impute, Matrix, imported
from benchmarks.results.data import load, there
from simcomplete._posterior.shared.rows import unit_rows

TITLE = "posterior beside imputers, 80 percent missing"
NOTE = (
    "samples in, similarities of all rows out; error: relative squared, recall: of the nearest fifth and of the nearest"
    " ten candidates;\n  targets: KNNImputer of all rows takes at least 4 times as long as fast and"
    " leaves at least 5 times its error"
)
QUICK_S = 1.0  # what takes less processor time is timed again, and the median counts


def run(settings: Settings) -> list[dict[str, Any]]:
    rows = []
    for data, X, n_p in problems(settings):
        rows += compare(data, X, n_p, settings)
    return rows


def problems(settings: Settings) -> list[tuple[str, Matrix, int]]:
    """Name, complete rows and number of candidates: digits, and MNIST or what stands in for it."""
    small, n_p, n_q = ("digits", digits(1200, 1, settings.seed)[0], 1000), 1000, 200
    if settings.quick:
        return [("digits", small[1][:300], 240)]
    if there("mnist"):
        X = load("mnist")
        large = ("mnist", X[np.random.default_rng(settings.seed).permutation(len(X))[: n_p + n_q]], n_p)
    else:
        large = ("image-like (no mnist in SIMCOMPLETE_DATA)", imagelike(n_p + n_q, 1, 784, settings.seed)[0], n_p)
    return [small, large]


def compare(data: str, X: Matrix, n_p: int, settings: Settings) -> list[dict[str, Any]]:
    """All sides on one data set, and how many times the processor time and the error of `fast` each has."""
    P, Q = X[:n_p], hide(X[n_p:], settings.seed)
    truth = unit_rows(X) @ unit_rows(X).T
    S0 = sc.overlap_similarity(np.vstack([P, Q]), progress=False)
    judge = Judge(data, truth, S0, n_p, settings)
    rows = [judge.row(f"posterior, {effort}", "simcomplete", posterior(P, Q, effort)) for effort in ("fast", "full")]
    rows += [judge.row("posterior, best", "simcomplete", posterior(P, Q, "best"))]
    for one in IMPUTERS:
        if X.shape[1] <= one.features:
            rows.append(judge.row(one.name, one.package, impute_then_cosine(P, Q, one.impute)))
        else:
            rows.append(judge.skip(one.name, one.package, f"up to {one.features} features only"))
    base = rows[0]
    for row in rows:
        row["times_fast"] = row["cpu_s"] / base["cpu_s"]
        row["error_of_fast"] = row["error"] / base["error"]
    return rows


def posterior(P: Matrix, Q: Matrix, effort: str) -> Callable[[], Matrix]:
    """Return what completes by `posterior`."""
    return lambda: sc.complete(P, Q, method="posterior", effort=effort, progress=False).similarity()


def impute_then_cosine(P: Matrix, Q: Matrix, impute: Impute) -> Callable[[], Matrix]:
    """Return what fills in the queries and takes cosines of all rows."""

    def solve() -> Matrix:
        unit = unit_rows(np.vstack([P, impute(P, Q)]))
        return unit @ unit.T

    return solve


@dataclass(frozen=True)
class Judge:
    """What a completion of one data set is measured against."""

    data: str
    truth: Matrix
    S0: Matrix
    n_p: int
    settings: Settings

    def row(self, side: str, package: str, solve: Callable[[], Matrix]) -> dict[str, Any]:
        """Time one side and measure its similarities."""
        try:
            version = imported(package)
        except ImportError as error:
            return self.skip(side, package, str(error))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # peers warn about pandas, convergence and the like
            try:
                took = timed(solve, 1, self.settings.threads)
            except Exception as error:  # a peer may not work with the versions installed here: that is a row, too
                if package == "simcomplete":
                    raise
                return self.skip(side, f"{package} {version}", f"{type(error).__name__}: {error}"[:60])
            if took.cpu_s < QUICK_S:
                took = timed(solve, 5, self.settings.threads)
        S, rows = took.result, slice(self.n_p, None)
        found, wanted = S[rows, : self.n_p], self.truth[rows, : self.n_p]
        return {
            "data": self.data,
            "side": side,
            "package": f"{package} {version}",
            "error": sc.metrics.relative_squared_error(S, self.S0, self.truth),
            "recall_fifth": float(sc.metrics.recall_at(found, wanted, k=0.2)),
            "recall_ten": float(sc.metrics.recall_at(found, wanted, k=10)),
            "seconds": took.seconds,
            "cpu_s": took.cpu_s,
            "missing": MISSING,
            "skipped": "",
            "times": took.times,
        }

    def skip(self, side: str, package: str, reason: str) -> dict[str, Any]:
        """Say why there are no figures."""
        none = dict.fromkeys(("error", "recall_fifth", "recall_ten", "seconds", "cpu_s"), np.nan)
        told = {"data": self.data, "side": side, "package": package}
        return {**told, **none, "missing": MISSING, "skipped": reason, "times": []}
