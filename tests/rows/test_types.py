"""What may be given (docs/tables.md): every type of value, in every library, becomes floats or an error that helps."""

import datetime
import decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import simcomplete as sc
from simcomplete._rows.validate import as_rows
from simcomplete.errors import FileFormatError, InputError

DAY = datetime.date(2020, 1, 1)
DAYS = [DAY, DAY + datetime.timedelta(days=1), DAY + datetime.timedelta(days=5)]
TIMES = [datetime.datetime(2020, 1, 1, hour) for hour in (0, 6, 12)]
SPANS = [datetime.timedelta(hours=hour) for hour in (1, 2, 3)]
PRICES = [decimal.Decimal(text) for text in ("1.50", "2.25", "-3.00")]

# What a column holds, and how each library makes it; None where it has no such type.
NUMBERS = {
    "float64": ([1.5, 2.0, np.nan], "float64", pl.Float64, pa.float64()),
    "float32": ([1.5, 2.0, np.nan], "float32", pl.Float32, pa.float32()),
    "float16": ([1.5, 2.0, 4.0], "float16", None, pa.float16()),
    "integers": ([1, 2, 5], "int64", pl.Int64, pa.int64()),
    "bytes": ([1, 2, 255], "uint8", pl.UInt8, pa.uint8()),
    "integers with nulls": ([1, None, 5], "Int64", pl.Int64, pa.int64()),
    "floats with nulls": ([1.5, None, 5.0], "Float64", pl.Float64, pa.float64()),
    "booleans": ([True, False, True], "bool", pl.Boolean, pa.bool_()),
    "booleans with nulls": ([True, None, False], "boolean", pl.Boolean, pa.bool_()),
    "decimals": (PRICES, "object", pl.Decimal(10, 2), pa.decimal128(10, 2)),
    "decimals with nulls": ([PRICES[0], None, PRICES[2]], "object", pl.Decimal(10, 2), pa.decimal128(10, 2)),
    "arrow integers": ([1, None, 5], "int64[pyarrow]", None, None),
    "arrow decimals": (PRICES, pd.ArrowDtype(pa.decimal128(10, 2)), None, None),
    "nothing": ([None, None, None], "object", pl.Null, pa.null()),
}
REFUSED = {
    "categories": (
        list("aba"),
        "category",
        pl.Categorical,
        pa.dictionary(pa.int8(), pa.string()),
        "categor|dictionary",
    ),
    "categories of numbers": ([1, 2, 1], "category", None, pa.dictionary(pa.int8(), pa.int64()), "categor|dictionary"),
    "dates": (DAYS, "object", pl.Date, pa.date32(), "leave it out, or give a number in its place, such as days since"),
    "times": (TIMES, "datetime64[ns]", pl.Datetime, pa.timestamp("us"), "such as days since the first"),
    "spans": (SPANS, "timedelta64[ns]", pl.Duration, pa.duration("us"), "such as days since the first"),
    "numbers as text": (
        ["1.5", "2", None],
        "object",
        pl.String,
        pa.string(),
        r"numbers as text, such as '1.5'; convert",
    ),
    "text": (list("abc"), "object", pl.String, pa.large_string(), "text such as 'a'; leave it out, encode it"),
    "text of pandas": (list("abc"), "string", None, None, "text such as 'a'; leave it out, encode it"),
    "lists": (
        [[1.0], [2.0], [3.0]],
        "object",
        pl.List(pl.Float64),
        pa.list_(pa.float64()),
        "not numeric; leave it out",
    ),
    "intervals": (pd.interval_range(0, 3), "interval[int64, right]", None, None, "not numeric; leave it out"),
    "periods": (DAYS, "period[D]", None, None, r"\(df\['b'\].dt.start_time - .*use id='b' if it names the rows"),
    "complex": ([1j, 2j, 3j], "complex128", None, None, "is complex; real numbers are needed"),
}
LIBRARIES = ["pandas", "polars", "pyarrow"]


