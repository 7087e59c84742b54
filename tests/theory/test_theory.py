"""The paper's statements on norms, projections and steps, each beside formulas written out here once more."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from plain_theory import gradient, objective, problems, relaxed, weights
from simcomplete import complete_similarity, metrics, overlap_similarity, theory
from simcomplete.errors import InputError


class TestNuclearNorm:
    @relaxed
    @given(problems())
    def test_is_an_equality(self, problem):
        check = theory.nuclear_norm_identity(problem[1])
        assert check.holds and check.holds_as_printed
        assert check.nuclear_norm == pytest.approx(np.trace(problem[1] @ problem[1].T), abs=1e-9)

    def test_by_hand(self):
        check = theory.nuclear_norm_identity([[3.0, 4.0]])  # V V^T = [[25]]
        assert (check.nuclear_norm, check.squared_norm) == (25.0, 25.0)

    def test_can_fail(self):
        below, above = theory.NuclearNorm(2.9, 3.0), theory.NuclearNorm(3.1, 3.0)
        assert (below.holds, below.holds_as_printed) == (False, True)
        assert (above.holds, above.holds_as_printed) == (False, False)


class TestProjection:
    @relaxed
    @given(problems(), weights)
    def test_never_increases_the_error_on_the_cone(self, problem, weight):
        S0, A = problem
        truth = A @ A.T
        plain = theory.psd_projection(S0, truth)
        assert plain.holds and plain.holds_as_printed
        # Pythagoras is stronger than the paper, and gives its "equal only if S_hat = S0".
        assert plain.after + plain.moved <= plain.before * (1 + 1e-9) + 1e-9
        assert theory.psd_projection(S0, truth, weight=weight).holds

    @relaxed
    @given(problems(), st.integers(1, 4))
    def test_a_rank_bound_at_least_the_truths_costs_at_most_a_factor_of_four(self, problem, rank):
        S0, A = problem
        truth = A[:, :rank] @ A[:, :rank].T
        check = theory.psd_projection(S0, truth, rank=min(rank, len(S0)))
        assert check.holds
        assert check.after <= 4 * check.before + 1e-9

    def test_agrees_with_the_library(self, small):
        P, Q, true_Q = small
        truth = overlap_similarity(np.vstack([P, true_Q]))
        S0 = overlap_similarity(np.vstack([P, Q]))
        check = theory.psd_projection(S0, truth, rank=30, weight=1.0)
        done = complete_similarity(S0, method="smcnn", rank=30, penalty=1.0)
        assert check.ratio == pytest.approx(metrics.relative_squared_error(done.similarity(), S0, truth), rel=1e-9)

    def test_real_data_on_the_cone(self, small):
        P, Q, true_Q = small
        check = theory.psd_projection(overlap_similarity(np.vstack([P, Q])), overlap_similarity(np.vstack([P, true_Q])))
        assert check.holds and 0 < check.ratio < 1

    def test_rank_counterexample(self):
        example = theory.rank_counterexample()
        assert example.ratio == pytest.approx(100.5, rel=1e-12)
        assert np.sum((example.S_hat - example.S_true) ** 2) == pytest.approx(2.01)
        assert np.sum((example.S0 - example.S_true) ** 2) == pytest.approx(0.02)
        best = complete_similarity(example.S0, method="smc_nr", rank=1).similarity()
        np.testing.assert_allclose(best, example.S_hat, atol=1e-12)
        assert not example.check.holds_as_printed and example.check.holds  # nothing is promised, so nothing is broken
        assert example.check.bound == np.inf

    def test_fails_as_printed_even_where_the_truth_has_that_rank(self):
        # S0 = diag(0.9, 1) keeps the second axis: |diag(0, 1) - diag(1, 0)|^2 = 2 where it was 0.01 + 1.
        check = theory.psd_projection(np.diag([0.9, 1.0]), np.diag([1.0, 0.0]), rank=1)
        assert (check.before, check.after, check.bound) == pytest.approx((1.01, 2.0, 4.04))
        assert check.holds and not check.holds_as_printed

    def test_fails_as_printed_with_a_weight(self):
        check = theory.psd_projection(np.eye(2), np.eye(2), weight=1.0)  # S0 is the truth, and is shrunk by 1/2
        assert (check.before, check.after, check.ratio) == pytest.approx((0.0, 0.5, np.inf))
        assert check.holds and not check.holds_as_printed

    def test_can_fail(self):
        assert not theory.Projection(before=1.0, after=1.1, moved=0.0, bound=1.0).holds
        assert theory.Projection(before=0.0, after=0.0, moved=0.0, bound=0.0).ratio == 0.0

    def test_refuses_a_truth_that_is_none(self):
        with pytest.raises(InputError, match="not positive semi-definite"):
            theory.psd_projection(np.eye(2), np.array([[1.0, 2.0], [2.0, 1.0]]))
        with pytest.raises(InputError, match="S_true has 3 rows and S0 has 2"):
            theory.psd_projection(np.eye(2), np.eye(3))


class TestLipschitz:
    @relaxed
    @given(problems(factors=2), weights, st.booleans())
    def test_constants_bound_every_pair(self, problem, weight, spectral):
        S0, V, W = problem
        assume(np.linalg.norm(V - W) > 1e-3)
        G = max(np.linalg.norm(V, 2), np.linalg.norm(W, 2)) if spectral else None
        check = theory.gradient_lipschitz(S0, V, W, weight=weight, G=G)
        assert check.holds
        change = np.linalg.norm(gradient(S0, V, weight) - gradient(S0, W, weight)) / np.linalg.norm(V - W)
        assert check.ratio == pytest.approx(change, rel=1e-9, abs=1e-9)
        assert change <= min(check.sharp, check.corrected) * (1 + 1e-9) + 1e-9
        assert check.sharp <= check.corrected * (1 + 1e-12)

    @relaxed
    @given(problems(factors=2), weights)
    def test_printed_constant_is_right_for_a_small_positive_semi_definite_matrix(self, problem, weight):
        A, V, W = problem
        assume(np.linalg.norm(V - W) > 1e-3)
        G = max(np.linalg.norm(V), np.linalg.norm(W))
        S0 = A @ A.T
        S0 = S0 * (3 * G**2 + weight) / max(np.linalg.norm(S0, 2), 1e-12)
        assert theory.gradient_lipschitz(S0, V, W, weight=weight).holds_as_printed

    @pytest.mark.parametrize("weight", [0.0, 0.5])
    @pytest.mark.parametrize(("G", "S0"), [(1.0, [-3.0, 1.0]), (0.1, [-3.0, 9.0])])
    def test_sharp_constant_is_attained(self, G, S0, weight):
        """In one dimension of each axis: from V = G u to a little less, or from 0 to a little more."""
        ratios = []
        for axis in np.eye(2):
            u = axis[:, None]
            for V, W in ((G * u, G * (1 - 1e-6) * u), (0 * u, G * 1e-4 * u)):
                ratios.append(theory.gradient_lipschitz(np.diag(S0), V, W, weight=weight, G=G).ratio)
        assert max(ratios) == pytest.approx(theory.sharp_constant(np.diag(S0), G, weight), rel=1e-4)

    def test_cubic_constant_is_attained(self):
        check = theory.gradient_lipschitz([[0.0]], [[2.0]], [[2.0 - 1e-6]], weight=0.0)
        assert check.cubic_ratio == pytest.approx(theory.cubic_constant(2.0), rel=1e-5)

    def test_constants_by_hand(self):
        S0 = np.diag([2.0, -5.0])
        assert theory.cubic_constant(3.0) == 27.0
        assert theory.printed_constant(3.0, 0.5) == 109.0
        assert theory.corrected_constant(S0, 3.0, 0.5) == 129.0
        assert theory.sharp_constant(S0, 3.0, 0.5) == 129.0
        assert theory.sharp_constant(np.diag([100.0, 0.0]), 3.0, 0.5) == 399.0

    def test_counterexample_to_the_printed_constant(self):
        example = theory.lipschitz_counterexample()
        G = example.check.G
        assert np.linalg.norm(example.S0, 2) <= G**2 * (1 + 1e-12)  # the assumption inside the paper's proof
        assert np.linalg.norm(example.V) <= G * (1 + 1e-12)
        change = gradient(example.S0, example.V, 0.0) - gradient(example.S0, example.W, 0.0)
        ratio = np.linalg.norm(change) / np.linalg.norm(example.V - example.W)
        assert ratio == pytest.approx(4 * G**2 * (1 + 0.99 + 0.99**2) + 4 * (0.9 * np.sqrt(2) - 1), rel=1e-9)
        assert ratio > 12 * G**2 + 0.8
        assert not example.check.holds_as_printed and example.check.holds

    def test_printed_constant_also_fails_where_s0_is_large(self):
        check = theory.gradient_lipschitz([[10.0]], [[0.1]], [[0.0]], weight=0.0)  # 40 per unit, printed 0.12
        assert not check.holds_as_printed and check.holds

    def test_can_fail(self):
        check = theory.lipschitz_counterexample().check
        assert not dataclasses.replace(check, ratio=check.sharp * 1.001).holds
        assert not dataclasses.replace(check, cubic_ratio=check.cubic * 1.001).holds

    def test_refusals(self):
        one = np.ones((2, 1))
        with pytest.raises(InputError, match="same factor"):
            theory.gradient_lipschitz(np.eye(2), one, one, weight=0.0)
        with pytest.raises(InputError, match="below the spectral norm"):
            theory.gradient_lipschitz(np.eye(2), one, 2 * one, weight=0.0, G=1.0)
        with pytest.raises(InputError, match="same shape"):
            theory.gradient_lipschitz(np.eye(2), one, np.ones((2, 2)), weight=0.0)
        with pytest.raises(InputError, match="3 rows and S0 has 2"):
            theory.gradient_lipschitz(np.eye(2), np.ones((3, 1)), np.ones((3, 1)), weight=0.0)
        with pytest.raises(InputError, match="not finite"):
            theory.nuclear_norm_identity([[np.nan]])
        with pytest.raises(InputError, match="shape"):
            theory.nuclear_norm_identity([1.0, 2.0])
        with pytest.raises(InputError, match="not a table"):
            theory.nuclear_norm_identity([["a"]])


class TestDescentLemma:
    @relaxed
    @given(problems(), weights, st.floats(0.05, 2.0))
    def test_guaranteed_decrease(self, problem, weight, share):
        S0, V = problem
        slope = gradient(S0, V, weight)
        L = theory.sharp_constant(S0, 3 * np.linalg.norm(V) + 1, weight)
        after = V - share / L * slope
        assume(np.linalg.norm(after) <= 3 * np.linalg.norm(V) + 1)  # the ball that L belongs to
        promised = theory.guaranteed_decrease(share / L, L) * np.sum(slope**2)
        change = objective(S0, after, weight) - objective(S0, V, weight)
        assert change <= -promised + 1e-9 * (1 + objective(S0, V, weight))

    def test_paper_step_guarantees_nothing(self):
        L = theory.printed_constant(0.7, 0.2)
        assert theory.paper_step(0.7, 0.2) == pytest.approx(2 / L, rel=1e-15)
        assert theory.guaranteed_decrease(theory.paper_step(0.7, 0.2), L) == pytest.approx(0.0, abs=1e-15)
        with pytest.raises(InputError, match="without a bound"):
            theory.paper_step(0.0, 0.0)

    def test_printed_decrease_is_impossible(self):
        """S0 = 0, weight 1, V = G = 0.1: the proof's decrease |grad|^2/L exceeds the objective, which stays >= 0."""
        S0, V, G = np.zeros((1, 1)), np.array([[0.1]]), 0.1
        slope = gradient(S0, V, 1.0)
        claimed = np.sum(slope**2) / theory.printed_constant(G, 1.0)
        before = objective(S0, V, 1.0)
        after = objective(S0, V - theory.paper_step(G, 1.0) * slope, 1.0)
        assert claimed == pytest.approx(0.204**2 / 2.12)
        assert claimed > before > before - after > 0
