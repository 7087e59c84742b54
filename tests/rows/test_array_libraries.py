"""The core in every array library: the same answer, in the same library, on the same device."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.xp import device, is_array, like, namespace, to_numpy

METHODS = [method.name for method in sc.methods()]
SPECTRAL = ("smcnn", "smcnmf", "smc_nr", "smc_f")


@pytest.fixture
def rows(small):
    P, Q, _ = small
    P, Q = P.copy(), Q.copy()
    P[3], Q[1] = 0, np.nan  # rows without evidence too
    return P, Q


def assert_stays(result, given):
    assert namespace(result) is namespace(given)
    assert device(result) == device(given)


@pytest.mark.parametrize(
    "settings", [{}, {"metric": "pearson"}, {"min_overlap": 4}, {"epsilon": 0.1}, {"positive": True}]
)
def test_overlap_similarity(library, rows, settings):
    X = np.vstack(rows)
    given = library.array(X)
    S = sc.overlap_similarity(given, **settings)
    assert_stays(S, given)
    np.testing.assert_allclose(to_numpy(S), sc.overlap_similarity(X, **settings), atol=1e-12)
    np.testing.assert_array_equal(to_numpy(sc.overlap_counts(given)), sc.overlap_counts(X))
    single = library.array(X.astype(np.float32))
    assert sc.overlap_similarity(single, **settings).dtype == single.dtype


@pytest.mark.parametrize("method", [m for m in METHODS if m in SPECTRAL])
@pytest.mark.parametrize("route", ["full", "partial", "structured", "iterative"])
def test_every_route(library, rows, method, route):
    agree(library, rows, method, route=route, rank=12, penalty=0.1)


@pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
@pytest.mark.parametrize("method", [m for m in METHODS if m not in SPECTRAL])
def test_every_other_method(library, rows, method):
    known = next(m for m in sc.methods() if m.name == method).parameters
    agree(library, rows, method, **{name: value for name, value in (("max_iter", 3), ("burn_in", 1)) if name in known})


def agree(library, rows, method, **params):
    P, Q = (library.array(x) for x in rows)
    done = sc.complete(P, Q, method=method, **params)
    expected = sc.complete(*rows, method=method, **params)
    assert_stays(done.similarity(), P)
    assert_stays(done.matrix.array, P)
    np.testing.assert_allclose(to_numpy(done.similarity()), expected.similarity(), atol=1e-8)
    found, wanted = done.search(k=1), expected.search(k=1)
    told = wanted.scores > 1e-9  # a query of which nothing is known is nearest to nobody: rounding decides
    np.testing.assert_array_equal(found.ids[told], wanted.ids[told])
    assert told.sum() >= 19
    assert done.rank == expected.rank
    assert (done.status.code, done.status.ok) == (expected.status.code, expected.status.ok)  # messages tell last digits
    assert done.evidence == expected.evidence
    assert done.validity.failures() == expected.validity.failures()


def test_complete_without_queries(library, rows):
    X = np.vstack(rows)
    given = library.array(X)
    done = sc.complete(given, method="smcnn", rank=10)
    assert_stays(done.factor, given)
    np.testing.assert_allclose(
        to_numpy(done.similarity()), sc.complete(X, method="smcnn", rank=10).similarity(), atol=1e-8
    )
    np.testing.assert_array_equal(done.search(k=2).ids, sc.complete(X, method="smcnn", rank=10).search(k=2).ids)


def test_views(library, rows):
    P, Q = (library.array(x) for x in rows)
    asked = {"unit_diagonal": True, "keep_candidates": True, "clip": True}
    for view in (*asked, "all"):
        chosen = asked if view == "all" else {view: True}
        done = sc.complete(P, Q, method="smcnn", rank=6, **chosen)
        assert_stays(done.similarity(), P)
        expected = sc.complete(*rows, method="smcnn", rank=6, **chosen).similarity()
        np.testing.assert_allclose(to_numpy(done.similarity()), expected, atol=1e-8)


def test_complete_similarity(library):
    S0 = sc.overlap_similarity(np.random.default_rng(0).standard_normal((15, 4)))
    given = library.array(S0)
    which = np.arange(15) % 2 == 0
    done = sc.complete_similarity(given, candidates=which, rank=3)
    assert_stays(done.factor, given)
    expected = sc.complete_similarity(S0, candidates=which, rank=3)
    np.testing.assert_allclose(to_numpy(done.similarity()), expected.similarity(), atol=1e-8)
    np.testing.assert_array_equal(done.order, expected.order)


def test_single_precision(library, rows):
    P, Q = (library.array(x.astype(np.float32)) for x in rows)
    done = sc.complete(P, Q, method="smcnn", rank=6)
    assert done.factor.dtype == P.dtype
    np.testing.assert_allclose(
        to_numpy(done.similarity()), sc.complete(*rows, method="smcnn", rank=6).similarity(), atol=1e-4
    )


def test_save_and_load(library, rows, tmp_path):
    P, Q = (library.array(x) for x in rows)
    done = sc.complete(P, Q, method="smcnn", rank=6)
    done.save(tmp_path / "a")
    np.testing.assert_array_equal(sc.load(tmp_path / "a").factor, to_numpy(done.factor))


def test_bad_input(library, rows):
    P, Q = (library.array(x) for x in rows)
    with pytest.raises(sc.errors.InputError, match="rows have missing values"):
        sc.complete(Q, P)
    with pytest.raises(sc.errors.InputError, match="is inf"):
        sc.complete(library.array(np.array([[1.0, np.inf]])))
    with pytest.raises(sc.errors.InputError, match="not symmetric"):
        sc.complete_similarity(library.array(np.array([[1.0, 0.1], [0.2, 1.0]])))
    if library.name != "numpy":
        with pytest.raises(sc.errors.InputError, match="same library"):
            sc.complete(P, rows[1])


def test_integers_become_floats(library):
    given = library.array(np.arange(1, 13).reshape(4, 3))
    assert to_numpy(sc.complete(given, method="smcnn").factor).dtype == np.float64


def test_the_seam(library):
    given = library.array(np.ones((2, 2)))
    assert is_array(given)
    assert_stays(like(np.zeros(3), given), given)
    assert not is_array([1.0])
