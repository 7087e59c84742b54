"""The OpenAPI document of the service."""

from __future__ import annotations

from typing import Any

from simcomplete._serve.answers import Served
from simcomplete._serve.bodies import ARROW, JSON, MOST_K, MOST_ROWS, NPY
from simcomplete._version import __version__

ID: dict[str, Any] = {"oneOf": [{"type": "string", "maxLength": 1000}, {"type": "integer"}]}
ERROR = {"content": {JSON: {"schema": {"type": "object", "properties": {"error": {"type": "string"}}}}}}
SENTENCES = {
    "401": "No token, or another.",
    "408": "The body did not arrive in time.",
    "413": "The body is too large.",
    "415": "Another Content-Type.",
    "422": "What was sent cannot be answered; the sentence says why.",
    "503": "Too many requests at once; Retry-After says when.",
}


def openapi_document(served: Served) -> dict[str, Any]:
    """Paths and bodies, for the features of one model."""
    cells = {"type": ["number", "null"]}
    row: dict[str, Any] = {"type": "array", "items": cells, "minItems": served.d, "maxItems": served.d}
    if served.names is not None:
        named = {"type": "object", "properties": dict.fromkeys(served.names, cells), "additionalProperties": False}
        row = {"oneOf": [row, named]}
    rows = {"type": "array", "items": row, "minItems": 1, "maxItems": MOST_ROWS}
    k = {"type": "integer", "minimum": 1, "maximum": MOST_K, "default": 10}
    level = {"type": "number", "exclusiveMinimum": 0, "exclusiveMaximum": 1, "default": 0.9}
    ids = {"type": "array", "items": ID, "minItems": 1, "maxItems": MOST_ROWS}
    table = {"type": "array", "items": {"type": "array", "items": cells}}
    found = dict.fromkeys(("scores", "low", "high"), table) | {
        "ids": {"type": "array"},
        "confidence": {"type": "array"},
    }
    asked = {"rows": rows, "k": k, "level": level, "payloads": {"type": "boolean"}}
    put = {"rows": rows, "ids": ids, "payloads": {"type": "array"}}
    return {
        "openapi": "3.1.0",
        "info": {"title": "simcomplete", "version": __version__},
        "paths": {
            "/v1/search": {
                "post": _operation("Nearest candidates of rows with gaps", asked, ["rows"], found, binary=True)
            },
            "/v1/complete": {
                "post": _operation(
                    "Vectors for an inner-product index", {"rows": rows}, ["rows"], {"vectors": table}, binary=True
                )
            },
            "/v1/impute": {
                "post": _operation(
                    "Missing values", {"rows": rows}, ["rows"], {"values": table, "std": table}, binary=True
                )
            },
            "/v1/candidates": {
                "put": _operation("Add or replace candidates", put, ["rows", "ids"], {"put": {"type": "integer"}}),
                "delete": _operation("Remove candidates", {"ids": ids}, ["ids"], {"deleted": {"type": "integer"}}),
            },
            "/v1/model": {"get": _operation("What is served", None, [], {"n_features": {"type": "integer"}})},
            "/healthz": {"get": _operation("Alive", None, [], {"ok": {"type": "boolean"}})},
            "/readyz": {"get": _operation("Ready", None, [], {"ok": {"type": "boolean"}})},
        },
    }


def _operation(
    summary: str, body: dict[str, Any] | None, required: list[str], answer: dict[str, Any], *, binary: bool = False
) -> dict[str, Any]:
    good = {"description": summary, "content": {JSON: {"schema": {"type": "object", "properties": answer}}}}
    made: dict[str, Any] = {"summary": summary, "responses": {"200": good}}
    made["responses"] |= {status: {"description": said, **ERROR} for status, said in SENTENCES.items()}
    if body is not None:
        schema = {"type": "object", "properties": body, "required": required, "additionalProperties": False}
        kinds: dict[str, Any] = {JSON: {"schema": schema}}
        if binary:
            kinds |= {kind: {"schema": {"type": "string", "format": "binary"}} for kind in (NPY, ARROW)}
        made["requestBody"] = {"required": True, "content": kinds}
    return made
