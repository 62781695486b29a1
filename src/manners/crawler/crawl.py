"""The crawl: fetches sites politely, each host at its own pace, until nothing is left to fetch."""

import asyncio
import random
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from manners._portal import portal
from manners.client.async_client import AsyncClient
from manners.client.transport import Transport, archive_settings, open_http
from manners.crawler.ending import Ending
from manners.crawler.fleet_values import INTERRUPTED, CrawlEnded
from manners.crawler.frontier import crawls
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.ways import Limits
from manners.crawler.holdings import HostView
from manners.crawler.opening import (
    CrawlPlan,
    CrawlState,
    UrlsToFetch,
    begin,
    open_frontier,
    temporary_place,
)
from manners.crawler.page import CrawledPage
from manners.crawler.reporting import report_run
from manners.crawler.results import Results
from manners.crawler.run import CrawlRun
from manners.crawler.worker import ListWorker, Worker, start_url
from manners.errors import PolitenessError, StoreAway, StoreTimeout, StrandClosed
from manners.events import LeaseExpiry, Listener
from manners.evidence.store import EvidenceStore
from manners.logs import Reporter
from manners.politeness.budget import Budget
from manners.settings import Settings
from manners.store.database import TIMEOUT, Store
from manners.urls import page_url

if TYPE_CHECKING:
    from manners.browser.rendering import Renderer

_CACHED_SITES = 10_000
"""Sites whose robots.txt is cached while the crawl runs, at least."""


class CrawlView(NamedTuple):
    """How far a crawl is."""

    states: dict[str, int]
    """How many pages are queued, leased, done, failed and blocked."""
    running: int
    pages: int
    """Pages of the budget that are used."""
    minutes: float
    hosts: list[HostView]
    is_stopping: bool
    is_away: bool = False
    """Whether the shared politeness server does not answer; the crawl waits for it."""
    waiting: str = ""
    """Which workers' leases are waited for, and for how long; empty while there is work."""


