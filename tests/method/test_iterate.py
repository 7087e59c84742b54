"""The one iteration loop: what it records, what ends it, what it gives back each time."""

from dataclasses import dataclass
from itertools import pairwise

import pytest

from simcomplete._method.iterate import RECENT, RECORDS, Limits, Watch, iterate
from simcomplete._result.status import Status


def below(limit):
    """A stop test on the objective."""
    return lambda facts, recent: Status("converged", "small enough") if facts["objective"] < limit else None


def value(state):
    return {"objective": float(state)}


SMALL = below(1e-3)


def halves(start=1.0, stop=SMALL, **limits):
    return iterate(start, lambda x: x / 2, measure=value, stop=stop, limits=Limits(**limits))


def from_list(values, stop=None, **limits):
    """Go through given objectives; the state is the position."""
    measure = lambda k: {"objective": values[k]}  # noqa: E731
    return iterate(0, lambda k: k + 1, measure=measure, stop=stop, limits=Limits(**limits))


@pytest.fixture
def clock(monkeypatch):
    """Time that passes only when told to: `clock.now += 3`."""

    class Clock:
        now = 100.0

    monkeypatch.setattr("time.monotonic", lambda: Clock.now)
    return Clock


class TestWhatIsRecorded:
    def test_every_iteration_with_its_number_and_time(self, clock):
        def step(x):
            clock.now += 1.5
            return x / 2

        run = iterate(8.0, step, measure=lambda x: {"objective": x, "change": -x}, stop=below(2.0))
        assert run.history == [
            {"iteration": 0, "seconds": 0.0, "objective": 8.0, "change": -8.0},
            {"iteration": 1, "seconds": 1.5, "objective": 4.0, "change": -4.0},
            {"iteration": 2, "seconds": 3.0, "objective": 2.0, "change": -2.0},
            {"iteration": 3, "seconds": 4.5, "objective": 1.0, "change": -1.0},
        ]
        assert (run.state, run.n_iter, run.facts) == (1.0, 3, run.history[-1])
        assert run.recent == (8.0, 4.0, 2.0, 1.0)
        assert run.status == Status("converged", "small enough")

    @pytest.mark.parametrize("iterations", [RECORDS - 1, RECORDS, RECORDS + 1, 5 * RECORDS + 3])
    def test_long_histories_are_thinned_evenly(self, iterations):
        run = from_list(range(iterations + 1), max_iter=iterations)
        seen = [facts["iteration"] for facts in run.history]
        assert len(seen) <= RECORDS + 1
        assert len(seen) >= min(iterations, RECORDS // 2)
        assert (seen[0], seen[-1]) == (0, iterations)
        gaps = {b - a for a, b in pairwise(seen[:-1])}
        assert len(gaps) == 1
        assert all(facts["objective"] == facts["iteration"] for facts in run.history)

    def test_recent_objectives_are_not_thinned(self):
        run = from_list(range(3001), max_iter=3000)
        assert run.recent == tuple(range(3001 - RECENT, 3001))

    def test_best_is_the_smallest_objective_wherever_it_is_named(self):
        values = [5.0, 1.0, 3.0, 1.0, 4.0]
        measure = lambda k: {"change": -float(k), "objective": values[k]}  # noqa: E731
        run = iterate(0, lambda k: k + 1, measure=measure, limits=Limits(max_iter=4))
        assert (run.best, run.best_facts["objective"], run.state) == (1, 1.0, 4)

    def test_best_is_the_first_number_where_none_is_called_objective(self):
        values = [5.0, 1.0, 3.0]
        measure = lambda k: {"residual": values[k], "other": -float(k)}  # noqa: E731
        run = iterate(0, lambda k: k + 1, measure=measure, limits=Limits(max_iter=2))
        assert run.best == 1

    def test_states_may_be_anything(self, library):
        @dataclass(frozen=True)
        class State:
            x: object
            count: int

        xp = library.module()
        start = State(library.array([4.0, 8.0]), 0)
        run = iterate(
            start,
            lambda s: State(s.x / 2, s.count + 1),
            measure=lambda s: {"objective": float(xp.sum(s.x))},
            stop=below(1.0),
        )
        assert run.state.count == run.n_iter == 4
        assert float(xp.sum(start.x)) == 12.0
        assert float(xp.sum(run.state.x)) == 0.75


class TestWhatEndsIt:
    def test_a_start_that_is_already_there(self):
        run = halves(1e-4)
        assert (run.n_iter, run.state, run.status.code, len(run.history)) == (0, 1e-4, "converged", 1)

    def test_all_iterations_without_having_met_the_stop_test(self):
        run = halves(max_iter=3)
        assert (run.state, run.n_iter) == (1 / 8, 3)
        assert (run.status.code, run.status.ok) == ("max_iter", False)
        assert "raise max_iter" in run.status.message

    def test_all_iterations_where_there_is_no_stop_test(self):
        run = halves(max_iter=3, stop=None)
        assert (run.state, run.status.code, run.status.ok) == (1 / 8, "computed", True)

    def test_the_stop_test_counts_on_the_last_iteration(self):
        assert halves(max_iter=10).status.code == "converged"
        assert halves(max_iter=9).status.code == "max_iter"

    def test_a_stop_test_sees_what_came_before(self):
        flat = lambda facts, recent: Status("flat", "") if len(recent) > 1 and recent[-1] == recent[-2] else None  # noqa: E731
        assert from_list([3.0, 2.0, 2.0, 1.0], stop=flat).n_iter == 2

    def test_the_time_limit(self, clock):
        def step(x):
            clock.now += 1.0
            return x / 2

        run = iterate(1.0, step, measure=value, stop=below(0), limits=Limits(time_limit=2.5))
        assert (run.n_iter, run.status.code, run.status.ok) == (3, "time_limit", False)
        assert run.status.message == "time_limit=2.5 s was over after 3 iterations: allow more time"
        assert iterate(1.0, step, measure=value, stop=below(0), limits=Limits(time_limit=0)).n_iter == 1

    def test_the_callback_sees_every_step_and_stops_with_something_true(self):
        seen = []

        def callback(iteration, facts):
            seen.append((iteration, facts["objective"]))
            facts.clear()  # its own copy
            return "enough" if iteration == 3 else None

        run = halves(callback=callback)
        assert seen == [(1, 0.5), (2, 0.25), (3, 0.125)]
        assert (run.state, run.status.code, run.status.ok) == (0.125, "stopped", False)
        assert run.history[2]["objective"] == 0.25

    def test_the_callback_also_sees_the_iteration_that_converges(self):
        seen = []
        run = halves(callback=lambda iteration, facts: seen.append(iteration))
        assert seen == list(range(1, run.n_iter + 1))
        assert halves(callback=lambda iteration, facts: facts["objective"] < 1e-3).status.code == "converged"

    @pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
    def test_numbers_that_are_not_finite_end_it_at_the_last_that_were(self, wrong):
        run = from_list([3.0, 1.0, 2.0, wrong, 0.0])
        assert (run.state, run.best, run.n_iter) == (2, 1, 2)
        assert (run.status.code, run.status.ok) == ("non_finite", False)
        assert "iteration 3" in run.status.message
        assert [facts["objective"] for facts in run.history] == [3.0, 1.0, 2.0]

    def test_also_when_it_is_not_the_objective(self):
        measure = lambda k: {"objective": 1.0, "gradient": float("nan") if k == 2 else 1.0}  # noqa: E731
        assert iterate(0, lambda k: k + 1, measure=measure).n_iter == 1

    def test_a_start_that_is_not_finite(self):
        run = from_list([float("nan"), 1.0])
        assert (run.state, run.best, run.n_iter, len(run.history)) == (0, 0, 0, 1)
        assert "the start" in run.status.message


class TestCtrlC:
    @pytest.mark.parametrize("place", ["step", "measure", "callback"])
    def test_gives_the_best_so_far_where_that_was_asked_for(self, place):
        values = [4.0, 1.0, 2.0, 0.5]

        def strike(here, k):
            if here == place and k == 3:
                raise KeyboardInterrupt

        def step(k):
            strike("step", k + 1)
            return k + 1

        def measure(k):
            strike("measure", k)
            return {"objective": values[k]}

        limits = Limits(callback=lambda k, facts: strike("callback", k), best_on_interrupt=True)
        run = iterate(0, step, measure=measure, limits=limits)
        # A state counts once it was measured, so the callback's own counts and an unfinished one does not.
        assert run.best == (3 if place == "callback" else 1)
        assert (run.status.code, run.status.ok) == ("interrupted", False)
        assert "best so far" in run.status.message

    def test_before_there_is_anything_it_goes_through(self):
        def measure(state):
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            iterate(0, lambda k: k, measure=measure, limits=Limits(best_on_interrupt=True))

    @pytest.mark.parametrize("limits", [None, Limits(), Limits(progress=True)])
    def test_goes_through_where_nothing_was_asked_for(self, limits):
        def step(k):
            if k == 3:
                raise KeyboardInterrupt
            return k + 1

        with pytest.raises(KeyboardInterrupt):
            iterate(0, step, measure=value, limits=limits)

    def test_other_errors_go_through(self):
        with pytest.raises(ZeroDivisionError):
            iterate(0.0, lambda x: 1 / x, measure=value)


class TestTheLine:
    @pytest.mark.parametrize("ending", ["converged", "interrupted"])
    def test_shows_and_goes_away(self, clock, capsys, ending):
        with Watch(value, below(1e-2), Limits(20, label="halving", progress=True, best_on_interrupt=True)) as watch:
            x = 1.0
            while watch.sees(x):
                clock.now += 1.0
                x /= 2
                if ending == "interrupted" and x < 0.05:
                    raise KeyboardInterrupt
            # Nothing has cleared it yet: leaving the context does.
            assert not capsys.readouterr().err.endswith(" \r")
        assert watch.run().status.code == ending
        written = capsys.readouterr().err
        assert written.endswith(" \r")  # blanks over the line, and back to its start
        if ending == "interrupted":
            assert "halving #" in written

    def test_is_silent_when_told(self, clock, capsys):
        def step(x):
            clock.now += 9.0
            return x / 2

        iterate(1.0, step, measure=value, stop=below(1e-2), limits=Limits(progress=False))
        assert capsys.readouterr().err == ""


def test_a_watch_follows_a_loop_that_another_library_owns():
    def foreign(report):
        for k in range(50):
            if report(1 / 2**k):
                break

    with Watch(value, below(1e-2), Limits(max_iter=50)) as watch:
        foreign(lambda x: not watch.sees(x))
    run = watch.run()
    led = halves(stop=below(1e-2))
    assert (run.state, run.n_iter, run.status) == (led.state, led.n_iter, led.status)
    assert [facts["objective"] for facts in run.history] == [facts["objective"] for facts in led.history]
