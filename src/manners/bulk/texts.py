"""Files of text with URLs: CSV, a URL a line, JSON lines; compressed or not, in UTF-8 or nearly."""

import codecs
import csv
import re
import secrets
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manners._text import cut, printable
from manners.bulk.records import BulkError

if TYPE_CHECKING:
    from manners.bulk.inputs import Reading

ROWS = 131_072
_MAGIC = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bz2"}
_BLOCK = 4_194_304
"""Bytes that are read at once, and the longest line."""
_PEEK = 65_536


class UnreadableInput(BulkError):
    """A file that is not there, or damaged."""


def unreadable(path: str, form: str, error: Exception) -> UnreadableInput:
    """The error of a file that is not of its form."""
    problem = cut(" ".join(str(error).split()), 300)
    return UnreadableInput(path, f"cannot be read as {form}: {problem}")


def opened(path: str) -> BinaryIO:
    """An open file, or standard input for `-`."""
    try:
        if path == "-":
            return _standard_input()
        file = Path(path).open("rb")  # noqa: SIM115 (the caller closes it)
        file.peek(1)  # a folder opens, but cannot be read
    except OSError as error:
        raise UnreadableInput(path, f"cannot be read: {error.strerror}") from None
    return file


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise UnreadableInput("standard input", "closed")
    try:
        # A reader of its own: at exit, a thread waiting in sys.stdin would be a fatal error.
        return open(sys.stdin.fileno(), "rb", closefd=False)
    except OSError:  # sys.stdin was replaced
        return sys.stdin.buffer


def guess(stream: "TextStream", column: str) -> str:
    """The form of text, by its first line."""
    line = stream.first_line()
    if line.startswith("{"):
        return "jsonl"
    names = _cells(line)
    if column in names:
        return "csv"
    if len(names) > 1 and "/" not in line and "." not in line:
        shown = ", ".join(printable(cut(name, 50)) for name in names[:20])
        raise BulkError(stream.name, f"no column {column!r}; the first line has: {shown}")
    return "text"


