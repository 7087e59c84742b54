"""Results against numbers worked out by hand: blocks, validity at its tolerances, search, views, intervals."""

from dataclasses import replace

import numpy as np
import pytest

from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.search import top_k
from simcomplete._result.validity import validate
from simcomplete._result.views import clipped as clip
from simcomplete._result.views import with_unit_diagonal as unit_diagonal
from simcomplete.errors import InputError, MemoryLimitError

EVERY = slice(0, 3)
F = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])  # F F^T = [[5, 2, 3], [2, 1, 0], [3, 0, 9]]


def done(matrix, **facts):
    return Completion(matrix, **{"n_candidates": matrix.n, "method": "test", **facts})


# Blocks.


def test_a_block_by_hand():
    S = SymmetricMatrix(F, np.array([1.0, -1.0]), np.array([0.5, 0.0, 0.25]))
    whole = np.array([[-2.5, -2.0, 3.0], [-2.0, -1.0, 0.0], [3.0, 0.0, 9.25]])  # 1 - 4 + 0.5, -2, 3; -1, 0; 9 + 0.25
    np.testing.assert_allclose(S.block(EVERY, EVERY), whole)
    np.testing.assert_allclose(S.diag(), [-2.5, -1.0, 9.25])
    np.testing.assert_allclose(S.block(np.array([2, 0, 2]), np.array([0, 2])), whole[[2, 0, 2]][:, [0, 2]])
    np.testing.assert_allclose(S.block(slice(1, 3), np.array([2, 2, 1])), whole[1:3][:, [2, 2, 1]])
    np.testing.assert_allclose(replace(S, signs=None).diag(), [5.5, 1.0, 9.25])
    np.testing.assert_allclose(replace(S, signs=None, diagonal=None).diag(), [5.0, 1.0, 9.0])


def test_entries_are_clipped_when_they_are_read():
    S = clip(SymmetricMatrix(F), -1.0, 4.0)
    np.testing.assert_allclose(S.block(EVERY, EVERY), [[4, 2, 3], [2, 1, 0], [3, 0, 4]])
    np.testing.assert_allclose(S.diag(), [4, 1, 4])
    np.testing.assert_allclose(clip(SymmetricMatrix(dense=-F @ F.T)).diag(), [-1, -1, -1])


def test_unit_rows_have_a_diagonal_of_exactly_one():
    unit = F / np.linalg.norm(F, axis=1)[:, None] * (1 + 1e-15)
    S = SymmetricMatrix(unit, unit=True)
    block = S.block(np.array([0, 2]), np.array([2, 0, 1]))
    assert block[0, 1] == block[1, 0] == 1.0
    np.testing.assert_allclose(block[:, 2], [2 / np.sqrt(5), 0.0], atol=1e-14)
    assert (S.diag() == 1).all()
    off = SymmetricMatrix(np.array([[1.0, 0.0], [1.0 + 1e-9, 0.0]]), unit=True)  # a product just above 1
    assert off.block(slice(0, 1), slice(1, 2))[0, 0] == 1.0
    opposite = SymmetricMatrix(np.array([[1.0, 0.0], [-1.0 - 1e-9, 0.0]]), unit=True)
    assert opposite.block(slice(0, 1), slice(1, 2))[0, 0] == -1.0


def test_a_block_is_refused_at_the_byte_that_does_not_fit(monkeypatch):
    S = SymmetricMatrix(np.ones((10, 2)))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "480")  # two copies of 3 x 10 numbers of 8 bytes
    assert S.block(slice(0, 3), slice(0, 10)).shape == (3, 10)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "479")
    with pytest.raises(MemoryLimitError, match="3 x 10"):
        S.block(slice(0, 3), slice(0, 10))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "240")
    assert replace(S, factor=S.factor.astype(np.float32)).block(slice(0, 3), slice(0, 10)).shape == (3, 10)


def test_eigenvalues_of_a_factor_and_of_a_signed_one():
    np.testing.assert_allclose(SymmetricMatrix(F).factor_eigenvalues(), np.linalg.eigvalsh(F.T @ F))
    S = SymmetricMatrix(F, np.array([1.0, -1.0]))
    expected = np.linalg.eigvalsh(F @ np.diag([1.0, -1.0]) @ F.T)
    np.testing.assert_allclose(S.factor_eigenvalues(), expected[np.abs(expected) > 1e-12])


@pytest.mark.parametrize(
    ("S", "by_form"),
    [
        (SymmetricMatrix(F), True),
        (SymmetricMatrix(F, np.array([1.0, -1.0])), False),
        (SymmetricMatrix(F, bounds=(-1.0, 1.0)), False),
        (SymmetricMatrix(dense=F @ F.T), False),
    ],
)
def test_what_the_form_alone_promises(S, by_form):
    assert S.psd_by_form is by_form


