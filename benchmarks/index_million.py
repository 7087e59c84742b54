"""Vector indexes over a million rows, asked with completed queries: ``python -m benchmarks.index_million``.

Image-like rows (`--rows`, 1,000,000, of `--features`, 64). Of the queries 70 percent of the values are missing;
`PosteriorCompleter.transform` makes vectors of them. Indexes are built with all cores, and asked one query at a time
with one thread: median wall time and processor time of a query, the share of the ten nearest to the completed vector
that is found, and that of the ten nearest to the complete row. hnswlib is left out where it is not installed.
"""

from __future__ import annotations

import argparse
import importlib
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from benchmarks.__main__ import table
from benchmarks.data import imagelike
from benchmarks.measure import cores
from simcomplete import masks
from simcomplete.estimators import PosteriorCompleter
from simcomplete.index import VectorIndex, build, recall, search

K, QUERIES, MISSING = 10, 200, 0.7
BITS = 8  # of every code
LINKS, CONSTRUCTION = 32, 200  # of both graphs
AGAIN = (0, 100, 1000)  # rows found by codes that are compared again by their values
IVF, HNSW = (8, 16, 32, 63, 128), (32, 64, 128, 256)
KINDS = ("flat", "ivf", "pq", "hnsw", "hnswlib")  # graphs, which take longest to build, last

Ask = Callable[[NDArray[np.float64]], NDArray[np.int64]]


class Built(NamedTuple):
    """What took how long to build, and how to ask it with each breadth."""

    kind: str
    wall_s: float
    cpu_s: float
    asks: dict[Any, Ask]


def clocked(make: Callable[[], Any]) -> tuple[Any, float, float]:
    """What is made, and the seconds it took by the wall and by the processor."""
    wall, cpu = time.perf_counter(), time.process_time()
    made = make()
    return made, time.perf_counter() - wall, time.process_time() - cpu


def ours(kind: Any, U: NDArray[np.float64], breadths: tuple[int, ...]) -> Built:
    """An index of `simcomplete.index`: what it finds is scored again in float64."""
    made, wall, cpu = clocked(lambda: build(U, kind, progress=False))
    return Built(f"{kind}, FAISS", wall, cpu, {n: _widened(made, n) for n in breadths} or {"": _widened(made, None)})


def _widened(made: VectorIndex, breadth: int | None) -> Ask:
    def ask(q: NDArray[np.float64]) -> NDArray[np.int64]:
        if breadth is not None and made.kind == "ivf":
            made.faiss.nprobe = breadth
        elif breadth is not None:
            made.faiss.hnsw.efSearch = breadth
        return search(made, q, K, progress=False).ids

    return ask


def quantised(U: NDArray[np.float64], lists: int, breadths: tuple[int, ...]) -> Built:
    """Lists of FAISS with product quantisation, a byte for four values; the best by codes are compared again."""
    import faiss

    width = U.shape[1]
    single = U.astype(np.float32)

    def make() -> Any:
        index = faiss.index_factory(width, f"IVF{lists},PQ{width // 4}x{BITS}", faiss.METRIC_INNER_PRODUCT)
        index.train(single[np.random.default_rng(0).choice(len(U), min(len(U), 64 * lists), replace=False)])
        index.add(single)
        return index

    made, wall, cpu = clocked(make)

    def asked(breadth: int, again: int) -> Ask:
        def ask(q: NDArray[np.float64]) -> NDArray[np.int64]:
            made.nprobe = breadth
            ids = made.search(q.astype(np.float32), again or K)[1]
            if not again:
                return ids
            scores = np.where(ids[0] >= 0, U[ids[0]] @ q[0], -np.inf)
            return ids[:, np.argsort(-scores, kind="stable")[:K]]

        return ask

    asks = {f"{n}{f', {again} again' * (again > 0)}": asked(n, again) for n in breadths for again in AGAIN}
    return Built(f"ivf, codes of {width // 4} bytes, FAISS", wall, cpu, asks)


