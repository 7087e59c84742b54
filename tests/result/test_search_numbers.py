"""What a search is asked for besides scores is what the other methods answer, for the neighbours found."""

import pickle

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError

ASKED = {"above": 0.5, "std": True, "quantile": 0.3, "top": 5}
NAMES = ["probability", "std", "quantile", "top_probability"]


@pytest.fixture(scope="module")
def tables():
    rng = np.random.default_rng(5)
    P = rng.normal(size=(100, 12)) @ rng.normal(size=(12, 12))
    return P, np.where(rng.random((8, 12)) < 0.4, np.nan, P[:8] + 0.3)


@pytest.fixture(scope="module")
def done(tables):
    return sc.complete(*tables, method="posterior", effort="fast")


@pytest.fixture(scope="module")
def model(tables):
    return sc.PosteriorCompleter(effort="fast").fit(tables[0])


@pytest.mark.parametrize("order", ["similarity", "balanced"])
def test_numbers_of_a_search(done, order):
    found = done.search(3, order=order, **ASKED)
    every = [done.probability(0.5), done.std(), done.quantile(0.3), done.top_probability(5)]
    assert list(found.numbers) == NAMES
    for name, of_all in zip(NAMES, every, strict=True):
        np.testing.assert_allclose(found.numbers[name], np.take_along_axis(of_all, found.ids, axis=1), atol=1e-12)
    frame = found.to_frame()
    assert list(frame.columns) == ["query", "rank", "candidate", "score", "low", "high", *NAMES]
    np.testing.assert_array_equal(frame["std"], found.numbers["std"].ravel())
    assert list(pickle.loads(pickle.dumps(found)).numbers) == NAMES
    assert "top_probability" in str(found)


def test_numbers_of_a_search_by_a_fitted_model(model, tables):
    Q = tables[1]
    found = model.search(Q, 3, **ASKED)
    every = [model.probability(Q, 0.5), model.std(Q), model.quantile(Q, 0.3), model.top_probability(Q, 5)]
    np.testing.assert_array_equal(found.ids, model.search(Q, 3).ids)
    for name, of_all in zip(NAMES, every, strict=True):
        np.testing.assert_allclose(found.numbers[name], np.take_along_axis(of_all, found.ids, axis=1), atol=1e-12)


@pytest.mark.filterwarnings("ignore::simcomplete.errors.InputWarning")
def test_rows_without_values_have_no_numbers(model, tables):
    P, Q = tables[0], tables[1].copy()
    Q[2] = np.nan
    done = sc.complete(P, Q, method="posterior", effort="fast")
    for found in (done.search(2, **ASKED), model.search(Q, 2, **ASKED)):
        assert [np.isnan(of[2]).all() for of in found.numbers.values()] == [True] * 4
        assert [np.isfinite(of[[0, 1, 3]]).all() for of in found.numbers.values()] == [True] * 4


def test_candidates_are_known_among_each_other(done):
    found = done.search(2, rows="candidates", std=True, quantile=0.1)
    assert not found.numbers["std"].any()
    np.testing.assert_array_equal(found.numbers["quantile"], found.scores)


def test_a_few_of_all_incomplete_rows(tables):
    done = sc.complete(np.concatenate(tables), method="posterior", effort="fast")
    found = done.search(3, rows=[101, 103], std=True)
    every = done.std(rows=[101, 103], cols=np.arange(108))
    np.testing.assert_allclose(found.numbers["std"], np.take_along_axis(every, found.ids, axis=1), atol=1e-12)


@pytest.mark.parametrize("asked", [{"quantile": 0}, {"quantile": 1.0}, {"top": 0}, {"top": 101}, {"top": 2.5}])
def test_numbers_that_there_are_not(done, model, tables, asked):
    (name,) = asked
    for search in (done.search, lambda **asked: model.search(tables[1], **asked)):
        for more in ({}, {"above": 0.5}):
            with pytest.raises(InputError, match=f"{name}="):
                search(**asked, **more)


def test_results_without_intervals_have_no_numbers(tables):
    done = sc.complete(*tables, method="smcnn")
    for asked in ({"std": True}, {"quantile": 0.5}, {"top": 3}):
        with pytest.raises(InputError, match="no intervals"):
            done.search(2, **asked)


def test_a_seed_that_is_none(done):
    with pytest.raises(InputError, match="random_state='x' is not a seed"):
        done.sample(1, random_state="x")
