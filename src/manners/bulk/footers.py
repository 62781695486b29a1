"""The end of a Parquet file: what says where its data is, read and written.

The data of a Parquet file says nothing about where it stands in the file; only the metadata at its
end does. So data can be copied from file to file without decoding it, if its offsets are moved. The
format is `parquet.thrift` of Apache Parquet.
"""

import struct
from collections.abc import Iterator
from typing import Any, BinaryIO

from manners.bulk import thrift
from manners.bulk.records import BulkError
from manners.bulk.thrift import STRUCT, Field

MAGIC = b"PAR1"

# Fields of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
SCHEMA, _NUM_ROWS, _ROW_GROUPS, CREATED_BY, COLUMN_ORDERS = 2, 3, 4, 6, 7
CHUNKS, GROUP_BYTES, GROUP_ROWS, _GROUP_OFFSET, _ORDINAL = 1, 2, 3, 5, 7
_CHUNK_OFFSETS = {2, 4, 6}  # of the metadata, the offset index and the column index
COLUMN = 3
_COLUMN_OFFSETS = {9, 10, 11, 14}  # of data, index and dictionary pages, and the bloom filter


class Footer:
    """The metadata of a Parquet file."""

    def __init__(self, fields: list[Field]) -> None:
        self._fields = fields
        found = thrift.values(fields)
        self.rows: int = found[_NUM_ROWS]
        self.groups: list[bytes] = found[_ROW_GROUPS][1]
        """The row groups as they are written: values of Python would take much more memory."""

    @classmethod
    def read(cls, file: BinaryIO, place: str) -> "tuple[Footer, int]":
        """The metadata of an open file, and where its data ends."""
        size = file.seek(0, 2)
        file.seek(max(size - 8, 0))
        length, magic = struct.unpack("<I4s", file.read(8).rjust(8))
        if magic != MAGIC or length > size - 12:
            raise BulkError(place, "not a Parquet file: remove it and resume")
        end = size - 8 - length
        file.seek(end)
        return cls(thrift.decode(file.read(length), raw=_ROW_GROUPS)), end

    def get(self, number: int) -> Any:
        """The value of a field; None if it is absent."""
        return thrift.values(self._fields).get(number)

    def but(self, number: int, value: Any) -> "Footer":
        """The same with another value in a field."""
        fields = [f._replace(value=value) if f.number == number else f for f in self._fields]
        return Footer(fields)

    def write(self, file: BinaryIO, rows: int, groups: list[bytes]) -> None:
        """Write the end of a file that has other row groups, and else is like this one."""
        footer = self.but(_NUM_ROWS, rows).but(_ROW_GROUPS, (STRUCT, groups))
        data = thrift.encode(footer._fields)
        file.write(data + struct.pack("<I", len(data)) + MAGIC)


def copy(source: BinaryIO, file: BinaryIO, begin: int, size: int) -> None:
    """Copy some bytes of a file to the end of another."""
    source.seek(begin)
    while size > 0:
        data = source.read(min(size, 1 << 20))
        if not data:
            raise BulkError("a Parquet file", "it became shorter while it was read")
        file.write(data)
        size -= len(data)


def moved_group(group: list[Field], moved: int) -> Iterator[Field]:
    """A row group whose data stands so many bytes later."""
    for field in group:
        if field.number == CHUNKS:
            kind, chunks = field.value
            yield field._replace(value=(kind, [list(moved_chunk(c, moved)) for c in chunks]))
        elif field.number == _GROUP_OFFSET:
            yield field._replace(value=field.value + moved)
        elif field.number != _ORDINAL:  # it may be absent, and has 16 bits only
            yield field


def moved_chunk(chunk: list[Field], moved: int) -> Iterator[Field]:
    """A column of a row group whose data stands so many bytes later."""
    for field in chunk:
        if field.number in _CHUNK_OFFSETS:
            yield field._replace(value=field.value and field.value + moved)
        elif field.number == COLUMN:
            yield field._replace(
                value=[
                    part._replace(value=part.value + moved)
                    if part.number in _COLUMN_OFFSETS
                    else part
                    for part in field.value
                ]
            )
        else:
            yield field
