"""Similarities that are kept from the first pass: what was put there is found, as far as there was room."""

from threading import Thread

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.budget import working_memory
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity import candidate_query
from simcomplete._similarity.candidate_pass import KeptSimilarities, Reader
from simcomplete._similarity.candidate_query import bytes_for_similarities
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.products import prepare_rows


def rows_of(start, n):
    return np.arange(start, start + n)[:, None] + np.arange(3) / 10, np.arange(start, start + n)[:, None] + 0.5


def test_rows_are_found_however_passes_cut_them(library):
    some = KeptSimilarities(10)
    for start, n in ((0, 4), (6, 4)):
        some.put(start, *map(library.array, rows_of(start, n)))
    for start, n in ((0, 4), (1, 2), (7, 3)):
        for found, known in zip(some.get(start, n), rows_of(start, n), strict=True):
            np.testing.assert_array_equal(to_numpy(found), known)
    assert some.get(3, 3) is None  # rows 4 and 5 were not put there
    assert some.get(8, 3) is None


def test_what_goes_beyond_the_room_is_not_kept():
    some = KeptSimilarities.within(8 * 4 * 5 + 1, 100, 3)
    assert some.rows == 5
    some.put(3, *rows_of(3, 3))
    assert some.get(3, 2) is None
    assert KeptSimilarities.within(10**9, 7, 3).rows == 7


def test_threads_keep_rows_of_their_own():
    some = KeptSimilarities(400)
    threads = [Thread(target=some.put, args=(k, *rows_of(k, 10))) for k in range(0, 400, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    np.testing.assert_array_equal(some.get(0, 400)[0], rows_of(0, 400)[0])


def test_how_much_may_be_kept(monkeypatch):
    X = np.ones((2, 2))
    with working_memory("1 MiB"):
        assert bytes_for_similarities(X) == 2**18
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "80 MB")
    assert bytes_for_similarities(X) == 10_000_000
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000 GiB")
    assert bytes_for_similarities(X) == candidate_query.MOST_BYTES


@pytest.mark.parametrize("room", [0, 8 * 21 * 150, 10**9])
def test_the_answer_does_not_depend_on_what_is_kept(digits, hide, room, monkeypatch):
    P, Q = digits[:400], hide(digits[400:420], 0.7)
    asked = {"method": "smcnn", "rank": 20, "route": "structured", "verify": True, "memory": "200 KB"}
    known = sc.complete(P, Q, **asked)
    monkeypatch.setattr(candidate_query, "bytes_for_similarities", lambda source: room)
    done = sc.complete(P, Q, **asked)
    np.testing.assert_allclose(done.similarity(), known.similarity(), atol=1e-12)
    assert done.certificate.residual < 1e-10


def test_a_first_pass_that_was_interrupted_can_be_made_again(small):
    P, Q, _ = small
    reader = Reader(prepare_rows(Q, Measure()), Measure(), KeptSimilarities(60))
    before = reader(P, 0, keep=True)
    again = reader(P, 0, keep=True)
    assert again.supported is not None
    np.testing.assert_array_equal(again.H, before.H)
