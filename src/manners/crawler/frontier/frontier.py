"""The frontier of one crawl.

    queued     to be fetched, or being fetched: nothing is written until it is finished
    done       answered, whatever the status
    failed     not answered, or only with server errors, on every attempt
    blocked    may not be fetched; the reason says why
    kept       may be fetched, but this crawl only lists it: it is a discovery

URLs are not leased. A worker takes a host, and its URLs are the worker's until it hands the host
back: who asks a host, and how fast, is one process's business at any time.

Several workers, each with a frontier of its own, may work on one crawl. Each transaction begins
with the worker's strand of evidence, so a worker that was closed writes nothing. What two of them
find at the same time is added once: URLs that are known are looked up first, new ones are added in
one order, and known ones are changed only if nobody else has changed them since they were looked
up. Otherwise the transaction is repeated. So its effects in memory wait until it is durable.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from sqlalchemy import Connection

from manners.crawler.frontier.clock import StoreTime
from manners.crawler.frontier.queries import NOBODY, Queries
from manners.crawler.frontier.room import ROOM_NUMBERS, Room
from manners.crawler.frontier.values import (
    Change,
    FetchResult,
    FoundUrl,
    Key,
    LeasedBatch,
    LeasedUrl,
    OwnedHost,
    ReturnedHost,
    TakenHosts,
    place_of,
)
from manners.crawler.frontier.ways import (
    ANY_NUMBER,
    Alike,
    Judge,
    Limits,
    Ways,
    moved,
)
from manners.crawler.frontier.writing import Effects, Writing
from manners.errors import StoreError
from manners.store.database import Store

_UNCHANGED = Change()
_ROOM_SECONDS = 5.0
"""Seconds for which a full room need not look again which hosts have how many URLs."""


class Frontier:
    """The URLs of one crawl: `add`, `take_hosts`, `take`, `finish`, `release`, and `end`.

    number = crawls.begin(store, ["https://example.com/"], now=time.time())
    frontier = Frontier(store, number)
    await frontier.add([FoundUrl("https://example.com/", "start", "", 0)])
    for host in await frontier.take_hosts(100, time.time()):
        for url in (await frontier.take(host.name, 10, time.time())).urls:
            await frontier.finish(await worker.work(url))
    """

    def __init__(
        self,
        store: Store,
        crawl: int,
        *,
        worker: int = NOBODY,
        limits: Limits | None = None,
        max_urls: int = 1_000_000,
        max_sitemaps: int = 500,
        judge: Judge = lambda *_: ("", "", None),
        alike: Alike = ANY_NUMBER,
        clock: Callable[[], float] = lambda: 0.0,
    ) -> None:
        self.store, self.crawl, self.worker = store, crawl, worker
        self.limits, self._judge, self._alike = limits or Limits(), judge, alike
        self.rooms = {
            "page": Room("page", max_urls, "max_discovered"),
            "sitemap": Room("sitemap", max_sitemaps, "max_sitemaps"),
        }
        self.time, self._clock = StoreTime(), clock
        self.owned: set[str] = set()
        """The hosts that this worker may ask."""
        self.in_hand: dict[str, set[str]] = {}
        """The digests of URLs that are being fetched, by host."""
        self._effects: Effects | None = None
        if not self._read(Queries.exists):
            raise StoreError(store.place, f"there is no crawl {crawl} in it")
        counted = self.counted()
        # Clocks say what is later; to look for the last number would read every URL.
        self.sequence = 0
        for kind, room in self.rooms.items():
            room.set(*(counted[kind, what] for what in ROOM_NUMBERS))
            self.sequence += sum(room.numbers())

    def see(self, counted: "Counter[tuple[str, str]]") -> None:
        """Take what others have added into account; in the writer's thread."""
        for kind, room in self._begin().rooms.items():
            numbers = tuple(counted[kind, what] for what in ROOM_NUMBERS)
            if numbers != room.numbers():
                room.total, room.blocked, room.dropped = numbers
                if self.now() > room.loaded_at + _ROOM_SECONDS:
                    room.forget_hosts()

    @property
    def is_cut(self) -> bool:
        """Whether a URL was dropped because a limit was reached."""
        return any(room.dropped for room in self.rooms.values())

    # The verbs.

    async def add(self, found: Sequence[FoundUrl]) -> Change:
        """Add URLs; of those that are known, what is better about this way to them."""
        change: Change = await self.store.write(self.adding, found)
        return change

    async def take_hosts(self, most: int, now: float) -> TakenHosts:
        """Own hosts whose time has come, the longest due first."""
        taken: TakenHosts = await self.store.write(self._take_hosts, (most, now))
        return taken

    async def take(self, name: str, limit: int, now: float) -> LeasedBatch:
        """The best URLs of a host that is owned: by priority, depth, and when they were found."""
        batch: LeasedBatch = await self.store.write(self._take, (name, limit, now))
        return batch

    async def finish(self, result: FetchResult) -> Change:
        """Write what came of a URL and add what it leads to, both or neither."""
        change: Change = await self.store.write(self._finish, result)
        return change

    async def give_up(self, url: LeasedUrl, state: str, reason: str) -> Change:
        """Write what becomes of a leased URL that was not requested."""
        change: Change = await self.store.write(self._settle, (url, state, reason, 0.0))
        return change

    async def postpone(self, url: LeasedUrl, until: float) -> Change:
        """Queue a leased URL again, not to be fetched before a time; it was no attempt."""
        change: Change = await self.store.write(self._settle, (url, "queued", "", until))
        return change

    async def release(self, hosts: Sequence[ReturnedHost]) -> int:
        """Hand hosts back, and all that was leased of them; returns how many URLs that was."""
        number: int = await self.store.write(self._release, hosts)
        # Somebody may have added URLs while the hosts were owned: he left it to their owner.
        idle = [host.name for host in hosts if host.ready is None]
        if idle:
            await self.wake(idle)
        return number

    async def wake(self, names: Sequence[str]) -> None:
        """Let those hosts be taken that nobody owns, and that have something queued now."""
        await self.store.write(self._wake, names)

    async def borrow(self, name: str) -> OwnedHost | None:
        """Own a host for a request that a page of another host leads to; None: it is not free."""
        host: OwnedHost | None = await self.store.write(self._borrow, name)
        return host

    async def readmit(self, name: str) -> Change:
        """Queue what was blocked because its host did not belong to the crawl."""
        change: Change = await self.store.write(self._readmit, name)
        return change

    # What is known.

    def _read(self, ask: Callable[[Queries], Any]) -> Any:
        """Ask something; a server that is away is waited for, as in writing."""

        def read() -> Any:
            with self.store.reading() as connection:
                return ask(Queries(connection, self.crawl))

        return self.store.when_back(read)

    def counted(self) -> "Counter[tuple[str, str]]":
        """Every number of the crawl, by kind and what it counts."""
        counted: Counter[tuple[str, str]] = self._read(Queries.counted)
        return counted

    def seconds(self) -> float:
        """How long the crawl has been running, in all."""
        return float(self._read(Queries.seconds))

    # In the writer's thread.

    def now(self) -> float:
        """The time, by the clock of the store."""
        return self.time.to_store(self._clock())

    def _begin(self) -> Effects:
        """What the current transaction changes in memory."""
        if self._effects is None:
            effects = self._effects = Effects(self)
            self.store.when_written(lambda: self._apply(effects))
            self.store.when_lost(self._forget)
        return self._effects

    def _forget(self) -> None:
        self._effects = None

    def _apply(self, effects: Effects) -> None:
        self._effects = None
        self.rooms, self.sequence = effects.rooms, effects.sequence
        self.owned = effects.owned
        for (name, digest), is_taken in effects.in_hand:
            in_hand = self.in_hand.setdefault(name, set())
            if is_taken:
                in_hand.add(digest)
                continue
            in_hand.discard(digest)
            if not in_hand:
                del self.in_hand[name]

    def _take_hosts(
        self, connection: Connection, items: Sequence[tuple[int, float]]
    ) -> list[TakenHosts]:
        queries, effects, answers = Queries(connection, self.crawl), self._begin(), []
        for most, now in items:
            hosts = [
                host._replace(not_before=self.time.from_store(host.not_before))
                for host in queries.take_hosts(self.worker, most, self.time.to_store(now))
            ]
            effects.owned.update(host.name for host in hosts)
            next_at = queries.next_host() if len(hosts) < most else self.time.to_store(now)
            at = None if next_at is None else self.time.from_store(next_at)
            answers.append(TakenHosts(hosts, at))
        return answers

    def _borrow(self, connection: Connection, items: Sequence[str]) -> list[OwnedHost | None]:
        queries, effects, answers = Queries(connection, self.crawl), self._begin(), []
        for name in items:
            queries.add_hosts([name], None)
            host = queries.borrow_host(self.worker, name, self.now())
            if host is not None:
                effects.owned.add(name)
                host = host._replace(not_before=self.time.from_store(host.not_before))
            answers.append(host)
        return answers

    def _readmit(self, connection: Connection, items: Sequence[str]) -> list[Change]:
        queries = Queries(connection, self.crawl)
        found = [FoundUrl(*values) for name in items for values in queries.outside(name)]
        return self.adding(connection, [found]) + [_UNCHANGED] * (len(items) - 1)

    def _release(
        self, connection: Connection, items: Sequence[Sequence[ReturnedHost]]
    ) -> list[int]:
        to_store, effects, numbers = self.time.to_store, self._begin(), []
        returned = [
            host._replace(
                not_before=to_store(host.not_before),
                ready=None if host.ready is None else to_store(host.ready),
            )
            for hosts in items
            for host in hosts
        ]
        Queries(connection, self.crawl).release_hosts(self.worker, returned)
        for hosts in items:
            names = [host.name for host in hosts]
            keys = [(name, digest) for name in names for digest in self.in_hand.get(name, ())]
            effects.owned.difference_update(names)
            effects.in_hand += [(key, False) for key in keys]
            numbers.append(len(keys))
        return numbers

    def _wake(self, connection: Connection, items: Sequence[Sequence[str]]) -> list[None]:
        names = sorted({name for names in items for name in names})
        Queries(connection, self.crawl).wake(names, self.now())
        return [None] * len(items)

    def _take(
        self, connection: Connection, items: Sequence[tuple[str, int, float]]
    ) -> list[LeasedBatch]:
        queries, effects = Queries(connection, self.crawl), self._begin()
        now = self.time.to_store(min(now for *_, now in items))
        wanted = [(name, limit + len(self.in_hand.get(name, ()))) for name, limit, _ in items]
        found: dict[str, list[tuple[str, LeasedUrl]]] = {name: [] for name, *_ in items}
        for digest, url in queries.due(wanted, now):
            if digest not in self.in_hand.get(url.host, ()):
                found[url.host].append((digest, url))
        short = [name for name, limit, _ in items if len(found[name]) < limit]
        later = queries.later(short, now) if short else {}
        batches = []
        for name, limit, asked in items:
            free = found[name][:limit]
            for digest, url in free:
                effects.in_hand.append(((name, digest), True))
                effects.rooms[url.kind].queue(name, -1)
            more_at: float | None = asked
            if name in later:
                at = later[name]
                more_at = None if at is None else self.time.from_store(at)
            batches.append(LeasedBatch(tuple(url for _, url in free), more_at))
        return batches

    def _settle(
        self, connection: Connection, items: Sequence[tuple[LeasedUrl, str, str, float]]
    ) -> list[Change]:
        queries, effects = Queries(connection, self.crawl), self._begin()
        changes, rows, counts = [], [], Counter[tuple[str, str]]()
        for url, state, reason, until in items:
            key, is_queued = place_of(url.url), state == "queued"
            at = self.time.to_store(until)
            rows.append(((state, reason, "", 0, None, url.attempts, at, None), key))
            effects.in_hand.append((key, False))
            effects.rooms[url.kind].queue(url.host, is_queued)
            counts[url.kind, "queued"] -= 1
            counts[url.kind, state] += 1
            pages = int(url.kind == "page")
            hosts = frozenset([url.host] if is_queued else [])
            changes.append(Change(hosts, {"leased": -pages, state: pages}))
        queries.finish(sorted(rows, key=itemgetter(1)))
        queries.count(self.worker, counts)
        return changes

    def _writing(self, queries: Queries) -> Writing:
        effects = self._begin()
        if not self.store.is_sqlite and any(room.is_near for room in effects.rooms.values()):
            self.see(queries.counted())  # others may have filled it
        ways = Ways(queries, self.limits, effects.rooms, self._judge, self._alike)
        return Writing(self, queries, ways, effects)

    def adding(self, connection: Connection, items: Sequence[Sequence[FoundUrl]]) -> list[Change]:
        """The job that adds URLs, for those who have no event loop."""
        writing = self._writing(Queries(connection, self.crawl))
        for found in items:
            writing.ways.add(found)
        return _first(writing.write(), len(items))

    def _finish(self, connection: Connection, items: Sequence[FetchResult]) -> list[Change]:
        queries = Queries(connection, self.crawl)
        writing = self._writing(queries)
        ways, effects = writing.ways, writing.effects
        keys = [place_of(item.url.url) for item in items]
        # This locks the rows, and reads them as they are now: nobody finds a shorter way to one of
        # them before all that it leads to is there as well.
        writing.finish(items, keys)
        known = ways.load(keys)
        shorter: list[Key] = []
        for item, key in zip(items, keys, strict=True):
            url, page, found = item.url, item.page, item.found
            effects.in_hand.append((key, False))
            ways.count(url.kind, "leased", page.state)
            if page.state == "queued":
                ways.hosts.add(url.host)
                effects.rooms[url.kind].queue(url.host, 1)
            row = known.get(key)
            if row is not None and (row.depth, row.hops) != (url.depth, url.hops):
                # A shorter way to it was found while it was being fetched.
                shorter.append(key)
                found = moved(found, row.depth - url.depth, row.hops - url.hops)
            ways.add(found)
            if item.joined_host:
                ways.add([FoundUrl(*values) for values in queries.outside(item.joined_host)])
        ways.shorten(shorter)
        return _first(writing.write(), len(items))


def _first(change: Change, number: int) -> list[Change]:
    """One change for several callers: the first gets it."""
    return [change, *[_UNCHANGED] * (number - 1)]
