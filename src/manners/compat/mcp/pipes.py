"""Standard input and output for a server: each has a thread, so that nothing waits for a pipe.

A read from a pipe cannot be cancelled. In a thread that the interpreter waits for, it would keep a
server from ending until its client writes something, or leaves.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import BinaryIO, Generic, NamedTuple, TypeVar

MAX_LINE = 16 * 1024 * 1024
"""Bytes of a message; a longer one is dropped."""

_T = TypeVar("_T")


class _PipeCall(NamedTuple, Generic[_T]):
    """A call that blocks, and who waits for it."""

    function: Callable[[], _T]
    result: "asyncio.Future[_T]"
    loop: asyncio.AbstractEventLoop


class PipeThread(Generic[_T]):
    """A thread for calls that block, one after the other; the interpreter ends without it."""

    def __init__(self) -> None:
        self._calls: queue.SimpleQueue[_PipeCall[_T]] = queue.SimpleQueue()
        threading.Thread(target=self._work, daemon=True).start()

    async def run(self, function: Callable[[], _T]) -> _T:
        """The result of a call; who stops waiting leaves it to the thread."""
        loop = asyncio.get_running_loop()
        result: asyncio.Future[_T] = loop.create_future()
        self._calls.put(_PipeCall(function, result, loop))
        return await result

    def _work(self) -> None:
        while True:
            call = self._calls.get()
            settle: Callable[[], None]
            try:
                settle = partial(call.result.set_result, call.function())
            except OSError as failure:
                settle = partial(call.result.set_exception, failure)
            with suppress(RuntimeError):  # the loop is closed: nobody waits any more
                call.loop.call_soon_threadsafe(_unless_done, call.result, settle)


def _unless_done(result: "asyncio.Future[_T]", settle: Callable[[], None]) -> None:
    if not result.done():
        settle()


class InputLines:
    """The lines of standard input, until it is closed."""

    def __init__(self, file: BinaryIO) -> None:
        self._file, self._thread = file, PipeThread[bytes]()

    def __aiter__(self) -> "InputLines":
        return self

    async def __anext__(self) -> str:
        try:
            line = await self._thread.run(self._read)
        except OSError:  # as a terminal that is gone
            line = b""
        if not line:
            raise StopAsyncIteration
        return line.decode("utf-8", "replace")

    def _read(self) -> bytes:
        line = self._file.readline(MAX_LINE + 1)
        if len(line) <= MAX_LINE:
            return line
        while line and not line.endswith(b"\n"):
            line = self._file.readline(MAX_LINE)
        return b"\n"  # no message: it is dropped


class OutputLines:
    """Standard output; `leave` is called once when nobody reads it any more."""

    def __init__(self, file: BinaryIO, leave: Callable[[], object]) -> None:
        self._file, self._thread, self._leave = file, PipeThread[None](), leave
        self._is_closed = False

    async def write(self, text: str) -> None:
        """Write a text, all of it; nothing where nobody reads."""
        data = text.encode("utf-8", "replace")
        if self._is_closed:
            return
        try:
            await self._thread.run(lambda: self._write(data))
        except OSError:
            self._is_closed = True
            self._leave()

    async def flush(self) -> None:
        """Nothing: what is written is flushed."""

    def _write(self, data: bytes) -> None:
        self._file.write(data)
        self._file.flush()
