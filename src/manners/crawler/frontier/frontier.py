"""The frontier of one crawl.

    queued     to be fetched, or being fetched: nothing is written until it is finished
    done       answered, whatever the status
    failed     not answered, or only with server errors, on every attempt
    blocked    may not be fetched; the reason says why
    kept       may be fetched, but this crawl only lists it: it is a discovery

One process at a time works on a crawl.
"""

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from manners.crawler.frontier.queries import PAGE_COLUMNS, RETRY_COLUMNS, Queries, Row
from manners.crawler.frontier.room import Room
from manners.crawler.frontier.values import (
    Change,
    FetchResult,
    FoundUrl,
    LeasedBatch,
    LeasedUrl,
    clean,
    digest_of,
)
from manners.crawler.frontier.ways import (
    Judge,
    Limits,
    Ways,
    moved,
    never_queued,
)
from manners.crawler.reasons import NO_ROOM, NOT_NAMED, OTHER_HOST
from manners.errors import StoreError
from manners.store.database import Store
from manners.urls import host

_VERDICTS = ("excluded", "rule-matched", "stale-copy")
_REASONS_BY_SETTING = {
    "source": (NOT_NAMED,),
    "same_domain": (OTHER_HOST,),
    "max_discovered": (NO_ROOM,),
    "max_sitemaps": (NO_ROOM,),
    **dict.fromkeys(
        ("agent", "dialect", "profile", "respect_robots", "hosts", "exclude", "include"), _VERDICTS
    ),
}
"""Settings, and what is blocked for which reasons because of them."""
_UNCHANGED = Change()
_page_values, _retry_values = itemgetter(*PAGE_COLUMNS), itemgetter(*RETRY_COLUMNS)


