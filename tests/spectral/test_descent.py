"""Gradient descent and L-BFGS: the paper's steps to the letter."""

from dataclasses import replace

import numpy as np
import pytest

import simcomplete as sc
from plain_descent import every_solver, run, unsettled
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.penalties import NoPenalty, Nuclear, NuclearMinusFrobenius, SpectralProblem, SquaredFrobenius
from simcomplete._spectral.solvers.steps import Backtracking, Safe, evaluate_point, spectrum_ends

pytestmark = pytest.mark.usefixtures("one_thread")


PENALTIES = {
    "SMCNN": Nuclear(),
    "SMCNmF": NuclearMinusFrobenius(),
    "SMC_F": SquaredFrobenius(),
    "SMC_F_literal": SquaredFrobenius(0.5),
    "SMC_NR": NoPenalty(),
}
METHODS = {
    "SMCNN": ("smcnn", {}),
    "SMCNmF": ("smcnmf", {}),
    "SMC_F": ("smc_f", {}),
    "SMC_F_literal": ("smc_f", {"variant": "paper"}),
    "SMC_NR": ("smc_nr", {}),
}
every_kind = pytest.mark.parametrize("kind", PENALTIES)
not_converged = pytest.warns(sc.errors.NotConvergedWarning)


class TestReferenceFigures:
    @every_kind
    def test_objective_and_gradient(self, z, kind):
        problem = SpectralProblem(DenseSimilarity(z["S0"]), PENALTIES[kind], float(z["lam"]), int(z["r"]))
        point = evaluate_point(problem, z["V0"])
        assert point.objective == pytest.approx(float(z[f"{kind}_F_at_V0"]), abs=1e-10)
        np.testing.assert_allclose(point.gradient, z[f"{kind}_grad_at_V0"], atol=1e-10)
        assert point.slope == pytest.approx(np.linalg.norm(z[f"{kind}_grad_at_V0"]), rel=1e-12)

    @every_kind
    def test_one_step_of_the_papers_algorithm(self, z, kind):
        method, params = METHODS[kind]
        with not_converged:
            done = run(z["S0"], method, rank=8, penalty=2.0, step=1e-3, max_iter=1, tol=0, start=z["V0"], **params)
        np.testing.assert_allclose(done.factor, z[f"{kind}_V_after_1_step_1e-3"], atol=1e-10)
        assert done.history[0]["objective"] == pytest.approx(float(z[f"{kind}_F_at_V0"]))
        assert done.history[1]["step"] == 1e-3

    def test_all_its_iterations_by_hand(self, z):
        """Algorithm 1 as printed, V V^T and all, for 25 steps without a stop test."""
        V = z["V0"]
        for _ in range(25):
            V = V - 1e-3 * (4 * (V @ V.T - z["S0"]) @ V + 2 * 2.0 * V)
        with not_converged:
            done = run(z["S0"], rank=8, penalty=2.0, step=1e-3, max_iter=25, tol=0, start=z["V0"])
        np.testing.assert_allclose(done.factor, V, atol=1e-11)
        assert len(done.history) == 26


