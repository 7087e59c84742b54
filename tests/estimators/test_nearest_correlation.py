"""NearestCorrelation: from samples with gaps and from matrices, beside pandas and scikit-learn."""

import numpy as np
import pandas as pd
import pytest
from sklearn.covariance import EmpiricalCovariance

import simcomplete as sc
from simcomplete.estimators import NearestCorrelation


def samples(n=30, d=12, missing=0.4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.3 * rng.standard_normal((n, d)) + 100
    X[rng.random(X.shape) < missing] = np.nan
    return X


def test_without_gaps_it_is_the_empirical_covariance():
    X = samples(missing=0)
    model, plain = NearestCorrelation(min_eigenvalue=0).fit(X), EmpiricalCovariance().fit(X)
    np.testing.assert_allclose(model.covariance_, plain.covariance_, atol=1e-9)
    np.testing.assert_allclose(model.location_, plain.location_)
    np.testing.assert_allclose(model.precision_, plain.precision_, rtol=1e-6)


def test_with_gaps_it_is_the_repaired_pairwise_estimate():
    X = samples()
    sd = np.nanstd(X, axis=0)
    model = NearestCorrelation(min_eigenvalue=1e-6).fit(X)
    expected = sc.nearest_correlation(pd.DataFrame(X).corr(), min_eigenvalue=1e-6).values
    np.testing.assert_allclose(model.correlation_, expected, atol=1e-8)
    np.testing.assert_allclose(np.diag(model.covariance_), sd**2)
    np.testing.assert_allclose(model.covariance_ @ model.precision_, np.eye(12), atol=1e-6)
    assert model.get_precision() is model.precision_
    np.linalg.cholesky(model.covariance_)


def test_a_matrix_with_labels():
    names = list("abcd")
    C = pd.DataFrame(np.cov(samples(missing=0, d=4).T), names, names)
    model = NearestCorrelation(precomputed=True).fit(C[names[::-1]])  # columns in another order
    np.testing.assert_allclose(model.covariance_, C, atol=1e-6)
    assert list(model.feature_names_in_) == names


def test_a_constant_column_and_pairs_without_common_rows():
    X = samples()
    X[:, 0] = 5.0
    X[:15, 1], X[15:, 2] = np.nan, np.nan
    model = NearestCorrelation().fit(X)
    assert (model.covariance_[0] == 0).all()
    assert np.isfinite(model.covariance_).all()
    assert "1 unknown pair" in model.repair_.notes[0]


def test_a_warm_start_and_what_cannot_be():
    model = NearestCorrelation(warm_start=True).fit(samples(missing=0.3))
    cold = NearestCorrelation().fit(samples(missing=0.3) * 2)
    again = model.fit(samples(missing=0.3) * 2)
    np.testing.assert_allclose(again.correlation_, cold.correlation_, atol=1e-8)
    assert again.repair_.n_iter <= 1
    with pytest.raises(sc.errors.InputError, match="the variance of column 1 is -1"):
        NearestCorrelation(precomputed=True).fit(np.diag([1.0, -1.0]))
