"""Results with nothing in them, or requests for nothing: an empty answer, or an error that says what to ask for."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete.errors import InputError

S0 = np.array([[1.0, 0.5, 0.1], [0.5, 1.0, 0.2], [0.1, 0.2, 1.0]])


@pytest.mark.parametrize("method", ["smcnn", "overlap"])  # a factor, and a dense matrix
def test_search_where_every_row_is_a_candidate_says_what_to_ask_for(method):
    done = sc.complete_similarity(S0, candidates=3, method=method)
    with pytest.raises(InputError, match=r"there are no queries; say which rows to search for: rows='candidates'"):
        done.search(k=2)
    assert done.search(k=2, rows="candidates").ids.tolist() == [[1, 2], [0, 2], [1, 0]]


@pytest.mark.parametrize("index", [None, "faiss"])
@pytest.mark.parametrize("rows", [[], np.zeros(4, bool), slice(0, 0), ("queries", [])], ids=str)
def test_search_for_no_rows_finds_nothing(rows, index):
    done = sc.complete(np.eye(3), np.array([[1.0, np.nan, 0.0]]), method="smcnn")
    ids, scores = done.search(k=2, rows=rows, index=index)
    assert ids.shape == scores.shape == (0, 2)
    assert ids.dtype == np.int64
    assert scores.dtype == np.float64


def test_search_for_no_rows_of_a_dense_matrix_keeps_the_type():
    done = Completion(SymmetricMatrix(dense=S0.astype(np.float32)), n_candidates=3, method="test")
    assert done.search(k=1, rows=[]).scores.dtype == np.float32


def test_a_factor_without_columns_is_the_zero_matrix():
    done = Completion(SymmetricMatrix(np.zeros((4, 0))), n_candidates=3, method="test")
    assert done.rank == 0
    assert "rank=0" in repr(done)
    assert 'rank</th><td style="text-align:left">0</td>' in done._repr_html_()
    assert done.summary()["rank"] == 0
    assert done.search(k=2).scores.tolist() == [[0.0, 0.0]]
    assert done.search(k=2, index="faiss").ids.tolist() == [[0, 1]]
    np.testing.assert_array_equal(done.similarity(), np.zeros((4, 4)))


def test_a_zero_matrix_can_be_shown_whatever_completed_it():
    for method in sc.methods():
        if method.acts_on != "samples":
            done = sc.complete_similarity(np.zeros((5, 5)), candidates=3, method=method.name)
            assert repr(done).startswith("Completion(")
            assert done.search(k=1).ids.shape == (2, 1)


def test_intervals_of_candidates_have_no_width_also_where_there_are_no_queries():
    model = IntervalModel(np.zeros(0), np.linspace(0, 1, 1001))
    done = Completion(SymmetricMatrix(dense=S0), n_candidates=3, method="posterior", interval_model=model)
    low, high = done.interval(0.9, rows="candidates")
    np.testing.assert_array_equal(low, S0)
    np.testing.assert_array_equal(high, S0)
    assert done.interval(0.9)[0].shape == (0, 3)


@pytest.mark.parametrize("level", [np.float32(0.5), np.float64(0.5)])
def test_a_level_may_be_a_number_of_numpy(level):
    model = IntervalModel(np.array([0.5]), np.linspace(0, 1, 1001))
    assert model.half_width(level, np.array([0]), np.array([1]), first_query=1).tolist() == [[0.25]]


def test_a_dense_matrix_with_a_unit_diagonal_is_symmetric_to_the_bit():
    rng = np.random.default_rng(0)
    F = rng.random((40, 3))
    dense = F @ F.T
    done = Completion(SymmetricMatrix(dense=(dense + dense.T) / 2), n_candidates=40, method="test")
    S = done.similarity(unit_diagonal=True)
    assert (S == S.T).all()
    assert done.view(unit_diagonal=True).validity.symmetric.ok
