"""Requests of every kind, made up: none is an error of the server.

SIMCOMPLETE_REQUESTS says how many; 10,000 take some minutes:

    SIMCOMPLETE_REQUESTS=10000 python -m pytest -q tests/serve/test_fuzz.py
"""

import io
import json
import os
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from serve.conftest import Client, P
from simcomplete._serve.answers import Served
from simcomplete._serve.app import HUGE, Service, create_app
from simcomplete._serve.journal import Journal
from simcomplete.estimators import PosteriorImputer

REQUESTS = int(os.environ.get("SIMCOMPLETE_REQUESTS", "600"))
# Of the requests, to each of the tests below; a change is one of about nine.
SHARES = {"documented": 0.35, "made up": 0.35, "changed": 0.015, "broken": 0.15}
NAMES = ["a", "b", "c'\"<>", "d", "ä"]


def settled(share):
    return settings(
        max_examples=max(1, round(REQUESTS * SHARES[share])),
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        derandomize=REQUESTS < 1000,  # the same in every run, unless many are asked for
    )


@pytest.fixture(scope="module")
def apps(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuzz")
    served = Served.of(model)
    plain = Service(served, Journal(folder / "plain.sqlite", "m", 5))
    named = Service(replace(served, names=NAMES, shape=(1, 5)), Journal(folder / "named.sqlite", "m", 5))
    imputer = Service(Served.of(PosteriorImputer(effort="fast").fit(np.where(P < 0.1, np.nan, P))))
    return [Client(create_app(service)) for service in (plain, named, imputer)]


@pytest.fixture(scope="module")
def documents(apps):
    return [ask("GET", "/openapi.json").json for ask in apps]


SCALARS = {
    "null": st.none(),
    "boolean": st.booleans(),
    "string": st.text(max_size=8) | st.sampled_from([f"row {i}" for i in range(60)]),
}


def from_schema(schema):
    """Values that a schema of the document allows."""
    if "oneOf" in schema:
        return st.one_of([from_schema(each) for each in schema["oneOf"]])
    kinds = schema.get("type", list(SCALARS))
    if isinstance(kinds, list):
        return st.one_of([from_schema({**schema, "type": kind}) for kind in kinds])
    low, high = (schema.get(name, schema.get(other)) for name, other in _BOUNDS)
    if kinds == "integer":
        return st.integers(low, high) | st.integers(low, min(high or 60, (low or 0) + 60))
    if kinds == "number":
        return st.floats(low, high, allow_nan=False, allow_infinity=False) | st.integers(low, high)
    if kinds == "array":
        least = schema.get("minItems", 0)
        most = min(schema.get("maxItems", 4), max(least, 4))
        return st.lists(from_schema(schema.get("items", {})), min_size=least, max_size=most)
    if kinds == "object":
        known = {name: from_schema(each) for name, each in schema.get("properties", {}).items()}
        needed = set(schema.get("required", []))
        return st.fixed_dictionaries(
            {name: each for name, each in known.items() if name in needed},
            optional={name: each for name, each in known.items() if name not in needed},
        )
    return SCALARS[kinds]


_BOUNDS = (("minimum", "exclusiveMinimum"), ("maximum", "exclusiveMaximum"))


@settled("documented")
@given(data=st.data())
def test_what_the_document_allows_is_answered(data, apps, documents):
    which = data.draw(st.integers(0, 2))
    document = documents[which]
    path = data.draw(st.sampled_from(sorted(document["paths"])))
    method = data.draw(st.sampled_from(sorted(document["paths"][path])))
    operation = document["paths"][path][method]
    body = b""
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"]["application/json"]["schema"]
        body = json.dumps(data.draw(from_schema(schema))).encode()
    query = "&".join(
        f"{each['name']}={data.draw(from_schema(each['schema']))}" for each in operation.get("parameters", ())
    )
    found = apps[which](method.upper(), f"{path}?{query}", body)
    # 403 and 422: a model without candidates or without a file for them, ids there are not, rows out of bounds.
    assert found.status in (200, 403, 422), found.body
    assert str(found.status) in operation["responses"]
    if found.status != 200:
        assert found.json["error"]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=12,
)
WORDS = ["rows", "k", "level", "ids", "payloads", "above", "overlap", "start", "count"]
BODIES = st.dictionaries(st.sampled_from(WORDS), VALUES, max_size=4)
CELL = st.none() | st.floats(allow_nan=False) | st.integers()
ROWS = st.lists(st.lists(CELL, min_size=5, max_size=5), min_size=1, max_size=3)
NEAR = st.fixed_dictionaries(
    {"rows": ROWS},
    optional={
        "k": st.integers(-1, 70),
        "level": st.floats(0, 1),
        "above": st.floats(-2, 2),
        "overlap": VALUES,
        "payloads": VALUES,
        "ids": st.lists(st.integers() | st.text(), max_size=3),
    },
)
WHOLE = st.lists(CELL.filter(lambda x: x is not None), min_size=5, max_size=5)
PUTS = st.lists(st.tuples(WHOLE, st.integers() | st.text(max_size=3), VALUES), min_size=1, max_size=3).map(
    lambda each: dict(zip(("rows", "ids", "payloads"), map(list, zip(*each, strict=True)), strict=True))
)
KINDS = ["application/json", "application/x-npy", "application/vnd.apache.arrow.stream", "text/html", ""]
PATHS = ["search", "complete", "impute", "candidates", "rows", "samples", "features", "model", "nothing"]
QUERY = st.dictionaries(st.sampled_from(WORDS), st.integers().map(str) | st.text(max_size=6), max_size=3)


