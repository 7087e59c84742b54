"""What one pass over candidates gathers, block by block, in the library and on the device of the block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.moments import Matrix, Statistics
from simcomplete._posterior.shared.holdout import COPY
from simcomplete._result.search import Neighbours, best_of_both, top_k
from simcomplete._rows.xp import Array, astype, like, namespace, to_numpy
from simcomplete._similarity.gram import symmetric_product


class Moments(NamedTuple):
    """Number, sum, sum of outer products and range of rows."""

    n: float
    total: Array
    outer: Array
    low: Array
    high: Array

    @classmethod
    def of(cls, X: Array) -> Moments:
        """Of some rows."""
        xp = namespace(X)
        return cls(float(X.shape[0]), xp.sum(X, axis=0), symmetric_product(X), xp.min(X, axis=0), xp.max(X, axis=0))

    def plus(self, other: Moments | None) -> Moments:
        """Of these and other rows."""
        if other is None:
            return self
        xp = namespace(self.total)
        return Moments(
            self.n + other.n,
            self.total + other.total,
            self.outer + other.outer,
            xp.minimum(self.low, other.low),
            xp.maximum(self.high, other.high),
        )

    def without(self, some: Moments | None) -> Statistics:
        """Statistics without some of the rows."""
        whole = self.statistics
        if some is None:
            return whole
        gone = some.statistics
        return Statistics(whole.n - gone.n, whole.total - gone.total, whole.outer - gone.outer)

    @property
    def statistics(self) -> Statistics:
        """All that a Gaussian needs, in NumPy."""
        return Statistics(self.n, to_numpy(self.total), to_numpy(self.outer))

    @property
    def lowest(self) -> Matrix:
        """Smallest value of every feature."""
        return to_numpy(self.low)

    @property
    def highest(self) -> Matrix:
        """Largest value of every feature."""
        return to_numpy(self.high)


class Seen(NamedTuple):
    """Sums over rows seen so far, and the nearest of them to every probe."""

    moments: dict[str, Moments]
    copies: dict[str, Moments | None]
    best: Neighbours
    masks: Matrix


@dataclass(frozen=True)
class PassOf:
    """What the pass does with a block of candidates.

    Attributes
    ----------
    values : array of shape (m, d)
        Probes: unit rows on what is observed, 0 elsewhere; the first `real` are queries, the others simulated.
    masks, which
        Distinct masks, and which of them every probe has.
    held : array or None
        The unit rows that play queries: they and their copies are no neighbours of simulated queries.
    names : tuple of str
        Spaces whose moments are wanted.
    factor : float
        Rows are multiplied with it.
    most : int
        Neighbours to keep.
    shown : array of shape (m, d)
        1 where a probe is observed, in NumPy, to be passed on.
    """

    values: Array
    masks: Array
    which: NDArray[np.int64]
    held: Array | None
    real: int
    names: tuple[str, ...]
    factor: float
    most: int
    shown: Matrix

    def __call__(self, X: Array, start: int) -> Seen:
        """Gather from one block."""
        xp = namespace(self.values)
        Z = astype(X, xp.float64) * self.factor
        squares = Z * Z
        length = xp.sqrt(xp.sum(squares, axis=1, keepdims=True))
        unit = Z / xp.where(length > 0, length, xp.ones_like(length))
        energy = self.masks @ squares.T
        root = xp.sqrt(xp.where(energy > 0, energy, xp.ones_like(energy)))
        shared = len(self.which) > int(root.shape[0])  # masks that repeat
        cosine = self.values @ Z.T / (xp.take(root, like(self.which, Z), axis=0) if shared else root)
        same = np.zeros(0, np.int64)
        if self.held is not None:
            alike = xp.any(self.held @ unit.T > COPY, axis=0)
            same = np.flatnonzero(to_numpy(alike))
        if len(same):
            simulated = like(np.arange(len(self.which)) >= self.real, Z)
            cosine = xp.where(simulated[:, None] & alike[None, :], xp.full_like(cosine, -np.inf), cosine)
        ids, scores = top_k(cosine, min(self.most, int(X.shape[0])))
        forms = {"raw": Z, "unit": unit}
        copies: dict[str, Moments | None] = dict.fromkeys(self.names)
        if len(same):
            gone = like(same, Z)
            copies = {name: Moments.of(xp.take(forms[name], gone, axis=0)) for name in self.names}
        return Seen(
            {name: Moments.of(forms[name]) for name in self.names},
            copies,
            Neighbours(ids + start, scores),
            self.shown,
        )

    def merge(self, a: Seen, b: Seen) -> Seen:
        """Put two gatherings together; `a` has the lower rows."""
        copies = {
            name: b.copies[name] if mine is None else mine.plus(b.copies[name]) for name, mine in a.copies.items()
        }
        moments = {name: mine.plus(b.moments[name]) for name, mine in a.moments.items()}
        return Seen(moments, copies, best_of_both(a.best, b.best, self.most), self.shown)