@pytest.mark.parametrize("small", [1e-13, 1e-17])
def test_rank_at_its_boundary(small):
    # n eps times the largest: 20 * 2.2e-16 = 4.4e-15 of a largest eigenvalue 1.
    V = np.zeros((20, 3))
    V[0, 0], V[1, 1], V[2, 2] = 1.0, np.sqrt(1e-13), np.sqrt(small)
    assert done(SymmetricMatrix(V)).rank == (3 if small > 4.4e-15 else 2)
    assert done(SymmetricMatrix(dense=np.diag([1.0, -1e-13, small] + [0.0] * 17))).rank == (3 if small > 4e-15 else 2)
    assert done(SymmetricMatrix(V, diagonal=np.ones(20))).rank == (3 if small > 4.4e-15 else 2)


def test_rank_of_a_factor_with_more_columns_than_rows():
    V = np.array([[1.0, 0.0, 1.0, 2.0], [1.0, 0.0, 1.0, 2.0]])
    assert done(SymmetricMatrix(V)).rank == 1


# Validity, at its tolerances: 1e-8 in float64, 1e-4 in float32.


@pytest.mark.parametrize(("dtype", "tol"), [(np.float64, 1e-8), (np.float32, 1e-4)])
def test_unit_diagonal_and_range_at_their_tolerance(dtype, tol):
    for share, ok in ((0.7, True), (1.5, False)):
        S = SymmetricMatrix(dense=np.array([[1.0, 0.5], [0.5, 1.0 + share * tol]], dtype=dtype))
        v = validate(S, None)
        assert v.unit_diagonal.ok is ok
        assert v.unit_diagonal.value == pytest.approx(share * tol, rel=0.01)
        assert v.bounded.ok is ok
        assert v.bounded.value == pytest.approx(1 + share * tol, rel=1e-7)
        below = validate(SymmetricMatrix(dense=np.array([[1.0, 0.5], [0.5, 1.0 - share * tol]], dtype=dtype)), None)
        assert below.unit_diagonal.ok is ok
        assert below.bounded.ok


@pytest.mark.parametrize(("diagonal", "scale"), [(1.0, 1.0), (10.0, 10.0), (0.1, 1.0)])
def test_psd_at_its_tolerance(diagonal, scale):
    # Smallest eigenvalue -x where x is 0.01 * 1e-8 times the largest of 1 and the diagonal, times n.
    allowed = 1e-10 * scale * 2
    for share, ok in ((0.9, True), (1.1, False)):
        off = diagonal + share * allowed
        check = validate(SymmetricMatrix(dense=np.array([[diagonal, off], [off, diagonal]])), None).psd
        assert check.ok is ok
        assert check.value == pytest.approx(-share * allowed, rel=1e-3)


def test_the_largest_entry_of_a_matrix_that_is_not_psd_may_be_off_the_diagonal():
    v = validate(SymmetricMatrix(dense=np.array([[1.0, -1.5], [-1.5, 1.0]])), None)
    assert not v.psd.ok
    assert v.psd.value == pytest.approx(-0.5)
    assert (v.bounded.ok, v.bounded.value) == (False, 1.5)
    assert v.unit_diagonal.ok
    assert v.failures() == ["psd", "bounded"]
    assert not v.ok


def test_a_clipped_matrix_is_looked_at_entry_by_entry():
    S = clip(SymmetricMatrix(2 * np.eye(2)), -1.0, 1.0)
    assert validate(S, None).bounded.value == 1.0
    assert validate(S, None).ok


def test_asymmetry_is_the_largest_difference():
    v = validate(SymmetricMatrix(dense=np.array([[1.0, 0.2, 0.0], [0.1, 1.0, 0.3], [0.0, 0.0, 1.0]])), None)
    assert v.symmetric.value == pytest.approx(0.3)
    assert not v.symmetric.ok
    assert validate(SymmetricMatrix(np.eye(2)), None).symmetric == validate(SymmetricMatrix(np.eye(2)), None).symmetric
    assert validate(SymmetricMatrix(np.eye(2)), None).ok


@pytest.mark.parametrize("limit", [0, 2000])
@pytest.mark.parametrize(
    ("S", "smallest"),
    [
        (SymmetricMatrix(np.array([[1.0], [1.0]]), diagonal=np.array([0.5, 0.25])), 0.0),
        (SymmetricMatrix(np.array([[1.0], [0.0]]), np.array([-1.0])), -1.0),
        (SymmetricMatrix(np.array([[2.0, 1.0], [0.0, 1.0]]), np.array([1.0, -1.0])), None),
    ],
)
def test_the_smallest_eigenvalue_from_the_matrix_or_from_its_form(S, smallest, limit, monkeypatch):
    monkeypatch.setattr("simcomplete._result.validity.DENSE_LIMIT", limit)
    true = np.linalg.eigvalsh(S.block(slice(0, 2), slice(0, 2)))[0]
    found = validate(S, None).psd
    if limit:
        assert found.value == pytest.approx(true, abs=1e-12)
    else:
        assert found.value == pytest.approx(min(0.0, true) if smallest is None else smallest, abs=1e-12)
    assert found.ok is bool(true > -1e-10)


