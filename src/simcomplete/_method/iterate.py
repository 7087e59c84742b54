"""The only iteration loop of the library.

A method supplies a start, a step and a stop test. The loop adds the history, progress, callback, time limit, a check
for numbers that are not finite and, on request, that Ctrl-C returns the best state so far. A state may be any object:
an array of any library, a tuple, a dataclass. The loop does not look into states, so a step must not change the state
it is given. `Watch` does the same for a loop that belongs to another library, such as L-BFGS in SciPy.
"""

from __future__ import annotations

import math
import time
from collections import deque
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, cast

from simcomplete._result.status import Status
from simcomplete._rows.progress import track

RECORDS = 1000  # longest history; when it is reached, every second entry is dropped and only every second one is added
RECENT = 100  # how many of the last objectives are given to a stop test

State = TypeVar("State")
Facts = dict[str, float]
# Numbers of an iteration, and the objectives of the last ones (this one last): a Status ends the run, None does not.
Stop = Callable[[Facts, Sequence[float]], Status | None]


@dataclass(frozen=True)
class Limits:
    """What ends a run besides its own stop test, and whether progress is shown."""

    max_iter: int = 1000
    time_limit: float | None = None  # seconds after which no further step is made; one always is
    callback: Callable[[int, Facts], object] | None = None  # after every step; something true ends the run
    label: str = "iterating"  # these two as in simcomplete._rows.progress.track
    progress: bool | None = None
    best_on_interrupt: bool = False  # Ctrl-C ends the run with the best so far; else it is a KeyboardInterrupt


@dataclass(frozen=True)
class Run(Generic[State]):
    """The result of a run: its last finite state, its best state, the measurements, and how it ended.

    `n_iter` counts the steps to `state`. `history` has the first and the last iteration and is evenly thinned out
    in long runs; `recent` holds the last objectives, none left out.
    """

    state: State
    facts: Facts
    best: State
    best_facts: Facts
    n_iter: int
    history: list[Facts]
    recent: tuple[float, ...]
    status: Status


def iterate(
    start: State,
    step: Callable[[State], State],
    *,
    measure: Callable[[State], Facts],
    stop: Stop | None = None,
    limits: Limits | None = None,
) -> Run[State]:
    """Repeat a step until the stop test succeeds or a limit is reached.

    Parameters
    ----------
    start, step : state, callable
        The state of iteration 0, and the function from one state to the next.
    measure : callable
        Returns named numbers of a state. The best state is that with the smallest `objective`, or first number if there
    is no objective.
    stop : callable, optional
        The stop test, see `Stop`. Without one, a run that makes all iterations has succeeded.
    limits : Limits, optional
        What else ends the run.

    Returns
    -------
    Run

    Examples
    --------
    >>> run = iterate(  # the square root of 2, by Newton's method
    ...     1.0,
    ...     lambda x: (x + 2 / x) / 2,
    ...     measure=lambda x: {"error": abs(x * x - 2)},
    ...     stop=lambda facts, recent: Status("converged", "x * x is 2") if facts["error"] < 1e-12 else None,
    ... )
    >>> round(run.state, 6), run.n_iter, str(run.status)
    (1.414214, 5, 'converged: x * x is 2')
    """
    with Watch(measure, stop, limits or Limits()) as watch:
        state = start
        while watch.sees(state):
            state = step(state)
    return watch.run()


class Watch(Generic[State]):
    """Examines one state after the other and says when to stop; as a context manager it can keep the best on Ctrl-C."""

    def __init__(self, measure: Callable[[State], Facts], stop: Stop | None, limits: Limits) -> None:
        self.status: Status | None = None
        self._measure, self._stop, self._limits = measure, stop, limits
        self._line = cast("Generator[int]", track(range(limits.max_iter + 1), limits.label, limits.progress))
        self._began = time.monotonic()
        self._last: tuple[State, Facts] | None = None
        self._best: tuple[State, Facts] | None = None
        self._history: list[Facts] = []
        self._every = 1
        self._recent: deque[float] = deque(maxlen=RECENT)

    def sees(self, state: State) -> bool:
        """Record the next state, beginning with the start; return False if the run is to end."""
        next(self._line, None)
        iteration = 0 if self._last is None else int(self._last[1]["iteration"]) + 1
        measured = self._measure(state)
        facts: Facts = {"iteration": iteration, "seconds": time.monotonic() - self._began, **measured}
        if not all(map(math.isfinite, measured.values())):
            self._last, self._best = self._last or (state, facts), self._best or (state, facts)
            where = f"iteration {iteration}" if iteration else "the start"
            advice = "kept the best before it: take smaller steps" if iteration else "give a start of finite numbers"
            self.status = Status("non_finite", f"{where} has numbers that are not finite; {advice}", ok=False)
            return False
        if self._best is None or _objective(facts) < _objective(self._best[1]):
            self._best = state, facts
        self._last = state, facts
        self._recent.append(_objective(facts))
        if iteration % self._every == 0:
            self._history.append(facts)
        if len(self._history) > RECORDS:
            self._every, self._history = 2 * self._every, self._history[::2]
        call = self._limits.callback  # sees every step, also the one that meets the stop test
        asked = call is not None and iteration > 0 and bool(call(iteration, dict(facts)))
        met = None if self._stop is None else self._stop(facts, self._recent)
        self.status = met or self._limited(iteration, facts["seconds"], asked)
        return self.status is None

    def _limited(self, iteration: int, seconds: float, asked: bool) -> Status | None:
        limit = self._limits.time_limit
        if asked:
            return Status("stopped", f"the callback stopped the run after {iteration} iterations", ok=False)
        if iteration >= self._limits.max_iter:
            made = f"all {iteration} iterations made"
            if self._stop is None:  # that was all there was to do
                return Status("computed", made)
            return Status("max_iter", f"{made} and the stop test was not met: raise max_iter, or tol", ok=False)
        if limit is not None and iteration > 0 and seconds >= limit:
            message = f"time_limit={limit:g} s was over after {iteration} iterations: allow more time"
            return Status("time_limit", message, ok=False)
        return None

    def run(self) -> Run[State]:
        """The result of the run, once it has ended."""
        assert self._last is not None and self._best is not None and self.status is not None  # sees() came first
        facts, history, n_iter = self._last[1], self._history, int(self._last[1]["iteration"])
        if not history or history[-1] is not facts:
            history = [*history, facts]
        return Run(*self._last, *self._best, n_iter, history, tuple(self._recent), self.status)

    def __enter__(self) -> Watch[State]:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: Any, trace: Any) -> bool:
        self._line.close()
        interrupted = kind is not None and issubclass(kind, KeyboardInterrupt)
        if not interrupted or not self._limits.best_on_interrupt or self._last is None:
            return False
        message = f"interrupted after {int(self._last[1]['iteration'])} iterations: this is the best so far"
        self.status = self.status or Status("interrupted", message, ok=False)
        return True


def _objective(facts: Facts) -> float:
    names = (name for name in facts if name not in ("iteration", "seconds"))
    return facts["objective"] if "objective" in facts else facts[next(names)]
