"""The one row table: whatever holds the rows, it reads, takes, folds, maps and multiplies like the array."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.derived import ScaledRows, UnitRows, scaled
from simcomplete._rows.files import open_rows
from simcomplete._rows.table import HeldRows, RowTable, as_row_table

X = np.random.default_rng(0).standard_normal((57, 5))
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)


class Slices:
    shape, dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        return X[rows]


def path(folder):
    np.save(folder / "x.npy", X)
    return folder / "x.npy"


KINDS = {
    "array": lambda folder: (HeldRows(X), X),
    "path": lambda folder: (open_rows(path(folder), "X", False), X),
    "slices": lambda folder: (open_rows(Slices(), "X", False), X),
    "dask": lambda folder: (open_rows(pytest.importorskip("dask.array").from_array(X, chunks=(10, 5)), "X", False), X),
    "unit rows": lambda folder: (UnitRows(X[:50], UNIT[50:]), UNIT),
    "unit rows of slices": lambda folder: (UnitRows(open_rows(Slices(), "X", False)), UNIT),
    "scaled rows": lambda folder: (
        ScaledRows(open_rows(Slices(), "X", False), np.arange(57.0)),
        X * np.arange(57)[:, None],
    ),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def pair(request, tmp_path, monkeypatch):
    monkeypatch.setattr("simcomplete._rows.budget.BLOCK_BYTES", 600)  # several blocks
    return request.param(tmp_path)


def test_reading_and_taking(pair):
    table, expected = pair
    assert (table.n, table.d, table.ndim, len(table)) == (57, 5, 2, 57)
    assert isinstance(table, RowTable)
    np.testing.assert_allclose(table.read(3, 20), expected[3:20])
    np.testing.assert_allclose(table.take(np.array([40, 2, 2, 56])), expected[[40, 2, 2, 56]])
    np.testing.assert_allclose(table[5:50:7], expected[5:50:7])
    np.testing.assert_allclose(table.whole(), expected)
    np.testing.assert_allclose(table.in_memory().array, expected)


def test_folding_and_mapping(pair):
    table, expected = pair
    total = table.fold(lambda rows, start: [(start, rows.sum())], lambda a, b: a + b, bytes_per_row=40, label="sum")
    assert [start for start, _ in total] == sorted(start for start, _ in total)
    assert len(total) > 1
    assert sum(value for _, value in total) == pytest.approx(expected.sum())
    made = table.map(lambda rows, start: rows[:, :2] + start * 0, np.ones((3, 2)), bytes_per_row=40, label="map")
    np.testing.assert_allclose(np.asarray(made), np.vstack([expected[:, :2], np.ones((3, 2))]))


def test_it_is_array_like(pair):
    table, expected = pair
    right, left = np.arange(10.0).reshape(5, 2), np.random.default_rng(1).random((3, 57))
    np.testing.assert_allclose(table @ right, expected @ right)
    np.testing.assert_allclose(table @ right[:, 0], expected @ right[:, 0])
    np.testing.assert_allclose(left @ np.asarray(table), left @ expected)
    np.testing.assert_allclose(left @ table, left @ expected, rtol=1e-12)
    np.testing.assert_allclose(table.T @ left.T, expected.T @ left.T)
    np.testing.assert_allclose(table.T @ table, expected.T @ expected)
    np.testing.assert_allclose(right.T @ table.T, right.T @ expected.T)
    np.testing.assert_allclose(np.asarray(table.T), expected.T)
    np.testing.assert_allclose(table * 2 + 1, expected * 2 + 1)
    np.testing.assert_allclose(np.abs(table), np.abs(expected))
    for axis in (None, 0, 1, -1):
        np.testing.assert_allclose(table.sum(axis), expected.sum(axis))
        np.testing.assert_allclose(table.mean(axis), expected.mean(axis))
    np.testing.assert_allclose(np.mean(table), expected.mean())
    assert table.T.shape == (5, 57)


def test_scaling_is_lazy_only_where_rows_are_not_in_memory():
    assert isinstance(scaled(X, np.ones(57)), np.ndarray)
    assert isinstance(scaled(open_rows(Slices(), "X", False), np.ones(57)), ScaledRows)


def test_a_table_is_a_table():
    table = HeldRows(X)
    assert as_row_table(table) is table
    assert as_row_table(X).array is X


def test_no_module_outside_asks_which_kind_it_is():
    """Kinds of tables are told apart in `_rows` only."""
    from pathlib import Path

    root = Path(sc.__file__).parent
    for file in root.rglob("*.py"):
        if file.parent.name != "_rows":
            text = file.read_text(encoding="utf-8")
            for kind in ("SourceRows", "DaskRows", "ScaledRows"):
                assert f", {kind})" not in text, file
            assert "fold_rows" not in text, file
