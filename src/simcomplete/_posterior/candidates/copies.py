"""Queries that are candidates themselves, with values missing and perhaps with noise.

A query is fresh, or a copy of one of its nearest candidates: exact, near (noise up to a tenth of a feature's standard
deviation) or rough (up to a half). How these look is learnt from candidates that lose values and are played with
and without themselves among the candidates. Learning and answering take each row by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Conditioner
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.candidates.source import (
    SOURCES,
    Agreement,
    Candidates,
    NeighbourRows,
    Played,
    mean_squared_gaps,
    no_positions,
)
from simcomplete._posterior.shared.lengths import COPY
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, Nearest
from simcomplete._posterior.shared.rows import ObservedRows, Vectors
from simcomplete._result.intervals import Match
from simcomplete._types import Mask, Matrix

LARGEST_SIDE = 1e100  # in lengths of a candidate
SMALL = 1e-4  # added to squared distances before their logarithm
SHRINKAGE = 0.1  # of the covariance that distances are measured by
SPARE = 8  # neighbours beyond those needed, for copies that are left out
PLAYS = 100  # candidates that are played with
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
MOST_EXACT = 0.5
RIDGE, STEPS = 0.3, 60  # of the regression
NATS = 1.0  # of evidence that one observed value can bring
WIDTHS = np.geomspace(0.01, 0.5, 10)
LARGEST = 0.25  # squared distance that a copy's own uncertainty grows to
ODDS = 20.0  # times more common copies are taken to be where rows are ranked: a source that is missed costs most
FARTHEST_COPY = 0.5  # mean squared difference, in variances, from which a candidate is no source
SEED = 16


@dataclass(frozen=True)
class CopyModel:
    """Scores of the classes fresh, exact, near, rough: linear in features and their products, and the classes' rates.

    Attributes
    ----------
    weights : array of shape (columns, 4)
        Of the regression.
    low, high, mean, sd : array of shape (7,)
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

    def probabilities(self, x: Matrix, observed: Matrix, prior: float | None, odds: float = 1.0) -> Matrix:
        """P(exact), P(near), P(rough) of rows, from their features and numbers of observed values."""
        z = (np.clip(x, self.low, self.high) - self.mean) / self.sd
        score = _with_products(z) @ self.weights
        evidence = np.minimum(score[:, 1:] - score[:, :1], NATS * observed[:, None])
        rates = self.rates if prior is None else self.rates * (prior / self.rates.sum())
        total = rates.sum()
        weight = odds * rates / max(1 - total, 1e-9) * np.exp(evidence)
        return np.asarray(weight / (1 + weight.sum(axis=1, keepdims=True)))


def features(near: Agreement, rows: Matrix, observed: Mask, space: Space) -> Matrix:
    """Seven numbers that tell copies from fresh rows.

    Distances to the best candidate, to the next that is no twin of it, and to the mean of all, plain and by the
    covariance of unit rows; and the number of values seen.
    """
    e, first, rival = near.apart, near.first, near.rival
    size = np.maximum(np.sqrt(np.sum(first * first, axis=1)), 1e-100)[:, None]
    other = np.maximum(np.sqrt(np.sum(rival * rival, axis=1)), 1e-100)[:, None]
    mean = space.statistics.mean
    sides = np.stack([(rows - first) / size, (rows - rival) / other, rows / size - mean])
    sides = np.clip(np.where(observed, sides, 0.0), -LARGEST_SIDE, LARGEST_SIDE)  # whose squares are numbers
    weighed = Conditioner(space.statistics.covariance.shrunk(SHRINKAGE), observed).weigh(sides)
    count = np.maximum(observed.sum(axis=1), 1)
    m = np.log(np.maximum(np.sum(sides * weighed, axis=2) / count, 0.0) + SMALL)
    L = np.log(e + SMALL)
    later = L[:, 2:].mean(axis=1)
    return np.column_stack([L[:, 0], L[:, 0] - L[:, 1], L[:, 0] - later, m[0], m[0] - m[1], m[2], np.log(count)])


