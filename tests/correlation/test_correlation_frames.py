"""Frames of pandas, polars and pyarrow: labels in any order, numbers as labels, masks; each comes back as it was."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import simcomplete as sc

A = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])
NAMES = ["oil", "gas", "gold"]
FRAME = pd.DataFrame(A, index=NAMES, columns=NAMES)
X = sc.nearest_correlation(A).matrix


def test_a_frame_comes_back_as_a_frame():
    repair = sc.nearest_correlation(FRAME)
    pd.testing.assert_frame_equal(repair.matrix, pd.DataFrame(X, index=NAMES, columns=NAMES))
    assert repair.notes == ()
    assert repair.moved[0].row == "oil"
    assert {move.change for move in repair.moved} == {m.change for m in sc.nearest_correlation(A).moved}


def test_a_permuted_frame_is_put_in_order_and_noted():
    repair = sc.nearest_correlation(FRAME[["gold", "oil", "gas"]])
    pd.testing.assert_frame_equal(repair.matrix, pd.DataFrame(X, index=NAMES, columns=NAMES))
    assert "another order" in repair.notes[0]


def test_frames_without_row_labels():
    plain = pd.DataFrame(A, columns=NAMES)
    repair = sc.nearest_correlation(plain)
    assert list(repair.matrix.columns) == NAMES
    assert repair.labels == NAMES
    assert sc.nearest_correlation(pd.DataFrame(A)).labels is None
    assert sc.nearest_correlation(pd.DataFrame(A, index=NAMES)).labels == NAMES


def test_polars_frames():
    repair = sc.nearest_correlation(pl.DataFrame(A, schema=NAMES))
    assert isinstance(repair.matrix, pl.DataFrame)
    np.testing.assert_array_equal(repair.matrix.to_numpy(), X)
    named = pl.DataFrame({"name": NAMES, "gold": A[:, 2], "oil": A[:, 0], "gas": A[:, 1]})
    repair = sc.nearest_correlation(named)
    assert repair.matrix.columns == ["name", *NAMES]
    np.testing.assert_array_equal(repair.matrix.select(NAMES).to_numpy(), X)
    assert "another order" in repair.notes[0]


@pytest.mark.parametrize("order", [[2, 1, 0], [1, 2, 0]])
def test_numbered_frames_in_another_order(order):
    numbered = pd.DataFrame(A)
    for frame in (numbered.iloc[order], numbered.iloc[order].set_axis([str(i) for i in order])):
        repair = sc.nearest_correlation(frame)
        assert [int(i) for i in repair.matrix.columns] == order
        np.testing.assert_allclose(repair.values, X[np.ix_(order, order)], atol=1e-12)
        assert "another order" in repair.notes[0]
    assert sc.nearest_correlation(numbered.iloc[::-1, ::-1]).notes == ()
    assert sc.nearest_correlation(numbered.set_axis([5, 6, 7])).labels == ["5", "6", "7"]


def test_tables_of_pyarrow_and_lazy_frames():
    plain = pa.table(dict(zip(NAMES, A, strict=True)))
    found = sc.nearest_correlation(plain)
    assert found.matrix.column_names == found.labels == NAMES
    np.testing.assert_array_equal(np.column_stack(found.matrix.columns), X)
    labelled = pa.Table.from_pandas(FRAME[["gold", "oil", "gas"]])
    found = sc.nearest_correlation(labelled)
    assert found.matrix.column_names == ["row", *NAMES]
    assert found.matrix["row"].to_pylist() == NAMES
    np.testing.assert_array_equal(np.column_stack(found.matrix.columns[1:]), X)
    assert "another order" in found.notes[0]
    lazy = sc.nearest_correlation(pl.DataFrame(A, schema=NAMES).lazy())
    assert isinstance(lazy.matrix, pl.DataFrame)
    np.testing.assert_array_equal(lazy.matrix.to_numpy(), X)


STAYS = np.array([[False, True, False], [True, False, False], [False, False, False]])
FLAGS = pd.DataFrame(STAYS, index=NAMES, columns=NAMES)


@pytest.mark.parametrize(
    "fixed",
    [
        STAYS.tolist(),
        STAYS.astype(object),
        np.where(STAYS, True, None),
        FLAGS,
        FLAGS.astype(object),
        FLAGS.astype("boolean"),
        FLAGS.where(STAYS, None),
        pl.DataFrame({"name": NAMES, **dict(zip(NAMES, STAYS, strict=True))}),
        pl.DataFrame(dict(zip(NAMES, STAYS, strict=True))).lazy(),
        pa.Table.from_pandas(FLAGS),
    ],
)
def test_entries_to_fix_are_flags_of_any_kind(fixed):
    repair = sc.nearest_correlation(FRAME, fixed=fixed)
    assert repair.values[0, 1] == 0.9
    assert 0 < repair.values[1, 2] < 0.9
