"""Reading a sitemap with a client, piece by piece."""

import asyncio
from typing import NamedTuple

from manners.client.async_client import AsyncClient
from manners.client.page import Page
from manners.crawler.page import SitemapSummary
from manners.errors import Broken, SlotLost
from manners.sitemaps import SitemapEntry, SitemapParser
from manners.sitemaps.parser import MAX_BYTES
from manners.urls import host

FALLBACK = "/sitemap.xml"
"""Where a sitemap is looked for when robots.txt names none."""
_BLOCK = 32_768
"""Bytes from which a sitemap is read in a thread."""
_GZIP = b"\x1f\x8b"


class SitemapResult(NamedTuple):
    """A sitemap that was requested: the answer, and what it names."""

    page: Page
    """The answer, without its body."""
    summary: SitemapSummary
    entries: list[SitemapEntry]

    @property
    def is_cut(self) -> bool:
        """Whether there is more of it than is read."""
        problems = self.summary.problems
        return any(item.problem in ("too-large", "too-many-entries") for item in problems)


async def named_sitemaps(client: AsyncClient, url: str) -> list[str]:
    """The sitemaps that the robots.txt of a URL names; none where it is not respected."""
    if not client.settings.respects(host(url)):
        return []
    site = await client.robots.get(url)
    return [sitemap.url for sitemap in site.robots.sitemaps]


async def read_sitemap(client: AsyncClient, url: str, found_in: str = "") -> SitemapResult:
    """Read one sitemap; entries before an error or a lost connection count."""
    entries: list[SitemapEntry] = []
    # One byte more than is read tells that there is more.
    async with client.stream(url, max_bytes=MAX_BYTES + 1, is_page=False) as stream:
        page = stream.page
        if not page.ok:
            return SitemapResult(
                page, SitemapSummary(url, found_in, "unknown", 0, (), str(page)), []
            )
        parser, broken, block, is_large = SitemapParser(page.final_url), "", bytearray(), False
        try:
            async for chunk in stream.chunks():
                block += chunk
                if len(block) >= _BLOCK:
                    # Not in the event loop: what is compressed may be a thousand times as long.
                    entries += await asyncio.to_thread(parser.feed, bytes(block))
                    block.clear()
                    is_large = True
                if parser.is_over:
                    break
        except (Broken, SlotLost) as error:
            broken = str(error)
        if is_large or block.startswith(_GZIP):
            entries += await asyncio.to_thread(parser.feed, bytes(block))
        else:
            entries += parser.feed(bytes(block))
        if broken:
            parser.note("truncated", broken)
    entries += parser.close()
    problems, status = tuple(parser.problems), str(page.status)
    summary = SitemapSummary(url, found_in, parser.form, parser.entries, problems, status)
    return SitemapResult(page, summary, entries)
