"""The same passes on a cluster and in one process: ``python -m benchmarks.dask_overhead [--rows 200000]``.

Candidates are a float32 `.zarr` in a temporary folder. Both sides read it, complete with `smcnn` and write the factor
to another `.zarr`, each in two threads of work: one process with two threads, or two workers with one. Compared is the
processor time of all processes together, because wall times of a busy machine say little; wall times stand beside it.
`--constants` prints what the cost model in docs/scaling.md needs: speed of products, of reading and of sending sums.
"""

from __future__ import annotations

import argparse
import pickle
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import psutil
import zarr
from threadpoolctl import threadpool_limits

import simcomplete as sc
from benchmarks import scale_sides
from benchmarks.__main__ import table
from benchmarks.measure import timed

FEATURES, QUERIES, RANK, CHUNK = 784, 200, 100, 20_000


def write(path: Path, n: int) -> None:
    """Write candidates, a chunk at a time."""
    made = zarr.create_array(
        str(path), shape=(n, FEATURES), chunks=(min(CHUNK, n), FEATURES), dtype="float32", compressors=None
    )
    for start in range(0, n, CHUNK):
        made[start : min(start + CHUNK, n)] = scale_sides.rows(start, min(start + CHUNK, n), FEATURES, 0)


def complete(path: Path, out: Path) -> Any:
    """From a file into a file."""
    Q = scale_sides.queries(QUERIES, FEATURES, 0)
    return sc.complete(
        str(path), Q, method="smcnn", rank=RANK, route="structured", verify=False, out=out, progress=False
    )


def spent() -> float:
    """Processor seconds of this process and of its children, so far."""
    me = psutil.Process()
    every = [me, *me.children(recursive=True)]
    return sum(times.user + times.system for times in (process.cpu_times() for process in every))


def clocked(path: Path, room: Path, name: str, repeats: int) -> dict[str, Any]:
    """Medians over the repeats, after one run on few rows that is not counted."""
    wall, cpu, last = [], [], None
    for k in range(repeats):
        began, before = time.perf_counter(), spent()
        last = complete(path, room / f"{name}{k}.zarr")
        wall.append(time.perf_counter() - began)
        cpu.append(spent() - before)
    factor = np.asarray(last.factor[-QUERIES:]) if last is not None else None
    return {"side": name, "cpu_s": statistics.median(cpu), "seconds": statistics.median(wall), "factor": factor}


def overhead(n: int, repeats: int) -> list[dict[str, Any]]:
    """Both sides, and how far apart their answers are."""
    from dask.distributed import Client, LocalCluster

    with tempfile.TemporaryDirectory() as folder:
        room = Path(folder)
        write(room / "few.zarr", 2_000)
        write(room / "candidates.zarr", n)
        with threadpool_limits(2):
            complete(room / "few.zarr", room / "few-out.zarr")
            one = clocked(room / "candidates.zarr", room, "one process", repeats)
        with (
            threadpool_limits(1),
            LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
            Client(cluster),  # its workers have one BLAS thread: dask sets that
        ):
            complete(room / "few.zarr", room / "few-dask.zarr")
            two = clocked(room / "candidates.zarr", room, "two workers", repeats)
    apart = float(np.max(np.abs(one.pop("factor") - two.pop("factor"))))
    rows = [{**side, "rows": n, "ratio": side["cpu_s"] / one["cpu_s"], "apart": apart} for side in (one, two)]
    return [{key: str(value) if key == "side" else value for key, value in row.items()} for row in rows]


def constants() -> list[dict[str, Any]]:
    """Speeds of this machine, one thread: float64 products, rows of H, reading a file, sums sent and added."""
    m, n = FEATURES + QUERIES, 2_500
    H = np.random.default_rng(0).random((n, m))
    product = timed(lambda: H.T @ H, 5, 1).cpu_s
    bare = timed(scale_sides.bare(10_000, FEATURES, QUERIES, RANK, 0), 3, 1).cpu_s
    P, Q = scale_sides.rows(0, 50_000, FEATURES, 0), scale_sides.queries(QUERIES, FEATURES, 0)
    asked: dict[str, Any] = {"method": "smcnn", "rank": RANK, "route": "structured", "verify": False, "progress": False}
    some, more = (timed(lambda k=k: sc.complete(P[:k], Q, **asked), 3, 1).cpu_s for k in (20_000, 50_000))
    G = H.T @ H
    sent = timed(lambda: pickle.loads(pickle.dumps(G, protocol=5)) + G, 5, 1).cpu_s
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.zarr"
        write(path, CHUNK)
        read = timed(lambda: zarr.open_array(str(path), mode="r")[:], 3, 1).cpu_s
    return [
        {"constant": "H^T H, GFLOP/s (m^2 per row)", "value": n * m**2 / product / 1e9},
        {"constant": "bare products of both passes, CPU microseconds per row", "value": 1e6 * bare / 10_000},
        {"constant": "both passes, CPU microseconds per row", "value": 1e6 * (more - some) / 30_000},
        {"constant": "what does not grow with rows, CPU s", "value": some - (more - some) * 20 / 30},
        {
            "constant": "reading a chunk that is in the system's cache, GB per CPU s",
            "value": P[:CHUNK].nbytes / read / 1e9,
        },
        {"constant": "sums of (d + n_q)^2 numbers: sent and added, CPU ms", "value": 1e3 * sent},
    ]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.dask_overhead", description=__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--constants", action="store_true", help="only the constants of the cost model")
    asked = parser.parse_args()
    print(table(constants() if asked.constants else overhead(asked.rows, asked.repeats)))


if __name__ == "__main__":
    main()
