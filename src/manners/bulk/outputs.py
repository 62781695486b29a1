"""Where verdicts go: Parquet, CSV and JSON lines, a batch at a time.

Columns are written as columns: no row becomes an object of Python, unless it has characters that
have to be escaped.
"""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO, Protocol

import pyarrow as pa
import pyarrow.compute as pc

from manners._text import to_text
from manners.bulk.records import BulkError
from manners.evidence.spreadsheet import harmless

FORMATS = ("parquet", "csv", "jsonl")
_SUFFIXES = {".parquet": "parquet", ".pq": "parquet", ".csv": "csv", ".jsonl": "jsonl"}
_SUFFIXES[".ndjson"] = "jsonl"
_COMPRESSED = (".gz", ".zst", ".bz2", ".xz", ".zip", ".lz4")
_TABLES = (".json", ".txt", ".tsv", ".arrow", ".feather", ".ipc", ".orc", ".avro", ".xlsx", ".db")
_FILES = frozenset(_COMPRESSED + _TABLES)
"""How the names of files end that somebody may expect here, and that cannot be written."""
GROUP_ROWS, GROUP_BYTES = 262_144, 67_108_864
"""When a row group of a Parquet file is full."""
_SAMPLE = 10_000


class RowWriter(Protocol):
    """Writes batches of one schema to an open file, which it does not close."""

    schema: pa.Schema
    """The columns of a batch."""

    def write(self, batch: pa.RecordBatch, /) -> None:
        """Write some rows."""

    def close(self) -> None:
        """Write what is buffered, and the end of the file."""


def format_of(place: str, chosen: str | None = None) -> str:
    """The format of an output: the one chosen, or what its name says.

    >>> format_of("verdicts.csv"), format_of("verdicts/"), format_of("-")
    ('csv', 'parquet', 'jsonl')
    """
    end = Path(place).suffix.lower()
    named = _SUFFIXES.get(end)
    if end in _FILES and not (place.endswith("/") or Path(place).is_dir()):
        raise BulkError(
            place, f"{end} cannot be written: name a .parquet, .csv or .jsonl, or a folder with a /"
        )
    if chosen is not None:
        if chosen not in FORMATS:
            raise BulkError(chosen, f"not a format of outputs: choose from {', '.join(FORMATS)}")
        if named is not None and named != chosen:
            raise BulkError(place, f"the name says {named}, the format is {chosen}: change one")
        if place == "-" and chosen == "parquet":
            raise BulkError("standard output", "Parquet needs a file: -o verdicts.parquet")
        return chosen
    return "jsonl" if place == "-" else named or "parquet"


def is_folder(place: str) -> bool:
    """Whether an output is a folder with a file for each part.

    >>> is_folder("verdicts/"), is_folder("verdicts"), is_folder("verdicts.csv"), is_folder("-")
    (True, True, False, False)
    """
    if place == "-":
        return False
    return (
        place.endswith("/") or Path(place).is_dir() or Path(place).suffix.lower() not in _SUFFIXES
    )


def open_writer(
    file: BinaryIO, form: str, schema: pa.Schema, *, plain: Sequence[str] = (), header: bool = True
) -> RowWriter:
    """A writer of one of the `FORMATS`.

    `plain` are columns whose values hardly repeat. `header` is whether a CSV file begins with the
    names of its columns.
    """
    if form == "parquet":
        return _ParquetWriter(file, schema, plain)
    return _CsvWriter(file, schema, header) if form == "csv" else _JsonWriter(file, schema)


