"""Special cases that must come out right, agreement with simulation, and parts against plain formulas."""

from types import SimpleNamespace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import grid
from simcomplete._posterior.candidates.conditional import ConditionalMeans, Queries, smoothing_weights
from simcomplete._posterior.candidates.covariance import (
    Conditioner,
    Dense,
    LowRank,
    conditional_variances,
    rows_by_mask,
)
from simcomplete._posterior.candidates.grid import best_lengths, learn
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.candidates.moments import Space, Statistics
from simcomplete._posterior.candidates.ridge import ridge_weights
from simcomplete._posterior.candidates.source import Candidates, no_positions
from simcomplete._posterior.candidates.stack import combine, soft
from simcomplete._posterior.shared.neighbours import nearest_candidates, smoothing
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._rows.table import HeldRows

RNG = np.random.default_rng(3)
P = RNG.standard_normal((80, 6)) @ RNG.standard_normal((6, 6)) + 1.0
Q = P[:5] + 0.3 * RNG.standard_normal((5, 6))
SEEN = RNG.random(Q.shape) < 0.6
SEEN[0] = True
SEEN[1] = False
CANDIDATES = Candidates(HeldRows(P), 1.0).keep()


def conditional_means(delta, k=5.0):
    """Completions of Q in raw space, and the weights of the neighbours among all candidates."""
    values = np.where(SEEN, Q, 0.0)
    near = CANDIDATES.neighbour_rows(CANDIDATES.nearest(values, SEEN, 48, no_positions()), ("raw",))
    space = Space("raw", Statistics.of(P, np.ones(6)), P.min(axis=0), P.max(axis=0))
    means = ConditionalMeans(space, Queries(values, SEEN, near, CANDIDATES), delta)
    means.add(near, {"k": smoothing_weights(near, k)})
    W = np.zeros((5, 80))
    ids = CANDIDATES.nearest(values, SEEN, 48, no_positions()).ids
    np.put_along_axis(W, ids, smoothing(near.near.cosines, k), axis=1)
    return means, W


def test_without_neighbours_it_is_gaussian_conditioning():
    m = conditional_means(1e-12)[0].completion("k", 0.0)
    mu, C = P.mean(axis=0), np.cov(P.T, bias=True)
    for i in range(5):
        o, u = SEEN[i], ~SEEN[i]
        expected = Q[i].copy()
        expected[u] = mu[u]
        if o.any() and u.any():
            expected[u] += C[np.ix_(u, o)] @ np.linalg.solve(C[np.ix_(o, o)], Q[i, o] - mu[o])
        np.testing.assert_allclose(m[i], expected, atol=1e-6)


def test_fully_shrunk_with_neighbours_it_is_weighted_nearest_neighbour_imputation():
    found, W = conditional_means(1.0)
    np.testing.assert_allclose(found.completion("k", 1.0), np.where(SEEN, Q, W @ P), atol=1e-12)


def test_fully_shrunk_without_neighbours_it_is_mean_imputation():
    np.testing.assert_allclose(
        conditional_means(1.0)[0].completion("k", 0.0), np.where(SEEN, Q, P.mean(axis=0)), atol=1e-12
    )


def test_it_is_linear_in_the_strength_and_equals_conditioning_around_the_local_mean():
    found, W = conditional_means(0.2)
    S = Dense(np.cov(P.T, bias=True)).shrunk(0.2).C
    for a in (0.5, 1.0):
        m = found.completion("k", a)
        for i in range(5):
            prior = P.mean(axis=0) + a * (W[i] @ P - P.mean(axis=0))
            o, u = SEEN[i], ~SEEN[i]
            expected = prior[u]
            if o.any():
                expected = expected + S[np.ix_(u, o)] @ np.linalg.solve(S[np.ix_(o, o)], (Q[i] - prior)[o])
            np.testing.assert_allclose(m[i, u], expected, atol=1e-9)


def test_clip_keeps_filled_values_inside_and_observed_ones_as_they_are():
    found, _ = conditional_means(0.1)
    m = found.completion("k", 1.0, clip=True)
    np.testing.assert_array_equal(m[SEEN], Q[SEEN])
    assert (m[~SEEN] <= np.broadcast_to(P.max(axis=0), m.shape)[~SEEN] + 1e-12).all()


def test_precision_and_direct_route_agree():
    A = RNG.standard_normal((9, 9))
    C = Dense(A @ A.T + np.eye(9))
    observed = np.zeros((3, 9), dtype=bool)
    observed[0, :8] = True  # by the precision matrix
    observed[1, :2] = True  # directly
    observed[2] = True
    sides = RNG.standard_normal((4, 3, 9))
    out = Conditioner(C, observed).weigh(sides)
    for i in range(3):
        o = observed[i]
        expected = np.linalg.solve(C.C[np.ix_(o, o)], sides[:, i][:, o].T).T
        np.testing.assert_allclose(out[:, i][:, o], expected, atol=1e-10)
        assert not out[:, i][:, ~o].any()


