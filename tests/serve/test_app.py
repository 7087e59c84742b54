"""The service without a network: what it answers, what it refuses, and what a change leaves on disk."""

import asyncio
import io
import threading

import numpy as np
import pytest

from serve.conftest import LOOP, Client, P
from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service, create_app
from simcomplete._serve.batches import Batches
from simcomplete._serve.guard import RequestLimits
from simcomplete._serve.journal import Journal
from simcomplete.errors import FileFormatError, InputError
from simcomplete.estimators import PosteriorCompleter, PosteriorImputer

ROW = [0.1, None, 0.4, None, 0.9]
PUT = '{"rows": [[1, 1, 1, 1, 1]], "ids": [1], "payloads": [%s]}'


def npy(X):
    stream = io.BytesIO()
    np.save(stream, X)
    return stream.getvalue()


@pytest.mark.parametrize("more", [0, 4])  # few rows are searched for one by one
def test_search_gives_what_the_library_gives(ask, model, more):
    rows = [ROW, [0.5, 0.5, None, 0.1, 0.2], *[[0.1 * i, None, 0.4, 0.9, None] for i in range(more)]]
    X = np.array(rows, dtype=float)
    found = ask("POST", "/v1/search", {"rows": rows, "k": 4, "level": 0.8})
    assert found.status == 200
    expected = model.search(X, k=4)
    assert found.json["ids"] == expected.ids.tolist()
    np.testing.assert_allclose(found.json["scores"], expected.scores, atol=1e-12)
    done = model._answer(X)
    low, high = done.search(4).bounds(done.interval_model, 0.8)
    np.testing.assert_allclose(found.json["low"], low, atol=1e-12)
    np.testing.assert_allclose(found.json["high"], high, atol=1e-12)
    np.testing.assert_allclose(found.json["confidence"], done.confidence, atol=1e-12)
    np.testing.assert_allclose(ask("POST", "/v1/complete", {"rows": rows}).json["vectors"], model.transform(X))


def test_bodies_of_three_kinds_are_one(ask, model):
    pa = pytest.importorskip("pyarrow")
    X = np.array([ROW], dtype=float)
    table = pa.table({str(i): pa.array([ROW[i]], pa.float64()) for i in range(5)})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    expected = ask("POST", "/v1/search", {"rows": [ROW], "k": 3}).json
    for kind, body in (
        ("application/x-npy", npy(X)),
        ("application/x-npy", npy(np.asfortranarray(np.repeat(X, 1, axis=0)))),
        ("application/vnd.apache.arrow.stream", sink.getvalue()),
    ):
        assert ask("POST", "/v1/search?k=3", body, {"content-type": kind}).json == expected
    found = ask("POST", "/v1/complete", {"rows": [ROW]}, {"accept": "application/x-npy"})
    np.testing.assert_array_equal(np.load(io.BytesIO(found.body)), model.transform(X))


def test_rows_by_name_and_unknown_names(tmp_path):
    pd = pytest.importorskip("pandas")
    fitted = PosteriorCompleter(effort="fast").fit(pd.DataFrame(P, columns=list("abcde")))
    ask = Client(create_app(Service(Served.of(fitted))))
    by_name = ask("POST", "/v1/search", {"rows": [{"a": 0.1, "c": 0.4, "e": 0.9}]}).json
    assert by_name == ask("POST", "/v1/search", {"rows": [ROW]}).json
    refused = ask("POST", "/v1/search", {"rows": [{"a": 0.1, "zz": 1}]})
    assert refused.status == 422 and "zz" in refused.json["error"]
    assert ask("PUT", "/v1/candidates", {"rows": [[1] * 5], "ids": [1]}).status == 403


def test_a_row_of_nothing_has_no_neighbours(ask):
    found = ask("POST", "/v1/search", {"rows": [[None] * 5, ROW], "k": 2}).json
    assert found["ids"][0] == [None, None] and found["scores"][0] == [None, None] and found["confidence"][0] == 0
    assert None not in found["ids"][1]


