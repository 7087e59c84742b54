"""`lr`: missing values by linear regression on the observed ones, fitted on complete rows only.

"feature" regresses missing features on observed ones over the candidates, as the paper's text has it. "sample"
writes a query as a combination of candidates, as public programs do: the one with the smallest coefficients, or
("sample-basic") the one on the few candidates that a pivoted QR picks.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.linalg

from simcomplete._baselines.imputation.filled import complete_filled, fill_missing
from simcomplete._baselines.imputation.mean import feature_means, power_of_two
from simcomplete._method.params import Number, Parameters, Words, parameter
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import FILLED_MEASURE, Method
from simcomplete._result.completion import Completion
from simcomplete._rows.progress import track
from simcomplete._types import Matrix, Positions
from simcomplete.errors import InputError

CUT = 1e-12  # of the largest eigenvalue: below it, plain regression sees a feature that others determine
SMALLEST_VARIANCE = 1e-200  # less could not be divided by
SMALLEST_SCALE = 2.0**-100  # of the largest value of all rows
SAFE = 1e-9  # reciprocal condition from which Cholesky and the inverse are accurate

# From q_O of queries that share their observed features O, with O and U (the missing ones), to their q_U.
Predict = Callable[[Matrix, Positions, Positions], Matrix]


def by_feature(P: Matrix, eps: float = 1e-3) -> Predict:
    """Regress missing on observed features: q_U = mu_U + (q_O - mu_O)(C_OO + rho I)^-1 C_OU, rho = eps tr(C)/d.

    Parameters
    ----------
    P : array of shape (n_p, d)
        Complete rows; the mean mu and the covariance C (over n_p - 1) are theirs alone.
    eps : float
        Ridge, relative to the mean variance. 0 is plain regression, by eigenvectors with a relative cut at 1e-12.

    Returns
    -------
    callable
        ``predict(q_O, O, U)``: from the observed values (g, |O|) of g queries to the missing ones (g, |U|).

    Examples
    --------
    >>> P = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 5.0]])  # the second feature is 2 x + 1
    >>> by_feature(P, 0.0)(np.array([[4.0]]), np.array([0]), np.array([1])).round(12)
    array([[9.]])
    """
    mu = P.mean(axis=0)
    Z = P - mu
    C = Z.T @ Z / max(len(P) - 1, 1)
    C[np.diag_indices(len(mu))] += eps * np.trace(C) / len(mu)
    A = _inverse(C)  # None where C is singular, or nearly

    def predict(q_O: Matrix, O: Positions, U: Positions) -> Matrix:  # noqa: E741
        away = (q_O - mu[O]).T
        # A query whose answer is beyond all numbers is refused by name in the end.
        with np.errstate(over="ignore", invalid="ignore"):
            return np.asarray(mu[U] + shift(away, O, U).T)

    def shift(away: Matrix, O: Positions, U: Positions) -> Matrix:  # noqa: E741
        if A is None:
            return np.asarray(C[np.ix_(U, O)] @ _solve_cut(C[np.ix_(O, O)], away))
        if len(O) <= len(U):
            return np.asarray(C[np.ix_(U, O)] @ _cho_solve(C[np.ix_(O, O)], away))
        # The same from the smaller side: by block inversion C_UO C_OO^-1 = -A_UU^-1 A_UO.
        return -_cho_solve(A[np.ix_(U, U)], A[np.ix_(U, O)] @ away)

    return predict


def by_sample(P: Matrix, *, basic: bool = False) -> Predict:
    """Combine candidates: min_beta |q_O - [1, P_O^T] beta|, q_U = [1, P_U^T] beta.

    There are more candidates than observed features as a rule, so q_O is met exactly and beta needs a choice:
    the smallest norm, or with `basic` the basic solution of a column-pivoted QR, all other coefficients 0.

    Examples
    --------
    >>> P = np.array([[1.0, 0.0, 2.0], [0.0, 1.0, 1.0]])
    >>> by_sample(P)(np.array([[2.0, 1.0]]), np.array([0, 1]), np.array([2])).round(12)
    array([[3.]])
    """
    A = np.concatenate([np.ones((1, P.shape[1])), P]).T
    width = A.shape[1]
    if not basic:  # A = R^T Q^T: coefficients of smallest norm lie in the span of Q, so R says it all
        A = np.asarray(np.linalg.qr(A.T, mode="r")).T

    def predict(q_O: Matrix, O: Positions, U: Positions) -> Matrix:  # noqa: E741
        cut = max(len(O), width) * np.finfo(np.float64).eps
        if not basic:
            return np.asarray((A[U] @ np.linalg.lstsq(A[O], q_O.T, rcond=cut)[0]).T)
        Q, R, order = scipy.linalg.qr(A[O], mode="economic", pivoting=True)
        size = np.abs(np.diag(R))
        kept = int(np.sum(size > cut * size[0]))
        beta = scipy.linalg.solve_triangular(R[:kept, :kept], Q[:, :kept].T @ q_O.T)
        return np.asarray((A[U][:, order[:kept]] @ beta).T)

    return predict


def impute(table: Matrix, mean: Matrix, predict: Predict, progress: bool | None = False) -> Matrix:
    """Predict every missing value, rows with the same mask together; a row with nothing observed gets the mean."""
    filled = np.where(np.isnan(table), mean, table)
    lacking = np.flatnonzero(np.isnan(table).any(axis=1))  # to sort the others' masks would take longer than the rest
    if not len(lacking):
        return filled
    masks, group = np.unique(~np.isnan(table[lacking]), axis=0, return_inverse=True)
    order = lacking[np.argsort(group, kind="stable")]
    group = np.sort(group)
    parts = np.split(order, np.searchsorted(group, np.arange(1, len(masks))))
    for mask, rows in track(list(zip(masks, parts, strict=True)), "lr", progress):
        if mask.any():
            O, U = np.flatnonzero(mask), np.flatnonzero(~mask)  # noqa: E741
            filled[np.ix_(rows, U)] = predict(table[np.ix_(rows, O)], O, U)
    return filled


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Fit on the candidates (or on the complete ones of all rows), fill, compare."""
    variant, eps = params["variant"], float(params["eps"])
    table = problem.table
    P = table[: problem.n_candidates]
    P = P[~np.isnan(P).any(axis=1)]
    if len(P) < 2 and problem.all_rows_are_queries:
        raise InputError(
            f"lr learns from complete rows, and {len(P)} of {len(table)} samples are; give at least 2, or "
            "candidates and queries, or use method='mean'"
        )
    # Regression on features does not depend on the scale. Candidates decide it, whose squares are taken, unless queries
    # are so much larger that their own would leave the range of numbers.
    scale = max(power_of_two(P), SMALLEST_SCALE * power_of_two(table)) if variant == "feature" else 1.0
    predict = by_feature(P / scale, eps) if variant == "feature" else by_sample(P, basic=variant == "sample-basic")
    estimate = impute(table / scale, feature_means(P) / scale, predict, settings.progress) * scale
    used = {"variant": variant, **({"eps": eps} if variant == "feature" else {})}
    return complete_filled(problem, "lr", used, fill_missing(table, estimate))


