"""Tables of any size in order: sorted piece by piece on disk, then merged.

Memory is bounded by the limit that is given, whatever the size of the data.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.ipc

_PIECE = 1 << 20
"""Bytes of a piece of a sorted file: as much of each is in memory while they are merged."""
_LEAST_FILES = 4
_OPTIONS = pyarrow.ipc.IpcWriteOptions(compression="lz4")

Key = tuple[Any, ...]


class Sorter:
    """Sorts batches of one schema by some columns; nulls come last.

    The last of the columns has to be one in which no two rows have the same value.
    """

    def __init__(self, folder: Path, columns: Sequence[str], memory: int) -> None:
        self._folder, self._columns = folder, list(columns)
        self._limit = max(memory // 4, _PIECE)  # sorting needs room for a copy
        self._fan_in = max(memory // (8 * _PIECE), _LEAST_FILES)
        self._waiting: list[pa.RecordBatch] = []
        self._bytes = 0
        self._files: list[Path] = []
        self._count = 0

    def add(self, batch: pa.RecordBatch) -> None:
        """Add some rows."""
        self._waiting.append(batch)
        self._bytes += batch.nbytes
        if self._bytes >= self._limit:
            self._files.append(self._write(self._sorted_waiting()))

    def result(self) -> Iterator[pa.Table]:
        """All rows in order, in tables of bounded size."""
        rest = self._sorted_waiting()
        while len(self._files) > self._fan_in:
            some, self._files = self._files[: self._fan_in], self._files[self._fan_in :]
            merged = self._write(self._merged([_pieces_of(path) for path in some]))
            for path in some:
                path.unlink()
            self._files.insert(0, merged)  # the oldest first
        if not self._files:
            yield from rest
            return
        yield from self._merged([*map(_pieces_of, self._files), rest])

    def _sorted_waiting(self) -> Iterator[pa.Table]:
        waiting, self._waiting, self._bytes = self._waiting, [], 0
        if waiting:
            table = pa.Table.from_batches(waiting)
            del waiting
            yield from _cut(self._sorted(table))

    def _sorted(self, table: pa.Table) -> pa.Table:
        keys = [(name, "ascending") for name in self._columns]
        return table.take(pc.sort_indices(table, keys))

    def _write(self, tables: Iterable[pa.Table]) -> Path:
        path = self._folder / f"{self._count}.arrow"
        self._count += 1
        with ExitStack() as stack:
            writer: Any = None
            for table in tables:
                if writer is None:
                    file = stack.enter_context(path.open("wb"))
                    new = pyarrow.ipc.new_stream(file, table.schema, options=_OPTIONS)
                    writer = stack.enter_context(new)
                for piece in _cut(table):
                    writer.write_table(piece.combine_chunks())
        return path

    def _merged(self, sources: Sequence[Iterator[pa.Table]]) -> Iterator[pa.Table]:
        """The rows of sorted sources in order.

        Each round takes the rows up to the smallest of the last keys in memory: nothing that comes
        later can be before them.
        """
        heads = [head for head in (_Head(source, self._key) for source in sources) if head.table]
        while heads:
            limit = min(head.last for head in heads)
            parts = [head.take(limit) for head in heads]
            heads = [head for head in heads if head.table]
            yield self._sorted(pa.concat_tables(part for part in parts if part.num_rows))

    def _key(self, table: pa.Table, row: int) -> Key:
        values = (table[name][row].as_py() for name in self._columns)
        return tuple((value is None, value) for value in values)


class _Head:
    """The piece of a sorted source that comes next."""

    def __init__(self, source: Iterator[pa.Table], key: Callable[[pa.Table, int], Key]) -> None:
        self._source, self._key = source, key
        self.table: pa.Table | None = None
        self.last: Key = ()
        self._next()

    def _next(self) -> None:
        self.table = next(self._source, None)
        if self.table is not None:
            self.last = self._key(self.table, self.table.num_rows - 1)

    def take(self, limit: Key) -> pa.Table:
        """The rows up to a key."""
        table = self.table
        assert table is not None  # noqa: S101 (heads without one are dropped)
        if self.last <= limit:
            self._next()
            return table
        rows = bisect_right(range(table.num_rows), limit, key=lambda row: self._key(table, row))
        self.table = table.slice(rows)
        return table.slice(0, rows)


def _cut(table: pa.Table) -> Iterator[pa.Table]:
    """A table in pieces of bounded size, if its rows are about of one size; none without rows."""
    rows = max(table.num_rows * _PIECE // max(table.nbytes, 1), 1)
    for start in range(0, table.num_rows, rows):
        yield table.slice(start, rows)


def _pieces_of(path: Path) -> Iterator[pa.Table]:
    with path.open("rb") as file, pyarrow.ipc.open_stream(file) as stream:
        for batch in stream:
            yield pa.Table.from_batches([batch])
