"""Columns of Parquet files that go to the output as they are, beside those that are added.

Most of what a copy costs is to encode and to compress its columns again. Here, a row group of the
output has the bytes that a row group of the input has for the kept columns, and those that pyarrow
writes for the added ones; the metadata of the two becomes one.
"""

import io
from collections.abc import Generator, Sequence
from functools import lru_cache
from typing import BinaryIO, NamedTuple

import pyarrow as pa

from manners.bulk import thrift
from manners.bulk.footers import (
    CHUNKS,
    COLUMN,
    COLUMN_ORDERS,
    CREATED_BY,
    GROUP_BYTES,
    GROUP_ROWS,
    MAGIC,
    SCHEMA,
    Footer,
    copy,
    moved_chunk,
)
from manners.bulk.inputs import Slice
from manners.bulk.outputs import one_group
from manners.bulk.records import BulkError
from manners.bulk.thrift import I64, LIST, STRUCT, Field

_LEAST_ROWS, _MOST_ROWS = 16_384, 2_097_152
"""Rows of a row group: on average at least, or a reader has too many; and what fits into memory."""

# Fields of SchemaElement, ColumnChunk, ColumnMetaData and Statistics.
_TYPE, _NAME, _CHILDREN = 1, 4, 5
_ELSEWHERE = {1, 8, 9}  # in another file, or encrypted
_INDEXES = {4, 5, 6, 7}  # they stand apart from the data, and are left behind
_UNCOMPRESSED, _COMPRESSED, _DATA, _DICTIONARY, _STATISTICS = 6, 7, 9, 11, 12
_BLOOM = {14, 15}
_OLD_LIMITS = {1, 2}  # the least and the largest value in an order that writers disagreed about

_OLD_SIZES = tuple(b"parquet-mr version 1.%d." % minor for minor in range(3))
"""Writers whose sizes of columns were too small (PARQUET-816)."""

Struct = list[Field]


class _Column(NamedTuple):
    """A column of a file, with the columns in it."""

    elements: list[Struct]
    """What the schema says about it."""
    chunks: range
    """The numbers of its chunks in a row group."""


class KeptColumns:
    """Columns of Parquet files that can be copied as they are; `schema` has the added ones, too."""

    def __init__(self, names: Sequence[str], schema: pa.Schema) -> None:
        self._names = names
        self.added = pa.schema([field for field in schema if field.name not in names])
        """The columns that are added."""
        self._empty = _footer_of(one_group(schema.empty_table()))
        self._footer = lru_cache(maxsize=8)(_read_footer)

    def fit(self, pieces: Sequence[Sequence[Slice]]) -> bool:
        """Whether all row groups can be copied, and are described alike."""
        slices = [part for piece in pieces for part in piece]
        groups, rows = sum(len(part.groups) for part in slices), sum(part.rows for part in slices)
        if groups > 1 + rows // _LEAST_ROWS or any(part.rows > _MOST_ROWS for part in slices):
            return False
        first: list[list[Struct]] | None = None
        for path in dict.fromkeys(part.file.path for part in slices):
            described = self._described(path)
            first = first or described
            if described is None or described != first:
                return False
        return all(any(part.rows for part in piece) for piece in pieces)

    def _described(self, path: str) -> list[list[Struct]] | None:
        """What a file says about the columns; None if they cannot be copied from it."""
        try:
            footer, end = self._footer(path)
        except BulkError:
            return None
        own, found = _columns(self._empty), _columns(footer)
        if (footer.get(CREATED_BY) or b"").startswith(_OLD_SIZES) or not all(
            name in found and len(found[name].chunks) == len(own[name].chunks)
            for name in self._names
        ):
            return None
        if not all(_is_here(thrift.decode(group), end) for group in footer.groups):
            return None
        return [found[name].elements for name in self._names]

    def footer(self, source: Footer) -> Footer:
        """The metadata of an output: of the kept columns, it says what the input says."""
        kept, own = _columns(source), _columns(self._empty)
        names = [*self._names, *self.added.names]
        columns = ((kept if name in self._names else own)[name] for name in names)
        elements = [element for column in columns for element in column.elements]
        return self._empty.but(SCHEMA, (STRUCT, [self._empty.get(SCHEMA)[1][0], *elements]))

    def groups(self, piece: Sequence[Slice]) -> "Generator[_Group, None, None]":
        """The row groups of a piece, one after the other."""
        for part in piece:
            footer, _ = self._footer(part.file.path)
            columns = _columns(footer)
            places = [place for name in self._names for place in columns[name].chunks]
            has_order = footer.get(COLUMN_ORDERS) is not None
            with open(part.file.path, "rb") as file:  # noqa: PTH123 (a path as it was given)
                for number in part.groups:
                    group = thrift.values(thrift.decode(footer.groups[number]))
                    if group[GROUP_ROWS]:
                        chunks = group[CHUNKS][1]
                        kept = [_trimmed(chunks[place], has_order) for place in places]
                        yield _Group(footer, file, group[GROUP_ROWS], kept)


