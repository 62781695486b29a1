"""The worker: fetches one URL of a crawl, and says what came of it and where it leads to."""

import asyncio
import hashlib
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from manners.client.async_client import AsyncClient
from manners.client.page import Hop, Page, move_exchanges
from manners.crawler.frontier.values import FetchResult, FoundUrl, LeasedUrl
from manners.crawler.heavy import SLICE, Turns, is_heavy
from manners.crawler.judge import DEFAULT_PRIORITY, Judge, by_verdict
from manners.crawler.links import Links, links_of, rendered_links
from manners.crawler.page import CrawledPage
from manners.crawler.reasons import NOT_NAMED, OTHER_HOST, REDIRECT, USAGE
from manners.crawler.sitemaps import FALLBACK, named_sitemaps, read_sitemap
from manners.errors import HostDeferred
from manners.robots.verdict import Reason
from manners.sitemaps import SitemapEntry
from manners.urls import host, origin, redirect_target
from manners.urls import target as target_of

if TYPE_CHECKING:
    from manners.browser.rendering import Renderer, Rendering
    from manners.signals.decision import UsageDecision

_PERMANENT = ("refused address", "TLS error", "not HTTP", "bad content-encoding")
"""Why there is no answer, where another attempt changes nothing."""
_SITEMAP_PRIORITY = 2.0
"""Sitemaps are read before the pages that they might name."""
_REMEMBERED = 16_384
"""Links that are remembered as known to the frontier: pages link to the same ones."""
_ENTRY_COST = 50
"""What an entry of a sitemap costs, in bytes of a page."""


Add = Callable[[Sequence[FoundUrl]], Awaitable[object]]
"""Adds URLs to the frontier."""


class NotFetched(Exception):
    """A URL was not requested, and will not be; the message says why."""


class Postponed(Exception):
    """A URL cannot be fetched before a time; others of its host can."""

    def __init__(self, until: float) -> None:
        super().__init__(until)
        self.until = until


class Fate(NamedTuple):
    """What an answer means for a URL."""

    state: str = "done"
    reason: str = ""
    rule: str = ""
    line: int = 0
    attempts: int = 0
    not_before: float = 0.0


class PageContent(NamedTuple):
    """What a page has in it."""

    links: Links
    sha256: str
    rendered: str = ""
    usage: "UsageDecision | None" = None


