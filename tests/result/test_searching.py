"""Search with probabilities beside, and in a balanced order."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError, MemoryLimitError


@pytest.fixture(scope="module")
def done():
    rng = np.random.default_rng(0)
    P = rng.random((120, 4)) @ rng.random((4, 12))
    Q = np.where(rng.random((7, 12)) < 0.5, np.nan, rng.random((7, 4)) @ rng.random((4, 12)))
    Q[3] = np.nan
    return sc.complete(P, Q, method="posterior", effort="fast")


def test_probabilities_are_those_of_the_whole_table(done):
    found = done.search(5, above=0.97)
    whole = done.probability(above=0.97)
    known = found.ids[:, 0] >= 0
    assert known.sum() == 6 and np.isnan(found.probability[~known]).all()
    want = np.take_along_axis(whole, np.maximum(found.ids, 0), axis=1)
    np.testing.assert_allclose(found.probability[known], want[known], atol=1e-12)
    assert 0.01 < found.probability[known].mean() < 0.99
    table = found.to_frame()
    assert list(table)[-1] == "probability" and len(table) == 30
    np.testing.assert_allclose(table["probability"], found.probability[known].ravel())
    assert done.search(5).probability is None and "probability" not in done.search(5).columns()


def test_an_estimator_gives_them_too():
    rng = np.random.default_rng(1)
    P = rng.random((80, 6))
    Q = np.where(rng.random((4, 6)) < 0.4, np.nan, rng.random((4, 6)))
    model = sc.PosteriorCompleter(effort="fast").fit(P)
    found, plain = model.search(Q, 3, above=0.9), model.search(Q, 3)
    np.testing.assert_array_equal(found.ids, plain.ids)
    want = np.take_along_axis(model.probability(Q, above=0.9), found.ids, axis=1)
    np.testing.assert_allclose(found.probability, want, atol=1e-12)


def test_what_is_refused(done):
    with pytest.raises(InputError, match="above='much'"):
        done.search(2, above="much")
    with pytest.raises(InputError, match="has no intervals"):
        sc.complete(np.eye(4), method="overlap").search(1, above=0.5)
    with pytest.raises(InputError, match="order='best'"):
        done.search(2, order="best")
    with pytest.raises(InputError, match="dense matrix"):
        sc.complete(np.eye(4), method="overlap").search(1, order="balanced")


def test_balanced_order_by_hand():
    rng = np.random.default_rng(2)
    X = rng.random((60, 3)) @ rng.random((3, 10))
    X[rng.random(X.shape) < rng.uniform(0.1, 0.9, size=(60, 1))] = np.nan
    rows = sc.complete(X, method="posterior", effort="fast")
    F = np.asarray(rows.factor)
    length = np.linalg.norm(F, axis=1)
    want = F @ F.T / np.sqrt(np.where(length > 0, length, 1.0))
    np.fill_diagonal(want, -np.inf)
    found = rows.search(4, order="balanced")
    some = rows.unobserved if rows.unobserved is not None else []
    for i in set(range(60)) - set(np.atleast_1d(some).tolist()):
        np.testing.assert_allclose(want[i, found.ids[i]], np.sort(want[i])[::-1][:4], atol=1e-12)
        np.testing.assert_allclose(found.scores[i], (F @ F.T)[i, found.ids[i]], atol=1e-12)
    assert (found.ids != rows.search(4).ids).any()


def test_complete_candidates_have_one_order(done):
    np.testing.assert_array_equal(done.search(6, order="balanced").ids, done.search(6).ids)


def test_an_index_can_be_balanced():
    pytest.importorskip("faiss")
    rng = np.random.default_rng(3)
    X = rng.random((80, 8))
    X[rng.random(X.shape) < rng.uniform(0.1, 0.8, size=(80, 1))] = np.nan
    rows = sc.complete(X, method="posterior", effort="fast")
    a, b = rows.search(5, order="balanced"), rows.search(5, order="balanced", index="faiss")
    np.testing.assert_array_equal(a.ids, b.ids)
    np.testing.assert_allclose(a.scores, b.scores)


def test_ten_neighbours_unless_asked_otherwise(done):
    assert done.search().ids.shape == (7, 10)


def test_memory_of_draws_is_asked_for_beforehand(done, monkeypatch):
    """Five draws of 2 x 3 similarities, three numbers of 8 bytes for each."""
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", str(8 * 3 * 5 * 2 * 3 - 1))
    with pytest.raises(MemoryLimitError, match="5 draws"):
        done.sample(5, ("queries", [0, 1]), [0, 1, 2])
