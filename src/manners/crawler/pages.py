"""The worker: asks for one URL of a crawl, and says what came of it and where it leads to."""

import asyncio
import hashlib
import json
import time
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from manners import logs
from manners._text import cut, printable
from manners.client import AsyncClient
from manners.crawler.discovery import FALLBACK, is_html, read_sitemap
from manners.crawler.frontier import (
    NOFOLLOW,
    NOT_NAMED,
    OTHER_HOST,
    REDIRECT,
    Answer,
    Finished,
    Named,
    Url,
)
from manners.crawler.heavy import SLICE, Turns, is_heavy
from manners.crawler.links import Link, Links, extract
from manners.errors import InvalidURL
from manners.page import Page
from manners.robots.verdict import Reason
from manners.sitemaps import Entry
from manners.urls import host, origin, page_url, redirect_target

_FOR_GOOD = ("refused address", "TLS error", "not HTTP", "bad content-encoding")
"""Why there is no answer, where asking again changes nothing."""
_FIRST = 2.0
"""The priority of sitemaps: they are read before the pages that they might name."""
_PRIORITY = 0.5  # what the protocol of sitemaps means where nothing is said
_REMEMBERED = 16_384
"""URLs of which it is remembered that the frontier knows them: pages link to the same ones."""
_MAX_TYPE, _MAX_RULE, _MAX_PROBLEMS = 200, 500, 20
_ENTRY = 50
"""What an entry of a sitemap costs, in bytes of a page."""
_NOTHING = Links()


class Crawled(Page):
    """A page, and what a crawl knows of it."""

    __slots__ = (
        *("_sha256", "attempts", "depth", "found_in", "links", "location", "reason", "state"),
        "title",
    )

    depth: int
    """How many links it is away from where the crawl began."""
    found_in: str
    """What names it."""
    attempts: int
    """How often it was asked for."""
    state: str
    """`done`, `failed` or `blocked`."""
    reason: str
    """Why it failed or is blocked; `redirect` for one that is elsewhere."""
    title: str
    links: tuple[Link, ...]
    """Where it leads to."""
    location: str
    """Where it redirects to; that is a page of its own."""
    _sha256: str

    def __init__(self, page: Page, url: Url, found: Links) -> None:
        super().__init__(page.url, page.hops, page.headers, page.body, page.complete)
        self._set(depth=url.depth, found_in=url.found_in, attempts=url.attempts)
        self._set(title=found.title, links=found.links, location="", _sha256="")

    def _set(self, **values: Any) -> None:
        for name, value in values.items():
            object.__setattr__(self, name, value)

    @property
    def cause(self) -> str:
        """Why there is no answer; a redirect is one, though nobody follows it here."""
        return "" if self.location else super().cause

    @property
    def type(self) -> str:
        """What the server says it is, as `text/html`."""
        said = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return printable(said[:_MAX_TYPE])

    @property
    def sha256(self) -> str:
        """The hash of the body, as it was read."""
        if not self._sha256:
            self._set(_sha256=hashlib.sha256(self.body).hexdigest())
        return self._sha256

    def to_dict(self) -> dict[str, Any]:
        """What is known of the page, without its body, as plain values, ready for JSON."""
        return {
            "url": self.url,
            "state": self.state,
            "reason": self.reason,
            "depth": self.depth,
            "found_in": self.found_in,
            "attempts": self.attempts,
            "title": self.title,
            "type": self.type,
            "sha256": self.sha256 if self.status is not None else "",
            "location": self.location,
            "links": [link.url for link in self.links],
            **super().to_dict(),
        }


