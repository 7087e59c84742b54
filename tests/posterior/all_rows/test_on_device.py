"""Factor models work on the device that rows came from: torch on the processor stands for one."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.all_rows import on_device
from simcomplete._posterior.all_rows.em import fit
from simcomplete._posterior.all_rows.packing import IncompleteRows
from simcomplete._rows.xp import is_numpy, namespace, to_numpy

ASKED = {"method": "posterior", "progress": False, "random_state": 0}


@pytest.fixture
def X():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((90, 3)) @ rng.standard_normal((3, 12)) + 0.2 * rng.standard_normal((90, 12)) + 2
    rows[rng.random(rows.shape) < 0.3] = np.nan
    return rows


@pytest.fixture
def worked_on(monkeypatch):
    """Take every array for one on an accelerator, and note which libraries did the work."""
    libraries, there = [], on_device.there

    def noted(model, rows):
        found = there(model, rows)
        libraries.append(namespace(found[1].values).__name__)
        assert is_numpy(model.loadings)
        return found

    monkeypatch.setattr(on_device, "on_accelerator", lambda _: True)
    monkeypatch.setattr("simcomplete._posterior.all_rows.em.there", noted)
    return libraries


def test_a_fit_is_that_of_numpy(library, X, worked_on):
    plain, run = fit(IncompleteRows.of(X), 3)
    with on_device.working_on_device_of(library.array(X)):
        rows = IncompleteRows.of(X)
        found, there = fit(rows, 3)
        filled = found.complete(rows)
    assert {library.name in name for name in worked_on[-20:]} == {True}
    assert is_numpy(found.loadings) and is_numpy(filled.values)
    for name in ("mean", "loadings", "noise", "spread"):
        np.testing.assert_allclose(getattr(found, name), getattr(plain, name), rtol=1e-9, atol=1e-11)
    assert there.history[-1]["objective"] == pytest.approx(run.history[-1]["objective"], rel=1e-12)
    for mine, expected in zip(filled, plain.complete(rows), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-9, atol=1e-11)


@pytest.mark.parametrize("effort", ["fast", "full"])
def test_a_completion_is_that_of_numpy(library, X, worked_on, effort):
    expected = sc.complete(X, effort=effort, **ASKED).similarity()
    del worked_on[:]
    done = sc.complete(library.array(X), effort=effort, **ASKED)
    assert any(library.name in name for name in worked_on)
    np.testing.assert_allclose(to_numpy(done.similarity()), expected, atol=1e-8)


def test_rows_go_there_once(X, worked_on):
    torch = pytest.importorskip("torch")
    with on_device.working_on_device_of(torch.asarray(X)):
        rows = IncompleteRows.of(X)
        model, _ = fit(rows, 2)
        first, again = (on_device.there(model, rows)[1] for _ in range(2))
    assert first is again
    assert on_device.there(model, rows) == (model, rows)  # nothing is left of it afterwards


def test_arrays_beside_the_processor_stay_in_numpy(X):
    torch = pytest.importorskip("torch")
    with on_device.working_on_device_of(torch.asarray(X)):
        rows = IncompleteRows.of(X)
        assert on_device.there(fit(rows, 2)[0], rows)[1] is rows
