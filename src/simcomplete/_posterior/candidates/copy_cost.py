"""Whether vectors of queries that may be copies are moved towards their sources: not where it costs the others much."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import CandidateHoldout, CompletedQueries
from simcomplete._posterior.candidates.copies import CopyDetector
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.shared.copy_classes import Prior
from simcomplete._posterior.shared.neighbours import Nearest
from simcomplete._posterior.shared.rows import ObservedRows, Vectors


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
    moved = detector.vectors(found, rows, near, queries.neighbours, done.means, unit_space, prior)
    changed = np.flatnonzero((moved.u != found.u).any(axis=1))
    more = squared_error(moved, holdout, changed) - squared_error(found, holdout, changed)
    share = float(detector.classes.assumed_rates(prior).sum())
    return replace(detector, moves=more <= 0 or more * (1 - share) <= share * squared_error(found, holdout, used))


def squared_error(found: Vectors, holdout: CandidateHoldout, rows: NDArray[np.int64]) -> float:
    """Return the sum of squared errors of the similarities of some simulated queries with other candidates."""
    return float(np.sum((found.u[rows] @ holdout.others.T - holdout.truth[rows]) ** 2))