class TestSteps:
    def test_paper_step_takes_the_norm_of_the_start(self, z):
        with not_converged:
            done = run(z["S0"], rank=8, penalty=2.0, step="paper", max_iter=3, tol=0, start=z["V0"])
        steps = [facts["step"] for facts in done.history[1:]]
        np.testing.assert_allclose(steps, 1 / (6 * np.sum(z["V0"] ** 2) + 2.0), rtol=1e-14)

    def test_safe_step_is_the_formula_anew_at_every_factor(self, z):
        problem = SpectralProblem(DenseSimilarity(z["S0"]), Nuclear(), 2.0, 8)
        w = np.linalg.eigvalsh(z["S0"])
        safe = Safe(problem, size=w[-1])
        point = evaluate_point(problem, z["V0"])
        for _ in range(3):
            bound = 4 * (3 * np.linalg.norm(point.V, 2) ** 2 + w[-1]) + 2 * 2.0
            point = safe(point)
            assert point.step == pytest.approx(1 / bound, rel=1e-12)

    @every_kind
    @pytest.mark.parametrize("weight", [0.0, 1.0, 50.0])
    @pytest.mark.parametrize("scale", [1e-2, 1.0, 30.0])
    def test_safe_and_backtracking_always_descend(self, z, kind, weight, scale):
        problem = SpectralProblem(DenseSimilarity(z["S0"]), PENALTIES[kind], weight, 4)
        safe = Safe(problem, max(np.abs(np.linalg.eigvalsh(z["S0"]))))
        start = evaluate_point(problem, scale * z["V0"][:, :4])
        for rule in (safe, Backtracking(problem, safe)):
            point = start
            for _ in range(40):
                following = rule(point)
                assert following.objective <= point.objective + 1e-13 * max(problem.scale, point.objective)
                point = following
            assert point.objective < 0.99 * start.objective or point.slope < 1e-3

    def test_safe_step_counts_what_lies_below_zero(self):
        """-I: lambda_max alone would make the step negative near V = 0."""
        done = run(-np.eye(5), rank=2, penalty=0.0, start_scale=0.1)
        assert done.status.code == "converged"
        assert np.abs(done.similarity()).max() < 1e-4

    def test_backtracking_lengthens_its_steps_where_the_objective_bends_down(self, z):
        problem = SpectralProblem(DenseSimilarity(z["S0"]), Nuclear(), 1e-3, 4)
        safe = Safe(problem, np.abs(np.linalg.eigvalsh(z["S0"])).max())
        point = evaluate_point(problem, 1e-6 * z["V0"][:, :4])
        assert safe.gamma(point.V) == pytest.approx(Backtracking(problem, safe)(point).step)
        steps = []
        for _ in range(4):
            point = Backtracking(problem, safe)(point)
            steps.append(point.step)
        np.testing.assert_allclose(np.divide(steps[1:], steps[:-1]), 2.0)

    def test_backtracking_comes_back_from_any_first_try(self, z):
        problem = SpectralProblem(DenseSimilarity(z["S0"]), Nuclear(), 2.0, 8)
        point = replace(evaluate_point(problem, z["V0"]), trial=np.inf)
        following = Backtracking(problem, Safe(problem, 25.0))(point)
        assert 0 < following.step < 1
        assert following.objective < point.objective

    def test_backtracking_goes_on_where_only_rounding_is_left(self):
        """At the optimum, with tol=0, no step lowers anything; the run still ends, and where it began."""
        done = run(np.eye(6), rank=6, step="backtracking", tol=0, max_iter=2500)
        assert (done.status.code, done.status.ok) == ("converged", True)
        assert done.certificate.relative_gap < 1e-12

    @pytest.mark.parametrize("n", [5, 48, 49, 300])
    def test_spectrum_ends(self, n):
        A = np.random.default_rng(n).standard_normal((n, n))
        S = A + A.T
        w = np.linalg.eigvalsh(S)
        low, high = spectrum_ends(DenseSimilarity(S))
        slack = 1e-9 * w[-1]
        assert w[0] - slack <= low <= 0.9 * w[0]
        assert 0.9 * w[-1] <= high <= w[-1] + slack

    def test_spectrum_ends_of_few_different_eigenvalues(self):
        """Products with the block bring nothing new; that must not be mistaken for something large."""
        S = np.eye(200)
        S[0, 0] = 7.0
        assert spectrum_ends(DenseSimilarity(S)) == pytest.approx((1.0, 7.0))
        assert spectrum_ends(DenseSimilarity(np.zeros((200, 200)))) == (0.0, 0.0)


