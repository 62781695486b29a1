"""Calls `keep=` in a thread of its own, so that a slow one holds up no host of the crawl."""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from manners import logs

if TYPE_CHECKING:
    from manners.crawler.pages import Crawled

LIMIT = 30.0
"""Seconds that a crawl which ends waits for a call that does not return."""

_Job = tuple["Crawled", "asyncio.Future[None]"]


class Keeper:
    """Calls a function with one page at a time, in the order in which they come.

    The thread is a daemon: a function that never returns does not keep the program from ending.
    """

    def __init__(self, function: Callable[["Crawled"], object]) -> None:
        self._function = function
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._limits: set[asyncio.Timeout] = set()
        self._ended: asyncio.Future[None] | None = None
        self._is_ending = self._is_closed = False

    async def keep(self, page: "Crawled") -> None:
        """Call the function with a page; what it raises is raised here."""
        loop = asyncio.get_running_loop()
        if self._ended is None:
            self._ended = loop.create_future()
            threading.Thread(
                target=self._run, args=(loop, self._ended), name="manners-keep", daemon=True
            ).start()
        future: asyncio.Future[None] = loop.create_future()
        self._queue.put((page, future))
        limit = asyncio.timeout(LIMIT if self._is_ending else None)
        try:
            async with limit:
                self._limits.add(limit)
                await future
        except TimeoutError as error:
            raise TimeoutError(_HANGS) if limit.expired() else error from None
        finally:
            self._limits.discard(limit)

    def expire(self) -> None:
        """Wait for no call longer than `LIMIT` from now on: the crawl is to end."""
        self._is_ending, until = True, asyncio.get_running_loop().time() + LIMIT
        for limit in self._limits:
            limit.reschedule(until)

    async def close(self) -> None:
        """Call the function no more, and wait until it has returned; at most `LIMIT` seconds."""
        self._is_closed = True
        self._queue.put(None)
        if self._ended is not None:
            await asyncio.wait([self._ended], timeout=LIMIT)
            if not self._ended.done():
                logs.warned(f"{_HANGS}; the crawl ended without it")

    # In the thread.

    def _run(self, loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[None]") -> None:
        while (job := self._queue.get()) is not None:
            page, future = job
            if self._is_closed:
                continue
            problem: BaseException | None = None
            try:
                self._function(page)
            except StopIteration as error:  # no future takes that
                problem = RuntimeError(f"keep= raised {error!r}")
            except BaseException as error:
                problem = error
            if not _tell(loop, future, problem):
                return
        _tell(loop, ended, None)


_HANGS = f"keep= has not returned for {LIMIT:g} s"


def _tell(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[None]", problem: BaseException | None
) -> bool:
    """Wake whoever waits; False when the event loop is closed."""
    try:
        loop.call_soon_threadsafe(_resolve, future, problem)
    except RuntimeError:
        return False
    return True


def _resolve(future: "asyncio.Future[None]", problem: BaseException | None) -> None:
    if not future.done():
        future.set_result(None) if problem is None else future.set_exception(problem)
