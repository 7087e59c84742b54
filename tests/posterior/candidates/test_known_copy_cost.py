"""Vectors of likely copies are moved only where that costs other queries little."""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest

from simcomplete._posterior.candidates.copies import moved_if_harmless
from simcomplete._posterior.candidates.likely_sources import ranked_first
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.copy_classes import RATES, CopyModel
from simcomplete._rows.table import HeldRows

NOTHING = np.zeros(5)
CLASSES = CopyModel(np.zeros((21, 4)), NOTHING, NOTHING, NOTHING, NOTHING + 1, RATES)  # .038 in all


@dataclass(frozen=True)
class Mover:
    """Puts a vector where it is told, if the prior is the one expected."""

    to: float
    prior: object
    seen: tuple = (True,)
    classes: CopyModel = CLASSES
    moves: bool = True
    doubtful: bool = True
    harm: float | None = None  # where probable copies are put, if that is elsewhere

    def vectors(self, found, rows, near, neighbours, means, unit_space, prior):
        assert rows.observed.tolist() == [[each, False] for each in self.seen]
        assert prior == self.prior
        to = self.to if self.doubtful or self.harm is None else self.harm
        return replace(found, u=np.where(rows.observed[:, :1], [0.6, to], found.u))


@pytest.mark.parametrize(
    ("prior", "most"),
    [
        (None, 1 / (1 - 0.038)),
        (0.5, 2.0),
        ((0.1, 0.05, 0.05), 1 / 0.8),
    ],
)
@pytest.mark.parametrize("more", [-1e-6, 1e-6])
def test_the_error_of_others_may_grow_by_what_copies_can_gain(prior, most, more):
    """The true vector is (.6, .8), the completion (.6, .7): a squared error of .01 with the second unit row."""
    queries = SimpleNamespace(values=np.array([[0.6, 0.0]]), observed=np.array([[True, False]]), neighbours=None)
    holdout = SimpleNamespace(queries=queries, others=np.eye(2), truth=np.array([[0.6, 0.8]]))
    done = SimpleNamespace(u=np.array([[0.6, 0.7]]), length=np.array([0.9]), means=None)
    mover = Mover(0.8 - 0.1 * np.sqrt(most + more), prior)
    assert moved_if_harmless(mover, holdout, done, None, None, prior).moves is (more < 0)


def test_completions_without_error_are_moved_where_that_changes_nothing():
    queries = SimpleNamespace(values=np.array([[0.6, 0.0]]), observed=np.array([[True, False]]), neighbours=None)
    holdout = SimpleNamespace(queries=queries, others=np.eye(2), truth=np.array([[0.6, 0.8]]))
    done = SimpleNamespace(u=np.array([[0.6, 0.8]]), length=np.array([1.0]), means=None)
    assert moved_if_harmless(Mover(0.8, None), holdout, done, None, None, None).moves
    assert not moved_if_harmless(Mover(0.7, None), holdout, done, None, None, None).moves


@pytest.mark.parametrize(("learnt_from", "seen", "moves"), [(1, (False, True), True), (2, (True, True), False)])
def test_queries_that_were_not_learnt_from_decide_where_there_are_some(learnt_from, seen, moves):
    """Moved to (.6, .75), the first query has a larger error than before, the second a smaller one."""
    values, observed = np.full((2, 2), 0.6), np.array([[True, False]] * 2)
    queries = SimpleNamespace(values=values, observed=observed, neighbours=None)
    holdout = SimpleNamespace(queries=queries, others=np.eye(2), truth=np.array([[0.6, 0.3], [0.6, 0.8]]))
    done = SimpleNamespace(u=np.array([[0.6, 0.4], [0.6, 0.7]]), length=np.array([0.8, 0.9]), means=None)
    mover = Mover(0.75, None, seen)
    assert moved_if_harmless(mover, holdout, done, None, None, None, learnt_from).moves is moves


@pytest.mark.parametrize(("of_probable", "moves"), [(0.7, True), (0.69, False)])
def test_probable_copies_are_moved_where_only_the_others_do_harm(of_probable, moves):
    queries = SimpleNamespace(values=np.array([[0.6, 0.0]]), observed=np.array([[True, False]]), neighbours=None)
    holdout = SimpleNamespace(queries=queries, others=np.eye(2), truth=np.array([[0.6, 0.8]]))
    done = SimpleNamespace(u=np.array([[0.6, 0.7]]), length=np.array([0.9]), means=None)
    found = moved_if_harmless(Mover(0.6, None, harm=of_probable), holdout, done, None, None, None)
    assert (found.moves, found.doubtful) == (moves, False)
    found = moved_if_harmless(Mover(0.75, None, harm=of_probable), holdout, done, None, None, None)
    assert found.moves and found.doubtful


def test_vectors_of_rows_that_are_probably_no_copies_stay():
    rng = np.random.default_rng(0)
    P = rng.random((80, 8))
    Q = np.where(rng.random((20, 8)) < 0.6, np.nan, P[:20] + 0.02 * rng.standard_normal((20, 8)))
    model = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), rng=np.random.default_rng(1), effort="fast", copies=True)
    model = replace(model, copying=replace(model.copying, moves=True, doubtful=True))
    some = replace(model, copying=replace(model.copying, doubtful=False)).vectors(Q)
    moved, plain = model.vectors(Q), replace(model, copying=None).vectors(Q)
    probable = moved.match.copy > 0.5
    assert 0 < probable.sum() < 20
    np.testing.assert_array_equal(some.u, np.where(probable[:, None], moved.u, plain.u))
    assert (moved.u[~probable] != plain.u[~probable]).any()
    np.testing.assert_array_equal(some.match.probabilities, moved.match.probabilities)


def test_copies_are_named_also_where_vectors_stay():
    rng = np.random.default_rng(0)
    P = rng.random((80, 8))
    Q = np.where(rng.random((6, 8)) < 0.4, np.nan, P[:6])
    fit = {"rng": np.random.default_rng(1), "effort": "fast"}
    model = CandidateModel.fit(HeldRows(P), ~np.isnan(Q), **fit, copies=True)
    assert model.copying.moves
    still = replace(model, copying=replace(model.copying, moves=False)).vectors(Q)
    moved, plain = model.vectors(Q), replace(model, copying=None).vectors(Q)
    np.testing.assert_array_equal(still.u, plain.u)
    np.testing.assert_array_equal(still.length, plain.length)
    assert np.abs(moved.u - plain.u).max() > 0.01
    np.testing.assert_array_equal(still.match.ids, moved.match.ids)
    np.testing.assert_array_equal(still.match.probabilities, moved.match.probabilities)


@pytest.mark.parametrize(("cosine", "weight"), [(0.9, None), (0.994, 0.95), (0.995, 0.0)])
def test_no_more_than_95_percent_of_a_vector_are_its_source(cosine, weight):
    """A rival at this cosine with the source is ahead by .99 sin: odds of .99 sin / (1 - cos), and a fifth more."""
    u, source = np.array([0.0, 0.99]), np.array([1.0, 0.0])
    rival = np.array([cosine, np.sqrt(1 - cosine**2)])
    odds = 1.2 * (0.99 * rival[1]) / (1 - cosine)
    if weight is None:  # as far as is needed
        weight = odds / (1 + odds)
    moved, length = ranked_first(u, 0.99, source, np.stack([source, rival]), np.zeros_like)
    np.testing.assert_allclose(moved, (1 - weight) * u + weight * source, atol=1e-12)
    assert length == pytest.approx(np.linalg.norm(moved))
