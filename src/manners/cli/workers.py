"""Several workers on this machine, for `manners crawl --workers N`.

Each is a process of its own that joins the crawl, as `manners crawl work` would. This one starts
them, prints what they fetch, and passes Ctrl-C on to them.
"""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manners._text import cut, printable
from manners.cli import inputs, render

if TYPE_CHECKING:
    from manners.settings import Settings

_SECONDS = 1.0
"""Seconds between two looks at how far the crawl is."""


def run_workers(
    starts: list[str], settings: "Settings", number: int, output: Path | None, json: bool
) -> int:
    """Start a crawl and some workers for it, show what they do, and return the exit code."""
    from manners.cli.crawling import conclude
    from manners.crawler.crawl import Crawl

    if not str(settings.store).startswith("postgresql"):
        raise inputs.Unusable(
            "--workers needs a store that several processes can use: --store postgresql://…"
        )
    if not json:
        shown = printable(cut(" ".join(starts), 200))
        print(render.styled(f"crawling {shown} as {settings.identity}", "bold"), flush=True)
    crawl = Crawl(starts, settings)
    fleet = _Workers(settings, crawl.start(), output)
    progress = render.Progress()
    with fleet.interruptible():
        fleet.start(number)
        for line, values in fleet.pages():
            progress.clear()
            print(render.as_json(values) if json else line, flush=True)
            progress.say(f"{fleet.number:,} pages, {len(fleet.living)} workers")
    progress.clear()
    if fleet.problem:
        print(f"manners: {printable(fleet.problem)}", file=sys.stderr)
    return conclude(crawl, output, json, is_interrupted=fleet.is_interrupted)


class _Workers:
    """The processes, and what comes from them."""

    def __init__(self, settings: "Settings", crawl: int, output: Path | None) -> None:
        self._arguments = settings, crawl, output
        self._processes: list[Any] = []
        self._signals = 0
        self.living: list[Connection] = []
        """Where pages come from, while a worker lives."""
        self.number = 0
        """Pages so far."""
        self.problem = ""
        """Why a worker failed."""

    @property
    def is_interrupted(self) -> bool:
        """Whether they were told to stop."""
        return self._signals > 0

    def start(self, number: int) -> None:
        """Start the processes; no more of them when told to stop."""
        context = multiprocessing.get_context("spawn")
        for place in range(number):
            if self.is_interrupted:
                return
            ours, theirs = context.Pipe(duplex=False)
            # As plain values: settings may hold secrets, which have no place on a command line.
            process = context.Process(target=_work, args=(*self._arguments, theirs, place))
            try:
                process.start()
            except OSError as error:
                self.problem = f"only {len(self._processes)} of {number} workers started: {error}"
                return
            finally:
                theirs.close()
            self._processes.append(process)
            self.living.append(ours)
            if self.is_interrupted:  # perhaps before it could be told
                process.terminate()

    def pages(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """A line and the values of each page, until all workers have ended."""
        while self.living:
            for ready in wait(self.living, _SECONDS):
                if not isinstance(ready, Connection):
                    continue
                try:
                    line, values = ready.recv()
                except (EOFError, OSError):
                    self.living.remove(ready)
                    continue
                if values is None:
                    self.problem = self.problem or line
                else:
                    self.number += 1
                    yield line, values
        for process in self._processes:
            process.join()
            if process.exitcode < 0 and not self.is_interrupted:
                self.problem = self.problem or f"a worker was ended by signal {-process.exitcode}"

    def interruptible(self) -> Any:
        """Pass Ctrl-C and SIGTERM on: the first stops the workers gracefully, a second aborts."""
        from manners.cli.crawling import interruptible

        return interruptible(self)

    def stop(self) -> None:
        """Start no more requests, finish those under way, and end."""
        self._signals += 1
        self._send(signal.SIGTERM)

    def abort(self) -> None:
        """End at once."""
        self._send(signal.SIGTERM)

    def _send(self, number: int) -> None:
        for process in self._processes:
            if process.pid is not None:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, number)


def _work(
    settings: "Settings", number: int, output: Path | None, pages: Connection, place: int
) -> None:
    """One worker, in its own process."""
    from contextlib import nullcontext

    from manners._interrupts import ignore_interrupts
    from manners.cli.crawling import interruptible
    from manners.cli.folder import PageFolder
    from manners.cli.measures import Measures
    from manners.cli.watching import page_line
    from manners.crawler.crawl import Crawl

    ignore_interrupts()  # the process that started this one passes them on
    folder = None if output is None else PageFolder(output)

    def keep(page: Any) -> None:
        if folder is not None and page.ok:
            folder.save(page)

    try:
        measures, kept = Measures(settings, place), keep if folder else None
        crawl = Crawl([], settings, work=number, keep=kept, on_event=measures.listener)
        threading.Thread(target=_stop_with_parent, args=(crawl,), daemon=True).start()
        with measures, folder or nullcontext(), interruptible(crawl, is_quiet=True):
            for page in crawl:
                pages.send((page_line(page), page.to_dict()))
    except BrokenPipeError:
        pass
    except Exception as error:
        with suppress(OSError):
            pages.send((f"a worker failed: {error}", None))
        raise SystemExit(1) from None


def _stop_with_parent(crawl: Any) -> None:
    """Stop when the process that started this one is gone."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        crawl.stop()
