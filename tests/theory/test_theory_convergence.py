"""The paper's statements on convergence and optima, each beside formulas written out here once more."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plain_theory import gradient, objective, problems, relaxed, weights
from simcomplete import complete_similarity, overlap_similarity, theory
from simcomplete.errors import InputError, NotConvergedWarning


@st.composite
def spectra(draw):
    """S0 with eigenvalues at least 0.5 apart, falling, and their vectors."""
    n = draw(st.integers(2, 6))
    gaps = draw(st.lists(st.floats(0.5, 3), min_size=n, max_size=n))
    w = np.cumsum(gaps)[::-1] - draw(st.floats(0, 6))
    U, _ = np.linalg.qr(np.random.default_rng(draw(st.integers(0, 99))).standard_normal((n, n)))
    return (U * w) @ U.T, w, U


def descend(S0, V, weight, step, iterations):
    """The paper's Algorithm 1, written out; also the largest norm on the way."""
    history, G = [], 0.0
    for _ in range(iterations):
        slope = gradient(S0, V, weight)
        history.append({"objective": objective(S0, V, weight), "gradient_norm": np.linalg.norm(slope)})
        G = max(G, np.linalg.norm(V))
        V = V - step * slope
    return V, history, max(G, np.linalg.norm(V))


class TestConvergence:
    @relaxed
    @given(problems(), weights, st.integers(1, 60))
    def test_holds_for_steps_up_to_one_over_l(self, problem, weight, iterations):
        S0, V = problem
        radius = 2 * np.linalg.norm(V) + 2 * np.sqrt(np.linalg.norm(S0))
        assume(radius > 0)
        step = 1 / theory.corrected_constant(S0, radius, weight)
        _, history, G = descend(S0, V, weight, step, iterations)
        assume(radius >= G)
        w = np.linalg.eigvalsh(S0)[::-1][: V.shape[1]]
        check = theory.convergence(history, np.sum(S0**2) - np.sum(np.maximum(w - weight / 2, 0) ** 2), step=step)
        assert check.holds and check.decreases
        assert check.iterations == iterations

    def test_on_real_data(self, small):
        S0 = overlap_similarity(np.vstack(small[:2]))
        V = np.random.default_rng(0).standard_normal((len(S0), 5)) * 0.1
        step = 1 / theory.sharp_constant(S0, 1.2 * np.sqrt(np.linalg.norm(S0, 2)), 0.1)
        V, history, _ = descend(S0, V, 0.1, step, 400)
        assert np.linalg.norm(V, 2) <= 1.2 * np.sqrt(np.linalg.norm(S0, 2))
        optimum = complete_similarity(S0, method="smcnn", rank=5, penalty=0.1).certificate.objective
        check = theory.convergence(history, optimum, step=step)
        assert check.holds and check.decreases
        as_table = [(row["objective"], row["gradient_norm"]) for row in history]
        assert theory.convergence(np.array(as_table), optimum, step=np.full(400, step)) == check
        thinned = theory.convergence(history[::8], optimum, step=step)
        assert thinned.holds and thinned.decreases and thinned.iterations == 50

    def test_reads_the_steps_of_a_history(self):
        history = [
            {"iteration": 0, "objective": 5.0, "gradient_norm": 7.0},
            {"iteration": 1, "objective": 2.0, "gradient_norm": 6.0, "step": 0.1},
            {"iteration": 2, "objective": 1.0, "gradient_norm": 9.0, "step": 0.3},
        ]
        check = theory.convergence(history, 1.0)  # two steps, from gradients 7 and 6: 2 (5 - 1) / (0.1 + 0.3)
        assert (check.smallest, check.bound, check.iterations) == pytest.approx((36.0, 20.0, 2))
        assert check.largest_rise == pytest.approx(0.3 * 36 / 2 - 1)
        assert not check.holds and not check.decreases
        with pytest.raises(InputError, match="left out"):
            theory.convergence([history[0], history[2]], 1.0)
        with pytest.raises(InputError, match="records no steps"):
            theory.convergence(history[:1], 1.0)
        with pytest.raises(InputError, match="records no steps"):
            theory.convergence(np.ones((2, 2)), 1.0)

    def test_bound_by_hand(self):
        # Objectives 5 and 1, optimum 1, steps 0.1: 2 (5 - 1) / (2 * 0.1) = 40.
        check = theory.convergence([(5.0, 7.0), (1.0, 6.0)], 1.0, step=0.1)
        assert (check.smallest, check.bound) == pytest.approx((36.0, 40.0))
        assert check.holds and check.largest_rise == pytest.approx(1 - (5 - 0.1 * 49 / 2))

    def test_fails_for_a_step_that_is_too_long(self):
        S0, V = np.array([[4.0]]), np.array([[1.9]])
        _, history, _ = descend(S0, V, 0.0, 0.07, 400)  # 0.07 * 4 is above 1/4: it swings about 2 for ever
        check = theory.convergence(history, 0.0, step=0.07)
        assert not check.holds and not check.decreases

    @pytest.mark.parametrize("grown", [10.0, 1e200, np.inf, np.nan])
    def test_a_run_that_grew_does_not_decrease(self, grown):
        check = theory.convergence([(1.0, 1.0), (grown, grown)], 0.0, step=0.1)
        assert not check.decreases
        assert check.holds is not np.isnan(grown)  # the smallest gradient, 1, is below 2 * 1 / 0.2

    @pytest.mark.parametrize(("iterations", "holds"), [(5, True), (6, False), (1000, False)])
    def test_counterexample_with_the_papers_step(self, iterations, holds):
        example = theory.convergence_counterexample(iterations)
        V, history, G = descend(example.S0, example.V, example.weight, example.step, iterations)
        assert example.G >= G and example.step == theory.paper_step(example.G, example.weight) == 0.5
        assert np.array_equal(np.abs(V), np.abs(example.V))
        assert {row["gradient_norm"] for row in history} == {2.0}
        assert {row["objective"] for row in history} == {8.9375}
        assert example.check.bound == pytest.approx(22 / iterations)
        assert example.check.holds is holds
        assert (np.diag(example.S0) == 1).all() and example.S0.min() >= 0

    @relaxed
    @given(problems(), weights)
    def test_the_papers_step_swings_wherever_an_eigenvalue_is_negative(self, problem, weight):
        S0 = problem[0]
        w, U = np.linalg.eigh(S0)
        assume(w[0] < -0.01)
        V = np.sqrt(-w[0] / 2) * U[:, :1]
        after = V - theory.paper_step(np.linalg.norm(V), weight) * gradient(S0, V, weight)
        np.testing.assert_allclose(after, -V, atol=1e-9 * np.linalg.norm(S0) / -w[0])

    def test_a_corrected_step_mends_the_counterexample(self):
        example = theory.convergence_counterexample()
        step = 1 / theory.corrected_constant(example.S0, 1.6, example.weight)
        # An exactly symmetric start would stay in its plane; a touch of the top eigenvector is enough.
        V, history, G = descend(example.S0, example.V + 0.01, example.weight, step, 400)
        check = theory.convergence(history, 3.4375, step=step)
        assert check.holds and check.decreases and G <= 1.6
        assert objective(example.S0, V, example.weight) == pytest.approx(3.4375, rel=1e-9)

    def test_refusals(self):
        with pytest.raises(InputError, match="empty"):
            theory.convergence([], 0.0, step=0.1)
        with pytest.raises(InputError, match="no gradient_norm"):
            theory.convergence([{"objective": 1.0}], 0.0, step=0.1)
        with pytest.raises(InputError, match="two columns"):
            theory.convergence(np.ones((3, 3)), 0.0, step=0.1)
        with pytest.raises(InputError, match="above 0"):
            theory.convergence([(1.0, 1.0)], 0.0, step=0.0)
        with pytest.raises(InputError, match="each of 1 entries"):
            theory.convergence([(1.0, 1.0)], 0.0, step=[0.1, 0.1])


