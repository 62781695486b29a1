"""Queries of evidence, for a connection that is open."""

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, Result, Select, func, select

from manners._text import to_bytes
from manners.evidence import anchors
from manners.evidence.chain import GENESIS, AnchorHead, Head
from manners.evidence.numbering import SHARED, SPAN, before_first, strand_of
from manners.evidence.record import Record, parse
from manners.evidence.tables import checkpoints, evidence, head, snapshots

AT_A_TIME = 1_000
"""Records that are read at once."""
_FIRST_WITH_STRANDS = "0004"
_MAX_ID = 2**63 - 1


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


# Chains.


def has_strands(connection: Connection, version: str) -> bool:
    """Whether a store, with tables of a version, has strands besides the first; or had some."""
    if version < _FIRST_WITH_STRANDS:
        return False
    if anchors.last_anchor(connection) is not None:
        return True
    for column in (head.c.one, evidence.c.id, checkpoints.c.number):
        largest = connection.execute(select(func.max(column))).scalar()
        if isinstance(largest, int) and largest > (SHARED if column is head.c.one else SPAN):
            return True
    return False


def store_head(connection: Connection, version: str) -> Head | AnchorHead:
    """Where a store ends: its chain, or with strands, its chain of anchors."""
    if has_strands(connection, version):
        return anchors.end_of(connection)
    return chain_head(connection) or Head()


def chain_head(connection: Connection) -> Head | None:
    """Where the first strand ends, which is the only one of most stores; None if it was removed."""
    row = connection.execute(select(head.c.number, head.c.hash).where(head.c.one == SHARED)).first()
    return Head(row.number, row.hash) if row else None


def strand_heads(connection: Connection) -> dict[int, Head]:
    """Where each strand ends, by number; what is no strand, because of tampering, is left out."""
    rows = connection.execute(select(head.c.one, head.c.number, head.c.hash).order_by(head.c.one))
    return {row.one: Head(row.number, row.hash) for row in rows if type(row.one) is int}


def chain_start(connection: Connection) -> Head:
    """Where the only chain begins: after the last pruned record."""
    query = select(checkpoints.c.number, checkpoints.c.hash)
    row = connection.execute(query.order_by(checkpoints.c.number.desc()).limit(1)).first()
    return Head(row.number, row.hash) if row else Head(0, GENESIS)


class Starts(NamedTuple):
    """Where strands and anchors begin, where something was pruned."""

    strands: dict[int, Head]
    anchors: AnchorHead

    def of(self, strand: int) -> Head:
        """Where a strand begins: after its last pruned record."""
        return self.strands.get(strand) or Head(before_first(strand), GENESIS)


def strand_starts(connection: Connection) -> Starts:
    """Where strands and anchors begin; the checkpoint of an anchor has a negative number."""
    query = select(checkpoints.c.number, checkpoints.c.hash).order_by(checkpoints.c.number)
    strands: dict[int, Head] = {}
    first = AnchorHead()
    for number, digest in connection.execute(query):
        if number >= 0:
            strands[strand_of(number)] = Head(number, digest)
        elif -number > first.number:
            first = AnchorHead(-number, digest)
    return Starts(strands, first)


class FirstRecord(NamedTuple):
    """The first record of a strand that is still there."""

    id: int
    at: int


def first_records(connection: Connection) -> Iterator[FirstRecord]:
    """The first record of each strand that has some."""
    after: int | None = None
    while after is None or after < _MAX_ID:
        query = select(evidence.c.id, evidence.c.at).order_by(evidence.c.id).limit(1)
        row = connection.execute(query if after is None else query.where(evidence.c.id > after))
        found = row.first()
        if found is None:
            return
        yield FirstRecord(*found)
        after = _last_number(strand_of(found.id))


def _last_number(strand: int) -> int:
    """The largest number that a record of a strand can have."""
    return min(strand * SPAN, _MAX_ID)


def within(strand: int) -> "ColumnElement[bool]":
    """The condition for records of a strand; numbers below 1 belong to the first."""
    own = evidence.c.id <= _last_number(strand)
    return own if strand == SHARED else own & (evidence.c.id > _last_number(strand - 1))


# Records.


def with_previous() -> "Select[Any]":
    """Records, each with the hash of the one before."""
    before = evidence.alias()
    query = select(evidence, before.c.hash.label("previous"))
    return query.outerjoin(before, before.c.id == evidence.c.id - 1)


def record_of(row: Any, previous: str) -> Record:
    """A stored record."""
    content, metadata = parse(row.content, row.metadata)
    return Record(row.id, row.type, content, metadata, row.hash, previous)


def hash_before(number: int, start: Head) -> str:
    """The previous hash of a record that no other precedes; empty if one is missing."""
    return start.hash if number == start.number + 1 else ""


def streamed(connection: Connection, query: "Select[Any]") -> "Result[Any]":
    """Rows that are fetched in parts; to be closed, as a reader may stop early."""
    return connection.execution_options(yield_per=AT_A_TIME).execute(query)


def last_content(connection: Connection, host: str) -> str | None:
    """The content of the last record about a host, as JSON."""
    query = select(evidence.c.content).where(evidence.c.host == host)
    text: str | None = connection.execute(query.order_by(evidence.c.at.desc()).limit(1)).scalar()
    return text


# Snapshots.


def snapshot_body(connection: Connection, sha256: str) -> bytes | None:
    """A robots.txt as it was received; None if it was pruned."""
    query = select(snapshots.c.body).where(snapshots.c.sha256 == sha256)
    body = connection.execute(query).scalar()
    return None if body is None else body_bytes(body)


def body_bytes(body: Any) -> bytes:
    """The bytes of a stored body; SQLite returns text if text was put there."""
    return to_bytes(body) if isinstance(body, str) else bytes(body)


def latest_contents(connection: Connection, hosts: Iterable[str]) -> dict[str, dict[str, Any]]:
    """What the latest record of each host says; of one without records, nothing.

    By the index of hosts and times: a store may have thousands of strands.
    """
    found = {}
    for name in hosts:
        query = select(evidence.c.content, evidence.c.metadata).where(evidence.c.host == name)
        query = query.order_by(evidence.c.at.desc(), evidence.c.id.desc()).limit(1)
        row = connection.execute(query).first()
        found[name] = {} if row is None else parse(row.content, row.metadata)[0]
    return found
