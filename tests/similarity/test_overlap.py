"""Step 1 against a plain double loop, the reference figures, and the conventions the docstrings promise."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import simcomplete as sc


def double_loop(X, metric="cosine", min_overlap=1):
    """The definition, one pair at a time."""
    n = len(X)
    S = np.eye(n)
    for i in range(n):
        for j in range(n):
            common = ~np.isnan(X[i]) & ~np.isnan(X[j])
            if i == j:
                continue
            a, b = X[i, common], X[j, common]
            if common.sum() < min_overlap:
                S[i, j] = 0
                continue
            if metric == "pearson":
                a, b = a - a.mean(), b - b.mean()
                if np.ptp(X[i, common]) == 0 or np.ptp(X[j, common]) == 0:
                    S[i, j] = 0
                    continue
            norm = np.sqrt(a @ a) * np.sqrt(b @ b)
            S[i, j] = a @ b / norm if norm > 0 else 0
    return S


def holes(shape, missing, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal(shape)
    X[rng.random(shape) < missing] = np.nan
    return X


@pytest.mark.parametrize("metric", ["cosine", "pearson"])
@pytest.mark.parametrize("min_overlap", [1, 3])
@pytest.mark.parametrize("missing", [0.0, 0.4, 0.8])
def test_agrees_with_a_double_loop(metric, min_overlap, missing):
    X = holes((25, 12), missing)
    X[3] = 0
    X[4] = 2.5
    np.testing.assert_allclose(
        sc.overlap_similarity(X, metric, min_overlap), double_loop(X, metric, min_overlap), atol=1e-12
    )


def test_agrees_with_the_reference_program(golden):
    z = golden("overlap_cosine")
    np.testing.assert_allclose(sc.overlap_similarity(z["X"]), z["S0"], atol=1e-10)
    complete = np.vstack([z["P"], z["Q_true"]])
    np.testing.assert_allclose(sc.overlap_similarity(complete), z["S_true"], atol=1e-10)
    edge = z["S_edge"].copy()
    np.fill_diagonal(edge, 1)  # the reference leaves 0 for the row with nothing observed
    np.testing.assert_allclose(sc.overlap_similarity(z["X_edge"]), edge, atol=1e-10)


numbers = st.one_of(st.just(np.nan), st.just(0.0), st.floats(-1e3, 1e3, width=32))


@settings(max_examples=60, deadline=None)
@given(arrays(np.float64, (6, 5), elements=numbers))
def test_always_symmetric_bounded_and_as_defined(X):
    S, evidence = sc.overlap_similarity(X, return_evidence=True)
    assert (S == S.T).all()
    assert (np.diag(S) == 1).all()
    assert (np.abs(S) <= 1).all()
    # Values so small beside the row's largest that their squares vanish carry no evidence; leave those out.
    if not ((np.abs(X) > 0) & (np.abs(X) < 1e-30)).any():
        np.testing.assert_allclose(S, double_loop(X), atol=1e-7)
    assert 0 <= evidence.pairs_without <= evidence.pairs == 15


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 2**32 - 1), st.floats(-100, 100))
def test_the_scale_of_a_row_does_not_matter_even_to_the_last_bit(seed, power):
    X = holes((8, 6), 0.3, seed)
    Y = X.copy()
    Y[2] *= 2.0 ** round(power)
    np.testing.assert_array_equal(sc.overlap_similarity(X), sc.overlap_similarity(Y))


@pytest.mark.parametrize("size", [1e-300, 1e-30, 1e30, 1e300])
def test_huge_and_tiny_values_neither_overflow_nor_vanish(size):
    X = holes((10, 6), 0.3)
    np.testing.assert_allclose(sc.overlap_similarity(X * size), sc.overlap_similarity(X), atol=1e-12)


@pytest.mark.parametrize("size", [1e-30, 1e30])
def test_nor_do_they_in_single_precision(size):
    X = holes((10, 6), 0.3).astype(np.float32)
    S = sc.overlap_similarity(X * np.float32(size))
    assert S.dtype == np.float32
    np.testing.assert_allclose(S, sc.overlap_similarity(X), atol=1e-5)


@pytest.mark.parametrize("metric", ["cosine", "pearson"])
def test_the_type_stays(metric):
    X = holes((10, 30), 0.3)
    single = sc.overlap_similarity(X.astype(np.float32), metric)
    double = sc.overlap_similarity(X, metric)
    assert single.dtype == np.float32
    assert double.dtype == np.float64
    np.testing.assert_allclose(single, double, atol=1e-5)


def test_counts():
    X = holes((9, 7), 0.5)
    seen = ~np.isnan(X)
    expected = [[int((a & b).sum()) for b in seen] for a in seen]
    counts = sc.overlap_counts(X)
    assert counts.dtype == np.int64
    np.testing.assert_array_equal(counts, expected)


def test_evidence_is_counted_by_hand():
    # 0 and 1 share one feature, 0 and 2 share one, 1 and 2 none; row 3 has nothing at all.
    X = np.array([[1.0, 2.0], [3.0, np.nan], [np.nan, 4.0], [np.nan, np.nan]])
    _, evidence = sc.overlap_similarity(X, return_evidence=True)
    assert evidence.as_dict() == {"pairs": 6, "pairs_without": 4, "rows_without": [3], "min_overlap": 1}
    S, evidence = sc.overlap_similarity(X, min_overlap=2, return_evidence=True)
    # Only row 0 has two features, and no pair does.
    assert (evidence.pairs_without, evidence.rows_without) == (6, (1, 2, 3))
    np.testing.assert_array_equal(S, np.eye(4))


def test_blocks_make_no_difference(monkeypatch):
    X = holes((40, 10), 0.5)
    whole, told = sc.overlap_similarity(X, return_evidence=True)
    monkeypatch.setattr("simcomplete._rows.budget.BLOCK_BYTES", 1)
    monkeypatch.setattr("simcomplete._rows.budget.triangle_blocks.__defaults__", (6 * 40 * 8 * 7,))
    pieces, retold = sc.overlap_similarity(X, return_evidence=True)
    np.testing.assert_allclose(pieces, whole, atol=1e-14)
    assert (pieces == pieces.T).all()
    assert told == retold


def test_epsilon_makes_a_zero_row_constant():
    # A zero row becomes a constant one, so its cosine with (3, 4) is 7 / (5 sqrt 2); with itself and another zero 1.
    X = np.array([[0.0, 0.0], [3.0, 4.0], [0.0, 0.0], [np.nan, np.nan]])
    S, evidence = sc.overlap_similarity(X, epsilon=1e-6, return_evidence=True)
    c = 7 / (5 * np.sqrt(2))
    np.testing.assert_allclose(S[:3, :3], [[1, c, 1], [c, 1, c], [1, c, 1]], atol=1e-15)
    assert evidence.rows_without == (3,)
    np.testing.assert_array_equal(S[3, :3], 0)


def test_epsilon_agrees_with_adding_a_small_value_by_hand():
    X = holes((8, 6), 0.4)
    X[2], X[5, :3] = 0, 0
    expected = np.eye(8)
    for i in range(8):
        for j in range(8):
            common = ~np.isnan(X[i]) & ~np.isnan(X[j])
            if i != j and common.any():
                a, b = (row + 1e-9 if not row.any() else row for row in (X[i, common], X[j, common]))
                expected[i, j] = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    expected[~(sc.overlap_counts(X) > 0)] = 0
    np.testing.assert_allclose(sc.overlap_similarity(X, epsilon=1e-9), expected, atol=1e-12)


def test_positive_scores_are_in_0_1():
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0]])
    S = sc.overlap_similarity(X, positive=True)
    np.testing.assert_allclose(S, [[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]], atol=1e-15)
    assert (S > 0).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(frame):
    X = holes((6, 4), 0.3)  # polars has a column of labels in front of the similarities
    table = frame({f"f{k}": X[:, k] for k in range(4)})
    np.testing.assert_array_equal(np.asarray(sc.overlap_similarity(table))[:, -6:], sc.overlap_similarity(X))
    nullable = frame({"a": [1, None, 3], "b": [2.5, 1.0, None]})
    plain = np.array([[1, 2.5], [np.nan, 1.0], [3, np.nan]])
    np.testing.assert_array_equal(np.asarray(sc.overlap_similarity(nullable))[:, -3:], sc.overlap_similarity(plain))


def test_pandas_nullable_integers():
    table = pd.DataFrame({"a": pd.array([1, None, 3], dtype="Int64"), "b": [2.5, 1.0, 4.0]})
    plain = np.array([[1, 2.5], [np.nan, 1.0], [3, 4.0]])
    np.testing.assert_array_equal(sc.overlap_similarity(table), sc.overlap_similarity(plain))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"metric": "euclid"}, "use 'cosine' or 'pearson'"),
        ({"min_overlap": 0}, "from 1 to the 4 features"),
        ({"min_overlap": 5}, "from 1 to the 4 features"),
        ({"min_overlap": 1.5}, "whole number"),
        ({"epsilon": -1}, "at least 0"),
        ({"epsilon": 0.1, "metric": "pearson"}, "cosine only"),
    ],
)
def test_settings_that_cannot_be_used(settings, words):
    with pytest.raises(sc.errors.InputError, match=words):
        sc.overlap_similarity(np.ones((3, 4)), **settings)
