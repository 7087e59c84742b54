"""Centres and scales of features: known answers, extremes, and the same wherever the rows lie."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcomplete._rows.budget import working_memory
from simcomplete._rows.derived import ChangedRows
from simcomplete._rows.features import column_quantiles, feature_sums, merge_sums
from simcomplete._rows.scaling import NORMAL_IQR, FeatureScaling, learn_scaling, scaling_from_dict
from simcomplete._rows.table import HeldRows
from simcomplete._rows.validate import as_rows
from simcomplete.errors import InputError, MemoryLimitError

CALM = settings(deadline=None, max_examples=30, derandomize=True)
WORDS = [("mean", "sd"), ("median", "robust"), ("mean", None), (None, "sd"), (None, "robust"), ("median", "sd")]


def table(seed, n=60, d=4, missing=0.3):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * 10.0 ** rng.integers(-3, 4, d) + rng.normal(size=d)
    return np.where(rng.random(X.shape) < missing, np.nan, X)


@CALM
@given(seed=st.integers(0, 10**6), cut=st.integers(1, 59), size=st.sampled_from([1e-300, 1.0, 1e300]))
def test_sums_are_those_of_numpy_in_any_parts(seed, cut, size):
    X = table(seed)
    X[0] = 1.0  # no feature is missing throughout
    sums = merge_sums(feature_sums(X[:cut] * size), feature_sums(X[cut:] * size))
    np.testing.assert_allclose(sums.middle / size, np.nanmean(X, axis=0), rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(sums.sd / size, np.nanstd(X, axis=0), rtol=1e-10)


def test_parts_of_very_different_size_are_merged():
    small, large = np.full((3, 1), 1e-300), np.array([[1e300], [3e300]])
    for a, b in ((small, large), (large, small)):
        sums = merge_sums(feature_sums(a), feature_sums(b))
        np.testing.assert_allclose(sums.middle, 0.8e300, rtol=1e-14)
        np.testing.assert_allclose(sums.sd, np.sqrt(10 / 5 - 0.64) * 1e300, rtol=1e-14)


@CALM
@given(seed=st.integers(0, 10**6))
def test_quantiles_are_those_of_numpy(seed):
    X = table(seed, n=23)
    X[0] = 1.0
    shares = (0.25, 0.5, 0.75)
    np.testing.assert_allclose(column_quantiles(X.copy(), shares), np.nanquantile(X, shares, axis=0), rtol=1e-12)


@pytest.mark.parametrize(("center", "scale"), WORDS)
def test_known_answers(center, scale):
    X = np.array(
        [[1.0, 7.0, np.nan, 0.1], [2.0, 7.0, np.nan, 0.1], [4.0, np.nan, np.nan, 0.1], [9.0, 7.0, np.nan, 0.1]]
    )
    found = learn_scaling(HeldRows(X), center, scale)
    middle = {"mean": 4.0, "median": 3.0, None: 0.0}[center]
    spread = {"sd": np.sqrt(9.5), "robust": (5.25 - 1.75) / NORMAL_IQR, None: 1.0}[scale]
    constant = [7.0, 0.0, 0.1] if center else [0.0, 0.0, 0.0]
    np.testing.assert_allclose(found.offset, [middle, *constant], rtol=1e-15)
    np.testing.assert_allclose(found.divisor, [spread, 1.0, 1.0, 1.0], rtol=1e-15)
    if center:
        assert not found(X)[:, 3].any()  # exactly: a mean of equal numbers is not exact


def test_quartiles_that_are_equal_leave_the_standard_deviation():
    X = np.zeros((20, 1))
    X[:3, 0] = [1.0, 2.0, 3.0]
    assert learn_scaling(HeldRows(X), None, "robust").divisor == pytest.approx(X.std())


def test_rounding_is_not_made_large():
    X = np.random.default_rng(0).normal(size=(50, 2))
    X[:, 1] = 0.3
    X[::2, 1] = 0.1 + 0.2  # 0.30000000000000004
    assert np.abs(learn_scaling(HeldRows(X), "mean", "sd")(X)[:, 1]).max() < 1e-15


@pytest.mark.parametrize(("center", "scale"), WORDS)
def test_the_same_wherever_rows_lie(tmp_path, center, scale):
    da = pytest.importorskip("dask.array")
    X = table(3, n=500, missing=0)
    np.save(tmp_path / "x.npy", X)
    known = learn_scaling(HeldRows(X), center, scale)
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    for rows in (tmp_path / "x.npy", mapped, da.from_array(X, chunks=(70, 4)), np.asfortranarray(X)):
        with working_memory(2000):  # many blocks, and columns one by one
            given_rows = as_rows(rows)
            found = learn_scaling(given_rows, center, scale)
            changed = found.of(given_rows)
        np.testing.assert_allclose(found.offset, known.offset, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(found.divisor, known.divisor, rtol=1e-12)
        np.testing.assert_allclose(changed[3:9, :], known(X)[3:9], atol=1e-11)
        np.testing.assert_allclose(changed.take(np.array([7, 0])), known(X)[[7, 0]], atol=1e-11)
        assert isinstance(changed, ChangedRows) == (changed.held is None)


def test_rows_outside_memory_stay_there(tmp_path):
    np.save(tmp_path / "x.npy", table(4))
    mapped = as_rows(np.load(tmp_path / "x.npy", mmap_mode="r"))
    assert learn_scaling(mapped, "mean", "sd").of(mapped).held is None


def test_float32_stays_float32():
    X = HeldRows(table(5).astype(np.float32))
    assert learn_scaling(X, "mean", "sd").of(X).dtype == np.float32


def test_what_cannot_be_used(monkeypatch):
    X = HeldRows(table(6))
    for center, scale, words in (("middle", None, "center='middle' is unknown"), (None, 3, "scale=3 is unknown")):
        with pytest.raises(InputError, match=words):
            learn_scaling(X, center, scale)
    tiny = learn_scaling(HeldRows(np.array([[1e-300], [3e-300]])), "mean", "sd")
    with pytest.raises(InputError, match=r"feature 0 has the value 1e\+300, which is beyond all numbers"):
        tiny(np.array([[2e-300], [1e300]]))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000")
    with pytest.raises(MemoryLimitError, match="use center='mean' and scale='sd'"):
        learn_scaling(HeldRows(np.ones((100, 1))), "median", None)


def test_there_and_back_as_plain_values():
    known = learn_scaling(HeldRows(table(7)), "median", "robust")
    back = scaling_from_dict(known.as_dict())
    assert isinstance(back, FeatureScaling)
    np.testing.assert_array_equal(back.offset, known.offset)
    for change in ({"divisor": [0.0] * 4}, {"divisor": [1.0]}, {"center": "middle"}):
        with pytest.raises(InputError):
            scaling_from_dict({**known.as_dict(), **change})