class TestStepsThatCannotSettle:
    """gamma * lambda_max must be below 1/4; the paper's step of 0.001 is too long for a few hundred raw images."""

    def test_the_papers_step_on_digits_oscillates_and_says_so(self, digits):
        S0 = sc.overlap_similarity(digits[:500])
        top = np.linalg.eigvalsh(S0)[-1]
        assert 0.25 < 1e-3 * top < 0.5  # the premise: it can neither settle nor blow up
        done = unsettled(S0, step=1e-3, max_iter=150)
        assert done.status.code == "oscillating"
        assert "this step cannot settle: gamma * lambda_max = 0.3" in done.status.message
        assert "must be below 1/4; it oscillated" in done.status.message
        assert "use step='safe'" in done.status.message
        assert done.certificate.gap > 0.01 * done.certificate.scale
        # After all T iterations the algorithms return the last V, and so does this.
        assert done.certificate.objective == pytest.approx(done.history[-1]["objective"])
        assert run(S0, step="backtracking", penalty=1.0, random_state=1).status.ok

    @pytest.mark.parametrize("factor", [0.6, 5.0, 1e6])
    @pytest.mark.parametrize("method", ["smcnn", "smcnmf", "smc_nr", "smc_f"])
    def test_longer_ones_diverge_and_give_the_best_back(self, S0, method, factor):
        top = np.linalg.eigvalsh(S0)[-1]
        done = unsettled(S0, method=method, step=factor / top)
        assert done.status.code == "diverged"
        assert f"this step cannot settle: gamma * lambda_max = {factor:.3g}, must be below 1/4" in done.status.message
        assert "it diverged: the objective exploded" in done.status.message
        assert np.isfinite(done.factor).all()
        best = min(facts["objective"] for facts in done.history)
        assert done.certificate.objective == pytest.approx(best)

    @pytest.mark.parametrize(("factor", "settles"), [(0.24, True), (0.26, False)])
    def test_the_bound_is_sharp(self, S0, factor, settles):
        """From the optimum, ever so slightly moved: below 1/4 the step comes back, above it goes away."""
        V = run(S0, rank=1, solver="exact").factor
        step = factor / np.linalg.eigvalsh(S0)[-1]
        params = {"rank": 1, "step": step, "start": V * (1 + 1e-6), "max_iter": 2000}
        if settles:
            assert run(S0, **params).status.code == "converged"
        else:
            assert unsettled(S0, **params).status.code == "oscillating"

    def test_it_is_called_so_however_near_the_optimum_it_still_is(self, S0):
        V = run(S0, rank=1, solver="exact").factor
        step = 0.26 / np.linalg.eigvalsh(S0)[-1]
        done = unsettled(S0, rank=1, step=step, start=V * (1 + 1e-6), max_iter=30)
        assert done.status.code == "oscillating"
        assert done.certificate.relative_gap < 1e-8

    def test_a_run_that_ends_before_its_numbers_overflow_has_diverged_too(self, S0):
        done = unsettled(S0, step=5 / np.linalg.eigvalsh(S0)[-1], max_iter=2)
        assert done.status.code == "diverged"
        assert done.history[-1]["objective"] > 1e4 * done.history[0]["objective"]
        assert done.certificate.objective == pytest.approx(done.history[0]["objective"])

    def test_a_start_that_is_too_large_is_not_blamed_on_the_step(self, S0):
        step = 0.1 / np.linalg.eigvalsh(S0)[-1]
        assert run(S0, step=step, penalty=1.0).status.ok
        done = unsettled(S0, step=step, start_scale=5.0)
        assert done.status.code == "diverged"
        assert "cannot settle" not in done.status.message
        assert "lower start_scale" in done.status.message

    @pytest.mark.parametrize("factor", [1e-4, 0.2])
    def test_a_run_that_is_merely_short_is_not_blamed_on_it_either(self, S0, factor):
        done = unsettled(S0, step=factor / np.linalg.eigvalsh(S0)[-1], max_iter=50)
        assert done.status.code == "max_iter"
        assert "cannot settle" not in done.status.message
        assert "raise max_iter" in done.status.message

    def test_numbers_that_overflow_at_once(self, S0):
        done = unsettled(S0, step=1e200)
        assert done.status.code == "diverged"
        assert len(done.history) == 1
        assert np.isfinite(done.factor).all()


class TestTheGradientAtZero:
    @every_kind
    def test_is_zero_and_finite(self, z, kind):
        """SMCNmF has 0/0 there; the term is left out."""
        problem = SpectralProblem(DenseSimilarity(z["S0"]), PENALTIES[kind], 2.0, 4)
        point = evaluate_point(problem, np.zeros((50, 4)))
        assert point.slope == 0.0
        assert point.objective == pytest.approx(np.sum(z["S0"] ** 2))

    @every_solver
    def test_a_start_there_is_a_saddle_and_said_to_be(self, z, solver):
        done = unsettled(z["S0"], method="smcnmf", solver=solver, start=np.zeros((50, 3)))
        assert done.status.code == "stationary"
        assert "saddle" in done.status.message

    @every_solver
    def test_a_start_beside_it_leads_away(self, z, solver):
        start = 1e-6 * np.random.default_rng(0).standard_normal((50, 3))
        done = run(z["S0"], "smcnmf", penalty=2.0, solver=solver, start=start)
        assert done.status.code == "converged"

    def test_where_zero_is_the_optimum_descent_arrives(self):
        done = run(np.eye(6), rank=2, penalty=5.0)
        assert done.status.code == "converged"
        assert done.certificate.objective == pytest.approx(6.0)

    @every_solver
    def test_no_similarity_at_all(self, solver):
        done = run(np.zeros((4, 4)), solver=solver)
        assert (done.status.code, done.rank) == ("converged", 0)
