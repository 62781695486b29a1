"""Workers of one crawl in one process: each has a store, a strand and a place in the fleet."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import ExitStack
from typing import Any, Self, TypeVar

from sqlalchemy import update

from manners.crawler.fleet import Fleet
from manners.crawler.frontier import crawls
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.tables import workers
from manners.crawler.frontier.values import Change, FoundUrl, ReturnedHost
from manners.crawler.frontier.ways import Limits
from manners.evidence.store import EvidenceStore

T = TypeVar("T")

PATIENCE = 120.0
"""Seconds after which a test has come to a standstill; none takes nearly as long."""
LEASE = 600.0
"""Seconds: no lease ends by itself."""


class Member:
    """One worker of a crawl."""

    def __init__(
        self,
        place: str,
        crawl: int,
        *,
        lease: float = LEASE,
        max_depth: int | None = None,
        is_adding: bool = False,
        **how: Any,
    ) -> None:
        self.store = EvidenceStore(place)
        self.fleet = Fleet(self.store, crawl, lease=lease, clock=time.time)
        try:
            self.fleet.join({})
            if not is_adding:  # as `Fleet.added` does
                with self.store.writing() as connection:
                    own = update(workers).where(workers.c.id == self.fleet.worker)
                    connection.execute(own.values(is_adding=False))
        except BaseException:
            self.store.close()
            raise
        self.frontier = Frontier(
            self.store,
            crawl,
            worker=self.fleet.worker,
            limits=Limits(max_depth),
            clock=time.time,
            **how,
        )
        self.fleet.attach(self.frontier)

    @property
    def number(self) -> int:
        return self.fleet.worker

    def run(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Run something of this worker, in an event loop of its own."""

        async def limited() -> T:
            async with asyncio.timeout(PATIENCE):
                return await work()

        return asyncio.run(limited())

    async def add(self, found: Sequence[FoundUrl]) -> Change:
        """Add URLs, and let their hosts be taken, as a run does."""
        return await self.told(await self.frontier.add(found))

    async def told(self, change: Change) -> Change:
        if change.to_wake:
            await self.frontier.wake(sorted(change.to_wake))
        return change

    async def take(self, most: int = 1_000) -> list[str]:
        """Take hosts; their names."""
        hosts, _ = await self.frontier.take_hosts(most, time.time())
        return [host.name for host in hosts]

    async def release(self, *names: str) -> None:
        """Hand hosts back that have nothing to do."""
        await self.frontier.release([ReturnedHost(name, 0.0, 0.0, None) for name in names])

    def close(self) -> None:
        self.store.close()


class Members(ExitStack):
    """Workers of one new crawl; all are closed at the end.

    with Members(place) as members:
        first, second = members.join(2)
    """

    def __init__(self, place: str, start: str = "https://example.com/") -> None:
        super().__init__()
        self.place = place
        with EvidenceStore(place) as store:
            self.crawl = crawls.begin(store, [start], now=time.time())

    def join(self, number: int, **how: Any) -> list[Member]:
        """So many more."""
        return [self.one(**how) for _ in range(number)]

    def one(self, **how: Any) -> Member:
        """One more."""
        member = Member(self.place, self.crawl, **how)
        self.callback(member.close)
        return member

    def __enter__(self) -> Self:
        super().__enter__()
        return self


def at_once(*works: Callable[[], T]) -> list[T]:
    """What several say that begin at the same time, each in a thread; no error goes unseen."""
    answers: dict[int, T] = {}
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(works))

    def run(number: int, work: Callable[[], T]) -> None:
        try:
            barrier.wait(PATIENCE)
            answers[number] = work()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=each, daemon=True) for each in enumerate(works)]
    for thread in threads:
        thread.start()
    until = time.monotonic() + 2 * PATIENCE
    for thread in threads:
        thread.join(max(until - time.monotonic(), 0.1))
    assert not any(thread.is_alive() for thread in threads), "somebody waits without an end"
    if errors:
        raise errors[0]
    return [answers[number] for number in range(len(works))]
