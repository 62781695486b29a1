"""The clients of other libraries, with manners and without, asked in one way.

    async with Httpx("MyBot", allow_private=True) as caller:
        status, body = await caller.fetch(url)

The blocking ones run in threads. `today()` is the same library without manners.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from typing import Any, Self

import aiohttp
import httpx
import requests

from manners import AsyncClient, Client
from manners.compat.aiohttp import PoliteMiddleware
from manners.compat.httpx import AsyncPoliteTransport, PoliteTransport
from manners.compat.requests import PoliteAdapter

TIMEOUT = 5.0


class Opened:
    """A response whose body is read piece by piece."""

    def __init__(self, piece: Callable[[], Any], close: Callable[[], Any]) -> None:
        self._piece, self._close = piece, close

    async def piece(self) -> bytes:
        """The next piece, or nothing at the end."""
        found: bytes = await self._piece()
        return found

    async def close(self) -> None:
        await self._close()


class Caller(ABC):
    """A client of a library, with one object of ours in it, or without."""

    library: str
    is_async: bool
    failures: tuple[type[Exception], ...]
    """What the library raises when a server does not answer."""

    polite: Any
    """That object; None where there is none."""

    kind: Callable[..., Any]
    """What makes it."""

    def __init__(self, *arguments: Any, **changes: Any) -> None:
        """With what a client of ours is given."""
        self.polite = self.kind(*arguments, **changes)
        self._open()

    @classmethod
    def today(cls) -> Self:
        """The library alone."""
        made = cls.__new__(cls)
        made.polite = None
        made._open()
        return made

    @abstractmethod
    def _open(self) -> None:
        """Make the client, with that object if there is one."""

    @abstractmethod
    async def fetch(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, **more: Any
    ) -> tuple[int, bytes]:
        """Status and body, after redirects."""

    @abstractmethod
    async def open(self, url: str, method: str = "GET") -> Opened:
        """A response whose body is still to be read."""

    @abstractmethod
    async def close(self) -> None:
        """Close the library's client, and what is ours."""

    @property
    def client(self) -> AsyncClient | Client:
        found: AsyncClient | Client = self.polite.client
        return found

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


def _next(pieces: Iterator[bytes]) -> bytes:
    return next(pieces, b"")


class Httpx(Caller):
    library, is_async, failures = "httpx", False, (httpx.TransportError,)

    kind = PoliteTransport

    def _open(self) -> None:
        self.own = httpx.Client(transport=self.polite, follow_redirects=True, timeout=TIMEOUT)

    async def fetch(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, **more: Any
    ) -> tuple[int, bytes]:
        def ask() -> tuple[int, bytes]:
            reply = self.own.request(method, url, headers=headers, **more)
            return reply.status_code, reply.content

        return await asyncio.to_thread(ask)

    async def open(self, url: str, method: str = "GET") -> Opened:
        request = self.own.build_request(method, url)
        reply = await asyncio.to_thread(self.own.send, request, stream=True)
        pieces = reply.iter_raw()
        return Opened(
            lambda: asyncio.to_thread(_next, pieces), lambda: asyncio.to_thread(reply.close)
        )

    async def close(self) -> None:
        await asyncio.to_thread(self.own.close)


class AsyncHttpx(Caller):
    library, is_async, failures = "httpx, async", True, (httpx.TransportError,)

    kind = AsyncPoliteTransport

    def _open(self) -> None:
        self.own = httpx.AsyncClient(transport=self.polite, follow_redirects=True, timeout=TIMEOUT)

    async def fetch(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, **more: Any
    ) -> tuple[int, bytes]:
        reply = await self.own.request(method, url, headers=headers, **more)
        return reply.status_code, reply.content

    async def open(self, url: str, method: str = "GET") -> Opened:
        reply = await self.own.send(self.own.build_request(method, url), stream=True)
        pieces = reply.aiter_raw()
        return Opened(lambda: anext(pieces, b""), reply.aclose)

    async def close(self) -> None:
        await self.own.aclose()


class Requests(Caller):
    library, is_async, failures = "requests", False, (requests.RequestException,)

    kind = PoliteAdapter

    def _open(self) -> None:
        self.own = requests.Session()
        self.own.trust_env = False
        if self.polite is not None:
            self.own.mount("http://", self.polite)
            self.own.mount("https://", self.polite)

    async def fetch(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, **more: Any
    ) -> tuple[int, bytes]:
        if "content" in more:
            more["data"] = more.pop("content")

        def ask() -> tuple[int, bytes]:
            reply = self.own.request(method, url, headers=headers, timeout=TIMEOUT, **more)
            return reply.status_code, reply.content

        return await asyncio.to_thread(ask)

    async def open(self, url: str, method: str = "GET") -> Opened:
        reply = await asyncio.to_thread(self.own.request, method, url, stream=True, timeout=TIMEOUT)
        pieces = reply.iter_content(10)
        return Opened(
            lambda: asyncio.to_thread(_next, pieces), lambda: asyncio.to_thread(reply.close)
        )

    async def close(self) -> None:
        await asyncio.to_thread(self.own.close)


class Aiohttp(Caller):
    library, is_async, failures = "aiohttp", True, (aiohttp.ClientError, TimeoutError)

    kind = PoliteMiddleware

    def _open(self) -> None:
        timeout = aiohttp.ClientTimeout(total=4 * TIMEOUT, sock_read=TIMEOUT)
        middlewares = [self.polite] if self.polite is not None else []
        self.own = aiohttp.ClientSession(middlewares=middlewares, timeout=timeout)

    async def fetch(
        self, url: str, method: str = "GET", headers: Mapping[str, str] | None = None, **more: Any
    ) -> tuple[int, bytes]:
        if "content" in more:
            more["data"] = more.pop("content")
        async with self.own.request(method, url, headers=headers, **more) as reply:
            return reply.status, await reply.read()

    async def open(self, url: str, method: str = "GET") -> Opened:
        reply = await self.own.request(method, url)

        async def close() -> None:
            reply.close()

        return Opened(lambda: reply.content.read(10), close)

    async def close(self) -> None:
        await self.own.close()
        if self.polite is not None:
            await self.polite.close()


CALLERS: tuple[type[Caller], ...] = (Httpx, AsyncHttpx, Requests, Aiohttp)


@asynccontextmanager
async def opened(caller: Caller, url: str) -> AsyncIterator[Opened]:
    """A response that is closed at the end."""
    reply = await caller.open(url)
    try:
        yield reply
    finally:
        await reply.close()
