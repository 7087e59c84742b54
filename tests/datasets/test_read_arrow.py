"""Arrow and Feather files, and those that claim more than they hold."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from numpy.testing import assert_array_equal
from pyarrow import ipc

from simcomplete.datasets import read_table
from simcomplete.errors import FileFormatError, MemoryLimitError

TABLE = pa.table({"name": ["u", "v", "w"], "a": [1.0, None, 3.0], "b": pa.array([1, 2, 3], pa.int8())})


def write(path, table, stream=False, **options):
    make = ipc.new_stream if stream else ipc.new_file
    with path.open("wb") as file, make(file, table.schema, options=ipc.IpcWriteOptions(**options)) as writer:
        writer.write_table(table)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("compression", [None, "lz4", "zstd"])
def test_files_and_streams(tmp_path, stream, compression):
    write(tmp_path / "t.arrow", TABLE, stream, compression=compression)
    table = read_table(tmp_path / "t.arrow")
    assert_array_equal(table.values, [[1, 1], [np.nan, 2], [3, 3]])
    assert (table.labels, table.columns) == (["u", "v", "w"], ["a", "b"])
    with (tmp_path / "t.arrow").open("rb") as file:
        assert_array_equal(read_table(file).values, table.values)


def test_what_pandas_writes(tmp_path):
    frame = pd.DataFrame({"a": np.arange(2000.0), "b": np.arange(2000.0) % 7}, dtype=np.float32)
    frame.to_feather(tmp_path / "t.feather")
    table = read_table(tmp_path / "t.feather")
    assert_array_equal(table.values, frame.to_numpy())
    assert table.values.dtype == np.float32


def test_labels_in_a_dictionary_and_several_batches(tmp_path):
    packed = TABLE.set_column(0, "name", TABLE["name"].dictionary_encode())
    write(tmp_path / "t.arrow", pa.concat_tables([packed, packed]).unify_dictionaries())
    assert read_table(tmp_path / "t.arrow").labels == ["u", "v", "w"] * 2


def test_the_old_feather_is_refused_in_words(tmp_path):
    (tmp_path / "t.feather").write_bytes(b"FEA1" + bytes(100) + b"FEA1")
    with pytest.raises(FileFormatError, match=r"version 1.*version 2"):
        read_table(tmp_path / "t.feather")


@pytest.mark.parametrize("stream", [False, True])
def test_claims_are_added_up_before_they_are_believed(tmp_path, stream, monkeypatch):
    zeros = pa.table({"a": np.zeros(5 * 10**6), "b": np.zeros(5 * 10**6)})
    write(tmp_path / "t.arrow", zeros, stream, compression="zstd")
    assert (tmp_path / "t.arrow").stat().st_size < 2 * 10**5
    monkeypatch.setattr("simcomplete.datasets._formats.ipc.ALWAYS_ALLOWED_BYTES", 10**6)
    with pytest.raises(FileFormatError, match="unpack to 76"):
        read_table(tmp_path / "t.arrow")


def test_rows_of_nothing_are_counted(tmp_path, monkeypatch):
    """A column of nulls has no buffers: ten million rows of it take a few hundred bytes."""
    write(tmp_path / "t.arrow", pa.table({"a": pa.nulls(10**7), "b": pa.nulls(10**7)}))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "100 MB")
    with pytest.raises(MemoryLimitError, match="20000000 cells"):
        read_table(tmp_path / "t.arrow")


@pytest.mark.parametrize("cut", [4, 100, 400])
def test_truncated(tmp_path, cut):
    write(tmp_path / "t.arrow", TABLE, compression="lz4")
    raw = (tmp_path / "t.arrow").read_bytes()
    (tmp_path / "t.arrow").write_bytes(raw[:-cut])
    with pytest.raises(FileFormatError, match=r"t\.arrow"):
        read_table(tmp_path / "t.arrow")


def test_every_changed_byte_is_read_or_refused(tmp_path):
    write(tmp_path / "t.arrow", TABLE, stream=True, compression="lz4")
    raw = (tmp_path / "t.arrow").read_bytes()
    rng = np.random.default_rng(0)
    for _ in range(150):
        changed = bytearray(raw)
        changed[rng.integers(len(raw))] = rng.integers(256)
        (tmp_path / "t.arrow").write_bytes(changed)
        try:
            read_table(tmp_path / "t.arrow")
        except (FileFormatError, MemoryLimitError) as error:
            assert "t.arrow" in str(error)
