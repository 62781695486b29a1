"""The forms that files with URLs have: Parquet, Arrow, CSV, text with a URL a line, JSON lines."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from manners.bulk.records import BulkError
from manners.bulk.texts import (
    CsvForm,
    JsonForm,
    TextForm,
    TextStream,
    guess,
    opened,
    unreadable,
)

if TYPE_CHECKING:
    from manners.bulk.inputs import Reading


ROWS = 131_072
NAMES = ("arrow", "csv", "jsonl", "parquet", "text")
ENDINGS = {
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".txt": None,
    ".urls": None,
    ".lst": None,
}
"""How names end, and the form that this says; None: text, or CSV if the first line has names."""
_COMPRESSED = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2"}
SUFFIXES = (*ENDINGS, *(end + more for end in ENDINGS for more in _COMPRESSED))
"""How the names of files end that a folder is searched for."""
_BATCH_BYTES = 33_554_432


class Form(Protocol):
    """An open file."""

    schema: pa.Schema
    """All columns."""

    def batches(self, names: Sequence[str], reading: "Reading", /) -> Iterator[pa.RecordBatch]:
        """The rows from the beginning, with these columns; once."""

    def close(self) -> None:
        """Close the file."""


def open_form(path: str, form: str | None, column: str) -> Form:
    """Open a file; its form is named, or found by its name and its first bytes."""
    if path != "-":
        if form is None:
            name = path.lower()
            for end in _COMPRESSED:
                name = name.removesuffix(end)
            form = next((kind for end, kind in ENDINGS.items() if name.endswith(end)), None)
        with opened(path) as file:
            start = file.read(8)
        if form is None and start[:4] == b"PAR1":
            form = "parquet"
        elif form is None and start[:6] == b"ARROW1":
            form = "arrow"
    if form in ("parquet", "arrow"):
        if path == "-":
            raise BulkError(
                "standard input", f"{form} cannot be read from a pipe: save it to a file"
            )
        return ParquetForm(path) if form == "parquet" else ArrowForm(path)
    stream = TextStream(path)
    try:
        form = form or guess(stream, column)
        if form == "csv":
            return CsvForm(stream)
        return JsonForm(stream, column) if form == "jsonl" else TextForm(stream, column)
    except BaseException:
        stream.close()
        raise


# Parquet and Arrow.


class ParquetForm:
    """A Parquet file; row groups of any size are read a batch at a time."""

    def __init__(self, path: str) -> None:
        import pyarrow.parquet as pq

        self.path = path
        try:
            # A buffer: column chunks are not loaded as a whole, however large they are.
            self._file = pq.ParquetFile(path, pre_buffer=False, buffer_size=1_048_576)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, "Parquet", error) from None
        self.schema = self._file.schema_arrow

    def group_rows(self) -> list[int]:
        """The number of rows of each row group."""
        metadata = self._file.metadata
        return [metadata.row_group(number).num_rows for number in range(metadata.num_row_groups)]

    def _batch_rows(self, names: Sequence[str]) -> int:
        """Rows of a batch: fewer where a row is large, as with the text of pages."""
        metadata, wanted, size = self._file.metadata, set(names), 0
        for number in range(min(metadata.num_row_groups, 8)):
            group = metadata.row_group(number)
            chunks = map(group.column, range(group.num_columns))
            sizes = (
                chunk.total_uncompressed_size
                for chunk in chunks
                if chunk.path_in_schema.partition(".")[0] in wanted
            )
            size = max(size, sum(sizes) // max(group.num_rows, 1))
        return max(min(ROWS, _BATCH_BYTES // max(size, 1)), 64)

    def batches(
        self, names: Sequence[str], reading: "Reading", groups: Sequence[int] | None = None
    ) -> Iterator[pa.RecordBatch]:
        """The rows, or those of some row groups."""
        size, total = Path(self.path).stat().st_size, self._file.metadata.num_rows
        begin, done = reading.bytes, 0
        try:
            for batch in self._file.iter_batches(
                batch_size=self._batch_rows(names),
                row_groups=None if groups is None else list(groups),
                columns=list(names),
                use_threads=False,
            ):
                done += len(batch)
                reading.rows += len(batch)
                reading.bytes = begin + size * done // max(total, 1)
                yield batch
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self.path, "Parquet", error) from None
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._file.close()


class ArrowForm:
    """An Arrow IPC file."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._source = pa.OSFile(path)
            self._reader = pa.ipc.open_file(self._source)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(path, "Arrow", error) from None
        self.schema = self._reader.schema

    def batches(self, names: Sequence[str], reading: "Reading") -> Iterator[pa.RecordBatch]:
        """The rows from the beginning."""
        begin, total = reading.bytes, max(self._reader.num_record_batches, 1)
        size = Path(self._path).stat().st_size
        try:
            for number in range(self._reader.num_record_batches):
                batch = self._reader.get_batch(number).select(list(names))
                for start in range(0, len(batch), ROWS):
                    reading.rows += min(ROWS, len(batch) - start)
                    yield batch.slice(start, ROWS)
                reading.bytes = begin + size * (number + 1) // total
        except (OSError, pa.ArrowException) as error:
            raise unreadable(self._path, "Arrow", error) from None
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._source.close()
