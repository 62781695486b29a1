"""Resuming crawls for `--control`: each in a process of its own, which ends with the service.

A crawl takes a processor, and answers of the service should not wait for it. Settings are passed as
plain values: they may hold secrets, which have no place on a command line.
"""

import asyncio
import multiprocessing
import os
from multiprocessing.connection import Connection
from typing import Any

from manners._interrupts import ENDING, handling
from manners._text import count, cut, printable
from manners.settings import Settings
from manners.web.problems import ServiceProblem

_MOST = 4
"""Crawls at a time."""
_GRACE = 30.0
"""Seconds for a crawl to finish its running requests when the service ends."""


class ResumedCrawls:
    """The processes of the crawls that were resumed here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._processes: dict[int, Any] = {}
        self._pipes: dict[int, Connection] = {}
        self.problems: dict[int, str] = {}
        """Why crawls could not go on, by their number."""

    def has(self, crawl: int) -> bool:
        """Whether a process for the crawl lives."""
        process = self._processes.get(crawl)
        if process is None:
            return False
        if process.is_alive():
            return True
        self._collect(crawl)
        return False

    async def start(self, crawl: int) -> None:
        """Resume a crawl, unless that is under way."""
        living = [number for number in list(self._processes) if self.has(number)]
        if crawl in living:
            return
        if len(living) >= _MOST:
            raise ServiceProblem(
                429,
                f"This service runs {count(len(living), 'crawl')} already.",
                "Stop one of them, or type `manners crawl resume`.",
                retry_after=60.0,
            )
        self.problems.pop(crawl, None)
        context = multiprocessing.get_context("spawn")
        ours, theirs = context.Pipe(duplex=False)
        arguments = str(self._settings.store), crawl, self._settings.server_timeout, theirs
        process = context.Process(target=_resume, args=arguments)
        try:
            await asyncio.to_thread(process.start)
        finally:
            theirs.close()
        self._processes[crawl], self._pipes[crawl] = process, ours

    async def close(self) -> None:
        """Stop all, as Ctrl-C would."""
        for process in self._processes.values():
            if process.is_alive():
                process.terminate()
        for process in self._processes.values():
            await asyncio.to_thread(process.join, _GRACE)
            if process.is_alive():
                process.kill()
                await asyncio.to_thread(process.join)
        for crawl in list(self._processes):
            self._collect(crawl)

    def _collect(self, crawl: int) -> None:
        """Keep what a process that has ended says of its end."""
        process, pipe = self._processes.pop(crawl), self._pipes.pop(crawl)
        try:
            if pipe.poll():
                self.problems[crawl] = pipe.recv()
            elif process.exitcode:
                self.problems[crawl] = f"its process ended with code {process.exitcode}"
        except (EOFError, OSError):
            pass
        finally:
            pipe.close()
            process.close()


def _resume(place: str, crawl: int, timeout: float, pipe: Connection) -> None:
    """Run a crawl to its end, in a process of its own."""
    from manners.crawler.crawl import Crawl, stored_settings

    try:
        stored = stored_settings(place, crawl, timeout=timeout)
        settings = Settings(**stored).but(store=place, server_timeout=timeout)
        running = Crawl([], settings, resume=crawl)
        with handling(running.stop, *ENDING):
            for _ in running:
                pass
    except Exception as error:
        pipe.send(printable(cut(str(error), 2_000)))
        os._exit(1)
