"""posterior over a dask array: the pass and the search are done where the rows are."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import source as pool_of
from simcomplete._rows.dask import DaskRows
from simcomplete._rows.derived import UnitRows

da = pytest.importorskip("dask.array")


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_the_same_as_by_block_and_little_comes_here(digits, hide, monkeypatch, streaming, effort):
    P, Q = digits[:600], hide(digits[600:640], 0.7)
    streaming()
    monkeypatch.setattr(pool_of, "POOL_VALUES", 200 * 64)
    monkeypatch.setattr(pool_of, "POOL_ROWS", 100)
    expected = sc.complete(P, Q, method="posterior", effort=effort)
    read = DaskRows.read
    brought = []

    def counted(self, start, stop):
        brought.append(stop - start)
        return read(self, start, stop)

    monkeypatch.setattr(DaskRows, "read", counted)
    done = sc.complete(da.from_array(P, chunks=(170, 64)), Q, method="posterior", effort=effort)
    assert isinstance(done.matrix.factor, UnitRows)
    np.testing.assert_allclose(done.factor[600:], expected.factor[600:], rtol=0, atol=1e-10)
    np.testing.assert_array_equal(done.search(5).ids, expected.search(5).ids)
    assert max(brought, default=0) <= 1  # a look at the first row; the rest came by positions or as sums
    model = sc.PosteriorCompleter(effort=effort).fit(da.from_array(P, chunks=(170, 64)), masks=~np.isnan(Q))
    assert model.search(Q, k=3).ids.shape == (40, 3)
    assert max(brought, default=0) <= 1
