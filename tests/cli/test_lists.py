"""`manners get --urls FILE`: what is done is in the store, and a run goes on where it was."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from manners.cli.fetched import PageResult
from manners.cli.inputs import UrlList
from manners.cli.listed import ListJob, fetch_list, progress_line
from manners.cli.options import Options
from manners.crawler import opening
from manners.crawler.crawl import CrawlView
from manners.crawler.holdings import HostView
from tests.cli.running import Run, runner, without_times
from tests.contracts.postgres import Postgres
from tests.faults.server import Call, Site, by_path, in_thread, page

pytestmark = pytest.mark.usefixtures("quick")


async def moved(call: Call) -> None:
    await call.reply(301, headers=[("Location", "/new")])


async def looping(call: Call) -> None:
    await call.reply(301, headers=[("Location", "/loop")])


HANGS = {"/hangs": True}


async def hangs(call: Call) -> None:
    if HANGS["/hangs"]:
        await call.request()
        await call.pause()
    await call.reply(200, b"at last")


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    handlers = {
        "/robots.txt": page(b"User-agent: *\nDisallow: /private\n"),
        "/moved": moved,
        "/loop": looping,
        "/missing": page(b"", 404),
        "/links": page(b"<a href=/other>x</a>", headers=[("Content-Type", "text/html")]),
        "/hangs": hangs,
    }
    with in_thread(Site(by_path(handlers, page(b"hello")))) as site:
        yield site
        assert site.failures == []


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Iterator[Run]:
    HANGS["/hangs"] = True
    yield runner(capsys, "get")
    HANGS["/hangs"] = False


def pages(site: Site) -> list[str]:
    return [visit.path for visit in site.log if visit.path != "/robots.txt"]


def write_list(site: Site, *paths: str, name: str = "list.txt") -> None:
    Path(name).write_text("".join(f"{site.url(path=path)}\n" for path in paths))


def killed(site: Site, *arguments: str, by: signal.Signals, done: int) -> str:
    """Run `get` in a process until so many pages are done, end it, and return its last words."""
    command = [sys.executable, "-m", "manners", "get", "--urls", "list.txt", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout
        assert process.stderr
        for _ in range(done):
            assert process.stdout.readline()
        while "/hangs" not in pages(site):
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(by)
        if by == signal.SIGINT:
            assert b"Ctrl-C again aborts" in process.stderr.readline() + process.stderr.readline()
            process.send_signal(by)
        process.wait(timeout=60)
        return process.stderr.read().decode()


# What comes of a list.


def test_a_list_is_answered_as_arguments_are(run: Run, site: Site) -> None:
    """The same lines, the same exit code; only the order may differ."""
    paths = ("/a", "/private", "/missing", "/moved", "/loop")
    write_list(site, *paths)
    for more in ((), ("--json",)):
        listed = run("--urls", "list.txt", *more)
        given = run(*(site.url(path=path) for path in paths), *more)
        assert listed.code == given.code == 1
        if more:
            by_url = [{item["url"]: item for item in ran.objects} for ran in (listed, given)]
            assert by_url[0].keys() == by_url[1].keys()
            for url, item in by_url[0].items():
                assert item.keys() == by_url[1][url].keys()
                assert item["status"] == by_url[1][url]["status"]
        else:
            assert sorted(without_times(listed.out).splitlines()) == sorted(
                without_times(given.out).splitlines()
            )


def test_nothing_is_followed_and_nothing_is_asked_twice(run: Run, site: Site) -> None:
    """Neither links nor sitemaps; a URL that stands there twice is one."""
    write_list(site, "/links", "/a", "/a#part", "/links")
    ran = run("--urls", "list.txt")
    assert (ran.code, sorted(pages(site))) == (0, ["/a", "/links"])
    assert len(ran.lines) == 2


def test_lines_that_are_no_urls_are_told_and_the_rest_is_fetched(run: Run, site: Site) -> None:
    """Exit code 3: one could not be fetched."""
    Path("list.txt").write_text(f"mailto:me\n{site.url(path='/a')}\n")
    ran = run("--urls", "list.txt")
    assert (ran.code, pages(site)) == (3, ["/a"])
    assert "not an http or https URL" in ran.lines[0]
    assert ran.err.splitlines()[0] == "1 fetched, 1 failed"


@pytest.mark.parametrize("column", [(), ("--urls-column", "url")], ids=["lines", "CSV"])
def test_a_line_without_end_is_not_read(run: Run, column: tuple[str, ...]) -> None:
    """A file that is no list takes no more memory than another; the message says which line."""
    Path("list.txt").write_bytes(b"url\n" * bool(column) + b"x" * 4_000_001)
    ran = run("--urls", "list.txt", *column)
    line = f"line {1 + bool(column)} of the list of URLs has more than 4,000,000 bytes"
    assert (ran.code, ran.out, ran.err) == (2, "", f"manners: {line}\n")


def test_results_are_shown_one_at_a_time(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also while a thread still reads the list, which has lines that are no URLs."""
    monkeypatch.setattr(opening, "_BATCH", 2)
    write_list(site, "/a", "/b")
    with Path("list.txt").open("a") as file:
        file.write("no URL\n" * 100)
    under_way: list[str] = []
    shown: list[int] = []

    def show(result: PageResult) -> None:
        under_way.append(result.url)
        time.sleep(0.005)
        shown.append(len(under_way))
        under_way.remove(result.url)

    urls = UrlList([], "list.txt")
    fetch_list(ListJob(urls, None, False, show, ""), Options(None, {"allow_private": True}))
    assert shown == [1] * 102


