"""The same problem in other forms: files, dask arrays, frames, sparse rows, labels, blocks of a few rows."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import simcomplete as sc
from simcomplete import Completion

from .case import Case
from .checks import require

CLOSE = 1e-8  # two routes to the same answer


def complete(case: Case, rows: Any, queries: Any = None, **more: Any) -> Completion:
    """Complete rows as the case says."""
    settings = {"progress": False, "method": case.method, **case.settings, **more}
    if case.form == "matrix":
        return sc.complete_similarity(rows, **settings)
    return sc.complete(rows, queries, **settings)


def close(case: Case) -> float:
    """How near two answers are: of nearly constant features or rows, less is known exactly once means are taken out."""
    center, pearson = "center" in case.settings, case.settings.get("metric") == "pearson"
    if not center and not pearson:
        return CLOSE
    X = np.concatenate([part for part in (case.rows, case.queries) if part is not None])
    shares = np.concatenate([varying(X, axis=0) if center else [], varying(X, axis=1) if pearson else []])
    return max(CLOSE, (1e3 if center else 1e2) * np.finfo(float).eps / shares.min(initial=1.0))


def varying(X: np.ndarray, axis: int) -> np.ndarray:
    """How far values are apart, as a share of the largest, by feature or by row; without those that are constant."""
    known = ~np.isnan(X)
    top = np.where(known, np.abs(X), 0.0).max(axis=axis)
    low, high = np.where(known, X, np.inf).min(axis=axis), np.where(known, X, -np.inf).max(axis=axis)
    with np.errstate(over="ignore", invalid="ignore"):
        share = (high - low) / top
    return share[np.isfinite(share) & (share > 0)]


def same_answer(promise: str, case: Case, done: Completion, other: Completion) -> None:
    """Two completions have the same similarities, up to rounding."""
    tol = close(case)
    a, b = (np.asarray(one.similarity(), dtype=np.float64) for one in (done, other))
    single = done.matrix.array.dtype == np.float32
    tol = max(tol, 1e-4) if single else tol
    require(other.method == done.method, f"{promise}: the same method", (done.method, other.method))
    require(a.shape == b.shape, f"{promise}: the same shape", (a.shape, b.shape))
    if "center" in case.settings and done.unobserved is not None:  # filled in with what rounding leaves of 0
        a, b = (np.delete(np.delete(S, done.unobserved, 0), done.unobserved, 1) for S in (a, b))
    off = np.abs(a - b).max(initial=0.0) / max(1.0, np.abs(a).max(initial=0.0))
    require(off <= tol, promise, f"off by {off:.3g}")


def from_path(case: Case, done: Completion) -> None:
    """Candidates in a file, given by its path and as a memory map, give the answer of those in memory."""
    if case.form != "queries":
        return
    rows, queries = case.given()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npy")
        np.save(path, np.asarray(rows))
        same_answer("from a path", case, done, complete(case, path, queries))
        mapped = np.load(path, mmap_mode="r")
        same_answer("from a memory map", case, done, complete(case, mapped, queries))


def from_dask(case: Case, done: Completion) -> None:
    """Candidates in a dask array of several chunks give the answer of those in memory."""
    if case.form != "queries":
        return
    import dask
    import dask.array as da

    rows, queries = case.given()
    lazy = da.from_array(np.asarray(rows), chunks=(max(1, len(rows) // 3), -1))
    with dask.config.set(scheduler="synchronous"):
        same_answer("from dask", case, done, complete(case, lazy, queries))


def from_frame(case: Case, done: Completion) -> None:
    """Frames give the answer of arrays, and their labels name rows."""
    import pandas as pd

    if case.form == "matrix":
        return
    rows, queries = (None if part is None else pd.DataFrame(np.asarray(part)) for part in case.given())
    rows.index = [f"p{i}" for i in range(len(rows))]
    if queries is not None:
        queries.index = [f"q{i}" for i in range(len(queries))]
    framed = complete(case, rows, queries)
    same_answer("from a frame", case, done, framed)
    require(framed.labels is not None, "a frame's labels are kept")
    last = framed.labels[-1]
    block = np.asarray(framed.similarity(last, [last, "p0"]))
    require(block.shape == (1, 2), "rows by label", block.shape)


def from_sparse(case: Case, done: Completion) -> None:
    """Sparse rows, of which cells that are not stored are missing, give the answer of rows with NaN."""
    if case.form != "rows" or case.dtype == "list":
        return
    rows = np.asarray(case.given()[0])
    at = np.nonzero(~np.isnan(rows))
    sparse = scipy.sparse.csr_array((rows[at], at), shape=rows.shape)
    same_answer("from sparse rows", case, done, complete(case, sparse, missing="absent"))


def labelled(case: Case, done: Completion) -> None:
    """Labels beside arrays name rows, also after saving."""
    n = [len(part) for part in case.given() if part is not None]
    names = [[f"{kind} {i}" for i in range(count)] for kind, count in zip("pq", n, strict=False)]
    named = complete(case, *case.given(), labels=names[0] if len(n) == 1 else tuple(names))
    same_answer("with labels", case, done, named)
    last = named.labels[-1]
    require(np.asarray(named.similarity(last)).shape == (1, named.n), "a row by its label")
    require(named.to_frame().shape[0] == named.n, "a labelled frame of all rows")


def little_memory(case: Case, done: Completion) -> None:
    """Blocks of a few rows give the answer of one block."""
    if case.form != "matrix":
        same_answer("with blocks of a few rows", case, done, complete(case, *case.given(), memory=2**10))
