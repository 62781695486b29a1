"""Archives of robots.txt: the records of many sites over time, in one folder of Parquet files.

    from manners.bulk import archive

    archive.add("robots/", "cache.db")
    archive.add("robots/", "CC-MAIN-2026-40/robotstxt/*.warc.gz")
    archive.pack("robots/")
    for site in archive.listing("robots/"):
        print(site.origin, site.records, site.last)

Files are only ever added, and removed after what is in them is in others. Each is written under
another name, flushed to the disk, and renamed: whoever is killed leaves an archive that is whole.
A record that is there twice counts once.
"""

import os
import re
import secrets
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from hashlib import sha256
from operator import itemgetter
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from manners.bulk import readers
from manners.bulk.changes import changes
from manners.bulk.readers import Place, parquet
from manners.bulk.records import BATCH_BYTES, BATCH_ROWS, RECORDS, BulkError, Problems
from manners.bulk.sorting import Sorter
from manners.urls import origin, with_scheme

FILE_BYTES = 2**28
"""Bytes of a file, about."""
MEMORY = 2**28
"""Bytes that packing and listing sort and merge in; the process needs about 200 MB more."""
_NAME = re.compile(r"robots-([0-9]{8})-[0-9a-f]{8}-[0-9]{4}\.parquet").fullmatch
_TEMPORARY = re.compile(r"\.robots-([0-9]{8})-.*\.tmp").fullmatch
_ABANDONED = 86_400.0
"""Seconds after which nobody writes to a temporary file any more."""
_ORDER = ("origin", "url", "fetched_at", "number")
_NUMBER = pa.field("number", pa.int64())


class Added(NamedTuple):
    """What was added to an archive."""

    records: int
    files: int
    bytes: int


class Packed(NamedTuple):
    """What an archive had, and has after it was packed."""

    records_before: int
    records: int
    files_before: int
    files: int
    bytes_before: int
    bytes: int


class ArchivedSite(NamedTuple):
    """A site in an archive: how many records, and from when to when."""

    origin: str
    records: int
    first: datetime | None
    """The time of its first record; None if no record has one."""
    last: datetime | None


class ArchivedReply(NamedTuple):
    """A record of a site in an archive, without its body."""

    fetched_at: datetime | None
    url: str
    status: int | None
    location: str | None
    complete: bool
    bytes: int | None
    sha256: str | None


def add(
    archive: Place,
    places: Place | Sequence[Place],
    *,
    problems: Problems | None = None,
    on_progress: Callable[[int], None] | None = None,
) -> Added:
    """Add the records at some places to an archive, which is created if it does not exist.

    A damaged place is an error, or counted in `problems` if that is given. `on_progress` is called
    with the number of records so far.
    """
    folder = Path(archive)
    with _errors(folder):
        if folder.exists() and not files_of(folder) and any(folder.iterdir()):
            raise BulkError(str(folder), "a folder of something else; choose a new one")
        folder.mkdir(parents=True, exist_ok=True)
        writer = _Writer(folder)
        try:
            for batch in readers.open_places(places, problems):
                writer.write(batch)
                if on_progress is not None:
                    on_progress(writer.records)
            writer.finish()
        finally:
            writer.discard()
    return Added(writer.records, len(writer.names), writer.bytes)


def pack(
    archive: Place, *, memory: int = MEMORY, on_progress: Callable[[int], None] | None = None
) -> Packed:
    """Rewrite an archive in the order of origins, URLs and times, without duplicates.

    Of replies of a URL that say the same, one after the other, the first and the last are kept.
    So it remains known from when to when a site replied so, and which copy is how old.
    """
    folder = Path(archive)
    before = _existing(folder)
    sizes = sum(path.stat().st_size for path in before)
    with _errors(folder):
        writer = _Writer(folder)
        try:
            count = _Count(on_progress)
            with TemporaryDirectory(prefix=writer.prefix, suffix=".tmp", dir=folder) as work:
                sorter = Sorter(Path(work), _ORDER, memory)
                found = (batch for path in before for batch in parquet.read(str(path), None))
                for batch in _numbered(found, count):
                    sorter.add(batch)
                for table in changes(table.drop("number") for table in sorter.result()):
                    for batch in table.to_batches():
                        writer.write(batch)
            writer.finish()
        finally:
            writer.discard()
        for path in before:  # all that was in them is in the new files, which are on the disk
            path.unlink(missing_ok=True)
        _sync(folder)
        _remove_abandoned(folder)
    return Packed(
        count.records, writer.records, len(before), len(writer.names), sizes, writer.bytes
    )


def listing(archive: Place, *, memory: int = MEMORY) -> Iterator[ArchivedSite]:
    """The sites of an archive, sorted by origin."""
    columns, files = ("origin", "fetched_at"), _existing(Path(archive))
    with TemporaryDirectory(prefix="manners-") as work:
        sorter = Sorter(Path(work), ("origin", "number"), memory)
        found = (batch for path in files for batch in parquet.read_columns(str(path), columns))
        for batch in _numbered(found, _Count(None)):
            sorter.add(batch)
        waiting: ArchivedSite | None = None
        for table in sorter.result():
            for site in _sites(table):
                if waiting is not None and waiting.origin == site.origin:
                    site = _together(waiting, site)
                elif waiting is not None:
                    yield waiting
                waiting = site
        if waiting is not None:
            yield waiting


def history(archive: Place, site: str) -> list[ArchivedReply]:
    """The records of a site in an archive, in the order of time: any URL of it, or its domain."""
    wanted = origin(with_scheme(site))
    found: list[tuple[tuple[Any, ...], ArchivedReply]] = []
    for path in _existing(Path(archive)):
        for batch in parquet.read_columns(str(path), RECORDS.names, wanted):
            found += (_reply(row, len(found)) for row in batch.to_pylist())
    return [reply for _, reply in sorted(found, key=itemgetter(0))]


