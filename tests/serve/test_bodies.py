"""Arrow bodies: columns by name, of numbers and nothing else."""

import io

import numpy as np
import pytest

from simcomplete._serve.bodies import rows_of_arrow
from simcomplete.errors import InputError

pa = pytest.importorskip("pyarrow")

NAMES = ["a", "b"]


def arrow(table):
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@pytest.mark.parametrize(
    "column",
    [
        pa.array([1, 2]),
        pa.array([1.0, 2.0], pa.float32()),
        pa.array([1.0, 2.0]).dictionary_encode(),
        pa.array([1, 2], pa.decimal128(5, 2)),
    ],
)
def test_numbers_of_every_type_by_name(column):
    table = pa.table({"b": pa.array([None, 4.0]), "a": column})
    np.testing.assert_array_equal(rows_of_arrow(arrow(table), 2, NAMES), [[1, np.nan], [2, 4]])
    assert np.isnan(rows_of_arrow(arrow(pa.table({"a": pa.nulls(1), "b": pa.nulls(1)})), 2, NAMES)).all()


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"a": pa.array(["1.5"]), "b": pa.array([1.0])}, "column 'a' holds string; numbers are needed"),
        ({"a": pa.array([True]), "b": pa.array([1.0])}, "column 'a' holds bool"),
        ({"a": pa.array(["1"]).dictionary_encode(), "b": pa.array([1.0])}, "column 'a' holds dictionary"),
        ({"a": pa.array([1.0])}, "columns must be the 2 features"),
        ({"a": pa.array([1.0]), "b": pa.array([1.0]), "c": pa.array([1.0])}, "columns must be the 2 features"),
        ({"a": pa.array([2**63 - 1]), "b": pa.array([1.0])}, "cannot be read as numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(columns, words):
    with pytest.raises(InputError, match=words) as refused:
        rows_of_arrow(arrow(pa.table(columns)), 2, NAMES)
    assert "not an Arrow IPC stream" not in str(refused.value)


def test_names_given_twice_are_refused():
    table = pa.Table.from_arrays([pa.array([1.0])] * 2, names=["a", "a"])
    with pytest.raises(InputError, match="each once"):
        rows_of_arrow(arrow(table), 2, NAMES)
