"""The page of a site: what it says now and said before, and whom it shuts out."""

from pathlib import Path

import pytest

from manners import AsyncClient
from tests.client.asking import AT_ONCE, run
from tests.crawler import hostile
from tests.faults.server import Call, Site, by_path, page
from tests.web.service import service

HTML = {"Accept": "text/html"}
ROBOTS = b"""User-agent: GPTBot
User-agent: CCBot
Disallow: /

User-agent: *
Crawl-delay: 7
Disallow: /cart
Content-Signal: search=yes, ai-train=no
Sitemap: https://shop.example/sitemap.xml
Dissallow: /typo
"""


def test_a_site_is_shown_with_what_it_means() -> None:
    """Agents, AI crawlers, delays, usage, sitemaps and problems, each with its line."""

    async def look() -> None:
        async with Site(by_path({"/robots.txt": page(ROBOTS)})) as site, service() as asker:
            answer = await asker.get("/site", url=site.url(path="/any?x=1"))
            place = f"/site/{site.url()[:-1]}"
            assert (answer.status, answer.headers["Location"]) == (303, place)
            for _ in range(2):  # what is fresh is not asked for again
                html = (await asker.get(place, HTML)).text
            assert [visit.path for visit in site.log] == ["/robots.txt"]
            for said in (
                "<bdi>GPTBot</bdi>, <bdi>CCBot</bdi>, <bdi>*</bdi>",
                "ai-train: 2 of",
                "7 s",
                "<bdi>https://shop.example/sitemap.xml</bdi>",
                "line 3: <bdi>Disallow: /</bdi>",
                "Dissallow",
                "content-signal",
                "1 version known",
            ):
                assert said in html, said

    run(look)


def test_what_it_said_before_comes_from_the_cache_and_from_evidence(tmp_path: Path) -> None:
    """Each version with its file, the latest first, and what each change did."""
    files = [b"User-agent: *\nDisallow: /old\n", b"User-agent: *\nDisallow: /\n", ROBOTS]

    async def answer(call: Call) -> None:
        await call.reply(200, files[0])

    async def look() -> None:
        cache, store = str(tmp_path / "cache.db"), str(tmp_path / "crawl.db")
        async with Site(answer) as site:
            place = site.url()[:-1]
            async with AsyncClient("MyBot", store=store, **AT_ONCE) as client:
                await client.get(f"{place}/x")
            del files[0]
            async with AsyncClient("MyBot", cache=cache, **AT_ONCE) as client:
                await client.robots.get(place)
            del files[0]
            async with service(store=store, cache=str(tmp_path / "none.db")) as asker:
                html = (await asker.get(f"/site/{place}", HTML)).text
                assert "2 versions known" in html
            async with service(store=store, cache=cache) as asker:
                html = (await asker.get(f"/site/{place}", HTML)).text
                assert "2 versions known" in html  # the cache is still fresh: nothing is asked
                assert "loses everything" in html
                assert html.index("Disallow: /\n") < html.index("Disallow: /old\n")

    run(look)


def test_a_site_without_an_answer_has_one_answer_for_all() -> None:
    """A file that is not there, and one that cannot be had, are told in a sentence."""

    async def look() -> None:
        routes = {"/robots.txt": page(b"", status=503)}
        async with Site(by_path({})) as none, Site(by_path(routes)) as broken, service() as asker:
            html = (await asker.get(f"/site/{none.url()}", HTML)).text
            assert "Every URL of this site is allowed now." in html
            html = (await asker.get(f"/site/{broken.url()}", HTML)).text
            assert "Every URL of this site is disallowed now." in html
            assert "AI crawlers" not in html

    run(look)


def test_no_other_site_sends_somebody_there() -> None:
    """A link of another site that makes this service ask a site is refused, and nobody is asked."""
    cross = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}

    async def look() -> None:
        async with Site(by_path({"/robots.txt": page(ROBOTS)})) as site, service() as asker:
            assert (await asker.get(f"/site/{site.url()}", cross)).status == 403
            assert site.log == []

    run(look)


def test_private_addresses_and_nonsense_are_refused() -> None:
    """A site is a public name, unless the service is told otherwise."""

    async def look() -> None:
        async with Site(by_path({"/robots.txt": page(ROBOTS)})) as site:
            async with service(allow_private=False) as asker:
                html = (await asker.get(f"/site/{site.url()}", HTML)).text
                assert "unreachable" in html
                for nonsense in ("a b", "ftp://a.example", "%00", "x" * 3_000):
                    assert (await asker.get(f"/site/{nonsense}")).status in (422, 404)
                assert (await asker.get("/site", HTML)).status == 200
            assert site.log == []

    run(look)


@pytest.mark.parametrize(
    "body", [hostile.ROBOTS, b"\xff\xfe\x00" * 4_000, b"Disallow: /a" * 90_000]
)
def test_hostile_files_are_shown_as_text(body: bytes) -> None:
    """Whatever a file has in it, it is text on the page."""

    async def look() -> None:
        async with Site(by_path({"/robots.txt": page(body)})) as site, service() as asker:
            answer = await asker.get(f"/site/{site.url()}", HTML)
            assert answer.status == 200
            for markup in ("<script>", "<img", "<base", "<iframe", "\u202e", "\x1b"):
                assert markup not in answer.text

    run(look)
