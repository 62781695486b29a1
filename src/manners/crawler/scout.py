"""The worker of a discovery: reads sitemaps and link pages, and decides about all they name."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable, Sequence
from typing import NamedTuple

from manners.client.async_client import AsyncClient
from manners.client.page import Page
from manners.crawler.frontier.values import FetchResult, FoundUrl, LeasedUrl
from manners.crawler.judge import OPEN, Judge, Ruling, by_verdict
from manners.crawler.page import SitemapSummary
from manners.crawler.reasons import NOFOLLOW, UNDECIDED
from manners.crawler.sitemaps import named_sitemaps
from manners.crawler.sources import Sources
from manners.crawler.worker import Add, Fate, NotFetched, Worker, start_url
from manners.errors import HostDeferred, InvalidURL, SlotTimeout
from manners.robots.verdict import Verdict
from manners.urls import host, origin, page_url, without_credentials

_AT_A_TIME = 1_000
"""URLs after which others have a turn in the event loop."""
_NOT_NOW = (HostDeferred, SlotTimeout)
"""Why a host is not asked: a discovery says so, where a crawl waits."""


class LinkPage(NamedTuple):
    """A page whose links were read, or that was tried."""

    url: str
    status: str
    """What came back: a status, or why there was none."""
    links: int = 0
    nofollow: str = ""
    """What tells robots to follow nothing there; empty where nothing does."""


class Findings:
    """What a discovery has found so far."""

    def __init__(self, max_found: int) -> None:
        self.robots: Verdict | None = None
        """The verdict on the first page, which tells how its robots.txt was retrieved."""
        self.sitemaps: list[SitemapSummary] = []
        self.pages: list[LinkPage] = []
        self.sources = Sources(max_found)
        self.is_cut = False
        """Whether there is more than was looked at."""
        self.is_undecided = False
        """Whether a host did not answer, or may not be requested yet."""
        self.kept: list[FoundUrl] = []
        """What is to be fetched, the best first; filled in at the end, as the next two are."""
        self.allowed: Counter[str] = Counter()
        """How many of the URLs that each source names may be fetched."""
        self.filtered: Counter[tuple[str, str, int]] = Counter()
        """How many are blocked, by reason, rule and line."""

    @property
    def found(self) -> "Counter[str]":
        """How many URLs each source names; one that two of them name counts for both."""
        return self.sources.found

    def note_sitemap(self, url: str, found_in: str, status: str) -> None:
        """Note a sitemap that could not be read."""
        self.sitemaps.append(SitemapSummary(url, found_in, "unknown", 0, (), status))


class Scout(Worker):
    """Fetches sitemaps and link pages; everything else that they name is only decided about.

    Redirects are followed by the client, and what cannot be had is not tried again.
    """

    follows_redirects = keeps_pages = False

    def __init__(
        self,
        client: AsyncClient,
        judge: Judge,
        add: Add,
        *,
        source: str,
        findings: Findings,
        progress: Callable[[], None],
        draw: Callable[[], float],
        clock: Callable[[], float],
    ) -> None:
        super().__init__(client, judge, add, draw=draw, clock=clock)
        self._settings = client.settings.but(source=source)
        self._findings, self._progress = findings, progress
        self._start = OPEN
        """What the verdict on the first page says."""
        self._roots: dict[str, str] = {}
        """Sitemaps that were read, and the first of the indexes that each was found through."""
        self._named: dict[str, frozenset[str]] = {}
        """The sitemaps that the robots.txt of each origin names."""

    async def stages(self, starts: Sequence[str]) -> AsyncGenerator[Sequence[FoundUrl], None]:
        """The sitemaps, then the first page: what a sitemap says of a URL counts before a link."""
        (first,) = starts
        self._judge.by_origin(first)
        verdict = self._findings.robots = await self._client.check(first)
        moved_to = getattr(verdict.retrieval, "final_url", "")
        if moved_to:  # a site that redirects to another host, as to one with `www.`, lives there
            self._judge.join(host(moved_to))
        start, found = start_url(first), []
        try:
            found = await self.sitemaps_of(first)
        except _NOT_NOW:
            self._findings.is_undecided = True
        if self._settings.source == "sitemap" or any(sitemap.url == first for sitemap in found):
            yield found  # the first page counts only if a sitemap names it
            return
        self._start = by_verdict(verdict)
        self._findings.sources.name(first, "start")
        yield [start._replace(**self._start._asdict(), to_fetch=False), *found]
        yield [start._replace(is_forced=True)]

    async def work(self, url: LeasedUrl) -> FetchResult:
        """Fetch a sitemap or a page whose links are to be read."""
        try:
            if url.kind == "sitemap":
                return await self._sitemap(url)
            return await self._page(url, [], must_include=url.source != "start")
        except _NOT_NOW as error:
            self._findings.is_undecided = True
            if url.kind == "sitemap":
                self._findings.note_sitemap(url.url, url.found_in, str(error))
            else:
                self._findings.pages.append(LinkPage(url.url, str(error)))
            raise NotFetched(str(error)) from error

    def note_invalid_sitemap(self, url: str, found_in: str) -> None:
        """List it with what is wrong with it."""
        try:
            page_url(url)
        except InvalidURL as error:
            self._findings.note_sitemap(without_credentials(url), found_in, error.problem)

    def _fate(self, url: LeasedUrl, page: Page, *_: object) -> Fate:
        ruling = OPEN
        if url.source == "start":  # it is fetched for its links, even if it is not included
            ruling = self._start
        elif url.kind == "sitemap" and not page.was_allowed:
            ruling = by_verdict(page.verdict)
        if ruling.reason:
            return Fate("blocked", *ruling, url.attempts)
        state = "failed" if page.status is None or page.server_failed else "done"
        return Fate(state, attempts=url.attempts + 1)

    # What becomes of what was found.

    async def settle(self, result: FetchResult) -> FetchResult:
        """Decide about every URL that was found."""
        url, page, findings = result.url, result.page, self._findings
        findings.is_cut |= result.is_cut
        findings.is_undecided |= page.was_allowed and page.status is None
        if page.sitemap is not None:
            findings.sitemaps.append(page.sitemap)
        else:
            findings.is_cut |= not page.complete
            links = len(page.links)
            findings.pages.append(LinkPage(page.final_url, str(page), links, page.nofollow))
        if url.source == "start":
            self._judge.join(host(page.final_url))
        root = self._roots.get(url.found_in, url.url)
        if url.kind == "sitemap":
            self._roots[url.url] = root
        settled: list[FoundUrl] = []
        for number, found in enumerate(result.found, 1):
            if found.kind == "sitemap":
                settled.append(found)
            elif findings.sources.name(found.url, found.source):
                settled.append(await self._settled(found, root))
            else:
                findings.is_cut = True
            if not number % _AT_A_TIME:
                self._progress()
                await asyncio.sleep(0)
        self._progress()
        return result._replace(found=settled)

    async def _settled(self, found: FoundUrl, root: str) -> FoundUrl:
        ruling = await self._by_source(found, root)
        if not ruling.reason:
            ruling = await self._by_verdict(found.url)
        is_followed = found.source == "link" and found.depth < self._settings.link_depth
        return found._replace(**ruling._asdict(), to_fetch=is_followed and not ruling.reason)

    async def _by_source(self, found: FoundUrl, root: str) -> Ruling:
        """What counts against a URL, going by what names it."""
        if found.source != "sitemap":
            nofollow = found.rule if found.reason == NOFOLLOW else ""
            ruling = self._judge.by_link(found.url, nofollow)
            if ruling.reason:
                return ruling
        ruling = self._judge.by_origin(found.url)
        if ruling.reason or self._judge.is_inside(found.url):
            return ruling
        place = origin(found.url)
        if place not in self._named:
            self._named[place] = await self._named_by(found.url)
        return self._judge.by_sitemap(found.url, self._named[place], (root, found.found_in))

    async def _named_by(self, url: str) -> frozenset[str]:
        try:
            named = await named_sitemaps(self._client, url)
        except _NOT_NOW:
            self._findings.is_undecided = True
            return frozenset()
        return frozenset(filter(None, (self._judge.url(name, "sitemap") for name in named)))

    async def _by_verdict(self, url: str) -> Ruling:
        try:
            return by_verdict(await self._client.check(url))
        except _NOT_NOW:
            self._findings.is_undecided = True
            return Ruling(UNDECIDED, host(url))
