"""What a fitted estimator says about new rows."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import simcomplete as sc
from simcomplete._result import thresholds
from simcomplete._result.thresholds import learn_correction
from simcomplete.errors import InputError


@pytest.fixture(scope="module")
def fitted():
    X = load_digits().data[np.random.default_rng(0).permutation(1797)]
    Q = np.where(np.random.default_rng(1).random((30, 64)) < 0.6, np.nan, X[400:430])
    return sc.PosteriorCompleter(effort="fast").fit(X[:400], masks=~np.isnan(Q)), Q, X


def test_the_same_row_by_row(fitted):
    model, Q, _ = fitted
    S, (low, high), p = model.similarity(Q), model.interval(Q, 0.8), model.probability(Q, above=0.8)
    assert S.shape == low.shape == high.shape == p.shape == (30, 400)
    for row in (0, 17):
        one = Q[row : row + 1]
        np.testing.assert_allclose(model.similarity(one)[0], S[row], atol=1e-12)
        np.testing.assert_allclose(np.vstack(model.interval(one, 0.8)), [low[row], high[row]], atol=1e-12)
        np.testing.assert_allclose(model.probability(one, above=0.8)[0], p[row], atol=1e-9)


def test_all_that_a_result_says(fitted):
    model, Q, X = fitted
    done = sc.complete(X[:400], Q, method="posterior", effort="fast")
    answers = {
        "quantile": (model.quantile(Q, 0.25), done.quantile(0.25)),
        "std": (model.std(Q), done.std()),
        "top_probability": (model.top_probability(Q, 5), done.top_probability(5)),
        "sample": (model.sample(Q, 3, random_state=1), done.sample(3, random_state=1)),
    }
    for name, (by_model, by_result) in answers.items():
        np.testing.assert_allclose(by_model, by_result, atol=1e-9, err_msg=name)


def test_coverage(fitted):
    model, Q, X = fitted
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    low, high = model.interval(Q, 0.9)
    truth = unit[400:430] @ unit[:400].T
    assert 0.84 < ((truth >= low) & (truth <= high)).mean() < 0.96


def test_too_few_candidates():
    model = sc.PosteriorCompleter().fit(np.random.default_rng(0).random((20, 3)))
    assert model.similarity([[1.0, np.nan, 2.0]]).shape == (1, 20)
    with pytest.raises(InputError, match="at least 40 complete candidates"):
        model.interval([[1.0, np.nan, 2.0]])


@pytest.mark.parametrize("changes", [{"metric": "pearson"}, {"center": "mean", "scale": "sd"}])
def test_rows_are_changed_as_the_fitted_ones(fitted, changes):
    _, Q, X = fitted
    model = sc.PosteriorCompleter(effort="fast", **changes).fit(X[:400], masks=~np.isnan(Q))
    low, high = model.interval(Q, 0.9)
    assert ((model.similarity(Q) > low) & (model.similarity(Q) < high)).mean() > 0.99
    rows = X[:430] - X[:400].mean(axis=0) if "center" in changes else X[:430] - X[:430].mean(axis=1, keepdims=True)
    if "scale" in changes:
        deviations = X[:400].std(axis=0)
        rows = rows / np.where(deviations > 0, deviations, 1.0)
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    truth = unit[400:] @ unit[:400].T
    assert 0.82 < ((truth >= low) & (truth <= high)).mean() < 0.97


def test_a_row_of_which_nothing_was_observed(fitted):
    model, Q, _ = fitted
    Q = Q[:2].copy()
    Q[1] = np.nan
    low, high = model.interval(Q)
    assert (low[1] == -1).all() and (high[1] == 1).all() and (low[0] > -1).all()
    assert (model.probability(Q, above=0.9)[1] == 0.5).all()


def test_copies_need_values_that_are_the_same(fitted):
    _, Q, X = fitted
    with pytest.raises(InputError, match="copies=True cannot go with metric='pearson'"):
        sc.PosteriorCompleter(metric="pearson", copies=True).fit(X[:100])
    with pytest.raises(InputError, match="copies=True cannot go with metric='pearson'"):
        sc.complete(X[:100], Q, method="posterior", metric="pearson", copies=True)


def test_probabilities_are_learnt_once_for_the_same_candidates(fitted, monkeypatch):
    _, Q, X = fitted
    learnt = []

    def learn(*given):
        learnt.append(given)
        return learn_correction(*given)

    monkeypatch.setattr(thresholds, "learn_correction", learn)
    model = sc.PosteriorCompleter(effort="fast").fit(X[:400])
    first = [model.search(Q[:3], 5, above=t).probability for t in (0.8, 0.9, 0.8)]
    np.testing.assert_array_equal(first[0], first[2])
    assert (first[0] >= first[1]).all()
    np.testing.assert_array_equal(model.probability(Q[:3], 0.8), model._answer(Q[:3]).probability(0.8))
    assert len(learnt) == 1
    for change in (lambda: model.partial_fit(X[400:420]), lambda: model.forget([0]), lambda: model.recalibrate()):
        learnt.clear()
        change()
        again = model.search(Q[:3], 5, above=0.8)
        assert len(learnt) == 1
        fresh = model._answer(Q[:3])._with_corrections([]).search(5, above=0.8)  # by a result that remembers nothing
        np.testing.assert_array_equal(again.ids, fresh.ids)
        np.testing.assert_array_equal(again.probability, fresh.probability)


def test_new_queries_of_a_result_share_what_it_learnt(fitted, monkeypatch):
    _, Q, X = fitted
    done = sc.complete(X[:400], Q[:5], method="posterior", effort="fast")
    done.search(3, above=0.8)
    monkeypatch.setattr(thresholds, "learn_correction", None)  # would fail
    assert done.query(Q[5:8]).probability(above=0.8).shape == (3, 400)
    other = done.view(unit_diagonal=True)  # other rows, so what was learnt is not taken over
    assert other._corrections == []
