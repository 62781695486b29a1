"""A crawl of a generated site by the command, and what is in its store and in the server's log."""

import json
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from tests.crawler.generated import AGENT, ALIKE, ATTEMPTS, Fate, Site, Truth
from tests.crawler.generated_server import ROOT, Log, Server, Visit

LATE = 0.020
"""Seconds by which a request may come too early: the one before it may have been on its way for so
long."""
RARELY = 0.050
"""The same, for one of a thousand."""
JITTER = 0.2
STANDSTILL = 180.0
"""Seconds after which a crawl has come to a standstill; none takes nearly as long."""

SETTINGS: dict[str, Any] = {
    "min_delay": 0.1,
    "max_delay": 0.12,
    "adaptive_factor": 0.0,
    "concurrency": 2,
    "connections": 40,
    "attempts": ATTEMPTS,
    "initial_backoff": 0.3,
    "backoff_jitter": JITTER,
    "backoff_window": 0.0,
    "trap_alike": ALIKE,
    "drop_tracking": True,
    "max_pages": 1_000_000,
    "max_urls": 1_000_000,
    "max_minutes": 60.0,
}


class Row(NamedTuple):
    """What a store says about a URL."""

    state: str
    reason: str
    status: int | None
    depth: int


class Stored(NamedTuple):
    """What is in a store."""

    crawls: list[tuple[int, str | None]]
    """The number of each, and why it ended."""
    pages: dict[str, Row]
    sitemaps: dict[str, Row]

    @property
    def fates(self) -> dict[str, tuple[str, str, int | None]]:
        """What became of each URL, sitemaps included."""
        return {url: row[:3] for url, row in (self.pages | self.sitemaps).items()}


_CRAWLS = "SELECT id, ended FROM crawls ORDER BY id"
_URLS = "SELECT kind, url, state, reason, status, depth FROM urls WHERE crawl = "


def stored(store: Path | str) -> Stored:
    """What is in a store: a file, or a PostgreSQL database."""
    connection: Any
    if isinstance(store, Path):
        connection = sqlite3.connect(store)
    else:
        import psycopg

        connection = psycopg.connect(store)
    try:
        crawls = connection.execute(_CRAWLS).fetchall()
        found: dict[str, dict[str, Row]] = {"page": {}, "sitemap": {}}
        latest = crawls[-1][0] if crawls else 0
        for kind, url, *row in connection.execute(f"{_URLS}{latest}").fetchall():
            assert url not in found[kind], f"{url} is there twice"
            found[kind][url] = Row(*row)
    finally:
        connection.close()
    return Stored([(number, ended) for number, ended in crawls], found["page"], found["sitemap"])


class Crawl:
    """One crawl by the command, in one or several processes after each other."""

    def __init__(self, folder: Path, urls: Iterable[str], *options: str, **changes: Any) -> None:
        self.folder, self.urls, self.options = folder, list(urls), options
        self.settings = SETTINGS | changes
        self.store: Path | str = folder / "store.db"
        self.standstills = folder / "standstills"
        self._config = folder / "manners.toml"
        lines = [f"{name} = {json.dumps(value)}" for name, value in self.settings.items()]
        self._config.write_text("\n".join(lines))

    def start(self, *, resume: bool = False) -> "subprocess.Popen[bytes]":
        """Start a process."""
        command = [
            *(sys.executable, "-m", "tests.crawler.generated_process", str(self.standstills)),
            *("crawl", *(["resume"] if resume else self.urls)),
            *("--store", str(self.store), "--config", str(self._config)),
            *("--agent", AGENT, "--allow-private", "--json", *self.options),
        ]
        with (self.folder / "out").open("ab") as out, (self.folder / "err").open("ab") as err:
            return subprocess.Popen(
                command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=out, stderr=err
            )

    def finish(
        self,
        process: "subprocess.Popen[bytes]",
        seconds: float = STANDSTILL,
        codes: tuple[int, ...] = (0, 1, 3),
    ) -> None:
        """Wait until a process ends, with one of these exit codes."""
        try:
            code = process.wait(seconds)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
            raise AssertionError(f"the crawl does not end: {self.complaints}") from None
        assert code in codes, f"exit code {code}: {self.complaints}"

    def run(self, seconds: float = STANDSTILL) -> None:
        """The whole of it in one process."""
        self.finish(self.start(), seconds, codes=(0,))  # there is always something to fetch

    @property
    def complaints(self) -> str:
        """The end of what was told on standard error."""
        return (self.folder / "err").read_text(errors="replace")[-2_000:]

    @property
    def lines(self) -> list[dict[str, Any]]:
        """What was printed."""
        return list(map(json.loads, (self.folder / "out").read_text().splitlines()))


