"""The model of candidates against a plain re-computation of all of it (`plain_candidates`), and parts by hand."""

from functools import cache

import numpy as np
import pytest
from plain_candidates import Simulated, vectors

import simcomplete as sc
from simcomplete._posterior.candidates import fitting, model
from simcomplete._posterior.candidates import source as pool_of
from simcomplete._posterior.candidates.grid import first_best
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._rows.table import HeldRows


def data(n=44, d=6, n_q=7, seed=0):
    """Candidates with a copy among them, and queries, the first of them complete."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_q, 3)) @ rng.standard_normal((3, d)) + 1.0 + 0.3 * rng.standard_normal((n + n_q, d))
    P, Q = 5 * X[:n], 5 * X[n:]
    P[9] = 2 * P[4]
    Q[np.random.default_rng(seed + 1).random(Q.shape) < 0.5] = np.nan
    Q[np.isnan(Q).all(axis=1), 0] = 1.0
    Q[0] = 5 * X[n]
    return P, Q


@cache
def tries(seed, effort):
    P, Q = data(seed=seed)
    return Simulated(P, ~np.isnan(Q), np.random.default_rng(7)).grid(effort)


@pytest.mark.parametrize("kept", [True, False])
@pytest.mark.parametrize(("effort", "objective"), [("full", "error"), ("full", "recall"), ("fast", "error")])
@pytest.mark.parametrize("seed", [0, 3])
def test_all_of_it_one_row_at_a_time(effort, objective, kept, seed, streaming):
    if not kept:
        streaming()
    P, Q = data(seed=seed)
    given = {"effort": effort, "objective": objective}
    found, u = CandidateModel.fit_transform(HeldRows(P), Q, rng=np.random.default_rng(7), **given)
    assert found.in_memory is kept
    tried = tries(seed, effort)
    if objective == "recall":
        tried = [t for t in tried if t["recall"] == max(t["recall"] for t in tried)]
    best = tried[first_best([t["error"] for t in tried])]
    choice = found.choice
    assert (choice.space, choice.delta, choice.k, choice.a, choice.clip) == best["setting"]
    assert (choice.error, choice.recall) == (pytest.approx(best["error"]), pytest.approx(best["recall"]))
    np.testing.assert_allclose(choice.quantiles, best["quantiles"], rtol=1e-6, atol=1e-9)
    told = choice.as_dict()
    assert (told["space"], told["delta"], told["k"], told["a"], told["clip"]) == best["setting"]
    assert (told["expected_squared_error"], told["expected_recall"]) == (choice.error, choice.recall)
    expected, lengths = vectors(P, Q, best)
    np.testing.assert_allclose(u.u, expected, atol=1e-8)
    np.testing.assert_allclose(u.length, lengths, atol=1e-8)
    np.testing.assert_allclose(found.vectors(Q).u, expected, atol=1e-8)
    assert found.trained


def test_queries_go_in_batches(monkeypatch):
    P, Q = data(n_q=11)
    expected = CandidateModel.fit_transform(HeldRows(P), Q, rng=np.random.default_rng(0), effort="fast")
    monkeypatch.setattr(model, "PASS_QUERIES", 4)
    monkeypatch.setattr(model, "BATCH", 3)
    found = CandidateModel.fit_transform(HeldRows(P), Q, rng=np.random.default_rng(0), effort="fast")
    for name in ("u", "length"):
        np.testing.assert_allclose(getattr(found[1], name), getattr(expected[1], name), atol=1e-12)
        np.testing.assert_allclose(getattr(found[0].vectors(Q), name), getattr(expected[1], name), atol=1e-12)
    assert found[0].vectors(np.empty((0, 6))).u.shape == (0, 6)


@pytest.mark.parametrize("kept", [True, False])
def test_with_fewer_than_forty_candidates_settings_are_fixed(kept, streaming):
    """Raw space, a third of the way to the diagonal, ten neighbours or half of them, log V = log(.35) + log f1."""
    if not kept:
        streaming()
    P, Q = data(n=40)
    assert CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(0)).trained
    for n, k in ((39, 10.0), (12, 6.0)):
        found, u = CandidateModel.fit_transform(HeldRows(P[:n]), Q, rng=np.random.default_rng(0))
        assert not found.trained
        rule = found.choice.lengths
        choice = {"setting": ("raw", 0.3, k, 1.0, False), "lengths": rule}
        expected, _ = vectors(P[:n], Q, choice)
        np.testing.assert_allclose(u.u, expected, atol=1e-8)
        features, size = np.array([[0.7, 5.0, 6.0, 7.0], [-800.0, 0.0, 0.0, 0.0]]), np.array([2.0, 1.0])
        np.testing.assert_allclose(rule.of(features, size), [1 / np.sqrt(1 + 0.35 * np.exp(0.7) / 2), 1.0])
        assert np.isnan([found.choice.error, found.choice.recall, *found.choice.quantiles]).all()
        assert found.choice.quantiles.shape == (1001,)


def test_complete_rows_and_rows_of_zeros():
    P, Q = data()
    Q = np.concatenate([Q, np.zeros((1, 6)), [[0.0, np.nan, np.nan, np.nan, np.nan, np.nan]]])
    found = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(0), effort="fast").vectors(Q)
    np.testing.assert_allclose(found.u[0], Q[0] / np.linalg.norm(Q[0]))
    assert found.length[0] == 1.0
    assert found.length[7] == 0.0
    assert not found.u[7].any()
    assert 0 < found.length[8] < 1
    spread = found.uncertainty
    assert (spread[0], spread[7]) == (0.0, 1.0)
    np.testing.assert_allclose(spread[1:7], np.sqrt(1 - found.length[1:7] ** 2))


@pytest.mark.parametrize("effort", ["full", "fast"])
def test_candidates_come_and_go_as_if_they_had_always_been_there(effort):
    P, Q = data(n=70)
    given = {"rng": np.random.default_rng(0), "effort": effort, "growing": True}
    fitted = CandidateModel.fit(HeldRows(P[:60]), ~np.isnan(Q), **given)
    more = fitted.with_rows(P[60:])
    fewer = more.without(np.array([0, 65]))
    for changed, rows in ((more, P), (fewer, np.delete(P, [0, 65], axis=0))):
        np.testing.assert_allclose(changed.unit, rows / np.linalg.norm(rows, axis=1, keepdims=True))
        assert changed.choice is fitted.choice
        for name, space in changed.spaces.items():
            own = rows / fitted.candidates.scale if name == "raw" else changed.unit
            np.testing.assert_allclose(space.statistics.mean, own.mean(axis=0), atol=1e-12)
            np.testing.assert_allclose(space.statistics.covariance.C, np.cov(own.T, bias=True), atol=1e-12)
            np.testing.assert_allclose(space.lowest, own.min(axis=0))
            np.testing.assert_allclose(space.highest, own.max(axis=0))
        near = changed.candidates.nearest(np.nan_to_num(Q[1:2]), ~np.isnan(Q[1:2]), 5, np.array([], dtype=np.int64))
        S0 = sc.overlap_similarity(np.concatenate([rows, Q[1:2]]))[-1, :-1]
        assert near.ids[0].tolist() == np.argsort(-S0, kind="stable")[:5].tolist()


def test_candidates_that_may_change_are_the_models_own():
    P, Q = data()
    fitted = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(0), effort="fast", growing=True)
    before = P.copy()
    P[:] = 0.0
    np.testing.assert_array_equal(fitted.candidates.table.whole(), before)


def test_wide_rows_are_changed_with_evenly_spaced_ones(monkeypatch):
    monkeypatch.setattr("simcomplete._posterior.candidates.moments.WIDE", 5)
    monkeypatch.setattr(pool_of, "POOL_ROWS", 4)
    monkeypatch.setattr(pool_of, "POOL_VALUES", 4 * 6)
    P, Q = data(n=50)
    fitted = CandidateModel.fit(
        HeldRows(P[:45]), ~np.isnan(Q), rng=np.random.default_rng(0), effort="fast", growing=True
    )
    some = P[[0, 16, 32, 49]]
    mean = (some / np.linalg.norm(some, axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(fitted.with_rows(P[45:]).spaces["unit"].statistics.mean, mean)
    some = P[[1, 15, 29, 44]]
    mean = (some / np.linalg.norm(some, axis=1, keepdims=True)).mean(axis=0)
    np.testing.assert_allclose(fitted.without(np.array([0])).spaces["unit"].statistics.mean, mean)


# The pool and what is drawn from it


@pytest.mark.parametrize(
    ("n", "d", "size"),
    [(2000, 10**7, 2000), (2001, 10**7, 2000), (2**16, 64, 2**16), (2**16 + 1, 64, 4000), (3001, 1400, 2995)],
)
def test_how_many_rows_a_pool_holds(n, d, size):
    """2000 rows at least and all up to 2^22 values; where it is a part, no more than 4000 rows."""
    assert pool_of.pool_size(n, d) == size


def test_a_pool_that_is_a_part_is_drawn_and_kept_in_order(monkeypatch):
    monkeypatch.setattr(pool_of, "POOL_ROWS", 20)
    monkeypatch.setattr(pool_of, "POOL_VALUES", 1)
    P, _ = data()
    pool = pool_of.Pool.draw(HeldRows(P), np.random.default_rng(2))
    positions = np.sort(np.random.default_rng(2).choice(44, 20, replace=False))
    assert pool.positions.tolist() == positions.tolist()
    assert not pool.whole
    assert pool.scale == pytest.approx(np.median(np.linalg.norm(P[positions], axis=1)))
    np.testing.assert_allclose(pool.rows("raw"), P[positions] / pool.scale)
    np.testing.assert_allclose(np.linalg.norm(pool.rows("unit"), axis=1), 1)
    masks = np.ones((1, 6), dtype=bool)
    drawn = fitting.SimulatedQueries.draw(pool, masks, 3, np.random.default_rng(0))
    assert drawn.copies_of.shape == (3, 6)  # copies among all candidates are still to be found
    assert drawn.excluded.tolist() == positions[drawn.gone].tolist()


def test_copies_of_held_out_candidates_are_gone_unless_too_few_are_left():
    P, _ = data(n=12)
    masks = np.ones((1, 6), dtype=bool)
    for copies, gone in ((5, 6), (6, 1)):  # of twelve rows: six gone are no more than half, seven are
        Y = P.copy()
        Y[4 : 5 + copies] = np.outer(np.arange(1, copies + 2), P[4])
        pool = pool_of.Pool.draw(HeldRows(Y), np.random.default_rng(0))
        for seed in range(40):
            drawn = fitting.SimulatedQueries.draw(pool, masks, 1, np.random.default_rng(seed))
            if 4 <= drawn.excluded[0] < 5 + copies:
                break
        assert drawn.gone.sum() == gone
        assert drawn.copies_of is None
        assert drawn.others.shape == (12 - gone, 6)


def test_others_and_held_out_rows_are_no_more_than_wanted(monkeypatch):
    monkeypatch.setattr(fitting, "OTHERS", 9)
    pool = pool_of.Pool.draw(HeldRows(data()[0]), np.random.default_rng(0))
    drawn = fitting.SimulatedQueries.draw(pool, np.ones((2, 6), dtype=bool), 5, np.random.default_rng(0))
    assert drawn.truth.shape == (5, 9)
    assert drawn.observed.all()


@pytest.mark.parametrize(
    ("shape", "effort", "growing", "kept"),
    [
        ((2**16, 64), "full", False, True),
        ((2**16 + 1, 64), "full", False, False),
        ((2**19, 64), "best", False, True),
        ((2**19 + 1, 64), "best", False, False),
        ((2**19, 64), "fast", True, True),
        ((2**19, 64), "fast", False, False),
    ],
)
def test_how_many_candidates_are_kept_in_memory(shape, effort, growing, kept):
    """2^22 values, or 2^25 where candidates are searched again and again."""
    table = HeldRows(np.broadcast_to(np.zeros(1), shape))
    assert fitting.is_kept(table, effort, growing) is kept
