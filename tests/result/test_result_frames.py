"""Results as frames, and rows asked for by label."""

import copy
import pickle
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import simcomplete as sc
from simcomplete.errors import InputError, MissingExtraError

NAMES = ["ape", "bee", "cat", "dog"]


@pytest.fixture(scope="module")
def done():
    rng = np.random.default_rng(0)
    P = pd.DataFrame(rng.random((50, 5)), index=[f"p{i}" for i in range(50)])
    Q = pd.DataFrame(np.where(rng.random((4, 5)) < 0.4, np.nan, rng.random((4, 5))), index=NAMES)
    Q.loc["cat"] = np.nan
    return sc.complete(P, Q, method="posterior", progress=False)


def plain(done, **facts):
    return replace(done, labels=None, **facts)


def test_the_whole_matrix(done):
    S = done.to_pandas()
    assert S.shape == (54, 54)
    assert list(S.index) == list(S.columns) == done.labels
    np.testing.assert_array_equal(S, done.similarity())


@pytest.mark.parametrize("rows", ["queries", ["dog", "ape"], ("queries", [3, 0]), [53, 50], slice(50, 53), "bee"])
def test_a_block(done, rows):
    block = done.to_frame(rows, "candidates", clip=True)
    expected = done.similarity(rows, "candidates", clip=True)
    np.testing.assert_array_equal(block, expected)
    positions = np.arange(54)[[done.labels.index(label) for label in block.index]]
    np.testing.assert_array_equal(done.similarity(positions, "candidates", clip=True), expected)
    assert list(block.columns) == done.labels[:50]


def test_the_kind_that_came_in(done):
    assert isinstance(replace(done, frame="pandas").to_frame("queries"), pd.DataFrame)
    polars, arrow = (replace(done, frame=kind).to_frame("queries", "candidates") for kind in ("polars", "pyarrow"))
    assert isinstance(polars, pl.DataFrame)
    assert isinstance(arrow, pa.Table)
    assert polars.columns == arrow.column_names == ["row", *done.labels[:50]]
    assert polars["row"].to_list() == arrow["row"].to_pylist() == NAMES
    np.testing.assert_array_equal(polars.drop("row").to_numpy(), done.similarity("queries", "candidates"))
    np.testing.assert_array_equal(arrow["p7"], done.similarity("queries", "candidates")[:, 7])
    assert isinstance(replace(done, frame="polars").search(2).to_frame(), pl.DataFrame)
    assert isinstance(replace(done, frame="pyarrow").search(2).to_frame(), pa.Table)
    assert isinstance(replace(done, frame="polars").to_pandas("queries"), pd.DataFrame)


def test_without_labels_rows_are_numbered(done):
    block = plain(done).to_frame("queries", [2, 1])
    assert list(block.index) == [50, 51, 52, 53]
    assert list(block.columns) == [2, 1]
    assert plain(done).to_polars([50], [3]).columns == ["row", "3"]
    near = plain(done).search(2).to_frame()
    assert near["query"].tolist() == [0, 0, 1, 1, 3, 3]  # among the queries
    assert near["candidate"].tolist() == done.search(2).ids[[0, 1, 3]].ravel().tolist()
    assert plain(done).search(1, "candidates").to_frame()["query"].tolist() == list(range(50))


def test_labels_that_polars_cannot_hold(done):
    labels = ["row", *done.labels[1:52], "bee", "row"]
    twice = replace(done, labels=labels)
    with pytest.raises(InputError, match=r"'row' is the label of several rows \(2 labels are\).*to_pandas"):
        twice.to_polars()
    assert twice.to_polars("queries", "candidates").columns[:2] == ["row_", "row"]
    assert twice.to_pandas().shape == (54, 54)


def test_neighbours(done):
    found = done.search(3)
    ids, scores = found
    np.testing.assert_array_equal(ids, found.ids)
    np.testing.assert_array_equal(scores, found[1])
    table = found.to_frame(0.8)
    assert list(table.columns) == ["query", "rank", "candidate", "score", "low", "high"]
    assert table["query"].tolist() == ["ape"] * 3 + ["bee"] * 3 + ["dog"] * 3  # nothing is observed of the cat
    assert table["rank"].tolist() == [1, 2, 3] * 3
    low, high = done.interval(0.8)
    for line in table.itertuples():
        row, col = NAMES.index(line.query), done.labels.index(line.candidate)
        assert line.score == pytest.approx(done.similarity(line.query, line.candidate)[0, 0], abs=1e-12)
        assert (line.low, line.high) == pytest.approx((low[row, col], high[row, col]), abs=1e-12)


