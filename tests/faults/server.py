"""A server on loopback that does exactly what a test tells it to, and writes down who came.

It listens on every address of 127.0.0.0/8, so that one server is as many hosts as a test needs.
What it answers is a handler's business, byte by byte: `faults.py` has the hostile ones.

    async with Site(by_path({"/robots.txt": page(b"User-agent: *\\nDisallow: /a")})) as site:
        await cache.check(site.url("127.0.0.1", "/a"), agent="MyBot")
    assert site.log[0].path == "/robots.txt"
"""

import asyncio
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Self

from tests.faults.arrival import arrived

_HEAD = 65_536
"""Bytes of a request; our own are far shorter."""


@dataclass(slots=True)
class Visit:
    """One request: when it came, who sent it, what it asked for, and when it was over."""

    at: float
    peer: tuple[str, int]
    address: str
    """The address of ours that was connected to."""
    port: int
    method: str
    path: str
    headers: dict[str, str]
    """By name in lower case."""
    left: float | None = None
    """When the answer was given, or the client gone; None while it is being served."""

    @property
    def host(self) -> str:
        """The host that was asked for."""
        return self.headers.get("host", "")


class Gone(Exception):
    """The client has left."""


class Call:
    """A connection, in the hands of a handler."""

    def __init__(
        self, site: "Site", reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        self.site = site
        self._reader, self._writer = reader, writer
        self.address, self.port = writer.get_extra_info("sockname")[:2]
        self.peer = writer.get_extra_info("peername")[:2]
        self.visit: Visit | None = None
        self.stays = False
        """Whether another request may follow."""
        self.wrote: float | None = None
        """When the last part of the answer was about to be written: the client has it no earlier,
        and may have it before this process goes on."""

    async def request(self) -> Visit:
        """The request, read when first asked for."""
        if self.visit is None:
            try:
                head = await self._reader.readuntil(b"\r\n\r\n")
            except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, OSError):
                raise Gone from None
            first, *lines = head.decode("latin-1").split("\r\n")
            method, _, rest = first.partition(" ")
            pairs = (line.partition(":") for line in lines if line)
            headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
            path = rest.rpartition(" ")[0]
            at = arrived(self._writer.get_extra_info("socket"))
            self.visit = Visit(at, self.peer, self.address, self.port, method, path, headers)
            self.site.log.append(self.visit)
        return self.visit

    async def send(self, *parts: bytes) -> None:
        """Send bytes, as they are."""
        for part in parts:
            if self._writer.is_closing():
                raise Gone
            self.wrote = time.monotonic()
            self._writer.write(part)
            try:
                await self._writer.drain()
            except OSError:
                raise Gone from None

    async def reply(
        self, status: int = 200, body: bytes = b"", headers: Iterable[tuple[str, str]] = ()
    ) -> None:
        """Send a well-formed answer; the connection stays open if the client likes it to."""
        visit = await self.request()
        self.stays = visit.headers.get("connection", "").lower() != "close"
        lines = [f"HTTP/1.1 {status} {status}", f"Content-Length: {len(body)}"]
        lines += [f"{name}: {value}" for name, value in headers]
        lines += [] if self.stays else ["Connection: close"]
        sent = b"" if visit.method == "HEAD" else body
        await self.send("\r\n".join((*lines, "", "")).encode("latin-1") + sent)

    async def pause(self, seconds: float | None = None) -> None:
        """Wait; without a time, until the client leaves."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                try:
                    while await self._reader.read(_HEAD):
                        pass
                except OSError:
                    pass
                raise Gone

    def reset(self) -> None:
        """Slam the door: the client gets a RST."""
        self.wrote = time.monotonic()
        linger = struct.pack("ii", 1, 0)
        self._writer.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, linger
        )
        self._writer.transport.abort()


Handler = Callable[[Call], Awaitable[None]]
"""Answers a connection, or one request of it. The connection is closed behind it."""


class Site:
    """A server, its log, and the number of its connections."""

    def __init__(
        self, answer: Handler, *, tls: ssl.SSLContext | None = None, ports: int = 1
    ) -> None:
        self.answer = answer
        self.log: list[Visit] = []
        self.accepted: Counter[str] = Counter()
        """Connections that ever came, by the address of ours."""
        self.open = 0
        """Those that are being served."""
        self.most = 0
        """The most at one time."""
        self.ports: tuple[int, ...] = ()
        self.failures: list[BaseException] = []
        """What went wrong in a handler, which is a mistake in the test."""
        self._tls, self._count = tls, ports
        self._servers: list[asyncio.Server] = []
        self._tasks: set[asyncio.Task[None]] = set()

    def url(self, address: str = "127.0.0.1", path: str = "/", port: int = 0) -> str:
        """A URL on this server; `port` counts its ports."""
        scheme = "https" if self._tls else "http"
        return f"{scheme}://{address}:{self.ports[port]}{path}"

    async def __aenter__(self) -> Self:
        for _ in range(self._count):
            self._servers.append(
                await asyncio.start_server(
                    self._serve, "0.0.0.0", 0, ssl=self._tls, backlog=1024, limit=_HEAD
                )
            )
        self.ports = tuple(server.sockets[0].getsockname()[1] for server in self._servers)
        return self

    async def __aexit__(self, *_: object) -> None:
        for server in self._servers:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for server in self._servers:
            await server.wait_closed()

    async def emptied(self, seconds: float = 30.0) -> bool:
        """Whether everybody has left, soon."""
        until = time.monotonic() + seconds
        while self.open and time.monotonic() < until:
            await asyncio.sleep(0.01)
        return not self.open

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.accepted[writer.get_extra_info("sockname")[0]] += 1
        self.open += 1
        self.most = max(self.most, self.open)
        try:
            while await self._answer(Call(self, reader, writer)):
                pass
        except asyncio.CancelledError:
            writer.transport.abort()
        finally:
            self.open -= 1
            writer.close()
            with suppress(OSError, asyncio.CancelledError):
                await writer.wait_closed()

    async def _answer(self, call: Call) -> bool:
        left = None
        try:
            if call.address.startswith("127."):
                await self.answer(call)
            left = call.wrote
        except Gone:
            return False
        except Exception as failure:
            self.failures.append(failure)
            return False
        finally:
            if call.visit is not None:
                call.visit.left = left or time.monotonic()
        return call.stays


@contextmanager
def in_thread(site: Site) -> Iterator[Site]:
    """The same server in a thread of its own, for clients that block or live elsewhere."""
    ready, done = threading.Event(), asyncio.Event()
    loop = asyncio.new_event_loop()

    async def run() -> None:
        async with site:
            ready.set()
            await done.wait()

    thread = threading.Thread(target=loop.run_until_complete, args=(run(),), name="site")
    thread.start()
    try:
        assert ready.wait(60)
        yield site
    finally:
        loop.call_soon_threadsafe(done.set)
        thread.join(60)
        loop.close()


# Handlers.


def page(body: bytes = b"", status: int = 200, headers: Iterable[tuple[str, str]] = ()) -> Handler:
    """The same well-formed answer every time."""

    async def answer(call: Call) -> None:
        await call.reply(status, body, headers)

    return answer


def by_path(handlers: Mapping[str, Handler], otherwise: Handler | None = None) -> Handler:
    """A handler for each path; 404 for the rest, if nothing else is said."""
    missing = otherwise or page(status=404)

    async def answer(call: Call) -> None:
        visit = await call.request()
        await handlers.get(visit.path.partition("?")[0], missing)(call)

    return answer


def by_address(handlers: Mapping[str, Handler], otherwise: Handler | None = None) -> Handler:
    """A handler for each address of ours, or for all that begin alike (`127.0.7.`).

    It is called as soon as somebody connects, before anything is read.
    """
    missing = otherwise or page(status=404)

    async def answer(call: Call) -> None:
        block = call.address.rpartition(".")[0] + "."
        await handlers.get(call.address, handlers.get(block, missing))(call)

    return answer
