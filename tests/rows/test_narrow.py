"""Products of rows narrowed down in float32 are those of float64, bit for bit, whatever the values."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rows.difficult import EVERY, KINDS, some_rows
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._rows import narrow
from simcomplete._rows.narrow import NarrowRows, exact_products, slack


@settings(max_examples=60, **EVERY)
@given(kind=st.sampled_from(KINDS), seed=st.integers(0, 2**32 - 1), rows=st.sampled_from([1, 2, 9]))
def test_products_are_those_of_float64(kind, seed, rows, monkeypatch):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(2, 300)), int(rng.integers(1, 40))
    monkeypatch.setattr(narrow, "BLOCK", 64)
    monkeypatch.setattr(narrow, "WIDE", int(rng.choice([1, 256])))
    monkeypatch.setattr(narrow, "DIRECTIONS", int(rng.integers(1, 12)))
    monkeypatch.setattr(narrow, "CLEAR", int(rng.integers(1, 4)))
    unit = unit_rows(some_rows(kind, rng, n, d))
    U = unit_rows(some_rows(kind, rng, n, d))[rng.integers(0, n, rows)] * 10.0 ** rng.choice([0, -3, -200, -310])
    U[-1] = 0.0
    k = int(rng.integers(1, n + 1))
    ids, scores = NarrowRows.of(unit).nearest(U, k)
    exact = np.stack([exact_products(unit, u) for u in U])
    order = np.argsort(-exact, axis=1, kind="stable")[:, :k]
    np.testing.assert_array_equal(ids, order)
    np.testing.assert_array_equal(scores, np.take_along_axis(exact, order, axis=1))


def test_an_outline_leaves_few_rows_and_the_right_ones():
    rng = np.random.default_rng(3)
    unit = unit_rows(rng.normal(size=(4000, 8)) @ rng.normal(size=(8, 300)) + 0.3 * rng.normal(size=(4000, 300)))
    rows = NarrowRows.of(unit)
    u = 0.9 * unit[:5]
    found = rows.outline.possible(unit, unit_rows(u), 3, 3 * slack(300))
    assert max(map(len, found)) < 400
    ids, _ = rows.nearest(u, 3)
    np.testing.assert_array_equal(ids, np.argsort(-(u @ unit.T), axis=1)[:, :3])
    assert all(set(best) <= set(some) for best, some in zip(ids, found, strict=True))


@pytest.mark.parametrize("d", [1, 7, 100, 3000])
@pytest.mark.parametrize("kind", KINDS)
def test_products_stay_within_the_bound(kind, d):
    rng = np.random.default_rng(d)
    unit = unit_rows(some_rows(kind, rng, 200, d))
    U = unit[:20]
    apart = np.abs(NarrowRows.of(unit).products(U.astype(np.float32)) - U @ unit.T)
    assert apart.max() <= slack(d)
