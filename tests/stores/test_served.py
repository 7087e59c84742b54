"""`simcomplete serve --store`: candidates lie in a store, changes go there, and nothing acknowledged is lost."""

import json
from unittest.mock import Mock

import numpy as np
import pytest

pytest.importorskip("starlette")

from serve.conftest import Client
from simcomplete._serve.app import create_app
from simcomplete._serve.server import open_service
from simcomplete.errors import InputError, StoreError
from simcomplete.estimators import PosteriorCompleter, PosteriorImputer
from simcomplete.stores import SqliteStore, connect
from stores.conftest import P, close

ASKED = {"rows": [[0.9, None, 0.1, None, 0.4], [None, 0.2, 0.8, 0.1, None]], "k": 4}


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_the_same_answers_without_rows(saved, kind, tmp_path, request):
    address = f"sqlite:{tmp_path / 'v.sqlite'}" if kind == "sqlite" else request.getfixturevalue("postgres") + "#served"
    plain = open_service(saved, tmp_path / "plain.sqlite")
    stored = open_service(saved, None, store=address)
    ask, other = Client(create_app(stored)), Client(create_app(plain))
    put = {"ids": ["new", "p3", 7], "rows": (2 * P[:3]).tolist(), "payloads": [{"a": 1}, None, "seven"]}
    for each in (ask, other):
        assert each("PUT", "/v1/candidates", put).status == 200
        assert each("DELETE", "/v1/candidates", {"ids": ["p0", "p9"]}).json["n_candidates"] == 60
    for body in (ASKED, {**ASKED, "payloads": True}):
        found, expected = ask("POST", "/v1/search", body).json, other("POST", "/v1/search", body).json
        assert found["ids"] == expected["ids"] and found.get("payloads") == expected.get("payloads")
        for name in ("scores", "low", "high", "confidence"):
            np.testing.assert_allclose(found[name], expected[name], atol=2e-6)
    assert stored.served.store.count() == 60 and not isinstance(stored.served.model.candidates_, np.ndarray)
    assert ask("DELETE", "/v1/candidates", {"ids": ["nobody"]}).status == 422
    close(stored)
    # A change that was recorded when the service ended, and had not come to the store.
    with connect(address) as store:
        store.delete(["new"])
        store.put(["p9", "p3"], P[:2], [{"length": 1.0, "payload": None}] * 2)
    again = open_service(saved, None, store=address)
    found = Client(create_app(again))("POST", "/v1/search", ASKED).json
    assert found["ids"] == other("POST", "/v1/search", ASKED).json["ids"]
    np.testing.assert_allclose(found["scores"], other("POST", "/v1/search", ASKED).json["scores"], atol=2e-6)
    close(again)
    close(plain)


def test_a_store_that_cannot_be_reached_for_a_while(saved, tmp_path, monkeypatch):
    address = f"sqlite:{tmp_path / 'v.sqlite'}"
    service = open_service(saved, None, store=address)
    ask, put = Client(create_app(service)), {"ids": ["new"], "rows": P[:1].tolist()}
    assert ask("GET", "/readyz").status == 200
    with monkeypatch.context() as away:
        for name in ("search", "get", "put", "delete"):
            away.setattr(service.served.store, name, Mock(side_effect=StoreError("the store is away")))
        for method, path, body in (
            ("POST", "/v1/search", ASKED),
            ("GET", "/readyz", b""),
            ("DELETE", "/v1/candidates", {"ids": ["p1"]}),
        ):
            refused = ask(method, path, body)
            assert refused.status == 503 and refused.json["error"].startswith("the store is away")
            assert refused.headers["retry-after"] == "1"
        assert "on disk" in ask("PUT", "/v1/candidates", put).json["error"]
        assert ask("GET", "/healthz").status == 200
    assert ask("POST", "/v1/search", ASKED).status == 200
    close(service)
    again = open_service(saved, None, store=address)
    found = Client(create_app(again))("GET", "/v1/model").json
    assert found["n_candidates"] == 61 and again.served.store.count() == 61
    assert {"new", "p1"} <= set(again.served.ids.as_list())  # a row that could not be read was not removed
    close(again)


def test_what_cannot_be(saved, tmp_path):
    with SqliteStore(tmp_path / "v.sqlite") as store:
        store.put(["stranger"], P[:1])
    with pytest.raises(StoreError, match=r"the model has 60 rows and the store 1; .*; empty it, name another"):
        open_service(saved, None, store=f"sqlite:{tmp_path / 'v.sqlite'}")
    with pytest.raises(InputError, match="not the address of a store"):
        open_service(saved, None, store="elsewhere")
    gaps = np.where(np.random.default_rng(1).random(P.shape) < 0.2, np.nan, P)
    PosteriorCompleter(effort="fast").fit(gaps).save(tmp_path / "g")
    with pytest.raises(InputError, match="--store is for complete candidates"):
        open_service(tmp_path / "g", None, store=f"sqlite:{tmp_path / 'g.sqlite'}")
    assert not (tmp_path / "g.sqlite").exists()  # nothing was put before it was refused
    PosteriorImputer().fit(P).save(tmp_path / "i")
    with pytest.raises(InputError, match="this model has none"):
        open_service(tmp_path / "i", None, store="sqlite::memory:")


def test_a_row_that_goes_while_it_is_found(saved, tmp_path, monkeypatch):
    service = open_service(saved, None, store=f"sqlite:{tmp_path / 'v.sqlite'}")
    store, asked = service.served.store, json.loads(json.dumps(ASKED))
    first, real = [True], store.get

    def get(ids):
        if first:  # as if another request had removed it between the search and the reading
            first.clear()
            raise InputError("there is no row with the id 'p1' in the store")
        return real(ids)

    monkeypatch.setattr(store, "get", get)
    assert Client(create_app(service))("POST", "/v1/search", asked).status == 200 and not first
    close(service)
