"""Classes of copies: what is simulated to learn them, and how likely a row belongs to each.

A row is fresh, or a copy of another: exact, near (noise up to a tenth of a feature's standard deviation) or rough (up
to a half).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from simcomplete._method.params import Constraint, Number, Parameter, Shares
from simcomplete._types import Mask, Matrix
from simcomplete.errors import InputError

# Class (0 fresh, 1 exact, 2 near, 3 rough), noise in standard deviations (log-uniform), weight. Fresh rows have noise,
# too: else whatever is noisy, or no whole number, would be a copy.
KINDS: tuple[tuple[int, tuple[float, float] | None, float], ...] = (
    (0, None, 0.5),
    (0, (0.02, 0.5), 0.5),
    (1, None, 1.0),
    (2, (0.02, 0.1), 1.0),
    (3, (0.1, 0.5), 1.0),
)
RATES = np.array([0.02, 0.015, 0.003])  # of exact, near and rough copies, where nothing is known
# Times the same, where a share is told: who knows how many copies there are has seen them, so that few have much noise.
SEEN = np.array([1.0, 0.5, 1 / 3])
MOST_EXACT = 0.5
MOST_COPIES = 0.99  # the largest share of copies that can be recognised
Prior = float | Sequence[float] | None  # how common copies are, in all or each class; None: as is usual
PRIORS: tuple[Constraint, ...] = (
    Number(0.0, MOST_COPIES, above=True),
    Shares(("exact", "near", "rough copies"), MOST_COPIES),
)
RIDGE, STEPS, HALVINGS = 0.3, 20, 20  # of the regression
LARGEST_OUTLYING = 1e200  # squared distance to the mean of all
SMALL = 1e-4  # added to squared distances before their logarithm
FEATURES = 5  # numbers that tell copies from fresh rows
PAIRS = np.triu_indices(3)  # of classes of copies
NO_CENTRED_COPIES = (
    "copies=True cannot go with metric='pearson': a copy has the same values, and the mean that correlations take off "
    "depends on which of them are missing; use metric='cosine', or copies=False"
)
UNPENALISED = 1e-6  # ridge of the intercept
CONVERGED = 3e-3  # relative decrease of the loss at which it ends
LEAST_VARIANCE = 0.05  # of a feature, in means of all
STEP_ROWS = 400  # that tell which values a feature has
FEWER = 4  # rows for each distinct value, at least, of a feature with few of them


class Steps:
    """Values that features have; where they are few, noise on them stays among them.

    Parameters
    ----------
    rows : array of shape (m, d)
        Of which some tell the values.

    Attributes
    ----------
    columns : array of int
        Features with few values.
    coincidences : array of shape (d,)
        -log of how often two of the rows have the same value of a feature.

    Examples
    --------
    >>> few = np.column_stack([np.arange(40) % 3, np.linspace(0, 1, 40)])
    >>> Steps(few).nearest(np.array([1.4, -3.0, 1.6, 0.51]), np.array([0, 0, 0, 1]))
    array([1.  , 0.  , 2.  , 0.51])
    """

    def __init__(self, rows: Matrix) -> None:
        if len(rows) > STEP_ROWS:
            rows = rows[np.linspace(0, len(rows) - 1, STEP_ROWS).astype(np.int64)]
        some = np.sort(np.ascontiguousarray(rows.T), axis=1)
        m = some.shape[1]
        new = np.ones(some.shape, dtype=bool)
        np.not_equal(some[:, 1:], some[:, :-1], out=new[:, 1:])
        edges = np.append(np.flatnonzero(new), new.size)  # of equal values, feature by feature
        runs = (edges[1:] - edges[:-1]).astype(np.float64)
        distinct = np.count_nonzero(new, axis=1)
        self.coincidences = -np.log(np.add.reduceat(runs * runs, np.cumsum(distinct) - distinct) / m**2)
        self.columns: NDArray[np.int64] = np.flatnonzero(distinct * FEWER <= m)
        some, new = some[self.columns], new[self.columns]
        self._low, self._high = some[:, 0], some[:, -1]
        self._values = some[new]
        # One rising sequence for all features: each has an interval of its own.
        self._keys = self._key(self._values, np.nonzero(new)[0])
        self._place = np.full(rows.shape[1], -1)
        self._place[self.columns] = np.arange(len(self.columns))

    def _key(self, values: Matrix, place: NDArray[np.int64]) -> Matrix:
        width = np.where(self._high > self._low, self._high - self._low, 1.0)
        return np.asarray(np.clip((values - self._low[place]) / width[place], 0.0, 1.0) + 2.0 * place)

    def nearest(self, values: Matrix, columns: NDArray[np.int64]) -> Matrix:
        """The nearest of its feature's values for every value of a feature with few; others as they are."""
        few = self._place[columns] >= 0
        if not few.any():
            return values
        out = values.copy()
        key = self._key(values[few], self._place[columns[few]])
        right = np.clip(np.searchsorted(self._keys, key), 1, max(len(self._keys) - 1, 1))
        right = np.minimum(right, len(self._keys) - 1)
        left = np.maximum(right - 1, 0)
        out[few] = self._values[np.where(key - self._keys[left] < self._keys[right] - key, left, right)]
        return out