class Crawl:
    """A crawl: iterate over it, with `for` or `async for`, and it runs and hands out its pages.

    A page is in the store, with the URLs it links to, before it is handed out. Leaving the loop
    ends the crawl at once; `stop` lets requests that are under way finish. With `listed`, the URLs
    of a list are fetched, and nothing that they lead to.
    """

    _renderer: "Renderer | None" = None

    def __init__(
        self,
        urls: Sequence[str],
        settings: Settings,
        *,
        agent: str | None = None,
        resume: bool | int = False,
        keep: Callable[[CrawledPage], object] | None = None,
        draw: Callable[[], float] = random.random,
        clock: Callable[[], float] = time.time,
        http: Transport | None = None,
        listed: UrlsToFetch | None = None,
        work: bool | int = False,
        on_event: Listener | Reporter | None = None,
    ) -> None:
        if isinstance(urls, str):
            raise TypeError("urls must be a list of URLs, not a string")
        is_resumed, number = _chosen("resume", resume)
        is_work, worked_on = _chosen("work", work)
        if (is_resumed or is_work) and settings.store is None:
            raise ValueError(f"{'work' if is_work else 'resume'} needs a store")
        if is_work and (urls or is_resumed or listed is not None):
            raise ValueError("work joins a crawl as it is: without URLs, and without resume")
        starts = [page_url(url, without_tracking=settings.drop_tracking) for url in urls]
        if not (starts or is_resumed or is_work or listed is not None):
            raise ValueError("a crawl needs at least one URL to begin with")
        self.settings = settings = archive_settings(settings.for_agent(agent), http)
        self._plan = CrawlPlan(
            starts,
            is_resumed,
            worked_on if is_work else number,
            *(keep, draw, clock, http, listed),
            is_work,
            is_stopped=lambda: bool(self._ending.reason),
        )
        self._state = CrawlState(settings.budget_after(0, 0.0), Reporter.of(on_event, clock))
        self._results, self._ending = Results(), Ending()
        self._run: CrawlRun | None = None
        self._task: asyncio.Task[None] | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_interrupted = self._is_left = False

    # How far it is.

    @property
    def number(self) -> int:
        """The number of the crawl in its store."""
        return self._state.number

    @property
    def ended(self) -> str:
        """Why it ended; empty while it runs."""
        return self._state.ended

    @property
    def is_interrupted(self) -> bool:
        """Whether it was told to stop, here or from outside; other workers may go on."""
        return self._is_interrupted or self._state.ended == INTERRUPTED

    @property
    def is_cut(self) -> bool:
        """Whether something was dropped: URLs beyond `max_discovered`, sitemaps beyond
        `max_sitemaps`, or links of a page that has more than are read."""
        return self._state.is_cut

    @property
    def states(self) -> Counter[str]:
        """How many pages are queued, leased, done, failed and blocked."""
        return self._state.pages

    @property
    def budget(self) -> Budget:
        """Pages and minutes, used and allowed."""
        return self._state.budget

    def view(self, most: int = 20) -> CrawlView:
        """How far it is, with the hosts that are waited for longest; from any thread."""
        now, wait = self._plan.clock(), self._state.lease_wait
        return CrawlView(
            states=dict(self.states),
            running=self._run.running if self._run else 0,
            pages=self.budget.pages_used,
            minutes=self.budget.minutes_used(now),
            hosts=self._run.hosts()[:most] if self._run else [],
            is_stopping=bool(self._ending.reason),
            is_away=self._state.obstacle is PolitenessError,
            waiting="" if wait is None else wait.text(now),
        )

    # Running it.

    def __iter__(self) -> Iterator[CrawledPage]:
        portal.run(self._begin())
        try:
            while pages := portal.run(self._take()):
                yield from pages
        finally:
            portal.run(self._leave())

    async def __aiter__(self) -> AsyncGenerator[CrawledPage, None]:
        await self._begin()
        try:
            while pages := await self._take():
                for page in pages:
                    yield page
        finally:
            await self._leave()

    def stop(self) -> None:
        """Start no more requests, finish those under way, and end; from any thread."""
        self._is_interrupted = True
        if self._loop is None:
            self._ending.reason = INTERRUPTED
        else:
            self._loop.call_soon_threadsafe(self._stop)

    def abort(self) -> None:
        """End at once; requests under way are repeated when the crawl is resumed."""
        self._is_interrupted = True
        if self._loop is None:
            self._ending.reason = INTERRUPTED
        else:
            self._loop.call_soon_threadsafe(self._ending.cancel)

    def _stop(self) -> None:
        if self._run is not None:
            self._run.end(INTERRUPTED)
        else:
            self._ending.reason = self._ending.reason or INTERRUPTED

    async def _begin(self) -> None:
        if self._task is not None:
            raise RuntimeError("a crawl can be run once; resume=True continues it")
        self._check_unstarted()
        self._loop = asyncio.get_running_loop()
        self._task = asyncio.create_task(self._main())

    async def _take(self) -> list[CrawledPage]:
        """The pages that are there, or come next; none at the end."""
        pages = await self._results.take()
        if pages and self._run is not None:
            self._run.look()
        elif not pages and self._task is not None:
            await self._task  # raises what went wrong
        return pages

    async def _leave(self) -> None:
        """End now, unless it has ended: the reader is gone."""
        self._is_left = True
        if self._task is not None and not self._task.done():
            self._ending.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    async def _main(self) -> None:
        """Open the store, or a temporary one; crawl; close it."""
        with ExitStack() as stack:
            try:
                await self._crawl(self.settings.store or temporary_place(stack), stack)
            finally:
                await asyncio.to_thread(stack.close)
                self._results.close()

    async def _crawl(self, place: str, stack: ExitStack) -> None:
        if self.settings.render == "never":
            await self._crawl_in(place, stack)
            return
        from manners.browser.rendering import Renderer

        renderer = self._renderer = Renderer(self.settings.render)
        await renderer.start()  # before anything is written
        try:
            await self._crawl_in(place, stack)
        finally:
            await renderer.close()

    async def _crawl_in(self, place: str, stack: ExitStack) -> None:
        settings, plan = self.settings, self._plan
        store = await asyncio.to_thread(
            EvidenceStore, place, create=plan.is_new, timeout=settings.server_timeout
        )
        stack.callback(store.close)
        store.reporter = self._state.reporter
        is_again = False
        while True:
            try:
                await self._work(store, plan, stack, is_again=is_again)
            except StrandClosed as error:
                if self._is_interrupted or self._is_left:
                    self._state.ended = INTERRUPTED
                    return
                # It was not heard of for too long, and somebody closed it. What it had under way is
                # another's now; it goes on as a new worker.
                problem = f"{error}: this worker was not heard of in time; it joins again"
                self._state.reporter.tell(LeaseExpiry(plan.clock(), problem))
                plan = plan._replace(starts=[], is_resumed=False, is_work=True, number=self.number)
                plan = plan._replace(listed=None)
                self._ending, self._run, is_again = Ending(), None, True
                self._results.forget()
                await store.leave_closed_strand()
            except (StoreAway, StoreTimeout):
                if not (is_again and self._ending.reason == INTERRUPTED):
                    raise
                self._state.ended = INTERRUPTED
                return
            except CrawlEnded as error:
                self._state.number, self._state.ended = error.number, error.reason
                return
            else:
                return

    async def _work(
        self, store: EvidenceStore, plan: CrawlPlan, stack: ExitStack, *, is_again: bool
    ) -> None:
        """Work on the crawl until it ends, or this worker.

        A server that is away is waited for by one that has worked on it before.
        """
        settings, state = self.settings, self._state
        opening = partial(open_frontier, store, plan, settings, state, stack)
        if is_again:
            opening = partial(store.when_back, opening, plan.is_stopped)
        opened = await asyncio.to_thread(opening)
        client = AsyncClient(
            settings=settings.but(
                store=None,
                warc=None,  # pages are archived with their links, when these are known
                # A redirect target is a URL of the frontier; in a list, it belongs to the page.
                page_max_redirects=settings.page_max_redirects if state.is_list else 0,
                cache_entries=max(settings.cache_entries, _CACHED_SITES),
            ),
            budget=state.budget,
            evidence=store if settings.store is not None else None,
            on_event=self._state.reporter,
            draw=plan.draw,
            clock=plan.clock,
            http=plan.http or open_http(settings),
        )
        kind = partial(ListWorker, read=plan.next_listed) if state.is_list else Worker
        worker = partial(
            kind,
            client,
            opened.judge,
            draw=plan.draw,
            clock=plan.clock,
            renderer=self._renderer,
        )
        self._run = CrawlRun(
            plan, state, opened, client, worker, results=self._results, ending=self._ending
        )
        client.fence(lambda: opened.fleet.is_valid, self._run.admit)
        with report_run(plan, state, opened):
            await self._run.run()

    def start(self) -> int:
        """Write the crawl and its first URLs to the store, and fetch nothing; returns its number.

        Any number of workers may fetch it: `crawl([], store=…, work=number)`.
        """
        settings, plan = self.settings, self._plan
        if settings.store is None or not plan.starts or not plan.is_new:
            raise ValueError("only a new crawl with a store and URLs can be started")
        self._check_unstarted()
        with EvidenceStore(settings.store, timeout=settings.server_timeout) as store:
            self._state.number = number = begin(store, plan, settings)
            limits = Limits(settings.max_depth, settings.page_max_redirects)
            frontier = Frontier(store, number, limits=limits, clock=plan.clock)
            store.write_blocking(frontier.adding, [start_url(url) for url in plan.starts])
        return number

    def _check_unstarted(self) -> None:
        """Raise if `start` has written this crawl: it would be written, and fetched, once more."""
        if self._task is None and self.number:
            raise RuntimeError(
                f"crawl {self.number} is in the store already: "
                f"crawl([], store=…, work={self.number}) fetches it"
            )


