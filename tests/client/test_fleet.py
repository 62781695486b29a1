"""What hosts see of several processes that share their politeness by a real Valkey.

Everything here is computed from the log of the server, which runs in a process of its own.
"""

import time
from collections import Counter
from pathlib import Path

import pytest

from manners.errors import PolitenessError
from manners.settings import Settings
from tests.client.apart import LATE, STANDSTILL, apart
from tests.client.asking import asking, blocking, run
from tests.client.fleet import crew
from tests.client.hosts import CLOSED
from tests.client.hosts import PATIENCE as PAGE
from tests.contracts.valkey import Valkey
from tests.faults.server import Visit
from tests.sizes import size

LEASE = 3.0
"""Seconds; requests have to end before."""
SHORT = {"lease": LEASE, "total_timeout": 2.5, "page_total_timeout": 2.5}


@pytest.mark.long
def test_no_host_sees_more_of_a_fleet_than_it_was_promised(tmp_path: Path) -> None:
    """4 processes, many hosts: two requests at a time, the delay between any two, none closed."""
    number, seconds = size("FLEET_HOSTS"), size("FLEET_SECONDS")
    delays = {f"127.0.1.{each}": 0.35 + 0.007 * each for each in range(1, number + 1)}
    names = list(delays)
    settings = {
        "hosts": {host: {"delay": delay} for host, delay in delays.items()},
        "page_read_timeout": PAGE,
        "page_total_timeout": PAGE * 2,
    }

    with (
        Valkey(tmp_path) as valkey,
        apart("tests.client.hosts:mixed") as site,
        crew(4, site, valkey.url, names, **settings) as workers,
    ):
        time.sleep(seconds)
        for worker in workers:
            worker.end()

    assert [worker.errors for worker in workers] == [0] * 4
    agents = Counter((visit.headers["user-agent"], visit.address) for visit in site.log)
    assert min(agents[worker.name, host] for worker in workers for host in names) > 1
    assert [host for host in names if site.most_at_once(host) > 2] == []
    early = [each for host, delay in delays.items() for each in site.early(host, delay)]
    assert sorted(each for each in early if each < -LATE) == []
    assert [path for path in site.paths if path.startswith(CLOSED)] == []


def test_the_slots_of_a_process_that_was_killed_are_back(tmp_path: Path) -> None:
    """Whoever waits for them has them when their leases are over, and not before."""
    host = "127.0.1.1"
    slots = f"host_concurrency:{{{host}}}"

    async def inherit() -> None:
        async with asking(
            "Heir", politeness=valkey.url, slot_timeout=STANDSTILL, **SHORT
        ) as client:
            assert (await client.get(site.url(host, "/quick"))).ok

    with (
        Valkey(tmp_path) as valkey,
        apart("tests.client.hosts:waiting") as site,
        crew(1, site, valkey.url, [host], **SHORT) as workers,
    ):
        until = time.monotonic() + STANDSTILL
        while valkey.command("ZCARD", slots) != b":2\r\n":
            assert time.monotonic() < until
            time.sleep(0.005)
        workers[0].kill()
        # Microseconds, by the clock of that server: when the first of the two leases ends.
        *_, ends, _ = valkey.command("ZRANGE", slots, "0", "0", "WITHSCORES").split(b"\r\n")
        free = float(ends) / 1e6 - time.time() + time.monotonic()
        run(inherit)
    ours = [visit for visit in site.at(host) if visit.headers["user-agent"] == "Heir"]
    assert [visit.path for visit in ours] == ["/robots.txt", "/quick"]
    assert ours[0].at >= free - LATE


def test_a_server_that_is_away_stops_everybody_and_is_back(tmp_path: Path) -> None:
    """No request without it; and when it has forgotten everything, each process knows its own."""
    hosts, delay = [f"127.0.1.{number}" for number in range(1, 5)], 0.4

    def all_since(moment: float) -> bool:
        """Whether everybody has been everywhere since."""
        seen = {(visit.headers["user-agent"], visit.address) for visit in since(moment)}
        return {(worker.name, host) for worker in workers for host in hosts} <= seen

    def since(moment: float) -> list[Visit]:
        return [visit for visit in site.log if visit.at >= moment]

    with (
        Valkey(tmp_path) as valkey,
        apart("tests.client.hosts:quick") as site,
        crew(3, site, valkey.url, hosts, min_delay=delay, max_delay=delay) as workers,
    ):
        site.wait_until(lambda: all_since(0))
        valkey.kill()
        back = [time.monotonic()]
        valkey.start()  # at once, within the delay
        site.wait_until(lambda: all_since(back[0] + delay))
        valkey.kill()
        gone = time.monotonic()
        for worker in workers:
            worker.wait_for_error(gone)
        time.sleep(3 * delay)
        back.append(time.monotonic())
        valkey.start()
        site.wait_until(lambda: all_since(back[1] + delay))
        for worker in workers:
            worker.end()

    for host in hosts:
        # Two that had their slots may still have been on their way.
        assert len([each for each in site.at(host) if gone < each.at < back[1]]) <= 2
        for worker in workers:
            visits = [it for it in site.at(host) if it.headers["user-agent"] == worker.name]
            assert [each for each in site.early_of(visits, delay) if each < -LATE] == []
        # Between all of them the delay is kept, but for those who met when all was forgotten.
        for begun, end in ((0, back[0]), (back[0] + delay, gone), (back[1] + delay, float("inf"))):
            visits = [visit for visit in site.at(host) if begun <= visit.at < end]
            assert [each for each in site.early_of(visits, delay) if each < -LATE] == []


def test_blocking_clients_share_it_too(tmp_path: Path) -> None:
    """Given to a client, or in its settings."""
    slow = {"min_delay": 0.3, "max_delay": 0.3}
    with (
        Valkey(tmp_path) as valkey,
        apart("tests.client.hosts:quick") as site,
        blocking("One", politeness=valkey.url, **slow) as one,
        blocking("Two", settings=Settings(politeness=valkey.url), **slow) as two,
    ):
        for client in (one, two, one, two):
            assert client.get(site.url()).ok
    assert len(site.log) == 6
    assert min(site.early("127.0.0.1", 0.3)) >= -LATE


def test_without_a_server_a_client_asks_nobody() -> None:
    """An error, and not a request: not for robots.txt either."""

    async def work() -> None:
        async with asking("MyBot", politeness="valkey://127.0.0.1:1/0") as client:
            for path in ("/", "/a"):
                with pytest.raises(PolitenessError, match="no request may start"):
                    await client.get(site.url(path=path))

    with apart("tests.client.hosts:quick") as site:
        run(work)
    assert site.log == []
