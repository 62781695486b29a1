"""The store of evidence: records in a chain, durable before anything depends on them."""

import hashlib
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from manners._text import to_bytes
from manners.errors import MissingExtra, StoreError

try:  # before what needs it, too
    from sqlalchemy import Connection, Result, Select, delete, func, insert, select
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    raise MissingExtra("sqlalchemy", "crawl") from None

from manners.evidence import chain
from manners.evidence.chain import GENESIS, Finding, Head, Link, hash_of
from manners.evidence.database import TIMEOUT, Database
from manners.evidence.record import Draft, Record, filed_agent, parse
from manners.evidence.schema import CRAWLS, checkpoints, evidence, head, snapshots
from manners.evidence.writer import Writer
from manners.urls import host

_AT_A_TIME = 1_000
_SNAPSHOTS = 100_000
"""Snapshots of which it is remembered that they are stored."""

_LAST = "SELECT number, hash FROM evidence_head"
_PRUNED = "SELECT max(number) FROM evidence_checkpoints"
_COLUMNS = ("id", "type", "host", "agent", "at", "snapshot", "content", "metadata", "hash")


Job = Callable[[Connection, Sequence[Any]], Sequence[Any]]
"""Writes items of one kind in the transaction that is under way, and has an answer for each."""


class Filter(NamedTuple):
    """Which records are wanted; None is no matter."""

    host: str | None = None
    since: float | None = None
    """Seconds since the epoch, like the next, which is no longer wanted."""
    until: float | None = None
    type: str | None = None
    agent: str | None = None

    def on(self, query: "Select[Any]") -> "Select[Any]":
        """The query for these records."""
        if self.host is not None:
            query = query.where(evidence.c.host == self.host)
        if self.since is not None:
            query = query.where(evidence.c.at >= int(self.since * 1000))
        if self.until is not None:
            query = query.where(evidence.c.at < int(self.until * 1000))
        if self.type is not None:
            query = query.where(evidence.c.type == self.type)
        if self.agent is not None:
            query = query.where(evidence.c.agent == self.agent)
        return query


EVERYTHING = Filter()


class View(NamedTuple):
    """Records of a store, and the chain that they are of."""

    start: Head
    """Where the chain begins: after the last record that was pruned."""
    head: Head
    total: int
    """How many records there are in all."""
    records: Iterator[Record]
    """Those that are wanted."""