def as_body(value):
    """JSON; a number too large for a float is valid, other than the word Infinity."""
    return json.dumps(value).replace("Infinity", "1e999").encode()


def as_query(given):
    return "&".join(f"{name}={quote(value, errors='replace')}" for name, value in given.items())


@settled("made up")
@given(
    method=st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"]),
    path=st.sampled_from(PATHS),
    body=(BODIES | NEAR).map(as_body) | st.binary(max_size=200),
    kind=st.sampled_from(KINDS),
    query=QUERY,
    which=st.integers(0, 2),
)
def test_what_is_made_up_is_refused_or_answered(method, path, body, kind, query, which, apps):
    found = apps[which](method, f"/v1/{path}?{as_query(query)}", body, {"content-type": kind})
    assert found.status < 500, found.body
    assert method == "HEAD" or found.json is not None


@settled("changed")
@given(put=PUTS, which=st.integers(0, 1))
def test_whatever_was_put_all_can_be_asked_and_it_can_be_removed(put, which, apps):
    ask, ids = apps[which], put["ids"]
    status = ask("PUT", "/v1/candidates", as_body(put)).status
    assert status in (200, 422)
    row = [cell if abs(cell) < HUGE else 1.0 for cell in put["rows"][0]]
    asked = {"rows": [row, [*row[:3], None, None]], "k": 70}
    for path, body in (
        ("search", {**asked, "payloads": True, "overlap": True, "above": 0.5}),
        ("complete", {"rows": asked["rows"]}),
        ("impute", {"rows": asked["rows"]}),
    ):
        assert ask("POST", f"/v1/{path}", body).status == 200
    assert ask("GET", "/v1/features").status == ask("GET", "/v1/samples?start=55&count=9").status == 200
    if status == 200:
        assert ask("POST", "/v1/rows", {"ids": ids}).status == 200
        assert ask("DELETE", "/v1/candidates", {"ids": ids}).status == 200


def npy_bytes(X):
    stream = io.BytesIO()
    np.save(stream, X)
    return stream.getvalue()


def arrow_bytes(X):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({name: X[:, i] for i, name in enumerate(NAMES)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return sink.getvalue()


@settled("broken")
@given(data=st.data())
def test_binary_bodies_that_are_broken(data, apps):
    arrow = data.draw(st.booleans())
    rows = np.array(data.draw(st.lists(st.lists(st.floats(), min_size=5, max_size=5), min_size=1, max_size=3)))
    body = bytearray((arrow_bytes if arrow else npy_bytes)(rows))
    for _ in range(data.draw(st.integers(0, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    sent = bytes(body[: data.draw(st.integers(0, len(body)) | st.just(len(body)))])
    kind = "application/vnd.apache.arrow.stream" if arrow else "application/x-npy"
    path = data.draw(st.sampled_from(["search", "complete", "impute"]))
    accept = data.draw(st.sampled_from(["*/*", "application/x-npy"]))
    found = apps[data.draw(st.integers(0, 2))]("POST", f"/v1/{path}", sent, {"content-type": kind, "accept": accept})
    assert found.status < 500, found.body