def hnswlib(U: NDArray[np.float64], breadths: tuple[int, ...], threads: int) -> Built | None:
    """The graph of hnswlib, where it is installed."""
    try:
        package = importlib.import_module("hnswlib")
    except ImportError:
        return None

    def make() -> Any:
        index = package.Index(space="ip", dim=U.shape[1])
        index.init_index(max_elements=len(U), M=LINKS, ef_construction=CONSTRUCTION, random_seed=0)
        index.add_items(U, num_threads=threads)
        return index

    made, wall, cpu = clocked(make)

    def asked(breadth: int) -> Ask:
        def ask(q: NDArray[np.float64]) -> NDArray[np.int64]:
            made.set_ef(breadth)
            return made.knn_query(q, k=K, num_threads=1)[0].astype(np.int64)

        return ask

    return Built("hnsw, hnswlib", wall, cpu, {n: asked(n) for n in breadths})


def indexes(U: NDArray[np.float64], threads: int, kinds: Sequence[str] = KINDS) -> Iterator[Built]:
    """All of them, one after the other, so that one is in memory at a time."""
    lists = int(len(U) ** 0.5)
    some = tuple(n for n in IVF if n <= lists)
    made: dict[str, Callable[[], Built | None]] = {
        "flat": lambda: ours("flat", U, ()),
        "ivf": lambda: ours("ivf", U, some),
        "pq": lambda: quantised(U, lists, some[-3:]),
        "hnsw": lambda: ours("hnsw", U, HNSW),
        "hnswlib": lambda: hnswlib(U, HNSW, threads),
    }
    for kind in kinds:
        built = made[kind]()
        if built is not None:
            yield built


def nearest(V: NDArray[np.float64], U: NDArray[np.float64]) -> NDArray[np.int64]:
    """The rows with the largest products."""
    return np.stack([np.argpartition(-(U @ v), K)[:K] for v in V])


def asked(ask: Ask, V: NDArray[np.float64]) -> tuple[NDArray[np.int64], float, float]:
    """What is found, one query at a time, and milliseconds of a query: median wall, mean processor."""
    walls, found = [], []
    ask(V[:1])
    began = time.process_time()
    for row in V:
        start = time.perf_counter()
        found.append(ask(row[None])[0])
        walls.append(time.perf_counter() - start)
    return np.stack(found), 1e3 * statistics.median(walls), 1e3 * (time.process_time() - began) / len(V)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.index_million", description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=64)
    parser.add_argument("--threads", type=int, default=cores(), help="that build (default: all cores)")
    parser.add_argument("--only", choices=KINDS, nargs="+", default=KINDS, help="kinds of indexes (default: all)")
    told = parser.parse_args()
    import faiss

    X = imagelike(told.rows + QUERIES, 1, told.features, 0)[0]
    P, T = X[: told.rows], X[told.rows :]
    Q = masks.apply(T, masks.random(T, missing=MISSING, random_state=0))
    model = PosteriorCompleter(effort="fast").fit(P)
    V, U = model.transform(Q), P / np.linalg.norm(P, axis=1, keepdims=True)
    true, exact = nearest(T, U), nearest(V, U)
    print(f"all compared: recall of the complete rows' nearest {recall(exact, true):.3f}", flush=True)
    rows = []
    faiss.omp_set_num_threads(told.threads)
    for built in indexes(U, told.threads, told.only):
        faiss.omp_set_num_threads(1)
        with threadpool_limits(limits=1):
            for breadth, ask in built.asks.items():
                found, wall, cpu = asked(ask, V)
                rows.append(
                    {
                        "index": built.kind,
                        "breadth": str(breadth),
                        "build_s": built.wall_s,
                        "build_cpu_s": built.cpu_s,
                        "query_ms": wall,
                        "query_cpu_ms": cpu,
                        "recall": recall(found, exact),
                        "recall_of_truth": recall(found, true),
                    }
                )
                said = [value if isinstance(value, str) else f"{value:.4g}" for value in rows[-1].values()]
                print(" | ".join(said), flush=True)  # graphs take long: what is there can be read
        faiss.omp_set_num_threads(told.threads)
    print(table(rows))


if __name__ == "__main__":
    main()
