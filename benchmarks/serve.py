"""The service under load, on this machine alone: ``python -m benchmarks.serve [--clients 64] [--seconds 10]``.

A server process answers many clients, each of which sends one row with a mask of its own and waits for the answer. Its
rows a second stand beside those of the library in one process: the same questions, one at a time and in batches. Then
half of the rate that it reached is offered at random moments, whether earlier requests were answered or not, and the
slowest answers are told, counted from those moments. ``--frameworks`` instead compares web frameworks that do nothing
but read the body and answer. Of a table with fewer rows than ``--candidates``, the others are blends: a random pair of
its rows, a share of one and the rest of the other, and noise.
"""

from __future__ import annotations

import argparse
import asyncio
import itertools
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import psutil

from simcomplete._serve.answers import Served
from simcomplete._serve.bodies import JSON
from simcomplete.estimators import PosteriorCompleter

MISSING = 0.8
LONGEST = 60.0  # seconds of any load
MOST = 1_000_000  # requests of any load


def request_of(row: np.ndarray) -> bytes:
    cells = [None if np.isnan(x) else round(float(x), 6) for x in row]
    body = json.dumps({"rows": [cells], "k": 10}).encode()
    head = ("POST /v1/search HTTP/1.1", "Host: 127.0.0.1", f"Content-Type: {JSON}", f"Content-Length: {len(body)}")
    return "\r\n".join((*head, "", "")).encode() + body


