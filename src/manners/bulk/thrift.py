"""Thrift's compact protocol, read and written as values of Python.

A struct is a list of fields, a list is the type of its items and the items; numbers are numbers,
and what is neither stays bytes. It is all that the metadata of Parquet files needs.
"""

from typing import Any, NamedTuple

from manners.bulk.records import BulkError

_TRUE, _FALSE, _BYTE, _I16, _I32, I64, _DOUBLE, _BINARY, LIST, _SET, _MAP, STRUCT = range(1, 13)
_MAX_DEPTH = 32


class Field(NamedTuple):
    """A field of a struct: its number, its type and its value."""

    number: int
    kind: int
    value: Any


def decode(data: bytes, raw: int = 0) -> list[Field]:
    """The fields of a struct; the items of the list in the field `raw` stay bytes.

    >>> decode(bytes([0x15, 2, 0x25, 1, 0]))
    [Field(number=1, kind=5, value=1), Field(number=3, kind=5, value=-1)]
    """
    try:
        return _struct(data, 0, 0, raw)[0]
    except IndexError:
        raise BulkError("metadata of a Parquet file", "it ends too early") from None


def encode(fields: list[Field]) -> bytes:
    """The bytes of a struct, as `decode` reads them; items that are bytes stay as they are."""
    out = bytearray()
    _encode(out, STRUCT, fields)
    return bytes(out)


def values(fields: list[Field]) -> dict[int, Any]:
    """The values of fields by their numbers."""
    return {field.number: field.value for field in fields}


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        octet = data[at]
        at += 1
        value |= (octet & 0x7F) << shift
        if octet < 0x80:
            return value, at
        shift += 7


def _struct(data: bytes, at: int, depth: int, raw: int = 0) -> tuple[list[Field], int]:
    fields: list[Field] = []
    number = 0
    while data[at]:
        kind, delta = data[at] & 15, data[at] >> 4
        at += 1
        if delta:
            number += delta
        else:
            written, at = _varint(data, at)
            number = written >> 1 ^ -(written & 1)
        if kind in (_TRUE, _FALSE):  # its type is the value
            value = None
        elif raw and number == raw:
            value, at = _list(data, at, depth + 1, is_raw=True)
        else:
            value, at = _value(data, at, kind, depth + 1)
        fields.append(Field(number, kind, value))
    return fields, at + 1


def _value(data: bytes, at: int, kind: int, depth: int) -> tuple[Any, int]:
    if depth > _MAX_DEPTH:
        raise BulkError("metadata of a Parquet file", "it is nested too deeply")
    if kind in (_TRUE, _FALSE, _BYTE):  # in a list, a boolean is a byte
        return data[at], at + 1
    if kind in (_I16, _I32, I64):
        written, at = _varint(data, at)
        return written >> 1 ^ -(written & 1), at
    if kind == _DOUBLE:
        return data[at : at + 8], at + 8
    if kind == _BINARY:
        length, at = _varint(data, at)
        return data[at : at + length], at + length
    if kind in (LIST, _SET):
        return _list(data, at, depth)
    if kind == STRUCT:
        return _struct(data, at, depth)
    raise BulkError("metadata of a Parquet file", f"a type {kind} that Parquet does not use")


def _list(data: bytes, at: int, depth: int, is_raw: bool = False) -> tuple[Any, int]:
    item, count = data[at] & 15, data[at] >> 4
    at += 1
    if count == 15:
        count, at = _varint(data, at)
    items = []
    for _ in range(count):
        begin = at
        value, at = _value(data, at, item, depth + 1)
        items.append(data[begin:at] if is_raw else value)
    return (item, items), at


def _put_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _put_header(out: bytearray, delta: int, number: int, kind: int) -> None:
    if 0 < delta < 16:
        out.append(delta << 4 | kind)
    else:
        out.append(kind)
        _put_varint(out, number << 1)


def _put_list(out: bytearray, item: int, items: list[Any]) -> None:
    if len(items) < 15:
        out.append(len(items) << 4 | item)
    else:
        out.append(0xF0 | item)
        _put_varint(out, len(items))
    for value in items:
        if item == STRUCT and isinstance(value, bytes):
            out += value
        else:
            _encode(out, item, value)


def _encode(out: bytearray, kind: int, value: Any) -> None:
    if kind in (_TRUE, _FALSE):
        if value is not None:  # in a field, its type is the value
            out.append(value)
    elif kind == _BYTE:
        out.append(value)
    elif kind in (_I16, _I32, I64):
        _put_varint(out, (value << 1) ^ (value >> 63) if value < 0 else value << 1)
    elif kind == _DOUBLE:
        out += value
    elif kind == _BINARY:
        _put_varint(out, len(value))
        out += value
    elif kind in (LIST, _SET):
        _put_list(out, *value)
    else:
        last = 0
        for field in value:
            _put_header(out, field.number - last, field.number, field.kind)
            last = field.number
            _encode(out, field.kind, field.value)
        out.append(0)
