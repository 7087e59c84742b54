"""Labels in a first column of text, as a file has them; those of xarray; and labels that occur twice."""

import io

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
import xarray as xr

import simcomplete as sc
from simcomplete.errors import InputError

A = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])
NAMES = ["oil", "gas", "gold"]
FRAME = pd.DataFrame(A, index=NAMES, columns=NAMES)
X = sc.nearest_correlation(A).matrix
MIXED = [2, 0, 1]


def array(values, rows=NAMES, columns=NAMES, **more):
    return xr.DataArray(values, dims=("asset", "other"), coords={"asset": rows, "other": columns}, **more)


@pytest.mark.parametrize("order", [[0, 1, 2], MIXED])
def test_a_file_that_was_read_without_an_index(order):
    frame = pd.read_csv(io.StringIO(FRAME.iloc[:, order].to_csv()))
    repair = sc.nearest_correlation(frame)
    assert repair.labels == NAMES
    assert list(repair.matrix.columns) == [frame.columns[0], *NAMES]
    assert list(repair.matrix.iloc[:, 0]) == NAMES
    np.testing.assert_allclose(repair.matrix[NAMES].to_numpy(), X, atol=1e-12)
    assert len(repair.notes) == (order == MIXED)
    fixed = frame.iloc[:2][[frame.columns[0], "gas", "oil"]]  # in another order, of two assets
    held = sc.nearest_correlation(FRAME, fixed=fixed).matrix
    assert held.loc["oil", "gas"] == 0.9
    assert held.loc["gas", "gold"] < 0.9


@pytest.mark.parametrize("kind", [pd.DataFrame, pl.DataFrame])
def test_the_estimator_takes_a_first_column_of_labels(kind):
    frame = kind({"asset": NAMES, **dict(zip(NAMES, A, strict=True))})
    model = sc.NearestCorrelation(precomputed=True, min_eigenvalue=0).fit(frame)
    np.testing.assert_allclose(model.correlation_, X, atol=1e-9)
    assert list(model.feature_names_in_) == NAMES


def test_a_first_column_that_does_not_fit_is_refused():
    frame = FRAME.rename(index={"oil": "tin"}).reset_index()
    with pytest.raises(InputError, match="'tin' only in rows; 'oil' only in columns"):
        sc.nearest_correlation(frame)


def test_arrays_of_xarray_keep_labels_and_attributes():
    given = array(A, name="returns", attrs={"days": 250})
    repair = sc.nearest_correlation(given)
    xr.testing.assert_identical(repair.matrix, array(X, name="returns", attrs={"days": 250}))
    assert repair.moved[0][:2] == ("oil", "gas")
    mixed = sc.nearest_correlation(given[:, MIXED])
    xr.testing.assert_allclose(mixed.matrix, repair.matrix)
    assert "another order" in mixed.notes[0]
    plain = sc.nearest_correlation(xr.DataArray(A))
    assert (plain.labels, plain.matrix.dims) == (None, ("dim_0", "dim_1"))
    with pytest.raises(InputError, match="'gold' only in rows; 'tin' only in columns"):
        sc.nearest_correlation(array(A, columns=["oil", "gas", "tin"]))
    np.testing.assert_array_equal(sc.nearest_covariance(given * 4).matrix, sc.nearest_covariance(A * 4).matrix)


def test_constraints_of_xarray_follow_labels():
    expected = sc.nearest_correlation(A, weights=[1, 2, 3]).values
    weights = xr.DataArray([3.0, 1.0, 2.0], dims="asset", coords={"asset": ["gold", "oil", "gas"]})
    np.testing.assert_array_equal(sc.nearest_correlation(FRAME, weights=weights).values, expected)
    plain = xr.DataArray([1.0, 2.0, 3.0], dims="asset")
    np.testing.assert_array_equal(sc.nearest_correlation(FRAME, weights=plain).values, expected)
    some = array(np.eye(3, k=1) + np.eye(3, k=-1) > 0)  # oil and gas, gas and gold
    for fixed in (some, some[MIXED, ::-1], array(np.where(some, 0.9, np.nan))[MIXED, MIXED]):
        held = sc.nearest_correlation(FRAME, fixed=fixed).values
        assert held[0, 1] == held[1, 2] == 0.9


def test_a_label_that_occurs_twice_is_named():
    twice = pd.DataFrame([[1, 0.5], [0.5, 1]], ["oil", "oil"], ["oil", "oil"])
    with pytest.raises(InputError, match="different labels: 'oil' occurs more than once in fixed"):
        sc.nearest_correlation(FRAME, fixed=twice)
    with pytest.raises(InputError, match="'gas' occurs more than once in columns"):
        sc.nearest_correlation(FRAME.rename(columns={"oil": "gas"}))
    with pytest.raises(InputError, match="'oil' occurs more than once in weights"):
        sc.nearest_correlation(FRAME, weights=pd.Series([1, 2, 3], ["oil", "oil", "gold"]))


def test_a_sparse_matrix_is_refused_with_advice_that_can_be_followed():
    with pytest.raises(InputError, match=r"A is a sparse matrix; give A.toarray\(\)"):
        sc.nearest_correlation(scipy.sparse.csr_array(A))


@pytest.mark.parametrize("scale", [1e-200, 1e-170])
def test_variances_below_the_range_of_numbers_are_refused(scale):
    samples = np.random.default_rng(0).standard_normal((20, 3)) * scale
    with pytest.raises(InputError, match="the range of numbers"):
        sc.covariance(samples)
    assert np.isfinite(sc.correlation(samples).values).all()