def feature_deviations(rows: Matrix) -> Matrix:
    """Standard deviations of features, at least a small one where others vary, and never 0."""
    middle = rows - rows.mean(axis=0)
    variances = np.einsum("nf,nf->f", middle, middle) / len(rows)
    deviations = np.sqrt(np.maximum(variances, LEAST_VARIANCE * variances.mean()))
    return np.where(deviations > 0, deviations, 1.0)


def simulated_kinds(raw: Matrix, observed: Mask, deviations: Matrix, steps: Steps, rng: np.random.Generator) -> Matrix:
    """The rows of every kind, (kinds, rows, d): as they are, or with noise that keeps to the values features have."""
    row, column = np.nonzero(observed)
    values, deviation = raw[row, column], deviations[column]
    simulated = np.repeat(raw[None], len(KINDS), axis=0)
    for q, (_, noise, _) in zip(simulated, KINDS, strict=True):
        if noise is not None:
            sigma = np.exp(rng.uniform(np.log(noise[0]), np.log(noise[1]), size=len(raw)))
            moved = values + sigma[row] * deviation * rng.standard_normal(len(values))
            q[row, column] = steps.nearest(moved, column)
    return simulated


@dataclass(frozen=True)
class CopyModel:
    """Scores of the classes fresh, exact, near, rough: linear in features and their products, and the classes' rates.

    Attributes
    ----------
    weights : array of shape (columns, 4)
        Of the regression.
    low, high, mean, sd : array of shape (features,)
        Range, mean and standard deviation of the features seen.
    rates : array of shape (3,)
        How common exact, near and rough copies are.
    """

    weights: Matrix
    low: Matrix
    high: Matrix
    mean: Matrix
    sd: Matrix
    rates: Matrix

    def evidence(self, x: Matrix, most: Matrix) -> Matrix:
        """Nats of evidence for each kind of copy, from the features of rows and the most evidence that there can be.

        The latter has shape (rows, 1), or (rows, 3) for each class its own.
        """
        z = (np.clip(x, self.low, self.high) - self.mean) / self.sd
        score = _with_products(z) @ self.weights
        return np.asarray(np.minimum(score[:, 1:] - score[:, :1], most))

    def probabilities(self, x: Matrix, most: Matrix, prior: Prior, odds: float = 1.0) -> Matrix:
        """P(exact), P(near), P(rough) of rows, from their features and the most evidence that there can be."""
        return self.given(self.evidence(x, most), prior, odds)

    def given(self, evidence: Matrix, prior: Prior, odds: float = 1.0) -> Matrix:
        """The same from the evidence for each kind."""
        rates = self.assumed_rates(prior)
        total = rates.sum()
        weight = odds * rates / max(1 - total, 1e-9) * np.exp(evidence)
        return np.asarray(weight / (1 + weight.sum(axis=1, keepdims=True)))

    def assumed_rates(self, prior: Prior) -> Matrix:
        """Rates of exact, near and rough copies: the usual ones, those with the given sum, or the given three."""
        if prior is None:
            return self.rates
        if isinstance(prior, (int, float, np.number)):
            seen = self.rates * SEEN
            return np.asarray(seen * (float(prior) / seen.sum()))
        return np.asarray(prior, dtype=np.float64)


def check_prior(prior: Prior) -> Prior:
    """Return what was told of how common copies are, or say what it can be.

    Examples
    --------
    >>> check_prior([0.5, 0, 0])
    (0.5, 0.0, 0.0)
    """
    if prior is None:
        return None
    Parameter("prior", None, PRIORS, "").checked(prior)
    return float(prior) if isinstance(prior, (int, float, np.number)) else tuple(map(float, prior))


def features(apart: Matrix, typical: Matrix, observed: Mask) -> Matrix:
    """The numbers, FEATURES of them, that tell copies from fresh rows.

    Parameters
    ----------
    apart : array of shape (rows, 10)
        Distances to the best candidate and to nine that are no twins of it, see `Agreement`.
    typical : array of shape (rows,)
        Distances to the mean of all candidates by their covariance.
    observed : array of bool, shape (rows, d)
        What is seen.
    """
    L, count = np.log(apart + SMALL), np.maximum(observed.sum(axis=1), 1)
    later = L[:, 2:].mean(axis=1)
    outlying = np.log(np.clip(typical, 0.0, LARGEST_OUTLYING) + SMALL)
    return np.column_stack([L[:, 0], L[:, 0] - L[:, 1], L[:, 0] - later, outlying, np.log(count)])


