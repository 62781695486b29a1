"""Wherever an archive lies, its sites say the same: Parquet, WARC, a folder, tables in memory."""

import gzip
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import bulk
from tests.bulk.truth import (
    BODY,
    NOON,
    Record,
    Truth,
    archive,
    assert_same,
    column,
    hours,
    pa,
    parquet,
    read,
    rows,
    world,
)
from tests.sizes import seed

SEED = seed("BULK_SEED")


def ask(sites: Any, asked: Any) -> Any:
    return read(sites.verdicts(pa.record_batch({"url": column(asked)})))


def check(sites: Any, records: Iterable[Record] = ()) -> None:
    """These sites answer as the records live."""
    asked = rows(SEED, 1_500)
    assert_same(ask(sites, asked), Truth(records or world()).answers(asked), asked)


# Parquet.


def test_parquet_is_read(tmp_path: Path) -> None:
    """A file, a list of files, a glob and a folder; records of one site in several files."""
    table = archive(world())
    files = []
    for at in range(4):
        files.append(tmp_path / f"{at}.parquet")
        parquet.write_table(table.take(list(range(at, table.num_rows, 4))), files[-1])
    places: list[Any] = [files, tmp_path, str(tmp_path), f"{tmp_path}/*.parquet"]
    for place in places:
        check(bulk.Sites.read(place, agent="MyBot"))
    parquet.write_table(table, tmp_path / "all", row_group_size=7)
    check(bulk.Sites.read(tmp_path / "all", agent="MyBot"))


def test_tables_in_memory_are_read() -> None:
    """A table, a batch, chunks of any size, and columns in another order."""
    table = archive(world())
    names = table.schema.names[::-1]
    shuffled = table.select(names).append_column("more", pa.array(range(table.num_rows)))
    batches = pa.Table.from_batches(table.to_batches(max_chunksize=5))
    for each in (table, batches, shuffled, table.combine_chunks().to_batches()[0]):
        check(bulk.Sites.from_table(each, agent="MyBot"))


def test_a_part_of_a_table_is_that_part() -> None:
    """Slices with offsets: the rows before and behind are not there."""
    table = archive(world())
    records = [*world()][20:50]
    check(bulk.Sites.from_table(table.slice(20, 30), agent="MyBot"), records)
    batch = table.combine_chunks().to_batches()[0].slice(20, 30)
    check(bulk.Sites.from_table(batch, agent="MyBot"), records)


def test_what_is_no_archive_is_named(tmp_path: Path) -> None:
    """Not there, not readable, or without the columns."""
    broken = tmp_path / "broken.parquet"
    broken.write_bytes(b"PAR1 no")
    other = tmp_path / "other.parquet"
    parquet.write_table(pa.table({"a": [1]}), other)
    for place in (tmp_path / "no-such.parquet", broken, other):
        with pytest.raises((manners.MannersError, FileNotFoundError), match=place.stem):
            bulk.Sites.read(place, agent="MyBot")


# WARC.


def warc_record(record: Record, kind: str = "response", extra: str = "") -> bytes:
    """A record as Common Crawl writes it."""
    lines = [f"HTTP/1.1 {record.status} Whatever", "X-Crawl-Content-Encoding: gzip", "A: 1", "A: 2"]
    kind_of_text = (
        "text/plain" if record.charset is None else f"text/plain; charset={record.charset}"
    )
    lines.append(f"Content-Type: {kind_of_text}")
    if record.location is not None:
        lines.append(f"Location: {record.location}")
    http = "\r\n".join(lines).encode() + b"\r\n\r\n" + (record.body or b"")
    head = [
        "WARC/1.0",
        f"WARC-Type: {kind}",
        f"WARC-Target-URI: {record.asked}",
        f"WARC-Date: {record.fetched_at:%Y-%m-%dT%H:%M:%SZ}",
        "WARC-Record-ID: <urn:uuid:12345678-1234-1234-1234-123456789abc>",
        "WARC-Protocol: http/1.1",
        "WARC-Protocol: tls/1.3",
        "Content-Type: application/http; msgtype=response",
        f"Content-Length: {len(http)}",
        *([extra] if extra else []),
    ]
    return "\r\n".join(head).encode() + b"\r\n\r\n" + http + b"\r\n\r\n"


