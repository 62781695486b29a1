"""A cache backend behind a timeout: it may be slow, unreachable or corrupt, and never decides."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from manners.cache.backends import CacheBackend, history
from manners.cache.encoding import valid_entry
from manners.cache.entry import Entry
from manners.cache.versions import Version

_T = TypeVar("_T")

CALL_TIMEOUT = 0.25
"""Seconds that a backend has for an answer."""
DOWN_FOR = 5.0
"""Seconds for which a backend that failed is not used."""
MAX_CONCURRENT = 32
"""Calls at a time; more wait, and their timeouts do not run meanwhile."""


class Tier:
    """A backend whose failures count as an empty cache.

    The first failure is reported; then the backend is not used for a while. Returning anything but
    an entry of the origin is a failure, too.
    """

    def __init__(
        self,
        backend: CacheBackend,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend, self._report, self._clock = backend, report, clock
        self._down_until = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._limit = asyncio.Semaphore(MAX_CONCURRENT)

    async def load(self, origin: str) -> Entry | None:
        """The entry of an origin; None when there is none, or the backend fails."""
        return await self._call(self._load, origin)

    async def save(self, entry: Entry) -> None:
        """Save an entry, if the backend can."""
        await self._call(self._backend.save, entry)

    async def forget(self, origin: str) -> bool:
        """Drop the entry of an origin, if the backend can; False when there was none."""
        return bool(await self._call(self._backend.forget, origin))

    async def history(self, origin: str) -> list[Version]:
        """The versions of an origin's robots.txt, however long that takes; failures are raised."""
        return await history(self._backend, origin)

    async def close(self) -> None:
        """Close the backend, even one that is down."""
        await self._try(self._backend.close)

    async def _load(self, origin: str) -> Entry | None:
        value = await self._backend.load(origin)
        if value is None:
            return None
        entry = valid_entry(value)
        if entry is None or entry.origin != origin:
            raise ValueError(f"invalid entry for {origin}")
        return entry

    async def _call(self, method: Callable[..., Awaitable[_T]], *arguments: object) -> _T | None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # in a forked child nothing is under way
            self._loop, self._limit = loop, asyncio.Semaphore(MAX_CONCURRENT)
        async with self._limit:
            return None if self._is_down else await self._try(method, *arguments)

    @property
    def _is_down(self) -> bool:
        return self._clock() < self._down_until

    async def _try(self, method: Callable[..., Awaitable[_T]], *arguments: object) -> _T | None:
        try:
            async with asyncio.timeout(CALL_TIMEOUT):
                return await method(*arguments)
        except Exception as error:
            if self._is_down:  # another call has failed first
                return None
            self._down_until = self._clock() + DOWN_FOR
            cause = str(error) or type(error).__name__
            self._report(f"cache failed, not used for {DOWN_FOR:g} s: {cause}")
            return None
