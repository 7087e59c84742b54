"""A server within the test's own process, on a port of its own."""

import contextlib
import http.client
import json
import socket
import threading
import time

from simcomplete._serve.guard import RequestLimits
from simcomplete._serve.server import server_of


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


@contextlib.contextmanager
def running(service, token=None, **limits):
    """The port of a server that answers while the block runs."""
    port = free_port()
    server = server_of(service, "127.0.0.1", port, token, RequestLimits(**limits))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    ends = time.monotonic() + 30
    while not server.started and time.monotonic() < ends:
        time.sleep(0.01)
    try:
        yield port
    finally:
        server.should_exit = True
        thread.join(15)
    assert not thread.is_alive()


def ask(port, method, path, body=None, headers=None):
    """Status, headers and parsed body of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        given = {"content-type": "application/json", **(headers or {})}
        connection.request(method, path, None if body is None else json.dumps(body), given)
        answer = connection.getresponse()
        return answer.status, dict(answer.getheaders()), json.loads(answer.read())
    finally:
        connection.close()


def read_all(connection, seconds=5.0):
    """Whatever a socket says until it is closed."""
    connection.settimeout(seconds)
    found = b""
    with contextlib.suppress(ConnectionError):
        while part := connection.recv(65536):
            found += part
    return found


def read_answer(connection, seconds=5.0):
    """One whole answer of a connection that stays open."""
    connection.settimeout(seconds)
    found = b""
    while b"\r\n\r\n" not in found:
        found += _some(connection)
    head, _, body = found.partition(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
    )
    while len(body) < length:
        body += _some(connection)
    return head + b"\r\n\r\n" + body


def _some(connection):
    part = connection.recv(65536)
    assert part, "closed within an answer"
    return part
