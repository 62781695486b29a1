"""What a crawler does today, and what it does with manners: the table of the documentation.

Every situation is played on hosts of its own, for each library alone and with manners. What the
host has seen is put in a few words, which are those of the table.
"""

import asyncio
import re
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest

from manners.errors import MannersError
from tests.client.asking import AT_ONCE, OPEN, in_turn, rules, run, site, slow, to
from tests.compat.callers import CALLERS, Caller
from tests.compat.crawling import crawl
from tests.faults.server import Call, Handler, Site, Visit, by_address, page

DOCS = Path(__file__).parents[2] / "docs" / "coming-from" / "today.md"
DELAY = 1.0
RETRY = 2.0
MANY = 6
LATER = ("/first", "/open", "/closed")
SHORT = {"fresh_minutes": 0.02}
"""A robots.txt is good for as long as the first page takes, and no longer."""


class Situation(NamedTuple):
    """A site, what is asked for there, and how what it has seen reads in words."""

    make: Callable[[], Handler]
    paths: Sequence[str]
    words: Callable[[list[Visit]], str]
    at_once: bool = False
    settings: Mapping[str, Any] = MappingProxyType({})


# In words.


def reached(visits: list[Visit]) -> str:
    """Which of an open page and a closed one were fetched."""
    asked = {visit.path for visit in visits}
    words = {
        (True, True): "fetches everything",
        (True, False): "fetches what is allowed",
        (False, False): "fetches nothing",
    }
    return words["/open" in asked, "/closed" in asked]


def followed(visits: list[Visit]) -> str:
    asked = {visit.path for visit in visits}
    assert {"/go", "/hop"} <= asked
    return "follows it" if "/closed" in asked else "does not follow it"


def delayed(visits: list[Visit]) -> str:
    """Whether all requests were apart; by half of it, as the machine may be busy."""
    early = [after.at - before.at < DELAY / 2 for before, after in pairwise(visits)]
    assert len(early) >= 3
    return "does not wait" if any(early) else "waits"


def left_alone(visits: list[Visit]) -> str:
    """Whether nothing came too early after each reply that asked for a pause."""
    asked = [visit.path for visit in visits]
    places = [asked.index(path) for path in ("/busy0", "/busy1")]
    early = [visits[place + 1].at - visits[place].at < RETRY / 2 for place in places]
    return "does not wait" if any(early) else "waits"


def together(visits: list[Visit]) -> str:
    pages = [visit for visit in visits if visit.path != "/robots.txt"]
    assert len(pages) == MANY
    most = max(int(visit.headers["running"]) for visit in pages)
    return "sends 2 at a time" if most <= 2 else "sends more than 2 at a time"


# Sites.

CLOSED = rules("Disallow: /closed")


def busy() -> Handler:
    """Pages that are too much the first time, and say for how long."""
    pages = {
        f"busy{number}": in_turn(page(b"", 503, [("Retry-After", f"{RETRY:.0f}")]), page(b"ok"))
        for number in range(2)
    }
    return site(**pages)


def crowded() -> Handler:
    """Pages that wait until all are wanted, or no more come; they write down how many there are."""
    running, latest = 0, 0.0

    async def wait(call: Call) -> None:
        nonlocal running, latest
        visit = await call.request()
        running, latest = running + 1, time.monotonic()
        visit.headers["running"] = str(running)
        while running < MANY and time.monotonic() < latest + 0.6:
            await call.pause(0.05)
        running -= 1
        await call.reply(200, b"ok")

    return site(page=wait)


SITUATIONS = {
    "robots.txt disallows a path": Situation(lambda: site(CLOSED), ("/open", "/closed"), reached),
    "there is no robots.txt (404)": Situation(
        lambda: site(page(status=404)), ("/open", "/closed"), reached
    ),
    "robots.txt answers 503": Situation(
        lambda: site(page(status=503)), ("/open", "/closed"), reached
    ),
    "robots.txt answers 429": Situation(
        lambda: site(page(status=429)), ("/open", "/closed"), reached
    ),
    "robots.txt has new rules when it has expired": Situation(
        lambda: site(in_turn(OPEN, CLOSED), first=slow(1.5)), LATER, reached, settings=SHORT
    ),
    "robots.txt answers 503 when it has expired": Situation(
        lambda: site(in_turn(CLOSED, page(status=503)), first=slow(1.5)),
        LATER,
        reached,
        settings=SHORT,
    ),
    "a redirect leads to a disallowed path": Situation(
        lambda: site(CLOSED, go=to("/hop"), hop=to("/closed")), ("/go",), followed
    ),
    "robots.txt has a Crawl-delay": Situation(
        lambda: site(rules(f"Crawl-delay: {DELAY}")), [f"/{n}" for n in range(4)], delayed
    ),
    "a page answers 503 with Retry-After": Situation(
        busy, ("/busy0", "/a", "/busy1", "/b"), left_alone
    ),
    "many pages of a host are requested at once": Situation(
        crowded, [f"/page?{n}" for n in range(MANY)], together, at_once=True
    ),
}


