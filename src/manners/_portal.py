"""The portal: one event loop in a thread, for everything that looks blocking from outside."""

import asyncio
import atexit
import os
import threading
import weakref
from collections.abc import Callable, Coroutine
from concurrent.futures import Future, wait
from contextlib import suppress
from typing import Any, TypeVar

_T = TypeVar("_T")
Close = Callable[[], Coroutine[Any, Any, object]]
_LAST = 1.0
"""Seconds that are waited, at exit, for what nobody has closed."""


class Portal:
    """An event loop in a thread of its own, started when first needed; safe from any thread.

    It runs as long as the program: whoever closes something at exit still can.

    >>> import asyncio
    >>> portal.run(asyncio.sleep(0, "done"))
    'done'
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._open: dict[object, Close] = {}
        """What is to be closed when nobody has its owner any more."""
        self._closing: set[Future[None]] = set()
        self._parents: list[object] = []

    def submit(self, work: Coroutine[Any, Any, _T]) -> "Future[_T]":
        """Start some work in the loop."""
        return asyncio.run_coroutine_threadsafe(work, self._running())

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Do some work in the loop and wait for it; whoever stops waiting cancels it."""
        loop = self._running()
        if asyncio._get_running_loop() is loop:
            work.close()
            raise RuntimeError("a blocking call inside the portal's own loop would wait for itself")
        future = asyncio.run_coroutine_threadsafe(work, loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise

    def call(self, function: Callable[..., object], *arguments: object) -> None:
        """Call a function in the loop, soon, and do not wait for it."""
        self._running().call_soon_threadsafe(function, *arguments)

    def close_behind(self, owner: object, close: Close) -> None:
        """Close something in the loop when its owner is gone, or the program ends.

        Blocking libraries do not complain of what is never closed. What they do not know that they
        have, as a session of aiohttp in this loop, must not either.
        """
        key = object()
        self._open[key] = close
        weakref.finalize(owner, self._close, key).atexit = False  # nobody would wait for it there

    def _close(self, key: object) -> None:
        """Begin to close something. It may be the collector that asks: nothing is waited for."""
        close, loop = self._open.pop(key, None), self._loop
        if close is not None and loop is not None:
            closing = asyncio.run_coroutine_threadsafe(_closed(close), loop)
            self._closing.add(closing)
            closing.add_done_callback(self._closing.discard)

    def _end(self) -> None:
        for key in tuple(self._open):
            self._close(key)
        wait(tuple(self._closing), timeout=_LAST)

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
        """In a forked child there is no such thread any more."""
        # What the loop has open is the parent's as well, and is not to be closed with the loop.
        self._parents += self._loop, self._open
        self._lock, self._loop = threading.Lock(), None
        self._open, self._closing = {}, set()


def _run_forever(loop: asyncio.AbstractEventLoop) -> None:
    # A callback that calls sys.exit() ends a loop, after its task was told: whoever waits for the
    # task gets it, and everybody else goes on.
    while not loop.is_closed():
        with suppress(SystemExit, KeyboardInterrupt):
            loop.run_forever()


async def _closed(close: Close) -> None:
    await close()
    await asyncio.sleep(0)  # connections are gone a turn later


portal = Portal()
"""The one portal of the process."""
atexit.register(portal._end)

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=portal._forget)
