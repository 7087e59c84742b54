"""Columns of frames are matched by name, not by position."""

import numpy as np
import pandas as pd
import polars as pl
import pytest

import simcomplete as sc
from simcomplete.errors import InputError

NAMES = [f"f{i}" for i in range(6)]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    P = rng.random((40, 6)) * np.arange(1, 7)
    Q = np.where(rng.random((5, 6)) < 0.4, np.nan, P[:5] + 0.1)
    return P, Q


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_another_order_gives_the_same_answer(data, frame):
    P, Q = data
    turned = frame({name: Q[:, i] for i, name in reversed(list(enumerate(NAMES)))})
    assert list(turned.columns) == NAMES[::-1]
    done = sc.complete(frame(dict(zip(NAMES, P.T, strict=True))), turned, method="smcnn")
    np.testing.assert_array_equal(done.similarity(), sc.complete(P, Q, method="smcnn").similarity())


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["f0", "f1", "f2", "f3", "f4", "g"], r"queries lack \['f5'\] and also have \['g'\]"),
        (NAMES[:5], r"queries lack \['f5'\]; give both the same columns"),
        ([*NAMES, "g"], r"queries also have \['g'\]"),
    ],
)
def test_other_columns_are_named(data, names, message):
    P, Q = data
    asked = pd.DataFrame(np.resize(Q, (5, len(names))), columns=names)
    with pytest.raises(InputError, match=message):
        sc.complete(pd.DataFrame(P, columns=NAMES), asked, method="smcnn")


def test_a_name_that_stands_for_two_columns_is_refused(data):
    P, Q = data
    with pytest.raises(InputError, match=r"\['a'\] stand for several; rename them"):
        sc.complete(pd.DataFrame(P, columns=list("aabcde")), pd.DataFrame(Q, columns=list("edcbaa")), method="smcnn")


def test_without_names_positions_count(data):
    P, Q = data
    expected = sc.complete(P, Q, method="smcnn").similarity()
    for asked in (Q, pd.DataFrame(Q)):  # an array, and a frame whose columns are numbered
        done = sc.complete(pd.DataFrame(P, columns=NAMES), asked, method="smcnn")
        np.testing.assert_array_equal(done.similarity(), expected)


def test_the_library_of_a_frame_is_remembered(data):
    P, Q = data
    assert sc.complete(P, Q, method="smcnn").frame is None
    assert sc.complete(pd.DataFrame(P), Q, method="smcnn").frame == "pandas"
    assert sc.complete(pl.DataFrame(P), method="smcnn", clip=True).frame == "polars"
    assert sc.complete(pl.DataFrame(P)).frame == "polars"  # by another route: auto
    assert sc.complete_similarity(pd.DataFrame(np.eye(3)), method="smcnn").frame == "pandas"
