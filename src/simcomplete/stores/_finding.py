"""Positions of a model's rows, found by its store."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.search import Neighbours
from simcomplete.errors import StoreError
from simcomplete.stores._store import VectorStore

SPARE = 16  # found beyond k, so that rounding in float32 seldom decides who is among the k
ROUNDING = 2.0**-24
SMALLEST, LARGEST = 1e-140, 1e140  # lengths between which squares are computed as they are
RowsAt = Callable[[NDArray[np.int64]], NDArray[np.float64]]


@dataclass(frozen=True)
class StoreFinder:
    """A store, and which position every id has.

    Attributes
    ----------
    store : VectorStore
        Where vectors are.
    place : dict
        Position by id.
    changing : bool
        Others change the store just now: ids that are not known are passed over. Else they are an error.
    """

    store: VectorStore
    place: dict[Any, int] = field(repr=False)
    changing: bool = False

    def __call__(self, vectors: NDArray[np.float64], count: int) -> NDArray[np.int64]:
        """Positions of the rows with the largest inner products, -1 where there is none."""
        found = np.full((len(vectors), count), -1, dtype=np.int64)
        for row, names in zip(found, self.store.search(vectors, count).ids, strict=True):
            near = self.positions(names)
            near = near[near >= 0]
            row[: len(near)] = near
        return found

    def positions(self, ids: list[Any]) -> NDArray[np.int64]:
        """Positions of ids; -1 for one that is not known, where that may be."""
        near = np.array([self.place.get(value, -1) for value in ids], dtype=np.int64)
        if not self.changing and (near < 0).any():
            unknown = ids[int(np.argmax(near < 0))]
            raise StoreError(
                f"the store has a row with the id {unknown!r}, which the model does not have; drift() lists the "
                "differences, and repair() writes the model's rows again"
            )
        return near

    def nearest(self, U: NDArray[np.float64], k: int, rows: RowsAt, balanced: bool = False) -> Neighbours:
        """The k rows with the largest products, computed again in float64: positions and products, best first.

        Parameters
        ----------
        U : array of shape (m, d)
            Vectors to search with.
        k : int
            How many, at most all rows; where fewer are found, positions are -1 and products -inf.
        rows : callable
            The model's own rows at some positions.
        balanced : bool
            Rows are stored over the roots of their lengths, and that is the order; products are without it.
        """
        n, open_rows = len(self.place), np.arange(len(U))
        want = min(n, k + SPARE)
        ids, scores = np.full((len(U), k), -1, np.int64), np.full((len(U), k), -np.inf)
        while len(open_rows):
            hits = self.store.search(U[open_rows], want)
            later = []
            for row, names, rough in zip(open_rows, *hits, strict=True):
                near = self.positions(names)
                near = near[near >= 0]
                P = rows(near)
                exact = P @ U[row]
                key = exact / np.sqrt(lengths_of(P)) if balanced else exact
                best = np.lexsort((near, -key))[:k]
                ids[row, : len(best)], scores[row, : len(best)] = near[best], exact[best]
                # As in `index.search`: rounding could have hidden a better row behind the last one found.
                slack = 1.01 * (U.shape[1] + 3) * ROUNDING * float(np.linalg.norm(U[row])) + 1e-37
                if self.store.exact and want < n and len(best) == k and key[best[-1]] <= rough[-1] + slack:
                    later.append(row)
            open_rows, want = np.array(later, dtype=np.int64), min(n, 4 * want)
        return Neighbours(ids, scores)


def lengths_of(P: NDArray[np.float64]) -> NDArray[np.float64]:
    """Lengths of rows, 1 in the place of 0; inf only where the length itself is beyond float64.

    Examples
    --------
    >>> lengths_of(np.array([[3.0, 4.0], [0.0, 0.0], [3e200, 4e200]]))
    array([5.e+000, 1.e+000, 5.e+200])
    """
    with np.errstate(over="ignore", under="ignore"):
        length = np.sqrt(np.sum(P * P, axis=1))
        for row in np.flatnonzero(~((length > SMALLEST) & (length < LARGEST))):  # whose squares leave float64
            most = float(np.abs(P[row]).max())
            length[row] = most * np.sqrt(np.sum((P[row] / most) ** 2)) if most > 0 else 0.0
    return np.where(length > 0, length, 1.0)
