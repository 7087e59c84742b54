"""`simcomplete serve`: a saved model answers queries over HTTP."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from simcomplete._cli.options import Quiet
from simcomplete._cli.output import say
from simcomplete.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(serve)


def serve(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="Folder that a model's save() wrote.")],
    host: Annotated[str, typer.Option(help="Address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=1, max=65535, help="Port to listen on.")] = 8080,
    token_file: Annotated[
        Path | None, typer.Option(metavar="FILE", help="File with the token that clients must send.")
    ] = None,
    changes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="File for changes; MODEL.changes.sqlite if left out."),
    ] = None,
    max_body: Annotated[int, typer.Option(min=1, help="Largest body of a request, in MiB.")] = 32,
    max_requests: Annotated[int, typer.Option(min=1, help="Requests under way at once.")] = 256,
    quiet: Quiet = False,
) -> None:
    """Answer queries with gaps over HTTP."""
    try:
        from simcomplete._serve.guard import RequestLimits
        from simcomplete._serve.server import check_host, open_service, read_token, serve_forever
    except ImportError as error:
        raise InputError(f"serve needs {error.name}: pip install 'simcomplete[serve]'") from error
    token = read_token(token_file)
    check_host(host, token)
    service = open_service(model, changes)
    about = service.served.describe()
    say(f"{about['kind']} of {about['n_features']} features at http://{host}:{port}/openapi.json; Ctrl-C ends it")
    limits = RequestLimits(body_bytes=max_body * 2**20, at_once=max_requests)
    serve_forever(service, host, port, token, limits, log=not quiet)
