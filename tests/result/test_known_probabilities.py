"""Probabilities by hand: distribution functions of errors, places, levels, and the regression that sets them right."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize

import simcomplete as sc
from simcomplete._result.intervals import IntervalModel, Match, RankedErrors
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.pairs import OPEN, Pairs, edge_estimates, joint_levels, places_among, sampled, share_beyond
from simcomplete._result.recalibration import logistic, logit, of_place, of_threshold, regress, simulated_pairs
from simcomplete._result.top import TopDraws
from simcomplete.errors import InputError


def test_share_beyond_by_the_table_of_each_kind():
    levels = np.array([0.0, 0.5, 1.0])
    z = np.vstack([np.tile([-1.0, 0.0, 1.0], (OPEN, 1)), [-2.0, 0.0, 2.0]])
    z[1] = [-1.0, 0.5, 1.0]
    estimate = np.array([[0.5, 0.5, 0.5, 0.7, 0.2, 0.3]])
    spread = np.array([[0.2, 0.2, 0.0, 0.0, 0.1, 1.0]])
    kind = np.array([[0, 1, 0, 0, 0, OPEN]])
    found = share_beyond(Pairs(estimate, spread, kind), 0.6, z, levels)
    # (0.6 - 0.5) / 0.2 = 0.5 is at 0.75 of the first kind, at 0.5 of the second; the exact pairs are below and above.
    np.testing.assert_allclose(found, [[0.25, 0.5, 0.0, 1.0, 0.0, 0.5]], atol=1e-12)
    np.testing.assert_allclose(share_beyond(Pairs(estimate, spread, kind), -1.5, z, levels)[0, 5], 1.0)
    np.testing.assert_allclose(share_beyond(Pairs(estimate, spread, kind), 1.0, z, levels)[0, 5], 0.0)


def test_places_among_edges():
    found = places_among(np.array([[0.95, 0.9, 0.6, 0.5, 0.1]]), np.array([[0.9, 0.5, 0.2]]))
    np.testing.assert_array_equal(found, [[0, 0, 1, 1, 3]])
    assert places_among(np.zeros((0, 4)), np.zeros((0, 3))).shape == (0, 4)


def a_result(n=30, n_q=3, seed=0):
    F = np.random.default_rng(seed).standard_normal((n + n_q, 4))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    return F, SimpleNamespace(matrix=SymmetricMatrix(factor=F), n_candidates=n, n=n + n_q, n_queries=n_q)


def test_estimates_at_the_edges_are_those_of_sorted_rows():
    F, done = a_result()
    found = edge_estimates(done, np.array([31, 30]), np.arange(30))
    S = F[[31, 30]] @ F[:30].T
    np.testing.assert_allclose(found, -np.sort(-S, axis=1)[:, RankedErrors.edges(30) - 1])


def test_of_many_candidates_the_first_are_exact_and_the_rest_from_a_sample(monkeypatch):
    done = a_result(n=400)[1]
    expected = edge_estimates(done, np.array([401]), np.arange(400))
    for name, value in (("RANKED_WHOLE", 100), ("SAMPLED", 200), ("FIRST", 16)):
        monkeypatch.setattr(f"simcomplete._result.pairs.{name}", value)
    found, wanted = edge_estimates(done, np.array([401]), np.arange(400)), RankedErrors.edges(400)
    np.testing.assert_allclose(found[:, wanted <= 16], expected[:, wanted <= 16])
    np.testing.assert_allclose(found, expected, atol=0.06)
    assert (np.diff(found) <= 0).all()


def test_candidates_that_are_sampled():
    np.testing.assert_array_equal(sampled(4000), np.arange(4000))
    many = sampled(12001)
    assert len(many) == 4000 and many[0] == 0 and many[-1] == 12000 and np.ptp(np.diff(many)) <= 1


def test_levels_of_errors_are_their_ranks_among_simulated_queries():
    F, done = a_result()
    R = np.random.default_rng(1).standard_normal((5, 4))
    errors = SimpleNamespace(residuals=R)
    found = joint_levels(done.matrix, errors, np.array([2, 7]))
    for row, candidate in enumerate((2, 7)):
        own = R @ F[candidate]
        expected = [(np.sum(own < x) + 0.5) / 5 for x in own]
        np.testing.assert_allclose(found[row], expected)


def test_simulated_pairs_leave_the_query_itself_out():
    unit = np.eye(3)
    errors = SimpleNamespace(
        simulated=np.array([[0.5, 0.0, 0.0], [0.1, 0.2, 0.3]]),
        spread=np.array([0.5, 2.0]),
        residuals=np.array([[1.0, 0.0, 0.0], [0.1, 0.1, 0.1]]),
    )
    estimate, truth = simulated_pairs(errors, unit)
    np.testing.assert_allclose(estimate, [[-np.inf, 0, 0], [0.1, 0.2, 0.3]])
    np.testing.assert_allclose(truth, [[np.nan, 0, 0], [0.3, 0.4, 0.5]])


def test_logit_is_clipped():
    np.testing.assert_allclose(logit(np.array([0.0, 0.5, 1.0])), [np.log(1e-4 / 0.9999), 0.0, np.log(0.9999 / 1e-4)])
    np.testing.assert_allclose(logistic(np.array([-1e9, 0.0, 1e9])), [0.0, 0.5, 1.0], atol=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_the_regression_has_the_least_penalised_loss(seed):
    rng = np.random.default_rng(seed)
    X = np.column_stack([rng.normal(size=60), np.ones(60), 30 * rng.normal(size=60)])
    y = (rng.random(60) < logistic(5 * X[:, 0] - X[:, 2])).astype(float)

    def cost(b):
        x = X @ b
        return np.sum(np.logaddexp(0, x) - y * x) + 0.5 * np.sum((b - [1, 0, 0]) ** 2)

    expected = scipy.optimize.minimize(cost, [1.0, 0, 0], method="BFGS", options={"gtol": 1e-9})
    assert cost(regress(X, y)) <= expected.fun * (1 + 1e-5)


def test_what_probabilities_are_regressed_on():
    p = np.array([[0.2, 0.9]])
    x = logit(p).ravel()
    found = of_threshold(p, np.array([[0.5]]))
    np.testing.assert_allclose(found, np.column_stack([x, [1, 1], [0, x[1]], np.log([0.5, 0.5])]))
    found = of_place(p, np.array([1.0, 2.0]), np.array([9.0, -1.0]))
    by_lead = ([4, -1], [4, 0])  # a lead has another slope than a lag
    np.testing.assert_allclose(found, np.column_stack([x, [1, 1], (x + 5) ** 2 / 10, [0, np.log(2)], *by_lead]))


def test_leads_that_tell_little_do_not_make_places_sure():
    """Lags tell much and leads little: leads of more than 2 are among the first three in four times of five."""
    lead = np.linspace(-3, 3, 6001)
    share = np.where(lead < 0, logistic(1.2 + 4 * lead), logistic(1.2 + 0.05 * lead))
    y = (np.random.default_rng(0).random(lead.size) < share).astype(float)
    X = of_place(np.full(lead.size, 0.5), np.full(lead.size, 10.0), lead)
    stated = logistic(X @ regress(X, y))
    for some in (lead > 2, (lead > 0) & (lead < 0.5), (lead > -0.5) & (lead < 0)):
        assert abs(stated[some].mean() - share[some].mean()) < 0.05


def test_places_from_draws_one_at_a_time():
    F, done = a_result()
    R = np.random.default_rng(2).standard_normal((6, 4)) / 3
    edges = RankedErrors.edges(30)
    table = np.sort(np.random.default_rng(3).standard_normal((len(edges) + 2, 6)), axis=1)
    ranked = SimpleNamespace(residuals=R)
    model = SimpleNamespace(ranked=ranked, table=lambda levels, n: table)
    S = F[31] @ F[:30].T
    order = np.argsort(-S)[:12]
    draws = TopDraws(done, model, 3, 12)
    found = draws.features(S[order], order, 0.2, None)
    counts = np.zeros(12)
    for query in range(6):
        drawn = []
        for place, candidate in enumerate(order):
            own = R @ F[candidate]
            level = np.sum(own < own[query])
            drawn.append(S[candidate] + 0.2 * table[np.sum(edges <= place), level])
        counts[np.argsort(drawn)[-3:]] += 1
    expected = of_place(counts / 6, np.arange(1.0, 13), (S[order] - S[order][2]) / 0.2)
    np.testing.assert_allclose(found, expected)
    counts = np.zeros(12)
    for query in (0, 1, 2, 3, 4):  # of simulated query 5 everything but its own error
        drawn = []
        for place, candidate in enumerate(order):
            own = R @ F[candidate]
            drawn.append(S[candidate] + 0.2 * table[np.sum(edges <= place), np.sum(own < own[query])])
        counts[np.argsort(drawn)[-3:]] += 1
    expected = of_place(counts / 5, np.arange(1.0, 13), (S[order] - S[order][2]) / 0.2)
    np.testing.assert_allclose(draws.features(S[order], order, 0.2, 5), expected)


def test_confidence_is_the_length():
    model = IntervalModel(np.array([0.0, 0.6, 1.0]), np.linspace(0, 2, 1001))
    np.testing.assert_allclose(model.confidence, [1.0, 0.8, 0.0], atol=1e-12)


def test_a_standard_deviation_of_uniform_errors():
    """Quantiles of |error| / spread from 0 to 2: errors are uniform between -2 and 2 spreads, deviation 2 / sqrt(3)."""
    rng = np.random.default_rng(0)
    P, Q = rng.random((60, 8)), np.where(rng.random((3, 8)) < 0.3, np.nan, rng.random((3, 8)))
    done = sc.complete(P, Q, method="posterior", effort="fast")
    model = IntervalModel(np.array([0.1, 0.2, 0.0]), np.linspace(0, 2, 1001))
    done = replace(done, interval_model=model)
    np.testing.assert_allclose(done.std(cols=[0])[:, 0], [0.2 / np.sqrt(3), 0.4 / np.sqrt(3), 0.0], rtol=1e-3)
    with pytest.raises(InputError, match="has no matches"):
        _ = done.match
    with pytest.raises(InputError, match="has no matches"):
        _ = replace(done, interval_model=None).match
    found = Match(np.array([3, 1, 2]), np.eye(3))
    assert replace(done, interval_model=replace(model, match=found)).match is found


def test_where_no_simulated_query_has_k_candidates_places_stay_as_drawn():
    """Each of three queries is one of three candidates: it has two others, and no place among the first three."""
    rng = np.random.default_rng(0)
    F = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    simulated = 0.8 * F
    spread = np.sqrt(1 - 0.64)
    ranked = RankedErrors(np.array([1.0]), np.linspace(-1, 1, 9)[None], 0.2 * F / spread, simulated)
    model = IntervalModel(np.zeros(1), np.linspace(0, 2, 1001), ranked)
    done = SimpleNamespace(matrix=SymmetricMatrix(factor=F), n_candidates=3)
    np.testing.assert_array_equal(TopDraws(done, model, 3, 3).regression(), [1.0, 0.0, 0.0, 0.0, 0.0, 0.0])
    assert TopDraws(done, model, 2, 3).regression().shape == (6,)
    assert (TopDraws(done, model, 2, 3).regression() != [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]).any()
