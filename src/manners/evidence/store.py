"""The evidence store: records in a hash chain, durable before anything depends on them."""

import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from manners.errors import MissingExtra, StoreAway, StoreError, StoreTimeout, StrandClosed

try:  # before what needs it, too
    from sqlalchemy import Connection, func, select
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    raise MissingExtra("sqlalchemy", "crawl") from None

from manners.cache.versions import Version
from manners.evidence import anchors, pruning
from manners.evidence.anchoring import Anchor
from manners.evidence.chain import AnchorHead, ChainProblem, Head, hash_of
from manners.evidence.history import site_history
from manners.evidence.merging import anchored_records, merged_records
from manners.evidence.numbering import SHARED, strand_of
from manners.evidence.queries import (
    EVERYTHING,
    Filter,
    chain_head,
    chain_start,
    has_strands,
    hash_before,
    record_of,
    snapshot_body,
    store_head,
    strand_heads,
    strand_starts,
    streamed,
    with_previous,
)
from manners.evidence.record import Draft, EvidenceView, Record, Snapshot, StrandView
from manners.evidence.tables import evidence
from manners.evidence.verifying import verify_store
from manners.logs import Reporter
from manners.store.database import AGAIN, PATIENCE, TIMEOUT, Job, Store
from manners.urls import origin

__all__ = ["EVERYTHING", "EvidenceStore", "Filter"]

_MAX_REMEMBERED = 100_000
"""Snapshots that are remembered as stored."""

