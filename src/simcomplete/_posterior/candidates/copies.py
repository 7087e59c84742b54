"""Queries that are candidates themselves, with values missing and perhaps with noise.

A query is fresh, or a copy of one of its nearest candidates: exact, near (noise up to a tenth of a feature's standard
deviation) or rough (up to a half). How these look is learnt from candidates that lose values and are played with
and without themselves among the candidates. Learning and answering take each row by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

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
from simcomplete._posterior.shared.copy_classes import (
    KINDS,
    MOST_EXACT,
    RATES,
    CopyModel,
    learn_classes,
    nothing_learnt,
    snapped,
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
WIDTHS = np.geomspace(0.01, 0.5, 10)
LARGEST = 0.25  # squared distance that a copy's own uncertainty grows to
ODDS = 20.0  # times more common copies are taken to be where rows are ranked: a source that is missed costs most
FARTHEST_COPY = 0.5  # mean squared difference, in variances, from which a candidate is no source
SEED = 16


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
        return nothing_learnt()
    among, values, steps_of = [], [], _steps(candidates)
    for kind, noise, _ in KINDS:
        q = raw[usable]
        if noise is not None:
            sigma = np.exp(rng.uniform(np.log(noise[0]), np.log(noise[1]), size=(len(q), 1)))
            q = q + sigma * played.deviations * rng.standard_normal(q.shape)
            for column, steps in steps_of.items():
                q[:, column] = snapped(q[:, column], steps)
        values.append(np.where(observed[usable], q, 0.0))
        among += [np.concatenate([raw[row : row + 1], without[row]]) if kind else without[row] for row in usable]
    # All at once, so that every mask is factorised once.
    shown, q = np.tile(observed[usable], (len(KINDS), 1)), np.concatenate(values)
    x = features(Agreement.of(q, shown, among, played.deviations), q, shown, space)
    label, weight = (np.repeat([each[i] for each in KINDS], len(usable)) for i in (0, 2))
    twins = sum(int(me.sum() > 1) for me in same)
    rates = RATES.copy()
    rates[0] = max(rates[0], min(MOST_EXACT, twins / len(raw)))
    return learn_classes(x, label.astype(np.int64), weight.astype(np.float64), rates)


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
        mine = [raw[places[row]] for row in likely]
        agreement = Agreement.of(values, observed, mine, self.deviations, distances[likely])
        x, count = features(agreement, values, observed, space), observed.sum(axis=1)
        p[likely] = copying.probabilities(x, count, prior)
        weight = copying.probabilities(x, count, prior, ODDS).sum(axis=1)
        weight[observed.all(axis=1)] = 0.0  # whose vector is known
        u, length = found.u.copy(), found.length.copy()
        u[likely] = mixed(u[likely], weight, agreement, observed, float(np.sum(self.deviations**2)))
        moved = likely[weight > 0]
        length[moved] = np.minimum(np.sqrt(np.sum(u[moved] ** 2, axis=1)), 1.0)
        return Vectors(u, length, Match(ids, p))


def _steps(candidates: Candidates) -> dict[int, Matrix]:
    """Features with few distinct values, and these values: noise on them stays among them."""
    count = min(candidates.n, 1000)
    raw = candidates.rows(np.linspace(0, candidates.n - 1, count).astype(np.int64), ("raw",))["raw"]
    distinct = {column: np.unique(raw[:, column]) for column in range(raw.shape[1])}
    return {column: values for column, values in distinct.items() if len(values) <= count / 4}
