"""`manners discover`: sites on loopback, from arguments to lines, JSON, stores and exit codes."""

import os
import pty
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from manners.evidence.store import EvidenceStore
from manners.identity import default_user_agent
from tests.cli.running import Run, runner, shown_on_terminal
from tests.crawler.discoveries import read
from tests.faults.server import Call, Handler, Site, by_address, by_path, in_thread, page

pytestmark = pytest.mark.usefixtures("quick")

SHOP, GONE, SILENT, DEFERRED, HOSTILE, EMPTY, SLOW, DEEP = (
    f"127.0.3.{last}" for last in range(1, 9)
)
HTML = [("Content-Type", "text/html")]


def lines(*texts: str) -> Handler:
    return page("\n".join(texts).encode())


async def sitemap(call: Call) -> None:
    """The four URLs of seed 002."""
    base = f"http://{call.address}:{call.port}"
    entries = (f"<url><loc>{base}{path}</loc></url>" for path in SEED)
    await call.reply(200, f"<urlset>{''.join(entries)}</urlset>".encode())


SEED = ("/", "/page", "/admin", "/api/users")
SEED_002 = by_path(
    {
        "/robots.txt": lines(
            "User-agent: *", "Disallow: /admin", "Disallow: /api", "Allow: /public"
        ),
        "/sitemap.xml": sitemap,
    }
)


async def named(call: Call) -> None:
    base = f"http://{call.address}:{call.port}"
    text = f"User-agent: *\nDisallow: /cart\nSitemap: {base}/one.txt\nSitemap: {base}/two.xml\n"
    await call.reply(200, text.encode())


async def one(call: Call) -> None:
    base = f"http://{call.address}:{call.port}"
    await call.reply(200, "\n".join(f"{base}/p{letter}" for letter in "abcde").encode())


SHOP_PAGES = {
    "/robots.txt": named,
    "/one.txt": one,
    "/": page(
        b"<a href=/pa>1</a><a href=/cart>2</a><a href=/docs>3</a><a rel=nofollow href=/n>4</a>"
        b"<a href=https://other.example/>5</a>",
        headers=HTML,
    ),
    "/docs": page(b"<a href=/docs/deep>1</a>", headers=HTML),
}


async def hostile(call: Call) -> None:
    visit = await call.request()
    base = f"http://{call.address}:{call.port}"
    match visit.path:
        case "/robots.txt":
            text = b"User-agent: *\nDisallow: /x #\x1b]0;x\x07\xff\nSitemap: /s\x1b[2J.txt\n"
            await call.reply(200, text)
        case "/":
            await call.reply(200, "<a href='/x\x1b[2J'>1</a><a href='/\u202e\x85'>".encode(), HTML)
        case _:
            await call.reply(200, f"{base}/\x9b31m\n\x1b]0;bad\x07\n".encode())


async def deferred(call: Call) -> None:
    visit = await call.request()
    if visit.path == "/robots.txt":
        await call.reply(200, b"")
    else:
        await call.reply(503, b"", [("Retry-After", "1000")])


async def hangs(call: Call) -> None:
    """Some entries, and then nothing."""
    await call.request()
    body = f"http://{call.address}:{call.port}/a\nhttp://{call.address}:{call.port}/b\n".encode()
    if call.visit is not None and call.visit.path == "/one.txt":
        await call.reply(200, body)
        return
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 9999\r\n\r\n", body)
    await call.pause()


