"""The archive of a client or a crawl: a thread that writes what was received, durably."""

import asyncio
import os
import queue
import threading
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from manners import _threads
from manners.errors import StoreError
from manners.warc.files import WarcFile, recover
from manners.warc.records import FIELDS, PageRecords, WarcDraft, fields, written_date

if TYPE_CHECKING:
    from manners.client.page import Page
    from manners.net.messages import Exchange
    from manners.settings import Settings

_BATCH = 256
"""Pages that are made durable at once, at most."""
_LINGER = 0.005
"""Seconds in which pages gather for a batch: each has a price, in switches of threads and fsync."""
_STANDARD = "http://iipc.github.io/warc-specifications/specifications/warc-format/warc-1.1/"
_ATTEMPTS = 1_000
"""Names that are tried for a file, in case others of the same second exist."""


class _WarcJob(NamedTuple):
    page: "Page"
    exchanges: "Sequence[Exchange | None]"
    loop: asyncio.AbstractEventLoop
    future: "asyncio.Future[None]"


class WarcArchive:
    """WARC files in a folder; what was added is durable when `add` returns.

    Several processes may write to one folder: each has files of its own. Files of processes that
    were killed are recovered first.
    """

    def __init__(
        self,
        folder: Path,
        *,
        name: str,
        max_size: int,
        about: Sequence[tuple[str, str]] = (),
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._folder, self._name, self._max_size = folder, name, max_size
        self._about, self._clock = about, clock
        self._records = PageRecords(_names().__next__)
        self._queue: queue.SimpleQueue[_WarcJob | None] = queue.SimpleQueue()
        self._file: WarcFile | None = None
        self._thread: threading.Thread | None = None
        self._is_closed = False
        self._error: Exception | None = None
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise StoreError(str(folder), f"cannot be created: {error.strerror}") from None

    async def add(self, page: "Page", exchanges: "Sequence[Exchange | None]") -> None:
        """Add what was on the wire for the hops of a page; nothing if nothing was."""
        if not any(exchanges):
            return
        self._start()
        loop = asyncio.get_running_loop()
        future: asyncio.Future[None] = loop.create_future()
        self._queue.put(_WarcJob(page, exchanges, loop, future))
        _threads.begin(loop, 1)
        try:
            await future
        finally:
            _threads.end(loop, 1)

    async def close(self) -> None:
        """Complete the last file; whatever was added before is in it."""
        if self._is_closed:
            return
        thread, self._is_closed = self._start(), True
        self._queue.put(None)
        await asyncio.to_thread(thread.join)
        if self._error is not None:
            raise self._error

    def _start(self) -> threading.Thread:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="manners-warc", daemon=True)
            self._thread.start()
        return self._thread

    # In the thread.

    def _run(self) -> None:
        self._guard(lambda: recover(self._folder))
        is_over = False
        while not is_over:
            jobs: list[_WarcJob] = []
            job = self._queue.get()
            if job is not None:
                time.sleep(_LINGER)
            while True:
                if job is None:
                    is_over = True
                    break
                jobs.append(job)
                if len(jobs) >= _BATCH or self._queue.empty():
                    break
                job = self._queue.get()
            self._write(jobs)
        self._guard(self._complete)

    def _write(self, jobs: Sequence[_WarcJob]) -> None:
        """Write a batch of pages, and tell those that wait."""
        self._guard(lambda: self._write_records(jobs))
        for loop in {job.loop for job in jobs}:
            futures = [job.future for job in jobs if job.loop is loop]
            try:
                loop.call_soon_threadsafe(_resolve, futures, self._error)
            except RuntimeError:  # the loop is closed: nobody waits
                continue

    def _write_records(self, jobs: Sequence[_WarcJob]) -> None:
        for job in jobs:
            for record in self._records.of_page(job.page, job.exchanges):
                if self._file is None:
                    self._file = self._open()
                self._file.add(record)
            if self._file is not None and self._file.size >= self._max_size:
                self._complete()
        if self._file is not None:
            self._file.sync()

    def _open(self) -> WarcFile:
        now = self._clock()
        stamp = time.strftime("%Y%m%d%H%M%S", time.gmtime(now))
        for number in range(_ATTEMPTS):
            name = f"{self._name}-{stamp}-{number:05}"
            try:
                file = WarcFile(self._folder, name)
            except (FileExistsError, BlockingIOError):
                continue
            lines = [
                ("software", f"manners/{version('manners')}"),
                ("format", "WARC File Format 1.1"),
                ("conformsTo", _STANDARD),
                *self._about,
            ]
            info = ("WARC-Filename", file.name)
            file.add(
                WarcDraft(
                    *("warcinfo", str(uuid.uuid4()), "", written_date(now), FIELDS, fields(lines)),
                    headers=(info,),
                )
            )
            return file
        raise OSError(None, "too many files of the same second")

    def _complete(self) -> None:
        if self._file is not None:
            self._file.complete()
            self._file = None
            self._records.memory.sites.clear()

    def _guard(self, work: Callable[[], object]) -> None:
        """Do something with files; after an error nothing is done, so that no page counts as done.

        What is in the file then is recovered by the next run.
        """
        if self._error is not None:
            return
        try:
            work()
        except OSError as error:
            problem = f"cannot be written: {error.strerror or error}; make room, and resume"
            self._error = StoreError(str(self._folder), problem)
        except Exception as error:
            self._error = error
        if self._error is not None and self._file is not None:
            self._file.abandon()
            self._file = None


def open_archive(settings: "Settings", name: str = "") -> WarcArchive:
    """The archive that the settings name; `name` is that of a worker, else of the process."""
    identity = settings.identity
    return WarcArchive(
        Path(settings.warc or "."),
        name=f"manners-{name or os.getpid()}",
        max_size=settings.warc_size,
        about=[
            ("http-header-user-agent", identity.user_agent),
            ("robots", f"{settings.profile}, as {identity.agent}, dialect {settings.dialect}"),
        ],
    )


def _names() -> Iterator[str]:
    """UUIDs (version 4); many at a time, because each call of the system costs as much."""
    while True:
        drawn = os.urandom(16 * 256)
        for at in range(0, len(drawn), 16):
            yield str(uuid.UUID(bytes=drawn[at : at + 16], version=4))


def _resolve(futures: "Sequence[asyncio.Future[None]]", error: Exception | None) -> None:
    for future in futures:
        if not future.done():
            future.set_result(None) if error is None else future.set_exception(error)
