"""Indexes over the candidates of a completed matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.matrix import SymmetricMatrix, take
from simcomplete._result.search import Neighbours
from simcomplete._result.search import nearest as every
from simcomplete._result.unobserved import without_ids
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError
from simcomplete.index._query import search
from simcomplete.index._rows import Rows
from simcomplete.index._vectors import Kind, VectorIndex, build

KINDS: dict[str, Kind] = {"faiss": "flat", "faiss-ivf": "ivf", "faiss-hnsw": "hnsw"}


def nearest(
    S: SymmetricMatrix,
    rows: NDArray[np.int64],
    candidates: slice,
    k: int,
    *,
    exclude_self: bool,
    index: str | VectorIndex,
    absent: NDArray[np.int64] | None = None,
    progress: bool | None = None,
) -> Neighbours:
    """Find the `k` candidates most similar to each row of a completed matrix through an index."""
    if isinstance(index, str):
        index = over(S, candidates, kind_of(index), progress=progress)
    elif index.rows.fingerprint() != indexable(S, candidates).fingerprint():
        raise InputError("the index was built over other rows than this result's candidates; build it again")
    if not len(rows) or not int(S.array.shape[1]):  # FAISS takes neither no queries nor rows of no numbers
        return every(S, rows, candidates, k, exclude_self=exclude_self, absent=absent, progress=progress)
    result = search(
        index,
        to_numpy(take(S.factor, rows)),
        k if absent is None else k + len(absent),
        signs=S.signs,
        exclude=rows - candidates.start if exclude_self else None,
        bounds=(-1.0, 1.0) if S.unit else None,
        progress=progress,
    )
    if absent is not None:
        result = Neighbours(*without_ids(*result, absent, k))
    return Neighbours(result.ids, result.scores.astype(to_numpy(S.array[:1, :1]).dtype))


def kind_of(name: str) -> Kind:
    """The kind of index that `index=` names, or an error that says which there are."""
    if name not in KINDS:
        raise InputError(f"index={name!r} is unknown; use {', '.join(map(repr, KINDS))}, or what over() built")
    return KINDS[name]


def over(S: SymmetricMatrix, candidates: slice, kind: Kind = "flat", **settings: Any) -> VectorIndex:
    """Build an index over the candidates of a completed matrix, for `Completion.search`.

    Parameters
    ----------
    S : SymmetricMatrix
        The attribute `matrix` of a completion.
    candidates : slice
        Its rows to search among.
    kind, **settings
        As in `build`.

    Returns
    -------
    VectorIndex

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> done = sc.complete(np.eye(3), [[0.0, 2.0, np.nan]], method="smcnn")
    >>> built = sc.index.over(done.matrix, slice(0, done.n_candidates))
    >>> done.search(k=1, index=built).ids
    array([[1]])
    """
    return build(indexable(S, candidates), kind, **settings)


class IndexCache:
    """Indexes over the candidates of a completed matrix, each built when it is first asked for.

    They are not copied or pickled along: a copy builds its own.
    """

    def __init__(self, S: SymmetricMatrix, candidates: slice) -> None:
        self.S, self.candidates = S, candidates
        self.built: dict[str, VectorIndex] = {}

    def get(self, kind: Kind, progress: bool | None = None) -> VectorIndex:
        """The index of a kind."""
        if kind not in self.built:
            self.built[kind] = over(self.S, self.candidates, kind, progress=progress)
        return self.built[kind]

    def __reduce__(self) -> tuple[type[IndexCache], tuple[SymmetricMatrix, slice]]:
        return IndexCache, (self.S, self.candidates)


def indexable(S: SymmetricMatrix, candidates: slice) -> Rows:
    """Rows whose products are the similarities, or an error that says why there are none."""
    if S.factor is None:
        raise InputError("this result is a dense matrix without a factor to index; leave out index=, or use posterior")
    if S.bounds is not None:
        raise InputError(
            "entries of this view are clipped when read, which products of rows are not; search the result before clip"
        )
    return Rows(S.factor, candidates.start, candidates.stop)