def learn_copies(candidates: Candidates, space: Space, played: Played) -> CopyModel:
    """Play candidates with and without themselves, and learn to tell which was which."""
    rng = np.random.default_rng(SEED)
    positions, observed = played.positions[:PLAYS], played.observed[:PLAYS]
    true = candidates.rows(positions, ("raw", "unit"))
    raw, unit = true["raw"], true["unit"]
    found = candidates.nearest(np.where(observed, raw, 0.0), observed, MAX_NEIGHBOURS + SPARE, no_positions())
    rows = candidates.neighbour_rows(found, ("raw", "unit"))
    same = [rows.rows["unit"][ids] @ unit[row] > COPY for row, ids in enumerate(rows.near.ids)]
    without = [rows.rows["raw"][ids[~me]][: MAX_NEIGHBOURS - 1] for ids, me in zip(rows.near.ids, same, strict=True)]
    usable = np.flatnonzero([len(each) > 1 for each in without])
    if not len(usable):
        return _nothing_learnt()
    among, values, snapped = [], [], _steps(candidates)
    for kind, noise, _ in KINDS:
        q = raw[usable]
        if noise is not None:
            sigma = np.exp(rng.uniform(np.log(noise[0]), np.log(noise[1]), size=(len(q), 1)))
            q = q + sigma * played.deviations * rng.standard_normal(q.shape)
            for column, steps in snapped.items():
                q[:, column] = _snap(q[:, column], steps)
        values.append(np.where(observed[usable], q, 0.0))
        among += [np.concatenate([raw[row : row + 1], without[row]]) if kind else without[row] for row in usable]
    # All at once, so that every mask is factorised once.
    shown, q = np.tile(observed[usable], (len(KINDS), 1)), np.concatenate(values)
    x = features(Agreement.of(q, shown, among, played.deviations), q, shown, space)
    label, weight = (np.repeat([each[i] for each in KINDS], len(usable)) for i in (0, 2))
    twins = sum(int(me.sum() > 1) for me in same)
    rates = RATES.copy()
    rates[0] = max(rates[0], min(MOST_EXACT, twins / len(raw)))
    return _regress(x, label.astype(np.int64), weight.astype(np.float64), rates)


def mixed(u: Matrix, p: Matrix, near: Agreement, observed: Mask, tail: float) -> Matrix:
    """Vectors of rows that are copies with probability p: between their own and those of the likeliest sources.

    Mass on sources beyond the likeliest goes back to the row's own vector.
    """
    count = observed.sum(axis=1)[:, None, None]
    log = -count * (np.log(WIDTHS) + near.distances[:, :, None] / (2 * WIDTHS**2))
    w = np.sum(np.exp(log - log.max(axis=(1, 2), keepdims=True)), axis=2)
    w = (w / w.sum(axis=1, keepdims=True))[:, :SOURCES]
    w = np.pad(w, ((0, 0), (0, SOURCES - w.shape[1])))
    size = np.sqrt(np.sum(near.sources**2, axis=2))
    size = np.where(size > 1e-100, size, 1.0)  # zero rows point nowhere
    beta = 1 / np.sqrt(1 + np.minimum(near.distances[:, :1], LARGEST) * tail / size**2)
    copy = np.einsum("rj,rjd->rd", w * beta / size, near.sources)
    return np.asarray((1 - p * w.sum(axis=1))[:, None] * u + p[:, None] * copy)


