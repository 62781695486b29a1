"""Section 9: the gap that a server sees, and pages at servers that close idle connections."""

import asyncio
import time
from pathlib import Path

import pytest

from manners.politeness.backends.valkey import ValkeyBackend
from manners.politeness.gate import Gate
from manners.politeness.schedule import Pace
from tests.client.apart import LATE, apart, stalling
from tests.client.asking import STANDSTILL, asking, keep_busy, run
from tests.client.fleet import crew
from tests.client.hosts import idle
from tests.contracts.valkey import Valkey
from tests.faults.server import Site

DELAY = 0.5


def test_the_gap_that_a_server_sees_is_the_promise_on_a_busy_machine_too() -> None:
    """Five hosts, and a loop that stands still in every turn: judged by the server's own clock."""
    hosts = [f"127.0.1.{number}" for number in range(1, 6)]

    async def work() -> None:
        async with asking() as client, stalling(0.03):

            async def fetch(number: int) -> None:
                await client.get(site.url(hosts[number % 5], f"/{number}"))

            await keep_busy(10, asyncio.sleep(4.0), fetch, least=2)

    with apart("tests.client.hosts:closing") as site:
        run(work, 3 * STANDSTILL)
    early = [each for host in hosts for each in site.early(host, DELAY)]
    assert sorted(each for each in early if each < -LATE) == []


def test_the_gap_that_a_server_sees_of_a_fleet_is_the_promise_on_a_busy_machine_too(
    tmp_path: Path,
) -> None:
    """Two processes share their politeness, and stand still between a start and the socket."""
    hosts = [f"127.0.1.{number}" for number in range(1, 4)]
    with (
        Valkey(tmp_path) as valkey,
        apart("tests.client.hosts:closing") as site,
        crew(2, site, valkey.url, hosts, stall=0.4, min_delay=DELAY, max_delay=DELAY) as workers,
    ):
        site.wait_until(lambda: min(len(site.at(host)) for host in hosts) >= 6)
        for worker in workers:
            worker.end()
    site.standstills_of.clear()  # what they were held up by is no excuse
    early = [each for host in hosts for each in site.early(host, DELAY)]
    assert sorted(each for each in early if each < -LATE) == []


def test_a_process_of_a_fleet_that_stands_still_before_it_sends_takes_its_turn_again(
    tmp_path: Path,
) -> None:
    """Where another has started meanwhile; where nobody has, the next start counts from then."""
    pace, gap = Pace(), 0.2

    async def work() -> None:
        one, two = (Gate(ValkeyBackend(valkey.url), pace) for _ in range(2))
        stalled = await one.enter("example.com", lambda _: gap, tells=True)
        time.sleep(2 * gap)
        assert one.is_late(stalled)
        other = await two.enter("example.com", lambda _: 60.0, tells=True)
        two.departed(other)
        assert not await one.may_depart(stalled)
        await one.leave(stalled)

        stalled = await one.enter("other.example", lambda _: gap, tells=True)
        time.sleep(2 * gap)
        assert await one.may_depart(stalled)
        left = time.time()
        one.departed(stalled)
        await two.enter("other.example", lambda _: gap)
        assert time.time() >= left + gap
        for gate in (one, two):
            await gate.close()

    with Valkey(tmp_path) as valkey:
        run(work)


@pytest.mark.parametrize("verb", ["get", "head"])
def test_no_page_is_lost_at_a_server_that_closes_idle_connections(verb: str) -> None:
    """It closes each connection 1 ms after its answer, and says nothing."""

    async def work() -> None:
        async with Site(idle) as server, asking() as client:
            urls = iter([server.url(f"127.0.0.{n % 8 + 1}", f"/{n}") for n in range(300)])

            async def fetch() -> list[str]:
                return [(await getattr(client, verb)(url)).cause for url in urls]

            found = await asyncio.gather(*(fetch() for _ in range(64)))
            assert {cause for causes in found for cause in causes} == {""}
            assert sum(map(len, found)) == 300

    run(work)
