"""The last step without a decomposition: the same matrix as with one, and one decomposition less."""

import numpy as np
import pytest

from simcomplete._correlation import newton as module
from simcomplete._correlation.dual import Dual
from simcomplete._correlation.held import Held
from simcomplete._correlation.newton import newton
from simcomplete._correlation.refined import refined


def noisy(n, seed):
    rng = np.random.default_rng(seed)
    A = np.corrcoef(rng.standard_normal((n // 2, 3)) @ rng.standard_normal((3, n)), rowvar=False)
    A = A + np.triu(0.3 * rng.standard_normal((n, n)), 1)
    A = np.triu(A, 1)
    return A + A.T + np.eye(n)


@pytest.mark.parametrize("n", [40, 310])  # the second begins in single precision
@pytest.mark.parametrize("hold", [False, True])
def test_both_ways_to_the_end_meet(monkeypatch, n, hold):
    A = noisy(n, n)
    held = None
    if hold:
        held = np.zeros((n, n), dtype=bool)
        held[0, 1] = held[2, 3] = True
        A[0, 1] = A[1, 0] = A[2, 3] = A[3, 2] = 0.2
    made = []
    whole = module.decomposed
    monkeypatch.setattr(module, "decomposed", lambda *args, **more: made.append(1) or whole(*args, **more))
    X, run = newton(A, np.ones(n), held=held)
    short = len(made)
    monkeypatch.setattr(module, "NEAR", 0.0)
    Y, other = newton(A, np.ones(n), held=held)
    assert short < len(made) - short + hold, "with held entries the last step may be too large for it"
    np.testing.assert_allclose(X, Y, atol=1e-8)
    assert run.best_facts["deviation"] <= 1e-10
    assert run.best_facts["lower_bound"] == pytest.approx(other.best_facts["lower_bound"], rel=1e-9)
    assert np.linalg.eigvalsh(X)[0] > -1e-13 * n


def test_a_step_that_is_too_large_is_left_to_a_decomposition():
    w, U = np.linalg.eigh(noisy(10, 0))
    here = Dual(np.zeros(10), w, U, 0.0, np.zeros(10))
    assert refined(here, Held.of(np.eye(10)), np.full(10, 0.1)) is None
    valid = Dual(np.zeros(10), np.abs(w) + 1, U, 0.0, np.zeros(10))
    assert refined(valid, Held.of(np.eye(10)), np.full(10, 1e-9)) is None
