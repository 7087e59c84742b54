"""Rows alone that lie outside memory are read by block, and have the answer that they have in memory."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.all_rows import row_order
from simcomplete._posterior.all_rows.by_block import RowsByBlock
from simcomplete._posterior.all_rows.packing import GivenRows, key_bytes
from simcomplete._rows import source
from simcomplete._rows.table import HeldRows
from simcomplete.errors import MemoryLimitError

BLOCK = "24 KiB"  # of about 30 rows, so that there are many


def incomplete(n=360, d=14, seed=0):
    """Rows of which all lack something but one, with copies, a feature in few rows and a row of zeros."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.5 * rng.standard_normal((n, d)) + 1
    X[rng.random(X.shape) < 0.3] = np.nan
    X[5:, 3] = np.nan
    X[7] = X[90] = X[3]
    X[11] = 0.0
    return X


@pytest.fixture
def many(monkeypatch):
    """Few rows count as many."""
    monkeypatch.setattr(source, "BY_BLOCK_ROWS", 50)


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "rows.npy"
    np.save(place, incomplete())
    return place


def opened(path, how):
    if how == "map":
        return np.load(path, mmap_mode="r")
    if how == "zarr":
        zarr = pytest.importorskip("zarr")
        made = zarr.create_array(str(path.with_suffix(".zarr")), data=np.load(path), chunks=(40, 14))
        return str(path.with_suffix(".zarr")) if made is not None else None
    if how == "dask":
        return pytest.importorskip("dask.array").from_array(np.load(path), chunks=(50, 14))
    return str(path)


@pytest.mark.parametrize("how", ["path", "map", "zarr", "dask"])
@pytest.mark.parametrize("effort", ["fast", "full"])
def test_the_answer_is_that_of_rows_in_memory(many, path, how, effort):
    held = sc.complete(np.load(path), method="posterior", effort=effort)
    done = sc.complete(opened(path, how), method="posterior", effort=effort, memory=BLOCK)
    assert isinstance(done.model.model.U, source.RowTable)  # it was not read as a whole
    np.testing.assert_allclose(done.similarity(), held.similarity(), rtol=0, atol=1e-10)
    for one, other in zip(done.interval(0.9), held.interval(0.9), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)  # roots of variances that are 0 but for rounding
    for one, other in zip(done.restricted(level=0.9), held.restricted(level=0.9), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)
    assert done.choice["rank"] == held.choice["rank"]


@pytest.mark.parametrize("asked", [{"metric": "pearson"}, {"center": "mean", "scale": "sd"}, {"mechanism": "random"}])
def test_rows_are_changed_on_the_way(many, path, asked):
    held = sc.complete(np.load(path), method="posterior", **asked)
    done = sc.complete(str(path), method="posterior", memory=BLOCK, **asked)
    np.testing.assert_allclose(done.similarity(), held.similarity(), rtol=0, atol=1e-10)


def test_single_precision_is_kept(many, path):
    np.save(path, np.load(path).astype(np.float32))
    held = sc.complete(np.load(path), method="posterior", effort="fast")
    done = sc.complete(str(path), method="posterior", effort="fast", memory=BLOCK)
    assert done.similarity().dtype == held.similarity().dtype == np.float32
    np.testing.assert_allclose(done.similarity(), held.similarity(), rtol=0, atol=1e-6)


def test_nothing_as_large_as_the_rows_is_read(many, path, monkeypatch):
    monkeypatch.setattr(source.SourceRows, "whole", None)  # whoever reads all rows at once fails
    done = sc.complete(str(path), method="posterior", memory=BLOCK, out=path.with_name("factor.npy"))
    held = sc.complete(np.load(path), method="posterior")
    np.testing.assert_allclose(np.load(path.with_name("factor.npy")), held.factor, rtol=0, atol=1e-10)
    np.testing.assert_array_equal(done.search(rows=[1, 2], k=3).ids, held.search(rows=[1, 2], k=3).ids)
    values = done.imputed()
    np.testing.assert_array_equal(values[~np.isnan(incomplete())], incomplete()[~np.isnan(incomplete())])


def test_a_result_is_saved_and_new_rows_are_found(many, path, tmp_path):
    done = sc.complete(str(path), method="posterior", memory=BLOCK)
    done.save(tmp_path / "done.simcomplete")
    loaded = sc.load(tmp_path / "done.simcomplete")
    np.testing.assert_allclose(loaded.similarity(), done.similarity(), rtol=0, atol=1e-12)
    for one, other in zip(loaded.interval(0.9), done.interval(0.9), strict=True):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-9)


def test_fewer_rows_and_other_methods_are_read(path, many, monkeypatch):
    held = sc.complete(np.load(path), method="mean")
    np.testing.assert_array_equal(sc.complete(str(path), method="mean").similarity(), held.similarity())
    monkeypatch.setattr(source, "BY_BLOCK_ROWS", 361)
    done = sc.complete(str(path), method="posterior", effort="fast")
    assert isinstance(done.model.model.U, np.ndarray)


def test_auto_tries_nothing_that_holds_all_pairs(many, tmp_path, monkeypatch):
    monkeypatch.setattr("simcomplete._auto.elect.BY_BLOCK_ROWS", 50)
    X = incomplete(120, 40)
    np.save(tmp_path / "rows.npy", X)
    for rows in (str(tmp_path / "rows.npy"), X):
        done = sc.complete(rows)
        notes = {row["method"]: row["note"] for row in done.election}
        assert done.method == "posterior" and "120 x 120 pairs" in notes["overlap"] and notes["smcnn"]
    asked = sc.complete(X, elect=["overlap", "posterior"])
    assert all("pairs" not in row["note"] for row in asked.election)


def test_memory_is_refused_beforehand(many, path, monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "20 KiB")
    with pytest.raises(MemoryLimitError):
        sc.complete(str(path), method="posterior")


@pytest.mark.parametrize("held", [1, 700, 10**6])
def test_orders_are_those_of_rows_in_memory(held, monkeypatch):
    monkeypatch.setattr(row_order, "HELD_BYTES", held)
    X = np.round(incomplete())
    X[40:80, :9] = X[39, :9]
    X[100:130] = X[99]
    X[0, 0] = -0.0
    given, table = GivenRows(X), RowsByBlock(HeldRows(X))
    np.testing.assert_array_equal(table.order, given.order)
    which = np.arange(len(X))[::-1]
    np.testing.assert_array_equal(table.take(which), given.take(which))
    np.testing.assert_array_equal(table.take_by_value(which), given.take_by_value(which))
    np.testing.assert_array_equal(table.seen, given.seen)
    assert key_bytes(X).shape[1] == 2 + 8 * 14
