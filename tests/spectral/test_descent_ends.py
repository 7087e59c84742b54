"""How descent ends, what it returns, and what it refuses."""

import json

import numpy as np
import pytest

import simcomplete as sc
from plain_descent import every_solver, run, unsettled
from simcomplete._method.iterate import Limits
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.penalties import Nuclear, SpectralProblem
from simcomplete._spectral.solvers import descent

pytestmark = pytest.mark.usefixtures("one_thread")


class TestEnds:
    @every_solver
    def test_the_first_gradient_below_the_tolerance(self, z, solver):
        done = run(z["S0"], penalty=2.0, solver=solver, tol=1e-4)
        limit = 1e-4 * (1 + np.linalg.norm(z["S0"]))
        slopes = [facts["gradient_norm"] for facts in done.history]
        assert slopes[-1] <= limit < min(slopes[:-1])
        assert done.status.code == "converged"

    @every_solver
    def test_time_limit(self, S0, solver):
        done = unsettled(S0, solver=solver, time_limit=0, tol=0)
        assert (done.status.code, len(done.history)) == ("time_limit", 2)

    @every_solver
    def test_callback(self, S0, solver):
        seen = []

        def callback(iteration, facts):
            seen.append(iteration)
            assert {"objective", "gradient_norm", "seconds"} <= set(facts)
            return iteration == 4

        done = unsettled(S0, solver=solver, callback=callback)
        assert seen == [1, 2, 3, 4]
        assert done.status.code == "stopped"
        assert [facts["iteration"] for facts in done.history] == [0, 1, 2, 3, 4]
        assert done.certificate.objective == pytest.approx(done.history[-1]["objective"])

    @every_solver
    def test_ctrl_c_gives_the_best_so_far(self, S0, solver):
        def callback(iteration, facts):
            if iteration == 5:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            unsettled(S0, solver=solver, callback=callback)
        done = unsettled(S0, solver=solver, callback=callback, on_interrupt="return")
        assert done.status.code == "interrupted"
        best = min(facts["objective"] for facts in done.history)
        assert done.certificate.objective == pytest.approx(best)
        assert done.history[-1]["iteration"] == 5

    def test_ctrl_c_while_it_oscillates(self, S0):
        def callback(iteration, facts):
            if iteration == 41:
                raise KeyboardInterrupt

        step = 0.4 / np.linalg.eigvalsh(S0)[-1]
        done = unsettled(S0, step=step, callback=callback, on_interrupt="return")
        objectives = [facts["objective"] for facts in done.history]
        assert min(objectives) < objectives[-1]
        assert done.certificate.objective == pytest.approx(min(objectives))

    @every_solver
    def test_all_iterations(self, S0, solver):
        done = unsettled(S0, solver=solver, max_iter=6)
        assert (done.status.code, done.history[-1]["iteration"]) == ("max_iter", 6)
        assert "above the global optimum" in done.status.message

    @every_solver
    def test_all_iterations_that_were_asked_for(self, S0, solver):
        """With tol=0 nothing is left undone, so the status is not that of a limit; it still warns of the distance."""
        done = unsettled(S0, solver=solver, max_iter=6, tol=0)
        assert (done.status.code, done.status.ok) == ("computed", False)
        assert "all 6 iterations made, as asked for with tol=0; " in done.status.message

    def test_all_iterations_may_well_be_enough(self, z):
        """tol=0 asks for all of them, as the paper does; the certificate then finds nothing to complain about."""
        done = run(z["S0"], rank=3, penalty=2.0, step="backtracking", tol=0, max_iter=150)
        assert done.status.ok
        assert done.certificate.relative_gap < 1e-10

    @every_solver
    def test_errors_of_the_callback_go_through(self, S0, solver):
        def callback(iteration, facts):
            raise RuntimeError("mine")

        with pytest.raises(RuntimeError, match="mine"):
            run(S0, solver=solver, callback=callback)


