"""Ids are not features: labels by column, index level, coordinate or sequence, and first columns of text."""

import datetime

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr

import simcomplete as sc
from simcomplete.errors import InputError

RNG = np.random.default_rng(0)
P = RNG.random((12, 4)) * [1, 2, 3, 4]
Q = np.where(RNG.random((3, 4)) < 0.4, np.nan, P[:3] + 0.1)
NAMES = ["w", "x", "y", "z"]
MAKE = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}
EXPECTED = sc.complete(P, Q, method="smcnn").similarity()
IDS, ASKED = [f"u{i}" for i in range(12)], ["a", "b", "c"]


def columns(A):
    return dict(zip(NAMES, A.T, strict=True))


@pytest.fixture(params=MAKE)
def make(request):
    return MAKE[request.param]


def test_id_names_the_column_of_labels(make):
    P_frame = make({**columns(P), "user_id": list(range(100, 112))})
    Q_frame = make({"user_id": [7, 8, 9], **columns(Q)})
    done = sc.complete(P_frame, Q_frame, id="user_id", method="smcnn")
    np.testing.assert_array_equal(done.similarity(), EXPECTED)
    assert done.labels == [*map(str, range(100, 112)), "7", "8", "9"]
    np.testing.assert_allclose(done.similarity("8", ["100", "103"]), EXPECTED[[13]][:, [0, 3]], rtol=1e-14)
    assert sc.complete(P_frame, id="user_id", method="smcnn").labels == [*map(str, range(100, 112))]


def test_a_first_column_of_text_holds_the_labels(make):
    P_frame, Q_frame = make({"name": IDS, **columns(P)}), make({"name": ASKED, **columns(Q)})
    done = sc.complete(P_frame, Q_frame, method="smcnn")
    np.testing.assert_array_equal(done.similarity(), EXPECTED)
    assert done.labels == IDS + ASKED
    assert sc.complete(P_frame, Q, method="smcnn").labels == [*IDS, "0", "1", "2"]  # the other side is numbered


def test_text_that_repeats_is_a_question(make):
    with pytest.raises(InputError, match=r"column 'sex', the first one and of text.* it has 'm' 6 times, 'f' 6 times"):
        sc.complete(make({"sex": ["m", "f"] * 6, **columns(P)}))
    with pytest.raises(InputError, match="it has nothing for row 3"):
        sc.complete(make({"name": [*IDS[:3], None, *IDS[4:]], **columns(P)}))


def test_text_that_could_be_numbers_is_a_question(make):
    frame = make({"zip": [f"0{i}" for i in range(12)], **columns(P)})
    with pytest.raises(
        InputError, match=r"'zip'.* holds numbers as text, such as '00'.* use id='zip' if it names the rows"
    ):
        sc.complete(frame)
    assert sc.complete(frame, id="zip", method="smcnn").labels[:2] == ["00", "01"]


def test_id_false_takes_no_column(make):
    with pytest.raises(InputError, match=r"column 'name'.*text such as 'u0'.*use id='name' if it names the rows"):
        sc.complete(make({"name": IDS, **columns(P)}), id=False)


def test_the_index_of_pandas():
    frame = pd.DataFrame(columns(P), index=pd.Index(IDS, name="user"))
    assert sc.complete(frame, method="smcnn").labels == IDS
    assert sc.complete(frame, method="smcnn", id="user").labels == IDS
    levels = frame.set_index(pd.MultiIndex.from_arrays([["g"] * 12, IDS], names=["group", "user"]))
    assert sc.complete(levels, method="smcnn", id="user").labels == IDS
    with pytest.raises(InputError, match="id='group' has 'g' 12 times; a label must name one row"):
        sc.complete(levels, id="group")
    # Rows that were picked keep their numbers, which name nothing: then text in first place does.
    picked = pd.DataFrame({"name": IDS, **columns(P)})[::2]
    assert sc.complete(picked, method="smcnn").labels == IDS[::2]
    with pytest.raises(InputError, match=r"column 'name'.*text"):  # with two names for every row, the person decides
        sc.complete(frame.reset_index(names="name").set_index(pd.Index(list("abcdefghijkl"))))


def test_labels_of_an_index_may_repeat():
    assert sc.complete(pd.DataFrame(P, index=["a"] * 12), method="smcnn").labels == ["a"] * 12


def test_coordinates_of_xarray():
    coords = {"sample": IDS, "gene": NAMES, "batch": ("sample", list(range(12))), "length": ("gene", [1, 2, 3, 4])}
    rows = xr.DataArray(P, dims=("sample", "gene"), coords=coords)
    assert sc.complete(rows, method="smcnn").labels == IDS
    assert sc.complete(rows, method="smcnn", id="batch").labels == [str(i) for i in range(12)]
    assert sc.complete(xr.DataArray(P), method="smcnn").labels is None
    with pytest.raises(
        InputError, match=r"id='length' is not a coordinate of the dimension 'sample'; those are \['sample'"
    ):
        sc.complete(rows, id="length")