class Worker:
    """Asks for URLs with a client that follows no redirect: where one leads to is a URL, too.

    `scope` has the hosts that belong to the crawl; None is every host. `draw` is random, from 0 to
    1. `add` adds URLs to the frontier: what a large page leads to is added in slices before the
    page is finished.
    """

    def __init__(
        self,
        client: AsyncClient,
        scope: set[str] | None,
        draw: Callable[[], float],
        add: Callable[[Sequence[Named]], Awaitable[object]],
    ) -> None:
        self._client, self._scope, self._draw, self._add = client, scope, draw, add
        self.turns = Turns()
        """Who reads a large page next."""
        self._its = client.settings
        self._known: dict[str, tuple[bool, int]] = {}
        """URLs that were named already: whether they may be followed, and from how deep."""

    async def work(self, url: Url) -> tuple[Finished, Crawled | None]:
        """Ask for a URL; what becomes of it, and the page, unless it is to be tried again."""
        if url.kind == "sitemap":
            return await self._sitemap(url), None
        named = await self._sitemaps_of(url.url) if url.source == "start" else []
        if url.source == "start" and self._its.source == "sitemap":
            verdict = await self._client.check(url.url)
            is_away = verdict.reason is Reason.UNREACHABLE  # nobody knows what its sitemaps are
            # It counts if a sitemap names it.
            reason = str(verdict.reason) if is_away else NOT_NAMED
            return Finished(url, "blocked", reason, named=named), None
        page = await self._client.get(url.url, must_include=url.source != "start")
        if is_heavy(page.body):
            async with self.turns.turn(url.host, len(page.body)):
                links, crawled = await asyncio.to_thread(self._read, url, page)
                finished = await self._finished(url, page, crawled, links, named)
                finished = finished._replace(named=await self._add_most(finished.named))
        else:
            links, crawled = self._read(url, page)
            finished = await self._finished(url, page, crawled, links, named)
        if finished.state == "queued":
            return finished, None
        return finished, crawled

    def _read(self, url: Url, page: Page) -> tuple[Links, Crawled]:
        """What takes long where a page is large; nothing of the worker is changed."""
        links = self._links(page)
        crawled = Crawled(page, url, links)
        if page.was_allowed:
            _ = crawled.sha256
        return links, crawled

    async def _finished(
        self, url: Url, page: Page, crawled: Crawled, links: Links, named: list[Named]
    ) -> Finished:
        finished = self._judged(url, page, crawled)
        if finished.reason != REDIRECT and page.ok and self._its.source != "sitemap":
            more, targets = await self._follow(url, page, links)
            finished = finished._replace(named=[*finished.named, *more], targets=targets)
        return finished._replace(
            named=[*named, *finished.named],
            answer=self._answer(page, crawled),
            is_cut=links.is_cut,
        )

    async def _add_most(self, named: Sequence[Named]) -> Sequence[Named]:
        """Add what a large page names to the frontier, in slices; returns what is left.

        Other hosts' records come between the slices. The page is finished after them, with what is
        left: so a page that counts as done has led to all of it, and one that was under way when
        the crawl was killed is asked for again.
        """
        at = 0
        while len(named) - at > SLICE:
            await self._add(named[at : at + SLICE])
            at += SLICE
        return named[at:] if at else named

    # What a reply means.

    def _judged(self, url: Url, page: Page, crawled: Crawled | None) -> Finished:
        """What becomes of a URL: done, failed, blocked, or queued to be tried again."""
        hop, attempts = page.hops[-1], url.attempts + 1
        state, reason, rule, line, not_before = "done", "", "", 0, 0.0
        named: list[Named] = []
        is_tried_again, joins = False, ""
        if not page.was_allowed:
            verdict, attempts = page.verdict, url.attempts
            pattern = verdict.rule.pattern if verdict.rule else ""  # the user's own has no line
            state, reason, line = "blocked", str(verdict.reason), verdict.line
            rule = cut(verdict.line_text.strip() if line else pattern, _MAX_RULE)
        elif page.status is None:
            state, reason = "failed", page.cause
            is_tried_again = page.cause not in _FOR_GOOD
        elif 300 <= page.status < 400 and page.headers.get("location", "").strip():
            found, problem = redirect_target(url.url, page.headers["location"])
            if problem:
                state, reason = "failed", problem
            else:
                target = self._target(url, found)
                reason, named, attempts = REDIRECT, [target], url.attempts
                joins = self._join(target)
                if self._client.budget is not None and url.kind == "page":
                    self._client.budget.give_back()
                if crawled is not None:
                    crawled._set(location=target.url)
        elif page.server_failed:
            state, reason, is_tried_again = "failed", f"status {page.status}", True
        if is_tried_again and attempts < self._its.attempts:
            state, not_before = "queued", time.time() + self._pause(attempts)
            if logs.wants_requests():
                logs.retried(url.url, reason, attempts + 1)
        if crawled is not None:
            crawled._set(state=state, reason=reason, attempts=attempts)
        return Finished(
            url,
            state,
            reason,
            rule,
            line,
            attempts,
            not_before,
            hop.evidence_id,
            named=named,
            targets=[each.url for each in named if not each.reason],
            joins=joins,
            pace=self._client.pace_of(url.host),
        )

    def _pause(self, attempts: int) -> float:
        its = self._its
        pause = min(its.backoff_first * 2.0 ** min(attempts - 1, 64), its.backoff_most)
        return pause * (1 + its.backoff_jitter * (2 * self._draw() - 1))

    def _target(self, url: Url, target: str) -> Named:
        """Where a redirect leads to, as a URL of the frontier."""
        target = page_url(target, without_tracking=self._its.drop_tracking)
        # A site that redirects to another host, as to one with `www.` before it, lives there.
        source = "start" if url.source == "start" else "redirect"
        reason = "" if source == "start" or self._is_inside(target) else OTHER_HOST
        return Named(
            target,
            source,
            url.url,
            url.depth,
            url.priority,
            reason=reason,
            rule=host(target) if reason else "",
            kind=url.kind,
            hops=url.hops + 1,
        )

    def _join(self, named: Named) -> str:
        """The host that belongs to the crawl by a redirect; empty where it did before."""
        name = host(named.url)
        if named.source != "start" or self._scope is None or name in self._scope:
            return ""
        self._scope.add(name)
        self._known.clear()  # its URLs were another host's
        return name

    def _is_inside(self, url: str) -> bool:
        return self._scope is None or host(url) in self._scope

    def _answer(self, page: Page, crawled: Crawled) -> Answer | None:
        if not page.was_allowed:
            return None
        hop = page.hops[-1]
        return Answer(
            page.status,
            crawled.cause,
            crawled.type,
            len(page.body),
            crawled.sha256,
            crawled.title,
            len(crawled.links),
            crawled.location,
            hop.started,
            hop.waited,
            hop.seconds,
            self._client.pace_of(host(page.final_url), 0.0)[0],
        )

    # Where it leads to.

    def _links(self, page: Page) -> Links:
        if not page.ok or not is_html(page):
            return _NOTHING
        return extract(
            page.text,
            page.final_url,
            self._client.agent,
            page.robots_tag,
            without_tracking=self._its.drop_tracking,
        )

    async def _follow(self, url: Url, page: Page, links: Links) -> tuple[list[Named], list[str]]:
        """The links of a page, as far as they are news, and those that may be followed."""
        named: list[Named] = []
        targets: list[str] = []
        known, depth, nowhere = self._known, url.depth + 1, links.nofollow
        keeps_targets = self._its.max_depth is not None
        for number, link in enumerate(links.links, 1):
            if not number % SLICE:
                await asyncio.sleep(0)
            target, may = link.url, not (nowhere or link.nofollow)
            if keeps_targets and may and self._is_inside(target):
                targets.append(target)
            before = known.get(target)
            if before is not None and before >= (may, -depth):
                continue
            if before is None and len(known) >= _REMEMBERED:
                del known[next(iter(known))]
            known[target] = (may, -depth)
            reason = rule = ""
            if not may:
                reason, rule = NOFOLLOW, nowhere or "rel=nofollow"
            elif not self._is_inside(target):
                reason, rule = OTHER_HOST, host(target)
            named.append(
                Named(target, "link", page.final_url, depth, _PRIORITY, reason=reason, rule=rule)
            )
        return named, targets

    # Sitemaps.

    async def _sitemaps_of(self, url: str) -> list[Named]:
        """The sitemaps that a robots.txt names, or where one may be."""
        if self._its.source == "links" or not self._its.respects(host(url)):
            return []
        site = await self._client.robots.get(url)
        place = origin(url)
        found = [(each.url, f"{place}/robots.txt") for each in site.robots.sitemaps]
        named: list[Named] = []
        for each, found_in in found[: self._its.max_sitemaps] or [(place + FALLBACK, "")]:
            try:
                named.append(Named(page_url(each), "sitemap", found_in, 1, _FIRST, kind="sitemap"))
            except InvalidURL:
                continue
        return named

    async def _sitemap(self, url: Url) -> Finished:
        read = await read_sitemap(self._client, url.url, url.found_in)
        page, sitemap = read.page, read.sitemap
        finished = self._judged(url, page, None)
        if page.was_allowed:
            hop = page.hops[-1]
            # The last may tell why no more was read.
            problems = [each._asdict() for each in sitemap.problems[-_MAX_PROBLEMS:]]
            finished = finished._replace(
                answer=Answer(
                    page.status,
                    "" if finished.reason == REDIRECT else page.cause,
                    sitemap.form,
                    0,
                    "",
                    "",
                    sitemap.entries,
                    "",
                    hop.started,
                    hop.waited,
                    hop.seconds,
                    self._client.pace_of(url.host, 0.0)[0],
                    json.dumps(problems),
                )
            )
        if not read.entries:
            return finished
        if len(read.entries) <= SLICE:
            return finished._replace(named=self._entries(url, read.entries))
        async with self.turns.turn(url.host, len(read.entries) * _ENTRY):
            named = await asyncio.to_thread(self._entries, url, read.entries)
            return finished._replace(named=await self._add_most(named))

    def _entries(self, url: Url, entries: list[Entry]) -> list[Named]:
        return [each for entry in entries if (each := self._entry(url, entry)) is not None]

    def _entry(self, url: Url, entry: Entry) -> Named | None:
        """What a sitemap names: a page, or another sitemap."""
        if entry.kind == "sitemap":
            if url.depth >= self._its.sitemap_depth:
                return None
            depth, priority, kind = url.depth + 1, _FIRST, "sitemap"
        else:
            priority = _PRIORITY if entry.priority is None else entry.priority
            depth, kind = 1, "page"
        try:
            target = page_url(
                entry.url, without_tracking=self._its.drop_tracking and kind == "page"
            )
        except InvalidURL:
            return None
        is_inside = kind == "sitemap" or self._is_inside(target)
        return Named(
            target,
            "sitemap",
            url.url,
            depth,
            priority,
            entry.lastmod,
            "" if is_inside else OTHER_HOST,
            "" if is_inside else host(target),
            kind,
        )