def _inverse(C: Matrix) -> Matrix | None:
    """The inverse of a covariance, or None where rounding would spoil it (and that of its parts, by interlacing)."""
    factor, info = scipy.linalg.lapack.dpotrf(C)
    if info != 0 or scipy.linalg.lapack.dpocon(factor, np.linalg.norm(C, 1))[0] < SAFE:
        return None
    return np.asarray(scipy.linalg.cho_solve((factor, False), np.eye(len(C))))


def _cho_solve(C: Matrix, b: Matrix) -> Matrix:
    return np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(C), b, check_finite=False))


def _solve_cut(S: Matrix, rhs: Matrix) -> Matrix:
    """Solve with the pseudo-inverse of a covariance."""
    w, V = np.linalg.eigh(S)
    keep = w > max(CUT * w[-1], SMALLEST_VARIANCE)
    return np.asarray((V[:, keep] / w[keep]) @ (V[:, keep].T @ rhs))


# The authors' parameters, which tuning tries, too.
ORIGINAL: dict[str, Any] = {"variant": "sample-basic"}

METHODS = (
    Method(
        name="lr",
        family="imputation",
        acts_on="samples",
        regularizer="ridge",
        solver="Cholesky per mask",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=False,
        reference="Seber and Lee, Linear Regression Analysis, Wiley 2012",
        parameters=Parameters(
            parameter(
                "variant",
                "feature",
                Words("feature", "sample", "sample-basic"),
                meaning="regress missing on observed features, or queries on candidates: of minimum norm, or on few",
            ),
            parameter("eps", 1e-3, Number(), meaning="ridge of variant 'feature', relative to the mean variance"),
        ),
        original=ORIGINAL,
        grid=(*({"eps": eps} for eps in (1e-4, 1e-3, 1e-2, 0.1, 1.0)), ORIGINAL),
        shared=FILLED_MEASURE,
        work=lambda sizes, params: sizes.n * sizes.d**2 + 0.4 * sizes.n_queries * sizes.d**3,
        memory=lambda s, params: 5.2 * s.n * s.d + (3.3 * s.d**2 if params["variant"] == "feature" else 0.0),
        run=run,
    ),
)
