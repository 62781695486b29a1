"""The examples do what they say: each is run as a program, against sites on loopback."""

import os
import signal
import sqlite3
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from manners.cli import main
from tests.client.asking import rules
from tests.faults.server import Call, Site, by_address, by_path, in_thread, page

EXAMPLES = Path(__file__).parents[1] / "examples"
SHOP, BUSY, BLOG, GONE = (f"127.0.5.{last}" for last in range(1, 5))
HTML = [("Content-Type", "text/html")]
QUICK = {
    "MANNERS_ALLOW_PRIVATE": "true",
    "MANNERS_MIN_DELAY": "0",
    "MANNERS_MAX_DELAY": "0",
    "MANNERS_ADAPTIVE_FACTOR": "0",
}
POSTS = 40


async def busy(call: Call) -> None:
    """Too much, the first time."""
    visit = await call.request()
    first = not any(each is not visit and each.path != "/robots.txt" for each in call.site.log)
    await call.reply(429 if first else 200, b"well", [("Retry-After", "1")] if first else [])


def post(number: int) -> bytes:
    """A page of a blog that leads to the next two."""
    links = (f"<a href=/{n}>{n}</a>" for n in (2 * number, 2 * number + 1) if n <= POSTS)
    return f"<title>Post {number}</title>{''.join(links)}".encode()


async def blog(call: Call) -> None:
    """Posts that take a moment each."""
    visit = await call.request()
    name = visit.path[1:]
    if name.isdigit() and int(name) <= POSTS:
        await call.pause(0.02)
        await call.reply(200, post(int(name)), HTML)
    else:
        await call.reply(404)


HANDLERS = {
    SHOP: by_path({"/robots.txt": rules("Disallow: /private")}, page(b"hello")),
    BUSY: by_path({"/robots.txt": rules()}, busy),
    BLOG: by_path({"/robots.txt": rules()}, blog),
    GONE: page(status=503),
}


@pytest.fixture
def site() -> Iterator[Site]:
    with in_thread(Site(by_address(HANDLERS))) as site:
        yield site
        assert site.failures == []


