"""A fitted model and the store that has its candidates: searched and changed together."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.found import FoundCandidates
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.rows import Vectors
from simcomplete._result.intervals import RankedErrors
from simcomplete._result.search import Neighbours, check_k
from simcomplete._result.unobserved import unanswered
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.table import as_row_table
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError
from simcomplete.stores._drift import Drift, id_checksum
from simcomplete.stores._finding import ROUNDING, StoreFinder, lengths_of
from simcomplete.stores._store import VectorStore
from simcomplete.stores._table import StoredRows, StoredUnitRows

COMPARED = 16  # rows that are read back to see whether vectors are still the model's
Neighbourhood = Literal["model", "store"]


class FoundRows(NamedTuple):
    """Neighbours of rows, best first: ids and similarities, both (rows, k), and payloads on request."""

    ids: NDArray[Any]
    scores: NDArray[np.floating]
    payloads: list[list[Any]] | None = None


class Attached:
    """A model whose candidates are in a vector store; returned by `PosteriorCompleter.attach`.

    Rows with missing values become vectors by the model; the store finds candidates by inner product; their scores are
    computed again in float64 from the model's rows, best first, ties by lower position. So an exact store gives the
    same answer as `model.search`.

    Attributes
    ----------
    model : PosteriorCompleter
        The model, with the same rows as the store.
    store : VectorStore
        The store.
    """

    def __init__(self, model: Any, store: VectorStore, neighbours: Neighbourhood = "model") -> None:
        if neighbours not in ("model", "store"):
            raise InputError(f"neighbours={neighbours!r} is unknown; use 'model' or 'store'")
        self.model, self.store, self.neighbours = model, store, neighbours
        if neighbours == "store":
            self.model = copy.copy(model)
            fitted = self._candidate_model("neighbours='store'")
            self.model._model = replace(fitted, candidates=FoundCandidates.of(fitted.candidates, self._finder))

    def search(self, X: Any, k: int = 10, *, payloads: bool = False) -> FoundRows:
        """Find the `k` most similar candidates of rows with missing values.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        k : int
            How many; more than there are candidates gives all of them.
        payloads : bool
            Read the payloads of what was found as well.

        Returns
        -------
        FoundRows
            `ids`, `scores` and `payloads`. A row of which nothing is observed has no neighbours: id -1, or None where
            ids are text, and score NaN. If candidates are incomplete, the order is balanced: similarities are divided
            by the root of the length of the candidate's vector.
        """
        Q = self.model._checked(X, reset=False)
        near = self.found(self.model._changes.vectors(self.model._model, Q), np.isnan(Q).all(axis=1), check_k(k))
        ids = self.model.ids_.named(near.ids)
        payload_list = None
        if payloads:
            wanted = list(dict.fromkeys(ids[near.ids >= 0].tolist()))
            by_id = dict(zip(wanted, (each["payload"] for each in self.store.get(wanted).payloads), strict=True))
            payload_list = [[by_id.get(key) for key in row] for row in ids.tolist()]
        return FoundRows(ids, near.scores, payload_list)

    def found(self, vectors: Vectors, blind: NDArray[np.bool_], k: int) -> Neighbours:
        """Positions and similarities of the candidates nearest to vectors of the model."""
        k = min(k, len(self.model.candidates_))
        ids, scores = self._finder.nearest(vectors.u, k, self._rows, self.balanced)
        clipped = np.where(np.isinf(scores), scores, np.clip(scores, -1.0, 1.0)).astype(self.model._dtype)
        return Neighbours(*unanswered(ids, clipped, blind))

    def partial_fit(self, X: Any, ids: Iterable[Any], payloads: Sequence[Any] | None = None) -> Attached:
        """Add candidates to the model, by exact updates, and to the store; to both, or to neither.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Complete candidates.
        ids : sequence of str or int
            Their ids, none of which is there already.
        payloads : sequence, optional
            What goes with each.

        Returns
        -------
        Attached
            This. Vectors of complete candidates do not depend on the others, so stored vectors stay correct; `drift`
            shows whether they should be written again.
        """
        grown = copy.copy(self.model).partial_fit(X, ids=list(ids))
        n = len(self.model.candidates_)
        self._put(grown, np.arange(n, len(grown.candidates_)), payloads)
        self._take(grown)
        return self

    def forget(self, ids: Iterable[Any]) -> Attached:
        """Remove candidates from the model, by exact downdates, and from the store; from both, or from neither."""
        wanted = [ids] if isinstance(ids, (str, int, np.integer)) else list(ids)
        left = copy.copy(self.model).forget(ids=wanted)
        self.store.delete(wanted)
        self._take(left)
        return self

    def drift(self) -> Drift:
        """Compare the rows of model and store: counts, checksums of ids, and some vectors; true where they differ.

        Examples
        --------
        >>> import numpy as np
        >>> from simcomplete.estimators import PosteriorCompleter
        >>> from simcomplete.stores import SqliteStore
        >>> P = np.random.default_rng(0).random((60, 4))
        >>> model = PosteriorCompleter(effort="fast").fit(P)
        >>> held = model.attach(SqliteStore(":memory:"))
        >>> print(held.drift())
        store and model have the same 60 rows
        >>> held.store.delete([3])
        1
        >>> print(held.drift())
        the model has 60 rows and the store 59; only the model has 3
        >>> held.store.close()
        """
        mine, there = self.model.ids_.place, list(self.store.ids())
        stored = set(there)
        both = [value for value in mine if value in stored]
        some = [both[i] for i in np.unique(np.linspace(0, len(both) - 1, COMPARED).astype(int))] if both else []
        changed = 0
        if some:
            held = self.store.get(some).vectors
            V = self._stored_form(self._rows(self._finder.positions(some)))
            fits = held.shape == V.shape
            gap = np.abs(held - V).max(axis=1) if fits else np.full(len(some), np.inf)
            changed = int(np.sum(gap > 4 * ROUNDING))
        return Drift(
            len(mine),
            len(there),
            id_checksum(mine),
            id_checksum(there),
            [value for value in mine if value not in stored],
            [value for value in there if value not in mine],
            len(some),
            changed,
        )

    def repair(self) -> Attached:
        """Write all rows of the model again, with their payloads, and remove other rows from the store."""
        there = set(self.store.ids())
        mine: NDArray[Any] = self.model.ids_.values
        self.store.delete([value for value in there if value not in self.model.ids_.place])
        for part in self._blocks():
            names = mine[part].tolist()
            known = [value for value in names if value in there]
            by_id = dict(zip(known, (_payload(each) for each in self.store.get(known).payloads), strict=True))
            self._put(self.model, np.arange(len(mine))[part], [by_id.get(value) for value in names])
        return self

    def fill(self, payloads: Sequence[Any]) -> None:
        """Write all rows of the model, with their payloads, to an empty store."""
        for part in self._blocks():
            self._put(self.model, np.arange(len(payloads))[part], payloads[part])

    def put_rows(self, ids: Sequence[Any], payloads: Sequence[Any]) -> None:
        """Write some rows of the model, which may be in the store already."""
        if len(ids):
            self._put(self.model, self.model.ids_.positions(ids), payloads)

    def check_rows(self, ids: Sequence[Any], payloads: Sequence[Any]) -> None:
        """Raise the error that `put_rows` would raise, without writing anything."""
        if len(ids):
            self.store._checked(*self._stored(self.model, self.model.ids_.positions(ids), payloads))

    def _blocks(self) -> list[slice]:
        return row_blocks(len(self.model.ids_), 48 * int(self.model.candidates_.shape[1]))

    def release(self) -> Attached:
        """The same with a model that keeps no rows, only moments and ids: rows are read from the store when needed.

        Neighbours then come from the store, too, and scores are those of its vectors, which most engines keep in
        float32.
        """
        held = Attached(self.model, self.store, "store")
        fitted = held._candidate_model("release")
        errors = fitted.errors
        if errors is not None:  # one that is made later would need the rows
            errors = RankedErrors(errors.shares, errors.table, errors.residuals, errors.simulated)
        zero = np.flatnonzero(fitted.candidates.diagonal_deficit == 1.0)
        found = replace(fitted.candidates, kept=None, zero=zero)
        held.model._model = replace(fitted, candidates=found, errors=errors)
        without_rows(held.model, self.store)
        return held

    def _take(self, changed: Any) -> None:
        """Let the model be as a changed copy of it is."""
        released = isinstance(self.model.candidates_, StoredUnitRows)
        self.model.__dict__.update(changed.__dict__)
        if released:
            without_rows(self.model, self.store)
        elif self.neighbours == "store":
            fitted = self.model._model
            self.model._model = replace(fitted, candidates=FoundCandidates.of(fitted.candidates, self._finder))

    def _put(self, model: Any, positions: NDArray[np.int64], payloads: Sequence[Any] | None) -> None:
        self.store.put(*self._stored(model, positions, payloads))

    def _stored(
        self, model: Any, positions: NDArray[np.int64], payloads: Sequence[Any] | None
    ) -> tuple[list[Any], NDArray[np.float64], list[Any]]:
        """Ids, vectors and payloads as the store gets them."""
        payload_list = [None] * len(positions) if payloads is None else list(payloads)
        if len(payload_list) != len(positions):
            raise InputError(f"{len(payload_list)} payloads for {len(positions)} rows: give one for each, or None")
        P = np.asarray(to_numpy(as_row_table(model.candidates_).take(positions)), dtype=np.float64)
        own = P if not isinstance(model._model, CandidateModel) else to_numpy(as_row_table(model._rows).take(positions))
        own = np.asarray(own, dtype=np.float64)
        lengths = np.where(own.any(axis=1), lengths_of(own), 0.0).tolist()
        if not np.isfinite(lengths).all():
            raise InputError("rows have values near the largest number there is, so that their lengths are beyond it")
        notes = [{"length": length, "payload": each} for length, each in zip(lengths, payload_list, strict=True)]
        return model.ids_.values[positions].tolist(), self._stored_form(P), notes

    @property
    def balanced(self) -> bool:
        """Whether candidates are incomplete, so that their vectors are stored divided by the roots of their lengths."""
        return not isinstance(self.model._model, CandidateModel)

    def _stored_form(self, P: NDArray[np.float64]) -> NDArray[np.float64]:
        return P / np.sqrt(lengths_of(P))[:, None] if self.balanced else P

    def _rows(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        return np.asarray(to_numpy(as_row_table(self.model.candidates_).take(positions)), dtype=np.float64)

    @property
    def _finder(self) -> StoreFinder:
        return StoreFinder(self.store, self.model.ids_.place)

    def _candidate_model(self, what: str) -> CandidateModel:
        if not isinstance(self.model._model, CandidateModel):
            raise InputError(f"{what} needs a model of complete candidates; this one was fitted to incomplete rows")
        return self.model._model


def without_rows(model: Any, store: VectorStore, *, changing: bool = False) -> None:
    """Let a model of complete candidates read its rows from a store that has all of them."""
    finder = StoreFinder(store, model.ids_.place, changing)
    table = StoredRows(store, model.ids_.values, model.n_features_in_)
    found = FoundCandidates.of(replace(model._model.candidates, table=table), finder)
    model._keep_candidates(replace(model._model, candidates=found))
    model.candidates_ = StoredUnitRows(table, finder)


def _payload(note: Any) -> Any:
    return note.get("payload") if isinstance(note, dict) else note
