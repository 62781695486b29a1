"""The evidence store: records in a hash chain, durable before anything depends on them."""

import hashlib
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from manners import logs
from manners.errors import MissingExtra, StoreAway, StoreError, StoreTimeout, StrandClosed

try:  # before what needs it, too
    from sqlalchemy import Connection, Result, Select, delete, func, insert, select
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    raise MissingExtra("sqlalchemy", "crawl") from None

from manners.evidence import chain
from manners.evidence.chain import GENESIS, ChainLink, Finding, Head, hash_of
from manners.evidence.queries import body_bytes, chain_head, snapshot_body
from manners.evidence.record import Draft, EvidenceView, Record, Snapshot, indexed_agent, parse
from manners.evidence.strands import SHARED
from manners.evidence.tables import checkpoints, evidence, snapshots
from manners.store.database import TIMEOUT, Job, Store
from manners.urls import host

_AT_A_TIME = 1_000
_PATIENCE = 900.0
"""Seconds for which a server that is away is waited for."""
_PAUSE = 0.5
"""Seconds between two attempts to reach it."""
_MAX_REMEMBERED = 100_000
"""Snapshots that are remembered as stored."""

_HEAD = "SELECT number, hash FROM evidence_head"
_PRUNED = "SELECT max(number) FROM evidence_checkpoints"
_COLUMNS = ("id", "type", "host", "agent", "at", "snapshot", "content", "metadata", "hash")


class Filter(NamedTuple):
    """Which records to read; None means any."""

    host: str | None = None
    since: float | None = None
    """Seconds since the epoch, inclusive."""
    until: float | None = None
    """Seconds since the epoch, exclusive."""
    type: str | None = None
    agent: str | None = None

    def apply(self, query: "Select[Any]") -> "Select[Any]":
        """Restrict a query to these records."""
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


class _Statements:
    """SQL as text, because every batch runs it: building and looking up a statement costs more."""

    def __init__(self, is_sqlite: bool) -> None:
        mark = "?" if is_sqlite else "%s"
        marks = ", ".join([mark] * len(_COLUMNS))
        self.insert = f"INSERT INTO evidence ({', '.join(_COLUMNS)}) VALUES ({marks})"  # noqa: S608
        own = f" WHERE one = {mark}"
        self.lock_head = f"{_HEAD}{own}{'' if is_sqlite else ' FOR UPDATE'}"
        self.move_head = f"UPDATE evidence_head SET number = {mark}, hash = {mark}{own}"  # noqa: S608
        self.begin = (
            f"UPDATE evidence_head SET batch = {mark}{own} AND NOT closed RETURNING number, hash"  # noqa: S608
        )
        self.last_batch = f"SELECT batch FROM evidence_head{own}"  # noqa: S608
        self.insert_snapshot = (
            f"INSERT INTO snapshots (sha256, body) VALUES ({mark}, {mark})"  # noqa: S608
            " ON CONFLICT (sha256) DO NOTHING"
        )


class _StoredSnapshots:
    """Remembers which snapshots are stored, so that each is sent to the database once."""

    def __init__(self) -> None:
        self._stored: set[str] = set()
        self._pending: set[str] = set()
        self._pruned: int | None = None

    def missing(self, drafts: Sequence[Draft], pruned: int | None) -> list[Snapshot]:
        """The snapshots of drafts that are not stored; `pruned` is the last checkpoint.

        Pruning, in any process, deletes snapshots: after it nothing is known.
        """
        if pruned != self._pruned:
            self._pruned = pruned
            self._stored.clear()
        found = {
            draft.snapshot.sha256: draft.snapshot
            for draft in drafts
            if draft.snapshot is not None and draft.snapshot.sha256 not in self._stored
        }
        self._pending = set(found)
        return list(found.values())

    def begin(self) -> None:
        """A transaction begins."""
        self._pending.clear()

    def commit(self) -> None:
        """The transaction is durable, and what it wrote is stored."""
        if len(self._stored) > _MAX_REMEMBERED:
            self._stored.clear()
        self._stored |= self._pending


