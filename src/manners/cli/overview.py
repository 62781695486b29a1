"""The screen of `manners top`: what is shown of a crawl, in which order, and at which keys. Quiet.

Whatever comes from a site or a service is escaped: a cell is plain text, never markup.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from manners._text import count, cut, duration, minutes, printable
from manners.cli.snapshots import CrawlSnapshot, HostLine
from manners.report.html.words import size
from manners.report.rates import Rate

if TYPE_CHECKING:
    from rich.console import RenderableType

RUNNING = "running"
_MAX_HOST, _MAX_URL = 60, 150
_WORKERS, _ROWS, _FEW = 6, 10, 4
"""Workers, hosts and other rows that are always shown; a high screen has more hosts."""
_FIXED = 22
"""Lines of a screen that are not hosts."""

SORTS: dict[str, Callable[[HostLine], tuple[float, str]]] = {
    "wait": lambda host: (-host.wait, host.host),
    "queued": lambda host: (-host.queued, host.host),
    "delay": lambda host: (-(host.delay or 0.0), host.host),
    "host": lambda host: (0.0, host.host),
}
"""The orders of hosts."""
STATES = ("", "asked", "backing off", "waiting", "due")
"""The states that hosts are shown of; empty for all."""
KEYS = "s sort   f filter   / host   esc all   q quit"


class Screen(NamedTuple):
    """What somebody has chosen with keys.

    >>> screen = Screen().press("s").press("f").press("/").press("n").press("e")
    >>> screen.sort, screen.state, screen.host, screen.is_typing
    ('queued', 'asked', 'ne', True)
    >>> screen.press("\\r").press("q").is_over
    True
    """

    sort: str = "wait"
    state: str = ""
    host: str = ""
    """Only hosts whose name contains this."""
    is_typing: bool = False
    is_over: bool = False

    def press(self, key: str) -> "Screen":
        """What is chosen after a key; unknown keys change nothing."""
        if self.is_typing:
            return self._type(key)
        changes: dict[str, dict[str, Any]] = {
            "q": {"is_over": True},
            "s": {"sort": _next(tuple(SORTS), self.sort)},
            "f": {"state": _next(STATES, self.state)},
            "/": {"is_typing": True, "host": ""},
            "\x1b": {"state": "", "host": ""},
        }
        return self._replace(**changes.get(key, {}))

    def _type(self, key: str) -> "Screen":
        if key in ("\r", "\n"):
            return self._replace(is_typing=False)
        if key == "\x1b":
            return self._replace(is_typing=False, host="")
        if key in ("\x7f", "\b"):
            return self._replace(host=self.host[:-1])
        if key.isprintable():
            return self._replace(host=(self.host + key.lower())[:_MAX_HOST])
        return self

    def hosts(self, hosts: Iterable[HostLine]) -> list[HostLine]:
        """The hosts that are chosen, in the order that is."""
        chosen = (
            host
            for host in hosts
            if self.host in host.host.lower() and self.state in ("", host.state)
        )
        return sorted(chosen, key=SORTS[self.sort])


def _next(choices: tuple[str, ...], now: str) -> str:
    return choices[(choices.index(now) + 1) % len(choices)]


def render(
    snapshot: CrawlSnapshot,
    rate: Rate | None,
    screen: Screen,
    problem: str = "",
    height: int | None = None,
) -> "RenderableType":
    """The whole view; with a height, as much as a screen of so many lines shows."""
    from rich.console import Group
    from rich.text import Text

    parts: list[RenderableType] = []
    if problem:
        parts.append(_line(f"cannot be read now, shown as it was: {printable(problem)}", "red"))
    parts += map(_line, _totals(snapshot, rate))
    rows = _ROWS * 2 if height is None else max(height - _FIXED, 3)
    hosts = screen.hosts(snapshot.progress.active)
    parts += [
        Text(),
        _line(_hosts_line(snapshot, screen, len(hosts)), "bold"),
        _hosts(hosts[:rows]),
    ]
    parts += _workers(snapshot)
    if snapshot.slowest:
        parts += [Text(), _line("slowest pages", "bold"), _slowest(snapshot)]
    if snapshot.progress.retries:
        parts += [Text(), _line("requested again", "bold"), _retries(snapshot)]
    if height is not None:
        typed = f"hosts with: {printable(screen.host)}_   enter keeps, esc drops"
        parts += [Text(), _line(typed if screen.is_typing else KEYS, "dim")]
    return Group(*parts)


def _line(text: str, style: str = "") -> "RenderableType":
    from rich.text import Text

    return Text(text, style, overflow="ellipsis", no_wrap=True)


def _totals(snapshot: CrawlSnapshot, rate: Rate | None) -> Iterable[str]:
    progress, status = snapshot.progress, snapshot.status
    living = sum(worker.ended == RUNNING for worker in progress.workers)
    state = printable(cut(progress.ended, 120))
    if progress.is_stopping:
        state = "finishing the running requests"
    elif progress.is_running:
        state = f"running, with {count(living, 'worker')}"
    start = printable(cut(progress.start.partition(" ")[0], _MAX_URL))
    yield f"crawl {progress.crawl} of {start}: {state}, for {duration(progress.seconds)}"
    states, budget = progress.states, progress.budget
    yield (
        f"pages     {states.get('done', 0):,} done, {states.get('failed', 0):,} failed,"
        f" {states.get('blocked', 0):,} blocked, {states.get('queued', 0):,} queued;"
        f" {budget.pages:,} of {count(budget.max_pages, 'page')},"
        f" {progress.seconds / 60:.1f} of {minutes(budget.max_minutes)}"
    )
    average = budget.pages / progress.seconds if progress.seconds > 0 else 0.0
    rates = f"{average:.1f} requests a second on average; {size(progress.bytes)}"
    if rate is not None and progress.is_running:
        rates = (
            f"{rate.requests:.1f} requests a second, {average:.1f} on average;"
            f" {size(round(rate.bytes))} a second, {size(progress.bytes)} in total"
        )
    yield f"rate      {rates}"
    answers = [*status.statuses.items(), ("redirects", status.redirects), *status.failures.items()]
    shown = [f"{printable(cut(name, 40))}: {number:,}" for name, number in answers if number]
    yield f"answers   {', '.join(shown[:12]) or 'none so far'}"


def _hosts_line(snapshot: CrawlSnapshot, screen: Screen, shown: int) -> str:
    states = ("asked", "backing_off", "waiting", "due", "finished")
    hosts = snapshot.progress.hosts
    counts = [f"{hosts[name]:,} {name.replace('_', ' ')}" for name in states if hosts.get(name)]
    line = f"hosts     {', '.join(counts) or 'none yet'}"
    chosen = [screen.state] if screen.state else []
    if screen.host:
        chosen.append(f"with {printable(screen.host)!r}")
    if chosen:
        line += f"; shown: {', '.join(chosen)} ({shown:,})"
    return f"{line}; by {screen.sort}"


def _hosts(hosts: list[HostLine]) -> "RenderableType":
    rows = [
        (
            cut(host.host, _MAX_HOST),
            host.state,
            "" if host.delay is None else duration(host.delay),
            f"in {duration(host.wait)}" if host.wait > 0 else "now",
            f"{host.queued:,}" + ("+" if host.queued >= 10_000 else ""),
            "" if host.worker is None else str(host.worker),
        )
        for host in hosts
    ]
    return _table(("host", "state", "delay", "next", "queued", "worker"), rows)


def _workers(snapshot: CrawlSnapshot) -> "list[RenderableType]":
    from rich.text import Text

    workers = sorted(snapshot.progress.workers, key=lambda worker: worker.ended != RUNNING)
    rows = [
        (
            str(worker.worker),
            cut(worker.name, 40),
            cut(worker.ended, 40),
            f"{worker.requests:,}",
            f"{worker.failed:,}",
            size(worker.bytes),
        )
        for worker in workers[:_WORKERS]
    ]
    if not rows:
        return []
    more = f", {len(workers) - len(rows):,} more" if len(workers) > len(rows) else ""
    header = ("worker", "name", "state", "requests", "failed", "downloaded")
    return [Text(), _line(f"workers   {len(workers):,}{more}", "bold"), _table(header, rows)]


def _slowest(snapshot: CrawlSnapshot) -> "RenderableType":
    rows = [
        (duration(page.seconds), str(page.status), size(page.bytes), cut(page.url, _MAX_URL))
        for page in snapshot.slowest[:_FEW]
    ]
    return _table(("", "", "", ""), rows)


def _retries(snapshot: CrawlSnapshot) -> "RenderableType":
    rows = [
        (f"{duration(max(retry.ago, 0.0))} ago", cut(retry.why, 40), cut(retry.url, _MAX_URL))
        for retry in snapshot.progress.retries[:_FEW]
    ]
    return _table(("", "", ""), rows)


def _table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> "RenderableType":
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=any(header))
    for name in header:
        table.add_column(name, header_style="dim", no_wrap=True, overflow="ellipsis")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    return table
