"""Queries that are candidates themselves, with values missing and with noise."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

import simcomplete as sc
from simcomplete._posterior.candidates.copies import CopyDetector, _gaps
from simcomplete._posterior.candidates.covariance import Dense, LowRank
from simcomplete._posterior.candidates.likely_sources import (
    Agreement,
    lift_likely,
    lifted,
    mean_squared_gaps,
    mixed,
    raised_alone,
)
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.copy_classes import CopyModel
from simcomplete._rows.table import HeldRows
from simcomplete.errors import InputError


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.fixture(scope="module")
def digits():
    """400 candidates, 100 fresh queries and 100 copies of candidates, 80 % of the values missing."""
    rng = np.random.default_rng(4)
    X = load_digits().data[rng.permutation(1797)]
    P, fresh, source = X[:400], X[400:500].copy(), rng.choice(400, 100, replace=False)
    copies = P[source].copy()
    for Q in (fresh, copies):
        Q[np.argsort(rng.random(Q.shape), axis=1) < 51] = np.nan
    model = CandidateModel.fit(HeldRows(P), ~np.isnan(fresh), rng=np.random.default_rng(0), effort="fast", copies=True)
    return P, fresh, copies, source, model


def test_exact_copies_are_found_and_ranked_first(digits):
    P, fresh, copies, source, model = digits
    found, other = model.vectors(copies), model.vectors(fresh)
    assert np.mean(np.argmax(found.u @ unit(P).T, axis=1) == source) > 0.95
    assert np.mean(found.match.ids == source) > 0.95
    y = np.r_[np.ones(100), np.zeros(100)]
    assert roc_auc_score(y, np.r_[found.match.copy, other.match.copy]) > 0.98
    assert np.mean(found.match.copy) > 0.5 > 0.1 > np.mean(other.match.copy)


def test_noisy_copies_are_ranked_first_more_often_than_without(digits):
    P, _, copies, source, model = digits
    noisy = copies + 0.1 * np.sqrt(np.maximum(P.var(axis=0), 0.05 * P.var(axis=0).mean())) * np.random.default_rng(
        0
    ).standard_normal(copies.shape)
    first = [
        np.mean(np.argmax(each.vectors(noisy).u @ unit(P).T, axis=1) == source)
        for each in (model, replace(model, copying=None))
    ]
    assert first[0] > 0.85 and first[0] > first[1] + 0.2


def test_fresh_queries_lose_nothing(digits):
    P, fresh, _, _, model = digits
    rng = np.random.default_rng(4)
    T = unit(load_digits().data[rng.permutation(1797)][400:500]) @ unit(P).T
    error = [np.sum((each.vectors(fresh).u @ unit(P).T - T) ** 2) for each in (model, replace(model, copying=None))]
    assert error[0] < 1.02 * error[1]


def test_switched_off_nothing_is_changed(digits):
    P, fresh, copies, _, _ = digits
    Q = np.concatenate([fresh, copies])
    off = sc.complete(P, Q, method="posterior", effort="fast", copies=False)
    model = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(0), effort="fast")
    np.testing.assert_allclose(np.asarray(off.factor)[400:], model.vectors(Q).u, atol=1e-12)
    with pytest.raises(InputError, match="copies=False"):
        _ = off.match


def test_each_row_by_itself_and_valid(digits):
    _, fresh, copies, _, model = digits
    Q = np.concatenate([fresh[:20], copies[:20], np.full((1, 64), np.nan), load_digits().data[:1]])
    together = model.vectors(Q)
    assert np.isfinite(together.u).all() and (np.linalg.norm(together.u, axis=1) <= 1 + 1e-12).all()
    for row in range(0, 42, 5):
        alone = model.vectors(Q[row : row + 1])
        np.testing.assert_allclose(alone.u[0], together.u[row], atol=1e-12)
        np.testing.assert_allclose(alone.match.probabilities[0], together.match.probabilities[row], atol=1e-9)
    assert together.match.ids[40] == -1 and not together.match.probabilities[40].any()


def test_the_prior_moves_probabilities(digits):
    _, _, copies, _, model = digits
    few, many = (replace(model, prior=prior).vectors(copies).match.copy for prior in (0.001, 0.5))
    assert (few <= many + 1e-12).all() and many.mean() > few.mean()


def test_streamed_and_dask(digits, streaming):
    da = pytest.importorskip("dask.array")
    P, fresh, copies, source, _ = digits
    Q = np.concatenate([fresh[:30], copies[:30]])
    kept = sc.complete(P, Q, method="posterior", effort="fast", copies=True)
    streaming()
    for given in (P, da.from_array(P, chunks=(150, 64))):
        done = sc.complete(given, Q, method="posterior", effort="fast", copies=True)
        np.testing.assert_allclose(np.asarray(done.factor)[400:], np.asarray(kept.factor)[400:], atol=1e-9)
        np.testing.assert_array_equal(done.match.ids, kept.match.ids)
        np.testing.assert_allclose(done.match.probabilities, kept.match.probabilities, atol=1e-6)
    assert np.mean(kept.match.ids[30:] == source[:30]) > 0.9


def test_saved_estimator_and_forgetting(digits, tmp_path):
    P, fresh, copies, source, _ = digits
    done = sc.complete(P, copies, method="posterior", effort="fast", copies=True)
    done.save(tmp_path / "saved")
    after = sc.load(tmp_path / "saved")
    np.testing.assert_array_equal(after.match.ids, done.match.ids)
    np.testing.assert_array_equal(after.match.probabilities, done.match.probabilities)
    model = sc.PosteriorCompleter(effort="fast", copies=True).fit(P, masks=~np.isnan(fresh))
    before = model.match(copies[:5])
    assert before.kinds.count("fresh") <= 2
    model.forget(source[:5])
    gone = model.match(copies[:5])
    assert (gone.copy < before.copy).all()


def test_duplicated_candidates_make_copies_common():
    rng = np.random.default_rng(0)
    P = np.repeat(rng.random((60, 10)), 2, axis=0)
    Q = np.where(rng.random((20, 10)) < 0.4, np.nan, P[:20])
    done = sc.complete(P, Q, method="posterior", effort="fast", copies=True)
    assert np.isfinite(np.asarray(done.factor)).all()
    assert (done.match.copy > 0.5).mean() > 0.8
    np.testing.assert_array_equal(done.match.ids // 2, np.arange(20) // 2)


def test_mixture_of_known_numbers():
    # One neighbour at distance 0, one far away: all weight on the first, whose length stays 1.
    q, seen, rows = np.array([[3.0, 0.0]]), np.array([[True, False]]), np.array([[30.0, 1.0], [3.0, 4.0]])
    places = np.array([[0, 1]])
    near = Agreement.of(mean_squared_gaps(q, seen, places, rows, np.ones(rows.shape[1])), places, rows)
    np.testing.assert_allclose(near.distances, [[0.0, 729.0]])
    np.testing.assert_array_equal(near.places, [[1, 0]])
    np.testing.assert_array_equal(near.apart[0, 1:], 729.0)
    u = mixed(np.array([[0.0, 0.5]]), np.array([0.25]), near.distances, near.places, rows, seen, 2.0)
    np.testing.assert_allclose(u, [[0.25 * 0.6, 0.75 * 0.5 + 0.25 * 0.8]])


def test_a_source_is_raised_by_the_least_change_of_all_similarities():
    rng = np.random.default_rng(0)
    P = unit(rng.random((60, 20)))
    u, source, G = 0.8 * unit(rng.random((1, 20)))[0], P[7], P.T @ P / 60
    found = raised_alone(u, source, P, lambda B: np.linalg.solve(G, B))
    assert np.argmax(P @ found) == 7
    change = found - u
    # Whatever else adds as much to the product with the source changes those with all candidates more.
    for _ in range(20):
        other = change + (step := 0.05 * rng.standard_normal(20)) - source * (step @ source)
        assert other @ source == pytest.approx(change @ source)
        assert np.sum((P @ other) ** 2) >= np.sum((P @ change) ** 2)
    (towards,) = lifted(u[None], source[None], P[None], np.ones(1))
    assert np.sum((P @ change) ** 2) < np.sum((P @ (towards - u)) ** 2)


def test_only_vectors_that_are_near_enough_are_moved_and_then_just_far_enough():
    unit_rows = unit(np.random.default_rng(3).random((30, 6)))
    places, first = np.tile(np.arange(30), (3, 1)), np.array([0, 1, 2])
    u = np.stack([0.5 * unit_rows[0], 0.5 * unit_rows[9], 0.5 * unit_rows[9]])
    length = np.full(3, 0.5)
    moved, lengths = lift_likely(u, length, unit_rows, places, first, np.array([0.9, 0.9, 1e-3]))
    np.testing.assert_array_equal(moved[[0, 2]], u[[0, 2]])  # ranked first already; too far for how likely it is
    assert np.argmax(unit_rows @ moved[1]) == 1 and np.argmax(unit_rows @ u[1]) == 9
    assert lengths[1] == pytest.approx(np.linalg.norm(moved[1]))
    w = np.linalg.norm(moved[1] - u[1]) / np.linalg.norm(unit_rows[1] - u[1])
    less = (1 - 0.8 * w) * u[1] + 0.8 * w * unit_rows[1]
    assert np.argmax(unit_rows @ less) != 1
    for row in range(3):  # each by itself
        alone = lift_likely(
            u[[row]], length[[row]], unit_rows, places[[row]], first[[row]], np.array([0.9, 0.9, 1e-3])[[row]]
        )
        np.testing.assert_array_equal(alone[0][0], moved[row])


def test_differences_with_noise_are_those_of_rows_with_noise():
    rng = np.random.default_rng(4)
    rows, seen = rng.random((50, 40)), rng.random((4, 40)) < 0.3
    raw, places = rng.random((4, 40)), np.stack([rng.permutation(50)[:7] for _ in range(4)])
    noise = np.where(seen, rng.normal(size=(3, 4, 40)), 0.0)
    found = _gaps(noise, raw, seen, places, rows)
    for kind in range(3):
        there = mean_squared_gaps(raw + noise[kind], seen, places, rows, np.ones(40))
        np.testing.assert_allclose(found[kind, :, 1:], there, rtol=1e-12)
        np.testing.assert_allclose(found[kind, :, 0], [np.mean(noise[kind, i, seen[i]] ** 2) for i in range(4)])


def test_a_source_that_cannot_be_raised_alone():
    u, source, other = np.array([0.0, 0.999]), np.array([1.0, 0.0]), np.array([0.0, 1.0])
    near = np.stack([source, other])
    assert raised_alone(u, source, near, lambda B: B) is None  # it would be longer than 1
    assert raised_alone(0.5 * u, source, near, np.zeros_like) is None  # no variance
    shared = np.array([[1.0, -0.999], [-0.999, 1.0]])  # what raises the one raises the other
    assert raised_alone(0.5 * u, source, near, lambda B: np.linalg.inv(shared) @ B) is None


def test_second_moments_of_both_kinds_of_covariances():
    rng = np.random.default_rng(1)
    W, psi, mean, B = rng.normal(size=(5, 2)), rng.random(5) + 0.1, rng.normal(size=5), rng.normal(size=(5, 3))
    C = W @ W.T + np.diag(psi)
    target = np.diag(C) / 2 + np.trace(C) / 10
    wanted = np.linalg.solve(0.9 * C + 0.1 * np.diag(target) + np.outer(mean, mean), B)
    for made in (Dense(C), LowRank(W, psi)):
        np.testing.assert_allclose(made.second_moments(mean, 0.1)(B), wanted, rtol=1e-9)


def test_how_common_each_kind_of_copy_is_can_be_told(digits, tmp_path):
    P, fresh, copies, _, _ = digits
    Q = np.concatenate([fresh, copies])
    own = {"method": "posterior", "effort": "fast"}
    some, exact = (sc.complete(P, Q, prior=prior, **own).match for prior in (0.5, [0.5, 0, 0]))
    assert not exact.probabilities[:, 1:].any()
    assert exact.copy[:100].mean() < some.copy[:100].mean() and exact.copy[100:].mean() > 0.9
    model = sc.PosteriorCompleter(effort="fast", prior=(0.5, 0, 0)).fit(P, masks=~np.isnan(Q))
    model.save(tmp_path / "model")
    again = sc.load(tmp_path / "model")
    np.testing.assert_array_equal(again.match(copies).probabilities, model.match(copies).probabilities)
    for wrong in (0, 1.5, (0.5, 0.5), (0.5, 0.5, 0.5), (0, 0, 0), (-0.1, 0.5, 0), "half"):
        with pytest.raises(InputError, match="prior"):
            sc.complete(P, Q, prior=wrong, **own)
        with pytest.raises(InputError, match="prior"):
            sc.PosteriorCompleter(effort="fast", prior=wrong).fit(P)


def test_a_source_is_lifted_as_far_as_ranks_it_first_and_no_further():
    source, other, u = np.array([1.0, 0.0]), np.array([0.6, 0.8]), np.array([0.3, 0.5])

    def moved_by(u, most, margin=1.0):
        return lifted(u[None], source[None], np.stack([source, other])[None], np.array([most]), margin)[0]

    # other is ahead by .58 - .3 = .28; 1 - cosine = .4: odds .7, weight .7 / 1.7.
    moved = moved_by(u, 0.5)
    np.testing.assert_allclose(moved, (u + 0.7 * source) / 1.7)
    np.testing.assert_allclose(moved @ source, moved @ other)
    np.testing.assert_array_equal(moved_by(u, 0.4), u)  # more than that is not given
    np.testing.assert_array_equal(moved_by(np.array([0.5, 0.1]), 0.5), [0.5, 0.1])  # first already
    np.testing.assert_allclose(moved_by(u, 0.5, 1.1), (u + 0.77 * source) / 1.77)
    np.testing.assert_allclose(moved_by(u, 0.42, 1.1), 0.58 * u + 0.42 * source)


def test_evidence_is_bounded_by_what_is_seen():
    # A score of 50 nats for "exact" counts as at most one nat for each of 2 observed values ...
    weights = np.zeros((21, 4))
    weights[0, 1] = 50.0
    zeros = np.zeros(5)
    model = CopyModel(weights, zeros, zeros, zeros, zeros + 1, np.array([0.1, 0.0, 0.0]))
    odds = 0.1 / 0.9 * np.exp(2)
    np.testing.assert_allclose(model.probabilities(np.zeros((1, 5)), np.array([[2]]), None)[0, 0], odds / (1 + odds))
    # ... and where they agree exactly, as at most that none of 100 strangers would, and one nat more.
    detector = CopyDetector(model, np.ones(3), np.log([20.0, 50.0, 2.0]), 100)
    seen = np.array([[True, True, False], [True, True, False], [False, False, True]])
    near = Agreement(np.array([[0.1], [0.0], [0.0]]), *(np.zeros((3, 1), dtype=int),) * 2)
    found = detector._most_evidence(near, seen)
    np.testing.assert_allclose(found, [[2, 2, 2], [1 + np.log(10), 2, 2], [1, 1, 1]])


def test_copies_are_looked_for_unless_switched_off(digits):
    P, _, copies, source, _ = digits
    done = sc.complete(P, copies[:30], method="posterior", effort="fast")
    assert np.mean(done.match.ids == source[:30]) > 0.9
    centred = sc.complete(P, copies[:30], method="posterior", effort="fast", metric="pearson")
    assert centred.interval_model.match is None


def test_complete_rows_of_one_table_are_candidates_of_copies(digits):
    P, _, copies, source, _ = digits
    order = np.random.default_rng(0).permutation(430)
    X = np.concatenate([P, copies[:30]])[order]
    done = sc.complete(X, method="posterior", effort="fast")
    at = np.argsort(order)
    assert (done.match.ids[at[:400]] == -1).all() and not done.match.probabilities[at[:400]].any()
    assert np.mean(done.match.ids[at[400:]] == at[source[:30]]) > 0.9


@pytest.mark.parametrize("given", [{"prior": 0}, {"prior": 1.5}, {"copies": "yes"}])
def test_what_is_refused(given):
    with pytest.raises(InputError, match=next(iter(given))):
        sc.complete(np.ones((3, 2)), np.ones((1, 2)), method="posterior", **given)
