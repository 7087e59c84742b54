"""Systems of all queries at once, on a device: the answer of one after the other. CPU arrays stand for the device."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import batched, fitting, moments
from simcomplete._posterior.candidates.covariance import Conditioner, Dense
from simcomplete._rows.xp import namespace, to_numpy


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((9, 9))
    observed = rng.random((12, 9)) < 0.5
    observed[0], observed[1] = False, True
    observed[2] = observed[3]  # rows that share a mask
    return A @ A.T + np.eye(9), observed, np.where(observed, rng.standard_normal((3, 12, 9)), 0.0)


def test_weights_are_those_of_single_systems(library, problem):
    C, observed, sides = problem
    if library.name == "numpy":
        pytest.skip("NumPy solves one after the other")
    together = Conditioner(batched.BatchedDense(C, place=library.array(C[0])), observed)
    systems = together._systems
    assert systems is not None
    assert library.name in namespace(systems.L).__name__
    assert systems.L.shape[0] == len(np.unique(observed, axis=0))
    expected = Conditioner(Dense(C), observed).weigh(sides)
    np.testing.assert_allclose(together.weigh(sides), expected, atol=1e-12)
    np.testing.assert_allclose(together.times(sides[0]), sides[0] @ C, atol=1e-12)
    row = np.flatnonzero(observed[3])  # a known answer, without either class
    np.testing.assert_allclose(
        together.weigh(sides)[1, 3, row], np.linalg.solve(C[np.ix_(row, row)], sides[1, 3, row]), atol=1e-12
    )
    single = {row: (o.tolist(), solve(np.eye(len(o)))) for row, o, solve in together.by_row(4)}
    assert sorted(single) == [1, 2, 3]
    np.testing.assert_allclose(single[1][1], np.linalg.inv(C), atol=1e-12)


@pytest.mark.parametrize("case", ["singular", "no variance", "nothing observed", "one row"])
def test_what_has_no_common_factorisation_is_solved_alone(problem, case):
    torch = pytest.importorskip("torch")
    C, observed, sides = problem
    if case == "singular":
        C = np.ones_like(C) - 1e-9 * np.eye(9)
    if case == "no variance":
        C = C * (np.arange(9) > 0) * (np.arange(9) > 0)[:, None]
    observed = np.zeros_like(observed) if case == "nothing observed" else observed
    rows = slice(1, 2) if case == "one row" else slice(None)
    covariance = batched.BatchedDense(C, place=torch.asarray(C))
    assert covariance.systems(observed[rows]) is None
    sides = np.where(observed, sides, 0.0)[:, rows]
    found = Conditioner(covariance, observed[rows]).weigh(sides)
    np.testing.assert_array_equal(found, Conditioner(Dense(C), observed[rows]).weigh(sides))


def test_a_shrunk_one_stays_on_the_device(problem):
    torch = pytest.importorskip("torch")
    C = problem[0]
    shrunk = batched.BatchedDense(C, place=torch.asarray(C)).shrunk(0.1)
    assert isinstance(shrunk, batched.BatchedDense)
    np.testing.assert_array_equal(shrunk.C, Dense(C).shrunk(0.1).C)


@pytest.mark.parametrize("effort", ["fast", "full", "best"])
def test_a_completion_is_that_of_numpy(library, small, monkeypatch, effort):
    P, Q, _ = small
    asked = {"method": "posterior", "effort": effort, "progress": False, "random_state": 0}
    expected = sc.complete(P, Q, **asked)
    made, systems = [], batched.BatchedDense.systems
    monkeypatch.setattr(moments, "on_accelerator", lambda x: library.name != "numpy")
    monkeypatch.setattr(fitting, "is_kept", lambda *_: False)  # as many candidates: their sums stay on the device
    monkeypatch.setattr(
        batched.BatchedDense, "systems", lambda self, observed: made.append(systems(self, observed)) or made[-1]
    )
    done = sc.complete(library.array(P), library.array(Q), **asked)
    assert any(one is not None for one in made) == (library.name != "numpy")
    np.testing.assert_allclose(to_numpy(done.similarity()), expected.similarity(), atol=1e-8)
    np.testing.assert_array_equal(done.search(k=3).ids, expected.search(k=3).ids)
