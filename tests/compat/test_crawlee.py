"""crawlee with manners: its HTTP crawlers and its browsers, on one site; its log decides."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from manners.errors import Disallowed
from manners.evidence.store import EvidenceStore
from tests.chromium import CHROMIUM, needs_chromium
from tests.client.asking import AT_ONCE, rules, site, to
from tests.faults.server import Handler, Site, page

pytest.importorskip("crawlee", reason="crawlee is not installed")

HTML = [("Content-Type", "text/html")]


def shop() -> Handler:
    home = "<title>Home</title><a href=/a>a</a><a href=/go>b</a><a href=/no>c</a>"
    return site(
        rules("Disallow: /no"),
        home=page(home.encode(), 200, HTML),
        a=page(b"<title>A</title>", 200, HTML),
        go=to("/no/redirect"),
    )


def play(work: Callable[[Site], Coroutine[Any, Any, None]]) -> list[str]:
    """Run some work on the site; what it was asked for."""

    async def main() -> list[str]:
        async with Site(shop()) as server, asyncio.timeout(120.0):
            await work(server)
            assert server.failures == []
            assert {visit.headers["user-agent"] for visit in server.log} <= {"MyBot"}
            return [visit.path for visit in server.log if visit.path != "/favicon.ico"]

    return asyncio.run(main())


def options() -> dict[str, Any]:
    """What keeps crawlee quiet, quick, and without files."""
    from crawlee.storage_clients import MemoryStorageClient

    return {
        "storage_client": MemoryStorageClient(),
        "configure_logging": False,
        "max_request_retries": 2,
        "request_handler_timeout": timedelta(seconds=60),
    }


def test_an_http_crawler_asks_for_what_is_allowed(tmp_path: Path) -> None:
    """Disallowed URLs are not requested, behind a redirect neither, and not tried again."""
    from crawlee.crawlers import HttpCrawler

    from manners.compat.crawlee import PoliteCrawlee

    titles: list[bytes] = []
    failures: list[Exception] = []

    async def work(server: Site) -> None:
        with EvidenceStore(tmp_path / "proof.db") as store:
            async with PoliteCrawlee("MyBot", evidence=store, **AT_ONCE) as polite:
                crawler = HttpCrawler(**polite.http(), **options())

                @crawler.router.default_handler
                async def handle(context: Any) -> None:
                    titles.append(await context.http_response.read())
                    extra = await context.send_request(server.url(path="/a?extra"))
                    assert extra.status_code == 200

                @crawler.failed_request_handler
                async def fail(_: Any, error: Exception) -> None:
                    failures.append(error)

                await crawler.run([server.url(path=path) for path in ("/home", "/go", "/no")])
            kinds = sorted(record.type for record in store.records())
        assert kinds.count("blocked_by_robots") == 2

    asked = play(work)
    assert sorted(asked) == ["/a?extra", "/go", "/home", "/robots.txt"]
    assert len(titles) == 1
    assert [type(error) for error in failures] == [Disallowed, Disallowed]


@needs_chromium
def test_a_browser_of_crawlee_asks_for_what_is_allowed() -> None:
    """Its pages are documents with a verdict; links that are disallowed are stopped before."""
    pytest.importorskip("playwright.async_api", reason="Playwright is not installed")
    from crawlee.crawlers import PlaywrightCrawler

    from manners.compat.crawlee import PoliteCrawlee

    titles: list[str] = []
    failures: list[str] = []

    async def work(server: Site) -> None:
        async with PoliteCrawlee("MyBot", **AT_ONCE) as polite:
            crawler = PlaywrightCrawler(**polite.browser(executable_path=CHROMIUM), **options())
            crawler.pre_navigation_hook(polite.decide)

            @crawler.router.default_handler
            async def handle(context: Any) -> None:
                titles.append(await context.page.title())
                await context.enqueue_links()

            @crawler.failed_request_handler
            async def fail(context: Any, _: Exception) -> None:
                failures.append(context.request.url.rpartition("/")[2])

            await crawler.run([server.url(path="/home")])

    asked = play(work)
    assert set(asked) == {"/robots.txt", "/home", "/a", "/go"}
    assert sorted(titles) == ["A", "Home"]
    assert sorted(failures) == ["go", "no"]


def test_crawlee_alone_goes_where_redirects_lead() -> None:
    """What the documentation says of it: its robots.txt handling checks no redirect."""
    from crawlee.crawlers import HttpCrawler

    async def main() -> tuple[list[str], set[str]]:
        async with Site(shop()) as server, asyncio.timeout(120.0):
            crawler = HttpCrawler(respect_robots_txt_file=True, **options())

            @crawler.router.default_handler
            async def handle(_: Any) -> None:
                """The server's log is enough."""

            await crawler.run([server.url(path=path) for path in ("/home", "/go", "/no")])
            agents = {visit.headers.get("user-agent", "") for visit in server.log}
            return [visit.path for visit in server.log], agents

    asked, agents = asyncio.run(main())
    assert "/no" not in asked
    assert "/no/redirect" in asked
    assert any("Mozilla" in agent for agent in agents)
