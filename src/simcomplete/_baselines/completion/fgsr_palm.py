"""FGSR by proximal alternating linearised minimisation, and what its variants share.

"2/3"    min sum_j |A_:j| + alpha/2 |B|_F^2    + weight/2 |M * (X - A B)|_F^2     penalty (3/2) alpha^(1/3) sum s^(2/3)
"1/2"    min sum_j |A_:j| + alpha sum_j |B_j:| + weight/2 |M * (X - A B)|_F^2     penalty 2 alpha^(1/2) sum s^(1/2)

with s the singular values of A B. Fan, Ding, Chen, Udell, "Factor group-sparse regularization for efficient low-rank
matrix recovery", NeurIPS 2019.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._baselines.completion.modes import MaskedMatrix, flat, leading, settled, sum_of_squares
from simcomplete._method.iterate import Facts, Limits, Run, Stop, iterate
from simcomplete._result.status import Status
from simcomplete._types import Matrix

PRUNED = 1e-5  # squared norm of a column of A or a row of B that counts as 0


@dataclass(frozen=True)
class Pair:
    """A and B, what they leave of the data, the objective, and the larger of their relative changes.

    `before` is the pair before, for the momentum, and `momentum` its counter. `left` is None where it is seldom needed
    again, and worth less than the memory it takes.
    """

    A: Matrix
    B: Matrix
    left: Matrix | None
    objective: float
    change: float = 1.0
    before: tuple[Matrix, Matrix] | None = None
    momentum: float = 1.0


def palm(
    data: MaskedMatrix,
    rank: int,
    weight: float,
    within: Limits,
    *,
    kind: str = "2/3",
    alpha: float = 1.0,
    rho: float = 1.0,
    tol: float = 1e-5,
    accelerate: bool = True,
) -> Run[Pair]:
    """Proximal alternating linearised minimisation from the singular vectors of the zero-filled matrix.

    Parameters
    ----------
    data, rank, weight : MaskedMatrix, int, float
        The matrix, the most components, and lambda, the weight of the data.
    within, tol : Limits, float
        Most steps and the like. Stop where a step lowers the objective by less than this share or, without momentum,
        where A and B change by less than this share.
    kind, alpha : {"2/3", "1/2"}, float
        Which penalty.
    rho : float
        Steps are 1/(rho L), L the Lipschitz constant for a full mask: 1 is safe, the authors' 0.5 the edge of it.
    accelerate : bool
        Steps start ahead of the pair where that lowers the objective: many times fewer. False: the authors' form.

    Returns
    -------
    Run
        Its `state` has A and B.

    Examples
    --------
    >>> run = palm(MaskedMatrix(np.diag([4.0, 0.1])), 2, 1.0, Limits(1000), tol=1e-12)
    >>> (run.state.A @ run.state.B).round(4)  # the 4 becomes a root of s - 4 + s^(-1/3) = 0, the 0.1 goes
    array([[3.3304, 0.    ],
           [0.    , 0.    ]])
    """

    def point(A: Matrix, B: Matrix, at: Pair | None = None, momentum: float = 1.0) -> Pair:
        before, change = None, 1.0
        if at is not None:
            change = max(relative(A, at.A), relative(B, at.B))
            keep = alive(A, B)
            A, B, before = A[:, keep], B[keep], (at.A[:, keep], at.B[keep])
        left = data.residual_of(A, B)
        second = 0.5 * np.sum(B * B) if kind == "2/3" else np.linalg.norm(B, axis=1).sum()
        penalty = np.linalg.norm(A, axis=0).sum() + alpha * second
        objective = float(penalty + 0.5 * weight * sum_of_squares(left))
        return Pair(A, B, None if accelerate else left, objective, change, before, momentum)

    def move(at: Pair, A: Matrix, B: Matrix, pull: Matrix, momentum: float) -> Pair:
        """One step in A from `A`, where what is left with at.B, times at.B^T, pulls; then one in B from `B`."""
        tau = weight * rho * float(np.linalg.norm(at.B @ at.B.T, 2))
        A = shrink_columns(A + (weight / tau) * pull, 1 / tau)
        tau = weight * rho * float(np.linalg.norm(A.T @ A, 2))
        if tau == 0:  # no column survived
            return point(A, np.zeros_like(B), at)
        pull = weight * (A.T @ data.residual_of(A, B))
        B = (pull + tau * B) / (alpha + tau) if kind == "2/3" else shrink_columns((B + pull / tau).T, alpha / tau).T
        return point(A, B, at, momentum)

    def step(at: Pair) -> Pair:
        if accelerate and at.before is not None:
            momentum = (1 + (1 + 4 * at.momentum**2) ** 0.5) / 2
            ahead = (at.momentum - 1) / momentum
            A, B = (now + ahead * (now - then) for now, then in zip((at.A, at.B), at.before, strict=True))
            moved = move(at, A, B, data.residual_of(A, at.B) @ at.B.T, momentum)
            if moved.objective <= at.objective:
                return moved
            del moved  # before another is made
        left = data.residual_of(at.A, at.B) if at.left is None else at.left
        pull = left @ at.B.T
        del left
        return move(at, at.A, at.B, pull, 1.0)

    start = point(*first_pair(data.values, rank, alpha, 2 / 3 if kind == "2/3" else 1 / 2))
    stop = finished((flat if accelerate else settled)(tol))
    return iterate(start, step, measure=facts_of_pair, stop=stop, limits=within)


def first_pair(Z: Matrix, rank: int, alpha: float, power: float) -> tuple[Matrix, Matrix]:
    """U s^power and s^(1 - power) V^T, the split of a matrix that its penalty likes best."""
    U, s, Vt = leading(Z, rank)
    c = alpha ** (1 - power)
    return c * U * s**power, (s ** (1 - power))[:, None] * Vt / c


def shrink_columns(A: Matrix, t: float) -> Matrix:
    """Shorten every column by t, to 0 at most.

    Examples
    --------
    >>> shrink_columns(np.array([[3.0, 0.5], [4.0, 0.0]]), 1.0)
    array([[2.4, 0. ],
           [3.2, 0. ]])
    """
    norm = np.linalg.norm(A, axis=0)
    share: Matrix = np.divide(np.maximum(norm - t, 0.0), norm, out=np.zeros_like(norm), where=norm > 0)
    return A * share


def alive(A: Matrix, B: Matrix) -> NDArray[np.bool_]:
    """Which components have neither lost their column of A nor their row of B."""
    return np.asarray((np.sum(A * A, axis=0) > PRUNED) & (np.sum(B * B, axis=1) > PRUNED))


def solved(A: Matrix, b: Matrix) -> Matrix:
    """The solution of A x = b."""
    return np.asarray(np.linalg.solve(A, b), dtype=np.float64)


def relative(new: Matrix, old: Matrix) -> float:
    """How much a matrix changed, as a share of what it was."""
    return float(np.linalg.norm(new - old)) / max(float(np.linalg.norm(old)), np.finfo(np.float64).tiny)


def facts_of_pair(at: Pair) -> Facts:
    """What the history shows."""
    return {"objective": at.objective, "change": at.change, "components": at.A.shape[1]}


def finished(still: Stop) -> Stop:
    """The stop test: nothing moves any more, or nothing is left."""
    gone = "the penalty removed every component, and the fit is 0: use a smaller penalty, or a larger weight"

    def stop(facts: Facts, recent: Sequence[float]) -> Status | None:
        return Status("pruned", gone, ok=False) if facts["components"] == 0 else still(facts, recent)

    return stop
