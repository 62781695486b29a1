"""The lists of a report: pages, hosts, sitemaps, broken pages and blocked URLs."""

from collections.abc import Iterable, Mapping
from typing import Any

from manners.crawler.frontier.summary import CrawlSummary
from manners.report.data import (
    BlockedReason,
    BlockedURL,
    BrokenPage,
    Fetched,
    HostRow,
    Listing,
    SitemapProblem,
    SitemapRead,
)
from manners.report.display import Display, text
from manners.report.stored import parsed
from manners.report.timeline import HostRequests

_MAX_REASONS = 40
_SLOWEST = 10


class ListReader:
    """Reads the lists of one crawl."""

    def __init__(self, summary: CrawlSummary, display: Display) -> None:
        self._summary, self._display = summary, display

    def pages(self, total: int) -> Listing[Fetched]:
        """The pages that were fetched; `total` is their number."""
        return Listing(total, self._fetched(self._summary.fetched(self._display.rows)))

    def newest(self) -> list[Fetched]:
        """The pages that were fetched last, the latest first."""
        return self._fetched(self._summary.newest(self._display.rows))

    def slowest(self) -> list[Fetched]:
        """The pages that took longest."""
        return self._fetched(self._summary.slowest(_SLOWEST))

    def _fetched(self, rows: Iterable[Any]) -> list[Fetched]:
        return [
            Fetched(
                self._display.url(row.url),
                row.status or 0,
                text(row.title),
                row.type,
                row.bytes,
                row.seconds,
            )
            for row in rows
        ]

    def blocked(self) -> list[BlockedReason]:
        """The reasons for which pages are blocked, with the pages."""
        return [
            BlockedReason(reason, number, self._blocked_urls(reason))
            for reason, number in self._summary.blocked_reasons(_MAX_REASONS)
        ]

    def _blocked_urls(self, reason: str) -> list[BlockedURL]:
        return [
            BlockedURL(
                self._display.url(row.url),
                text(row.rule),
                row.line,
                self._display.url(row.found_in),
                row.depth,
            )
            for row in self._summary.blocked_urls(reason, self._display.rows)
        ]

    def broken(self) -> Listing[BrokenPage]:
        """Pages that failed or were answered with an error, and where they were found."""
        total, rows = self._summary.broken(self._display.rows)
        pages = [
            BrokenPage(
                self._display.url(row.url),
                text(row.reason),
                row.status,
                row.attempts,
                row.source,
                self._display.url(row.found_in),
            )
            for row in rows
        ]
        return Listing(total, pages)

    def sitemaps(self) -> Listing[SitemapRead]:
        """The sitemaps, those with problems first."""
        total, rows = self._summary.sitemaps(self._display.rows)
        sitemaps = [
            SitemapRead(
                self._display.url(row.url),
                self._display.url(row.found_in),
                row.state,
                text(row.reason),
                row.status,
                row.type or "",
                row.links or 0,
                [self._problem(problem) for problem in parsed(row.problems, list)],
            )
            for row in rows
        ]
        return Listing(total, sitemaps)

    def _problem(self, stored: Any) -> SitemapProblem:
        values = stored if isinstance(stored, dict) else {}
        line = values.get("line")
        return SitemapProblem(
            text(str(values.get("problem", ""))),
            self._display.url(str(values.get("detail", ""))),
            line if type(line) is int else 0,
        )

    def hosts(self, requests: Mapping[str, HostRequests]) -> Listing[HostRow]:
        """The hosts with most requests."""
        busiest = sorted(requests.items(), key=lambda item: (-item[1].requests, item[0]))
        busiest = busiest[: self._display.rows]
        wanted = {_key(name) for name, _ in busiest}
        known = {row.host: row for row in self._summary.hosts() if row.host in wanted}
        rows = [
            HostRow(
                text(name),
                host.requests,
                host.bytes,
                host.seconds / host.requests,
                host.shortest,
                host.delay,
                known[_key(name)].not_before if _key(name) in known else 0.0,
            )
            for name, host in busiest
        ]
        return Listing(len(requests), rows)


def _key(host: str) -> str:
    """A host as its table has it."""
    return host[:255]