class _ParquetWriter:
    """Parquet, compressed with zstd; a row group is written when it is full."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, plain: Sequence[str]) -> None:
        self._file, self.schema, self._plain = file, schema, plain
        self._writer: Any = None
        self._buffered: list[pa.RecordBatch] = []
        self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        """Take some rows."""
        if not len(batch):
            return
        self._buffered.append(batch)
        self._rows += len(batch)
        self._bytes += batch.get_total_buffer_size()
        if self._rows >= GROUP_ROWS or self._bytes >= GROUP_BYTES:
            self._flush()

    def _flush(self) -> None:
        table = pa.Table.from_batches(self._buffered, self.schema)
        self._open(table)
        # Each batch has its own dictionary of rules: of different ones, Parquet would write none.
        self._writer.write_table(table.unify_dictionaries(), row_group_size=GROUP_ROWS)
        self._buffered, self._rows, self._bytes = [], 0, 0

    def _open(self, table: pa.Table) -> None:
        import pyarrow.parquet as pq

        if self._writer is None:
            options = _parquet_options(table, self._plain)
            self._writer = pq.ParquetWriter(self._file, self.schema, **options)

    def close(self) -> None:
        """Write the last row group, and the end of the file."""
        self._open(self.schema.empty_table())
        if self._buffered:
            self._flush()
        self._writer.close()


def one_group(table: pa.Table) -> bytes:
    """A table as a Parquet file with one row group."""
    import pyarrow.parquet as pq

    file = pa.BufferOutputStream()
    pq.write_table(table, file, max(len(table), 1), **_parquet_options(table, ()))
    data: bytes = file.getvalue().to_pybytes()
    return data


def _parquet_options(table: pa.Table, plain: Sequence[str]) -> dict[str, Any]:
    """How columns are written, by what is in the first rows."""
    repeating = {
        field.name
        for field in table.schema
        if field.name not in plain and _repeats(table[field.name])
    }
    numbers = [
        field.name
        for field in table.schema
        if pa.types.is_signed_integer(field.type) and field.type.bit_width >= 32
    ]
    return {
        "compression": "zstd",
        "use_dictionary": sorted(repeating),
        # Numbers such as those of rows take next to nothing as differences.
        "column_encoding": {
            name: "DELTA_BINARY_PACKED" for name in numbers if name not in repeating
        },
        # Nobody asks for the least and the largest URL or rule of a row group.
        "write_statistics": [
            field.name
            for field in table.schema
            if field.name not in plain and not pa.types.is_dictionary(field.type)
        ],
    }


def _repeats(column: pa.ChunkedArray) -> bool:
    """Whether values of a column repeat so often that a dictionary of them is worth its cost."""
    if pa.types.is_dictionary(column.type):
        return True
    if pa.types.is_boolean(column.type) or pa.types.is_nested(column.type):
        return False
    sample = column.slice(0, _SAMPLE)
    try:
        return bool(pc.count_distinct(sample, "all").as_py() * 4 < max(len(sample), 8))
    except pa.ArrowNotImplementedError:  # a rare type
        return False


# CSV.


class _CsvWriter:
    """CSV that is safe to open in a spreadsheet: no cell is taken for a formula."""

    def __init__(self, file: BinaryIO, schema: pa.Schema, header: bool) -> None:
        from pyarrow import csv

        for field in schema:
            if pa.types.is_nested(_value_type(field.type)):
                raise BulkError(
                    f"column {field.name!r}",
                    f"{field.type} does not fit into CSV: keep other columns, or write Parquet",
                )
        self.schema = schema
        self._cells = pa.schema(
            [(harmless(field.name), _cell_type(field.type)) for field in schema]
        )
        self._writer = csv.CSVWriter(
            file, self._cells, write_options=csv.WriteOptions(include_header=header)
        )

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        columns = [_harmless(_as_text(column)) for column in batch.columns]
        self._writer.write_batch(pa.RecordBatch.from_arrays(columns, schema=self._cells))

    def close(self) -> None:
        """Write what is buffered."""
        self._writer.close()


def _value_type(kind: pa.DataType) -> pa.DataType:
    return kind.value_type if pa.types.is_dictionary(kind) else kind


def _is_text(kind: pa.DataType) -> bool:
    name = str(_value_type(kind))
    return name in {
        f"{size}{name}" for size in ("", "large_") for name in ("string", "binary")
    } or (name.endswith("_view") or name.startswith("fixed_size_binary"))


def _cell_type(kind: pa.DataType) -> pa.DataType:
    return pa.string() if _is_text(kind) else _value_type(kind)


def _as_text(column: pa.Array) -> pa.Array:
    """The column with its values instead of a dictionary, and binaries as text."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if not _is_text(column.type):
        return column
    try:
        return column.cast(pa.string())
    except pa.ArrowInvalid:  # bytes that are no UTF-8
        values = column.cast(pa.binary()).to_pylist()
        return pa.array(
            [
                None if value is None else value.decode("utf-8", "backslashreplace")
                for value in values
            ],
            pa.string(),
        )


