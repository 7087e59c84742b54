"""Search in a completion, ordered by similarity or balanced, with probabilities."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete import index as vectors
from simcomplete._result.frames import Searched, SearchResult
from simcomplete._result.intervals import IntervalModel, check_level, moved, required
from simcomplete._result.matrix import SymmetricMatrix, take
from simcomplete._result.pairs import LEVELS_KEPT, Pairs
from simcomplete._result.probabilities import MIDDLES, check_threshold, check_top, correction_of, set_right
from simcomplete._result.rows import positions_of
from simcomplete._result.search import Neighbours, nearest, rows_or_queries, scope
from simcomplete._result.thresholds import Correction
from simcomplete._result.unobserved import unanswered
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.derived import scaled
from simcomplete._rows.progress import one_bar
from simcomplete._rows.xp import namespace, to_numpy
from simcomplete.errors import InputError
from simcomplete.index._completed import IndexCache, kind_of

ORDERS = ("similarity", "balanced")


class WithSearch:
    """Methods of a `Completion` for search."""

    def search(
        self: Any,
        k: int = 10,
        rows: Any = None,
        *,
        index: Any = None,
        order: str = "similarity",
        above: float | None = None,
        std: bool = False,
        quantile: float | None = None,
        top: int | None = None,
        progress: bool | None = None,
    ) -> SearchResult:
        """Find the `k` most similar candidates of every query.

        Parameters
        ----------
        k : int
            How many; at most as many as there are candidates.
        rows : {"candidates", "queries"}, positions, labels or pair, optional
            Rows to search for; the queries when left out. A row is never its own neighbour.
        index : {"faiss", "faiss-ivf", "faiss-hnsw"} or VectorIndex, optional
            Search through FAISS: exact, by lists or by a graph; the index is built once and kept. Or search through
            what `simcomplete.index.over` built.
        order : {"similarity", "balanced"}
            The largest similarities first, or similarities divided by the root of the length of the candidate's vector.
            Expected similarities with rows about which little is known are small; the balanced order finds a few more
            true neighbours among incomplete candidates. For complete candidates both orders are the same.
        above : float, optional
            A similarity, such as 0.9: the probability that the true one is larger is computed as well.
        std : bool
            Whether the standard deviations of the true similarities are computed as well.
        quantile : float, optional
            Between 0 and 1: this quantile of the true similarities is computed as well.
        top : int, optional
            The probability to be truly among so many nearest candidates is computed as well; see `top_probability`.
        progress : bool, optional
            None shows progress on a terminal, False never.

        Returns
        -------
        SearchResult
            A pair: `ids`, int64 (rows, k), positions among the candidates, best first, ties by lower id; `scores`, the
            expected similarities in either order. Its attribute `numbers` has what else was asked for, of the same
            shape, by name: `probability`, `std`, `quantile`, `top_probability`. A row of
            which nothing was observed has no neighbours (id -1, score NaN) and is not a neighbour of others.
            `to_frame()` gives one line for every neighbour, with labels, intervals and probabilities.
        """
        if order not in ORDERS:
            raise InputError(f"order={order!r} is unknown; use 'similarity' or 'balanced'", about=("order",))
        model = self.interval_model
        if above is not None:
            check_threshold(above)
        if quantile is not None:
            check_level(quantile, "quantile")
        if top is not None:
            check_top(top, self.n_candidates, "top")
        if above is not None or quantile is not None or top is not None or std:
            required(model, self.method)
        wanted = positions_of(self._resolve(rows_or_queries(rows, self.n_queries), "rows"))
        k, among = scope(k, wanted, self.n_candidates)
        blind, candidates = self.unobserved, slice(0, self.n_candidates)
        absent = None if blind is None or blind[0] >= self.n_candidates else blind[blind < self.n_candidates]
        matrix, indexes = (self.matrix, self._indexes) if order == "similarity" else self._balanced
        with one_bar(progress):
            if isinstance(index, str):
                index = indexes.get(kind_of(index), progress)
            find = nearest if index is None else partial(vectors.nearest, index=index)
            found = find(matrix, wanted, candidates, k, exclude_self=among, absent=absent, progress=progress)
        if order != "similarity":
            found = Neighbours(found.ids, similarities_at(self.matrix, wanted, found.ids))
        ids, scores = found if blind is None else unanswered(*found, np.isin(wanted, blind))
        about = Searched(wanted, self.n_candidates, self.n - self.n_queries, self.labels, self.frame, model)
        result = SearchResult(ids, scores, about)
        if above is not None:
            p = found_probability(model, result, float(above), correction_of(self))
            result = result.with_numbers(probability=p)
        if std:
            result = result.with_numbers(std=found_deviations(model, result))
        if quantile is not None:
            result = result.with_numbers(quantile=found_quantiles(model, result, float(quantile)))
        if top is not None:
            every = self.top_probability(top, wanted)
            p = np.take_along_axis(every, np.maximum(ids, 0), axis=1)
            result = result.with_numbers(top_probability=np.where(ids >= 0, p, np.nan))
        return result

    def export_index(
        self: Any, path: str | Path, kind: vectors.Kind = "flat", *, overwrite: bool = False
    ) -> dict[str, Any]:
        """Write the candidates as a FAISS file, and a JSON file that describes how to search it.

        Parameters
        ----------
        path, overwrite : path, bool
            The file to make, and whether to replace one; see `simcomplete.index.export` for the description, which is
            also returned.
        kind : {"flat", "ivf", "hnsw"}
            As in `simcomplete.index.build`.
        """
        return vectors.export(self._indexes.get(kind), path, signs=self.signs, overwrite=overwrite)

    @cached_property
    def _indexes(self: Any) -> IndexCache:
        return IndexCache(self.matrix, slice(0, self.n_candidates))

    @cached_property
    def _balanced(self: Any) -> tuple[SymmetricMatrix, IndexCache]:
        matrix = balanced(self.matrix)
        return matrix, IndexCache(matrix, slice(0, self.n_candidates))


def balanced(S: SymmetricMatrix) -> SymmetricMatrix:
    """Divide rows of a factor by the roots of their lengths; zero rows stay.

    Examples
    --------
    >>> balanced(SymmetricMatrix(factor=np.array([[4.0, 0.0], [0.0, 0.0]]))).factor
    array([[2., 0.],
           [0., 0.]])
    """
    if S.factor is None:
        raise InputError("order='balanced' needs a factor, and this result is a dense matrix; use order='similarity'")
    squared = replace(S, signs=None, diagonal=None, bounds=None, unit=False).diag()
    xp = namespace(squared)
    scale = xp.where(squared > 0, squared, xp.ones_like(squared)) ** -0.25
    return SymmetricMatrix(factor=scaled(S.factor, scale), signs=S.signs)


def similarities_at(S: SymmetricMatrix, rows: NDArray[np.int64], ids: NDArray[np.int64]) -> NDArray[Any]:
    """Return similarities of each row with its own candidates; NaN where an id is -1."""
    out = np.zeros(ids.shape, dtype=to_numpy(S.array[:1, :1]).dtype)
    signs = 1.0 if S.signs is None else to_numpy(S.signs)
    for part in row_blocks(len(rows), 24 * max(ids.shape[1], 1) * int(S.array.shape[1])):
        left = to_numpy(take(S.factor, rows[part])) * signs
        right = to_numpy(take(S.factor, np.maximum(ids[part], 0).ravel())).reshape(*ids[part].shape, -1)
        out[part] = np.einsum("qr,qkr->qk", left, right)
    low, high = (-1.0, 1.0) if S.unit else (-np.inf, np.inf)
    out = np.clip(out, *((low, high) if S.bounds is None else S.bounds))
    return np.where(ids >= 0, out, out.dtype.type(np.nan))


def found_probability(
    model: IntervalModel, found: SearchResult, t: float, correction: Correction | None
) -> NDArray[np.float64]:
    """Return P(true similarity > t) of the neighbours found; NaN where there is none."""
    levels = np.linspace(0, 1, LEVELS_KEPT)
    kind, spread, n = found.placed(model)
    scores = np.where(found.ids >= 0, found.scores, 0.0)
    p = set_right(Pairs(scores, spread, kind), t, model.table(levels, n), levels, correction)
    return np.where(found.ids >= 0, p, np.nan)


def found_deviations(model: IntervalModel, found: SearchResult) -> NDArray[np.float64]:
    """Return standard deviations of the true similarities of the neighbours found; NaN where there is none."""
    kind, spread, n = found.placed(model)
    deviations = np.minimum(spread * model.table(MIDDLES, n).std(axis=1)[kind], 1.0)
    return np.where(found.ids >= 0, deviations, np.nan)


def found_quantiles(model: IntervalModel, found: SearchResult, p: float) -> NDArray[Any]:
    """Return a quantile of the true similarities of the neighbours found; NaN where there is none."""
    kind, spread, n = found.placed(model)
    return moved(found.scores, spread * model.table(np.array([p]), n)[kind, 0])
