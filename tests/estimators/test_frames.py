"""Frames in, frames out."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import simcomplete as sc
from simcomplete.estimators import SMCNN, SimilarityCompleter


@pytest.fixture(scope="module")
def frame(digits):
    X = sc.masks.apply(digits[:30, 20:28], sc.masks.random((30, 8), missing=0.25))
    return pd.DataFrame(X, index=[f"r{i}" for i in range(30)], columns=[f"c{j}" for j in range(8)])


def test_names_come_from_the_frame(frame):
    model = SMCNN(rank=3).fit(frame)
    assert list(model.feature_names_in_) == list(frame.columns)
    assert list(model.get_feature_names_out()) == ["smcnn0", "smcnn1", "smcnn2"]
    assert model.completion_.labels == list(frame.index)
    assert list(SimilarityCompleter(rank=1).fit(frame).get_feature_names_out()) == ["similaritycompleter0"]


def test_pandas_output(frame):
    model = SMCNN(rank=3).set_output(transform="pandas")
    V = model.fit_transform(frame)
    assert isinstance(V, pd.DataFrame)
    assert list(V.index) == list(frame.index)
    assert list(V.columns) == list(model.get_feature_names_out())
    assert np.allclose(model.transform(frame), V)
    assert isinstance(model.factor_, np.ndarray)


def test_polars_output(frame):
    table = pl.from_pandas(frame)
    model = SMCNN(rank=3).set_output(transform="polars")
    V = model.fit_transform(table)
    assert isinstance(V, pl.DataFrame)
    assert V.columns == ["smcnn0", "smcnn1", "smcnn2"]
    assert np.allclose(model.transform(table), V)
    assert np.allclose(V.to_numpy(), SMCNN(rank=3).fit_transform(frame))


def test_nulls_of_nullable_columns_are_missing(frame):
    model = SMCNN(rank=3)
    expected = model.fit_transform(frame)
    assert np.allclose(model.fit_transform(frame.convert_dtypes()), expected)
    assert np.allclose(model.fit_transform(pl.from_pandas(frame).fill_nan(None)), expected)


def test_columns_in_another_order_are_refused(frame):
    model = SMCNN(rank=3).fit(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.transform(frame[frame.columns[::-1]])
