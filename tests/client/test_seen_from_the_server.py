"""What hosts see of a client: how many at once, how far apart, and nothing that they closed.

Everything here is computed from the log of the server, which runs in a process of its own.
"""

import asyncio
import statistics
from itertools import pairwise

import pytest

from manners import Page
from tests.client.apart import LATE, apart, steady
from tests.client.asking import STANDSTILL, asking, keep_busy, run
from tests.client.hosts import BUSY_WAITS, CLOSED, PATIENCE
from tests.sizes import size


@pytest.mark.long
def test_no_host_sees_more_than_it_was_promised() -> None:
    """Many hosts, four tasks each: two requests at a time, the delay between any two."""
    number, seconds = size("FLEET_HOSTS"), size("FLEET_SECONDS")
    delays = {f"127.0.1.{each}": 0.35 + 0.007 * each for each in range(1, number + 1)}
    hosts = list(delays)
    own = {host: {"delay": delay} for host, delay in delays.items()}
    delays[hosts[-1]] = 0.7
    del own[hosts[-1]]  # which has the delay of all others

    async def work() -> None:
        async with (
            asking(
                min_delay=0.7,
                max_delay=0.7,
                hosts=own,
                page_read_timeout=PATIENCE,
                page_total_timeout=PATIENCE * 2,
            ) as client,
            steady(site.standstills),
        ):

            async def fetch(task: int) -> None:
                path = ("/", "/a", *CLOSED)[task // number]
                page = await client.get(site.url(hosts[task % number], path))
                await asyncio.sleep(0 if page.was_allowed else 0.5)

            await keep_busy(4 * number, asyncio.sleep(seconds), fetch, least=2)

    with apart("tests.client.hosts:mixed") as site:
        run(work, seconds + 3 * STANDSTILL)

    assert [visit for visit in site.log if visit.left is None] == []
    assert [host for host in hosts if site.most_at_once(host) > 2] == []
    early = [each for host, delay in delays.items() for each in site.early(host, delay)]
    assert min(len(site.at(host)) for host in hosts) > 4  # there was something to see
    assert sorted(each for each in early if each < -LATE) == []
    gaps = [gap - delay for host, delay in delays.items() for gap in site.gaps(host)]
    assert statistics.median(gaps) >= 0
    assert [path for path in site.paths if path.startswith(CLOSED)] == []


@pytest.mark.parametrize("path", ["/slam", "/reset"])
def test_a_host_that_slams_the_door_is_left_alone_for_the_delay(path: str) -> None:
    """What is sent once more, because a kept connection may have been closed, waits its turn."""

    async def work() -> None:
        async with asking(min_delay=0.3, max_delay=0.3) as client, steady(site.standstills):
            assert (await client.get(site.url(path="/well"))).ok
            page = await client.get(site.url(path=path))
            assert (page.status, page.cause) == (None, "connection lost")
            assert (await client.get(site.url(path="/well"))).ok

    with apart("tests.client.hosts:slamming") as site:
        run(work)
    assert site.paths[:3] == ["/robots.txt", "/well", path]
    assert set(site.paths[3:-1]) <= {path}
    assert site.paths[-1] == "/well"
    assert min(site.early("127.0.0.1", 0.3)) >= -LATE


@pytest.mark.parametrize(
    ("address", "delay", "wanted"),
    [
        pytest.param("127.0.2.1", 1.5, 3, id="Crawl-delay 1.5"),
        pytest.param(
            *("127.0.2.1", 1.5, 20),
            id="all with Crawl-delay 1.5",
            marks=pytest.mark.soak(small="test_what_a_site_asks_for_is_kept_to_by_all_who_wait"),
        ),
        pytest.param("127.0.2.2", 0.5, 5, id="Crawl-delay 0.5"),
        pytest.param("127.0.2.3", 0.5, 5, id="Request-rate"),
        pytest.param("127.0.2.4", 0.2, 8, id="a shorter Crawl-delay"),
    ],
)
def test_what_a_site_asks_for_is_kept_to_by_all_who_wait(
    address: str, delay: float, wanted: int
) -> None:
    """20 callers wait, none of them for too long: the time is waited for, not a slot."""

    async def work() -> None:
        async with (
            asking(min_delay=0.2, max_delay=0.2, slot_timeout=1.0) as client,
            steady(site.standstills),
        ):
            waiting = {
                asyncio.create_task(client.get(site.url(address, f"/{number}")))
                for number in range(20)
            }
            done: set[asyncio.Task[Page]] = set()
            while len(done) < wanted:
                some, waiting = await asyncio.wait(waiting, return_when="FIRST_COMPLETED")
                done |= some
            assert all(task.result().ok for task in done)
            for task in waiting:
                task.cancel()
            await asyncio.gather(*waiting, return_exceptions=True)

    with apart("tests.client.hosts:crawl_delay") as site:
        run(work, wanted * delay + 60)
    assert site.paths[0] == "/robots.txt"
    assert len(site.log) >= wanted + 1
    assert min(site.early(address, delay)) >= -LATE


def test_retry_after_is_obeyed_by_all() -> None:
    """Many callers, several hosts, 429 and 503: from the answer on, nobody comes until then.

    Two requests may be under way when the first answer leaves the server; a third may not.
    """
    hosts = [f"127.0.3.{number}" for number in range(1, 7)]

    async def work() -> None:
        async with (
            asking(min_delay=0.1, max_delay=0.1, initial_backoff=1.0, backoff_window=0.1) as client,
            steady(site.standstills),
        ):
            urls = [site.url(host, f"/{number}") for number in range(8) for host in hosts]
            pages = await asyncio.gather(*map(client.get, urls))
            assert {page.status for page in pages} == {200, 429, 503}
            assert sum(page.ok for page in pages) == len(urls) - 2 * len(hosts)

    with apart("tests.client.hosts:storm") as site:
        run(work)
    for host in hosts:
        visits = site.at(host)
        assert site.most_at_once(host) <= 2
        assert min(site.early(host, 0.1)) >= -LATE
        pages = [visit for visit in visits if visit.path != "/robots.txt"]
        wait = {"0": 2.0, "1": 2.0, "2": 0.8}[str(int(host[-1]) % 3)]
        assert len(pages) > 2  # they all came in the end
        for number, refused in enumerate(pages[:2]):
            left = refused.left
            assert left is not None
            under_way = [
                page
                for page in pages
                if page is not refused
                and page.at < left + wait - LATE
                and (page.left is None or page.left > left)
            ]
            assert len(under_way) <= 1, (host, number, under_way)


def test_a_host_that_stays_busy_is_asked_less_and_less() -> None:
    """503 without a word for how long: the wait doubles, and starts anew after three successes."""

    async def work() -> None:
        async with asking(
            initial_backoff=0.2, backoff_jitter=0.0, backoff_window=0.0, min_delay=0, max_delay=0
        ) as client:
            for number in range(12):
                await client.get(site.url(path=f"/{number}"))

    with apart("tests.client.hosts:busy") as site:
        run(work)
    pages = site.at("127.0.0.1")[1:]
    waits = [each.at - (before.left or 0) for before, each in pairwise(pages)]
    for wait, least in zip(waits, BUSY_WAITS, strict=True):
        assert wait >= 0.2 * least - LATE, waits


def test_a_slow_host_is_not_asked_faster_than_it_answers() -> None:
    """The adaptive delay: everything takes 0.3 s here, so that is what lies between two."""

    async def work() -> None:
        async with (
            asking(adaptive_factor=1.0, min_delay=0.05, max_delay=0.05) as client,
            steady(site.standstills),
        ):
            urls = [site.url(path=f"/{number}") for number in range(6)]
            assert all(page.ok for page in await asyncio.gather(*map(client.get, urls)))

    with apart("tests.client.hosts:even") as site:
        run(work)
    assert min(site.early("127.0.0.1", 0.3)) >= -LATE


def test_a_rate_limit_holds_for_every_host() -> None:
    """However short the delay is."""

    async def work() -> None:
        async with asking(requests_per_second=5.0) as client, steady(site.standstills):
            urls = [site.url(f"127.0.2.{2 * n}", f"/{i}") for n in (2, 4) for i in range(5)]
            await asyncio.gather(*map(client.get, urls))

    with apart("tests.client.hosts:crawl_delay") as site:
        run(work)
    for host in ("127.0.2.4", "127.0.2.8"):
        assert len(site.at(host)) == 6
        assert min(site.early(host, 0.2)) >= -LATE


def test_the_delay_is_the_hosts_all_ports_together() -> None:
    """A robots.txt on each of them, and what each says about the pace: the slowest counts."""

    async def work() -> None:
        async with (
            asking(min_delay=0.1, max_delay=0.1) as client,
            steady(site.standstills),
        ):
            urls = [site.url("127.0.2.9", f"/{n}", port=n % 2) for n in range(8)]
            assert all(page.ok for page in await asyncio.gather(*map(client.get, urls)))

    with apart("tests.client.hosts:crawl_delay", ports=2) as site:
        run(work)
    visits = site.at("127.0.2.9")
    assert {visit.port for visit in visits} == set(site.ports)
    assert min(site.early("127.0.2.9", 0.1)) >= -LATE
    known = [visit.left for visit in visits if visit.path == "/robots.txt"]
    assert None not in known
    told = max(each for each in known if each is not None)
    pages = [visit for visit in visits if visit.at > told]
    assert all(b.at - a.at >= 0.4 - LATE for a, b in pairwise(pages[1:]))
