"""Whether a store still holds what a model has."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

from simcomplete._rows.ids import RowId, id_key

NAMED = 5  # ids that a message names


def id_checksum(ids: Iterable[RowId]) -> str:
    """A checksum of ids that does not depend on their order: the sum of their hashes.

    Examples
    --------
    >>> id_checksum(["a", "b"]) == id_checksum(["b", "a"]), id_checksum([7]) == id_checksum(["7"])
    (True, False)
    """
    total = sum(int.from_bytes(blake2b(id_key(value).encode(), digest_size=8).digest(), "big") for value in ids)
    return f"{total % 2**64:016x}"


@dataclass(frozen=True)
class Drift:
    """What differs between a model and the store that it is attached to.

    Attributes
    ----------
    n_model, n_store : int
        Rows of each.
    model_checksum, store_checksum : str
        Of their ids, whatever the order.
    missing, extra : list
        Ids that only the model has, and ids that only the store has.
    compared, changed : int
        Rows that were read back, and those of them whose vectors are no longer the model's.
    """

    n_model: int
    n_store: int
    model_checksum: str
    store_checksum: str
    missing: list[Any]
    extra: list[Any]
    compared: int
    changed: int

    @property
    def same_ids(self) -> bool:
        """Whether both have the same rows."""
        return self.n_model == self.n_store and self.model_checksum == self.store_checksum

    @property
    def put_again(self) -> bool:
        """Whether stored vectors differ from those of the model, so that all should be written again."""
        return self.changed > 0

    def __bool__(self) -> bool:
        return not self.same_ids or self.put_again

    def __str__(self) -> str:
        if not self:
            return f"store and model have the same {self.n_model} rows"
        said = []
        if not self.same_ids:
            said.append(f"the model has {self.n_model} rows and the store {self.n_store}")
            said += [
                f"only the {where} has {', '.join(map(repr, ids[:NAMED]))}{', ...' if len(ids) > NAMED else ''}"
                for where, ids in (("model", self.missing), ("store", self.extra))
                if ids
            ]
        if self.put_again:
            said.append(f"{self.changed} of {self.compared} vectors compared are not those of the model")
        return "; ".join(said)
