"""The service as an ASGI application of Starlette: paths, and what each does."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from numpy.typing import NDArray
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from simcomplete._rows.payloads import payload_text
from simcomplete._serve import bodies
from simcomplete._serve.answers import Served
from simcomplete._serve.batches import Batches
from simcomplete._serve.guard import Guard, Meters, RequestError, RequestLimits
from simcomplete._serve.journal import Journal
from simcomplete._serve.openapi import openapi_document
from simcomplete._serve.page import page_paths
from simcomplete._serve.replies import (
    Handler,
    answering,
    array_reply,
    content_kind,
    json_reply,
    no_such_path,
    only_known,
    query_of,
    read_body,
    switch,
)
from simcomplete._serve.shown import MOST_SHOWN, Samples, candidates_by_id, feature_ranges
from simcomplete.errors import InputError, SimcompleteError, StoreError

HUGE = 1e50  # beyond, squares of values and what they are divided by may leave the range of numbers


class Service:
    """One model, what changes it, and the answers to requests.

    Parameters
    ----------
    served : Served
        The model as it was saved.
    journal : Journal, optional
        Where changes to candidates are written; without one there are none.
    samples : Samples, optional
        Rows to try it on; the candidates when left out.
    """

    def __init__(self, served: Served, journal: Journal | None = None, samples: Samples | None = None) -> None:
        self.journal, self.meters = journal, Meters()
        self.samples = Samples() if samples is None else samples
        if journal is not None:
            known = journal.recorded()
            gone = [key for key in known.gone if key in served.ids.place]
            served = served.changed(known.rows, known.ids, known.payloads, gone) if known.ids or gone else served
        self.served = served
        self.batches: Batches | None = None
        self._removing = threading.Lock()
        self._writer = ThreadPoolExecutor(1, thread_name_prefix="writer")

    def answer(self, question: tuple[Any, ...], served: Served, rows: NDArray[np.float64]) -> dict[str, Any]:
        """What batches ask for: of the model that was the newest when the first rows of a request were answered."""
        name, *rest = question
        with np.errstate(all="ignore"):  # of values near the largest numbers; what is not finite is answered as null
            try:
                found = self._found(served, name, rows, *rest)
            except (ValueError, ArithmeticError, np.linalg.LinAlgError) as error:
                if isinstance(error, SimcompleteError) or not np.nanmax(np.abs(rows), initial=0.0) > HUGE:
                    raise
                raise InputError(
                    f"values beyond {HUGE:g} are too large to compute with here; leave them out"
                ) from error
        return found

    def _found(self, served: Served, name: str, rows: NDArray[np.float64], *rest: Any) -> dict[str, Any]:
        """An answer; where rows that it reads were removed from a store meanwhile, that of the model without them."""
        try:
            return getattr(served, name)(rows, *rest)  # type: ignore[no-any-return]
        except SimcompleteError:
            if not served.in_store:
                raise
        with self._removing:  # nothing is removed now
            return getattr(self.served, name)(rows, *rest)  # type: ignore[no-any-return]

    async def ask(self, question: tuple[Any, ...], rows: NDArray[np.float64]) -> dict[str, Any]:
        """Answer together with other requests."""
        if self.batches is None:  # within the loop that it will run in
            self.batches = Batches(self.answer, lambda: self.served)
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
        run = asyncio.get_running_loop().run_in_executor
        return await run(self._writer, self._changed, rows, ids, payloads, gone)

    def _changed(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> int:
        """What the only writer does, from beginning to end: nobody who stops waiting for it can come between."""
        assert self.journal is not None  # as change has looked
        changed = self.served.changed(rows, ids, payloads, gone)
        self.journal.record(rows, ids, payloads, gone)
        try:
            self.served, before = changed.settled(), self.served
            with self._removing:  # what nobody is told of any more
                before.remove(gone)
        except StoreError as error:
            raise RequestError(
                503, f"{error}; the change is on disk, and reaches the store when the service starts again"
            ) from error
        return len(self.served.ids)

    async def search(self, request: Request) -> Response:
        """POST /v1/search."""
        rows, rest = await self._rows(request, "k", "level", "above", "overlap", "payloads")
        self.served.candidates()
        k = bodies.whole_number(rest.get("k", 10), "k", 1, bodies.MOST_K)
        if len(rows) * k > bodies.MOST_FOUND:
            raise InputError(
                f"{len(rows)} rows times k={k} is more than {bodies.MOST_FOUND} neighbours; send fewer rows"
            )
        above = rest.get("above")
        above = None if above is None else bodies.number_within(above, "above", -1, 1)
        overlap, payloads = (switch(rest.get(name), name) for name in ("overlap", "payloads"))
        level = bodies.level_of(rest.get("level", 0.9))
        found = await self.ask(("search", k, level, above, overlap, payloads), rows)
        beside = [name for name in found if name.startswith("overlap_")]
        if beside:
            found["overlap"] = {name.removeprefix("overlap_"): bodies.json_lists(found.pop(name)) for name in beside}
        return json_reply(found)

    async def complete(self, request: Request) -> Response:
        """POST /v1/complete."""
        rows, _ = await self._rows(request)
        return array_reply(request, await self.ask(("complete",), rows), "vectors")

    async def impute(self, request: Request) -> Response:
        """POST /v1/impute."""
        rows, _ = await self._rows(request)
        return array_reply(request, await self.ask(("impute",), rows), "values")

    async def read(self, request: Request) -> Response:
        """POST /v1/rows."""
        found = bodies.read_object(await read_body(request, bodies.JSON))
        only_known(found, "ids")
        ids = _ids(found, MOST_SHOWN)
        return json_reply(await asyncio.to_thread(candidates_by_id, self.served, ids))

    async def sampled(self, request: Request) -> Response:
        """GET /v1/samples."""
        asked = query_of(request)
        only_known(asked, "start", "count")
        start = bodies.whole_number(asked.get("start", 0), "start", 0, 10**9)
        count = bodies.whole_number(asked.get("count", 24), "count", 1, MOST_SHOWN)
        return json_reply(await asyncio.to_thread(self.samples.some, self.served, start, count))

    async def features(self, request: Request) -> Response:
        """GET /v1/features."""
        return json_reply(await asyncio.to_thread(feature_ranges, self.served))

    async def candidates(self, request: Request) -> Response:
        """PUT and DELETE /v1/candidates."""
        found = bodies.read_object(await read_body(request, bodies.JSON))
        ids = _ids(found, bodies.MOST_ROWS)
        nothing = np.zeros((0, self.served.d))
        if request.method == "DELETE":
            only_known(found, "ids")
            n = await self.change(nothing, [], [], ids)
            return json_reply({"deleted": len(set(ids)), "n_candidates": n})
        only_known(found, "ids", "rows", "payloads")
        rows = bodies.rows_of_json(found.get("rows"), self.served.d, self.served.names)
        if np.isnan(rows).any():
            raise InputError("candidates must be complete: no null in rows")
        payloads = [None] * len(ids) if found.get("payloads") is None else found["payloads"]
        if not isinstance(payloads, list) or not len(payloads) == len(rows) == len(ids):
            raise InputError("rows, ids and payloads must be lists of the same length")
        if any(len(payload_text(payload) or "") > bodies.PAYLOAD_CHARACTERS for payload in payloads):
            raise InputError(f"a payload may have {bodies.PAYLOAD_CHARACTERS} characters as JSON")
        n = await self.change(rows, ids, payloads, [])
        return json_reply({"put": len(ids), "n_candidates": n})

    async def about(self, request: Request) -> Response:
        """GET /v1/model."""
        return json_reply({**self.served.describe(), "changeable": self.journal is not None})

    async def health(self, request: Request) -> Response:
        """GET /healthz."""
        return json_reply({"ok": True})

    async def ready(self, request: Request) -> Response:
        """GET /readyz: the model is loaded before the first request is taken; a store has to answer."""
        await asyncio.to_thread(self.served.check)
        return json_reply({"ok": True})

    async def metrics(self, request: Request) -> Response:
        """GET /metrics."""
        return PlainTextResponse(self.meters.text())

    async def openapi(self, request: Request) -> Response:
        """GET /openapi.json."""
        return json_reply(openapi_document(self.served))

    async def _rows(self, request: Request, *known: str) -> tuple[NDArray[np.float64], dict[str, Any]]:
        """Rows of any kind of body, and what was said beside them, in the body or in the query string."""
        body = await read_body(request, bodies.JSON, bodies.NPY, bodies.ARROW)
        d, names, kind = self.served.d, self.served.names, content_kind(request)
        if kind == bodies.JSON:
            found = bodies.read_object(body)
            only_known(found, "rows", *known)
            return bodies.rows_of_json(found.get("rows"), d, names), found
        rest = query_of(request)
        only_known(rest, *known)
        return (bodies.rows_of_npy(body, d) if kind == bodies.NPY else bodies.rows_of_arrow(body, d, names)), rest


def _ids(found: dict[str, Any], most: int) -> list[Any]:
    ids = found.get("ids")
    if not isinstance(ids, list) or not ids:
        raise InputError("ids must be a list of at least one id, text or whole number")
    bodies.check_count(len(ids), most)
    return ids


def create_app(
    service: Service, *, limits: RequestLimits | None = None, token: str | None = None, log: bool = False
) -> Guard:
    """Put paths, limits and counts around a service."""
    paths: list[tuple[str, Handler, list[str]]] = [
        ("/v1/search", service.search, ["POST"]),
        ("/v1/complete", service.complete, ["POST"]),
        ("/v1/impute", service.impute, ["POST"]),
        ("/v1/candidates", service.candidates, ["PUT", "DELETE"]),
        ("/v1/rows", service.read, ["POST"]),
        ("/v1/samples", service.sampled, ["GET"]),
        ("/v1/features", service.features, ["GET"]),
        ("/v1/model", service.about, ["GET"]),
        ("/healthz", service.health, ["GET"]),
        ("/readyz", service.ready, ["GET"]),
        ("/metrics", service.metrics, ["GET"]),
        ("/openapi.json", service.openapi, ["GET"]),
        *((path, handler, ["GET"]) for path, handler in page_paths().items()),
    ]
    routes = [Route(path, answering(handler), methods=methods) for path, handler, methods in paths]
    inner = Starlette(routes=routes, exception_handlers={HTTPException: no_such_path})
    inner.router.redirect_slashes = False  # to a place made up of the Host header that a client sent
    return Guard(inner, limits or RequestLimits(), token, service.meters, {path for path, _, _ in paths}, log)
