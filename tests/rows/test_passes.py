"""Passes over rows: blocks worked on side by side give what blocks one after the other give, in order."""

import threading

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows import passes


@pytest.fixture
def three(monkeypatch):
    monkeypatch.setattr(passes, "_threads", lambda: 3)


def test_blocks_are_merged_in_the_order_of_rows(three):
    X = np.arange(200.0).reshape(100, 2)
    seen = set()

    def work(rows, start):
        seen.add(threading.get_ident())
        return [(start, float(rows.sum()))]

    parts = passes.fold(X, work, lambda a, b: a + b, bytes_per_row=2**21, label="rows")
    assert threading.get_ident() not in seen
    assert [start for start, _ in parts] == sorted(start for start, _ in parts)
    assert sum(total for _, total in parts) == X.sum()
    out = np.zeros((100, 1))
    passes.fill_array(out, X, lambda rows, start: rows[:, :1] + start, bytes_per_row=2**21, label="rows")
    starts = np.repeat([start for start, _ in parts], np.diff([*(start for start, _ in parts), 100]))
    np.testing.assert_array_equal(out[:, 0], X[:, 0] + starts)


@pytest.mark.parametrize("method", ["smcnn", "posterior"])
def test_the_same_completion(small, three, monkeypatch, method):
    P, Q, _ = small
    rows = np.repeat(P, 20, axis=0) + 0.01 * np.random.default_rng(0).random((20 * len(P), P.shape[1]))
    own = {"rank": 8, "route": "structured"} if method == "smcnn" else {"effort": "fast"}
    monkeypatch.setattr("simcomplete._posterior.candidates.fitting.STREAM_ABOVE_VALUES", 100)
    side_by_side = sc.complete(rows, Q, method=method, memory="64 KiB", **own)
    monkeypatch.setattr(passes, "_threads", lambda: 1)
    in_turn = sc.complete(rows, Q, method=method, memory="64 KiB", **own)
    for block in (("queries", "candidates"), ("queries", "queries")):
        np.testing.assert_allclose(side_by_side.similarity(*block), in_turn.similarity(*block), atol=1e-10)
    np.testing.assert_array_equal(side_by_side.search(3).ids, in_turn.search(3).ids)


def test_an_error_in_one_block_ends_the_pass(three):
    def work(rows, start):
        if start > 5:
            raise ValueError("no good")
        return 0.0

    before = set(threading.enumerate())
    with pytest.raises(ValueError, match="no good"):
        passes.fold(np.zeros((50, 1)), work, lambda a, b: a + b, bytes_per_row=2**25, label="rows")
    left = set(threading.enumerate()) - before
    assert not any("ThreadPoolExecutor" in thread.name for thread in left)
