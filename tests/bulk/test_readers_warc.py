"""WARC files are read as Common Crawl writes them, and as others do, whatever is in them."""

import gzip
import subprocess
import sys
import zlib
from pathlib import Path
from typing import Any

import brotli
import pytest

from manners._unpack import zstd
from manners.bulk import readers
from manners.bulk.readers.warc import NOT_HTTP, UNDECODABLE
from manners.bulk.records import MAX_BODY, NO_ORIGIN, RECORDS, BulkError, Problems
from manners.bulk.resolving import State, resolve
from manners.retrieval import profiles
from tests.bulk.warcs import BODY, TIME, compressed, exchange, record, reply

pytest.importorskip("fastwarc")
import pyarrow as pa

URL = "https://a.example/robots.txt"


def rows(data: bytes, folder: Path, problems: Problems | None = None) -> list[dict[str, Any]]:
    """The records of a file."""
    suffix = ".gz" if data.startswith(b"\x1f\x8b") else ""
    path = folder / f"robots.warc{suffix}"
    path.write_bytes(data)
    batches = list(readers.open(path, problems))
    assert all(batch.schema == RECORDS for batch in batches)
    return [row for batch in batches for row in batch.to_pylist()]


def one(block: bytes, folder: Path, *more: str) -> dict[str, Any]:
    """The record of one response."""
    (row,) = rows(compressed(*exchange(URL, block, *more)), folder)
    return row


def test_a_response_is_a_record(tmp_path: Path) -> None:
    """URL, status, charset, time and body are those of the response; requests are skipped."""
    block = reply(200, BODY, "Content-Type: text/plain; charset=ISO-8859-1")
    assert one(block, tmp_path) == {
        "origin": "https://a.example",
        "url": URL,
        "status": 200,
        "location": None,
        "charset": "iso-8859-1",
        "complete": True,
        "fetched_at": pa.scalar(TIME, RECORDS.field("fetched_at").type).as_py(),
        "body": BODY,
    }


@pytest.mark.parametrize("compress", [True, False])
def test_all_statuses_are_records(tmp_path: Path, compress: bool) -> None:
    """Statuses other than 200 count, too, in a compressed file and in a plain one."""
    statuses = [200, 204, 301, 403, 404, 429, 500, 503, 999]
    parts = [part for status in statuses for part in exchange(URL, reply(status))]
    data = compressed(*parts) if compress else b"".join(parts)
    assert [row["status"] for row in rows(data, tmp_path)] == statuses


def test_redirects_lead_to_other_records(tmp_path: Path) -> None:
    """A redirect is a record, its target is another, and together they decide."""
    parts = exchange("http://a.example/robots.txt", reply(301, b"", f"Location: {URL}"))
    parts += exchange(URL, reply(302, b"", "location: /other"))
    parts += exchange("https://a.example/other", reply())
    path = tmp_path / "x.warc.gz"
    path.write_bytes(compressed(*parts))
    table = pa.Table.from_batches(readers.open(path))
    sites = resolve(table, profiles.get("rfc9309")).to_pylist()
    assert {(row["origin"], row["state"], row["body"]) for row in sites} == {
        ("http://a.example", State.AVAILABLE, BODY),
        ("https://a.example", State.AVAILABLE, BODY),
    }


def test_what_common_crawl_decoded_is_not_decoded_again(tmp_path: Path) -> None:
    """Renamed headers say how the body was sent, not how it is stored."""
    renamed = ["X-Crawl-Content-Encoding: gzip", "X-Crawl-Transfer-Encoding: chunked"]
    block = reply(200, BODY, *renamed, "X-Crawl-Content-Length: 7", f"Content-Length: {len(BODY)}")
    assert one(block, tmp_path)["body"] == BODY


def test_what_old_files_say_about_decoded_bodies_is_not_believed(tmp_path: Path) -> None:
    """A body that is stored as text is text, even if its headers were not renamed."""
    block = reply(200, BODY, "Content-Encoding: gzip", "Transfer-Encoding: chunked")
    assert one(block, tmp_path)["body"] == BODY
    for encoding in ("br", "deflate", "zstd"):
        assert one(reply(200, BODY, f"Content-Encoding: {encoding}"), tmp_path)["body"] == BODY


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("gzip", gzip.compress(BODY)),
        ("x-gzip", gzip.compress(BODY)),
        ("deflate", zlib.compress(BODY)),
        ("deflate", zlib.compress(BODY)[2:-4]),
        ("br", brotli.compress(BODY, quality=5)),
        ("zstd", zstd.compress(BODY)),
        ("identity", BODY),
    ],
)
def test_bodies_as_they_were_sent_are_decoded(tmp_path: Path, encoding: str, sent: bytes) -> None:
    """Other programs store bodies compressed and in chunks."""
    chunks = b"".join(b"%x;a=b\r\n%s\r\n" % (len(part), part) for part in (sent[:9], sent[9:]))
    header = f"Content-Encoding: {encoding}"
    assert one(reply(200, sent, header), tmp_path)["body"] == BODY
    row = one(reply(200, chunks + b"0\r\n\r\n", header, "Transfer-Encoding: chunked"), tmp_path)
    assert (row["body"], row["complete"]) == (BODY, True)