def files_of(folder: Path) -> list[Path]:
    """The files of an archive, in the order in which they were added; none if it is not one."""
    return sorted(path for path in folder.iterdir() if _NAME(path.name))


def size_of(archive: Place) -> tuple[int, int]:
    """The number of files of an archive, and their size in bytes."""
    files = _existing(Path(archive))
    return len(files), sum(path.stat().st_size for path in files)


# Reading.


def _existing(folder: Path) -> list[Path]:
    files = files_of(folder) if folder.is_dir() else []
    if not files:
        raise BulkError(str(folder), "no archive; `manners archive add` makes one")
    return files


class _Count:
    """Counts records while they are read."""

    def __init__(self, on_progress: Callable[[int], None] | None) -> None:
        self.records, self._on_progress = 0, on_progress

    def add(self, records: int) -> None:
        self.records += records
        if self._on_progress is not None:
            self._on_progress(self.records)


def _numbered(batches: Iterable[pa.RecordBatch], count: _Count) -> Iterator[pa.RecordBatch]:
    """The same rows, each with a number of its own."""
    for batch in batches:
        numbers = np.arange(count.records, count.records + batch.num_rows)
        count.add(batch.num_rows)
        yield batch.append_column(_NUMBER, pa.array(numbers, pa.int64()))


def _sites(table: pa.Table) -> Iterator[ArchivedSite]:
    """The sites of sorted records; the last of them may go on in the next table."""
    times = [("fetched_at", "min"), ("fetched_at", "max")]
    groups = table.group_by("origin", use_threads=False).aggregate([([], "count_all"), *times])
    names = ("origin", "count_all", "fetched_at_min", "fetched_at_max")
    for values in zip(*(groups[name].to_pylist() for name in names), strict=True):
        yield ArchivedSite(*values)


def _together(one: ArchivedSite, other: ArchivedSite) -> ArchivedSite:
    first = [site.first for site in (one, other) if site.first is not None]
    last = [site.last for site in (one, other) if site.last is not None]
    records = one.records + other.records
    return ArchivedSite(one.origin, records, min(first, default=None), max(last, default=None))


def _reply(row: dict[str, Any], number: int) -> tuple[tuple[Any, ...], ArchivedReply]:
    """A record as people see it, and what it is sorted by."""
    moment, body = row["fetched_at"], row["body"]
    reply = ArchivedReply(
        moment,
        row["url"],
        row["status"],
        row["location"],
        row["complete"],
        None if body is None else len(body),
        None if body is None else sha256(body).hexdigest(),
    )
    return (moment is not None, moment, number), reply


# Writing.


class _Writer:
    """Writes the files of an archive, which appear in it at the end."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        found = (_NAME(path.name) or _TEMPORARY(path.name) for path in folder.iterdir())
        number = max((int(name[1]) for name in found if name), default=0) + 1
        self._stem = f"robots-{number:08}-{secrets.token_hex(4)}"
        self.names: list[str] = []
        self.records = self.bytes = 0
        self._file: Any = None
        self._parquet: Any = None
        self._waiting: list[pa.RecordBatch] = []

    @property
    def prefix(self) -> str:
        """How the names of temporary files begin."""
        return f".{self._stem}"

    def write(self, batch: pa.RecordBatch) -> None:
        """Write some records; small batches wait for others."""
        self._waiting.append(batch)
        self.records += batch.num_rows
        rows = sum(waiting.num_rows for waiting in self._waiting)
        if rows >= BATCH_ROWS or sum(one.nbytes for one in self._waiting) >= BATCH_BYTES:
            self._flush()

    def finish(self) -> None:
        """Put all files into the archive."""
        self._flush()
        self._close()
        for name in self.names:
            path = self._folder / name
            self.bytes += self._temporary(name).stat().st_size
            self._temporary(name).replace(path)
        _sync(self._folder)

    def discard(self) -> None:
        """Remove files that did not get into the archive."""
        if self._file is not None:
            self._file.close()
        for name in self.names:
            self._temporary(name).unlink(missing_ok=True)

    def _temporary(self, name: str) -> Path:
        return self._folder / f".{name}.tmp"

    def _flush(self) -> None:
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        if self._parquet is None:
            name = f"{self._stem}-{len(self.names):04}.parquet"
            self.names.append(name)
            self._file = self._temporary(name).open("xb")
            self._parquet = pq.ParquetWriter(
                self._file,
                RECORDS,
                compression="zstd",
                use_dictionary=["origin", "status", "location", "charset"],
                write_statistics=["origin", "fetched_at"],
                write_page_checksum=True,
            )
        table = pa.Table.from_batches(waiting, RECORDS)
        self._parquet.write_table(table, row_group_size=max(table.num_rows, 1))
        if self._file.tell() >= FILE_BYTES:
            self._close()

    def _close(self) -> None:
        if self._parquet is not None:
            self._parquet.close()
            self._file.flush()
            os.fsync(self._file.fileno())
            self._file.close()
            self._parquet = self._file = None


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _remove_abandoned(folder: Path) -> None:
    """Remove what somebody who was killed has not finished."""
    limit = time.time() - _ABANDONED
    for path in folder.iterdir():
        if _TEMPORARY(path.name) and path.stat().st_mtime < limit:
            shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


@contextmanager
def _errors(folder: Path) -> Iterator[None]:
    """Raise what the system says about a folder as an error of this package."""
    try:
        yield
    except OSError as error:
        place = os.fspath(error.filename) if error.filename else str(folder)
        raise BulkError(str(place), error.strerror or str(error)) from None
