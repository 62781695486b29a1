"""A backend, used with patience: it may be slow, away or full of rubbish, and decides nothing."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

from manners.cache.backends import Backend
from manners.cache.entry import Entry

_T = TypeVar("_T")

PATIENCE = 0.25
"""Seconds that a backend has for an answer."""
DOWN_FOR = 5.0
"""Seconds for which a backend that failed is left alone."""


class Tier:
    """A backend that fails as if it had nothing.

    The first failure is reported; then the backend is left alone for a while.
    """

    def __init__(
        self,
        backend: Backend,
        report: Callable[[str], None],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._backend, self._report, self._clock = backend, report, clock
        self._down_until = 0.0

    async def load(self, origin: str) -> Entry | None:
        """What the backend has of an origin; None when it has nothing, or does not answer."""
        entry = await self._ask(self._backend.load, origin)
        return entry if entry is not None and entry.origin == origin else None

    async def save(self, entry: Entry) -> None:
        """Let the backend keep this, if it can."""
        await self._ask(self._backend.save, entry)

    async def forget(self, origin: str) -> None:
        """Let the backend drop this, if it can."""
        await self._ask(self._backend.forget, origin)

    async def close(self) -> None:
        """Close the backend."""
        await self._ask(self._backend.close)

    async def _ask(self, verb: Callable[..., Awaitable[_T]], *arguments: object) -> _T | None:
        if self._clock() < self._down_until:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                return await verb(*arguments)
        except Exception as error:
            self._down_until = self._clock() + DOWN_FOR
            why = str(error) or type(error).__name__
            self._report(f"the cache does not answer, and is left alone for {DOWN_FOR:g} s: {why}")
            return None