@contextmanager
def started(folder: Path, name: str, *words: str | Path) -> Iterator["subprocess.Popen[str]"]:
    """An example while it runs; it does not outlive its test."""
    with subprocess.Popen(
        [sys.executable, str(EXAMPLES / name), *map(str, words)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        cwd=folder,
        env={**os.environ, **QUICK},
    ) as program:
        try:
            yield program
        finally:
            program.kill()


def run(folder: Path, name: str, *words: str | Path) -> tuple[int, list[str]]:
    """Run an example to its end: the exit code, and what it printed."""
    with started(folder, name, *words) as program:
        out, _ = program.communicate(timeout=60)
        return program.returncode, out.splitlines()


def urls_of(folder: Path, *urls: str) -> Path:
    file = folder / "urls.txt"
    file.write_text("\n".join(urls), "utf-8")
    return file


def test_every_example_is_run_here() -> None:
    """An example without a test would be one that nobody has run."""
    tested = Path(__file__).read_text("utf-8")
    assert all(f'"{path.name}"' in tested for path in EXAMPLES.glob("*.py"))


@pytest.mark.parametrize(
    ("addresses", "code"), [((SHOP,), 0), ((SHOP, "private"), 1), ((SHOP, "private", GONE), 3)]
)
def test_a_list_is_checked(
    site: Site, tmp_path: Path, addresses: tuple[str, ...], code: int
) -> None:
    """A verdict with its reason for each URL, and nothing but robots.txt is asked for."""
    urls = [
        site.url(SHOP, "/private/x") if each == "private" else site.url(each) for each in addresses
    ]
    ran, lines = run(tmp_path, "check_a_list.py", urls_of(tmp_path, *urls), "--agent", "MyBot")
    expected = [
        f"allowed     {site.url(SHOP)}  no-rule-matched",
        f"disallowed  {site.url(SHOP, '/private/x')}  line 2: Disallow: /private",
        f"undecided   {site.url(GONE)}  unreachable",
    ]
    assert (ran, lines) == (code, expected[: len(urls)])
    assert {visit.path for visit in site.log} == {"/robots.txt"}


def test_what_is_no_url_is_undecided(site: Site, tmp_path: Path) -> None:
    """The others of the list are checked all the same."""
    file = urls_of(tmp_path, "mailto:a@example.com", site.url(SHOP))
    code, lines = run(tmp_path, "check_a_list.py", file)
    assert code == 3
    assert [line.split()[0] for line in lines] == ["undecided", "allowed"]


def test_a_list_is_downloaded(
    site: Site, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is allowed is in files, what is not is told, and all of it is in the evidence."""
    urls = [site.url(SHOP, path) for path in ("/a", "/b", "/private/c", "/a")]
    folder = tmp_path / "downloads"
    code, lines = run(tmp_path, "polite_downloader.py", urls_of(tmp_path, *urls), folder)
    assert code == 1
    assert lines[-1] == "2 of 3 downloaded"
    assert f"failed   {urls[2]}  blocked: disallowed: rule-matched, line 2: /private" in lines
    saved = [path for path in folder.iterdir() if not path.name.startswith("evidence.db")]
    assert [path.read_bytes() for path in saved] == [b"hello", b"hello"]
    assert Counter(visit.path for visit in site.log) == {"/robots.txt": 1, "/a": 1, "/b": 1}
    place = str(folder / "evidence.db")
    assert main(["evidence", "verify", "--store", place]) == 0
    assert main(["evidence", "list", "--store", place]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 3


def test_a_crawl_is_kept_in_a_table(site: Site, tmp_path: Path) -> None:
    """Every page is there, with its title; another run finds nothing left to do."""
    words = (site.url(BLOG, "/1"), "pages.db")
    code, lines = run(tmp_path, "crawl_and_store.py", *words)
    assert (code, lines[-1]) == (0, f"finished: {POSTS} pages in pages.db")
    with sqlite3.connect(tmp_path / "pages.db") as database:
        rows = database.execute("SELECT url, title, html FROM pages ORDER BY rowid").fetchall()
    database.close()
    numbers = range(1, POSTS + 1)
    assert {url: (title, html) for url, title, html in rows} == {
        site.url(BLOG, f"/{n}"): (f"Post {n}", post(n).decode()) for n in numbers
    }
    asked = len(site.log)
    assert run(tmp_path, "crawl_and_store.py", *words) == (0, lines[-1:])
    assert len(site.log) == asked


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT], ids=lambda how: how.name)
def test_a_crawl_that_was_stopped_goes_on(site: Site, tmp_path: Path, how: signal.Signals) -> None:
    """Nothing is lost when the program is killed, and what was kept is not asked for again."""
    words = (site.url(BLOG, "/1"), "pages.db")
    with started(tmp_path, "crawl_and_store.py", *words) as program:
        assert program.stdout is not None
        for _ in range(POSTS // 4):
            program.stdout.readline()
        program.send_signal(how)
        out, _ = program.communicate(timeout=60)
        assert "Traceback" not in out
        assert program.returncode == (1 if how == signal.SIGINT else -how)
    with sqlite3.connect(tmp_path / "pages.db") as database:
        (kept,) = database.execute("SELECT count(*) FROM pages").fetchone()
    database.close()
    assert POSTS // 4 <= kept < POSTS
    with sqlite3.connect(tmp_path / "pages.db.crawl") as store:
        done = {
            url
            for (url,) in store.execute(
                "SELECT url FROM urls WHERE state = 'done' AND kind = 'page'"
            )
        }
    store.close()
    code, lines = run(tmp_path, "crawl_and_store.py", *words)
    assert (code, lines[-1]) == (0, f"finished: {POSTS} pages in pages.db")
    asked = Counter(visit.path for visit in site.log if visit.path[1:].isdigit())
    assert len(asked) == POSTS
    assert len(done) >= POSTS // 4
    assert {asked[urlsplit(url).path] for url in done} == {1}


def test_own_workers_come_back_to_a_host_that_was_busy(site: Site, tmp_path: Path) -> None:
    """Its URLs are put off, other hosts are not, and nothing of it is asked for too early."""
    paths = [f"/{n}" for n in range(6)]
    urls = [*(site.url(BUSY, path) for path in paths), site.url(SHOP, "/private"), site.url(SHOP)]
    code, lines = run(tmp_path, "custom_worker.py", "--patience", "0.2", "--workers", "2", *urls)
    assert code == 0
    words = Counter(line.split()[0] for line in lines)
    assert 1 <= words["later"] <= 2 * len(paths)  # it is waited for, not tried again and again
    assert (words["failed"], words["fetched"], words["blocked"]) == (1, 6, 1)
    visits = [visit for visit in site.log if visit.address == BUSY and visit.path in paths]
    assert sorted(visit.path for visit in visits) == paths  # each once
    refused, *others = sorted(visit.at for visit in visits)
    # One may have been under way when the first was answered.
    assert all(at - refused >= 1.0 for at in others[1:])


def test_own_workers_end_with_their_budget(site: Site, tmp_path: Path) -> None:
    """What is skipped is printed, and was not requested."""
    urls = [site.url(SHOP, f"/{n}") for n in range(5)]
    code, lines = run(tmp_path, "custom_worker.py", "--max-pages", "3", *urls, "no-url")
    assert code == 1
    skipped = [line for line in lines if line.startswith("skipped")]
    assert len(skipped) == 3
    assert sum("page limit reached: 3 pages" in line for line in skipped) == 2
    assert sum(visit.path != "/robots.txt" for visit in site.log) == 3
