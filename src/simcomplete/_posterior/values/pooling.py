"""Rubin's rules: one estimate from several completed tables."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError


class Pooled(NamedTuple):
    """A pooled estimate.

    Attributes
    ----------
    estimate : array
        Mean of the estimates.
    variance : array
        Of the pooled estimate: within + (1 + 1/m) between.
    within, between : array
        Mean of the variances; variance of the estimates.
    df : array
        Degrees of freedom of Student's t distribution for intervals; inf where all estimates are equal.
    missing_information : array
        Share of the variance that is there because values are missing.
    """

    estimate: Any
    variance: Any
    within: Any
    between: Any
    df: Any
    missing_information: Any


def pool(estimates: Any, variances: Any, *, df: float | None = None) -> Pooled:
    """Pool estimates from several completed tables by Rubin's rules.

    Parameters
    ----------
    estimates : array of shape (m, ...)
        The same quantity (or quantities) estimated on each of m >= 2 completed tables.
    variances : array of shape (m, ...)
        The squared standard error of every estimate.
    df : float, optional
        Degrees of freedom that the estimate would have on complete data. With it, those of the result are never more
        (Barnard and Rubin, Biometrika 86, 1999); without, the samples are assumed to be large.

    Returns
    -------
    Pooled
        `estimate`, `variance`, `within`, `between`, `df` and `missing_information`, each of the shape of one estimate.

    References
    ----------
    Rubin, Multiple Imputation for Nonresponse in Surveys, 1987, chapter 3.

    Examples
    --------
    Within 1, between 1, and 1 + (1 + 1/3) 1 in all:

    >>> import simcomplete as sc
    >>> found = sc.pool([1.0, 2.0, 3.0], [1.0, 1.0, 1.0])
    >>> float(found.estimate), round(float(found.variance), 3), round(float(found.df), 3)
    (2.0, 2.333, 6.125)
    """
    Q, U = _numbers(estimates, "estimates"), _numbers(variances, "variances")
    if Q.shape != U.shape or Q.ndim == 0 or len(Q) < 2:
        raise InputError(
            f"estimates of shape {Q.shape} and variances of shape {U.shape} cannot be pooled; give one estimate and "
            "its squared standard error for each of at least two completed tables"
        )
    if not np.isfinite(Q).all() or not np.isfinite(U).all() or (U < 0).any():
        raise InputError("estimates and variances must be finite numbers, and variances at least 0; look at the fits")
    if df is not None and (isinstance(df, (bool, str)) or not df > 0):
        raise InputError(f"df={df!r} must be above 0; leave it out for large samples")
    m = len(Q)
    within, between = U.mean(axis=0), Q.var(axis=0, ddof=1)
    extra = (1 + 1 / m) * between
    variance = within + extra
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(variance > 0, extra / variance, 0.0)
        free = np.where(share > 0, (m - 1) / share**2, np.inf)
        if df is not None:
            observed = (df + 1) / (df + 3) * df * (1 - share)
            free = np.where(np.isinf(free), observed, 1 / (1 / free + 1 / np.maximum(observed, 1e-300)))
    return Pooled(Q.mean(axis=0), variance, within, between, free, share)


def _numbers(given: Any, name: str) -> NDArray[np.float64]:
    try:
        return np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}={given!r} are not numbers; give one for each completed table") from error