class EvidenceStore:
    """Keeps records, in a file or in PostgreSQL; several processes may append to one store.

    `place` is a path, `sqlite:///path` or `postgresql://…`. With `create=False`, a file that is not
    there is an error. With `readonly=True` nothing is written, and a store of an older version is
    read as it is: for those who verify, also where they may not write. A server that does not
    answer for `timeout` seconds, and a lock that somebody else holds for so long, is a
    `StoreError`: nothing waits for ever.

        with EvidenceStore("proof.db") as store:
            number = await store.append(draft)
            problems = list(store.verify())
    """

    def __init__(
        self,
        place: str | Path,
        *,
        create: bool = True,
        readonly: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        self._database = Database(
            place, create=create and not readonly, readonly=readonly, timeout=timeout
        )
        self.place = self._database.place
        """Where it is, as it may be shown."""
        self.has_crawls = self._database.version >= CRAWLS
        """Whether there are tables for crawls; not in an older store that is only read."""
        self._writer: Writer[tuple[Job, Any]] = Writer(self._write, self.place, timeout)
        self._stored: set[str] = set()
        self._storing: set[str] = set()
        self._pruned: int | None = None
        mark = "?" if self._database.is_sqlite else "%s"
        marks = ", ".join([mark] * len(_COLUMNS))
        self._insert = f"INSERT INTO evidence ({', '.join(_COLUMNS)}) VALUES ({marks})"  # noqa: S608
        # As text, because every batch runs them: to build and to look up a statement costs more.
        self._lock = _LAST if self._database.is_sqlite else f"{_LAST} FOR UPDATE"
        self._move = f"UPDATE evidence_head SET number = {mark}, hash = {mark}"  # noqa: S608
        self._keep = (
            f"INSERT INTO snapshots (sha256, body) VALUES ({mark}, {mark})"  # noqa: S608
            " ON CONFLICT (sha256) DO NOTHING"
        )

    # Writing.

    async def append(self, draft: Draft) -> int:
        """Put a record into the chain; returns its number when it is durable."""
        number: int = await self._writer.add((self._link, draft))
        return number

    def append_blocking(self, draft: Draft) -> int:
        """The same for a thread without an event loop."""
        number: int = self._writer.add_blocking((self._link, draft))
        return number

    async def write(self, job: Job, item: Any) -> Any:
        """Have something else written with the records; returns its answer when it is durable.

        `job` is called in the writer's thread, with all the items that wait for it.
        """
        return await self._writer.add((job, item))

    def write_blocking(self, job: Job, item: Any) -> Any:
        """The same for a thread without an event loop."""
        return self._writer.add_blocking((job, item))

    def reading(self) -> AbstractContextManager[Connection]:
        """A view of the store as it is now, whoever writes meanwhile."""
        return self._database.reading()

    def alone(self, what: str, number: int, wait: float = 0.0) -> AbstractContextManager[None]:
        """Be the only one, in all processes, who works on something; `InUse` otherwise."""
        return self._database.alone(what, number, wait)

    def is_locked(self, what: str, number: int) -> bool:
        """Whether some process works on something, without being in its way."""
        return self._database.is_locked(what, number)

    def _write(self, batch: Sequence[tuple[Job, Any]]) -> Sequence[Any]:
        """Write a batch in one transaction: what is of one kind together."""
        places: dict[Job, list[int]] = {}
        for place, (job, _) in enumerate(batch):
            places.setdefault(job, []).append(place)
        answers: list[Any] = [None] * len(batch)
        self._storing.clear()
        with self._database.writing() as connection:
            for job, its in places.items():
                found = job(connection, [batch[place][1] for place in its])
                for place, answer in zip(its, found, strict=True):
                    answers[place] = answer
        if len(self._stored) > _SNAPSHOTS:
            self._stored.clear()
        self._stored |= self._storing
        return answers

    def _link(self, connection: Connection, drafts: Sequence[Draft]) -> Sequence[int]:
        """Link records to the head, and move the head."""
        count, last = self._locked_head(connection)
        self._storing = self._keep_snapshots(connection, drafts)
        rows: list[tuple[Any, ...]] = []
        for draft in drafts:
            count += 1
            last = hash_of(last, count, draft.type, draft.content, draft.metadata)
            sha256 = draft.snapshot.sha256 if draft.snapshot else None
            rows.append(
                (
                    *(count, draft.type, draft.host, draft.agent, draft.at),
                    *(sha256, draft.content, draft.metadata, last),
                )
            )
        connection.exec_driver_sql(self._insert, rows)
        connection.exec_driver_sql(self._move, (count, last))
        return range(count - len(drafts) + 1, count + 1)

    def _keep_snapshots(self, connection: Connection, drafts: Sequence[Draft]) -> set[str]:
        """Store the files that drafts rest on, where they are not; only while the head is locked.

        Whoever prunes, in whichever process, takes files along that were stored before.
        """
        pruned = connection.exec_driver_sql(_PRUNED).scalar()
        if pruned != self._pruned:
            self._pruned = pruned
            self._stored.clear()
        kept = {
            draft.snapshot.sha256: draft.snapshot
            for draft in drafts
            if draft.snapshot is not None and draft.snapshot.sha256 not in self._stored
        }
        if kept:
            connection.exec_driver_sql(self._keep, [tuple(each) for each in kept.values()])
        return set(kept)

    def _locked_head(self, connection: Connection) -> tuple[int, str]:
        row = connection.exec_driver_sql(self._lock).first()
        if row is None:
            raise StoreError(self.place, "the end of the chain is missing: see `evidence verify`")
        try:
            return Head.parse(f"{row.number}:{row.hash}")
        except ValueError:
            raise StoreError(
                self.place, "the end of the chain cannot be read: see `evidence verify`"
            ) from None

    def prune(self, before: float) -> int:
        """Drop the records from before a time, and leave a checkpoint; returns how many.

        The chain goes on from the checkpoint: what remains can still be verified. Records go from
        the beginning, up to the first that is younger.
        """
        with self._database.writing() as connection:
            self._locked_head(connection)
            young = select(func.min(evidence.c.id)).where(evidence.c.at >= int(before * 1000))
            first = connection.execute(young).scalar()
            gone = select(func.max(evidence.c.id))
            if first is not None:
                gone = gone.where(evidence.c.id < first)
            last = connection.execute(gone).scalar()
            if last is None:
                return 0
            hashed = connection.execute(select(evidence.c.hash).where(evidence.c.id == last))
            mark = {"number": last, "hash": hashed.scalar_one(), "at": int(time.time() * 1000)}
            connection.execute(insert(checkpoints).values(mark))
            removed = connection.execute(delete(evidence).where(evidence.c.id <= last)).rowcount
            used = select(evidence.c.snapshot).where(evidence.c.snapshot.is_not(None))
            connection.execute(delete(snapshots).where(snapshots.c.sha256.not_in(used)))
        return removed

    # Reading.

    def head(self) -> Head:
        """Where the chain ends, to be kept elsewhere."""
        with self._database.reading() as connection:
            return _head(connection) or Head()

    def start(self) -> Head:
        """Where the chain begins: after the last record that was pruned."""
        with self._database.reading() as connection:
            return _start(connection)

    def count(self, wanted: Filter = EVERYTHING) -> int:
        """How many records there are."""
        with self._database.reading() as connection:
            query = wanted.on(select(func.count()).select_from(evidence))
            return int(connection.execute(query).scalar_one())

    def records(
        self, wanted: Filter = EVERYTHING, last: int | None = None
    ) -> Generator[Record, None, None]:
        """The records, in the order of the chain; with `last`, only so many of the latest."""
        with self._database.reading() as connection:
            yield from _records(connection, wanted, last)

    @contextmanager
    def view(self, wanted: Filter = EVERYTHING) -> Iterator["View"]:
        """Records, and the chain that they are of, as they are at one time."""
        with self._database.reading() as connection:
            total = int(connection.execute(select(func.count()).select_from(evidence)).scalar_one())
            start, end = _start(connection), _head(connection) or Head()
            with closing(_records(connection, wanted, None)) as found:
                yield View(start, end, total, found)

    def record(self, number: int) -> Record | None:
        """One record, with the hash before it."""
        with self._database.reading() as connection:
            row = connection.execute(select(evidence).where(evidence.c.id == number)).first()
            if row is None:
                return None
            earlier = select(evidence.c.hash).where(evidence.c.id == number - 1)
            previous = connection.execute(earlier).scalar()
            previous = previous or _before(number, _start(connection))
        return _record(row, previous)

    def snapshot(self, sha256: str) -> bytes | None:
        """A robots.txt as it was received."""
        with self._database.reading() as connection:
            query = select(snapshots.c.body).where(snapshots.c.sha256 == sha256)
            body = connection.execute(query).scalar()
        return None if body is None else _bytes(body)

    def verify(self, noted: Head | None = None) -> Generator[Finding, None, None]:
        """What is wrong with the store, record by record; nothing when all is as it was written.

        With a head that was noted elsewhere, also that records are missing at the end, or that the
        whole chain was written anew.
        """
        with (
            self._database.reading() as connection,
            _streamed(connection, select(evidence).order_by(evidence.c.id)) as rows,
        ):
            problems: list[Finding] = []
            last = [_start(connection)]

            def links() -> Iterator[Link]:
                for row in rows:
                    problems.extend(_columns_changed(row))
                    last[0] = Head(row.id, row.hash)
                    yield Link(row.id, row.type, row.content, row.metadata, row.hash)

            for finding in chain.verify(links(), last[0], noted):
                yield from problems
                problems.clear()
                yield finding
            yield from problems
            written = _head(connection)
            if written is None:
                yield Finding(last[0].number, "should be the last, and nothing says so")
            elif written != last[0]:
                yield Finding(
                    written.number, f"should be the last, and the chain ends at {last[0].number}"
                )
            yield from self._snapshots_changed(connection)

    def _snapshots_changed(self, connection: Connection) -> Iterator[Finding]:
        first = select(func.min(evidence.c.id), evidence.c.snapshot)
        first = first.where(evidence.c.snapshot.is_not(None)).group_by(evidence.c.snapshot)
        rests = {sha256: number for number, sha256 in connection.execute(first)}
        with _streamed(connection, select(snapshots)) as rows:
            for row in rows:
                number = rests.pop(row.sha256, None)
                if number and hashlib.sha256(_bytes(row.body)).hexdigest() != row.sha256:
                    yield Finding(number, f"rests on a robots.txt that was changed ({row.sha256})")
        for sha256, number in rests.items():
            yield Finding(number, f"rests on a robots.txt that is missing ({sha256})")

    def close(self) -> None:
        """Write what is waiting, and close; a `StoreError` where that does not end in time."""
        try:
            self._writer.close()
        finally:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _records(
    connection: Connection, wanted: Filter, last: int | None
) -> Generator[Record, None, None]:
    before = evidence.alias()
    query = select(evidence, before.c.hash.label("previous")).order_by(evidence.c.id)
    query = query.outerjoin(before, before.c.id == evidence.c.id - 1)
    if last is not None:
        latest = wanted.on(select(evidence.c.id)).order_by(evidence.c.id.desc()).limit(last)
        query = query.where(evidence.c.id.in_(latest))
    start = _start(connection)
    with _streamed(connection, wanted.on(query)) as rows:
        for row in rows:
            yield _record(row, row.previous or _before(row.id, start))


def _record(row: Any, previous: str) -> Record:
    content, metadata = parse(row.content, row.metadata)
    return Record(row.id, row.type, content, metadata, row.hash, previous)


def _bytes(body: Any) -> bytes:
    """A file; SQLite also returns text, where somebody has put it."""
    return to_bytes(body) if isinstance(body, str) else bytes(body)


def _before(number: int, start: Head) -> str:
    """The hash before a record that no other is right before; empty where one is missing."""
    return start.hash if number == start.number + 1 else ""


def _head(connection: Connection) -> Head | None:
    row = connection.execute(select(head.c.number, head.c.hash)).first()
    return Head(row.number, row.hash) if row else None


def _start(connection: Connection) -> Head:
    """Where the records begin: after what was pruned."""
    query = select(checkpoints.c.number, checkpoints.c.hash)
    row = connection.execute(query.order_by(checkpoints.c.number.desc()).limit(1)).first()
    return Head(row.number, row.hash) if row else Head(0, GENESIS)


def _streamed(connection: Connection, query: "Select[Any]") -> "Result[Any]":
    """Rows that come little by little; to be closed, because nobody has to read them all."""
    return connection.execution_options(yield_per=_AT_A_TIME).execute(query)


def _columns_changed(row: Any) -> Iterator[Finding]:
    """Columns that are there for searching say what the record says, or somebody changed them."""
    content, metadata = parse(row.content, row.metadata)
    try:
        at = datetime.fromisoformat(content["timestamp"])
        expected = (
            host(metadata["url"].partition("?…")[0]),
            filed_agent(metadata["agent"]),
            round(at.timestamp() * 1000),
            metadata["snapshot"],
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        yield Finding(row.id, "cannot be read")
        return
    if (row.host, row.agent, row.at, row.snapshot) != expected:
        yield Finding(row.id, "is filed under something else than it says")
