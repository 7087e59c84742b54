"""One numbering of rows for similarity, search and interval: groups, positions, masks, labels, pairs."""

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._result.rows import positions_of, resolve_rows
from simcomplete.errors import InputError

LABELS = ["ape", "bee", "cat", "dog", "eel"]


def resolved(rows, **more):
    return positions_of(resolve_rows(rows, "rows", 5, 3, labels=LABELS, **more)).tolist()


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (None, [0, 1, 2, 3, 4]),
        ("candidates", [0, 1, 2]),
        ("queries", [3, 4]),
        (0, [0]),
        (-1, [4]),
        (np.int32(-5), [0]),
        ([4, 0, 0], [4, 0, 0]),
        ((4, 0), [4, 0]),
        (np.array([1, -2], dtype=np.int8), [1, 3]),
        (np.array([1, 4], dtype=np.uint64), [1, 4]),
        ([], []),
        (range(1, 3), [1, 2]),
        (slice(1, 3), [1, 2]),
        (slice(None, None, 2), [0, 2, 4]),
        (slice(None, None, -1), [4, 3, 2, 1, 0]),
        (slice(-2, 99), [3, 4]),
        (slice(4, 1), []),
        ([True, False, False, False, True], [0, 4]),
        ("dog", [3]),
        (["eel", "ape"], [4, 0]),
        (("eel", "ape"), [4, 0]),
        (np.array(["bee"]), [1]),
        (pd.Index(["bee", "cat"]), [1, 2]),
        (("queries", 0), [3]),
        (("queries", [-1, 0]), [4, 3]),
        (("queries", slice(1, None)), [4]),
        (("queries", [True, False]), [3]),
        (("queries", ["eel"]), [4]),
        (("candidates", [2]), [2]),
        (("candidates", slice(None, None, -1)), [2, 1, 0]),
    ],
)
def test_rows_are_found(rows, expected):
    assert resolved(rows) == expected


def test_every_row_is_a_query():
    assert resolved("queries", all_rows_are_queries=True) == [0, 1, 2, 3, 4]
    assert resolved(("queries", [0, 4]), all_rows_are_queries=True) == [0, 4]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (5, r"rows: 5 is outside the 5 rows; use 0 to 4, or -5 to -1 from the end"),
        ([0, -6], r"rows: -6 is outside the 5 rows"),
        (("queries", 2), r"rows, queries: 2 is outside the 2 rows"),
        (("candidates", [3]), r"rows, candidates: 3 is outside the 3 rows"),
        ([True, False], r"has 2 booleans; give one for each of the 5 rows"),
        (True, r"rows=True names no rows"),
        (1.5, r"rows=1.5 names no rows; use 'candidates'"),
        ([1.0], r"names no rows"),
        (["ape", 1], r"rows='1' is not one of the 5 labels"),
        ([[0, 1]], r"rows has 2 dimensions; give a flat list"),
        ([[0], [1, 2]], r"is not a flat list"),
        (slice("a", "b"), r"must have whole numbers"),
        (slice(0, 5, 0), r"a step other than 0"),
        ("dig", r"rows='dig' is not one of the 5 labels; similar labels are 'dog'; use a label"),
        ("query", r"rows='query' is not one of the 5 labels; use a label, 'candidates', 'queries'"),
        (["bee", "bea"], r"rows='bea' is not one of the 5 labels; similar labels are 'bee'"),
        (("queries", "ape"), r"rows='queries' is not one of the 5 labels"),
        (("queries", ["ape"]), r"rows, queries='ape' is not one of the 2 labels"),
        ({"a": 1}, r"names no rows"),
    ],
)
def test_rows_that_do_not_exist(rows, message):
    with pytest.raises(InputError, match=message):
        resolved(rows)


def test_a_label_that_two_rows_have():
    with pytest.raises(InputError, match=r"rows='b' is the label of 2 rows, at positions \[1, 2\]; use positions"):
        resolve_rows("b", "rows", 3, 2, labels=["a", "b", "b"])


