"""Streams: pages whose body is read piece by piece, in async and in blocking code."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager

from manners._portal import portal
from manners.client.page import Page
from manners.client.transport import ReplyStream
from manners.client.visit import SlotRenewal
from manners.errors import Broken, ClientClosed, SlotLost


class PageStream:
    """A page whose body is read piece by piece."""

    def __init__(
        self,
        page: Page,
        reply: ReplyStream | None = None,
        is_closed: Callable[[], bool] = lambda: False,
        slot: SlotRenewal | None = None,
    ) -> None:
        self.page = page
        """The page without its body: hops, verdicts, status, headers."""
        self._reply = reply if page.was_allowed else None  # refused for a purpose
        self._is_closed, self._slot = is_closed, slot
        self.size = 0
        """Bytes that were read so far."""
        if slot is not None and reply is not None:
            slot.watch(reply)

    @property
    def complete(self) -> bool:
        """False when the body was longer than the limit; known at its end."""
        return self._reply is None or self._reply.complete

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed; nothing if the page was blocked, or no reply came."""
        if self._reply is None:
            return
        try:
            async for chunk in self._reply.chunks():
                self._check()
                self.size += len(chunk)
                yield chunk
        except Broken:
            self._check()
            raise
        self._check()

    def _check(self) -> None:
        if self._slot is not None and self._slot.is_lost:
            raise SlotLost(self.page.final_url) from None
        if self._is_closed():
            raise ClientClosed from None


class OpenedStream:
    """A stream that one task enters and leaves: a timeout or a cancellation belongs to a task."""

    def __init__(self, manager: AbstractAsyncContextManager[PageStream]) -> None:
        self._manager = manager
        self._done = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    async def enter(self) -> PageStream:
        """Enter the stream, in a task of its own."""
        entered: asyncio.Future[PageStream] = asyncio.get_running_loop().create_future()
        self._task = asyncio.create_task(self._run(entered))
        try:
            return await entered
        except asyncio.CancelledError:
            self._task.cancel()
            raise

    async def leave(self) -> None:
        """Leave the stream, in the task that entered it."""
        self._done.set()
        if self._task is not None:
            await self._task

    async def _run(self, entered: "asyncio.Future[PageStream]") -> None:
        try:
            async with self._manager as stream:
                entered.set_result(stream)
                await self._done.wait()
        except BaseException as error:
            if entered.done():
                raise
            entered.set_exception(error)


class BlockingStream:
    """A page whose body is read piece by piece, for blocking code."""

    def __init__(self, stream: PageStream) -> None:
        self._stream = stream
        self.page = stream.page
        """The page without its body: hops, verdicts, status, headers."""

    @property
    def complete(self) -> bool:
        """False when the body was longer than the limit; known at its end."""
        return self._stream.complete

    def chunks(self) -> Iterator[bytes]:
        """The body, decompressed; nothing if the page was blocked, or no reply came."""
        chunks = self._stream.chunks()
        while (chunk := portal.run(_next(chunks))) is not None:
            yield chunk


async def _next(chunks: AsyncIterator[bytes]) -> bytes | None:
    return await anext(chunks, None)
