"""The manifest of saved pages: a line for each, whichever command saved it."""

import hashlib
import json
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import pytest

from manners import parse
from manners.cli.folder import PageFolder
from manners.client.page import Hop, Page
from manners.evidence.store import EvidenceStore
from tests.cli.running import Run, runner
from tests.faults.server import Call, Site, by_path, in_thread, page

pytestmark = pytest.mark.usefixtures("quick")

HTML = [("Content-Type", "text/html; charset=utf-8")]


async def moved(call: Call) -> None:
    await call.reply(301, headers=[("Location", "/new")])


@pytest.fixture(scope="module")
def server() -> Iterator[Site]:
    handlers = {
        "/robots.txt": page(b"User-agent: *\nDisallow: /private\n"),
        "/": page(b"<a href=/data.json>data</a><a href=/private>no</a>", headers=HTML),
        "/data.json": page(b"{}", headers=[("Content-Type", "application/json")]),
        "/moved": moved,
        "/missing": page(b"gone", 404),
    }
    with in_thread(Site(by_path(handlers, page(b"hello")))) as site:
        yield site
        assert site.failures == []


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def manifest(folder: str = "pages") -> list[dict[str, object]]:
    lines = Path(folder, "manifest.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines]


MEMBERS = ["url", "final_url", "file", "status", "type", "bytes", "sha256", "fetched_at"]


@pytest.mark.parametrize("command", ["get", "crawl"])
def test_a_line_has_what_there_is_to_know_of_a_page(run: Run, site: Site, command: str) -> None:
    """The file is there, with this content; the record of this number is of this URL."""
    urls = [site.url(), site.url(path="/data.json"), site.url(path="/missing")]
    run(command, *urls, "-o", "pages")
    saved = {str(entry["url"]): entry for entry in manifest()}
    assert saved.keys() == {site.url(), site.url(path="/data.json")}
    with EvidenceStore("manners.db") as store:
        records = {record.id: record for record in store.records()}
    for url, entry in saved.items():
        assert list(entry) == [*MEMBERS, "evidence_id"]
        body = Path("pages", str(entry["file"])).read_bytes()
        assert entry["sha256"] == hashlib.sha256(body).hexdigest()
        assert (entry["bytes"], entry["status"]) == (len(body), 200)
        assert datetime.fromisoformat(str(entry["fetched_at"])).tzinfo is not None
        number = entry["evidence_id"]
        assert isinstance(number, int)
        assert records[number].metadata["url"] == url
    assert [entry["type"] for entry in saved.values()] == ["text/html", "application/json"]
    suffixes = [Path(str(entry["file"])).suffix for entry in saved.values()]
    assert suffixes == [".html", ".json"]


def test_without_evidence_the_number_is_null(run: Run, site: Site) -> None:
    """The members stay the same, so that a program can rely on them."""
    assert run("get", site.url(path="/moved"), "--no-evidence", "-o", "pages").code == 0
    (entry,) = manifest()
    assert entry["evidence_id"] is None
    assert entry["final_url"] == site.url(path="/new")


def test_a_page_that_has_not_changed_keeps_its_line(run: Run, site: Site) -> None:
    """Fetching it again adds nothing, though its record and time are others."""
    for _ in range(2):
        assert run("get", site.url(), "-o", "pages").code == 0
    (entry,) = manifest()
    with EvidenceStore("manners.db") as store:
        assert len(list(store.records())) == 2
    assert entry["evidence_id"] == 1


def test_the_list_of_an_earlier_version_is_taken_over(run: Run, site: Site) -> None:
    """It gets the new name, and what it lists counts as saved."""
    run("get", site.url(path="/a"), "-o", "pages")
    (entry,) = manifest()
    del entry["evidence_id"]
    Path("pages/pages.jsonl").write_text(json.dumps(entry) + "\n")
    Path("pages/manifest.jsonl").unlink()
    site.log.clear()
    urls = [site.url(path="/a"), site.url(path="/b")]
    assert run("get", *urls, "-o", "pages", "--resume").code == 0
    assert "/a" not in [visit.path for visit in site.log]
    assert [line["url"] for line in manifest()] == urls
    assert not Path("pages/pages.jsonl").exists()


def test_another_file_of_that_name_is_left_as_it_is(run: Run, site: Site) -> None:
    """A `pages.jsonl` that is not ours is an error that names it, before anything is asked."""
    Path("pages").mkdir()
    Path("pages/pages.jsonl").write_text('{"title": "mine"}\n')
    ran = run("get", site.url(path="/a"), "-o", "pages")
    assert (ran.code, site.log) == (2, [])
    assert "pages.jsonl': line 1 is not a saved page; use another folder" in ran.err
    assert Path("pages/pages.jsonl").read_text() == '{"title": "mine"}\n'


def saved_page(path: str, body: bytes) -> Page:
    url = f"https://example.com{path}"
    return Page(url, (Hop(url, True, parse("").policy("x").check(url), 200),), {}, body)


def test_two_processes_may_save_to_one_folder() -> None:
    """Each drops what it has replaced, and no line that the other has added."""
    with PageFolder(Path("pages")) as folder:
        folder.save(saved_page("/a", b"old"))
        folder.save(saved_page("/b", b"old"))
    first, second = PageFolder(Path("pages")), PageFolder(Path("pages"))
    first.save(saved_page("/c", b""))
    second.save(saved_page("/a", b"new"))
    second.close()  # the manifest is another file now
    first.save(saved_page("/b", b"new"))
    first.save(saved_page("/d", b""))
    first.close()
    saved = [(str(entry["url"])[-2:], entry["bytes"]) for entry in manifest()]
    assert sorted(saved) == [("/a", 3), ("/b", 3), ("/c", 0), ("/d", 0)]
    hashes = {str(entry["url"])[-2:]: entry["sha256"] for entry in manifest()}
    assert hashes["/a"] == hashes["/b"] == hashlib.sha256(b"new").hexdigest()
