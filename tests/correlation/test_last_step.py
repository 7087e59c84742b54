"""The last step without a decomposition: the same matrix as with one, and one decomposition less."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._correlation import newton as module
from simcomplete._correlation.direction import System
from simcomplete._correlation.held import Held
from simcomplete._correlation.newton import Climb, newton
from simcomplete._correlation.psd import psd_gram
from simcomplete._correlation.refined import Moved, refined


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


def point(S0, held, y):
    """A point of the dual, with eigenpairs of its own."""
    return Climb(S0, held, 1.0, float(np.sum(S0 * S0)), 1e-10).at(y)


def test_a_step_that_is_too_large_is_left_to_a_decomposition():
    A, held = noisy(10, 0), Held.of(np.eye(10))
    here = point(A, held, np.zeros(10))
    assert Moved.by(here, held, np.full(10, 0.1)) is None
    system = System.at(here, held, 1.0)
    assert refined(here, held, system, system.solve(here.gradient, 1.0, 1e-10), 1.0, 1e-10) is None
    valid = point(A + 20 * np.eye(10), held, np.zeros(10))  # no eigenvalue is negative: nothing to move
    assert Moved.by(valid, held, np.full(10, 1e-9)) is None


@pytest.mark.parametrize("n", [60, 310])
@pytest.mark.parametrize("hold", [False, True])
def test_moved_eigenpairs_against_a_decomposition(n, hold):
    """Errors fall with the square of the step, eigenvalues next to 0 included; the bound is one, and falls faster."""
    A, which = noisy(n, n), np.zeros((n, n), dtype=bool)
    which[0, 1] = which[2, 3] = hold
    held = Held.of(np.eye(n), which)
    _, run = newton(A, np.ones(n), 1e-5, held=which if hold else None)
    y = run.best.y.copy()
    y[:n] -= point(A, held, y).w[run.best.below] - 1e-6  # the smallest positive one goes where its sign may change
    here = point(A, held, y)
    assert abs(here.w).min() < 1e-5
    step = np.random.default_rng(1).standard_normal(len(y))
    errors, gaps = [], []
    for size in (1e-4, 1e-5):
        d = size * step
        found, there = Moved.by(here, held, d), point(A, held, y + d)
        errors.append(np.abs(psd_gram(found.F) - there.primal()).max())
        gaps.append(found.theta() - there.theta)
    assert errors[0] < 1e-5
    assert errors[1] < 0.1 * errors[0]
    noise = 1e-13 * there.theta
    assert all(-noise <= gap <= 1e-8 * there.theta for gap in gaps)
    assert gaps[1] <= 0.05 * gaps[0] + 2 * noise


def test_a_small_change_costs_two_decompositions(monkeypatch):
    """From the multipliers of the matrix before: one in single precision, one in double."""
    n, rng = 400, np.random.default_rng(0)
    A = noisy(n, 1)
    before = sc.nearest_correlation(A)
    E = np.triu(0.01 * A * rng.standard_normal((n, n)), 1)
    made = []
    whole = module.decomposed
    monkeypatch.setattr(module, "decomposed", lambda T, **more: made.append(T.dtype) or whole(T, **more))
    warm = sc.nearest_correlation(A + E + E.T, start=before)
    assert len(made) <= 3
    assert made.count(np.float64) == 1
    monkeypatch.setattr(module, "NEAR", 0.0)
    cold = sc.nearest_correlation(A + E + E.T)
    np.testing.assert_allclose(warm.matrix, cold.matrix, atol=1e-8)
    assert warm.certificate.relative_gap < 1e-9
    assert warm.certificate.lower_bound <= cold.certificate.objective * (1 + 1e-12)