@pytest.mark.parametrize("packed", [False, True])
def test_a_warc_is_read(tmp_path: Path, packed: bool) -> None:
    """Responses only, the latest of a site, redirects by their targets; a member each in gzip."""
    pytest.importorskip("fastwarc")
    files = [tmp_path / f"CC-{at}.warc{'.gz' if packed else ''}" for at in range(2)]
    for at, place in enumerate(files):
        data = b""
        for record in world()[at::2]:
            request = record._replace(body=b"User-agent: *\nDisallow: /", location=None)
            for each in (warc_record(request, "request"), warc_record(record)):
                data += gzip.compress(each) if packed else each
        place.write_bytes(data)
    check(bulk.Sites.from_warc(files, agent="MyBot"))
    check(bulk.Sites.read(files, agent="MyBot"))
    check(bulk.Sites.read(f"{tmp_path}/*", agent="MyBot"))


def test_a_warc_that_was_cut_is_said_to_be(tmp_path: Path) -> None:
    """`WARC-Truncated`: the profile decides what half a file means."""
    pytest.importorskip("fastwarc")
    records = [
        Record("https://host0.example", BODY, complete=False),
        Record("https://host1.example", BODY),
        Record("https://host2.example", BODY.replace(b"pdf", b"\xe9"), charset="iso-8859-1"),
    ]
    place = tmp_path / "cut.warc"
    truncated = warc_record(records[0], extra="WARC-Truncated: length")
    place.write_bytes(truncated + warc_record(records[1]) + warc_record(records[2]))
    asked = [
        f"https://host{at}.example{path}"
        for at in range(3)
        for path in ("/private/a", "/a.pdf", "/a.é", "/a.%E9")
    ]
    for profile in ("rfc9309", "open"):
        sites = bulk.Sites.read(place, agent="MyBot", profile=profile)
        assert_same(
            ask(sites, asked), Truth(records, profile=profile).answers(asked), asked, profile
        )


# Several names, several questions.


def test_an_agent_may_have_several_names() -> None:
    """A sequence is one agent, as everywhere: a group for any of its names counts."""
    records = [
        Record("https://a.example", b"User-agent: two\nDisallow: /2\n\nUser-agent: *\nDisallow: /")
    ]
    asked = ["https://a.example/1", "https://a.example/2"]
    for agent in (["one", "two"], ("one", "two"), ("one",), "two", "*"):
        sites = bulk.Sites.from_table(archive(records), agent=agent)
        assert_same(ask(sites, asked), Truth(records, agent).answers(asked), asked, agent)


@pytest.mark.parametrize("options", [{"dialect": "no-such"}, {"profile": "no-such"}])
def test_an_unknown_name_is_named(options: dict[str, Any]) -> None:
    """With those that there are."""
    with pytest.raises((manners.MannersError, ValueError, KeyError), match="no-such"):
        bulk.Sites.from_table(archive([]), agent="MyBot", **options)


def test_a_copy_may_have_come_by_a_redirect() -> None:
    """The site fails now; the copy is what its redirect led to then."""
    records = [
        Record("https://a.example", None, 301, "https://b.example/rules", fetched_at=hours(-2)),
        Record("https://b.example", BODY, url="https://b.example/rules", fetched_at=hours(-2)),
        Record("https://a.example", None, 503, fetched_at=NOON),
    ]
    asked = ["https://a.example/private/a", "https://a.example/", "https://b.example/"]
    sites = bulk.Sites.from_table(archive(records), agent="MyBot")
    found = ask(sites, asked)
    assert_same(found, Truth(records).answers(asked), asked)
    assert [answer.reason for answer in found] == ["stale-copy", "stale-copy", "no-robots"]


def test_what_was_built_does_not_change() -> None:
    """A table that is changed or gone afterwards changes nothing."""
    table = archive(world())
    sites = bulk.Sites.from_table(table, agent="MyBot")
    assert sites.nbytes > 0
    del table
    check(sites)
    with pytest.raises((AttributeError, TypeError)):
        setattr(sites, "agent", "OtherBot")  # noqa: B010
    check(sites)
