"""What every adapter promises, on its real engine."""

import numpy as np
import pytest

from simcomplete.errors import InputError

RNG = np.random.default_rng(0)
V = RNG.normal(size=(40, 6))
IDS = [*range(20), *(f"row {i}" for i in range(20))]


def by_hand(Q, V, ids, k):
    order = np.argsort(-(Q @ V.T), axis=1, kind="stable")[:, :k]
    return [[ids[i] for i in row] for row in order]


def test_an_empty_store(store):
    assert store.count() == 0 and list(store.ids()) == [] and store.width is None
    assert store.search(V[:2], k=3) == ([[], []], [[], []])
    assert store.delete(["a"]) == 0
    with pytest.raises(InputError, match="no row with the id 'a'"):
        store.get(["a"])
    store.put([], [])
    assert store.count() == 0


def test_what_was_put_is_found_by_inner_product(store):
    store.put(IDS, V)
    assert store.count() == 40 and store.width == 6 and set(store.ids()) == set(IDS)
    Q = RNG.normal(size=(5, 6))  # of any length: not cosine
    found = store.search(Q, k=7)
    assert found.ids == by_hand(Q, V, IDS, 7)
    expected = -np.sort(-(Q @ V.T), axis=1)[:, :7]
    np.testing.assert_allclose(found.scores, expected, rtol=1e-5, atol=1e-6)
    assert [len(row) for row in store.search(Q, k=100).ids] == [40] * 5


def test_the_longest_row_wins_as_in_no_cosine(store):
    store.put(["short", "long"], [[1.0, 0.0], [3.0, 3.0]])
    assert store.search([[1.0, 0.0]], k=2).ids == [["long", "short"]]


def test_put_replaces_and_delete_removes(store):
    store.put(IDS, V, payloads=[{"n": i} for i in range(40)])
    store.put(["row 3", "new"], V[:2] * 2, payloads=[{"n": -1}, None])
    assert store.count() == 41
    found = store.get(["new", "row 3", 3])
    np.testing.assert_allclose(found.vectors, [2 * V[1], 2 * V[0], V[3]], rtol=1e-6)
    assert found.payloads == [None, {"n": -1}, {"n": 3}] and found.vectors.dtype == np.float64
    assert store.delete([3, "row 3", "nobody", 3]) == 2
    assert store.count() == 39 and 3 not in set(store.ids())
    assert "row 3" not in store.search(V[:1], k=100).ids[0]
    with pytest.raises(InputError, match="no row with the id 3"):
        store.get([3])
    store.delete(list(store.ids()))
    assert store.count() == 0 and store.search(V[:1], k=3).ids == [[]]
    store.put(IDS, V)
    assert store.count() == 40


def test_ids_are_text_or_numbers_of_any_kind(store):
    ids = [7, "7", -(2**63) + 1, 2**63 - 1, "it's", 'a "quoted" one', "名前 🦊", "", "x" * 1000, "a\\b", "%s", "\n"]
    store.put(ids, RNG.normal(size=(len(ids), 3)))
    assert set(store.ids()) == set(ids) and store.count() == len(ids)
    assert set(store.search(np.ones((1, 3)), k=50).ids[0]) == set(ids)
    assert store.get(ids).vectors.shape == (len(ids), 3)
    assert store.delete(["7", "it's", "%s"]) == 3 and 7 in set(store.ids())


def test_payloads_come_back_as_they_were(store):
    payloads = [{"a": [1, 2.5, None, "ü"], "b": {"c": True}}, "text", 3, [], None, {"quote": "'; DROP TABLE x; --"}]
    store.put(range(6), V[:6], payloads=payloads)
    assert store.get(range(6)).payloads == payloads


def test_a_row_of_zeros_and_one_entry(store):
    store.put(["zero", "one"], [[0.0], [1.0]])
    assert store.search([[2.0]], k=2) == ([["one", "zero"]], [[2.0, 0.0]])


def test_bad_input_is_refused_and_changes_nothing(store):
    store.put(IDS, V)
    gap = np.where(np.eye(6, dtype=bool)[:1], np.nan, V[:1])
    for call, words in [
        (lambda: store.search(gap, k=3), "missing values, which no store can compare"),
        (lambda: store.put(["x"], gap), "missing values"),
        (lambda: store.put(["x"], [[np.inf] * 6]), "inf"),
        (lambda: store.put(["x"], [[1e300] * 6]), "beyond float32"),
        (lambda: store.put(["x"], V[:1, :5]), "5 entries and those of the store 6"),
        (lambda: store.search(V[:1, :5], k=3), "5 entries and those of the store 6"),
        (lambda: store.put(["x", "x"], V[:2]), "given to 2 rows"),
        (lambda: store.put(["x"], V[:2]), "1 ids, 2 vectors"),
        (lambda: store.put(["x"], V[:1], payloads=[object()]), "JSON"),
        (lambda: store.put(["x"], V[:1], payloads=[{"a": float("nan")}]), "JSON"),
        (lambda: store.put([None], V[:1]), "neither text"),
        (lambda: store.put(["a\0b"], V[:1]), "neither text"),
        (lambda: store.delete("row 1"), "single id"),
        (lambda: store.search(V[:1], k=0), "k=0"),
    ]:
        with pytest.raises(InputError, match=words):
            call()
    assert store.count() == 40 and set(store.ids()) == set(IDS)


@pytest.mark.parametrize("name", ["sqlite", "postgres", "qdrant-folder", "lancedb"])
def test_what_was_put_is_there_after_opening_again(opened, name):
    first = opened(name)
    first.put(IDS, V, payloads=[{"n": i} for i in range(40)])
    first.close()
    again = opened(name)
    assert again.count() == 40 and again.width == 6 and again.get(["row 2"]).payloads == [{"n": 22}]
    assert again.search(V[:3], k=5).ids == by_hand(V[:3], V, IDS, 5)


@pytest.mark.parametrize("name", ["sqlite", "postgres"])
def test_two_that_are_open_at_once_see_the_same(opened, name):
    one, other = opened(name), opened(name)
    assert other.width is None
    one.put(IDS, V)
    assert other.count() == 40 and other.search(V[:1], k=1).ids == [[IDS[int(np.argmax(V[:1] @ V.T))]]]
    other.delete(IDS[:39])
    assert one.search(V[:1], k=5).ids == [["row 19"]]