def hessian(S0, V, weight):
    """Second derivatives of the objective, column by column, from differences of the gradient (cubic: exact)."""
    columns = []
    for k in range(V.size):
        D = np.zeros(V.size)
        D[k] = 1.0
        D = D.reshape(V.shape)
        # The gradient is a cubic, for which this combination of central differences has no error.
        near = gradient(S0, V + D, weight) - gradient(S0, V - D, weight)
        far = gradient(S0, V + 2 * D, weight) - gradient(S0, V - 2 * D, weight)
        columns.append(((8 * near - far) / 12).ravel())
    return np.array(columns)


class TestOnTheLibrarysDescent:
    """The same statements, on runs of `solver="descent"`."""

    @pytest.fixture
    def S0(self, small):
        return overlap_similarity(np.vstack(small[:2]))

    def test_convergence_reads_its_history(self, S0):
        step = 1 / theory.sharp_constant(S0, 1.2 * np.sqrt(np.linalg.norm(S0, 2)), 0.1)
        with pytest.warns(NotConvergedWarning, match="all 300 iterations made"):
            done = descended(S0, rank=5, penalty=0.1, step=step, max_iter=300, tol=0)
        assert np.linalg.norm(done.factor, 2) <= 1.2 * np.sqrt(np.linalg.norm(S0, 2))
        check = theory.convergence(done.history, done.certificate.lower_bound)
        assert check.holds and check.decreases and check.iterations == 300

    def test_a_step_that_cannot_settle_fails(self, S0):
        step = 0.3 / np.linalg.norm(S0, 2)  # above 1/4: the bound near the optimum
        with pytest.warns(NotConvergedWarning, match="cannot settle"):
            done = descended(S0, rank=5, penalty=0.1, step=step, start_scale=0.01, max_iter=900, tol=0)
        # The start is near V = 0, where the gradient is small; from then on it never is again.
        check = theory.convergence(done.history[100:], done.certificate.lower_bound)
        assert not check.holds and not check.decreases

    def test_its_paper_step_runs_into_the_counterexample(self):
        example = theory.convergence_counterexample()
        with pytest.warns(NotConvergedWarning):
            done = descended(
                example.S0, rank=1, penalty=example.weight, step="paper", start=example.V, max_iter=50, tol=0
            )
        assert {row["gradient_norm"] for row in done.history} == {2.0}
        check = theory.convergence(done.history, done.certificate.lower_bound)
        assert check.smallest == 4.0 and not check.holds

    def test_where_it_ends_is_optimal(self, S0):
        done = descended(S0, rank=4, penalty=20.0, step="backtracking", max_iter=5000)
        check = theory.global_optimality(S0, done.factor, weight=20.0, rank_tolerance=1e-6)
        assert check.second_order and check.optimal and check.holds
        assert check.optimum == pytest.approx(done.certificate.lower_bound, rel=1e-9)


