"""The nearest positive semi-definite matrix with a given diagonal b, and perhaps further entries held.

    min |S - S0|_F^2   over   S positive semi-definite,  S_ii = b_i,  S_ij = e_ij where held

The problem is convex and has one solution; `newton` finds it by climbing the dual. With T_+ the positive semi-definite
part of T and Z(y) the matrix with the multipliers y in the places of the constraints,

    |S - S0|_F^2 >= |S0|_F^2 - 2 theta(y),   theta(y) = |(S0 + Z(y))_+|_F^2 / 2 - b.y,

for every S that meets the constraints, with equality for S = (S0 + Z(y))_+ at the minimum of theta, whose gradient is
what (S0 + Z(y))_+ has in those places, minus what it should have.

References
----------
Qi, Sun, A quadratically convergent Newton method for computing the nearest correlation matrix, SIAM J. Matrix Anal.
Appl. 2006; Borsdorf, Higham, A preconditioned Newton algorithm for it, IMA J. Numer. Anal. 2010; Qi, Sun, Correlation
stress testing for value-at-risk: an unconstrained convex optimization approach, Comput. Optim. Appl. 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcomplete._correlation.contradiction import proved_violation
from simcomplete._correlation.direction import System
from simcomplete._correlation.dual import SINGLE, Dual
from simcomplete._correlation.held import Held
from simcomplete._correlation.psd import decomposed, positive_ones
from simcomplete._correlation.refined import NEAR, refined
from simcomplete._method.iterate import Facts, Limits, Run, Stop, iterate
from simcomplete._result.status import Status
from simcomplete._rows.xp import Array, astype, copied, diagonal, is_float32, like, namespace, set_diagonal
from simcomplete._types import Mask, Matrix, Vector

HALVINGS = 30  # of a step that does not lower theta enough
QUIET = Limits(progress=False)
ROUGH = 3e-4  # single precision is left where the constraints are missed by less, as a share of the largest
QUADRATIC = (
    1e-2  # from here on a step squares what is missed, so that the next point is not looked at in single precision
)
PROVED = 1e-9  # the gap between a matrix and the bound, as a share, that the last steps may leave
EXACT = 1e-7  # a tolerance above this is that of a problem on the way to another, which needs the eigenpairs
FAR = 30.0  # multipliers above this may be on their way to infinity: constraints that contradict each other


def newton(
    S0: Array,
    b: Vector,
    tol: float = 1e-10,
    limits: Limits = QUIET,
    *,
    held: Mask | None = None,
    values: Matrix | None = None,
    start: Vector | Dual | None = None,
) -> tuple[Array, Run[Dual]]:
    """Semismooth Newton method on the dual: four to six eigendecompositions, quadratic at the end.

    Parameters
    ----------
    S0 : array of shape (n, n)
        Symmetric. Without entries to hold, an array of any library: the work is done there, on its device.
    b : array of shape (n,)
        The diagonal to have, above 0.
    tol : float
        Stop where no constraint is missed by more than tol * max(b).
    limits : Limits
        What else ends the run.
    held : array of bool, shape (n, n), optional
        True where an entry off the diagonal is held.
    values : array of shape (n, n), optional
        What held entries are to be, instead of those of S0.
    start : array or Dual, optional
        Multipliers of a similar problem, `run.best.y` there; or a point of this one, whose eigenpairs are used again.

    Returns
    -------
    X, run : array of shape (n, n), Run
        Positive semi-definite, its diagonal and held entries within the tolerance.

    Examples
    --------
    >>> S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> X, run = newton(S0, np.ones(3))
    >>> X.round(3)
    array([[1.   , 0.743, 0.105],
           [0.743, 1.   , 0.743],
           [0.105, 0.743, 1.   ]])
    >>> run.n_iter, run.status.code
    (3, 'converged')
    >>> newton(S0, np.ones(3), held=np.eye(3, k=1) * [0, 1, 0] > 0)[0].round(3)  # the first 0.9 stays
    array([[1.   , 0.9  , 0.221],
           [0.9  , 1.   , 0.624],
           [0.221, 0.624, 1.   ]])
    """
    size, squares = float(b.max()), float(namespace(S0).sum(S0 * S0))
    if held is None:
        constraints = Held.diagonal(b)
    else:
        target = (S0 if values is None else values).copy()
        np.fill_diagonal(target, b)
        constraints = Held.of(target, held)
    climb = Climb(S0, constraints, size, squares, tol)

    def measure(here: Dual) -> Facts:
        facts = {"deviation": here.deviation, "lower_bound": squares - 2 * here.theta, "step": here.step}
        if len(constraints.first) and float(np.max(np.abs(here.y))) > FAR * size:
            facts["contradiction"] = proved_violation(constraints, here.y)[0]
        return facts

    first = climb.begin(start)
    run = iterate(first, climb.step, measure=measure, stop=stop_at(tol * size), limits=limits)
    return run.best.primal(), run


@dataclass(frozen=True)
class Climb:
    """The dual problem: its value and gradient anywhere, and a step towards its optimum."""

    S0: Array
    held: Held
    size: float
    squares: float
    tol: float

    @property
    def kind(self) -> type[np.floating[Any]]:
        """NumPy's type of the precision of S0."""
        return np.float32 if is_float32(self.S0) else np.float64

    def at(self, y: Vector, step: float = 1.0) -> Dual:
        """The point y of the dual, in the precision of S0."""
        if len(self.held.among):
            T = self.S0 + self.held.matrix(y)
        else:
            T = copied(self.S0)
            set_diagonal(T, diagonal(T) + like(y, T))
        w, U = decomposed(T, overwrite=True)
        return self._with(y, w, U, step)

    def begin(self, start: Vector | Dual | None) -> Dual:
        """The first point in double precision: from eigenpairs that are there, or after rough steps if S0 is large."""
        large = self.held.n >= SINGLE
        if isinstance(start, Dual) and start.matrix is not None:
            start = start.y
        if isinstance(start, Dual):  # of the same S0 + Z(y), maybe with other entries held
            here = self._with(start.y, start.w, start.U)
            if not large or here.deviation <= ROUGH * self.size:
                return here
            start = start.y
        return self.roughly(start) if large else self.first(start)

    def _with(self, y: Vector, w: Vector, U: Array, step: float = 1.0) -> Dual:
        up = positive_ones(w)
        theta = float(np.sum(np.square(w[up], dtype=np.float64))) / 2 - float(self.held.target @ y)
        F = U[:, int(np.sum(~up)) :]
        return Dual(y, w, U, theta, self.held.entries(F, F * like(w[up], F)) - self.held.target, step)

    def rounded(self, there: Dual) -> Dual:
        """A point of the same problem in double precision."""
        U = astype(there.U, namespace(there.U).float32)
        return self._with(there.y.astype(np.float32), there.w.astype(np.float32), U)

    def first(self, start: Vector | None) -> Dual:
        """The point to begin with: the one given, or the best of those where all of the diagonal moves alike.

        (S0 + c I)_+ has the eigenvectors of S0, so that the trace can be met without another decomposition.
        """
        if start is not None:
            return self.at(start)
        here = self.at(np.zeros(len(self.held.target), dtype=self.kind))
        n, w = self.held.n, here.w
        c = shift_to_trace(w, float(np.sum(self.held.target[:n])))
        return self._with(np.concatenate([np.full(n, c, w.dtype), here.y[n:]]), w + c, here.U)

    def step(self, here: Dual) -> Dual:
        """One step of Newton's method, halved until theta falls."""
        system = System.at(here, self.held, self.size)
        d = system.solve(here.gradient, self.size, self.tol)
        if self.kind is np.float64 and here.deviation <= NEAR * self.size and self.tol <= EXACT:
            last = refined(here, self.held, system, d, self.size, self.tol)
            if last is not None and self.proves(last):
                return last
        slope = float(d @ here.gradient)
        noise = 8 * np.finfo(self.kind).eps * (self.squares + abs(here.theta))
        gamma = 1.0
        for _ in range(HALVINGS):
            found = self.at(here.y + gamma * d, gamma)
            if found.theta <= here.theta + 1e-4 * gamma * slope + noise:
                return found
            gamma /= 2
        return replace(here, step=0.0)

    def proves(self, last: Dual) -> bool:
        """Whether theta says that the matrix of a point, which meets the constraints, is the nearest."""
        X = last.primal()
        distance = float(namespace(X).sum((X - self.S0) ** 2))
        noise = 8 * np.finfo(np.float64).eps * self.squares
        return bool(distance - (self.squares - 2 * last.theta) <= PROVED * distance + noise)

    def roughly(self, start: Vector | None, most: int = 12) -> Dual:
        """The point after the first steps in single precision, for as long as they come nearer: half the time."""
        single = Climb(
            astype(self.S0, namespace(self.S0).float32),
            replace(self.held, target=self.held.target.astype(np.float32)),
            self.size,
            self.squares,
            self.tol,
        )
        here = best = single.first(None if start is None else start.astype(np.float32))
        worse, tried = 0, False
        while best.deviation > ROUGH * self.size and worse < 3 and most > 0:
            if not worse and not tried and here.deviation <= QUADRATIC * self.size:
                tried = True
                d = System.at(here, single.held, self.size).solve(here.gradient, self.size, self.tol)
                found = self.at((here.y + d).astype(np.float64))
                if found.deviation <= ROUGH * self.size:
                    return found
                lower = found.theta <= here.theta
                here = single.rounded(found) if lower else single.step(here)
            else:
                here = single.step(here)
            most -= 1
            worse = 0 if here.deviation < best.deviation else worse + 1
            best = best if worse else here
        return self.at(best.y.astype(np.float64))


