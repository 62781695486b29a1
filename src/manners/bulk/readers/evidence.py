"""An evidence store as a source of records: a file, or PostgreSQL.

A record of evidence has the outcome of a retrieval and the file that decided, but not every hop: a
file counts as if it had come without a redirect.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa

from manners.bulk.readers import magic
from manners.bulk.records import (
    MAX_BODY,
    NO_BODY,
    BulkError,
    Problems,
    RobotsRecord,
    milliseconds,
    record_batches,
)
from manners.retrieval.outcome import Availability

SCHEMES = ("postgresql", "postgres")
CHANGED = "snapshots that were changed after they were stored"
_CIRCLES = ("redirect loop", "more than ")
_MAX_KNOWN = 100_000
"""Sites whose last retrieval is remembered, so that it is not read again for each URL."""

Snapshots = Callable[[str], bytes | None]


def recognises(path: Path) -> bool:
    """Whether it is an SQLite file; a cache is asked first."""
    return magic(path, 16) == b"SQLite format 3\0"


def read(place: str, problems: Problems | None) -> Iterator[pa.RecordBatch]:
    """The robots.txt files and failures that a store has evidence of."""
    path = place.removeprefix("sqlite:///")
    if "://" not in path and not Path(path).exists():
        raise BulkError(place, "there is no evidence store")
    problems = Problems() if problems is None else problems
    return record_batches(_records(place, problems), problems)


def _records(place: str, problems: Problems) -> Iterator[RobotsRecord]:
    from manners.evidence.store import EvidenceStore

    known: dict[str, tuple[object, ...]] = {}
    with EvidenceStore(place, create=False, readonly=True) as store:
        for record in store.records():
            outcome = record.metadata.get("outcome")
            if not isinstance(outcome, dict):
                continue
            url, sha256 = str(outcome.get("url")), record.metadata.get("snapshot")
            key = (outcome.get("at"), outcome.get("availability"), outcome.get("note"), sha256)
            if known.get(url) == key:
                continue
            if len(known) >= _MAX_KNOWN:
                known.clear()
            known[url] = key
            decided_at = str(record.content.get("timestamp"))
            yield from records_of(outcome, sha256, decided_at, store.snapshot, problems)


def records_of(
    outcome: Mapping[str, Any],
    sha256: object,
    decided_at: str,
    snapshots: Snapshots,
    problems: Problems,
) -> Iterator[RobotsRecord]:
    """The records of one outcome: the reply, and the earlier copy if that decided."""
    url, at = str(outcome.get("url")), _seconds(outcome.get("at"))
    status, note = outcome.get("status"), str(outcome.get("note"))
    code = status if type(status) is int and 100 <= status < 1000 else None
    body = None
    if isinstance(sha256, str):
        body = snapshots(sha256)
        if body is None or hashlib.sha256(body).hexdigest() != sha256:
            problems[NO_BODY if body is None else CHANGED] += 1
            return
        body = body[:MAX_BODY]
    charset = str(outcome.get("charset") or "")[:40] or None
    complete = outcome.get("complete") is not False
    if outcome.get("availability") == Availability.AVAILABLE:
        if body is not None:
            yield RobotsRecord(url, 200, None, charset, complete, milliseconds(at), body)
        return
    age, decided = outcome.get("age"), _seconds(decided_at)
    if body is not None and decided is not None and isinstance(age, int | float):
        time = milliseconds(decided - age)
        yield RobotsRecord(url, 200, None, charset, len(body) < MAX_BODY, time, body)
    # Redirects that lead nowhere: where they led is not on record, only that there was no end.
    location = url if note.startswith(_CIRCLES) else None
    yield RobotsRecord(url, code, location, fetched_at=milliseconds(at))


def _seconds(stamp: object) -> float | None:
    try:
        return datetime.fromisoformat(str(stamp)).timestamp()
    except (ValueError, OverflowError, OSError):
        return None
