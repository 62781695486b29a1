"""What a client and a crawl archive: everything on the wire, and why it was fetched."""

import gzip
import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

import manners
from manners.bulk.readers.warc import read as read_archive
from manners.errors import StoreError
from manners.testing import ScriptedSender
from manners.warc.files import WarcFile
from tests.warc import reading, replay
from tests.warc.reading import Entry, files, index, records

AGENT = "MyBot/1.0 (+https://example.com/bot)"
QUICK: dict[str, Any] = {
    "agent": AGENT,
    "allow_private": True,
    "min_delay": 0.0,
    "max_delay": 0.0,
    "adaptive_factor": 0.0,
}
LINKS = ["/same", "/moved", "/chunks", "/zipped", "/long", "/missing", "/closed/1", "/odd"]
HOME = "".join(f"<a href={link}>x</a>" for link in LINKS).encode()
LONG = b"<p>" + b"0123456789" * 500
LIMIT = 2_000
NONE: dict[str, str] = {}


class _Site(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: object) -> None:
        """Nothing."""

    def do_HEAD(self) -> None:
        self._send(HOME, {"Content-Type": "text/html"})

    def do_GET(self) -> None:
        match self.path:
            case "/robots.txt":
                self._send(b"User-agent: *\nDisallow: /closed/\n", {"Content-Type": "text/plain"})
            case "/" | "/same":
                self._send(HOME, {"Content-Type": "text/html; charset=utf-8"})
            case "/moved":
                self._send(b"", {"Location": "/long"}, 301)
            case "/chunks":
                self.send_response(200)
                self.send_header("Transfer-Encoding", "chunked")
                self.end_headers()
                self.wfile.write(b"3\r\nabc\r\n4\r\ndefg\r\n0\r\n\r\n")
            case "/zipped":
                headers = {"Content-Encoding": "gzip", "Set-Cookie": "id=1"}
                self._send(gzip.compress(b"<p>zipped" * 100), headers)
            case "/long":
                self._send(LONG, {"Content-Type": "text/html"})
            case "/odd":
                self._send(b"odd", {"X-Odd": "caf\xe9  x", "x-ODD": "2"})
            case _:
                self._send(b"nothing here", status=404)

    def _send(self, body: bytes, headers: dict[str, str] = NONE, status: int = 200) -> None:
        self.send_response(status)
        for name, text in headers.items():
            self.send_header(name, text)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


@pytest.fixture(scope="module")
def site() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Site) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def crawled(site: str, tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Entry], Path]:
    """The records of a crawl, and where its files are."""
    folder = tmp_path_factory.mktemp("crawl")
    secrets = ["X-Api-Key: secret-1", "Authorization: Bearer secret-2", "Accept-Language: de"]
    jar = folder / "cookies.txt"
    jar.write_text("# Netscape HTTP Cookie File\n127.0.0.1\tFALSE\t/\tFALSE\t0\tid\tsecret-3\n")
    archive, store = folder / "warc", folder / "crawl.db"
    settings = {**QUICK, "headers": secrets, "cookie_file": str(jar), "concurrency": 1}
    settings |= {"store": str(store), "warc": str(archive), "page_max_bytes": LIMIT}
    kept = list(manners.crawl([site + "/"], **settings))
    assert len(kept) == 1 + len(LINKS)
    return records(archive), archive


def of(entries: list[Entry], path: str, kind: str = "response") -> Entry:
    """The record of a kind for a path."""
    (found,) = (entry for entry in entries if entry.kind == kind and entry.url.endswith(path))
    return found


def test_every_request_has_its_records(crawled: tuple[list[Entry], Path], site: str) -> None:
    """Request, response or revisit, metadata: for each URL that was requested, and no other."""
    entries, _ = crawled
    requested = {site + path for path in ["/", "/sitemap.xml", *LINKS]} - {site + "/closed/1"}
    for kinds in (("request",), ("response", "revisit"), ("metadata",)):
        urls = [entry.url for entry in entries if entry.kind in kinds]
        assert sorted(urls) == sorted(requested)


def test_replies_are_archived_as_they_came(crawled: tuple[list[Entry], Path]) -> None:
    """Bodies compressed as sent, without the lengths of chunks; headers in their order and case."""
    entries, _ = crawled
    zipped = of(entries, "/zipped")
    assert gzip.decompress(zipped.payload) == b"<p>zipped" * 100
    assert b"\r\nSet-Cookie: id=1\r\n" in zipped.head
    chunks = of(entries, "/chunks")
    assert chunks.payload == b"abcdefg"
    assert b"\r\nX-Archive-Orig-Transfer-Encoding: chunked" in chunks.head
    assert b"\r\nX-Odd: caf\xe9  x\r\nx-ODD: 2\r\n" in of(entries, "/odd").head
    assert of(entries, "/odd").head.startswith(b"HTTP/1.1 200 OK\r\n")
    assert of(entries, "/missing").status == 404
    assert of(entries, "/missing").payload == b"nothing here"
    assert of(entries, "/").headers["WARC-IP-Address"] == "127.0.0.1"


