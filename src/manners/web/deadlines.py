"""Deadlines: requests that take too long are ended.

A timer for each request would cost about as much as the answer to a short one. One look at all of
them, every now and then, costs nothing.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

_INTERVAL = 5.0
"""Seconds between two looks, at most."""


class Deadlines:
    """When each request has to be answered."""

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._ends: dict[asyncio.Timeout, float] = {}
        """In the order of their ends: each has as long as any other."""

    def begin(self, timeout: asyncio.Timeout, now: float) -> None:
        """Set the deadline of a request that begins; `now` is the clock of the event loop."""
        self._ends[timeout] = now + self._seconds

    def end(self, timeout: asyncio.Timeout) -> None:
        """Forget a request that has ended, or one that may take as long as it likes."""
        self._ends.pop(timeout, None)

    @asynccontextmanager
    async def watched(self) -> AsyncIterator[None]:
        """End requests whose deadlines have passed, for as long as this is open."""
        watch = asyncio.create_task(self._watch())
        try:
            yield
        finally:
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)

    async def _watch(self) -> None:
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(min(self._seconds / 4, _INTERVAL))
            now = clock()
            while self._ends:
                timeout, end = next(iter(self._ends.items()))
                if end > now:
                    break
                self.end(timeout)
                timeout.reschedule(now)
