"""The web page: a few files of this package, read once, that speak to the service and to nobody else."""

from __future__ import annotations

from importlib.resources import files

from starlette.requests import Request
from starlette.responses import Response

from simcomplete._serve.replies import Handler

# Every file, by the path it is served at: a request names none that is not here.
FILES = {
    "/": "index.html",
    "/page/style.css": "style.css",
    "/page/main.js": "main.js",
    "/page/service.js": "service.js",
    "/page/dom.js": "dom.js",
    "/page/picture.js": "picture.js",
    "/page/canvas.js": "canvas.js",
    "/page/table.js": "table.js",
    "/page/paste.js": "paste.js",
    "/page/neighbours.js": "neighbours.js",
    "/page/icon.svg": "icon.svg",
}
KINDS = {
    "html": "text/html; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "svg": "image/svg+xml",
}
# Scripts, styles and data come from here alone; nothing inline, nothing from elsewhere, no frames.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-cache",
}


def page_paths() -> dict[str, Handler]:
    """A handler for every file of the page."""
    folder = files("simcomplete._serve") / "page_files"
    return {path: _handler((folder / name).read_bytes(), name) for path, name in FILES.items()}


def _handler(content: bytes, name: str) -> Handler:
    kind = KINDS[name.rpartition(".")[2]]

    async def answer(request: Request) -> Response:
        return Response(content, headers=HEADERS, media_type=kind)

    return answer
