"""The site of the demo: its two hosts, what it answers, and what it writes down."""

import asyncio
import gzip
import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import aiohttp
import pytest

from manners import parse
from manners.demo.cases import CASES
from manners.demo.site import (
    LIBRARY,
    RETRY_AFTER,
    ROBOTS,
    SETTINGS,
    SHOP,
    SLOW,
    DemoSite,
)

Asked = tuple[int, dict[str, str], bytes]


class Asking:
    """The site, and a client that asks whatever it is told to."""

    def __init__(self, site: DemoSite, session: aiohttp.ClientSession) -> None:
        self.site, self._session = site, session

    async def get(self, short: str) -> Asked:
        async with self._session.get(self.site.url(short), allow_redirects=False) as reply:
            return reply.status, dict(reply.headers), await reply.read()


@asynccontextmanager
async def asking() -> AsyncIterator[Asking]:
    async with DemoSite() as site, aiohttp.ClientSession() as session:
        yield Asking(site, session)


def test_every_page_that_is_to_be_fetched_is_there() -> None:
    """What the cases expect of a page that is asked for is what the site answers."""

    async def main() -> None:
        async with asking() as it:
            for case in CASES:
                for short, expected in case.expected:
                    if expected[0].isdigit() and short not in ("/slow", "/busy"):
                        status, headers, _ = await it.get(short)
                        to = f" to {headers['Location']}" if status == 302 else ""
                        assert f"{status}{to}" == expected, short
            assert (await it.get("/nothing"))[0] == 404

    asyncio.run(main())


def test_each_host_has_its_own_robots_txt() -> None:
    """One server, two hosts: what a request names decides."""

    async def main() -> None:
        async with asking() as it:
            for name in (SHOP, LIBRARY):
                _, _, body = await it.get(f"{name}/robots.txt")
                assert body.decode() == it.site.robots(name)
            robots = parse(it.site.robots(LIBRARY)).policy(SETTINGS.identity.agent)
            assert robots.crawl_delay == 1.0
            assert not parse(it.site.robots(SHOP)).allowed("/", "GreedyBot")

    asyncio.run(main())


def test_its_sitemaps_lead_to_what_nothing_links_to() -> None:
    """robots.txt names an index, the index a gzip file."""

    async def main() -> None:
        async with asking() as it:
            (named,) = parse(it.site.robots(SHOP)).sitemaps
            assert named.url == it.site.url("/sitemap.xml")
            _, _, index = await it.get("/sitemap.xml")
            assert it.site.url("/sitemap-archive.xml.gz").encode() in index
            _, headers, body = await it.get("/sitemap-archive.xml.gz")
            assert "Content-Encoding" not in headers
            assert it.site.url("/archive/first").encode() in gzip.decompress(body)

    asyncio.run(main())


def test_what_is_special_about_a_page() -> None:
    """Too busy once, slow, and a header that robots are to heed."""

    async def main() -> None:
        async with asking() as it:
            told: list[int | None] = []
            it.site.on_response = lambda visit: told.append(visit.status)
            status, headers, _ = await it.get("/busy")
            assert (status, headers["Retry-After"]) == (429, str(RETRY_AFTER))
            assert (await it.get("/busy"))[0] == 200
            assert (await it.get("/feed"))[1]["X-Robots-Tag"] == "nofollow"
            await it.get("/slow")
            await it.get("/tea/green")
            assert told == [429, 200, 200, 200, 200]
            after = it.site.gap(it.site.log[-1])
            assert after is not None
            assert after >= SLOW
            assert it.site.gap(it.site.log[0]) is None

    asyncio.run(main())


def test_it_writes_down_what_it_was_asked_for() -> None:
    """By host, with the query, whether there is such a page or not."""

    async def main() -> None:
        async with asking() as it:
            for short in ("/tea?sort=price", "localhost/", "/private/plans"):
                await it.get(short)
            log = [(it.site.short(visit.url), visit.status) for visit in it.site.log]
            assert log == [("/tea?sort=price", 404), ("localhost/", 200), ("/private/plans", 404)]
            assert [it.site.short(each.url) for each in it.site.requests(LIBRARY)] == ["localhost/"]

    asyncio.run(main())


def test_a_port_that_is_somebody_elses_is_not_used() -> None:
    """`localhost` may be the address of IPv6, where another server would answer."""

    async def main() -> None:
        async with DemoSite() as site:
            with socket.socket(socket.AF_INET6) as other:
                try:
                    other.bind(("::1", 0))
                except OSError:
                    pytest.skip("this machine has no IPv6")
                other.listen()
                port, before = other.getsockname()[1], site.url("")
                await site._listen(port)
                assert site.url("") == before
                with socket.socket() as mine:
                    mine.bind((SHOP, port))  # it was given up there, too

    asyncio.run(main())


def test_rules_in_the_cases_are_those_of_the_file() -> None:
    """A case that names a line names one that decides."""
    robots = parse(ROBOTS[SHOP])
    for case in CASES:
        for short, expected in case.expected:
            if short.startswith("/") and expected.startswith("line "):
                verdict = robots.check(short, SETTINGS.identity.agent)
                assert expected == f"line {verdict.line}: {verdict.line_text}"
                assert not verdict.allowed
