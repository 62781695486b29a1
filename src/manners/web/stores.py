"""The store that the service shows: read in threads of its own, and never written.

A store is opened for each look and closed again, so a crawl may create, replace or move it at any
time. Whoever takes long does not keep others from looking: there are few threads, and those for
long computations are apart.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Concatenate, ParamSpec, TypeVar

from manners.crawler.frontier.crawls import NoCrawl
from manners.evidence.store import EvidenceStore
from manners.settings import Settings
from manners.web.problems import ServiceProblem

_P = ParamSpec("_P")
_T = TypeVar("_T")
_LOOKS, _LONG = 4, 2
"""Threads."""


class StoreAccess:
    """Reads the store of the service."""

    def __init__(self, settings: Settings) -> None:
        self.place = settings.store
        self.redact = settings.redact_query
        self._timeout = settings.server_timeout
        self._looks = ThreadPoolExecutor(_LOOKS, "store")
        self._long = ThreadPoolExecutor(_LONG, "store-long")

    async def read(
        self,
        function: Callable[Concatenate[EvidenceStore, _P], _T],
        *arguments: _P.args,
        **named: _P.kwargs,
    ) -> _T:
        """What a function reads from the store; `function(store, *arguments)`."""

        def look() -> _T:
            with self.opened() as store:
                return function(store, *arguments, **named)

        return await self.run(look)

    async def read_long(
        self,
        function: Callable[Concatenate[EvidenceStore, _P], _T],
        *arguments: _P.args,
        **named: _P.kwargs,
    ) -> _T:
        """The same for what takes long."""

        def look() -> _T:
            with self.opened() as store:
                return function(store, *arguments, **named)

        return await self.run(look, is_long=True)

    async def run(self, function: Callable[[], _T], *, is_long: bool = False) -> _T:
        """What a function returns, called in a thread that is for the store."""
        threads = self._long if is_long else self._looks
        try:
            return await asyncio.get_running_loop().run_in_executor(threads, function)
        except NoCrawl as error:
            raise ServiceProblem(404, str(error), "/crawls has those there are.") from None

    def opened(self) -> EvidenceStore:
        """The store, open for reading; a problem if there is none."""
        if self.place is None:
            raise ServiceProblem(
                404, "This service has no store to show.", "Start it with --store PLACE."
            )
        return EvidenceStore(self.place, create=False, readonly=True, timeout=self._timeout)

    def close(self) -> None:
        """Wait for nobody: what still reads ends with the process."""
        for threads in (self._looks, self._long):
            threads.shutdown(wait=False, cancel_futures=True)