def test_a_diagonal_that_is_taken_away_is_noticed_in_the_form(monkeypatch):
    monkeypatch.setattr("simcomplete._result.validity.DENSE_LIMIT", 0)
    check = validate(SymmetricMatrix(np.ones((2, 1)), diagonal=np.array([0.5, -0.25])), None).psd
    assert (check.ok, check.value) == (False, -0.25)


# Search.


def test_the_largest_of_a_row_by_hand():
    scores = np.array([[0.5, 0.9, 0.5, 0.1], [0.2, 0.2, 0.2, 0.2], [-3.0, -1.0, -2.0, -4.0]])
    for k in (1, 2, 3, 4):
        ids, best = top_k(scores, k)
        assert ids.tolist() == [row[:k] for row in ([1, 0, 2, 3], [0, 1, 2, 3], [1, 2, 0, 3])]
        np.testing.assert_array_equal(best, np.take_along_axis(scores, ids, axis=1))


@pytest.mark.parametrize("dense", [False, True])
def test_search_by_hand(dense, monkeypatch):
    matrix = SymmetricMatrix(dense=F @ F.T) if dense else SymmetricMatrix(F)
    among = done(matrix, n_candidates=2)
    # Row 2 with candidates 0 and 1: 3 and 0.
    assert among.search(k=1).ids.tolist() == [[0]]
    assert among.search(k=5).scores.tolist() == [[3.0, 0.0]]
    assert among.search(k=1, rows="candidates").ids.tolist() == [[1], [0]]
    assert among.search(k=9, rows=[1]).scores.tolist() == [[2.0]]
    monkeypatch.setattr("simcomplete._result.search.PART", 1)  # a pass for every row
    assert among.search(k=9, rows="candidates").scores.tolist() == [[2.0], [2.0]]


@pytest.mark.parametrize("dense", [False, True])
def test_scores_are_clipped_as_entries_are(dense):
    matrix = SymmetricMatrix(dense=F @ F.T) if dense else SymmetricMatrix(F)
    found = done(clip(matrix, -1.0, 2.5), n_candidates=2).search(k=2)
    assert found.scores.tolist() == [[2.5, 0.0]]
    unit = SymmetricMatrix(np.array([[1.0], [1.0 + 1e-9], [1.0 + 1e-9]]), unit=True)
    assert done(unit, n_candidates=2).search(k=2).scores.tolist() == [[1.0, 1.0]]
    assert done(unit, n_candidates=2).search(k=2).ids.tolist() == [[0, 1]]


def test_signs_count_in_search():
    S = SymmetricMatrix(F, np.array([-1.0, 1.0]))  # -3 and 0
    found = done(S, n_candidates=2).search(k=2)
    assert found.ids.tolist() == [[1, 0]]
    assert found.scores.tolist() == [[0.0, -3.0]]


def test_a_row_alone_has_nobody_to_search_among():
    with pytest.raises(InputError, match="at least two"):
        done(SymmetricMatrix(F), n_candidates=1).search(rows="candidates")
    assert done(SymmetricMatrix(F), n_candidates=1).search().ids.tolist() == [[0], [0]]


# Views.


def test_unit_diagonal_by_hand():
    S = unit_diagonal(SymmetricMatrix(F, diagonal=np.array([4.0, 0.0, 0.0])))  # the diagonal is 9, 1, 9
    expected = [[1, 2 / 3, 3 / 9], [2 / 3, 1, 0], [3 / 9, 0, 1]]
    np.testing.assert_allclose(S.block(EVERY, EVERY), expected, atol=1e-15)
    np.testing.assert_allclose(S.diagonal, [4 / 9, 0, 0])
    assert S.unit
    plain = unit_diagonal(SymmetricMatrix(F))
    assert plain.diagonal is None
    dense = unit_diagonal(SymmetricMatrix(dense=F @ F.T + np.diag([4.0, 0, 0])))
    np.testing.assert_allclose(dense.block(EVERY, EVERY), expected, atol=1e-15)
    assert (dense.diag() == 1).all()
    assert not dense.unit


def test_a_row_without_similarities_becomes_a_unit_of_its_own():
    for S in (SymmetricMatrix(np.array([[2.0], [0.0]])), SymmetricMatrix(dense=np.diag([4.0, 0.0]))):
        np.testing.assert_array_equal(unit_diagonal(S).block(slice(0, 2), slice(0, 2)), np.eye(2))


def test_a_negative_diagonal_cannot_be_rescaled():
    with pytest.raises(InputError, match="negative"):
        unit_diagonal(SymmetricMatrix(np.array([[1.0], [2.0]]), np.array([-1.0])))
