"""Details of results by hand: spreads of pairs, places of ties, values and restricted similarities, what is refused."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result import probabilities, validity, views
from simcomplete._result.completion import Completion
from simcomplete._result.frames import Searched, SearchResult
from simcomplete._result.intervals import IntervalModel, RankedErrors
from simcomplete._result.layout import Parts
from simcomplete._result.layout_values import Value
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.recalibration import how_far, logistic, logit
from simcomplete._result.search import without_columns
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.exact import CandidateRows
from simcomplete._similarity.measure import Measure
from simcomplete.errors import FileFormatError, InputError, MemoryLimitError

RNG = np.random.default_rng(0)


def test_spreads_of_two_incomplete_rows():
    model = IntervalModel(np.array([0.5, 0.1, 1.0]), np.linspace(0, 2, 1001))
    found = model.spread_of(np.arange(4), np.arange(4), first_query=1)
    squares = [0.0, 0.25, 0.01, 1.0]
    for i, a in enumerate(squares):
        for j, b in enumerate(squares):
            assert found[i, j] == pytest.approx(0.0 if i == j else np.sqrt(1 - (1 - a) * (1 - b)), abs=1e-12)


def test_ties_have_the_place_of_the_first_of_them():
    ids, scores = np.array([[0, 1, 2, 3, 4]]), np.array([[0.9, 0.7, 0.7, 0.7, 0.1]])
    result = SearchResult(ids, scores, Searched(np.array([100]), 100, 100))
    model = SimpleNamespace(
        exact=lambda positions, first: positions < first, spread_of=lambda rows, cols, first: np.ones(cols.shape)
    )
    kind, spread, n = result.placed(model)
    edges = RankedErrors.edges(100)
    np.testing.assert_array_equal(kind[0], [np.sum(edges <= place) for place in (0, 1, 1, 1, 4)])
    assert len(set(kind[0].tolist())) == 3 and n == 100 and spread.tolist() == [[1.0] * 5]


def test_the_whole_way_only_where_other_queries_gain_clearly():
    x, query = logit(np.tile(np.linspace(0.05, 0.95, 40), 100)), np.repeat(np.arange(100), 40)
    X = np.column_stack([x, np.ones(4000)])
    right, steep = ((np.arange(4000) % 20 < 20 * logistic(c * x)).astype(float) for c in (1, 4))
    assert how_far(X, right, query) == 0.5
    assert how_far(X, steep, query) == 1.0
    some, few = slice(40, None), query[40:] - 1  # 99 queries
    assert how_far(X[some], steep[some], few) == 1.0


@pytest.mark.parametrize(("n", "k", "most"), [(300, 3, 200), (300, 11, 220), (300, 20, 300), (50, 3, 50)])
def test_how_many_may_be_among_the_first(n, k, most, monkeypatch):
    asked = []

    class StopError(Exception):
        pass

    def noted(done, model, k, most):
        asked.append((k, most))
        raise StopError

    monkeypatch.setattr(probabilities, "TopDraws", noted)
    P = np.random.default_rng(0).random((n, 4))
    done = sc.complete(P, [[0.3, np.nan, 0.4, 0.2]], method="posterior", effort="fast", progress=False)
    with pytest.raises(StopError):
        done.top_probability(k)
    assert asked == [(k, most)]


@pytest.mark.parametrize("signed", [False, True])
def test_zero_candidates_keep_their_similarity_to_themselves(signed):
    F, P = RNG.standard_normal((40, 3)), RNG.standard_normal((6, 4))
    P[2] = 0.0
    S = SymmetricMatrix(F, np.array([1.0, -1.0, 1.0]) if signed else None)
    found = views.with_exact_candidates(S, CandidateRows(HeldRows(P), Measure()))
    assert found.factor is not None
    expected = S.block(slice(0, 40), slice(0, 40)).copy()
    unit = P / np.where(np.arange(6) == 2, 1.0, np.linalg.norm(P, axis=1))[:, None]
    expected[:6, :6] = unit @ unit.T
    expected[2, 2] = 1.0
    np.testing.assert_allclose(found.block(slice(0, 40), slice(0, 40)), expected, atol=1e-12)


def test_whole_numbers_in_files_are_numbers():
    value = Value(float, low=0.0, high=5.0).read(3, "a", None)
    assert value == 3.0 and isinstance(value, float)
    assert Value(float).read("inf", "a", None) == np.inf
    assert Value(float).write(-np.inf, "a", None) == "-inf"
    for wrong in (True, "seven", None):
        with pytest.raises(FileFormatError, match="is not a number"):
            Value(float).read(wrong, "a", None)


# Values and restricted similarities


class Fitted:
    """A model of three features that answers what it is told."""

    d, columns = 3, None

    def imputed(self, place):
        return np.full((len(place), 3), 7.0), np.zeros((len(place), 3))

    def restricted(self, rows, cols, count, mechanism):
        self.asked = rows, cols, count, mechanism
        similarity = np.linspace(-0.9, 0.9, len(rows) * len(cols)).reshape(len(rows), len(cols))
        return SimpleNamespace(similarity=similarity, spread=np.full(similarity.shape, 0.3))


def completion(n=8):
    model = IntervalModel(np.zeros(n), np.linspace(0, 2, 1001))
    return Completion(
        SymmetricMatrix(np.eye(n)), n, "posterior", interval_model=model, model=Fitted(), all_rows_are_queries=True
    )


def test_restricted_intervals_by_hand():
    done = completion()
    S, low, high = done.restricted(rows=[0, 1], cols=[2, 3, 4], level=0.75)
    np.testing.assert_allclose(low, np.clip(S - 0.3 * 1.5, -1, 1))
    np.testing.assert_allclose(high, np.clip(S + 0.3 * 1.5, -1, 1))
    assert low.min() == -1 and high.max() == 1
    S, low, high = done.restricted(rows=[0, 1], cols=[2, 3, 4], level=0.25)  # .5 spreads
    np.testing.assert_allclose(low, np.clip(S - 0.3 * 0.5, -1, 1))
    rows, cols, count, mechanism = done.model.asked
    assert rows.tolist() == [0, 1] and cols.tolist() == [2, 3, 4] and count is None and mechanism == "auto"


@pytest.mark.parametrize("shape", [(3,), (8, 3)])
def test_features_for_all_or_for_each_row(shape):
    done = completion()
    done.restricted(np.ones(shape, dtype=bool))
    assert done.model.asked[2].shape == shape
    assert done.model.asked[3] == ("random" if len(shape) == 2 else "auto")  # what each row once had was lost later
    for wrong in (np.ones(shape), np.ones((4,), dtype=bool), np.ones((3, 8), dtype=bool)):
        with pytest.raises(InputError, match="give booleans of shape"):
            done.restricted(wrong)


def test_memory_of_values_is_asked_for_beforehand(monkeypatch):
    done, needed = completion(), 8 * 6 * 2 * 3
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(needed))
    assert done.imputed([1, 5]).shape == (2, 3)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(needed - 1))
    with pytest.raises(MemoryLimitError, match="2 x 3 values"):
        done.imputed([1, 5])


@pytest.mark.parametrize(("bars", "each"), [(True, 2 + 6), (False, 2 + 6)])
def test_memory_of_restricted_similarities_is_asked_for_beforehand(bars, each, monkeypatch):
    """2 x 3 pairs of 8 numbers each (their similarity and spread, and 6 on the way), and 5 tables of 2 + 3 rows."""
    done, needed = completion(), 8 * (each * 2 * 3 + 5 * (2 + 3) * 3)
    if not bars:
        done = replace(done, interval_model=None)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(needed))
    assert done.restricted(rows=[1, 5], cols=[0, 2, 3]).shape == (2, 3)
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(needed - 1))
    with pytest.raises(MemoryLimitError, match="2 x 3 similarities over some features"):
        done.restricted(rows=[1, 5], cols=[0, 2, 3])


def test_intervals_are_drawn_of_queries_alone():
    pytest.importorskip("matplotlib")
    P = np.random.default_rng(0).random((50, 4))
    done = sc.complete(P, [[0.3, np.nan, 0.4, 0.2]] * 3, method="posterior", effort="fast", progress=False)
    for rows in ([0], [0, 51]):
        with pytest.raises(InputError, match="give queries as rows"):
            done.plot_intervals(rows)


@pytest.mark.parametrize("absent", [[-1, 2], [1, 7], []])
def test_columns_outside_of_a_block_are_left_alone(absent):
    block = np.ones((2, 4))
    found = without_columns(block.copy(), np.array(absent, dtype=np.int64))
    expected = block.copy()
    expected[:, [c for c in absent if 0 <= c < 4]] = -np.inf
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(("width", "side"), [(1, 70), (100, 50), (10**9, 1)])
def test_tiles_of_the_upper_triangle_fit_into_a_block(width, side, monkeypatch):
    """160,000 bytes: of a narrow factor 70 x 70 pairs of 32 bytes, of 100 columns two blocks of 50 rows at 16 each."""
    monkeypatch.setattr(validity, "block_bytes", lambda: 160_000)
    n, seen = 2 * side + 1, np.zeros((2 * side + 1,) * 2, dtype=int)
    for rows, cols in validity._tiles(n, width):
        assert rows.stop - rows.start <= side and cols.stop - cols.start <= side
        seen[rows, cols] += 1
    assert (seen[np.triu_indices(n)] == 1).all()
    first = next(validity._tiles(n, width))
    assert first == (slice(0, side), slice(0, side))


@pytest.mark.parametrize("name", ["other", 3, None, ["rows"]])
def test_arrays_that_a_file_lacks_are_named(name):
    parts = Parts({"rows": np.zeros(2)})
    assert parts.get("model", "rows").shape == (2,)
    with pytest.raises(FileFormatError, match=r"^model names the array .*, which there is not"):
        parts.get("model", name)