def test_low_rank_covariance_against_its_matrix():
    low = LowRank(RNG.standard_normal((8, 2)), RNG.random(8) + 0.1)
    dense = Dense(low.W @ low.W.T + np.diag(low.psi))
    np.testing.assert_allclose(low.variances, dense.variances)
    np.testing.assert_allclose(low.shrunk(0.3).times(np.eye(8)), dense.shrunk(0.3).C, atol=1e-12)
    observed = RNG.random((5, 8)) < 0.5
    sides = RNG.standard_normal((2, 5, 8))
    np.testing.assert_allclose(
        Conditioner(low, observed).weigh(sides), Conditioner(dense, observed).weigh(sides), atol=1e-9
    )


def test_statistics_are_up_and_downdated_exactly():
    centre = P[0]
    whole, part = Statistics.of(P, centre), Statistics.of(P[:50], centre)
    more = Statistics.of(Q, centre)
    for other in (part.plus(Statistics.of(P[50:], centre)), whole.plus(more).minus(more), Statistics.of(P, 0 * centre)):
        np.testing.assert_allclose(other.mean, P.mean(axis=0), atol=1e-12)
        np.testing.assert_allclose(other.covariance.C, np.cov(P.T, bias=True), atol=1e-10)


def test_what_cancels_is_no_variance():
    # Two rows differ from the others in the first feature; without them it is constant.
    X = np.tile([0.1, 2.0, 3.0], (9, 1)) + np.outer(np.arange(9), [0.0, 1.0, 0.0])
    X[:2, 0] = 5.7
    left = Statistics.of(X, X.mean(axis=0)).minus(Statistics.of(X[:2], X.mean(axis=0)))
    np.testing.assert_allclose(left.mean, X[2:].mean(axis=0), rtol=1e-13)
    np.testing.assert_allclose(left.covariance.C, np.diag([0.0, 4.0, 0.0]), atol=1e-13)
    assert (left.covariance.C[0] == 0).all()
    zero = Statistics.of(X - X[5], np.full(3, 0.3)).minus(Statistics.of(X[:2] - X[5], np.full(3, 0.3)))
    assert zero.mean[0] == zero.mean[2] == 0


def test_covariance_of_rows_with_a_strong_common_direction():
    noise = RNG.standard_normal((500, 4))
    X = 1e6 + noise
    np.testing.assert_allclose(
        Statistics.of(X, X.mean(axis=0)).covariance.C, np.cov(noise.T, bias=True), rtol=0, atol=1e-9
    )


def test_masks_that_repeat_are_grouped():
    masks = np.array([[1, 0, 1], [0, 0, 1], [1, 0, 1]], dtype=bool)
    found = {tuple(mask): sorted(rows.tolist()) for mask, rows in rows_by_mask(masks)}
    assert found == {(True, False, True): [0, 2], (False, False, True): [1]}


@pytest.mark.parametrize("k", [2.0, 5.0, 10.0])
def test_smoothing_weights_have_the_effective_number_asked_for(k):
    cosines = np.sort(RNG.random((20, 48)))[:, ::-1]
    w = smoothing(cosines, k)
    np.testing.assert_allclose(w.sum(axis=1), 1)
    np.testing.assert_allclose(1 / np.sum(w * w, axis=1), k, rtol=0.02)
    ties = smoothing(np.ones((1, 6)), 3.0)
    np.testing.assert_allclose(ties, 1 / 6)


def test_neighbours_are_by_overlap_cosine():
    values = np.where(SEEN, Q, 0.0)
    near = nearest_candidates(unit_rows(P), values, SEEN, most=3)
    S0 = sc.overlap_similarity(np.vstack([P, np.where(SEEN, Q, np.nan)]))[80:, :80]
    np.testing.assert_array_equal(near.ids[2:], np.argsort(-S0[2:], axis=1, kind="stable")[:, :3])
    np.testing.assert_allclose(near.cosines, np.take_along_axis(S0, near.ids, axis=1), atol=1e-12)


def test_kernel_ridge_weights_by_their_formula():
    unit, complete = unit_rows(P), np.ones_like(SEEN)
    near = CANDIDATES.nearest(Q, complete, 10, no_positions())
    rows = CANDIDATES.neighbour_rows(near, ("unit",))
    W = ridge_weights(rows, complete).toarray()
    ids = near.ids[3]
    D = 2 - 2 * unit[ids] @ unit[ids].T
    d = 2 - 2 * near.cosines[3]
    s = max(np.median(d), 1e-3)
    expected = np.linalg.solve(np.exp(-D / s) + 0.3 * np.eye(10), np.exp(-d / s))
    np.testing.assert_allclose(W[3, rows.near.ids[3]], expected, atol=1e-10)


