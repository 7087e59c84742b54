"""Random small problems of every kind, against a convex solver: the optimum, the bound, and what must hold exactly."""

import warnings

import cvxpy
import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError

EXACT = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}


def best(A, H, floor, low, high):
    """The smallest weighted squared distance by Clarabel; None where there is no valid matrix."""
    n = len(A)
    upper = np.triu_indices(n, 1)
    X = cvxpy.Variable((n, n), PSD=True)
    x, low, high = X[upper], low[upper], high[upper]
    equal = np.flatnonzero(low == high)
    conditions = [cvxpy.diag(X) == 1 - floor]
    for k, sign, bound in ((equal, 0, low), (np.flatnonzero(low > -2), 1, low), (np.flatnonzero(high < 2), -1, high)):
        if len(k):
            conditions.append(x[k] == bound[k] if sign == 0 else sign * x[k] >= sign * bound[k])
    goal = cvxpy.Minimize(2 * cvxpy.sum_squares(cvxpy.multiply(H[upper], x - A[upper])))
    problem = cvxpy.Problem(goal, conditions)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it tells where it is less exact than asked, and the status does too
        problem.solve(solver=cvxpy.CLARABEL, **EXACT)
    return problem.status, problem.value


def symmetric(M):
    return np.tril(M, -1) + np.tril(M, -1).T


def random_problem(seed):
    """A matrix, what is asked of it, and the same for the convex solver."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 9))
    A = symmetric(rng.normal(0, rng.choice([0.3, 1.0, 3.0]), (n, n))) + np.eye(n)
    floor = float(rng.choice([0, 1e-8, 0.01, 0.3]))
    H, low, high = 1 - np.eye(n), np.full((n, n), -2.0), np.full((n, n), 2.0)
    more = {"min_eigenvalue": floor}
    kind = rng.choice(["none", "rows", "elements", "zeros"])
    if kind == "rows":
        more["weights"] = rng.uniform(0.2, 5.0, n)
        H = np.sqrt(np.outer(more["weights"], more["weights"]))
    elif kind != "none":
        H = symmetric(rng.uniform(0.1, 1.0, (n, n)) * (rng.random((n, n)) < (0.6 if kind == "zeros" else 2)))
        H = H if H.any() else 1 - np.eye(n)
        more["weights"] = H
    given = A.copy()
    if rng.random() < 0.3 and n > 3:
        given[0, 1] = given[1, 0] = np.nan
        H = np.where(np.isnan(given), 0.0, H)
    if rng.random() < 0.4:
        V = (1 - floor) * np.corrcoef(rng.standard_normal((n, 2 * n))) + floor * np.eye(n)
        V, some = (V + V.T) / 2, symmetric(rng.random((n, n)) < 0.3) > 0
        more["fixed"] = np.where(some, V, np.nan)
        low, high = np.where(some, V, low), np.where(some, V, high)
    if rng.random() < 0.3:
        more["lower"], more["upper"] = np.sort(rng.uniform(-1, 1, 2))
        low, high = np.maximum(low, more["lower"]), np.minimum(high, more["upper"])
    return given, more, (np.nan_to_num(given), H, floor, low, high)


@pytest.mark.parametrize("seed", range(40))
def test_the_optimum_is_that_of_a_convex_solver(seed):
    given, more, (A, H, floor, low, high) = random_problem(seed)
    try:
        repair = sc.nearest_correlation(given, progress=False, **more)
    except InputError:
        assert (low > high).any() or "infeasible" in best(A, H, floor, low, high)[0]
        return
    shift = floor * np.eye(len(A))
    status, smallest = best(A - shift, H, floor, low, high)
    assert status.startswith("optimal")
    X, proof, off = repair.values, repair.certificate, ~np.eye(len(A), dtype=bool)
    np.testing.assert_array_equal(np.diag(X), 1)
    assert np.linalg.eigvalsh(X)[0] > floor - 5e-8
    assert (np.maximum(low, -1) <= X)[off].all()
    assert (np.minimum(high, 1) >= X)[off].all()
    rounding = 1e-7 * H.max() ** 2
    assert proof.objective == pytest.approx(np.sum((H * (X - A))[off] ** 2), rel=1e-9, abs=1e-12)
    assert proof.objective <= smallest * (1 + 1e-5) + rounding
    assert proof.lower_bound <= smallest * (1 + 1e-7) + rounding, "no bound is above the optimum"
    assert proof.gap <= 1e-5 * proof.objective + rounding


@pytest.mark.parametrize(
    ("A", "H", "floor"),
    [
        ([-2.425722, 6.71576, 1.120852], [0.0, 0.3135, 0.706479], 0.01),
        ([-2.317852, 2.11394, -2.322536], [0.032084, 0.337845, 5.435595], 0.3),
    ],
)
def test_entries_far_outside_with_weights_of_different_size(A, H, floor):
    """Combined steps once led these to multipliers of 1e20, and to a matrix half as far again as the nearest."""
    A, H = (symmetric(np.array([[0, 0, 0], [x[0], 0, 0], [x[1], x[2], 0]])) for x in (A, H))
    none = np.full((3, 3), 2.0)
    repair = sc.nearest_correlation(A + np.eye(3), weights=H, min_eigenvalue=floor)
    assert repair.certificate.objective == pytest.approx(best(A, H, floor, -none, none)[1], rel=1e-6)
    assert repair.certificate.relative_gap < 1e-6


def test_a_direction_without_end_is_left():
    """Lower bounds, and one weight: combined steps once went on for ever, because nothing grew on the way."""
    A = np.full((4, 4), 0.832432)
    H = np.zeros((4, 4))
    H[0, 3] = H[3, 0] = 0.134363
    repair = sc.nearest_correlation(A, weights=H, lower=0.0, min_eigenvalue=0.9)
    assert repair.status.ok
    assert repair.values[0, 3] == pytest.approx(0.1, abs=1e-6)
    assert repair.certificate.relative_gap < 1e-5


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("floor", [1e-8, 0.3])
def test_a_repaired_block_beside_unknown_pairs_and_weights(seed, floor):
    """A block that has the floor as its smallest eigenvalue leaves no matrix inside, and multipliers without end."""
    rng = np.random.default_rng(seed)
    n, k = 7, 4
    A = symmetric(rng.uniform(-1, 1, (n, n))) + np.eye(n)
    A[:k, :k] = sc.nearest_correlation(A[:k, :k], min_eigenvalue=floor).values
    H = symmetric(rng.uniform(0.1, 1.0, (n, n)))
    gap = A.copy()
    gap[0, k] = gap[k, 0] = np.nan
    H[0, k] = H[k, 0] = 0.0
    repair = sc.nearest_correlation(gap, weights=H, block=k, min_eigenvalue=floor)
    np.testing.assert_allclose(repair.values[:k, :k], A[:k, :k], atol=1e-15)
    assert np.linalg.eigvalsh(repair.values)[0] > floor - 5e-8
    low, high = np.full((n, n), -2.0), np.full((n, n), 2.0)
    low[:k, :k] = high[:k, :k] = A[:k, :k]
    # A little room for the solver, which needs it, makes its optimum a little smaller.
    smallest = best(A - floor * np.eye(n), H, floor, low - 1e-7, high + 1e-7)[1]
    proof = repair.certificate
    assert proof.relative_gap < 1e-4
    assert smallest * (1 - 1e-6) <= proof.objective <= smallest * (1 + 1e-2)
