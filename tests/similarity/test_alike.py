"""Rows whose cosines are all about 1 are noticed, ordinary data are not."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets

import simcomplete as sc
from simcomplete._method.given import notice_of_alike_rows, problem_of_rows
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputWarning


def notice(X, Q=None, measure=None):
    return notice_of_alike_rows(problem_of_rows(X, Q, measure or Measure(), False))


@pytest.fixture
def assay():
    """Positive features far from 0, as of log intensities."""
    rng = np.random.default_rng(0)
    return rng.normal(25, 3, size=40) + rng.normal(size=(80, 40))


def test_the_warning_says_why_and_what_to_do(assay):
    with pytest.warns(
        InputWarning, match=r"half of their cosines are above 0\.99\d, 95 percent above.*center=.*scale="
    ) as seen:
        sc.complete(assay, method="smcnn")
    assert [one.filename for one in seen] == [__file__]


def test_with_queries_missing_values_and_frames(assay):
    hidden = np.where(np.random.default_rng(1).random(assay.shape) < 0.4, np.nan, assay)
    assert notice(assay, hidden) is not None
    assert notice(hidden) is not None
    assert notice(pd.DataFrame(hidden)) is not None
    assert notice(assay.astype(np.float32)) is not None


def test_one_large_feature_makes_rows_alike():
    assert notice(datasets.load_wine().data) is not None  # proline, in the hundreds
    assert notice(datasets.load_breast_cancer().data) is not None  # areas


@pytest.mark.parametrize("name", ["iris", "digits", "diabetes"])
def test_ordinary_data(name):
    assert notice(getattr(datasets, f"load_{name}")().data) is None


def test_ordinary_random_data():
    rng = np.random.default_rng(0)
    hidden = np.where(rng.random((100, 30)) < 0.95, np.nan, rng.integers(1, 6, size=(100, 30)))  # ratings, most missing
    for X in (rng.random((50, 30)), rng.normal(size=(50, 30)), rng.exponential(size=(50, 30)), hidden):
        assert notice(X) is None


def test_where_it_does_not_apply(assay):
    assert notice(assay, measure=Measure("pearson")) is None
    assert notice(assay - assay.mean(axis=0)) is None
    assert notice(assay[:9]) is None  # too few rows to say
    assert notice(assay[:, :1]) is None


def test_degenerate_rows_raise_and_warn_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for X in (np.zeros((20, 3)), np.full((20, 3), np.nan), np.full((20, 3), 1e300) * [1, -1, 1], np.eye(20)):
            notice(X)


def test_the_sample_is_from_all_rows(assay):
    mixed = np.vstack([np.tile(assay, (5, 1)), np.random.default_rng(0).normal(size=(600, 40))])
    assert notice(mixed) is None
