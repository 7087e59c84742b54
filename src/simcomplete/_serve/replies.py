"""Requests read and answers written: bodies, parameters, and errors as a status and a sentence."""

from __future__ import annotations

import io
import json
from collections.abc import Awaitable, Callable
from typing import Any

import numpy as np
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from simcomplete._serve import bodies
from simcomplete._serve.guard import EXTRA, RequestError
from simcomplete.errors import DiskFullError, InputError, SimcompleteError, StoreError

Handler = Callable[[Request], Awaitable[Response]]


def content_kind(request: Request) -> str:
    """The Content-Type without its parameters."""
    return str(request.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def read_body(request: Request, *kinds: str) -> bytes:
    """The body, if it is of one of these kinds."""
    if content_kind(request) not in kinds:
        raise RequestError(415, f"the Content-Type must be {' or '.join(kinds)}")
    return bytes(await request.body())


def only_known(found: dict[str, Any], *known: str) -> None:
    """Refuse names there are not."""
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise InputError(f"{unknown[0][:100]!r} is unknown here; known are {', '.join(known) or 'none'}")


def query_of(request: Request) -> dict[str, Any]:
    """The query string, each name once."""
    names = [name for name, _ in request.query_params.multi_items()]
    if len(set(names)) < len(names):
        twice = next(name for name in names if names.count(name) > 1)
        raise InputError(f"{twice[:100]!r} is given more than once")
    return dict(request.query_params)


def switch(value: Any, name: str) -> bool:
    """Yes or no, of JSON or of the query string."""
    if value in (True, "true"):
        return True
    if value in (None, False, "false"):
        return False
    raise InputError(f"{name} must be true or false")


def json_reply(values: dict[str, Any]) -> Response:
    """Plain values, and arrays with null where a number is not finite."""
    return Response(bodies.to_json(values), media_type=bodies.JSON)


def array_reply(request: Request, found: dict[str, Any], name: str) -> Response:
    """As JSON, or the array of a name as .npy where that is asked for."""
    if bodies.NPY not in request.headers.get("accept", ""):
        return json_reply(found)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(found[name]), allow_pickle=False)
    return Response(stream.getvalue(), media_type=bodies.NPY)


def answering(handler: Handler) -> Handler:
    """Errors of ours as a status and a sentence."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except RequestError as error:
            return _refused(error.status, str(error))
        except DiskFullError as error:
            return _refused(507, str(error))
        except StoreError as error:  # the request may be sent again when the store can be reached
            return _refused(503, _one_line(error))
        except SimcompleteError as error:
            return _refused(422, _one_line(error))
        except ClientDisconnect:
            return _refused(400, "the client has gone")

    return answered


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


def _refused(status: int, sentence: str) -> Response:
    """A status and a sentence; here and not by raising, which Starlette would take for an error of the server."""
    return Response(
        json.dumps({"error": sentence}), status, headers=dict(EXTRA.get(status, {})), media_type=bodies.JSON
    )


async def no_such_path(request: Request, error: Exception) -> Response:
    """Paths and methods that there are not."""
    assert isinstance(error, HTTPException)
    headers = dict(error.headers or {})
    said = {
        404: "there is no such path; GET /openapi.json lists them",
        405: f"this path takes {headers.get('Allow', 'other methods')} only",
    }
    body = json.dumps({"error": said.get(error.status_code, error.detail)})
    return Response(body, error.status_code, headers=headers, media_type=bodies.JSON)
