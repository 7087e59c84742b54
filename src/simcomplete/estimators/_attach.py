"""A fitted model and a vector store."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from sklearn.utils.validation import check_is_fitted

from simcomplete.errors import InputError, StoreError
from simcomplete.estimators._ids import RowIds
from simcomplete.stores import Attached, VectorStore


class Attachable:
    """Models whose candidates can be searched for where a store has them."""

    def attach(
        self: Any,
        store: VectorStore,
        *,
        payloads: Sequence[Any] | None = None,
        neighbours: Literal["model", "store"] = "model",
        put: bool = False,
    ) -> Attached:
        """Put the candidates into a vector store, and search there.

        Parameters
        ----------
        store : VectorStore
            One of `simcomplete.stores`. All candidates are written to an empty store: unit rows, or, where candidates
            are incomplete, their vectors divided by the roots of their lengths. A store with the same rows is not
            changed.
        payloads : sequence, optional
            A payload for each candidate, for an empty store.
        neighbours : {"model", "store"}
            Where the neighbours used to complete a row come from: from all candidates of the model, or from the store,
            which is faster for many candidates and may miss some.
        put : bool
            If the store has other rows than the model, write those of the model again and remove the others.

        Returns
        -------
        Attached
            With `search`, `partial_fit`, `forget`, `drift`, `repair` and `release`. Candidates without ids get their
            positions as ids.

        Examples
        --------
        >>> import numpy as np
        >>> from simcomplete.estimators import PosteriorCompleter
        >>> from simcomplete.stores import SqliteStore
        >>> P = np.random.default_rng(0).random((60, 4))
        >>> model = PosteriorCompleter(effort="fast").fit(P, ids=range(60))
        >>> held = model.attach(SqliteStore(":memory:"))
        >>> asked = [[0.9, np.nan, 0.1, np.nan]]
        >>> held.search(asked, k=3).ids.tolist() == model.search(asked, k=3).ids.tolist()
        True
        >>> held.store.close()
        """
        check_is_fitted(self)
        if not isinstance(store, VectorStore):
            raise InputError(f"a {type(store).__name__} is not a store; give one of simcomplete.stores")
        if self.ids_ is None:
            named: RowIds | None = RowIds.of(np.arange(len(self.candidates_)), len(self.candidates_))
            self.ids_ = named
        held = Attached(self, store, neighbours)
        if not store.count():
            n = len(self.candidates_)
            payload_list = [None] * n if payloads is None else list(payloads)
            if len(payload_list) != n:
                raise InputError(f"{len(payload_list)} payloads for {n} candidates: give one for each, or None")
            held.fill(payload_list)
        elif payloads is not None:
            raise InputError("the store has rows already, so payloads= cannot be given; empty it first")
        elif put:
            held.repair()
        elif drift := held.drift():
            raise StoreError(
                f"the store has other rows than the model: {drift}; attach(store, put=True) writes those of the model"
            )
        return held
