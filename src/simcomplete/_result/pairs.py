"""Pairs of rows with their estimates, and the error quantiles that apply to each pair."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import FINE, TIED, RankedErrors, required
from simcomplete._result.matrix import SymmetricMatrix, take
from simcomplete._result.rows import positions_of
from simcomplete._result.search import nearest
from simcomplete._result.unobserved import WIDEST, open_pairs
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.xp import to_numpy

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

RANKED_WHOLE = 20_000  # up to so many candidates every rank is computed; of more, the first ones and a sample
FIRST = 64  # ranks that are computed exactly even then
SAMPLED = 4_000
LEVELS_KEPT = 201  # levels at which a distribution is tabulated
OPEN = FINE + 1  # quantiles of pairs with a row about which nothing is known: -1 and 1


class Pairs(NamedTuple):
    """Pairs of a block: estimates, spreads, and the row of the error table that applies to each."""

    estimate: NDArray[Any]
    spread: NDArray[np.float64]
    kind: NDArray[np.int64]

    def some(self, which: NDArray[Any]) -> Pairs:
        """Some of them, in one dimension where `which` is a mask of several."""
        return Pairs(self.estimate[which], self.spread[which], self.kind[which])


def sampled(n: int) -> NDArray[np.int64]:
    """Return positions of all candidates, or of an evenly spaced sample."""
    return np.arange(n) if n <= SAMPLED else np.linspace(0, n - 1, SAMPLED).astype(np.int64)


def share_beyond(pairs: Pairs, t: float, z: NDArray[np.float64], levels: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return 1 - F((t - estimate) / spread), with F of each pair's table row; 0 or 1 for exact pairs."""
    known = pairs.spread == 0
    scaled = (t - pairs.estimate) / np.where(known, 1.0, pairs.spread)
    out = np.where(pairs.estimate > t, 1.0, 0.0)
    for kind in np.unique(pairs.kind):
        mine = (pairs.kind == kind) & ~known
        out[mine] = 0.5 * (t < 1) + 0.5 * (t < -1) if kind == OPEN else 1 - np.interp(scaled[mine], z[kind], levels)
    return out


def pair_blocks(done: Completion, rows: Any, cols: Any, levels: NDArray[np.float64]) -> Iterator[tuple[Pairs, Any]]:
    """Yield pairs block by block, with the error quantiles of each kind of pair at some levels."""
    model = required(done.interval_model, done.method)
    rows, cols = positions_of(rows), positions_of(cols)
    first = done.n - done.n_queries
    every = np.arange(done.n)
    complete = every[: done.n_candidates] if first else every[model.exact(every)]
    z = np.vstack([model.table(levels, max(len(complete), 1)), WIDEST * np.sign(2 * levels - 1)])
    ranked = model.ranked is not None and len(complete) > 0
    row_exact, col_exact = model.exact(rows, first), model.exact(cols, first)
    columns = edge_estimates(done, cols[~col_exact], complete) if ranked and row_exact.any() else None
    for part in row_blocks(max(len(rows), 1), 8 * model.numbers_per_pair * max(len(cols), 1)):
        some, exact = rows[part], row_exact[part]
        estimate = to_numpy(done.matrix.block(some, cols))
        kind = np.full(estimate.shape, FINE)
        if ranked and not exact.any() and np.array_equal(cols, complete) and len(cols) <= RANKED_WHOLE:
            kind = places_among(estimate, -np.sort(-estimate, axis=1)[:, RankedErrors.edges(len(cols)) - 1])
        elif ranked and not exact.all():
            edges = edge_estimates(done, some[~exact], complete)
            found = places_among(estimate[~exact][:, col_exact], edges)
            kind[np.ix_(~exact, col_exact)] = found
        if columns is not None and exact.any():
            kind[np.ix_(exact, ~col_exact)] = places_among(estimate[exact][:, ~col_exact].T, columns).T
        spread = model.spread_of(some, cols, first)
        if done.unobserved is not None:
            anything = open_pairs(some, cols, done.unobserved)
            kind[anything], spread[anything] = OPEN, 1.0
        yield Pairs(estimate, spread, kind), z


def places_among(S: NDArray[Any], edges: NDArray[Any]) -> NDArray[np.int64]:
    """Return which of the `FINE` ranks estimates have, by the estimates of their row at the edges between ranks."""
    S, rising = S.round(TIED), -edges.round(TIED)
    if not S.size:
        return np.zeros(S.shape, dtype=np.int64)
    return np.stack([np.searchsorted(rising[row], -S[row], side="left") for row in range(len(S))]).reshape(S.shape)


def edge_estimates(done: Completion, rows: NDArray[np.int64], complete: NDArray[np.int64]) -> NDArray[Any]:
    """Return the estimates of each row at the edges between `FINE` ranks, descending."""
    n = len(complete)
    wanted = RankedErrors.edges(n) - 1
    if not len(rows):
        return np.zeros((0, len(wanted)))
    if n <= RANKED_WHOLE:
        parts = row_blocks(len(rows), 8 * 3 * n)
        sorted_rows = (np.sort(-to_numpy(done.matrix.block(rows[part], complete)), axis=1) for part in parts)
        return -np.concatenate([falling[:, wanted] for falling in sorted_rows])
    best = nearest(done.matrix, rows, slice(0, done.n_candidates), FIRST, exclude_self=False).scores
    sample = complete[np.linspace(0, n - 1, SAMPLED).astype(np.int64)]
    rest = -np.sort(-to_numpy(done.matrix.block(rows, sample)), axis=1)
    place = np.minimum(wanted * SAMPLED // n, SAMPLED - 1)
    return np.where(wanted < FIRST, best[:, np.minimum(wanted, FIRST - 1)], np.minimum(rest[:, place], best[:, -1:]))


def joint_levels(S: SymmetricMatrix, errors: RankedErrors, cols: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return, for each column and simulated query, the level of its error among those of all simulated queries."""
    R = to_numpy(take(S.factor, cols)) @ errors.residuals.T
    order = np.argsort(np.argsort(R, axis=1, kind="stable"), axis=1, kind="stable")
    return np.asarray((order + 0.5) / R.shape[1])
