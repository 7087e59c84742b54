"""Vector indexes over complete rows: time to build and to ask, and how much of the true nearest they find."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.data import imagelike
from benchmarks.measure import Settings, timed
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.search import nearest
from simcomplete.errors import MissingExtraError
from simcomplete.index import build, recall, search

TITLE = "vector indexes of FAISS beside our own search, the ten nearest"
NOTE = (
    "image-like unit rows, 200 of them as queries; breadth: lists looked into (ivf) or rows kept in view (hnsw), the"
    " default first; recall: share of our own answer that was found;\n  target: flat finds all of it"
)
K = 10
QUERIES = 200
BREADTHS: dict[str, tuple[int | None, ...]] = {"flat": (None,), "ivf": (None, 4, 8, 32), "hnsw": (None, 32, 64, 128)}


def run(settings: Settings) -> list[dict[str, Any]]:
    sizes = [(20_000, 64), (100_000, 100)] if not settings.quick else [(2_000, 32)]
    try:
        return [row for n, width in sizes for row in _rows(n, width, settings)]
    except MissingExtraError as error:
        return [{"kind": "none", "skipped": str(error)}]


def _rows(n: int, width: int, settings: Settings) -> list[dict[str, Any]]:
    F = unit_rows(imagelike(n + QUERIES, 1, width, settings.seed)[0])
    S, asked = SymmetricMatrix(factor=F), np.arange(n, n + QUERIES)
    own = timed(lambda: nearest(S, asked, slice(0, n), K, exclude_self=False, progress=False), 3, settings.threads)
    rows = [_row("own search", n, width, 0, 0.0, own.cpu_s, 1.0, own.times)]
    for kind, breadths in BREADTHS.items():
        made = timed(lambda kind=kind: build(F[:n], kind, progress=False), 1, settings.threads)
        for breadth in breadths:
            used = _widen(made.result.faiss, kind, breadth)
            took = timed(lambda index=made.result: search(index, F[n:], K, progress=False), 3, settings.threads)
            found = recall(took.result.ids, own.result.ids)
            rows.append(_row(kind, n, width, used, made.cpu_s, took.cpu_s, found, took.times))
    return rows


def _widen(faiss: Any, kind: str, breadth: int | None) -> int:
    """Set how widely an index searches, and tell how widely it does: the graph or the lists need not be made anew."""
    if kind == "flat":
        return 0
    holder, name = (faiss, "nprobe") if kind == "ivf" else (faiss.hnsw, "efSearch")
    if breadth is not None:
        setattr(holder, name, breadth)
    return int(getattr(holder, name))


def _row(
    kind: str, n: int, width: int, breadth: int, build_s: float, search_s: float, found: float, times: list[float]
) -> dict[str, Any]:
    return {
        "kind": kind,
        "n": n,
        "width": width,
        "breadth": breadth,
        "build_cpu_s": build_s,
        "search_cpu_ms": 1e3 * search_s / QUERIES,
        "recall": found,
        "times": times,
    }