def _harmless(column: pa.Array) -> pa.Array:
    if column.type != pa.string():
        return column
    return _replaced(column, r"^[=+\-@]|[^ -~]", harmless)


def _replaced(column: pa.Array, pattern: str, change: Callable[[str], str]) -> pa.Array:
    """The column, with the values changed that match a pattern: usually few."""
    matches = pc.fill_null(pc.match_substring_regex(column.cast(pa.binary()), pattern), False)
    if not matches.true_count:
        return column
    texts = column.cast(pa.binary()).filter(matches).to_pylist()
    changed = pa.array([change(to_text(text)) for text in texts], pa.string())
    return pc.replace_with_mask(column, matches, changed)


# JSON lines.


class _JsonWriter:
    """JSON lines in ASCII; the text of a batch is put together column by column."""

    def __init__(self, file: BinaryIO, schema: pa.Schema) -> None:
        self._file, self.schema = file, schema
        names = [json.dumps(name) for name in schema.names]
        self._before = [
            ("{" if place == 0 else ",") + f"{name}:" for place, name in enumerate(names)
        ]

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some rows."""
        if not len(batch):
            return
        # 2 GB would not fit into one array of strings: a wide batch is written in halves.
        if batch.nbytes > GROUP_BYTES * 4 and len(batch) > 1:
            half = len(batch) // 2
            self.write(batch.slice(0, half))
            self.write(batch.slice(half))
            return
        parts: list[Any] = []
        for before, column in zip(self._before, batch.columns, strict=True):
            parts += [before, _json(column)]
        lines = pc.binary_join_element_wise(*parts, "}\n", "")
        _, offsets, data = lines.buffers()
        ends = pa.Array.from_buffers(
            pa.int32(), len(lines) + 1, [None, offsets], offset=lines.offset
        )
        self._file.write(memoryview(data)[ends[0].as_py() : ends[len(lines)].as_py()])

    def close(self) -> None:
        """Nothing: every batch is written."""
        self._file.flush()


def _json(column: pa.Array) -> pa.Array:
    """Each value of a column as JSON text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        texts = pa.DictionaryArray.from_arrays(column.indices, _json(column.dictionary))
        return pc.fill_null(texts.dictionary_decode(), "null")
    if _is_text(kind):
        plain = _replaced(_as_text(column), r"[^ !#-\[\]-~]", lambda text: json.dumps(text)[1:-1])
        texts = pc.binary_join_element_wise('"', plain, '"', "")
    elif pa.types.is_boolean(kind) or pa.types.is_integer(kind):
        texts = column.cast(pa.string())
    elif pa.types.is_floating(kind):
        is_number = pc.is_finite(column)
        texts = pc.if_else(is_number, column.cast(pa.string()), pa.scalar(None, pa.string()))
    elif pa.types.is_temporal(kind) and not pa.types.is_interval(kind):
        texts = pc.binary_join_element_wise('"', column.cast(pa.string()), '"', "")
    else:
        texts = pa.array(
            [json.dumps(value, default=str) for value in column.to_pylist()], pa.string()
        )
    return pc.fill_null(texts, "null")
