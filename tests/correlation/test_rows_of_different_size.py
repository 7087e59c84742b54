"""Row weights and variances that differ by orders of magnitude: as exact as others, proved, or told."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._correlation.bound import gap_at, sharper
from simcomplete._correlation.held import Held
from simcomplete._correlation.newton import Climb, newton
from simcomplete.errors import NotConvergedWarning

A = np.array([[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]])


def noisy(n, seed):
    A = np.random.default_rng(seed).uniform(-1, 1, (n, n))
    A = (A + A.T) / 2
    np.fill_diagonal(A, 1)
    return A


def nearest_of_three(sd):
    """The nearest covariances of three variables, whose correlations on the border are cosines of angles that add up.

    With x = cos a and z = cos b the third is y = cos(a + b); its weighted distance is minimised over a and b.
    """
    w = np.square([sd[0] * sd[1], sd[0] * sd[2], sd[1] * sd[2]]) / np.max(np.outer(sd, sd)) ** 2
    centre, width, best = np.full(2, np.arccos(0.9)), 0.8, None
    for _ in range(60):  # a grid that becomes finer
        a, b = (np.linspace(c - width, c + width, 41) for c in centre)
        a, b = np.meshgrid(a, b, indexing="ij")
        off = w[0] * (np.cos(a) - 0.9) ** 2 + w[1] * (np.cos(a + b) - 0.2) ** 2 + w[2] * (np.cos(b) - 0.9) ** 2
        k = np.unravel_index(np.argmin(off), off.shape)
        centre, width, best = np.array([a[k], b[k]]), width / 1.7, np.cos([a[k], a[k] + b[k], b[k]])
    return best


@pytest.mark.parametrize("sd", [[1, 1e4, 1e2], [1, 1e5, 1e4], [1e-3, 1e2, 1]])
@pytest.mark.parametrize("unit", [1e-15, 1.0, 1e15])
def test_covariances_of_variables_in_different_units(sd, unit):
    size = np.outer(sd, sd) * unit**2
    repair = sc.nearest_covariance(A * size)
    found = (repair.values / size)[np.triu_indices(3, 1)]
    np.testing.assert_allclose(found, nearest_of_three(np.array(sd)), atol=1e-5)
    assert repair.status.code == "optimal"
    assert repair.certificate.relative_gap < 1e-6
    assert repair.certificate.objective == pytest.approx(np.sum(np.square(repair.values - A * size)), rel=1e-6)


@pytest.mark.parametrize("n", [3, 20, 60])
@pytest.mark.parametrize("most", [1e5, 1e8])
def test_row_weights_of_different_size(n, most):
    w = np.geomspace(1, most, n)
    given = A if n == 3 else noisy(n, n)
    repair = sc.nearest_correlation(given, weights=w)
    objective = np.sum(np.square(np.sqrt(np.outer(w, w)) * (repair.values - given)))
    assert repair.status.code == "optimal"
    assert repair.certificate.objective == pytest.approx(objective, rel=1e-6)
    assert repair.certificate.relative_gap < 1e-6
    assert np.linalg.eigvalsh(repair.values)[0] > -1e-12


def test_what_rounding_leaves_unproved_is_told():
    sd = np.array([1, 1, 1e7])
    with pytest.warns(NotConvergedWarning, match=r"differ by a factor of 1e\+14.*through='correlation'"):
        repair = sc.nearest_covariance(A * np.outer(sd, sd))
    assert repair.status.code == "stalled"
    assert np.linalg.eigvalsh(repair.values / np.outer(sd, sd))[0] > -1e-12, "it is valid all the same"
    through = sc.nearest_covariance(A * np.outer(sd, sd), through="correlation")
    assert through.certificate.relative_gap < 1e-6


def one_entry(i, j, value, rest=np.nan):
    given = np.full((3, 3), rest)
    given[i, j] = given[j, i] = value
    return given


@pytest.mark.parametrize(
    ("sd", "unknown", "more"),
    [
        ([1, 1e4, 1e2], True, {}),
        ([1, 1e5, 1e4], False, {"weights": np.ones((3, 3))}),
        ([1, 1e6, 1], False, {"fixed": one_entry(0, 2, 0.25)}),
    ],
)
def test_constraints_between_variances_of_different_size_are_solved_or_told(sd, unknown, more):
    size = np.outer(sd, sd)
    given = (np.where(one_entry(0, 2, 1, 0) > 0, np.nan, A) if unknown else A) * size
    with pytest.warns(NotConvergedWarning, match="through='correlation'"):
        repair = sc.nearest_covariance(given, **more)
    assert repair.status.code == "stalled"
    assert np.linalg.eigvalsh(repair.values / size)[0] > -1e-7, "it is valid all the same"
    through = sc.nearest_covariance(given, through="correlation", **more)
    assert through.status.code == "optimal"
    assert np.linalg.eigvalsh(through.values / size)[0] > -1e-7


@pytest.mark.parametrize("digits", range(4, 8))
def test_a_matrix_that_was_rounded_has_a_proof(digits):
    given = np.corrcoef(np.random.default_rng(200).standard_normal((60, 200)).T).round(digits)
    repair = sc.nearest_correlation(given)
    assert repair.status.code == "optimal"
    assert repair.distance > 0
    assert repair.certificate.relative_gap < 1e-6


@pytest.mark.parametrize("held", [False, True])
def test_the_bound_from_small_terms_is_a_bound(held):
    given, which = noisy(12, 0), np.zeros((12, 12), dtype=bool)
    which[0, 1] = held
    given[0, 1] = given[1, 0] = 0.1
    held = Held.of(given, which)
    X, run = newton(given, np.ones(12), held=which)
    s = 1 / np.sqrt(np.diag(X))
    X *= np.outer(s, s)
    least = np.sum(np.square(X - given))
    other = 0.9 * X + 0.1 * np.where(which | which.T, 0.1, np.eye(12))  # meets the constraints, and is not the nearest
    objective = np.sum(np.square(other - given))
    assert objective > least + 1e-3
    rng = np.random.default_rng(1)
    climb = Climb(given, held, 1.0, 0.0, 0.0)
    for size in (0, 1e-8, 1e-3, 0.3):
        point = climb.at(run.best.y + size * rng.standard_normal(len(run.best.y)))
        usual = np.sum(given**2) - 2 * point.theta
        for matrix, distance in ((X, least), (other, objective)):
            bound = distance - gap_at(point, matrix, given, held)
            assert usual - 1e-9 <= bound <= least + 1e-9
    assert sharper(-1.0, least, X, given, run.best.y, held) == pytest.approx(least)
    assert sharper(-1.0, objective, other, given, run.best.y, held) == pytest.approx(least)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"min_eigenvalue": 0.05},
        {"weights": [1, 2, 3]},
        {"lower": -0.4, "upper": 0.6},
        {"fixed": np.eye(3, k=1) > 0},
    ],
)
def test_a_valid_matrix_stays_to_the_last_bit(more):
    valid = np.array([[1, 0.3, -0.4], [0.3, 1, 0.6], [-0.4, 0.6, 1]])
    repair = sc.nearest_correlation(valid, **more)
    np.testing.assert_array_equal(repair.values, valid)
    assert repair.certificate.objective == repair.distance == 0
    assert "valid as it is" in repair.status.message
    assert repair.values is not repair.given
    sd = np.array([0.1, 3.0, 7.0])
    more = {} if "lower" in more else {k: v for k, v in more.items() if k != "min_eigenvalue"}
    covariance = valid * np.outer(sd, sd)
    np.testing.assert_array_equal(sc.nearest_covariance(covariance, **more).values, covariance)
    np.testing.assert_array_equal(sc.nearest_covariance(covariance, keep="nothing").values, covariance)
    again = sc.nearest_correlation(A, start=repair)
    np.testing.assert_allclose(again.values, sc.nearest_correlation(A).values, atol=1e-9)
