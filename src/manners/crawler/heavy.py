"""Large pages and sitemaps, one at a time: reading them takes long enough to slow other hosts.

A page with thousands of links takes a large part of a second to read and to write down. The event
loop must not stand still for that, so it is done in a thread, and in slices where the loop or the
store is needed. One is done at a time: it competes with the loop for the interpreter, and what it
leads to fills memory. Hosts take turns by what they have cost so far, so that a host with huge
pages waits behind its own pages, and a large page of another host does not.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

MAX_LINKS, MAX_TAGS, MAX_BYTES = 500, 2_500, 262_144
"""Links, tags and bytes of a page that is read in the event loop: for such a page, which takes a
few milliseconds, a thread costs more."""
SLICE = 250
"""URLs that a large page adds to the store in one transaction, and links that are looked at before
others have a turn in the event loop."""
_HOSTS = 10_000
"""Hosts of which it is remembered what they have cost."""


def is_heavy(body: bytes) -> bool:
    """Whether a page takes long to read: by its links, its tags and its length.

    >>> is_heavy(b"<p>Hello</p>"), is_heavy(b"<a href=/x>" * 2_000)
    (False, True)
    """
    tags = body.count(b"<")
    if tags <= MAX_LINKS:  # as most pages have it
        return len(body) > MAX_BYTES
    links = body.count(b"<a") + body.count(b"<A")
    return len(body) > MAX_BYTES or tags > MAX_TAGS or links > MAX_LINKS


class Turns:
    """Lets one task at a time do heavy work: next is the host that has had the least of it.

    That is fair queuing: a task is served by when it would be done if all hosts had equal shares.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, asyncio.Future[None]]] = []
        self._done: dict[str, float] = {}
        """When the last work of a host would be done, by the clock below."""
        self._clock = 0.0
        """What each host could have had so far."""
        self._count = 0
        self._is_taken = False

    @property
    def waiting(self) -> int:
        """How many tasks have the turn or wait for it."""
        return len(self._waiting) + self._is_taken

    @asynccontextmanager
    async def turn(self, host: str, cost: float) -> AsyncIterator[None]:
        """Wait for the turn, and have it inside the context."""
        done = max(self._clock, self._done.get(host, 0.0)) + cost
        if len(self._done) >= _HOSTS:
            self._done = {name: at for name, at in self._done.items() if at > self._clock}
        self._done[host] = done
        if self._is_taken:
            await self._wait(done)
        self._is_taken = True
        self._clock = max(self._clock, done - cost)
        try:
            yield
        finally:
            self._next()

    async def _wait(self, done: float) -> None:
        own = asyncio.get_running_loop().create_future()
        self._count += 1
        heapq.heappush(self._waiting, (done, self._count, own))
        try:
            await own
        except asyncio.CancelledError:
            if not own.cancelled():
                self._next()  # the turn came too late to be used
            raise

    def _next(self) -> None:
        self._is_taken = False
        while self._waiting and not self._is_taken:
            *_, first = heapq.heappop(self._waiting)
            if not first.done():
                self._is_taken = True
                first.set_result(None)
