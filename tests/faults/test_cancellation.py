"""Cancelled at every await, in politeness, cache and evidence: what is cancelled ends as cancelled,
nothing it had is lost to others, and the next one works."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from manners._valkey import Server
from manners.cache.backends import CacheBackend
from manners.cache.backends import open_backend as open_store
from manners.cache.robots import AsyncRobotsCache
from manners.cache.tier import Tier
from manners.client.hosts import HostPace
from manners.client.visit import SlotRenewal, Visit
from manners.evidence.store import EvidenceStore
from manners.logs import Reporter
from manners.net.messages import Get, Response
from manners.politeness.backends import Lease, PolitenessBackend
from manners.politeness.backends.memory import MemoryBackend
from manners.politeness.backends.valkey import ValkeyBackend
from manners.politeness.gate import Gate
from manners.politeness.schedule import Pace
from tests.client.asking import asking, run, site
from tests.contracts.entries import entry
from tests.contracts.valkey import Valkey
from tests.evidence.drafts import draft, drafts
from tests.faults.cancelling import Work, at_every_await
from tests.faults.server import Site, page

HOST = "example.com"
PACE = Pace(concurrency=1, min_delay=0.0, max_delay=0.0, slot_timeout=60.0)


def cancel_everywhere(scenario: Callable[[], AbstractAsyncContextManager[Work]]) -> None:
    async def main() -> None:
        assert await at_every_await(scenario) > 0

    run(main, 300.0)


# Politeness.


@pytest.fixture(params=["memory", "valkey", "valkey by wait_for"])
def made(request: pytest.FixtureRequest) -> Callable[[], PolitenessBackend]:
    """What makes a backend with one slot for each host, and nothing in it.

    With a timeout of its own, redis-py uses `wait_for`, which loses cancellations on 3.11.
    """
    if request.param == "memory":
        return lambda: MemoryBackend(1)
    valkey: Valkey = request.getfixturevalue("valkey")
    url = valkey.url + ("?socket_timeout=20" if "wait_for" in request.param else "")
    numbers = count()

    def make() -> PolitenessBackend:
        prefix = f"cancelled:{next(numbers)}:"
        return ValkeyBackend(url, 1, 300.0, None, f"{prefix}s:", f"{prefix}d:")

    return make


@asynccontextmanager
async def gated(backend: PolitenessBackend) -> AsyncIterator[Gate]:
    """A gate; in the end nobody is in it, all places are free, and the slot can be had."""
    gate = Gate(backend, PACE, lambda: 0.0, places=1)
    yield gate
    lease = await gate.enter(HOST, PACE.gap)
    await gate.leave(lease)
    line = gate._lanes[HOST]
    assert (line.running, line.is_led, len(line.waiting)) == (0, False, 0)
    assert gate._places.used == 0
    if isinstance(backend, ValkeyBackend):
        await settled(backend)
    lease_again = await backend.take(HOST)
    assert isinstance(lease_again, Lease)
    await backend.release(lease_again)
    await gate.close()


async def settled(backend: ValkeyBackend) -> None:
    """Wait for what goes on when nobody waits for it, as giving back what came too late."""
    while backend._tasks:
        await asyncio.wait(backend._tasks)
    pool = backend._script.server.redis.connection_pool
    assert len(pool._in_use_connections) == 0


async def visit(gate: Gate, turns: int = 1) -> None:
    lease = await gate.enter(HOST, PACE.gap)
    try:
        for _ in range(turns):
            await asyncio.sleep(0)
    finally:
        await gate.leave(lease)


def test_one_who_comes(made: Callable[[], PolitenessBackend]) -> None:
    """A visit with nobody else there."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        async with gated(made()) as gate:
            yield visit(gate)

    cancel_everywhere(scenario)


