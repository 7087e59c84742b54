"""Changes that a store could not hold are refused before they are recorded: a service must be able to start again."""

import json

import numpy as np
import pytest

pytest.importorskip("starlette")

from serve.conftest import Client
from simcomplete._rows.payloads import DEEPEST, payload_text, read_payload
from simcomplete._serve.app import create_app
from simcomplete._serve.journal import Journal
from simcomplete._serve.server import open_service
from simcomplete.errors import InputError
from stores.conftest import close


@pytest.mark.parametrize("kind", [None, "sqlite", "postgres"])
@pytest.mark.parametrize(
    ("row", "payload", "status"),
    [
        ([1e300, 2, 3, 4, 5], "null", 200),
        ([1e308] * 5, "null", None),  # of a length beyond float64, which no store can keep
        ([1, 2, 3, 4, 5], "1e999", 422),
        ([1, 2, 3, 4, 5], '"a\\u0000"', 422),
        ([1, 2, 3, 4, 5], '"\\ud800"', 422),
        ([1, 2, 3, 4, 5], "[" * 900 + "]" * 900, 422),
        ([1, 2, 3, 4, 5], '{"ä": ["漢", 1e-300, -0.5, true, null]}', 200),
    ],
)
def test_the_service_starts_again(row, payload, status, kind, saved, tmp_path, request):
    address = {
        None: lambda: None,
        "sqlite": lambda: f"sqlite:{tmp_path / 'v.sqlite'}",
        "postgres": lambda: f"{request.getfixturevalue('postgres')}#unstorable",
    }[kind]()
    if kind == "postgres":
        with connect_empty(address):
            pass
    service = open_service(saved, None, store=address)
    ask = Client(create_app(service))
    body = f'{{"rows": [{json.dumps(row)}], "ids": ["new"], "payloads": [{payload}]}}'
    expected = status or (200 if kind is None else 422)
    assert ask("PUT", "/v1/candidates", body.encode()).status == expected
    asked = {"rows": [row], "k": 61, "payloads": True}
    found = ask("POST", "/v1/search", asked)
    assert found.status == 200
    close(service)
    again = open_service(saved, None, store=address)
    after = Client(create_app(again))("POST", "/v1/search", asked).json
    assert after["ids"] == found.json["ids"] and after["payloads"] == found.json["payloads"]
    assert ("new" in after["ids"][0]) is (expected == 200)
    if expected == 200:
        assert after["payloads"][0][after["ids"][0].index("new")] == json.loads(payload)
    close(again)


def connect_empty(address):
    """A store without rows of an earlier test."""
    from simcomplete.stores import connect

    store = connect(address)
    store.delete(list(store.ids()))
    return store


def test_a_change_of_an_earlier_version_that_is_no_json(tmp_path):
    with_infinity = Journal(tmp_path / "c.sqlite", "m", 2)
    with_infinity.record(np.ones((1, 2)), ["a"], [None], [])
    with_infinity.base.execute("UPDATE put SET payload = '[Infinity, 1]'")
    assert with_infinity.recorded().payloads == [[None, 1]]
    with_infinity.close()


def test_an_id_named_twice_is_removed_once(saved):
    service = open_service(saved, None)
    ask = Client(create_app(service))
    assert ask("DELETE", "/v1/candidates", {"ids": ["p1", "p1"]}).json == {"deleted": 1, "n_candidates": 59}
    close(service)


@pytest.mark.parametrize(
    "payload", [{1.5, 2}, float("nan"), object(), {"a": float("inf")}, b"x", ["\0"], {"\ud800": 1}]
)
def test_what_is_no_payload(payload):
    with pytest.raises(InputError, match="cannot be written as JSON"):
        payload_text(payload)


def test_the_deepest_payload():
    deep = inner = []
    for _ in range(DEEPEST - 1):
        inner.append([])
        inner = inner[0]
    assert read_payload(payload_text(deep)) == deep
    inner.append([0])
    with pytest.raises(InputError, match=f"more than {DEEPEST} levels"):
        payload_text(deep)
