"""Columns chosen by name: labels, features, and those left out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from simcomplete.datasets import read_table
from simcomplete.errors import InputError

FRAME = pd.DataFrame({"user": [7, 8], "a": [1.0, np.nan], "kind": ["x", "y"], "b": [3.0, 4.0]})


@pytest.fixture(params=["csv", "parquet", "arrow"])
def path(request, tmp_path):
    path = tmp_path / f"t.{request.param}"
    if request.param == "csv":
        FRAME.to_csv(path, index=False)
    elif request.param == "parquet":
        FRAME.to_parquet(path)
    else:
        FRAME.to_feather(path)
    return path


def test_an_id_is_the_label_and_no_feature(path):
    table = read_table(path, id="user", drop="kind")
    assert (table.labels, table.columns) == (["7", "8"], ["a", "b"])
    assert_array_equal(table.values, [[1, 3], [np.nan, 4]])


def test_text_in_any_column_can_be_the_id(path):
    table = read_table(path, id="kind")
    assert (table.labels, table.columns) == (["x", "y"], ["user", "a", "b"])


def test_chosen_columns_in_their_order(path):
    table = read_table(path, columns=["b", "user"])
    assert table.columns == ["b", "user"]
    assert_array_equal(table.values, [[3, 7], [4, 8]])


def test_text_that_was_dropped_is_no_label(path):
    assert read_table(path, columns="a", drop="kind").labels is None


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"id": "usr"}, ["id='usr'", "did you mean 'user'?", "there are 4: 'user', 'a', 'kind', 'b'"]),
        ({"drop": ["kind", "c"]}, ["drop='c'"]),
        ({"columns": ["a", "c"]}, ["columns='c'"]),
        ({"columns": "a", "id": "a"}, ["no column is left"]),
    ],
)
def test_columns_that_are_not_there(path, options, words):
    with pytest.raises(InputError) as caught:
        read_table(path, **options)
    for word in (path.name, *words):
        assert word in str(caught.value)


def test_equal_names_are_refused_where_they_matter(tmp_path):
    (tmp_path / "t.csv").write_text("a,a,b\n1,2,3\n")
    assert read_table(tmp_path / "t.csv").values.shape == (1, 3)
    with pytest.raises(InputError, match="names 2 columns"):
        read_table(tmp_path / "t.csv", id="a")


def test_columns_without_names_are_counted_from_1(tmp_path):
    np.save(tmp_path / "x.npy", [[7.0, 1.5, 2.5], [12345678.0, 3.5, 4.5]])
    (tmp_path / "x.csv").write_text("007,1.5,2.5\n12345678,3.5,4.5\n")
    for name, first in (("x.npy", "7"), ("x.csv", "007")):
        table = read_table(tmp_path / name, id="1", drop="3")
        assert table.labels == [first, "12345678"]
        assert_array_equal(table.values, [[1.5], [3.5]])
