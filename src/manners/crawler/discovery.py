"""Discovery: a crawl that fetches sitemaps and link pages only, and lists what they name.

First robots.txt, which also names the sitemaps; then the sitemaps, and the links of the first page.
The judge decides about every URL as in a crawl, and robots.txt is asked for at once. Of what may be
fetched the best are kept: by the priority that sitemaps give them, then in the order they were
found.
"""

import asyncio
import random
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from typing import Literal

from manners.client.async_client import AsyncClient
from manners.crawler.ending import Ending
from manners.crawler.fleet_values import FINISHED
from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.summary import CrawlSummary
from manners.crawler.frontier.values import FoundUrl, LeasedUrl
from manners.crawler.inventory import FIELDS
from manners.crawler.opening import CrawlPlan, CrawlState, open_discovery, temporary_place
from manners.crawler.reasons import OVER_CAP
from manners.crawler.results import NoResults
from manners.crawler.run import CrawlRun
from manners.crawler.scheduler import Scheduler
from manners.crawler.scout import Findings, Scout
from manners.errors import StoreError
from manners.politeness.budget import Budget
from manners.store.database import Store
from manners.urls import page_url

Source = Literal["auto", "sitemap", "links"]


class Discovery(Findings):
    """Finds what there is on a site.

    What it finds is in a store: `store`, by default the client's store of evidence, or else a
    temporary one. `progress` is called now and then. Afterwards `kept` has what is to be fetched,
    the best first.

        async with AsyncClient("MyBot/1.0", evidence="manners.db") as client:
            discovery = Discovery(client)
            await discovery.run("https://example.com/")
    """

    def __init__(
        self,
        client: AsyncClient,
        source: Source = "auto",
        *,
        store: Store | None = None,
        progress: Callable[["Discovery"], None] = lambda _: None,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(client.settings.max_discovered)
        self._client, self._source, self._progress = client, source, progress
        self._store = client.evidence if store is None else store
        self._draw, self._clock = draw, clock
        self.number = 0
        """Its number among the crawls of the store."""

    async def run(self, start: str) -> None:
        """Find what there is on the site of a URL; what was found counts, however this ends."""
        first = page_url(start, without_tracking=self._client.settings.drop_tracking)
        with ExitStack() as stack:
            try:
                store = self._store
                if store is None:
                    store = await asyncio.to_thread(Store, temporary_place(stack))
                    stack.callback(store.close)
                await self._run(store, first, stack)
            finally:
                await asyncio.to_thread(stack.close)

    async def _run(self, store: Store, first: str, stack: ExitStack) -> None:
        plan = CrawlPlan([first], False, None, None, self._draw, self._clock, None)
        budget = self._client.budget or Budget(pages=None, minutes=None)
        state = CrawlState(budget, self._client.reporter)
        opened = await asyncio.to_thread(
            open_discovery, store, plan, self._client.settings, state, stack
        )
        self.number, ending = state.number, Ending()
        scout = partial(
            Scout,
            self._client,
            opened.judge,
            source=self._source,
            findings=self,
            progress=lambda: self._progress(self),
            draw=self._draw,
            clock=self._clock,
        )
        run = _DiscoveryRun(
            plan, state, opened, self._client, scout, results=NoResults(), ending=ending
        )
        task = asyncio.create_task(run.run())
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            ending.cancel()
            await asyncio.wait({task})
            raise
        finally:
            self.is_cut |= state.is_cut or state.ended != FINISHED
            if not isinstance(ending.error, StoreError):
                await asyncio.to_thread(self._conclude, store)
                self._progress(self)

    def _conclude(self, store: Store) -> None:
        """Keep the best, and count what became of the others."""
        most = self._client.settings.max_urls
        with store.writing() as connection:
            queries = Queries(connection, self.number)
            queries.cap(most, OVER_CAP, f"max_urls = {most}")
            queries.recount()
        with store.reading() as connection:
            queries = Queries(connection, self.number)
            self.kept = [FoundUrl(*row) for row in queries.kept(FIELDS)]
            self.allowed = self.sources.count(queries.open_keys(OVER_CAP))
            _, rows = CrawlSummary(connection, self.number).blocked_rules()
            self.filtered = Counter({tuple(row[:3]): row[3] for row in rows})


class _DiscoveryRun(CrawlRun):
    """Runs a scout with somebody else's client, one request at a time.

    So what is found first does not depend on which answer comes first.
    """

    has_own_client = False

    def _make_scheduler(self) -> Scheduler[LeasedUrl]:
        # The client waits for the pace of a host, and says so if that takes too long.
        return Scheduler(lambda _: (0.0, 0.0), lambda _: 1, connections=1)

    def _shut_client(self) -> None:
        pass

    async def _close_client(self) -> None:
        pass
