"""The hosts that a worker owns, with a store that answers when the test says so."""

import asyncio
from collections.abc import Coroutine, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from manners.crawler.frontier.values import LeasedUrl, OwnedHost, ReturnedHost, TakenHosts
from manners.crawler.holdings import Holdings
from manners.crawler.scheduler import Scheduler
from tests.client.asking import run

NOW = 1_000.0
HOST = "example.com"


class SlowFrontier:
    """A store that has written what it was told to, and does not answer yet."""

    def __init__(self, *hosts: OwnedHost) -> None:
        self.store = SimpleNamespace(is_sqlite=False)
        self.owned: set[str] = set()
        self.free = {host.name: host for host in hosts}
        self.answer = asyncio.Event()
        self.answer.set()

    async def take_hosts(self, most: int, _: float) -> TakenHosts:
        taken = [self.free.pop(name) for name in sorted(self.free)[:most]]
        self.owned.update(host.name for host in taken)
        await self.answer.wait()
        return TakenHosts(taken, None)

    async def borrow(self, name: str) -> OwnedHost | None:
        host = self.free.pop(name, None)
        if host is not None:
            self.owned.add(name)
        await self.answer.wait()
        return host

    async def release(self, returned: Sequence[ReturnedHost]) -> int:
        for host in returned:
            self.owned.discard(host.name)
            self.free[host.name] = OwnedHost(host.name, 1, host.delay, host.not_before)
        await self.answer.wait()
        return 0


class Scene:
    """The holdings of a worker, its clock, and what its client was told."""

    def __init__(self, *hosts: OwnedHost) -> None:
        self.now, self.penalties = NOW, dict[str, float]()
        self.frontier = SlowFrontier(*hosts)
        self.tasks: list[asyncio.Task[None]] = []
        client: Any = SimpleNamespace(
            settings=SimpleNamespace(connections=8, max_delay=7.0),
            evidence=None,
            penalise=self.penalise,
            pace_of=lambda name: (1.0, self.penalties.get(name, 0.0)),
            is_asking=lambda _: False,
        )
        frontier: Any = self.frontier
        self.holdings = Holdings(
            frontier, client, lambda: self.now, self.start, lambda _: None, may_borrow=True
        )
        self.holdings.scheduler = Scheduler[LeasedUrl](self.holdings.pace, lambda _: 1, 8)

    async def penalise(self, host: str, until: float) -> None:
        self.penalties[host] = until

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        self.tasks.append(asyncio.create_task(work))

    async def take(self) -> None:
        """Take what is free."""
        self.holdings.take_at = 0.0
        self.holdings.take_more(self.now)
        await self.tasks[-1]

    @property
    def known(self) -> list[str]:
        """The hosts that the scheduler knows of."""
        return sorted(self.holdings.scheduler.queues)


async def turns() -> None:
    """Let everything run that can."""
    for _ in range(20):
        await asyncio.sleep(0)


def test_a_host_is_asked_by_nobody_before_its_pace_is_known() -> None:
    """A robots.txt that redirects to a host does not come before the host was handed over."""

    async def steps() -> None:
        scene = Scene(OwnedHost(HOST, 2, 30.0, NOW + 20.0))
        scene.frontier.answer.clear()
        taking = asyncio.create_task(scene.take())
        await turns()
        assert scene.frontier.owned == {HOST}, "it is written"
        asking = asyncio.create_task(scene.holdings.admit(HOST))
        await turns()
        assert not asking.done()
        asking.cancel()
        scene.frontier.answer.set()
        await taking
        await scene.holdings.admit(HOST)
        assert scene.penalties == {HOST: NOW + 20.0}, "as whoever had it before says"

    run(steps)


def test_a_redirect_to_a_host_that_waits_waits_as_well() -> None:
    """The time before which a host may not be asked holds for every request, not only for pages."""

    async def steps() -> None:
        scene = Scene(OwnedHost(HOST, 2, 30.0, NOW + 20.0))
        await scene.take()
        await scene.holdings.admit(HOST)
        assert scene.penalties == {HOST: NOW + 20.0}
        scene.now = NOW + 20.0
        scene.penalties.clear()
        await scene.holdings.admit(HOST)
        assert scene.penalties == {}, "its time has come"

    run(steps)


@pytest.mark.parametrize(("epoch", "until"), [(1, None), (2, NOW + 7.0)], ids=["new", "asked"])
def test_a_borrowed_host_keeps_the_delay_that_nobody_wrote_down(
    epoch: int, until: float | None
) -> None:
    """Whoever asked it before, and died, may have had the longest delay there is."""

    async def steps() -> None:
        scene = Scene(OwnedHost(HOST, epoch, None, 0.0))
        await scene.holdings.admit(HOST)
        assert scene.penalties.get(HOST) == until

    run(steps)


def test_a_host_that_is_handed_back_twice_is_not_asked_meanwhile() -> None:
    """A host that was handed back, taken and handed back again is not asked after that."""

    async def steps() -> None:
        scene = Scene(OwnedHost(HOST, 1, None, 0.0))
        holdings, frontier = scene.holdings, scene.frontier
        await scene.take()
        frontier.answer.clear()
        first = asyncio.create_task(holdings.release([HOST]))
        await turns()
        assert scene.known == []
        held, frontier.answer = frontier.answer, asyncio.Event()
        frontier.answer.set()
        await scene.take()  # before it is known that the first is written
        assert scene.known == [HOST], "it has something to do"
        frontier.answer.clear()
        second = asyncio.create_task(holdings.release([HOST]))
        await turns()
        held.set()
        await first
        holdings.found(HOST)
        assert scene.known == [], "it is another's by now"
        asking = asyncio.create_task(holdings.admit(HOST))
        await turns()
        assert not asking.done()
        asking.cancel()
        frontier.answer.set()
        await second

    run(steps)
