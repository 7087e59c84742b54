"""Simulated queries: candidates that lose what real queries lack, so that it is known what should be found.

They, and the rows they are compared with, come from a pool of rows: all candidates where there are few, else some of
them, drawn at random.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import ConditionalMeans, Queries
from simcomplete._posterior.candidates.local import smoothing_weights
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.model import typical_length
from simcomplete._posterior.shared.holdout import COPY, first_best
from simcomplete._posterior.shared.lengths import best_lengths
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS
from simcomplete._posterior.shared.rows import Mask, Matrix, scaled_rows, sorted_distinct, take_matrix, unit_rows
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.table import RowTable

POOL_VALUES = 2**22  # all candidates are in the pool up to so many values
POOL_ROWS = 2000  # rows of a pool at least
MAX_DRAWN_ROWS = 4000  # rows of a pool that is a part of the candidates, at most
DELTAS = (0.1, 0.03, 0.3, 0.005, 0.6, 0.0005)  # where several do equally well, the first is taken
DELTA_QUERIES = 64  # simulated queries that choose delta
OTHERS = 500  # rows that simulated queries are compared with


@dataclass(frozen=True)
class Pool:
    """Candidates for all that is done with rows at random.

    Attributes
    ----------
    positions : array of int
        Where they are among the candidates.
    raw, unit : array of shape (m, d)
        The rows, divided by `scale` and by their own length.
    scale : float
        The typical length of a candidate.
    whole : bool
        Whether these are all candidates.
    """

    positions: NDArray[np.int64]
    raw: Matrix
    unit: Matrix
    scale: float
    whole: bool

    @classmethod
    def draw(cls, table: RowTable, rng: np.random.Generator) -> Pool:
        """Take all candidates, or as many as the pool holds."""
        n, size = table.n, pool_size(table.n, table.d)
        whole = size == n
        positions = np.arange(n) if whole else np.sort(rng.choice(n, size, replace=False))
        rows = take_matrix(table, positions)
        scale = typical_length(rows)
        return cls(positions, *scaled_rows(rows, scale), scale, whole)

    def rows(self, space: str) -> Matrix:
        """The rows in one space."""
        return self.raw if space == "raw" else self.unit


def pool_size(n: int, d: int) -> int:
    """How many of n rows of d values the pool holds: all, or some thousand, which little memory is enough for."""
    size = max(POOL_ROWS, POOL_VALUES // d)
    return n if n <= size else min(size, MAX_DRAWN_ROWS)


@dataclass(frozen=True)
class SimulatedQueries:
    """Held-out candidates with values hidden, and the similarities that should be found.

    Attributes
    ----------
    values, observed : array of shape (rows, d)
        Values with 0 where they are hidden, and the mask.
    others : array of shape (m, d)
        Unit rows of other candidates.
    truth : array of shape (rows, m)
        Similarities with them.
    gone : array of bool
        Rows of the pool that are held out, or copies of such.
    excluded : array of int
        Positions of candidates that are held out, or known to be copies of such.
    copies_of : array of shape (rows, d) or None
        Unit rows whose copies among all candidates are still to be found and excluded.
    """

    values: Matrix
    observed: Mask
    others: Matrix
    truth: Matrix
    gone: Mask
    excluded: NDArray[np.int64]
    copies_of: Matrix | None

    @classmethod
    def draw(cls, pool: Pool, masks: Mask, count: int, rng: np.random.Generator) -> SimulatedQueries:
        """Hold out candidates and hide what real queries lack.

        Parameters
        ----------
        pool : Pool
            Rows to choose from.
        masks : array of bool, shape (n_q, d)
            What real queries show (True).
        count : int
            How many candidates to hold out.
        rng : Generator
            Chooses them, their masks and the rows they are compared with.
        """
        unit = pool.unit
        # From the sorted distinct rows, so that the order of the candidates does not matter.
        distinct, place = sorted_distinct(unit)
        held = distinct[rng.choice(len(distinct), min(count, len(distinct)), replace=False)]
        gone = _copies(unit, unit[held])
        few = bool(gone.sum() > len(unit) / 2)  # without all copies too few candidates would be left
        if few:
            gone[:] = False
        gone[held] = True
        rest = np.flatnonzero(~gone)
        ordered = rest[np.argsort(place[rest], kind="stable")]
        shown = masks[rng.integers(len(masks), size=len(held))]
        others = unit[ordered[rng.choice(len(rest), min(OTHERS, len(rest)), replace=False)]]
        return cls(
            np.where(shown, pool.raw[held], 0.0),
            shown,
            others,
            unit[held] @ others.T,
            gone,
            np.sort(pool.positions[gone]),
            None if pool.whole or few else unit[held],
        )


def _copies(unit: Matrix, held: Matrix) -> Mask:
    """Which unit rows have nearly the same direction as one of the held-out rows."""
    blocks = row_blocks(len(unit), 8 * 2 * max(len(held), 1))
    return np.concatenate([(unit[block] @ held.T > COPY).any(axis=1) for block in blocks])


@dataclass(frozen=True)
class Holdout:
    """Simulated queries among the other candidates, and their true similarities.

    Attributes
    ----------
    spaces : dict of str to Space
        The candidates without the held-out ones and their copies.
    queries : Queries
        What is seen of the held-out candidates.
    others, truth : array
        Unit rows of other candidates, and the true similarities with them.
    """

    spaces: dict[str, Space]
    queries: Queries
    others: Matrix
    truth: Matrix


def choose_delta(holdout: Holdout, space: Space) -> float:
    """Pick the shrinkage that leaves the least error on some simulated queries, with or without neighbours."""
    queries = holdout.queries.some(slice(0, DELTA_QUERIES), MAX_NEIGHBOURS)
    T = holdout.truth[:DELTA_QUERIES]
    weights = {"k10": smoothing_weights(queries.neighbours, 10.0)}
    errors: list[float] = []
    for delta in DELTAS:
        means = ConditionalMeans(space, queries, delta)
        means.add(queries.neighbours, weights)
        for a in (0.0, 1.0):
            S = unit_rows(means.completion("k10", a)) @ holdout.others.T
            errors.append(float(np.mean((T - best_lengths(S, T)[:, None] * S) ** 2)))
    return DELTAS[first_best(errors) // 2]
