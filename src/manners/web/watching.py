"""Crawls that somebody watches: each is read once a second, however many watch it.

Who reads slowly misses what came in between and sees the latest: nothing is kept for him.
"""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from manners._text import printable
from manners.errors import MannersError
from manners.evidence.store import EvidenceStore
from manners.report.looking import CrawlLooks, LiveCrawl
from manners.report.progress import HOSTS
from manners.settings import Settings
from manners.web.resuming import ResumedCrawls
from manners.web.stores import StoreAccess


class StoredCrawls:
    """The crawls of the store: those that somebody watches, and those that were resumed here."""

    def __init__(self, settings: Settings) -> None:
        self.store, self.resumed = StoreAccess(settings), ResumedCrawls(settings)
        self._watches: dict[int, CrawlWatch] = {}

    async def look(self, crawl: int, hosts: int = HOSTS) -> LiveCrawl:
        """A crawl as it is now; without a look, if somebody watches it and as few hosts suffice."""
        watch = self._watches.get(crawl)
        if watch is not None and watch.view is not None and hosts <= HOSTS:
            return watch.view
        return await self.store.read(_look, crawl, self.store.redact, hosts)

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
        looks = CrawlLooks(store, self._crawl, redact=self._store.redact)
        while True:
            try:
                self.view = await self._store.run(looks.look)
                is_over = not (self.view.progress.is_running or self._is_starting())
            except MannersError as error:  # a server that is away may come back
                if self.view is None:
                    raise
                self.view, is_over = self.view._replace(problem=printable(str(error))), False
            self._tell()
            if is_over:
                return
            await asyncio.sleep(looks.pause)

    def _tell(self) -> None:
        """Wake all who wait."""
        news, self._news = self._news, asyncio.Event()
        news.set()


def _look(store: EvidenceStore, crawl: int, redact: bool, hosts: int) -> LiveCrawl:
    return CrawlLooks(store, crawl, redact=redact, hosts=hosts).look()
