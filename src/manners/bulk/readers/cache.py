"""A cache of robots.txt as a source of records: an SQLite file, or a Valkey server."""

import struct
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from manners.bulk.readers import magic
from manners.bulk.records import (
    MAX_BODY,
    BulkError,
    Problems,
    RobotsRecord,
    milliseconds,
    record_batches,
)
from manners.retrieval.outcome import Availability
from manners.urls import robots_url

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from manners.cache.backends import CacheBackend
    from manners.cache.entry import Entry

SCHEMES = ("redis", "rediss", "valkey", "valkeys")
_APPLICATION = b"manc"
_AT_ONCE = 100
_WITHOUT_HOPS = {Availability.AVAILABLE: 200, Availability.UNAVAILABLE: 404}


def recognises(path: Path) -> bool:
    """Whether it is an SQLite file that a cache has made."""
    head = magic(path, 72)
    return head.startswith(b"SQLite format 3\0") and application_of(head) == _APPLICATION


def application_of(head: bytes) -> bytes:
    """The application that made an SQLite file, by the first bytes of the file."""
    return b"".join(struct.unpack_from("4s", head, 68)) if len(head) >= 72 else b""


def read(place: str, problems: Problems | None) -> Iterator[pa.RecordBatch]:
    """The entries of a cache, as records."""
    from manners.cache.backends import open_backend

    path = place.removeprefix("sqlite:///")
    if "://" not in path and not Path(path).exists():  # looking does not create one
        raise BulkError(place, "there is no cache")
    return record_batches(_records(open_backend(place)), problems)


def records_of(entry: "Entry") -> Iterator[RobotsRecord]:
    """The records of an entry: each hop of its last retrieval, and an earlier copy.

    The copy is a record of its own, as is the time since when the site has been unreachable.
    """
    outcome, url = entry.outcome, robots_url(entry.origin)
    body, charset = entry.body, entry.charset or None
    is_file = outcome.availability is Availability.AVAILABLE
    copy = RobotsRecord(url, 200, None, charset, len(body or b"") < MAX_BODY, None, body)
    if body is not None and (outcome.not_modified or not is_file):
        first = entry.fetched_at if is_file else entry.validated_at
        yield copy._replace(fetched_at=_time(first))
    since = entry.unreachable_since
    if since is not None and since < outcome.at:
        yield RobotsRecord(url, fetched_at=_time(since))
    now = _time(outcome.at)
    if outcome.not_modified:
        yield copy._replace(fetched_at=now)
        return
    hops = [(hop.url, hop.status) for hop in outcome.hops]
    hops = hops or [(url, _WITHOUT_HOPS.get(outcome.availability))]
    for (asked, status), (target, _) in pairwise(hops):
        yield RobotsRecord(asked, status, target, fetched_at=now)
    asked, status = hops[-1]
    if is_file:
        yield RobotsRecord(asked, status, None, charset, outcome.complete, now, body)
    else:
        location = outcome.header("location") or None
        yield RobotsRecord(asked, status, location, fetched_at=now)


def _time(seconds: float) -> int | None:
    return milliseconds(seconds) or None  # an entry without a time has 0


def _records(backend: "CacheBackend") -> Iterator[RobotsRecord]:
    from manners._portal import portal

    entries = backend.entries()
    try:
        while found := portal.run(_some(entries)):
            for entry in found:
                yield from records_of(entry)
    finally:
        portal.run(_close(entries, backend))


async def _some(entries: "AsyncIterator[Entry]") -> "list[Entry]":
    found: list[Entry] = []
    async for entry in entries:
        found.append(entry)
        if len(found) >= _AT_ONCE:
            break
    return found


async def _close(entries: "AsyncIterator[Entry]", backend: "CacheBackend") -> None:
    await getattr(entries, "aclose")()  # noqa: B009 (backends have generators)
    await backend.close()
