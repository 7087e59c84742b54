"""The OpenAPI document of the service."""

from __future__ import annotations

from typing import Any

from simcomplete._serve.answers import Served
from simcomplete._serve.bodies import ARROW, JSON, MOST_K, MOST_ROWS, NPY
from simcomplete._serve.shown import MOST_SHOWN
from simcomplete._version import __version__

ID: dict[str, Any] = {"oneOf": [{"type": "string", "maxLength": 1000}, {"type": "integer"}]}
ERROR = {"content": {JSON: {"schema": {"type": "object", "properties": {"error": {"type": "string"}}}}}}
SENTENCES = {
    "401": "No token, or another.",
    "403": "The service has no file for changes.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "Another Content-Type.",
    "421": "A Host that is not this machine, and no token.",
    "422": "What was sent cannot be answered; the sentence says why.",
    "503": "Too many requests at once, or a store that cannot be reached; Retry-After says when to try again.",
}
Schema = dict[str, Any]
FLAG, COUNT = {"type": "boolean", "default": False}, {"type": "integer"}
CELLS = {"type": ["number", "null"]}


def openapi_document(served: Served) -> Schema:
    """Paths and bodies, for the features of one model."""
    row = _list(CELLS, served.d, served.d)
    if served.names is not None:
        named = {"type": "object", "properties": dict.fromkeys(served.names, CELLS), "additionalProperties": False}
        row = {"oneOf": [row, named]}
    rows, ids, table = _list(row, 1, MOST_ROWS), _list(ID, 1, MOST_ROWS), _list(_list(CELLS))
    found_ids = _list(_list({"oneOf": [ID, {"type": "null"}]}))
    asked = {
        "rows": rows,
        "k": {"type": "integer", "minimum": 1, "maximum": MOST_K, "default": 10},
        "level": {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.9},
        "above": {"type": "number", "minimum": -1, "maximum": 1},
        "overlap": FLAG,
        "payloads": FLAG,
    }
    beside = {"ids": found_ids, "scores": table, "payloads": _list(_list({}))}
    found = {
        **beside,
        **dict.fromkeys(("low", "high", "probability"), table),
        "confidence": _list({"type": "number"}),
        "overlap": _object(beside),
    }
    put = {"rows": rows, "ids": ids, "payloads": _list({})}
    shown = {"rows": table, "names": _list({"type": "string"}), "ids": {"type": ["array", "null"]}, "n": COUNT}
    window = [_asked("start", 0, 10**9, 0), _asked("count", 1, MOST_SHOWN, 24)]
    ranges = {"names": {"type": ["array", "null"]}, "low": _list(CELLS), "high": _list(CELLS)}
    only_rows: Schema = {"rows": rows}
    page = {"description": "The page", "content": {"text/html": {"schema": {"type": "string"}}}}
    text = {"description": "Counts", "content": {"text/plain": {"schema": {"type": "string"}}}}
    paths = {
        "/v1/search": {"post": _operation("Nearest candidates of rows with gaps", found, asked, ["rows"], binary=True)},
        "/v1/complete": {
            "post": _operation("Vectors for an inner-product index", {"vectors": table}, only_rows, binary=True)
        },
        "/v1/impute": {"post": _operation("Missing values", {"values": table, "std": table}, only_rows, binary=True)},
        "/v1/candidates": {
            "put": _operation("Add or replace candidates", {"put": COUNT, "n_candidates": COUNT}, put, ["rows", "ids"]),
            "delete": _operation("Remove candidates", {"deleted": COUNT, "n_candidates": COUNT}, {"ids": ids}),
        },
        "/v1/rows": {
            "post": _operation(
                "Candidates by id", {"rows": table, "payloads": _list({})}, {"ids": _list(ID, 1, MOST_SHOWN)}
            )
        },
        "/v1/samples": {"get": {**_operation("Rows to try", shown), "parameters": window}},
        "/v1/features": {"get": _operation("Names and ranges of the features", ranges)},
        "/v1/model": {"get": _operation("What is served", {"kind": {"type": "string"}, "n_features": COUNT})},
        "/healthz": {"get": _operation("Alive", {"ok": {"type": "boolean"}})},
        "/readyz": {"get": _operation("Ready", {"ok": {"type": "boolean"}})},
        "/metrics": {"get": {"summary": "Counts for Prometheus", "responses": {"200": text}}},
        "/": {"get": {"summary": "A page to try the model", "responses": {"200": page}}},
    }
    return {"openapi": "3.1.0", "info": {"title": "simcomplete", "version": __version__}, "paths": paths}


def _list(items: Schema, least: int | None = None, most: int | None = None) -> Schema:
    bounds = {"minItems": least, "maxItems": most}
    return {"type": "array", "items": items} | {name: n for name, n in bounds.items() if n is not None}


def _object(properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _asked(name: str, low: int, high: int, default: int) -> Schema:
    """A parameter of the query string."""
    schema = {"type": "integer", "minimum": low, "maximum": high, "default": default}
    return {"name": name, "in": "query", "schema": schema}


def _operation(
    summary: str, answer: Schema, body: Schema | None = None, required: list[str] | None = None, *, binary: bool = False
) -> Schema:
    """One method of a path; all of a body is required where nothing else is said."""
    good = {"description": summary, "content": {JSON: {"schema": _object(answer)}}}
    made: Schema = {"summary": summary, "responses": {"200": good}}
    made["responses"] |= {status: {"description": said, **ERROR} for status, said in SENTENCES.items()}
    if body is not None:
        schema = {**_object(body), "required": required or list(body), "additionalProperties": False}
        kinds: Schema = {JSON: {"schema": schema}}
        if binary:
            kinds |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (NPY, ARROW)}
        made["requestBody"] = {"required": True, "content": kinds}
    return made
