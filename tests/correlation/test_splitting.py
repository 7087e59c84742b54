"""Splitting: against the augmented Lagrangian, in both precisions, with penalties that do not fit, on hard problems."""

import warnings

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._correlation import solve as engines
from simcomplete._correlation import splitting
from simcomplete._correlation.lagrangian import augmented
from simcomplete._correlation.splitting import Memory, solve_by_splitting
from simcomplete._correlation.weighted import Weighted
from simcomplete._method.iterate import Limits
from simcomplete.errors import NotConvergedWarning


def problem(n, seed=0, spread=1.0, floor=0.0):
    """Random entries with weights from 10^-spread to 1, some of them 0, and bounds that many reach."""
    rng = np.random.default_rng(seed)
    A, h = np.triu(rng.uniform(-1, 1, (n, n)), 1), np.triu(10 ** rng.uniform(-spread, 0, (n, n)), 1)
    h[np.triu(rng.random((n, n)) < 0.05, 1)] = 0
    eye = np.eye(n) > 0
    low, high = np.where(eye, 1.0, -0.3), np.where(eye, 1.0, 0.5)
    return Weighted(A + A.T + np.eye(n), np.square(h + h.T), low, high, floor)


@pytest.mark.parametrize("n", [12, 310])  # the second begins in single precision
@pytest.mark.parametrize("floor", [0.0, 0.03])
def test_both_engines_meet_and_prove_it(n, floor):
    given = problem(n, floor=floor)
    X, Z, run = solve_by_splitting(given, given.A, np.zeros((n, n)))
    assert run.status.code == "converged"
    assert run.n_iter < 120
    assert X.dtype == np.float64
    assert np.linalg.eigvalsh(Z)[0] > -1e-12 * n
    assert np.linalg.eigvalsh(X)[0] > floor - 1e-8 * n
    assert ((given.low <= X) & (given.high >= X)).all()
    gap = given.objective(X) - given.bound(Z)
    assert abs(gap) < 1e-5 * given.objective(X)
    if n < 100:
        other = augmented(given, given.A, np.zeros((n, n)))[0]
        sure = given.h2 > 0
        np.testing.assert_allclose(X[sure], other.X[sure], atol=1e-4)
        assert given.objective(X) == pytest.approx(given.objective(other.X), rel=1e-6)


def test_a_penalty_that_does_not_fit_is_changed(monkeypatch):
    given = problem(12, seed=1)
    best, _, _ = solve_by_splitting(given, given.A, np.zeros((12, 12)))
    monkeypatch.setattr(splitting, "PENALTIES", (1e4, 2.0))
    monkeypatch.setattr(splitting, "PATIENCE", 30)
    X, _, run = solve_by_splitting(given, given.A, np.zeros((12, 12)), limits=Limits(max_iter=400, progress=False))
    assert run.status.ok
    assert run.n_iter > 30
    np.testing.assert_allclose(given.objective(X), given.objective(best), rtol=1e-6)


def test_where_splitting_is_slow_the_other_engine_ends(monkeypatch):
    given = problem(10, seed=2)
    H, called = np.sqrt(given.h2), []
    expected = sc.nearest_correlation(given.A, weights=H, lower=-0.3, upper=0.5)
    monkeypatch.setattr(splitting, "PENALTIES", (1e6,))
    monkeypatch.setattr(engines, "augmented", lambda *given: called.append(1) or augmented(*given))
    repair = sc.nearest_correlation(given.A, weights=H, lower=-0.3, upper=0.5)
    assert called
    assert repair.status.code == "optimal"
    assert repair.certificate.objective == pytest.approx(expected.certificate.objective, rel=1e-5)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_weights_over_three_orders_of_magnitude_and_held_entries(seed):
    given = problem(25, seed=seed, spread=3.0)
    H = np.sqrt(given.h2)
    valid = sc.nearest_correlation(given.A, min_eigenvalue=0.05).matrix
    held = np.where(np.triu(np.random.default_rng(seed).random((25, 25)) < 0.1, 1), valid, np.nan)
    repair = sc.nearest_correlation(given.A, weights=H, fixed=held, min_eigenvalue=1e-8)
    assert repair.status.code == "optimal"
    assert repair.certificate.gap < 1e-5 * max(repair.certificate.objective, 1e-3)
    repair.cholesky()


def test_the_last_steps_are_combined_to_leave_least():
    one, two = np.array([[1.0, 0.0], [0.0, 0.0]]), np.array([[0.0, 0.0], [0.0, 2.0]])
    memory = Memory().with_step(one, one).with_step(two, two)
    np.testing.assert_allclose(memory.shares(np.array([[3.0, 0.0], [0.0, 4.0]])), [3.0, 2.0], rtol=1e-8)
    for k in range(8):
        memory = memory.with_step(one, one + k * two)
    assert len(memory.changes) == splitting.DEPTH
    assert memory.products.shape == (splitting.DEPTH,) * 2
    np.testing.assert_allclose(memory.products[-1, -1], np.sum((one + 7 * two) ** 2))


def test_values_far_beyond_correlations_next_to_an_unknown_one():
    # X - Y stays the same for many steps, of which there is nothing to combine.
    A = np.array([[1.0, 285.0, -12.0], [285.0, 1.0, np.nan], [-12.0, np.nan, 1.0]])
    done = sc.nearest_correlation(A)
    np.testing.assert_allclose(done.matrix, np.outer([1, 1, -1], [1, 1, -1]), atol=1e-8)


@pytest.mark.parametrize("seed", [0, 3, 14])
def test_weights_of_very_different_size_end_with_a_proof(seed):
    """Where rounding ends the run, the best multiplier on the way is the proof, and the penalty does not grow on."""
    n, rng = 10, np.random.default_rng(seed)
    A = rng.uniform(-2, 2, (n, n))
    H = rng.choice([0, 0.1, 1, 10], (n, n)) * rng.uniform(0.5, 1, (n, n))
    A, H = (np.triu(M, 1) + np.triu(M, 1).T for M in ((A + A.T) / 2, H))
    np.fill_diagonal(A, 1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NotConvergedWarning)
        repair = sc.nearest_correlation(A, weights=H, progress=False)
    proof = repair.certificate
    assert proof.objective == pytest.approx(np.sum((H * (repair.values - A)) ** 2), rel=1e-6, abs=1e-9)
    assert np.linalg.eigvalsh(repair.values)[0] > -1e-9
    assert proof.gap <= 1e-4 * proof.objective + 1e-5
    assert repair.n_iter < 600
