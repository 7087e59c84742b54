"""One trial: a split by its recipe, and a row for everything that can happen."""

from __future__ import annotations

import numpy as np
import pytest

from simcomplete._compare.trial import attempt, split
from simcomplete.errors import InputError

X = np.random.default_rng(0).random((66, 16))


def test_the_split_follows_the_recipe():
    data = np.vstack([X, np.zeros((3, 16))])
    part = split(data, missing=0.75, seed=4, candidates=50, queries=10)
    rng = np.random.default_rng(4)
    rows = data[rng.permutation(69)]
    rows = rows[rows.any(axis=1)]
    np.testing.assert_array_equal(part.P, rows[:50])
    np.testing.assert_array_equal(part.Q_true, rows[50:60])
    for q in range(10):
        assert sorted(np.flatnonzero(np.isnan(part.Q[q]))) == sorted(rng.choice(16, 12, replace=False))


@pytest.mark.parametrize("pattern", ["square", "stripes", "by_value"])
def test_other_patterns(pattern):
    part = split(X, pattern=pattern, missing=0.5, queries=4)
    assert np.isnan(part.Q).mean() == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    "settings", [{"pattern": "spiral"}, {"queries": 0}, {"candidates": 1}, {"candidates": 60, "queries": 10}]
)
def test_splits_that_cannot_be(settings):
    with pytest.raises(InputError):
        split(X, **settings)


def test_rows_have_everything():
    row = attempt("smcnn", split(X, missing=0.5))
    assert row["outcome"] == "done"
    assert 0 < row["error"] < 2
    assert {"error_queries_candidates", "recall_fifth", "recall_ten", "ndcg", "rank", "valid", "fails"} <= set(row)


def test_a_failure_is_a_row_with_its_reason():
    row = attempt("smcnn", split(X), {"rank": 10_000})
    assert row["outcome"] == "failed"
    assert "rank=10000 exceeds" in row["reason"]
    assert "error" not in row


def test_over_budget_is_told():
    row = attempt("smcnn", split(X), budget=0.0)
    assert row["outcome"] == "over budget"
    assert row["error"] is not None