class EvidenceStore(Store):
    """Keeps records, in a file or in PostgreSQL; several processes may append to one store.

    `place` is a path, `sqlite:///path` or `postgresql://…`. With `create=False`, a missing file is
    an error. With `readonly=True` nothing is written, and a store of an older version is read as it
    is: for those who verify, also without write permission. A server that does not answer for
    `timeout` seconds, or a lock that another process holds for so long, is a `StoreError`.

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
        clock: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(place, create=create, readonly=readonly, timeout=timeout)
        self._sql = _Statements(self.is_sqlite)
        self._snapshots = _StoredSnapshots()
        self._clock = clock
        self._strand = SHARED
        self._batch = 0
        """Transactions in a strand of its own, so far."""
        self._head: Any = None
        """Where that strand ends, in the current transaction."""
        self._is_closing = threading.Event()
        self.is_away = False
        """Whether the server does not answer, and is waited for."""

    # Writing.

    @property
    def strand(self) -> int:
        """The strand that records are appended to."""
        return self._strand

    def use_strand(self, strand: int, idle: float | None = None) -> None:
        """Append to a strand that belongs to this process alone; or to that of everybody again.

        From now on, every write fails with `StrandClosed` when the strand was closed. A server that
        is away is waited for: each write is made once, whenever the connection was lost. When this
        process is stopped in the middle of a transaction, the server ends that after `idle`
        seconds: until then, nobody can close the strand.
        """
        self._strand, self._batch = strand, 0
        if idle is not None:
            self.limit_idle(idle)

    async def append(self, draft: Draft) -> int:
        """Append a record to the chain; returns its number when it is durable."""
        number: int = await self._writer.add((self._link, draft))
        return number

    def append_blocking(self, draft: Draft) -> int:
        """The same for a thread without an event loop."""
        number: int = self._writer.add_blocking((self._link, draft))
        return number

    def _write(self, batch: Sequence[tuple[Job, Any]]) -> Sequence[Any]:
        if self._strand == SHARED:
            return super()._write(batch)
        self._batch += 1
        is_unknown, gives_up_at = False, time.monotonic() + _PATIENCE
        while True:
            try:
                # Where a commit was not answered, the store knows whether it was made.
                answers = (is_unknown and self._answers_if_made()) or super()._write(batch)
            except (StoreAway, StoreTimeout) as error:
                if self._is_closing.wait(_PAUSE) or time.monotonic() > gives_up_at:
                    raise
                is_unknown |= error.is_unknown
                if not self.is_away:
                    logs.warned(f"{error}; waiting for it")
                    self.is_away = True
            else:
                if self.is_away:
                    logs.warned(f"{self.place!r}: it is there again")
                    self.is_away = False
                return answers

    def _answers_if_made(self) -> Sequence[Any] | None:
        """The answers of the last transaction, if it was made."""
        with self.reading() as connection:
            last = connection.exec_driver_sql(self._sql.last_batch, (self._strand,)).scalar()
        if last != self._batch:
            return None
        self._snapshots.commit()
        self._take_effect()
        return self._answers

    def _write_once(self, batch: Sequence[tuple[Job, Any]]) -> Sequence[Any]:
        self._snapshots.begin()
        answers = super()._write_once(batch)
        self._snapshots.commit()
        return answers

    def _begin(self, connection: Connection) -> None:
        if self._strand != SHARED:
            # Locked until the end: whoever closes the strand waits for this transaction.
            found = connection.exec_driver_sql(self._sql.begin, (self._batch, self._strand))
            self._head = found.first()
            if self._head is None:
                raise StrandClosed(self.place, f"strand {self._strand} was closed")

    def close(self) -> None:
        """Write what is waiting, and close; a server that is away is not waited for."""
        self._is_closing.set()
        super().close()

    def _link(self, connection: Connection, drafts: Sequence[Draft]) -> Sequence[int]:
        """Link records to the head, and move the head."""
        count, last = self._locked_head(connection)
        # While the head is locked, no process prunes.
        pruned = connection.exec_driver_sql(_PRUNED).scalar()
        missing = self._snapshots.missing(drafts, pruned)
        if missing:
            connection.exec_driver_sql(self._sql.insert_snapshot, [tuple(one) for one in missing])
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
        connection.exec_driver_sql(self._sql.insert, rows)
        connection.exec_driver_sql(self._sql.move_head, (count, last, self._strand))
        return range(count - len(drafts) + 1, count + 1)

    def _locked_head(self, connection: Connection) -> tuple[int, str]:
        row = self._head
        if self._strand == SHARED:
            row = connection.exec_driver_sql(self._sql.lock_head, (SHARED,)).first()
        if row is None:
            raise StoreError(self.place, "the head of the chain is missing: see `evidence verify`")
        try:
            return Head.parse(f"{row.number}:{row.hash}")
        except ValueError:
            raise StoreError(
                self.place, "the head of the chain is invalid: see `evidence verify`"
            ) from None

    def prune(self, before: float) -> int:
        """Delete the records from before a time, and leave a checkpoint; returns how many.

        The chain continues from the checkpoint: the remaining records can still be verified.
        Records are deleted from the beginning, up to the first that is not older.
        """
        with self.writing() as connection:
            self._locked_head(connection)
            young = select(func.min(evidence.c.id)).where(evidence.c.at >= int(before * 1000))
            first = connection.execute(young).scalar()
            old = select(func.max(evidence.c.id))
            if first is not None:
                old = old.where(evidence.c.id < first)
            last = connection.execute(old).scalar()
            if last is None:
                return 0
            hashed = connection.execute(select(evidence.c.hash).where(evidence.c.id == last))
            mark = {"number": last, "hash": hashed.scalar_one(), "at": int(self._clock() * 1000)}
            connection.execute(insert(checkpoints).values(mark))
            removed = connection.execute(delete(evidence).where(evidence.c.id <= last)).rowcount
            used = select(evidence.c.snapshot).where(evidence.c.snapshot.is_not(None))
            connection.execute(delete(snapshots).where(snapshots.c.sha256.not_in(used)))
        return removed

    # Reading.

    def head(self) -> Head:
        """Where the chain ends; keep it elsewhere, to compare."""
        with self.reading() as connection:
            return chain_head(connection) or Head()

    def start(self) -> Head:
        """Where the chain begins: after the last pruned record."""
        with self.reading() as connection:
            return _start(connection)

    def count(self, wanted: Filter = EVERYTHING) -> int:
        """How many records there are."""
        with self.reading() as connection:
            query = wanted.apply(select(func.count()).select_from(evidence))
            return int(connection.execute(query).scalar_one())

    def hosts(self) -> set[str]:
        """The hosts that have records."""
        with self.reading() as connection:
            return set(connection.execute(select(evidence.c.host).distinct()).scalars())

    def records(
        self, wanted: Filter = EVERYTHING, last: int | None = None
    ) -> Generator[Record, None, None]:
        """The records, in the order of the chain; with `last`, only that many of the latest."""
        with self.reading() as connection:
            yield from _records(connection, wanted, last)

    @contextmanager
    def view(self, wanted: Filter = EVERYTHING) -> Iterator[EvidenceView]:
        """Records and the chain they belong to, as they are at one time."""
        with self.reading() as connection:
            total = int(connection.execute(select(func.count()).select_from(evidence)).scalar_one())
            start, end = _start(connection), chain_head(connection) or Head()
            with closing(_records(connection, wanted, None)) as found:
                yield EvidenceView(start, end, total, found)

    def record(self, number: int) -> Record | None:
        """One record, with the previous hash."""
        with self.reading() as connection:
            row = connection.execute(select(evidence).where(evidence.c.id == number)).first()
            if row is None:
                return None
            earlier = select(evidence.c.hash).where(evidence.c.id == number - 1)
            previous = connection.execute(earlier).scalar()
            previous = previous or _before(number, _start(connection))
        return _record(row, previous)

    def snapshot(self, sha256: str) -> bytes | None:
        """The robots.txt with a SHA-256, as it was received."""
        with self.reading() as connection:
            return snapshot_body(connection, sha256)

    def verify(self, noted: Head | None = None) -> Generator[Finding, None, None]:
        """The problems of the store, record by record; none if all is as it was written.

        With a head that was noted elsewhere, this finds records missing at the end, and a chain
        that was rewritten.
        """
        with (
            self.reading() as connection,
            _streamed(connection, select(evidence).order_by(evidence.c.id)) as rows,
        ):
            problems: list[Finding] = []
            last = [_start(connection)]

            def links() -> Iterator[ChainLink]:
                for row in rows:
                    problems.extend(_columns_changed(row))
                    last[0] = Head(row.id, row.hash)
                    yield ChainLink(row.id, row.type, row.content, row.metadata, row.hash)

            for finding in chain.verify(links(), last[0], noted):
                yield from problems
                problems.clear()
                yield finding
            yield from problems
            written = chain_head(connection)
            if written is None:
                yield Finding(last[0].number, "is the last record, and the stored head is missing")
            elif written != last[0]:
                yield Finding(
                    written.number, f"is the stored head, but the chain ends at {last[0].number}"
                )
            yield from self._snapshots_changed(connection)

    def _snapshots_changed(self, connection: Connection) -> Iterator[Finding]:
        first = select(func.min(evidence.c.id), evidence.c.snapshot)
        first = first.where(evidence.c.snapshot.is_not(None)).group_by(evidence.c.snapshot)
        first_use = {sha256: number for number, sha256 in connection.execute(first)}
        with _streamed(connection, select(snapshots)) as rows:
            for row in rows:
                number = first_use.pop(row.sha256, None)
                if number and hashlib.sha256(body_bytes(row.body)).hexdigest() != row.sha256:
                    yield Finding(number, f"its robots.txt was changed ({row.sha256})")
        for sha256, number in first_use.items():
            yield Finding(number, f"its robots.txt is missing ({sha256})")


def _records(
    connection: Connection, wanted: Filter, last: int | None
) -> Generator[Record, None, None]:
    before = evidence.alias()
    query = select(evidence, before.c.hash.label("previous")).order_by(evidence.c.id)
    query = query.outerjoin(before, before.c.id == evidence.c.id - 1)
    if last is not None:
        latest = wanted.apply(select(evidence.c.id)).order_by(evidence.c.id.desc()).limit(last)
        query = query.where(evidence.c.id.in_(latest))
    start = _start(connection)
    with _streamed(connection, wanted.apply(query)) as rows:
        for row in rows:
            yield _record(row, row.previous or _before(row.id, start))


def _record(row: Any, previous: str) -> Record:
    content, metadata = parse(row.content, row.metadata)
    return Record(row.id, row.type, content, metadata, row.hash, previous)


def _before(number: int, start: Head) -> str:
    """The previous hash of a record that no other precedes; empty if one is missing."""
    return start.hash if number == start.number + 1 else ""


def _start(connection: Connection) -> Head:
    """Where the chain begins: after the last pruned record."""
    query = select(checkpoints.c.number, checkpoints.c.hash)
    row = connection.execute(query.order_by(checkpoints.c.number.desc()).limit(1)).first()
    return Head(row.number, row.hash) if row else Head(0, GENESIS)


def _streamed(connection: Connection, query: "Select[Any]") -> "Result[Any]":
    """Rows that are fetched in parts; to be closed, as a reader may stop early."""
    return connection.execution_options(yield_per=_AT_A_TIME).execute(query)


def _columns_changed(row: Any) -> Iterator[Finding]:
    """Whether the columns for searching agree with the record; if not, they were changed."""
    content, metadata = parse(row.content, row.metadata)
    try:
        at = datetime.fromisoformat(content["timestamp"])
        expected = (
            host(metadata["url"].partition("?…")[0]),
            indexed_agent(metadata["agent"]),
            round(at.timestamp() * 1000),
            metadata["snapshot"],
        )
    except (AttributeError, KeyError, OverflowError, TypeError, ValueError):
        yield Finding(row.id, "cannot be parsed")
        return
    if (row.host, row.agent, row.at, row.snapshot) != expected:
        yield Finding(row.id, "indexed columns disagree with the record")
