"""Scorers: what they compute, and grid searches with and without ground truth."""

import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import simcomplete as sc
from simcomplete.errors import InputError
from simcomplete.estimators import SMCNN, SimilarityCompleter, SMCNmF
from simcomplete.scorers import hidden, hidden_value_scorer, recall_scorer, relative_error_scorer


@pytest.fixture(scope="module")
def truth(digits):
    return digits[:120]


@pytest.fixture(scope="module")
def X(truth):
    return sc.masks.apply(truth, sc.masks.random(truth, missing=0.6))


def test_scoring_the_fitted_rows_is_the_papers_error(X, truth):
    X = X.copy()
    X[4] = np.nan
    model = SMCNN(rank=10).fit(X)
    S0, S = sc.overlap_similarity(X), sc.overlap_similarity(truth)
    expected = sc.metrics.relative_squared_error(model.similarity(), S0, S)
    assert relative_error_scorer()(model, X, truth) == pytest.approx(-expected, rel=1e-9)


def test_pairs_with_complete_fitted_rows_are_compared_with_the_truth(X, truth):
    model = SMCNN(rank=10).fit(truth[:80])
    S0 = sc.overlap_similarity(np.vstack([truth[:80], X[80:]]))[80:, :80]
    S = sc.overlap_similarity(truth)[80:, :80]
    S_hat = model.similarity(X[80:])
    error = relative_error_scorer(pairs="fitted")(model, X[80:], truth[80:])
    assert error == pytest.approx(-sc.metrics.relative_squared_error(S_hat, S0, S), rel=1e-9)
    recall = recall_scorer(10, pairs="fitted")(model, X[80:], truth[80:])
    assert recall == pytest.approx(sc.metrics.recall_at(S_hat, S, 10))


def test_posterior_is_scored_by_its_own_similarities(X, truth):
    model = sc.PosteriorCompleter(effort="fast").fit(truth[:80])
    S0 = sc.overlap_similarity(np.vstack([truth[:80], X[80:]]))[80:, :80]
    S, S_hat = sc.overlap_similarity(truth)[80:, :80], model.similarity(X[80:])
    error = relative_error_scorer(pairs="fitted")(model, X[80:], truth[80:])
    assert error == pytest.approx(-sc.metrics.relative_squared_error(S_hat, S0, S), rel=1e-9)
    recall = recall_scorer(10, pairs="fitted")(model, X[80:], truth[80:])
    assert recall == pytest.approx(sc.metrics.recall_at(S_hat, S, 10))
    assert -1.0 < error < 0.0
    assert -1.0 < hidden_value_scorer(0.5)(model, truth[80:]) < 0.0


def test_recall_leaves_each_row_itself_out(X, truth):
    model = SMCNN(rank=10).fit(X[:80])
    V = model.transform(X[80:])
    S_hat, S = V @ V.T, sc.overlap_similarity(truth[80:])
    np.fill_diagonal(S_hat, -9)
    np.fill_diagonal(S, -9)  # last of 40 in both, so never among the first 5
    assert recall_scorer(5)(model, X[80:], truth[80:]) == pytest.approx(sc.metrics.recall_at(S_hat, S, 5))


def test_hiding_spares_what_is_missing_already_and_leaves_one(X):
    some = X[:30].copy()
    some[0] = np.nan
    some[1, 1:] = np.nan
    some[1, 0] = 5.0
    for missing in (0.0, 0.5, 1.0):
        gone = hidden(some, missing, seed=3)
        assert np.array_equal(gone, hidden(some, missing, seed=3), equal_nan=True)
        known, left = (~np.isnan(some)).sum(axis=1), (~np.isnan(gone)).sum(axis=1)
        assert np.array_equal(left[2:], np.maximum(known[2:] - np.round(missing * known[2:]), 1))
        assert np.array_equal(gone[:2], some[:2], equal_nan=True)
        assert np.array_equal(gone[~np.isnan(gone)], some[~np.isnan(gone)])


def test_hidden_values_stand_for_the_truth(X):
    model = SMCNN(rank=10).fit(X[:80])
    scorer = hidden_value_scorer(0.5, random_state=1)
    given = hidden(X[80:], 0.5, 1)
    stacked = [sc.overlap_similarity(np.vstack([X[:80], rows]))[80:, :80] for rows in (given, X[80:])]
    expected = sc.metrics.relative_squared_error(model.similarity(given), *stacked)
    assert scorer(model, X[80:]) == pytest.approx(-expected, rel=1e-9)
    assert scorer(model, X[80:]) == scorer(model, X[80:], y=np.zeros(40))
    assert scorer(model, X[80:]) != hidden_value_scorer(0.5, random_state=2)(model, X[80:])
    assert 0 < hidden_value_scorer(0.5, score="recall", pairs="new", k=5)(model, X[80:]) < 1


