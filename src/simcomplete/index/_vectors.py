"""Building an index of FAISS, block by block."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil, isqrt
from typing import Any, Literal

import numpy as np

from simcomplete._rows.budget import require
from simcomplete._rows.progress import track
from simcomplete.errors import InputError, optional
from simcomplete.index._rows import Rows, narrowed

Kind = Literal["flat", "ivf", "hnsw"]
TRAIN = 64  # rows per list that an "ivf" index is trained on


@dataclass(frozen=True)
class VectorIndex:
    """A FAISS index and the rows it was built from; `longest` is the length of the longest row."""

    faiss: Any
    kind: Kind
    rows: Rows
    longest: float


def build(
    rows: Any,
    kind: Kind = "flat",
    *,
    lists: int | None = None,
    links: int = 32,
    breadth: int | None = None,
    random_state: Any = 0,
    progress: bool | None = None,
) -> VectorIndex:
    """Build an inner-product index, block by block.

    Parameters
    ----------
    rows : array or frame of shape (n, r), or Rows
        What to search among, without missing values. The index holds a copy in float32.
    kind : {"flat", "ivf", "hnsw"}
        Compare with all rows, exact; with those in the most promising of many lists; or along a graph of neighbours.
    lists : int, optional
        Lists of "ivf"; the root of n when left out, at most n / 8.
    links : int
        Links of every row in the graph of "hnsw".
    breadth : int, optional
        How widely to search: lists looked into (a sixteenth of them, at least 8, when left out), or rows kept in view
        along the graph (256). A larger value finds more and is slower.
    random_state : int, Generator or None
        Seed of the lists.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    VectorIndex
        Search it with `search`; its attribute `faiss` is the FAISS index itself.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete import index
    >>> built = index.build(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]))  # doctest: +SKIP
    >>> index.search(built, np.array([[0.8, 0.6]]), k=2).ids  # doctest: +SKIP
    array([[0, 2]])
    """
    faiss = optional("faiss", extra="faiss", purpose="a vector index")
    rows = rows if isinstance(rows, Rows) else Rows.of(rows)
    lists = min(rows.n, max(1, min(isqrt(rows.n), rows.n // 8)) if lists is None else lists)
    made: dict[str, str] = {"flat": "Flat", "ivf": f"IVF{lists},Flat", "hnsw": f"HNSW{links},Flat"}
    if kind not in made:
        raise InputError(f"kind={kind!r} is unknown; use 'flat' (exact), 'ivf' or 'hnsw' (for millions of rows)")
    for name, value in (("lists", lists), ("links", links), ("breadth", 1 if breadth is None else breadth)):
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < 1:
            raise InputError(f"{name}={value!r} must be a whole number of at least 1")
    per_row = 4 * rows.width + {"flat": 0, "ivf": 8, "hnsw": 8 * links + 32}[kind]
    # Indexes grow by doubling, so the old and the new copy are there at once.
    require(2 * rows.n * per_row, f"an index of {rows.n} rows", "use a smaller rank, or search without index=")
    index = faiss.index_factory(rows.width, made[kind], faiss.METRIC_INNER_PRODUCT)
    if kind == "ivf":
        rng = np.random.default_rng(random_state)
        index.nprobe = min(lists, max(8, ceil(lists / 16)) if breadth is None else breadth)
        index.cp.min_points_per_centroid, index.cp.seed = 1, int(rng.integers(2**31))
        sample = np.sort(rng.choice(rows.n, min(rows.n, TRAIN * lists), replace=False))
        index.train(narrowed(rows.take(sample), "rows"))
    if kind == "hnsw":
        index.hnsw.efConstruction, index.hnsw.efSearch = 200, 256 if breadth is None else breadth
    longest = 0.0
    for part in track(rows.blocks(), "index", progress):
        block = rows.single(part)
        index.add(block)
        longest = max(longest, float(np.linalg.norm(block.astype(np.float64), axis=1).max()))
    return VectorIndex(index, kind, rows, longest)