def test_an_id_that_is_not_there(make):
    with pytest.raises(InputError, match=r"id='user' is not a column \(did you mean 'user_id'\?\)"):
        sc.complete(make({**columns(P), "user_id": IDS}), id="user")
    with pytest.raises(InputError, match="queries: id='user_id' is not a column"):
        sc.complete(make({**columns(P), "user_id": IDS}), make(columns(Q)), id="user_id")
    with pytest.raises(InputError, match="id='user_id' names a column of a frame, but ndarray has none; give labels="):
        sc.complete(P, id="user_id")
    frame = pd.DataFrame(np.column_stack([P, P[:, :1]]), columns=[*NAMES, "w"])
    with pytest.raises(InputError, match="id='w' names 2 columns"):
        sc.complete(frame, id="w")


def test_labels_of_arrays():
    assert sc.complete(P, labels=IDS, method="smcnn").labels == IDS
    assert sc.complete(P, labels=np.arange(12), method="smcnn").labels == [str(i) for i in range(12)]
    assert sc.complete(P, labels=pl.Series(IDS), method="smcnn").labels == IDS
    done = sc.complete(P, Q, labels=(IDS, None), method="smcnn")
    assert done.labels == [*IDS, "0", "1", "2"]
    assert sc.complete(P, Q, labels=[pd.Series(IDS), ASKED], method="smcnn").labels == IDS + ASKED
    assert done.search(k=1, rows=("queries", [0])).ids.shape == (1, 1)


def test_labels_of_rows_in_a_file(tmp_path):
    np.save(tmp_path / "p.npy", P)
    assert sc.complete(tmp_path / "p.npy", Q, labels=(IDS, ASKED), method="smcnn").labels == IDS + ASKED


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (IDS[:5], "labels has 5 labels for 12 rows; give one for every row"),
        ([*IDS[:11], "u0"], "labels has 'u0' 2 times; a label must name one row"),
        ([*IDS[:11], None], "labels has nothing for row 11; text, whole numbers or dates are needed"),
        ([*IDS[:11], 1.5], "labels has 1.5, a float, for row 11"),
        ([*IDS[:11], True], "labels has True, a bool, for row 11"),
        ("abcdefghijkl", "a label for each of the 12 rows is needed"),
        (7, "a label for each of the 12 rows is needed"),
    ],
)
def test_labels_that_cannot_be_used(labels, words):
    with pytest.raises(InputError, match=words):
        sc.complete(P, labels=labels)
    with pytest.raises(InputError, match=words):
        sc.complete_similarity(np.eye(12), labels=labels)


@pytest.mark.parametrize("labels", [IDS, IDS[:2], (IDS,), ("ab", "cd"), 3])
def test_with_queries_labels_are_a_pair(labels):
    with pytest.raises(InputError, match=r"is not a pair; with queries, give labels=\(labels of the 12 candidates"):
        sc.complete(P, Q, labels=labels)


def test_labels_or_id_not_both(make):
    with pytest.raises(InputError, match="id='user_id' and labels= both name the rows; give one of them"):
        sc.complete(make({**columns(P), "user_id": IDS}), id="user_id", labels=IDS)


def test_kinds_of_labels():
    days = [datetime.date(2020, 1, day) for day in range(1, 13)]
    assert sc.complete(P, labels=days, method="smcnn").labels[:2] == ["2020-01-01", "2020-01-02"]
    # Whole numbers beside a missing one are floats in pandas.
    frame = pd.DataFrame({"user_id": np.arange(12.0), **columns(P)})
    assert sc.complete(frame, id="user_id", method="smcnn").labels[:2] == ["0", "1"]


def test_of_a_matrix(make):
    S = np.array([[1.0, 0.2, 0.3], [0.2, 1.0, 0.1], [0.3, 0.1, 1.0]])
    named = make({"gene": ["b", "c", "a"], "a": S[[1, 2, 0], 0], "b": S[[1, 2, 0], 1], "c": S[[1, 2, 0], 2]})
    for settings in ({}, {"id": "gene"}):
        done = sc.complete_similarity(named, method="overlap", **settings)
        assert done.labels == ["b", "c", "a"]
        np.testing.assert_array_equal(done.similarity(["a", "b", "c"], ["a", "b", "c"]), S)
    bare = make({"a": S[:, 0], "b": S[:, 1], "c": S[:, 2]})
    assert sc.complete_similarity(bare, method="overlap").labels == ["a", "b", "c"]
    done = sc.complete_similarity(S, labels=["a", "b", "c"], candidates=np.array([False, True, True]), method="overlap")
    assert done.labels == ["b", "c", "a"]
    assert done.similarity("a", "b").tolist() == [[0.2]]
