"""What every vector store can do; adapters say how."""

from __future__ import annotations

import contextlib
import reprlib
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.search import check_k
from simcomplete._rows.ids import RowId, checked_id, id_key, id_of_key
from simcomplete._rows.payloads import payload_text, read_payload
from simcomplete._rows.validate import as_array
from simcomplete.errors import InputError, SimcompleteError, StoreError

LARGEST = float(np.finfo(np.float32).max)  # that every engine can hold


class Hits(NamedTuple):
    """Results of a search for every query, best first: ids, and inner products as computed by the engine."""

    ids: list[list[RowId]]
    scores: list[list[float]]


class Records(NamedTuple):
    """Rows as a store holds them: vectors in float64, and payloads."""

    vectors: NDArray[np.float64]
    payloads: list[Any]


class VectorStore(ABC):
    """Interface of a vector store: vectors by id, searched by inner product, each with a payload (any JSON value).

    Ids are text or whole numbers, and 7 is another id than "7". `put` replaces what has the same id. A call changes all
    rows that it names, or none. Subclasses are the adapters; a new one implements the methods that begin with an
    underscore.

    Attributes
    ----------
    exact : bool
        Whether a search compares with every row.
    """

    exact: bool = True
    _failures: ClassVar[tuple[type[Exception], ...]] = ()  # of the engine, such as a full disk: they become StoreErrors

    def put(self, ids: Iterable[Any], vectors: Any, payloads: Sequence[Any] | None = None) -> None:
        """Add rows, or replace those that have the same ids.

        Parameters
        ----------
        ids : iterable of str or int
            Each once.
        vectors : array of shape (n, width)
            Without missing values; the first vectors determine the width.
        payloads : sequence, optional
            A payload for each row, such as a dict; None for none.
        """
        with self._engine():
            keys, V, texts = self._checked(ids, vectors, payloads)
            if keys:
                self._put(keys, V, texts)

    def _checked(
        self, ids: Iterable[Any], vectors: Any, payloads: Sequence[Any] | None
    ) -> tuple[list[str], NDArray[np.float64], list[str | None]]:
        """What `put` writes, or the error that it raises."""
        keys = _keys(ids)
        V = _vectors(vectors, "vectors")
        payload_list = [None] * len(keys) if payloads is None else list(payloads)
        if not len(keys) == len(V) == len(payload_list):
            raise InputError(
                f"{len(keys)} ids, {len(V)} vectors and {len(payload_list)} payloads: give one of each for a row"
            )
        texts = [payload_text(payload) for payload in payload_list]
        [(most, times)] = Counter(keys).most_common(1) or [("", 1)]
        if times > 1:
            raise InputError(f"id {reprlib.repr(most)} is given to {times} rows; give every row an id of its own")
        if keys:
            self._check_width(V)
        return keys, V, texts

    def delete(self, ids: Iterable[Any]) -> int:
        """Remove rows; ids that do not exist are ignored.

        Returns
        -------
        int
            How many were there.
        """
        keys = list(dict.fromkeys(_keys(ids)))
        with self._engine():
            return self._delete(keys) if keys and self.width is not None else 0

    def search(self, vectors: Any, k: int) -> Hits:
        """Find the rows with the largest inner products.

        Parameters
        ----------
        vectors : array of shape (m, width)
            Complete vectors, such as `PosteriorCompleter.transform` makes of rows with missing values.
        k : int
            How many; all, if there are fewer.

        Returns
        -------
        Hits
            `ids` and `scores` for every query, best first. Scores have the precision of the engine.
        """
        k, Q = check_k(k), _vectors(vectors, "queries")
        with self._engine():
            if self.width is None or not len(Q):
                return Hits([[] for _ in Q], [[] for _ in Q])
            self._check_width(Q)
            found = self._search(Q, k)
        return Hits(
            [[id_of_key(key) for key, _ in row] for row in found], [[score for _, score in row] for row in found]
        )

    def get(self, ids: Iterable[Any]) -> Records:
        """Read rows back, in the order asked for.

        Raises
        ------
        InputError
            Where an id is not there.
        """
        keys = _keys(ids)
        with self._engine():
            if not keys:
                return Records(np.zeros((0, self.width or 0)), [])
            found = self._get(list(dict.fromkeys(keys))) if self.width is not None else {}
        for key in keys:
            if key not in found:
                raise InputError(f"there is no row with the id {reprlib.repr(id_of_key(key))} in the store")
        vectors = np.stack([found[key][0] for key in keys]).astype(np.float64)
        texts = [found[key][1] for key in keys]
        return Records(vectors, [read_payload(text) for text in texts])

    def count(self) -> int:
        """How many rows there are."""
        with self._engine():
            return self._count() if self.width is not None else 0

    def ids(self) -> Iterator[RowId]:
        """All ids, in no particular order."""
        with self._engine():
            return map(id_of_key, self._keys()) if self.width is not None else iter(())

    def close(self) -> None:  # noqa: B027, because many have nothing to close
        """Close connections and files."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    @abstractmethod
    def width(self) -> int | None:
        """Entries of a vector; None before the first were put."""

    @abstractmethod
    def _put(self, keys: list[str], V: NDArray[np.float64], payloads: list[str | None]) -> None: ...

    @abstractmethod
    def _delete(self, keys: list[str]) -> int: ...

    @abstractmethod
    def _search(self, Q: NDArray[np.float64], k: int) -> list[list[tuple[str, float]]]: ...

    @abstractmethod
    def _get(self, keys: list[str]) -> dict[str, tuple[NDArray[Any], str | None]]: ...

    @abstractmethod
    def _count(self) -> int: ...

    @abstractmethod
    def _keys(self) -> Iterable[str]: ...

    @contextlib.contextmanager
    def _engine(self) -> Iterator[None]:
        """What goes wrong in the engine, as an error of ours."""
        try:
            yield
        except SimcompleteError:
            raise
        except self._failures as error:
            raise StoreError(f"{type(self).__name__} cannot be used: {' '.join(str(error).split())[:300]}") from error

    def _check_width(self, V: NDArray[Any]) -> None:
        if self.width is not None and V.shape[1] != self.width:
            raise InputError(f"vectors have {V.shape[1]} entries and those of the store {self.width}")


def _keys(ids: Iterable[Any]) -> list[str]:
    if isinstance(ids, (str, int, np.integer)):
        raise InputError(f"ids={ids!r} is a single id; give a list of them")
    return [id_key(checked_id(value)) for value in ids]


def _vectors(given: Any, name: str) -> NDArray[np.float64]:
    if hasattr(given, "__len__") and len(given) == 0:
        return np.zeros((0, 0))
    V = np.asarray(as_array(given, name), dtype=np.float64)
    missing = int(np.isnan(V).any(axis=1).sum())
    if missing:
        raise InputError(
            f"{missing} of {len(V)} {name} have missing values, which no store can compare; make complete vectors of "
            "them first, with PosteriorCompleter().fit(rows).transform(rows), or use model.attach(store)"
        )
    if len(V) and float(np.abs(V).max()) > LARGEST:
        raise InputError(f"{name} hold values beyond float32 (3e38), in which engines compute; scale them")
    return V
