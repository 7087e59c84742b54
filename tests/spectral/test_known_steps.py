"""Step rules against numbers worked out by hand."""

import numpy as np
import pytest

from simcomplete._method.iterate import Limits
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.penalties import NoPenalty, Nuclear, NuclearMinusFrobenius, SpectralProblem, SquaredFrobenius
from simcomplete._spectral.solvers.descent import DescentSettings, descend
from simcomplete._spectral.solvers.steps import Backtracking, Fixed, Safe, evaluate_point, spectrum_ends

S0 = np.diag([5.0, -6.0, 1.0])
V = np.array([[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])  # V^T V = diag(4, 1)


def problem(penalty, weight):
    return SpectralProblem(DenseSimilarity(S0), penalty, weight=weight, rank=2)


@pytest.mark.parametrize(
    ("penalty", "bend"),
    [
        (Nuclear(), 2.0),  # 2 * 1 + 4 * (1 - 1)
        (NoPenalty(), 2.0),  # 0, and not less than 2
        (NuclearMinusFrobenius(), 2.0),  # 2 (1 - s/|s|), at most 2
        (SquaredFrobenius(), 48.0),  # 12 s at s = 4: 2 * 8 + 4 * (16 - 8)
        (SquaredFrobenius(0.5), 24.0),
    ],
    ids=repr,
)
@pytest.mark.parametrize("weight", [0.0, 3.0])
def test_the_safe_step_is_one_over_the_curvature(penalty, bend, weight):
    gamma = Safe(problem(penalty, weight), size=6.0).gamma(V)
    assert gamma == pytest.approx(1 / (4 * (3 * 4 + 6) + bend * weight), rel=1e-12)


def test_the_safe_step_where_there_is_no_curvature():
    assert Safe(problem(Nuclear(), 0.0), size=0.0).gamma(0 * V) == 1.0


@pytest.mark.parametrize("penalty", [Nuclear(), NuclearMinusFrobenius(), NoPenalty(), SquaredFrobenius()], ids=repr)
@pytest.mark.parametrize("weight", [0.5, 50.0])
def test_the_safe_step_never_raises_the_objective(penalty, weight):
    here = problem(penalty, weight)
    rule, point = Safe(here, size=6.0), evaluate_point(here, V + 0.1 * np.arange(6).reshape(3, 2))
    for _ in range(30):
        after = rule(point)
        assert after.objective <= point.objective + 1e-9
        assert after.step == rule.gamma(point.V)
        np.testing.assert_allclose(after.V, point.V - after.step * point.gradient)
        point = after


def test_a_fixed_step():
    here = problem(Nuclear(), 2.0)
    point = evaluate_point(here, V)
    after = Fixed(here, 0.01)(point)
    # gradient 4 (V V^T - S0) V + 2 weight V: first column 4 (4 - 5) 2 + 8 = 0, second 4 (1 + 6) 1 + 4 = 32
    np.testing.assert_allclose(point.gradient, [[0, 0], [0, 32], [0, 0]])
    assert point.slope == 32
    # |diag(4, 1, 0) - S0|^2 = 1 + 49 + 1, and 2 * (4 + 1)
    assert point.objective == pytest.approx(61)
    np.testing.assert_allclose(after.V, [[2, 0], [0, 1 - 0.32], [0, 0]])
    assert after.step == 0.01


def test_backtracking_halves_until_it_falls_enough_and_then_follows_the_secant():
    here = problem(Nuclear(), 2.0)
    rule = Backtracking(here, Safe(here, 6.0))
    point = evaluate_point(here, V)
    first = rule(point)
    assert first.step == rule.first.gamma(V)  # without a step to try it begins with the safe one
    move, change = first.V - point.V, first.gradient - point.gradient
    assert first.trial == pytest.approx(np.sum(move * move) / np.sum(move * change))
    # Along (0, 1): f(y) = (y^2 + 6)^2 + 2 y^2 + ..., so a step of 1 goes to y = -31, far up, and must be halved.
    far = rule(evaluate_point(here, V).__class__(V, point.objective, point.gradient, point.slope, trial=1.0))

    def height(gamma):
        return evaluate_point(here, V - gamma * point.gradient).objective

    tried = [2.0**-i for i in range(20)]
    enough = next(g for g in tried if height(g) <= point.objective - 1e-4 * g * 32**2)
    assert enough < 0.1
    assert far.step == enough


def test_backtracking_doubles_where_the_objective_bends_down():
    # At a tiny V the objective is concave: <dV, dG> < 0, so the next try is twice the last step.
    here = SpectralProblem(DenseSimilarity(np.diag([5.0, 1.0])), NoPenalty(), weight=0.0, rank=1)
    rule = Backtracking(here, Safe(here, 5.0))
    after = rule(evaluate_point(here, np.array([[1e-3], [1e-3]])))
    assert after.trial == pytest.approx(2 * after.step)


def test_the_longest_step_that_is_tried():
    here = SpectralProblem(DenseSimilarity(1e-3 * np.eye(2)), NoPenalty(), weight=1e-3, rank=1)
    point = evaluate_point(here, np.array([[1e-9], [0.0]]))
    rule = Backtracking(here, Safe(here, 1e-3))
    tried = rule(point.__class__(point.V, point.objective, point.gradient, point.slope, trial=1e30))
    assert tried.step <= 1e6 / 2e-3
    assert np.log2(1e6 / 2e-3 / tried.step) == pytest.approx(round(np.log2(1e6 / 2e-3 / tried.step)), abs=1e-9)


def test_overflow_comes_out_as_nan():
    point = evaluate_point(problem(Nuclear(), 1.0), np.full((3, 2), 1e200), step=0.5)
    assert np.isnan(point.objective)
    assert np.isnan(point.slope)
    assert point.step == 0.5


@pytest.mark.parametrize("n", [3, 48, 49, 300])
def test_both_ends_of_the_spectrum(n):
    Q = np.linalg.qr(np.random.default_rng(1).standard_normal((n, n)))[0]
    w = np.concatenate([[-7.0, 9.0], np.linspace(-1, 1, n - 2)])
    low, high = spectrum_ends(DenseSimilarity((Q * w) @ Q.T))
    assert low == pytest.approx(-7, rel=1e-4)
    assert high == pytest.approx(9, rel=1e-4)
    assert low >= -7 - 1e-9
    assert high <= 9 + 1e-9


def test_the_spectrum_of_nothing():
    assert spectrum_ends(DenseSimilarity(np.zeros((60, 60)))) == (0.0, 0.0)


class Counting(DenseSimilarity):
    """A dense S0 that remembers how many vectors it was multiplied with."""

    def matmul(self, X):
        self.__dict__.setdefault("widths", []).append(X.shape[1])
        return super().matmul(X)


@pytest.mark.parametrize(("n", "widths"), [(48, [48]), (49, [8] * 6 + [48])])
def test_the_ends_of_the_spectrum_cost_few_products(n, widths):
    operator = Counting(np.eye(n))
    spectrum_ends(operator)
    assert operator.widths == widths


def test_the_safe_step_of_a_small_matrix_is_long():
    here = SpectralProblem(DenseSimilarity(0.01 * np.eye(2)), NoPenalty(), weight=0.0, rank=1)
    assert Safe(here, size=0.01).gamma(np.array([[0.1], [0.0]])) == pytest.approx(1 / (4 * (0.03 + 0.01)))


def test_the_secant_of_a_small_move():
    # Near the optimum moves are small, and so is their product with the change of the gradient; it counts all the same.
    here = SpectralProblem(DenseSimilarity(np.diag([5.0, 1.0])), NoPenalty(), weight=0.0, rank=1)
    point = evaluate_point(here, np.array([[np.sqrt(5) + 1e-3], [0.0]]))
    after = Backtracking(here, Safe(here, 5.0))(point)
    move, change = after.V - point.V, after.gradient - point.gradient
    assert 0 < np.sum(move * change) < 1
    assert after.trial == pytest.approx(np.sum(move * move) / np.sum(move * change))
    assert after.trial == pytest.approx(1 / 40, rel=1e-2)  # 8 lambda_max


def test_objective_and_gradient_with_and_without_a_product_at_hand():
    here = problem(SquaredFrobenius(), 2.0)
    expected = np.sum((V @ V.T - S0) ** 2) + 2 * (16 + 1)
    gradient = 4 * (V @ V.T - S0) @ V + 2 * 2 * V @ np.diag([8.0, 2.0])
    for SV in (None, S0 @ V):
        assert here.objective(V, SV) == pytest.approx(expected)
        np.testing.assert_allclose(here.gradient(V, SV), gradient)
    other = here.objective(V, 0 * V)  # a product that is given is taken as it is
    assert other == pytest.approx(expected + 2 * np.sum(V * (S0 @ V)))
    assert here.scale == 62.0
    assert here.optimum(np.array([5.0, 1.0])) == pytest.approx(62 - 26 + 2 * 26 / 9 + 26 * (2 / 3) ** 2)


@pytest.mark.parametrize(("step", "certain"), [(0.2495, False), (0.2505, True)])
def test_a_fixed_step_is_said_not_to_settle_only_where_that_is_certain(step, certain):
    """Curvature at the optimum is at least 8 * 3 - 4 * 4 = 8 for eigenvalue 3 and weight 4: the limit is 2/8."""
    here = SpectralProblem(DenseSimilarity(np.diag([3.0, 1.0])), NuclearMinusFrobenius(), weight=4.0, rank=1)
    _, run = descend(here, DescentSettings(Limits(max_iter=1), start=np.array([[1.0], [0.5]])), step=step)
    assert run.status.code == "max_iter"
    assert ("cannot settle" in run.status.message) is certain
