"""Crawls that somebody watches: each is read once a second, however many watch it.

Who reads slowly misses what came in between and sees the latest: nothing is kept for him. What
reads every URL of a crawl is read again only after twenty times as long as it took, and everything
else only after ten times as long.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import NamedTuple

from manners._text import printable
from manners.errors import MannersError
from manners.evidence.store import EvidenceStore
from manners.report.progress import CrawlProgress, Outcomes, outcomes_of, progress_of
from manners.report.rates import Rate, Rates
from manners.settings import Settings
from manners.web.resuming import ResumedCrawls
from manners.web.stores import StoreAccess

_SECONDS, _PAUSE = 1.0, 10.0
"""Between two looks, at least; and how many times longer than a look took."""
_OUTCOMES, _SHARE = 5.0, 20.0
"""Seconds between two looks at all URLs, at least; and how many times longer than a look took."""


class LiveCrawl(NamedTuple):
    """What is shown of a crawl."""

    progress: CrawlProgress
    outcomes: Outcomes
    rate: Rate | None = None
    problem: str = ""
    """Why the store could not be read just now."""


class StoredCrawls:
    """The crawls of the store: those that somebody watches, and those that were resumed here."""

    def __init__(self, settings: Settings) -> None:
        self.store, self.resumed = StoreAccess(settings), ResumedCrawls(settings)
        self._watches: dict[int, CrawlWatch] = {}

    async def look(self, crawl: int) -> LiveCrawl:
        """A crawl as it is now; without a look, if somebody watches it."""
        watch = self._watches.get(crawl)
        if watch is not None and watch.view is not None:
            return watch.view
        return await self.store.read(_look, crawl, self.store.redact)

    @asynccontextmanager
    async def following(self, crawl: int) -> AsyncIterator["CrawlWatch"]:
        """Watch a crawl for as long as the block lasts."""
        watch = self._watches.get(crawl)
        if watch is None or watch.is_over:
            watch = CrawlWatch(self.store, crawl, lambda: self.resumed.has(crawl))
            self._watches[crawl] = watch
            watch.begin()
        watch.watchers += 1
        try:
            yield watch
        finally:
            watch.watchers -= 1
            if not watch.watchers:
                if self._watches.get(crawl) is watch:
                    del self._watches[crawl]
                await watch.end()

    async def end_watches(self) -> None:
        """Watch no more: streams end."""
        for watch in list(self._watches.values()):
            await watch.end()

    async def close(self) -> None:
        """End everything."""
        await self.end_watches()
        await self.resumed.close()
        self.store.close()


class CrawlWatch:
    """One crawl that is read for all who watch it."""

    def __init__(self, store: StoreAccess, crawl: int, is_starting: Callable[[], bool]) -> None:
        self._store, self._crawl, self._is_starting = store, crawl, is_starting
        self._rates = Rates()
        self._task: asyncio.Task[None] | None = None
        self._news = asyncio.Event()
        self.watchers = 0
        self.view: LiveCrawl | None = None
        """The latest; None before the first."""

    @property
    def is_over(self) -> bool:
        """Whether it is not read any more: the crawl has ended, or the service."""
        return self._task is not None and self._task.done()

    async def next(self, seen: LiveCrawl | None, seconds: float) -> LiveCrawl | None:
        """A later view than one that was seen; None after some seconds, or if there is none.

        Raises what went wrong, if the crawl was never read.
        """
        try:
            async with asyncio.timeout(seconds):
                while self.view is seen and not self.is_over:
                    await self._news.wait()
        except TimeoutError:
            return None
        if self.view is None and self._task is not None and not self._task.cancelled():
            self._task.result()
        return None if self.view is seen else self.view

    def begin(self) -> None:
        """Begin to read."""
        self._task = asyncio.create_task(self._run())
        self._task.add_done_callback(lambda _: self._tell())

    async def end(self) -> None:
        """Read no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        """Read until the crawl has ended."""
        opened = await self._store.run(self._store.opened)
        try:
            await self._follow(opened)
        finally:
            await asyncio.shield(self._store.run(opened.close))

    async def _follow(self, store: EvidenceStore) -> None:
        outcomes, due, took = None, 0.0, 0.0
        while True:
            looked = time.monotonic()
            try:
                progress = await self._store.run(self._read_progress(store))
                took = time.monotonic() - looked
                is_over = not (progress.is_running or self._is_starting())
                if outcomes is None or is_over or time.monotonic() >= due:
                    begun = time.monotonic()
                    outcomes = await self._store.run(self._read_outcomes(store))
                    ended = time.monotonic()
                    due = ended + max(_OUTCOMES, _SHARE * (ended - begun))
                self.view = LiveCrawl(progress, outcomes, self._rates.add(progress.sample))
            except MannersError as error:  # a server that is away may come back
                if self.view is None:
                    raise
                self.view, is_over = self.view._replace(problem=printable(str(error))), False
            self._tell()
            if is_over:
                return
            await asyncio.sleep(max(_SECONDS, _PAUSE * took))

    def _read_progress(self, store: EvidenceStore) -> Callable[[], CrawlProgress]:
        return lambda: progress_of(store, self._crawl, redact=self._store.redact)

    def _read_outcomes(self, store: EvidenceStore) -> Callable[[], Outcomes]:
        return lambda: outcomes_of(store, self._crawl, redact=self._store.redact)

    def _tell(self) -> None:
        """Wake all who wait."""
        news, self._news = self._news, asyncio.Event()
        news.set()


def _look(store: EvidenceStore, crawl: int, redact: bool) -> LiveCrawl:
    return LiveCrawl(
        progress_of(store, crawl, redact=redact), outcomes_of(store, crawl, redact=redact)
    )
