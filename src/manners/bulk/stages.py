"""The stages of a bulk run: the archive, URLs that stream through, or parts by host."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from manners.bulk import bucketing
from manners.bulk.bucketing import RobotsSpool, Spool
from manners.bulk.deciding import Decider, Stopped
from manners.bulk.fetching import fetch
from manners.bulk.hosts import buckets
from manners.bulk.inputs import Reading, Urls, ahead
from manners.bulk.jobs import Job
from manners.bulk.outputs import RowWriter
from manners.bulk.parts import Output
from manners.bulk.records import BulkError, Problems
from manners.bulk.sites import Sites
from manners.bulk.splicing import KeptColumns, SplicedWriter
from manners.bulk.summary import Summary
from manners.bulk.texts import UnreadableInput
from manners.retrieval import profiles

PART_ROWS = 2_097_152
"""Rows of a part of URLs that stream through."""
_SITE_BYTES = 1_600
"""What a site takes in memory beyond the bytes of its records."""
_SHARE = 0.45
"""The share of memory that sites may take: the rest is for rows on their way."""
_MIN_PARTS, _MAX_PARTS = 64, 4_096
_EXPANSION = 6
"""How much larger an archive is in memory than on disk, at most."""


@dataclass(frozen=True, slots=True)
class RunProgress:
    """How far a run is."""

    phase: str
    """`reading robots.txt`, `sorting robots.txt`, `sorting URLs`, `retrieving`, `deciding`."""
    done: int = 0
    """Rows, or sites."""
    fraction: float | None = None
    """Of this phase; None where nobody knows how much there is."""


OnProgress = Callable[[RunProgress], None]


class Meter:
    """Counts rows of a phase, from any thread, and tells how far it is."""

    def __init__(
        self,
        phase: str,
        on_progress: OnProgress,
        fraction: Callable[[int], float | None] = lambda _: None,
    ) -> None:
        self._phase, self._on_progress, self._fraction = phase, on_progress, fraction
        self._lock = threading.Lock()
        self.done = 0

    def __call__(self, rows: int) -> None:
        """So many more are done."""
        with self._lock:
            self.done += rows
            self._on_progress(RunProgress(self._phase, self.done, self._fraction(self.done)))


class Archive:
    """The records of robots.txt: in memory, if they fit."""

    def __init__(self, given: Job, on_progress: OnProgress) -> None:
        self._job, self._on_progress = given, on_progress
        self.problems = Problems()
        """What was skipped, and how often."""
        self._found: list[pa.RecordBatch] | None = None
        self._rest: Iterator[pa.RecordBatch] = iter(())

    def read(self) -> Iterator[pa.RecordBatch]:
        """All records, read from the places."""
        from manners.bulk.readers import open_places

        try:
            yield from open_places(list(self._job.robots), self.problems)
        except BulkError as error:
            raise UnreadableInput(error.place, error.problem) from None

    def parts_needed(self) -> int | None:
        """None if all records fit into memory, which has them then; else how many parts do."""
        limit = self._job.memory * _SHARE
        meter = Meter("reading robots.txt", self._on_progress)
        self._found, size = [], 0
        self._rest = self.read()
        for batch in self._rest:
            self._found.append(batch)
            size += batch.nbytes + len(batch) * _SITE_BYTES * len(self._job.agents)
            meter(len(batch))
            if size > limit:
                expected = max(size, _EXPANSION * sum(map(_size, self._job.robots)))
                needed = expected * 2 * self._job.threads / limit
                parts = _MIN_PARTS
                while parts < min(needed, _MAX_PARTS):
                    parts *= 2
                return parts
        return None

    def take(self) -> list[pa.RecordBatch]:
        """All records, once."""
        found = list(self.stream())
        self._found = None
        return found

    def stream(self) -> Iterator[pa.RecordBatch]:
        """All records, once: those in memory, and then the rest."""
        found, self._found = self._found, None
        if found is None:
            self.problems = Problems()
            yield from self.read()
            return
        found.reverse()
        while found:
            yield found.pop()
        yield from self._rest

    def close(self) -> None:
        """Forget what was read."""
        self._found, self._rest = None, iter(())
        self.problems = Problems()


def _size(place: str) -> int:
    """Bytes of an archive on disk, as far as that can be seen."""
    path = Path(place.partition(":")[2] if ":" in place else place)
    try:
        if path.is_dir():
            return sum(file.stat().st_size for file in path.rglob("*") if file.is_file())
        files = [path] if path.exists() else list(path.parent.glob(path.name))
        return sum(file.stat().st_size for file in files)
    except (OSError, ValueError):
        return 0


class _Stage:
    """What both ways to run have."""

    def __init__(
        self, given: Job, output: Output, urls: Urls, decider: Decider, on_progress: OnProgress
    ) -> None:
        self.job, self.output, self.urls = given, output, urls
        self.decider, self.on_progress = decider, on_progress

    def meter(self, phase: str, fraction: Callable[[int], float | None]) -> Meter:
        """Counts what is done in a phase."""
        return Meter(phase, self.on_progress, fraction)

    def by_bytes(self, reading: Reading) -> Callable[[int], float | None]:
        """How much of the files with URLs has been read."""
        size = self.urls.size
        return lambda _: min(reading.bytes / size, 1.0) if size else None

    def in_threads(self, tasks: Iterable[Callable[[], object]]) -> None:
        """Do all tasks, several at a time; if one fails, the others stop."""
        with ThreadPoolExecutor(self.job.threads) as pool:
            futures = [pool.submit(task) for task in tasks]
            try:
                wait(futures, return_when=FIRST_EXCEPTION)
            finally:  # a task failed, or the user interrupted the run
                if not all(future.done() for future in futures):
                    self.decider.stop.set()
                for future in futures:
                    future.cancel()
        errors = [future.exception() for future in futures if not future.cancelled()]
        for error in errors:
            if error is not None and not isinstance(error, Stopped):
                raise error

    @contextmanager
    def _writing(
        self, part: Path, number: int, kept: KeptColumns | None = None, piece: Any = ()
    ) -> Iterator[tuple[RowWriter, Summary]]:
        """A writer for a part, and a summary to fill; `kept` columns come along from a piece."""
        header = self.output.is_folder or number == 0
        with self.output.writing(part) as (file, summary):
            if kept is None:
                yield self.decider.open(file, self.output.form, header), summary
            else:
                yield SplicedWriter(file, kept, piece), summary

    def with_missing(
        self,
        records: list[pa.RecordBatch],
        batches: Callable[[], Iterable[pa.RecordBatch]],
        name: str,
    ) -> list[pa.RecordBatch]:
        """The records, and those of sites that they lack, retrieved and kept in the work folder."""
        if self.job.fetch is None:
            return records
        kept = self.output.work / f"{name}.arrow"
        records = [*records, *bucketing.recover(kept)]
        known = self.decider.sites(records)[0]
        missing: dict[str, None] = {}
        for batch in batches():
            missing.update(dict.fromkeys(known.missing(batch.column(self.urls.column))))
        meter = self.meter("retrieving", lambda done: done / max(len(missing), 1))
        for batch in fetch(list(missing), self.job.fetch, meter):
            bucketing.append(kept, batch)
            records.append(batch)
        return records


class StreamedRun(_Stage):
    """URLs stream through the sites, in their order; a part is so many rows."""

    _kept: KeptColumns | None = None
    """Columns that are copied as they are."""

    def run(self, archive: Archive) -> tuple[list[Path], int]:
        """The parts, in their order, and how many sites there are."""
        records = self.with_missing(archive.take(), self.urls.batches, "fetched")
        sites = self.decider.sites(records)
        del records
        pieces = None if self.urls.is_pipe else self.urls.slices(PART_ROWS)
        parts = self._in_order(sites) if pieces is None else self._in_pieces(sites, pieces)
        return parts, len(sites[0])

    def _in_pieces(self, sites: list[Sites], pieces: list[Any]) -> list[Path]:
        """Parts that can be read by themselves, several at a time."""
        rows = [sum(part.rows for part in piece) for piece in pieces]
        meter = self.meter("deciding", lambda done: done / max(sum(rows), 1))
        parts = [self.output.part(number) for number in range(max(len(pieces), 1))]
        self._kept = self._kept_columns(pieces)
        tasks = []
        for number, part in enumerate(parts):
            if self.output.is_done(part):
                meter(rows[number] if rows else 0)
                continue
            piece = pieces[number] if pieces else []
            tasks.append(self._task(piece, sites, part, number, meter))
        self.in_threads(tasks)
        return parts

    def _kept_columns(self, pieces: list[Any]) -> KeptColumns | None:
        """The columns to copy as they are; None if all have to be written anew."""
        job, names = self.job, self.urls.kept
        has_all_rows = job.only is None and len(job.agents) == 1
        if not has_all_rows or self.output.form != "parquet" or not (names and job.add):
            return None
        kept = KeptColumns(names, self.decider.schema)
        return kept if kept.fit(pieces) else None

    def _task(
        self, piece: Any, sites: list[Sites], part: Path, number: int, meter: Meter
    ) -> Callable[[], object]:
        def work() -> None:
            with self._writing(part, number, self._kept, piece) as (writer, summary):
                rows = self.urls.read(piece, only_urls=self._kept is not None)
                self.decider.write(rows, sites, writer, summary, meter)

        return work

    def _in_order(self, sites: list[Sites]) -> list[Path]:
        """Files that can only be read from the beginning: parts one after the other."""
        reading = Reading()
        meter = self.meter("deciding", self.by_bytes(reading))
        parts: list[Path] = []
        while self.output.is_done(self.output.part(len(parts))):
            parts.append(self.output.part(len(parts)))
        rows = _Rows(ahead(self.urls.batches(reading, skip=len(parts) * PART_ROWS)))
        try:
            while not parts or rows.has_more():
                part, dropped = self.output.part(len(parts)), reading.dropped
                with self._writing(part, len(parts)) as (writer, summary):
                    self.decider.write(rows.take(PART_ROWS), sites, writer, summary, meter)
                    summary.dropped = reading.dropped - dropped
                parts.append(part)
        finally:
            rows.close()
        return parts


class _Rows:
    """Batches that are cut where a part ends."""

    def __init__(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._batches = batches
        self._next: pa.RecordBatch | None = None

    def has_more(self) -> bool:
        """Whether a row is left."""
        while self._next is None or not len(self._next):
            self._next = next(self._batches, None)
            if self._next is None:
                return False
        return True

    def take(self, rows: int) -> Iterator[pa.RecordBatch]:
        """The next rows, at most so many."""
        while rows and self.has_more():
            batch: pa.RecordBatch = self._next
            self._next = None
            if len(batch) > rows:
                batch, self._next = batch.slice(0, rows), batch.slice(rows)
            rows -= len(batch)
            yield batch

    def close(self) -> None:
        """Stop reading."""
        close = getattr(self._batches, "close", None)
        if close is not None:
            close()


class BucketedRun(_Stage):
    """Parts by host: each has the URLs of its hosts and their robots.txt."""

    rows = 0
    """URLs that were sorted."""

    @property
    def parts(self) -> int:
        """How many there are."""
        return self._urls.parts

    @property
    def _urls(self) -> Spool:
        return Spool(self.output.work / "urls", self.job.parts or 1)

    @property
    def _robots(self) -> RobotsSpool:
        return RobotsSpool(self.output.work / "robots", self.job.parts or 1)

    def prepare(self, archive: Archive) -> None:
        """Sort both sides by part, as far as that is not done yet."""
        if not self._robots.is_complete:
            meter = self.meter("sorting robots.txt", lambda _: None)
            self._robots.fill(archive.stream(), "url", self.job.memory, meter)
        archive.close()
        self._robots.bring_targets(profiles.get(self.job.profile))
        if not self._urls.is_complete:
            reading = Reading()
            meter = self.meter("sorting URLs", self.by_bytes(reading))
            batches = ahead(self.urls.batches(reading))
            self._urls.fill(batches, self.urls.column, self.job.memory, meter)
            self.rows = meter.done

    def run(self, archive: Archive) -> list[Path]:
        """All parts, several at a time."""
        self.prepare(archive)
        sizes = [self._urls.size(number) for number in range(self.parts)]
        done = [0]
        meter = self.meter("deciding", lambda _: done[0] / max(sum(sizes), 1))
        parts = [self.output.part(number, self.parts) for number in range(self.parts)]

        def work(number: int, part: Path) -> None:
            if not self.output.is_done(part):
                rows = partial(self._urls.read, number)
                self._write(number, part, self._robots.records(number), rows, meter)
            done[0] += sizes[number]
            meter(0)

        self.in_threads(partial(work, number, part) for number, part in enumerate(parts))
        return parts

    def run_part(self, number: int, archive: Archive) -> Summary:
        """One part: from the prepared ones, or out of all rows."""
        part = self.output.part(number, self.parts)
        if self._robots.is_prepared and self._urls.is_complete:
            records, batches = self._robots.records(number), partial(self._urls.read, number)
        else:
            profile = profiles.get(self.job.profile)
            records = bucketing.records_of(archive.read, number, self.parts, profile)
            batches = partial(self._rows_of, number)
        meter = self.meter("deciding", lambda _: None)
        self._write(number, part, records, batches, meter)
        return self.output.summary(part)

    def _rows_of(self, number: int) -> Iterator[pa.RecordBatch]:
        """The URLs of one part out of all."""
        batches = (
            batch.filter(pa.array(buckets(batch.column(self.urls.column), self.parts) == number))
            for batch in ahead(self.urls.batches())
        )
        return bucketing.larger(batch for batch in batches if len(batch))

    def _write(
        self,
        number: int,
        part: Path,
        records: list[pa.RecordBatch],
        batches: Callable[[], Iterator[pa.RecordBatch]],
        meter: Meter,
    ) -> None:
        records = self.with_missing(records, batches, f"fetched-{number:05}")
        sites = self.decider.sites(records)
        del records
        with self._writing(part, number) as (writer, summary):
            self.decider.write(batches(), sites, writer, summary, meter)
            summary.sites = len(sites[0])
