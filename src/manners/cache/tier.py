"""A backend, used with patience: it may be slow, away or full of rubbish, and decides nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from manners.cache.backends import Backend, is_entry
from manners.cache.entry import Entry

_T = TypeVar("_T")

PATIENCE = 0.25
"""Seconds that a backend has for an answer."""
DOWN_FOR = 5.0
"""Seconds for which a backend that failed is left alone."""
AT_A_TIME = 32
"""Questions at a time; more wait, and their time does not run meanwhile."""


class Tier:
    """A backend that fails as if it had nothing.

    The first failure is reported; then the backend is left alone for a while. What it returns that
    is no entry of the origin is a failure too.
    """

    def __init__(
        self,
        backend: Backend,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend, self._report, self._clock = backend, report, clock
        self._down_until = 0.0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._turn = asyncio.Semaphore(AT_A_TIME)

    async def load(self, origin: str) -> Entry | None:
        """What the backend has of an origin; None when it has nothing, or does not answer."""
        return await self._ask(self._load, origin)

    async def save(self, entry: Entry) -> None:
        """Let the backend keep this, if it can."""
        await self._ask(self._backend.save, entry)

    async def forget(self, origin: str) -> bool:
        """Let the backend drop this, if it can; whether there was anything."""
        return bool(await self._ask(self._backend.forget, origin))

    async def close(self) -> None:
        """Close the backend, also one that is left alone."""
        await self._try(self._backend.close)

    async def _load(self, origin: str) -> Entry | None:
        entry = await self._backend.load(origin)
        if entry is None or (is_entry(entry) and entry.origin == origin):
            return entry
        raise ValueError(f"no entry of {origin} was returned, but something else")

    async def _ask(self, verb: Callable[..., Awaitable[_T]], *arguments: object) -> _T | None:
        loop = asyncio.get_running_loop()
        if loop is not self._loop:  # in a forked child nothing is under way
            self._loop, self._turn = loop, asyncio.Semaphore(AT_A_TIME)
        async with self._turn:
            return None if self._is_down else await self._try(verb, *arguments)

    @property
    def _is_down(self) -> bool:
        return self._clock() < self._down_until

    async def _try(self, verb: Callable[..., Awaitable[_T]], *arguments: object) -> _T | None:
        try:
            async with asyncio.timeout(PATIENCE):
                return await verb(*arguments)
        except Exception as error:
            if self._is_down:  # another question has found out first
                return None
            self._down_until = self._clock() + DOWN_FOR
            why = str(error) or type(error).__name__
            self._report(f"the cache does not answer, and is left alone for {DOWN_FOR:g} s: {why}")
            return None