def descended(S0, **settings):
    return complete_similarity(S0, method="smcnn", solver="descent", progress=False, **settings)


class TestOptimality:
    @relaxed
    @given(problems(), weights)
    def test_gap_bound_holds_anywhere(self, problem, weight):
        S0, V = problem
        assume(V.shape[1] <= len(S0))
        check = theory.global_optimality(S0, V, weight=weight)
        assert check.holds
        assert -1e-9 * (1 + check.scale) <= check.gap <= check.gap_bound + 1e-9 * (1 + check.scale)
        assert check.gradient_norm == pytest.approx(np.linalg.norm(gradient(S0, V, weight)), rel=1e-9, abs=1e-9)
        assert np.linalg.eigvalsh(hessian(S0, V, weight))[0] <= check.curvature + 1e-8 * (1 + check.scale)

    @relaxed
    @given(spectra(), st.data(), weights)
    def test_second_order_points_are_optimal_and_others_are_not(self, spectrum, data, weight):
        """Every stationary point keeps some eigenvalues above weight/2; the theorem tells the optimal one."""
        S0, w, U = spectrum
        assume((np.abs(w - weight / 2) > 0.01).all())
        good = [i for i in range(len(w)) if w[i] > weight / 2]
        kept = data.draw(st.lists(st.sampled_from(good), unique=True)) if good else []
        r = data.draw(st.integers(max(1, len(kept)), len(w)))
        V = np.zeros((len(w), r))
        V[:, : len(kept)] = U[:, kept] * np.sqrt(w[kept] - weight / 2)
        V = V @ np.linalg.qr(np.random.default_rng(1).standard_normal((r, r)))[0]
        check = theory.global_optimality(S0, V, weight=weight)
        best = sorted(kept) == good[:r]
        assert check.stationary and check.rank == len(kept) and check.holds
        assert check.second_order is best
        assert check.optimal is best
        assert check.holds_as_printed is (best or len(kept) == r)
        smallest = np.linalg.eigvalsh(hessian(S0, V, weight))[0]
        assert bool(smallest >= -1e-6 * np.sqrt(check.scale)) is best
        if len(kept) < r:
            assert check.curvature == pytest.approx(2 * check.multiplier, abs=1e-6)

    def test_rank_below_bound_after_a_descent(self, small):
        """A weight that leaves fewer than r eigenvalues: the theorem's own case, reached by plain descent."""
        S0 = overlap_similarity(np.vstack(small[:2]))
        w = np.linalg.eigvalsh(S0)[::-1]
        weight = w[0] + w[1]  # weight/2 half way between two eigenvalues: one is left
        V = np.random.default_rng(0).standard_normal((len(S0), 4))
        V, _, _ = descend(S0, V, weight, 1 / theory.sharp_constant(S0, 1.2 * np.sqrt(w[0]), weight), 4000)
        check = theory.global_optimality(S0, V, weight=weight, rank_tolerance=1e-9)
        assert (check.rank, check.rank_bound) == (1, 4)
        assert check.second_order and check.optimal and check.holds and check.holds_as_printed
        exact = complete_similarity(S0, method="smcnn", rank=4, penalty=weight)
        assert check.optimum == pytest.approx(exact.certificate.objective, rel=1e-10)

    def test_full_rank_optimum_needs_no_multiplier(self):
        check = theory.global_optimality(np.diag([3.0, 2.0]), np.array([[np.sqrt(3.0)], [0.0]]))
        assert check.multiplier == pytest.approx(-4.0)  # M = diag(0, -4): not optimal without the rank bound
        assert check.curvature == pytest.approx(4.0)  # 4 (3 - 2), from the first axis to the second
        assert check.second_order and check.optimal and not check.rank_below_bound

    def test_zero_is_stationary_and_not_optimal(self):
        example = theory.stationary_counterexample()
        check = example.check
        assert not example.V.any()
        assert (check.gradient_norm, check.objective, check.rank) == (0.0, 2.5, 0)
        assert check.optimum == pytest.approx(0.25)
        assert check.stationary and check.rank_below_bound and not check.second_order and not check.optimal
        assert check.holds and not check.holds_as_printed

    def test_zero_is_optimal_when_the_weight_leaves_nothing(self):
        check = theory.global_optimality(np.array([[1.0, 0.5], [0.5, 1.0]]), np.zeros((2, 1)), weight=3.5)
        assert check.second_order and check.optimal and check.holds_as_printed

    def test_can_fail(self):
        check = theory.stationary_counterexample().check
        assert not dataclasses.replace(check, curvature=0.0).holds
        assert not dataclasses.replace(check, gap_bound=0.1).holds

    def test_more_columns_than_rows(self):
        check = theory.global_optimality(np.eye(2), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]))
        assert (check.rank, check.rank_bound) == (2, 3)
        assert check.optimal and check.second_order
