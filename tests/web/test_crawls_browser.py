"""Crawls and sites in a real browser: a page that changes by itself, and nothing that runs.

Chromium comes from the system's packages (`make browser`); without it these tests are skipped.
"""

import asyncio
import math
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.client.asking import run
from tests.crawler import hostile
from tests.faults.server import Site, by_path, page
from tests.web.browser import serious_of
from tests.web.crawling import crawling
from tests.web.service import Asker, service

if TYPE_CHECKING:
    from playwright.async_api import Page

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser")
ANSWERED = "[data-part=totals] dd >> nth=0"

SECONDS = 300.0
"""For a browser to start, on a machine that is busy."""

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here: `make browser`")


class Tab:
    """A page in a browser, and what it did."""

    def __init__(self, shown: "Page", asker: Asker) -> None:
        self.page, self._address = shown, asker.address.rstrip("/")
        self.said: list[str] = []
        self.elsewhere: list[str] = []
        shown.on("console", lambda message: self.said.append(message.text))
        shown.on("pageerror", lambda error: self.said.append(str(error)))
        shown.on("dialog", lambda dialog: self.said.append(dialog.message))
        shown.on("request", lambda request: self._note(request.url))

    def _note(self, url: str) -> None:
        if not url.startswith((self._address, "data:")):
            self.elsewhere.append(url)

    async def open(self, path: str) -> None:
        await self.page.goto(self._address + path)

    async def is_for_everybody(self) -> None:
        """axe-core finds nothing serious in the page as it is now."""
        axe: Any = pytest.importorskip("axe_playwright_python.async_playwright")
        assert serious_of(await axe.Axe().run(self.page)) == [], self.page.url

    async def check(self) -> None:
        """Nothing ran, nobody else was asked, and the page is as wide as the window."""
        assert (self.said, self.elsewhere) == ([], [])
        assert await self.page.evaluate("window.hacked") is None
        wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
        assert await self.page.evaluate(wide) == 0, self.page.url
        assert await self.page.evaluate("document.querySelectorAll('main h1').length") == 1


@asynccontextmanager
async def tab(asker: Asker, width: int = 1280, scheme: Any = "light") -> AsyncIterator[Tab]:
    playwright = pytest.importorskip("playwright.async_api", reason="Playwright is not installed")
    async with playwright.async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=CHROMIUM)
        context = await browser.new_context(
            viewport={"width": width, "height": 900}, color_scheme=scheme
        )
        yield Tab(await context.new_page(), asker)
        await browser.close()


def test_somebody_watches_a_crawl_and_stops_it(tmp_path: Path) -> None:
    """Numbers change without a reload, the focus stays where it is, and Stop ends the crawl."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with (
            crawling(place) as running,
            service(store=place, control=True) as asker,
            tab(asker) as shown,
        ):
            view = shown.page
            await shown.open("/crawls")
            await view.get_by_role("link", name="1: ").click()
            await view.wait_for_selector("#crawl[data-live=yes]")
            await view.evaluate("window.same = true")
            stop = view.get_by_role("button", name="Stop")
            await stop.focus()
            running.shop.most += 5
            while int((await view.locator(ANSWERED).inner_text()).split()[0]) < 8:
                await asyncio.sleep(0.05)
            assert await view.evaluate("window.same") is True
            assert await stop.evaluate("button => button === document.activeElement")
            await shown.check()
            async with view.expect_navigation():
                await view.keyboard.press("Enter")
            await view.get_by_text("finishing the running requests").wait_for()
            await running.stops()
            await view.wait_for_selector("#crawl[data-live=ended]")
            await view.get_by_role("button", name="Resume").wait_for()
            await view.get_by_role("link", name="Pages", exact=True).click()
            await view.get_by_label("State").select_option("blocked")
            await view.get_by_role("button", name="Search").click()
            await view.get_by_text("Disallow: /private").first.wait_for()
            await shown.check()

    run(look, SECONDS)


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (400, "dark")])
def test_hostile_names_are_text_in_every_width_and_scheme(
    tmp_path: Path, width: int, scheme: str
) -> None:
    """Titles, URLs, rules and files of a site run nothing, load nothing, and fit the window.

    axe-core finds nothing serious in any of these pages.
    """
    place = str(tmp_path / "crawl.db")
    hostile.made(place)
    answers = by_path({"/robots.txt": page(hostile.ROBOTS)})

    async def look() -> None:
        async with (
            Site(answers) as site,
            service(store=place, control=True) as asker,
            tab(asker, width, scheme) as shown,
        ):
            for path in (
                *("/crawls", "/crawls/1", "/crawls/1/pages", "/evidence", "/evidence/2"),
                *("/crawls/1/pages?state=failed", f"/site/{site.url()}", "/site"),
            ):
                await shown.open(path)
                await shown.check()
                opened = "for (const one of document.querySelectorAll('details')) one.open = 1"
                await shown.page.evaluate(opened)
                await shown.check()
                await shown.is_for_everybody()
            await shown.open("/crawls/1/pages?state=done")
            await shown.page.locator("th a").nth(3).click()
            await shown.check()
            await shown.is_for_everybody()
            await shown.open("/crawls/1/report")
            assert await shown.page.evaluate("window.hacked") is None
            assert shown.elsewhere == []
            colour = "getComputedStyle(document.body).backgroundColor"
            assert await shown.page.evaluate(colour) in (
                ("rgb(251, 251, 250)",) if scheme == "light" else ("rgb(18, 23, 26)",)
            )

    run(look, SECONDS)


def test_without_scripts_a_crawl_can_be_read_and_stopped(tmp_path: Path) -> None:
    """The page is whole, and Stop is a form."""
    place = str(tmp_path / "crawl.db")

    async def look() -> None:
        async with crawling(place) as running, service(store=place, control=True) as asker:
            async with tab(asker) as shown:
                assert shown.page.context.browser is not None
                context = await shown.page.context.browser.new_context(java_script_enabled=False)
                view = await context.new_page()
                await view.goto(f"{asker.address}crawls/1")
                assert await view.locator(ANSWERED).inner_text() == "4"
                await view.get_by_role("button", name="Stop").click()
                await view.get_by_text("finishing the running requests").wait_for()
            running.shop.most = math.inf
            await running.task
            assert running.crawl.is_interrupted

    run(look, SECONDS)
