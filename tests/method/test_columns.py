"""Columns of frames are matched by name, not by position."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import xarray as xr
from sklearn.base import clone

import simcomplete as sc
from simcomplete.errors import InputError
from simcomplete.scorers import hidden_value_scorer

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
    with pytest.raises(InputError, match=r"\['a'\] name several columns; rename them"):
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


def rows_of(library, A, names, labels=None):
    """Rows with the columns `names`, in that order, of every library whose tables have names."""
    columns = {name: A[:, NAMES.index(name)] for name in names}
    if library == "xarray":
        coords = {"feature": list(names)} | ({} if labels is None else {"row": labels})
        return xr.DataArray(np.column_stack(list(columns.values())), dims=("row", "feature"), coords=coords)
    return {
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "lazy": pl.LazyFrame,
        "pyarrow": pa.table,
        "batch": pa.RecordBatch.from_pydict,
    }[library](columns)


LIBRARIES = ["pandas", "polars", "lazy", "pyarrow", "batch", "xarray"]


@pytest.mark.parametrize("other", LIBRARIES)
@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_are_matched_between_all_libraries(data, library, other):
    P, Q = data
    done = sc.complete(rows_of(library, P, NAMES), rows_of(other, Q, NAMES[::-1]), method="smcnn")
    np.testing.assert_array_equal(done.similarity(), sc.complete(P, Q, method="smcnn").similarity())
    libraries = {"lazy": "polars", "batch": "pyarrow", "xarray": None}
    assert done.frame == libraries.get(library, library)


@pytest.mark.parametrize("library", LIBRARIES)
def test_columns_that_are_not_the_same_are_named_for_all_libraries(data, library):
    P, Q = data
    with pytest.raises(InputError, match=r"queries lack \['f5'\]"):
        sc.complete(rows_of(library, P, NAMES), rows_of(library, Q, NAMES[4::-1]), method="smcnn")
    with pytest.raises(InputError, match=r"queries also have \['f0'\]"):
        sc.complete(rows_of(library, P, NAMES[1:]), rows_of(library, Q, NAMES), method="smcnn")


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "xarray"])
@pytest.mark.parametrize("model", [sc.SMCNN(rank=3), sc.PosteriorCompleter(effort="fast")], ids=["smcnn", "posterior"])
def test_estimators_match_columns_or_refuse_another_order(data, library, model):
    P, Q = data
    turned = rows_of(library, Q, NAMES[::-1])
    fitted = clone(model).fit(rows_of(library, P, NAMES))
    assert list(fitted.feature_names_in_) == NAMES
    expected = clone(model).fit(P)
    np.testing.assert_array_equal(fitted.transform(rows_of(library, Q, NAMES)), expected.transform(Q))
    with pytest.raises(ValueError, match="feature names should match"):
        fitted.transform(turned)
    done = model.complete(rows_of(library, P, NAMES), turned)
    np.testing.assert_array_equal(done.similarity(), model.complete(P, Q).similarity())
    with pytest.raises(ValueError, match="feature names"):
        hidden_value_scorer()(fitted, turned)


def test_estimators_take_labels(data):
    P, Q = data
    ids = [f"u{i}" for i in range(len(P))]
    table = pl.DataFrame({"name": ids, **dict(zip(NAMES, P.T, strict=True))})
    fitted = sc.SMCNN(rank=3).fit(table)
    assert fitted.completion_.labels == ids
    assert fitted.completion_.frame == "polars"
    assert list(fitted.feature_names_in_) == NAMES
    np.testing.assert_array_equal(fitted.transform(table), sc.SMCNN(rank=3).fit(P).transform(P))
    for model in (sc.SMCNN(rank=3), sc.PosteriorCompleter(effort="fast")):
        assert model.complete(P, Q, labels=(ids, list("abcde"))).labels == [*ids, *"abcde"]
        assert model.complete(table, Q, id="name").labels[:2] == ["u0", "u1"]


def test_dimensions_of_xarray_in_another_order_are_refused(data):
    P, Q = data
    with pytest.raises(InputError, match=r"queries have the dimensions \('feature', 'row'\).*transpose"):
        sc.complete(rows_of("xarray", P, NAMES), rows_of("xarray", Q, NAMES).T)
    with pytest.raises(InputError, match=r"xarray Dataset; one variable is needed"):
        sc.complete(rows_of("xarray", P, NAMES).to_dataset(name="values"))
    with pytest.raises(InputError, match=r"has the dimensions \('row',\); 2 are needed"):
        sc.complete(rows_of("xarray", P, NAMES)[:, 0])


def test_nothing_imports_a_frame_library():
    code = (
        "import sys, numpy as np, simcomplete as sc\n"
        "sc.complete(np.random.default_rng(0).random((20, 4)), method='smcnn', labels=range(20))\n"
        "print([m for m in ('pandas', 'polars', 'pyarrow', 'xarray') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert out.stdout.strip() == "[]"
