"""When the completed matrix is at least as near to the truth as S0 was."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._rows.validate import check_number, check_rank
from simcomplete._types import Matrix
from simcomplete.errors import InputError
from simcomplete.theory._inputs import SLACK, symmetric


@dataclass(frozen=True)
class Projection:
    """Squared errors of S0 and of its completion, and the bound that can be proved.

    Attributes
    ----------
    before, after : float
        |S0 - S*|_F^2 and |S_hat - S*|_F^2.
    moved : float
        |S_hat - S0|_F^2.
    bound : float
        What `after` provably does not exceed; infinity where nothing can be proved.
    """

    before: float
    after: float
    moved: float
    bound: float

    @property
    def ratio(self) -> float:
        """after / before, the paper's "RMSE"; 0 when both are 0."""
        if self.before == 0:
            return 0.0 if self.after == 0 else math.inf
        return self.after / self.before

    @property
    def holds(self) -> bool:
        """The corrected statement: after <= bound, up to rounding."""
        return self.after <= self.bound + SLACK * (self.before + self.moved)

    @property
    def holds_as_printed(self) -> bool:
        """The paper's after <= before, whatever the rank bound and the weight."""
        return self.after <= self.before + SLACK * (self.before + self.moved)


def psd_projection(S0: Any, S_true: Any, *, rank: int | None = None, weight: float = 0.0) -> Projection:
    """Compare the error of S0 with that of its completion: the paper's theorem on the error.

    The paper proves |S_hat - S*| <= |S0 - S*| for the Euclidean projection S_hat of S0 onto a closed convex set
    that holds the truth S*, and then takes the positive semi-definite matrices of rank at most r, which are not
    convex, and a penalty, with which S_hat is no projection. What can be proved instead, a = weight/2:

    - no active rank bound, weight 0: after <= before - moved, so even the paper's "equal only if S_hat = S0" is true;
    - no active rank bound: sqrt(after) <= sqrt(before) + |min(eigenvalues of S*, a)|, because S_hat is the
      projection of S0 - a I, projections are non-expansive, and the same map moves S* by the second term;
    - rank(S*) <= r, weight 0: after <= 4 before, by the triangle inequality, as S_hat is the nearest to S0;
    - otherwise nothing: see `rank_counterexample`.

    Parameters
    ----------
    S0 : array of shape (n, n)
        Initial similarities, symmetric.
    S_true : array of shape (n, n)
        The truth, positive semi-definite.
    rank : int, optional
        Rank bound r; None is none. A bound is active when more eigenvalues of S0 than that exceed weight/2.
    weight : float
        Weight of the nuclear norm, as in SMCNN.

    Returns
    -------
    Projection

    Examples
    --------
    S0 has eigenvalues 3 and -1; setting the negative one to 0 takes half of the error away.

    >>> import numpy as np
    >>> from simcomplete import theory
    >>> check = theory.psd_projection(np.array([[1.0, 2.0], [2.0, 1.0]]), np.ones((2, 2)))
    >>> round(check.before, 12), round(check.after, 12), check.holds
    (2.0, 1.0, True)
    """
    S0, S_true = symmetric(S0, "S0"), symmetric(S_true, "S_true")
    n = len(S0)
    if len(S_true) != n:
        raise InputError(f"S_true has {len(S_true)} rows and S0 has {n}; both need one row per sample")
    truth = np.linalg.eigvalsh(S_true)
    if truth[0] < -1e-8 * max(truth[-1], 0.0) or truth[-1] < 0:
        raise InputError(
            f"S_true has an eigenvalue of {truth[0]:.3g} and is not positive semi-definite, which the theorem "
            "assumes of the truth; give similarities of complete data"
        )
    r = n if rank is None else check_rank(rank, n)
    a = check_number(weight, "weight") / 2
    w, U = np.linalg.eigh(S0)
    s = np.maximum(w - a, 0.0)
    active = bool(np.sum(s > 0) > r)
    s[: n - r] = 0.0
    S_hat = (U * s) @ U.T
    before, after, moved = (float(np.sum(D * D)) for D in (S0 - S_true, S_hat - S_true, S_hat - S0))
    if active:
        true_rank = int(np.sum(truth > n * np.finfo(np.float64).eps * truth[-1]))
        bound = 4 * before if a == 0 and true_rank <= r else math.inf
    elif a == 0:
        bound = before - moved
    else:
        bound = (math.sqrt(before) + float(np.linalg.norm(np.clip(truth, 0.0, a)))) ** 2
    return Projection(before=before, after=after, moved=moved, bound=bound)


@dataclass(frozen=True, eq=False)
class RankCounterexample:
    """Matrices for which a rank bound makes the error a hundred times larger.

    Attributes
    ----------
    S_true, S0, S_hat : array of shape (3, 3)
        The truth, the initial similarities, and the best matrix of rank 1.
    rank : int
        The bound.
    check : Projection
        `check.ratio` is 100.5.
    """

    S_true: Matrix
    S0: Matrix
    S_hat: Matrix
    rank: int
    check: Projection

    @property
    def ratio(self) -> float:
        """Squared error after over before."""
        return self.check.ratio


def rank_counterexample() -> RankCounterexample:
    """Three by three similarities on which the paper's theorem on the error fails with a rank bound.

    S* = I and S0 = I with 0.1 between the first two samples: eigenvalues 1.1, 1, 0.9. With r = 1 the optimum is
    1.1 u u^T, u = (1, 1, 0)/sqrt(2), so the error is 0.1^2 + 1 + 1 = 2.01 where S0 had 2 * 0.1^2 = 0.02.

    Returns
    -------
    RankCounterexample

    Examples
    --------
    >>> from simcomplete import theory
    >>> round(theory.rank_counterexample().ratio, 6)
    100.5
    """
    S_true = np.eye(3)
    S0 = np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 0.0], [0.0, 0.0, 1.0]])
    S_hat = np.array([[0.55, 0.55, 0.0], [0.55, 0.55, 0.0], [0.0, 0.0, 0.0]])
    return RankCounterexample(S_true, S0, S_hat, 1, psd_projection(S0, S_true, rank=1))
