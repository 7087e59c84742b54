"""Connections to a real server: too many, too slow, cut off, and what is under way when it is told to end."""

import json
import socket
import threading
import time

import pytest

pytest.importorskip("uvicorn")

from serve.live import ask, read_all, read_answer, running
from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service

ROW = [0.1, None, 0.4, None, 0.9]
BODY = json.dumps({"rows": [ROW], "k": 2}).encode()
HEAD = (
    b"POST /v1/search HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    % len(BODY)
)


@pytest.fixture
def plain(model):
    return Service(Served.of(model))


def connected(port):
    return socket.create_connection(("127.0.0.1", port), 5)


def test_more_connections_than_allowed_are_told_so(plain):
    with running(plain, connections=3) as port:
        held = [connected(port) for _ in range(3)]
        time.sleep(0.1)
        for _ in range(5):
            with connected(port) as one_more:
                one_more.sendall(HEAD + BODY)
                told = read_all(one_more)
                assert told.startswith(b"HTTP/1.1 503") and b"retry-after: 1" in told and b"too many" in told
        held[0].sendall(HEAD + BODY)
        assert read_answer(held[0]).startswith(b"HTTP/1.1 200")
        for each in held:
            each.close()
        time.sleep(0.1)
        assert ask(port, "GET", "/v1/model")[0] == 200


def test_who_says_nothing_or_says_it_slowly_is_cut_off(plain):
    with running(plain, head_seconds=0.3, body_seconds=0.3) as port:
        silent, slow_head, slow_body, second = (connected(port) for _ in range(4))
        slow_head.sendall(b"POST /v1/sea")
        slow_body.sendall(HEAD + BODY[:5])
        second.sendall(HEAD + BODY)
        assert read_answer(second).startswith(b"HTTP/1.1 200")
        second.sendall(b"GET /v1/mod")  # the next request on the same connection never ends
        for each in (silent, slow_head, slow_body, second):
            assert read_all(each).startswith(b"HTTP/1.1 408"), each
            each.close()
        assert ask(port, "GET", "/v1/model")[0] == 200


def test_a_connection_is_used_for_many_requests(plain):
    with running(plain, head_seconds=0.3) as port, connected(port) as one:
        for _ in range(4):
            one.sendall(HEAD + BODY)
            assert read_answer(one).startswith(b"HTTP/1.1 200")
            time.sleep(0.15)  # longer in all than a head may take


def test_what_is_no_http_or_ends_early_harms_nobody(plain):
    with running(plain) as port:
        for sent in (b"\x16\x03\x01\x02\x00", b"GET / HTTP/9\r\n\r\n", HEAD, HEAD + BODY[:3], b"\0" * 70_000):
            with connected(port) as one:
                one.sendall(sent)
        status, _, found = ask(port, "POST", "/v1/search", {"rows": [ROW], "k": 2})
        assert status == 200 and len(found["ids"][0]) == 2


def test_what_is_under_way_is_finished(plain):
    told = {}
    with running(plain) as port:
        one = connected(port)
        one.sendall(HEAD + BODY[:10])
        time.sleep(0.1)
        thread = threading.Thread(target=lambda: told.update(answer=_later(one)))
        thread.start()
    thread.join()  # the server has ended, and has answered before
    assert told["answer"].startswith(b"HTTP/1.1 200") and b'"ids"' in told["answer"]


def _later(connection):
    time.sleep(0.4)
    connection.sendall(BODY[10:])
    found = read_all(connection)
    connection.close()
    return found


def test_a_name_of_somebody_else_is_refused_without_a_token(plain):
    with running(plain) as port:
        assert ask(port, "GET", "/v1/model", headers={"host": "evil.example"})[0] == 421
        for name in ("localhost", f"localhost:{port}", "127.0.0.1", f"[::1]:{port}"):
            assert ask(port, "GET", "/v1/model", headers={"host": name})[0] == 200
    with running(plain, token="t" * 20) as port:
        headers = {"host": "models.example", "authorization": f"Bearer {'t' * 20}"}
        assert ask(port, "GET", "/v1/model", headers=headers)[0] == 200
    with running(plain) as port, socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(b"GET /v1/model HTTP/1.1\r\nHost: evil.example\r\nHost: localhost\r\n\r\n")
        assert b" 421 " in read_answer(connection)
