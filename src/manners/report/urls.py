"""The URLs of a crawl, one by one: what is known of each, for whoever looks through them."""

from typing import Any, NamedTuple

from manners.crawler.frontier.crawls import find
from manners.crawler.frontier.summary import CrawlSummary, UrlFilter
from manners.report.display import Display, text
from manners.report.progress import display_of
from manners.store.database import Store

MAX_ROWS = 50
"""URLs of a list, and links from a page."""
_MAX_DIGITS = 18
"""Of a place in a list: a store has no larger number."""


class UrlEntry(NamedTuple):
    """A URL in a list."""

    url: str
    host: str
    key: str
    """The key of the URL in its store, with its host."""
    kind: str
    """`page`, or `sitemap`."""
    state: str
    status: int | None
    reason: str
    rule: str
    line: int
    title: str
    place: str
    """Where it stands in the list: to go on after it."""


class UrlListing(NamedTuple):
    """Some URLs of a crawl, in the order in which they were found."""

    crawl: int
    entries: list[UrlEntry]
    next: str
    """The place after which more follow; empty if there are none."""


class UrlAttempt(NamedTuple):
    """A request for a URL."""

    started: float
    """Seconds since the epoch."""
    status: int | None
    cause: str
    """Why there was no answer."""
    bytes: int
    seconds: float
    waited: float
    """Seconds for which it waited for its turn."""
    delay: float
    """Seconds between requests to its host, then."""


class UrlDetails(NamedTuple):
    """Everything that a store has about a URL."""

    entry: UrlEntry
    source: str
    found_in: str
    """The first page, or sitemap, that named it."""
    depth: int
    evidence: int | None
    """The record of the last decision."""
    type: str
    sha256: str
    links: int | None
    location: str
    """Where it redirects to."""
    attempts: list[UrlAttempt]
    found: list[UrlEntry]
    """URLs that were first found on it."""


def urls_of(store: Store, crawl: int, wanted: UrlFilter, *, redact: bool = False) -> UrlListing:
    """URLs of a crawl that a filter chooses."""
    number = find(store, crawl)
    with store.reading() as connection:
        summary = CrawlSummary(connection, number)
        display = display_of(summary, redact, MAX_ROWS)
        rows = summary.find_urls(wanted, MAX_ROWS + 1)
    entries = [_entry(row, display) for row in rows[:MAX_ROWS]]
    return UrlListing(number, entries, entries[-1].place if len(rows) > MAX_ROWS else "")


def url_of(
    store: Store, crawl: int, host: str, key: str, *, redact: bool = False
) -> UrlDetails | None:
    """What is known of a URL; None if the crawl does not know it."""
    number = find(store, crawl)
    with store.reading() as connection:
        summary = CrawlSummary(connection, number)
        row = summary.url_row(host, key)
        if row is None:
            return None
        display = display_of(summary, redact, MAX_ROWS)
        attempts = [_attempt(retry) for retry in summary.url_retries(row, MAX_ROWS)]
        if row.started is not None:
            attempts.append(_attempt(row))
        return UrlDetails(
            _entry(row, display),
            row.source,
            display.url(row.found_in),
            row.depth,
            row.evidence,
            text(row.type or ""),
            row.sha256 or "",
            row.links,
            display.url(row.location or ""),
            attempts,
            [_entry(found, display) for found in summary.found_on(row.url, MAX_ROWS)],
        )


def parse_place(after: str) -> tuple[int, str]:
    """A place in a list; ValueError for what is none.

    >>> parse_place("12-ab"), parse_place("")
    ((12, 'ab'), (-1, ''))
    """
    if not after:
        return -1, ""
    number, _, digest = after.partition("-")
    if len(number) > _MAX_DIGITS:
        raise ValueError("no place in a list")
    return int(number), digest


def _entry(row: Any, display: Display) -> UrlEntry:
    return UrlEntry(
        display.url(row.url),
        row.host,
        row.digest,
        row.kind,
        row.state,
        row.status,
        text(row.reason),
        text(row.rule),
        row.line,
        text(getattr(row, "title", None) or ""),
        f"{row.seq}-{row.digest}",
    )


def _attempt(row: Any) -> UrlAttempt:
    answer = row.status if not row.cause else None
    return UrlAttempt(
        row.started, answer, text(row.cause or ""), row.bytes, row.seconds, row.waited, row.delay
    )
