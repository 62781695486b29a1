"""Politeness for crawlers in any language: turns, slots and back-off, as hosts see them."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise
from typing import Any

import aiohttp
import pytest

from tests.client.apart import LATE
from tests.client.asking import run
from tests.contracts.valkey import Valkey
from tests.faults.server import Call, Site, by_path, page
from tests.web.service import Asker, service

ROBOTS = page(b"User-agent: *\nDisallow: /private/\n")
DELAY = 0.3
SHORT: dict[str, Any] = {"lease": 5.0, "total_timeout": 4.0, "page_total_timeout": 4.0}
PACE: dict[str, Any] = {"min_delay": DELAY, "max_delay": DELAY, "concurrency": 2}


def site_with(answer: Callable[[Call], Awaitable[None]] | None = None) -> Site:
    return Site(by_path({"/robots.txt": ROBOTS}, answer or page(b"hello")))


async def crawl(asker: Asker, urls: list[str], *, tells: bool) -> None:
    """A crawler: reserves, sends, tells that the request has left, releases."""
    async with aiohttp.ClientSession() as session:
        for url in urls:
            turn = await asker.post("/v1/reserve", {"url": url, "wait": 60})
            while turn.json["state"] == "later":
                await asyncio.sleep(turn.json["retry_after"])
                turn = await asker.post("/v1/reserve", {"url": url, "wait": 60})
            assert turn.json["state"] == "granted", turn.json
            lease = turn.json["lease"]
            async with session.get(url) as reply:
                if tells:
                    await asker.post("/v1/renew", {"lease": lease})
                await reply.read()
            done = await asker.post("/v1/release", {"lease": lease, "status": reply.status})
            assert done.json["released"] is True


@pytest.mark.parametrize("tells", [True, False])
def test_a_host_sees_its_delay_whoever_crawls(tells: bool) -> None:
    """Three crawlers that ask one service keep the delay between any two requests."""

    async def ask() -> None:
        async with site_with() as site, service(**PACE) as asker:
            urls = [site.url(path=f"/{number}") for number in range(4)]
            await asyncio.gather(*(crawl(asker, urls, tells=tells) for _ in range(3)))
            times = sorted(visit.at for visit in site.log)
            assert len(times) == 13
            assert min(later - sooner for sooner, later in pairwise(times)) > DELAY - LATE

    run(ask, seconds=120)


def test_no_request_starts_before_the_one_before_has_left() -> None:
    """A crawler that is slow to send its request holds back all others, until it releases."""

    async def ask() -> None:
        async with site_with() as site, service(**PACE) as asker:
            first = await asker.post("/v1/reserve", {"url": site.url()})
            second = await asker.post("/v1/reserve", {"url": site.url(), "wait": 2 * DELAY})
            assert second.json["state"] == "later"
            waiting = asyncio.create_task(asker.post("/v1/reserve", {"url": site.url()}))
            await asyncio.sleep(2 * DELAY)
            assert not waiting.done()
            await asker.post("/v1/renew", {"lease": first.json["lease"]})
            assert (await waiting).json["state"] == "granted"
            for turn in (first, await waiting):
                await asker.post("/v1/release", {"lease": turn.json["lease"]})

    run(ask)


def test_what_is_disallowed_takes_no_slot() -> None:
    """The verdict names the line, and the next URL has its turn at once."""

    async def ask() -> None:
        async with site_with() as site, service() as asker:
            url = site.url(path="/private/x")
            turn = (await asker.post("/v1/reserve", {"url": url, "agent": "MyBot/1.0"})).json
            assert (turn["state"], turn["lease"]) == ("disallowed", None)
            assert (turn["verdict"]["line"], turn["verdict"]["allowed"]) == (2, False)
            turn = (await asker.post("/v1/reserve", {"url": site.url()})).json
            assert (turn["state"], turn["verdict"]["allowed"]) == ("granted", True)

    run(ask)


def test_the_slot_of_a_crawler_that_died_is_given_back() -> None:
    """A lease ends by itself, and then it cannot be renewed or released."""

    async def ask() -> None:
        async with site_with() as site, service(concurrency=1) as asker:
            request = {"url": site.url(), "lease": 1}
            first = (await asker.post("/v1/reserve", request)).json
            second = (await asker.post("/v1/reserve", {**request, "wait": 60})).json
            assert second["state"] == "granted"
            for verb in ("renew", "release"):
                answer = await asker.post(f"/v1/{verb}", {"lease": first["lease"]})
                assert answer.status == 404
                assert answer.json["advice"]
            metrics = (await asker.get("/metrics")).text
            assert "manners_service_leases_expired_total 1.0\n" in metrics

    run(ask)


def test_a_lease_that_is_renewed_stays() -> None:
    """Renewed in time, it is there after many times its length."""

    async def ask() -> None:
        async with site_with() as site, service(**SHORT) as asker:
            lease = (await asker.post("/v1/reserve", {"url": site.url(), "lease": 5})).json["lease"]
            for _ in range(7):
                await asyncio.sleep(1)
                assert (await asker.post("/v1/renew", {"lease": lease})).status == 200
            assert (await asker.post("/v1/release", {"lease": lease})).json["released"]

    run(ask)


def test_everybody_backs_off_from_a_host_that_says_so() -> None:
    """A 429 with Retry-After that one crawler reports defers all others."""

    async def ask() -> None:
        async with site_with() as site, service() as asker:
            turn = (await asker.post("/v1/reserve", {"url": site.url()})).json
            told = {"lease": turn["lease"], "status": 429, "retry_after": "120"}
            done = (await asker.post("/v1/release", told)).json
            assert 100 < done["backed_off_for"] <= 120
            turn = (await asker.post("/v1/reserve", {"url": site.url()})).json
            assert turn["state"] == "later"
            assert 100 < turn["retry_after"] <= 120

    run(ask)


def test_a_crawler_that_goes_away_while_it_waits_takes_no_turn() -> None:
    """Its place in the queue is free, and so is the slot that it would have had."""

    async def ask() -> None:
        async with site_with() as site, service(concurrency=1) as asker:
            first = (await asker.post("/v1/reserve", {"url": site.url()})).json
            gone = [
                asyncio.create_task(asker.post("/v1/reserve", {"url": site.url(), "wait": 60}))
                for _ in range(5)
            ]
            await asyncio.sleep(0.3)
            for task in gone:
                task.cancel()
            await asyncio.gather(*gone, return_exceptions=True)
            await asker.post("/v1/release", {"lease": first["lease"]})
            turn = (await asker.post("/v1/reserve", {"url": site.url(), "wait": 60})).json
            assert turn["state"] == "granted"
            assert "manners_service_leases 1.0\n" in (await asker.get("/metrics")).text

    run(ask)


def test_two_services_share_a_host(valkey: Valkey) -> None:
    """Crawlers of two services that share a Valkey keep the delay between any two requests."""

    async def ask() -> None:
        shared: dict[str, Any] = {**PACE, "politeness": valkey.url}
        async with site_with() as site, service(**shared) as one, service(**shared) as other:
            urls = [site.url(path=f"/{number}") for number in range(3)]
            askers = (one, other, one, other)
            await asyncio.gather(*(crawl(asker, urls, tells=True) for asker in askers))
            times = sorted(visit.at for visit in site.log)
            assert len(times) == 14
            assert min(later - sooner for sooner, later in pairwise(times)) > DELAY - LATE

    run(ask, seconds=120)


def test_no_client_has_more_leases_than_its_share() -> None:
    """Beyond its limit it is told to come back; what it gives back it may have again."""

    async def ask() -> None:
        async with site_with() as site, service(concurrency=10, leases=2) as asker:
            turns = [(await asker.post("/v1/reserve", {"url": site.url()})).json for _ in range(2)]
            answer = await asker.post("/v1/reserve", {"url": site.url()})
            assert (answer.status, answer.json["status"]) == (429, 429)
            assert int(answer.headers["Retry-After"]) >= 1
            await asker.post("/v1/release", {"lease": turns[0]["lease"]})
            turn = await asker.post("/v1/reserve", {"url": site.url()})
            assert turn.json["state"] == "granted"

    run(ask)
