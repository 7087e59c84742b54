"""A saved model to a running server: what `simcomplete serve` does."""

from __future__ import annotations

import gc
import json
import os
import signal
import socket
import sys
from pathlib import Path
from typing import Any

from simcomplete._load import load
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._result.archive import MODEL
from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service, create_app
from simcomplete._serve.connections import limited_protocol
from simcomplete._serve.guard import RequestLimits, is_loopback
from simcomplete._serve.journal import Journal
from simcomplete._serve.shown import Samples
from simcomplete._serve.stored import StoredServed
from simcomplete.errors import InputError
from simcomplete.stores import VectorStore, connect

SHORTEST_TOKEN = 16
SWITCH = 0.001  # seconds after which the thread that answers lets the one that reads and writes go on
BACKLOG = 1024  # connections that wait to be accepted
GRACE = 10  # seconds that requests under way have after SIGTERM


def open_service(
    model: Path,
    changes: Path | None,
    *,
    shape: tuple[int, int] | None = None,
    samples: Samples | None = None,
    store: str | None = None,
) -> Service:
    """Load a model and what changed since it was saved."""
    served = Served.of(load(model), shape, keep=store is None)
    if samples is not None and samples.rows is not None and samples.rows.shape[1] != served.d:
        raise InputError(f"the samples have {samples.rows.shape[1]} features, and the model has {served.d}")
    if not served.searches:
        if store is not None:
            raise InputError("--store is for the candidates of a PosteriorCompleter, and this model has none")
        return Service(served, samples=samples)
    if store is not None and not isinstance(served.candidates()._model, CandidateModel):
        raise InputError(
            "--store is for complete candidates, and this model was fitted to incomplete ones: leave it out; a store "
            "is filled in Python, with model.attach(store)"
        )
    digest = json.loads((model / MODEL.file).read_text(encoding="utf-8"))["sha256"]
    place = model.with_name(f"{model.name}.changes.sqlite") if changes is None else changes
    journal = Journal(place, digest, served.d)
    try:
        service = Service(served, journal, samples)
        if store is not None:
            in_store(service, connect(store))
    except BaseException:
        journal.close()  # or nobody else could open it
        raise
    return service


def in_store(service: Service, store: VectorStore) -> None:
    """Let the candidates of a service lie in a store."""
    assert service.journal is not None  # as every service with candidates has one
    service.served = StoredServed.attached(service.served, store, service.journal.recorded())


def check_host(host: str, token: str | None) -> None:
    """Refuse to be reachable from elsewhere without a token."""
    if not is_loopback(host) and token is None:
        raise InputError(f"--host {host} can be reached from elsewhere: give --token-file, or bind to 127.0.0.1")


def read_token(path: Path | None) -> str | None:
    """The token of a file, without the line's end."""
    if path is None:
        return None
    try:
        token = path.read_bytes().decode("utf-8-sig").strip()  # some editors of Windows begin files with a mark
    except UnicodeDecodeError:
        token = ""
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"{path} must hold one token of at least {SHORTEST_TOKEN} printable characters without spaces")
    return token


def listening(host: str, port: int) -> socket.socket:
    """A socket that clients can already connect to; they are answered when the service runs."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio switches off the delay of small packets (TCP_NODELAY) on every connection.
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        if os.name == "posix":  # elsewhere two programs could listen on the same port
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((host, port))
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        why = os.strerror(error.errno) if error.errno and error.errno > 0 else str(error.strerror)
        raise InputError(
            f"cannot listen on {host}, port {port}: {why.lower()}; choose another --port, or --host"
        ) from error
    return listener


def server_of(
    service: Service, host: str, port: int, token: str | None, limits: RequestLimits, *, log: bool = False
) -> Any:
    """A server of uvicorn around a service; `run` answers until it is told to end."""
    import uvicorn

    config = uvicorn.Config(
        create_app(service, limits=limits, token=token, log=log),
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        backlog=BACKLOG,
        http=limited_protocol(limits),
        ws="none",
    )
    return uvicorn.Server(config)


def serve_forever(
    service: Service, listener: socket.socket, token: str | None, limits: RequestLimits, log: bool
) -> None:
    """Answer until SIGTERM or SIGINT; then finish what is under way."""
    host, port = listener.getsockname()[:2]
    server = server_of(service, host, port, token, limits, log=log)
    # All that has been loaded stays. To look through it for garbage, again and again, would hold up answers.
    gc.collect()
    gc.freeze()
    sys.setswitchinterval(SWITCH)
    # uvicorn finishes what is under way and then sends itself the signal again: to be asked to end is no failure.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        server.run([listener])
    finally:
        signal.signal(signal.SIGTERM, before)
    if service.journal is not None:
        service.journal.close()
