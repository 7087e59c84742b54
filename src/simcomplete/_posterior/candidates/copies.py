"""Queries that are candidates themselves, with values missing and perhaps with noise.

A query is fresh, or a copy of one of its nearest candidates: exact, near (noise up to a tenth of a feature's standard
deviation) or rough (up to a half). How these look is learnt from the simulated queries, simulated with and without
themselves among the candidates, see `learn_copies`. Vectors of likely copies are moved towards their sources, unless
that costs other queries too much, see `moved_if_harmless`. Answering takes each row by itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import CandidateHoldout, CompletedQueries, ConditionalMeans, Queries
from simcomplete._posterior.candidates.likely_sources import (
    LEAST_LIFT,
    Agreement,
    length_of_incomplete,
    lift_likely,
    mean_squared_gaps,
    mixed,
    part_of,
    ranked_first,
)
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.candidates.source import NeighbourRows
from simcomplete._posterior.shared.copy_classes import (
    FEATURES,
    KINDS,
    MOST_EXACT,
    RATES,
    CopyModel,
    Prior,
    Steps,
    feature_deviations,
    features,
    learn_classes,
    nothing_learnt,
    simulated_kinds,
)
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, Nearest
from simcomplete._posterior.shared.rows import COPY, ObservedRows, Vectors, unit_rows
from simcomplete._result.intervals import Match
from simcomplete._types import Mask, Matrix

NATS = 1.0  # of evidence that one observed value can bring
ODDS = 50.0  # times more common copies are taken to be where rows are ranked: a source that is missed costs most
FARTHEST_COPY = 0.25  # mean squared difference, in variances, that is expected of the roughest copies ...
DEVIATES = 2.0  # ... and how many of its standard deviations more there may be
LIKELY = 2.0  # such odds of copies, then, from which a source is ranked first in any case
LEAST_WEIGHT = 1e-3  # of copies in a vector: below it stays as it is
PROBABLE = 0.5  # P(copy) above which a vector is changed where changing others costs too much
MAX_EXAMPLES = 100  # simulated queries that are learnt from, at most
MIN_EXAMPLES = 40  # of them, where half of them are learnt from
SEED = 16
ALMOST_ONE = 0.999  # cosine over what is seen of a row and its copy, at least


@dataclass(frozen=True)
class CopyDetector:
    """Tells rows that may be copies of their neighbours.

    Attributes
    ----------
    classes : CopyModel
        How fresh rows and copies look.
    deviations, coincidences : array of shape (d,)
        Standard deviations of the features, and -log of how often two candidates have the same value of a feature.
    n : int
        How many candidates there were.
    moves, doubtful : bool
        Whether vectors are changed, or copies only named; whether also those of rows that are probably no copies.
    """

    classes: CopyModel
    deviations: Matrix
    coincidences: Matrix
    n: int
    moves: bool = True
    doubtful: bool = True

    def vectors(
        self,
        found: Vectors,
        rows: ObservedRows,
        near: Nearest,
        neighbours: NeighbourRows,
        means: ConditionalMeans,
        unit_space: Space,
        prior: Prior,
    ) -> Vectors:
        """Vectors of rows of which some may be copies; the others stay as they are, as `found`.

        Parameters
        ----------
        found : Vectors
            Of the rows, were they all fresh.
        rows, near, neighbours : ObservedRows, Nearest, NeighbourRows
            The rows, their nearest candidates by position, and these candidates' rows.
        means : ConditionalMeans
            The rows' completions, whose factorisations are used again.
        unit_space : Space
            What is known of all candidates as unit rows.
        prior : float, three floats or None
            Share of rows that are copies, or exact, near and rough ones; None for what is usual.
        """
        raw, places = neighbours.rows["raw"], neighbours.near.ids[:, :MAX_NEIGHBOURS]
        gaps = mean_squared_gaps(rows.values, rows.observed, places, raw, self.deviations)
        best = np.argmin(gaps, axis=1)
        seen = rows.observed.any(axis=1)
        ids = np.where(seen, near.ids[np.arange(len(best)), best], -1)
        farthest = FARTHEST_COPY * (1 + DEVIATES * np.sqrt(2 / np.maximum(rows.observed.sum(axis=1), 1)))
        likely = np.flatnonzero(seen & (gaps[np.arange(len(best)), best] <= farthest))
        p = np.zeros((len(ids), 3))
        if not len(likely):
            return replace(found, match=Match(ids, p))
        agreement, observed = Agreement.of(gaps[likely], places[likely], raw), rows.observed[likely]
        x = features(agreement.apart, means.outlying()[likely], observed)
        evidence = self.classes.evidence(x, self._most_evidence(agreement, observed))
        p[likely] = self.classes.given(evidence, prior)
        if not self.moves:
            return replace(found, match=Match(ids, p))
        most = self.classes.given(evidence, prior, ODDS).sum(axis=1)
        alike = np.sum(agreement.apart == agreement.apart[:, :1], axis=1)  # equally near ones are as likely
        same = observed.all(axis=1) | ((p[likely].sum(axis=1) <= PROBABLE) & (not self.doubtful))  # known, or as it is
        first = np.where(same, 0.0, most / np.maximum(1 - most, 1e-9) / alike) > LIKELY
        most = np.where(same, 0.0, most / alike)
        u, length = found.u.copy(), found.length.copy()
        unit, tail = neighbours.rows["unit"], float(np.sum(self.deviations**2))
        some = np.flatnonzero((p[likely].sum(axis=1) > LEAST_WEIGHT) & (most > 0))
        if len(some):
            mixing, (e, near_places, _) = likely[some], agreement.some(some)
            u[mixing] = mixed(u[mixing], p[mixing].sum(axis=1), e, near_places, raw, observed[some], tail)
            length[mixing] = length_of_incomplete(u[mixing])
        some, sources = np.flatnonzero(~first & (most > LEAST_LIFT)), agreement.places[:, 0]
        if len(some):
            place = likely[some]
            u[place], length[place] = lift_likely(
                u[place], length[place], unit, places[place], sources[some], most[some]
            )
        for row in np.flatnonzero(first):
            place = likely[row]
            u[place], length[place] = ranked_first(
                u[place], length[place], unit[sources[row]], unit[places[place]], unit_space.second_moments
            )
        return Vectors(u, length, Match(ids, p))

    def _most_evidence(self, near: Agreement, observed: Mask) -> Matrix:
        """Nats of evidence for each class, at most: so many for every value seen.

        Where a candidate agrees exactly, the evidence is at most that no stranger would: n exp(-coincidences) do.
        """
        plain = NATS * observed.sum(axis=1)[:, None] * np.ones(3)
        exact = np.maximum(observed @ self.coincidences - np.log(self.n), 0.0)[:, None] + NATS
        equal = near.distances[:, :1] == 0
        return np.where(equal, np.column_stack([exact, np.minimum(plain, exact)[:, 1:]]), plain)


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
    raw, rng = raw[: len(places)], np.random.default_rng(SEED)
    deviations, steps = feature_deviations(pool), Steps(pool)
    values = simulated_kinds(raw, observed, deviations, steps, rng)
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


def _gaps(noise: Matrix, raw: Matrix, observed: Mask, places: NDArray[np.int64], rows: Matrix) -> Matrix:
    """Mean squared differences of rows with noise to themselves and their neighbours, (kinds, rows, 1 + k).

    The noise is 0 where nothing is observed.
    """
    own, twice = np.einsum("nrf,nrf->rn", noise, noise)[:, :, None], 2 * noise.transpose(1, 0, 2)
    out = np.empty((len(raw), len(noise), places.shape[1] + 1))
    for seen, others, values, moved, gaps in zip(observed, places, raw, twice, out[:, :, 1:], strict=True):
        o = seen.nonzero()[0]
        gap = part_of(rows, others, o) - values.take(o)
        # |gap - noise|^2 for all kinds, of which some have no noise.
        np.subtract(np.vecdot(gap, gap), moved.take(o, axis=1) @ gap.T, out=gaps)
    out[:, :, 1:] += own
    out[:, :, :1] = own
    out /= np.maximum(observed.sum(axis=1), 1)[:, None, None]
    return np.maximum(out.transpose(1, 0, 2), 0.0)


def moved_if_harmless(
    detector: CopyDetector,
    holdout: CandidateHoldout,
    done: CompletedQueries,
    near: Nearest,
    unit_space: Space,
    prior: Prior,
    learnt_from: int = 0,
) -> CopyDetector:
    """Leave vectors as they are if moving those of simulated queries, none of which is a copy, costs too much accuracy.

    Then only those of rows that are probably copies are moved, unless that costs too much, too.

    If a share pi of all queries are copies, moving their vectors can remove at most their own errors, a share pi of the
    squared error. So the errors of the others may grow by at most the factor 1 + pi / (1 - pi) = 1 / (1 - pi). They
    grow by far more if rows agree in their observed features but not in the missing ones, and if completions without
    copies are nearly exact.

    Parameters
    ----------
    detector : CopyDetector
        Moves vectors.
    holdout : CandidateHoldout
        Simulated queries, and their true similarities with other candidates.
    done, near : CompletedQueries, Nearest
        Their completions, and their nearest candidates by position.
    unit_space : Space
        What is known of all candidates as unit rows.
    prior : float, three floats or None
        Share of queries that are copies, or exact, near and rough ones; None for the usual one.
    learnt_from : int
        The detector was learnt from so many of the first simulated queries; the others are used, if there are any.
    """
    queries = holdout.queries
    count = len(queries.values)
    used = np.arange(learnt_from if learnt_from < count else 0, count)
    observed = np.zeros_like(queries.observed)  # a row without values is not moved
    observed[used] = queries.observed[used]
    rows = ObservedRows(queries.values, observed, queries.values)  # unit rows are not needed
    found = Vectors(done.u, done.length)
    share = float(detector.classes.assumed_rates(prior).sum())

    def harmless(detector: CopyDetector) -> bool:
        moved = detector.vectors(found, rows, near, queries.neighbours, done.means, unit_space, prior)
        changed = np.flatnonzero((moved.u != found.u).any(axis=1))
        more = squared_error(moved, holdout, changed) - squared_error(found, holdout, changed)
        return more <= 0 or more * (1 - share) <= share * squared_error(found, holdout, used)

    if harmless(detector):
        return detector
    probable = replace(detector, doubtful=False)
    return replace(probable, moves=harmless(probable))


def squared_error(found: Vectors, holdout: CandidateHoldout, rows: NDArray[np.int64]) -> float:
    """Return the sum of squared errors of the similarities of some simulated queries with other candidates."""
    return float(np.sum((found.u[rows] @ holdout.others.T - holdout.truth[rows]) ** 2))
