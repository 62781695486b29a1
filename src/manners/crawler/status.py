"""The status of a crawl, running or ended, as its store has it."""

import json
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from manners.crawler.frontier.crawls import check_version, find
from manners.crawler.frontier.summary import (
    CrawlSummary,
    all_crawls,
    crawl_row,
    state_counts,
)
from manners.crawler.frontier.workers import server_time
from manners.crawler.reasons import REDIRECT
from manners.store.database import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection

RUNNING, KILLED = "running", "stopped unexpectedly"
WAITING, SILENT = "waiting for a worker", "not heard of"
"""What is said of a crawl that nobody has begun to work on, and of a worker whose lease is over."""
_QUEUED = ("queued", "leased")


class Blocked(NamedTuple):
    """Blocked pages that have the same reason."""

    reason: str
    rule: str
    line: int
    number: int


class WorkerStatus(NamedTuple):
    """One of the processes that work on a crawl, or did."""

    worker: int
    name: str
    """Machine and process."""
    began: str
    seen: str
    """When it was last heard of."""
    ended: str
    """Why; or `RUNNING`, or `SILENT`."""
    fetched: int
    """Pages that were answered, redirects included."""
    failed: int
    requests: int
    """For pages."""
    bytes: int


class Status(NamedTuple):
    """The status of a crawl."""

    crawl: int
    crawls: int
    """How many crawls the store has."""
    latest: int
    """The number of the last one."""
    start: str
    began: str
    ended: str
    """Why; or `RUNNING`, or `KILLED`."""
    seconds: float
    """Running time."""
    states: dict[str, int]
    """Pages by state."""
    statuses: dict[str, int]
    """Pages that were answered, by status; redirects are not counted."""
    redirects: int
    failures: dict[str, int]
    """Failed pages, by cause."""
    retries: dict[str, int]
    """Requests after which the page was queued again, by status or by cause."""
    sitemaps: int
    """Sitemaps that were read."""
    unread: int
    """Sitemaps in the queue."""
    lost: int
    """Sitemaps that failed."""
    undecided: int
    """Pages and sitemaps whose robots.txt could not be reached; a resume tries them again."""
    blocked: list[Blocked]
    """The most frequent reasons."""
    reasons: int
    """How many reasons there are."""
    hosts: int
    bytes: int
    workers: list[WorkerStatus]
    """Who works on it, or did; none in a store of an earlier version."""
    purpose: str = ""
    """What its pages are wanted for; empty without a purpose."""
    unknown: str = ""
    """What it means for that if a page says nothing: allow or deny."""

    @property
    def fetched(self) -> int:
        """Pages that were answered, without redirects."""
        return self.states.get("done", 0) - self.redirects

    @property
    def remaining(self) -> int:
        """Pages in the queue, and pages being fetched."""
        return sum(self.states.get(state, 0) for state in _QUEUED)

    @property
    def is_fleet(self) -> bool:
        """Whether several processes worked on it at the same time."""
        seen = ""
        for worker in self.workers:
            if worker.began < seen:
                return True
            seen = max(seen, worker.seen)
        return False

    @property
    def is_running(self) -> bool:
        """Whether a process is working on it."""
        return self.ended == RUNNING

    @property
    def resumable(self) -> bool:
        """Whether a resume would find something to fetch."""
        never_started = not self.states and self.ended in (KILLED, WAITING)
        return bool(self.remaining or self.unread or self.undecided or never_started)

    def to_dict(self) -> dict[str, Any]:
        """The status as plain values, ready for JSON."""
        values = {
            **self._asdict(),
            "blocked": [blocked._asdict() for blocked in self.blocked],
            "workers": [worker._asdict() for worker in self.workers],
            "fetched": self.fetched,
            "left": self.remaining,
            "resumable": self.resumable,
        }
        for name in ("purpose", "unknown"):
            if not self.purpose:
                del values[name]
        return values


class ListedCrawl(NamedTuple):
    """One crawl in the list of all crawls of a store."""

    crawl: int
    start: str
    began: str
    ended: str
    """Why; or `RUNNING`, or `KILLED`."""
    seconds: float
    """Running time."""
    fetched: int
    failed: int
    blocked: int
    remaining: int
    """Pages in the queue, and pages being fetched."""
    unread: int
    """Sitemaps in the queue."""

    def to_dict(self) -> dict[str, Any]:
        """The crawl as plain values, ready for JSON."""
        return {
            "left" if name == "remaining" else name: value for name, value in self._asdict().items()
        }


def crawls_of(store: Store) -> list[ListedCrawl]:
    """All crawls of a store, the oldest first."""
    check_version(store)
    counts: dict[int, Counter[str]] = {}
    with store.reading() as connection:
        rows = all_crawls(connection)
        for crawl, kind, state, is_redirect, number in state_counts(connection):
            name = "queued" if state in _QUEUED else state
            if kind != "page" or (state == "done" and is_redirect):
                name = "unread" if name == "queued" else "other"
            counts.setdefault(crawl, Counter())[name] += number
    return [
        ListedCrawl(
            crawl=row.id,
            start=row.start,
            began=iso_time(row.at),
            ended=row.ended or end_of(store, row.id),
            seconds=row.seconds,
            fetched=count["done"],
            failed=count["failed"],
            blocked=count["blocked"],
            remaining=count["queued"],
            unread=count["unread"],
        )
        for row in rows
        for count in (counts.get(row.id, Counter[str]()),)
    ]


