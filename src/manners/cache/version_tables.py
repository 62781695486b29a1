"""The tables of versions in the SQLite file of a cache, written in the transaction of an entry."""

import sqlite3
import zlib
from collections.abc import Iterable
from contextlib import suppress
from hashlib import sha256

from manners.cache.encoding import metadata, read_entry
from manners.cache.entry import Entry
from manners.cache.versions import MAX_BYTES, MAX_VERSIONS, Version, versions_of
from manners.errors import StoreError

MAX_BODY = 2 * MAX_BYTES
"""Bytes of a file; no profile reads so many."""
KEPT_FOR = 2 * 366 * 86_400.0
"""Seconds after which a version that nobody confirmed any more is dropped."""

SCHEMA = (
    """
CREATE TABLE versions (
    number INTEGER PRIMARY KEY,
    origin TEXT NOT NULL,
    first REAL NOT NULL,
    last REAL NOT NULL,
    fresh_until REAL NOT NULL,
    content BLOB NOT NULL,
    hash BLOB,
    size INTEGER NOT NULL,
    metadata TEXT NOT NULL,
    UNIQUE (origin, first)
)
""",
    "CREATE INDEX versions_last ON versions (last)",
    "CREATE INDEX versions_hash ON versions (hash)",
    # Compressed; several versions, and several sites, may have the same file.
    "CREATE TABLE bodies (hash BLOB PRIMARY KEY, body BLOB NOT NULL)",
    """
CREATE TRIGGER bodies_unused AFTER DELETE ON versions BEGIN
    DELETE FROM bodies
    WHERE hash = OLD.hash AND NOT EXISTS (SELECT 1 FROM versions WHERE hash = OLD.hash);
END
""",
)
_LATEST = """
SELECT number, last, content FROM versions WHERE origin = ? ORDER BY first DESC LIMIT 1
"""
_SELECT = """
SELECT v.first, v.last, v.fresh_until, v.size, v.metadata, b.body
FROM versions v LEFT JOIN bodies b ON b.hash = v.hash
WHERE v.origin = ? ORDER BY v.first
"""
_INSERT = """
INSERT INTO versions (origin, first, last, fresh_until, content, hash, size, metadata)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""


def add(connection: sqlite3.Connection, before: Entry | None, entry: Entry) -> None:
    """Add what an entry says: a version of its own if that is new, or else a later confirmation.

    `before` is the entry that it replaces, if the site has no version yet: a file of an earlier
    schema has only entries.
    """
    latest = connection.execute(_LATEST, (entry.origin,)).fetchone()
    if latest is None:
        for version in versions_of(before or entry):
            _insert(connection, version)
        if before is not None:
            add(connection, None, entry)
        return
    number, last, content = latest
    version = versions_of(entry)[-1]
    if version.last < last:  # older than what is known
        return
    if version.content == content:
        connection.execute(
            "UPDATE versions SET last = ?, fresh_until = ? WHERE number = ?",
            (version.last, version.fresh_until, number),
        )
        return
    now = version.last
    # A version that lasted no time is replaced.
    connection.execute("DELETE FROM versions WHERE origin = ? AND first = ?", (entry.origin, now))
    _insert(connection, version._replace(first=now))
    _drop_oldest(connection, entry.origin)


def has_versions(connection: sqlite3.Connection, origin: str) -> bool:
    """Whether anything is known of a site's past."""
    return connection.execute(_LATEST, (origin,)).fetchone() is not None


def read(connection: sqlite3.Connection, place: str, origin: str) -> list[Version]:
    """The versions of a site, oldest first."""
    rows = connection.execute(_SELECT, (origin,))
    return [_version(place, origin, *row) for row in rows]


def drop_old(connection: sqlite3.Connection, now: float) -> None:
    """Drop some versions that nobody has confirmed for long."""
    connection.execute(
        "DELETE FROM versions WHERE number IN"
        " (SELECT number FROM versions WHERE last < ? ORDER BY last LIMIT 1000)",
        (now - KEPT_FOR,),
    )


def _insert(connection: sqlite3.Connection, version: Version) -> None:
    body, digest = version.body, None
    if body is not None:
        digest = sha256(body).digest()
        known = connection.execute("SELECT 1 FROM bodies WHERE hash = ?", (digest,)).fetchone()
        if known is None:
            packed = zlib.compress(body, 1)
            connection.execute("INSERT INTO bodies (hash, body) VALUES (?, ?)", (digest, packed))
    times = (version.first, version.last, version.fresh_until)
    size, text = len(body or b""), metadata(_entry(version))
    row = (version.origin, *times, version.content, digest, size, text)
    connection.execute(_INSERT, row)


def _entry(version: Version) -> Entry:
    """A version as an entry that never was confirmed, which has a text and a checksum."""
    first = version.first
    return Entry(
        version.origin, version.body, version.charset, version.outcome, first, first, first
    )


def _version(  # noqa: PLR0913, PLR0917 (the columns of a row)
    place: str,
    origin: str,
    first: float,
    last: float,
    fresh_until: float,
    size: int,
    text: str,
    packed: bytes | None,
) -> Version:
    body = None
    with suppress(zlib.error, TypeError, ValueError, StoreError):
        if packed is not None and 0 <= size <= MAX_BODY:
            body = zlib.decompressobj().decompress(packed, size + 1)
        entry = read_entry(place, text, body)
        times = (first, last, fresh_until)
        if entry.origin == origin and entry.fetched_at == first and _are_times(times):
            outcome, charset = entry.outcome, entry.charset
            return Version(origin, *times, outcome, body, charset)
    raise StoreError(place, "has a version that cannot be read")


def _are_times(values: Iterable[object]) -> bool:
    return all(isinstance(value, float) and abs(value) < 1e12 for value in values)


def _drop_oldest(connection: sqlite3.Connection, origin: str) -> None:
    """Drop what is beyond the limits of one site."""
    rows = connection.execute(
        "SELECT number, size FROM versions WHERE origin = ? ORDER BY first DESC", (origin,)
    ).fetchall()
    total = 0
    for place, (number, size) in enumerate(rows):
        total += size
        if place and (place >= MAX_VERSIONS or total > MAX_BYTES):
            connection.execute("DELETE FROM versions WHERE number = ?", (number,))
