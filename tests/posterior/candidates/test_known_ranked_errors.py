"""Errors by predicted rank, in plain loops."""

import copy
import pickle

import numpy as np
import pytest

from simcomplete._posterior.candidates.conditional import DeferredErrors
from simcomplete._posterior.candidates.ranked_errors import rank_table
from simcomplete._posterior.shared.rows import COPY


def plain_table(S, T, spread, weights):
    """Ranks one by one, buckets one by one."""
    pairs = []
    for s, t, sd, w in zip(S, T, spread, weights, strict=True):
        for i in range(len(s)):
            if w[i] > 0:
                above, tied = w[s > s[i]].sum(), w[s == s[i]].sum()
                pairs.append((above + tied / 2, (t[i] - s[i]) / sd, w[i]))
    rank, z, w = (np.array(part) for part in zip(*pairs, strict=True))
    n = weights.sum(axis=1).mean()
    edges = []
    while 2.5 ** len(edges) < 0.8 * n:
        edges.append(2.5 ** len(edges))
    while edges and np.sum(rank <= edges[0]) < 150:
        edges.pop(0)
    shares, table = [], []
    for low, high in zip([-1.0, *edges], [*edges, np.inf], strict=True):
        mine = np.flatnonzero((rank > low) & (rank <= high))
        mine = mine[np.argsort(z[mine])]
        middle = (np.cumsum(w[mine]) - w[mine] / 2) / w[mine].sum()
        shares.append(np.exp(np.sum(w[mine] * np.log(rank[mine] / n)) / w[mine].sum()))
        table.append(np.interp(np.linspace(0, 1, 201), middle, z[mine]))
    table = np.array(table)
    few = max(1 / np.sqrt(len(S)) - 1 / np.sqrt(50), 0)
    out = np.abs(2 * np.linspace(0, 1, 201) - 1)
    return shares, table[:, [100]] + (table - table[:, [100]]) * (1 + 3.6 * few * out)


@pytest.mark.parametrize(("rows", "items", "weighted"), [(20, 60, False), (60, 60, False), (80, 40, True)])
def test_quantiles_by_rank(rows, items, weighted):
    rng = np.random.default_rng(rows)
    S = rng.normal(size=(rows, items)).round(2 if weighted else 9)  # ties
    T = S + 0.3 * rng.normal(size=S.shape)
    weights = rng.integers(0, 3, size=S.shape).astype(float) if weighted else np.ones(S.shape)
    spread = rng.uniform(0.2, 1.0, rows)
    shares, table = rank_table(S, T, spread, weights)
    expected = plain_table(S, T, spread, weights)
    np.testing.assert_allclose(shares, expected[0], rtol=1e-9)
    np.testing.assert_allclose(table, expected[1], rtol=1e-9, atol=1e-12)
    assert len(shares) > 2


def test_a_table_is_made_when_it_is_asked_for_and_once():
    made = []
    errors = DeferredErrors(lambda: made.append(1) or (np.ones(1), np.zeros((1, 201))), np.ones(2), np.ones(2))
    assert not made
    assert errors.shares.tolist() == [1.0] and errors.table.shape == (1, 201) and made == [1]
    other = DeferredErrors(lambda: (np.ones(1), np.zeros((1, 201))), np.ones(2), np.ones(2))
    assert pickle.loads(pickle.dumps(other)).shares.tolist() == [1.0]
    assert copy.copy(other).table.shape == (1, 201)
    with pytest.raises(AttributeError, match="nothing"):
        other.nothing  # noqa: B018


def test_copies_have_a_cosine_of_nearly_one():
    assert 1 - 1e-5 < COPY < 1


def test_estimates_that_rounding_tells_apart_are_tied():
    """Every estimate is there twice, 4e-10 apart or exactly: the ranks are the same. 6e-9 apart they are not."""
    rng = np.random.default_rng(0)
    S = np.repeat(rng.permuted(np.tile(np.arange(30) / 100, (60, 1)), axis=1), 2, axis=1)
    T, spread, weights = S + 0.1 * rng.standard_normal(S.shape), np.ones(60), np.ones(S.shape)
    twin = np.arange(60) % 2
    shares, table = rank_table(S, T, spread, weights)
    near, near_table = rank_table(S + 4e-10 * twin, T, spread, weights)
    np.testing.assert_allclose(near, shares, rtol=1e-12)
    np.testing.assert_allclose(near_table, table, atol=1e-8)
    assert len(rank_table(S + 6e-9 * twin, T, spread, weights)[0]) > len(shares)  # some have a rank of 1 by themselves
