"""done.imputed(): the missing values behind the similarities of `posterior`."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError


def table(n=260, d=8, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    whole = 2 + rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.2 * rng.standard_normal((n, d))
    return whole.astype(dtype), rng.random((n, d)) < 0.35


@pytest.mark.parametrize("form", ["candidates and queries", "all rows", "some complete rows"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_rows_come_back_in_their_order_with_what_was_missing(form, dtype):
    whole, gone = table(dtype=dtype)
    gone[:200] &= form == "all rows"
    X = np.where(gone, dtype(np.nan), whole)
    if form == "some complete rows":
        order = np.random.default_rng(1).permutation(len(X))
        whole, gone, X = whole[order], gone[order], X[order]
    given = (X[:200], X[200:]) if form == "candidates and queries" else (X,)
    done = sc.complete(*given, method="posterior", progress=False)
    values, std = done.imputed(return_std=True)
    assert values.dtype == std.dtype == dtype
    np.testing.assert_array_equal(values[~gone], X[~gone])
    assert not std[~gone].any()
    error = (values - whole)[gone]
    assert np.sqrt(np.mean(error**2)) < 0.6 * whole.std()
    assert 0.8 < np.mean(np.abs(error) <= 1.645 * std[gone]) < 0.98
    some = [5, 230, 0]
    np.testing.assert_allclose(done.imputed(some), values[some], rtol=1e-5 if dtype == np.float32 else 1e-12)
    np.testing.assert_allclose(done.imputed("queries"), values[-done.n_queries :], rtol=1e-5)


def test_no_values_where_there_are_none(tmp_path):
    whole, gone = table(60)
    X = np.where(gone, np.nan, whole)
    with pytest.raises(InputError, match=r"'smcnn' has no model of missing values.*PosteriorImputer"):
        sc.complete(X, method="smcnn", progress=False).imputed()
    done = sc.complete(X, method="posterior", progress=False)
    done.save(tmp_path / "saved")
    np.testing.assert_array_equal(sc.load(tmp_path / "saved").imputed(), done.imputed())
    done.save(tmp_path / "small", candidates=False)
    with pytest.raises(InputError, match="saved with candidates=False"):
        sc.load(tmp_path / "small").imputed()
    with pytest.raises(InputError, match="rows"):
        done.imputed([1000])
