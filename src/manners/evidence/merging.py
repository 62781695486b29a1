"""Records of several strands in one order: by time, and within a strand as they were written.

Each strand is read in parts, from when its first record is due. So memory is bounded, however long
the strands are, and nothing is sorted.
"""

import heapq
from collections import deque
from collections.abc import Generator, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, select

from manners.evidence import anchors
from manners.evidence.anchoring import Anchor
from manners.evidence.numbering import strand_of
from manners.evidence.queries import (
    EVERYTHING,
    Filter,
    Starts,
    first_records,
    hash_before,
    record_of,
    strand_starts,
    with_previous,
    within,
)
from manners.evidence.record import Record
from manners.evidence.tables import evidence

_IN_MEMORY = 10_000
"""Records of all strands in memory, about."""
_LEAST, _MOST = 20, 1_000
"""Records of a strand that are read at once."""


class _Strand:
    """The records of a strand, read in parts; `time` never goes back."""

    def __init__(self, connection: Connection, wanted: Filter, number: int, size: int) -> None:
        self._connection, self._size = connection, size
        self._query = wanted.apply(with_previous().where(within(number))).order_by(evidence.c.id)
        self._last: int | None = None
        self._rows: deque[Any] = deque()
        self._is_read = False
        self.time = 0

    def next_row(self) -> Any:
        """The next record, which stays there; None after the last."""
        if not self._rows and not self._is_read:
            query = self._query.limit(self._size)
            if self._last is not None:
                query = query.where(evidence.c.id > self._last)
            self._rows.extend(self._connection.execute(query).all())
            self._is_read = len(self._rows) < self._size
            if self._rows:
                self._last = self._rows[-1].id
        if not self._rows:
            return None
        self.time = max(self.time, _time(self._rows[0].at))
        return self._rows[0]

    def take(self) -> Any:
        return self._rows.popleft()


def _time(at: Any) -> int:
    """A time in milliseconds; 0 if it was tampered with."""
    return at if type(at) is int else 0


class _Merged:
    """The strands of a store, merged."""

    def __init__(self, connection: Connection, wanted: Filter) -> None:
        firsts: dict[int, int] = {}
        for record in first_records(connection):
            firsts.setdefault(strand_of(record.id), _time(record.at))
        size = min(max(_IN_MEMORY // max(len(firsts), 1), _LEAST), _MOST)
        self._connection, self._wanted, self._size = connection, wanted, size
        self._firsts = firsts
        """When strands begin that are not read yet."""
        self._open: dict[int, _Strand] = {}

    def _strand(self, number: int) -> _Strand:
        found = self._open.get(number)
        if found is None:
            del self._firsts[number]
            found = _Strand(self._connection, self._wanted, number, self._size)
            self._open[number] = found
        return found

    def rows(self) -> Iterator[Any]:
        """All rows that remain."""
        due = deque(sorted((at, number) for number, at in self._firsts.items()))
        heap: list[tuple[int, int]] = []
        for number in self._open:
            self._push(heap, number)
        while heap or due:
            while due and (not heap or due[0][0] <= heap[0][0]):
                self._push(heap, due.popleft()[1])
            if heap:
                yield self._pop(heap)

    def rows_up_to(self, limits: Mapping[int, int]) -> Iterator[Any]:
        """The rows of some strands, each up to a number."""
        heap: list[tuple[int, int]] = []
        for number, limit in limits.items():
            if number in self._open or number in self._firsts:
                self._push(heap, number, limit)
        while heap:
            yield self._pop(heap, limits)

    def _push(self, heap: list[tuple[int, int]], number: int, limit: int | None = None) -> None:
        strand = self._strand(number)
        row = strand.next_row()
        if row is not None and (limit is None or row.id <= limit):
            heapq.heappush(heap, (strand.time, number))

    def _pop(self, heap: list[tuple[int, int]], limits: Mapping[int, int] | None = None) -> Any:
        _, number = heapq.heappop(heap)
        row = self._open[number].take()
        self._push(heap, number, None if limits is None else limits[number])
        return row


def _record(row: Any, starts: Starts) -> Record:
    start = starts.of(strand_of(row.id))
    return record_of(row, hash_before(row.id, start) or row.previous or "")


def merged_records(
    connection: Connection, wanted: Filter, last: int | None = None
) -> Generator[Record, None, None]:
    """Records in the order of time; with `last`, only that many of the latest."""
    starts = strand_starts(connection)
    is_all = last is None
    rows = _Merged(connection, wanted).rows() if is_all else _latest(connection, wanted, last or 0)
    for row in rows:
        yield _record(row, starts)


def _latest(connection: Connection, wanted: Filter, last: int) -> Iterator[Any]:
    numbers = [
        number for _, _, number in sorted(heapq.nlargest(last, _ends(connection, wanted, last)))
    ]
    for place in range(0, len(numbers), _MOST):
        part = numbers[place : place + _MOST]
        found = connection.execute(with_previous().where(evidence.c.id.in_(part)))
        by_number = {row.id: row for row in found}
        yield from (by_number[number] for number in part)


def _ends(connection: Connection, wanted: Filter, last: int) -> Iterator[tuple[int, int, int]]:
    """The latest records of each strand: time, strand, number."""
    for number in dict.fromkeys(strand_of(first.id) for first in first_records(connection)):
        query = wanted.apply(select(evidence.c.id, evidence.c.at).where(within(number)))
        query = query.order_by(evidence.c.id.desc()).limit(last)
        time = 0
        for row in reversed(connection.execute(query).all()):
            time = max(time, _time(row.at))
            yield time, number, row.id


def anchored_records(connection: Connection) -> Generator[Record | Anchor, None, None]:
    """Every anchor, after the records that it covers and no earlier one does; then the rest."""
    starts, rows = strand_starts(connection), _Merged(connection, EVERYTHING)
    for anchor in anchors.stored(connection):
        try:
            limits = {strand: head.number for strand, head in anchor.ends.named()}
        except ValueError:  # it was tampered with, which whoever reads the export finds
            limits = {}
        for row in rows.rows_up_to(limits):
            yield _record(row, starts)
        yield anchor
    for row in rows.rows():
        yield _record(row, starts)
