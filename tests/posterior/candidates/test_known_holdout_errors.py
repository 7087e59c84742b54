"""Errors of simulated queries by rank: what is given to the table, worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from simcomplete._posterior.candidates import conditional
from simcomplete._posterior.candidates.conditional import CandidateHoldout
from simcomplete._posterior.candidates.source import NeighbourRows
from simcomplete._posterior.shared.neighbours import Nearest

NEAR = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])  # rows that are near to some query
IDS = np.array([[0, 2], [1, 2]])
OTHERS = np.array([[1.0, 0.0], [0.8, 0.6], [-1.0, 0.0]])
U = np.array([[0.5, 0.0], [0.0, 0.25]])
TRUE = np.array([[1.0, 0.0], [0.0, 1.0]])


def errors_of(monkeypatch, repeated, candidates, excluded=0):
    """What `rank_table` is given for two queries with two neighbours each, and three other candidates."""
    seen = []
    monkeypatch.setattr(conditional, "rank_table", lambda *given: seen.append(given) or given[:2])
    near = NeighbourRows({"unit": NEAR}, Nearest(IDS, np.zeros((2, 2)), np.zeros((2, 2))))
    source = SimpleNamespace(n=candidates)
    queries = SimpleNamespace(neighbours=near, source=source, excluded=np.arange(excluded))
    holdout = CandidateHoldout({}, queries, OTHERS, TRUE @ OTHERS.T, TRUE, np.array(repeated))
    errors = holdout.ranked(U, deferred=False)
    np.testing.assert_array_equal(errors.residuals, (TRUE - U) / np.sqrt([[0.75], [1 - 0.25**2]]))
    return seen[0]


NONE = [[False] * 3] * 2


def test_estimates_and_true_similarities_of_neighbours_and_others(monkeypatch):
    S, T, spread, _ = errors_of(monkeypatch, NONE, candidates=5)
    np.testing.assert_allclose(S, [[0.5, 0.3, 0.5, 0.4, -0.5], [0.25, 0.2, 0.0, 0.15, 0.0]])
    np.testing.assert_allclose(T, [[1.0, 0.6, 1.0, 0.8, -1.0], [1.0, 0.8, 0.0, 0.6, 0.0]])
    np.testing.assert_allclose(spread, np.sqrt([0.75, 1 - 0.25**2]))


@pytest.mark.parametrize(
    ("repeated", "candidates", "excluded", "expected"),
    [
        (NONE, 5, 0, [[1, 1, 1], [1, 1, 1]]),  # all there are
        (NONE, 23, 0, [[7, 7, 7], [7, 7, 7]]),  # three of the 21 that are not near
        (NONE, 23, 3, [[6, 6, 6], [6, 6, 6]]),
        ([[True, False, False], [False] * 3], 23, 0, [[0, 10.5, 10.5], [7, 7, 7]]),  # one is a neighbour of the first
        ([[True] * 3, [False, True, False]], 23, 0, [[0, 0, 0], [10.5, 0, 10.5]]),
        (NONE, 3, 0, [[1, 1, 1], [1, 1, 1]]),  # never fewer than themselves
    ],
)
def test_others_stand_for_all_candidates_that_are_not_near(monkeypatch, repeated, candidates, excluded, expected):
    weights = errors_of(monkeypatch, repeated, candidates, excluded)[3]
    np.testing.assert_allclose(weights, np.hstack([np.ones((2, 2)), expected]))
