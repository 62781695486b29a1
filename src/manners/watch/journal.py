"""What a watch has to remember: what was reported of each site, and what is to be delivered.

It is kept in the cache file, in tables of its own. What is known of a site and the event that comes
of it are written in one transaction, so a watch that is killed delivers the event when it runs
again: at least once, and perhaps twice.
"""

import asyncio
import json
import sqlite3
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from manners._sqlite import explain
from manners.cache.backends import sqlite
from manners.errors import StoreError
from manners.watch.deciding import Event
from manners.watch.sight import Known

_T = TypeVar("_T")
WAIT = 30.0
"""Seconds to wait for another process that writes to the file."""
MAX_AGE = 31 * 86_400.0
"""Seconds after which an event that nobody asks for any more is dropped."""

_TABLES = (
    "CREATE TABLE IF NOT EXISTS watched (site TEXT PRIMARY KEY, known TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS watch_events"
    " (number INTEGER PRIMARY KEY, at REAL NOT NULL, text TEXT NOT NULL)",
    "CREATE TABLE IF NOT EXISTS watch_deliveries"
    " (event INTEGER NOT NULL, channel TEXT NOT NULL, attempts INTEGER NOT NULL, due REAL NOT NULL,"
    " PRIMARY KEY (channel, event))",
    "CREATE INDEX IF NOT EXISTS watch_due ON watch_deliveries (channel, due, event)",
)
_FIRST = """
SELECT event, channel, attempts, due, text
FROM watch_deliveries JOIN watch_events ON number = event
WHERE channel = ? ORDER BY due, event LIMIT 1
"""
_DROP_DELIVERED = """
DELETE FROM watch_events
WHERE number = ? AND NOT EXISTS (SELECT 1 FROM watch_deliveries WHERE event = number)
"""


class Delivery(NamedTuple):
    """An event that one channel has to deliver."""

    event: int
    channel: str
    attempts: int
    """How often it was tried."""
    due: float
    """When to try it."""
    text: str
    """The event, as JSON."""


class Journal:
    """The memory of a watch, in a cache file; opened when first used, in a thread of its own."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._thread = ThreadPoolExecutor(1, "manners-watch")
        self._connection: sqlite3.Connection | None = None

    async def known(self, site: str) -> Known | None:
        """What was reported of a site; None for one that was never looked at."""
        return await self._run(self._known, site)

    async def record(
        self, site: str, known: Known, event: tuple[Event, str] | None, channels: Iterable[str]
    ) -> None:
        """Keep what is known of a site now, and an event with its text, which channels deliver."""
        await self._run(self._record, site, known, event, tuple(channels))

    async def first(self, channel: str) -> Delivery | None:
        """The delivery of a channel that is due first, now or later."""
        return await self._run(self._first, channel)

    async def remove(self, delivery: Delivery) -> None:
        """Remove a delivery: it was made, or given up."""
        await self._run(self._remove, delivery)

    async def postpone(self, delivery: Delivery, due: float) -> None:
        """Note an attempt that failed, and when to try again."""
        await self._run(self._postpone, delivery, due)

    async def drop_old(self, now: float) -> None:
        """Drop events that are so old that nobody waits for them."""
        await self._run(self._drop_old, now - MAX_AGE)

    async def close(self) -> None:
        """Close the file."""
        closing = self._thread.submit(self._close)
        self._thread.shutdown(wait=False)
        await asyncio.shield(asyncio.wrap_future(closing))

    async def _run(self, work: Callable[..., _T], *arguments: Any) -> _T:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._do, work, *arguments)

    # In the thread.

    def _do(self, work: Callable[..., _T], *arguments: Any) -> _T:
        try:
            if self._connection is None:
                self._connection = sqlite.connect(self.path, WAIT)
                for statement in _TABLES:
                    self._connection.execute(statement)
            return work(self._connection, *arguments)
        except sqlite3.Error as error:
            self._close()
            raise StoreError(str(self.path), explain(error, self.path)) from None

    def _close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _known(self, connection: sqlite3.Connection, site: str) -> Known | None:
        row = connection.execute("SELECT known FROM watched WHERE site = ?", (site,)).fetchone()
        if row is None:
            return None
        try:
            return msgspec.json.decode(row[0], type=Known)
        except (msgspec.MsgspecError, TypeError, ValueError, RecursionError):
            problem = f"what is known of {site} cannot be read; watch with another cache"
            raise StoreError(str(self.path), problem) from None

    def _record(
        self,
        connection: sqlite3.Connection,
        site: str,
        known: Known,
        event: tuple[Event, str] | None,
        channels: tuple[str, ...],
    ) -> None:
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "INSERT INTO watched VALUES (?, ?)"
                " ON CONFLICT (site) DO UPDATE SET known = excluded.known",
                (site, json.dumps(known.to_dict())),
            )
            if event is not None and channels:
                happened, text = event
                number = connection.execute(
                    "INSERT INTO watch_events (at, text) VALUES (?, ?)", (happened.at, text)
                ).lastrowid
                connection.executemany(
                    "INSERT INTO watch_deliveries VALUES (?, ?, 0, ?)",
                    [(number, channel, happened.at) for channel in channels],
                )

    def _first(self, connection: sqlite3.Connection, channel: str) -> Delivery | None:
        row = connection.execute(_FIRST, (channel,)).fetchone()
        return None if row is None else Delivery(*row)

    def _remove(self, connection: sqlite3.Connection, delivery: Delivery) -> None:
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "DELETE FROM watch_deliveries WHERE channel = ? AND event = ?",
                (delivery.channel, delivery.event),
            )
            connection.execute(_DROP_DELIVERED, (delivery.event,))

    def _postpone(self, connection: sqlite3.Connection, delivery: Delivery, due: float) -> None:
        connection.execute(
            "UPDATE watch_deliveries SET attempts = ?, due = ? WHERE channel = ? AND event = ?",
            (delivery.attempts + 1, due, delivery.channel, delivery.event),
        )

    def _drop_old(self, connection: sqlite3.Connection, before: float) -> None:
        with connection:  # commits, or rolls back
            connection.execute("BEGIN IMMEDIATE")
            connection.execute(
                "DELETE FROM watch_deliveries WHERE event IN"
                " (SELECT number FROM watch_events WHERE at < ?)",
                (before,),
            )
            connection.execute("DELETE FROM watch_events WHERE at < ?", (before,))
