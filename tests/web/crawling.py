"""A crawl that runs while somebody looks at it: its site answers when it is told to."""

import asyncio
import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from manners.crawler.crawl import Crawl, crawl
from tests.client.asking import AT_ONCE
from tests.faults.server import Call, Site

ROBOTS = b"User-agent: *\nDisallow: /private\nSitemap: /none.xml\n"
TITLE = "<script>window.hacked=1</script>\u202e"
FIRST = 4
"""Pages that are answered from the beginning: the start, and three that it leads to."""


@dataclass
class Shop:
    """A site without end: each page leads to three more, and to one that is disallowed."""

    most: float = FIRST
    """How many pages are answered; more of them wait."""
    answered: int = 0
    pages: int = 0
    """How many pages were asked for."""

    async def __call__(self, call: Call) -> None:
        path = (await call.request()).path
        if path == "/robots.txt":
            return await call.reply(200, ROBOTS)
        if path.endswith(".xml"):
            return await call.reply(404)
        self.pages += 1
        number = int(path[1:]) if path[1:].isdigit() else 0
        while self.answered >= self.most:
            await call.pause(0.02)  # ends when the client leaves
        self.answered += 1
        if number == 2:
            return await call.reply(404)
        links = "".join(f"<a href=/{3 * number + step}>x</a>" for step in (1, 2, 3))
        body = f"<title>{TITLE} {number}</title>{links}<a href=/private/{number}>x</a>"
        await call.reply(200, body.encode(), [("Content-Type", "text/html; charset=utf-8")])
        return None


@dataclass
class Running:
    """A crawl that runs, and its site."""

    crawl: Crawl
    shop: Shop
    url: str
    task: "asyncio.Task[None]"

    async def has_begun(self) -> None:
        """Wait until pages are under way that are not answered yet."""
        while self.shop.pages <= FIRST and not self.task.done():
            await asyncio.sleep(0.02)

    async def stops(self) -> None:
        """Wait until it was told to stop; answer what is under way, and wait for its end."""
        while not self.crawl.view().is_stopping and not self.task.done():
            await asyncio.sleep(0.02)
        self.shop.most = math.inf
        await self.task


@asynccontextmanager
async def crawling(store: str, max_pages: int = 40) -> AsyncIterator[Running]:
    """A crawl of a shop, which is stopped at the end."""
    shop = Shop()
    async with Site(shop) as site:
        settings = {**AT_ONCE, "max_pages": max_pages}
        own = crawl([site.url()], store=store, **settings)

        async def go() -> None:
            async for _ in own:
                pass

        running = Running(own, shop, site.url(), asyncio.create_task(go()))
        try:
            await running.has_begun()
            yield running
        finally:
            shop.most = math.inf
            own.stop()
            await running.task
