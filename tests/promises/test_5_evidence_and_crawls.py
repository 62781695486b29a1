"""Section 5 of the defects: evidence and crawls."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import manners
from manners.cli.saving import MANIFEST
from manners.crawler.status import crawls_of, status_of
from manners.errors import StoreError
from manners.evidence.store import EvidenceStore
from manners.report.reader import report_of
from tests.cli.running import AT_ONCE, Run, runner, settle
from tests.crawler.site import html
from tests.evidence.drafts import drafts
from tests.evidence.places import ROOT, execute
from tests.faults.server import Call, Handler, Site, by_path, in_thread, page

ROBOTS = page(b"User-agent: *\nDisallow: /private/\n")
PAGES: dict[str, Handler] = {
    "/robots.txt": ROBOTS,
    "/": html("/a", "/b", "/private/x", "/gone"),
    "/a": html("/b"),
    "/b": html(),
    "/gone": page(b"gone", 410, headers=[("Content-Type", "text/html")]),
    "/slow": Call.pause,
    "/paper": page(b"%PDF-1.7", headers=[("Content-Type", "application/pdf")]),
    "/data": page(b"{}", headers=[("Content-Type", "application/json; charset=utf-8")]),
    "/picture.php": page(b"\xff\xd8", headers=[("Content-Type", "image/jpeg")]),
    "/odd.exe": page(b"MZ", headers=[("Content-Type", "application/x-odd")]),
    "/broken": page(b"", 500),
}


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    with in_thread(Site(by_path(PAGES))) as site:
        yield site


@pytest.fixture
def site(server: Site) -> Site:
    server.log.clear()
    return server


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch, tmp_path, **AT_ONCE, ATTEMPTS="1")


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def asked(site: Site) -> list[str]:
    """The pages that were asked for."""
    return [visit.path for visit in site.log if visit.path not in ("/robots.txt", "/sitemap.xml")]


def index(folder: str) -> dict[str, dict[str, Any]]:
    """What the index of a folder says, by the path of the URL; no page is in it twice."""
    entries = [json.loads(line) for line in Path(folder, MANIFEST).read_text().splitlines()]
    found = {re.sub(r"^http://[^/]*", "", entry["url"]): entry for entry in entries}
    assert len(found) == len(entries)
    return found


# A store that its reader may not write.


@pytest.fixture
def read_only(site: Site) -> Iterator[Path]:
    """A folder with a store that only its owner may write, and a crawl in it."""
    folder = Path(tempfile.mkdtemp(prefix="manners-", dir="/tmp"))
    try:
        store = str(folder / "manners.db")
        list(manners.crawl([site.url()], store=store, allow_private=True, min_delay=0.0))
        yield folder
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


def lock_up(folder: Path) -> None:
    for each in folder.iterdir():
        each.chmod(0o444 if os.geteuid() else 0o644)
    folder.chmod(0o555 if os.geteuid() else 0o755)


READERS = [
    ["evidence", "verify"],
    ["evidence", "list"],
    ["evidence", "show", "1"],
    ["evidence", "head"],
    ["evidence", "replay"],
    ["evidence", "export"],
    ["report", "-o", "-"],
    ["report", "--json"],
    ["crawl", "status"],
    ["crawl", "list"],
]


def by_another_user(folder: Path) -> dict[str, tuple[int, str, str]]:
    """What the commands that read print for somebody who may not write there."""
    ran = subprocess.run(
        [sys.executable, "-m", "tests.promises.another_user", folder, json.dumps(READERS)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert ran.returncode == 0, ran.stderr
    found = json.loads(ran.stdout)
    return {" ".join(words[:2]): told for words, told in zip(READERS, found, strict=True)}


def judged(found: dict[str, tuple[int, str, str]]) -> None:
    for words, (code, _, err) in found.items():
        assert code == 0, (words, err)
    assert found["evidence verify"][2].startswith("OK: ")
    assert "finished" in found["crawl status"][1]


def test_a_store_that_its_reader_may_not_write_can_be_read(read_only: Path) -> None:
    """It is verified, listed, shown, replayed, exported, reported; nothing is left beside it."""
    lock_up(read_only)
    before = sorted(each.name for each in read_only.iterdir())
    judged(by_another_user(read_only))
    assert sorted(each.name for each in read_only.iterdir()) == before


def test_so_can_a_store_that_somebody_is_writing_to(read_only: Path) -> None:
    """With its log beside it, and what is only there."""
    with EvidenceStore(read_only / "manners.db") as store:
        number = store.append_blocking(drafts(1)[0])
        lock_up(read_only)
        found = by_another_user(read_only)
    judged(found)
    assert found["evidence head"][1].startswith(f"{number}:")


def test_readers_upgrade_nothing(tmp_path: Path) -> None:
    """An older store is read as it is, and has no crawls."""
    place = str(tmp_path / "old.db")
    with EvidenceStore(place) as store:
        store.append_blocking(drafts(1)[0])
    tables = ("pages", "retries", "hosts", "urls", "crawls")
    execute(
        place,
        "UPDATE manners_version SET version_num = '0001'",
        *(f"DROP TABLE {t}" for t in tables),
    )
    with EvidenceStore(place, readonly=True) as store:
        assert list(store.verify()) == []
        with pytest.raises(StoreError, match="there is no crawl in it"):
            status_of(store)
        with pytest.raises(StoreError, match="readonly"):
            store.append_blocking(drafts(1)[0])
    assert execute(place, "SELECT version_num FROM manners_version") == [("0001",)]


# A second crawl.


def test_a_second_crawl_asks_what_to_do_with_an_unfinished_one(run: Run, site: Site) -> None:
    """Exit code 2, before anything is fetched; resume and --new are both there."""
    assert run("crawl", site.url(), "--max-pages", "2").code == 0
    site.log.clear()
    ran = run("crawl", site.url())
    assert (ran.code, ran.out, site.log) == (2, "", [])
    assert "crawl 1 in manners.db is unfinished" in ran.err
    assert "crawl resume" in ran.err
    assert "--new" in ran.err
    assert run("crawl", site.url(), "--new", "--max-pages", "1").code == 0
    assert run("crawl", "resume", "1", "--max-pages", "100").code == 0
    with EvidenceStore("manners.db", readonly=True) as store:
        first, second = crawls_of(store)
    assert (first.crawl, first.ended, first.remaining) == (1, "finished", 0)
    assert (second.crawl, second.remaining > 0) == (2, True)


def test_a_second_crawl_beside_one_that_is_running_does_not_advise_to_resume_it(
    run: Run, site: Site
) -> None:
    """To resume what is running is not possible; --new is."""
    starts = [site.url(path="/a"), site.url(path="/slow")]
    for _ in manners.crawl(starts, store="manners.db", allow_private=True, source="links"):
        ran = run("crawl", site.url())
        break
    assert (ran.code, ran.out) == (2, "")
    assert "crawl 1 in manners.db is running" in ran.err
    assert "--new" in ran.err
    assert "crawl resume" not in ran.err


def test_a_finished_crawl_is_in_nobodys_way(run: Run, site: Site) -> None:
    """A second one just begins."""
    assert run("crawl", site.url()).code == 0
    assert run("crawl", site.url()).code == 0
    with EvidenceStore("manners.db", readonly=True) as store:
        assert [each.ended for each in crawls_of(store)] == ["finished", "finished"]


def test_any_crawl_of_a_store_can_be_listed_looked_at_and_reported(run: Run, site: Site) -> None:
    """By its number, as text and as JSON."""
    run("crawl", site.url(), "--max-pages", "1")
    run("crawl", site.url("127.0.0.2"), "--new")
    ran = run("crawl", "list")
    assert (ran.code, len(ran.lines)) == (0, 3)
    assert site.url("127.0.0.2") in ran.lines[2]
    listed = run("crawl", "list", "manners.db", "--json").objects
    assert [(each["crawl"], each["fetched"]) for each in listed] == [(1, 1), (2, 4)]
    assert run("crawl", "status", "1").lines[0] == f"crawl 1 of {site.url()}"
    assert run("crawl", "status", "2", "--json").object["crawl"] == 2
    assert run("crawl", "status", "3").code == 2
    assert run("report", "--crawl", "1", "--json").object["status"]["crawl"] == 1
    site.log.clear()
    for words in (
        ["--resume", "--new"],
        ["--crawl", "1", site.url()],
        ["--resume", "--crawl", "9"],
    ):
        assert run("crawl", *words).code == 2
    assert site.log == []


def test_a_program_resumes_any_crawl_and_begins_as_many_as_it_likes(
    site: Site, caplog: pytest.LogCaptureFixture
) -> None:
    """`resume=1` beside `resume=True`; nothing is out of reach, and no warning says so."""
    how: dict[str, Any] = {"store": "crawl.db", "allow_private": True, "min_delay": 0.0}
    list(manners.crawl([site.url()], **how, max_pages=1))
    caplog.clear()
    list(manners.crawl([site.url()], **how))
    assert caplog.text == ""
    resumed = manners.crawl([], store="crawl.db", resume=1, max_pages=100)
    list(resumed)
    assert (resumed.number, resumed.ended) == (1, "finished")


# What is said.


def test_success_of_verify_reads_like_success(run: Run, site: Site) -> None:
    """And failure like failure."""
    run("crawl", site.url())
    head = run("evidence", "head").out.strip()
    count = head.partition(":")[0]
    ran = run("evidence", "verify")
    assert ran.code == 0
    assert ran.err.startswith(f"OK: {count} records verified, chain intact; head {head}\n")
    execute("manners.db", "DELETE FROM evidence WHERE id = 2")
    ran = run("evidence", "verify")
    assert ran.code == 1
    assert ran.err.startswith("FAILED: ")


def test_the_report_names_the_delay_that_was_in_force(tmp_path: Path) -> None:
    """A Crawl-delay between the least and the most that is drawn, not the least."""
    pages = {**PAGES, "/robots.txt": page(b"User-agent: *\nCrawl-delay: 0.3\n")}
    place = str(tmp_path / "slow.db")
    with in_thread(Site(by_path(pages))) as site:
        told: dict[str, Any] = {
            "store": place,
            "allow_private": True,
            "max_pages": 3,
            "source": "links",
        }
        list(manners.crawl([site.url()], **told))
    with EvidenceStore(place, readonly=True) as store:
        report = report_of(store)
    assert [host.delay for host in report.hosts.rows] == [0.3]
    (lane,) = report.timeline.lanes
    assert {each.delay for each in lane.bins} == {0.3}


def test_404_is_one_word_for_get_and_crawl(run: Run, site: Site) -> None:
    """What is answered is fetched, and its status is shown; 5xx failed, in both."""
    ran = run("get", site.url(path="/gone"), site.url(path="/a"))
    assert ran.code == 1
    assert ran.err.splitlines()[:2] == ["2 fetched", "  1 fetched: 410"]
    ran = run("get", site.url(path="/broken"), site.url(path="/a"))
    assert ran.err.splitlines()[0] == "1 fetched, 1 failed"
    ran = run("crawl", site.url(path="/gone"), site.url(path="/broken"), "--source", "links")
    assert re.search(r"fetched +1  410: 1", ran.out)
    assert re.search(r"failed +1  status 500: 1", ran.out)


def test_the_report_lists_broken_pages_with_who_links_to_them(run: Run, site: Site) -> None:
    """With their status, and the page that named each first."""
    run("crawl", site.url(), site.url(path="/broken"))
    found = run("report", "--json").object["broken"]
    assert found["total"] == 2
    rows = [(row["url"], row["status"], row["source"], row["found_in"]) for row in found["rows"]]
    assert sorted(rows) == [
        (site.url(path="/broken"), 500, "start", ""),
        (site.url(path="/gone"), 410, "link", site.url()),
    ]
    shown = run("report", "-o", "-")
    assert "linked from " in shown.out


# Saved pages.


@pytest.mark.parametrize("command", ["get", "crawl"])
def test_the_folder_says_which_file_belongs_to_which_url(
    run: Run, site: Site, command: str
) -> None:
    """An index beside the files, which have the ending of their type."""
    paths = ("/", "/paper", "/data", "/picture.php", "/odd.exe")
    more = ["--depth", "0", "--source", "links"] if command == "crawl" else []
    run(command, *(site.url(path=path) for path in paths), "-o", "pages", *more)
    found = index("pages")
    endings = {path: Path(entry["file"]).suffix for path, entry in found.items()}
    assert endings == dict(zip(paths, (".html", ".pdf", ".json", ".jpg", ".bin"), strict=True))
    paper = found["/paper"]
    assert Path("pages", paper["file"]).read_bytes() == b"%PDF-1.7"
    assert (paper["status"], paper["type"], paper["bytes"]) == (200, "application/pdf", 8)
    assert paper["final_url"] == paper["url"] == site.url(path="/paper")
    assert len(paper["sha256"]) == 64
    assert paper["fetched_at"].endswith("Z")
    files = {str(each.relative_to("pages")) for each in Path("pages").rglob("*.*")}
    assert files == {MANIFEST, *(entry["file"] for entry in found.values())} | {
        each for each in files if Path("pages", each).is_dir()
    }


def test_the_index_survives_a_resume_and_another_run(run: Run, site: Site) -> None:
    """No page stands in it twice, also when it has changed."""
    run("crawl", site.url(), "--max-pages", "2", "-o", "pages")
    assert len(index("pages")) == 2
    assert "-o pages" in run("crawl", "resume", "--max-pages", "3", "-o", "pages").out
    assert len(index("pages")) == 3
    run("crawl", site.url(), "--new", "-o", "pages")
    assert {"/", "/a", "/b"} == index("pages").keys()
    before = index("pages")["/a"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(PAGES, "/a", html("/b", head="<title>new</title>"))
        run("get", site.url(path="/a"), "-o", "pages")
    after = index("pages")["/a"]
    assert after["sha256"] != before["sha256"]
    assert after["file"] == before["file"]


def test_an_index_cut_short_is_mended_and_one_of_somebody_else_is_left(
    run: Run, site: Site
) -> None:
    """A line that was not written to its end is dropped; other files are not written to."""
    run("get", site.url(path="/a"), "-o", "pages")
    with Path("pages", MANIFEST).open("ab") as file:
        file.write(b'{"url": "http')
    assert run("get", site.url(path="/b"), "-o", "pages").code == 0
    assert {"/a", "/b"} == index("pages").keys()
    Path("mine").mkdir()
    Path("mine", MANIFEST).write_text('{"name": "mine"}\n')
    site.log.clear()
    ran = run("get", site.url(path="/b"), "-o", "mine")
    assert (ran.code, site.log) == (2, [])
    assert "is not a saved page" in ran.err
    assert Path("mine", MANIFEST).read_text() == '{"name": "mine"}\n'


# A long list.


@pytest.mark.parametrize("how", ["file", "standard input"])
def test_get_of_a_list_can_be_resumed(site: Site, how: str) -> None:
    """What was interrupted says what to type; what is saved is not asked for again."""
    urls = [site.url(path=path) for path in ("/a", "/b", "/slow", "/data")]
    Path("list.txt").write_text("".join(f"{url}\n" for url in urls))
    words = ["--urls", "list.txt"] if how == "file" else []
    command = [sys.executable, "-m", "manners", "get", *words, "-o", "pages"]
    environment = {**os.environ, "MANNERS_CONCURRENCY": "1"}
    with Path("list.txt").open("rb") as given:
        with subprocess.Popen(
            command,
            stdin=given,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
        ) as process:
            assert process.stdout
            assert process.stderr
            lines = [process.stdout.readline() for _ in range(2)]
            assert all(line.startswith(b"200") for line in lines)
            process.send_signal(signal.SIGINT)
            if how == "file":  # as in a crawl, the first one lets running requests finish
                assert process.stderr.readline() == b"\n"
                assert b"Ctrl-C again aborts" in process.stderr.readline()
                process.send_signal(signal.SIGINT)
            err = process.stderr.read().decode()
        assert process.returncode == 130
    assert "2 fetched\n" in err
    assert "not done" not in err
    typed = "manners get --urls list.txt -o pages --resume"
    assert (typed if how == "file" else "manners get -o pages --resume < LIST") in err
    assert {"/a", "/b"} <= index("pages").keys()
    site.log.clear()
    with pytest.MonkeyPatch.context() as patch, Path("list.txt").open("rb") as given:
        patch.setitem(PAGES, "/slow", html())
        ran = subprocess.run(
            [*command, "--resume"], stdin=given, capture_output=True, check=False, env=environment
        )
    assert ran.returncode == 0, ran.stderr
    skipped = "2 skipped: " + ("done before" if how == "file" else "saved before")
    assert f"2 fetched, {skipped}".encode() in ran.stderr
    assert sorted(asked(site)) == ["/data", "/slow"]
    assert index("pages").keys() == {"/a", "/b", "/slow", "/data"}


def test_resume_needs_the_folder(run: Run, site: Site) -> None:
    """It goes by what is saved there."""
    ran = run("get", "--resume", site.url(path="/a"))
    assert (ran.code, site.log) == (2, [])
    assert "-o DIR" in ran.err
