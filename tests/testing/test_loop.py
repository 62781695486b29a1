"""A loop that skips waiting: time is the clock's, in order, and nothing else is skipped."""

import asyncio
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from manners import AsyncClient, Client, RobotsCache
from manners._portal import portal
from manners.errors import ClientClosed
from manners.evidence.store import EvidenceStore
from manners.testing import Clock, Deadlock, ScriptedSender, SkippingLoop, run, skip_waiting

SITE = "https://a.example"
SLOW = "User-agent: *\nCrawl-delay: 3600\n"
HOURS: dict[str, Any] = {"defer_beyond": 10 * 3600.0}
"""Delays of hours are waited for."""


def site(*paths: str, robots: str = SLOW) -> dict[str, str]:
    """A site with a robots.txt and pages."""
    return {f"{SITE}/robots.txt": robots, **{f"{SITE}{path}": path for path in paths}}


def test_time_jumps_to_the_next_timer() -> None:
    """In the order of the timers, however far away they are."""
    clock, order = Clock(), []

    async def sleep(seconds: float) -> None:
        await asyncio.sleep(seconds)
        order.append((seconds, clock() - clock.start))

    async def sleepers() -> None:
        await asyncio.gather(*(sleep(seconds) for seconds in (86_400.0 * 400, 0.0, 3_600.0, 1.0)))

    began = time.monotonic()
    run(sleepers(), clock)
    assert order == [(0.0, 0.0), (1.0, 1.0), (3_600.0, 3_600.0), (86_400.0 * 400, 86_400.0 * 400)]
    assert time.monotonic() - began < 30


def test_a_timeout_is_a_timer_too() -> None:
    clock = Clock()

    async def wait() -> None:
        async with asyncio.timeout(7):
            await asyncio.Event().wait()

    with pytest.raises(TimeoutError):
        run(wait(), clock)
    assert clock() - clock.start == 7


def test_a_clock_of_its_own() -> None:
    """Without one, the loop has a clock that nobody else knows."""
    assert run(asyncio.sleep(60, "done")) == "done"


def test_a_deadlock_is_an_error() -> None:
    """Nothing will ever happen: the test fails, and does not hang."""
    with pytest.raises(Deadlock, match="no timer is set"):
        run(asyncio.Event().wait())


def test_the_work_of_threads_is_not_skipped() -> None:
    """A thread has all the real time it needs; no timer fires meanwhile."""
    clock = Clock()

    async def work() -> str:
        async with asyncio.timeout(0.01):
            await asyncio.to_thread(time.sleep, 0.1)
        return "in time"

    assert run(work(), clock) == "in time"
    assert clock() == clock.start


def test_nor_is_the_work_of_the_writer(tmp_path: Path) -> None:
    """A record is durable before any other timer fires."""
    clock = Clock()
    http = ScriptedSender(site("/a", "/b"), clock)

    async def crawl() -> list[int | None]:
        ticks = asyncio.create_task(tick())
        store = EvidenceStore(tmp_path / "proof.db")
        async with AsyncClient(http=http, clock=clock, evidence=store, **HOURS) as client:
            pages = [await client.get(SITE + path) for path in ("/a", "/b")]
        ticks.cancel()
        await asyncio.to_thread(store.close)
        return [page.evidence_id for page in pages]

    async def tick() -> None:
        while True:
            await asyncio.sleep(60)

    assert run(crawl(), clock) == [1, 2]
    assert [request.at - clock.start for request in http.requests] == [0, 3600, 7200]


def test_hours_of_crawl_delay_pass_at_once() -> None:
    """The client keeps to them, on the clock."""
    clock = Clock()
    http = ScriptedSender(site("/0", "/1", "/2"), clock)

    async def crawl() -> list[str]:
        async with AsyncClient("MyBot", http=http, clock=clock, **HOURS) as client:
            return [(await client.get(f"{SITE}/{number}")).text for number in range(3)]

    assert run(crawl(), clock) == ["/0", "/1", "/2"]
    assert http.urls == [f"{SITE}/robots.txt", f"{SITE}/0", f"{SITE}/1", f"{SITE}/2"]
    assert [request.at - clock.start for request in http.requests] == [0, 3600, 7200, 10_800]
    assert http.is_closed


def test_a_robots_txt_expires_on_the_clock() -> None:
    """After a day it is retrieved again, and a new rule holds."""
    clock = Clock()
    robots = ["", "User-agent: *\nDisallow: /"]
    http = ScriptedSender({f"{SITE}/robots.txt": robots, f"{SITE}/a": "a"}, clock)

    async def crawl() -> list[bool]:
        async with AsyncClient("MyBot", http=http, clock=clock) as client:
            before = (await client.get(f"{SITE}/a")).was_allowed
            await asyncio.sleep(2 * 86_400)
            return [before, (await client.get(f"{SITE}/a")).was_allowed]

    assert run(crawl(), clock) == [True, False]


def test_a_blocking_client_skips_waiting_too() -> None:
    """Its calls take no time, and the clock tells how long they would have taken."""
    clock = Clock()
    http = ScriptedSender(site("/0", "/1"), clock)
    before = portal._running()
    with skip_waiting(clock), Client("MyBot", http=http, clock=clock, **HOURS) as client:
        assert [client.get(f"{SITE}/{number}").text for number in range(2)] == ["/0", "/1"]
        assert client.check(f"{SITE}/0").allowed
        with client.stream(f"{SITE}/1") as stream:
            at = clock()
            time.sleep(0.05)  # the slot is renewed meanwhile, but not in this time
            assert b"".join(stream.chunks()) == b"/1"
            assert clock() - at < 600
    assert [request.at - clock.start for request in http.requests] == [0, 3600, 7200, 10_800]
    assert portal._running() is before


def test_a_blocking_cache_skips_waiting_too() -> None:
    """Retries of a retrieval are on the clock as well."""
    clock = Clock()
    http = ScriptedSender({f"{SITE}/robots.txt": "User-agent: *\nDisallow: /a"}, clock)
    with skip_waiting(clock), RobotsCache(http=http, clock=clock) as cache:
        assert not cache.allowed(f"{SITE}/a", "MyBot")
        clock.advance(3 * 86_400)
        assert not cache.allowed(f"{SITE}/a", "MyBot")
    assert len(http.requests) == 2


def test_a_client_that_is_closed_turns_away_who_waits() -> None:
    """Also in a loop that would have skipped the wait."""
    clock = Clock()
    http = ScriptedSender(site("/a", "/b"), clock)

    async def crawl() -> None:
        client = AsyncClient("MyBot", http=http, clock=clock, **HOURS)
        await client.get(f"{SITE}/a")
        waiting = asyncio.create_task(client.get(f"{SITE}/b"))
        await asyncio.sleep(1)
        await client.close()
        with pytest.raises(ClientClosed):
            await waiting

    run(crawl(), clock)
    assert clock() - clock.start == 3601


def test_a_loop_of_ones_own() -> None:
    """For a runner, or a plug-in of a test framework."""
    clock = Clock(1_000.0)
    with asyncio.Runner(loop_factory=lambda: SkippingLoop(clock)) as runner:
        runner.run(asyncio.sleep(5))
    assert clock() == 1_005


def test_assertions_load_no_event_loop() -> None:
    """Who tests a robots.txt pays for the engine alone."""
    script = (
        "import sys; from manners.testing import assert_allowed;"
        "assert_allowed('', '/', 'MyBot'); print({'asyncio', 'aiohttp'} & set(sys.modules));"
        "import manners.testing; print('run' in dir(manners.testing))"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == ["set()", "True"]
