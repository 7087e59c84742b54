"""How copies of candidates look: learnt from the simulated queries.

They were held out, and their nearest among the other candidates are known, and so are the factorisations for what is
seen of them: all that is done here is to put them back among their neighbours, exactly and with noise.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import ConditionalMeans, Queries
from simcomplete._posterior.candidates.copies import Agreement, CopyDetector
from simcomplete._posterior.shared.copy_classes import (
    FEATURES,
    KINDS,
    MOST_EXACT,
    RATES,
    features,
    learn_classes,
    nothing_learnt,
)
from simcomplete._posterior.shared.lengths import COPY
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._types import Mask, Matrix

MAX_EXAMPLES = 100  # simulated queries that are simulated with, at most
MIN_EXAMPLES = 40  # of them, where half of them are simulated with
SEED = 16
ALMOST_ONE = 0.999  # cosine over what is seen of a row and its copy, at least
STEP_ROWS = 400  # that tell which values a feature has
LEAST_VARIANCE = 0.05  # of a feature, in means of all
FEWER = 4  # rows for each distinct value, at least, of a feature with few of them


def learn_copies(
    raw: Matrix, queries: Queries, means: ConditionalMeans, pool: Matrix, repeated: float, examples: int = MAX_EXAMPLES
) -> CopyDetector:
    """Compare simulated queries with and without themselves, and learn to tell which was which.

    Parameters
    ----------
    raw : array of shape (rows, d)
        The simulated queries with nothing hidden.
    queries, means : Queries, ConditionalMeans
        What is seen of them with their nearest, raw and unit; and their completions.
    pool : array of shape (m, d)
        Candidates, for the values that features have and how much they vary.
    repeated : float
        Share of the candidates that have a copy among the others.
    examples : int
        How many of the simulated queries to learn from, at most.
    """
    rates = RATES.copy()
    rates[0] = max(rates[0], min(MOST_EXACT, repeated))
    observed, near = queries.observed[:examples], queries.neighbours
    used, places = np.unique(near.near.ids[:examples, : MAX_NEIGHBOURS - 1], return_inverse=True)
    places = places.reshape(-1, min(near.near.ids.shape[1], MAX_NEIGHBOURS - 1))
    raw, rng = raw[: len(places)], np.random.default_rng(SEED)
    deviations, steps = feature_deviations(pool), Steps(pool)
    values = _simulated(raw, observed, deviations, steps, rng)
    # The row itself comes first, as a neighbour of those that are copies.
    rows = np.concatenate([near.rows["raw"][used], raw])
    own = len(used) + np.arange(len(places))
    kinds = np.array([kind for kind, _, _ in KINDS])
    noise = values - raw
    gaps = _gaps(noise / deviations, raw / deviations, observed, places, rows[: len(used)] / deviations)
    gaps[kinds == 0, :, 0] = np.inf
    # Where most candidates are copies of each other, those of a row may be among its neighbours.
    row, column = np.nonzero(near.near.cosines[:examples, : MAX_NEIGHBOURS - 1] > ALMOST_ONE)
    same = np.einsum("pd,pd->p", unit_rows(raw)[row], near.rows["unit"][used[places[row, column]]]) > COPY
    gaps[:, row[same], 1 + column[same]] = np.inf
    usable = np.flatnonzero(np.isfinite(gaps[0]).sum(axis=1) > 1)
    if not len(usable):
        return CopyDetector(nothing_learnt(FEATURES), deviations, steps.coincidences, queries.source.n)
    every = np.broadcast_to(np.column_stack([own, places])[usable], (len(kinds), len(usable), gaps.shape[2]))
    agreement = Agreement.of(gaps[:, usable].reshape(-1, gaps.shape[2]), every.reshape(-1, gaps.shape[2]), rows)
    noisy = np.array([each[1] is not None for each in KINDS])
    outlying = np.repeat(means.outlying()[None, : len(raw)], len(kinds), axis=0)
    outlying[noisy] = means.outlying(noise[noisy])
    x = features(agreement.apart, outlying[:, usable].ravel(), np.tile(observed[usable], (len(kinds), 1)))
    weight = np.repeat([each[2] for each in KINDS], len(usable))
    classes = learn_classes(x, np.repeat(kinds, len(usable)), weight, rates)
    return CopyDetector(classes, deviations, steps.coincidences, queries.source.n)


def feature_deviations(rows: Matrix) -> Matrix:
    """Standard deviations of features, at least a small one where others vary, and never 0."""
    middle = rows - rows.mean(axis=0)
    variances = np.einsum("nf,nf->f", middle, middle) / len(rows)
    deviations = np.sqrt(np.maximum(variances, LEAST_VARIANCE * variances.mean()))
    return np.where(deviations > 0, deviations, 1.0)


def _simulated(raw: Matrix, observed: Mask, deviations: Matrix, steps: Steps, rng: np.random.Generator) -> Matrix:
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


def _gaps(noise: Matrix, raw: Matrix, observed: Mask, places: NDArray[np.int64], rows: Matrix) -> Matrix:
    """Mean squared differences of rows with noise to themselves and their neighbours, (kinds, rows, 1 + k)."""
    out = np.empty((len(noise), len(raw), places.shape[1] + 1))
    for row, (seen, others) in enumerate(zip(observed, places, strict=True)):
        o = np.flatnonzero(seen)
        gap, more = rows[others[:, None], o] - raw[row, o], noise[:, row, o]
        # |gap - more|^2 for all kinds, of which some have no noise.
        size = np.einsum("kf,kf->k", more, more)[:, None]
        out[:, row, :1] = size
        out[:, row, 1:] = np.einsum("nf,nf->n", gap, gap) - 2 * more @ gap.T + size
        out[:, row] /= max(len(o), 1)
    return np.maximum(out, 0.0)


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
        some = np.sort(rows[np.linspace(0, len(rows) - 1, min(len(rows), STEP_ROWS)).astype(np.int64)], axis=0)
        new = np.concatenate([np.ones((1, some.shape[1]), dtype=bool), some[1:] != some[:-1]])
        starts = np.flatnonzero(new.T)  # of equal values, feature by feature
        runs = np.diff(np.append(starts, new.size))
        equal = np.bincount(starts // len(some), weights=runs.astype(np.float64) ** 2)
        self.coincidences = -np.log(equal / len(some) ** 2)
        self.columns: NDArray[np.int64] = np.flatnonzero(new.sum(axis=0) * FEWER <= len(some))
        some, new = some[:, self.columns].T, new[:, self.columns].T
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
