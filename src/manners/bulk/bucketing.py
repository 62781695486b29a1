"""Rows sorted by part, on disk: URLs and records of robots.txt that do not fit into memory.

A part has all URLs of its hosts and all their robots.txt files, so it can be worked on by itself.
Within a part, rows keep their order.
"""

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manners.bulk.hosts import bucket, buckets
from manners.bulk.inputs import ROWS
from manners.bulk.records import RECORDS
from manners.bulk.resolving import missing_targets
from manners.retrieval.profiles import Profile

_FLUSH = 67_108_864
"""Bytes that are gathered before they are sorted and written."""
_BATCH_BYTES = 33_554_432
_NO_BODY = [number for number, name in enumerate(RECORDS.names) if name != "body"]
Records = Iterable[pa.RecordBatch]


class Spool:
    """A folder with a file for each part, of one schema."""

    def __init__(self, folder: Path, parts: int) -> None:
        self.folder, self.parts = folder, parts

    @property
    def is_complete(self) -> bool:
        """Whether everything has been sorted; a killed run leaves nothing that looks so."""
        return self.folder.is_dir()

    def fill(
        self, batches: Records, column: str, memory: int, notice: Callable[[int], None]
    ) -> None:
        """Sort all rows by the host of the URLs in a column; `notice` gets how many were."""
        unfinished = self.folder.with_name(self.folder.name + ".tmp")
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(parents=True)
        try:
            self._sort(unfinished, batches, column, memory, notice)
        except BaseException:
            shutil.rmtree(unfinished, ignore_errors=True)  # it is of no use, and may fill the disk
            raise
        unfinished.replace(self.folder)

    def _sort(
        self,
        folder: Path,
        batches: Records,
        column: str,
        memory: int,
        notice: Callable[[int], None],
    ) -> None:
        limit = min(_FLUSH, max(memory // 8, 1 << 20))
        gathered: list[pa.RecordBatch] = []
        size = 0
        for batch in batches:
            gathered.append(batch)
            size += batch.nbytes
            if size >= limit:
                self._flush(folder, gathered, column)
                gathered, size = [], 0
            notice(len(batch))
        self._flush(folder, gathered, column)

    def _flush(self, folder: Path, batches: list[pa.RecordBatch], column: str) -> None:
        if not batches:
            return
        rows = pa.concat_batches(batches)
        numbers = buckets(rows.column(column), self.parts)
        order = np.argsort(
            numbers.astype(np.uint16 if self.parts <= 65_536 else np.int32), kind="stable"
        )
        ordered = rows.take(pa.array(order))
        ends = np.cumsum(np.bincount(numbers, minlength=self.parts))
        begin = 0
        for number, end in enumerate(ends.tolist()):
            if end > begin:
                append(folder / f"{number:05}.arrow", ordered.slice(begin, end - begin))
            begin = end

    def path(self, part: int) -> Path:
        """The file of a part; it is absent if the part has no rows."""
        return self.folder / f"{part:05}.arrow"

    def read(self, part: int) -> Iterator[pa.RecordBatch]:
        """The rows of a part, in batches."""
        return larger(read(self.path(part)))

    def size(self, part: int) -> int:
        """Bytes of a part on disk."""
        path = self.path(part)
        return path.stat().st_size if path.exists() else 0


_END = b"\xff\xff\xff\xff\0\0\0\0"
"""The end of an Arrow stream."""


def append(path: Path, batch: pa.RecordBatch) -> None:
    """Add rows to a file: one more Arrow stream behind the others."""
    options = pa.ipc.IpcWriteOptions(compression="lz4")
    with path.open("ab") as file, pa.ipc.new_stream(file, batch.schema, options=options) as writer:
        writer.write_batch(batch)


def read(path: Path, fields: list[int] | None = None) -> Iterator[pa.RecordBatch]:
    """The rows that were added to a file, with all columns or some."""
    if not path.exists():
        return
    options = pa.ipc.IpcReadOptions(included_fields=fields, use_threads=False)
    size = path.stat().st_size
    with pa.OSFile(str(path)) as file:
        while file.tell() < size:
            yield from pa.ipc.open_stream(file, options=options)


def recover(path: Path) -> list[pa.RecordBatch]:
    """The rows that were added to a file; what a process was adding when it died is cut off."""
    if not path.exists():
        return []
    found: list[pa.RecordBatch] = []
    size, end = path.stat().st_size, 0
    with pa.OSFile(str(path)) as file:
        while end < size:
            try:
                batches = list(pa.ipc.open_stream(file))
            except (pa.ArrowInvalid, OSError):  # a part of them is missing
                break
            file.seek(file.tell() - len(_END))
            if file.read(len(_END)) != _END:
                break
            found += batches
            end = file.tell()
    if end < size:
        os.truncate(path, end)
    return found


def larger(batches: Records) -> Iterator[pa.RecordBatch]:
    """The same rows, in batches of the usual size."""
    gathered: list[pa.RecordBatch] = []
    rows = size = 0
    for batch in batches:
        gathered.append(batch)
        rows += len(batch)
        size += batch.nbytes
        if rows >= ROWS or size >= _BATCH_BYTES:
            yield pa.concat_batches(gathered)
            gathered, rows, size = [], 0, 0
    if gathered:
        yield pa.concat_batches(gathered)


# Redirects: a robots.txt may be that of a host in another part.


class RobotsSpool(Spool):
    """Records of robots.txt by part; a part also has those that its redirects lead to."""

    def _targets(self, part: int) -> Path:
        return self.folder / f"{part:05}.targets.arrow"

    def records(self, part: int) -> list[pa.RecordBatch]:
        """All records of a part."""
        return [*read(self.path(part)), *read(self._targets(part))]

    @property
    def is_prepared(self) -> bool:
        """Whether targets of redirects are where they are needed."""
        return (self.folder / "targets").exists()

    def bring_targets(self, profile: Profile) -> None:
        """Bring the records that redirects lead to into the parts that need them.

        It may be done again: a folder that is complete has a mark.
        """
        if self.is_prepared:
            return
        for number in range(self.parts):
            self._targets(number).unlink(missing_ok=True)
        asked: defaultdict[int, set[str]] = defaultdict(set)
        ahead = set(range(self.parts))
        for _ in range(profile.max_redirects + 1):
            wanted: defaultdict[int, dict[str, list[int]]] = defaultdict(dict)
            for number in sorted(ahead):
                for url in self._missing(number, profile):
                    there = bucket(url, self.parts)
                    if there != number and url not in asked[number]:
                        asked[number].add(url)
                        wanted[there].setdefault(url, []).append(number)
            ahead = {number for there in wanted for number in self._copy(there, wanted[there])}
            if not ahead:
                break
        (self.folder / "targets").touch()

    def _missing(self, part: int, profile: Profile) -> list[str]:
        batches = [
            *read(self.path(part), _NO_BODY),
            *read(self._targets(part), _NO_BODY),
        ]
        if not batches:
            return []
        table = pa.Table.from_batches(batches)
        bodies = pa.repeat(pa.scalar(b"", pa.binary()), table.num_rows)
        return missing_targets(table.append_column(RECORDS.field("body"), bodies), profile)

    def _copy(self, part: int, wanted: dict[str, list[int]]) -> set[int]:
        """Copy records of a part to those that need them; which ones got something."""
        urls = pa.array(list(wanted))
        changed: set[int] = set()
        for batch in read(self.path(part)):
            found = batch.filter(pc.is_in(batch.column("url"), urls))
            places: defaultdict[int, list[int]] = defaultdict(list)
            for place, url in enumerate(found.column("url").to_pylist()):
                for number in wanted[url]:
                    places[number].append(place)
            for number, rows in places.items():
                append(self._targets(number), found.take(pa.array(rows)))
            changed |= places.keys()
        return changed


def records_of(
    read_all: Callable[[], Records], part: int, parts: int, profile: Profile
) -> list[pa.RecordBatch]:
    """The records of one part out of all, and those that its redirects lead to."""
    found: list[pa.RecordBatch] = []
    for batch in read_all():
        own = batch.filter(pa.array(buckets(batch.column("url"), parts) == part))
        found += [own] if len(own) else []
    asked: set[str] = set()
    for _ in range(profile.max_redirects + 1):
        table = pa.Table.from_batches(found, RECORDS)
        wanted = {url for url in missing_targets(table, profile) if bucket(url, parts) != part}
        if not wanted - asked:
            break
        urls = pa.array(list(wanted - asked))
        asked |= wanted
        for batch in read_all():
            targets = batch.filter(pc.is_in(batch.column("url"), urls))
            found += [targets] if len(targets) else []
    return found
