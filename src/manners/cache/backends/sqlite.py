"""Entries in an SQLite file, which several processes may use at once."""

import asyncio
import sqlite3
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

from manners import _sqlite
from manners.cache import version_tables
from manners.cache.encoding import metadata, read_entry
from manners.cache.entry import Entry
from manners.cache.versions import Version, versions_of
from manners.errors import StoreError

SCHEMES = ("sqlite",)
_T = TypeVar("_T")

_APPLICATION = 0x6D616E63
"""Marks a file as a cache: "manc"."""
_ENTRIES = """
CREATE TABLE entries (
    origin TEXT PRIMARY KEY,
    at REAL NOT NULL,
    body BLOB,
    metadata TEXT NOT NULL
)
"""
_SCHEMA = ((_ENTRIES,), version_tables.SCHEMA)
_SAVE = """
INSERT INTO entries (origin, at, body, metadata) VALUES (?, ?, ?, ?)
ON CONFLICT (origin) DO UPDATE
SET at = excluded.at, body = excluded.body, metadata = excluded.metadata
WHERE excluded.at >= entries.at
"""
_SELECT = "SELECT body, metadata FROM entries"
_WAIT = 0.2
"""Seconds to wait for another process that writes; less than the tier's timeout."""
_MAX_AGE = 31 * 86_400.0
"""Seconds: no profile uses an older copy."""
_SAVES = 1000
"""Saves after which entries and versions that are too old are dropped."""


def open_backend(where: str, timeout: float = _WAIT) -> "SqliteCache":  # noqa: ARG001 (for servers)
    """The backend for a path, or for `sqlite:///path`."""
    return SqliteCache(Path(where.removeprefix("sqlite:///")))


def connect(path: Path, wait: float) -> sqlite3.Connection:
    """Open a cache file; `wait` is how many seconds another process may take to write."""
    return _sqlite.connect(path, _APPLICATION, _SCHEMA, wait)


class SqliteCache:
    """Entries in a file, and the versions of each site's robots.txt.

    The file is opened when first needed, in a thread of its own, and again after a failure: it may
    have been replaced. `wait` is how many seconds another process may take to write.
    """

    def __init__(self, path: Path, wait: float | None = None) -> None:
        self.path, self._wait = path, wait
        self._thread: ThreadPoolExecutor | None = None
        self._connection: sqlite3.Connection | None = None
        self._saves = 0

    async def load(self, origin: str) -> Entry | None:
        """The entry of an origin, fresh or stale; None when there is none."""
        return await self._run(self._load, origin)

    async def save(self, entry: Entry) -> None:
        """Save an entry, unless a newer one is there; what it says becomes history."""
        await self._run(self._save, entry)

    async def forget(self, origin: str) -> bool:
        """Drop the entry of an origin, but not its history; False when there was none."""
        return await self._run(self._forget, origin)

    async def history(self, origin: str) -> list[Version]:
        """The versions of an origin's robots.txt, oldest first.

        Of each site, 1,000 versions of 64 MB in all are kept, and for two years after they were
        last confirmed.
        """
        return await self._run(self._history, origin)

    async def entries(self) -> AsyncIterator[Entry]:
        """All entries, sorted by origin."""
        after = ""
        while page := await self._run(self._page, after):
            for entry in page:
                yield entry
            after = page[-1].origin

    async def close(self) -> None:
        """Close the file; the next call opens it again."""
        thread, self._thread = self._thread, None
        if thread is not None:
            closing = thread.submit(self._close)
            thread.shutdown(wait=False)
            # Cancelling stops the waiting, not the closing.
            await asyncio.shield(asyncio.wrap_future(closing))

    async def _run(self, work: Callable[..., _T], *arguments: Any) -> _T:
        if self._thread is None:
            self._thread = ThreadPoolExecutor(1, "manners-cache")
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._do, work, *arguments)

    # In the thread.

    def _do(self, work: Callable[..., _T], *arguments: Any) -> _T:
        try:
            return work(*arguments)
        except sqlite3.Error as error:
            self._close()
            raise StoreError(str(self.path), str(error)) from None

    def _open(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = connect(self.path, _WAIT if self._wait is None else self._wait)
        return self._connection

    def _load(self, origin: str) -> Entry | None:
        row = self._open().execute(f"{_SELECT} WHERE origin = ?", (origin,)).fetchone()
        return None if row is None else self._entry(*row)

    def _save(self, entry: Entry) -> None:
        connection = self._open()
        row = (entry.origin, entry.outcome.at, entry.body, metadata(entry))
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            _sqlite.upgrade(connection, _SCHEMA)
            before = None
            if not version_tables.has_versions(connection, entry.origin):
                with suppress(StoreError):  # what cannot be read says nothing about the past
                    before = self._load(entry.origin)
            if connection.execute(_SAVE, row).rowcount > 0:
                version_tables.add(connection, before, entry)
            self._saves += 1
            if self._saves % _SAVES == 0:
                self._drop_old(connection, entry.outcome.at)

    @staticmethod
    def _drop_old(connection: sqlite3.Connection, now: float) -> None:
        connection.execute("DELETE FROM entries WHERE at < ?", (now - _MAX_AGE,))
        version_tables.drop_old(connection, now)

    def _history(self, origin: str) -> list[Version]:
        connection = self._open()
        if _sqlite.version_of(connection) > 1:
            versions = version_tables.read(connection, str(self.path), origin)
            if versions:
                return versions
        entry = self._load(origin)  # saved before there were versions
        return [] if entry is None else versions_of(entry)

    def _forget(self, origin: str) -> bool:
        return self._open().execute("DELETE FROM entries WHERE origin = ?", (origin,)).rowcount > 0

    def _page(self, after: str) -> list[Entry]:
        query = f"{_SELECT} WHERE origin > ? ORDER BY origin LIMIT 100"
        return [self._entry(*row) for row in self._open().execute(query, (after,))]

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _entry(self, body: bytes | None, text: str) -> Entry:
        return read_entry(str(self.path), text, body)