def test_a_label_where_rows_have_none():
    with pytest.raises(InputError, match=r"cols='b' is unknown, and rows have no labels"):
        resolve_rows("b", "cols", 3, 2)


# In a completion: the same rows by every name, from all three.


@pytest.fixture(scope="module")
def done(small):
    P, Q, _ = small
    P = pd.DataFrame(P, index=[f"p{i}" for i in range(60)])
    return sc.complete(P, pd.DataFrame(Q, index=[f"q{i}" for i in range(20)]), method="posterior", effort="fast")


def test_one_numbering_for_all_three(done):
    S, low = done.similarity(), done.interval()[0]
    mask = np.isin(np.arange(80), [63, 65])
    for rows in (["q3", "q5"], ("queries", [3, 5]), mask):
        np.testing.assert_allclose(done.similarity(rows), S[[63, 65]], atol=1e-12)
        np.testing.assert_array_equal(done.search(3, rows).ids, done.search(3).ids[[3, 5]])
        np.testing.assert_allclose(done.interval(rows=rows)[0], low[[3, 5]], atol=1e-12)
    np.testing.assert_allclose(done.similarity(63, "p4"), S[[63]][:, [4]], atol=1e-12)
    np.testing.assert_array_equal(done.search(3, 63).ids, done.search(3).ids[[3]])
    np.testing.assert_allclose(done.interval(rows="q3", cols=["p4", "p0"])[0], low[[3]][:, [4, 0]], atol=1e-12)
    np.testing.assert_allclose(done.interval(rows="q3", cols=-20)[1], done.interval(rows="q3", cols="q0")[1])


@pytest.mark.parametrize("rows", [0, [0], [2, 3], np.array([63]), slice(0, 2), slice(None), range(2)])
def test_numbers_alone_have_two_readings_for_intervals(done, rows):
    with pytest.raises(InputError, match=r"two readings.*first query.*positions in the result") as caught:
        done.interval(rows=rows)
    assert "rows=('queries', " in str(caught.value)
    assert "rows=('candidates', " in str(caught.value)


def test_numbers_are_positions_where_every_row_is_a_query(digits, hide):
    done = sc.complete(hide(digits[:60], 0.4), method="posterior", effort="fast")
    low, high = done.interval(0.8)
    some = done.interval(0.8, rows=[3, -1], cols=slice(0, 4))
    np.testing.assert_allclose(some[0], low[[3, 59], :4], atol=1e-12)
    np.testing.assert_allclose(some[1], high[[3, 59], :4], atol=1e-12)
    with pytest.raises(InputError, match="60 is outside the 60 rows"):
        done.interval(rows=60)


def test_candidates_are_exact(done):
    low, high = done.interval(rows="candidates")
    np.testing.assert_array_equal(low, high)
    np.testing.assert_allclose(low, done.similarity("candidates", "candidates"), atol=1e-12)
    low, high = done.interval(rows="candidates", cols="queries")
    np.testing.assert_allclose(low, done.interval()[0].T, atol=1e-12)
    assert (high > low).any()


def test_intervals_between_queries_cover(digits, hide):
    P, truth = digits[:400], digits[400:460]
    low, high = sc.complete(P, hide(truth, 0.7), method="posterior", effort="fast").interval(
        0.9, rows="queries", cols="queries"
    )
    unit = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    inside = (low <= unit @ unit.T) & (unit @ unit.T <= high)
    assert 0.82 < inside[~np.eye(60, dtype=bool)].mean() < 0.97
    np.testing.assert_array_equal(np.diag(low), 1)


@pytest.mark.parametrize("ask", ["similarity", "search", "interval"])
def test_out_of_range_is_said_in_words(done, ask):
    with pytest.raises(InputError, match="outside the"):
        getattr(done, ask)(rows=("queries", [20]))
    with pytest.raises(InputError, match="similar labels are"):
        getattr(done, ask)(rows="q33x")