def test_one_in_line(made: Callable[[], PolitenessBackend]) -> None:
    """Somebody has the slot, and somebody waits behind: the line moves on."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        async with gated(made()) as gate:
            before = [asyncio.create_task(visit(gate, 20)) for _ in range(2)]
            await asyncio.sleep(0)
            yield with_one_behind(gate)
            await asyncio.gather(*before)

    async def with_one_behind(gate: Gate) -> None:
        behind = asyncio.create_task(visit(gate))
        try:
            await visit(gate)
        finally:
            await asyncio.shield(behind)

    cancel_everywhere(scenario)


def test_one_who_waits_for_the_time(made: Callable[[], PolitenessBackend]) -> None:
    """The start that was reserved is not lost: the next one takes it."""
    pause = 0.02

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        async with gated(made()) as gate:
            await gate.leave(await gate.enter(HOST, lambda _: pause))
            yield visit(gate)

    cancel_everywhere(scenario)


@pytest.mark.parametrize("verb", ["renew", "penalise", "reserve", "release"])
def test_single_verbs(made: Callable[[], PolitenessBackend], verb: str) -> None:
    """Renewing, a penalty, a start that is reserved, a slot that is given back."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        backend = made()
        async with gated(backend) as gate:
            lease = await gate.enter(HOST, PACE.gap)
            try:
                yield spoken(backend, lease)
            finally:
                await gate.leave(lease)

    async def spoken(backend: PolitenessBackend, lease: Lease) -> None:
        match verb:
            case "renew":
                await backend.renew(lease)
            case "penalise":
                await backend.penalise(HOST, 0.0)
            case "reserve":
                await backend.reserve(HOST, 0.0)
            case "release":
                await backend.release(lease)
        await asyncio.sleep(0)

    cancel_everywhere(scenario)


def test_a_slot_that_is_held_and_renewed(made: Callable[[], PolitenessBackend]) -> None:
    """A stream that ends at any moment of a renewal ends, and its slot is free."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        async with gated(made()) as gate:
            yield held(gate)

    async def held(gate: Gate) -> None:
        lease = await gate.enter(HOST, PACE.gap)
        visiting = Visit(
            gate, HostPace(HOST, PACE, None, time.time, lambda: 0.0), lease, Reporter()
        )
        renewed = visiting._renewed
        async with SlotRenewal(visiting, 0.003):
            while visiting._renewed == renewed:
                await asyncio.sleep(0.001)
            for _ in range(3):
                await asyncio.sleep(0)

    cancel_everywhere(scenario)


def test_a_backend_that_is_closed(valkey: Valkey) -> None:
    """It can be closed again; what was under way has ended."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        backend = ValkeyBackend(valkey.url, 1, delay_prefix="closed:")
        telling = asyncio.create_task(backend.penalise(HOST, 0.0))
        await asyncio.sleep(0)
        yield backend.close()
        await backend.close()
        await telling

    cancel_everywhere(scenario)


def test_a_question_to_a_server_whose_answer_is_waited_for_with_wait_for(valkey: Valkey) -> None:
    """The connection has a limit of its own, by `wait_for`, which loses cancellations on 3.11."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        server = Server(f"{valkey.url}?socket_timeout=20")
        await server.answer(server.redis.ping())
        yield asked(server)
        await server.close()

    async def asked(server: Server) -> None:
        await server.answer(server.redis.ping())
        await asyncio.sleep(0)

    cancel_everywhere(scenario)


# Cache.


@pytest.fixture(params=["sqlite", "valkey"])
def stored(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], CacheBackend]:
    """What makes a store of a cache, in a place of its own."""
    if request.param == "sqlite":
        numbers = count()
        return lambda: open_store(str(tmp_path / f"{next(numbers)}.db"))
    valkey: Valkey = request.getfixturevalue("valkey")

    def make() -> CacheBackend:
        valkey.command("FLUSHALL")
        return open_store(valkey.url)

    return make


class Sender:
    """Sends a robots.txt, after a while."""

    async def send(self, get: Get) -> Response:
        await asyncio.sleep(0)
        assert get.url.endswith("/robots.txt")
        return Response(200, {}, b"User-agent: *\nDisallow: /private")

    async def close(self) -> None:
        pass


def test_a_robots_txt(stored: Callable[[], CacheBackend]) -> None:
    """Whoever else waits for it gets it, and so does the next one."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        cache = AsyncRobotsCache(store=stored(), http=Sender())
        yield cache.get("https://example.com/")
        found = await cache.check("https://example.com/private", "MyBot")
        assert not found.allowed
        await cache.close()

    cancel_everywhere(scenario)