# What holds.


def _some(problems: Iterable[object]) -> str:
    """The first few of many problems, one a line."""
    told = list(map(str, problems))
    return "\n".join(each[:300] for each in [*told[:20], f"({len(told)} in all)"] if told)


def unlike(told: dict[str, Fate], rows: dict[str, Row]) -> list[str]:
    """Where a store differs from the truth."""
    found = []
    for url in sorted(told.keys() | rows.keys()):
        fate, row = told.get(url), rows.get(url)
        if fate is None or row is None:
            found.append(f"{url}: {fate or 'not to be found'}, but {row or 'is not there'}")
        elif (row.state, row.status) != (fate.state, fate.status) or not fate.fits(row.reason):
            found.append(f"{url}: {fate}, but {row}")
    return found


def check_store(told: Truth, found: Stored) -> None:
    """Every URL has the fate that it has to have; the crawl has ended."""
    differences = unlike(told.pages, found.pages) + unlike(told.sitemaps, found.sitemaps)
    assert not differences, _some(differences)
    assert [(number, bool(ended)) for number, ended in found.crawls] == [(1, True)]


def check_requests(told: Truth, log: Log, surplus: int = 0) -> None:
    """Exactly what is to be asked for was, as often as that; but for so many."""
    wanted, seen = Counter(told.requests), log.requests
    never, forbidden = wanted.keys() - seen.keys(), seen.keys() - wanted.keys()
    assert not forbidden, f"asked for, and never to be:\n{_some(sorted(forbidden))}"
    assert not never, f"never asked for:\n{_some(sorted(never))}"
    more, less = seen - wanted, wanted - seen
    assert more.total() <= surplus, f"asked for too often:\n{_some(more.items())}"
    assert not less or surplus, f"asked for too rarely:\n{_some(less.items())}"


def check_manners(site: Site, log: Log, settings: dict[str, Any]) -> None:
    """No host was asked for too much at a time, nor too early."""
    assert log.visits
    assert log.most_at_once() <= settings["connections"]
    early: list[tuple[float, str, str]] = []
    for address in log.hosts:
        host = site.hosts[address]
        assert log.most_at_once(address) <= settings["concurrency"], address
        early += log.early(address, settings["min_delay"], host.crawl_delay)
    early = sorted((each for each in early if each[0] > LATE), reverse=True)
    # What a busy machine does to a process is not seen to the last millisecond.
    is_rare = len(early) <= len(log.visits) / 1_000 and early[:1] < [(RARELY, "", "")]
    assert is_rare, f"too early by:\n{_some(early)}"


def check_retries(log: Log, settings: dict[str, Any]) -> None:
    """What failed is left alone for a while; so is the host that says that it is too much."""
    by_url: dict[str, list[Visit]] = {}
    for visit in log.visits:
        by_url.setdefault(visit.url, []).append(visit)
    backoff, early = settings["initial_backoff"] * (1 - JITTER), []
    for visits in by_url.values():
        for number, (before, after) in enumerate(pairwise(visits)):
            wait = after.at - before.left
            if wait < (1.0 if before.status == 429 else backoff * 2**number) - LATE:
                early.append((wait, before.status, before.url))
    assert not early, f"asked for again too soon:\n{_some(early)}"
    for told in log.visits:
        if told.status in (429, 503):
            until = told.left + (1.0 if told.status == 429 else backoff) - LATE
            heedless = [each for each in log.at(told.host) if told.left < each.at < until]
            assert len(heedless) <= 1, f"{told.url}:\n{_some(heedless)}"  # one may be on its way


def check_lines(told: Truth, lines: Iterable[dict[str, Any]]) -> None:
    """What was printed: every page that was asked for once, with what came of it."""
    printed = [line for line in lines if line.get("state") in ("done", "failed")]
    assert len(printed) == len({line["url"] for line in printed})
    fetched = {url: fate for url, fate in told.pages.items() if fate.state != "blocked"}
    assert {line["url"]: (line["state"], line["status"]) for line in printed} == {
        url: (fate.state, fate.status) for url, fate in fetched.items()
    }


def check(server: Server, crawl: Crawl, told: Truth) -> Log:
    """All of it, of a crawl that nothing disturbed."""
    log = server.log(crawl.standstills)
    check_requests(told, log)
    check_store(told, stored(crawl.store))
    check_lines(told, crawl.lines)
    check_manners(server.site, log, crawl.settings)
    check_retries(log, crawl.settings)
    return log
