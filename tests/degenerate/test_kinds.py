"""Degenerate candidates have the same posterior as an array, a memory map, a path and a dask array, by block or not."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import fitting
from simcomplete._rows.derived import UnitRows

NAMES = ["one-hot", "rank 1", "7 distinct rows", "constant + 1e-6, 95 rows", "one feature", "almost all zero"]


def kinds(P, folder):
    """The same rows in every form."""
    path = folder / "rows.npy"
    np.save(path, P)
    yield P
    yield np.load(path, mmap_mode="r")
    yield path
    try:
        import dask.array
    except ImportError:
        return
    yield dask.array.from_array(P, chunks=(25, P.shape[1]))


@pytest.mark.parametrize("effort", ["fast", "full", "best"])
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore::simcomplete.errors.InputWarning")  # some rows are all alike
def test_every_kind_of_rows(name, effort, tmp_path, monkeypatch, families):
    P, Q = families[name]
    kept = sc.complete(P, Q, method="posterior", effort=effort)
    for limit in ("STREAM_ABOVE_VALUES", "STREAM_ABOVE_SEARCHED"):
        monkeypatch.setattr(fitting, limit, 0)
    for rows in kinds(P, tmp_path):
        done = sc.complete(rows, Q, method="posterior", effort=effort, memory="20 KiB")
        assert isinstance(done.matrix.factor, UnitRows)
        np.testing.assert_allclose(np.asarray(done.factor), kept.factor, rtol=0, atol=1e-8)
        np.testing.assert_allclose(done.diagonal, kept.diagonal, rtol=0, atol=1e-8)
        if kept.interval_model is not None:
            np.testing.assert_allclose(done.interval(0.9), kept.interval(0.9), rtol=0, atol=1e-8)