# The libraries.

PLAYERS = [(make, polite) for make in CALLERS for polite in (False, True)]


def address(situation: int, player: int) -> str:
    return f"127.0.{situation + 10}.{player + 1}"


def server_for(players: int) -> Site:
    """A host for each situation and each player."""
    hosts = {
        address(number, player): situation.make()
        for number, situation in enumerate(SITUATIONS.values())
        for player in range(players)
    }
    return Site(by_address(hosts))


def in_words(server: Site, situation: int, player: int) -> str:
    visits = [visit for visit in server.log if visit.address == address(situation, player)]
    return list(SITUATIONS.values())[situation].words(visits)


async def walk(caller: Caller, urls: Sequence[str], at_once: bool) -> None:
    async def ask(url: str) -> None:
        try:
            await caller.fetch(url)
        except MannersError:
            return

    async with caller:
        if at_once:
            await asyncio.gather(*map(ask, urls))
        else:
            for url in urls:
                await ask(url)


@pytest.fixture(scope="module")
def callers() -> Site:
    """Every library in every situation; what the hosts have seen."""

    async def main() -> Site:
        asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(2 * MANY + 8))
        async with server_for(len(PLAYERS)) as server:
            for number, situation in enumerate(SITUATIONS.values()):
                for turn in (False, True):
                    await asyncio.gather(
                        *(
                            walk(
                                with_manners(make, situation) if polite else make.today(),
                                [
                                    server.url(address(number, player), path)
                                    for path in situation.paths
                                ],
                                situation.at_once,
                            )
                            for player, (make, polite) in enumerate(PLAYERS)
                            if polite is turn
                        )
                    )
            assert server.failures == []
        return server

    return run(main, 120.0)


GIVEN = {**AT_ONCE, "initial_backoff": 0.05, "slot_timeout": 60.0}


def with_manners(make: type[Caller], situation: Situation) -> Caller:
    return make("MyBot", **{**GIVEN, **situation.settings})


# Scrapy.


@pytest.fixture(scope="module")
def scrapy() -> Site:
    """Scrapy in every situation, alone and with manners; what the hosts have seen."""

    async def main() -> Site:
        async with server_for(2) as server:
            await crawl(
                [
                    {
                        "urls": [
                            server.url(address(number, player), path) for path in situation.paths
                        ],
                        "at_once": situation.at_once,
                        "manners": {**GIVEN, **situation.settings} if player else None,
                    }
                    for number, situation in enumerate(SITUATIONS.values())
                    for player in range(2)
                ]
            )
            assert server.failures == []
        return server

    return run(main, 120.0)


# The table.


def table() -> dict[str, list[str]]:
    """The rows of the table: what is in the first column, and the others."""
    rows = re.findall(r"^\| (.+) \|$", DOCS.read_text("utf-8"), re.MULTILINE)
    cells = [[cell.strip() for cell in row.split("|")] for row in rows]
    return {row[0]: row[1:] for row in cells if len(row) == 5 and row[0] in SITUATIONS}


def test_the_table_has_every_situation() -> None:
    """In the order in which they are played."""
    assert list(table()) == list(SITUATIONS)


@pytest.mark.parametrize("number", range(len(SITUATIONS)), ids=list(SITUATIONS))
def test_libraries_do_what_the_table_says(callers: Site, number: int) -> None:
    """Each alone, and each with manners."""
    row = table()[list(SITUATIONS)[number]]
    found = {
        f"{make.library}{', with manners' if polite else ''}": in_words(callers, number, player)
        for player, (make, polite) in enumerate(PLAYERS)
    }
    assert found == {
        f"{make.library}{', with manners' if polite else ''}": row[polite]
        for make, polite in PLAYERS
    }


@pytest.mark.parametrize("number", range(len(SITUATIONS)), ids=list(SITUATIONS))
def test_scrapy_does_what_the_table_says(scrapy: Site, number: int) -> None:
    """Alone, and with manners."""
    row = table()[list(SITUATIONS)[number]]
    assert [in_words(scrapy, number, player) for player in range(2)] == row[2:]