def test_an_imputer_is_served():
    X = np.where(np.random.default_rng(1).random((60, 5)) < 0.2, np.nan, P)
    imputer = PosteriorImputer(effort="fast").fit(X)
    ask = Client(create_app(Service(Served.of(imputer))))
    found = ask("POST", "/v1/impute", {"rows": [ROW]}).json
    values, std = imputer.impute(np.array([ROW], dtype=float), return_std=True)
    np.testing.assert_allclose(found["values"], values)
    np.testing.assert_allclose(found["std"], std)
    assert ask("POST", "/v1/search", {"rows": [ROW]}).status == 422


@pytest.mark.parametrize(
    ("method", "path", "body", "headers", "status", "words"),
    [
        ("POST", "/v1/search", b"{", {}, 422, "not valid JSON"),
        ("POST", "/v1/search", b"[" * 100_000, {}, 422, "not valid JSON"),
        ("POST", "/v1/search", b'{"rows": [[NaN, 1, 1, 1, 1]]}', {}, 422, "write null"),
        ("POST", "/v1/search", b'{"rows": [[1e999, 1, 1, 1, 1]]}', {}, 422, "infinite"),
        ("POST", "/v1/search", b"[]", {}, 422, "JSON object"),
        ("POST", "/v1/search", {"rows": [[1, 2]]}, {}, 422, "5 features"),
        ("POST", "/v1/search", {"rows": []}, {}, 422, "at least one row"),
        ("POST", "/v1/search", {"rows": [["1", 1, 1, 1, 1]]}, {}, 422, "neither numbers nor null"),
        ("POST", "/v1/search", {"rows": [[True, 1, 1, 1, 1]]}, {}, 422, "neither numbers nor null"),
        ("POST", "/v1/search", {"rows": [[10**400, 1, 1, 1, 1]]}, {}, 422, "too large"),
        ("POST", "/v1/search", {"rows": [[1] * 5], "k": 0}, {}, 422, "k must be"),
        ("POST", "/v1/search", {"rows": [[1] * 5], "k": 10**6}, {}, 422, "k must be"),
        ("POST", "/v1/search", {"rows": [[1] * 5], "level": 1}, {}, 422, "level"),
        ("POST", "/v1/search", {"rows": [[1] * 5], "wrong": 1}, {}, 422, "unknown here"),
        ("POST", "/v1/search", {"rows": [[1] * 5] * 10_001}, {}, 422, "10000"),
        ("POST", "/v1/search", {"rows": [[1] * 5] * 1001, "k": 1000}, {}, 422, "1000000 neighbours"),
        ("POST", "/v1/search", {"rows": [{"a": 1}]}, {}, 422, "without names"),
        ("POST", "/v1/search", b"x", {"content-type": "text/plain"}, 415, "Content-Type"),
        ("POST", "/v1/search", b"x" * 9, {"content-type": "application/x-npy"}, 422, "npy"),
        ("POST", "/v1/search", b"x", {"content-type": "application/vnd.apache.arrow.stream"}, 422, "Arrow"),
        ("POST", "/v1/search", b"", {"content-length": str(2**40)}, 413, "larger"),
        ("POST", "/v1/search", {"rows": [[1] * 5], "overlap": "perhaps"}, {}, 422, "overlap"),
        ("POST", "/v1/search", {"rows": [[1] * 5], "above": 2}, {}, 422, "above"),
        ("POST", "/v1/rows", {"ids": ["nobody"]}, {}, 422, "no candidate"),
        ("POST", "/v1/rows", {"ids": [1] * 300}, {}, 422, "256"),
        ("GET", "/v1/samples?start=-1", b"", {}, 422, "start"),
        ("GET", "/v1/samples?count=1000", b"", {}, 422, "count"),
        ("GET", "/v1/samples?path=/etc/passwd", b"", {}, 422, "unknown here"),
        ("GET", "/page/../app.py", b"", {}, 404, "no such path"),
        ("GET", "/v1/search", b"", {}, 405, "takes POST only"),
        ("GET", "/../../etc/passwd", b"", {}, 404, "no such path"),
        ("PUT", "/v1/candidates", {"rows": [[1] * 5], "ids": []}, {}, 422, "ids"),
        ("PUT", "/v1/candidates", {"rows": [[1] * 5], "ids": [1.5]}, {}, 422, "neither text"),
        ("PUT", "/v1/candidates", {"rows": [[1] * 5], "ids": [1, 2]}, {}, 422, "same length"),
        ("PUT", "/v1/candidates", {"rows": [[1] * 4 + [None]], "ids": [1]}, {}, 422, "complete"),
        ("PUT", "/v1/candidates", {"rows": [[1] * 5] * 2, "ids": [1, 1]}, {}, 422, "several rows"),
        ("PUT", "/v1/candidates", {"rows": [[1] * 5], "ids": [1], "payloads": 0}, {}, 422, "same length"),
        ("PUT", "/v1/candidates", {"rows": [[1] * 5], "ids": [1], "payloads": []}, {}, 422, "same length"),
        ("PUT", "/v1/candidates", PUT % "1e999", {}, 422, "not finite"),
        ("PUT", "/v1/candidates", PUT % '{"a": ["\\u0000"]}', {}, 422, "the character 0"),
        ("PUT", "/v1/candidates", PUT % '{"\\udc00": 1}', {}, 422, "surrogate"),
        ("PUT", "/v1/candidates", PUT % ("[" * 200 + "]" * 200), {}, 422, "levels"),
        ("PUT", "/v1/candidates", PUT % ('"' + "x" * 70_000 + '"'), {}, 422, "65536"),
        ("GET", "/v1/samples?count=1&count=2", b"", {}, 422, "'count' is given more than once"),
        ("GET", "/v1/model/", b"", {}, 404, "no such path"),
        ("DELETE", "/v1/candidates", {"ids": ["nobody"]}, {}, 422, "no candidate"),
        ("DELETE", "/v1/candidates", {"ids": [f"row {i}" for i in range(60)]}, {}, 422, "at least one"),
    ],
)
def test_refused_with_a_status_and_a_sentence(method, path, body, headers, status, words, ask):
    found = ask(method, path, body.encode() if isinstance(body, str) else body, headers)
    assert found.status == status
    assert words in found.json["error"]
    assert ask("GET", "/v1/model").json["n_candidates"] == 60


