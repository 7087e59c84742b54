"""Parquet files, from pandas, polars and Arrow."""

from __future__ import annotations

import datetime
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from numpy.testing import assert_array_equal

from simcomplete.datasets import read_table
from simcomplete.errors import FileFormatError, MemoryLimitError

NAN = np.nan


@pytest.fixture
def path(tmp_path):
    return tmp_path / "t.parquet"


def test_from_polars_with_nulls_and_labels(path):
    pl.DataFrame({"a": [1, None], "name": ["x", None], "b": [0.5, NAN]}).write_parquet(path)
    table = read_table(path)
    assert_array_equal(table.values, [[1, 0.5], [NAN, NAN]])
    assert table.labels == ["x", ""]
    assert table.columns == ["a", "b"]


@pytest.mark.parametrize(
    ("index", "labels"),
    [
        (None, None),
        (pd.Index([7, 9]), ["7", "9"]),
        (pd.Index([7, 9], name="a"), ["7", "9"]),
        (pd.Index(["x", "y"], name="key"), ["x", "y"]),
        (pd.MultiIndex.from_tuples([("x", 1), ("y", 2)]), ["x/1", "y/2"]),
    ],
)
def test_the_index_of_a_pandas_frame_labels_the_rows(path, index, labels):
    pd.DataFrame({"b": [1.0, NAN], "c": [3.0, 4.0]}, index=index).to_parquet(path)
    table = read_table(path)
    assert_array_equal(table.values, [[1, 3], [NAN, 4]])
    assert table.labels == labels
    assert table.columns == ["b", "c"]


def test_types(path):
    single = pa.array([1, None], pa.float32())
    pq.write_table(pa.table({"a": single, "b": single}), path)
    assert read_table(path).values.dtype == np.float32
    columns = {
        "single": single,
        "flag": pa.array([True, None]),
        "money": pa.array([Decimal("1.50"), None]),
        "count": pa.array([2**63 + 1, None], pa.uint64()),
        "nothing": pa.nulls(2),
        "category": pa.array(["u", "v"]).dictionary_encode(),
    }
    pq.write_table(pa.table(columns), path)
    table = read_table(path)
    assert_array_equal(table.values, [[1, 1, 1.5, 2.0**63, NAN], [NAN] * 5])
    assert table.values.dtype == np.float64
    assert table.labels == ["u", "v"]


def test_columns_of_the_same_name(path):
    pq.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), path)
    assert_array_equal(read_table(path).values, [[1, 2]])


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"name": ["x"], "a": [1.0], "city": ["Rome"]}, ["'city'", "string"]),
        ({"a": [1.0], "day": [datetime.date(2020, 1, 1)]}, ["'day'", "date32"]),
        ({"vector": [[1.0, 2.0]]}, ["'vector'", "list"]),
        ({"name": ["x"]}, ["0 columns of numbers"]),
        ({"a": pa.array([], pa.float64())}, ["0 rows"]),
    ],
)
def test_not_numbers(path, columns, words):
    pq.write_table(pa.table(columns), path)
    with pytest.raises(FileFormatError) as caught:
        read_table(path)
    for word in [path.name, *words]:
        assert word in str(caught.value)


@pytest.mark.parametrize("keep", [1, 4, 200, -1])
def test_truncated(path, keep):
    pq.write_table(pa.table({"a": np.arange(100.0)}), path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(FileFormatError, match="truncated"):
        read_table(path)


def test_foreign(path):
    path.write_text("a,b\n1,2\n3,4\n5,6\n")
    with pytest.raises(FileFormatError, match="not a Parquet file"):
        read_table(path)


def test_repeated_values_that_would_not_fit(path, monkeypatch):
    pq.write_table(pa.table({"a": np.zeros(10**6)}), path)
    assert path.stat().st_size < 10**5
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1e6")
    with pytest.raises(MemoryLimitError, match="1000000 cells"):
        read_table(path)
