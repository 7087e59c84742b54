"""A model and a store that has its candidates: same answers, same rows, and words when they differ."""

import copy
import functools

import numpy as np
import pytest

import simcomplete as sc
from simcomplete import stores
from simcomplete.errors import InputError, StoreError
from simcomplete.estimators import PosteriorCompleter

X = sc.datasets.load("digits").X
P, Q = X[:300], sc.masks.apply(X[300:320], sc.masks.random(X[300:320], missing=0.7))
IDS = [f"digit {i}" for i in range(300)]


@functools.cache
def fitted_once(**settings):
    return PosteriorCompleter(**{"effort": "fast", **settings}).fit(P, ids=IDS)


@functools.cache
def with_gaps():
    rng = np.random.default_rng(0)
    hidden = rng.random((200, 64)) < rng.uniform(0.1, 0.9, (200, 1))
    return PosteriorCompleter(effort="fast").fit(np.where(hidden, np.nan, P[:200]), ids=IDS[:200])


def fitted(**settings):
    """A model of its own: changes replace what a model has, and change none of it in place."""
    return copy.copy(fitted_once(**settings))


def same(found, expected, atol=1e-14):
    assert found.ids.tolist() == expected.ids.tolist()
    np.testing.assert_allclose(found.scores, expected.scores, rtol=0, atol=atol)


def test_every_engine_gives_the_answer_of_the_model(exact_store):
    model = fitted()
    held = model.attach(exact_store, payloads=[{"number": i} for i in range(300)])
    found = held.search(Q, k=10, payloads=True)
    same(found, model.search(Q, k=10), atol=1e-14)
    assert found.payloads == [[{"number": int(name.split()[1])} for name in row] for row in found.ids.tolist()]
    assert not held.drift() and str(held.drift()) == "store and model have the same 300 rows"
    # Added and removed in step: as a model that was changed by itself.
    held.partial_fit(X[400:403], ids=["x", "y", "z"], payloads=[1, 2, 3]).forget(["digit 0", "y"])
    alone = fitted().partial_fit(X[400:403], ids=["x", "y", "z"]).forget(ids=["digit 0", "y"])
    same(held.search(Q, k=10), alone.search(Q, k=10), atol=1e-14)
    assert not held.drift() and exact_store.count() == len(model.candidates_) == 301
    assert held.search(X[402:403], k=1, payloads=True)[2] == [[3]]
    # Attached again, nothing is put; without its rows in memory it answers from those of the store.
    light, quick = model.attach(exact_store).release(), alone.attach(stores.SqliteStore(), neighbours="store")
    same(light.search(Q, k=10), quick.search(Q, k=10), atol=1e-6)
    for each in (light, quick):
        each.partial_fit(X[410:411], ids=["late"]).forget(["x"])
    same(light.search(Q, k=10), quick.search(Q, k=10), atol=1e-6)
    assert not light.drift() and not isinstance(light.model.candidates_, np.ndarray)


def test_neighbours_from_the_store(exact_store):
    model = fitted()
    quick = model.attach(exact_store, neighbours="store")
    U, exact = quick.model.transform(Q), model.transform(Q)
    assert np.mean(np.sum((U - exact) ** 2, axis=1)) < 0.05 * np.mean(1 - np.sum(exact**2, axis=1))
    one_by_one = np.concatenate([quick.model.transform(row[None]) for row in Q])
    np.testing.assert_allclose(one_by_one, U, atol=1e-12)


@pytest.mark.parametrize("effort", ["full", "best"])
def test_released_models_of_every_effort(effort):
    model = fitted(effort=effort)
    light = model.attach(stores.SqliteStore()).release()
    np.testing.assert_allclose(light.model.transform(X[330:335]), model.transform(X[330:335]), atol=1e-14)
    quick = model.attach(light.store, neighbours="store")  # the same neighbours, from rows in memory
    np.testing.assert_allclose(light.model.transform(Q), quick.model.transform(Q), atol=1e-12)
    low, high = light.model.interval(Q)
    expected = quick.model.interval(Q)
    np.testing.assert_allclose(low, expected[0], atol=1e-9)
    np.testing.assert_allclose(high, expected[1], atol=1e-9)


def test_drift_in_words():
    model, store = fitted(), stores.SqliteStore()
    held = model.attach(store)
    store.delete(IDS[:2])
    store.put(["stranger"], model.candidates_[:1])
    drift = held.drift()
    assert drift and (drift.n_model, drift.n_store) == (300, 299) and drift.missing == IDS[:2]
    assert drift.extra == ["stranger"] and drift.model_checksum != drift.store_checksum and not drift.put_again
    with pytest.raises(StoreError, match="'stranger', which the model does not have"):
        held.search(P[:1], k=5)
    with pytest.raises(StoreError, match=r"300 rows and the store 299; only the model has 'digit 0', 'digit 1'"):
        fitted().attach(store)
    assert not held.repair().drift()
    same(held.search(Q, k=5), model.search(Q, k=5))
    # One in the place of another: as many rows, and another checksum.
    store.delete(IDS[:1])
    store.put(["else"], P[:1])
    assert held.drift() and held.drift().n_store == 300
    assert not fitted().attach(store, put=True).drift()