def test_a_body_that_cannot_be_decoded_allows_nothing(tmp_path: Path) -> None:
    """Brotli, or gzip with an error in it, is no robots.txt without rules: it is skipped."""
    broken = gzip.compress(BODY)[:15] + b"\xff" * 60
    problems = Problems()
    parts = exchange(URL, reply(200, b"\x8b\x03\x80\xff\x00", "Content-Encoding: br"))
    parts += exchange(URL, reply(200, broken, "Content-Encoding: gzip"))
    parts += exchange(URL, reply(200, gzip.compress(BODY)[:-20], "Content-Encoding: gzip"))
    parts += exchange(URL, reply(200, b"5\r\nUser-", "Transfer-Encoding: chunked"))
    assert rows(compressed(*parts), tmp_path, problems) == []
    assert problems == {UNDECODABLE: 4}


def test_a_truncated_body_is_not_complete(tmp_path: Path) -> None:
    """`WARC-Truncated` says that only the beginning is there."""
    assert one(reply(), tmp_path)["complete"] is True
    assert one(reply(), tmp_path, "WARC-Truncated: length")["complete"] is False


@pytest.mark.parametrize("size", [MAX_BODY, MAX_BODY + 1, 5 * MAX_BODY])
def test_a_long_body_is_cut(tmp_path: Path, size: int) -> None:
    """No more than a live retrieval reads is kept."""
    row = one(reply(200, b"#" * size), tmp_path)
    assert (len(row["body"]), row["complete"]) == (min(size, MAX_BODY), size <= MAX_BODY)


def test_a_compressed_bomb_is_cut(tmp_path: Path) -> None:
    """A body that decompresses to very much is read up to the limit."""
    bomb = gzip.compress(b"\0" * 50_000_000)
    row = one(reply(200, bomb, "Content-Encoding: gzip"), tmp_path)
    assert (len(row["body"]), row["complete"]) == (MAX_BODY, False)


@pytest.mark.parametrize(
    ("line", "status"),
    [
        ("HTTP/1.1 200 OK", 200),
        ("HTTP/2 301", 301),
        ("http/1.0  404 ", 404),
        ("HTTP/1.1 200", 200),
        ("HTTP/1.1 2000 OK", None),
        ("HTTP/1.1 abc", None),
        ("ICY 200 OK", None),
        ("", None),
    ],
)
@pytest.mark.parametrize("end", ["\r\n\r\n", "\n\n", "\r\nA: b\r\n\r\n"])
def test_status_lines_are_read_or_counted(
    tmp_path: Path, line: str, status: int | None, end: str
) -> None:
    """Any status line that names a status; a response without one is skipped and counted."""
    problems = Problems()
    found = rows(compressed(*exchange(URL, f"{line}{end}".encode() + BODY)), tmp_path, problems)
    assert [(row["status"], row["body"]) for row in found] == ([(status, BODY)] if status else [])
    assert problems[NOT_HTTP] == (not status)


def test_headers_without_end_are_counted_and_the_rest_is_read(tmp_path: Path) -> None:
    """A hostile reply among others costs nothing but itself."""
    problems = Problems()
    endless = b"HTTP/1.1 200 OK\r\n" + b"X-Header: y\r\n" * 100_000
    parts = (
        exchange(URL, endless) + exchange(URL, b"HTTP/1.1 200 OK\r\nA: b") + exchange(URL, reply())
    )
    assert [row["body"] for row in rows(compressed(*parts), tmp_path, problems)] == [BODY]
    assert problems == {NOT_HTTP: 2}


def test_locations_are_kept_as_sent(tmp_path: Path) -> None:
    """Several are one list, as live; bytes that are no text are escaped."""
    assert one(reply(301, b"", "Location:  /a "), tmp_path)["location"] == "/a"
    assert one(reply(301, b"", "Location: /a", "LOCATION: /b"), tmp_path)["location"] == "/a, /b"
    raw = b"HTTP/1.1 301 Moved\r\nLocation: /caf\xe9\r\n\r\n"
    assert one(raw, tmp_path)["location"] == "/caf%E9"
    folded = b"HTTP/1.1 301 Moved\r\nX-Location: /no\r\n\r\nLocation: /body"
    assert one(folded, tmp_path)["location"] is None