def test_slow_senders_and_large_bodies_without_a_length(service):
    ask = Client(create_app(service, limits=RequestLimits(body_bytes=100, body_seconds=0.05)))
    part = {"type": "http.request", "body": b"x" * 60, "more_body": True}
    assert ask("POST", "/v1/search", parts=[part]).status == 408
    assert ask("POST", "/v1/search", parts=[part, part]).status == 413


def test_the_token(service):
    ask = Client(create_app(service, token="t" * 20))
    assert ask("GET", "/healthz").status == 200
    assert ask("GET", "/v1/model").status == 401
    assert ask("GET", "/v1/model", headers={"authorization": "Bearer wrong"}).status == 401
    assert ask("GET", "/v1/model", headers={"authorization": "Bearer " + "t" * 20}).status == 200


def test_too_many_at_once(service):
    ask = Client(create_app(service, limits=RequestLimits(at_once=3)))
    found = ask.together([("POST", "/v1/search", {"rows": [ROW]})] * 8)
    assert sorted(each.status for each in found) == [200] * 3 + [503] * 5
    assert all(each.headers["retry-after"] == "1" for each in found if each.status == 503)


def test_requests_together_are_answered_together(ask, service):
    rows = np.where(np.random.default_rng(3).random((40, 5)) < 0.3, np.nan, np.random.default_rng(4).random((40, 5)))
    rows[:, 0] = 0.5
    asked = [{"rows": [[None if np.isnan(x) else x for x in row]], "k": 3} for row in rows]
    together = ask.together([("POST", "/v1/search", body) for body in asked])
    assert service.meters.batches < 10
    for body, found in zip(asked, together, strict=True):
        alone = ask("POST", "/v1/search", body).json
        assert alone["ids"] == found.json["ids"]
        np.testing.assert_allclose(alone["scores"], found.json["scores"], atol=1e-12)
    text = ask("GET", "/metrics").body.decode()
    assert 'simcomplete_requests_total{path="/v1/search",status="200"} 80' in text


def test_one_bad_request_spoils_no_other():
    def answer(question, state, rows):
        if (rows < 0).any():
            raise InputError("negative")
        return {"twice": 2 * rows}

    async def every():
        batches = Batches(answer, lambda: None)
        asked = (batches.ask("q", np.array([[x]])) for x in (1.0, -1.0, 3.0))
        return await asyncio.gather(*asked, return_exceptions=True)

    first, second, third = LOOP.run_until_complete(every())
    assert first["twice"] == [[2.0]] and third["twice"] == [[6.0]] and isinstance(second, InputError)


