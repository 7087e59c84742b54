"""Results that are read block by block, their work, validity and views: the same as whole matrices, and by hand."""

from dataclasses import replace

import array_api_strict
import numpy as np
import pytest

from simcomplete._result import validity
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix, joined
from simcomplete._result.search import among, nearest, scope, top_k
from simcomplete._rows.budget import working_memory
from simcomplete._rows.source import SourceRows
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._similarity.exact import CandidateBlock, CandidateRows
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError

RNG = np.random.default_rng(0)
F = RNG.standard_normal((9, 3))
SIGNS, DIAGONAL = np.array([1.0, -2.0, 0.5]), RNG.random(9)
WHOLE = F @ np.diag(SIGNS) @ F.T + np.diag(DIAGONAL)


class Slices:
    """No array: a shape, a type and row slices."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        return self.X[rows]


def unread(X):
    return SourceRows(Slices(X), "X")


def done(matrix, **facts):
    return Completion(matrix, **{"n_candidates": matrix.n, "method": "test", **facts})


FORMS = {
    "factor": SymmetricMatrix(F, SIGNS, DIAGONAL),
    "rows that are read": SymmetricMatrix(unread(F), SIGNS, DIAGONAL),
    "dense": SymmetricMatrix(dense=WHOLE),
    "dense, read": SymmetricMatrix(dense=unread(WHOLE)),
}
SELECTIONS = [
    slice(0, 9),
    slice(2, 6),
    slice(1, 9, 3),
    slice(4, 4),
    np.array([7, 0, 7]),
    np.array([3]),
    np.array([8, 2, 5, 1, 0]),
]


@pytest.mark.parametrize("memory", [None, 3 * 8 * 9 * 2])
@pytest.mark.parametrize("form", FORMS)
def test_blocks_of_every_form(form, memory):
    with working_memory(memory):
        S = FORMS[form]
        for rows in SELECTIONS:
            for cols in SELECTIONS:
                np.testing.assert_allclose(S.block(rows, cols), WHOLE[rows][:, cols], atol=1e-12)
        np.testing.assert_allclose(S.diag(), np.diag(WHOLE), atol=1e-12)
        if S.factor is not None:
            expected = np.linalg.eigvalsh(F @ np.diag(SIGNS) @ F.T)
            np.testing.assert_allclose(S.factor_eigenvalues(), expected[np.abs(expected) > 1e-9], atol=1e-9)
            np.testing.assert_allclose(replace(S, signs=None).factor_eigenvalues(), np.linalg.eigvalsh(F.T @ F))


def test_blocks_with_the_same_rows_are_symmetric_to_the_bit():
    G = np.random.default_rng(1).standard_normal((40, 17))
    S = SymmetricMatrix(G, signs=np.linspace(-1, 1, 17))
    for rows in (slice(0, 40), np.arange(40)[::-1].copy()):
        block = S.block(rows, rows)
        assert np.array_equal(block, block.T)
    # Other rows: each entry is a product, whatever the shape; a transposed half would be another one.
    np.testing.assert_allclose(
        S.block(slice(0, 5), np.arange(5, 10)), S.block(slice(0, 10), slice(0, 10))[:5, 5:], atol=1e-12
    )
    np.testing.assert_allclose(
        S.block(slice(0, 5), np.arange(5)[::-1].copy()), S.block(slice(0, 5), slice(0, 5))[:, ::-1]
    )


@pytest.mark.parametrize("form", FORMS)
def test_another_order(form):
    if form == "dense, read":
        return  # only what is in memory is reordered
    order = np.array([4, 0, 8, 1, 7, 2, 3, 6, 5])
    found = FORMS[form].reordered(order)
    np.testing.assert_allclose(found.block(slice(0, 9), slice(0, 9)), WHOLE[order][:, order], atol=1e-12)


def test_a_single_part_is_not_copied():
    assert joined([F], axis=0) is F
    np.testing.assert_array_equal(joined([F, F], axis=1), np.hstack([F, F]))


def test_bytes_of_a_block_of_rows(monkeypatch):
    """Rows and what is made of them: squares and a sum; rows; rows, their copy, R and two of them; rows and a copy."""
    asked = []
    plain = RowTable.fold

    def fold(self, work, merge, *, bytes_per_row, label, progress):
        asked.append((label, bytes_per_row, progress))
        return plain(self, work, merge, bytes_per_row=bytes_per_row, label=label, progress=progress)

    monkeypatch.setattr(RowTable, "fold", fold)
    FORMS["factor"].diag()
    FORMS["dense"].diag()
    FORMS["factor"].factor_eigenvalues()
    SymmetricMatrix(F).factor_eigenvalues()
    assert asked == [("lengths", 72, False), ("diagonal", 72, False), ("products", 96, False), ("products", 48, False)]
    asked.clear()
    done(FORMS["factor"], n_candidates=7).search(k=2, progress=False)
    assert asked == [("search", 8 * 4 * 2, False)]  # scores alone: rows of the queries' type in memory are not copied
    asked.clear()
    done(FORMS["rows that are read"], n_candidates=7).search(k=2, progress=False)
    assert asked == [("search", 8 * (2 * 3 + 4 * 2), False)]


def test_the_rank_is_that_of_the_matrix_as_it_is_read(monkeypatch):
    """Clipped to [0, 1], (1, -1) times its transpose is the identity; a factor wider than long has a small product."""
    assert done(SymmetricMatrix(np.array([[1.0], [-1.0]]), bounds=(0.0, 1.0))).rank == 2
    assert done(SymmetricMatrix(np.array([[1.0], [-1.0]]))).rank == 1
    monkeypatch.setattr(SymmetricMatrix, "factor_eigenvalues", lambda self: pytest.fail("by its columns"))
    assert done(SymmetricMatrix(np.ones((2, 3)))).rank == 1


def test_work_of_ranks_and_checks(monkeypatch):
    dense, factor = FORMS["dense"], FORMS["factor"]
    wide = SymmetricMatrix(np.ones((4, 7)))
    clipped = replace(factor, bounds=(0.0, 1.0))
    assert [S.rank_work for S in (dense, factor, wide, clipped)] == [729, 81, 64, 729]
    plain = SymmetricMatrix(F)
    rows, block = CandidateRows(HeldRows(np.ones((6, 5))), Measure()), CandidateBlock(np.eye(6))
    # Eigenvalues of 9 x 9, entries of what is not positive semi-definite by its form, and 6 x 6 products.
    assert validity.validation_work(plain, None) == 9**3
    assert validity.validation_work(factor, None) == 9**3 + 81 * 3
    assert validity.validation_work(plain, rows) == 9**3 + 36 * (3 + 5)
    assert validity.validation_work(plain, block) == 9**3 + 36 * 3
    monkeypatch.setattr(validity, "DENSE_LIMIT", 8)
    monkeypatch.setattr(validity, "ENTRY_LIMIT", 5)
    assert validity.validation_work(plain, None) == 9 * 3
    assert validity.validation_work(dense, None) == 9**3 + 9**3
    assert validity.validation_work(clipped, None) == 9**3 + 81 * 3
    assert validity.validation_work(plain, rows) == 9 * 3 + 6 * 8**2
    assert (validity.DENSE_LIMIT, validity.ENTRY_LIMIT) == (8, 5)


def test_limits_are_those_of_the_documentation():
    S = SymmetricMatrix(np.ones((2001, 1)))
    assert validity.validation_work(S, None) == 2001
    assert validity.validation_work(SymmetricMatrix(np.ones((2000, 1))), None) == 2000**3
    many, more = (CandidateRows(HeldRows(np.ones((n, 1))), Measure()) for n in (10_000, 10_001))
    assert validity.validation_work(S, many) == 2001 + 2 * 10_000**2
    assert validity.validation_work(S, more) == 2001 + 4 * 10_001


# Validity


@pytest.mark.parametrize("memory", [None, 32 * 3 * 2, 1])
@pytest.mark.parametrize("limit", [0, 10_000])
@pytest.mark.parametrize("signed", [False, True])
def test_the_candidate_block_is_compared_entry_by_entry_or_by_its_norm(memory, limit, signed, monkeypatch):
    monkeypatch.setattr(validity, "ENTRY_LIMIT", limit)
    P = RNG.standard_normal((6, 4))
    P[2] = 0.0  # without evidence: similar to itself alone
    U = P / np.where(np.linalg.norm(P, axis=1) > 0, np.linalg.norm(P, axis=1), 1)[:, None]
    exact = U @ U.T
    exact[2, 2] = 1.0
    for diagonal in (None, DIAGONAL):
        S = SymmetricMatrix(F, SIGNS if signed else None, diagonal)
        gap = S.block(slice(0, 6), slice(0, 6)) - exact
        expected = np.abs(gap).max() if limit else np.linalg.norm(gap)
        with working_memory(memory):
            for source in (HeldRows(P), unread(P)):
                found = validity.validate(S, CandidateRows(source, Measure())).candidates_exact
                assert found.value == pytest.approx(expected)
                assert not found.ok
    same = SymmetricMatrix(np.vstack([U, np.ones((1, 4))]), diagonal=np.array([0, 0, 1.0, 0, 0, 0, 0]))
    assert validity.validate(same, CandidateRows(HeldRows(P), Measure())).candidates_exact.value < 1e-7
    block = validity.validate(S, CandidateBlock(exact)).candidates_exact
    assert block.value == pytest.approx(np.abs(gap).max())


@pytest.mark.parametrize("memory", [None, 1, 32 * 3 * 4])
def test_the_largest_entry_and_asymmetry_in_any_blocks(memory):
    A = RNG.standard_normal((9, 9))
    with working_memory(memory):
        found = validity.validate(SymmetricMatrix(dense=A + 20 * np.triu(np.ones((9, 9)), 7)), None)
        A = A + 20 * np.triu(np.ones((9, 9)), 7)
        assert found.symmetric.value == pytest.approx(np.abs(A - A.T).max())
        assert found.bounded.value == pytest.approx(np.abs(A).max())
        signed = validity.validate(SymmetricMatrix(F, SIGNS, DIAGONAL), None)
        assert signed.bounded.value == pytest.approx(np.abs(WHOLE).max())


def test_checks_that_the_form_answers():
    exact = CandidateRows(HeldRows(np.eye(9)[:, :3]), Measure())
    plain = validity.checks_by_form(SymmetricMatrix(F, diagonal=DIAGONAL), exact)
    assert {name: (check.ok, check.value) for name, check in plain.items()} == {
        "symmetric": (True, 0.0),
        "psd": (True, 0.0),
    }
    unit = validity.checks_by_form(SymmetricMatrix(F, unit=True), None)
    values = {name: (check.ok, check.value) for name, check in unit.items()}
    assert values["unit_diagonal"] == values["candidates_exact"] == (True, 0.0)
    assert values["bounded"] == (True, 1.0)
    assert validity.checks_by_form(SymmetricMatrix(dense=WHOLE), exact) == {}
    below = validity.checks_by_form(SymmetricMatrix(F, diagonal=DIAGONAL - 2), None)["psd"]
    assert (below.ok, below.value) == (False, pytest.approx(DIAGONAL.min() - 2))


# Search


@pytest.mark.parametrize("memory", [None, 8 * (2 * 3 + 4 * 5) * 2])
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("start", "stop"), [(0, 9), (2, 7)])
@pytest.mark.parametrize("absent", [None, [1, 4]])
def test_search_in_any_blocks(form, memory, start, stop, absent):
    S, wanted = FORMS[form], np.array([3, 8, 0, 5, 2])
    gone = None if absent is None else np.array(absent)
    with working_memory(memory):
        for alone in (False, True):
            # What is added to the diagonal of a factor is no part of it: a row itself is left out wherever it counts.
            whole = WHOLE if S.factor is None else F @ np.diag(SIGNS) @ F.T
            scores = whole[wanted][:, start:stop].copy()
            scores[:, absent or []] = -np.inf
            for i, row in enumerate(wanted):
                if alone and start <= row < stop:
                    scores[i, row - start] = -np.inf
            found = nearest(S, wanted, slice(start, stop), 4, exclude_self=alone, absent=gone, progress=False)
            order = np.argsort(-scores, axis=1, kind="stable")[:, :4]
            best = np.take_along_axis(scores, order, axis=1)
            none = np.isinf(best)  # fewer than four are left
            assert found.ids.tolist() == np.where(none, -1, order).tolist()
            np.testing.assert_allclose(found.scores, np.where(none, np.nan, best), atol=1e-12)


def test_products_with_other_rows(monkeypatch):
    u = RNG.standard_normal((5, 3))
    monkeypatch.setattr("simcomplete._result.search.PART", 2)
    found = among(u, F, 3, progress=False)
    order = np.argsort(-(u @ F.T), axis=1)[:, :3]
    assert found.ids.tolist() == order.tolist()
    np.testing.assert_allclose(found.scores, np.take_along_axis(u @ F.T, order, axis=1))


def test_search_in_another_library_leaves_oneself_out():
    G = array_api_strict.asarray(F)
    found = done(SymmetricMatrix(G), n_candidates=9).search(k=2, rows=[4, 1], progress=False)
    S = F @ F.T
    np.fill_diagonal(S, -np.inf)
    assert found.ids.tolist() == np.argsort(-S[[4, 1]], axis=1)[:, :2].tolist()
    assert top_k(array_api_strict.asarray(S[:2]), 1)[0].tolist() == np.argmax(S[:2], axis=1)[:, None].tolist()


def test_scores_of_unit_rows_are_clipped_at_both_ends():
    S = SymmetricMatrix(np.array([[1.0, 0.0], [-0.6, 0.8], [-1.0 - 1e-9, 0.0], [1.0, 0.0]]), unit=True)
    found = done(S, n_candidates=3).search(k=3, progress=False)
    assert found.ids.tolist() == [[0, 1, 2]]
    assert found.scores.tolist() == [[1.0, -0.6, -1.0]]


def test_how_many_neighbours_rows_can_have():
    assert scope(3, np.array([5, 6]), 5) == (3, False)
    assert scope(np.int64(9), np.array([5, 6]), 5) == (5, False)
    assert scope(9, np.array([0, 4]), 5) == (4, True)
    assert scope(1, np.array([1]), 1) == (1, False)
    for k in (0, -1, 1.5, True, "2"):
        with pytest.raises(InputError, match="whole number"):
            scope(k, np.array([5]), 5)
    with pytest.raises(InputError, match="mixes"):
        scope(1, np.array([4, 5]), 5)
