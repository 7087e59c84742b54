"""Matrices from samples with gaps: known answers, intervals that hold, frames, and what is refused by name."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.covariance import ledoit_wolf

import simcomplete as sc
from simcomplete._correlation.expected import ExpectedRows
from simcomplete._correlation.moments import complete_moments


def factor_samples(n, d, seed, factors=2, tails=False):
    rng = np.random.default_rng(seed)
    noise = rng.standard_t(4, (n, d)) / np.sqrt(2) if tails else rng.standard_normal((n, d))
    return rng.standard_normal((n, factors)) @ rng.standard_normal((factors, d)) + noise


def with_gaps(X, share, seed):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


X = factor_samples(150, 8, 0)
GAPS = with_gaps(X, 0.2, 1)
NAMES = list("abcdefgh")


def test_complete_samples_have_their_own_matrix():
    found = sc.correlation(X)
    np.testing.assert_allclose(found.matrix, np.corrcoef(X.T), atol=1e-12)
    np.testing.assert_allclose(sc.covariance(X).matrix, np.cov(X.T), rtol=1e-12)
    low, high = found.interval(0.99)
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(found.location, X.mean(axis=0), atol=1e-12)
    np.testing.assert_allclose(sc.covariance(X, shrinkage="ledoit_wolf").matrix, ledoit_wolf(X)[0], rtol=1e-10)


def test_baselines_are_those_of_pandas():
    frame = pd.DataFrame(GAPS)
    np.testing.assert_allclose(sc.correlation(GAPS).pairwise, frame.corr(), atol=1e-12)
    covariances = sc.covariance(GAPS)
    np.testing.assert_allclose(covariances.pairwise, frame.cov(), rtol=1e-10)
    assert covariances.repaired_pairwise().min_eigenvalue_after > -1e-9
    assert sc.correlation(GAPS).repaired_pairwise().distance >= 0


def brute_force(rows, m, draws, rng):
    """Moments of complete rows drawn from the Gaussian that the model says, row by row."""
    found = []
    for _ in range(draws):
        Y = m.copy()
        for t, root in enumerate(rows.roots):
            lacks = ~rows.observed[t]
            A = rows.model.loadings[lacks] @ root
            own = np.sqrt(rows.variance[t, lacks] - np.sum(A * A, axis=1))  # noise
            Y[t, lacks] += A @ rng.standard_normal(A.shape[1]) + own * rng.standard_normal(lacks.sum())
        found.append(Y)
    return found


def test_moments_and_their_variances_are_those_of_draws():
    rows = ExpectedRows.fit(with_gaps(factor_samples(40, 5, 2), 0.4, 3))
    found = rows.moments()
    drawn = brute_force(rows, rows.values, 1500, np.random.default_rng(0))
    C = np.stack([(Y - found.mean).T @ (Y - found.mean) / len(Y) for Y in drawn])
    np.testing.assert_allclose(C.mean(axis=0), found.C, atol=0.02 * found.C.max())
    np.testing.assert_allclose(C.std(axis=0), np.sqrt(found.variance(of_correlations=False)), rtol=0.1)
    s = np.sqrt(np.diagonal(C, axis1=1, axis2=2))
    R = C / s[:, :, None] / s[:, None, :]
    deviation = np.sqrt(found.variance(of_correlations=True))
    off = ~np.eye(5, dtype=bool)
    np.testing.assert_allclose(R.std(axis=0)[off], deviation[off], rtol=0.15)  # to the first order


@pytest.mark.parametrize("tails", [False, True])
def test_errors_are_smaller_than_pairwise_and_intervals_hold(tails):
    inside, ours, pandas = [], [], []
    for seed in range(3):
        X = factor_samples(120, 24, 10 + seed, factors=3, tails=tails)
        truth, upper = np.corrcoef(X.T), np.triu_indices(24, 1)
        found = sc.correlation(with_gaps(X, 0.3, seed))
        low, high = found.interval(0.9)
        inside.append(np.mean(((low <= truth) & (truth <= high))[upper]))
        ours.append(np.mean((found.values - truth)[upper] ** 2))
        pandas.append(np.mean((found.pairwise - truth)[upper] ** 2))
    assert 0.86 <= np.mean(inside) <= 0.94
    assert np.sqrt(np.mean(ours) / np.mean(pandas)) < 0.75


def test_pairs_without_a_common_sample():
    X = factor_samples(200, 20, 4, factors=2)
    truth = np.corrcoef(X.T)
    gaps = X.copy()
    gaps[:100, :6] = gaps[100:, 6:12] = np.nan
    found = sc.correlation(gaps)
    pairs = np.ix_(range(6), range(6, 12))
    assert np.isnan(found.pairwise[pairs]).all()
    assert found.summary()["pairs_without_common_samples"] == 36
    assert np.sqrt(np.mean((found.values - truth)[pairs] ** 2)) < 0.08
    low, high = found.interval(0.9)
    assert (high - low)[pairs].min() > 0
    assert (high - low)[12:, 12:].max() == 0, "nothing is missing there"


@settings(max_examples=15, deadline=None)
@given(st.integers(2, 12), st.integers(1, 9), st.floats(0, 0.6), st.integers(0, 99))
def test_every_result_is_valid(n, d, share, seed):
    X = with_gaps(factor_samples(n, d, seed), share, seed)
    X[:2] = factor_samples(2, d, seed + 1)  # two values at least
    found = sc.correlation(X)
    assert found.min_eigenvalue > -1e-12
    np.testing.assert_array_equal(np.diag(found.values), 1.0)
    assert (np.abs(found.values) <= 1 + 1e-12).all()
    low, high = found.interval(0.5)
    wide = found.interval(0.95)
    assert (wide[0] <= low).all()
    assert (low <= found.values + 1e-12).all()
    assert (found.values <= high + 1e-12).all()


def test_units_do_not_matter():
    found, size = sc.correlation(GAPS), 10.0 ** np.linspace(-300, 300, 8)
    other = sc.correlation(GAPS * size + size)
    np.testing.assert_allclose(other.values, found.values, atol=1e-9)
    np.testing.assert_allclose(other.interval()[0], found.interval()[0], atol=1e-9)
    size = np.linspace(1, 9, 8)
    np.testing.assert_allclose(
        sc.covariance(GAPS * size).values, sc.covariance(GAPS).values * np.outer(size, size), rtol=1e-9
    )
    with pytest.raises(sc.errors.InputError, match="beyond the range"):
        sc.covariance(GAPS * 1e200)


def test_frames_come_back_with_labels():
    frame = pd.DataFrame(GAPS, columns=NAMES)
    found = sc.correlation(frame)
    assert list(found.matrix.index) == list(found.matrix.columns) == NAMES
    assert found.labels == NAMES
    low, high = found.interval()
    assert (low.loc["a"] <= high.loc["a"]).all()
    turned = sc.correlation(frame.T, by="rows")
    pd.testing.assert_frame_equal(turned.matrix, found.matrix)
    polars = sc.correlation(pl.DataFrame(GAPS, schema=NAMES)).matrix
    assert isinstance(polars, pl.DataFrame)
    np.testing.assert_array_equal(polars.select(NAMES).to_numpy(), found.values)
    assert "8" in found._repr_html_()
    assert repr(found).startswith("Estimate(kind='correlation', n=8")


def test_the_same_seed_gives_the_same_intervals():
    one, same, other = (sc.correlation(GAPS, random_state=seed).interval()[0] for seed in (0, 0, 1))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0


def test_what_never_changes_and_what_has_no_value():
    odd = GAPS.copy()
    odd[:, 2], odd[5] = 0.1, np.nan
    found = sc.covariance(pd.DataFrame(odd, columns=NAMES))
    assert found.notes == (
        "1 sample without any value left out",
        "1 variable never changes ('c'): its correlations are 0",
    )
    assert not found.values[2].any()
    np.testing.assert_array_equal(sc.correlation(odd).values[2], np.eye(8)[2])
    np.testing.assert_array_equal(sc.correlation(np.ones((4, 2))).values, np.eye(2))


def test_a_floor_and_shrinkage():
    few = with_gaps(factor_samples(12, 20, 5), 0.1, 0)
    assert sc.correlation(few).min_eigenvalue < 0.02
    floored = sc.correlation(few, min_eigenvalue=0.03)
    assert floored.min_eigenvalue == pytest.approx(0.03)
    shrunk = sc.correlation(few, shrinkage="ledoit_wolf")
    assert 0 < shrunk.shrinkage < 1
    np.testing.assert_allclose(
        shrunk.values, (1 - shrunk.shrinkage) * shrunk.sample + shrunk.shrinkage * np.eye(20), atol=1e-12
    )
    C = sc.covariance(few, min_eigenvalue=0.01)
    np.testing.assert_allclose(np.diag(C.values), np.diag(C.sample))
    np.linalg.cholesky(C.values)


def test_draws_have_the_moments_that_are_expected():
    rows = ExpectedRows.fit(GAPS)
    rng = np.random.default_rng(0)
    C = np.mean([complete_moments(rows.drawn(rng)).C for _ in range(60)], axis=0)
    np.testing.assert_allclose(C, rows.moments().C, atol=0.1 * rows.moments().C.max())
    np.testing.assert_array_equal(rows.drawn(rng)[rows.observed], GAPS[rows.observed])


@pytest.mark.parametrize(
    ("X", "more", "message"),
    [
        (GAPS, {"by": "stocks"}, "by='stocks' is unknown; use 'columns'"),
        (GAPS, {"shrinkage": "oas"}, "shrinkage='oas' is unknown"),
        (GAPS, {"min_eigenvalue": 2}, "min_eigenvalue=2"),
        (GAPS[:, 0], {}, "X has 1 dimension"),
        (np.where(np.arange(8) == 3, np.nan, X), {}, "variable 3 of X has fewer than 2 values"),
        (pd.DataFrame(GAPS[:1], columns=NAMES), {}, "'c' and . more of X have fewer than 2 values"),
        (X + 0j, {}, "X is complex"),
        (np.where(X[4, 2] == X, np.inf, X), {}, r"X\[4, 2\] is inf"),
    ],
)
def test_bad_input_is_refused_by_name(X, more, message):
    with pytest.raises(sc.errors.InputError, match=message):
        sc.correlation(X, **more)


def test_what_would_not_fit_is_refused(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1 MiB")
    with pytest.raises(sc.errors.MemoryLimitError, match="a matrix of 300 variables from 20 samples"):
        sc.correlation(np.random.default_rng(0).standard_normal((20, 300)))


def test_a_level_is_a_share():
    with pytest.raises(sc.errors.InputError, match="level=90"):
        sc.correlation(GAPS).interval(90)
