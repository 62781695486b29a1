"""Opening a crawl in its store: a new one, or one that is resumed from where it stopped."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from importlib.metadata import version
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from manners.client.transport import Transport
from manners.crawler.fleet import Fleet
from manners.crawler.fleet_values import LeaseWait
from manners.crawler.frontier import crawls
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.values import Change, LeasedUrl
from manners.crawler.frontier.ways import Limits
from manners.crawler.judge import Judge
from manners.crawler.page import CrawledPage
from manners.evidence.queries import latest_contents
from manners.evidence.store import EvidenceStore
from manners.logs import Reporter
from manners.politeness.budget import Budget
from manners.settings import Settings
from manners.store.database import Store
from manners.urls import host, origin

if TYPE_CHECKING:
    from manners.warc.archive import WarcArchive

_BATCH = 2_000
"""URLs of a list that are read and stored at a time."""
_NO_LIMIT = 10**12
_STATES = ("queued", "done", "failed", "blocked", "kept")
_LOCK_TIMEOUT = 1.0
"""Seconds to wait for the lock of a crawl: a server needs them to notice that a process died."""


class UrlsToFetch(NamedTuple):
    """A list of URLs to fetch, and nothing that they lead to."""

    name: str
    """What the list is known by: a crawl of the same name can be resumed."""
    urls: Iterator[str]
    """In normal form, read a batch at a time: there may be more than fit in memory."""


class CrawlPlan(NamedTuple):
    """What a crawl was asked to do."""

    starts: list[str]
    is_resumed: bool
    number: int | None
    """Which crawl of the store is resumed or worked on; None is the last one."""
    keep: Callable[[CrawledPage], object] | None
    draw: Callable[[], float]
    clock: Callable[[], float]
    http: Transport | None
    """What sends requests; None is the network."""
    listed: UrlsToFetch | None = None
    is_work: bool = False
    """Whether it joins a crawl as one more worker, as it is."""
    is_stopped: Callable[[], bool] = lambda: False
    """Whether it was told to stop, before it has begun."""

    @property
    def is_new(self) -> bool:
        """Whether it begins a crawl."""
        return not (self.is_resumed or self.is_work)

    def next_listed(self) -> list[str]:
        """The next URLs of the list; none at its end."""
        return [] if self.listed is None else list(islice(self.listed.urls, _BATCH))


class CrawlState:
    """How far a crawl is."""

    def __init__(self, budget: Budget, reporter: Reporter) -> None:
        self.reporter = reporter
        """Who tells what happens."""
        self.number = 0
        """The number of the crawl in its store."""
        self.ended = ""
        """Why it ended; empty while it runs."""
        self.is_cut = False
        """Whether something was dropped: URLs beyond `max_discovered`, sitemaps beyond
        `max_sitemaps`, or links of a page that has more than are read."""
        self.pages: Counter[str] = Counter()
        """How many pages are queued, leased, done, failed and blocked."""
        self.budget = budget
        self.obstacle: type[Exception] | None = None
        """Why no request could start: the politeness server is away, or all slots are in use."""
        self.is_list = False
        """Whether it is a list of URLs, and follows nothing."""
        self.login_origins: set[str] | None = None
        """Origins of URLs that the user named; None in a list, whose URLs are all of these."""
        self.lease_wait: LeaseWait | None = None
        """Workers whose leases are waited for, where there is nothing else to do."""
        self._waited_for: set[str] = set()

    def lease(self, urls: Sequence[LeasedUrl]) -> None:
        """Count URLs that were leased."""
        number = sum(url.kind == "page" for url in urls)
        self.pages["queued"] -= number
        self.pages["leased"] += number

    def unlease(self, pages: int) -> None:
        """Count pages that were leased and are handed back."""
        self.pages["queued"] += pages
        self.pages["leased"] -= pages

    def apply(self, change: Change) -> None:
        """Count what a change of the frontier changed."""
        self.is_cut |= change.is_cut
        for state, number in change.states.items():
            self.pages[state] += number

    def count(self, counted: "Counter[tuple[str, str]]") -> None:
        """Count anew, by what the store has of each kind and state."""
        self.pages = Counter({state: counted["page", state] for state in _STATES})
        self.pages += Counter()  # without those that are 0

    def wait(self, lease_wait: LeaseWait | None, now: float) -> None:
        """Set whose leases are waited for; the user is told once of each worker."""
        self.lease_wait = lease_wait
        if lease_wait is not None and not self._waited_for.issuperset(lease_wait.names):
            self._waited_for.update(lease_wait.names)
            self.reporter.warn(lease_wait.text(now))

    def seconds(self, now: float) -> float:
        """How long it has been running, earlier runs included."""
        return self.budget.minutes_used(now) * 60


class Opened(NamedTuple):
    """A crawl that is open: what to fetch, who decides, and who else works on it."""

    frontier: Frontier
    judge: Judge
    fleet: Fleet
    archive: "WarcArchive | None" = None
    """Where what it receives is archived, if it is."""


def begin(store: Store, plan: CrawlPlan, settings: Settings) -> int:
    """Write a new crawl, or a list, to its store; returns its number."""
    starts = plan.starts if plan.listed is None else [plan.listed.name]
    command = crawls.CRAWL if plan.listed is None else crawls.LIST
    return crawls.begin(store, starts, settings.changed(), now=plan.clock(), command=command)


def open_frontier(
    store: EvidenceStore, plan: CrawlPlan, settings: Settings, state: CrawlState, stack: ExitStack
) -> Opened:
    """Open a crawl as one of its workers; its lock, if it has one, is released by `stack`.

    It may take a while: call it in a thread.
    """
    if plan.is_work:
        state.number = crawls.find_open(store, plan.number)
    elif plan.is_resumed:
        state.number = crawls.find(store, plan.number)
    else:
        state.number = begin(store, plan, settings)
    state.is_list = crawls.is_list(store, state.number)
    max_depth = None if state.is_list else settings.max_depth
    # This reads all URLs of the crawl: before the lease begins, which it may outlast.
    # A list has any number of starts, and leads nowhere.
    starts = [] if plan.is_new or state.is_list else crawls.starts(store, state.number)
    fleet = _join(
        store,
        plan,
        settings,
        state,
        stack,
        partial(crawls.reopen, settings=settings.changed(), max_depth=max_depth),
    )
    named = set(map(origin, plan.starts))
    is_bound = settings.same_domain and not state.is_list
    judge = Judge(settings, map(host, plan.starts) if is_bound else None)
    frontier = Frontier(
        store,
        state.number,
        worker=fleet.worker,
        limits=Limits(max_depth, settings.page_max_redirects),
        max_urls=_NO_LIMIT if state.is_list else settings.max_discovered,
        max_sitemaps=settings.max_sitemaps,
        judge=judge.by_form,
        alike=judge.alike,
        clock=plan.clock,
    )
    fleet.attach(frontier)
    counted = frontier.counted()
    state.budget = settings.budget_after(counted["page", "attempts"], frontier.seconds() / 60)
    if not plan.is_new:
        state.is_cut = frontier.is_cut
        for url, is_given in starts:
            judge.join(host(url))
            if is_given:
                named.add(origin(url))
        state.count(counted)
        if not counted:  # it was killed before it had written its first URLs
            plan.starts.extend(url for url, _ in starts)
    state.login_origins = None if state.is_list else named
    archive = None
    if settings.warc is not None:
        from manners.warc.archive import open_archive

        archive = open_archive(settings, f"crawl{state.number}-worker{fleet.worker}")
    return Opened(frontier, judge, fleet, archive)


def _join(
    store: Store,
    plan: CrawlPlan,
    settings: Settings,
    state: CrawlState,
    stack: ExitStack,
    reopen: Callable[..., None],
) -> Fleet:
    """Become a worker of a crawl; a store in a file has one at a time."""
    if store.is_sqlite:
        stack.enter_context(store.lock("crawl", state.number, _LOCK_TIMEOUT))
    fleet = Fleet(
        store,
        state.number,
        lease=settings.worker_lease,
        clock=plan.clock,
        version=version("manners"),
    )
    if plan.is_resumed:
        fleet.wait_for_the_dead(lambda wait: state.wait(wait, plan.clock()), plan.is_stopped)
    fleet.join(
        settings.changed(),
        may_change=plan.is_resumed,
        reopen=(lambda queries, now: reopen(queries, now=now)) if plan.is_resumed else None,
    )
    return fleet


def open_discovery(
    store: Store, plan: CrawlPlan, settings: Settings, state: CrawlState, stack: ExitStack
) -> Opened:
    """The same for a discovery, which is never resumed and stays on the host of its start."""
    state.number = crawls.begin(
        store, plan.starts, settings.changed(), now=plan.clock(), command=crawls.DISCOVERY
    )
    fleet = _join(store, plan, settings, state, stack, crawls.reopen)
    state.login_origins = set(map(origin, plan.starts))
    judge = Judge(settings, map(host, plan.starts))
    frontier = Frontier(
        store,
        state.number,
        worker=fleet.worker,
        limits=Limits(max_hops=settings.page_max_redirects),
        max_urls=2 * settings.max_discovered,  # `Sources` counts them: blocked ones take no share
        max_sitemaps=settings.max_sitemaps,
        judge=judge.by_form,
        alike=judge.alike,
        clock=plan.clock,
    )
    fleet.attach(frontier)
    return Opened(frontier, judge, fleet)


def temporary_place(stack: ExitStack) -> str:
    """A place for a store in a folder that `stack` removes."""
    folder = tempfile.mkdtemp(prefix="manners-")
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return str(Path(folder, "crawl.db"))


def recorded_delays(
    evidence: EvidenceStore, names: Iterable[str], max_delay: float
) -> dict[str, float]:
    """The delays of hosts that were asked, and of which no page was finished.

    The last record of each may have one.
    """
    with evidence.reading() as connection:
        records = latest_contents(connection, names)
    delays = {}
    for name, content in records.items():
        asked = content.get("crawlDelay")
        known = float(asked) if isinstance(asked, int | float) else 0.0
        delays[name] = max(known, max_delay)
    return delays
