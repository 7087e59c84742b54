import asyncio
import json

import numpy as np
import pytest

pytest.importorskip("starlette")

from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service, create_app
from simcomplete._serve.journal import Journal
from simcomplete.estimators import PosteriorCompleter

P = np.random.default_rng(0).random((60, 5))


class Answered:
    def __init__(self, status, headers, body):
        self.status, self.headers, self.body = status, headers, body

    @property
    def json(self):
        return json.loads(self.body)


class Client:
    """Asks an ASGI application as a server would, without a network."""

    def __init__(self, app):
        self.app = app

    async def ask(self, method, path, body=b"", headers=None, parts=None):
        if not isinstance(body, bytes):
            body = json.dumps(body).encode()
        path, _, query = path.partition("?")
        given = {"content-type": "application/json", **(headers or {})}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "scheme": "http",
            "server": ("127.0.0.1", 80),
            "client": ("127.0.0.1", 1),
            "headers": [(k.lower().encode(), v.encode("latin-1")) for k, v in given.items()],
        }
        messages = [{"type": "http.request", "body": body, "more_body": False}] if parts is None else list(parts)
        sent = []

        async def receive():
            if messages:
                return messages.pop(0)
            return await asyncio.sleep(3600)

        async def send(message):
            sent.append(message)

        await self.app(scope, receive, send)
        start = sent[0]
        head = {k.decode(): v.decode() for k, v in start["headers"]}
        return Answered(start["status"], head, b"".join(m.get("body", b"") for m in sent[1:]))

    def __call__(self, *args, **kwargs):
        async def one():
            return await self.ask(*args, **kwargs)

        return LOOP.run_until_complete(one())

    def together(self, asked):
        async def every():
            return await asyncio.gather(*(self.ask(*each) for each in asked))

        return LOOP.run_until_complete(every())


LOOP = asyncio.new_event_loop()


@pytest.fixture(scope="session")
def model():
    return PosteriorCompleter(effort="fast").fit(P, ids=[f"row {i}" for i in range(60)])


@pytest.fixture
def service(model, tmp_path):
    return Service(Served.of(model), Journal(tmp_path / "changes.sqlite", "m", 5))


@pytest.fixture
def ask(service):
    return Client(create_app(service))
