"""`correlation` and `covariance`: valid matrices from samples with gaps, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._correlation.covariance import nearest_covariance
from simcomplete._correlation.estimate import Estimate
from simcomplete._correlation.expected import ExpectedRows
from simcomplete._correlation.holdout import learnt_errors
from simcomplete._correlation.moments import complete_moments
from simcomplete._correlation.nearest import nearest_correlation
from simcomplete._correlation.pairwise import pairwise, pairwise_covariances
from simcomplete._correlation.variables import Variables, read_variables
from simcomplete._method.given import generator
from simcomplete._rows.validate import check_number
from simcomplete._types import Matrix
from simcomplete.errors import InputError

LARGEST_VARIANCE = 1e290  # of variances: intervals are a few deviations wide, and must stay within the range of numbers
SHRINKAGES = (None, "ledoit_wolf")


def correlation(
    X: Any,
    *,
    by: str = "columns",
    shrinkage: str | None = None,
    min_eigenvalue: float = 0.0,
    random_state: int = 0,
) -> Estimate:
    """Estimate the correlation matrix of samples with missing values, with intervals.

    A factor model of the variables gives the expected values and products of missing values. The result is valid, also
    has values for pairs of variables that were never observed together, and equals ``np.corrcoef`` if nothing is
    missing.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_variables)
        NaN where a value is missing.
    by : {"columns", "rows"}
        Whether variables are in columns, or in rows.
    shrinkage : {None, "ledoit_wolf"}
        Shrink the result towards the identity by the method of Ledoit and Wolf, for few samples.
    min_eigenvalue : float
        The smallest eigenvalue to have, from 0 to 0.999: the nearest matrix with it is returned.
    random_state : int
        Seed for the values that are hidden to learn intervals.

    Returns
    -------
    Estimate
        `.matrix` is a frame with labels where X is one; `.interval(0.9)` has lower and upper ends; `.pairwise` is
        pandas' estimate.

    Raises
    ------
    InputError
        A variable has fewer than two values, which the message names.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((300, 1)) + 0.5 * rng.standard_normal((300, 5))
    >>> X[:150, 0] = X[150:, 1] = np.nan  # no sample has both
    >>> estimate = sc.correlation(X)
    >>> float(estimate.matrix[0, 1].round(1)), float(estimate.pairwise[0, 1])
    (0.8, nan)
    """
    floor = check_number(min_eigenvalue, "min_eigenvalue", 0.0, 0.999)
    data = _checked(X, by, shrinkage)
    return _estimated(data, "correlation", shrinkage, floor, random_state)


def covariance(
    X: Any,
    *,
    by: str = "columns",
    shrinkage: str | None = None,
    min_eigenvalue: float = 0.0,
    random_state: int = 0,
) -> Estimate:
    """Estimate the covariance matrix of samples with missing values, with intervals.

    Without missing values it is ``np.cov``, divided by n - 1; with shrinkage it is that of scikit-learn, divided by n.

    Parameters
    ----------
    X : array or frame of shape (n_samples, n_variables)
        NaN where a value is missing.
    by : {"columns", "rows"}
        Whether variables are in columns, or in rows.
    shrinkage : {None, "ledoit_wolf"}
        Shrink the result towards a multiple of the identity by the method of Ledoit and Wolf, for few samples.
    min_eigenvalue : float
        The smallest eigenvalue that the correlation matrix of the result is to have, from 0 to 0.999.
    random_state : int
        Seed for the values that are hidden to learn intervals.

    Returns
    -------
    Estimate
        As `correlation` returns it.

    Raises
    ------
    InputError
        A variable has fewer than two values, which the message names.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> X = np.array([[1.0, 2.0], [2.0, 1.0], [4.0, 3.0]])
    >>> sc.covariance(X).matrix.round(3)
    array([[2.333, 1.   ],
           [1.   , 1.   ]])
    """
    floor = check_number(min_eigenvalue, "min_eigenvalue", 0.0, 0.999)
    data = _checked(X, by, shrinkage)
    return _estimated(data, "covariance", shrinkage, floor, random_state)


def _checked(X: Any, by: str, shrinkage: str | None) -> Variables:
    if shrinkage not in SHRINKAGES:
        raise InputError(f"shrinkage={shrinkage!r} is unknown; use None or 'ledoit_wolf'")
    return read_variables(X, by)


def _estimated(data: Variables, kind: str, shrinkage: str | None, floor: float, random_state: int) -> Estimate:
    of_correlations = kind == "correlation"
    rng = generator(random_state)
    rows = ExpectedRows.fit(data.Z) if np.isnan(data.Z).any() else None
    found = complete_moments(data.Z) if rows is None else rows.moments()
    errors = None if rows is None else learnt_errors(rows, rng, of_correlations=of_correlations)
    n, size = found.n, data.size[data.alive]
    unit = np.ones_like(size) if of_correlations else size
    with np.errstate(over="ignore"):
        scale = np.outer(unit, unit) * (1.0 if of_correlations or shrinkage else n / max(n - 1, 1))
    if not ((scale >= 1 / LARGEST_VARIANCE) & (scale <= LARGEST_VARIANCE)).all():
        raise InputError("covariances of X are beyond the range of numbers; divide its values by their size first")
    diagonal = 1.0 if of_correlations else 0.0
    sample = _placed(found.entries(of_correlations=of_correlations) * scale, data, diagonal)
    deviation = _placed(np.sqrt(found.variance(of_correlations=of_correlations)) * scale, data, 0.0)
    common = data.observed.astype(np.float64)
    values, alpha = sample, 0.0
    if shrinkage is not None:
        complete = data.Z if rows is None else rows.drawn(rng)
        values, alpha = _shrunk(sample, _whole(complete * unit, data))
    if floor > 0:
        fix = nearest_correlation if of_correlations else _through_correlation
        values = fix(values, min_eigenvalue=floor, progress=False).values
    location = data.mean.copy()
    location[data.alive] += found.mean * size
    return Estimate(
        values,
        kind,
        sample,
        deviation,
        _no_errors if errors is None else errors.at,
        location,
        common.T @ common,
        _pandas(data, kind),
        alpha,
        data.notes,
        data.labels,
        data.wrap,
    )


def _no_errors(share: float) -> float:
    """Where nothing is missing nothing is off."""
    return 0.0


def _through_correlation(C: Matrix, **more: Any) -> Any:
    return nearest_covariance(C, through="correlation", **more)


def _placed(M: Matrix, data: Variables, diagonal: float) -> Matrix:
    """A matrix of the variables that change, among all."""
    d = len(data.alive)
    whole = np.diag(np.where(data.alive, 0.0, diagonal)) if d else np.zeros((0, 0))
    whole[np.ix_(data.alive, data.alive)] = M
    return whole


def _whole(Z: Matrix, data: Variables) -> Matrix:
    whole = np.zeros((len(Z), len(data.alive)))
    whole[:, data.alive] = Z
    return whole


def _shrunk(sample: Matrix, complete: Matrix) -> tuple[Matrix, float]:
    """Drawn to the mean of the diagonal times the identity, by the share that complete rows ask for."""
    from sklearn.covariance import ledoit_wolf_shrinkage  # slow to import, and needed here only

    size = float(np.abs(complete).max(initial=0.0)) or 1.0  # fourth powers are taken, and the share has no unit
    alpha = float(ledoit_wolf_shrinkage(complete / size)) if len(sample) > 1 else 0.0
    return (1 - alpha) * sample + alpha * float(np.mean(np.diag(sample))) * np.eye(len(sample)), alpha


def _pandas(data: Variables, kind: str) -> Matrix:
    if kind == "correlation":
        R = np.full((len(data.alive),) * 2, np.nan)
        R[np.ix_(data.alive, data.alive)] = pairwise(data.Z)[2]
        return R
    _, C, _, _ = pairwise_covariances(data.Z)
    size = data.size[data.alive]
    counts = data.observed.astype(np.float64).T @ data.observed
    C = _placed(C * np.outer(size, size), data, 0.0)
    with np.errstate(invalid="ignore", divide="ignore"):
        C *= counts / (counts - 1)
    C[counts < 2] = np.nan
    return C