def test_a_body_beyond_the_limit_says_so(crawled: tuple[list[Entry], Path]) -> None:
    """What was read is there, and that there is more."""
    entries, _ = crawled
    long = of(entries, "/long")
    assert long.payload == LONG[:LIMIT]
    assert long.headers["WARC-Truncated"] == "length"


def test_the_same_again_is_a_revisit(crawled: tuple[list[Entry], Path]) -> None:
    """It names the record that has the body, and has the headers of its own reply."""
    entries, _ = crawled
    again, first = of(entries, "/same", "revisit"), of(entries, "/")
    assert again.payload == b""
    assert again.head.startswith(b"HTTP/1.1 200 OK")
    assert again.headers["WARC-Payload-Digest"] == first.headers["WARC-Payload-Digest"]
    assert again.headers["WARC-Refers-To"] == first.headers["WARC-Record-ID"]
    assert again.headers["WARC-Refers-To-Target-URI"] == first.url
    assert again.headers["WARC-Refers-To-Date"] == first.headers["WARC-Date"]
    assert again.headers["WARC-Profile"].endswith("/1.1/revisit/identical-payload-digest")


def test_requests_are_archived_without_secrets(crawled: tuple[list[Entry], Path]) -> None:
    """Headers of the settings may hold keys, and cookies are ones."""
    entries, folder = crawled
    sent = of(entries, "/odd", "request").head.decode().split("\r\n")
    assert sent[0] == "GET /odd HTTP/1.1"
    assert f"User-Agent: {AGENT}" in sent
    assert "Accept-Language: de" in sent
    assert {line.partition(":")[0] for line in sent[1:]} <= {
        *("Host", "User-Agent", "Accept", "Accept-Encoding", "Accept-Language", "Connection"),
    }
    for path in folder.iterdir():
        data = path.read_bytes()
        data = gzip.decompress(data) if path.suffix == ".gz" else data
        assert b"secret-" not in data


def told(entry: Entry) -> dict[str, list[str]]:
    """The fields of a record."""
    found: dict[str, list[str]] = {}
    for line in entry.payload.decode().splitlines():
        name, _, text = line.partition(": ")
        found.setdefault(name, []).append(text)
    return found


def test_the_metadata_says_why_and_where_to(crawled: tuple[list[Entry], Path], site: str) -> None:
    """The verdict, its robots.txt, the evidence, the page before and the links."""
    entries, _ = crawled
    robots = of(entries, "/robots.txt", "resource")
    assert robots.payload == b"User-agent: *\nDisallow: /closed/\n"
    home, odd = told(of(entries, "/", "metadata")), told(of(entries, "/odd", "metadata"))
    (verdict,) = map(json.loads, home["robots-verdict"])
    assert verdict["allowed"] is True
    assert verdict["reason"] == "no-rule-matched"
    assert home["robots-record"] == odd["robots-record"] == [robots.headers["WARC-Record-ID"]]
    assert home["outlink"] == [f"{site}{link} L a/@href" for link in LINKS]
    assert odd["via"] == [site + "/"]
    assert int(odd["evidence-id"][0]) > 0


def test_without_a_robots_txt_the_archive_says_so(tmp_path: Path) -> None:
    """There is no file to archive, and its absence decided."""
    with ThreadingHTTPServer(("127.0.0.1", 0), _Bare) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        with manners.Client(**QUICK, warc=str(tmp_path)) as client:
            assert client.get(f"http://127.0.0.1:{server.server_port}/a").status == 404
        server.shutdown()
    found = of(records(tmp_path), "/robots.txt", "metadata")
    assert told(found)["robots-status"] == ["404"]


class _Bare(_Site):
    def do_GET(self) -> None:
        self._send(b"", status=404)


def test_bulk_reads_robots_txt_of_archives(
    crawled: tuple[list[Entry], Path], tmp_path: Path, site: str
) -> None:
    """The files that decided, and that a site has none; pages are not taken for one."""
    _, archive = crawled
    with ThreadingHTTPServer(("127.0.0.1", 0), _Bare) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        bare = f"http://127.0.0.1:{server.server_port}"
        with manners.Client(**QUICK, warc=str(tmp_path)) as client:
            client.get(f"{bare}/a")
        server.shutdown()
    rows = [
        row
        for folder in (archive, tmp_path)
        for batch in read_archive(str(folder), None)
        for row in batch.to_pylist()
        if row["url"].endswith("/robots.txt")
    ]
    known = [(row["url"], row["status"], row["body"]) for row in rows]
    assert known == [
        (site + "/robots.txt", 200, b"User-agent: *\nDisallow: /closed/\n"),
        (bare + "/robots.txt", 404, None),
    ]


