"""Rows of one table that are the same: planted copies are found, strangers are left alone."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_breast_cancer

import simcomplete as sc
from simcomplete._posterior.same_rows.density import StrangerDensity, evident_below
from simcomplete._posterior.same_rows.evidence import pairs_at
from simcomplete._posterior.same_rows.near_pairs import ScaledTable, remarkable
from simcomplete.errors import InputError


def planted(missing, noise, seed=0, copies=20):
    """Breast cancer with some rows twice, gaps of their own in each; and which rows are pairs."""
    rng = np.random.default_rng(seed)
    X = load_breast_cancer().data[:300]
    source = rng.choice(len(X), copies, replace=False)
    twin = X[source] + noise * X.std(axis=0) * rng.standard_normal((copies, X.shape[1]))
    Y = np.concatenate([X, twin])
    pairs = {(int(s), len(X) + i) for i, s in enumerate(source)}
    return np.where(rng.random(Y.shape) < missing, np.nan, Y), pairs


@pytest.mark.parametrize(("missing", "noise", "least"), [(0.0, 0.0, 1.0), (0.3, 0.0, 0.9), (0.0, 0.05, 0.9)])
def test_planted_copies_are_found(missing, noise, least):
    X, pairs = planted(missing, noise)
    found = sc.duplicates(X)
    got = {tuple(pair) for pair in found.pairs.tolist()}
    assert len(got & pairs) >= least * len(pairs)
    assert not got - pairs
    assert (found.probability >= 0.9).all() and (np.diff(found.probability) <= 1e-12).all()


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_strangers_are_no_duplicates(missing):
    rng = np.random.default_rng(1)
    real, _ = planted(missing, 0.0, copies=0)
    assert len(sc.duplicates(real)) == 0
    drawn = rng.standard_normal((200, 8))
    assert len(sc.duplicates(np.where(rng.random(drawn.shape) < missing, np.nan, drawn))) == 0


def test_few_common_yes_and_no_answers_prove_nothing():
    rng = np.random.default_rng(2)
    X = (rng.random((200, 10)) < 0.5).astype(float)
    X[rng.random(X.shape) < 0.3] = np.nan
    assert len(sc.duplicates(X)) == 0


def test_many_identical_rows_are_one_group():
    X = np.random.default_rng(3).normal(size=(200, 6))
    X[[50, 60, *range(100, 140)]] = X[7]
    found = sc.duplicates(X)
    assert found.groups == [[7, 50, 60, *range(100, 140)]]
    assert set(found.pairs[:, 0].tolist()) == {7} and set(found.kinds) == {"exact"}
    assert len(sc.duplicates(X, above=1.0)) <= len(found)


def test_labels_and_frames():
    X, _ = planted(0.2, 0.0)
    names = [f"p{i}" for i in range(len(X))]
    table = sc.duplicates(pd.DataFrame(X, index=names)).to_frame()
    plain = sc.duplicates(X)
    assert isinstance(table, pd.DataFrame) and len(table) == len(plain) > 10
    assert table["first"].tolist() == [names[i] for i in plain.pairs[:, 0]]
    assert table["second"].tolist() == [names[i] for i in plain.pairs[:, 1]]
    np.testing.assert_array_equal(table[["exact", "near", "rough"]], plain.probabilities)
    np.testing.assert_allclose(table["same"], plain.probabilities.sum(axis=1))
    np.testing.assert_array_equal(table["distance"], plain.distances)
    assert plain.to_frame()["second"].tolist() == plain.pairs[:, 1].tolist()
    assert list(table) == ["first", "second", "same", "exact", "near", "rough", "kind", "common", "distance"]
    both = ~np.isnan(X[plain.pairs[:, 0]]) & ~np.isnan(X[plain.pairs[:, 1]])
    np.testing.assert_array_equal(plain.common, both.sum(axis=1))


def test_units_and_small_blocks_change_nothing():
    X, _ = planted(0.3, 0.0)
    scaled = X * 2.0 ** np.arange(-15, 15)
    a, b, c = sc.duplicates(X), sc.duplicates(scaled), sc.duplicates(X, memory="200 KiB")
    np.testing.assert_array_equal(a.pairs, b.pairs)
    np.testing.assert_array_equal(a.pairs, c.pairs)
    np.testing.assert_allclose(a.probability, c.probability, atol=1e-9)


@settings(max_examples=10, deadline=None)
@given(st.integers(2, 18), st.integers(1, 6), st.integers(0, 2**16))
def test_any_small_table_has_an_answer(n, d, seed):
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(n, d)), int(rng.integers(0, 3)))
    X[rng.random(X.shape) < 0.4] = np.nan
    found = sc.duplicates(X, above=0.0, min_overlap=1)
    assert (found.pairs[:, 0] < found.pairs[:, 1]).all()
    assert ((found.probability >= 0) & (found.probability <= 1)).all()
    gaps = X[found.pairs[:, 0]] - X[found.pairs[:, 1]]
    np.testing.assert_array_equal((~np.isnan(gaps)).sum(axis=1), found.common)


def test_partners_agree_with_a_double_loop():
    rng = np.random.default_rng(4)
    X = rng.normal(size=(40, 5))
    X[rng.random(X.shape) < 0.4] = np.nan
    table = ScaledTable.of(X)
    found = table.partners(2, most=3)
    for i in range(len(X)):
        scores = {}
        for j in range(len(X)):
            both = table.observed[i] & table.observed[j]
            if i != j and both.sum() >= 2:
                gap = np.mean((table.values[i] - table.values[j])[both] ** 2)
                scores[j] = float(remarkable(gap, both.sum()))
        best = sorted(scores.values())[:3]
        got = [scores[j] for j in found.ids[i].tolist() if j >= 0]
        np.testing.assert_allclose(got, best, atol=1e-9)


def test_strangers_of_a_uniform_cloud_are_counted():
    """Of rows without a copy a share t has a partner where fewer than t strangers are expected, or less."""
    rng = np.random.default_rng(5)
    table = ScaledTable.of(rng.random((800, 4)))
    partners = table.partners(2)
    density = StrangerDensity.of(table, partners, rng)
    strangers = np.exp(pairs_at(table, np.arange(800), partners, 0).strangers(density))
    for t in (0.03, 0.1, 0.3):
        assert np.mean(strangers < t) < 1.6 * t
    assert evident_below(np.log(strangers)) < -4


def test_what_is_refused():
    X = np.random.default_rng(0).normal(size=(30, 3))
    with pytest.raises(InputError, match="above=2"):
        sc.duplicates(X, above=2)
    with pytest.raises(InputError, match="prior=0"):
        sc.duplicates(X, prior=0)
    with pytest.raises(InputError, match="min_overlap"):
        sc.duplicates(X, min_overlap=0)
