"""Vector indexes: the flat one meets our own search, the others are measured, what cannot be is refused."""

import doctest
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete import index
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.search import Neighbours, nearest
from simcomplete._rows.budget import working_memory
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import top_k
from simcomplete.errors import InputError, MemoryLimitError, MissingExtraError
from simcomplete.estimators import PosteriorCompleter

with warnings.catch_warnings():
    warnings.simplefilter("ignore", DeprecationWarning)  # as errors, those of an older FAISS end the interpreter
    try:
        import faiss
    except ImportError:
        faiss = None

HAS_FAISS = faiss is not None
needs_faiss = pytest.mark.skipif(not HAS_FAISS, reason="faiss is not installed: pip install 'simcomplete[faiss]'")


def own_search(S, rows, n_p, k, *, exclude_self=False):
    return nearest(S, np.asarray(rows), slice(0, n_p), k, exclude_self=exclude_self, progress=False)


def by_index(S, rows, n_p, k, how="faiss", *, exclude_self=False):
    rows = np.asarray(rows)
    return index.nearest(S, rows, slice(0, n_p), k, exclude_self=exclude_self, index=how, progress=False)


def clustered(n, r, seed=0):
    """Unit rows around centres, as real data have them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((20, r))[rng.integers(20, size=n)] + 0.5 * rng.standard_normal((n, r))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@pytest.mark.skipif(HAS_FAISS, reason="faiss is installed")
def test_without_faiss_the_error_says_how_to_get_it():
    with pytest.raises(MissingExtraError, match=r"pip install 'simcomplete\[faiss\]'"):
        index.build(np.eye(3))


@needs_faiss
@settings(max_examples=60, deadline=None)
@given(
    n=st.integers(2, 60),
    r=st.integers(1, 4),
    k=st.integers(1, 70),
    signed=st.booleans(),
    among=st.booleans(),
    seed=st.integers(0, 10**6),
)
def test_flat_equals_our_own_search_ties_and_all(n, r, k, signed, among, seed):
    # Small whole numbers: products are exact in float32 and float64, and most scores are tied.
    rng = np.random.default_rng(seed)
    signs = rng.choice([-1.0, 1.0], r) if signed else None
    S = SymmetricMatrix(factor=rng.integers(-2, 3, (n + 5, r)).astype(float), signs=signs)
    rows = np.arange(n) if among else np.arange(n, n + 5)
    k = min(k, n - among)
    want = own_search(S, rows, n, k, exclude_self=among)
    got = by_index(S, rows, n, k, exclude_self=among)
    np.testing.assert_array_equal(got.ids, want.ids)
    np.testing.assert_array_equal(got.scores, want.scores)


@needs_faiss
def test_flat_decides_what_float32_cannot():
    # 400 rows whose products differ from each other by 1e-12: one number in float32, and the best come last.
    rows = np.column_stack([np.ones(400), np.arange(400) * 1e-12])
    found = index.search(index.build(rows), np.array([[1.0, 1.0]]), 3)
    assert found.ids.tolist() == [[399, 398, 397]]
    np.testing.assert_allclose(found.scores, [1 + np.array([399, 398, 397]) * 1e-12], rtol=0, atol=1e-15)


@needs_faiss
def test_equal_rows_come_by_position_however_many():
    row = np.random.default_rng(0).standard_normal(33)
    found = index.search(index.build(np.tile(row, (300, 1))), row[None], 5)
    assert found.ids.tolist() == [[0, 1, 2, 3, 4]]


@needs_faiss
@pytest.mark.parametrize("view", [{}, {"keep_candidates": True}, {"unit_diagonal": True}])
@pytest.mark.parametrize("settings", [{"method": "smcnn", "rank": 10}, {"method": "posterior", "effort": "fast"}])
def test_completions_are_searched_alike(digits, hide, settings, view):
    done = sc.complete(digits[:300], hide(digits[300:320], 0.7), progress=False, **settings).view(**view)
    assert (done.signs is not None) == ("keep_candidates" in view)
    for rows, among in ((np.arange(300, 320), False), (np.arange(40), True)):
        want = own_search(done.matrix, rows, 300, 7, exclude_self=among)
        got = by_index(done.matrix, rows, 300, 7, exclude_self=among)
        np.testing.assert_array_equal(got.ids, want.ids)
        np.testing.assert_allclose(got.scores, want.scores, atol=1e-12)
    assert got.ids.dtype == np.int64


@needs_faiss
def test_single_precision_factors_keep_their_type():
    X = clustered(200, 8).astype(np.float32)
    S = SymmetricMatrix(factor=X)
    got = by_index(S, np.arange(150, 200), 150, 5)
    assert got.scores.dtype == np.float32
    true = Neighbours(*top_k(X[150:].astype(float) @ X[:150].astype(float).T, 5))
    np.testing.assert_array_equal(got.ids, true.ids)


@needs_faiss
@pytest.mark.array_library
def test_factors_of_every_array_library(library):
    X = clustered(80, 6)
    want = by_index(SymmetricMatrix(factor=X), np.arange(60, 80), 60, 4)
    got = by_index(SymmetricMatrix(factor=library.array(X)), np.arange(60, 80), 60, 4)
    np.testing.assert_array_equal(got.ids, want.ids)


@needs_faiss
@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_partial_indexes_find_nearly_all(kind):
    X = clustered(4000, 16)
    P, Q = X[:3900], X[3900:]
    true = index.search(index.build(P), Q, 10)
    found = index.search(index.build(P, kind), Q, 10)
    assert index.recall(found.ids, true.ids) > 0.95
    np.testing.assert_allclose(found.scores, np.take_along_axis(Q @ P.T, found.ids, axis=1), atol=1e-12)
    assert (np.diff(found.scores) <= 0).all()
    narrow = index.search(index.build(P, kind, breadth=1), Q, 10)
    assert index.recall(narrow.ids, true.ids) < index.recall(found.ids, true.ids)


@needs_faiss
def test_lists_that_hold_too_few_are_filled_up():
    # One list of 25 looked into, but 200 of 200 asked for: every row must come, in the right order.
    X = clustered(200, 5)
    narrow = index.build(X, "ivf", lists=25, breadth=1)
    found = index.search(narrow, X[:4], 200)
    np.testing.assert_array_equal(np.sort(found.ids, axis=1), np.tile(np.arange(200), (4, 1)))
    assert (np.diff(found.scores) <= 0).all()


@needs_faiss
def test_blocks_do_not_change_the_index(monkeypatch):
    X = clustered(500, 6)
    whole = index.search(index.build(X), X[:9], 4)
    monkeypatch.setattr("simcomplete.index._rows.row_blocks", lambda n, size: [slice(0, 7), slice(7, n)])
    parts = index.build(X)
    assert parts.faiss.ntotal == 500
    np.testing.assert_array_equal(index.search(parts, X[:9], 4).ids, whole.ids)


@needs_faiss
def test_rows_stay_on_disk(tmp_path):
    X = clustered(300, 6)
    np.save(tmp_path / "rows.npy", X)
    mapped = np.load(tmp_path / "rows.npy", mmap_mode="r")
    built = index.build(mapped)
    assert np.shares_memory(built.rows.source, mapped)
    np.testing.assert_array_equal(index.search(built, X[:5], 3).ids, top_k(X[:5] @ X.T, 3)[0])


class Counted(RowTable):
    """Rows that are made when asked for, and remember the most that was asked for at once."""

    def __init__(self, X):
        super().__init__(X.shape, X.dtype)
        self.X, self.most = X, 0

    def read(self, start, stop):
        self.most = max(self.most, stop - start)
        return self.X[start:stop]


@needs_faiss
@pytest.mark.parametrize("kind", ["flat", "ivf"])
def test_lazy_factors_are_read_by_block(kind, monkeypatch):
    X = clustered(3000, 6)
    lazy = Counted(X)
    monkeypatch.setattr(
        "simcomplete.index._rows.row_blocks", lambda n, size: [slice(i, i + 500) for i in range(0, n, 500)]
    )
    with working_memory(500 * 4 * 8 * 6):  # rows that are taken by position come 500 at a time, too
        found = index.search(index.build(lazy, kind, lists=4, breadth=4), X[:20], 5)
    np.testing.assert_array_equal(found.ids, top_k(X[:20] @ X.T, 5)[0])
    assert 0 < lazy.most <= 500
    wrong = X.copy()
    wrong[2999, 0] = np.nan
    with pytest.raises(InputError, match="missing"):
        index.build(Counted(wrong))


@needs_faiss
def test_transformed_queries_find_what_the_estimator_finds(small):
    P, Q, _ = small
    model = PosteriorCompleter(effort="fast").fit(P)
    built = index.build(model.candidates_)
    np.testing.assert_array_equal(index.search(built, model.transform(Q), 5).ids, model.search(Q, 5).ids)
    with pytest.raises(InputError, match=r"20 of 20 queries have missing values.*transform"):
        index.search(built, Q, 5)


@needs_faiss
def test_what_cannot_be_indexed_is_refused():
    F = clustered(30, 4)
    with pytest.raises(InputError, match="before clip"):
        by_index(SymmetricMatrix(factor=F, bounds=(0.0, 1.0)), [29], 20, 3)
    with pytest.raises(InputError, match="without a factor"):
        by_index(SymmetricMatrix(dense=F @ F.T), [29], 20, 3)
    with pytest.raises(InputError, match="'faiss-ivf'"):
        by_index(SymmetricMatrix(factor=F), [29], 20, 3, "annoy")
    with pytest.raises(InputError, match="over other rows"):
        by_index(SymmetricMatrix(factor=F), [29], 20, 3, index.build(F[:19]))


@needs_faiss
@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda X: index.build(X, "tree"), "kind='tree'"),
        (lambda X: index.build(X, "ivf", lists=0), "lists=0"),
        (lambda X: index.build(X, "hnsw", links=True), "links=True"),
        (lambda X: index.build(X, "ivf", breadth=1.5), "breadth=1.5"),
        (lambda X: index.build(np.where(X > 0, X, np.nan)), "must be complete"),
        (lambda X: index.build(X * 1e39), "too large"),
        (lambda X: index.search(index.build(X), X, 0), "k=0"),
        (lambda X: index.search(index.build(X), X[:, :2], 1), "2 entries"),
        (lambda X: index.search(index.build(X), X * 1e39, 1), "too large"),
        (lambda X: index.search(index.build(X[:1]), X[:1], 1, exclude=np.array([0])), "no other row"),
    ],
)
def test_wrong_parameters_are_named(wrong, message):
    with pytest.raises(InputError, match=message):
        wrong(clustered(20, 4))


@needs_faiss
def test_an_index_that_cannot_fit_is_refused_first(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000")
    with pytest.raises(MemoryLimitError, match="index of 100 rows"):
        index.build(clustered(100, 4))


@needs_faiss
def test_the_example_of_build_runs():
    text = (index.build.__doc__ or "").replace("# doctest: +SKIP", "")
    example = doctest.DocTestParser().get_doctest(text, {}, "build", None, 0)
    assert len(example.examples) == 4
    assert doctest.DocTestRunner().run(example).failed == 0