def test_a_cache_that_is_closed(stored: Callable[[], CacheBackend]) -> None:
    """It can be closed again; what was under way has ended."""

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        cache = AsyncRobotsCache(store=stored(), http=Sender())
        asking = asyncio.create_task(cache.get("https://example.com/"))
        await asyncio.sleep(0)
        yield cache.close()
        await cache.close()
        await asyncio.gather(asking, return_exceptions=True)

    cancel_everywhere(scenario)


@pytest.mark.parametrize("verb", ["load", "save", "forget"])
def test_what_keeps_files(stored: Callable[[], CacheBackend], verb: str) -> None:
    """It keeps and finds the next one; a cancellation is no failure of it."""
    kept = entry()

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        problems: list[str] = []
        tier = Tier(stored(), problems.append)
        await tier.save(kept)
        given = kept if verb == "save" else kept.origin
        yield then_wait(getattr(tier, verb)(given))
        await tier.save(kept)
        assert await tier.load(kept.origin) == kept
        assert problems == []
        await tier.close()

    cancel_everywhere(scenario)


async def then_wait(work: Work) -> None:
    await work
    await asyncio.sleep(0)


# Evidence.


@pytest.mark.parametrize("verb", ["append", "write", "close"])
def test_a_store(tmp_path: Path, verb: str) -> None:
    """The chain is whole, and the next record is written."""
    numbers, one, more = count(), draft(), drafts(2)

    @asynccontextmanager
    async def scenario() -> AsyncIterator[Work]:
        place = tmp_path / f"{next(numbers)}.db"
        store = EvidenceStore(place)
        first = await store.append(more[0])
        match verb:
            case "append":
                yield then_wait(store.append(one))
            case "write":
                yield then_wait(store.write(lambda _, items: items, 1))
            case "close":
                yield then_wait(asyncio.to_thread(store.close))
        if verb != "close":
            assert await store.append(more[1]) > first
        await asyncio.to_thread(store.close)
        with EvidenceStore(place) as again:
            assert list(again.verify()) == []
            assert again.head().number == again.count() >= 1

    cancel_everywhere(scenario)


# All of it.


@pytest.mark.parametrize("shared", [False, True])
def test_a_page(tmp_path: Path, valkey: Valkey, shared: bool) -> None:
    """With its robots.txt, a cache, evidence and slots: the next page comes, and closing ends."""
    numbers = count()
    if shared:
        valkey.command("FLUSHALL")

    async def main() -> None:
        async with Site(site()) as server:

            @asynccontextmanager
            async def scenario() -> AsyncIterator[Work]:
                number = next(numbers)
                more: dict[str, Any] = {"politeness": valkey.url} if shared else {}
                client = asking(
                    cache=str(tmp_path / f"cache-{number}.db"),
                    evidence=tmp_path / f"{number}.db",
                    concurrency=1,
                    **more,
                )
                yield client.get(server.url(path="/a"))
                assert (await client.get(server.url(path="/b"))).ok
                assert client._gate._places.used == 0
                await client.close()
                with EvidenceStore(tmp_path / f"{number}.db") as store:
                    assert list(store.verify()) == []

            assert await at_every_await(scenario) > 0

    run(main, 300.0)


def test_files_with_usage_signals() -> None:
    """Whoever stops waiting for a file leaves it to the next, who has it, and its slot is free."""

    async def main() -> None:
        answer = site(page(b"User-agent: *\nContent-Usage: train-ai=n\n"))
        async with Site(answer) as server:

            @asynccontextmanager
            async def scenario() -> AsyncIterator[Work]:
                client = asking(signals=["tdmrep", "trust-txt"], concurrency=1)
                found = await client.get(server.url(path="/a"))
                yield client.usage(found)
                assert (await client.usage(found))["ai-train"].answer == "no"
                assert client._gate._places.used == 0
                await client.close()

            assert await at_every_await(scenario) > 0

    run(main, 300.0)
