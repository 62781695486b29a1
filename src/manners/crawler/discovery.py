"""Discovery: what there is to fetch, from sitemaps and links, filtered before any of it is fetched.

First robots.txt, which also names the sitemaps; then the sitemaps and the links of the first page;
then the filter: what is another host's, what looks like a trap, what is excluded, what robots.txt
disallows. Of what remains the best are kept, by the priority that sitemaps give them and then by
the order in which they were found.
"""

import asyncio
import hashlib
import heapq
from collections import Counter, deque
from collections.abc import Callable
from typing import Literal, NamedTuple

from manners import charset
from manners._text import cut
from manners.client import AsyncClient
from manners.crawler.links import Links, extract
from manners.crawler.traps import Traps, limit_of
from manners.errors import (
    Broken,
    BudgetExceeded,
    HostDeferred,
    InvalidURL,
    SlotLost,
    SlotTimeout,
)
from manners.page import Page
from manners.robots.verdict import Verdict
from manners.sitemaps import Entry, Problem, SitemapParser
from manners.sitemaps.parser import MAX_BYTES
from manners.urls import host, origin, page_url, without_credentials

Source = Literal["auto", "sitemap", "links"]
FALLBACK = "/sitemap.xml"
"""Where a sitemap is looked for when robots.txt names none."""

_PRIORITY = 0.5  # what the protocol means where a sitemap says nothing
_ORIGINS = 50
"""Origins whose robots.txt is asked: a sitemap can name any number of hosts and ports."""
_AT_A_TIME = 1_000
"""Entries after which others have a turn in the event loop."""
_BLOCK = 32_768
"""Bytes of a sitemap from which on it is read in a thread."""
_GZIP = b"\x1f\x8b"
_RULE = 500
"""Characters of a rule that are kept with each URL it decides about."""
_AWAY = (HostDeferred, SlotTimeout)
# What is known of a URL, in one small number: there may be a million of them.
_SOURCES = {"start": 1, "sitemap": 2, "link": 4}
_OPEN = 8


class Found(NamedTuple):
    """A URL that was found, and what became of it."""

    url: str
    source: str
    """`start`, `sitemap` or `link`."""
    found_in: str
    """The sitemap or the page that names it; empty for the first."""
    depth: int
    priority: float
    lastmod: str | None = None
    reason: str = ""
    """Why it is not to be fetched; empty where it is."""
    rule: str = ""
    """The rule, or the pattern, that decided so."""
    line: int = 0
    """Where the rule stands in robots.txt."""

    @property
    def is_kept(self) -> bool:
        """Whether it is to be fetched."""
        return not self.reason


class Sitemap(NamedTuple):
    """A sitemap that was read, or tried."""

    url: str
    found_in: str
    """The index, or the robots.txt, that names it; empty where it was only looked for."""
    form: str
    entries: int
    problems: tuple[Problem, ...]
    status: str
    """What came back: a status, or why there was none."""

    @property
    def was_read(self) -> bool:
        """Whether there was something to read."""
        return self.status.isdigit() and 200 <= int(self.status) < 300


class ReadSitemap(NamedTuple):
    """A sitemap that was asked for: the answer, what it is, what it names."""

    page: Page
    """The answer, without its body."""
    sitemap: Sitemap
    entries: list[Entry]

    @property
    def is_cut(self) -> bool:
        """Whether there is more of it than is read."""
        problems = self.sitemap.problems
        return any(each.problem in ("too-large", "too-many-entries") for each in problems)


async def read_sitemap(client: AsyncClient, url: str, found_in: str = "") -> ReadSitemap:
    """Read one sitemap, as far as it comes."""
    entries: list[Entry] = []
    # One byte more than is read tells that there is more.
    async with client.stream(url, max_bytes=MAX_BYTES + 1, is_page=False) as stream:
        page = stream.page
        if not page.ok:
            return ReadSitemap(page, Sitemap(url, found_in, "unknown", 0, (), str(page)), [])
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
    sitemap = Sitemap(url, found_in, parser.form, parser.entries, problems, status)
    return ReadSitemap(page, sitemap, entries)