def test_neighbours_of_all_rows():
    rng = np.random.default_rng(3)
    X = np.where(rng.random((60, 6)) < 0.3, np.nan, rng.random((60, 6)))
    done = sc.complete(X, method="posterior", progress=False)
    table = done.search(4).to_frame()
    low, _ = done.interval(0.9)
    expected = low[table["query"], table["candidate"]]
    np.testing.assert_allclose(table["low"], expected, atol=1e-12)


def test_no_intervals_no_columns():
    done = sc.complete(np.eye(4) + 1, method="overlap")
    assert list(done.search(2).to_pandas().columns) == ["query", "rank", "candidate", "score"]
    assert done.search(2).to_polars().shape == (8, 4)


def test_copies_keep_what_they_need(done):
    found = done.search(2)
    for again in (copy.copy(found), copy.deepcopy(found), pickle.loads(pickle.dumps(found))):
        pd.testing.assert_frame_equal(again.to_frame(), found.to_frame())
    assert len(pickle.dumps(found)) < 20_000  # without the matrix
    assert found._replace(ids=found.ids).to_frame()["query"].tolist()[:3] == [0, 0, 1]


def test_labels_and_frame_are_saved(done, tmp_path):
    replace(done, frame="polars").save(tmp_path / "done")
    again = sc.load(tmp_path / "done")
    assert (again.labels, again.frame) == (done.labels, "polars")
    assert again.search(1, "dog").to_frame()["query"].to_list() == ["dog"]


def test_numbers_are_positions_and_text_is_labels(done):
    numbered = replace(done, labels=[str(100 - i) for i in range(54)])
    np.testing.assert_array_equal(numbered.similarity("100", "99"), done.similarity(0, 1))
    np.testing.assert_array_equal(numbered.similarity(3), done.similarity(3))
    np.testing.assert_array_equal(numbered.search(2, "50").ids, done.search(2, 50).ids)
    with pytest.raises(InputError, match="a number is a position: the row labelled 100 is '100', as text"):
        numbered.similarity(100)
    with pytest.raises(InputError, match=r"outside the 54 rows; use 0 to 53, or -54 to -1 from the end$"):
        numbered.similarity(101)


def test_a_row_that_is_labelled_as_a_group(done):
    named = replace(done, labels=[*done.labels[:53], "queries"])
    assert len(named.similarity("queries")) == 4
    np.testing.assert_array_equal(named.similarity(["queries"]), done.similarity([53]))


def test_a_label_of_two_rows(done):
    twice = replace(done, labels=["ape", *done.labels[1:]])
    with pytest.raises(InputError, match=r"or a label within a group: \('candidates', \['ape'\]\)"):
        twice.similarity(["ape", "bee"])
    np.testing.assert_array_equal(twice.similarity(("queries", ["ape"])), done.similarity([50]))


def test_intervals_by_label(done):
    low, high = done.interval(0.9, "ape", ["p3", "p1"])
    np.testing.assert_allclose(low[0], done.interval(0.9)[0][0, [3, 1]], atol=1e-14)
    assert (high > low).all()


@pytest.mark.parametrize("name", ["pandas", "polars", "pyarrow"])
def test_what_is_not_installed(done, name, monkeypatch):
    monkeypatch.setitem(sys.modules, name, None)
    for result in (replace(done, frame=name), replace(done, frame=name).search(1)):
        with pytest.raises(MissingExtraError, match=f"needs the package '{name}'"):
            result.to_frame()


def test_nothing_is_imported_unasked():
    code = (
        "import sys, numpy as np, simcomplete as sc\n"
        "done = sc.complete(np.eye(4), method='overlap'); done.search(1); repr(done); done._repr_html_()\n"
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'matplotlib') if m in sys.modules])"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