class TestResult:
    @every_solver
    def test_same_seed_same_answer(self, S0, solver):
        params = {"penalty": 1.0, "solver": solver} | ({"step": "backtracking"} if solver == "descent" else {})
        first, again, other = (run(S0, random_state=seed, **params) for seed in (3, 3, 4))
        np.testing.assert_array_equal(first.factor, again.factor)
        assert not np.allclose(first.factor, other.factor)
        np.testing.assert_allclose(first.similarity(), other.similarity(), atol=1e-4)
        objectives = [[facts["objective"] for facts in done.history] for done in (first, again)]
        assert objectives[0] == objectives[1]

    def test_random_start_has_the_trace_of_the_matrix(self):
        """Also where the diagonal is not 1, and something where the trace is not positive."""
        for diagonal, trace in ((9.0, 900.0), (0.0, np.sqrt(9900))):
            S = np.ones((100, 100))
            np.fill_diagonal(S, diagonal)
            problem = SpectralProblem(DenseSimilarity(S), Nuclear(), 1e-3, 50)
            point = descent.first_point(problem, descent.DescentSettings(Limits()))
            assert np.sum(point.V**2) == pytest.approx(trace, rel=0.1)

    @every_solver
    def test_parameters_are_plain_and_as_used(self, S0, solver, tmp_path):
        start = np.random.default_rng(0).standard_normal((60, 3))
        done = run(S0, penalty=1.0, solver=solver, start=start, callback=lambda iteration, facts: None, tol=1e-6)
        assert json.loads(json.dumps(done.params)) == done.params
        told = {"solver": solver, "start": "given", "start_scale": None, "callback": "given", "tol": 1e-6}
        told |= {"max_iter": 10_000, "verify": True}
        assert told.items() <= done.params.items()
        assert done.params.get("step") == ("safe" if solver == "descent" else None)
        done.save(tmp_path / "done")
        assert sc.load(tmp_path / "done").history == done.history

    def test_the_exact_solver_records_nothing_of_descent(self, S0):
        done = run(S0, solver="exact")
        assert done.history == []
        assert not {"step", "max_iter", "tol", "start_scale", "start", "callback"} & set(done.params)

    def test_scale_is_recorded_as_used(self, S0):
        params = {"penalty": 1.0, "step": "backtracking"}
        assert run(S0, **params).params["start_scale"] == pytest.approx(np.sqrt(1 / 3))
        assert run(S0, start_scale=0.3, **params).params["start_scale"] == 0.3

    def test_any_array_library(self, library, z):
        expected = run(z["S0"], penalty=2.0, step="backtracking")
        done = run(library.array(z["S0"]), penalty=2.0, step="backtracking")
        assert type(done.factor) is type(library.array(z["S0"]))
        found = np.asarray([facts["objective"] for facts in done.history[:20]])
        np.testing.assert_allclose(found, [facts["objective"] for facts in expected.history[:20]], rtol=1e-9)
        assert done.status.code == "converged"
        if library.name != "numpy":
            with pytest.raises(sc.errors.InputError, match=f"needs NumPy arrays, but these are .*{library.name}"):
                run(library.array(z["S0"]), solver="lbfgs")

    @every_solver
    def test_float32_is_worked_on_in_float64(self, z, solver):
        S = z["S0"].astype(np.float32)
        done = run(S, penalty=2.0, solver=solver)
        assert done.factor.dtype == np.float32
        exact = run(S, penalty=2.0, solver="exact")
        assert done.history[-1]["objective"] == pytest.approx(exact.certificate.objective, rel=1e-9)


class TestRefusals:
    @pytest.mark.parametrize(
        ("params", "message"),
        [
            ({"solver": "newton"}, "solver='newton' is unknown; use 'exact', 'descent' or 'lbfgs'"),
            ({"solver": ["exact"]}, "is unknown"),
            ({"solver": "exact", "step": 0.1}, "does not use step; leave out, or choose solver='descent'"),
            ({"solver": "exact", "max_iter": 5, "tol": 1.0}, "does not use max_iter, tol; .*'descent' or 'lbfgs'"),
            ({"solver": "exact", "callback": print}, "does not use callback"),
            ({"solver": "lbfgs", "step": "safe"}, "solver='lbfgs' does not use step"),
            ({"solver": "descent", "verify": False}, "verify=False is for solver='exact'"),
            ({"step": "wide"}, "step='wide' is unknown; use 'safe', 'backtracking' or 'paper' or a number above 0"),
            ({"step": 0}, "step=0 is not .* a number above 0; give one"),
            ({"step": -1.0}, "step=-1.0 is not .* a number above 0"),
            ({"step": float("nan")}, "step=nan is not .* a number"),
            ({"max_iter": 0}, "max_iter=0 must be a whole number of at least 1"),
            ({"max_iter": 2.5}, "max_iter=2.5 must be a whole number"),
            ({"tol": -1e-3}, "tol=-0.001 is not a number at least 0"),
            ({"start_scale": 0}, "start_scale=0 is not 'auto' or a number above 0"),
            ({"start_scale": "big"}, "start_scale='big' is unknown; use 'auto' or a number above 0"),
            ({"start_scale": 1e160}, "so large that its objective overflows"),
            ({"time_limit": -1}, "time_limit=-1 is not a number"),
            ({"callback": 3}, "callback=3 cannot be called"),
            ({"start": np.zeros((3, 3))}, r"start has shape \(3, 3\); it must be finite numbers of shape \(60, 3\)"),
            ({"start": np.full((60, 3), np.nan)}, "finite numbers"),
            ({"start": "ones"}, "start='ones' is unknown; use an array of shape"),
            ({"start": np.ones((60, 3)), "start_scale": 2.0}, "leave out start_scale or start"),
        ],
        ids=lambda value: value if isinstance(value, str) else "",
    )
    def test_say_what_was_given_and_what_to_try(self, S0, params, message):
        with pytest.raises(sc.errors.InputError, match=message):
            run(S0, **params)


def test_a_fixed_step_that_is_too_long_is_no_good_end():
    problem = SpectralProblem(DenseSimilarity(np.diag([3.0, 1.0])), Nuclear(), weight=0.5, rank=1)
    for gamma, good in ((0.01, True), (1.0, False)):
        run = descent.descend(problem, descent.DescentSettings(Limits(max_iter=500)), gamma)[1]
        assert run.status.ok == good, run.status
