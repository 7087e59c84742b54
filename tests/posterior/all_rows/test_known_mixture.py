"""Pairs of rows that a completion is scored on, and the mixture, by hand or in plain loops."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from factor_rows import NAN, drawn
from sklearn.datasets import load_wine

import simcomplete as sc
from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows import member_fits, mixture
from simcomplete._posterior.all_rows.hidden_values import HiddenValues, pairs_stand_for
from simcomplete._posterior.all_rows.members import OverRows
from simcomplete._posterior.all_rows.mixture import MemberFits, auto_rank, mix_rows
from simcomplete._posterior.all_rows.scored_pairs import HoldoutResult, RowMoments, ScoredPairs, drawn_others
from simcomplete._posterior.all_rows.select import RowsSetting, complete_rows
from simcomplete._posterior.values.members import SingleMember
from simcomplete._result.status import Status
from simcomplete.errors import InputWarning

# Scored pairs


def test_errors_of_scored_pairs_one_at_a_time():
    X, hidden = drawn(n=40)
    lost = HiddenValues.of(hidden, None, np.random.default_rng(0))
    others = np.array([3, 8, int(lost.scored[0])])
    features = np.zeros(12)
    features[:7] = [1, 1, 0.5, 3, 1, 2, 1]
    pairs = ScoredPairs.of(lost, others, X[others], features)
    rng = np.random.default_rng(2)
    mean, variance = (
        X[lost.scored] + 0.2 * rng.standard_normal((len(lost.scored), 12)),
        rng.uniform(0, 0.2, (len(lost.scored), 12)),
    )
    found = RowMoments.of(mean, variance)
    products, sums = pairs.products(found.mean), pairs.sums(found.square)
    gaps = pairs.gaps(products, sums)
    for i, row in enumerate(lost.scored):
        K = ~np.isnan(hidden[row]) & (features > 0)
        a = features[K]
        for j, other in enumerate(others):
            if row == other:
                assert gaps[i, j] == 0
                continue
            b = X[other, K]
            truth = (a * X[row, K]) @ b / np.sqrt(a @ X[row, K] ** 2) / np.sqrt(a @ b**2)
            estimate = (a * mean[i, K]) @ b / np.sqrt(a @ b**2) / np.sqrt(a @ (mean[i, K] ** 2 + variance[i, K]))
            assert gaps[i, j] == pytest.approx(estimate - truth, abs=1e-10)


@pytest.mark.parametrize("weights", [None, np.r_[np.full(6, 1.0), np.full(6, 9.0)]])
def test_the_best_level_has_the_least_error_of_pairs_that_count_by_their_common_features(weights):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 12))
    lost = HiddenValues.of(np.where(rng.random(X.shape) < 0.3, NAN, X), None, rng)
    others, before = np.arange(40), lost.before()
    mean, variance = np.where(lost.lost, 0.0, lost.truth), np.where(lost.lost, 2.5 * lost.truth**2, 0.0)
    found = RowMoments.of(mean, variance)
    exact = RowMoments.of(np.nan_to_num(before), np.zeros_like(before))
    w = np.ones(12) if weights is None else weights

    def error(level):
        total = 0.0
        for i, row in enumerate(lost.scored):
            for j in others[others != row]:
                K = lost.known[i] & ~np.isnan(before[j])
                if K.any():
                    root = np.sqrt(w[K])  # a feature that counts nine times is one of three times its size
                    a, b, m = before[row, K] * root, before[j, K] * root, mean[i, K] * root
                    whole = np.sqrt((m @ m + level * (w[K] @ variance[i, K])) * (b @ b))
                    total += K.sum() * (m @ b / whole - a @ b / np.sqrt((a @ a) * (b @ b))) ** 2
        return total

    levels = np.geomspace(1 / 64, 2.0, 57)
    best = HoldoutResult(lost, others, found, exact).best_level(weights)
    assert best == pytest.approx(min(levels, key=error))
    assert 0.2 < best < 0.8


def test_the_level_suits_features_that_are_seldom_known():
    """Variances of what is often known are right, those of what is seldom known three times too large."""
    rng = np.random.default_rng(0)
    known = rng.random((120, 20)) < np.repeat([0.9, 0.3], 10)
    X = rng.standard_normal((120, 20)) + 1.0
    lost = HiddenValues.of(np.where(known, X, NAN), None, rng)
    others, before = np.arange(120), lost.before()
    variance = lost.lost * np.repeat([1.0, 3.0], 10)
    found = RowMoments.of(np.where(lost.lost, 1.0, lost.truth), variance)
    result = HoldoutResult(lost, others, found, RowMoments.of(np.nan_to_num(before), np.zeros_like(before)))
    assert result.best_level(pairs_stand_for(known)) < 0.9 * result.best_level()


def test_uncertain_values_of_a_feature_larger_than_all_others_do_not_shorten_rows():
    """Proline is most of a row of this table: cosines are near 1 whatever it is, and so is what is expected of them."""
    X = load_wine().data
    rng = np.random.default_rng(0)
    known = rng.random(X.shape) < rng.uniform(0.2, 0.9, X.shape[1])
    known[:, 12], known[:, 4] = rng.random(len(X)) < 0.25, True
    hidden = np.where(known, X, np.nan)
    unit, off = X / np.linalg.norm(X, axis=1, keepdims=True), ~np.eye(len(X), dtype=bool)
    with pytest.warns(InputWarning, match="nearly equal"):
        S = sc.complete(hidden, method="posterior", random_state=0, progress=False).similarity()
    S0 = np.asarray(sc.overlap_similarity(hidden, progress=False))
    assert np.sum(((S - unit @ unit.T) ** 2)[off]) < np.sum(((S0 - unit @ unit.T) ** 2)[off])


@pytest.mark.parametrize("weight", [0.0, 0.05, 0.5, 0.95, 1.0])
def test_weights_are_tried_in_steps_of_a_twentieth(weight):
    rng = np.random.default_rng(1)
    others = rng.standard_normal((5, 6))
    length = np.tile(np.linalg.norm(others, axis=1), (4, 1))
    a, b = (RowMoments.of(rng.standard_normal((4, 6)), rng.uniform(0, 1, (4, 6))) for _ in range(2))
    truth = a.mixed(b, weight).vectors @ others.T / length
    pairs = ScoredPairs(np.ones((4, 6)), others, length, truth, np.ones((4, 5), dtype=bool))
    assert pairs.best_weight(a, b) == pytest.approx(weight)


def test_moments_are_mixed_and_become_vectors():
    a = RowMoments.of(np.array([[3.0, 4.0]]), np.zeros((1, 2)))
    b = RowMoments.of(np.zeros((1, 2)), np.ones((1, 2)))
    both = a.mixed(b, 0.25)
    np.testing.assert_allclose(both.mean, [[0.75, 1.0]])
    np.testing.assert_allclose(both.square, [[0.25 * 9 + 0.75, 0.25 * 16 + 0.75]])
    np.testing.assert_allclose(both.vectors, both.mean / np.sqrt(7.75))
    np.testing.assert_allclose(a.vectors, [[0.6, 0.8]])
    assert not RowMoments.of(np.zeros((1, 2)), np.zeros((1, 2))).vectors.any()


def test_other_rows_are_drawn_once_each():
    found = drawn_others(2000, np.random.default_rng(0))
    assert len(set(found.tolist())) == len(found) <= 2000
    np.testing.assert_array_equal(np.sort(drawn_others(9, np.random.default_rng(0))), np.arange(9))


# The mixture


@pytest.mark.parametrize(
    ("shape", "known", "rank"),
    [
        ((400, 100), 1.0, 25),
        ((1000, 1000), 1.0, 40),
        ((400, 100), 0.5, 12),
        ((60, 12), 0.5, 5),
        ((8, 9), 1.0, 3),
        ((2, 9), 1.0, 1),
    ],
)
def test_the_rank_is_a_quarter_of_what_is_known_of_a_row_or_feature(shape, known, rank):
    X = np.where(np.arange(shape[0] * shape[1]).reshape(shape) % 2 < 2 * known, 1.0, NAN)
    assert np.mean(~np.isnan(X)) == known
    assert auto_rank(X) == rank


def test_a_mixture_is_the_mean_of_its_two_sides():
    hidden = drawn(n=90)[1]
    rng = np.random.default_rng(0)
    single = complete_rows(hidden, rng, limits=Limits(25, progress=False))
    found = mix_rows(hidden, single, rng, masks=None, limits=Limits(25, progress=False), tilt=False)
    assert 0 <= found.weight <= 1 and found.names[0] == "single" and found.names[-2:] == ("dual", "std")
    stack = found.stack.values(hidden)
    done = single.model.fill(hidden)
    # Both in the units of the stack, whose rows are divided by their sizes.
    ratio = (single.model.scaling.sizes(hidden) / found.stack.scaling.sizes(hidden))[:, None]
    own = single.model.values(done) * ratio
    variance = done.variance * single.model.factor(done)[:, None] * ratio**2
    w = found.weight
    assert 0 < w < 1
    mean = w * stack.mean + (1 - w) * own
    square = w * (stack.mean**2 + stack.variance) + (1 - w) * (own**2 + variance)
    np.testing.assert_allclose(found.U, mean / np.sqrt(square.sum(axis=1, keepdims=True)), atol=1e-10)
    assert not found.pairs.doubt.any() and found.stack.recipe.tilt.beta == 0
    assert isinstance(found.stack.members[0], OverRows)
    member = SingleMember.of(found)
    assert member.count == 2 == len(member.expect(hidden).means) and member.calibrated
    assert SingleMember.of(single).count == 1 == len(SingleMember.of(single).expect(hidden).means)
    for level in (1.0, 2.5):  # of values that were lost at random, whose mixture may be another
        random = replace(found, random=(0.3, level)).moments(hidden, tilted=False)
        plain = found.stack.at_random().values(hidden)
        mean = 0.3 * plain.mean + 0.7 * own
        square = 0.3 * (plain.mean**2 + plain.variance) + 0.7 * (own**2 + variance)
        np.testing.assert_allclose(random.mean, mean, atol=1e-10)
        np.testing.assert_allclose(random.square, mean**2 + level * (square - mean**2), atol=1e-10)


def test_the_level_of_a_stack_stands_for_all_features_and_that_of_restricted_similarities_for_their_own(monkeypatch):
    hidden, asked, best_level = drawn(n=90)[1], [], HoldoutResult.best_level

    def noted(result, features=None):
        asked.append(features)
        return best_level(result, features)

    monkeypatch.setattr(HoldoutResult, "best_level", noted)
    rng, limits = np.random.default_rng(0), Limits(25, progress=False)
    mix_rows(hidden, complete_rows(hidden, rng, limits=limits), rng, masks=None, limits=limits, tilt=False)
    np.testing.assert_allclose(asked[0], pairs_stand_for(~np.isnan(hidden)))
    assert len(asked) == 2 and asked[1] is None


def test_where_nothing_can_be_learnt_the_single_model_is_the_answer(monkeypatch):
    hidden = drawn(n=90)[1]
    limits = Limits(25, progress=False)
    single = complete_rows(hidden, np.random.default_rng(0), limits=limits)
    monkeypatch.setattr(mixture.HiddenValues, "of", lambda *_: None)
    assert mix_rows(hidden, single, np.random.default_rng(0), masks=None, limits=limits, tilt=True) is single


def test_after_a_run_was_cut_short_other_members_take_one_step_each(monkeypatch):
    asked = []

    def noted(rows, rank, pooled, limits, start):
        asked.append(limits.max_iter)
        code = "interrupted" if len(asked) == 2 else "converged"
        return "factors", SimpleNamespace(status=Status(code, "stopped", ok=False))

    monkeypatch.setattr(member_fits, "fit", noted)
    fits = MemberFits(Limits(max_iter=9), RowsSetting("unit", "fa", 3), 3)
    for _ in range(4):
        assert fits._fit(None, 3, "fa", Limits(max_iter=9), None) == "factors"
    assert asked == [9, 9, 1, 1]
    assert fits.cut == Status("interrupted", "stopped; this is the best so far", ok=False)
