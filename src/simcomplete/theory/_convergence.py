"""How fast gradient descent must come to rest, and with which steps it need not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.validate import check_number
from simcomplete._types import Matrix
from simcomplete.errors import InputError
from simcomplete.theory._inputs import SLACK, smcnn


def paper_step(G: float, weight: float) -> float:
    """Return 1/(6 G^2 + weight), the paper's step: twice the 1/L of its own constant L = 12 G^2 + 2 weight.

    Examples
    --------
    >>> from simcomplete import theory
    >>> theory.paper_step(0.5, weight=0.5)
    0.5
    """
    denominator = 6 * check_number(G, "G") ** 2 + check_number(weight, "weight")
    if denominator == 0:
        raise InputError("G=0 and weight=0 leave the step without a bound; give a G above 0")
    return 1 / denominator


def guaranteed_decrease(step: float, lipschitz: float) -> float:
    """Return step (1 - step L/2): by the descent lemma a step lowers the objective by that times |grad|^2.

    Largest, 1/(2 L), at step 1/L; at the paper's step 2/L it is 0, where the paper's proof has 1/L.

    Examples
    --------
    >>> from simcomplete import theory
    >>> L = theory.printed_constant(1.0, weight=0.5)
    >>> theory.guaranteed_decrease(theory.paper_step(1.0, weight=0.5), L)
    0.0
    >>> theory.guaranteed_decrease(1 / L, L) == 1 / (2 * L)
    True
    """
    step, lipschitz = check_number(step, "step"), check_number(lipschitz, "lipschitz")
    return step * (1 - step * lipschitz / 2)


@dataclass(frozen=True)
class Convergence:
    """Smallest gradient of a run and the bound on it.

    Attributes
    ----------
    smallest : float
        min_t |grad(V_t)|_F^2.
    decrease : float
        F_0 - F*.
    total_step : float
        Sum of the steps; step times T for a fixed one.
    iterations : int
        T, how many gradients count.
    largest_rise : float
        The most by which F_{t+1} exceeds F_t - step |grad(V_t)|^2 / 2; not positive when every step decreases the
        objective as much as the theorem uses.
    scale : float
        |F_0| + |F*|; rounding is a fraction of it.
    """

    smallest: float
    decrease: float
    total_step: float
    iterations: int
    largest_rise: float
    scale: float

    @property
    def bound(self) -> float:
        """2 (F_0 - F*) / sum of the steps, which is 2 (F_0 - F*)/(step T) for a fixed step."""
        return 2 * self.decrease / self.total_step

    @property
    def holds(self) -> bool:
        """The bound on the smallest gradient, up to rounding of the objective."""
        return self.smallest <= 2 * (self.decrease + SLACK * self.scale) / self.total_step

    @property
    def decreases(self) -> bool:
        """Every step lowers the objective by at least step |grad|^2 / 2, up to rounding."""
        return self.largest_rise <= SLACK * self.scale


def convergence(history: Any, optimum: float, *, step: Any = None) -> Convergence:
    """Check a run of gradient descent against the paper's convergence theorem.

    With steps of at most 1/L, L a true Lipschitz constant (`corrected_constant` where |V_t| <= G), every step lowers
    the objective by at least step |grad|^2 / 2; summed, min_t |grad(V_t)|^2 <= 2 (F_0 - F*)/(step T). The paper
    states it for `paper_step`, with which neither need be true: see `convergence_counterexample`.

    Parameters
    ----------
    history : list of dict, or array of shape (T, 2)
        Objective and gradient norm at every V_t in turn, as "objective" and "gradient_norm", or as two columns;
        `Completion.history` of `solver="descent"` will do. Of a long run some entries may be left out: the theorem
        is true of those that are there, with T their number.
    optimum : float
        F*, such as `certificate.lower_bound`; anything below it only weakens the check.
    step : float or array of shape (T,), optional
        The step, or the one taken from each entry; anything below it only weakens the check. None reads "step" from
        the history, the step that led to each entry, of which then none may be left out.

    Returns
    -------
    Convergence

    Examples
    --------
    F(v) = (v^2 - 1)^2 from v = 2: F = 9 and F' = 24. One step of 1/48 = 1/(12 * 2^2) leads to v = 1.5.

    >>> from simcomplete import theory
    >>> start = {"objective": 9.0, "gradient_norm": 24.0}
    >>> history = [start, {"objective": 1.5625, "gradient_norm": 7.5}]
    >>> check = theory.convergence(history, optimum=0.0, step=1 / 48)
    >>> check.smallest, round(check.bound, 9), check.holds, check.decreases
    (56.25, 432.0, True, True)
    """
    objective, gradient = _columns(history)
    steps = _recorded_steps(history) if step is None else _given_steps(step, len(objective))
    with np.errstate(over="ignore", invalid="ignore"):  # a run that diverged fails the check, it need not warn
        squares = gradient[: len(steps)] ** 2
        fall = objective[:-1] - objective[1:]
        rise = (steps * squares / 2)[: len(fall)] - fall
    first, last = float(objective[0]), check_number(optimum, "optimum", low=-np.inf)
    return Convergence(
        smallest=float(np.min(squares)),
        decrease=first - last,
        total_step=float(np.sum(steps)),
        iterations=len(steps),
        largest_rise=float(np.max(rise, initial=-np.inf)),
        scale=abs(first) + abs(last),
    )


def _columns(history: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if len(history) == 0:
        raise InputError("history is empty; give one entry per iteration (a direct solver has none)")
    if isinstance(history[0], Mapping):
        missing = {"objective", "gradient_norm"} - set(history[0])
        if missing:
            raise InputError(f"history has no {' and no '.join(sorted(missing))}; both are needed in every entry")
        history = [(row["objective"], row["gradient_norm"]) for row in history]
    table = np.asarray(history, dtype=np.float64)
    if table.ndim != 2 or table.shape[1] != 2:
        raise InputError(f"history has shape {table.shape}; two columns are needed, objective and gradient norm")
    return table[:, 0], table[:, 1]


def _given_steps(step: Any, entries: int) -> NDArray[np.float64]:
    steps = np.asarray(step, dtype=np.float64)
    if steps.shape not in ((), (entries,)) or not (np.isfinite(steps).all() and (steps > 0).all()):
        raise InputError(f"step={step!r} must be finite and above 0, one number or one for each of {entries} entries")
    return np.broadcast_to(steps, (entries,))


def _recorded_steps(history: Any) -> NDArray[np.float64]:
    """The step from every entry but the last, which the next entry tells."""
    if not isinstance(history[0], Mapping) or len(history) < 2 or not all("step" in row for row in history[1:]):
        raise InputError("the history records no steps; give step=")
    numbers = [row.get("iteration", k) for k, row in enumerate(history)]
    if any(later != before + 1 for before, later in pairwise(numbers)):
        raise InputError("iterations are left out of the history; give step=, a number no step fell below")
    return np.array([row["step"] for row in history[1:]], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class ConvergenceCounterexample:
    """A run with the paper's step that does not approach a stationary point.

    Attributes
    ----------
    S0 : array of shape (4, 4)
        Similarities: 1 on the diagonal, 0.75 between {0, 1} and {2, 3}, 0 within.
    V : array of shape (4, 1)
        The start; every iterate is V or -V.
    weight, G, step : float
        Weight of the nuclear norm, the bound |V_t|_F <= G that holds throughout, and `paper_step(G, weight)`.
    check : Convergence
        `check.holds` is False.
    """

    S0: Matrix
    V: Matrix
    weight: float
    G: float
    step: float
    check: Convergence


def convergence_counterexample(iterations: int = 20) -> ConvergenceCounterexample:
    """Run the paper's Algorithm 1 with its own step where its convergence theorem fails.

    S0 has the eigenvalue -1/2 along (1, 1, -1, -1)/2. From V = (1, 1, -1, -1)/4, |V|_F = G = 1/2, with weight 1/2:
    V V^T V = V/4, so grad = 4 (1/4 + 1/2) V + V = 4 V, the step is 1/(6/4 + 1/2) = 1/2, and V - 4 V/2 = -V. All in
    powers of two, so the run swings between V and -V for ever, with |V_t|_F <= G as the theorem asks, and
    |grad|^2 = 4 stays where the theorem promises at most 2 (8.9375 - 3.4375)/(T/2) = 22/T.

    Parameters
    ----------
    iterations : int
        T; from 6 on the statement fails.

    Returns
    -------
    ConvergenceCounterexample

    Examples
    --------
    >>> from simcomplete import theory
    >>> check = theory.convergence_counterexample(iterations=1000).check
    >>> check.smallest, round(check.bound, 6), check.holds
    (4.0, 0.022, False)
    """
    apart, across = np.eye(2), np.full((2, 2), 0.75)
    S0 = np.block([[apart, across], [across, apart]])
    start = np.array([[0.25], [0.25], [-0.25], [-0.25]])
    weight, G = 0.5, 0.5
    step = paper_step(G, weight)
    problem = smcnn(S0, weight, rank=1)
    V, history = start, []
    for _ in range(iterations):
        gradient = problem.gradient(V)
        history.append((problem.objective(V), float(np.linalg.norm(gradient))))
        V = V - step * gradient
    optimum = problem.optimum(np.array([2.5]))  # the largest eigenvalue of S0, 1 + 2 * 0.75
    return ConvergenceCounterexample(S0, start, weight, G, step, convergence(history, optimum, step=step))