class _Group(NamedTuple):
    """A row group of the input."""

    footer: Footer
    file: BinaryIO
    rows: int
    kept: list[Struct]
    """The chunks of the kept columns."""


class SplicedWriter:
    """Writes the added columns of a piece; the kept ones come along."""

    def __init__(self, file: BinaryIO, columns: KeptColumns, piece: Sequence[Slice]) -> None:
        self.schema = columns.added
        self._file, self._columns = file, columns
        self._sources = columns.groups(piece)
        self._source = next(self._sources)
        self._footer = columns.footer(self._source.footer)
        self._waiting: list[pa.RecordBatch] = []
        self._missing, self._rows = self._source.rows, 0
        self._groups: list[bytes] = []
        file.write(MAGIC)

    def write(self, batch: pa.RecordBatch) -> None:
        """Take some rows; a row group is written when its last row is there."""
        while len(batch):
            some = batch.slice(0, self._missing)
            batch = batch.slice(len(some))
            self._waiting.append(some)
            self._missing -= len(some)
            if not self._missing:
                self._write_group()

    def _write_group(self) -> None:
        source = self._source
        table = pa.Table.from_batches(self._waiting, self.schema)
        data = one_group(table.unify_dictionaries())
        added = thrift.values(thrift.decode(_footer_of(data).groups[0]))[CHUNKS][1]
        chunks = [self._copied(source.file, chunk) for chunk in source.kept]
        chunks += [self._copied(io.BytesIO(data), chunk) for chunk in added]
        size = sum(thrift.values(_metadata(chunk))[_UNCOMPRESSED] for chunk in chunks)
        group = [
            Field(CHUNKS, LIST, (STRUCT, chunks)),
            Field(GROUP_BYTES, I64, size),
            Field(GROUP_ROWS, I64, source.rows),
        ]
        self._groups.append(thrift.encode(group))
        self._rows += source.rows
        self._waiting = []
        following = next(self._sources, None)
        if following is not None:
            self._source, self._missing = following, following.rows

    def _copied(self, source: BinaryIO, chunk: Struct) -> Struct:
        begin, size = _place(chunk)
        moved = self._file.tell() - begin
        copy(source, self._file, begin, size)
        return list(moved_chunk(chunk, moved))

    def close(self) -> None:
        """Write the end of the file."""
        if self._missing:
            raise BulkError(self._source.file.name, "it has fewer rows than it says")
        self._sources.close()
        self._footer.write(self._file, self._rows, self._groups)


def _read_footer(path: str) -> tuple[Footer, int]:
    with open(path, "rb") as file:  # noqa: PTH123 (a path as it was given)
        return Footer.read(file, path)


def _footer_of(data: bytes) -> Footer:
    return Footer.read(io.BytesIO(data), "output")[0]


def _columns(footer: Footer) -> dict[str, _Column]:
    """The columns of a file by their names."""
    (_, *elements), chunk, place = footer.get(SCHEMA)[1], 0, 0
    found = {}
    while place < len(elements):
        begin, first, opened = place, chunk, 1
        while opened:  # the schema is a tree, written parents first
            element = thrift.values(elements[place])
            opened += element.get(_CHILDREN, 0) - 1
            chunk += _TYPE in element
            place += 1
        name = thrift.values(elements[begin])[_NAME].decode("utf-8", "replace")
        found[name] = _Column(elements[begin:place], range(first, chunk))
    return found


def _metadata(chunk: Struct) -> Struct:
    found: Struct = thrift.values(chunk)[COLUMN]
    return found


def _place(chunk: Struct) -> tuple[int, int]:
    """Where the data of a chunk begins, and its size."""
    found = thrift.values(_metadata(chunk))
    begins = (found[_DATA], found.get(_DICTIONARY) or found[_DATA])  # some write 0 for none
    return min(begins), found[_COMPRESSED]


def _is_here(group: Struct, end: int) -> bool:
    """Whether the data of a row group is in the file, and can be read by everybody."""
    found = thrift.values(group)
    for chunk in found[CHUNKS][1] if found[GROUP_ROWS] else ():
        numbers = {field.number for field in chunk}
        if COLUMN not in numbers or numbers & _ELSEWHERE:
            return False
        begin, size = _place(chunk)
        if not len(MAGIC) <= begin <= begin + size <= end:
            return False
    return True


def _trimmed(chunk: Struct, has_order: bool) -> Struct:
    """A chunk without what is not copied, and without limits whose order is not known."""

    def column(field: Field) -> Field:
        if field.number != _STATISTICS:
            return field
        return field._replace(value=[f for f in field.value if f.number not in _OLD_LIMITS])

    dropped = _BLOOM if has_order else {*_BLOOM, _STATISTICS}
    metadata = [column(field) for field in _metadata(chunk) if field.number not in dropped]
    return [
        field._replace(value=metadata) if field.number == COLUMN else field
        for field in chunk
        if field.number not in _INDEXES
    ]
