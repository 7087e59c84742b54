"""Candidates whose neighbours come from an index: it finds some that may be near, and these are compared exactly."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.source import Candidates
from simcomplete._posterior.shared.neighbours import Nearest
from simcomplete._posterior.shared.rows import RESOLUTION, unit_rows
from simcomplete._types import Mask, Matrix

# Candidates that the index finds for a query; of these the nearest by overlap cosine are taken. The fewer features are
# observed, the more the lengths of candidates on them differ, and the further down the nearest may be.
LOOKED_AT = (200, 800)
MANY_OBSERVED = 64  # features from which the smaller number is enough
Finder = Callable[[Matrix, int], NDArray[np.int64]]  # vectors and a number to positions, -1 where there is none


@dataclass(frozen=True)
class FoundCandidates(Candidates):
    """Candidates of which an index by inner product knows the unit rows.

    The neighbours of an incomplete row have the largest overlap cosines q_o . p_o / |p_o|. The index is asked with what
    is observed and 0 elsewhere, whose products q_o . p_o are the same but for the length of p_o; of the first
    few hundred the overlap cosines decide. Neighbours beyond them are missed.

    Attributes
    ----------
    find : callable
        Positions with the largest inner products.
    """

    find: Finder | None = None

    @classmethod
    def of(cls, candidates: Candidates, find: Finder) -> FoundCandidates:
        """Candidates with an index over their unit rows."""
        c = candidates
        return cls(c.table, c.scale, c.kept, c.zero, c.progress, find)

    def nearest(self, values: Matrix, observed: Mask, most: int, excluded: NDArray[np.int64]) -> Nearest:
        """The nearest candidates of incomplete rows by overlap cosine, among those that the index finds."""
        if self.find is None or len(excluded):
            return super().nearest(values, observed, most, excluded)
        most = max(1, min(most, self.n - 1))
        unit = unit_rows(values)
        counts = looked_at(observed, most)
        found = self.find(unit, min(self.n, int(counts.max(initial=1))))
        found = np.where(np.arange(found.shape[1]) < counts[:, None], found, -1)  # each row as if it were alone
        short = np.sum(found >= 0, axis=1) < most  # the index ended early
        near = Nearest(np.empty((len(unit), most), np.int64), np.empty((len(unit), most)), np.empty((len(unit), most)))
        if short.any():
            exact = super().nearest(values[short], observed[short], most, excluded)
            for part, own in zip(near, exact, strict=True):
                part[short] = own
        left = np.flatnonzero(~short)
        if len(left):
            ids, place = np.unique(found[left].clip(0), return_inverse=True)
            rows = self.rows(ids, ("unit",))["unit"]
            for row, places in zip(left, place.reshape(len(left), -1), strict=True):
                mine = np.sort(places[found[row] >= 0])
                seen = np.flatnonzero(observed[row])
                P = rows[np.ix_(mine, seen)]
                energy = np.einsum("kd,kd->k", P, P)
                root = np.sqrt(np.where(energy > 0, energy, np.inf))
                steps = np.rint(P @ unit[row, seen] / root * RESOLUTION)
                order = np.argsort(-steps, kind="stable")[:most]  # ties by lower position
                near.ids[row] = ids[mine[order]]
                near.cosines[row] = steps[order] / RESOLUTION
                near.energies[row] = energy[order]
        return near


def looked_at(observed: Mask, most: int) -> NDArray[np.int64]:
    """How many candidates the index is to find for every row.

    Examples
    --------
    >>> looked_at(np.array([[True] * 80, [True] * 20 + [False] * 60, [False] * 80]), 48)
    array([200, 640, 800])
    """
    low, high = LOOKED_AT
    wanted = low * MANY_OBSERVED / np.maximum(observed.sum(axis=1), 1)
    return np.asarray(np.maximum(np.clip(wanted, low, high), 2 * most), dtype=np.int64)