class Frontier:
    """The URLs of one crawl: `add`, `hosts_with_work`, `take`, `finish`, `end` and `resume`.

    number = crawls.begin(store, ["https://example.com/"], now=time.time())
    frontier = Frontier(store, number)
    await frontier.add([FoundUrl("https://example.com/", "start", "", 0)])
    for name in await frontier.hosts_with_work():
        for url in (await frontier.take(name, 10, time.time())).urls:
            await frontier.finish(await worker.work(url))
    """

    def __init__(
        self,
        store: Store,
        crawl: int,
        *,
        limits: Limits | None = None,
        max_urls: int = 1_000_000,
        max_sitemaps: int = 500,
        judge: Judge = lambda *_: ("", ""),
    ) -> None:
        self.store, self.crawl = store, crawl
        self._limits, self._judge = limits or Limits(), judge
        self._rooms = {
            "page": Room("page", max_urls, "max_discovered"),
            "sitemap": Room("sitemap", max_sitemaps, "max_sitemaps"),
        }
        self._in_hand: dict[str, set[str]] = {}
        """The digests of URLs that are being fetched, by host."""
        with store.reading() as connection:
            queries = Queries(connection, crawl)
            if not queries.exists():
                raise StoreError(store.place, f"there is no crawl {crawl} in it")
            self._sequence = queries.sequence()
            self._measure(queries)

    def _measure(self, queries: Queries) -> None:
        """Count the URLs of each host."""
        for room in self._rooms.values():
            room.clear()
        for kind, name, state, reason, number in queries.totals():
            room = self._rooms[kind]
            if state == "blocked" and reason == NO_ROOM:
                room.dropped += number
            elif state == "blocked" and never_queued(reason):
                room.blocked += number
            else:
                room.by_host[name] += number
                room.total += number
                room.queued[name] += number if state == "queued" else 0

    @property
    def is_cut(self) -> bool:
        """Whether a URL was dropped because a limit was reached."""
        return any(room.dropped for room in self._rooms.values())

    # The verbs.

    async def add(self, found: Sequence[FoundUrl]) -> Change:
        """Add URLs; of those that are known, what is better about this way to them."""
        change: Change = await self.store.write(self._add, found)
        return change

    async def hosts_with_work(self) -> dict[str, float]:
        """The hosts with queued URLs, and when the first of each may be fetched."""
        hosts: dict[str, float] = await self.store.write(self._hosts_with_work, None)
        return hosts

    async def take(self, name: str, limit: int, now: float) -> LeasedBatch:
        """Lease the best URLs of a host: by priority, depth, and when they were found."""
        batch: LeasedBatch = await self.store.write(self._take, (name, limit, now))
        return batch

    async def finish(self, result: FetchResult) -> Change:
        """Write what came of a URL and add what it leads to, both or neither."""
        change: Change = await self.store.write(self._finish, result)
        return change

    async def give_up(self, url: LeasedUrl, state: str, reason: str) -> Change:
        """Write what becomes of a leased URL that was not requested."""
        return await self._release(url, state, reason, 0.0)

    async def postpone(self, url: LeasedUrl, until: float) -> Change:
        """Queue a leased URL again, not to be fetched before a time; it was no attempt."""
        return await self._release(url, "queued", "", until)

    async def _release(self, url: LeasedUrl, state: str, reason: str, until: float) -> Change:
        def job(connection: Connection, items: Sequence[LeasedUrl]) -> list[Change]:
            row, digest = (
                (state, reason, "", 0, None, url.attempts, until, None),
                digest_of(url.url),
            )
            Queries(connection, self.crawl).finish([(row, digest)])
            self._let_go(url, digest)
            is_queued, pages = state == "queued", int(url.kind == "page")
            self._rooms[url.kind].queued[url.host] += is_queued
            hosts = frozenset([url.host] if is_queued else [])
            return _first(Change(hosts, {"leased": -pages, state: pages}), len(items))

        change: Change = await self.store.write(job, url)
        return change

    async def end(self, reason: str | None, seconds: float) -> None:
        """Write why the crawl ended, or, with None, how long it has been running."""

        def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            Queries(connection, self.crawl).end(reason, seconds)
            if reason is not None:
                self._in_hand.clear()
            return items

        await self.store.write(job, None)

    def resume(self, settings: Mapping[str, Any]) -> None:
        """Queue what may be fetched now; and what an older version was fetching when it stopped.

        That is what could not be decided; what was too deep, if the limit has changed; and what
        was blocked because of settings that have changed.
        """

        def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            queries = Queries(connection, self.crawl)
            before, now = queries.settings(), json.loads(json.dumps(settings))
            reasons = {"unreachable"}
            for name, blocked_for in _REASONS_BY_SETTING.items():
                if before.get(name) != now.get(name):
                    reasons.update(blocked_for)
            queries.requeue(reasons, self._limits.max_depth)
            queries.resume(now)
            self._measure(queries)
            return items

        self.store.write_blocking(job, None)

    # What is known.

    def states(self) -> "Counter[tuple[str, str]]":
        """How many URLs there are, by kind and state."""
        with self.store.reading() as connection:
            return Queries(connection, self.crawl).states()

    def pages_used(self) -> int:
        """How many requests for pages count for the budget."""
        with self.store.reading() as connection:
            return Queries(connection, self.crawl).pages_used()

    def seconds(self) -> float:
        """How long the crawl has been running, in all."""
        with self.store.reading() as connection:
            return Queries(connection, self.crawl).seconds()

    def paces(self) -> dict[str, tuple[float, float]]:
        """The delay of each host, and when it may be requested again."""
        with self.store.reading() as connection:
            return Queries(connection, self.crawl).paces()

    def starts(self, *, given: bool = False) -> Iterator[str]:
        """The URLs that the crawl started with; unless `given`, also where those redirect to."""
        with self.store.reading() as connection:
            yield from Queries(connection, self.crawl).starts(given=given)

    def followed(self) -> Iterator[str]:
        """The URLs of links that were queued once, whatever became of them."""
        with self.store.reading() as connection:
            yield from Queries(connection, self.crawl).followed()

    # In the writer's thread.

    def _hosts_with_work(
        self, connection: Connection, items: Sequence[None]
    ) -> list[dict[str, float]]:
        return [Queries(connection, self.crawl).hosts_with_work()] * len(items)

    def _take(
        self, connection: Connection, items: Sequence[tuple[str, int, float]]
    ) -> list[LeasedBatch]:
        queries = Queries(connection, self.crawl)
        batches = []
        for name, limit, now in items:
            in_hand = self._in_hand.setdefault(name, set())
            due = queries.due(name, limit + len(in_hand), now)
            free = [(digest, url) for digest, url in due if digest not in in_hand][:limit]
            for digest, url in free:
                in_hand.add(digest)
                self._rooms[url.kind].queued[url.host] -= 1
            if not in_hand:
                del self._in_hand[name]
            more_at = queries.later(name, now) if len(free) < limit else now
            batches.append(LeasedBatch(tuple(url for _, url in free), more_at))
        return batches

    def _let_go(self, url: LeasedUrl, digest: str) -> None:
        """A URL was finished, one way or another."""
        in_hand = self._in_hand.get(url.host, set())
        in_hand.discard(digest)
        if not in_hand:
            self._in_hand.pop(url.host, None)

    def _add(self, connection: Connection, items: Sequence[Sequence[FoundUrl]]) -> list[Change]:
        queries = Queries(connection, self.crawl)
        ways = Ways(queries, self._limits, self._rooms, self._judge)
        for found in items:
            ways.add(found)
        return _first(self._write(queries, ways), len(items))

    def _finish(self, connection: Connection, items: Sequence[FetchResult]) -> list[Change]:
        queries = Queries(connection, self.crawl)
        ways = Ways(queries, self._limits, self._rooms, self._judge)
        digests = [digest_of(item.url.url) for item in items]
        self._write_results(queries, items, digests)
        known = ways.load(digests)
        shorter: list[str] = []
        for item, digest in zip(items, digests, strict=True):
            url, page, found = item.url, item.page, item.found
            self._let_go(url, digest)
            ways.count(url.kind, "leased", page.state)
            if page.state == "queued":
                ways.hosts.add(url.host)
                self._rooms[url.kind].queued[url.host] += 1
            row = known.get(digest)
            if row is not None and (row.depth, row.hops) != (url.depth, url.hops):
                # A shorter way to it was found while it was being fetched.
                shorter.append(digest)
                found = moved(found, row.depth - url.depth, row.hops - url.hops)
            ways.add(found)
            if item.joined_host:
                ways.add([FoundUrl(*values) for values in queries.outside(item.joined_host)])
        ways.shorten(shorter)
        return _first(self._write(queries, ways), len(items))

    def _write_results(
        self, queries: Queries, items: Sequence[FetchResult], digests: Sequence[str]
    ) -> None:
        finished: list[tuple[Row, str]] = []
        pages, retries, paces = [], [], {}
        for item, digest in zip(items, digests, strict=True):
            page = item.page
            finished.append(
                (
                    (
                        *(page.state, clean(page.reason), clean(page.rule), page.line),
                        *(page.status, page.attempts, page.not_before, page.evidence_id),
                    ),
                    digest,
                )
            )
            if page.was_allowed:
                row = page.to_row()
                if page.state == "queued":
                    retries.append((digest, *map(clean, _retry_values(row))))
                else:
                    pages.append((digest, *map(clean, _page_values(row)), self._targets(item)))
            if item.pace is not None:
                paces[item.url.host] = (item.url.host, *item.pace)
        queries.finish(finished)
        queries.keep_pages(pages)
        queries.keep_retries(retries)
        queries.keep_paces(paces.values())

    def _targets(self, item: FetchResult) -> bytes | None:
        """The digests of what a page leads to; they are needed where depth is limited."""
        if self._limits.max_depth is None:
            return None
        return bytes.fromhex("".join(digest_of(clean(target)) for target in item.targets))

    def _write(self, queries: Queries, ways: Ways) -> Change:
        """Write what is new or better, and drop what there is no room for."""
        new: list[Row] = []
        settled: list[tuple[Row, str]] = []
        shortened: list[tuple[Row, str]] = []
        before = self._sequence
        for digest, url in ways.urls.items():
            found, distance = url.found, (url.depth, url.hops, url.priority)
            if url.is_new and found is not None:
                self._sequence += 1
                name = host(found.url)
                if url.kind == "page":
                    ways.states[url.state] += 1
                if url.state == "queued":
                    ways.hosts.add(name)
                new.append(
                    (
                        *(digest, clean(found.url), name, found.source, clean(found.found_in)),
                        *(url.depth, url.priority, clean(found.lastmod), url.reason),
                        *(clean(url.rule), url.line, url.kind, url.state, url.hops),
                        self._sequence,
                    )
                )
            elif found is not None:
                state = (url.state, url.reason, clean(url.rule), url.line)
                row = (*distance, *state, found.source, clean(found.found_in))
                settled.append((row, digest))
            elif url.is_changed:
                shortened.append(((*distance, url.state), digest))
        queries.insert(new)
        queries.settle(settled)
        queries.shorten(shortened)
        for room in self._rooms.values():
            for name, number in room.excess():
                self._drop(queries, ways, room, name, number, before)
        return Change(frozenset(ways.hosts), ways.states, ways.is_cut)

    def _drop(
        self, queries: Queries, ways: Ways, room: Room, name: str, number: int, before: int
    ) -> None:
        """Drop the worst URLs of a host: new ones are forgotten, others blocked."""
        in_hand = self._in_hand.get(name, ())
        rows = queries.worst(name, room.kind, number + len(in_hand))
        rows = [row for row in rows if row[0] not in in_hand][:number]
        old = [digest for digest, sequence in rows if sequence <= before]
        queries.delete([digest for digest, sequence in rows if sequence > before])
        queries.drop(old, NO_ROOM, room.setting)
        room.dropped += len(old)
        ways.is_cut = True
        if room.kind == "page":
            ways.states["queued"] -= len(rows)
            if old:
                ways.states["blocked"] += len(old)


def _first(change: Change, number: int) -> list[Change]:
    """One change for several callers: the first gets it."""
    return [change, *[_UNCHANGED] * (number - 1)]
