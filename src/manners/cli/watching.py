"""A crawl on the terminal: a live view, a line for each page, and the summary at the end."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from manners._text import count, cut, duration, minutes, printable
from manners.cli import render

if TYPE_CHECKING:
    from rich.console import RenderableType

    from manners.crawler.crawl import Crawl
    from manners.crawler.holdings import HostView
    from manners.crawler.page import CrawledPage
    from manners.crawler.status import Status

_HOSTS = 8
_LATEST = 5
_MAX_WIDTH = 100
_WORKERS = 32
"""Workers that a summary shows."""


class Watch:
    """Shows a crawl while it runs; `clock` is the time of day, in seconds since the epoch."""

    def __init__(self, crawl: "Crawl", clock: Callable[[], float] = time.time) -> None:
        self._crawl, self._clock = crawl, clock
        self._began = clock()
        self._latest: list[str] = []
        self.pages = 0

    def add(self, page: "CrawledPage") -> str:
        """Count a page; returns its line."""
        self.pages += 1
        line = page_line(page)
        self._latest = [*self._latest[1 - _LATEST :], line]
        return line

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show the view on the terminal, once a second."""
        from rich.live import Live

        with Live(get_renderable=self.view, refresh_per_second=1, transient=True) as live:
            live.refresh()  # at once
            yield

    def view(self) -> "RenderableType":
        """Progress, hosts and the latest pages."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        parts: list[RenderableType] = [
            Text(line, overflow="ellipsis", no_wrap=True) for line in self.lines()
        ]
        view = self._crawl.view(_HOSTS)
        if view.hosts:
            table = Table(box=None, pad_edge=False)
            for name in ("host", "delay", "next", "under way"):
                table.add_column(name, header_style="dim", no_wrap=True)
            for host in view.hosts:
                table.add_row(*(Text(cell) for cell in self._cells(host, view.is_away)))
            parts.append(table)
        # The colours are ours; whatever comes from a site is escaped.
        parts += [Text.from_ansi(line, overflow="ellipsis", no_wrap=True) for line in self._latest]
        return Group(*parts)

    def lines(self) -> list[str]:
        """The progress, in two lines."""
        settings, view = self._crawl.settings, self._crawl.view()
        seconds = max(self._clock() - self._began, 0.001)
        states, rate = view.states, self.pages / seconds
        remaining = states.get("queued", 0) + states.get("leased", 0)
        to_fetch = min(remaining, max(settings.max_pages - view.pages, 0))
        forecast = f", about {duration(to_fetch / rate)} left" if rate and to_fetch else ""
        activity = f"{view.running} under way, {rate:.1f} a second{forecast}"
        if view.is_stopping:
            activity = "finishing the running requests; Ctrl-C again aborts"
        elif view.is_away:
            activity = "waiting for the politeness server"
        elif view.waiting:
            activity = view.waiting
        return [
            f"pages    {states.get('done', 0):,} done, {states.get('failed', 0):,} failed,"
            f" {states.get('blocked', 0):,} blocked, {remaining:,} left; {activity}",
            f"budget   {view.pages:,} of {count(settings.max_pages, 'page')},"
            f" {view.minutes:.1f} of {minutes(settings.max_minutes)}",
        ]

    def _cells(self, host: "HostView", is_away: bool) -> tuple[str, ...]:
        wait = host.until - self._clock()
        when = "now" if wait <= 0 else f"in {duration(wait)}"
        if is_away:
            when = "waiting for the server"
        elif wait > max(2 * host.delay, 1.0):
            when = f"{when}, waiting"
        return printable(cut(host.host, 60)), duration(host.delay), when, str(host.running)


def page_line(page: "CrawledPage") -> str:
    """One page on one line."""
    url = printable(cut(page.url, _MAX_WIDTH * 2))
    if page.state == "blocked":
        return f"{render.styled('blocked', 'red')}  {url}  {render.because(page.verdict)}"
    if page.state == "failed":
        return f"{render.styled('failed', 'yellow')}   {url}  {printable(page.reason)}"
    facts = f"{count(len(page.body), 'byte')}, {duration(page.seconds)}"
    if page.location:
        facts = f"to {printable(cut(page.location, _MAX_WIDTH * 2))}"
    title = f"  {printable(cut(page.title, _MAX_WIDTH))}" if page.title else ""
    colour = "green" if page.ok else "yellow"
    return f"{render.styled(str(page.status), colour)}      {url}  {facts}{title}"


def summary(status: "Status", place: str) -> list[str]:
    """The status of a crawl, in lines."""
    began = status.began.replace("T", " ").partition("+")[0]
    lines = [
        render.styled(f"crawl {status.crawl} of {printable(cut(status.start, 200))}", "bold"),
        f"began {began} UTC, ran for {duration(status.seconds)}: {printable(status.ended)}",
    ]
    if status.purpose:
        verb = "refused" if status.unknown == "deny" else "kept"
        lines.append(
            f"for {printable(cut(status.purpose, 40))}; pages without an answer are {verb}"
        )
    statuses = [_counts(status.statuses)] if status.statuses else []
    if status.redirects:
        statuses.append(f"and {count(status.redirects, 'redirect')}")
    sitemaps = f"and {count(status.unread, 'sitemap')} to read" if status.unread else ""
    rows = [
        ("fetched", status.fetched, ", ".join(statuses)),
        ("failed", status.states.get("failed", 0), _counts(status.failures)),
        ("blocked", status.states.get("blocked", 0), ""),
        ("left", status.remaining, sitemaps),
    ]
    if status.retries:
        rows.insert(1, ("retried", sum(status.retries.values()), _counts(status.retries)))
    for name, number, remark in rows:
        lines.append(f"  {name:<8} {number:>9,}  {remark}".rstrip())
        if name == "blocked":
            lines += _blocked(status)
    if status.is_fleet:
        lines += _workers(status)
    size = f"{count(status.bytes, 'byte')} from {count(status.hosts, 'host')}"
    failed = f" and {status.lost:,} that failed" if status.lost else ""
    read = f"{count(status.sitemaps, 'sitemap')}{failed}"
    return [*lines, f"{size}, {read}, stored in {printable(place)}"]


def _workers(status: "Status") -> list[str]:
    """The workers of a crawl, the last ones if there are many."""
    lines = [f"  {'workers':<8} {len(status.workers):>9,}"]
    for worker in status.workers[-_WORKERS:]:
        facts = f"{count(worker.requests, 'request')}, {printable(worker.ended)}"
        lines.append(f"    {worker.worker:>9}  {printable(cut(worker.name, 60))}: {facts}")
    return lines


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{printable(name)}: {number:,}" for name, number in counts.items())


def _blocked(status: "Status") -> list[str]:
    lines = []
    for blocked in status.blocked:
        reason = blocked.reason
        if blocked.line:
            reason = f"line {blocked.line}: {blocked.rule}"
        elif blocked.rule:
            reason = f"{blocked.reason}: {blocked.rule}"
        lines.append(f"    {blocked.number:>9,}  {printable(cut(reason, _MAX_WIDTH))}")
    more = status.reasons - len(status.blocked)
    if more:
        number = status.states["blocked"] - sum(blocked.number for blocked in status.blocked)
        lines.append(f"    {number:>9,}  for {count(more, 'other reason')}")
    return lines