def frame(library, values, types):
    """A frame with a column of ordinary numbers, and behind it the one that is in question."""
    kind = dict(zip(LIBRARIES, types, strict=True))[library]
    if kind is None:
        pytest.skip(f"{library} has no such type")
    ordinary = [1.0, 0.5, 0.25]
    if library == "pandas":
        return pd.DataFrame({"a": ordinary, "b": pd.Series(values, dtype=kind)})
    if library == "polars":
        return pl.DataFrame({"a": ordinary, "b": pl.Series(values, dtype=kind)})
    column = (
        pa.array(values).dictionary_encode() if "dictionary" in str(kind) else pa.array(_for_arrow(values, kind), kind)
    )
    return pa.table({"a": ordinary, "b": column})


def _for_arrow(values, kind):
    return np.asarray(values, np.float16) if kind == pa.float16() else values


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", NUMBERS)
def test_numbers_of_every_type_become_floats(library, name):
    values, *types = NUMBERS[name]
    rows = as_rows(frame(library, values, types))
    expected = [np.nan if value is None else float(value) for value in values]
    assert rows.array.dtype == np.float64  # of two columns, one is
    np.testing.assert_array_equal(rows.array[:, 1], expected)
    assert rows.columns == ["a", "b"]


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_number_is_refused_with_a_remedy(library, name):
    values, *types, words = REFUSED[name]
    with pytest.raises(InputError, match=f"(?s)column 'b'.*({words})"):
        sc.complete(frame(library, values, types), method="smcnn")


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
def test_frames_of_small_floats_stay_small(library, kind):
    data = np.array([[1.5, 2.0], [3.0, 0.5]], dtype=kind)
    if library == "polars" and kind == "float16":
        pytest.skip("polars has no such type")
    made = {
        "pandas": lambda: pd.DataFrame(data),
        "polars": lambda: pl.DataFrame(data),
        "pyarrow": lambda: pa.table({"a": data[:, 0], "b": data[:, 1]}),
    }[library]()
    rows = as_rows(made)
    assert rows.dtype == (np.float64 if kind == "float64" else np.float32)
    np.testing.assert_array_equal(rows.array, data)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.array([[1, 2], [3, 4]], dtype=np.int8), np.float64),
        (np.array([[True, False]]), np.float64),
        (np.array([[1.5, 2.0]], dtype=np.float16), np.float32),
        (np.array([[1.5, 2.0]], dtype=np.longdouble), np.float64),
        (np.array([[1.5, 2.0]], dtype=">f8"), np.float64),
        (np.array([[PRICES[0], 2.0]], dtype=object), np.float64),
        (np.ma.masked_array([[1, 2]], mask=[[False, False]]), np.float64),
    ],
)
def test_arrays_of_every_type_become_floats(values, expected):
    rows = as_rows(values)
    assert rows.dtype == expected
    np.testing.assert_array_equal(rows.array, np.asarray(values).astype(expected))


def test_missing_values_of_arrays():
    objects = as_rows(np.array([[1.0, None], [pd.NA, 2]], dtype=object)).array
    np.testing.assert_array_equal(objects, [[1.0, np.nan], [np.nan, 2.0]])
    masked = as_rows(np.ma.masked_array([[1, 2], [3, 4]], mask=[[0, 1], [0, 0]])).array
    np.testing.assert_array_equal(masked, [[1.0, np.nan], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (np.array([["1", "2.5"]]), r"numbers as text such as '1'; numbers are needed: X.astype\(float\)"),
        (np.array([["1", "2.5"]], dtype=object), "numbers as text such as '1'"),
        (np.array([["a", "b"]]), "text such as 'a'"),
        (np.array([DAYS], dtype="datetime64[D]"), r"datetime64\[D\]; numbers are needed, such as days since the first"),
        (np.array([DAYS], dtype=object), "dates; numbers are needed, such as days since the first"),
        (np.array([SPANS], dtype="timedelta64[s]"), "such as days since the first"),
        (np.array([[1j]]), "complex"),
        (np.array([[1j, None]], dtype=object), "complex"),
        (
            np.zeros(3, dtype=[("a", float), ("b", int)]),
            "structured array with the fields a, b.*structured_to_unstructured",
        ),
        (np.array([[1.0, {}]], dtype=object), "not numbers"),
    ],
)
def test_arrays_without_numbers_are_refused_with_a_remedy(values, words):
    with pytest.raises(InputError, match=words):
        as_rows(values)


