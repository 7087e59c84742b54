"""A saved model to a running server: what `simcomplete serve` does."""

from __future__ import annotations

import ipaddress
import json
import signal
from pathlib import Path
from typing import Any

from simcomplete._load import load
from simcomplete._result.archive import MODEL
from simcomplete._serve.answers import Served
from simcomplete._serve.app import Service, create_app
from simcomplete._serve.guard import RequestLimits
from simcomplete._serve.journal import Journal
from simcomplete.errors import InputError

SHORTEST_TOKEN = 16
GRACE = 10  # seconds that requests under way have after SIGTERM


def open_service(model: Path, changes: Path | None) -> Service:
    """Load a model and what changed since it was saved."""
    served = Served.of(load(model))
    if not served.searches:
        return Service(served)
    digest = json.loads((model / MODEL.file).read_text(encoding="utf-8"))["sha256"]
    place = model.with_name(f"{model.name}.changes.sqlite") if changes is None else changes
    return Service(served, Journal(place, digest, served.d))


def check_host(host: str, token: str | None) -> None:
    """Refuse to be reachable from elsewhere without a token."""
    try:
        loopback = ipaddress.ip_address(host).is_loopback
    except ValueError:
        loopback = host == "localhost"
    if not loopback and token is None:
        raise InputError(f"--host {host} can be reached from elsewhere: give --token-file, or bind to 127.0.0.1")


def read_token(path: Path | None) -> str | None:
    """The token of a file, without the line's end."""
    if path is None:
        return None
    token = path.read_text(encoding="utf-8").strip()
    if len(token) < SHORTEST_TOKEN or not token.isascii() or not token.isprintable() or " " in token:
        raise InputError(f"{path} must hold one token of at least {SHORTEST_TOKEN} printable characters without spaces")
    return token


def serve_forever(service: Service, host: str, port: int, token: str | None, limits: RequestLimits, log: bool) -> Any:
    """Answer until SIGTERM or SIGINT; then finish what is under way."""
    import uvicorn

    app = create_app(service, limits=limits, token=token, log=log)
    config = uvicorn.Config(
        app,
        host=host,
        port=port,
        log_level="warning",
        access_log=False,
        lifespan="off",
        server_header=False,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=GRACE,
        backlog=1024,
    )
    # uvicorn finishes what is under way and then sends itself the signal again: to be asked to end is no failure.
    before = signal.signal(signal.SIGTERM, lambda *_: None)
    try:
        uvicorn.Server(config).run()
    finally:
        signal.signal(signal.SIGTERM, before)
    if service.journal is not None:
        service.journal.close()