def test_a_client_archives_hop_by_hop(tmp_path: Path, site: str) -> None:
    """Redirects, HEAD and streams; a page is returned when it is durable."""
    with manners.Client(**QUICK, warc=str(tmp_path)) as client:
        assert client.get(site + "/moved").body == LONG
        open_files = list(tmp_path.glob("*.open"))
        assert any(LONG[:100] in _inflated(path) for path in open_files)
        assert client.head(site + "/same").ok
        with client.stream(site + "/zipped") as stream:
            assert b"".join(stream.chunks()).startswith(b"<p>zipped")
        with client.stream(site + "/long", max_bytes=9) as stream:
            assert b"".join(stream.chunks()) == LONG[:9]
    entries = records_with_head(tmp_path)
    asked = [entry.head.split(b" HTTP", 1)[0] for entry in entries if entry.kind == "request"]
    assert asked == [b"GET /moved", b"GET /long", b"HEAD /same", b"GET /zipped", b"GET /long"]
    assert of(entries, "/zipped").body == b"<p>zipped" * 100
    responses = [entry for entry in entries if entry.kind == "response"]
    assert [entry.headers.get("WARC-Truncated", "") for entry in responses] == [*[""] * 4, "length"]
    assert responses[-1].payload == LONG[:9]


def records_with_head(folder: Path) -> list[Entry]:
    """The records, of which those of a HEAD are not in the index: replay would show no page."""
    (path,) = files(folder)
    assert site_paths(path) == ["/long", "/long", "/moved", "/robots.txt", "/zipped"]
    return list(reading.read(path))


def site_paths(path: Path) -> list[str]:
    return sorted("/" + line["url"].rsplit("/", 1)[1] for line in index(path))


def _inflated(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.name.endswith(".gz.open") else b""


def test_a_file_is_full_at_its_size(tmp_path: Path, site: str) -> None:
    """Then another begins, with a robots.txt of its own; a revisit may lead to another file."""
    with manners.Client(**QUICK, warc=str(tmp_path), warc_size=1) as client:
        for path in ("/", "/odd", "/same"):
            client.get(site + path)
    assert len(files(tmp_path)) == 3
    entries = records(tmp_path)
    assert sum(entry.kind == "resource" for entry in entries) == 3
    assert of(entries, "/same", "revisit").headers["WARC-Refers-To-Target-URI"] == site + "/"


def test_a_page_that_cannot_be_archived_does_not_count(
    tmp_path: Path, site: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The disk is full: the crawl ends with an error that says what to do, and can be resumed."""
    store = str(tmp_path / "crawl.db")
    settings = {**QUICK, "store": store, "warc": str(tmp_path / "warc"), "max_pages": 1}
    with monkeypatch.context() as patched:
        patched.setattr(WarcFile, "sync", _full)
        with pytest.raises(StoreError, match=r"No space left on device; make room, and resume"):
            list(manners.crawl([site + "/odd"], **settings))
    (page,) = manners.crawl([], store=store, resume=True, allow_private=True)
    assert page.url == site + "/odd"
    assert of(records(tmp_path / "warc"), "/odd").payload == b"odd"


def _full(_: object) -> None:
    raise OSError(28, "No space left on device")


def test_an_archive_needs_connections_of_its_own() -> None:
    """What a scripted sender says was on no wire."""
    sender = ScriptedSender({})
    with pytest.raises(ValueError, match="leave out http="):
        manners.AsyncClient(http=sender, warc="archive")
    with pytest.raises(ValueError, match="leave out http="):
        manners.crawl(["https://example.com/"], http=sender, warc="archive")


def test_a_folder_that_cannot_be_is_an_error_at_once(tmp_path: Path) -> None:
    """Before anything is fetched."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be created"):
        manners.Client(warc=str(tmp_path / "file" / "warc"))


@pytest.mark.skipif(replay.PYWB is None, reason="pywb is not installed: make replay")
def test_pywb_replays_it(crawled: tuple[list[Entry], Path], tmp_path: Path) -> None:
    """By our own index: compressed bodies, revisits and the robots.txt, too."""
    _, archive = crawled
    replay.check_replay(archive, tmp_path, 100)
