"""Single flight: however many callers ask for a site at once, it is retrieved once."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any, Generic, TypeVar

T = TypeVar("T")

MAX_CONCURRENT = 256
"""Retrievals at a time; more wait, and their timeouts do not run meanwhile."""


class Flights(Generic[T]):
    """The retrievals under way, one per origin or URL, and the saves that follow them.

    They belong to one event loop. A forked child has another, in which nothing is under way.
    """

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._reset()

    def _reset(self) -> None:
        self._flights: dict[str, asyncio.Task[T]] = {}
        self.saves: set[asyncio.Task[None]] = set()
        self.limit = asyncio.Semaphore(MAX_CONCURRENT)
        """Acquired while a site is asked."""

    def enter(self) -> None:
        """Make sure that all of it belongs to the running loop."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop = loop
            self._reset()

    def start(
        self, place: str, retrieve: Callable[[str], Coroutine[Any, Any, T]]
    ) -> "asyncio.Task[T]":
        """Retrieve the file of a place, or join the retrieval under way."""
        self.enter()
        flight = self._flights.get(place)
        if flight is None:
            flight = self._flights[place] = asyncio.create_task(retrieve(place))
            flight.add_done_callback(lambda done: self._landed(place, done))
        return flight

    def _landed(self, place: str, flight: "asyncio.Task[T]") -> None:
        self._flights.pop(place, None)
        if not flight.cancelled():
            flight.exception()  # marks it as retrieved: a background refresh has no waiter

    def save(self, work: Coroutine[Any, Any, None]) -> None:
        """Save something, fire-and-forget."""
        save = asyncio.create_task(work)
        self.saves.add(save)
        save.add_done_callback(self.saves.discard)

    async def finish_saves(self) -> None:
        """Wait until everything that is to be saved is saved."""
        self.enter()
        await asyncio.gather(*self.saves, return_exceptions=True)

    async def close(self) -> None:
        """Cancel the retrievals, and finish the saves."""
        self.enter()
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, *self.saves, return_exceptions=True)
