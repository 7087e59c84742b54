"""Ids that rows keep while others come and go."""

from __future__ import annotations

import reprlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.ids import checked_id
from simcomplete.errors import InputError


@dataclass(frozen=True)
class RowIds:
    """Ids of candidates, text or whole numbers, each once, in the order of the candidates.

    Examples
    --------
    >>> ids = RowIds.of(["a", "b", "c"], 3)
    >>> ids.named(np.array([[2, 0]]))
    array([['c', 'a']], dtype=object)
    >>> ids.positions(["b"]), ids.without(np.array([1])).as_list()
    (array([1]), ['a', 'c'])
    """

    values: NDArray[Any] = field(repr=False)
    place: dict[Any, int] = field(repr=False)

    @classmethod
    def of(cls, ids: Any, n: int) -> RowIds:
        """Check ids of n rows."""
        if isinstance(ids, Iterator):
            ids = list(ids)
        given = np.asarray(ids, dtype=object) if not isinstance(ids, np.ndarray) else ids
        if given.ndim != 1 or len(given) != n:
            raise InputError(f"ids must be one for each of the {n} rows; got shape {given.shape}")
        listed = [checked_id(value) for value in given.tolist()]
        place = {value: i for i, value in enumerate(listed)}
        if len(place) < n:
            twice = next(value for i, value in enumerate(listed) if place[value] != i)
            raise InputError(f"id {reprlib.repr(twice)} is given to several rows; give every row an id of its own")
        whole = all(isinstance(value, int) for value in listed)
        values = np.array(listed, dtype=np.int64) if whole else np.empty(n, dtype=object)
        if not whole:
            values[:] = listed
        return cls(values, place)

    def __len__(self) -> int:
        return len(self.values)

    def as_list(self) -> list[Any]:
        """Text and numbers."""
        return list(self.values.tolist())

    def named(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Ids in the place of positions; where these are -1 there is none, and text becomes None."""
        found = np.asarray(self.values[positions])
        found[positions < 0] = -1 if found.dtype == np.int64 else None
        return found

    def positions(self, ids: Any) -> NDArray[np.int64]:
        """Positions of some ids, each of which there must be."""
        wanted = [ids] if isinstance(ids, (str, int, np.integer)) else list(ids)
        found = [self.place.get(checked_id(value)) for value in wanted]
        if None in found:
            raise InputError(f"there is no candidate with the id {reprlib.repr(wanted[found.index(None)])}")
        return np.array(found, dtype=np.int64)

    def plus(self, ids: Any, n: int) -> RowIds:
        """With those of n more rows, none of which is there already."""
        more = RowIds.of(ids, n)
        for value in more.place:
            if value in self.place:
                raise InputError(
                    f"id {reprlib.repr(value)} is that of a candidate already; forget(ids=[...]) it first, or give "
                    "another"
                )
        return RowIds.of(self.as_list() + more.as_list(), len(self) + n)

    def without(self, gone: NDArray[np.int64]) -> RowIds:
        """Without those at some positions."""
        left = np.delete(self.values, gone)
        return RowIds.of(left, len(left))


def ids_with(known: RowIds | None, ids: Any, n: int) -> RowIds | None:
    """Ids of candidates and n more of them: all have ids, or none."""
    if (known is None) != (ids is None):
        raise InputError(
            "the candidates have no ids, so new ones cannot have any: give ids= to fit"
            if known is None
            else "the candidates have ids, so new ones need ids, too: give ids="
        )
    return None if known is None else known.plus(ids, n)


def rows_to_forget(rows: Any, ids: Any, known: RowIds | None, n: int) -> NDArray[np.int64]:
    """Positions of candidates that were given by position or by id, each once."""
    if (rows is None) == (ids is None):
        raise InputError("give either rows=, the positions of candidates, or ids=")
    if ids is not None:
        if known is None:
            raise InputError("the candidates have no ids: give ids= to fit, or rows= here")
        return np.unique(known.positions(ids))
    try:
        return np.unique(np.atleast_1d(np.arange(n)[rows]))
    except IndexError as error:
        raise InputError(f"rows={rows!r} does not fit the {n} candidates: {error}") from error
