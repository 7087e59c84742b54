"""Vectors in a collection of Qdrant: a server, a folder, or memory."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID, uuid5

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import StoreError, optional
from simcomplete.stores._store import VectorStore

NAMES = UUID("5f0c8d3e-8a43-5d4b-9d0e-0d1a35d7b7a4")  # points are known by the UUID that an id has here
PAGE = 1000  # points in one request


class QdrantStore(VectorStore):
    """Vectors in float32 in a collection of Qdrant, compared by dot product.

    A point's payload has `id` (as JSON: ``7`` or ``"a"``) and `payload`. With many points a server searches along its
    graph of neighbours and may miss some; ``exact=True`` compares with every one.

    Parameters
    ----------
    location : str
        "http://host:6333" of a server, ":memory:", or a folder for Qdrant's local mode.
    collection : str
        Name of the collection, made by the first `put`.
    exact : bool
        Compare with every point.
    **settings
        Given to `QdrantClient`, such as `api_key`.

    Examples
    --------
    >>> store = QdrantStore(":memory:")  # doctest: +SKIP
    >>> store.put(["a"], [[1.0, 0.0]], payloads=[{"name": "Anna"}])  # doctest: +SKIP
    """

    _failures = (OSError, RuntimeError, sqlite3.Error)  # of local mode

    def __init__(
        self, location: str = ":memory:", collection: str = "simcomplete", *, exact: bool = True, **settings: Any
    ) -> None:
        client = optional("qdrant_client", extra="qdrant", purpose="a store in Qdrant")
        self._models, self.collection, self.exact = client.models, collection, exact
        self.remote = location.startswith(("http://", "https://"))
        place = {"location": location} if self.remote or location == ":memory:" else {"path": location}
        with _asked():
            self.client = client.QdrantClient(**place, **settings)
        self._width: int | None = None

    @property
    def width(self) -> int | None:
        """Entries of a vector."""
        if self._width is None:
            with _asked():
                if self.client.collection_exists(self.collection):
                    vectors = self.client.get_collection(self.collection).config.params.vectors
                    if vectors.distance != self._models.Distance.DOT:
                        raise StoreError(
                            f"collection {self.collection!r} compares by {vectors.distance.value}, not by dot product; "
                            "choose another name"
                        )
                    self._width = int(vectors.size)
        return self._width

    def _put(self, keys: list[str], V: NDArray[np.float64], payloads: list[str | None]) -> None:
        models = self._models
        points = [
            models.PointStruct(id=_point(key), vector=row, payload={"id": key, "payload": _parsed(text)})
            for key, row, text in zip(keys, V.astype(np.float32).tolist(), payloads, strict=True)
        ]
        with _asked():
            if self.width is None:
                size = models.VectorParams(size=V.shape[1], distance=models.Distance.DOT)
                self.client.create_collection(self.collection, vectors_config=size)
            self.client.upsert(self.collection, points=points, wait=True)
        self._width = V.shape[1]

    def _delete(self, keys: list[str]) -> int:
        points = [_point(key) for key in keys]
        with _asked():
            there = self.client.retrieve(self.collection, points, with_payload=False)
            if there:  # local mode of old versions knows no others
                selector = self._models.PointIdsList(points=[point.id for point in there])
                self.client.delete(self.collection, points_selector=selector, wait=True)
        return len(there)

    def _search(self, Q: NDArray[np.float64], k: int) -> list[list[tuple[str, float]]]:
        models = self._models
        # Local mode compares with all points, and warns when it is told so.
        params = models.SearchParams(exact=self.exact) if self.remote else None
        asked = [
            models.QueryRequest(query=row, limit=k, params=params, with_payload=["id"])
            for row in Q.astype(np.float32).tolist()
        ]
        with _asked():
            found = self.client.query_batch_points(self.collection, requests=asked)
        rows = [[(str(point.payload["id"]), float(point.score)) for point in each.points] for each in found]
        return [sorted(row, key=lambda hit: (-hit[1], hit[0])) for row in rows]

    def _get(self, keys: list[str]) -> dict[str, tuple[NDArray[Any], str | None]]:
        with _asked():
            found = self.client.retrieve(
                self.collection, [_point(key) for key in keys], with_payload=True, with_vectors=True
            )
        return {
            str(point.payload["id"]): (np.asarray(point.vector, dtype=np.float32), _text(point.payload["payload"]))
            for point in found
        }

    def _count(self) -> int:
        with _asked():
            return int(self.client.count(self.collection, exact=True).count)

    def _keys(self) -> Iterable[str]:
        keys, after = [], None
        while True:
            with _asked():
                points, after = self.client.scroll(self.collection, limit=PAGE, offset=after, with_payload=["id"])
            keys += [str(point.payload["id"]) for point in points]
            if after is None:
                return keys

    def close(self) -> None:
        """Close the client."""
        self.client.close()


@contextlib.contextmanager
def _asked() -> Iterator[None]:
    """What goes wrong in Qdrant's client, as an error of ours."""
    from qdrant_client.http.exceptions import ApiException

    try:
        yield
    except (ApiException, ConnectionError) as error:
        raise StoreError(f"Qdrant cannot be reached: {' '.join(str(error).split())[:300]}") from error


def _point(key: str) -> str:
    return str(uuid5(NAMES, key))


def _parsed(text: str | None) -> Any:
    return None if text is None else json.loads(text)


def _text(payload: Any) -> str | None:
    return None if payload is None else json.dumps(payload)
