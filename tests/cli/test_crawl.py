"""`manners crawl`: sites on loopback, from arguments to lines, stores, files and exit codes."""

import asyncio
import fcntl
import io
import json
import os
import pty
import re
import select
import signal
import sqlite3
import struct
import subprocess
import sys
import termios
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

import pytest
from rich.console import Console

from manners.cli import main
from manners.cli.saving import file_of
from manners.cli.watching import Watch
from manners.crawler.crawl import Crawl
from manners.crawler.fleet_values import LeaseWait
from manners.evidence.store import EvidenceStore
from manners.identity import default_user_agent
from manners.settings import Settings
from tests.cli.running import AT_ONCE, Run, runner, settle, without_times
from tests.contracts.postgres import Postgres
from tests.contracts.valkey import Valkey
from tests.crawler.site import html, urlset
from tests.evidence.places import execute
from tests.faults.server import Call, Handler, Site, by_address, by_path, in_thread, page

SHOP, GONE, CLOSED, BAD, HOSTILE, SLOW, HELD, DELAYED, LONG, NIGHTS, VAST = (
    f"127.0.5.{last}" for last in range(1, 12)
)


def lines(*texts: str) -> Handler:
    return page("\n".join(texts).encode())


OPEN = lines("User-agent: *", "Allow: /")


async def sitemap(call: Call) -> None:
    base = f"http://{call.address}:{call.port}"
    await call.reply(200, urlset(f"{base}/a", f"{base}/listed"))


