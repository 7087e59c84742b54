"""Rows of H = [P^ B] in one pass: reflected as they are read, and multiplied."""

import numpy as np
import pytest

from simcomplete._rows.source import checked
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity import candidate_pass
from simcomplete._similarity.candidate_pass import KeptSimilarities, Reader
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.products import prepare_rows
from simcomplete.errors import InputError

MEASURES = [Measure(), Measure("pearson"), Measure(min_overlap=3), Measure(epsilon=0.1), Measure(positive=True)]


@pytest.fixture(params=["usual rows", "rows of very different size"])
def rows(request, small):
    P, Q, _ = small
    P = P[:20].copy()
    if request.param != "usual rows":
        P[3] *= 1e200  # whose squares are beyond the range of numbers
        P[5] = 0
    return P, Q


@pytest.fixture(params=[2**21, 3000], ids=["one strip", "strips"])
def strip(request, monkeypatch):
    monkeypatch.setattr(candidate_pass, "STRIP_BYTES", request.param)


@pytest.mark.parametrize("measure", MEASURES, ids=repr)
def test_reflected_and_multiplied_rows_are_those_of_h(library, rows, strip, measure):
    X, Q = (library.array(x) for x in rows)
    reader = Reader(prepare_rows(Q, measure), measure, None)
    H = to_numpy(reader(X).H)
    rng = np.random.default_rng(0)
    u = rng.standard_normal(H.shape[1])
    u /= np.linalg.norm(u)
    lift = rng.standard_normal((H.shape[1], 4))
    reflected = to_numpy(reader(X, 0, reflector=library.array(u)).H)
    known = H @ (np.eye(len(u)) - 2 * np.outer(u, u))
    np.testing.assert_allclose(reflected, known, atol=1e-14)
    times = reader.times(X, 0, library.array(u), library.array(lift))
    np.testing.assert_allclose(to_numpy(times), known @ lift, atol=1e-13)


@pytest.mark.parametrize("single", [False, True], ids=["float64", "float32"])
def test_what_was_kept_is_multiplied_in_the_same_way(library, small, single):
    P, Q, _ = small
    X = library.array(P[:20].astype(np.float32) if single else P[:20])
    reader = Reader(prepare_rows(library.array(Q), Measure()), Measure(), KeptSimilarities(20))
    lift = library.array(np.random.default_rng(0).standard_normal((P.shape[1] + len(Q), 4)))
    u = lift[:, 0]
    before = to_numpy(reader.times(X, 0, u, lift))
    assert reader.kept.get(0, 1) is None
    H = to_numpy(reader(X, 0, keep=True, reflector=u).H)
    B, _ = reader.kept.get(0, 20)
    np.testing.assert_allclose(to_numpy(reader.times(X, 0, u, lift)), before, atol=1e-13)
    assert not np.allclose(to_numpy(B), H[:, P.shape[1] :])  # similarities, not reflected ones
    np.testing.assert_array_equal(to_numpy(reader(X, 0).H)[:, P.shape[1] :], to_numpy(B))


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_large_values_are_finite_and_infinities_are_found(dtype):
    largest = np.full((3, 4), np.finfo(dtype).max)  # their sum is infinite
    assert checked(largest, (3, 4), "P", 0, True) is largest
    largest[1, 2] = np.nan
    assert checked(largest, (3, 4), "P", 0, False) is largest
    with pytest.raises(InputError, match=r"P\[1, 2\] is nan"):
        checked(largest, (3, 4), "P", 0, True)
    largest[1, 2] = -np.inf
    with pytest.raises(InputError, match=r"P\[6, 2\] is -inf"):
        checked(largest, (3, 4), "P", 5, False)