@dataclass(frozen=True)
class CopySearch:
    """Rows that may be copies of their neighbours.

    Attributes
    ----------
    rows : ObservedRows
        The rows.
    near : Nearest
        Their nearest candidates, by position.
    neighbours : NeighbourRows
        The same candidates' rows.
    deviations : array of shape (d,)
        Of the features; differences are measured in them.
    """

    rows: ObservedRows
    near: Nearest
    neighbours: NeighbourRows
    deviations: Matrix

    def vectors(self, found: Vectors, space: Space, learnt: Callable[[], CopyModel], prior: float | None) -> Vectors:
        """Vectors of rows of which some may be copies; the others stay as they are, as `found`."""
        rows, raw = self.rows, self.neighbours.rows["raw"]
        places = self.neighbours.near.ids[:, :MAX_NEIGHBOURS]
        distances = np.array(
            [
                mean_squared_gaps(q, o, raw[ids], self.deviations)
                for q, o, ids in zip(rows.values, rows.observed, places, strict=True)
            ]
        ).reshape(places.shape)
        first = np.argmin(distances, axis=1) if len(rows.values) else np.zeros(0, dtype=np.int64)
        seen = rows.observed.any(axis=1)
        ids = np.where(seen, np.take_along_axis(self.near.ids, first[:, None], axis=1)[:, 0], -1)
        likely = np.flatnonzero(seen & (np.min(distances, axis=1, initial=np.inf) <= FARTHEST_COPY))
        p = np.zeros((len(ids), 3))
        if not len(likely):
            return replace(found, match=Match(ids, p))
        values, observed = rows.values[likely], rows.observed[likely]
        copying = learnt()
        agreement = Agreement.of(values, observed, [raw[places[row]] for row in likely], self.deviations)
        x, count = features(agreement, values, observed, space), observed.sum(axis=1)
        p[likely] = copying.probabilities(x, count, prior)
        weight = copying.probabilities(x, count, prior, ODDS).sum(axis=1)
        weight[observed.all(axis=1)] = 0.0  # whose vector is known
        u, length = found.u.copy(), found.length.copy()
        u[likely] = mixed(u[likely], weight, agreement, observed, float(np.sum(self.deviations**2)))
        moved = likely[weight > 0]
        length[moved] = np.minimum(np.sqrt(np.sum(u[moved] ** 2, axis=1)), 1.0)
        return Vectors(u, length, Match(ids, p))


def _with_products(z: Matrix) -> Matrix:
    first, second = np.triu_indices(z.shape[1])
    return np.column_stack([np.ones(len(z)), z, z[:, first] * z[:, second]])


def _regress(x: Matrix, label: NDArray[np.int64], weight: Matrix, rates: Matrix) -> CopyModel:
    low, high, mean = x.min(axis=0), x.max(axis=0), x.mean(axis=0)
    sd = np.where(x.std(axis=0) < 1e-9, 1.0, x.std(axis=0))
    A = _with_products((x - mean) / sd)
    Y = np.eye(4)[label]
    penalty = np.full((A.shape[1], 1), RIDGE)
    penalty[0] = 0.0

    def cost(flat: Matrix) -> tuple[float, Matrix]:
        W = flat.reshape(A.shape[1], 4)
        G = A @ W
        G = G - G.max(axis=1, keepdims=True)
        total = np.log(np.sum(np.exp(G), axis=1))
        loss = np.sum(weight * (total - np.sum(Y * G, axis=1))) + 0.5 * np.sum(penalty * W * W)
        slope = A.T @ (weight[:, None] * (np.exp(G - total[:, None]) - Y)) + penalty * W
        return float(loss), slope.ravel()

    start = np.zeros(A.shape[1] * 4)
    found = scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return CopyModel(found.x.reshape(A.shape[1], 4), low, high, mean, sd, rates)


def _nothing_learnt() -> CopyModel:
    """Where every candidate is a copy of another: no evidence for anything but the rates."""
    zeros = np.zeros(7)
    return CopyModel(np.zeros((36, 4)), zeros, zeros, zeros, zeros + 1, RATES)


def _steps(candidates: Candidates) -> dict[int, Matrix]:
    """Features with few distinct values, and these values: noise on them stays among them."""
    count = min(candidates.n, 1000)
    raw = candidates.rows(np.linspace(0, candidates.n - 1, count).astype(np.int64), ("raw",))["raw"]
    distinct = {column: np.unique(raw[:, column]) for column in range(raw.shape[1])}
    return {column: values for column, values in distinct.items() if len(values) <= count / 4}


def _snap(x: Matrix, values: Matrix) -> Matrix:
    if len(values) == 1:
        return np.full_like(x, values[0])
    right = np.clip(np.searchsorted(values, x), 1, len(values) - 1)
    return np.asarray(np.where(x - values[right - 1] < values[right] - x, values[right - 1], values[right]))
