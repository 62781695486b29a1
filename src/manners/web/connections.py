"""Connections: no more than allowed, and none that stands still for long.

aiohttp closes a connection on which no request arrives in time. What it does not know is a client
that does not read: whatever was written for it would be kept, and the socket stay open, for ever.
"""

import asyncio
from typing import Any, cast

from aiohttp import web
from aiohttp.web_request import BaseRequest

from manners.web.limits import ServiceLimits
from manners.web.problems import ServiceProblem

_HEADERS, _HEADER_BYTES = 50, 4_096
"""Of a request, at most: more than browsers send, and little for many connections at once."""


class Connections:
    """Makes the protocol of each connection, and watches over all of them."""

    def __init__(self, server: web.Server, limits: ServiceLimits, most: int) -> None:
        self._server, self._most = server, most
        self._seconds = limits.write_seconds
        self._options: dict[str, Any] = {
            "access_log": None,
            "keepalive_timeout": limits.idle_seconds,
            "lingering_time": limits.body_seconds / 4,
            "max_headers": _HEADERS,
            "max_field_size": _HEADER_BYTES,
        }
        self._transports: dict[asyncio.Transport, float | None] = {}
        """Each with the time since when something has been waiting to be read by the client."""
        self.number = 0

    def __call__(self) -> asyncio.BaseProtocol:
        """The protocol of a new connection."""
        if self.number >= self._most:
            return _Refusal()
        self.number += 1
        loop = asyncio.get_running_loop()
        return _Connection(self, self._server, loop=loop, **self._options)

    def opened(self, transport: asyncio.Transport) -> None:
        """Watch over a connection."""
        self._transports[transport] = None

    def closed(self, transport: asyncio.Transport | None) -> None:
        """Forget a connection."""
        self.number -= 1
        if transport is not None:
            self._transports.pop(transport, None)

    async def watch(self) -> None:
        """Abort connections whose clients do not read, for ever."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(min(self._seconds / 4, 5.0))
            now = clock()
            for transport, since in list(self._transports.items()):
                if not transport.get_write_buffer_size():
                    self._transports[transport] = None
                elif since is None:
                    self._transports[transport] = now
                elif now - since > self._seconds:
                    transport.abort()


class _Connection(web.RequestHandler):
    """A connection that is counted."""

    __slots__ = ("_connections", "_watched")

    def __init__(self, connections: Connections, server: web.Server, **options: Any) -> None:
        super().__init__(server, **options)
        self._connections = connections
        self._watched: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to serve."""
        self._watched = cast(asyncio.Transport, transport)
        self._connections.opened(self._watched)
        super().connection_made(transport)

    def connection_lost(self, exc: BaseException | None) -> None:
        """End."""
        self._connections.closed(self._watched)
        super().connection_lost(exc)

    def handle_error(
        self,
        request: BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,  # noqa: ARG002 (a flood of rubbish is no flood of logs)
        message: str | None = None,  # noqa: ARG002 (it quotes what was sent)
    ) -> web.StreamResponse:
        """The reply to what is no HTTP."""
        if request.writer.output_size > 0:
            raise ConnectionError("a part of another reply was sent already")
        problem = ServiceProblem(
            status, "This cannot be read as a request of HTTP/1.1.", "Send less, or something else."
        )
        reply = problem.reply()
        reply.headers["X-Content-Type-Options"] = "nosniff"
        reply.force_close()
        return reply


class _Refusal(asyncio.Protocol):
    """A connection that is one too many: it is closed at once."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Close it, without a reply: even that would take memory."""
        cast(asyncio.Transport, transport).abort()
