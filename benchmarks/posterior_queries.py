"""How many queries a fitted `PosteriorCompleter` answers in a second, and how long a single one takes."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.data import MISSING, imagelike
from benchmarks.measure import Settings, timed
from simcomplete.estimators import PosteriorCompleter

TITLE = "queries of a fitted PosteriorCompleter"
NOTE = (
    "transform alone, by processor time; shared: eight masks among all queries, own: a mask each, which is factorised;"
    "\n  targets: thousands in a second with shared masks, a single query in milliseconds"
)
MASKS = 8
SINGLES = 30  # queries that come one by one; their median counts


def run(settings: Settings) -> list[dict[str, Any]]:
    n_p, n_q, d, repeats = (1000, 2000, 784, 5) if not settings.quick else (200, 100, 64, 2)
    X = imagelike(n_p + n_q, 1, d, settings.seed)[0]
    P, Q = X[:n_p], X[n_p:]
    rng = np.random.default_rng(settings.seed)
    masks = rng.random((MASKS, d)) >= MISSING
    shared = np.where(masks[rng.integers(MASKS, size=n_q)], Q, np.nan)
    own = np.where(rng.random(Q.shape) >= MISSING, Q, np.nan)
    rows = []
    for effort in ("fast", "full", "best"):
        model = PosteriorCompleter(effort=effort, random_state=settings.seed)
        fitted = timed(lambda model=model: model.fit(P), 1, settings.threads)
        for name, queries in (("shared", shared), ("own", own)):
            took = timed(lambda model=model, Q=queries: model.transform(Q), repeats, settings.threads)
            alone = timed(lambda model=model, Q=queries: singles(model, Q[:SINGLES]), 1, settings.threads).result
            rows.append(
                {
                    "effort": effort,
                    "masks": name,
                    "n_p": n_p,
                    "n_q": n_q,
                    "d": d,
                    "fit_cpu_s": fitted.cpu_s,
                    "cpu_s": took.cpu_s,
                    "queries_per_s": n_q / took.cpu_s,
                    "single_ms": 1e3 * float(np.median(alone)),
                    "repeats": repeats,
                    "times": took.times,
                }
            )
    return rows


def singles(model: PosteriorCompleter, Q: NDArray[np.float64]) -> list[float]:
    """Processor seconds of every query by itself."""
    taken = []
    for row in Q:
        began = time.process_time()
        model.transform(row[None])
        taken.append(time.process_time() - began)
    return taken
