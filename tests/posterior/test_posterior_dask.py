"""posterior over a dask array: the pass and the search are done where the rows are."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.dask import DaskRows
from simcomplete._rows.source import SourceRows

da = pytest.importorskip("dask.array")


def test_the_same_as_by_block_and_little_comes_here(digits, hide, monkeypatch):
    P, Q = digits[:600], hide(digits[600:640], 0.7)
    expected = sc.complete(SourceRows(P, "P"), Q, method="posterior", effort="fast")
    read = DaskRows.read
    brought = []

    def counted(self, start, stop):
        brought.append(stop - start)
        return read(self, start, stop)

    monkeypatch.setattr(DaskRows, "read", counted)
    done = sc.complete(da.from_array(P, chunks=(170, 64)), Q, method="posterior", effort="fast")
    np.testing.assert_allclose(done.factor[600:], expected.factor[600:], atol=1e-12)
    np.testing.assert_array_equal(done.search(5).ids, expected.search(5).ids)
    assert max(brought, default=0) <= 1  # a look at the first row; the rest came by positions or as sums
    model = sc.PosteriorCompleter(effort="fast").fit(da.from_array(P, chunks=(170, 64)), masks=~np.isnan(Q))
    assert model.search(Q, k=3).ids.shape == (40, 3)
