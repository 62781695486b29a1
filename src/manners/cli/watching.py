"""A crawl, as people watch it: a view that is renewed every second, or a line for each page."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING

from manners._text import count, cut, duration, minutes, printable
from manners.cli import render

if TYPE_CHECKING:
    from rich.console import RenderableType

    from manners.crawler.crawl import Crawl, HostView
    from manners.crawler.pages import Crawled
    from manners.crawler.status import Status

_HOSTS = 8
_LATEST = 5
_WIDE = 100


class Watch:
    """What is known of a crawl while it runs."""

    def __init__(self, crawl: "Crawl") -> None:
        self._crawl = crawl
        self._begun = time.monotonic()
        self._latest: list[str] = []
        self.pages = 0

    def add(self, page: "Crawled") -> str:
        """A page has come; returns the line about it."""
        self.pages += 1
        line = page_line(page)
        self._latest = [*self._latest[1 - _LATEST :], line]
        return line

    @contextmanager
    def live(self) -> Iterator[None]:
        """Show the view on the terminal meanwhile."""
        from rich.live import Live

        with Live(get_renderable=self._view, refresh_per_second=1, transient=True) as live:
            live.refresh()  # the first time is now
            yield

    def _view(self) -> "RenderableType":
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
            for each in view.hosts:
                table.add_row(*(Text(cell) for cell in _cells(each, view.is_away)))
            parts.append(table)
        # The colours are ours; whatever a site could have said is escaped.
        latest = [Text.from_ansi(line, overflow="ellipsis", no_wrap=True) for line in self._latest]
        parts += latest
        return Group(*parts)

    def lines(self) -> list[str]:
        """How far it is, in two lines."""
        its, view = self._crawl.settings, self._crawl.view()
        seconds = max(time.monotonic() - self._begun, 0.001)
        states, rate = view.states, self.pages / seconds
        left = states.get("queued", 0) + states.get("leased", 0)
        to_go = min(left, max(its.max_pages - view.pages, 0))
        soon = f", about {duration(to_go / rate)} left" if rate and to_go else ""
        doing = f"{view.running} under way, {rate:.1f} a second{soon}"
        if view.is_stopping:
            doing = "finishing what is under way; Ctrl-C again stops now"
        elif view.is_away:
            doing = "waiting for the politeness server"
        return [
            f"pages    {states.get('done', 0):,} done, {states.get('failed', 0):,} failed,"
            f" {states.get('blocked', 0):,} blocked, {left:,} left; {doing}",
            f"budget   {view.pages:,} of {count(its.max_pages, 'page')},"
            f" {view.minutes:.1f} of {minutes(its.max_minutes)}",
        ]


def _cells(each: "HostView", is_away: bool) -> tuple[str, ...]:
    wait = each.until - time.time()
    soon = "now" if wait <= 0 else f"in {duration(wait)}"
    said = f"{soon}, waits" if wait > max(2 * each.delay, 1.0) else soon
    said = "waits for the server" if is_away else said
    return printable(cut(each.host, 60)), f"{each.delay:.2f} s", said, str(each.running)


def page_line(page: "Crawled") -> str:
    """One page on one line."""
    url = printable(cut(page.url, _WIDE * 2))
    if page.state == "blocked":
        return f"{render.styled('blocked', 'red')}  {url}  {render.because(page.verdict)}"
    if page.state == "failed":
        return f"{render.styled('failed', 'yellow')}   {url}  {printable(page.reason)}"
    said = f"{count(len(page.body), 'byte')}, {page.seconds:.2f} s"
    if page.location:
        said = f"to {printable(cut(page.location, _WIDE * 2))}"
    title = f"  {printable(cut(page.title, _WIDE))}" if page.title else ""
    colour = "green" if page.ok else "yellow"
    return f"{render.styled(str(page.status), colour)}      {url}  {said}{title}"


def summary(status: "Status", place: str) -> list[str]:
    """How a crawl stands, or how it ended."""
    began = status.began.replace("T", " ").partition("+")[0]
    lines = [
        render.styled(f"crawl {status.crawl} of {printable(cut(status.start, 200))}", "bold"),
        f"began {began} UTC, ran for {duration(status.seconds)}: {printable(status.ended)}",
    ]
    said = [_counted(status.statuses)] if status.statuses else []
    if status.redirects:
        said.append(f"and {count(status.redirects, 'redirect')}")
    left = ["to be asked for"] if status.left else []
    if status.unread:
        left.append(f"and {count(status.unread, 'sitemap')} to be read")
    rows = [
        ("fetched", status.fetched, ", ".join(said)),
        ("failed", status.states.get("failed", 0), _counted(status.failures)),
        ("blocked", status.states.get("blocked", 0), ""),
        ("left", status.left, ", ".join(left)),
    ]
    if status.retries:
        rows.insert(1, ("retried", sum(status.retries.values()), _counted(status.retries)))
    for name, number, more in rows:
        lines.append(f"  {name:<8} {number:>9,}  {more}".rstrip())
        if name == "blocked":
            lines += _blocked(status)
    size = f"{count(status.bytes, 'byte')} from {count(status.hosts, 'host')}"
    lost = f" and {status.lost:,} that could not be had" if status.lost else ""
    lines.append(f"{size}, {count(status.sitemaps, 'sitemap')}{lost}, kept in {printable(place)}")
    return lines


def _counted(found: Mapping[str, int]) -> str:
    return ", ".join(f"{printable(name)}: {number:,}" for name, number in found.items())


def _blocked(status: "Status") -> list[str]:
    lines = []
    for each in status.blocked:
        said = each.reason
        if each.line:
            said = f"line {each.line}: {each.rule}"
        elif each.rule:
            said = f"{each.reason}: {each.rule}"
        lines.append(f"    {each.number:>9,}  {printable(cut(said, _WIDE))}")
    reasons = status.reasons - len(status.blocked)
    if reasons:
        number = status.states["blocked"] - sum(each.number for each in status.blocked)
        lines.append(f"    {number:>9,}  for {count(reasons, 'other reason')}")
    return lines
