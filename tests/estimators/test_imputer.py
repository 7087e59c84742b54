"""PosteriorImputer: scikit-learn's contract, frames, units, bounds, deviations and draws."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

import simcomplete as sc
from simcomplete.errors import InputError
from simcomplete.estimators import PosteriorImputer


@parametrize_with_checks(
    [PosteriorImputer(effort="fast"), PosteriorImputer(effort="fast", add_indicator=True, keep_empty_features=True)]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


UNITS = np.array([1.0, 1000.0, 0.01, 5.0, 70.0, 1e6])


def truth(n=240, seed=0):
    """Rows of two factors, in six different units."""
    loadings, rng = np.random.default_rng(99).standard_normal((2, 6)), np.random.default_rng(seed)
    return (rng.standard_normal((n, 2)) @ loadings + 0.2 * rng.standard_normal((n, 6)) + 3) * UNITS


def gaps(X, share=0.25, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def fitted():
    whole = truth()
    X = gaps(whole)
    return whole, X, PosteriorImputer(effort="fast").fit(X)


def test_values_are_in_their_units_and_observed_ones_bit_for_bit(fitted):
    whole, X, imputer = fitted
    filled, missing = imputer.transform(X), np.isnan(X)
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    error = ((filled - whole) / whole.std(axis=0))[missing]
    assert np.sqrt(np.mean(error**2)) < 0.5  # the mean of every feature leaves 1
    by_mean = (np.where(missing, np.nanmean(X, axis=0), X) - whole) / whole.std(axis=0)
    assert np.mean(error**2) < 0.3 * np.mean(by_mean[missing] ** 2)


def test_units_of_features_do_not_matter(fitted):
    _, X, imputer = fitted
    other = PosteriorImputer(effort="fast").fit(X / UNITS)
    np.testing.assert_allclose(other.transform(X / UNITS), imputer.transform(X) / UNITS, rtol=1e-6)


def test_deviations_cover_what_they_should(fitted):
    _, _, imputer = fitted
    fresh = truth(400, seed=8)
    X = gaps(fresh, seed=5)
    values, std = imputer.impute(X, return_std=True)
    missing = np.isnan(X)
    assert not std[~missing].any()
    inside = np.abs(values - fresh)[missing] <= 1.645 * std[missing]
    assert 0.84 < inside.mean() < 0.96
    np.testing.assert_array_equal(imputer.impute(X), values)


def test_float32_stays_float32_bit_for_bit(fitted):
    _, X, imputer = fitted
    X = X.astype(np.float32)
    filled = imputer.transform(X)
    assert filled.dtype == np.float32
    np.testing.assert_array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_keep_their_names(fitted, kind):
    _, X, imputer = fitted
    names = list("abcdef")
    frame = pd.DataFrame(X, columns=names, index=[f"r{i}" for i in range(len(X))])
    if kind == "polars":
        frame = pl.DataFrame({name: [None if np.isnan(v) else v for v in X[:, j]] for j, name in enumerate(names)})
    own = PosteriorImputer(effort="fast").set_output(transform=kind)
    found = own.fit_transform(frame)
    assert list(found.columns) == names == list(own.get_feature_names_out())
    np.testing.assert_allclose(found.to_numpy(), imputer.transform(X), rtol=1e-12)
    if kind == "pandas":
        assert list(found.index) == list(frame.index)


def test_indicator_columns_are_those_of_scikit_learn():
    X = gaps(truth(60))
    X[:, 2] = truth(60)[:, 2]
    ours = PosteriorImputer(effort="fast", add_indicator=True).fit(X)
    theirs = SimpleImputer(add_indicator=True).fit(X)
    assert list(ours.get_feature_names_out()) == list(theirs.get_feature_names_out())
    np.testing.assert_array_equal(ours.transform(X)[:, 6:], theirs.transform(X)[:, 6:])


@pytest.mark.parametrize("keep", [False, True])
def test_features_without_any_value(keep):
    X = gaps(truth(60))
    X[:, 3] = np.nan
    imputer = PosteriorImputer(effort="fast", keep_empty_features=keep).fit(X)
    later = np.where(np.arange(6) == 3, 7.0, X)
    if keep:
        assert not imputer.transform(X)[:, 3].any()
        np.testing.assert_array_equal(imputer.transform(later)[:, 3], 7.0)  # observed values stay
        assert imputer.sample(X, 2).shape == (2, 60, 6)
    else:
        assert imputer.transform(later).shape == (60, 5)
        assert list(imputer.get_feature_names_out()) == ["x0", "x1", "x2", "x4", "x5"]
        assert imputer.sample(X, 2).shape == (2, 60, 5)


def test_nothing_but_gaps():
    X = np.full((4, 2), np.nan)
    assert PosteriorImputer().fit_transform(X).shape == (4, 0)
    assert not PosteriorImputer(keep_empty_features=True).fit_transform(X).any()


def test_new_rows_that_are_empty_get_the_middle(fitted):
    _, X, imputer = fitted
    values, std = imputer.impute(np.full((1, 6), np.nan), return_std=True)
    assert (np.abs(values[0] - np.nanmean(X, axis=0)) < 0.5 * np.nanstd(X, axis=0)).all()
    assert (std > 0).all()


def test_rounding_and_bounds_are_for_filled_in_values_only():
    X = gaps(truth(80) / UNITS)
    missing = np.isnan(X)
    names = list("abcdef")
    imputer = PosteriorImputer(effort="fast", round={"a": True, "b": 1}, min=2.5, max=[None, None, None, 2.75, None, 3])
    filled = imputer.fit_transform(pd.DataFrame(X, columns=names))
    np.testing.assert_array_equal(filled[~missing], X[~missing])
    for j, digits in ((0, 0), (1, 1)):
        new = filled[missing[:, j], j]
        assert np.all((np.round(new, digits) == new) | (new == 2.5))
    assert filled[missing].min() >= 2.5
    assert filled[missing[:, 3], 3].max() <= 2.75
    assert filled[missing[:, 5], 5].max() <= 3
    assert filled[missing[:, 4], 4].max() > 3
    assert np.all(imputer.sample(pd.DataFrame(X, columns=names), 3)[:, missing] >= 2.5)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"round": "yes"}, "round='yes' is not a number"),
        ({"round": 1.5}, "not a number of digits"),
        ({"min": [1.0]}, "min has 1 values for 6 features"),
        ({"min": 3, "max": 2}, "min=3 is above max=2"),
        ({"max": {"q": 2}}, "fitted to rows without names"),
        ({"effort": "much"}, "effort='much' is unknown"),
        ({"random_state": "x"}, "is not a seed"),
    ],
)
def test_wrong_settings_are_refused(wrong, message):
    with pytest.raises(InputError, match=message):
        PosteriorImputer(**wrong).fit(gaps(truth(30)))


@pytest.mark.parametrize(
    "column",
    [
        ["a", "b", None],
        pd.Categorical([1, 2, 1]),
        pd.to_datetime(["2020-01-01", "2020-01-02", None]),
    ],
)
def test_columns_of_no_numbers_are_refused_with_a_remedy(column):
    frame = pd.DataFrame({"x": [1.0, None, 3.0], "kind": column})
    with pytest.raises(InputError, match=r"column 'kind' is of type .*SimpleImputer.*ColumnTransformer"):
        PosteriorImputer().fit(frame)
    with pytest.raises(InputError, match="column 'kind'"):
        PosteriorImputer().fit(pl.DataFrame({"x": [1.0, None], "kind": ["a", None]}))


def test_the_remedy_works():
    frame = pd.DataFrame({"x": [1.0, None, 3.0], "y": [2.0, 4.0, None], "kind": pd.Categorical(["a", None, "a"])})
    both = ColumnTransformer(
        [("numbers", PosteriorImputer(), ["x", "y"]), ("rest", SimpleImputer(strategy="most_frequent"), ["kind"])],
        verbose_feature_names_out=False,
    )
    found = both.set_output(transform="pandas").fit_transform(frame)
    assert list(found.columns) == ["x", "y", "kind"]
    assert not found.isna().to_numpy().any()


def test_whole_numbers_with_gaps_and_objects_of_numbers_are_numbers():
    frame = pd.DataFrame(
        {"a": pd.array([1, None, 3], dtype="Int64"), "b": pd.Series([1, None, 2.5], dtype=object), "c": [1, 2, 3]}
    )
    assert np.isfinite(PosteriorImputer().fit_transform(frame)).all()


def test_draws_have_the_deviations_and_the_correlations_of_the_posterior():
    """Two features that are equal but for a little noise: drawn together, they deviate together."""
    rng = np.random.default_rng(3)
    z = rng.standard_normal((400, 3))
    X = np.column_stack([z[:, 0], z[:, 1], z[:, 1] + 0.1 * z[:, 2]])
    X[:100, 1:] = np.nan
    imputer = PosteriorImputer().fit(X)
    mean, std = imputer.impute(X[:100], return_std=True)
    draws = imputer.sample(X[:100], 200, random_state=1)
    np.testing.assert_array_equal(draws[:, :, 0], np.broadcast_to(X[:100, 0], (200, 100)))
    gap = draws[:, :, 1:] - mean[:, 1:]
    np.testing.assert_allclose(gap.std(axis=0) / std[:, 1:], 1.0, atol=0.25)
    np.testing.assert_allclose(gap.mean(axis=0), 0.0, atol=0.35)
    assert np.corrcoef(gap[:, :, 0].ravel(), gap[:, :, 1].ravel())[0, 1] > 0.9


def test_draws_follow_their_seed(fitted):
    _, X, imputer = fitted
    np.testing.assert_array_equal(imputer.sample(X, 2, random_state=4), imputer.sample(X, 2, random_state=4))
    assert not np.array_equal(imputer.sample(X, 1, random_state=4), imputer.sample(X, 1, random_state=5))
    with pytest.raises(InputError, match="n=0 is not a number"):
        imputer.sample(X, 0)


def test_multiple_imputation_finds_the_mean_that_complete_rows_do_not():
    """Values are missing more often where another feature is high: the mean of what is left is wrong."""
    rng = np.random.default_rng(7)
    x = rng.standard_normal(500)
    y = x + 0.3 * rng.standard_normal(500)
    gone = rng.random(500) < 1 / (1 + np.exp(-3 * x))
    X = np.column_stack([x, np.where(gone, np.nan, y)])
    draws = PosteriorImputer().fit(X).sample(X, 20)
    pooled = sc.pool(draws[:, :, 1].mean(axis=1), draws[:, :, 1].var(axis=1, ddof=1) / 500)
    assert abs(np.nanmean(X[:, 1]) - y.mean()) > 0.3
    assert abs(pooled.estimate - y.mean()) < 3 * np.sqrt(pooled.variance)
    assert 0 < pooled.missing_information < 0.5


def test_masked_arrays_keep_their_gaps():
    X = truth(40)
    hidden = np.isnan(gaps(X))
    masked = np.ma.MaskedArray(X, mask=hidden)
    found = PosteriorImputer(effort="fast").fit(masked).transform(masked)
    np.testing.assert_array_equal(found, PosteriorImputer(effort="fast").fit_transform(np.where(hidden, np.nan, X)))
