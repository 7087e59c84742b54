"""A service whose candidates lie in a vector store: it holds moments and ids, and no rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from simcomplete._serve.answers import Served
from simcomplete._serve.journal import Recorded
from simcomplete.errors import SimcompleteError, StoreError
from simcomplete.stores import Attached, VectorStore
from simcomplete.stores._attached import without_rows


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
    pending: tuple[Any, ...] = ()  # ids put, which the store does not know
    in_store: ClassVar[bool] = True

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

    def _payloads_of(self, ids: NDArray[Any]) -> NDArray[Any]:
        """All at once; one that has been removed meanwhile is an error."""
        keys = [key for key in dict.fromkeys(ids.ravel().tolist()) if key is not None]
        notes = dict(zip(keys, self.store.get(keys).payloads, strict=True))
        found = np.empty(ids.shape, dtype=object)
        for place, key in np.ndenumerate(ids):
            found[place] = None if key is None else notes[key].get("payload")
        return found

    def changed(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> Served:
        """The same with candidates put and removed; the store follows when it is settled."""
        made = Served.changed(replace(self, payloads={}), rows, ids, payloads, gone)
        # Before it is recorded: what the store would refuse later could never be settled.
        Attached(made.model, self.store).check_rows(ids, payloads)
        return replace(made, pending=tuple(ids))  # type: ignore[call-arg]

    def settled(self) -> StoredServed:
        """Bring what was put to the store, and let go of the rows."""
        put = self.pending
        Attached(self.model, self.store).put_rows(put, [self.payloads.get(key) for key in put])
        without_rows(self.model, self.store, changing=True)
        return replace(self, payloads=StoredPayloads(self.store), pending=())  # type: ignore[arg-type]

    def check(self) -> None:
        """Read one row of the store."""
        self.store.get(self.ids.values[:1].tolist())

    def remove(self, gone: list[Any]) -> None:
        """Remove candidates from the store, once no new search finds them."""
        self.store.delete(gone)
