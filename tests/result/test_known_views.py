"""Views of a result, and intervals, by hand."""

from dataclasses import replace

import numpy as np
import pytest

from simcomplete._result import validity, views
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel, moved
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.exact import CandidateRows
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError

RNG = np.random.default_rng(0)
F = RNG.standard_normal((9, 3))
SIGNS = np.array([1.0, -2.0, 0.5])


def done(matrix, **facts):
    return Completion(matrix, **{"n_candidates": matrix.n, "method": "test", **facts})


# Views


@pytest.mark.parametrize("wide", [False, True])
@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("lacking", [False, True])
def test_exact_candidates_are_put_back(wide, signed, lacking):
    n, n_p = (9, 5) if wide else (14, 5)
    G = RNG.standard_normal((n, 3))
    P = RNG.standard_normal((n_p, 4))
    P[1] = 0.0
    S = SymmetricMatrix(G, SIGNS if signed else None, RNG.random(n) if lacking else None, bounds=(-3.0, 3.0))
    exact = CandidateRows(HeldRows(P), Measure())
    found = views.with_exact_candidates(S, exact)
    assert (found.factor is None) is wide  # 2 * 3 + 4 columns of nine rows are no factor worth having
    assert found.bounds == (-3.0, 3.0)
    expected = replace(S, bounds=None).block(slice(0, n), slice(0, n))
    if wide:
        expected = np.clip(expected, -3, 3)
    expected[:n_p, :n_p] = exact.similarity(slice(0, n_p), slice(0, n_p))
    np.testing.assert_allclose(replace(found, bounds=None).block(slice(0, n), slice(0, n)), expected, atol=1e-12)


def test_a_signed_factor_that_does_not_fit_is_refused(monkeypatch):
    exact = CandidateRows(HeldRows(np.ones((5, 4))), Measure())
    S = SymmetricMatrix(np.ones((14, 3)))
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(14 * 10 * 8))
    views.with_exact_candidates(S, exact)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(14 * 10 * 8 - 1))
    with pytest.raises(MemoryError, match="14 x 10"):
        views.with_exact_candidates(S, exact)


def test_views_of_a_result():
    S = done(SymmetricMatrix(2 * F), n_candidates=4, params={"positive": True})
    np.testing.assert_array_equal(S.similarity(), 4 * F @ F.T)
    np.testing.assert_allclose(S.similarity(clip=True), np.clip(4 * F @ F.T, 0, 1))
    plain = replace(S, params={})
    np.testing.assert_allclose(plain.similarity(clip=True), np.clip(4 * F @ F.T, -1, 1))
    assert plain.view() is plain
    assert plain.view(clip=True).params == {"clip": True}
    root = np.sqrt(np.diag(F @ F.T))
    np.testing.assert_allclose(
        plain.similarity("queries", "candidates", unit_diagonal=True), (F @ F.T / root / root[:, None])[4:, :4]
    )
    assert (plain.n_queries, replace(plain, all_rows_are_queries=True).n_queries, plain.all_rows_are_queries) == (
        5,
        9,
        False,
    )
    assert len(done(SymmetricMatrix(np.ones((30, 1))), n_candidates=20).search().ids[0]) == 10


# Intervals


def test_intervals_by_hand():
    model = IntervalModel(np.array([0.6, 0.8, 1.0]), np.linspace(0, 2, 1001))
    every = np.arange(5)
    found = model.half_width(0.25, every, every, first_query=2)
    squares = np.array([0, 0, 0.36, 0.64, 1.0])
    for i in range(5):
        for j in range(5):
            spread = 1 - (1 - squares[i]) * (1 - squares[j])
            assert found[i, j] == pytest.approx(0.0 if i == j else 0.5 * np.sqrt(spread))
    np.testing.assert_allclose(model.confidence, [0.8, 0.6, 0.0])
    assert IntervalModel(np.array([1 + 1e-12]), model.quantiles).confidence[0] == 0.0
    first = model.half_width(0.25, np.array([0]), np.array([1]))
    assert first[0, 0] == pytest.approx(0.5 * np.sqrt(1 - 0.64 * 0.36))
    for level in (0, 1, -0.5, 1.5, True, "0.9"):
        with pytest.raises(InputError, match="level"):
            model.half_width(level, every, every)
    middle, width = np.array([0.9, -0.9, 0.0], dtype=np.float32), np.array([0.2, 0.2, 0.25])
    low, high = moved(middle, -width), moved(middle, width)
    np.testing.assert_allclose(low, [0.7, -1.0, -0.25], rtol=1e-6)
    np.testing.assert_allclose(high, [1.0, -0.7, 0.25], rtol=1e-6)
    assert low.dtype == high.dtype == np.float32


def test_intervals_of_a_result():
    model = IntervalModel(np.array([0.6, 0.8]), np.linspace(0, 1, 1001))
    S = done(SymmetricMatrix(np.eye(5) / 2), n_candidates=3, interval_model=model)
    low, high = S.interval()
    np.testing.assert_allclose(high - low, 2 * 0.9 * np.outer([0.6, 0.8], np.ones(3)))
    low, high = S.interval(0.5, "candidates", "queries")
    np.testing.assert_allclose(high, 0.5 * np.outer(np.ones(3), [0.6, 0.8]))
    together = replace(
        S, n_candidates=5, all_rows_are_queries=True, interval_model=IntervalModel(np.full(5, 0.6), model.quantiles)
    )
    assert together.interval(0.5)[0].shape == (5, 5)
    assert together.interval(0.5, [1])[0].shape == (1, 5)


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_a_diagonal_that_is_rounding_has_no_unit(scale):
    """In a factor with signs squares may cancel: what is left of them is 0 up to rounding, the row is not."""
    G = scale * np.array([[1.0, 1.0 + 1e-15], [2.0, 1.0]])
    with pytest.raises(InputError, match="zeros in rows that are not zero"):
        views.with_unit_diagonal(SymmetricMatrix(G[:, ::-1], np.array([1.0, -1.0])))
    found = views.with_unit_diagonal(SymmetricMatrix(scale * np.array([[1.0, 0.5], [2.0, 1.0]]), np.array([1.0, -1.0])))
    np.testing.assert_allclose(found.diag(), [1.0, 1.0])


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
def test_a_diagonal_that_cancels_is_refused_at_any_size(size):
    cancels = SymmetricMatrix(size * np.array([[1.0, 1.0], [1.0, 0.0]]), np.array([1.0, -1.0]))
    with pytest.raises(InputError, match="zeros in rows that are not zero"):
        views.with_unit_diagonal(cancels)
    stays = views.with_unit_diagonal(SymmetricMatrix(size * np.array([[1.0, 0.5], [0.0, 0.0]]), np.array([1.0, -1.0])))
    np.testing.assert_allclose(stays.block(slice(0, 2), slice(0, 2)), np.eye(2), atol=1e-12)


def test_the_deviation_of_a_single_candidate_from_the_form_alone():
    """The candidate (3, 4) is (.6, .8) as a unit row, and (.6, .7) instead has a product with itself of .85."""
    exact = CandidateRows(HeldRows(np.array([[3.0, 4.0]])), Measure())
    for factor, expected in (([0.6, 0.8], 0.0), ([0.6, 0.7], 0.15)):
        assert validity._frobenius(SymmetricMatrix(np.array([factor])), exact) == pytest.approx(expected, abs=1e-7)