class LinkPage(NamedTuple):
    """A page whose links were read, or that was tried."""

    url: str
    status: str
    """What came back: a status, or why there was none."""
    links: int = 0
    nofollow: str = ""
    """What tells robots to follow nothing there; empty where nothing does."""


class Discovery:
    """Finds what there is on a site.

    `keep` is called with every URL whose fate is settled; a later word about one counts more: what
    one page says nofollow to, another may link to. `progress` is called now and then. Afterwards
    `kept` has what is to be fetched, the best first.
    """

    def __init__(
        self,
        client: AsyncClient,
        source: Source = "auto",
        *,
        keep: Callable[[Found], None] = lambda _: None,
        progress: Callable[["Discovery"], None] = lambda _: None,
    ) -> None:
        self._client, self._source, self._keep, self._progress = client, source, keep, progress
        self._traps = Traps.by(client.settings)
        self.robots: Verdict | None = None
        """The verdict on the first page, which tells how its robots.txt was retrieved."""
        self.sitemaps: list[Sitemap] = []
        self.pages: list[LinkPage] = []
        self.found: Counter[str] = Counter()
        """How many URLs each source names; one that two of them name counts for both."""
        self.allowed: Counter[str] = Counter()
        """How many of those may be fetched."""
        self.filtered: Counter[tuple[str, str, int]] = Counter()
        """How many are not to be fetched, by reason, rule and line."""
        self.is_cut = False
        """Whether there is more than was looked at."""
        self.is_undecided = False
        """Whether something did not answer, or is not to be asked yet."""
        self._seen: dict[bytes, int] = {}
        self._shunned: dict[bytes, tuple[str, str]] = {}
        """What is out because of who names it, and why: it is in if another names it."""
        self._best: list[tuple[float, int, Found]] = []
        self._settled = 0
        self._named: dict[str, frozenset[str]] = {}
        self._origins: set[str] = set()
        self._hosts: set[str] = set()

    @property
    def kept(self) -> list[Found]:
        """What is to be fetched, the best first."""
        return [each for *_, each in sorted(self._best, reverse=True)]

    async def run(self, start: str) -> None:
        """Find what there is on the site of a URL; what was found counts, however this ends."""
        first = page_url(start, without_tracking=self._client.settings.drop_tracking)
        self._hosts.add(host(first))
        self._origins.add(origin(first))
        try:
            self.robots = await self._client.check(first)
            self._lives_at(getattr(self.robots.retrieval, "final_url", ""))
            if self._source != "sitemap":  # else it counts only if a sitemap names it
                await self._add(Found(first, "start", "", 0, 1.0))
            if self._source != "links":
                await self._read_sitemaps(first)
            if self._source != "sitemap":
                await self._read_links(first)
        finally:
            for each in self.kept:
                self._keep(each)
        self._progress(self)

    def _lives_at(self, url: str) -> None:
        """A site that redirects to another host, as to one with `www.` before it, lives there."""
        if url:
            self._hosts.add(host(url))

    # Sitemaps.

    async def _read_sitemaps(self, first: str) -> None:
        its, place = self._client.settings, origin(first)
        waiting: deque[tuple[str, str, int, str]] = deque()
        seen: set[str] = set()

        def wait(url: str, found_in: str, depth: int, root: str = "") -> None:
            try:
                url = page_url(url)
            except InvalidURL as error:
                self._tried(without_credentials(url), found_in, error.problem)
                return
            if url in seen:
                return
            if len(seen) >= its.max_sitemaps or depth > its.sitemap_depth:
                self.is_cut = True
                return
            seen.add(url)
            waiting.append((url, found_in, depth, root or url))

        named = await self._named_by(first)
        for url in named:
            wait(url, f"{place}/robots.txt", 1)
        if not named:
            wait(place + FALLBACK, "", 1)
        while waiting:
            url, found_in, depth, root = waiting.popleft()
            for entry in await self._read_sitemap(url, found_in, root):
                wait(entry.url, url, depth + 1, root)
            self._progress(self)

    async def _named_by(self, url: str) -> list[str]:
        """The sitemaps that the robots.txt of a site names; none where it is not to be asked."""
        if not self._client.settings.respects(host(url)):
            return []
        try:
            site = await self._client.robots.get(url)
        except _AWAY:
            self.is_undecided = True
            return []
        return [sitemap.url for sitemap in site.robots.sitemaps]

    async def _read_sitemap(self, url: str, found_in: str, root: str) -> list[Entry]:
        """Read one sitemap; returns those that it names in turn."""
        try:
            read = await read_sitemap(self._client, url, found_in)
        except _AWAY as error:
            self.is_undecided = True
            self._tried(url, found_in, str(error))
            return []
        self._status(read.page)
        self.is_cut |= read.is_cut
        self.sitemaps.append(read.sitemap)
        # Not before the stream is over: to settle one may take a request to the same host, for
        # which the slot of the stream has to be free.
        return await self._take(read.entries, url, root)

    def _tried(self, url: str, found_in: str, status: str) -> None:
        self.sitemaps.append(Sitemap(url, found_in, "unknown", 0, (), status))

    def _status(self, page: Page) -> str:
        self.is_undecided |= page.was_allowed and page.status is None
        return str(page)

    async def _take(self, entries: list[Entry], sitemap: str, root: str) -> list[Entry]:
        named = []
        for number, entry in enumerate(entries, 1):
            if entry.kind == "sitemap":
                named.append(entry)
            else:
                priority = _PRIORITY if entry.priority is None else entry.priority
                found = Found(entry.url, "sitemap", sitemap, 1, priority, entry.lastmod)
                await self._add(found, root=root)
            if not number % _AT_A_TIME:
                self._progress(self)
                await asyncio.sleep(0)
        return named

    # Links.

    async def _read_links(self, first: str) -> None:
        its = self._client.settings
        waiting: deque[tuple[str, int]] = deque([(first, 1)])
        asked = {first}
        while waiting:
            url, depth = waiting.popleft()
            try:
                page = await self._client.get(url, must_include=url != first)
            except _AWAY as error:
                self.is_undecided = True
                self.pages.append(LinkPage(url, str(error)))
                continue
            except BudgetExceeded:
                self.is_cut = True
                return
            if url == first:
                self._lives_at(page.final_url)
            links = self._links(page)
            self.is_cut |= links.is_cut or not page.complete
            status, count = self._status(page), len(links.links)
            self.pages.append(LinkPage(page.final_url, status, count, links.nofollow))
            for link in links.links:
                nofollow = links.nofollow or ("rel=nofollow" if link.nofollow else "")
                found = Found(link.url, "link", page.final_url, depth, _PRIORITY)
                may = await self._add(found, nofollow=nofollow)
                if may and depth < its.link_depth and link.url not in asked:
                    asked.add(link.url)
                    waiting.append((link.url, depth + 1))
            self._progress(self)

    def _links(self, page: Page) -> Links:
        if not page.ok or not is_html(page):
            return Links()
        return extract(
            page.text,
            page.final_url,
            self._client.agent,
            page.robots_tag,
            without_tracking=self._client.settings.drop_tracking,
        )

    # The filter.

    async def _add(self, found: Found, *, root: str = "", nofollow: str = "") -> bool:
        """Settle the fate of a URL, unless that is done; whether it may be fetched from here."""
        its = self._client.settings
        try:
            url = page_url(found.url, without_tracking=its.drop_tracking)
        except InvalidURL:
            return False
        mark = hashlib.blake2b(url.encode(), digest_size=16).digest()
        known, bit = self._seen.get(mark, 0), _SOURCES[found.source]
        if not known and len(self._seen) >= its.max_found:
            self.is_cut = True
            return False
        if not known & bit:
            self._seen[mark] = known | bit
            self.found[found.source] += 1
        if known and (nofollow or mark not in self._shunned):
            if known & _OPEN and not known & bit:
                self.allowed[found.source] += 1
            return bool(known & _OPEN) and not nofollow
        found = found._replace(url=url)
        if nofollow:
            self._shun(found._replace(reason="nofollow", rule=nofollow), mark)
            return False
        if known:
            reason, rule = self._shunned.pop(mark)
            self.filtered[reason, rule, 0] -= 1
            if not self.filtered[reason, rule, 0]:
                del self.filtered[reason, rule, 0]
        return await self._settle(found, mark, root)

    async def _settle(self, found: Found, mark: bytes, root: str) -> bool:
        its = self._client.settings
        reason, rule, line = await self._why_not(found, root)
        if reason:
            found = found._replace(reason=reason, rule=cut(rule, _RULE), line=line)
            if reason == "not-named":
                self._shun(found, mark)
            else:
                self._filter(found)
            return False
        self._seen[mark] |= _OPEN
        for source, bit in _SOURCES.items():
            if self._seen[mark] & bit:
                self.allowed[source] += 1
        self._settled += 1
        heapq.heappush(self._best, (found.priority, -self._settled, found))
        if len(self._best) > its.max_urls:
            *_, worst = heapq.heappop(self._best)
            self._filter(worst._replace(reason="over-cap", rule=f"max_urls = {its.max_urls}"))
        return True

    def _shun(self, found: Found, mark: bytes) -> None:
        self._shunned[mark] = found.reason, found.rule
        self._filter(found)

    def _filter(self, found: Found) -> None:
        self.filtered[found.reason, found.rule, found.line] += 1
        self._keep(found)

    async def _why_not(self, found: Found, root: str) -> tuple[str, str, int]:
        """Why a URL is not to be fetched; nothing where it is."""
        name = host(found.url)
        outside = await self._outside(found, name, root)
        if outside:
            return outside, name, 0
        # What a site lists itself is no trap by its number.
        trap = self._traps.look(found.url, counts=found.source != "sitemap")
        if trap is not None:
            return f"trap: {trap}", limit_of(trap, self._client.settings), 0
        try:
            verdict = await self._client.check(found.url)
        except _AWAY:
            self.is_undecided = True
            return "undecided", name, 0
        if verdict.allowed:
            return "", "", 0
        rule = verdict.rule.pattern if verdict.rule else ""  # the user's own has no line
        said = verdict.line_text.strip() if verdict.line else rule
        return str(verdict.reason), said, verdict.line

    async def _outside(self, found: Found, name: str, root: str) -> str:
        """Why a URL is no part of the site; empty where it is one."""
        place = origin(found.url)
        if name not in self._hosts and not root:
            return "other-host"
        if place not in self._origins:
            if len(self._origins) >= _ORIGINS:
                return "too-many-origins"
            self._origins.add(place)
        if name not in self._hosts and not await self._is_named(found, root):
            return "not-named"
        return ""

    async def _is_named(self, found: Found, root: str) -> bool:
        """Whether the robots.txt of another host names this sitemap, or the index it is from.

        sitemaps.org, "Sitemaps & Cross Submits": that is how a host says that a sitemap elsewhere
        may speak for it.
        """
        place = origin(found.url)
        if place not in self._named:
            self._named[place] = frozenset(map(_plain, await self._named_by(found.url)))
        return not self._named[place].isdisjoint((_plain(root), found.found_in))


def is_html(page: Page) -> bool:
    """Whether a page has links to be read: by its type, else by how it begins."""
    return charset.is_html(page.body, page.headers.get("content-type", ""))


def _plain(url: str) -> str:
    try:
        return page_url(url)
    except InvalidURL:
        return ""
