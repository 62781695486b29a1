"""Large pages and sitemaps are read one at a time, so that they do not slow other hosts.

A page with thousands of links takes a large part of a second to parse and to store. It is parsed in
a thread, so that the event loop is not blocked, and its links are stored in slices. One page is
read at a time, because the thread competes with the loop for the interpreter, and the links take
memory. Hosts take turns by what their pages have cost so far: a host with huge pages waits behind
its own pages, and a large page of another host does not.
"""

import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from manners.politeness.turns import Turn, wait_for_turn

MAX_LINKS, MAX_TAGS, MAX_BYTES = 500, 2_500, 262_144
"""Links, tags and bytes of a page up to which it is read in the event loop: that takes a few
milliseconds, and a thread would cost more."""
SLICE = 250
"""URLs that are stored in one transaction; links that are judged in one turn of the event loop."""
_HOSTS = 10_000
"""Hosts whose cost is remembered."""


def is_heavy(body: bytes) -> bool:
    """Whether a page takes long to read: by its links, its tags and its length.

    >>> is_heavy(b"<p>Hello</p>"), is_heavy(b"<a href=/x>" * 2_000)
    (False, True)
    """
    tags = body.count(b"<")
    if tags <= MAX_LINKS:  # true of most pages
        return len(body) > MAX_BYTES
    links = body.count(b"<a") + body.count(b"<A")
    return len(body) > MAX_BYTES or tags > MAX_TAGS or links > MAX_LINKS


class Turns:
    """Lets one task at a time do heavy work, by fair queuing among hosts.

    A task is served in the order in which tasks would be done if all hosts had equal shares.
    """

    def __init__(self) -> None:
        self._waiting: list[tuple[float, int, Turn]] = []
        self._done: dict[str, float] = {}
        """When the last task of a host would be done, in virtual time."""
        self._virtual_time = 0.0
        """The cost that each host could have had so far."""
        self._count = 0
        self._is_taken = False

    @property
    def waiting(self) -> int:
        """How many tasks have the turn or wait for it."""
        return len(self._waiting) + self._is_taken

    @asynccontextmanager
    async def turn(self, host: str, cost: float) -> AsyncIterator[None]:
        """Wait for the turn, and have it inside the context."""
        done = max(self._virtual_time, self._done.get(host, 0.0)) + cost
        if len(self._done) >= _HOSTS:
            self._done = {name: at for name, at in self._done.items() if at > self._virtual_time}
        self._done[host] = done
        if self._is_taken:
            self._count += 1
            place = done, self._count
            await wait_for_turn(
                lambda turn: heapq.heappush(self._waiting, (*place, turn)), self._next
            )
        self._is_taken = True
        self._virtual_time = max(self._virtual_time, done - cost)
        try:
            yield
        finally:
            self._next()

    def _next(self) -> None:
        self._is_taken = False
        while self._waiting and not self._is_taken:
            *_, first = heapq.heappop(self._waiting)
            if not first.done():
                self._is_taken = True
                first.set_result(None)
