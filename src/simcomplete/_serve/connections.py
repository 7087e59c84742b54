"""Connections: no more than allowed, and none that is held open without a request.

uvicorn counts time for connections that wait for their next request, not for the first bytes of one; and it answers
above its own limit only once a request has been read. So its protocol is told here when to give up.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

from simcomplete._serve.guard import EXTRA, RequestLimits

LINGER = 0.5  # seconds that a refused client has to read why
REASONS = {408: "Request Timeout", 503: "Service Unavailable"}


def plain_answer(status: int, sentence: str) -> bytes:
    """A whole answer, for a client of which no request was read."""
    body = json.dumps({"error": sentence}).encode()
    head = {
        "content-type": "application/json",
        "content-length": str(len(body)),
        **EXTRA[status],
        "connection": "close",
    }
    lines = [f"HTTP/1.1 {status} {REASONS[status]}", *(f"{name}: {value}" for name, value in head.items()), "", ""]
    return "\r\n".join(lines).encode() + body


def limited_protocol(limits: RequestLimits) -> type[asyncio.Protocol]:
    """The protocol of uvicorn, with limits on how many connections there are and how long one may say nothing."""
    from uvicorn.protocols.http.auto import AutoHTTPProtocol

    class LimitedProtocol(AutoHTTPProtocol):  # type: ignore[misc, valid-type]
        """One connection."""

        refused = False
        waiting: asyncio.TimerHandle | None = None  # for the head of a request

        def connection_made(self, transport: Any) -> None:
            if len(self.connections) >= limits.connections:
                self.refused = True
                self.transport = transport
                self._refuse(503, "too many connections; try again in a second")
                return
            super().connection_made(transport)
            self._wait_for_head()

        def data_received(self, data: bytes) -> None:
            if self.refused:
                return
            super().data_received(data)
            if self.cycle is not None and not self.cycle.response_complete:
                self._stop_waiting()
            elif self.waiting is None:  # a part of the next request
                self._wait_for_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_waiting()
            if not self.refused or self in self.connections:
                super().connection_lost(exc)

        def _wait_for_head(self) -> None:
            self.waiting = self.loop.call_later(limits.head_seconds, self._give_up)

        def _stop_waiting(self) -> None:
            if self.waiting is not None:
                self.waiting.cancel()
                self.waiting = None

        def _give_up(self) -> None:
            self.waiting = None
            if not self.transport.is_closing() and (self.cycle is None or self.cycle.response_complete):
                self.refused = True
                self._refuse(408, f"no request arrived within {limits.head_seconds:g} seconds")

        def _refuse(self, status: int, sentence: str) -> None:
            self.transport.write(plain_answer(status, sentence))
            # Closed at once, what the client has sent meanwhile would reset the connection before it has read this.
            self.loop.call_later(LINGER, self.transport.close)

    return LimitedProtocol
