"""Discovery: what there is to fetch, from sitemaps and links, judged before any of it is fetched.

First robots.txt, which also names the sitemaps; then the sitemaps, and the links of the first page.
The judge decides about every URL as in a crawl, and robots.txt is asked for at once. Of what may be
fetched the best are kept: by the priority that sitemaps give them, then in the order they were
found.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable
from typing import Literal, NamedTuple

from manners.client.async_client import AsyncClient
from manners.client.page import Page
from manners.crawler.frontier.values import FoundUrl
from manners.crawler.frontier.ways import rank_of
from manners.crawler.judge import DEFAULT_PRIORITY, OPEN, Judge, Ruling, by_verdict
from manners.crawler.ledger import Ledger
from manners.crawler.links import links_of
from manners.crawler.page import SitemapSummary
from manners.crawler.reasons import UNDECIDED
from manners.crawler.sitemaps import FALLBACK, named_sitemaps, read_sitemap
from manners.errors import BudgetExceeded, HostDeferred, InvalidURL, SlotTimeout
from manners.robots.verdict import Verdict
from manners.sitemaps import SitemapEntry
from manners.urls import host, origin, page_url, without_credentials

Source = Literal["auto", "sitemap", "links"]

_AT_A_TIME = 1_000
"""Entries after which others have a turn in the event loop."""
_NOT_NOW = (HostDeferred, SlotTimeout)


class LinkPage(NamedTuple):
    """A page whose links were read, or that was tried."""

    url: str
    status: str
    """What came back: a status, or why there was none."""
    links: int = 0
    nofollow: str = ""
    """What tells robots to follow nothing there; empty where nothing does."""


class _Sitemap(NamedTuple):
    """A sitemap to read."""

    url: str
    found_in: str
    depth: int
    root: str
    """The first of the indexes it was found through, or itself."""


class Discovery:
    """Finds what there is on a site.

    `keep` is called with every URL whose fate is settled; a later call about a URL overrules an
    earlier one: where one page says nofollow, another may link without it. `progress` is called
    now and then. Afterwards `kept` has what is to be fetched, the best first.
    """

    def __init__(
        self,
        client: AsyncClient,
        source: Source = "auto",
        *,
        keep: Callable[[FoundUrl], None] = lambda _: None,
        progress: Callable[["Discovery"], None] = lambda _: None,
    ) -> None:
        settings = client.settings
        self._client, self._source, self._progress = client, source, progress
        self._judge = Judge(settings, ())
        self._ledger = Ledger(settings.max_discovered, settings.max_urls, keep)
        self.robots: Verdict | None = None
        """The verdict on the first page, which tells how its robots.txt was retrieved."""
        self.sitemaps: list[SitemapSummary] = []
        self.pages: list[LinkPage] = []
        self.is_cut = False
        """Whether there is more than was looked at."""
        self.is_undecided = False
        """Whether a host did not answer, or may not be requested yet."""
        self._named: dict[str, frozenset[str]] = {}
        """The sitemaps that the robots.txt of each origin names."""

    @property
    def found(self) -> "Counter[str]":
        """How many URLs each source names; one that two of them name counts for both."""
        return self._ledger.found

    @property
    def allowed(self) -> "Counter[str]":
        """How many of those may be fetched."""
        return self._ledger.allowed

    @property
    def filtered(self) -> "Counter[tuple[str, str, int]]":
        """How many are blocked, by reason, rule and line."""
        return self._ledger.filtered

    @property
    def kept(self) -> list[FoundUrl]:
        """What is to be fetched, the best first."""
        return self._ledger.kept

    async def run(self, start: str) -> None:
        """Find what there is on the site of a URL; what was found counts, however this ends."""
        first = page_url(start, without_tracking=self._client.settings.drop_tracking)
        self._judge.join(host(first))
        self._judge.by_origin(first)
        try:
            self.robots = await self._client.check(first)
            self._join(getattr(self.robots.retrieval, "final_url", ""))
            if self._source != "sitemap":  # else it counts only if a sitemap names it
                await self._add(FoundUrl(first, "start", "", 0, 1.0))
            if self._source != "links":
                await self._read_sitemaps(first)
            if self._source != "sitemap":
                await self._read_links(first)
        finally:
            self._ledger.close()
        self._progress(self)

    def _join(self, url: str) -> None:
        """A site that redirects to another host, as to one with `www.` before it, lives there."""
        if url:
            self._judge.join(host(url))

    # Sitemaps.

    async def _read_sitemaps(self, first: str) -> None:
        place, named = origin(first), await self._named_by(first)
        waiting: deque[_Sitemap] = deque()
        seen: set[str] = set()
        for url in named:
            self._queue(_Sitemap(url, f"{place}/robots.txt", 1, ""), waiting, seen)
        if not named:
            self._queue(_Sitemap(place + FALLBACK, "", 1, ""), waiting, seen)
        while waiting:
            sitemap = waiting.popleft()
            for entry in await self._read_sitemap(sitemap):
                more = _Sitemap(entry.url, sitemap.url, sitemap.depth + 1, sitemap.root)
                self._queue(more, waiting, seen)
            self._progress(self)

    def _queue(self, sitemap: _Sitemap, waiting: "deque[_Sitemap]", seen: set[str]) -> None:
        settings = self._client.settings
        try:
            url = page_url(sitemap.url)
        except InvalidURL as error:
            self._note_failure(without_credentials(sitemap.url), sitemap.found_in, error.problem)
            return
        if url in seen:
            return
        if len(seen) >= settings.max_sitemaps or sitemap.depth > settings.sitemap_depth:
            self.is_cut = True
            return
        seen.add(url)
        waiting.append(sitemap._replace(url=url, root=sitemap.root or url))

    async def _named_by(self, url: str) -> list[str]:
        try:
            return await named_sitemaps(self._client, url)
        except _NOT_NOW:
            self.is_undecided = True
            return []

    async def _read_sitemap(self, sitemap: _Sitemap) -> list[SitemapEntry]:
        """Read one sitemap; returns those that it names in turn."""
        try:
            read = await read_sitemap(self._client, sitemap.url, sitemap.found_in)
        except _NOT_NOW as error:
            self.is_undecided = True
            self._note_failure(sitemap.url, sitemap.found_in, str(error))
            return []
        self._note_status(read.page)
        self.is_cut |= read.is_cut
        self.sitemaps.append(read.summary)
        # Not before the stream is over: to decide about a URL may take a request to the same host,
        # for which the slot of the stream has to be free.
        return await self._add_entries(read.entries, sitemap)

    def _note_failure(self, url: str, found_in: str, status: str) -> None:
        self.sitemaps.append(SitemapSummary(url, found_in, "unknown", 0, (), status))

    def _note_status(self, page: Page) -> str:
        self.is_undecided |= page.was_allowed and page.status is None
        return str(page)

    async def _add_entries(
        self, entries: list[SitemapEntry], sitemap: _Sitemap
    ) -> list[SitemapEntry]:
        more = []
        for number, entry in enumerate(entries, 1):
            if entry.kind == "sitemap":
                more.append(entry)
            else:
                priority = DEFAULT_PRIORITY if entry.priority is None else entry.priority
                found = FoundUrl(entry.url, "sitemap", sitemap.url, 1, priority, entry.lastmod)
                await self._add(found, root=sitemap.root)
            if not number % _AT_A_TIME:
                self._progress(self)
                await asyncio.sleep(0)
        return more

    # Links.

    async def _read_links(self, first: str) -> None:
        settings = self._client.settings
        waiting: deque[tuple[str, int]] = deque([(first, 1)])
        requested = {first}
        while waiting:
            url, depth = waiting.popleft()
            try:
                page = await self._client.get(url, must_include=url != first)
            except _NOT_NOW as error:
                self.is_undecided = True
                self.pages.append(LinkPage(url, str(error)))
                continue
            except BudgetExceeded:
                self.is_cut = True
                return
            if url == first:
                self._join(page.final_url)
            for target in await self._add_links(page, depth):
                if depth < settings.link_depth and target not in requested:
                    requested.add(target)
                    waiting.append((target, depth + 1))
            self._progress(self)

    async def _add_links(self, page: Page, depth: int) -> list[str]:
        """Add the links of a page; returns those that may be followed."""
        without_tracking = self._client.settings.drop_tracking
        links = links_of(page, self._client.agent, without_tracking=without_tracking)
        self.is_cut |= links.is_cut or not page.complete
        status = self._note_status(page)
        self.pages.append(LinkPage(page.final_url, status, len(links.links), links.nofollow))
        targets = []
        for link in links.links:
            found = FoundUrl(link.url, "link", page.final_url, depth, DEFAULT_PRIORITY)
            if await self._add(found, nofollow=links.against(link)):
                targets.append(link.url)
        return targets

    # What becomes of a URL.

    async def _add(self, found: FoundUrl, *, root: str = "", nofollow: str = "") -> bool:
        """Decide about a URL, unless that is done; whether it may be fetched, going by this way."""
        url = self._judge.url(found.url)
        if url is None:
            return False
        standing = self._ledger.name(url, found.source)
        if standing is None:
            self.is_cut = True
            return False
        if not standing.is_new and standing.rank < 0:
            return standing.is_open and not nofollow
        found = found._replace(url=url)
        by_source = await self._by_source(found, root, nofollow)
        if rank_of(by_source.reason) <= standing.rank and not standing.is_new:
            return False
        reason, rule, line = await self._ruling(found, by_source)
        found = found._replace(reason=reason, rule=rule, line=line)
        self._ledger.settle(found, standing.key)
        return found.is_kept

    async def _ruling(self, found: FoundUrl, by_source: Ruling) -> Ruling:
        reason, rule = self._judge.by_form(found, by_source.reason)
        if reason:
            return Ruling(reason, rule)
        if by_source.reason:
            return by_source
        try:
            return by_verdict(await self._client.check(found.url))
        except _NOT_NOW:
            self.is_undecided = True
            return Ruling(UNDECIDED, host(found.url))

    async def _by_source(self, found: FoundUrl, root: str, nofollow: str) -> Ruling:
        """What counts against a URL, going by what names it."""
        ruling = OPEN if root else self._judge.by_link(found.url, nofollow)
        ruling = ruling if ruling.reason else self._judge.by_origin(found.url)
        if ruling.reason or self._judge.is_inside(found.url):
            return ruling
        place = origin(found.url)
        if place not in self._named:
            self._named[place] = frozenset(map(_normal, await self._named_by(found.url)))
        sitemaps = (_normal(root), found.found_in)
        return self._judge.by_sitemap(found.url, self._named[place], sitemaps)


def _normal(url: str) -> str:
    try:
        return page_url(url)
    except InvalidURL:
        return ""
