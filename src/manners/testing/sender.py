"""A sender that follows a script instead of using a network."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

from manners.net.messages import Get, Response, Unreachable
from manners.testing.clock import Clock
from manners.urls import requestable

Reply = Response | Unreachable | str | bytes | int
"""A reply; text and bytes are the body of a 200, a number is a status."""
Script = Reply | Sequence[Reply] | Callable[[Get], Reply]
"""What a URL answers: always the same, one after the other (the last again and again), or what a
function says."""

_CHUNK = 65_536
_NOT_FOUND = Response(404)


class SentRequest(NamedTuple):
    """A request that a scripted sender was given."""

    url: str
    at: float
    """When it was sent, in seconds since the epoch."""
    method: str = "GET"
    headers: Mapping[str, str] = {}


class ScriptedSender:
    """Answers requests from a script, and records them: `http=` of a client, a cache or a crawl.

    `replies` has a script for each URL; `default` is for all others. A reply takes the seconds that
    stand in it. `clock` is the one that the client has.

    >>> sender = ScriptedSender({
    ...     "https://example.com/": ["first", "second"],
    ...     "https://example.com/moved": Response(301, {"Location": "/"}),
    ...     "https://example.com/slow": Response(200, body=b"hi", seconds=2.5),
    ...     "https://example.com/down": Unreachable("timeout"),
    ...     "https://example.com/busy": 503,
    ...     "https://example.com/agent": lambda get: get.headers.get("From", "nobody"),
    ... })
    """

    def __init__(
        self,
        replies: Mapping[str, Script],
        clock: Callable[[], float] | None = None,
        *,
        default: Script = _NOT_FOUND,
    ) -> None:
        self.replies = {requestable(url): script for url, script in replies.items()}
        """The script; it may be changed while a test runs."""
        self.default = default
        self.requests: list[SentRequest] = []
        """Every request so far, in order."""
        self.is_closed = False
        self._clock = clock or Clock()
        self._answers: dict[str, int] = {}

    @property
    def urls(self) -> list[str]:
        """The URLs that were requested, in order."""
        return [request.url for request in self.requests]

    async def send(self, get: Get, departure: Any = None) -> Response | Unreachable:
        """Record a request, and answer as the script says."""
        if departure is not None:
            if departure.is_late and not await departure.may_depart():
                return Unreachable("turn lost", is_unsent=True)
            departure.departed()
        self.requests.append(SentRequest(get.url, self._clock(), get.method, get.headers))
        reply = _response(self._next(get))
        if reply.seconds:
            await asyncio.sleep(reply.seconds)
        if isinstance(reply, Unreachable):
            return reply
        return _limited(reply, get)

    @asynccontextmanager
    async def stream(
        self, get: Get, departure: Any = None
    ) -> AsyncIterator["ScriptedStream | Unreachable"]:
        """Record a request, and hand out the body of its reply piece by piece."""
        reply = await self.send(get, departure)
        yield reply if isinstance(reply, Unreachable) else ScriptedStream(reply)

    async def close(self) -> None:
        """Note that the client has closed its connections."""
        self.is_closed = True

    def _next(self, get: Get) -> Reply:
        script = self.replies.get(get.url, self.default)
        if callable(script):
            return script(get)
        if isinstance(script, Sequence) and not isinstance(script, str | bytes | tuple):
            number = self._answers.get(get.url, 0)
            self._answers[get.url] = number + 1
            return script[min(number, len(script) - 1)]  # type: ignore[return-value]
        return script  # type: ignore[return-value]


class ScriptedStream:
    """A scripted reply whose body is read piece by piece."""

    def __init__(self, reply: Response) -> None:
        self.head = reply._replace(body=b"", complete=True)
        """The reply without its body."""
        self.complete = reply.complete
        """False when the body was longer than the limit."""
        self._body, self._is_closed = reply.body, False

    def close(self) -> None:
        """Stop reading."""
        self._is_closed = True

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, in pieces."""
        for start in range(0, len(self._body), _CHUNK):
            if self._is_closed:
                return
            yield self._body[start : start + _CHUNK]
            await asyncio.sleep(0)


def _response(reply: Reply) -> Response | Unreachable:
    match reply:
        case Response():
            headers = {name.lower(): value for name, value in reply.headers.items()}
            return reply._replace(headers=headers)
        case str():
            return Response(200, body=reply.encode())
        case bytes():
            return Response(200, body=reply)
        case int():
            return Response(reply)
        case _:
            return reply


def _limited(reply: Response, get: Get) -> Response:
    """The part of a reply that a request asks for."""
    if get.method == "HEAD" or not (get.any_status or 200 <= reply.status < 300):
        return reply._replace(body=b"")
    if len(reply.body) > get.max_bytes:
        return reply._replace(body=reply.body[: get.max_bytes], complete=False)
    return reply