def shift_to_trace(w: Vector, trace: float) -> float:
    """The c with sum max(w_i + c, 0) = trace > 0, for ascending w.

    Examples
    --------
    >>> shift_to_trace(np.array([-1.0, 1.0, 3.0]), 2.0)  # only the last two are left: 0 and 2
    -1.0
    """
    down = w[::-1].astype(np.float64)
    c = (trace - np.cumsum(down)) / np.arange(1, len(w) + 1)  # if the k largest are those left
    k = int(np.sum(down + c > 0))
    return float(c[k - 1])


def stop_at(small: float) -> Stop:
    """Stop where no constraint is missed by more than `small`, where no step is left, or where they contradict."""

    def stop(facts: Facts, recent: Any) -> Status | None:
        deviation = facts["deviation"]
        if deviation <= small:
            return Status("converged", f"no constraint is missed by more than {deviation:.1e}")
        if facts.get("contradiction", 0.0) > 0:
            message = f"the fixed entries contradict each other: one must move by {facts['contradiction']:.2g} at least"
            return Status("infeasible", message, ok=False)
        if facts.get("step") == 0:
            message = f"rounding leaves no further step; constraints are missed by up to {deviation:.1e}"
            return Status("stalled", message, ok=deviation <= 1e4 * small)
        return None

    return stop
