"""Servers that stop answering: processes that stand still, and a network that swallows packets."""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TypeVar

from manners.errors import PolitenessError, StoreTimeout
from tests.contracts.postgres import Postgres
from tests.contracts.valkey import Valkey

_T = TypeVar("_T")
LIMIT = 1.0
"""Seconds for an answer. A busy machine may need more for a server that works: see `working`."""
_STANDSTILL = 50.0


@contextmanager
def still(server: Postgres | Valkey) -> Iterator[None]:
    """Let a server stand still; it goes on whatever happens."""
    server.stop()
    try:
        yield
    finally:
        server.go_on()


async def working(attempt: Callable[[], Awaitable[_T]]) -> _T:
    """What a server that works answers, sooner or later: its limit is short, the machine busy."""
    until = time.monotonic() + _STANDSTILL
    while True:
        try:
            return await attempt()
        except (StoreTimeout, PolitenessError):
            if time.monotonic() > until:
                raise
            await asyncio.sleep(0.1)


class Network:
    """A way to a server on which packets may get lost from some moment on."""

    def __init__(self, port: int) -> None:
        self._there = port
        self.port = 0
        self.swallows = False
        """Whether nothing arrives any more, in either direction."""
        self.swallows_answers_after: bytes | None = None
        """What has to be asked so that nothing arrives from then on, its answer first."""
        self._tasks: set[asyncio.Task[None]] = set()

    @asynccontextmanager
    async def open(self) -> AsyncIterator["Network"]:
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield self
        finally:
            server.close()
            for task in self._tasks:
                task.cancel()
            await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        there, onwards = await asyncio.open_connection("127.0.0.1", self._there)
        try:
            # A cancellation is how it ends: the streams' own callback would complain of it.
            with suppress(asyncio.CancelledError):
                await asyncio.gather(
                    self._pass(reader, onwards, is_question=True),
                    self._pass(there, writer, is_question=False),
                )
        finally:
            self._tasks.discard(task)
            for each in (writer, onwards):
                each.transport.abort()

    async def _pass(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, is_question: bool
    ) -> None:
        with suppress(OSError):
            while data := await reader.read(65_536):
                if self.swallows:
                    continue
                asked = self.swallows_answers_after
                if is_question and asked is not None and asked in data:
                    self.swallows = True
                writer.write(data)
                await writer.drain()
            writer.close()