def test_lengths_learn_a_known_rule():
    # True similarities are b S with b falling with the first feature: the rule is found again.
    S = RNG.standard_normal((300, 50))
    f = RNG.standard_normal((300, 4))
    b = 1 / np.sqrt(1 + np.exp(f[:, 0]))
    T = b[:, None] * S
    np.testing.assert_allclose(best_lengths(S, T), np.clip(b, 0.03, 0.9999), atol=1e-10)
    lengths, error = learn(f, np.ones(300), S, T)
    np.testing.assert_allclose(lengths.of(f, np.ones(300)), b, atol=0.06)
    assert error < 0.005
    assert lengths.of(f, np.ones(300)).max() <= 1


def test_soft_average_and_stack_by_hand():
    weights = soft({("a",): 1.0, ("b",): 1.0, ("c",): 2.0})
    assert weights == {("a",): 0.5, ("b",): 0.5}
    assert soft({("a",): 1e-3, ("b",): 1e-30, ("c",): 0.0}) == {("b",): 1.0}  # without error: the first
    A = RNG.standard_normal((3, 40, 30))
    T = 0.7 * A[0] + 0.3 * A[1]
    c, strength, outside = combine(A, T)
    np.testing.assert_allclose(c, [0.7, 0.3, 0], atol=1e-3)
    assert strength == 3e-5
    np.testing.assert_allclose(outside, T, atol=1e-2)


def test_monte_carlo_agrees_on_a_model_with_known_truth():
    """E[q/|q| | observed], by sampling from the true Gaussian, against the vectors that posterior finds."""
    rng = np.random.default_rng(0)
    d = 8
    A = rng.standard_normal((d, 3))
    mu, C = 2 + rng.standard_normal(d), A @ A.T + 0.05 * np.eye(d)
    candidates = rng.multivariate_normal(mu, C, 4000)
    queries = rng.multivariate_normal(mu, C, 30)
    observed = rng.random((30, d)) < 0.5
    model = CandidateModel.fit(HeldRows(candidates), observed, rng=np.random.default_rng(1))
    u = model.vectors(np.where(observed, queries, np.nan)).u
    expected = np.empty_like(u)
    for i in range(30):
        o, h = observed[i], ~observed[i]
        gain = C[np.ix_(h, o)] @ np.linalg.pinv(C[np.ix_(o, o)])
        mean = mu[h] + gain @ (queries[i, o] - mu[o])
        cov = C[np.ix_(h, h)] - gain @ C[np.ix_(o, h)]
        x = np.tile(queries[i], (4000, 1))
        x[:, h] = rng.multivariate_normal(mean, cov, 4000)
        expected[i] = unit_rows(x).mean(axis=0)
    S, T = u @ unit_rows(candidates[:500]).T, expected @ unit_rows(candidates[:500]).T
    assert np.sqrt(np.mean((S - T) ** 2)) < 0.05 * np.sqrt(np.mean(T**2))


def test_intervals_cover_on_simulated_data():
    rng = np.random.default_rng(5)
    A = rng.standard_normal((4, 20))
    X = rng.standard_normal((700, 4)) @ A + 0.3 * rng.standard_normal((700, 20))
    P, Q_true = X[:600], X[600:]
    Q = np.where(rng.random(Q_true.shape) < 0.6, np.nan, Q_true)
    truth = unit_rows(Q_true) @ unit_rows(P).T
    for effort in ("full", "fast", "best"):
        low, high = sc.complete(P, Q, method="posterior", effort=effort).interval(0.9)
        assert 0.86 <= np.mean((truth >= low) & (truth <= high)) <= 0.94, effort


def test_variances_of_each_row_add_up_to_what_its_length_leaves():
    means, _ = conditional_means(0.1)
    own = conditional_variances(Dense(np.cov(P.T, bias=True)).shrunk(0.1), SEEN)
    total = np.array([7.0, 2.0, 0.0, 3.0, 0.5])  # the first row lacks nothing; of the third no total is known
    found = means.variances(total)
    np.testing.assert_allclose(found.sum(axis=1), [0.0, 2.0, own[2].sum(), 3.0, 0.5], rtol=1e-9)
    for row in range(1, 5):
        np.testing.assert_allclose(found[row] / found[row].sum(), own[row] / own[row].sum(), rtol=1e-9)


def test_the_grid_varies_neighbours_only_where_they_count(monkeypatch):
    """Three strengths with three numbers of neighbours, and none of them, each with and without clipping."""
    tried = []

    def noted(holdout, space, delta, settings, objective):
        tried.append(list(settings))
        raise KeyboardInterrupt

    monkeypatch.setattr(grid, "choose_delta", lambda *_: 0.1)
    monkeypatch.setattr(grid, "evaluate_grid", noted)
    with pytest.raises(KeyboardInterrupt):
        grid.learn_grid(SimpleNamespace(spaces={"unit": None, "raw": None}))
    (found,) = tried
    expected = [(k, a, clip) for k in (10.0, 5.0, 20.0) for a in (1.0, 0.75, 0.5) for clip in (False, True)]
    assert sorted(found) == sorted([*expected, (10.0, 0.0, False), (10.0, 0.0, True)])
