"""Verifies a store: every chain by itself, then the anchors that tie the strands together.

Records are read once, in the order of their numbers, so strand after strand. Anchors are read a few
at a time, and the hashes of the records they name are looked up together.
"""

import hashlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import chain as chained
from itertools import groupby
from typing import Any

from sqlalchemy import Connection, func, select

from manners.evidence import anchors, chain
from manners.evidence.anchoring import Anchor, AnchorChain
from manners.evidence.chain import GENESIS, AnchorHead, ChainLink, ChainProblem, Head
from manners.evidence.numbering import SHARED, SPAN, before_first, place_of, strand_of
from manners.evidence.queries import (
    AT_A_TIME,
    body_bytes,
    chain_head,
    chain_start,
    has_strands,
    strand_heads,
    strand_starts,
    streamed,
)
from manners.evidence.record import indexed_agent, parse
from manners.evidence.tables import evidence, snapshots
from manners.urls import host


def verify_store(
    connection: Connection, version: str, noted: Head | AnchorHead | None
) -> Iterator[ChainProblem]:
    """The problems of a store, record by record; none if all is as it was written."""
    if has_strands(connection, version):
        yield from _Strands(connection, noted).findings()
        for finding in _snapshots_changed(connection):
            yield finding._replace(strand=strand_of(finding.id))
        return
    if isinstance(noted, AnchorHead):  # a store with strands is expected, and this is none
        if noted.number:
            yield ChainProblem(
                0, "is the noted head, and there are no anchors", anchor=noted.number
            )
        noted = None
    with streamed(connection, select(evidence).order_by(evidence.c.id)) as rows:
        end = [chain_start(connection)]
        yield from _chain(rows, end, noted)
        yield from _stored_head(chain_head(connection), end[0])
    yield from _snapshots_changed(connection)


def _chain(rows: Iterable[Any], end: list[Head], noted: Head | None) -> Iterator[ChainProblem]:
    """The problems of one chain that begins at `end`; in the end, that is where it ends."""
    problems: list[ChainProblem] = []
    strand = strand_of(end[0].number + 1)

    def links() -> Iterator[ChainLink]:
        for row in rows:
            problems.extend(_columns_changed(row))
            end[0] = Head(row.id, row.hash)
            yield ChainLink(row.id, row.type, row.content, row.metadata, row.hash)

    for finding in chain.verify(links(), end[0], noted, lambda number: place_of(number, strand)):
        yield from problems
        problems.clear()
        yield finding
    yield from problems


def _stored_head(written: Head | None, last: Head) -> Iterator[ChainProblem]:
    """Whether the stored head is where the chain ends."""
    if written is None:
        yield ChainProblem(last.number, "is the last record, and the stored head is missing")
    elif written != last:
        ends = place_of(last.number, strand_of(last.number + 1))
        yield ChainProblem(written.number, f"is the stored head, but the chain ends at {ends}")


