"""What a fleet's crawl has left in its store, read with SQL, and not with the package.

With `track_commit_timestamp` the server tells when each row was committed. So a record counts from
when it was durable, and a worker as closed from when that was.
"""

import re
from collections import Counter
from typing import Any, NamedTuple

import psycopg

from manners.evidence.strands import strand_of

OPTIONS = ("-c", "fsync=off", "-c", "track_commit_timestamp=on")
"""Of a server whose stores are looked at like this."""
_COMMITTED = "extract(epoch from pg_xact_commit_timestamp({0}.xmin))::float8"


def pid_in(name: str) -> int:
    """The process of a worker, which is the last number in its name.

    >>> pid_in("host-7.example:4321")
    4321
    """
    numbers = re.findall(r"\d+", name)
    return int(numbers[-1]) if numbers else 0


class UrlRow(NamedTuple):
    """A URL, and what became of it."""

    kind: str
    url: str
    state: str
    reason: str
    status: int | None
    attempts: int
    depth: int


class WorkerRow(NamedTuple):
    """A worker, and when it was closed."""

    id: int
    name: str
    strand: int
    began: float
    until: float
    ended: str | None
    closed: float | None
    """When nothing more could follow in its strand; None while it can."""

    @property
    def pid(self) -> int:
        return pid_in(self.name)


class RecordRow(NamedTuple):
    """A record that allows a request."""

    url: str
    strand: int
    at: float
    """When it was made."""
    committed: float
    """When it was durable."""


class FleetStore(NamedTuple):
    """All of it, in one view."""

    crawls: list[tuple[int, str | None]]
    """The number of each, and why it ended."""
    urls: list[UrlRow]
    workers: list[WorkerRow]
    epochs: dict[str, int]
    """How often each host was taken."""
    owned: dict[str, int]
    """Hosts that somebody owns, and who does."""
    records: list[RecordRow]
    counted: dict[tuple[str, str], int]
    """What the counters say there is: by kind and state."""

    @property
    def states(self) -> dict[tuple[str, str], int]:
        """What there is: by kind and state."""
        return dict(Counter((row.kind, row.state) for row in self.urls))


def read_store(place: str) -> FleetStore:
    """Read the store at a PostgreSQL URL: its last crawl."""
    with psycopg.connect(place, connect_timeout=30) as connection:
        connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ

        def rows(query: str) -> list[tuple[Any, ...]]:
            return connection.execute(query.encode()).fetchall()

        crawls = rows("SELECT id, ended FROM crawls ORDER BY id")
        where = f"WHERE crawl = {crawls[-1][0] if crawls else 0}"
        urls = rows(f"SELECT kind, url, state, reason, status, attempts, depth FROM urls {where}")
        workers = rows(
            "SELECT id, name, strand, began, until, ended,"
            f" CASE WHEN h.closed THEN {_COMMITTED.format('h')} END"
            " FROM workers w LEFT JOIN evidence_head h ON h.one = w.strand"
            f" {where} ORDER BY id"
        )
        hosts = rows(f"SELECT host, epoch, owner FROM hosts {where}")
        records = rows(
            f"SELECT id, metadata::json->>'url', at / 1000.0::float8, {_COMMITTED.format('e')}"
            " FROM evidence e WHERE type = 'robots_allowed'"
        )
        counts = rows(f"SELECT kind, what, sum(number)::bigint FROM counts {where} GROUP BY 1, 2")
    return FleetStore(
        [(number, ended) for number, ended in crawls],
        [UrlRow(*row) for row in urls],
        [WorkerRow(*row) for row in workers],
        {host: epoch for host, epoch, _ in hosts},
        {host: owner for host, _, owner in hosts if owner is not None},
        [RecordRow(url, strand_of(number), at, when or at) for number, url, at, when in records],
        {(kind, what): number for kind, what, number in counts if number},
    )
