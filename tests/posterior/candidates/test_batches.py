"""A row's answer does not depend on the rows it is asked about together with."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.datasets import load_digits

from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.neighbours import RESOLUTION, Probes
from simcomplete._rows.table import HeldRows


def with_constant_columns(seed, constant, rate, n=800, queries=200):
    rng = np.random.default_rng(seed)
    X = load_digits().data[rng.permutation(1797)]
    X[:, :20] = constant
    P, Q = X[:n], X[n : n + queries].copy()
    Q[rng.random(Q.shape) < rate] = np.nan
    return P, Q


def largest_difference(model, Q, rows):
    together = model.vectors(Q).u
    return max(np.abs(model.vectors(Q[row : row + 1]).u - together[row]).max() for row in rows)


def test_constant_columns():
    # Rows 14 and 27: many candidates have the same cosine, half way between two steps of the rounding.
    for seed, constant, rate, row in ((1, 0.1, 0.95, 14), (0, 1000.0, 0.8, 27)):
        P, Q = with_constant_columns(seed, constant, rate)
        model = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(0), effort="full")
        assert largest_difference(model, Q, [row, 0, 1]) < 1e-12


@pytest.mark.parametrize("effort", ["fast", "best"])
def test_streamed_and_kept_agree_on_batches(effort, streaming):
    P, Q = with_constant_columns(3, 0.1, 0.9, n=120, queries=30)
    streaming()
    model = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(0), effort=effort)
    assert not model.in_memory
    assert largest_difference(model, Q, range(0, 30, 3)) < 1e-12


@given(st.integers(0, 10_000), st.sampled_from([0.0, 0.1, 3.0, 1e4]), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=12, deadline=None)
def test_any_batch(seed, constant, rate):
    P, Q = with_constant_columns(seed, constant, rate, n=150, queries=40)
    model = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(0), effort="fast")
    together = model.vectors(Q).u
    shuffled = np.random.default_rng(seed).permutation(40)
    np.testing.assert_allclose(model.vectors(Q[shuffled]).u, together[shuffled], rtol=0, atol=1e-12)
    np.testing.assert_allclose(model.vectors(Q[:7]).u, together[:7], rtol=0, atol=1e-12)


def test_a_cosine_half_way_between_two_steps_is_rounded_by_itself():
    # 50 candidates with the same two observed values: products that are equal but for their last digits.
    half = (np.rint(0.6 * RESOLUTION) + 0.5) / RESOLUTION
    unit = np.tile([half, np.sqrt(1 - half**2), 0.0], (50, 1))
    probe = Probes.of(np.array([[1.0, 0.0, 0.0], [1.0, 1e-17, 0.0]]), np.array([[True, True, False]] * 2))
    found = probe.nearest(unit, unit**2, 50)
    assert len(np.unique(found.cosines[0])) == 1
    np.testing.assert_array_equal(found.ids[0], np.arange(50))
