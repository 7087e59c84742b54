"""The demonstration's experiment: its data, its rows, and settings that cannot be."""

from __future__ import annotations

import doctest
import json

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import simcomplete as sc
from simcomplete._report import demo
from simcomplete.errors import InputError


@pytest.fixture(scope="module")
def result():
    return demo.run(candidates=50, queries=10, missing=0.5, seed=3, methods=["overlap", "smcnn"])


def test_the_data_are_shuffled_digits_with_hidden_pixels(result):
    X = sc.datasets.load("digits").X
    order = np.random.default_rng(3).permutation(len(X))[:60]
    assert_array_equal(result.X, X[order])
    assert_array_equal(result.observed, sc.masks.random(result.X[50:], missing=0.5, random_state=3))
    assert_array_equal(result.truth, sc.overlap_similarity(result.X))


def test_the_rows_are_what_the_library_says(result):
    done = sc.complete(result.X[:50], sc.masks.apply(result.X[50:], result.observed), method="smcnn")
    S = done.similarity()
    overlap, smcnn = result.rows
    assert overlap.error == pytest.approx(1.0, abs=1e-12)  # S0 by two ways of summing
    assert smcnn.method == "smcnn"
    assert smcnn.error == pytest.approx(sc.metrics.relative_squared_error(S, result.before, result.truth))
    scores, truth = S[50:, :50], result.truth[50:, :50]
    assert smcnn.recall_fifth == pytest.approx(sc.metrics.recall_at(scores, truth, k=0.2))
    assert smcnn.recall_ten == pytest.approx(sc.metrics.recall_at(scores, truth, k=10))
    assert smcnn.ndcg == pytest.approx(sc.metrics.ndcg_at(scores, truth, k=0.2))
    assert smcnn.rank == done.rank
    assert smcnn.fails == done.validity.failures()
    np.testing.assert_allclose(result.after, S)


def test_as_json(result):
    document = json.loads(json.dumps(result.as_dict(), allow_nan=False))
    assert document["candidates"] == 50
    assert [row["method"] for row in document["rows"]] == ["overlap", "smcnn"]


def test_every_listed_method_exists():
    known = {method.name for method in sc.methods()}
    assert set(demo.METHODS) <= known
    assert demo.FEATURED in demo.METHODS


@pytest.mark.parametrize(("candidates", "queries"), [(0, 5), (5, 0), (1700, 200)])
def test_numbers_of_digits_that_cannot_be(candidates, queries):
    with pytest.raises(InputError, match=f"candidates={candidates} and queries={queries}"):
        demo.run(candidates, queries)


def test_examples():
    assert doctest.testmod(demo).failed == 0
