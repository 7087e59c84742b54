"""What stands before every request: how many at once, who may ask, how large a body may be; and a log line.

Plain ASGI, so that nothing is read of a body that will be refused.
"""

from __future__ import annotations

import asyncio
import base64
import hmac
import ipaddress
import json
import sys
import time
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from simcomplete.errors import SimcompleteError

OPEN_PATHS = ("/healthz", "/readyz")  # that need no token
EXTRA = {503: {"retry-after": "1"}, 401: {"www-authenticate": "Bearer"}, 408: {"connection": "close"}}  # headers
EDGES = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0)  # seconds, of the histogram


class RequestError(SimcompleteError):
    """A request that is refused with a status and a sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


@dataclass(frozen=True)
class RequestLimits:
    """What one client may ask for."""

    body_bytes: int = 32 * 2**20
    body_seconds: float = 10.0
    head_seconds: float = 10.0
    send_seconds: float = 30.0
    at_once: int = 256
    connections: int = 512


class Meters:
    """Counts for Prometheus."""

    def __init__(self) -> None:
        self.requests: Counter[tuple[str, int]] = Counter()
        self.seconds: Counter[float] = Counter()
        self.total = 0.0
        self.rows = self.batches = self.batched_rows = 0

    def note(self, path: str, status: int, seconds: float) -> None:
        """Count a request."""
        self.requests[path, status] += 1
        self.total += seconds
        self.seconds[next((edge for edge in EDGES if seconds <= edge), float("inf"))] += 1

    def text(self) -> str:
        """In Prometheus' text format."""
        lines = ["# TYPE simcomplete_requests_total counter"]
        for (path, status), n in sorted(self.requests.items()):
            lines.append(f'simcomplete_requests_total{{path="{path}",status="{status}"}} {n}')
        lines.append("# TYPE simcomplete_request_seconds histogram")
        so_far = 0
        for edge in (*EDGES, float("inf")):
            so_far += self.seconds[edge]
            name = "+Inf" if edge == float("inf") else f"{edge:g}"
            lines.append(f'simcomplete_request_seconds_bucket{{le="{name}"}} {so_far}')
        lines += [f"simcomplete_request_seconds_sum {self.total:.6f}", f"simcomplete_request_seconds_count {so_far}"]
        for name, value in (("rows", self.rows), ("batches", self.batches), ("batched_rows", self.batched_rows)):
            lines += [f"# TYPE simcomplete_{name}_total counter", f"simcomplete_{name}_total {value}"]
        return "\n".join(lines) + "\n"


class Guard:
    """An ASGI application around another."""

    def __init__(
        self, app: Any, limits: RequestLimits, token: str | None, meters: Meters, paths: set[str], log: bool
    ) -> None:
        self.app, self.limits, self.meters, self.paths, self.log = app, limits, meters, paths, log
        self.token = None if token is None else token.encode()
        self.under_way = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        start, status = time.perf_counter(), [500]

        async def noted(message: Any) -> None:
            if message["type"] == "http.response.start":
                status[0] = message["status"]
            async with asyncio.timeout(self.limits.send_seconds):  # a client that does not read its answer
                await send(message)

        self.under_way += 1
        try:
            refused = self._refused(scope)
            if refused is None:
                await self.app(scope, _bounded(receive, self.limits), noted)
            else:
                await say(noted, *refused)
        except RequestError as error:
            await say(noted, error.status, str(error))
        except TimeoutError:
            status[0] = 499  # counted; there is nobody to tell
        finally:
            self.under_way -= 1
            path = scope["path"] if scope["path"] in self.paths else "other"
            seconds = time.perf_counter() - start
            self.meters.note(path, status[0], seconds)
            if self.log:  # no values, and no path that a client made up
                line = {"method": scope["method"][:8], "path": path, "status": status[0], "ms": round(1e3 * seconds, 2)}
                print(json.dumps(line), file=sys.stderr, flush=True)

    def _refused(self, scope: Any) -> tuple[int, str, dict[str, str]] | None:
        if scope["path"] in OPEN_PATHS:
            return None
        if self.under_way > self.limits.at_once:
            return 503, "too many requests at once; try again in a second", {}
        headers = dict(scope["headers"])
        if self.token is not None:
            if not self._has_token(headers.get(b"authorization", b"")):
                # For the page a browser asks for the token, as a password, and sends it from then on.
                page = not scope["path"].startswith("/v1/") and scope["method"] == "GET"
                asked = {"www-authenticate": 'Basic realm="simcomplete: any name, and the token as password"'}
                return 401, "this service needs a token: Authorization: Bearer TOKEN", asked if page else {}
        elif not all(is_loopback(host_of(value)) for name, value in scope["headers"] if name == b"host"):
            # A name that somebody else has pointed at this machine: a page of theirs would be asking.
            return 421, "without a token only localhost, or its address, is answered; start it with --token-file", {}
        length = headers.get(b"content-length", b"0")
        if not length.isdigit() or int(length) > self.limits.body_bytes:
            return 413, f"the body is larger than {self.limits.body_bytes} bytes; send fewer rows at a time", {}
        return None

    def _has_token(self, given: bytes) -> bool:
        """Whether a header has the token, as it is or as the password of any user; compared in constant time."""
        kind, _, word = given.partition(b" ")
        word = word.strip()
        if kind.lower() == b"basic":
            try:
                word = base64.b64decode(word, validate=True).partition(b":")[2]
            except ValueError:
                return False
        elif kind.lower() != b"bearer":
            return False
        return self.token is not None and hmac.compare_digest(word, self.token)


def host_of(header: bytes) -> str:
    """The name in a Host header, without its port."""
    name = header.decode("latin-1").strip()
    return name.partition("]")[0].lstrip("[") if name.startswith("[") else name.rpartition(":")[0] or name


@lru_cache(64)
def is_loopback(host: str) -> bool:
    """Whether a name or an address is that of this machine alone.

    Examples
    --------
    >>> is_loopback("127.0.0.1"), is_loopback("localhost"), is_loopback("example.org")
    (True, True, False)
    """
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _bounded(receive: Any, limits: RequestLimits) -> Any:
    """Receive a body of so many bytes within so many seconds."""
    left = [limits.body_bytes]
    ends = asyncio.get_running_loop().time() + limits.body_seconds
    whole = [False]

    async def bounded() -> Any:
        if whole[0]:  # what comes now is that the client has gone
            return await receive()
        try:
            async with asyncio.timeout_at(ends):
                message = await receive()
        except TimeoutError:
            raise RequestError(408, f"the body did not arrive within {limits.body_seconds:g} seconds") from None
        whole[0] = not message.get("more_body", False)
        left[0] -= len(message.get("body", b""))
        if left[0] < 0:
            raise RequestError(413, f"the body is larger than {limits.body_bytes} bytes; send fewer rows at a time")
        return message

    return bounded


async def say(send: Any, status: int, sentence: str, more: dict[str, str] | None = None) -> None:
    """Send an error as JSON."""
    body = json.dumps({"error": sentence}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    headers += [(name.encode(), value.encode()) for name, value in (EXTRA.get(status, {}) | (more or {})).items()]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