HANDLERS: dict[str, Handler] = {
    "127.0.0.1": SEED_002,
    SHOP: by_path(SHOP_PAGES),
    GONE: page(status=503),
    SILENT: by_path({"/robots.txt": page(b"")}, Call.pause),
    DEFERRED: deferred,
    HOSTILE: hostile,
    EMPTY: by_path({"/robots.txt": lines("User-agent: *", "Disallow: /")}),
    SLOW: by_path({"/robots.txt": named, "/one.txt": hangs, "/two.xml": hangs}),
    DEEP: by_path(
        {
            "/robots.txt": page(b""),
            **{f"/{n}": page(f"<a href=/{n + 1}>x</a>".encode(), headers=HTML) for n in range(300)},
        }
    ),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with in_thread(Site(by_address(HANDLERS))) as site:
        yield site
        assert site.failures == []


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run the command in this process."""

    return runner(capsys, "discover")


def paths(site: Site) -> list[str]:
    return [visit.path for visit in site.log]


# Seed 002.


def test_the_example_of_seed_002(run: Run, site: Site) -> None:
    """Four URLs in the sitemap, two of them allowed, two filtered, each by its rule."""
    base = site.url(path="")
    ran = run("--source", "sitemap", "--agent", "AEO-Audit/1.0", site.url())
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines == [
        "SOURCE   FOUND  ALLOWED",
        "sitemap  4      2",
        "",
        "sitemaps",
        f"  {base}/sitemap.xml  200, 4 entries, urlset",
        "",
        "blocked",
        "        1  line 2: Disallow: /admin",
        "        1  line 3: Disallow: /api",
        "",
        "2 URLs to fetch",
        f"  {base}/",
        f"  {base}/page",
        "kept in manners.db",
        "sent as AEO-Audit/1.0",
    ]
    assert paths(site) == ["/robots.txt", "/sitemap.xml"]
    kept = {each.url.removeprefix(base): each for each in read("manners.db")}
    assert {path: (each.reason, each.rule, each.line) for path, each in kept.items()} == {
        "/": ("", "", 0),
        "/page": ("", "", 0),
        "/admin": ("rule-matched", "Disallow: /admin", 2),
        "/api/users": ("rule-matched", "Disallow: /api", 3),
    }


@pytest.mark.parametrize("like", [(), ("--like", "audit")], ids=["rfc9309", "audit"])
def test_the_example_of_seed_002_as_urls(run: Run, site: Site, like: tuple[str, ...]) -> None:
    """One a line, for the next program; in the dialect of the seed as well."""
    ran = run("--source", "sitemap", "--urls", *like, site.url())
    assert (ran.code, ran.lines) == (0, [site.url(), site.url(path="/page")])


# Options.


def test_both_sources(run: Run, site: Site) -> None:
    """What each names, how much of it is allowed, and what became of the rest."""
    ran = run(site.url(SHOP))
    base = site.url(SHOP, "")
    assert ran.lines == [
        "SOURCE   FOUND  ALLOWED",
        "start    1      1",
        "sitemap  5      5",
        "link     5      2",
        "",
        "sitemaps",
        f"  {base}/one.txt  200, 5 entries, text",
        f"  {base}/two.xml  404",
        "",
        "pages",
        f"  {base}/  200, 5 links",
        "",
        "blocked",
        "        1  nofollow: rel=nofollow",
        "        1  other-host: other.example",
        "        1  line 2: Disallow: /cart",
        "",
        "7 URLs to fetch",
        *(f"  {base}/{path}" for path in ("", "pa", "pb", "pc", "pd", "pe", "docs")),
        "kept in manners.db",
        f"sent as {default_user_agent()}",
    ]
    assert paths(site) == ["/robots.txt", "/one.txt", "/two.xml", "/"]


@pytest.mark.parametrize(
    ("arguments", "found", "asked"),
    [
        (["--source", "auto"], "/ pa pb pc pd pe docs", ["/one.txt", "/two.xml", "/"]),
        (["--source", "sitemap"], "pa pb pc pd pe", ["/one.txt", "/two.xml"]),
        (["--source", "links"], "/ pa docs", ["/"]),
        (["--source", "links", "--depth", "2"], "/ pa docs docs/deep", ["/", "/pa", "/docs"]),
        (["--max-urls", "3"], "/ pa pb", ["/one.txt", "/two.xml", "/"]),
        (["--exclude", "/p?", "--exclude", "re:c$"], "/ docs", ["/one.txt", "/two.xml", "/"]),
        (["--source", "links", "--include", "/pa", "--include", "re:^/$"], "/ pa", ["/"]),
    ],
    ids=" ".join,
)
def test_options(run: Run, site: Site, arguments: list[str], found: str, asked: list[str]) -> None:
    """Each does what it says, and is seen in what is asked for."""
    ran = run("--urls", *arguments, site.url(SHOP))
    base = site.url(SHOP, "")
    assert ran.lines == [f"{base}/{path.removeprefix('/')}" for path in found.split()]
    assert paths(site) == ["/robots.txt", *asked]
    assert ran.code == 0


def test_settings_count_where_no_option_is_given(run: Run, site: Site) -> None:
    """From a file, too; an option beats it."""
    Path("manners.toml").write_text('max_urls = 2\nexclude = ["/pa"]\nstore = "other.db"\n')
    ran = run("--urls", site.url(SHOP))
    assert [line.rpartition("/")[2] for line in ran.lines] == ["", "pb"]
    assert len(run("--urls", "--max-urls", "4", site.url(SHOP)).lines) == 4
    assert Path("other.db").is_file()
    assert not Path("manners.db").exists()


def test_json_has_everything(run: Run, site: Site) -> None:
    """One object: what was asked, what was found, what became of it."""
    url = site.url(SHOP)
    ran = run("--json", url)
    found = ran.object
    assert ran.out.isascii()
    assert list(found) == [
        "url", "robots", "found", "allowed", "sitemaps", "pages", "filtered", "complete", "urls",
    ]  # fmt: skip
    assert found["url"] == url
    assert found["robots"]["allowed"] is True
    assert found["robots"]["retrieval"]["availability"] == "available"
    assert found["found"] == {"start": 1, "sitemap": 5, "link": 5}
    assert found["allowed"] == {"start": 1, "sitemap": 5, "link": 2}
    assert found["sitemaps"][0] == {
        "url": f"{url}one.txt",
        "found_in": f"{url}robots.txt",
        "form": "text",
        "entries": 5,
        "problems": [],
        "status": "200",
    }
    assert found["pages"] == [{"url": url, "status": "200", "links": 5, "nofollow": ""}]
    assert {"reason": "nofollow", "rule": "rel=nofollow", "line": 0, "count": 1} in found[
        "filtered"
    ]
    assert found["complete"] is True
    assert found["urls"][1] == {
        "url": f"{url}pa",
        "source": "sitemap",
        "found_in": f"{url}one.txt",
        "depth": 1,
        "priority": 0.5,
        "lastmod": None,
        "reason": "",
        "rule": "",
        "line": 0,
    }


def test_what_is_kept_in_the_store(run: Run, site: Site) -> None:
    """What was found, beside a record of everything that was asked for; run after run."""
    for _ in range(2):
        assert run("--store", "proof.db", site.url(SHOP)).lines[-2] == "kept in proof.db"
    base = site.url(SHOP, "")
    first, second = read("proof.db", 1), read("proof.db", 2)
    assert first == second == read("proof.db")
    reasons = {each.url.removeprefix(base): each.reason for each in first}
    assert reasons["/cart"] == "rule-matched"
    assert reasons["https://other.example/"] == "other-host"
    assert len(reasons) == 10
    with EvidenceStore("proof.db") as store:
        asked = [each.metadata["url"].removeprefix(base) for each in store.records()]
        assert asked == ["/one.txt", "/two.xml", "/"] * 2
        assert list(store.verify()) == []


def test_a_password_is_neither_kept_nor_shown(run: Run, site: Site) -> None:
    """Not the one in the URL."""
    url = site.url(SHOP).replace("//", "//me:secret@")
    for more in ([], ["--json"], ["--urls"]):
        ran = run(url, *more)
        assert ran.code == 0
        assert "secret" not in ran.out + ran.err
    assert b"secret" not in Path("manners.db").read_bytes()


def test_pages_whose_links_are_read_are_limited(run: Run, site: Site) -> None:
    """To as many as a crawl may fetch; it is said that there is more."""
    Path("manners.toml").write_text("max_pages = 3\n")
    ran = run("--source", "links", "--depth", "100", site.url(DEEP, "/0"))
    assert paths(site) == ["/robots.txt", "/0", "/1", "/2"]
    assert ran.lines[-3].startswith("there is more than was looked at: see max_discovered")
    assert ran.lines[-8:-3] == [
        "4 URLs to fetch",
        *(f"  {site.url(DEEP, f'/{n}')}" for n in range(4)),
    ]


def test_long_lists_are_cut_for_people(run: Run, site: Site) -> None:
    """And it is said who has the rest."""
    ran = run("--source", "links", "--depth", "30", site.url(DEEP, "/0"))
    assert "  and 10 more; --json has them all" in ran.lines
    assert "  and 11 more; --urls prints them all" in ran.lines
    assert len(run("--urls", "--depth", "30", site.url(DEEP, "/0")).lines) == 31


# Exit codes.


def test_nothing_to_fetch(run: Run, site: Site) -> None:
    """A site that is closed, or has nothing, is 1."""
    ran = run(site.url(EMPTY))
    assert ran.code == 1
    assert "0 URLs to fetch" in ran.lines
    assert "        1  line 2: Disallow: /" in ran.lines
    ran = run("--source", "sitemap", site.url(DEEP))
    assert (ran.code, ran.lines[0]) == (1, "nothing was found")
    assert run("--urls", site.url(EMPTY)).lines == []


@pytest.mark.parametrize(
    ("address", "arguments", "words"),
    [
        (GONE, [], "robots.txt: unreachable (503)"),
        (SILENT, ["--source", "sitemap", "--timeout", "0.3"], "/sitemap.xml  (timeout)"),
        (DEFERRED, ["--source", "sitemap"], "/sitemap.xml  503"),
    ],
)
def test_a_site_that_could_not_be_asked(
    run: Run, site: Site, address: str, arguments: list[str], words: str
) -> None:
    """Nothing is known of it: 3, and the reason. An answer is an answer."""
    ran = run(*arguments, site.url(address))
    assert words in ran.out
    assert ran.code == (1 if address == DEFERRED else 3)


def test_a_host_that_is_to_be_left_alone(run: Run, site: Site) -> None:
    """It is said until when, and what is known counts."""
    ran = run(site.url(DEFERRED))
    assert ran.code == 0
    assert re.search(r"pages\n  \S+  127\.0\.3\.4 is deferred until 20.* UTC\n", ran.out)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--source", "map"], "choose from 'auto', 'sitemap', 'links'"),
        (["--urls", "--json"], "--urls and --json contradict each other"),
        (["--max-urls", "0"], "--max-urls: must be at least 1"),
        (["--depth", "0"], "--depth: must be at least 1"),
        (["--exclude", "re:("], "exclude"),
        (["--timeout", "0"], "--timeout: must be above 0"),
        (["--store", "no/folder.db"], "no/folder.db"),
        (["--store", "mysql://x/y"], "not a store"),
    ],
    ids=" ".join,
)
def test_mistakes_are_noticed_before_anything_is_asked(
    run: Run, site: Site, arguments: list[str], words: str
) -> None:
    """2, one line, and nothing is left behind."""
    ran = run(*arguments, site.url(SHOP))
    assert (ran.code, ran.out, site.log) == (2, "", [])
    assert words in ran.err
    assert ran.err.count("\n") == 1
    assert list(Path().iterdir()) == []


def test_a_url_that_is_none(run: Run) -> None:
    """Nothing is made for it."""
    ran = run("ftp://example.com/")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "manners: 'ftp://example.com/': not an http or https URL\n"
    assert list(Path().iterdir()) == []


def test_private_addresses_are_refused_unless_allowed(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing arrives, and a warning says how to change that."""
    monkeypatch.delenv("MANNERS_ALLOW_PRIVATE")
    ran = run(site.url(SHOP))
    assert (ran.code, site.log) == (3, [])
    assert ran.err.count("--allow-private") == 1
    assert run("--allow-private", site.url(SHOP)).code == 0


# What is shown.


def test_hostile_sites_do_not_reach_the_terminal(run: Run, site: Site) -> None:
    """In text, in JSON, in lists of URLs: escapes, or nothing."""
    for more in ([], ["--json"], ["--urls"]):
        ran = run(site.url(HOSTILE), *more)
        assert ran.code == 0
        assert all(line.isprintable() for line in (*ran.lines, *ran.err.splitlines()))
        assert ran.lines
    text = run(site.url(HOSTILE)).out
    assert r"line 2: Disallow: /x #\x1b]0;x\x07" in text
    assert r"bad-url: \x1b]0;bad\x07" in text


def start(*arguments: str, **how: Any) -> "subprocess.Popen[bytes]":
    """The command as its users have it, in a process of its own."""
    return subprocess.Popen([sys.executable, "-m", "manners", "discover", *arguments], **how)


@pytest.mark.parametrize("is_terminal", [True, False])
def test_progress_is_shown_on_a_terminal_only(site: Site, is_terminal: bool) -> None:
    """And it is gone when there is something to read."""
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    with start(site.url(SHOP), stdout=subprocess.PIPE, stderr=theirs) as process:
        os.close(theirs)
        shown = shown_on_terminal(ours)
        out = process.communicate(timeout=30)[0]
        assert process.returncode == 0
    assert b"7 URLs to fetch" in out
    if is_terminal:
        assert "6 URLs found, 1 sitemap read" in shown
        assert shown.endswith("\r\x1b[2K")
    else:
        assert shown == ""


def test_an_interruption_keeps_what_was_found(site: Site, tmp_path: Path) -> None:
    """The exit code is 130; what was found so far is printed, and the store has it."""
    with start(site.url(SLOW), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        waited = threading.Event()
        while "/two.xml" not in paths(site):
            assert not waited.wait(0.01)
            assert process.poll() is None
        waited.wait(0.2)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        assert process.returncode == 130
    assert err.decode() == "manners: interrupted: this is what was found so far\n"
    assert [line.rpartition("/")[2] for line in out.decode().splitlines() if "  http" in line] == [
        "one.txt  200, 2 entries, text", "", "a", "b",
    ]  # fmt: skip
    assert "3 URLs to fetch" in out.decode()
    kept = [each.url.rpartition("/")[2] for each in read(tmp_path / "manners.db")]
    assert kept == ["", "a", "b"]


def test_a_reader_that_stops_early(site: Site) -> None:
    """`| head -1` ends the command quietly."""
    words = ("--urls", "--depth", "20", site.url(DEEP, "/0"))
    with start(*words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        process.stdout.close()
        assert process.stderr.read() == b""