class Worker:
    """Fetches URLs with a client that follows no redirect: where one leads to is a URL, too.

    `draw` is random, from 0 to 1. What a large page leads to is added in slices before the page is
    finished.
    """

    follows_links = True
    """Whether it looks at where a page links to."""
    follows_redirects = True
    """Whether it looks at where an answer redirects to; else the client does."""
    keeps_pages = True
    """Whether a page may be refused for the purpose of the crawl."""
    waits_for_stages = True
    """Whether a stage begins when nothing is left of the one before; else at once."""

    def __init__(
        self,
        client: AsyncClient,
        judge: Judge,
        add: Add,
        *,
        draw: Callable[[], float],
        clock: Callable[[], float],
        renderer: "Renderer | None" = None,
    ) -> None:
        self._client, self._judge, self._add, self._renderer = client, judge, add, renderer
        self._draw, self._clock, self._settings = draw, clock, client.settings
        self.turns = Turns()
        """Who reads a large page next."""
        self._known: dict[str, tuple[bool, int]] = {}
        """Links that were added already: whether they may be followed, and from how deep."""

    async def stages(self, starts: Sequence[str]) -> AsyncGenerator[Sequence[FoundUrl], None]:
        """The URLs to begin with, stage by stage."""
        yield [start_url(url) for url in starts]

    def join(self, name: str) -> bool:
        """Let a host belong to the crawl; False where it did before."""
        is_new = self._judge.join(name)
        if is_new:
            self._known.clear()  # its URLs were another host's
        return is_new

    async def work(self, url: LeasedUrl) -> FetchResult:
        """Fetch a URL; what came of it, and where it leads to."""
        if url.kind == "sitemap":
            return await self._sitemap(url)
        found = await self.sitemaps_of(url.url) if url.source == "start" else []
        if url.source == "start" and self._settings.source == "sitemap":
            return await self._unfetched_start(url, found)
        return await self._page(url, found, must_include=url.source != "start")

    async def _page(
        self, url: LeasedUrl, found: list[FoundUrl], *, must_include: bool
    ) -> FetchResult:
        page, usage = await self._client.read(url.url, must_include=must_include), None
        if self.keeps_pages and self._settings.purpose is not None:
            page, usage = await self._client.decide_usage(page)
        rendering = None
        if self._renderer is not None:
            rendering = await self._renderer.render(page, self._client)
        size = len(page.body) if rendering is None else len(rendering.html)
        if not is_heavy(page.body if rendering is None else rendering.html.encode()):
            content = self._read(page, rendering)._replace(usage=usage)
            return await self.settle(await self._result(url, page, content, found))
        async with self.turns.turn(url.host, size):
            content = await asyncio.to_thread(self._read, page, rendering)
            content = content._replace(usage=usage)
            result = await self.settle(await self._result(url, page, content, found))
            return result._replace(found=await self._add_slices(result.found))

    async def settle(self, result: FetchResult) -> FetchResult:
        """Decide what is left to decide about the URLs found: here nothing, they are queued."""
        return result

    async def _unfetched_start(self, url: LeasedUrl, found: list[FoundUrl]) -> FetchResult:
        """The start of a crawl that reads sitemaps only: it counts if one of them names it."""
        verdict = await self._client.check(url.url)
        is_unreachable = verdict.reason is Reason.UNREACHABLE  # so are its sitemaps
        reason = str(verdict.reason) if is_unreachable else NOT_NAMED
        page = Page(url.url, (Hop(url.url, False, verdict),))
        return FetchResult(url, _crawled(url, page, Fate("blocked", reason)), found)

    def _read(self, page: Page, rendering: "Rendering | None") -> PageContent:
        """What takes long where a page is large, and is done in a thread then."""
        without_tracking, agent = self._settings.drop_tracking, self._client.agent
        links = links_of(page, agent, without_tracking=without_tracking)
        if rendering is not None:
            links = rendered_links(page, links, rendering.html, rendering.targets, agent)
        html = "" if rendering is None else rendering.html
        return PageContent(links, hashlib.sha256(page.body).hexdigest(), html)

    async def _result(
        self, url: LeasedUrl, page: Page, content: PageContent, found: list[FoundUrl]
    ) -> FetchResult:
        links, usage = content.links, content.usage
        target, problem = self._redirect(url, page)
        fate = self._fate(url, page, target, problem)
        if usage is not None and not usage.allowed:
            fate = Fate("blocked", *by_verdict(usage.verdict(page.verdict)), url.attempts + 1)
        crawled = _crawled(
            url,
            page,
            fate,
            decision=usage,
            # What may not be kept is not kept in the store, either.
            title="" if fate.reason == USAGE else links.title,
            links=links.links,
            nofollow=links.nofollow,
            location=target.url if target else "",
            sha256=content.sha256,
            rendered=content.rendered,
            delay=self._delay(page.final_url),
        )
        if target is not None:
            return self._redirected(url, crawled, target, found)
        targets: Sequence[str] = ()
        if page.ok and self.follows_links and self._settings.source != "sitemap":
            more, targets = await self._follow(url, page, links)
            found = [*found, *more]
        pace = self._client.pace_of(url.host)
        return FetchResult(url, crawled, found, targets, pace=pace, is_cut=links.is_cut)

    def _delay(self, url: str) -> float:
        return self._client.pace_of(host(url), 0.0)[0]

    async def _add_slices(self, found: Sequence[FoundUrl]) -> Sequence[FoundUrl]:
        """Add the links of a large page to the frontier, in slices; returns the last slice.

        Writes of other hosts come between the slices. The page is finished with the last one: so
        all links of a page that is done are in the frontier, and a page that was being read when
        the crawl was killed is fetched again.
        """
        start = 0
        while len(found) - start > SLICE:
            await self._add(found[start : start + SLICE])
            start += SLICE
        return found[start:] if start else found

    # What an answer means.

    def _fate(self, url: LeasedUrl, page: Page, target: FoundUrl | None, problem: str) -> Fate:
        """What becomes of a URL: done, failed, blocked, or queued to be tried again."""
        attempts = url.attempts + 1
        if not page.was_allowed:
            return Fate("blocked", *by_verdict(page.verdict), url.attempts)
        if target is not None:
            return Fate("done", REDIRECT, attempts=url.attempts)
        if problem:
            return Fate("failed", problem, attempts=attempts)
        if page.status is None:
            reason, is_permanent = page.cause, page.cause in _PERMANENT
        elif page.server_failed:
            reason, is_permanent = f"status {page.status}", False
        else:
            return Fate(attempts=attempts)
        if is_permanent or attempts >= self._settings.attempts:
            return Fate("failed", reason, attempts=attempts)
        if self._client.reporter.wants_requests:
            self._client.reporter.tell_retry(target_of(url.url), reason, attempts + 1)
        retry_at = self._clock() + self._pause(attempts)
        return Fate("queued", reason, attempts=attempts, not_before=retry_at)

    def _pause(self, attempts: int) -> float:
        settings = self._settings
        pause = min(settings.initial_backoff * 2.0 ** min(attempts - 1, 64), settings.max_backoff)
        return pause * (1 + settings.backoff_jitter * (2 * self._draw() - 1))

    # Redirects.

    def _redirect(self, url: LeasedUrl, page: Page) -> tuple[FoundUrl | None, str]:
        """Where a page redirects to, or what is wrong with that; neither for any other page."""
        if not self.follows_redirects:  # the client has followed it, as far as it could
            return None, page.cause if page.status is not None else ""
        location = page.headers.get("location", "").strip()
        if not location or not 300 <= (page.status or 0) < 400:
            return None, ""
        target, problem = redirect_target(url.url, page.headers["location"])
        return (None, problem) if problem else (self._target(url, target), "")

    def _target(self, url: LeasedUrl, target: str) -> FoundUrl:
        """Where a redirect leads to, as a URL of the frontier."""
        target = self._judge.url(target) or target
        # A site that redirects to another host, as to one with `www.` before it, lives there.
        source = "start" if url.source == "start" else "redirect"
        is_inside = source == "start" or self._judge.is_inside(target)
        return FoundUrl(
            target,
            source,
            url.url,
            url.depth,
            url.priority,
            reason="" if is_inside else OTHER_HOST,
            rule="" if is_inside else host(target),
            kind=url.kind,
            hops=url.hops + 1,
        )

    def _redirected(
        self, url: LeasedUrl, page: CrawledPage, target: FoundUrl, found: Sequence[FoundUrl] = ()
    ) -> FetchResult:
        joined = host(target.url) if target.source == "start" else ""
        if not (joined and self.join(joined)):
            joined = ""
        if self._client.budget is not None and url.kind == "page":
            self._client.budget.give_back()
        targets = [] if target.reason else [target.url]
        pace = self._client.pace_of(url.host)
        return FetchResult(url, page, [*found, target], targets, joined, pace)

    # Links.

    async def _follow(
        self, url: LeasedUrl, page: Page, links: Links
    ) -> tuple[list[FoundUrl], list[str]]:
        """The possibly new URLs that a page links to, and all that may be followed."""
        found: list[FoundUrl] = []
        targets: list[str] = []
        known, depth, judge, nofollow = self._known, url.depth + 1, self._judge, links.nofollow
        keeps_targets = self._settings.max_depth is not None
        for number, link in enumerate(links.links, 1):
            if not number % SLICE:
                await asyncio.sleep(0)
            target, may_follow = link.url, not (nofollow or link.nofollow)
            if keeps_targets and may_follow and judge.is_inside(target):
                targets.append(target)
            quality = (may_follow, -depth)
            before = known.get(target)
            if before is not None and before >= quality:
                continue
            if before is None and len(known) >= _REMEMBERED:
                del known[next(iter(known))]
            known[target] = quality
            ruling = judge.by_link(target, links.against(link))
            found.append(
                FoundUrl(
                    *(target, "link", page.final_url, depth, DEFAULT_PRIORITY, None),
                    *(ruling.reason, ruling.rule),
                )
            )
        return found, targets

    # Sitemaps.

    async def sitemaps_of(self, url: str) -> list[FoundUrl]:
        """The sitemaps that a robots.txt names, or where one may be."""
        if self._settings.source == "links":
            return []
        place, named = origin(url), await named_sitemaps(self._client, url)
        found_in = f"{place}/robots.txt" if named else ""
        found: list[FoundUrl] = []
        for name in named or [place + FALLBACK]:
            sitemap = self._judge.url(name, "sitemap")
            if sitemap is None:
                self.note_invalid_sitemap(name, found_in)
            else:
                found.append(
                    FoundUrl(sitemap, "sitemap", found_in, 1, _SITEMAP_PRIORITY, kind="sitemap")
                )
        return found

    def note_invalid_sitemap(self, url: str, found_in: str) -> None:
        """Called with what a robots.txt names as a sitemap and is no URL: a crawl ignores it."""

    async def _sitemap(self, url: LeasedUrl) -> FetchResult:
        read = await read_sitemap(self._client, url.url, url.found_in)
        target, problem = self._redirect(url, read.page)
        crawled = _crawled(
            url,
            read.page,
            self._fate(url, read.page, target, problem),
            delay=self._delay(url.url),
            sitemap=read.summary,
        )
        if target is not None:
            return self._redirected(url, crawled, target)
        is_cut = read.is_cut or self._is_too_deep(url, read.entries)
        result = FetchResult(url, crawled, pace=self._client.pace_of(url.host), is_cut=is_cut)
        if len(read.entries) <= SLICE:
            return await self.settle(result._replace(found=self._entries(url, read.entries)))
        async with self.turns.turn(url.host, len(read.entries) * _ENTRY_COST):
            found = await asyncio.to_thread(self._entries, url, read.entries)
            result = await self.settle(result._replace(found=found))
            return result._replace(found=await self._add_slices(result.found))

    def _is_too_deep(self, url: LeasedUrl, entries: list[SitemapEntry]) -> bool:
        """Whether a sitemap names others, and is as deep as sitemaps are read."""
        is_last = url.depth >= self._settings.sitemap_depth
        return is_last and any(entry.kind == "sitemap" for entry in entries)

    def _entries(self, url: LeasedUrl, entries: list[SitemapEntry]) -> list[FoundUrl]:
        found = (self._entry(url, entry) for entry in entries)
        return [item for item in found if item is not None]

    def _entry(self, url: LeasedUrl, entry: SitemapEntry) -> FoundUrl | None:
        """What a sitemap names: a page, or another sitemap."""
        is_page = entry.kind != "sitemap"
        target = self._judge.url(entry.url, "page" if is_page else "sitemap")
        if target is None:
            return None
        if not is_page:
            depth = url.depth + 1
            if depth > self._settings.sitemap_depth:
                return None
            return FoundUrl(
                target, "sitemap", url.url, depth, _SITEMAP_PRIORITY, entry.lastmod, kind="sitemap"
            )
        priority = DEFAULT_PRIORITY if entry.priority is None else entry.priority
        ruling = self._judge.by_link(target)
        return FoundUrl(
            *(target, "sitemap", url.url, 1, priority, entry.lastmod, ruling.reason, ruling.rule)
        )