def test_urls_and_times_that_are_none_are_counted_or_null(tmp_path: Path) -> None:
    """A record without a usable URL is dropped; one without a time has none."""
    problems = Problems()
    parts = [
        record("dns:a.example", b"20240102 a.example. IN A 192.0.2.1"),
        record("http://", reply()),
        record(f"<{URL}>", reply(), date=None),
        record(URL, reply(), date="nonsense"),
        record(URL, reply(), date="2024-01-02T03:04:05.678Z"),
        record(URL, reply(), date="0000-99-99"),
    ]
    found = rows(compressed(*parts), tmp_path, problems)
    assert [row["url"] for row in found] == [URL] * 4
    assert [row["fetched_at"] is None for row in found] == [True, True, False, True]
    assert found[2]["fetched_at"].microsecond == 678_000
    assert problems == {NO_ORIGIN: 1}


# Damage.


def damaged() -> dict[str, bytes]:
    """Files with a record, and damage behind it."""
    good, more = exchange(URL, reply()), gzip.compress(record(URL, reply()))
    first = compressed(*good)
    huge = record(URL, reply(), length=10**9)
    return {
        "an error in the compression": first + more[:60] + b"\0" * 50 + more[110:] + more,
        "something else": first + b"garbage" * 50 + more,
        "the end within a record": first + more[:-60],
        "a claim of a gigabyte": first + gzip.compress(huge),
        "no header": first + gzip.compress(b"WARC/1.0\r\n" + b"X: y\r\n" * 1_000_000),
        "no end of a name": first + gzip.compress(b"x" * 3_000_000),
    }


@pytest.mark.parametrize("kind", damaged())
def test_damage_is_an_error_that_says_where(tmp_path: Path, kind: str) -> None:
    """Whoever does not count problems gets an error with the file, and where in it."""
    with pytest.raises(BulkError, match=r"robots\.warc\.gz: damaged after byte [0-9,]+: "):
        rows(damaged()[kind], tmp_path)


@pytest.mark.parametrize("kind", damaged())
def test_what_is_before_the_damage_counts(tmp_path: Path, kind: str) -> None:
    """Whoever counts problems gets the records before it, and a warning with the file."""
    problems = Problems()
    assert [row["body"] for row in rows(damaged()[kind], tmp_path, problems)] == [BODY]
    (text,) = problems
    assert "robots.warc.gz: damaged after byte" in text
    assert "the rest of it was skipped" in text


def test_other_files_are_read_after_a_damaged_one(tmp_path: Path) -> None:
    """One file of many that is damaged from its first byte is a warning."""
    (tmp_path / "a.warc.gz").write_bytes(b"\x1f\x8bnonsense" * 100)
    (tmp_path / "b.warc.gz").write_bytes(compressed(*exchange(URL, reply())))
    problems = Problems()
    assert sum(batch.num_rows for batch in readers.open(tmp_path, problems)) == 1
    assert len(problems) == 1


def test_a_place_in_which_nothing_can_be_read_is_an_error(tmp_path: Path) -> None:
    """A warning is not enough where nothing is left."""
    with pytest.raises(BulkError, match="damaged after byte 0"):
        rows(b"\x1f\x8bnonsense" * 100, tmp_path, Problems())
    with pytest.raises(BulkError, match="damaged after byte 0"):
        rows(b"this is not WARC\n" * 100, tmp_path, Problems())


MEASURED = """
import resource, sys
from manners.bulk import readers
from manners.bulk.records import Problems

before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
for batch in readers.open(sys.argv[1], Problems()):
    pass
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def test_memory_is_bounded_however_much_a_file_claims(tmp_path: Path) -> None:
    """Records of hundreds of megabytes, compressed to nothing, are not held in memory."""
    path = tmp_path / "bomb.warc.gz"
    zeros = b"\0" * 1_000_000
    block = reply(200, b"")
    head = record(URL, block, length=len(block) + 200 * len(zeros)).removesuffix(b"\r\n\r\n")
    with path.open("wb") as file:
        for _ in range(2):
            member = zlib.compressobj(1, wbits=31)
            file.write(member.compress(head))
            for _ in range(200):
                file.write(member.compress(zeros))
            file.write(member.compress(b"\r\n\r\n") + member.flush())
        file.write(gzip.compress(record(URL, reply())))
    command = [sys.executable, "-c", MEASURED, str(path)]
    grown = int(subprocess.run(command, capture_output=True, check=True, text=True).stdout)
    unit = 1 if sys.platform == "darwin" else 1024
    assert grown * unit < 150_000_000