def looks_for_copies(asked: bool | None, centred: bool) -> bool:
    """Whether queries may be copies of candidates: unless it was switched off, or is impossible."""
    if asked and centred:
        raise InputError(NO_CENTRED_COPIES)
    return not centred if asked is None else bool(asked)


def _with_products(z: Matrix) -> Matrix:
    """A constant, the features, and the products of all pairs of them: (rows, columns)."""
    return np.column_stack([np.ones(len(z)), z, _products(z.T).T])


def _products(z: Matrix) -> Matrix:
    """Products of all pairs of rows, each with itself, too, in the order of `np.triu_indices`."""
    z, start = np.ascontiguousarray(z), 0
    out = np.empty((len(z) * (len(z) + 1) // 2, z.shape[1]))
    for i, row in enumerate(z):  # several times faster than picking both rows of all pairs
        np.multiply(row, z[i:], out=out[start : start + len(z) - i])
        start += len(z) - i
    return out


@cache
def _place_of_pairs(columns: int) -> NDArray[np.int64]:
    """Where the entries of a Hessian stand, (3 columns, 3 columns): pair of classes by pair of columns."""

    def pairs(size: int) -> NDArray[np.int64]:
        low, high = (ufunc.outer(np.arange(size), np.arange(size)) for ufunc in (np.minimum, np.maximum))
        return np.asarray(low * size - low * (low + 1) // 2 + high)

    both = pairs(3)[:, None, :, None] * (columns * (columns + 1) // 2) + pairs(columns)[None, :, None, :]
    return both.reshape(3 * columns, 3 * columns)


def learn_classes(x: Matrix, label: NDArray[np.int64], weight: Matrix, rates: Matrix) -> CopyModel:
    """Regress classes (0 fresh, then the copies) on features and their products: ridged logistic, by Newton's method.

    Scores are those of the copies relative to fresh rows, whose own are 0.
    """
    x = np.ascontiguousarray(x.T)  # features and classes first: sums along rows are the faster ones
    low, high, mean, sd = x.min(axis=1), x.max(axis=1), x.mean(axis=1), x.std(axis=1)
    sd[sd < 1e-9] = 1.0
    A = _with_products(((x - mean[:, None]) / sd[:, None]).T)
    A_T, columns, Y = np.ascontiguousarray(A.T), A.shape[1], np.eye(4)[1:].take(label, axis=1)
    penalty = np.where(np.arange(columns) == 0, UNPENALISED, RIDGE)

    def at(W: Matrix) -> tuple[float, Matrix]:
        G = W @ A_T
        top = np.maximum(G.max(axis=0), 0.0)
        E = np.exp(G - top)
        total = E.sum(axis=0) + np.exp(-top)
        loss = weight @ (np.log(total) + top - np.sum(Y * G, axis=0)) + 0.5 * np.sum(penalty * W * W)
        return float(loss), E / total

    W, first, second = np.zeros((3, columns)), *PAIRS
    same, products, place = (first == second)[:, None], _products(A_T), _place_of_pairs(columns)
    loss, P = at(W)
    for _ in range(STEPS):
        slope = (weight * (P - Y)) @ A + penalty * W
        curved = weight * P.take(first, axis=0) * (same - P.take(second, axis=0))
        H = (curved @ products.T).take(place)  # A^T diag(curved) A for all pairs of classes at once
        H.ravel()[:: 3 * columns + 1] += np.tile(penalty, 3)
        step, failed = scipy.linalg.lapack.dposv(H, slope.ravel(), overwrite_a=1)[1:]
        if failed:  # by rounding: with the penalty it is positive definite
            break
        step = step.reshape(3, columns)
        before = loss
        for halving in range(HALVINGS):
            loss, P = at(W - step / 2**halving)
            if loss <= before:
                W = W - step / 2**halving
                break
        if before - loss < CONVERGED * before:
            break
    return CopyModel(np.column_stack([np.zeros(columns), W.T]), low, high, mean, sd, rates)


def nothing_learnt(features: int) -> CopyModel:
    """Where every candidate is a copy of another: no evidence for anything but the rates."""
    zeros = np.zeros(features)
    return CopyModel(np.zeros((_with_products(zeros[None]).shape[1], 4)), zeros, zeros, zeros, zeros + 1, RATES)
