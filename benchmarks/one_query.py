"""One query at a time: how long a search takes, which part of it takes how much, and what an index loses.

    python -m benchmarks.one_query [--data FOLDER] [--few 1000] [--rows 100000] [--only small|large]

Small: 1,000 candidates of 784 features, or --few others (MNIST of FOLDER, up to 3,100, else image-like rows), 80 % of
each query missing, a mask of its own, one thread. Large: 100,000 x 384 rows around the sentence vectors of FOLDER (else
image-like), found through the lists of a `FaissStore`, from which the neighbours come too; recall and error beside
those of an exact search.
Times are per query: wall clock as the lower quartile, since other work on the machine only adds, and processor time.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.data import hide, imagelike
from simcomplete._posterior.candidates.conditional import ConditionalMeans
from simcomplete._posterior.candidates.copies import CopyDetector
from simcomplete._posterior.candidates.covariance import Dense
from simcomplete._posterior.candidates.source import Candidates
from simcomplete._posterior.shared.neighbours import KeptRows
from simcomplete.estimators import PosteriorCompleter
from simcomplete.index import recall
from simcomplete.stores import FaissStore
from simcomplete.stores._finding import StoreFinder

K, QUERIES = 10, 300
FEWER = 100  # queries beside many candidates
# What is timed within a query. Each takes what those further down in it do not.
PARTS: dict[str, tuple[Any, str]] = {
    "checks": (PosteriorCompleter, "_checked"),
    "store: neighbours": (StoreFinder, "__call__"),
    "store: nearest": (StoreFinder, "nearest"),
    "neighbours": (Candidates, "nearest"),
    "their rows": (Candidates, "neighbour_rows"),
    "factorisation": (Dense, "_solver"),
    "conditional means": (ConditionalMeans, "__init__"),
    "local priors": (ConditionalMeans, "add"),
    "uncertainty": (ConditionalMeans, "features"),
    "copies": (CopyDetector, "vectors"),
    "the nearest": (KeptRows, "nearest"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--few", type=int, default=1000)
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--only", choices=["small", "large"])
    told = parser.parse_args()
    with threadpool_limits(limits=1):
        if told.only != "large":
            small(told.data, told.few)
        if told.only != "small":
            large(told.data, told.rows)


def small(data: Path | None, n: int) -> None:
    P, Q = _pictures(data, n)
    for effort in ("fast", "full"):
        model = PosteriorCompleter(effort=effort).fit(P)  # type: ignore[arg-type]
        _report(f"{effort}, {P.shape[0]} x {P.shape[1]}", lambda q, model=model: model.search(q, K), Q)
        batch = model.transform(Q)
        alone = np.concatenate([model.transform(row[None]) for row in Q])
        print(f"  largest difference to the same rows in one batch: {np.abs(alone - batch).max():.1e}")


def large(data: Path | None, n: int) -> None:
    import faiss

    faiss.omp_set_num_threads(1)
    P, T = _sentences(data, n)
    T = T[:FEWER]
    Q = hide(T, 0)
    model = PosteriorCompleter(effort="fast").fit(P)
    truth = model.transform(T)
    U = np.asarray(model.candidates_)
    S = truth @ U.T
    true = np.argsort(-S, axis=1, kind="stable")[:, :K]
    exact_u = model.transform(Q)
    exact = np.argsort(-(exact_u @ U.T), axis=1, kind="stable")[:, :K]
    print(f"exact, all compared: recall of the truth {recall(exact, true):.3f}, {_error(exact_u, U, S)}")
    for breadth in (None, 40):
        held = model.attach(FaissStore("ivf", breadth=breadth), neighbours="store")
        found = np.concatenate([held.search(row[None], K).ids for row in Q])
        store: Any = held.store
        name = f"ivf, {store.index.nprobe} of {store.index.nlist} lists, {P.shape[0]} x {P.shape[1]}"
        _report(name, lambda q, held=held: held.search(q, K), Q)
        u = held.model.transform(Q)
        print(
            f"  recall of the truth {recall(found, true):.3f}, of the exact answer {recall(found, exact):.3f}, ", end=""
        )
        print(_error(u, U, S))


def _error(u: Any, U: Any, S: Any) -> str:
    return f"mean squared error {np.mean((u @ U.T - S) ** 2):.2e}"


def _pictures(data: Path | None, n: int) -> tuple[Any, Any]:
    if data is None:
        return imagelike(n, QUERIES, 784, 0)
    X = np.load(data / "mnist.npz")["X"].astype(np.float64)
    X = X[np.random.default_rng(0).permutation(len(X))]
    return X[:n], hide(X[n : n + QUERIES], 0)


def _sentences(data: Path | None, n: int) -> tuple[Any, Any]:
    """Blends of pairs of real vectors with a little noise of their covariance; queries are real ones, held out."""
    if data is None:
        X = imagelike(n + QUERIES, 1, 384, 0)[0]
        return X[:n], X[n:]
    X = np.load(data / "agnews_minilm384.npz")["X"].astype(np.float64)
    rng = np.random.default_rng(0)
    X, T = X[QUERIES:], X[:QUERIES]
    i, j = rng.integers(0, len(X), (2, n))
    a = rng.uniform(0.5, 1, (n, 1))
    noise = np.linalg.cholesky(np.cov(X.T) + 1e-9 * np.eye(X.shape[1]))
    return a * X[i] + (1 - a) * X[j] + 0.3 * rng.normal(size=(n, X.shape[1])) @ noise.T, T


def _report(name: str, ask: Callable[[Any], Any], Q: Any) -> None:
    for row in Q[:20]:
        ask(row[None])
    walls, begun = [], time.process_time()
    for row in Q:
        start = time.perf_counter()
        ask(row[None])
        walls.append(time.perf_counter() - start)
    cpu = (time.process_time() - begun) / len(Q)
    low, middle, high = 1e3 * np.quantile(walls, [0.25, 0.5, 0.95])
    print(f"{name}: {low:.2f} ms a query (median {middle:.2f}, 95 % {high:.2f}), processor {1e3 * cpu:.2f} ms")
    own, whole = _shares(ask, Q)
    print("  " + ", ".join(f"{part} {share / whole:.0%}" for part, share in own.items()))


def _shares(ask: Callable[[Any], Any], Q: Any) -> tuple[dict[str, float], float]:
    """Seconds that each part takes, without the parts that it calls; clocks add a little to all."""
    own: dict[str, float] = defaultdict(float)
    inside: list[float] = []

    def clocked(name: str, function: Any) -> Any:
        def run(*given: Any, **named: Any) -> Any:
            inside.append(0.0)
            start = time.perf_counter()
            try:
                return function(*given, **named)
            finally:
                took = time.perf_counter() - start
                own[name] += took - inside.pop()
                if inside:
                    inside[-1] += took

        return run

    patches = [
        mock.patch.object(holder, name, clocked(part, getattr(holder, name))) for part, (holder, name) in PARTS.items()
    ]
    whole = clocked("the rest", ask)
    for patch in patches:
        patch.start()
    try:
        start = time.perf_counter()
        for row in Q:
            whole(row[None])
        total = time.perf_counter() - start
    finally:
        for patch in patches:
            patch.stop()
    return dict(sorted(own.items(), key=lambda part: -part[1])), total


if __name__ == "__main__":
    main()
