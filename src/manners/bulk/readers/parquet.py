"""Records in Parquet: a file, or a folder of files, with any partitions."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from manners.bulk.readers import damaged, files_below, has_files, magic
from manners.bulk.records import (
    BATCH_BYTES,
    BATCH_ROWS,
    RECORDS,
    BulkError,
    Problems,
    check_columns,
    normalise,
)

COLUMNS = (*RECORDS.names, "robots", "fetched")
"""The columns that are read, by any of their names."""
_SUFFIXES = (".parquet", ".pq")
_BUFFER = 1 << 20


def recognises(path: Path) -> bool:
    """Whether it is a Parquet file, or a folder with some."""
    if path.is_dir():
        return has_files(str(path), _SUFFIXES)
    return magic(path, 4) == b"PAR1" or path.name.endswith(_SUFFIXES)


def files(place: str) -> list[str]:
    """The Parquet files at a place."""
    return files_below(place, _SUFFIXES) if Path(place).is_dir() else [place]


def read(place: str, problems: Problems | None) -> Iterator[pa.RecordBatch]:
    """The records of all files at a place."""
    paths = files(place)
    if not paths:
        raise BulkError(place, "no Parquet files in it")
    for path in paths:
        yield from _read_file(path, problems)


def _read_file(path: str, problems: Problems | None) -> Iterator[pa.RecordBatch]:
    rows = 0
    try:
        # Buffered: a column of a row group is not read at once, however large it is.
        with pq.ParquetFile(path, buffer_size=_BUFFER, page_checksum_verification=True) as file:
            names = file.schema_arrow.names
            check_columns(names, path)
            columns = [name for name in names if name in COLUMNS]
            for group in range(file.num_row_groups):
                size = _batch_size(file.metadata.row_group(group))
                for batch in file.iter_batches(size, [group], columns):
                    rows += batch.num_rows
                    yield from _bounded(normalise(batch, problems, path))
    except (pa.ArrowException, OSError) as error:
        damaged(path, f"after row {rows:,}", error, problems)


def read_columns(path: str, columns: Sequence[str], site: str = "") -> Iterator[pa.RecordBatch]:
    """Some columns of a file of an archive, all rows or those of one site.

    Row groups that cannot have records of the site are not read.
    """
    rows = 0
    try:
        with pq.ParquetFile(path, buffer_size=_BUFFER, page_checksum_verification=True) as file:
            for group in range(file.num_row_groups):
                if site and not _may_have(file, group, site):
                    continue
                size = _batch_size(file.metadata.row_group(group))
                for batch in file.iter_batches(size, [group], list(columns)):
                    rows += batch.num_rows
                    batch.validate(full=True)
                    yield batch.filter(pc.equal(batch["origin"], site)) if site else batch
    except (pa.ArrowException, OSError, KeyError) as error:
        damaged(path, f"after row {rows:,}", error, None)


def _may_have(file: Any, group: int, site: str) -> bool:
    """Whether a row group may have records of a site, by the range of its origins."""
    column = file.schema_arrow.get_field_index("origin")
    found = file.metadata.row_group(group).column(column).statistics if column >= 0 else None
    return found is None or not found.has_min_max or str(found.min) <= site <= str(found.max)


def _batch_size(group: Any) -> int:
    """Rows of a row group that make a batch of bounded size, as far as its metadata is right."""
    mean = max(group.total_byte_size // max(group.num_rows, 1), 1)
    return int(min(max(BATCH_BYTES // mean, 1), BATCH_ROWS))


def _bounded(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.nbytes > 2 * BATCH_BYTES and batch.num_rows > 1:
        half = batch.num_rows // 2
        yield from _bounded(batch.slice(0, half))
        yield from _bounded(batch.slice(half))
    elif batch.num_rows:
        yield batch