class Gate:
    """Holds back what is asked for until the test lets it go."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.asked: list[str] = []

    def let_go(self) -> None:
        self._open.set()

    def shut(self) -> None:
        self._open.clear()
        self.asked.clear()

    async def __call__(self, call: Call) -> None:
        self.asked.append((await call.request()).path)
        while not self._open.is_set():
            await asyncio.sleep(0.01)
        await html("/a", "/b", "/c", "/d")(call)


gate, robots_gate = Gate(), Gate()


async def held_robots(call: Call) -> None:
    robots_gate.asked.append((await call.request()).path)
    while not robots_gate._open.is_set():
        await asyncio.sleep(0.01)
    await OPEN(call)


NASTY = "\x1b]0;x\x07\x9b31m\x85\u202e[bold red]no[/bold red] [link=http://x]y[/link]"


async def hostile(call: Call) -> None:
    visit = await call.request()
    match visit.path:
        case "/robots.txt":
            await call.reply(200, b"User-agent: *\nDisallow: /x #\x1b]0;x\x07\xff[bold]\n")
        case "/sitemap.xml":
            await call.reply(404)
        case "/reset":
            await call.reply(302, b"", [("Location", "/[bold]moved[/bold]?\x1b[2J")])
        case _:
            body = (
                f"<title>{NASTY}</title><a href='/x\x1b[2J'>1</a><a href='/[bold]b[/bold]'>2</a>"
                "<a href='/\u202e\x85'>3</a><a href='/reset'>4</a>"
            )
            await call.reply(200, body.encode(), [("Content-Type", "text/html; charset=utf-8")])


async def not_now(call: Call) -> None:
    """A robots.txt by which one hour is left, the one that is furthest from now."""
    hour = (datetime.now(UTC).hour + 12) % 24
    said = f"User-agent: *\nVisit-time: {hour:02}00-{hour:02}59\n\nUser-agent: Daily\nAllow: /\n"
    await call.reply(200, said.encode(), [("Content-Type", "text/plain")])


HANDLERS: dict[str, Handler] = {
    SHOP: by_path(
        {
            "/robots.txt": lines("User-agent: *", "Disallow: /private/"),
            "/sitemap.xml": sitemap,
            "/": html("/a", "/private/x", "/gone", "/old", head="<title>The shop</title>"),
            "/a": html("https://elsewhere.example/", '<a rel="nofollow" href="/n">n</a>'),
            "/listed": page(b"hello", headers=[("Content-Type", "text/plain")]),
            "/gone": page(status=410),
            "/old": page(status=301, headers=[("Location", "/a")]),
        }
    ),
    GONE: page(status=503),
    CLOSED: by_path({"/robots.txt": lines("User-agent: *", "Disallow: /")}),
    BAD: by_path({"/robots.txt": OPEN}, page(status=500)),
    HOSTILE: hostile,
    SLOW: by_path({"/robots.txt": OPEN, "/sitemap.xml": page(status=404)}, gate),
    HELD: by_path({"/robots.txt": held_robots}, html()),
    NIGHTS: by_path({"/robots.txt": not_now}, html()),
    DELAYED: by_path({"/robots.txt": lines("User-agent: *", "Crawl-delay: 1000")}, html("/a")),
    LONG: by_path(
        {"/robots.txt": OPEN, **{f"/{n}": html(f"/{n + 1}") for n in range(400)}},
    ),
    VAST: by_path(
        {"/robots.txt": OPEN, **{f"/{n}": html(f"/{n + 1}") for n in range(10_000)}},
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with in_thread(Site(by_address(HANDLERS))) as site:
        yield site
        assert site.failures == []


@pytest.fixture
def site(server: Site) -> Iterator[Site]:
    server.log.clear()
    gate.shut()
    robots_gate.shut()
    yield server
    gate.let_go()
    robots_gate.let_go()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is waited for that no robots.txt asks for, one thing after another, in a folder."""
    settle(monkeypatch, tmp_path, **AT_ONCE, INITIAL_BACKOFF="0.01", CONCURRENCY="1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""

    return runner(capsys, "crawl")


def paths(site: Site) -> list[str]:
    return [visit.path for visit in site.log if visit.path != "/robots.txt"]


# What is printed.


def test_a_line_for_each_page_and_a_summary(run: Run, site: Site) -> None:
    """Where it begins, what came of each page, how it ended, and what to type next."""
    ran = run(site.url(SHOP))
    base = site.url(SHOP, "")
    assert (ran.code, ran.err) == (0, "")
    shown = without_times(ran.out).splitlines()
    size = "[0-9,]+ bytes"
    first, pages, rest = shown[0], shown[1:7], shown[7:]
    assert first == f"crawling {base}/ as {default_user_agent()}"
    assert re.fullmatch(rf"200      {base}/  {size}, TIME  The shop", pages[0])
    expected = [
        rf"200      {base}/a  {size}, TIME",
        rf"200      {base}/listed  5 bytes, TIME",
        rf"410      {base}/gone  0 bytes, TIME",
        rf"301      {base}/old  to {base}/a",
        rf"blocked  {base}/private/x  line 2: Disallow: /private/",
    ]
    for pattern in expected:
        assert any(re.fullmatch(pattern, line) for line in pages[1:]), pattern
    assert rest[:2] == ["", f"crawl 1 of {base}/"]
    assert re.fullmatch(
        r"began \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC, ran for TIME: finished", rest[2]
    )
    assert rest[3:9] == [
        "  fetched          4  200: 3, 410: 1, and 1 redirect",
        "  failed           0",
        "  blocked          3",
        "            1  nofollow: rel=nofollow",
        "            1  other-host: elsewhere.example",
        "            1  line 2: Disallow: /private/",
    ]
    assert rest[9] == "  left             0"
    assert re.fullmatch(rf"{size} from 1 host, 1 sitemap, stored in manners.db", rest[10])
    assert rest[11:] == [
        "verify the evidence: manners evidence verify",
        "create a report: manners report",
    ]


def test_json_has_a_line_for_each_page_and_one_at_the_end(run: Run, site: Site) -> None:
    """Everything that is known of a page; nothing else is printed."""
    ran = run("--json", site.url(SHOP))
    base = site.url(SHOP, "")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.isascii()
    *pages, last = ran.objects
    home = pages[0]
    assert (home["url"], home["state"], home["status"]) == (f"{base}/", "done", 200)
    assert (home["title"], home["depth"], home["type"]) == ("The shop", 0, "text/html")
    assert home["links"] == [f"{base}/{name}" for name in ("a", "private/x", "gone", "old")]
    found = {each["url"].removeprefix(base): each for each in pages}
    assert found["/private/x"]["state"] == "blocked"
    assert found["/private/x"]["hops"][0]["verdict"]["line"] == 2
    assert found["/old"]["location"] == f"{base}/a"
    assert found["/listed"]["found_in"] == f"{base}/sitemap.xml"
    for each in pages:
        assert {"url", "state", "reason", "depth", "found_in", "attempts", "title", "type"} < set(
            each
        )
        assert {"sha256", "links", "status", "bytes", "seconds", "evidence_id"} < set(each)
    assert list(last) == ["crawl"]
    assert last["crawl"]["ended"] == "finished"
    assert last["crawl"]["states"] == {"blocked": 3, "done": 5}


def test_the_first_line_comes_before_anything_is_asked(site: Site) -> None:
    """Somebody who watches sees at once that it has begun."""
    with start(site.url(HELD), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        assert process.stdout.readline() == f"crawling {site.url(HELD)} as {default_user_agent()}\n"
        waits_for(lambda: robots_gate.asked)  # nothing has been answered yet
        robots_gate.let_go()
        assert f"200      {site.url(HELD)}" in process.communicate(timeout=60)[0]
        assert process.returncode == 0


def test_pages_are_printed_as_they_come(site: Site) -> None:
    """Not at the end: each is in the hands of the next program when it is done."""
    with start("--json", site.url(SLOW), stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        gate.let_go()
        first = json.loads(process.stdout.readline())
        assert first["url"] == site.url(SLOW)
        gate.shut()
        process.send_signal(signal.SIGINT)
        gate.let_go()
        process.communicate(timeout=60)


# Exit codes.


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        (SHOP, 0, "fetched          4"),
        (CLOSED, 1, "line 2: Disallow: /"),
        (GONE, 3, "unreachable"),
        (BAD, 3, "failed           1"),
        (BAD, 3, "retried          2  500: 2"),
    ],
)
def test_exit_codes(run: Run, site: Site, address: str, code: int, words: str) -> None:
    """0 when pages were fetched, 1 when nothing may be, 3 when nothing could be."""
    ran = run(site.url(address))
    assert ran.code == code
    assert words in ran.out
    ran = run("--json", site.url(address))
    assert ran.code == code


@pytest.mark.parametrize(
    ("address", "code", "words"),
    [
        (CLOSED, 1, "not-named"),
        (GONE, 3, "unreachable"),
        (BAD, 3, "0 sitemaps and 1 that failed"),
    ],
)
def test_exit_codes_of_sitemaps_alone(
    run: Run, site: Site, address: str, code: int, words: str
) -> None:
    """Where none could be read, nobody knows what may be fetched."""
    ran = run("--source", "sitemap", site.url(address))
    assert ran.code == code
    assert words in ran.out


def test_one_site_of_several_is_enough(run: Run, site: Site) -> None:
    """What could not be asked is told."""
    ran = run(site.url(GONE), site.url(SHOP), site.url(CLOSED))
    assert ran.code == 0
    assert "  unreachable" in ran.out


def test_a_limit_that_is_reached_is_no_failure(run: Run, site: Site) -> None:
    """It is said which, and how to go on."""
    ran = run("--max-pages", "2", "--store", "my.db", site.url(SHOP))
    assert ran.code == 0
    assert ": page limit reached: 2 pages" in ran.out
    assert (
        "resume with a higher --max-pages or --max-minutes: manners crawl resume --store my.db"
        in ran.lines
    )


def test_a_host_that_wants_to_wait_longer_than_there_is_time(run: Run, site: Site) -> None:
    """It is fetched from as far as it goes, and the rest is left."""
    ran = run("--source", "links", "--max-minutes", "5", site.url(DELAYED))
    assert ran.code == 0
    assert ": time limit: no host may be asked again before it" in ran.out
    assert "  left             1" in ran.lines


# Limits and choices.


def test_options_say_how_far_it_goes(run: Run, site: Site) -> None:
    """Depth, source, exclusions, inclusions."""
    run("--depth", "3", "--source", "links", site.url(LONG, "/0"))
    assert paths(site) == ["/0", "/1", "/2", "/3"]
    site.log.clear()
    run("--source", "sitemap", site.url(SHOP))
    assert sorted(paths(site)) == ["/a", "/listed", "/sitemap.xml"]
    site.log.clear()
    run("--exclude", "/a", "--exclude", "*gone", "--source", "links", site.url(SHOP))
    assert sorted(paths(site)) == ["/", "/old"]
    site.log.clear()
    run("--include", "/old", "--source", "links", site.url(SHOP))
    assert sorted(paths(site)) == ["/", "/old"]
    site.log.clear()
    run("--agent", "OtherBot", "--user-agent", "Other/2.0", site.url(SHOP))
    assert {visit.headers["user-agent"] for visit in site.log} == {"Other/2.0"}


def test_minutes_are_a_limit(run: Run, site: Site) -> None:
    """What is left is said."""
    ran = run("--max-minutes", "0.02", "--max-pages", "100000", site.url(VAST, "/0"))
    assert ran.code == 0
    assert ": time limit reached: 0.02 minutes" in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "no start URL: pass one, or --urls FILE; or `manners crawl resume`"),
        (["resume", "--store", "none.db"], "none.db"),
        (["ftp://example.com/"], "not an http or https URL"),
        (["nonsense"], "'nonsense'"),
        (["--source", "map", "http://a.example/"], "source"),
        (["--max-pages", "0", "http://a.example/"], "--max-pages: must be at least 1"),
        (["--max-pages", "x", "http://a.example/"], "max-pages"),
        (["--max-minutes", "0", "http://a.example/"], "--max-minutes: must be"),
        (["--depth", "-1", "http://a.example/"], "--depth: must be at least 0"),
        (["--exclude", "re:(", "http://a.example/"], "exclude"),
        (["--store", "no/folder.db", "http://a.example/"], "no/folder.db"),
        (["--store", "mysql://x/y", "http://a.example/"], "not a store"),
        (["status", "--store", "none.db"], "none.db"),
        (["status", "1", "b.db"], "unexpected extra argument(s) (b.db)"),
        (["status", "a.db", "--store", "b.db"], "takes one store"),
        (["status", "--max-pages", "3"], "No such option: --max-pages"),
        (["status", "--resume"], "No such option: --resume"),
        (["status", "--no-same-domain"], "No such option: --no-same-domain"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_mistakes_are_told_in_one_line(run: Run, arguments: list[str], words: str) -> None:
    """2, and nothing is left behind."""
    ran = run(*arguments)
    assert ran.code == 2
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (["--resume"], ["resume"], "`crawl --resume` is now `crawl resume [N]`"),
        (["--resume", "--crawl", "1"], ["resume", "1"], "`crawl --resume` is now"),
        (["status", "manners.db"], ["status"], "is now `crawl status --store STORE`"),
        (["status", "--crawl", "1"], ["status", "1"], "is now `crawl status N`"),
        (["--json", "status"], ["status", "--json"], "is now `crawl status [OPTIONS]`"),
        (["--crawl", "1", "status"], ["status", "1"], "is now `crawl status [OPTIONS]`"),
        (["list", "manners.db"], ["list"], "is now `crawl list --store STORE`"),
        (["--json", "list"], ["list", "--json"], "is now `crawl list [OPTIONS]`"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_old_forms_of_subcommands_work_with_a_warning(
    run: Run, site: Site, old: list[str], new: list[str], words: str
) -> None:
    """Both do the same, and the warning says what to write."""
    assert run("--source", "links", site.url(SHOP)).code == 0
    first, second = run(*old), run(*new)
    assert first.code == second.code
    assert without_times(first.out) == without_times(second.out)
    assert words in first.err
    assert first.err.startswith("manners: warning: ")
    assert first.err.endswith("; the old form works until 1.0\n")
    assert second.err == ""


def test_a_crawl_that_was_stored_with_old_names_of_settings_is_resumed(
    run: Run, site: Site
) -> None:
    """Without a warning: nobody wrote them; then they are stored under the new names."""
    assert run("--max-pages", "1", "--source", "links", site.url(SHOP)).code == 0
    with closing(sqlite3.connect("manners.db")) as database, database:
        (stored,) = database.execute("select settings from crawls").fetchone()
        old = {"delay_least": 0.01, "delay_most": 0.02, "max_found": 5000, "page_redirects": 4}
        values = json.loads(stored)
        values = {name: values[name] for name in values if name not in ("min_delay", "max_delay")}
        database.execute("update crawls set settings = ?", [json.dumps(values | old)])
    ran = run("resume", "--max-pages", "100")
    assert ran.code == 0
    assert "delay_least" not in ran.err
    with closing(sqlite3.connect("manners.db")) as database:
        (stored,) = database.execute("select settings from crawls").fetchone()
    found = json.loads(stored)
    assert (found["min_delay"], found["max_delay"]) == (0.01, 0.02)
    assert (found["max_discovered"], found["page_max_redirects"]) == (5000, 4)
    assert not old.keys() & found.keys()


@pytest.mark.parametrize("subcommand", ["resume", "status", "list"])
def test_a_subcommand_has_a_help_of_its_own(run: Run, subcommand: str) -> None:
    """With its own usage line; `crawl -h` has the options of a crawl and names the subcommands."""
    ran = run(subcommand, "-h")
    assert ran.code == 0
    assert f"Usage: manners crawl {subcommand} [OPTIONS]" in ran.out
    crawl = run("-h")
    assert "Usage: manners crawl [OPTIONS] [URL]..." in crawl.out
    assert subcommand in crawl.out
    assert "--max-pages" in crawl.out


def test_hosts_with_the_names_of_subcommands_can_be_crawled(run: Run) -> None:
    """With their scheme, they are URLs."""
    ran = run("https://status/", "--dry-run", "--source", "links")
    assert "https://status/" in ran.out


def test_a_store_without_a_crawl(run: Run) -> None:
    """Is told as such, whether one wants to look or to go on."""
    EvidenceStore("proof.db").close()
    for arguments in (["resume", "--store", "proof.db"], ["status", "--store", "proof.db"]):
        ran = run(*arguments)
        assert (ran.code, ran.err.count("\n")) == (2, 1)
        assert "there is no crawl in it" in ran.err


def test_private_addresses_are_refused_unless_allowed(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing arrives, and it could not be decided."""
    monkeypatch.delenv("MANNERS_ALLOW_PRIVATE")
    ran = run(site.url(SHOP))
    assert (ran.code, site.log) == (3, [])
    assert run("--allow-private", site.url(SHOP)).code == 0


def test_a_refused_address_is_warned_of(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As by check, get and discover: it says how to change that."""
    monkeypatch.delenv("MANNERS_ALLOW_PRIVATE")
    assert "--allow-private" in run(site.url(SHOP)).err


# Going on.


def test_it_goes_on_where_it_was(run: Run, site: Site) -> None:
    """With the options that it was given, unless there are others; no page twice."""
    url = site.url(LONG, "/0")
    ran = run("--max-pages", "3", "--source", "links", "--depth", "8", "--agent", "MyBot", url)
    assert ran.code == 0
    ran = run("resume")
    assert ran.lines[0] == "crawling the URLs in the store as MyBot"
    assert ": page limit reached: 3 pages" in ran.out
    assert paths(site) == ["/0", "/1", "/2"]
    ran = run("resume", "--max-pages", "6")
    assert paths(site) == [f"/{n}" for n in range(6)]
    ran = run("resume")
    assert ": page limit reached: 6 pages" in ran.out  # what was said last counts
    ran = run("resume", "--max-pages", "600")
    assert paths(site) == [f"/{n}" for n in range(9)]
    assert ": finished" in ran.out
    run("resume", "--depth", "10", site.url(SHOP))  # deeper, and another site
    assert set(paths(site)[9:]) == {"/9", "/10", "/", "/a", "/gone", "/old"}
    assert max(Counter(paths(site)).values()) == 1


def test_settings_of_the_first_run_are_kept(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also those from the environment and from a file, which may be gone."""
    Path("manners.toml").write_text('exclude = ["/gone"]\n')
    run("--max-pages", "1", "--source", "links", site.url(SHOP))
    Path("manners.toml").unlink()
    monkeypatch.delenv("MANNERS_ALLOW_PRIVATE")
    ran = run("resume", "--max-pages", "100")
    assert ran.code == 0
    assert "excluded: /gone" in ran.out
    assert "/gone" not in paths(site)
    assert {"/a", "/old"} < set(paths(site))


def test_no_password_is_kept_or_shown(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not that of a URL, of a proxy, or of a cache."""
    monkeypatch.setenv("MANNERS_PROXY", "http://me:secret@127.0.0.1:1/")
    monkeypatch.setenv("MANNERS_CACHE", "valkey://me:secret@127.0.0.1:1/0")
    url = site.url(SHOP).replace("//", "//me:secret@")
    for arguments in ([url], ["--json", url], ["resume"], ["status"]):
        ran = run(*arguments)
        assert "secret" not in ran.out + ran.err
    for file in Path().iterdir():
        assert b"secret" not in file.read_bytes()


def test_politeness_is_shared_by_a_server(
    run: Run, site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While it is away nothing is asked, and there is a word about it; then the crawl goes on."""
    monkeypatch.setattr("manners.crawler.run.RETRY_SECONDS", 0.1)
    monkeypatch.setenv("MANNERS_SERVER_TIMEOUT", "1")  # less than the server stands still
    folder = tmp_path / "valkey"
    folder.mkdir()
    server = Valkey(folder)
    for minutes in ("0.02", "0.2", "2"):  # on a busy machine, they are over before it has begun
        ran = run("--new", "--max-minutes", minutes, "--politeness", server.url, site.url(SHOP))
        assert (ran.code, paths(site)) == (3, [])
        if ran.err:
            break
    assert f"'{server.url}'" in ran.err
    assert "no request may start until it answers again" in ran.err
    server.start()
    try:
        os.kill(server.pid, signal.SIGSTOP)  # it is there, and says nothing
        waking = threading.Timer(3.0, os.kill, (server.pid, signal.SIGCONT))
        waking.start()
        ran = run("--politeness", server.url, "--source", "links", site.url(SHOP))
        waking.join()
        assert (ran.code, paths(site)[0]) == (0, "/")
        assert "no request may start until it answers again" in ran.err
        # Whoever goes on goes on with the others, and needs not say so.
        how = ("--source", "links", "--max-pages", "1", "--politeness", server.url)
        run(*how, site.url(SHOP))
    finally:
        server.kill()
    fetched = len(site.log)
    for minutes in ("0.02", "0.2", "2"):
        ran = run("resume", "--max-pages", "9", "--max-minutes", minutes)
        assert len(site.log) == fetched
        if ran.err:
            break
    assert "no request may start until it answers again" in ran.err


def test_the_password_of_a_database_is_not_shown(run: Run, site: Site, postgres: Postgres) -> None:
    """Nor kept."""
    place = postgres.database().replace("postgres@", "postgres:secret@")
    assert ":secret@" in place
    for arguments in (
        ["--store", place, "--max-pages", "1", site.url(SHOP)],
        ["resume", "--store", place],
        ["status", "--store", place],
        ["status", "--store", place, "--json"],
    ):
        ran = run(*arguments)
        assert ran.code == 0
        assert "secret" not in ran.out + ran.err, arguments
    assert "secret" not in str(execute(place, "SELECT * FROM crawls"))


def test_the_same_in_postgresql(run: Run, site: Site, postgres: Postgres) -> None:
    """CrawledPage, looked at, gone on with, verified."""
    place = postgres.database()
    assert run("--store", place, "--max-pages", "2", site.url(SHOP)).code == 0
    assert run("resume", "--store", place, "--max-pages", "50").code == 0
    ran = run("status", "--store", place)
    assert "  fetched          4  200: 3, 410: 1, and 1 redirect" in ran.lines
    assert main(["evidence", "verify", "--store", place]) == 0


def test_a_resume_says_that_it_waits_for_a_lease(
    run: Run, site: Site, postgres: Postgres, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a worker that was killed: once, on standard error; and how long it takes at most."""
    monkeypatch.setenv("MANNERS_WORKER_LEASE", "1")
    place = postgres.database()
    assert run("--store", place, "--max-pages", "2", site.url(SHOP)).code == 0
    execute(
        place,
        "UPDATE workers SET ended = NULL, seen = seen - 60,"
        " until = extract(epoch FROM clock_timestamp()) + 2",
        "UPDATE crawls SET ended = NULL",
    )
    ran = run("resume", "--store", place, "--max-pages", "50", "--json")
    assert ran.code == 0
    assert ran.objects[-1]["crawl"]["ended"] == "finished"
    (line,) = (line for line in ran.err.splitlines() if "waiting" in line)
    told = r"manners: warning: waiting for worker 1 \(.+:\d+\), not heard of: its hosts are free"
    assert re.fullmatch(rf"{told} in [\d.]+ s at the latest", line)


def test_the_live_view_says_that_a_lease_is_waited_for() -> None:
    """In the line of the pages, with the time that is left."""
    crawl = Crawl(["http://127.0.5.1/"], Settings())
    crawl._state.wait(LeaseWait(("worker 1 (db:7)",), time.time() + 1e6), time.time())
    pages, _ = Watch(crawl).lines()
    assert "0 left; waiting for worker 1 (db:7), not heard of: its hosts are free in 11 d" in pages


# How it stands.


def test_the_status_of_a_crawl(run: Run, site: Site) -> None:
    """The same summary as at the end, as text and as JSON, by any way to name the store."""
    ran = run("--store", "my.db", site.url(SHOP))
    at_the_end = ran.lines[8:-2]
    shown = run("status", "--store", "my.db")
    assert (shown.code, shown.lines) == (0, at_the_end)
    assert run("status", "--store", "my.db").lines == at_the_end
    run(site.url(SHOP))
    assert run("status").lines[-1].endswith("stored in manners.db")
    (told,) = run("status", "--store", "my.db", "--json").objects
    assert told["ended"] == "finished"
    assert (told["statuses"], told["redirects"]) == ({"200": 3, "410": 1}, 1)
    assert (told["fetched"], told["left"], told["resumable"]) == (4, 0, False)
    assert told["states"] == {"blocked": 3, "done": 5}
    assert {each["reason"] for each in told["blocked"]} == {
        "nofollow",
        "other-host",
        "rule-matched",
    }


def test_to_look_at_a_store_changes_nothing(run: Run, site: Site) -> None:
    """No file is made, and none is left."""
    run("--store", "my.db", site.url(SHOP))
    before = {each.name: each.read_bytes() for each in Path().iterdir()}
    run("status", "--store", "my.db")
    after = {each.name: each.read_bytes() for each in Path().iterdir()}
    assert before["my.db"] == after["my.db"]
    assert not [name for name in after if "crawl" in name]


def test_the_status_of_one_that_runs_and_of_one_that_was_killed(run: Run, site: Site) -> None:
    """Running; stopped unexpectedly; then resumed, and finished."""
    with start(site.url(SLOW), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        waits_for(lambda: gate.asked)
        ran = run("status", "--store", "manners.db")
        assert ": running" in ran.out
        assert "  left             1" in ran.lines
        refused = run("resume")
        assert refused.code == 2
        assert "another process works on crawl 1 of it; wait until it ends" in refused.err
        process.kill()
        process.communicate(timeout=60)
    assert ": stopped unexpectedly" in run("status", "--store", "manners.db").out
    gate.let_go()
    ran = run("resume")
    assert ran.code == 0
    assert ": finished" in run("status", "--store", "manners.db").out
    assert len(paths(site)) == len(set(paths(site))) + 1  # what was under way


# Trying it out.


def test_a_dry_run_fetches_no_page_and_writes_nothing(run: Run, site: Site) -> None:
    """It says what would be done."""
    ran = run("--dry-run", "--max-pages", "7", site.url(SHOP))
    assert ran.code == 0
    assert paths(site) == ["/sitemap.xml"]
    assert list(Path().iterdir()) == []
    assert ran.lines[0].startswith(f"allowed     {site.url(SHOP)}  no-rule-matched")
    assert "1 sitemap: 2 URLs, 2 of them allowed" in ran.lines[1]
    assert "at most 7 pages in 60 minutes" in ran.lines[2]
    (told,) = run("--dry-run", "--json", site.url(SHOP)).objects
    assert told["url"] == site.url(SHOP)
    assert told["verdict"]["allowed"] is True
    assert (told["sitemaps"], told["found"], told["allowed"]) == (1, 2, 2)
    assert (told["max_pages"], told["problem"]) == (200, "")
    site.log.clear()
    run("--dry-run", "--source", "links", site.url(SHOP))
    assert paths(site) == []
    assert list(Path().iterdir()) == []


def test_exit_codes_of_a_dry_run(run: Run, site: Site) -> None:
    """0 when there is something to fetch on every site, 1 where nothing may be, 3 where not now."""
    assert run("--dry-run", site.url(SHOP)).code == 0
    assert run("--dry-run", site.url(CLOSED)).code == 1
    assert run("--dry-run", site.url(CLOSED), site.url(SHOP)).code == 1
    assert run("--dry-run", site.url(SHOP, "/private/")).code == 0  # its sitemap names others
    assert run("--dry-run", site.url(GONE), site.url(CLOSED), site.url(SHOP)).code == 3
    ran = run("--dry-run", site.url(DELAYED))
    assert (ran.code, "16 min 40 s between requests" in ran.out) == (0, True)
    assert list(Path().iterdir()) == []


def test_a_dry_run_of_a_site_that_could_not_be_asked(run: Run, site: Site) -> None:
    """It is not known: 3."""
    assert run("--dry-run", site.url(GONE)).code == 3


def test_a_dry_run_says_when_a_site_is_not_to_be_asked_now(run: Run, site: Site) -> None:
    """By its Visit-time: what is allowed then is not now."""
    for source in ("auto", "links"):
        ran = run("--dry-run", "--source", source, site.url(NIGHTS))
        assert (ran.code, paths(site)) == (3, [])
        assert ran.lines[0].startswith(f"allowed     {site.url(NIGHTS)}")
        assert ran.lines[1].startswith(f"  {NIGHTS} is deferred until 20")
        assert len(ran.lines) == 3
    (told,) = run("--dry-run", "--json", site.url(NIGHTS)).objects
    assert told["problem"].startswith(f"{NIGHTS} is deferred until")
    assert run("--dry-run", "--agent", "Daily", site.url(NIGHTS)).code == 0


def test_a_dry_run_counts_the_sitemaps_that_are_there(run: Run, site: Site) -> None:
    """One that is missing, or may not be read, is none."""
    for address in (CLOSED, SLOW):
        assert run("--dry-run", site.url(address)).lines[1] == "  no sitemap"
        (told,) = run("--dry-run", "--json", site.url(address)).objects
        assert (told["sitemaps"], told["found"]) == (0, 0)


def test_a_dry_run_without_the_server_that_politeness_is_shared_by(run: Run, site: Site) -> None:
    """It could not be found out: 3, as with `get`; a line for each URL, and no password."""
    ran = run("--dry-run", "--politeness", "valkey://:secret@127.0.0.1:1/0", site.url(SHOP))
    assert (ran.code, ran.err, site.log) == (3, "", [])
    assert ran.lines[0].startswith("'valkey://127.0.0.1:1/0': Error")
    assert "secret" not in ran.out


def test_a_dry_run_of_going_on_says_what_is_left(run: Run, site: Site) -> None:
    """Or that it makes no sense; not nothing."""
    run("--max-pages", "1", "--source", "links", site.url(SHOP))
    site.log.clear()
    ran = run("resume", "--dry-run")
    assert site.log == []
    assert ran.out + ran.err != ""


# Files.


def test_pages_are_saved(run: Run, site: Site) -> None:
    """Those that were fetched, each in a file of its own; others have none."""
    ran = run("-o", "saved/here", site.url(SHOP))
    assert ran.code == 0
    root = Path("saved/here")
    files = {each.relative_to(root) for each in root.rglob("*") if each.is_file()}
    saved = {file_of(site.url(SHOP, path), "text/html") for path in ("/", "/a")}
    listed = file_of(site.url(SHOP, "/listed"), "text/plain")
    assert files == {*saved, listed, Path("manifest.jsonl")}
    assert (root / listed).read_bytes() == b"hello"


def test_a_folder_that_cannot_be_written_to(run: Run, site: Site) -> None:
    """Is noticed before anything is asked."""
    Path("taken").write_text("")
    ran = run("-o", "taken", site.url(SHOP))
    assert (ran.code, site.log) == (2, [])
    assert "cannot write to 'taken'" in ran.err
    assert sorted(each.name for each in Path().iterdir()) == ["taken"]


def test_a_file_that_cannot_be_written_ends_the_crawl(run: Run, site: Site) -> None:
    """The page does not count, and is asked for again when the crawl goes on."""
    blocked = Path("saved") / file_of(site.url(SHOP, "/a"), "text/html")
    blocked.mkdir(parents=True)
    (blocked / "x").write_text("")
    ran = run("-o", "saved", site.url(SHOP))
    assert ran.code == 2
    assert "cannot write" in ran.err
    assert "failed: cannot write" in run("status").out
    (blocked / "x").unlink()
    blocked.rmdir()
    ran = run("resume", "-o", "saved")
    assert ran.code == 0
    assert blocked.is_file()


# Interruptions.


def start(*arguments: str, **how: Any) -> "subprocess.Popen[Any]":
    """The command as its users have it, in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "manners", "crawl", *arguments], **how)


def waits_for(holds: Callable[[], object], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "it never held"
        time.sleep(0.01)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_finishes_what_is_under_way(
    run: Run, site: Site, number: signal.Signals
) -> None:
    """Then there is a summary, and the exit code is 130."""
    pipe = subprocess.PIPE
    with start(site.url(SLOW), stdout=pipe, stderr=pipe, text=True) as process:
        waits_for(lambda: gate.asked)
        process.send_signal(number)
        assert process.stderr
        assert process.stderr.readline() == "\n"
        said = process.stderr.readline()
        assert said == "finishing the running requests; Ctrl-C again aborts\n"
        gate.let_go()
        out, err = process.communicate(timeout=60)
        assert (process.returncode, err) == (130, "")
    assert f"200      {site.url(SLOW)}" in out
    assert ": interrupted" in out
    assert "  left             4  and 1 sitemap to read" in out.splitlines()
    assert "resume: manners crawl resume" in out.splitlines()
    assert paths(site).count("/") == 1
    ran = run("resume")
    assert ran.code == 0
    assert Counter(path for path in paths(site) if path != "/sitemap.xml") == dict.fromkeys(
        ("/", "/a", "/b", "/c", "/d"), 1
    )


def test_a_second_interruption_stops_now(run: Run, site: Site) -> None:
    """What is under way is asked for again when it goes on."""
    pipe = subprocess.PIPE
    with start(site.url(SLOW), stdout=pipe, stderr=pipe, text=True) as process:
        waits_for(lambda: gate.asked)
        process.send_signal(signal.SIGINT)
        assert process.stderr
        process.stderr.readline()
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)  # the page is never answered
        assert (process.returncode, err) == (130, "")
    assert ": interrupted" in out
    gate.let_go()
    assert run("resume").code == 0
    assert paths(site).count("/") == 2


def test_a_reader_that_stops_early(site: Site) -> None:
    """`| head -1` ends the command quietly; nothing is left beside the store; it can be resumed."""
    words = ("--source", "links", "--max-pages", "2000", site.url(LONG, "/0"))
    with start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.readline()
        process.stdout.readline()  # of the first page: it runs
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == 141
    assert [path.name for path in Path().iterdir()] == ["manners.db"]
    assert len(paths(site)) < 390
    with start("resume", stdout=subprocess.DEVNULL) as process:
        assert process.wait(120) == 0
    assert set(paths(site)) == {f"/{n}" for n in range(401)}


# On a terminal.


class Terminal:
    """The command on a terminal of its own, and what it shows."""

    def __init__(self, *arguments: str, wide: int = 120) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, wide, 0, 0))
        environment = {**os.environ, "TERM": "xterm"}
        self.process = start(
            *arguments, stdin=theirs, stdout=theirs, stderr=theirs, env=environment
        )
        os.close(theirs)
        self._shown = b""

    @property
    def shown(self) -> str:
        """All that came so far."""
        while select.select([self._ours], [], [], 0)[0]:
            try:
                piece = os.read(self._ours, 100_000)
            except OSError:  # the other end is gone
                break
            if not piece:
                break
            self._shown += piece
        return self._shown.decode("utf-8", "replace")

    @property
    def text(self) -> str:
        """The same without colours and movements of the cursor."""
        return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", self.shown)

    def until(self, words: str) -> None:
        waits_for(lambda: words in self.text or self.process.poll() is not None)
        assert words in self.text

    def ended(self) -> int:
        end = time.monotonic() + 60
        while self.process.poll() is None and time.monotonic() < end:
            _ = self.shown  # it must not be full
            time.sleep(0.01)
        _ = self.shown
        return self.process.wait(1)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(ProcessLookupError):
            self.process.kill()
        self.process.wait()
        os.close(self._ours)


def test_the_live_view_is_there_from_the_beginning(monkeypatch: pytest.MonkeyPatch) -> None:
    """And not when it is renewed for the first time."""
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=120)
    monkeypatch.setattr("rich.live.get_console", lambda: console)
    with Watch(Crawl(["http://127.0.5.1/"], Settings())).live():
        assert "0 of 200 pages" in screen.getvalue()


def test_the_live_view_says_that_the_server_is_waited_for(site: Site) -> None:
    """The one that politeness is shared by: until it answers, nobody is asked soon."""
    with Terminal("--politeness", "valkey://127.0.0.1:1/0", site.url(SHOP)) as terminal:
        terminal.until("0 blocked, 1 left; waiting for the politeness server")
        terminal.until("waiting for the server")
    assert site.log == []


def test_a_terminal_has_a_live_view(site: Site) -> None:
    """Pages done and left, the rate, hosts with their delays, blocked, budget; then a summary."""
    with Terminal("--max-pages", "77", site.url(SLOW), site.url(SHOP)) as terminal:
        terminal.until("crawling http://127.0.5.")
        terminal.until("5 done")
        terminal.until("3 blocked")
        terminal.until("of 77 pages")
        terminal.until("of 60 minutes")
        terminal.until("a second")
        terminal.until("host")
        terminal.until("delay")
        assert re.search(rf"{re.escape(SLOW)} +0 s +now +1", terminal.text)
        assert "1 under way" in terminal.text
        gate.let_go()
        assert terminal.ended() == 0
        text = terminal.text
    summary = text[text.rindex("crawl 1 of") :]
    assert ": finished" in summary
    assert re.search(r"fetched +9", summary)


def test_a_host_that_waits_is_shown_as_such(site: Site) -> None:
    """With how long it still wants to be left alone."""
    words = ("--source", "links", "--max-minutes", "5")
    with Terminal(*words, site.url(DELAYED), site.url(SLOW)) as terminal:
        waits_for(
            lambda: re.search(rf"{re.escape(DELAYED)} +16 min 40 s +in 16 min", terminal.text)
        )
        gate.let_go()
        assert terminal.ended() == 0
        assert "time limit: no host may be asked again before it" in terminal.text


def test_ctrl_c_on_a_terminal(site: Site) -> None:
    """The view says that it is finishing; the terminal is as it was when it ends."""
    with Terminal(site.url(SLOW)) as terminal:
        waits_for(lambda: gate.asked and terminal.text)
        terminal.process.send_signal(signal.SIGINT)
        terminal.until("finishing the running requests")
        gate.let_go()
        assert terminal.ended() == 130
        shown = terminal.shown
    assert ": interrupted" in shown
    assert shown.rfind("\x1b[?25h") > shown.rfind("\x1b[?25l")  # the cursor is there again


NARROW = 40


@pytest.mark.parametrize("wide", [NARROW, 300])
def test_hostile_sites_do_not_reach_the_terminal_of_a_live_view(site: Site, wide: int) -> None:
    """Neither as escapes nor as markup; also where lines are cut."""
    with Terminal("--source", "links", site.url(HOSTILE), site.url(SLOW), wide=wide) as terminal:
        waits_for(lambda: "4 done" in terminal.text or "5 done" in terminal.text)
        time.sleep(1.2)  # one more picture
        gate.let_go()
        assert terminal.ended() == 0
        shown = terminal.shown
    assert "\x1b]" not in shown
    assert "\x07" not in shown
    assert "\x9b" not in shown
    assert "\u202e" not in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]|\r|\n", "", shown)
    assert plain.isprintable()
    if wide > NARROW:
        assert r"\x1b]0;x\x07" in shown
        assert "[bold red]no[/bold red] [link=http://x]y[/link]" in shown


def test_no_colour_where_none_is_wanted(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """NO_COLOR is respected by the lines and by the summary."""
    monkeypatch.setenv("NO_COLOR", "1")
    with Terminal(site.url(SHOP)) as terminal:
        assert terminal.ended() == 0
        shown = terminal.shown
    assert not re.search(r"\x1b\[[0-9;]*3[0-9]m", shown)
    assert "fetched" in shown


def test_hostile_sites_do_not_reach_lines_and_json(run: Run, site: Site) -> None:
    """In text, in JSON, in the summary, in the status: escapes, or nothing."""
    url = site.url(HOSTILE)
    for arguments in (
        ["--source", "links", url],
        ["--source", "links", "--json", url],
        ["status"],
        ["status", "--json"],
        ["--dry-run", url],
    ):
        ran = run(*arguments)
        assert ran.code == 0
        assert ran.lines
        assert all(line.isprintable() for line in (*ran.lines, *ran.err.splitlines())), arguments
    text = run("--source", "links", url).out
    assert r"\x1b]0;x\x07" in text
    assert "[bold red]no[/bold red] [link=http://x]y[/link]" in text
    assert r"line 2: Disallow: /x #\x1b]0;x\x07" in text
