"""Trials on labels: the measures against numbers worked out by hand, every method, and what is refused."""

import numpy as np
import pytest

from simcomplete._reproduction.labels.measures import label_measures
from simcomplete._reproduction.labels.others import BOOSTING, IMPUTERS, OTHERS, boosting_predictions
from simcomplete._reproduction.labels.soft_impute import shrink, soft_impute
from simcomplete._reproduction.labels.trial import labelled_rows
from simcomplete._reproduction.report.label_claims import classes_found_best
from simcomplete._reproduction.rows import rows_by_trial
from simcomplete._reproduction.run_trial import run_trial

AT = {"dataset": "digits", "candidates": 60, "queries": 20, "missing": 0.4, "seed": 0}


@pytest.mark.parametrize(("boosted", "holds"), [(0.5, True), (0.95, False)])
def test_who_finds_classes_best_is_said(boosted, holds, made):
    def of(value):
        return lambda c: value if c.trial["method"] == "posterior" else 0.6

    rows = made("downstream", nn1=of(0.9), retrieval=of(0.8), ari=of(0.7))
    rows = [
        {**{k: v for k, v in row.items() if k not in ("nn1", "retrieval", "ari")}, "own_classifier": boosted}
        if row["method"] == "boosting"
        else row
        for row in rows
    ]
    finding = classes_found_best(rows_by_trial(rows))
    assert finding.holds is holds
    assert f"classification: {'posterior' if holds else 'boosting'} 8; retrieval: posterior 8" in finding.evidence


def test_measures_by_hand():
    # Twelve known rows of two classes, two asked: the first is near to its class, the second to the other one.
    y = np.array([0, 1] * 6 + [0, 0])
    S = np.eye(14)
    S[12, :12] = S[:12, 12] = np.where(y[:12] == 0, 0.9, 0.1)
    S[13, :12] = S[:12, 13] = np.where(y[:12] == 1, 0.9, 0.1)
    S[13, 0] = S[0, 13] = 0.95  # nearest to one of its class, but four of the next are of the other
    got = label_measures(S, y, 12, 2, 0)
    assert got["nn1"] == 1.0
    assert got["nn5"] == 0.5
    # Of the ten nearest: six of its class and four others; then one, six of the other class, and three more of its own.
    assert got["retrieval"] == pytest.approx((6 + 1 + 3) / 20)


def test_ties_among_five_go_to_the_nearest():
    y = np.array([1, 0, 0, 1, 2, 0, 1, 2, 0, 1, 1])
    S = np.eye(11)
    S[10, :5] = S[:5, 10] = [0.9, 0.8, 0.7, 0.6, 0.5]  # classes 1 0 0 1 2: two each of 0 and 1, and 1 comes first
    assert label_measures(S, y, 10, 3, 0)["nn5"] == 1.0


@pytest.mark.parametrize("gaps", ["queries", "all"])
def test_gaps_are_where_they_should_be(gaps):
    data = labelled_rows({**AT, "params": {"gaps": gaps}})
    assert data.X.shape == (80, 64)
    assert np.isnan(data.X[60:]).mean() == pytest.approx(0.4, abs=0.02)
    assert np.isnan(data.X[:60]).mean() == pytest.approx(0.4 if gaps == "all" else 0.0, abs=0.02)


@pytest.mark.parametrize("gaps", [{}, {"gaps": "all"}])
@pytest.mark.parametrize("method", ["smcnn", "posterior", *OTHERS])
def test_every_method_finds_more_than_chance(method, gaps):
    stages = []
    row = run_trial({**AT, "method": method, "params": {"task": "labels", **gaps}}, 120.0, stages.append)
    assert (row["outcome"], row["reason"], stages) == ("done", None, ["solving", "solved"])
    assert row["own_classifier" if method == BOOSTING else "nn1"] > 0.15
    assert ("ari" in row) == (method != BOOSTING)


def test_a_feature_without_values_is_left_out():
    X = np.random.default_rng(0).random((40, 3))
    X[:, 1] = np.nan
    y = (X[:, 0] > 0.5).astype(int)
    assert np.mean(boosting_predictions(X, y, X, 0) == y) > 0.9
    for fill in IMPUTERS.values():
        assert fill(X, 0).shape == (40, 3)


def test_soft_impute_finds_a_matrix_of_rank_one():
    truth = np.outer(np.arange(1.0, 31.0), np.linspace(1, 2, 12))
    known = np.where(np.random.default_rng(5).random(truth.shape) < 0.2, np.nan, truth)
    found = soft_impute(known)
    hidden = np.isnan(known)
    np.testing.assert_array_equal(found[~hidden], truth[~hidden])
    by_means = np.broadcast_to(np.nanmean(known, axis=0), truth.shape)
    assert np.abs(found - truth)[hidden].mean() < 0.2 * np.abs(by_means - truth)[hidden].mean()


@pytest.mark.parametrize("shape", [(30, 12), (12, 30)])
@pytest.mark.parametrize("size", [0.5, 6.0, 100.0])
def test_singular_values_are_lowered_as_by_a_whole_decomposition(shape, size):
    A = np.random.default_rng(3).normal(size=shape)
    U, s, Vt = np.linalg.svd(A, full_matrices=False)
    np.testing.assert_allclose(shrink(A, size), (U * np.maximum(s - size, 0.0)) @ Vt, atol=1e-12)


def test_data_without_labels_are_a_row(monkeypatch):
    monkeypatch.delenv("SIMCOMPLETE_DATA", raising=False)
    row = run_trial({**AT, "dataset": "mnist", "method": "mean", "params": {"task": "labels"}}, 60.0)
    assert row["outcome"] == "failed"