def _percent(error: UnicodeError) -> tuple[str, int]:
    """Percent-encode bytes that are no UTF-8: rules match them so, and the text stays valid."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    invalid = error.object[error.start : error.end]
    return "".join(f"%{byte:02X}" for byte in invalid), error.end


codecs.register_error("manners-percent", _percent)


class TextStream:
    """The bytes of a file, decompressed, in valid UTF-8; a file for pyarrow."""

    def __init__(self, path: str) -> None:
        self.name = "standard input" if path == "-" else path
        self._raw = opened(path)
        self.closed = False
        self._start = b""
        magic = self._raw.peek(4) if hasattr(self._raw, "peek") else b""
        kind = next((kind for start, kind in _MAGIC.items() if magic.startswith(start)), None)
        self._source: Any = self._raw
        if kind is not None:
            self._source = pa.CompressedInputStream(pa.PythonFile(self._raw, mode="r"), kind)
        self._decoder = codecs.getincrementaldecoder("utf-8-sig")("manners-percent")
        try:
            self._check(self._fill(_PEEK))
        except BaseException:
            self.close()
            raise

    @property
    def position(self) -> int:
        """Bytes of the file that were read."""
        try:
            return self._raw.tell()
        except (OSError, ValueError):  # a pipe; closed
            return 0

    def _check(self, start: bytes) -> None:
        if start.startswith((b"PAR1", b"ARROW1")):
            raise UnreadableInput(self.name, "Parquet or Arrow, which has to be in a file")
        if b"\0" in start:
            raise UnreadableInput(self.name, "not text in UTF-8: save it so")

    def _fill(self, size: int) -> bytes:
        """Have at least one line at hand, or so many bytes, or all."""
        while b"\n" not in self._start and len(self._start) < size:
            more = self._next(size)
            if not more:
                break
            self._start += more
        return self._start

    def first_line(self) -> str:
        """The first line that is neither empty nor a comment, as far as it is at hand."""
        return self.header()[0]

    def header(self) -> tuple[str, int]:
        """The same, and the number of lines up to it."""
        lines = re.split(r"\r\n|\r|\n", self._start.decode("utf-8", "replace"))
        for number, line in enumerate(lines, 1):
            if line.strip() and not line.startswith("#"):
                return line, number
        return "", 1

    def first_lines(self) -> bytes:
        """The lines at the beginning, up to the size of a block; they will be read again."""
        while len(self._start) < _BLOCK and (more := self._next(_BLOCK)):
            self._start += more
        end = self._start.rfind(b"\n", 0, _BLOCK) + 1
        return self._start[: end or len(self._start)]

    def _next(self, size: int) -> bytes:
        try:
            data = self._source.read(size)
        except (OSError, EOFError, pa.ArrowException) as error:
            raise UnreadableInput(self.name, f"cannot be read: {cut(str(error), 200)}") from None
        return bytes(self._decoder.decode(bytes(data), final=not data).encode())

    def read(self, size: int = -1) -> bytes:
        """Some bytes; none at the end."""
        if self._start:
            data, self._start = self._start, b""
            if 0 <= size < len(data):
                data, self._start = data[:size], data[size:]
            return data
        if size < 0:
            return b"".join(iter(lambda: self._next(_BLOCK), b""))
        # Escapes make data longer: what does not fit is kept.
        data = self._next(max(size, 4))
        data, self._start = data[:size], data[size:]
        return data

    def readable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """Close the file."""
        self.closed = True
        self._raw.close()


class TextForm:
    """One URL per line; empty lines and lines that begin with `#` are skipped."""

    def __init__(self, stream: TextStream, column: str) -> None:
        self._stream = stream
        self.schema = pa.schema([(column, pa.string())])

    def batches(self, names: Sequence[str], reading: "Reading") -> Iterator[pa.RecordBatch]:
        """The lines, in blocks."""
        del names  # there is but one
        begin, rest, size = reading.bytes, b"", _BLOCK
        while data := self._stream.read(size):
            end = data.rfind(b"\n") + 1
            if not end:
                rest += data
                if len(rest) > _BLOCK:
                    raise UnreadableInput(
                        self._stream.name, f"a line of more than {_BLOCK:,} bytes"
                    )
                continue
            yield from self._lines(rest + data[:end], reading, begin)
            rest = data[end:]
        if rest:
            yield from self._lines(rest + b"\n", reading, begin)
        self.close()

    def _lines(self, data: bytes, reading: "Reading", begin: int) -> Iterator[pa.RecordBatch]:
        ends = np.flatnonzero(np.frombuffer(data, np.uint8) == 10).astype(np.int32) + 1
        offsets = np.concatenate([np.zeros(1, np.int32), ends])
        lines = pa.Array.from_buffers(
            pa.string(), len(ends), [None, pa.py_buffer(offsets), pa.py_buffer(data)]
        )
        urls = pc.utf8_trim_whitespace(lines)
        is_url = pc.and_(
            pc.greater(pc.binary_length(urls), 0), pc.invert(pc.starts_with(urls, "#"))
        )
        urls = urls.filter(is_url)
        reading.bytes = begin + self._stream.position
        for start in range(0, len(urls), ROWS):
            part = urls.slice(start, ROWS)
            reading.rows += len(part)
            yield pa.RecordBatch.from_arrays([part], schema=self.schema)

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


def _delimiter(header: str) -> str:
    return max(",;\t", key=header.count)  # the first of them where there is none


def _cells(header: str) -> list[str]:
    """The names of the columns of a CSV file."""
    return [cell.strip() for cell in next(csv.reader([header], delimiter=_delimiter(header)), [])]


class CsvForm:
    """CSV with the names of its columns in the first line; every cell is text.

    Commas, semicolons or tabs stand between cells. An empty cell is null.
    """

    def __init__(self, stream: TextStream) -> None:
        self._stream = stream
        header, self._skipped = stream.header()
        names = _cells(header)
        if not names:
            raise BulkError(stream.name, "empty: the first line has to name the columns")
        self._delimiter = _delimiter(header)
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self, names: Sequence[str], reading: "Reading") -> Iterator[pa.RecordBatch]:
        """The rows, in blocks; one that has too few or too many cells is dropped and counted."""
        from pyarrow import csv as arrow_csv

        begin, end = reading.bytes, _CsvEnd(self._stream, self._delimiter, len(self.schema))

        def drop(_: object) -> str:
            reading.dropped += 1
            return "skip"

        try:
            reader = arrow_csv.open_csv(
                pa.PythonFile(end, mode="r"),
                arrow_csv.ReadOptions(
                    use_threads=False,
                    block_size=_BLOCK,
                    column_names=self.schema.names,
                    skip_rows=self._skipped,
                ),
                arrow_csv.ParseOptions(
                    delimiter=self._delimiter, newlines_in_values=True, invalid_row_handler=drop
                ),
                arrow_csv.ConvertOptions(
                    column_types=self.schema,
                    include_columns=list(names),
                    null_values=[""],
                    strings_can_be_null=True,
                ),
            )
            for batch in map(end.without, reader):
                reading.rows += len(batch)
                reading.bytes = begin + self._stream.position
                for start in range(0, len(batch), ROWS):
                    yield batch.slice(start, ROWS)
        except pa.ArrowInvalid as error:
            raise unreadable(self._stream.name, "CSV", error) from None
        if not end.was_read:
            raise UnreadableInput(self._stream.name, "a quote in it never ends: close or remove it")
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()


class _CsvEnd:
    """The bytes of a CSV file and one more row: if that is not read as a row, a quote is open."""

    def __init__(self, stream: TextStream, delimiter: str, columns: int) -> None:
        self._stream, self._mark = stream, secrets.token_hex(16)
        row = delimiter.join([self._mark] * columns)
        self._rest: bytes | None = f"\n{row}\n".encode()
        self.closed = self.was_read = False

    def read(self, size: int = -1) -> bytes:
        """Some bytes; none at the end."""
        data = self._stream.read(size)
        if not data and self._rest:
            data, self._rest = self._rest, None
        return data

    def without(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """The batch without the row."""
        if len(batch) and batch.column(0)[-1].as_py() == self._mark:
            self.was_read = True
            return batch.slice(0, len(batch) - 1)
        return batch

    def readable(self) -> bool:
        """Yes."""
        return True

    def close(self) -> None:
        """Nothing: the stream is closed by who opened it."""
        self.closed = True


class JsonForm:
    """JSON lines: one object a line. The first 4 MB say which members there are, and of what type.

    Other members are skipped where they come later.
    """

    def __init__(self, stream: TextStream, column: str) -> None:
        from pyarrow import json as arrow_json

        self._stream = stream
        self._reader: Any = ()
        self.schema = pa.schema([(column, pa.string())])
        start = stream.first_lines()
        if not start.strip():
            return
        known = arrow_json.ParseOptions(explicit_schema=self.schema)
        try:
            self.schema = arrow_json.read_json(pa.py_buffer(start), parse_options=known).schema
            self._reader = arrow_json.open_json(
                pa.PythonFile(stream, mode="r"),
                arrow_json.ReadOptions(use_threads=False, block_size=_BLOCK),
                arrow_json.ParseOptions(
                    explicit_schema=self.schema, unexpected_field_behavior="ignore"
                ),
            )
        except pa.ArrowInvalid as error:
            raise unreadable(stream.name, "JSON lines", error) from None

    def batches(self, names: Sequence[str], reading: "Reading") -> Iterator[pa.RecordBatch]:
        """The objects, in blocks."""
        begin = reading.bytes
        try:
            for batch in self._reader:
                reading.rows += len(batch)
                reading.bytes = begin + self._stream.position
                for start in range(0, len(batch), ROWS):
                    yield batch.slice(start, ROWS).select(list(names))
        except pa.ArrowInvalid as error:
            raise unreadable(self._stream.name, "JSON lines", error) from None
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._stream.close()
