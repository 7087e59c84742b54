"""What `benchmarks.scale` times, each in a process of its own: the data are a file, made once."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import simcomplete as sc
from benchmarks.data import hide
from simcomplete._rows.sink import Output

INNER, PIECE = 64, 10_000  # strong directions of the data; rows made at a time
BARE_ROWS = 2500  # of the block that bare products are taken of, about what complete() takes by itself

Solve = Callable[[], dict[str, Any]]
F32 = NDArray[np.float32]


def rows(start: int, stop: int, d: int, seed: int) -> F32:
    """Non-negative rows with a strong common direction and a slowly falling spectrum, as images have."""
    loadings = np.random.default_rng(seed).standard_normal((INNER, d)) / np.arange(1, INNER + 1)[:, None]
    rng = np.random.default_rng([seed, start])
    X = rng.standard_normal((stop - start, INNER), dtype=np.float32) @ loadings.astype(np.float32)
    X += 1.5 + 0.2 * rng.standard_normal((stop - start, d), dtype=np.float32)
    return np.maximum(X, 0, out=X)


def write(path: Path, n: int, d: int, seed: int) -> None:
    """Write candidates to a `.npy`, piece by piece."""
    with Output(path) as out:
        table = out.table((n, d), np.float32)
        for start in range(0, n, PIECE):
            table[slice(start, min(start + PIECE, n)), :] = rows(start, min(start + PIECE, n), d, seed)


def queries(n_q: int, d: int, seed: int) -> F32:
    return hide(rows(10**9, 10**9 + n_q, d, seed).astype(np.float64), seed).astype(np.float32)


def by_block(path: str, n_q: int, rank: int, seed: int, verify: bool) -> Solve:
    """The whole completion, from a file into a file."""
    room = tempfile.TemporaryDirectory(dir=Path(path).parent)
    Q = queries(n_q, int(np.load(path, mmap_mode="r").shape[1]), seed)

    def solve() -> dict[str, Any]:
        out = Path(room.name) / "factor.npy"
        out.unlink(missing_ok=True)
        done = sc.complete(
            path, Q, method="smcnn", rank=rank, route="structured", out=out, verify=verify, progress=False
        )
        assert done.certificate is not None  # spectral methods always have one
        return {"residual": done.certificate.residual, "optimal": done.certificate.optimal}

    return solve


def bare(n: int, d: int, n_q: int, rank: int, seed: int) -> Solve:
    """The float64 products of the same passes, and nothing else: one block made beforehand, again and again."""
    rng = np.random.default_rng(seed)
    Z = rows(0, BARE_ROWS, d, seed).astype(np.float64)
    squares, H = Z * Z, rng.random((BARE_ROWS, d + n_q))
    values, masks, lift = rng.random((d, n_q)), rng.random((d, n_q)), rng.random((d + n_q, rank))

    def solve() -> dict[str, Any]:
        for last in (lambda: H.T @ H, lambda: H @ lift):
            for _ in range(n // BARE_ROWS):
                Z @ values
                squares @ masks
                last()
        return {}

    return solve


def dense(n: int, d: int, n_q: int, rank: int, seed: int, side: str) -> Solve:
    """Rows of which none need be complete, as a matrix of all pairs in float32."""
    X = np.concatenate([rows(0, n - n_q, d, seed), queries(n_q, d, seed)])
    S0 = None if side == "samples" else sc.overlap_similarity(X, progress=False)

    def solve() -> dict[str, Any]:
        asked: dict[str, Any] = {"method": "smcnn", "rank": rank, "verify": False, "progress": False}
        done = sc.complete(X, **asked) if S0 is None else sc.complete_similarity(S0, **asked)
        return {"route": done.params["route"]}

    return solve


def descent(n: int, d: int, n_q: int, rank: int, seed: int, steps: int) -> Solve:
    """Some steps of the paper's descent on the matrix of all pairs; the time between two of them is what counts."""
    import time

    X = np.concatenate([rows(0, n - n_q, d, seed), queries(n_q, d, seed)])
    S0 = sc.overlap_similarity(X, progress=False)
    clock: list[tuple[float, float]] = []

    def solve() -> dict[str, Any]:
        import warnings

        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sc.errors.NotConvergedWarning)  # so few steps cannot converge
            sc.complete_similarity(
                S0,
                method="smcnn",
                rank=rank,
                solver="descent",
                step="safe",
                max_iter=steps,
                route="iterative",
                progress=False,
                callback=lambda *_: clock.append((time.perf_counter(), time.process_time())),
            )
        wall, cpu = np.median(np.diff(clock, axis=0), axis=0)
        return {"step_s": float(wall), "step_cpu_s": float(cpu)}

    return solve


def knn(path: str, n_q: int, seed: int, room: int) -> Solve:
    """scikit-learn's KNNImputer on all rows, then the similarities of queries with candidates."""
    from sklearn.impute import KNNImputer

    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (room, room))
    except ImportError:
        pass  # no way to limit a process here

    def solve() -> dict[str, Any]:
        P = np.load(path)
        Q = queries(n_q, P.shape[1], seed)
        filled = KNNImputer().fit_transform(np.concatenate([P, Q]))[len(P) :]
        filled /= np.linalg.norm(filled, axis=1, keepdims=True)
        return {"mean": float(np.mean(filled @ (P / np.linalg.norm(P, axis=1, keepdims=True)).T))}

    return solve