def test_others_are_answered_between_the_pieces_of_a_large_request():
    done, states, gate = [], iter(range(1000)), threading.Event()

    def answer(question, state, rows):
        gate.wait()
        done.append((question, len(rows)))
        return {"twice": 2 * rows, "state": np.full(len(rows), state)}

    async def every():
        batches = Batches(answer, lambda: next(states))
        large = asyncio.create_task(batches.ask("a", np.arange(1000.0)[:, None]))
        await asyncio.sleep(0.05)  # its first rows are being answered
        small = [asyncio.create_task(batches.ask(which, np.array([[7.0]]))) for which in "ba"]
        await asyncio.sleep(0)
        gate.set()
        return await asyncio.gather(large, *small)

    large, *small = LOOP.run_until_complete(every())
    assert done[0] == ("a", 256) and done[1] == ("b", 1) and len(done) > 4
    assert [each["twice"].tolist() for each in small] == [[[14.0]], [[14.0]]]
    np.testing.assert_array_equal(large["twice"], 2 * np.arange(1000.0)[:, None])
    assert set(large["state"]) == {0}  # all rows of a request by the same model, whatever has changed meanwhile


def test_large_requests_take_turns():
    order = []

    def answer(question, state, rows):
        order.append(question)
        return {"rows": rows}

    async def every():
        batches = Batches(answer, lambda: "model")
        return await asyncio.gather(*(batches.ask(which, np.zeros((600, 1))) for which in "ab"))

    assert [len(each["rows"]) for each in LOOP.run_until_complete(every())] == [600, 600]
    assert order[:4] == ["a", "b", "a", "b"]


def test_changes_are_seen_and_last(ask, service, model, tmp_path):
    new = [0.9, 0.1, 0.9, 0.1, 0.9]
    body = {"rows": [new, P[3].tolist()], "ids": ["new", "row 5"], "payloads": [{"title": "ä"}, None]}
    assert ask("PUT", "/v1/candidates", body).json == {"put": 2, "n_candidates": 61}
    assert ask("DELETE", "/v1/candidates", {"ids": ["row 0", "row 1"]}).json == {"deleted": 2, "n_candidates": 59}
    question = {"rows": [new, P[5].tolist(), P[0].tolist()], "k": 1, "payloads": True}
    found = ask("POST", "/v1/search", question).json
    assert found["ids"][0] == ["new"] and found["payloads"][0] == [{"title": "ä"}]
    assert found["ids"][1] != ["row 5"] and found["ids"][2] != ["row 0"]
    with pytest.raises(InputError, match="another service may use it"):
        Journal(tmp_path / "changes.sqlite", "m", 5)
    service.journal.close()
    second = Service(Served.of(model), Journal(tmp_path / "changes.sqlite", "m", 5))
    again = Client(create_app(second))
    assert again("GET", "/v1/model").json["n_candidates"] == 59
    after = again("POST", "/v1/search", question).json
    assert after["ids"] == found["ids"] and after["payloads"] == found["payloads"]
    np.testing.assert_allclose(after["scores"], found["scores"], atol=1e-12)
    # All of the saved candidates may go while others are left, also when it starts again.
    rest = [f"row {i}" for i in range(2, 60)]
    assert again("DELETE", "/v1/candidates", {"ids": rest}).json["n_candidates"] == 1
    second.journal.close()
    third = Service(Served.of(model), Journal(tmp_path / "changes.sqlite", "m", 5))
    last = Client(create_app(third))
    assert last("POST", "/v1/search", {"rows": [ROW], "k": 5}).json["ids"] == [["new"]]
    third.journal.close()
    with pytest.raises(FileFormatError, match="another model"):
        Journal(tmp_path / "changes.sqlite", "other", 5)
    (tmp_path / "text.sqlite").write_text("no database at all, but text\n" * 100)
    with pytest.raises(FileFormatError, match="not a file of changes"):
        Journal(tmp_path / "text.sqlite", "m", 5)


def test_the_document_names_every_path(ask):
    document = ask("GET", "/openapi.json").json
    for path, methods in document["paths"].items():
        for method in methods:
            assert ask(method.upper(), path, b"{}").status in (200, 422)