def test_a_remedy_works():
    df = pd.DataFrame({"a": [1.0, 2.0, 4.0], "t": pd.to_datetime(TIMES), "n": ["1", "2", "5"], "c": list("xyx")})
    df["n"] = pd.to_numeric(df["n"])
    df["t"] = (df["t"] - df["t"].min()) / pd.Timedelta(days=1)
    df = pd.get_dummies(df, columns=["c"])
    assert as_rows(df).array.tolist() == [[1, 0, 1, 1, 0], [2, 0.25, 2, 0, 1], [4, 0.5, 5, 1, 0]]


@pytest.mark.parametrize("kind", [pa.float16(), pa.float32(), pa.int64(), pa.bool_()])
def test_nulls_of_record_batches(kind):
    values = [np.float16(1), np.float16(0)] if kind == pa.float16() else [True, False] if kind == pa.bool_() else [1, 0]
    batch = pa.RecordBatch.from_pydict({"a": pa.array([*values, None], kind), "b": [1.0, None, 2.0]})
    np.testing.assert_array_equal(as_rows(batch).array, [[1.0, 1.0], [0.0, np.nan], [np.nan, 2.0]])


def test_what_is_no_table_at_all():
    with pytest.raises(InputError, match=r"candidates is None; an array or a frame is needed$"):
        sc.complete(None)
    with pytest.raises(InputError, match=r"is a dict with the keys \['a', 'b'\].*pandas.DataFrame\(candidates\)"):
        sc.complete({"a": [1, 2], "b": [3, 4]})


def test_infinities_and_gaps_are_named():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [np.inf, 3.0]}, index=["anna", "ben"])
    with pytest.raises(InputError, match=r"candidates\[0, 1\] \(row 'anna', column 'b'\) is inf"):
        sc.complete(table)
    with pytest.raises(InputError, match=r"candidates\[0, 1\] \(column 'b'\) is inf"):
        sc.complete(table.reset_index(drop=True))
    with pytest.raises(InputError, match=r"1 of 2 rows have missing values \(rows 'anna'\)"):
        sc.complete(table.replace(np.inf, np.nan), table.iloc[1:])


@pytest.mark.parametrize(
    "index",
    [
        pd.Index(["x", "y", "z"]),
        pd.Index([7, 5, 9]),
        pd.Index(["x", "y", "z"], name="who"),
        pd.RangeIndex(10, 7, -1),
        pd.RangeIndex(3),
        pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)]),
        pd.date_range("2020-01-31", periods=3, name="day"),
    ],
)
def test_an_index_stays_the_index_in_pyarrow(index, tmp_path):
    table = pd.DataFrame({"a": [1.0, 2.0, 3.5], "b": [2.0, 0.0, 1.0]}, index=index)
    packed = pa.Table.from_pandas(table)
    rows = as_rows(packed)
    np.testing.assert_array_equal(rows.array, table.to_numpy())  # an index of numbers was a feature
    counted = isinstance(index, pd.RangeIndex) and index.start == 0
    expected = None if counted else as_rows(table).labels
    assert rows.labels == expected
    assert rows.columns == ["a", "b"]
    table.to_parquet(tmp_path / "t.parquet")
    stored = sc.datasets.read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(stored.values, table.to_numpy())
    if not isinstance(index, pd.MultiIndex):
        assert stored.labels == expected


def test_a_matrix_in_pyarrow_has_labels():
    S = pd.DataFrame([[1, 0.5, 0.2], [0.5, 1, 0.1], [0.2, 0.1, 1]], index=list("abc"), columns=list("abc"))
    packed = pa.Table.from_pandas(S.iloc[:, ::-1])
    assert sc.complete_similarity(packed, method="dmc").labels == ["a", "b", "c"]
    with pytest.raises(InputError, match="similarity matrix was given to complete"):
        sc.complete(packed)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_all_columns_that_are_not_numeric_are_named(library, tmp_path):
    data = {"a": [1.0, 2.0], "b": ["x", "y"], "c": [3.0, 4.0], "d": DAYS[:2], "e": ["u", "v"]}
    made = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}[library](data)
    with pytest.raises(InputError, match=r"column 'b' .*Not numeric either: \['d', 'e'\]"):
        sc.complete(made)
    pl.DataFrame(data).write_parquet(tmp_path / "t.parquet")
    with pytest.raises(FileFormatError, match=r"columns 'd' \(date32.*'e' .* hold no numbers.*drop=\['d', 'e'\]"):
        sc.datasets.read_table(tmp_path / "t.parquet")
