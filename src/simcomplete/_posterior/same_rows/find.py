"""Pairs of the same rows in one incomplete table, block by block."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.same_rows.evidence import RowPair, pairs_at
from simcomplete._posterior.same_rows.learning import SameModel, learn_same
from simcomplete._posterior.same_rows.near_pairs import Partners, ScaledTable
from simcomplete._posterior.shared.rows import as_bytes
from simcomplete._rows.budget import require, row_blocks
from simcomplete._types import Matrix

FARTHEST = 0.5  # mean squared difference, in variances, from which rows are not compared further


class SamePairs(NamedTuple):
    """Pairs of rows, P(exact), P(near) and P(rough) of each, features in common, and root mean squared differences."""

    rows: NDArray[np.int64]
    probabilities: Matrix
    common: NDArray[np.int64]
    distances: Matrix


def same_pairs(
    X: Matrix, above: float, prior: float | None, least: int, rng: np.random.Generator, progress: bool | None
) -> SamePairs:
    """Find pairs that are the same with at least a probability, likeliest first.

    Rows that have the same values and the same gaps are compared with others once, and each is paired with the first.
    """
    require(
        8 * X.shape[1] * len(X) * 9, f"comparing {len(X)} rows of {X.shape[1]} features", "give fewer rows or features"
    )
    first, which = _distinct(X)
    table = ScaledTable.of(X[first])
    partners = table.partners(least, progress)
    counts = np.bincount(which, minlength=len(first))
    model = learn_same(table, partners, float(np.mean(counts[which] > 1)), rng)
    parts = [_distinct_pairs(model, partners, above, prior, first)]
    many = np.flatnonzero((counts > 1) & (table.observed.sum(axis=1) >= least))
    if len(many):
        parts.append(_repeated_pairs(model, partners, above, prior, many, first, which))
    rows, p, common, apart = (np.concatenate(each) for each in zip(*parts, strict=True))
    order = np.lexsort((rows[:, 1], rows[:, 0], -p.sum(axis=1)))
    return SamePairs(rows[order], p[order], common[order], apart[order])


def _distinct(X: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row comes first, in the order of the rows, and which of them every row is."""
    if not X.size:
        return np.arange(len(X)), np.arange(len(X))
    plain = np.where(np.isnan(X), np.nan, X + 0.0)  # one NaN, one zero
    _, first, which = np.unique(as_bytes(plain), return_index=True, return_inverse=True)
    order = np.argsort(first)
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    return first[order].astype(np.int64), place[which.ravel()]


def _distinct_pairs(
    model: SameModel, partners: Partners, above: float, prior: float | None, first: NDArray[np.int64]
) -> SamePairs:
    """Pairs of different rows that find each other: from either side they are the same at least so likely."""
    table, found = model.table, {}
    active = np.arange(table.n)
    for place in range(partners.ids.shape[1]):
        active = active[partners.distances[active, place] <= FARTHEST]
        if not len(active):
            break
        good = np.zeros(len(active), dtype=bool)
        for part in row_blocks(len(active), 8 * 16 * table.values.shape[1]):
            rows = active[part]
            pair = pairs_at(table, rows, partners.some(rows), place)
            p = model.probabilities(pair, prior)
            good[part] = p.sum(axis=1) >= above
            for line in np.flatnonzero(good[part]):
                key = int(rows[line]), int(partners.ids[rows[line], place])
                found[key] = p[line], int(pair.common[line]), float(np.sqrt(pair.distance[line]))
        active = active[good]  # only after a copy there may be another
    both = sorted(key for key in found if key[0] < key[1] and key[::-1] in found)
    facts = [min((found[key], found[key[::-1]]), key=lambda one: one[0].sum()) for key in both]
    rows = np.sort(first[np.array(both, dtype=np.int64).reshape(-1, 2)], axis=1)
    return SamePairs(
        rows,
        np.array([p for p, _, _ in facts]).reshape(-1, 3),
        np.array([common for _, common, _ in facts], dtype=np.int64),
        np.array([apart for _, _, apart in facts], dtype=np.float64),
    )


def _repeated_pairs(
    model: SameModel,
    partners: Partners,
    above: float,
    prior: float | None,
    many: NDArray[np.int64],
    first: NDArray[np.int64],
    which: NDArray[np.int64],
) -> SamePairs:
    """Rows with the same values and the same gaps, each with the first of them."""
    table = model.table
    p = np.zeros((table.n, 3))
    for part in row_blocks(len(many), 8 * 16 * table.values.shape[1]):
        rows = many[part]
        mine = table.values[rows], table.observed[rows]
        pair = RowPair.of(*mine, *mine, partners.some(rows))
        learnt, by_chance = model.probabilities(pair, prior), model.of_equal(pair, prior)
        p[rows] = np.where(learnt.sum(axis=1, keepdims=True) < by_chance[:, :1], by_chance, learnt)
    later = np.flatnonzero((first[which] != np.arange(len(which))) & (p[which].sum(axis=1) >= above))
    of = which[later]
    common = table.observed[of].sum(axis=1)
    return SamePairs(np.column_stack([first[of], later]), p[of], common, np.zeros(len(later)))
