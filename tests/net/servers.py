"""Real servers on the loopback interface that keep what they were sent, and doubles around them."""

import asyncio
import contextlib
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, field

from aiohttp.abc import AbstractResolver, ResolveResult

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter, bytes], Awaitable[None]]


@dataclass
class Server:
    """A server that is running, and what has arrived there."""

    port: int
    connections: int = 0
    heads: list[bytes] = field(default_factory=list)
    """Every request up to its empty line, as it came."""

    @property
    def targets(self) -> list[bytes]:
        """The second word of each request line."""
        return [head.split(b" ")[1] for head in self.heads]

    def headers(self, request: int = -1) -> dict[str, str]:
        """The headers of a request by their lower-case names; each may come once only."""
        lines = self.heads[request].decode("latin-1").split("\r\n")[1:-2]
        pairs = [line.split(": ", 1) for line in lines]
        found = {name.lower(): value for name, value in pairs}
        assert len(found) == len(pairs), lines
        return found


@contextlib.asynccontextmanager
async def serving(
    answer: bytes | Answer = OK,
    *,
    host: str = "127.0.0.1",
    port: int = 0,
    tls: ssl.SSLContext | None = None,
) -> AsyncIterator[Server]:
    """A server that gives every request the same answer, or lets a function give it."""
    tasks = set()

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        tasks.add(task)
        running.connections += 1
        # A handler that ends cancelled makes the streams of Python 3.11 complain.
        with contextlib.suppress(OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                running.heads.append(head)
                if callable(answer):
                    await answer(reader, writer, head)
                    break
                writer.write(answer)
                await writer.drain()
                if b"connection: close" in head.lower():
                    break
        writer.close()
        with contextlib.suppress(OSError, asyncio.CancelledError):
            await writer.wait_closed()
        tasks.discard(task)

    server = await asyncio.start_server(handle, host, port, ssl=tls)
    running = Server(server.sockets[0].getsockname()[1])
    try:
        yield running
    finally:
        server.close()
        left = [task for task in tasks if task is not None]
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)
        await server.wait_closed()


def forwarding(port: int) -> Answer:
    """What a proxy does whose every way leads to one port of this machine."""

    async def forward(
        reader: asyncio.StreamReader, writer: asyncio.StreamWriter, head: bytes
    ) -> None:
        far_reader, far_writer = await asyncio.open_connection("127.0.0.1", port)
        if head.startswith(b"CONNECT "):
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
        else:
            far_writer.write(head)
        try:
            await asyncio.gather(_pipe(reader, far_writer), _pipe(far_reader, writer))
        finally:
            far_writer.close()
            with contextlib.suppress(OSError):
                await far_writer.wait_closed()

    return forward


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65_536):
            writer.write(data)
            await writer.drain()
    writer.close()


class Answers(AbstractResolver):
    """A resolver whose answers are known: one for each look-up, the last one from then on."""

    def __init__(self, *answers: list[str] | Exception) -> None:
        self.answers, self.asked, self.closed = list(answers), list[str](), False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        self.asked.append(host)
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return [
            ResolveResult(hostname=host, host=address, port=port, family=family, proto=0, flags=0)
            for address in answer
        ]

    async def close(self) -> None:
        self.closed = True


async def hang(_: object, __: object, ___: bytes) -> None:
    """Answer nothing, and keep the connection."""
    await asyncio.sleep(60)