_HEAD = "SELECT number, hash FROM evidence_head"
_PRUNED = "SELECT batch FROM evidence_head WHERE one = 1"
"""How often the store was pruned, whichever strand: see `pruning.py`."""
_COLUMNS = ("id", "type", "host", "agent", "at", "snapshot", "content", "metadata", "hash")


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
            f"UPDATE evidence_head SET batch = {mark}{own} AND NOT closed"  # noqa: S608
            f" AND batch < {mark} RETURNING number, hash"
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
        """The snapshots of drafts that are not stored; `pruned` is how often was pruned.

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
        self._clock, self._strand = clock, SHARED
        self.reporter = Reporter(clock=clock)
        self._batch = 0
        """Transactions in a strand of its own, so far."""
        self._head: Any = None
        """Where that strand ends, in the current transaction."""
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
        seconds, or `server_timeout` later if it was sending: until then, nobody can close the
        strand.
        """
        self._strand, self._batch = strand, 0
        if idle is not None:
            # A transaction may wait for a lock, and still be made; after the lease it is late.
            self.limit_transactions(idle, idle + self.timeout)

    async def leave_closed_strand(self) -> None:
        """Go back to the strand of everybody when one's own was closed.

        Writes that wait have to fail first: they would not be kept out of another strand. Nothing
        may be added meanwhile.
        """

        def write_nothing(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            del connection
            return items

        with suppress(StrandClosed):
            await self.write(write_nothing, None)
        self.use_strand(SHARED)

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
        is_unknown, gives_up_at = False, time.monotonic() + PATIENCE
        while True:
            try:
                # Where a commit was not answered, the store knows whether it was made.
                answers = (is_unknown and self._answers_if_made()) or super()._write(batch)
            except _WasMade:  # while this one waited for it, or looked away
                answers = self._answers
            except (StoreAway, StoreTimeout) as error:
                if self.is_closing.wait(AGAIN) or time.monotonic() > gives_up_at:
                    raise
                is_unknown |= error.is_unknown
                if not self.is_away:
                    self.reporter.tell_outage(f"{error}; waiting for it")
                    self.is_away = True
                continue
            if self.is_away:
                self.reporter.tell_return(f"{self.place!r}: it is there again")
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
            own = (self._batch, self._strand, self._batch)
            self._head = connection.exec_driver_sql(self._sql.begin, own).first()
            if self._head is None:
                last = connection.exec_driver_sql(self._sql.last_batch, (self._strand,)).scalar()
                if last == self._batch:
                    raise _WasMade
                raise StrandClosed(self.place, f"strand {self._strand} was closed")

    def close(self) -> None:
        """Write what is waiting, and close; a server that is away is not waited for."""
        self.stop_waiting()
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
            pruning.lock_all(connection)
            if self._strand == SHARED:
                self._locked_head(connection)
            return pruning.prune(connection, int(before * 1000), int(self._clock() * 1000))

    def anchor(self, now: float, *, wait: bool = False) -> Anchor | None:
        """Append an anchor: where all strands end. None if no strand has moved since the last.

        None, too, while another process appends one, unless this one is to `wait` for it; and in a
        store with one chain, which needs none.
        """
        with self.writing() as connection:
            return anchors.append(connection, now, wait=wait)

    # Reading.

    def has_strands(self) -> bool:
        """Whether it has several strands, and anchors."""
        with self.reading() as connection:
            return has_strands(connection, self.version)

    def head(self) -> Head | AnchorHead:
        """Where the chain ends; with strands, the chain of anchors. Keep it elsewhere, to compare.

        With strands, `anchor` comes first: what was appended after the last anchor is not covered.
        """
        with self.reading() as connection:
            return store_head(connection, self.version)

    def start(self) -> Head | AnchorHead:
        """Where the chain begins, after the last pruned record; with strands, the anchors."""
        with self.reading() as connection:
            if has_strands(connection, self.version):
                return strand_starts(connection).anchors
            return chain_start(connection)

    def strands(self) -> list[StrandView]:
        """Where each strand begins and ends; one for a store with one chain."""
        with self.reading() as connection:
            return _strands(connection, self.version)

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
        """The records, in the order of the chain; with `last`, only that many of the latest.

        With strands, in the order of time, and within a strand in its order.
        """
        with self.reading() as connection:
            if has_strands(connection, self.version):
                yield from merged_records(connection, wanted, last)
            else:
                yield from _records(connection, wanted, last)

    @contextmanager
    def view(self, wanted: Filter = EVERYTHING) -> Iterator[EvidenceView]:
        """Records and the chains they belong to, as they are at one time.

        With strands, each anchor comes after the records that it covers, and the rest after it; a
        filtered view has no anchors.
        """
        with self.reading() as connection:
            total = int(connection.execute(select(func.count()).select_from(evidence)).scalar_one())
            end = store_head(connection, self.version)
            found: Generator[Record | Anchor, None, None]
            if isinstance(end, AnchorHead):
                start: Head | AnchorHead = strand_starts(connection).anchors
                strands = _strands(connection, self.version)
                is_whole = wanted == EVERYTHING
                found = (
                    anchored_records(connection) if is_whole else merged_records(connection, wanted)
                )
            else:
                start, strands, found = (
                    chain_start(connection),
                    [],
                    _records(connection, wanted, None),
                )
            with closing(found):
                yield EvidenceView(start, end, total, found, strands)

    def record(self, number: int) -> Record | None:
        """One record, with the previous hash."""
        with self.reading() as connection:
            row = connection.execute(select(evidence).where(evidence.c.id == number)).first()
            if row is None:
                return None
            if has_strands(connection, self.version):
                start = strand_starts(connection).of(strand_of(number))
            else:
                start = chain_start(connection)
            earlier = select(evidence.c.hash).where(evidence.c.id == number - 1)
            previous = connection.execute(earlier).scalar()
            previous = previous or hash_before(number, start)
        return record_of(row, previous)

    def snapshot(self, sha256: str) -> bytes | None:
        """The robots.txt with a SHA-256, as it was received."""
        with self.reading() as connection:
            return snapshot_body(connection, sha256)

    def history(self, url: str) -> list[Version]:
        """The versions of a site's robots.txt that decisions rest on, oldest first.

        Of each it is known from when to when it was retrieved, and until when it decided. They are
        the latest 1,000, with files of up to 64 MB in all.
        """
        with self.reading() as connection:
            return site_history(connection, self.place, origin(url))

    def verify(self, noted: Head | AnchorHead | None = None) -> Generator[ChainProblem, None, None]:
        """The problems of the store, record by record; none if all is as it was written.

        With a head that was noted elsewhere, this finds records missing at the end, and a chain
        that was rewritten.
        """
        with self.reading() as connection:
            yield from verify_store(connection, self.version, noted)


class _WasMade(Exception):
    """A transaction whose commit was not answered was made after all."""


def _records(
    connection: Connection, wanted: Filter, last: int | None
) -> Generator[Record, None, None]:
    query = with_previous().order_by(evidence.c.id)
    if last is not None:
        latest = wanted.apply(select(evidence.c.id)).order_by(evidence.c.id.desc()).limit(last)
        query = query.where(evidence.c.id.in_(latest))
    start = chain_start(connection)
    with streamed(connection, wanted.apply(query)) as rows:
        for row in rows:
            yield record_of(row, row.previous or hash_before(row.id, start))


def _strands(connection: Connection, version: str) -> list[StrandView]:
    if not has_strands(connection, version):
        return [StrandView(SHARED, chain_start(connection), chain_head(connection) or Head())]
    starts, heads = strand_starts(connection), strand_heads(connection)
    known = sorted({*starts.strands, *(strand for strand in heads if strand >= SHARED)})
    return [
        StrandView(strand, starts.of(strand), heads.get(strand, starts.of(strand)))
        for strand in known
    ]