class ListWorker(Worker):
    """Fetches the URLs of a list, and nothing that they lead to.

    `read` reads the next URLs of the list; there may be more than fit in memory.
    """

    follows_links = follows_redirects = waits_for_stages = False

    def __init__(
        self,
        client: AsyncClient,
        judge: Judge,
        add: Add,
        *,
        draw: Callable[[], float],
        clock: Callable[[], float],
        read: Callable[[], list[str]],
        renderer: "Renderer | None" = None,
    ) -> None:
        super().__init__(client, judge, add, draw=draw, clock=clock, renderer=renderer)
        self._read_list = read

    async def stages(self, starts: Sequence[str]) -> AsyncGenerator[Sequence[FoundUrl], None]:
        """The URLs of the list, some at a time."""
        batch = list(starts) or await asyncio.to_thread(self._read_list)
        while batch:
            yield [start_url(url) for url in batch]
            batch = await asyncio.to_thread(self._read_list)

    async def work(self, url: LeasedUrl) -> FetchResult:
        """Fetch a URL of the list."""
        try:
            return await self._page(url, [], must_include=True)
        except HostDeferred as error:
            if error.host == url.host or not self._is_decided(url):
                raise
            # It redirects to a host that has to wait; its own need not.
            raise Postponed(error.until) from error

    def _is_decided(self, url: LeasedUrl) -> bool:
        """Whether its robots.txt is known, which may be redirected to another host as well."""
        is_respected = self._settings.respects(url.host)
        return not is_respected or self._client.robots.known(origin(url.url)) is not None


def start_url(url: str) -> FoundUrl:
    """A URL that the user named."""
    return FoundUrl(url, "start", "", 0, 1.0)


def _crawled(url: LeasedUrl, page: Page, fate: Fate, **content: Any) -> CrawledPage:
    crawled = CrawledPage(
        *(page.url, page.hops, page.headers, page.body, page.complete),  # type: ignore[misc]
        kind=url.kind,
        depth=url.depth,
        found_in=url.found_in,
        **fate._asdict(),
        **content,
    )
    return move_exchanges(page, crawled)
