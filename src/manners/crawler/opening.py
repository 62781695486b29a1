"""Opening a crawl in its store: a new one, or one that is resumed from where it stopped."""

import shutil
import tempfile
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from manners.client.transport import Transport
from manners.crawler.frontier import crawls
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.values import Change, LeasedUrl
from manners.crawler.frontier.ways import Limits
from manners.crawler.judge import Judge
from manners.crawler.page import CrawledPage
from manners.evidence.store import EvidenceStore, Filter
from manners.politeness.budget import Budget
from manners.settings import Settings
from manners.store.database import Store
from manners.urls import host, origin

_BATCH = 2_000
"""URLs of a list that are read and stored at a time."""
_NO_LIMIT = 10**12
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
    """Which crawl of the store is resumed; None is the last one."""
    keep: Callable[[CrawledPage], object] | None
    draw: Callable[[], float]
    clock: Callable[[], float]
    http: Transport | None
    """What sends requests; None is the network."""
    listed: UrlsToFetch | None = None

    def next_listed(self) -> list[str]:
        """The next URLs of the list; none at its end."""
        return [] if self.listed is None else list(islice(self.listed.urls, _BATCH))


class CrawlState:
    """How far a crawl is."""

    def __init__(self, budget: Budget) -> None:
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

    def lease(self, urls: Sequence[LeasedUrl]) -> None:
        """Count URLs that were leased."""
        number = sum(url.kind == "page" for url in urls)
        self.pages["queued"] -= number
        self.pages["leased"] += number

    def apply(self, change: Change) -> None:
        """Count what a change of the frontier changed."""
        self.is_cut |= change.is_cut
        for state, number in change.states.items():
            self.pages[state] += number

    def count(self, states: "Counter[tuple[str, str]]") -> None:
        """Count anew, by what the store has of each kind and state."""
        self.pages = Counter(
            {state: number for (kind, state), number in states.items() if kind == "page"}
        )

    def seconds(self, now: float) -> float:
        """How long it has been running, earlier runs included."""
        return self.budget.minutes_used(now) * 60


def open_frontier(
    store: EvidenceStore, plan: CrawlPlan, settings: Settings, state: CrawlState, stack: ExitStack
) -> tuple[Frontier, Judge]:
    """The frontier of a crawl, and who decides about its URLs; its lock is released by `stack`.

    It may take a while: call it in a thread.
    """
    if plan.is_resumed:
        state.number = crawls.find(store, plan.number)
        state.is_list = crawls.is_list(store, state.number)
    else:
        state.is_list = plan.listed is not None
        starts = plan.starts if plan.listed is None else [plan.listed.name]
        command = crawls.LIST if state.is_list else crawls.CRAWL
        state.number = crawls.begin(
            store, starts, settings.changed(), now=plan.clock(), command=command
        )
    stack.enter_context(store.lock("crawl", state.number, _LOCK_TIMEOUT))
    named = set(map(origin, plan.starts))
    is_bound = settings.same_domain and not state.is_list
    judge = Judge(settings, map(host, plan.starts) if is_bound else None)
    frontier = Frontier(
        store,
        state.number,
        limits=Limits(None if state.is_list else settings.max_depth, settings.page_max_redirects),
        max_urls=_NO_LIMIT if state.is_list else settings.max_discovered,
        max_sitemaps=settings.max_sitemaps,
        judge=judge.by_form,
    )
    if plan.is_resumed:
        frontier.resume(settings.changed())
        state.is_cut = frontier.is_cut
        if not state.is_list:  # a list has any number of starts, and leads nowhere
            named.update(map(origin, frontier.starts(given=True)))
            for url in frontier.starts():
                judge.join(host(url))
            for url in frontier.followed():
                judge.count(url)
        state.count(frontier.states())
        state.budget = settings.budget_after(frontier.pages_used(), frontier.seconds() / 60)
        if not (state.pages or state.is_list):  # it was killed before it had written its first URLs
            plan.starts.extend(frontier.starts())
    state.login_origins = None if state.is_list else named
    return frontier, judge


def open_discovery(
    store: Store, plan: CrawlPlan, settings: Settings, state: CrawlState, stack: ExitStack
) -> tuple[Frontier, Judge]:
    """The same for a discovery, which is never resumed and stays on the host of its start."""
    state.number = crawls.begin(
        store, plan.starts, settings.changed(), now=plan.clock(), command=crawls.DISCOVERY
    )
    stack.enter_context(store.lock("crawl", state.number, _LOCK_TIMEOUT))
    state.login_origins = set(map(origin, plan.starts))
    judge = Judge(settings, map(host, plan.starts))
    frontier = Frontier(
        store,
        state.number,
        limits=Limits(max_hops=settings.page_max_redirects),
        max_urls=2 * settings.max_discovered,  # `Sources` counts them: blocked ones take no share
        max_sitemaps=settings.max_sitemaps,
        judge=judge.by_form,
    )
    return frontier, judge


def temporary_place(stack: ExitStack) -> str:
    """A place for a store in a folder that `stack` removes."""
    folder = tempfile.mkdtemp(prefix="manners-")
    stack.callback(shutil.rmtree, folder, ignore_errors=True)
    return str(Path(folder, "crawl.db"))


def resume_times(
    evidence: EvidenceStore | None,
    frontier: Frontier,
    hosts: Iterable[str],
    max_delay: float,
    now: float,
) -> dict[str, float]:
    """When hosts may be asked, as if each had been asked now: the last request is not recorded."""
    paces = frontier.paces()
    recorded = evidence.hosts() if evidence else set()
    for name in hosts:
        if name not in paces:
            delay = _recorded_delay(evidence, name, max_delay) if name in recorded else max_delay
            paces[name] = (delay, 0.0)
    return {name: max(until, now + delay) for name, (delay, until) in paces.items()}


def _recorded_delay(evidence: EvidenceStore | None, name: str, max_delay: float) -> float:
    """The delay of a host of which no page was finished: its last record may have one."""
    for record in evidence.records(Filter(host=name), last=1) if evidence else ():
        asked = record.content.get("crawlDelay")
        if isinstance(asked, int | float):
            return max(float(asked), max_delay)
    return max_delay
