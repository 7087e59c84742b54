"""The service as an ASGI application of Starlette: paths, and what each does."""

from __future__ import annotations

import asyncio
import io
import json
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from simcomplete._serve import bodies
from simcomplete._serve.answers import Served
from simcomplete._serve.batches import Batches
from simcomplete._serve.guard import EXTRA, Guard, Meters, RequestError, RequestLimits
from simcomplete._serve.journal import Journal
from simcomplete._serve.openapi import openapi_document
from simcomplete.errors import InputError, SimcompleteError

Handler = Callable[[Request], Awaitable[Response]]


class Service:
    """One model, what changes it, and the answers to requests.

    Parameters
    ----------
    served : Served
        The model as it was saved.
    journal : Journal, optional
        Where changes to candidates are written; without one there are none.
    """

    def __init__(self, served: Served, journal: Journal | None = None) -> None:
        self.journal, self.meters = journal, Meters()
        if journal is not None:
            known = journal.recorded()
            base = served.candidates().ids_
            assert base is not None  # Served gives ids
            gone = [key for key in known.gone if key in base.place]
            served = served.changed(known.rows, known.ids, known.payloads, gone) if known.ids or gone else served
        self.served = served
        self.batches: Batches | None = None
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writer")
        self._changing: asyncio.Lock | None = None

    def answer(self, question: tuple[Any, ...], rows: NDArray[np.float64]) -> dict[str, Any]:
        """What batches ask for: always of the newest model."""
        name, *rest = question
        found: dict[str, Any] = getattr(self.served, name)(rows, *rest)
        return found

    async def ask(self, question: tuple[Any, ...], rows: NDArray[np.float64]) -> dict[str, Any]:
        """Answer together with other requests."""
        if self.batches is None:  # within the loop that it will run in
            self.batches = Batches(self.answer)
        self.meters.rows += len(rows)
        found = await self.batches.ask(question, rows)
        self.meters.batches += len(self.batches.sizes)
        self.meters.batched_rows += sum(self.batches.sizes)
        self.batches.sizes.clear()
        return found

    async def change(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> int:
        """Change candidates: first in a copy, then on disk, then for all to see. Return how many there are."""
        if self.journal is None:
            raise RequestError(403, "this service has no file for changes: candidates stay as they are")
        if self._changing is None:
            self._changing = asyncio.Lock()
        async with self._changing:
            run = asyncio.get_running_loop().run_in_executor
            self.served = await asyncio.shield(run(self._writer, self._changed, rows, ids, payloads, gone))
            return len(self.served.candidates().candidates_)

    def _changed(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> Served:
        assert self.journal is not None  # as change has looked
        changed = self.served.changed(rows, ids, payloads, gone)
        self.journal.record(rows, ids, payloads, gone)
        return changed

    async def search(self, request: Request) -> Response:
        """POST /v1/search."""
        rows, rest = await self._rows(request, "k", "level", "payloads")
        self.served.candidates()
        k = bodies.whole_number(rest.get("k", 10), "k", 1, bodies.MOST_K)
        found = await self.ask(("search", k, bodies.level_of(rest.get("level", 0.9))), rows)
        if rest.get("payloads") in (True, "true"):
            told = self.served.payloads
            found = {**found, "payloads": [[told.get(key) for key in line] for line in found["ids"].tolist()]}
        return Response(bodies.to_json(found), media_type=bodies.JSON)

    async def complete(self, request: Request) -> Response:
        """POST /v1/complete."""
        rows, _ = await self._rows(request)
        return _arrays(request, await self.ask(("complete",), rows), "vectors")

    async def impute(self, request: Request) -> Response:
        """POST /v1/impute."""
        rows, _ = await self._rows(request)
        return _arrays(request, await self.ask(("impute",), rows), "values")

    async def candidates(self, request: Request) -> Response:
        """PUT and DELETE /v1/candidates."""
        found = bodies.read_object(await _body(request, bodies.JSON))
        ids = found.get("ids")
        if not isinstance(ids, list) or not ids:
            raise InputError("ids must be a list of at least one id, text or whole number")
        bodies.check_count(len(ids))
        nothing = np.zeros((0, self.served.d))
        if request.method == "DELETE":
            _only(found, "ids")
            n = await self.change(nothing, [], [], ids)
            return _said({"deleted": len(ids), "n_candidates": n})
        _only(found, "ids", "rows", "payloads")
        rows = bodies.rows_of_json(found.get("rows"), self.served.d, self.served.names)
        if np.isnan(rows).any():
            raise InputError("candidates must be complete: no null in rows")
        payloads = found.get("payloads") or [None] * len(ids)
        if not isinstance(payloads, list) or not len(payloads) == len(rows) == len(ids):
            raise InputError("rows, ids and payloads must be lists of the same length")
        if any(len(json.dumps(payload)) > bodies.PAYLOAD_CHARACTERS for payload in payloads):
            raise InputError(f"a payload may have {bodies.PAYLOAD_CHARACTERS} characters as JSON")
        n = await self.change(rows, ids, payloads, [])
        return _said({"put": len(ids), "n_candidates": n})

    async def about(self, request: Request) -> Response:
        """GET /v1/model."""
        return _said({**self.served.describe(), "changeable": self.journal is not None})

    async def health(self, request: Request) -> Response:
        """GET /healthz and /readyz: the model is loaded before the first request is taken."""
        return _said({"ok": True})

    async def metrics(self, request: Request) -> Response:
        """GET /metrics."""
        return PlainTextResponse(self.meters.text())

    async def openapi(self, request: Request) -> Response:
        """GET /openapi.json."""
        return _said(openapi_document(self.served))

    async def _rows(self, request: Request, *known: str) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Rows of any kind of body, and what was said beside them, in the body or in the query string."""
        body = await _body(request, bodies.JSON, bodies.NPY, bodies.ARROW)
        d, names, kind = self.served.d, self.served.names, _kind(request)
        if kind == bodies.JSON:
            found = bodies.read_object(body)
            _only(found, "rows", *known)
            return bodies.rows_of_json(found.get("rows"), d, names), found
        rest = dict(request.query_params)
        _only(rest, *known)
        return (bodies.rows_of_npy(body, d) if kind == bodies.NPY else bodies.rows_of_arrow(body, d, names)), rest


def _kind(request: Request) -> str:
    return str(request.headers.get("content-type", "")).partition(";")[0].strip().lower()


async def _body(request: Request, *kinds: str) -> bytes:
    if _kind(request) not in kinds:
        raise RequestError(415, f"the Content-Type must be {' or '.join(kinds)}")
    return bytes(await request.body())


def _only(found: dict[str, Any], *known: str) -> None:
    unknown = sorted(set(found) - set(known))
    if unknown:
        raise InputError(f"{unknown[0][:100]!r} is unknown here; known are {', '.join(known)}")


def _said(values: dict[str, Any]) -> Response:
    return Response(json.dumps(values), media_type=bodies.JSON)


def _arrays(request: Request, found: dict[str, Any], name: str) -> Response:
    """As JSON, or the array of a name as .npy where that is asked for."""
    if bodies.NPY not in request.headers.get("accept", ""):
        return Response(bodies.to_json(found), media_type=bodies.JSON)
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.ascontiguousarray(found[name]), allow_pickle=False)
    return Response(stream.getvalue(), media_type=bodies.NPY)


def _spoken(handler: Handler) -> Handler:
    """Errors of ours as a status and a sentence."""

    async def answered(request: Request) -> Response:
        try:
            return await handler(request)
        except RequestError as error:
            return _refused(error.status, str(error))
        except SimcompleteError as error:
            return _refused(422, " ".join(str(error).split())[:500])
        except ClientDisconnect:
            return _refused(400, "the client has gone")

    return answered


def _refused(status: int, sentence: str) -> Response:
    """A status and a sentence; here and not by raising, which Starlette would take for an error of the server."""
    return Response(
        json.dumps({"error": sentence}), status, headers=dict(EXTRA.get(status, {})), media_type=bodies.JSON
    )


async def _other(request: Request, error: Exception) -> Response:
    """Paths and methods that there are not."""
    assert isinstance(error, HTTPException)
    said = {404: "there is no such path; GET /openapi.json lists them", 405: "this path takes other methods"}
    body = json.dumps({"error": said.get(error.status_code, error.detail)})
    return Response(body, error.status_code, headers=dict(error.headers or {}), media_type=bodies.JSON)


def create_app(
    service: Service, *, limits: RequestLimits | None = None, token: str | None = None, log: bool = False
) -> Guard:
    """Put paths, limits and counts around a service."""
    paths: list[tuple[str, Handler, list[str]]] = [
        ("/v1/search", service.search, ["POST"]),
        ("/v1/complete", service.complete, ["POST"]),
        ("/v1/impute", service.impute, ["POST"]),
        ("/v1/candidates", service.candidates, ["PUT", "DELETE"]),
        ("/v1/model", service.about, ["GET"]),
        ("/healthz", service.health, ["GET"]),
        ("/readyz", service.health, ["GET"]),
        ("/metrics", service.metrics, ["GET"]),
        ("/openapi.json", service.openapi, ["GET"]),
    ]
    routes = [Route(path, _spoken(handler), methods=methods) for path, handler, methods in paths]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: _other})
    return Guard(inner, limits or RequestLimits(), token, service.meters, {path for path, _, _ in paths}, log)
