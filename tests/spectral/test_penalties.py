"""What every penalty promises: derivative, shrink, expand; and SMCNmF the paper's two properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from simcomplete._spectral.penalties import NoPenalty, Nuclear, NuclearMinusFrobenius, SquaredFrobenius

PENALTIES = [Nuclear(), NuclearMinusFrobenius(), NoPenalty(), SquaredFrobenius(), SquaredFrobenius(0.5)]
every_penalty = pytest.mark.parametrize("penalty", PENALTIES, ids=repr)

weights = st.floats(0.0, 20.0)
spectra = st.lists(st.floats(-10, 30), min_size=1, max_size=6).map(lambda w: np.sort(np.array(w))[::-1])


def objective(penalty, s, w, weight):
    return np.sum((s - w) ** 2) + weight * penalty.value(s)


@every_penalty
def test_the_derivative_is_a_finite_difference(penalty):
    s = np.array([5.0, 2.0, 0.7, 0.1])
    h = 1e-6
    for k in range(4):
        step = np.eye(4)[k] * h
        slope = (penalty.value(s + step) - penalty.value(s - step)) / (2 * h)
        assert penalty.derivative(s)[k] == pytest.approx(slope, abs=1e-8)


@every_penalty
@pytest.mark.parametrize("weight", [0.0, 0.3, 2.0, 8.0])
@pytest.mark.parametrize("w", [(3.0, 1.0), (2.0, 2.0), (0.9, 0.2), (1.0, -4.0), (-1.0, -2.0), (0.0, 0.0)], ids=str)
def test_shrink_beats_a_grid(penalty, weight, w):
    w = np.array(w)
    best = objective(penalty, penalty.shrink(w, weight), w, weight)
    axis = np.linspace(0, 4, 161)
    grid = min(objective(penalty, np.array([a, b]), w, weight) for a in axis for b in axis)
    assert best <= grid + 1e-12


@every_penalty
@settings(max_examples=100, deadline=None)
@given(w=spectra, weight=weights, seed=st.integers(0, 1000))
def test_shrink_beats_random_points_nearby_and_far(penalty, w, weight, seed):
    s = penalty.shrink(w, weight)
    assert (s >= 0).all()
    assert (np.diff(s) <= 1e-12).all()  # order is kept
    best = objective(penalty, s, w, weight)
    rng = np.random.default_rng(seed)
    for size in (1e-3, 0.1, 3.0):
        other = np.maximum(s + size * rng.standard_normal(len(w)), 0)
        assert best <= objective(penalty, other, w, weight) + 1e-9 * (1 + np.sum(w**2))


@every_penalty
@settings(max_examples=100, deadline=None)
@given(w=spectra, weight=weights)
def test_expand_undoes_shrink_where_something_is_left(penalty, w, weight):
    s = penalty.shrink(w, weight)
    kept = s > 1e-9
    np.testing.assert_allclose(penalty.expand(s, weight)[kept], w[kept], atol=1e-7)


@settings(max_examples=200, deadline=None)
@given(w=spectra, weight=weights)
def test_smcnmf_shrinks_large_eigenvalues_less_and_never_more_than_smcnn(w, weight):
    mine = NuclearMinusFrobenius().shrink(w, weight)
    smcnn = Nuclear().shrink(w, weight)
    kept = mine > 0
    # adaptivity: larger eigenvalues are shrunk less; shrinkage: never more than by the nuclear norm
    assert (np.diff((w - mine)[kept]) >= -1e-9).all()
    assert (mine >= smcnn - 1e-12).all()


def test_smcnmf_one_sparse_branch_by_hand():
    # All eigenvalues at or below weight/2 = 1: rank one costs nothing, so the largest stays exactly as it is.
    penalty = NuclearMinusFrobenius()
    np.testing.assert_array_equal(penalty.shrink(np.array([0.9, 0.9, 0.1]), 2.0), [0.9, 0, 0])
    np.testing.assert_array_equal(penalty.shrink(np.array([1.0, 0.5]), 2.0), [1.0, 0])
    np.testing.assert_array_equal(penalty.shrink(np.array([-0.5, -1.0]), 2.0), [0, 0])
    np.testing.assert_array_equal(penalty.shrink(np.array([0.0, 0.0]), 2.0), [0, 0])


def test_smcnmf_by_hand():
    # w = (5, 4), weight 2: z = (4, 3), |z| = 5, times (5 + 1)/5.
    np.testing.assert_allclose(NuclearMinusFrobenius().shrink(np.array([5.0, 4.0]), 2.0), [4.8, 3.6])


def test_smcnmf_derivative_at_zero_is_defined():
    np.testing.assert_array_equal(NuclearMinusFrobenius().derivative(np.zeros(3)), 1)
