"""The portal: one event loop in a thread, for everything that looks blocking from outside."""

import asyncio
import os
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

_T = TypeVar("_T")


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
        self._parents: list[asyncio.AbstractEventLoop | None] = []

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

    def _running(self) -> asyncio.AbstractEventLoop:
        loop = self._loop
        if loop is None:
            with self._lock:
                loop = self._loop
                if loop is None:
                    loop = self._loop = asyncio.new_event_loop()
                    threading.Thread(target=loop.run_forever, name="manners", daemon=True).start()
        return loop

    def _forget(self) -> None:
        """In a forked child there is no such thread any more."""
        # What the loop has open is the parent's as well, and is not to be closed with the loop.
        self._parents.append(self._loop)
        self._lock, self._loop = threading.Lock(), None


portal = Portal()
"""The one portal of the process."""

if hasattr(os, "register_at_fork"):  # not on Windows
    os.register_at_fork(after_in_child=portal._forget)
