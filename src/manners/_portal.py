"""The portal: one event loop in a thread, behind all blocking calls."""

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Future, wait
from contextlib import contextmanager, suppress
from typing import Any, TypeVar

_T = TypeVar("_T")
Close = Callable[[], Coroutine[Any, Any, object]]
_EXIT_TIMEOUT = 1.0
"""Seconds to wait at exit for what was not closed."""


class Portal:
    """An event loop in a thread of its own, started when first needed; safe from any thread.

    It runs as long as the program, so that things can still be closed at exit.

    >>> import asyncio
    >>> portal.run(asyncio.sleep(0, "done"))
    'done'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[object, Close] = {}
        """What to close when its owner is garbage-collected."""
        self._closing: set[Future[None]] = set()
        self._inherited: list[object] = []

    def submit(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Start a coroutine in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the loop and wait for it; to stop waiting cancels it."""
        loop = self._running()
        if asyncio._get_running_loop() is loop:
            work.close()
            raise RuntimeError("a blocking call inside the portal's own loop would deadlock")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the loop, fire-and-forget."""
        self._running().call_soon_threadsafe(function, *arguments)

    def close_behind(self, owner: object, close: Close) -> None:
        """Close something in the loop when its owner is garbage-collected, or the program ends.

        Users of blocking code need not close things, so an aiohttp session in this loop must not
        warn that it was never closed.
        """
        key = object()
        self._open[key] = close
        weakref.finalize(owner, self._close, key).atexit = False  # `_end` does that, and waits

    @contextmanager
    def replaced_by(self, loop: asyncio.AbstractEventLoop) -> Iterator[None]:
        """Use another event loop, which the caller runs, for a while: `manners.testing` has one."""
        with self._lock:
            before, self._loop = self._loop, loop
        try:
            yield
        finally:
            self._loop = before

    def _close(self, key: object) -> None:
        """Begin to close something, without waiting: this may run in the garbage collector."""
        close, loop = self._open.pop(key, None), self._loop
        if close is not None and loop is not None:
            closing = asyncio.run_coroutine_threadsafe(_run_close(close), loop)
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _end(self) -> None:
        for key in tuple(self._open):
            self._close(key)
        wait(tuple(self._closing), timeout=_EXIT_TIMEOUT)

    def _running(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        if loop is None:
            with self._lock:
                loop = self._loop
                if loop is None:
                    loop = self._loop = asyncio.new_event_loop()
                    threading.Thread(
                        target=_run_forever, args=(loop,), name="manners", daemon=True
                    ).start()
        return loop

    def _forget(self) -> None:
        """In a forked child, forget the thread, which does not exist there."""
        # The loop's connections are the parent's as well, and must not be closed with the loop.
        self._inherited += self._loop, self._open
        self._lock, self._loop = threading.Lock(), None
        self._open, self._closing = {}, set()


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    # A callback that calls sys.exit() ends the loop, once its task has the exception: the caller
    # that waits for the task gets it, and everything else goes on.
    while not loop.is_closed():
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


async def _run_close(close: Close) -> None:
    await close()
    await asyncio.sleep(0)  # connections are closed one iteration later


portal = Portal()
"""The one portal of the process."""
atexit.register(portal._end)

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=portal._forget)
