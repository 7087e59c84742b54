"""Masks that repeat: the same neighbours as row by row, and each mask factorised once."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import covariance
from simcomplete._posterior.shared.neighbours import nearest_candidates
from simcomplete._posterior.shared.rows import distinct_masks, unit_rows
from simcomplete.estimators import PosteriorCompleter

RNG = np.random.default_rng(0)
P = RNG.standard_normal((60, 9))
MASKS = RNG.random((3, 9)) < 0.5
SEEN = MASKS[[0, 1, 0, 2, 1, 0, 0, 2]]
X = RNG.standard_normal(SEEN.shape)


def test_distinct_masks_are_numbered_as_they_come():
    first, which = distinct_masks(SEEN)
    np.testing.assert_array_equal(first, [0, 1, 3])
    np.testing.assert_array_equal(which, [0, 1, 0, 2, 1, 0, 0, 2])
    np.testing.assert_array_equal(SEEN[first][which], SEEN)


def test_neighbours_are_those_of_the_overlap_similarity():
    near = nearest_candidates(unit_rows(P), np.where(SEEN, X, 0.0), SEEN, most=5)
    S0 = sc.overlap_similarity(np.vstack([P, np.where(SEEN, X, np.nan)]))[60:, :60]
    np.testing.assert_array_equal(near.ids, np.argsort(-S0, axis=1, kind="stable")[:, :5])
    np.testing.assert_allclose(near.cosines, np.take_along_axis(S0, near.ids, axis=1), atol=1e-12)
    for row in range(len(X)):
        energies = np.sum(unit_rows(P)[near.ids[row]][:, SEEN[row]] ** 2, axis=1)
        np.testing.assert_allclose(near.energies[row], energies, atol=1e-12)


def test_one_observed_feature_is_a_tie_whatever_the_lengths():
    """Over one feature every cosine is 1 or -1: the first candidates of the right sign, exactly."""
    seen = np.zeros((1, 9), dtype=bool)
    seen[0, 4] = True
    scaled = P * RNG.uniform(0.01, 100.0, (60, 1))
    near = nearest_candidates(unit_rows(scaled), np.where(seen, 0.3, 0.0), seen, most=6)
    np.testing.assert_array_equal(near.ids[0], np.flatnonzero(P[:, 4] > 0)[:6])
    np.testing.assert_array_equal(near.cosines[0], 1.0)


def test_no_evidence_is_cosine_zero():
    candidates = unit_rows(np.array([[0.0, 1.0], [1.0, 0.0], [0.6, 0.8]]))
    seen = np.array([[True, False], [False, False]])
    near = nearest_candidates(candidates, np.array([[-2.0, 0.0], [0.0, 0.0]]), seen, most=2)
    np.testing.assert_array_equal(near.ids, [[0, 1], [0, 1]])  # 0, -1, -1 and then 0, 0, 0
    np.testing.assert_array_equal(near.cosines, [[0.0, -1.0], [0.0, 0.0]])


@pytest.mark.parametrize("effort", ["fast", "full"])
def test_each_mask_is_factorised_once(effort, monkeypatch):
    model = PosteriorCompleter(effort=effort).fit(P)
    Q = np.where(SEEN, X, np.nan)
    shapes = []
    plain = covariance.cholesky
    monkeypatch.setattr(covariance, "cholesky", lambda A: (shapes.append(A.shape), plain(A))[1])
    first = model.transform(Q)
    # One for each of the three masks, and one of the whole matrix where more than half is observed.
    assert len([shape for shape in shapes if shape != (9, 9)]) == 3
    shapes.clear()
    np.testing.assert_array_equal(model.transform(Q), first)
    assert shapes == []
