"""What a page waits for before it counts as done: the archive, and `keep=`.

`keep=` is called in a thread of its own, so that a slow function delays no host of the crawl.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING

from manners import _threads
from manners.client.page import take_exchanges
from manners.logs import Reporter

if TYPE_CHECKING:
    from manners.crawler.frontier.values import FetchResult
    from manners.crawler.page import CrawledPage
    from manners.warc.archive import WarcArchive

TIMEOUT = 30.0
"""Seconds that a crawl waits for a call of `keep=` when it is to end."""

_Job = tuple["CrawledPage", "asyncio.Future[None]"]


class Safekeeping:
    """The archive and `keep=` of a crawl, where it has them.

    The archive gets everything that was received; `keep=` gets pages.
    """

    def __init__(
        self,
        function: Callable[["CrawledPage"], object] | None,
        archive: "WarcArchive | None",
        reporter: Reporter,
    ) -> None:
        self._keeper = None if function is None else Keeper(function, reporter)
        self._archive = archive

    def may_take_long(self, result: "FetchResult") -> bool:
        """Whether a page has to wait for `keep=`; an archive takes milliseconds."""
        page = result.page_for_reader
        return self._keeper is not None and page is not None and page.may_be_kept

    async def keep(self, result: "FetchResult") -> None:
        """Archive what was received, durably; then call `keep=`, which may raise."""
        page, exchanges = result.page_for_reader, take_exchanges(result.page)
        if not result.page.may_be_kept:
            return
        if self._archive is not None:
            await self._archive.add(result.page, exchanges)
        if self._keeper is not None and page is not None and page.may_be_kept:
            await self._keeper.keep(page)

    def expire(self) -> None:
        """The crawl is to end: wait no longer than `TIMEOUT` for any call of `keep=`."""
        if self._keeper is not None:
            self._keeper.expire()

    async def close(self) -> Exception | None:
        """Call `keep=` no more, and complete the archive; what went wrong with that."""
        if self._keeper is not None:
            await self._keeper.close()
        if self._archive is not None:
            try:
                await self._archive.close()
            except Exception as error:
                return error
        return None


class Keeper:
    """Calls a function with one page at a time, in the order in which they come.

    The thread is a daemon: a function that never returns does not stop the program from exiting.
    """

    def __init__(self, function: Callable[["CrawledPage"], object], reporter: Reporter) -> None:
        self._function, self._reporter = function, reporter
        self._queue: queue.SimpleQueue[_Job | None] = queue.SimpleQueue()
        self._timeouts: set[asyncio.Timeout] = set()
        self._ended: asyncio.Future[None] | None = None
        self._is_ending = self._is_closed = False

    async def keep(self, page: "CrawledPage") -> None:
        """Call the function with a page; what it raises is raised here."""
        loop = asyncio.get_running_loop()
        if self._ended is None:
            self._ended = loop.create_future()
            threading.Thread(
                target=self._run, args=(loop, self._ended), name="manners-keep", daemon=True
            ).start()
        future: asyncio.Future[None] = loop.create_future()
        self._queue.put((page, future))
        timeout = asyncio.timeout(TIMEOUT if self._is_ending else None)
        _threads.begin(loop, 1)
        try:
            async with timeout:
                self._timeouts.add(timeout)
                await future
        except TimeoutError as error:
            raise TimeoutError(_HANGS) if timeout.expired() else error from None
        finally:
            _threads.end(loop, 1)
            self._timeouts.discard(timeout)

    def expire(self) -> None:
        """The crawl is to end: wait no longer than `TIMEOUT` for any call from now on."""
        self._is_ending, until = True, asyncio.get_running_loop().time() + TIMEOUT
        for timeout in self._timeouts:
            timeout.reschedule(until)

    async def close(self) -> None:
        """Call the function no more; wait for the last call, at most `TIMEOUT` seconds."""
        self._is_closed = True
        self._queue.put(None)
        if self._ended is not None:
            loop = asyncio.get_running_loop()
            _threads.begin(loop, 1)
            try:
                await asyncio.wait([self._ended], timeout=TIMEOUT)
            finally:
                _threads.end(loop, 1)
            if not self._ended.done():
                self._reporter.warn(f"{_HANGS}; the crawl ended without it")

    # In the thread.

    def _run(self, loop: asyncio.AbstractEventLoop, ended: "asyncio.Future[None]") -> None:
        while (job := self._queue.get()) is not None:
            page, future = job
            if self._is_closed:
                continue
            problem: BaseException | None = None
            try:
                self._function(page)
            except StopIteration as error:  # a future cannot raise it
                problem = RuntimeError(f"keep= raised {error!r}")
            except BaseException as error:
                problem = error
            if not _resolve_in(loop, future, problem):
                return
        _resolve_in(loop, ended, None)


_HANGS = f"keep= has not returned for {TIMEOUT:g} s"


def _resolve_in(
    loop: asyncio.AbstractEventLoop, future: "asyncio.Future[None]", problem: BaseException | None
) -> bool:
    """Resolve a future from another thread; False when the event loop is closed."""
    try:
        loop.call_soon_threadsafe(_resolve, future, problem)
    except RuntimeError:
        return False
    return True


def _resolve(future: "asyncio.Future[None]", problem: BaseException | None) -> None:
    if not future.done():
        future.set_result(None) if problem is None else future.set_exception(problem)