async def client(port: int, requests: Iterator[tuple[float, bytes]], stop: float, times: list[float]) -> None:
    """Send what is next, not before its time, and note how long after that time its answer was there."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    for due, request in requests:
        now = time.perf_counter()
        if now >= stop:
            break
        if due > now:
            await asyncio.sleep(due - now)
        began = due or now  # a request that had to wait for a free client is late from the moment it was due
        writer.write(request)
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
        await reader.readexactly(int(length.split(b":")[1]))
        times.append(time.perf_counter() - began)
    writer.close()


def load(port: int, bodies: list[bytes], clients: int, seconds: float, rate: float | None = None) -> dict[str, float]:
    """Answers a second, and milliseconds.

    Without a rate, every client sends again as soon as it is answered. With one, requests are due at random moments
    (a Poisson process, seed 0) whether earlier ones were answered or not, and are sent by whichever client is free.
    """
    times: list[float] = []
    seconds = min(seconds, LONGEST)
    start = time.perf_counter()
    due = itertools.repeat(0.0, MOST)
    if rate is not None:
        moments = np.cumsum(np.random.default_rng(0).exponential(1 / rate, int(min(MOST, rate * seconds))))
        due = iter((start + moments).tolist())
    stop = start + seconds if rate is None else start + 2 * LONGEST
    requests = zip(due, itertools.cycle(bodies))

    async def every() -> None:
        await asyncio.gather(*(client(port, requests, stop, times) for _ in range(clients)))

    asyncio.run(every())
    p50, p99 = np.quantile(times, [0.5, 0.99])
    took = time.perf_counter() - start
    return {"rows_per_second": len(times) / took, "p50_ms": 1e3 * p50, "p99_ms": 1e3 * p99, "answers": len(times)}


def started(command: list[str], port: int) -> subprocess.Popen:
    process = subprocess.Popen(command)
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 0.1).close()
            return process
        except OSError:
            time.sleep(0.1)
    process.kill()
    raise SystemExit("the server does not start")


def free_port() -> int:
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return int(s.getsockname()[1])


def in_process(model: PosteriorCompleter, Q: np.ndarray, batch: int, seconds: float) -> tuple[float, float]:
    """Rows a second of the library, in one process, with intervals; and milliseconds of CPU for one."""
    served, rows, began, busy = Served.of(model), 0, time.perf_counter(), time.process_time()
    while time.perf_counter() < began + seconds:
        some = np.take(Q, np.arange(rows, rows + batch) % len(Q), axis=0)
        served.search(some, 10, 0.9)
        rows += batch
    return rows / (time.perf_counter() - began), 1e3 * (time.process_time() - busy) / rows


def cpu_of(process: subprocess.Popen) -> float:
    """Seconds of CPU that a process has used."""
    used = psutil.Process(process.pid).cpu_times()
    return float(used.user + used.system)


def rows_of(data: str, n: int, queries: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    if data == "random":
        centres = rng.random((20, 784))
        X = np.abs(centres[rng.integers(20, size=n + queries)] + 0.3 * rng.standard_normal((n + queries, 784)))
    else:
        with np.load(data) as file:
            X = np.asarray(file[max(file.files, key=lambda name: file[name].size)], dtype=np.float64)
        X = X.reshape(len(X), -1)[rng.permutation(len(X))]
        own = X[queries:]  # real rows are searched for
        i, j = rng.integers(0, len(own), (2, max(n - len(own), 0)))
        share, noise = rng.uniform(0.5, 1, (len(i), 1)), rng.uniform(0.8, 1.2, (len(i), X.shape[1]))
        X = np.concatenate([own, (share * own[i] + (1 - share) * own[j]) * noise])[:n], X[:queries]
        X = np.concatenate(X)
    P, Q = X[:n], X[n : n + queries].copy()
    Q[rng.random(Q.shape) < MISSING] = np.nan
    return P, Q


def compare(told: argparse.Namespace) -> None:
    P, Q = rows_of(told.data, told.candidates, 512)
    model = PosteriorCompleter(effort="fast").fit(P)
    (one, one_cpu), (many, many_cpu) = (in_process(model, Q, batch, told.seconds) for batch in (1, 64))
    port = free_port()
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "m")
        command = [sys.executable, "-m", "simcomplete", "serve", f"{folder}/m", "--port", str(port), "--quiet"]
        process = started(command, port)
        try:
            requests = [request_of(row) for row in Q]
            load(port, requests, told.clients, 1.0)
            busy = cpu_of(process)
            most = load(port, requests, told.clients, told.seconds)
            cpu = 1e3 * (cpu_of(process) - busy) / most["answers"]
            half = load(port, requests, told.clients, told.seconds, most["rows_per_second"] / 2)
        finally:
            process.terminate()
            process.wait()
    print(
        f"{len(P)} x {P.shape[1]}, {MISSING:.0%} missing, {told.clients} clients, data {Path(told.data).name}, seed 0"
    )
    print(f"library, one row at a time: {one:.0f} rows/s; 64 rows at a time: {many:.0f} rows/s")
    print(f"CPU of one row: {one_cpu:.2f} ms alone, {many_cpu:.2f} ms of 64, {cpu:.2f} ms in the service")
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    print(f"service: {most['rows_per_second']:.0f} rows/s = {most['rows_per_second'] / many:.2f} of the latter,")
    print(f"  p50 {most['p50_ms']:.1f} ms, p99 {most['p99_ms']:.1f} ms")
    print(f"half of that rate, {half['answers']:.0f} requests due at random moments, time from when they were due:")
    print(f"  p50 {half['p50_ms']:.1f} ms, p99 {half['p99_ms']:.1f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.serve")
    parser.add_argument("--data", default="random", help="a .npz with a table, or random")
    parser.add_argument("--candidates", type=int, default=1000)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--frameworks", action="store_true", help="Starlette and FastAPI (installed by hand) instead")
    told = parser.parse_args()
    if not told.frameworks:
        compare(told)
        return
    requests = [request_of(row) for row in rows_of("random", 1, 64)[1]]
    for name in ("star", "fast"):
        port = free_port()
        command = [sys.executable, "-m", "uvicorn", f"benchmarks.serve_frameworks:{name}", "--port", str(port)]
        process = started([*command, "--log-level", "critical"], port)
        try:
            found = load(port, requests, told.clients, told.seconds)
        finally:
            process.terminate()
            process.wait()
        print(f"{name}: {found['rows_per_second']:.0f} requests/s, p99 {found['p99_ms']:.1f} ms")


if __name__ == "__main__":
    main()
