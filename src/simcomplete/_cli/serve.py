"""`simcomplete serve`: a saved model answers queries over HTTP, and shows a page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from simcomplete._cli.options import Quiet
from simcomplete._cli.output import say
from simcomplete.errors import InputError

MOST_SAMPLES = 10_000  # rows that are read to try on the page


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    model: Annotated[
        Path | None, typer.Argument(metavar="MODEL", help="Folder of a saved model; with --demo: digits or wine.")
    ] = None,
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8080,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the token that clients must send.")
    ] = None,
    changes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for changes to candidates; MODEL.changes.sqlite by default."),
    ] = None,
    shape: Annotated[
        str | None,
        typer.Option(metavar="HEIGHTxWIDTH", help="Height and width of images, if the model does not have them."),
    ] = None,
    samples: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Rows to try on the page; the candidates by default.")
    ] = None,
    demo: Annotated[bool, typer.Option("--demo", help="Serve bundled data: digits (default) or wine.")] = False,
    store: Annotated[
        str | None,
        typer.Option(metavar="ADDRESS", help="Vector store for the candidates, such as postgresql://host/database."),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Largest body of a request, in MiB.")] = 32,
    max_requests: Annotated[int, typer.Option(min=1, help="Largest number of requests at a time.")] = 256,
    max_connections: Annotated[int, typer.Option(min=1, help="Largest number of open connections.")] = 512,
    quiet: Quiet = False,
) -> None:
    """Serve a model over HTTP, with a page to try it."""
    try:
        from simcomplete._serve.guard import RequestLimits
        from simcomplete._serve.server import check_host, listening, read_token, serve_forever
    except ImportError as error:
        raise InputError(f"serve needs {error.name}: pip install 'simcomplete[serve]'") from error
    token = read_token(token_file)
    check_host(host, token)
    service = _demo(model, changes, shape, samples, store) if demo else _saved(model, changes, shape, samples, store)
    listener = listening(host, port)
    about = service.served.describe()
    place = f"http://{f'[{host}]' if ':' in host else host}:{port}"
    say(f"{about['kind']} of {about['n_features']} features: open {place}/ in a browser; Ctrl-C ends it")
    limits = RequestLimits(body_bytes=max_body * 2**20, at_once=max_requests, connections=max_connections)
    serve_forever(service, listener, token, limits, log=not quiet)


def _demo(name: Path | None, *others: Any) -> Any:
    from simcomplete._serve.demo import demo_service

    if any(other is not None for other in others):
        raise InputError("--demo has its own data: leave --changes, --shape, --samples and --store out")
    return demo_service("digits" if name is None else str(name))


def _saved(model: Path | None, changes: Path | None, shape: str | None, samples: Path | None, store: str | None) -> Any:
    from simcomplete._serve.server import open_service
    from simcomplete._serve.shown import Samples
    from simcomplete.datasets import read_table

    if model is None:
        raise InputError("name the folder of a saved model, or try one with --demo")
    sides = None
    if shape is not None:
        found = re.fullmatch(r"(\d{1,6})[x×,](\d{1,6})", shape)
        if found is None:
            raise InputError(f"--shape {shape} is not a height and width; write it as 28x28")
        sides = int(found[1]), int(found[2])
    if samples is None:
        return open_service(model, changes, shape=sides, store=store)
    table = read_table(samples, limit=MOST_SAMPLES)
    rows = Samples(np.asarray(table.values, dtype=np.float64), tuple(table.labels or ()))
    service = open_service(model, changes, shape=sides, samples=rows, store=store)
    names = service.served.names
    if names is not None and table.columns is not None and list(table.columns) != names:
        raise InputError(f"the columns of {samples} are not the features of the model in their order")
    return service