def status_of(store: Store, crawl: int | None = None, *, max_reasons: int = 20) -> Status:
    """The status of a crawl; by default of the last one in a store."""
    number = find(store, crawl)
    with store.reading() as connection:
        numbers = [row.id for row in all_crawls(connection)]
        row = crawl_row(connection, number)
        summary = CrawlSummary(connection, row.id)
        counts, workers = _counts(summary, max_reasons), worker_statuses(store, summary, connection)
        purpose, unknown = _purpose(summary)
    return Status(
        crawl=row.id,
        crawls=len(numbers),
        latest=numbers[-1] if numbers else 0,
        start=row.start,
        began=iso_time(row.at),
        ended=row.ended or end_of(store, row.id),
        seconds=row.seconds,
        workers=workers,
        purpose=purpose,
        unknown=unknown,
        **counts,
    )


def _purpose(summary: CrawlSummary) -> tuple[str, str]:
    """What pages are wanted for, and what unknown means; empty without a purpose."""
    try:
        settings = json.loads(summary.settings() or "{}")
    except ValueError:
        settings = None
    purpose = settings.get("purpose") if isinstance(settings, dict) else None
    if not isinstance(purpose, str):
        return "", ""
    return purpose, str(settings.get("unknown", "allow"))


def iso_time(milliseconds: float) -> str:
    """A time of the store, in UTC and to the second.

    >>> iso_time(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def end_of(store: Store, crawl: int) -> str:
    """Why a crawl ended that has no reason in its store, or that it is running."""
    if store.is_sqlite and store.is_locked("crawl", crawl):
        return RUNNING
    with store.reading() as connection:  # it may have ended just now
        ended = crawl_row(connection, crawl).ended
        if ended or store.is_sqlite:
            return ended or KILLED
        workers = CrawlSummary(connection, crawl).workers()
        now = server_time(connection)
    if any(row.ended is None and row.until > now for row in workers):
        return RUNNING
    return KILLED if workers else WAITING


def worker_statuses(
    store: Store, summary: CrawlSummary, connection: "Connection"
) -> list[WorkerStatus]:
    """The workers of a crawl, and what each has done."""
    rows = summary.workers()
    counts: dict[int, Counter[str]] = {}
    for row in summary.counts_by_worker() if rows else ():
        if row.kind == "page":
            counts.setdefault(row.worker, Counter())[row.what] += row.number
    is_locked = bool(rows) and store.is_sqlite and store.is_locked("crawl", rows[0].crawl)
    now = 0.0 if store.is_sqlite else server_time(connection)
    found = []
    for row in rows:
        own = counts.get(row.id, Counter[str]())
        is_heard_of = is_locked if store.is_sqlite else row.until > now
        found.append(
            WorkerStatus(
                worker=row.id,
                name=row.name,
                began=iso_time(row.began * 1000),
                seen=iso_time(row.seen * 1000),
                ended=row.ended or (RUNNING if is_heard_of else SILENT),
                fetched=own["done"],
                failed=own["failed"],
                requests=own["attempts"],
                bytes=own["bytes"],
            )
        )
    return found


def _counts(summary: CrawlSummary, max_reasons: int) -> dict[str, Any]:
    states: dict[str, int] = {}
    sitemaps: Counter[str] = Counter()
    for kind, state, number in summary.states():
        if kind == "page":
            states[state] = number
        else:
            sitemaps["queued" if state in _QUEUED else state] += number
    statuses, failures, redirects = Counter[str](), Counter[str](), 0
    undecided = sitemaps_read = 0
    for kind, state, status, reason, number in summary.outcome_counts():
        undecided += number * (state == "blocked" and reason == "unreachable")
        if kind != "page":
            sitemaps_read += number * (status == 200)
        elif state == "failed":
            failures[reason] += number
        elif state == "done" and reason == REDIRECT:
            redirects += number
        elif state == "done":
            statuses[str(status)] += number
    retries: Counter[str] = Counter()
    for status, cause, number in summary.retries():
        retries[str(status or cause)] += number
    reasons, rules = summary.blocked_rules(max_reasons)
    hosts, size = summary.traffic()
    return {
        "states": states,
        "statuses": _most_frequent_first(statuses),
        "redirects": redirects,
        "failures": _most_frequent_first(failures),
        "retries": _most_frequent_first(retries),
        "sitemaps": sitemaps_read,
        "unread": sitemaps["queued"],
        "lost": sitemaps["failed"],
        "undecided": undecided,
        "blocked": [Blocked(*row) for row in rules],
        "reasons": reasons,
        "hosts": hosts,
        "bytes": size,
    }


def _most_frequent_first(counts: Mapping[str, int]) -> dict[str, int]:
    return dict(sorted(counts.items(), key=lambda item: (-item[1], item[0])))
