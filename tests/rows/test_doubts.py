"""Columns that number the rows are noticed; ordinary features of whole numbers are not."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._rows.doubts import doubtful_columns
from simcomplete.errors import InputWarning

RNG = np.random.default_rng(0)
X = RNG.random((40, 4))


def frame(name, values, make=pd.DataFrame):
    return make({**{f"f{i}": X[: len(values), i] for i in range(4)}, name: values})


def reasons(values, name="x", more=0):
    columns = np.column_stack([np.asarray(values, dtype=float), RNG.random((len(values), more))])
    return [why for _, why in doubtful_columns(columns, [name] + [f"f{i}" for i in range(more)])]


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_one_warning_names_the_column_and_the_line(make):
    table = frame("user_id", RNG.integers(1, 4, size=40), make)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        sc.complete(table, method="smcnn")
    assert [(one.category, one.filename) for one in seen] == [(InputWarning, __file__)]
    assert "column 'user_id' has the name of an id" in str(seen[0].message)
    assert "Use id='user_id' if it names the rows" in str(seen[0].message)
    assert "id=False if it is a feature" in str(seen[0].message)


def test_where_another_column_is_the_id_the_advice_is_not_to_give_that_up():
    table = frame("user_id", RNG.integers(1, 4, size=40)).assign(name=[f"row {i}" for i in range(40)])
    with pytest.warns(InputWarning, match="'user_id' has the name of an id") as seen:
        sc.complete(table, method="smcnn", id="name")
    assert str(seen[0].message).endswith("leave it out if it is neither")


def test_several_columns_are_in_one_warning():
    table = frame("id", np.arange(40)).assign(order_id=1, n=np.arange(40))
    with pytest.warns(InputWarning, match=r"column 'id' .*; column 'order_id' .*; column 'n' rises by one") as seen:
        sc.complete(table, method="smcnn")
    assert len(seen) == 1


def test_who_has_said_is_not_asked():
    table = frame("n", np.arange(40))
    for id in ("n", False):
        assert sc.complete(table, method="smcnn", id=id).n == 40
    assert sc.complete(table.to_numpy(), method="smcnn").n == 40  # an array has no columns to look at


def test_overlap_similarities_ask_too():
    with pytest.warns(InputWarning, match="column 'n' rises by one from row to row"):
        sc.overlap_similarity(frame("n", np.arange(40)))
    assert list(sc.overlap_similarity(frame("n", np.arange(40)), id="n").columns) == list(range(40))


@pytest.mark.parametrize("start", [0, 1, 1000, 1950])
def test_what_rises_by_one(start):
    assert reasons(np.arange(start, start + 10)) == ["rises by one from row to row"]
    assert reasons(np.arange(start, start + 9)) == []  # a small table: levels 1 to 9 of a dose
    assert reasons(np.arange(start, start + 40)[::-1]) == ["has whole numbers that are all different"]


def test_numbers_that_are_all_different_where_coincidences_were_to_be_expected():
    assert reasons(RNG.permutation(600)[:400]) == ["has whole numbers that are all different"]
    assert reasons(RNG.permutation(10**6)[:400]) == []  # 0.08 coincidences: as incomes or populations
    assert reasons(np.r_[RNG.permutation(400), 7]) == []


@pytest.mark.parametrize(
    "values",
    [
        RNG.integers(256, size=40),  # a pixel
        RNG.integers(1950, 2020, size=60),  # years that come again
        RNG.integers(0, 100, size=30),
        np.full(30, 3),
        np.arange(40) + 0.5,
        np.r_[np.nan, np.arange(39)],
        np.arange(0, 400, 10),  # steps of ten
    ],
)
def test_ordinary_features(values):
    assert reasons(values) == []


def test_images_are_ordinary(digits):
    assert doubtful_columns(digits.astype(float), list(range(digits.shape[1]))) == []
    for n in (5, 20, 60, 200):
        pixels = RNG.integers(256, size=(n, 784)).astype(float)
        assert doubtful_columns(pixels, list(range(784))) == []


@settings(deadline=None, max_examples=50)
@given(st.integers(2, 200), st.integers(1, 10**4), st.integers(0, 2**32 - 1))
def test_chance_is_not_doubted(n, reach, seed):
    X = np.random.default_rng(seed).integers(reach, size=(n, 20)).astype(float)
    found = doubtful_columns(X, list(range(20)))
    assert found == [] or (n >= 10 and all("rises" in why for _, why in found))


@pytest.mark.parametrize(
    "name", ["id", "ID", "Index", "key", "user_id", "userId", "Customer ID", "id_user", "Unnamed: 0"]
)
def test_names_of_ids(name):
    assert reasons([5, 5, 3], name) == ["has the name of an id"]
    assert reasons([5.5, 5.0, 3.0], name) == []  # no whole numbers


@pytest.mark.parametrize("name", ["humid", "price_index", "keyboard", "idle", "monkey", "grid", "width", "key_rate"])
def test_names_of_features(name):
    assert reasons([5, 5, 3], name) == []


def test_rows_behind_those_looked_at_first_are_looked_at_too():
    values = np.arange(400.0)
    values[350] = 7
    assert reasons(values) == []
    assert reasons(np.r_[np.arange(399.0), 1e5 + 0.5]) == []


def test_one_feature_is_asked_about():
    with pytest.warns(InputWarning, match="there is one feature: the cosine of two numbers is 1"):
        sc.complete(pd.DataFrame({"a": X[:, 0]}), method="smcnn")


def test_labels_of_a_file_that_come_again(tmp_path):
    lines = [f"{'cat' if i % 2 else 'dog'}{i // 30},{i % 7},{i % 5 + 1}" for i in range(40)]
    (tmp_path / "t.csv").write_text("kind,a,b\n" + "\n".join(lines))
    table = sc.datasets.read_table(tmp_path / "t.csv")
    with pytest.warns(InputWarning, match=r"'dog0' is the label of 15 rows in column 'kind'.*id=.*drop='kind'"):
        sc.complete(table, method="smcnn")