class _Strands:
    """Verifies a store with strands."""

    def __init__(self, connection: Connection, noted: Head | AnchorHead | None) -> None:
        self._connection, self._noted = connection, noted
        self._heads, self._starts = strand_heads(connection), strand_starts(connection)
        self._ends: dict[int, Head] = {}
        """Where each strand ends, by its records."""
        self._lacking: set[int] = set()
        """Strands that were found to end too early."""
        self._strands = 0
        """How many there are, by the anchors."""

    def findings(self) -> Iterator[ChainProblem]:
        """All problems of strands and anchors."""
        with streamed(self._connection, select(evidence).order_by(evidence.c.id)) as rows:
            expected = iter(sorted({*self._heads, *self._starts.strands, *self._noted_strand()}))
            following = next(expected, None)
            for strand, own in groupby(rows, key=_strand_of_row):
                while following is not None and following <= strand:
                    if following < strand:
                        yield from self._strand(following, ())
                    following = next(expected, None)
                yield from self._strand(strand, own)
            for strand in chained((following,) if following is not None else (), expected):
                yield from self._strand(strand, ())
        yield from self._anchors()
        yield from self._missing_heads()

    def _noted_strand(self) -> set[int]:
        """The strand that a head belongs to, if one was noted."""
        noted = self._noted
        if noted is None or isinstance(noted, AnchorHead):
            return set()
        is_empty = noted.hash == GENESIS and noted.number % SPAN == 0
        return {strand_of(noted.number + is_empty)}

    def _strand(self, strand: int, rows: Iterable[Any]) -> Iterator[ChainProblem]:
        """The problems of one strand."""
        if strand < SHARED:
            yield ChainProblem(0, "is no strand, and has a head", strand)
            return
        noted = self._noted if strand in self._noted_strand() else None
        end = [self._starts.of(strand)]
        for finding in _chain(rows, end, Head(*noted) if noted else None):
            yield finding._replace(strand=strand)
        if strand not in self._heads and end[0].number == before_first(strand):
            return  # there is no such strand
        for finding in _stored_head(self._heads.get(strand), end[0]):
            self._lacking.add(strand)
            yield finding._replace(strand=strand)
        self._ends[strand] = end[0]

    # Anchors.

    def _anchors(self) -> Iterator[ChainProblem]:
        """The problems of the anchors, and what they say about strands that is not so."""
        noted = self._noted if isinstance(self._noted, AnchorHead) else None
        links = AnchorChain(self._starts.anchors, noted)
        named: dict[int, Head] = {}
        closed: dict[int, Anchor] = {}
        waiting: list[tuple[int, int, Head]] = []
        for anchor in anchors.stored(self._connection):
            problems = list(links.check(anchor))
            yield from problems
            try:
                ends = anchor.ends
            except ValueError:
                if not problems:
                    yield ChainProblem(0, "cannot be parsed", anchor=anchor.number)
                continue
            self._strands = max(self._strands, ends.strands)
            for strand, head in ends.named():
                if strand in closed:
                    again = f"names strand {strand}, which was closed before"
                    yield ChainProblem(0, again, anchor=anchor.number)
                if strand in ends.closed:
                    yield from self._closed(strand, head, anchor)
                    closed[strand] = anchor
                if named.get(strand) != head:  # most are the same as in the anchor before
                    named[strand] = head
                    waiting.append((anchor.number, strand, head))
            if len(waiting) >= AT_A_TIME:
                yield from self._compare(waiting)
                waiting.clear()
        yield from self._compare(waiting)
        yield from links.end()

    def _closed(self, strand: int, head: Head, anchor: Anchor) -> Iterator[ChainProblem]:
        """Whether a strand ends where it was closed."""
        end = self._ends.get(strand)
        if end is not None and end.number > head.number:
            yield ChainProblem(
                head.number + 1,
                f"comes after the strand was closed (anchor {anchor.number})",
                strand,
            )

    def _compare(self, named: list[tuple[int, int, Head]]) -> Iterator[ChainProblem]:
        """Whether the heads that anchors name are those of the records."""
        numbers = list({head.number for _, _, head in named})
        hashes: dict[int, Any] = {}
        for place in range(0, len(numbers), AT_A_TIME):
            own = evidence.c.id.in_(numbers[place : place + AT_A_TIME])
            found = self._connection.execute(select(evidence.c.id, evidence.c.hash).where(own))
            hashes.update((row.id, row.hash) for row in found)
        for anchor, strand, head in named:
            start = self._starts.of(strand)
            end = self._ends.get(strand, start)
            if head.number > end.number:
                if strand not in self._ends or end.number == before_first(strand):
                    missing = "all its records are missing"
                else:
                    missing = "records are missing at its end"
                if strand not in self._lacking or strand not in self._ends:
                    place = place_of(head.number, strand)
                    yield ChainProblem(
                        end.number + 1, f"{missing}: anchor {anchor} names record {place}", strand
                    )
                self._lacking.add(strand)
                self._ends.setdefault(strand, start)
            elif head.number == start.number:
                if head.hash != start.hash:
                    yield _differs(anchor, strand, head)
            elif head.number > start.number and hashes.get(head.number, head.hash) != head.hash:
                yield _differs(anchor, strand, head)

    def _missing_heads(self) -> Iterator[ChainProblem]:
        """Strands without a stored head: they are numbered without gaps."""
        last = 0
        largest = max([self._strands, *self._ends])
        for strand in [*sorted(s for s in self._heads if SHARED <= s <= largest), largest + 1]:
            gap = range(last + 1, strand)
            if not all(missing in self._lacking for missing in gap):
                several = f" (strands {last + 1} to {strand - 1})" if strand > last + 2 else ""
                yield ChainProblem(0, f"its head is missing{several}", last + 1)
            last = strand


def _differs(anchor: int, strand: int, head: Head) -> ChainProblem:
    place = place_of(head.number, strand)
    problem = f"record {place} of strand {strand} has another hash than the anchor says"
    return ChainProblem(0, problem, anchor=anchor)


def _strand_of_row(row: Any) -> int:
    return strand_of(row.id)


def _snapshots_changed(connection: Connection) -> Iterator[ChainProblem]:
    first = select(func.min(evidence.c.id), evidence.c.snapshot)
    first = first.where(evidence.c.snapshot.is_not(None)).group_by(evidence.c.snapshot)
    first_use = {sha256: number for number, sha256 in connection.execute(first)}
    with streamed(connection, select(snapshots)) as rows:
        for row in rows:
            number = first_use.pop(row.sha256, None)
            if number and hashlib.sha256(body_bytes(row.body)).hexdigest() != row.sha256:
                yield ChainProblem(number, f"its robots.txt was changed ({row.sha256})")
    for sha256, number in first_use.items():
        yield ChainProblem(number, f"its robots.txt is missing ({sha256})")


def _columns_changed(row: Any) -> Iterator[ChainProblem]:
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
        yield ChainProblem(row.id, "cannot be parsed")
        return
    if (row.host, row.agent, row.at, row.snapshot) != expected:
        yield ChainProblem(row.id, "indexed columns disagree with the record")
