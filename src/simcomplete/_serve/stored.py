"""A service whose candidates lie in a vector store: it holds moments and ids, and no rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._serve.answers import Served
from simcomplete._serve.journal import Recorded
from simcomplete.errors import SimcompleteError, StoreError
from simcomplete.stores import Attached, VectorStore
from simcomplete.stores._attached import without_rows

TRIES = 3  # of a search, while rows that it finds are being removed


class StoredPayloads(Mapping[Any, Any]):
    """Payloads by id, read when they are asked for."""

    def __init__(self, store: VectorStore) -> None:
        self.store = store

    def __getitem__(self, key: Any) -> Any:
        try:
            (note,) = self.store.get([key]).payloads
        except SimcompleteError as error:
            raise KeyError(key) from error
        return note.get("payload")

    def __iter__(self) -> Iterator[Any]:
        return iter(self.store.ids())

    def __len__(self) -> int:
        return self.store.count()


@dataclass(frozen=True)
class StoredServed(Served):
    """A served model whose rows and payloads are read from a store, and changed there."""

    store: Any = None
    pending: tuple[tuple[Any, ...], tuple[Any, ...]] = ((), ())  # ids put and removed, which the store does not know

    @classmethod
    def attached(cls, served: Served, store: VectorStore, recorded: Recorded) -> StoredServed:
        """Move the candidates of a model into a store, or find them there, with all changes that were recorded."""
        model = served.model
        held = Attached(model, store)
        payloads = dict(served.payloads)
        if store.count() == 0:
            held.fill([payloads.get(key) for key in model.ids_.as_list()])
        else:  # a change may have been recorded just before the service ended, and not have come to the store
            held.put_rows(recorded.ids, recorded.payloads)
            store.delete([key for key in recorded.gone if key not in model.ids_.place])
        if drift := held.drift():
            raise StoreError(
                f"the store has other rows than the model: {drift}; empty it, name another, or put the rows of the "
                "model there, in Python: model.attach(store, put=True)"
            )
        light = held.release().model
        without_rows(light, store, changing=True)
        known = {each.name: getattr(served, each.name) for each in fields(served)}
        return cls(**{**known, "model": light, "payloads": StoredPayloads(store)}, store=store)

    def search(self, X: NDArray[np.float64], *others: Any) -> dict[str, Any]:
        """The nearest candidates of rows; once more where one that was found has been removed meanwhile."""
        for _ in range(TRIES - 1):
            try:
                return super().search(X, *others)
            except SimcompleteError:
                continue
        return super().search(X, *others)

    def changed(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> Served:
        """The same with candidates put and removed; the store follows when it is settled."""
        made = Served.changed(replace(self, payloads={}), rows, ids, payloads, gone)
        return replace(made, pending=(tuple(ids), tuple(gone)))  # type: ignore[call-arg]

    def settled(self) -> StoredServed:
        """Bring what has changed to the store, and let go of the rows."""
        put, gone = self.pending
        Attached(self.model, self.store).put_rows(put, [self.payloads.get(key) for key in put])
        self.store.delete(gone)
        without_rows(self.model, self.store, changing=True)
        return replace(self, payloads=StoredPayloads(self.store), pending=((), ()))  # type: ignore[arg-type]