def test_an_empty_list_is_done(run: Run, site: Site) -> None:
    """Nothing to do is done, with a warning."""
    Path("list.txt").write_text("# nothing\n")
    ran = run("--urls", "list.txt")
    assert (ran.code, ran.out, site.log) == (0, "", [])
    assert ran.err.startswith("manners: warning: no URL in 'list.txt'\n")


def test_inclusions_hold_for_what_is_listed(
    run: Run, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Unlike the start of a crawl, a URL of a list is excluded like any other."""
    monkeypatch.setenv("MANNERS_INCLUDE", "/docs")
    write_list(site, "/docs/a", "/b")
    ran = run("--urls", "list.txt")
    assert (ran.code, pages(site)) == (1, ["/docs/a"])


# Going on.


@pytest.mark.parametrize("by", [signal.SIGINT, signal.SIGKILL])
@pytest.mark.parametrize("saves", [False, True], ids=["no folder", "folder"])
def test_a_run_that_was_ended_goes_on_where_it_was(
    run: Run, site: Site, by: signal.Signals, saves: bool
) -> None:
    """What has an outcome in the store is not asked for again; what was only recorded, is."""
    folder = ("-o", "pages") if saves else ()
    paths = [f"/{number}" for number in range(5)]
    write_list(site, *paths, "/hangs", *(f"/later/{number}" for number in range(5)))
    words = killed(site, "--concurrency", "1", *folder, by=by, done=5)
    if by == signal.SIGINT:
        again = f"manners get --urls list.txt {'-o pages ' if saves else ''}--resume"
        assert f"ended early; resume with the same options: {again}\n" in words
    before = Counter(pages(site))
    assert before["/hangs"] == 1
    HANGS["/hangs"] = False
    ran = run("--urls", "list.txt", "--resume", *folder)
    assert ran.code == 0
    assert Counter(pages(site)) - before == Counter(["/hangs", *(f"/later/{n}" for n in range(5))])
    assert ran.err.splitlines()[0] == "6 fetched, 5 skipped: done before"
    if saves:
        lines = Path("pages/manifest.jsonl").read_text().splitlines()
        assert {json.loads(line)["url"] for line in lines} == {
            line.strip() for line in Path("list.txt").read_text().splitlines()
        }


def test_a_list_that_is_done_is_not_asked_for_again(run: Run, site: Site) -> None:
    """Whatever came of it; and without --resume, it begins anew."""
    write_list(site, "/a", "/missing", "/private")
    assert run("--urls", "list.txt").code == 1
    site.log.clear()
    again = run("--urls", "list.txt", "--resume")
    assert (again.code, again.out, pages(site)) == (1, "", [])
    assert again.err == "3 skipped: done before\n"
    assert run("--urls", "list.txt").code == 1
    assert sorted(pages(site)) == ["/a", "/missing"]


def test_the_exit_code_is_that_of_all_runs(run: Run, site: Site) -> None:
    """What failed in an earlier run is not forgotten when the rest is fetched."""
    write_list(site, "/loop", "/a", "/b")
    assert run("--urls", "list.txt", "--max-pages", "2").code == 3
    assert run("--urls", "list.txt", "--resume", "--max-pages", "9").code == 1


def test_a_list_may_have_grown(run: Run, site: Site) -> None:
    """It is read again, and what is new in it is fetched."""
    write_list(site, "/a", "/b")
    run("--urls", "list.txt")
    site.log.clear()
    write_list(site, "/new", "/a", "/b", "/newer")
    assert run("--urls", "list.txt", "--resume").code == 0
    assert sorted(pages(site)) == ["/new", "/newer"]


def test_lists_in_one_store_do_not_mix(run: Run, site: Site) -> None:
    """A list is known by its file; a crawl in the same store is another thing."""
    write_list(site, "/a")
    write_list(site, "/a", "/b", name="other.txt")
    run("--urls", "list.txt")
    site.log.clear()
    assert run("--urls", "other.txt", "--resume").code == 0
    assert sorted(pages(site)) == ["/a", "/b"]


def test_limits_end_a_run_and_a_higher_one_goes_on(run: Run, site: Site) -> None:
    """As in a crawl; without one, a list has none."""
    write_list(site, *(f"/{number}" for number in range(4)))
    ran = run("--urls", "list.txt", "--max-pages", "3")
    assert (ran.code, len(pages(site))) == (3, 3)
    hint = "resume with a higher --max-pages or --max-minutes: manners get --urls list.txt --resume"
    assert hint in ran.err
    assert hint in run("--urls", "list.txt", "--resume").err  # the limit is for all runs together
    ran = run("--urls", "list.txt", "--resume", "--max-pages", "9")
    assert (ran.code, sorted(pages(site))) == (0, ["/0", "/1", "/2", "/3"])


def test_a_resumed_list_has_the_settings_it_had(run: Run, site: Site) -> None:
    """Who asks stays the same, unless an option says otherwise."""
    write_list(site, "/a", "/b")
    run("--urls", "list.txt", "--agent", "MyBot/1.0", "--max-pages", "1")
    run("--urls", "list.txt", "--resume", "--max-pages", "2")
    assert {visit.headers["user-agent"] for visit in site.log} == {"MyBot/1.0"}
    assert len(pages(site)) == 2


def test_a_crawl_is_not_mistaken_for_a_list(
    run: Run, site: Site, capsys: pytest.CaptureFixture[str]
) -> None:
    """`crawl resume` and `crawl status` are about crawls; a list is shown by its number."""
    write_list(site, "/a", "/links")
    run("--urls", "list.txt", "--max-pages", "1")
    crawl = runner(capsys, "crawl")
    assert "only lists of `manners get`" in crawl("resume").err
    assert crawl("resume", "1", "--max-pages", "9").code == 0
    assert sorted(pages(site)) == ["/a", "/links"]  # what it links to is not fetched
    shown = crawl("status", "1")
    assert shown.code == 0
    assert "fetched          2" in shown.out
    assert runner(capsys, "report")("manners.db", "--crawl", "1").code == 0
    assert str(Path("list.txt").resolve()) in Path("report.html").read_text()


def test_the_same_in_postgresql(run: Run, site: Site, postgres: Postgres) -> None:
    """A list in another kind of store goes on in the same way."""
    place = postgres.database()
    write_list(site, "/a", "/b", "/c")
    assert run("--urls", "list.txt", "--store", place, "--max-pages", "2").code == 3
    ran = run("--urls", "list.txt", "--store", place, "--resume", "--max-pages", "9")
    assert (ran.code, sorted(pages(site))) == (0, ["/a", "/b", "/c"])
    assert ran.err.splitlines()[0] == "1 fetched, 2 skipped: done before"


def test_the_progress_says_what_is_waited_for() -> None:
    """What is under way; else when the next request is due; nothing while the list is read."""
    hosts = [HostView("a", 60.0, 160.0, 0, 3), HostView("b", 60.0, 130.0, 0, 1)]
    view = CrawlView({"done": 5, "blocked": 1, "queued": 4}, 0, 5, 1.0, hosts, is_stopping=False)
    assert progress_line(view, 100.0) == "6 of 10 done, 1 blocked; next request in 30 s"
    busy = view._replace(running=2)
    assert progress_line(busy, 100.0) == "6 of 10 done, 1 blocked; 2 under way"
    assert "Ctrl-C again aborts" in progress_line(view._replace(is_stopping=True), 100.0)
    assert progress_line(view._replace(hosts=[]), 100.0) == ""
    assert progress_line(view._replace(hosts=[], waiting="waiting for x"), 100.0) == "waiting for x"


def test_a_crawl_says_what_to_give_again(site: Site, capsys: pytest.CaptureFixture[str]) -> None:
    """Headers and cookies are not stored: the line to type says so."""
    crawl = runner(capsys, "crawl")
    ran = crawl(site.url(path="/links"), "--max-pages", "1", "--header", "X-Key: SESAME")
    assert "and --header again, which the store does not have: manners crawl resume" in ran.out
    assert "SESAME" not in ran.out


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--resume", "https://a.example/"], "--resume needs --urls FILE"),
        (["--resume", "--urls", "list.txt", "--no-evidence"], "--resume needs --urls FILE"),
        (["--max-pages", "3", "https://a.example/"], "--max-pages needs --urls FILE"),
        (["--urls", "nowhere.txt", "--resume"], "cannot read 'nowhere.txt'"),
    ],
    ids=str,
)
def test_mistakes(run: Run, arguments: list[str], words: str) -> None:
    """One line that says what is needed; nothing is made."""
    Path("list.txt").write_text("https://a.example/\n")
    ran = run(*arguments)
    assert (ran.code, ran.err.count("\n")) == (2, 1)
    assert words in ran.err
    assert [path.name for path in Path().iterdir()] == ["list.txt"]
