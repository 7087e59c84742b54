"""Completion: blocks, search and rank, for a factor, a signed factor with diagonal, and dense."""

import numpy as np
import pytest

from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete.errors import InputError, MemoryLimitError

RNG = np.random.default_rng(5)
F = RNG.standard_normal((9, 3))
SIGNS = np.array([1.0, -1.0, 1.0])
DIAGONAL = np.linspace(0, 1, 9)
FORMS = {
    "factor": (SymmetricMatrix(F), F @ F.T),
    "signed": (SymmetricMatrix(F, SIGNS, DIAGONAL), (F * SIGNS) @ F.T + np.diag(DIAGONAL)),
    "dense": (SymmetricMatrix(dense=F @ F.T), F @ F.T),
}


@pytest.fixture(params=FORMS)
def form(request):
    matrix, S = FORMS[request.param]
    return Completion(matrix, n_candidates=6, method="test"), S


def test_blocks(form):
    done, S = form
    np.testing.assert_allclose(done.similarity(), S, atol=1e-12)
    np.testing.assert_allclose(done.similarity("queries", "candidates"), S[6:, :6], atol=1e-12)
    np.testing.assert_allclose(done.similarity("candidates"), S[:6], atol=1e-12)
    np.testing.assert_allclose(done.similarity(slice(1, 8, 2), [3, 3, 1]), S[1:8:2][:, [3, 3, 1]], atol=1e-12)
    np.testing.assert_allclose(done.similarity(2, np.arange(9) % 2 == 0), S[[2]][:, ::2], atol=1e-12)
    np.testing.assert_allclose(done.similarity([-1], None), S[[-1]], atol=1e-12)
    whole = done.similarity()
    assert (whole == whole.T).all()


@pytest.mark.parametrize("rows", ["people", [99], [[0, 1]], [True, False], 1.5])
def test_blocks_that_do_not_exist(form, rows):
    with pytest.raises(InputError, match="rows"):
        form[0].similarity(rows)


def test_dense_is_refused_beforehand_when_it_would_not_fit(form, monkeypatch):
    done, _ = form
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000")
    with pytest.raises(MemoryLimitError, match=r"9 x 9 similarities needs 1.3 KiB and 1000 B are free; .*search"):
        done.similarity()
    assert done.similarity([0], [1]).shape == (1, 1)


def test_search_by_hand(form):
    done, S = form
    ids, scores = done.search(k=3)
    for q in range(3):
        order = sorted(range(6), key=lambda p: (-S[6 + q, p], p))[:3]
        assert ids[q].tolist() == order
        np.testing.assert_allclose(scores[q], S[6 + q, order], atol=1e-12)
    assert ids.dtype == np.int64
    assert done.search(k=50).ids.shape == (3, 6)
    assert done.search(k=2, rows=[7]).ids.tolist() == [ids[1, :2].tolist()]


def test_search_among_candidates_leaves_oneself_out(form):
    done, S = form
    ids = done.search(k=50, rows="candidates").ids
    assert ids.shape == (6, 5)
    for p in range(6):
        assert ids[p].tolist() == sorted(set(range(6)) - {p}, key=lambda j: (-S[p, j], j))
    with pytest.raises(InputError, match="mixes"):
        done.search(rows=[0, 8])


def test_search_without_queries_is_among_all_rows():
    done = Completion(FORMS["factor"][0], n_candidates=9, all_rows_are_queries=True, method="test")
    ids = done.search(k=8).ids
    assert all(sorted([*row, i]) == list(range(9)) for i, row in enumerate(ids.tolist()))


def test_ties_go_to_the_lower_id():
    S = np.array(
        [[1.0, 0, 0, 0, 0.5], [0, 1, 0, 0, 0.7], [0, 0, 1, 0, 0.5], [0, 0, 0, 1, 0.5], [0.5, 0.7, 0.5, 0.5, 1]]
    )
    done = Completion(SymmetricMatrix(dense=S), n_candidates=4, method="test")
    assert done.search(k=3).ids.tolist() == [[1, 0, 2]]
    assert done.search(k=1).ids.tolist() == [[1]]


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3"])
def test_search_for_no_number(form, k):
    with pytest.raises(InputError, match="k="):
        form[0].search(k=k)


def test_search_in_small_blocks_is_the_same(form, monkeypatch):
    expected = form[0].search(k=4)
    monkeypatch.setattr("simcomplete._rows.budget.row_blocks.__defaults__", (1,))
    pieces = form[0].search(k=4)
    np.testing.assert_array_equal(pieces.ids, expected.ids)
    np.testing.assert_allclose(pieces.scores, expected.scores)


def test_rank_is_by_the_relative_rule():
    thin = RNG.standard_normal((50, 4))
    V = np.hstack([thin, thin[:, :2] @ np.ones((2, 1)), 1e-12 * RNG.standard_normal((50, 1)), np.zeros((50, 2))])
    assert Completion(SymmetricMatrix(V), n_candidates=50, method="test").rank == 4
    assert Completion(SymmetricMatrix(dense=V @ V.T), n_candidates=50, method="test").rank == 4
    assert Completion(SymmetricMatrix(V.astype(np.float32)), n_candidates=50, method="test").rank in (4, 5, 6)
