"""How a crawl goes right now, by its store: for whoever watches it, in a browser or a terminal.

`progress_of` may be asked every second, however large a crawl is: it reads counts, hosts and
workers, and no URLs. `outcomes_of` reads all URLs, so ask it less often.

    with Store("manners.db", readonly=True) as store:
        progress = progress_of(store)
        print(progress.states, progress.hosts.asked)
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from sqlalchemy import Connection

from manners.crawler.frontier.crawls import find
from manners.crawler.frontier.summary import CrawlSummary, crawl_row
from manners.crawler.frontier.workers import server_time
from manners.crawler.status import (
    RUNNING,
    Status,
    WorkerStatus,
    end_of,
    iso_time,
    status_of,
    worker_statuses,
)
from manners.errors import StoreError
from manners.report.data import BudgetUse, Fetched
from manners.report.display import Display, text
from manners.report.lists import ListReader
from manners.report.rates import Sample
from manners.report.stored import number, parsed
from manners.settings import Settings
from manners.settings.names import current_names
from manners.store.database import Store

HOSTS = 12
"""Hosts, and retries, that are listed."""
_MAX_QUEUED = 10_000
"""URLs of a host that are counted: more takes too long, each second."""
_REASONS = 12
_FIRST_WITH_WORKERS = "0004"


class HostCounts(NamedTuple):
    """How many hosts are at what."""

    asked: int
    """A worker has them."""
    backing_off: int
    """A reply or a failure says to wait."""
    waiting: int
    """Nobody has them until their time has come."""
    due: int
    """A worker could take them."""
    finished: int
    """Nothing is queued."""

    @property
    def total(self) -> int:
        """All hosts that are known."""
        return sum(self)


class HostProgress(NamedTuple):
    """A host that is asked, or waited for."""

    host: str
    state: str
    delay: float | None
    """Seconds between requests; None until one was finished."""
    wait: float
    """Seconds until it may be asked again; 0 if it may now."""
    worker: int | None
    queued: int
    """URLs in the queue; more than 10,000 are counted as 10,000."""


class Retry(NamedTuple):
    """A request after which its URL was queued again."""

    url: str
    why: str
    """The status, or the cause."""
    ago: float
    """Seconds."""


class CrawlProgress(NamedTuple):
    """How a crawl goes."""

    crawl: int
    start: str
    began: str
    ended: str
    """Why; or as in `Status`."""
    is_stopping: bool
    """Whether it has ended for everybody, and some worker is still finishing."""
    at: float
    """When this was read, by the clock of the store."""
    seconds: float
    """Running time."""
    states: dict[str, int]
    """Pages by state."""
    sitemaps: dict[str, int]
    """The same for sitemaps."""
    budget: BudgetUse
    bytes: int
    hosts: HostCounts
    active: list[HostProgress]
    """Hosts that are asked or waited for, the longest wait first."""
    workers: list[WorkerStatus]
    retries: list[Retry]
    """The latest first."""

    @property
    def is_running(self) -> bool:
        """Whether a process works on it."""
        return self.ended == RUNNING or self.is_stopping

    @property
    def sample(self) -> Sample:
        """What rates are made of."""
        return Sample(self.at, self.budget.pages, self.bytes)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            **self._asdict(),
            "is_running": self.is_running,
            "budget": self.budget._asdict(),
            "hosts": self.hosts._asdict(),
            "active": [host._asdict() for host in self.active],
            "workers": [worker._asdict() for worker in self.workers],
            "retries": [retry._asdict() for retry in self.retries],
        }


class Outcomes(NamedTuple):
    """What became of the pages so far, in total and in examples."""

    status: Status
    latest: list[Fetched]
    slowest: list[Fetched]


def progress_of(
    store: Store,
    crawl: int | None = None,
    *,
    redact: bool = False,
    hosts: int = HOSTS,
    clock: Callable[[], float] = time.time,
) -> CrawlProgress:
    """How a crawl goes, by default the last one of a store; `hosts` is how many are listed."""
    found = find(store, crawl)
    if store.version < _FIRST_WITH_WORKERS:
        raise StoreError(
            store.place,
            "an older version made it: `manners crawl resume` upgrades it",
        )
    with store.reading() as connection:
        return _read(store, connection, found, redact=redact, hosts=hosts, clock=clock)


def outcomes_of(
    store: Store, crawl: int | None = None, *, redact: bool = False, rows: int = HOSTS
) -> Outcomes:
    """What became of the pages of a crawl so far; it reads all of them."""
    status = status_of(store, crawl, max_reasons=_REASONS)
    with store.reading() as connection:
        summary = CrawlSummary(connection, status.crawl)
        lists = ListReader(summary, display_of(summary, redact, rows))
        return Outcomes(status, lists.newest(), lists.slowest())


def display_of(summary: CrawlSummary, redact: bool, rows: int) -> Display:
    """How URLs of a crawl are shown: without queries, if its settings or somebody says so."""
    settings = current_names(parsed(summary.settings(), dict))
    return Display(rows, redact or settings.get("redact_query") is True)


def _read(
    store: Store,
    connection: Connection,
    crawl: int,
    *,
    redact: bool,
    hosts: int,
    clock: Callable[[], float],
) -> CrawlProgress:
    row, summary = crawl_row(connection, crawl), CrawlSummary(connection, crawl)
    now = clock() if store.is_sqlite else server_time(connection)
    settings = current_names(parsed(row.settings, dict))
    display = display_of(summary, redact, HOSTS)
    workers = worker_statuses(store, summary, connection)
    numbers = summary.numbers()
    is_running = any(worker.ended == RUNNING for worker in workers)
    return CrawlProgress(
        crawl=crawl,
        start=" ".join(map(display.url, row.start.split(" "))),
        began=iso_time(row.at),
        ended=row.ended or end_of(store, crawl),
        is_stopping=row.ended is not None and is_running,
        at=now,
        # What was counted with the last beat, and the time since then.
        seconds=row.seconds + (max(now - row.seen, 0.0) if is_running and not row.ended else 0.0),
        states=_states(numbers, "page"),
        sitemaps=_states(numbers, "sitemap"),
        budget=_budget(numbers, row.seconds, settings),
        bytes=numbers.get(("page", "bytes"), 0) + numbers.get(("sitemap", "bytes"), 0),
        hosts=_host_counts(summary, now),
        active=_active(summary, now, hosts),
        workers=workers,
        retries=[
            Retry(
                display.url(retry.url), text(str(retry.status or retry.cause)), now - retry.started
            )
            for retry in summary.latest_retries(HOSTS)
        ],
    )


_STATES = ("queued", "done", "failed", "blocked", "kept")


def _states(numbers: Mapping[tuple[str, str], int], kind: str) -> dict[str, int]:
    return {state: numbers[kind, state] for state in _STATES if numbers.get((kind, state))}


def _budget(
    numbers: Mapping[tuple[str, str], int], seconds: float, settings: Mapping[str, Any]
) -> BudgetUse:
    defaults = Settings()
    return BudgetUse(
        pages=numbers.get(("page", "attempts"), 0),
        max_pages=int(number(settings.get("max_pages"), defaults.max_pages)),
        minutes=seconds / 60,
        max_minutes=number(settings.get("max_minutes"), defaults.max_minutes),
    )


def _host_counts(summary: CrawlSummary, now: float) -> HostCounts:
    counts = {row.state.replace(" ", "_"): row.number for row in summary.host_states(now)}
    return HostCounts(*(counts.get(name, 0) for name in HostCounts._fields))


def _active(summary: CrawlSummary, now: float, limit: int) -> list[HostProgress]:
    return [
        HostProgress(
            text(row.host),
            row.state,
            row.delay,
            max(row.not_before - now, 0.0),
            row.owner,
            summary.queued(row.host, _MAX_QUEUED),
        )
        for row in summary.active_hosts(now, limit)
    ]