def test_stored_rows_are_to_be_put_again_when_vectors_are_others():
    store = stores.SqliteStore()
    held = fitted().attach(store, payloads=[{"number": i} for i in range(300)])
    held.partial_fit(3 * X[400:500], ids=range(100))
    assert not held.drift().put_again  # unit rows of complete candidates do not depend on others
    other = fitted(center="mean")
    held.forget(range(100))
    with pytest.raises(StoreError, match="16 of 16 vectors compared are not those of the model"):
        other.attach(store)
    again = other.attach(store, put=True)
    same(again.search(Q, k=5), other.search(Q, k=5))
    assert store.get(["digit 7"]).payloads[0]["payload"] == {"number": 7}  # kept


@pytest.mark.parametrize("settings", [{"metric": "pearson"}, {"center": "mean", "scale": "sd"}, {"copies": True}])
def test_other_models(settings):
    model = fitted(**settings)
    held = model.attach(stores.SqliteStore())
    same(held.search(Q, k=10), model.search(Q, k=10), atol=1e-14)
    same(held.release().search(P[5:6], k=1), model.search(P[5:6], k=1), atol=1e-9)


def test_an_incomplete_catalogue_is_put_with_balanced_vectors(exact_store):
    model, ids = with_gaps(), IDS[:200]
    U = model.candidates_
    length = np.linalg.norm(U, axis=1)
    held = model.attach(exact_store)
    assert held.balanced and length.max() - length.min() > 0.05
    np.testing.assert_allclose(exact_store.get(ids).vectors, U / np.sqrt(length)[:, None], atol=1e-6)
    S = model.transform(Q) @ U.T
    order = np.argsort(-S / np.sqrt(length), axis=1, kind="stable")[:, :10]
    found = held.search(Q, k=10)
    assert found.ids.tolist() == [[IDS[i] for i in row] for row in order]
    np.testing.assert_allclose(found.scores, np.take_along_axis(S, order, axis=1), atol=1e-12)
    assert not held.drift()
    with pytest.raises(InputError, match="complete candidates"):
        held.release()


def test_rounding_never_decides(exact_store):
    """Rows that float32 cannot tell apart, many more than are asked for beyond k."""
    rng = np.random.default_rng(0)
    near = np.ones((80, 5)) + 1e-9 * rng.random((80, 5))
    model = PosteriorCompleter(effort="fast").fit(np.concatenate([near, rng.random((20, 5))]))
    held = model.attach(exact_store)
    asked = np.array([[1.0, 1.0, 1.0, np.nan, np.nan]])
    same(held.search(asked, k=3), model.search(asked, k=3))


def test_rows_without_values_and_all_candidates():
    model = fitted()
    held = model.attach(stores.SqliteStore())
    asked = np.vstack([np.full(64, np.nan), Q[0]])
    found = held.search(asked, k=1000, payloads=True)
    assert found.ids[0].tolist() == [None] * 300 and np.isnan(found.scores[0]).all()
    assert sorted(found.ids[1]) == sorted(IDS)
    numbered = PosteriorCompleter(effort="fast").fit(P).attach(stores.SqliteStore())
    assert numbered.search(P[[9]], k=1).ids.tolist() == [[9]] and numbered.model.ids_.as_list() == list(range(300))


class Failing(stores.SqliteStore):
    broken = False

    def _put(self, *given):
        if self.broken:
            raise StoreError("no")
        super()._put(*given)

    def _delete(self, keys):
        if self.broken:
            raise StoreError("no")
        return super()._delete(keys)


def test_both_change_or_neither():
    model, store = fitted(), Failing()
    held = model.attach(store)
    store.broken = True
    for call in (lambda: held.partial_fit(X[400:401], ids=["x"]), lambda: held.forget(["digit 3"])):
        with pytest.raises(StoreError):
            call()
    store.broken = False
    for call in (
        lambda: held.partial_fit(X[400:401], ids=["digit 3"]),
        lambda: held.partial_fit(X[400:401], ids=["x"], payloads=[1, 2]),
        lambda: held.forget(["nobody"]),
    ):
        with pytest.raises(InputError):
            call()
    assert len(model.candidates_) == 300 and not held.drift()


def test_bad_input():
    model = fitted()
    for call, words in [
        (lambda: model.attach("postgresql://"), "is not a store"),
        (lambda: model.attach(stores.SqliteStore(), neighbours="far"), "'model' or 'store'"),
        (lambda: model.attach(stores.SqliteStore(), payloads=[1]), "1 payloads for 300"),
        (lambda: stores.connect("mysql://x"), "not the address of a store"),
        (lambda: stores.connect("faiss:other"), "not the address of a store"),
        (lambda: stores.FaissStore("hnsw"), "'flat'"),
        (lambda: stores.FaissStore(lists=0), "lists=0"),
    ]:
        with pytest.raises(InputError, match=words):
            call()
    full = stores.SqliteStore()
    model.attach(full)
    with pytest.raises(InputError, match="rows already"):
        model.attach(full, payloads=[None] * 300)


def test_lists_are_learnt_again_when_there_are_many_more_rows():
    pytest.importorskip("faiss", reason="no faiss")
    store = stores.FaissStore("ivf", breadth=100)
    rows = np.random.default_rng(0).normal(size=(900, 4))
    store.put(range(100), rows[:100])
    assert store.index.nlist == 10
    store.put(range(100, 900), rows[100:], payloads=[{"n": i} for i in range(100, 900)])
    store.delete([5])
    assert store.index.nlist == 30 and store.count() == 899 and store.get([850]).payloads == [{"n": 850}]
    best = [i for i in np.argsort(-rows @ rows[7], kind="stable") if i != 5][:5]
    assert store.search(rows[7:8], k=5).ids == [best]
    np.testing.assert_allclose(store.get([3]).vectors, rows[3:4], rtol=1e-6)
