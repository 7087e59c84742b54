"""Self-supervised choice: candidates play queries, and what finds their known similarities best is chosen.

No ground truth about the real queries is needed. Candidates that play queries, and their copies, are taken out of the
statistics and of the neighbours, or they would find themselves.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import Fills, Queries, Space, unit_rows
from simcomplete._posterior.candidates.local import smooth
from simcomplete._posterior.candidates.moments import Matrix
from simcomplete._posterior.shared.lengths import best_lengths
from simcomplete._posterior.shared.neighbours import MOST, nearest

DELTAS = (0.0005, 0.005, 0.03, 0.1, 0.3, 0.6)
FIRST = 64  # simulated queries that choose delta
OTHERS = 500  # rows they are compared with
COPY = 1 - 1e-6  # cosine above which two rows are the same
QUANTILES = np.linspace(0.0, 1.0, 1001)


@dataclass(frozen=True)
class Rehearsal:
    """Simulated queries: their spaces without them, what is seen of them, and their true similarities."""

    spaces: dict[str, Space]
    unit: Matrix
    queries: Queries
    others: Matrix
    truth: Matrix


def rehearse(
    P: Matrix,
    spaces: dict[str, Space],
    masks: NDArray[np.bool_],
    count: int,
    rng: np.random.Generator,
    most: int = MOST,
) -> Rehearsal:
    """Hold out candidates, hide what real queries lack, and keep what should be found again.

    Parameters
    ----------
    P : array of shape (n, d)
        Candidates.
    spaces : dict of Space
        The same candidates in their spaces.
    masks : array of bool, shape (n_q, d)
        What real queries show (True).
    count : int
        How many candidates play queries.
    rng : Generator
        Chooses them, their masks and the rows they are compared with.
    most : int
        Neighbours to keep.
    """
    unit = unit_rows(P)
    # From the sorted distinct rows, so that the order of the candidates does not matter.
    _, distinct, place = np.unique(unit, axis=0, return_index=True, return_inverse=True)
    held = distinct[rng.choice(len(distinct), min(count, len(distinct)), replace=False)]
    same = np.asarray((unit @ unit[held].T > COPY).any(axis=1))
    if same.sum() > len(P) / 2:
        same[:] = False
    same[held] = True
    rest, gone = np.flatnonzero(~same), np.flatnonzero(same)
    ordered = rest[np.argsort(place.ravel()[rest], kind="stable")]
    shown = masks[rng.integers(len(masks), size=len(held))]
    values = np.where(shown, P[held], 0.0)
    others = unit[ordered[rng.choice(len(rest), min(OTHERS, len(rest)), replace=False)]]
    return Rehearsal(
        {name: space.without(rest, gone) for name, space in spaces.items()},
        unit[rest],
        Queries(values, shown, nearest(unit[rest], values, shown, most)),
        others,
        unit[held] @ others.T,
    )


def choose_delta(rehearsal: Rehearsal, space: Space) -> float:
    """Pick the shrinkage that leaves the least error on some simulated queries, with or without neighbours."""
    queries = rehearsal.queries.some(slice(0, FIRST), MOST)
    T = rehearsal.truth[:FIRST]
    errors = []
    for delta in DELTAS:
        fills = Fills(space, queries, delta)
        fills.add({"k10": smooth(queries.near, 10.0, len(space.rows))})
        for a in (0.0, 1.0):
            S = unit_rows(fills.completion("k10", a)) @ rehearsal.others.T
            errors.append((float(np.sum((T - best_lengths(S, T)[:, None] * S) ** 2)), delta))
    return min(errors)[1]


def ratios(truth: Matrix, estimate: Matrix, length: Matrix) -> Matrix:
    """Quantiles of |error| / sqrt(1 - length^2) over simulated pairs, for error bars."""
    spread = np.sqrt(np.maximum(1 - length**2, 1e-4))[:, None]
    return np.quantile(np.abs(truth - estimate) / spread, QUANTILES)