def _chosen(name: str, value: bool | int) -> tuple[bool, int | None]:
    """Whether a crawl of the store is meant, and which; None is the last one."""
    if isinstance(value, bool):
        return value, None
    if not isinstance(value, int) or value < 1:
        raise ValueError(f"{name} must be True or the number of a crawl, not {value!r}")
    return True, value


def stored_settings(
    place: str, number: int | None = None, *, timeout: float = TIMEOUT
) -> dict[str, Any]:
    """The settings of a crawl in a store that are not the defaults."""
    with Store(place, readonly=True, timeout=timeout) as store:
        return crawls.stored_settings(store, number)


def open_settings(
    place: str, number: int | None = None, *, timeout: float = TIMEOUT
) -> tuple[int, dict[str, Any]]:
    """The number of a crawl to work on, by default the last that has not ended; its settings."""
    with Store(place, readonly=True, timeout=timeout) as store:
        found = crawls.find_open(store, number)
        return found, crawls.stored_settings(store, found)


def crawl(
    urls: Sequence[str],
    settings: Settings | None = None,
    *,
    agent: str | None = None,
    resume: bool | int = False,
    keep: Callable[[CrawledPage], object] | None = None,
    draw: Callable[[], float] = random.random,
    clock: Callable[[], float] = time.time,
    http: Transport | None = None,
    work: bool | int = False,
    on_event: Listener | Reporter | None = None,
    **changes: Any,
) -> Crawl:
    """Crawl sites, beginning with some URLs; iterate over it, with `for` or `async for`.

    Settings may be given as keywords, too. With a `store` there is evidence of every decision, and
    `resume=True` resumes the last crawl in it, `resume=3` crawl 3; with the settings of that crawl
    where no `settings` are given, and the keywords on top. Without `resume` a new crawl begins,
    whatever else is in the store. `work=True` and `work=3` join a crawl as one more worker, with
    its settings: several processes, on any machines, may work on one crawl in PostgreSQL.

    `keep` is called with every page before it counts as fetched: what it has saved is not lost when
    the program is killed. It runs in a thread of its own, with one page at a time. `on_event` is
    called with what happens (`manners.events`). `http`, `clock` and `draw` are for tests.

        for page in crawl(["https://example.com/"], store="crawl.db"):
            print(page.status, page.url, page.title)

    >>> from manners.testing import Clock, ScriptedSender, skip_waiting
    >>> clock = Clock()
    >>> http = ScriptedSender({
    ...     "https://example.com/": "<title>Home</title><a href=/about>About</a>",
    ...     "https://example.com/about": "<title>About us</title>",
    ... }, clock)
    >>> with skip_waiting(clock):
    ...     for page in crawl(["https://example.com/"], http=http, clock=clock):
    ...         print(page.status, page.url, page.title)
    200 https://example.com/ Home
    200 https://example.com/about About us
    """
    if settings is not None and not isinstance(settings, Settings):
        given = type(settings).__name__
        raise TypeError(
            f"settings must be manners.Settings(…), or keywords such as max_pages=3; not {given}"
        )
    is_resumed, number = _chosen("work", work) if work else _chosen("resume", resume)
    if settings is None and is_resumed and changes.get("store"):
        timeout = changes.get("server_timeout", TIMEOUT)
        if work:  # the last one that runs, which others may have begun before the last of all
            work, stored = open_settings(changes["store"], number, timeout=timeout)
        else:
            stored = stored_settings(changes["store"], number, timeout=timeout)
        settings = Settings(**stored)
    settings = (settings or Settings()).but(**changes)
    return Crawl(
        urls,
        settings,
        agent=agent,
        resume=resume,
        keep=keep,
        draw=draw,
        clock=clock,
        http=http,
        work=work,
        on_event=on_event,
    )
