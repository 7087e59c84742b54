"""`done.query(Q)`: the model of a completion asked about other rows."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete.errors import InputError

NAMES = [f"f{i}" for i in range(12)]


def rows(n, seed, missing=0.0):
    rng = np.random.default_rng(seed)
    mixing = np.random.default_rng(99).standard_normal((3, 12))
    X = 1.0 + rng.standard_normal((n, 3)) @ mixing + 0.2 * rng.standard_normal((n, 12))
    return np.where(rng.random(X.shape) < missing, np.nan, X)


P, Q, NEW = rows(150, 0), rows(20, 1, 0.4), rows(7, 2, 0.4)


@pytest.fixture(scope="module")
def done():
    names = [f"r{i}" for i in range(170)]
    return sc.complete(P, Q, method="posterior", effort="fast", labels=(names[:150], names[150:]), progress=False)


def test_the_same_queries_have_the_same_answer(done):
    again = done.query(Q)
    np.testing.assert_allclose(again.similarity(), done.similarity(), atol=1e-10)
    low, high = again.interval(0.9, rows="queries")
    wanted = done.interval(0.9, rows="queries")
    np.testing.assert_allclose([low, high], wanted, atol=1e-10)
    assert again.status.ok and again.method == "posterior" and again.n_candidates == 150


def test_every_row_alone_is_the_same_as_in_company(done):
    together = done.query(NEW).similarity("queries", "candidates")
    for i in range(len(NEW)):
        np.testing.assert_allclose(done.query(NEW[i : i + 1]).similarity("queries", "candidates"), together[[i]])
    S = done.query(NEW).similarity()
    np.testing.assert_allclose(np.diag(S), 1.0)
    np.testing.assert_allclose(S[:150, :150], done.similarity("candidates", "candidates"), atol=1e-12)
    assert np.linalg.eigvalsh(S)[0] > -1e-9


def test_labels_of_candidates_stay_and_queries_have_their_own(done):
    assert done.query(NEW).labels[:150] == done.labels[:150]
    named = done.query(pd.DataFrame(NEW, index=list("abcdefg")))
    assert named.labels == done.labels[:150] + list("abcdefg")
    assert sc.complete(P, Q, method="posterior", effort="fast").query(NEW).labels is None


def test_columns_are_matched_by_name():
    frames = (pd.DataFrame(X, columns=NAMES) for X in (P, Q))
    done = sc.complete(*frames, method="posterior", effort="fast", progress=False)
    turned = pd.DataFrame(NEW, columns=NAMES)[NAMES[::-1]]
    np.testing.assert_allclose(
        done.query(turned).similarity(), done.query(pd.DataFrame(NEW, columns=NAMES)).similarity()
    )
    with pytest.raises(InputError, match="f0"):
        done.query(turned.drop(columns="f0"))


@pytest.mark.parametrize("given", [{"metric": "pearson"}, {"center": "median"}, {"scale": "sd"}, {"effort": "full"}])
def test_what_the_completion_was_told_holds_for_new_queries(given):
    done = sc.complete(P, Q, method="posterior", progress=False, **{"effort": "fast", **given})
    np.testing.assert_allclose(done.query(Q).similarity(), done.similarity(), atol=1e-9)


def test_rows_outside_memory_stay_there(tmp_path, done):
    np.save(tmp_path / "P.npy", P)
    outside = sc.complete(tmp_path / "P.npy", Q, method="posterior", effort="fast", memory="20 KiB", progress=False)
    np.testing.assert_allclose(
        outside.query(NEW).similarity("queries", "candidates"),
        done.query(NEW).similarity("queries", "candidates"),
        atol=1e-8,
    )


def test_after_saving_and_loading(tmp_path, done):
    done.save(tmp_path / "done")
    found = sc.load(tmp_path / "done").query(NEW)
    np.testing.assert_allclose(found.similarity(), done.query(NEW).similarity(), atol=1e-12)


def test_rows_that_may_all_be_incomplete():
    X = rows(120, 3, 0.3)
    done = sc.complete(X, method="posterior", effort="fast", progress=False)
    again = done.query(X[:5])
    assert again.n_candidates == 120 and again.interval_model is None
    np.testing.assert_allclose(
        again.similarity("queries", "candidates")[:, 5:], done.similarity(range(5), range(5, 120)), atol=1e-9
    )


def test_a_row_of_which_nothing_is_known(done):
    with pytest.warns(sc.errors.InputWarning, match=r"nothing is observed of 1 query \('7'\)") as caught:
        found = done.query(np.vstack([NEW, np.full(12, np.nan)]))
    assert caught[0].filename == __file__
    low, high = found.interval(0.9, "queries")
    assert (low[-1] == -1).all() and (high[-1] == 1).all()
    assert (high[0] - low[0]).max() < 2
    assert list(found.unobserved) == [157]


def test_what_is_refused(done):
    with pytest.raises(InputError, match="12"):
        done.query(NEW[:, :5])
    with pytest.raises(InputError, match="a view of a completion"):
        replace(done, matrix=SymmetricMatrix(done.similarity())).query(NEW)
    with pytest.raises(InputError, match="has no model"):
        sc.complete(P, Q, method="overlap").query(NEW)


@pytest.mark.parametrize("power", [-900, -300, 300, 900])
@pytest.mark.parametrize("gaps", [0.0, 0.3])
def test_sizes_do_not_matter(power, gaps):
    rng = np.random.default_rng(0)
    P, Q = rng.random((60, 8)), rng.random((4, 8))
    P[rng.random(P.shape) < gaps] = np.nan
    Q[rng.random(Q.shape) < 0.4] = np.nan
    first = (None, Q)[gaps == 0]
    plain = sc.complete(P, first, method="posterior", progress=False).query(Q)
    scaled = sc.complete(
        np.ldexp(P, power), None if first is None else np.ldexp(Q, power), method="posterior", progress=False
    )
    np.testing.assert_array_equal(scaled.query(np.ldexp(Q, power)).similarity(), plain.similarity())


def test_a_row_that_is_nothing_beside_others_keeps_its_direction():
    X = np.array([[1e300, 2e300, np.nan], [1e-300, np.nan, 1e-300], [np.nan, 1e30, 2e30]])
    done = sc.complete(X, method="posterior", progress=False)
    np.testing.assert_allclose(done.restricted(), sc.overlap_similarity(X), atol=1e-9)