@pytest.mark.parametrize("estimator", [SMCNN(), SMCNmF(), SimilarityCompleter(method="smc_f")], ids=repr)
def test_grid_search_with_and_without_truth(estimator, X, truth):
    grid = {"rank": [5, 60], "penalty": [1e-3, 10.0]}
    with_truth = GridSearchCV(estimator, grid, scoring=relative_error_scorer(), cv=3).fit(X, truth)
    without = GridSearchCV(estimator, grid, scoring=hidden_value_scorer(), cv=3).fit(X)
    for search in (with_truth, without):
        assert np.isfinite(search.cv_results_["mean_test_score"]).all()
        assert search.best_params_ != {"rank": 60, "penalty": 1e-3}
        assert search.transform(X).shape == (120, search.best_params_["rank"])
    # What was chosen blindly is, by the truth too, in the better half (settings can tie) and clearly not the worst.
    scores = with_truth.cv_results_["mean_test_score"]
    assert scores[without.best_index_] >= np.median(scores)
    assert scores[without.best_index_] > scores.min() + 0.1


def test_grid_search_over_the_step(X, truth):
    # A step that is too small has hardly left its random start after 50 iterations, and the score says so.
    grid = {"step": [1e-5, 1e-3, "backtracking"]}
    model = SMCNN(rank=5, solver="descent", max_iter=50)
    for scorer in (relative_error_scorer(), hidden_value_scorer()):
        search = GridSearchCV(model, grid, scoring=scorer, cv=3, refit=False)
        with pytest.warns(sc.errors.NotConvergedWarning):
            search.fit(X, truth)
        scores = search.cv_results_["mean_test_score"]
        assert np.isfinite(scores).all()
        assert np.argmin(scores) == 0


def test_the_papers_protocol_is_one_split_of_all_rows(X, truth):
    everything = np.arange(120)
    scores = cross_val_score(SMCNN(), X, truth, scoring=relative_error_scorer(), cv=[(everything, everything)])
    assert scores[0] == pytest.approx(relative_error_scorer()(SMCNN().fit(X), X, truth))


def test_several_scores_at_once_frames_and_pipelines(X, truth):
    frames = [pd.DataFrame(rows).add_prefix("c") for rows in (X, truth)]
    search = GridSearchCV(
        make_pipeline(MinMaxScaler(), SMCNN()),
        {"smcnn__rank": [2, 5]},
        scoring={"error": relative_error_scorer(), "recall": recall_scorer(), "blind": hidden_value_scorer()},
        refit="recall",
        cv=KFold(3, shuffle=True, random_state=0),
    ).fit(*frames)
    for name in ("error", "recall", "blind"):
        assert np.isfinite(search.cv_results_[f"mean_test_{name}"]).all()


def test_errors(X, truth):
    model = SMCNN().fit(X)
    with pytest.raises(InputError, match=r"no y.*hidden_value_scorer"):
        relative_error_scorer()(model, X)
    with pytest.raises(InputError, match=r"\(119, 64\) must hold the 120 rows"):
        relative_error_scorer()(model, X, truth[:119])
    with pytest.raises(InputError, match="all 64 values present"):
        relative_error_scorer()(model, X, X)
    with pytest.raises(InputError, match="StandardScaler completes no similarities"):
        relative_error_scorer()(make_pipeline(SMCNN(), StandardScaler()).fit(X), X, truth)
    with pytest.raises(InputError, match="no out-of-sample form"):
        relative_error_scorer()(SimilarityCompleter(method="overlap").fit(X), X, truth)
    with pytest.raises(InputError, match="pairs='old' is unknown; use 'new' or 'fitted'"):
        relative_error_scorer(pairs="old")
    with pytest.raises(InputError, match="missing=2 is not a number between 0 and 1"):
        hidden_value_scorer(2)


def test_scorers_travel_to_other_processes():
    scorer = hidden_value_scorer(0.3, random_state=5)
    assert pickle.loads(pickle.dumps(scorer)) == scorer
