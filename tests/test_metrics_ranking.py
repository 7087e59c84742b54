"""Recall and NDCG against numbers worked by hand, against scikit-learn, and against what must always hold."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import ndcg_score

from simcomplete import metrics
from simcomplete.errors import InputError

# --- recall_at, ndcg_at -----------------------------------------------------------------------------------

# True order of both queries: 0 1 2 3. First query by score: 0 2 1 3; second: 3 2 1 0.
SCORES = np.array([[0.9, 0.3, 0.8, 0.1], [0.1, 0.2, 0.3, 0.4]])
TRUTH = np.array([[0.9, 0.8, 0.7, 0.6], [0.9, 0.8, 0.7, 0.6]])
SECOND = 1 / math.log2(3)  # the discount of the second place; the first has 1, the third 1/2


@pytest.mark.parametrize(
    ("k", "expected"),
    [
        (1, [1.0, 0.0]),  # {0} against {0}; {3}
        (2, [0.5, 0.0]),  # {0, 1} against {0, 2}; {3, 2}
        (3, [1.0, 2 / 3]),  # {0, 1, 2} against {0, 2, 1}; {3, 2, 1}
        (0.5, [0.5, 0.0]),  # half of four is two
        (0.9, [1.0, 2 / 3]),  # 3.6 is three
        (0.2, [1.0, 0.0]),  # 0.8 is zero, at least one
        (1.0, [1.0, 1.0]),
        (99, [1.0, 1.0]),
        (np.int64(2), [0.5, 0.0]),
        (np.float32(0.5), [0.5, 0.0]),
    ],
)
def test_recall_by_hand(k: float, expected: list[float]) -> None:
    each = metrics.recall_at(SCORES, TRUTH, k, average=False)
    np.testing.assert_allclose(each, expected, rtol=1e-15)
    mean = metrics.recall_at(SCORES, TRUTH, k)
    assert isinstance(mean, float)
    assert mean == pytest.approx(sum(expected) / 2)


def test_recall_defaults_to_a_fifth() -> None:
    truth = np.arange(10.0)[None, ::-1]
    scores = truth.copy()
    scores[0, [1, 2]] = scores[0, [2, 1]]  # by score 0 2 1 ...: of the true {0, 1} one is among the first two
    assert metrics.recall_at(scores, truth) == 0.5


def test_a_fraction_is_the_decimal_that_was_written() -> None:
    assert math.floor(0.29 * 100) == 28  # what plain arithmetic would make of it
    truth = np.arange(100.0)[None, ::-1]
    scores = np.where(truth >= 71, 1.0, 0.0)  # exactly the first 29, so recall is 1 at 29 ...
    scores[0, 28], scores[0, 29] = 0.0, 1.0  # ... but for the 29th, so 28/29, and 1 at 28
    assert metrics.recall_at(scores, truth, k=0.29) == pytest.approx(28 / 29)
    assert metrics.recall_at(scores, truth, k=28) == 1.0


def test_ties_go_to_the_lower_column_in_scores_and_in_truth() -> None:
    even = [[1.0, 1.0, 1.0, 1.0]]
    assert metrics.recall_at(even, [[4, 3, 2, 1]], k=2) == 1.0  # scores tie: 0 and 1 come first
    assert metrics.recall_at(even, [[1, 2, 3, 4]], k=2) == 0.0
    assert metrics.recall_at([[4, 3, 2, 1]], even, k=2) == 1.0  # truth ties: 0 and 1 are the true ones
    assert metrics.recall_at([[0.0, -0.0]], [[1, 0]], k=1) == 1.0  # both zeros are equal


def test_integers_booleans_frames_and_float32_are_ranked() -> None:
    scores = np.array([[3, 1, 2, 0]])
    expected = metrics.recall_at(scores.astype(float), TRUTH[:1], k=2)
    assert expected == 0.5
    for dtype in (np.uint8, np.int64, np.float32, np.float16):
        assert metrics.recall_at(scores.astype(dtype), TRUTH[:1], k=2) == expected
    assert metrics.recall_at(pd.DataFrame(scores), TRUTH[:1], k=2) == expected
    assert metrics.recall_at(scores > 1, TRUTH[:1], k=2) == expected  # True at 0 and 2


@pytest.mark.parametrize(
    ("k", "relevance", "expected"),
    [
        # binary, k = 2, relevant {0, 1}: the first query has 0 in place 1: 1 / (1 + SECOND); the second none.
        (2, "binary", [1 / (1 + SECOND), 0.0]),
        # k = 3, relevant {0, 1, 2}: all; then places 2 and 3 only: (SECOND + 1/2) / (1 + SECOND + 1/2)
        (3, "binary", [1.0, (SECOND + 0.5) / (1.5 + SECOND)]),
        # graded, k = 2: relevances 1, 1/2 give gains 1, sqrt(2) - 1. The first query finds the nearest only.
        (2, "graded", [1 / (1 + (math.sqrt(2) - 1) * SECOND), 0.0]),
        # k = 3: relevances 1, 2/3, 1/3 of columns 0, 1, 2 give gains 1, a, b. By score 0 2 1, and 3 2 1.
        (
            3,
            "graded",
            [
                (1 + (2 ** (1 / 3) - 1) * SECOND + (2 ** (2 / 3) - 1) / 2)
                / (1 + (2 ** (2 / 3) - 1) * SECOND + (2 ** (1 / 3) - 1) / 2),
                ((2 ** (1 / 3) - 1) * SECOND + (2 ** (2 / 3) - 1) / 2)
                / (1 + (2 ** (2 / 3) - 1) * SECOND + (2 ** (1 / 3) - 1) / 2),
            ],
        ),
        (1, "graded", [1.0, 0.0]),
    ],
)
def test_ndcg_by_hand(k: int, relevance: str, expected: list[float]) -> None:
    each = metrics.ndcg_at(SCORES, TRUTH, k, relevance, average=False)
    np.testing.assert_allclose(each, expected, rtol=1e-14)
    mean = metrics.ndcg_at(SCORES, TRUTH, k, relevance)
    assert isinstance(mean, float)
    assert mean == pytest.approx(sum(expected) / 2)


@pytest.mark.parametrize("k", [1, 3, 20, 49, 50])
def test_ndcg_agrees_with_scikit_learn(k: int) -> None:
    rng = np.random.default_rng(k)
    scores, truth = rng.normal(size=(2, 30, 50))
    place = np.argsort(np.argsort(-truth, axis=1), axis=1)
    # scikit-learn sums the relevance itself, so it is handed 2^rel - 1, which for 0 and 1 is rel.
    assert metrics.ndcg_at(scores, truth, k) == pytest.approx(ndcg_score(place < k, scores, k=k), rel=1e-12)
    gains = 2 ** np.clip((k - place) / k, 0, None) - 1
    graded = metrics.ndcg_at(scores, truth, k, relevance="graded")
    assert graded == pytest.approx(ndcg_score(gains, scores, k=k), rel=1e-12)


@st.composite
def rankings(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray, float]:
    """Scores and truth without ties, and a k."""
    n_q, n_p = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    scores, truth = (rng.permuted(np.tile(np.arange(n_p) / n_p, (n_q, 1)), axis=1) for _ in range(2))
    k = draw(st.integers(1, 14) | st.floats(0, 1, exclude_min=True))
    return scores, truth, k


def every(scores: np.ndarray, truth: np.ndarray, k: float) -> np.ndarray:
    return np.array(
        [
            metrics.recall_at(scores, truth, k, average=False),
            metrics.ndcg_at(scores, truth, k, average=False),
            metrics.ndcg_at(scores, truth, k, relevance="graded", average=False),
        ]
    )


@given(rankings(), st.randoms(use_true_random=False))
def test_what_holds_for_every_ranking(case: tuple[np.ndarray, np.ndarray, float], random: Any) -> None:
    scores, truth, k = case
    values = every(scores, truth, k)
    assert values.shape == (3, len(scores))
    assert np.all((values >= 0) & (values <= 1))
    assert np.all(every(truth, truth, k) == 1)
    assert np.all(every(np.exp(truth), truth, k) == 1)  # only the order counts
    order = list(range(scores.shape[1]))
    random.shuffle(order)
    np.testing.assert_array_equal(every(scores[:, order], truth[:, order], k), values)


@pytest.mark.parametrize("metric", [metrics.recall_at, metrics.ndcg_at])
@pytest.mark.parametrize("k", [0, -1, 0.0, 1.5, 2.0, -0.2, math.nan, math.inf, True, np.True_, "2", None, [2]])
def test_rankings_refuse_k(metric: Any, k: Any) -> None:
    with pytest.raises(InputError, match="use an int of at least 1, or a fraction"):
        metric(SCORES, TRUTH, k)


@pytest.mark.parametrize("metric", [metrics.recall_at, metrics.ndcg_at])
@pytest.mark.parametrize(
    ("scores", "truth", "message"),
    [
        (SCORES, TRUTH[:, :3], r"the shapes differ: scores \(2, 4\), truth \(2, 3\)"),
        (SCORES[0], TRUTH[0], "scores"),
        (SCORES[:0], TRUTH[:0], "scores"),
        (SCORES[:, :0], TRUTH[:, :0], "scores"),
        ([[1.0, 2.0], [np.nan, 1.0]], [[1.0, 2.0], [2.0, 1.0]], "scores has NaN in 1 of 2 rows .* row 1"),
        ([[1.0, 2.0]], [[np.nan, 1.0]], "truth has NaN"),
        ([[1.0, 2.0], [1.0]], [[1.0, 2.0]], "scores"),
        ([["a", "b"]], [[1.0, 2.0]], "scores"),
    ],
)
def test_rankings_refuse_matrices(metric: Any, scores: Any, truth: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        metric(scores, truth, 1)


def test_ndcg_refuses_an_unknown_relevance() -> None:
    with pytest.raises(InputError, match="use one of binary, graded"):
        metrics.ndcg_at(SCORES, TRUTH, relevance="linear")
