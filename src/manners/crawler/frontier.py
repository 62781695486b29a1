"""The frontier: every URL that a crawl knows, by host, and what became of it; kept in the store.

    queued     to be asked for
    leased     being asked for; queued again when its crawl ends before it is finished
    done       answered, whatever the status
    failed     not answered, or only with errors, as often as it is tried
    blocked    not to be asked for; the reason says why

A URL may be named several times, by pages at different depths, by some with nofollow. What counts
is the best of it: a way that may be followed before one that may not, then the shortest. When a
page turns out to be less deep than was known, so are the pages that it leads to.

One process works on a crawl at a time.
"""

import heapq
import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from manners.crawler.found import clean, digest_of
from manners.errors import StoreError
from manners.evidence.schema import crawls, hosts, pages, urls
from manners.evidence.store import EvidenceStore
from manners.urls import host

DEPTH, NOFOLLOW, NOT_NAMED, OTHER_HOST = "depth", "nofollow", "not-named", "other-host"
NO_ROOM = "no-room"
REDIRECT, TOO_MANY_HOPS = "redirect", "too-many-redirects"
# How good a way to a URL is. What is blocked for one of these is so because of who named it, and
# another may name it otherwise.
_WAYS = {NOT_NAMED: 0, NOFOLLOW: 1, OTHER_HOST: 2, TOO_MANY_HOPS: 3, DEPTH: 4, "": 5}
_VERDICTS = ("excluded", "rule-matched", "stale-copy")
_DECIDE = {
    "source": (NOT_NAMED,),
    "same_domain": (OTHER_HOST,),
    "max_found": (NO_ROOM,),
    "max_sitemaps": (NO_ROOM,),
    **dict.fromkeys(
        ("agent", "dialect", "profile", "respect_robots", "hosts", "exclude", "include"), _VERDICTS
    ),
}
"""Which settings decide what is blocked for which reasons."""
_NONE = -1
_TRAP = "trap: "
_SITEMAPS = 1.5
"""What is more important is a sitemap: pages have priorities up to 1."""
_INSIDE, _KEPT = _WAYS[TOO_MANY_HOPS], _WAYS[DEPTH]
"""From here on a way stays inside of the crawl; and from here on it counts for the depth."""


class Named(NamedTuple):
    """A URL, as something names it."""

    url: str
    source: str
    """`start`, `sitemap`, `link` or `redirect`."""
    found_in: str
    depth: int
    priority: float = 0.5
    lastmod: str | None = None
    reason: str = ""
    """Why it is not to be fetched, going by who names it."""
    rule: str = ""
    kind: str = "page"
    """Or `sitemap`."""
    hops: int = 0
    """Redirects on the way to it."""


class Url(NamedTuple):
    """A URL to ask for."""

    url: str
    host: str
    kind: str
    source: str
    found_in: str
    depth: int
    hops: int
    priority: float
    attempts: int
    """How often it was asked for already."""


class Taken(NamedTuple):
    """URLs of a host to ask for, and when there are more, if not now."""

    urls: tuple[Url, ...]
    more_at: float | None


class Answer(NamedTuple):
    """What is kept of an answer."""

    status: int | None
    cause: str
    type: str
    bytes: int
    sha256: str
    title: str
    links: int
    location: str
    started: float
    waited: float
    seconds: float
    delay: float
    problems: str = "[]"
    """What is wrong with a sitemap: JSON."""


class Finished(NamedTuple):
    """What became of a URL that was asked for."""

    url: Url
    state: str
    """`done`, `failed`, `blocked`, or `queued`: it is tried again, at the time `not_before`."""
    reason: str = ""
    rule: str = ""
    line: int = 0
    attempts: int = 0
    not_before: float = 0.0
    evidence: int | None = None
    answer: Answer | None = None
    named: Sequence[Named] = ()
    """What it leads to and is not known to be known."""
    targets: Sequence[str] = ()
    """The URLs it leads to that may be followed, all of them."""
    joins: str = ""
    """A host that belongs to the crawl from now on."""
    pace: tuple[float, float] | None = None
    """The delay of its host, and when that may be asked again."""
    is_cut: bool = False
    """Whether it leads to more than is read of it."""


class Change(NamedTuple):
    """What a step changes: which hosts have more to ask for, and how many URLs are in a state."""

    hosts: frozenset[str] = frozenset()
    states: Mapping[str, int] = MappingProxyType({})
    """Of pages; sitemaps are not counted."""
    is_cut: bool = False
    """Whether there was more than there is room for."""


_NOTHING = Change()
_ANSWER = Answer._fields
_RETRY = ("status", "cause", "bytes", "started", "waited", "seconds", "delay")
_COLUMNS = (
    *("crawl", "digest", "url", "host", "source", "found_in", "depth", "priority", "lastmod"),
    *("reason", "rule", "line", "kind", "state", "hops", "seq"),
)


class _Row:
    """What is known of a URL while it is looked at."""

    __slots__ = (
        *("by", "depth", "hops", "is_counted", "is_nearer", "is_new", "kind", "priority"),
        *("reason", "rule", "state"),
    )

    def __init__(self, *known: Any) -> None:
        self.depth: int
        self.hops: int
        self.state: str
        self.reason: str
        self.kind: str
        self.priority: float
        self.depth, self.hops, self.state, self.reason, self.kind, self.priority = known
        self.rule = ""
        self.is_new = self.is_nearer = False
        """Whether it is not written yet; whether the way to it is."""
        self.is_counted = True
        """Whether it has been counted among what there is room for."""
        self.by: Named | None = None
        """What settles anew what is to become of it."""

    @property
    def way(self) -> int:
        """How good the best way to it is; what is out for its own sake has none that counts."""
        return _WAYS.get(self.reason, _NONE) if self.state == "blocked" else _WAYS[""]


class _Room:
    """How many URLs of one kind a crawl takes in, shared among its hosts.

    What is not to be asked for takes half of it at most. The rest is for what is, and when that is
    full, the host that has most gives way. A host that has no more than its share, which is the
    same for all, never does: where nobody else has something to drop, it goes beyond the limit.
    What is dropped stays in the store, and takes no room.
    """

    __slots__ = ("_most", "all", "dropped", "kind", "known", "out", "queued", "setting")

    def __init__(self, kind: str, most: int, setting: str) -> None:
        self.kind, self._most, self.setting = kind, most, f"{setting} = {most}"
        self.known: Counter[str] = Counter()
        """What is to be asked for, or was, by host."""
        self.queued: Counter[str] = Counter()
        """What of it is queued: nothing else is dropped."""
        self.clear()

    def clear(self) -> None:
        """Begin to count anew."""
        self.known.clear()
        self.queued.clear()
        self.all = self.out = self.dropped = 0

    def takes(self, name: str, *, is_out: bool) -> bool:
        """Whether there is room for a URL of a host; it is counted."""
        if not is_out:
            self.move_in(name, is_new=True)  # whether it stays is seen when all are there
        elif self.out < self._most - self._most // 2 and self.all + self.out < self._most:
            self.out += 1
        else:
            return False
        return True

    def move_in(self, name: str, *, is_new: bool = False) -> None:
        """Count a URL that is queued, which was not to be asked for before or is new."""
        self.known[name] += 1
        self.queued[name] += 1
        self.all += 1
        self.out -= not is_new

    def over(self) -> Iterator[tuple[str, int]]:
        """How many to drop of which hosts, so that the rest fits; each time whoever has most."""
        over = self.all + self.out - self._most
        if over <= 0:
            return
        share = max(self._most // len(self.known), 1) if self.known else 1
        heap = [
            (-number, name)
            for name, number in self.known.items()
            if number > share and self.queued[name] > 0
        ]
        heapq.heapify(heap)
        dropped: Counter[str] = Counter()
        while over > 0 and heap:
            _, name = heap[0]
            # As many as make it no longer the one that has most.
            second = -min((heap[place][0] for place in (1, 2) if place < len(heap)), default=0)
            least = max(second, share)
            number = min(over, self.queued[name], max(self.known[name] - least, 1))
            self.known[name] -= number
            self.queued[name] -= number
            self.all -= number
            over -= number
            dropped[name] += number
            if self.queued[name] > 0 and self.known[name] > share:
                heapq.heapreplace(heap, (-self.known[name], name))
            else:
                heapq.heappop(heap)
        yield from dropped.items()


class Frontier:
    """The URLs of one crawl; `add`, `hosts_with_work`, `take` and `finish`.

    `judge` is told each URL before it is queued for the first time, and whether it counts among
    those alike; it says why it is not to be fetched, and the rule, or twice nothing.

        frontier = Frontier(store, Frontier.begin(store, ["https://example.com/"]))
        await frontier.add([Named("https://example.com/", "start", "", 0)])
        for name in await frontier.hosts_with_work():
            for url in (await frontier.take(name, 10, time.time())).urls:
                await frontier.finish(Finished(url, "done"))
    """

    def __init__(
        self,
        store: EvidenceStore,
        crawl: int,
        *,
        max_depth: int | None = None,
        redirects: int = 10,
        most: int = 1_000_000,
        sitemaps: int = 500,
        judge: Callable[[str, bool], tuple[str, str]] = lambda *_: ("", ""),
    ) -> None:
        self.store, self.crawl = store, crawl
        self._depth, self._redirects, self._judge = max_depth, redirects, judge
        self._rooms = {
            "page": _Room("page", most, "max_found"),
            "sitemap": _Room("sitemap", sitemaps, "max_sitemaps"),
        }
        with store.reading() as connection:
            row = connection.execute(select(crawls).where(crawls.c.id == crawl)).first()
            if row is None:
                raise StoreError(store.place, f"there is no crawl {crawl} in it")
            last = select(func.max(urls.c.seq)).where(urls.c.crawl == crawl)
            self._seq = connection.execute(last).scalar() or 0
            self._is_sqlite = connection.dialect.name == "sqlite"
            self._measure(connection)
        self._prepare()

    def _measure(self, connection: Connection) -> None:
        """Count what there is of each host."""
        what = (urls.c.kind, urls.c.host, urls.c.state, urls.c.reason)
        query = select(*what, func.count()).where(urls.c.crawl == self.crawl).group_by(*what)
        for room in self._rooms.values():
            room.clear()
        for kind, name, state, reason, number in connection.execute(query):
            room = self._rooms[kind]
            if state == "blocked" and reason == NO_ROOM:
                room.dropped += number
            elif state == "blocked" and (reason in _WAYS or reason.startswith(_TRAP)):
                room.out += number
            else:
                room.known[name] += number
                room.all += number
                room.queued[name] += number if state == "queued" else 0

    @property
    def is_cut(self) -> bool:
        """Whether something was dropped because there was no room for it."""
        return any(room.dropped for room in self._rooms.values())

    # The crawls of a store.

    @staticmethod
    def begin(
        store: EvidenceStore, starts: Sequence[str], settings: Mapping[str, Any] | None = None
    ) -> int:
        """Begin a crawl; returns its number."""
        row = {
            "start": clean(" ".join(starts)),
            "at": int(time.time() * 1000),
            "command": "crawl",
            "settings": json.dumps(settings or {}),
        }

        def job(connection: Connection, items: Sequence[None]) -> list[int]:
            made = connection.execute(insert(crawls).values(row))
            return [int((made.inserted_primary_key or (0,))[0])] * len(items)

        number: int = store.write_blocking(job, None)
        return number

    @staticmethod
    def latest(store: EvidenceStore) -> int:
        """The number of the last crawl; 0 where there is none."""
        if not store.has_crawls:
            return 0
        with store.reading() as connection:
            query = select(func.max(crawls.c.id)).where(crawls.c.command == "crawl")
            return int(connection.execute(query).scalar() or 0)

    @staticmethod
    def find(store: EvidenceStore, number: int | None = None) -> int:
        """The number of a crawl of the store, the last one by default; an error if it is not."""
        if not store.has_crawls:
            raise StoreError(store.place, "there is no crawl in it: it is of an older version")
        with store.reading() as connection:
            mine = select(crawls.c.id).where(crawls.c.command == "crawl")
            if number is not None:
                mine = mine.where(crawls.c.id == number)
            found = connection.execute(mine.order_by(crawls.c.id.desc()).limit(1)).scalar()
        if found is None:
            what = "there is no crawl in it to go on with"
            if number is not None:
                what = (
                    f"there is no crawl {number} in it: `manners crawl list` says which there are"
                )
            raise StoreError(store.place, what)
        return int(found)

    @staticmethod
    def told(store: EvidenceStore, number: int | None = None) -> dict[str, Any]:
        """The settings that a crawl was given, where they are not as by default."""
        found = Frontier.latest(store) if number is None else Frontier.find(store, number)
        with store.reading() as connection:
            mine = select(crawls.c.settings).where(crawls.c.id == found)
            told: dict[str, Any] = json.loads(connection.execute(mine).scalar() or "{}")
        return told

    @staticmethod
    def unfinished(store: EvidenceStore) -> int:
        """The number of the last crawl, if it has pages and more to ask for; 0 otherwise."""
        number = Frontier.latest(store)
        with store.reading() as connection:
            if (
                not number
                or not connection.execute(
                    select(pages.c.digest).where(pages.c.crawl == number).limit(1)
                ).first()
            ):
                return 0
            ended = connection.execute(select(crawls.c.ended).where(crawls.c.id == number)).scalar()
            # Only queued URLs have an index, and of one that has ended none is leased.
            for state in ("queued", "leased") if ended is None else ("queued",):
                left = (urls.c.crawl == number) & (urls.c.state == state)
                if connection.execute(select(urls.c.digest).where(left).limit(1)).first():
                    return number
        return 0

    def resume(self, settings: Mapping[str, Any]) -> None:
        """Queue again what was being asked for when the crawl stopped, and what may go on now.

        That is what could not be decided; what was too deep, if the limit is another now; and with
        other settings than before what those decide, each once more.
        """

        def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            this = crawls.c.id == self.crawl
            found = connection.execute(select(crawls.c.settings).where(this)).scalar_one()
            before, now = json.loads(found or "{}"), json.loads(json.dumps(settings))
            other = {name for name in _DECIDE if before.get(name) != now.get(name)}
            reasons = {"unreachable", *(each for name in other for each in _DECIDE[name])}
            mine = urls.c.crawl == self.crawl
            again = urls.c.reason.in_(reasons)
            is_near = urls.c.reason == DEPTH
            if self._depth is not None:
                is_near &= urls.c.depth <= self._depth
            is_out = (urls.c.state == "blocked") & (again | is_near)
            queued = {"state": "queued", "reason": "", "rule": "", "line": 0}
            at_work = urls.c.state == "leased"
            connection.execute(update(urls).where(mine & (at_work | is_out)).values(queued))
            if self._depth is not None:
                too_deep = (urls.c.state == "queued") & (urls.c.depth > self._depth)
                blocked = update(urls).where(mine & too_deep & (urls.c.kind == "page"))
                connection.execute(blocked.values(state="blocked", reason=DEPTH))
            goes_on = {"ended": None, "settings": json.dumps(settings)}
            connection.execute(update(crawls).where(this).values(goes_on))
            self._measure(connection)
            return items

        self.store.write_blocking(job, None)

    async def end(self, reason: str | None, seconds: float) -> None:
        """Write down why the crawl ended, or how long it has been running."""

        def job(connection: Connection, items: Sequence[None]) -> Sequence[None]:
            mine = update(crawls).where(crawls.c.id == self.crawl)
            connection.execute(mine.values(ended=reason, seconds=seconds))
            if reason is not None:
                leased = (urls.c.crawl == self.crawl) & (urls.c.state == "leased")
                connection.execute(update(urls).where(leased).values(state="queued"))
            return items

        await self.store.write(job, None)

    # The four verbs.

    async def add(self, named: Sequence[Named]) -> Change:
        """Add URLs; those that are known only get what is better about this way to them."""
        change: Change = await self.store.write(self._add, named)
        return change

    async def hosts_with_work(self) -> dict[str, float]:
        """The hosts that something is queued for, and when it may be asked for."""
        found: dict[str, float] = await self.store.write(self._hosts, None)
        return found

    async def take(self, name: str, most: int, now: float) -> Taken:
        """Lease the best that are queued for a host: by priority, depth, and when they came."""
        taken: Taken = await self.store.write(self._take, (name, most, now))
        return taken

    async def finish(self, finished: Finished) -> Change:
        """Write down what became of a URL, and add what it leads to, both or neither."""
        change: Change = await self.store.write(self._finish, finished)
        return change

    # What is known.

    def states(self) -> "Counter[tuple[str, str]]":
        """How many URLs there are, by kind and state."""
        with self.store.reading() as connection:
            mine = urls.c.crawl == self.crawl
            query = select(urls.c.kind, urls.c.state, func.count()).where(mine)
            rows = connection.execute(query.group_by(urls.c.kind, urls.c.state))
            return Counter({(kind, state): number for kind, state, number in rows})

    def pages_used(self) -> int:
        """How many pages were fetched, or tried in vain: what counts for the budget."""
        with self.store.reading() as connection:
            mine = (urls.c.crawl == self.crawl) & (urls.c.kind == "page")
            return int(
                connection.execute(select(func.sum(urls.c.attempts)).where(mine)).scalar() or 0
            )

    def seconds(self) -> float:
        """How long the crawl has been running, in all."""
        with self.store.reading() as connection:
            query = select(crawls.c.seconds).where(crawls.c.id == self.crawl)
            return float(connection.execute(query).scalar() or 0.0)

    def paces(self) -> dict[str, tuple[float, float]]:
        """The hosts that were asked: the delay of each, and when it may be asked again."""
        with self.store.reading() as connection:
            rows = connection.execute(select(hosts).where(hosts.c.crawl == self.crawl))
            return {row.host: (row.delay, row.not_before) for row in rows}

    def starts(self) -> Iterator[str]:
        """The URLs that it began with, and where those redirect to, whatever became of them."""
        with self.store.reading() as connection:
            query = select(crawls.c.start).where(crawls.c.id == self.crawl)
            yield from str(connection.execute(query).scalar() or "").split()
            mine = (urls.c.crawl == self.crawl) & (urls.c.source == "start")
            for (url,) in connection.execute(select(urls.c.url).where(mine)):
                yield url

    def followed(self) -> Iterator[str]:
        """The URLs of links that were queued, whatever became of them."""
        was_not = urls.c.reason.in_(_WAYS) | urls.c.reason.like(f"{_TRAP}%")
        mine = (urls.c.crawl == self.crawl) & (urls.c.source == "link")
        query = select(urls.c.url).where(mine & ~((urls.c.state == "blocked") & was_not))
        with self.store.reading() as connection:
            for (url,) in connection.execution_options(yield_per=1_000).execute(query):
                yield url

    # In the writer's thread.

    def _prepare(self) -> None:
        """The statements that run all the time, as text: to build them would cost more."""
        mark = "?" if self._is_sqlite else "%s"
        among = "IN (SELECT value FROM json_each(?))" if self._is_sqlite else "= ANY(%s)"

        def sql(text: str) -> str:
            return text.replace("{among}", among).replace("?", mark)

        marks = ", ".join("?" * len(_COLUMNS))
        self._insert = sql(f"INSERT INTO urls ({', '.join(_COLUMNS)}) VALUES ({marks})")  # noqa: S608
        self._look = sql(
            "SELECT digest, depth, hops, state, reason, kind, priority FROM urls"
            " WHERE crawl = ? AND digest {among}"
        )
        self._settled = sql(
            "UPDATE urls SET depth = ?, hops = ?, priority = ?, state = ?, reason = ?, rule = ?,"
            " line = 0, source = ?, found_in = ? WHERE crawl = ? AND digest = ?"
        )
        self._nearer = sql(
            "UPDATE urls SET depth = ?, hops = ?, priority = ? WHERE crawl = ? AND digest = ?"
        )
        self._set = sql(
            "UPDATE urls SET state = ?, reason = ?, rule = ?, line = ?, status = ?, attempts = ?,"
            " not_before = ?, evidence = ? WHERE crawl = ? AND digest = ?"
        )
        names = ("crawl", "digest", *_ANSWER, "targets")
        marks = ", ".join("?" * len(names))
        news = ", ".join(f"{name} = excluded.{name}" for name in names[2:])
        self._keep = sql(
            f"INSERT INTO pages ({', '.join(names)}) VALUES ({marks})"  # noqa: S608
            f" ON CONFLICT (crawl, digest) DO UPDATE SET {news}"
        )
        marks = ", ".join("?" * len(_RETRY))
        self._again = sql(
            f"INSERT INTO retries (crawl, digest, {', '.join(_RETRY)})"  # noqa: S608
            f" VALUES (?, ?, {marks})"
        )
        self._pace = sql(
            "INSERT INTO hosts (crawl, host, delay, not_before) VALUES (?, ?, ?, ?) ON CONFLICT"
            " (crawl, host) DO UPDATE SET delay = excluded.delay, not_before = excluded.not_before"
        )
        self._targets = sql(
            "SELECT digest, targets, location FROM pages WHERE crawl = ? AND digest {among}"
        )
        columns = ", ".join(Url._fields)
        self._lease = sql(
            "UPDATE urls SET state = 'leased' WHERE crawl = ? AND digest IN"  # noqa: S608
            " (SELECT digest FROM urls WHERE crawl = ? AND host = ? AND state = 'queued'"
            " AND not_before <= ? ORDER BY priority DESC, depth, seq LIMIT ?)"
            f" RETURNING {columns}, seq"
        )
        # The order in which they are leased, from its end. Sitemaps come before all pages.
        self._worst = sql(
            "SELECT digest, seq FROM urls WHERE crawl = ? AND host = ? AND state = 'queued'"
            " AND kind = ? AND priority >= ? ORDER BY priority, depth DESC, seq DESC LIMIT ?"
        )
        self._forget = sql("DELETE FROM urls WHERE crawl = ? AND digest {among}")
        self._drop = sql(
            "UPDATE urls SET state = 'blocked', reason = ?, rule = ?, line = 0"
            " WHERE crawl = ? AND digest {among}"
        )
        self._soonest = sql(
            "SELECT min(not_before) FROM urls WHERE crawl = ? AND host = ? AND state = 'queued'"
        )

    def _hosts(self, connection: Connection, items: Sequence[None]) -> list[dict[str, float]]:
        queued = (urls.c.crawl == self.crawl) & (urls.c.state == "queued")
        query = select(urls.c.host, func.min(urls.c.not_before).label("soonest")).where(queued)
        rows = connection.execute(query.group_by(urls.c.host))
        return [{row.host: row.soonest for row in rows}] * len(items)

    def _take(self, connection: Connection, items: Sequence[tuple[str, int, float]]) -> list[Taken]:
        return [self._taken(connection, *item) for item in items]

    def _taken(self, connection: Connection, name: str, most: int, now: float) -> Taken:
        values = (self.crawl, self.crawl, name, now, most)
        rows = connection.exec_driver_sql(self._lease, values).all()
        rows = sorted(rows, key=lambda row: (-row.priority, row.depth, row.seq))
        for row in rows:
            self._rooms[row.kind].queued[row.host] -= 1
        more_at: float | None = now
        if len(rows) < most:
            more_at = connection.exec_driver_sql(self._soonest, (self.crawl, name)).scalar()
        return Taken(tuple(Url(*row[:-1]) for row in rows), more_at)

    def _add(self, connection: Connection, items: Sequence[Sequence[Named]]) -> list[Change]:
        look = _Look(self)
        for named in items:
            look.name(connection, named)
        return _told(look.write(connection), len(items))

    def _finish(self, connection: Connection, items: Sequence[Finished]) -> list[Change]:
        digests = [digest_of(item.url.url) for item in items]
        self._write(connection, items, digests)
        look = _Look(self)
        known = look.load(connection, digests)
        shorter: list[str] = []
        for item, digest in zip(items, digests, strict=True):
            look.count(item.url.kind, "leased", item.state)
            if item.state == "queued":
                look.hosts.add(item.url.host)
                self._rooms[item.url.kind].queued[item.url.host] += 1
            row, named = known.get(digest), item.named
            if row is not None and (row.depth, row.hops) != (item.url.depth, item.url.hops):
                # The way to it has become shorter while it was being asked for.
                shorter.append(digest)
                nearer, fewer = row.depth - item.url.depth, row.hops - item.url.hops
                named = [
                    each._replace(depth=each.depth + nearer, hops=each.hops and each.hops + fewer)
                    for each in named
                ]
            look.name(connection, named)
            if item.joins:
                look.name(connection, self._outside(connection, item.joins))
        look.shorten(connection, shorter)
        return _told(look.write(connection), len(items))

    def _outside(self, connection: Connection, name: str) -> list[Named]:
        """What is known of a host and was not asked for because it is another one."""
        mine = (urls.c.crawl == self.crawl) & (urls.c.host == name)
        mine &= (urls.c.state == "blocked") & (urls.c.reason == OTHER_HOST)
        columns = (urls.c.url, urls.c.source, urls.c.found_in, urls.c.depth, urls.c.priority)
        return [Named(*row) for row in connection.execute(select(*columns).where(mine))]

    def _write(
        self, connection: Connection, items: Sequence[Finished], digests: Sequence[str]
    ) -> None:
        states, answers, retries, paces = [], [], [], {}
        for item, digest in zip(items, digests, strict=True):
            answer = item.answer
            states.append(
                (
                    *(item.state, clean(item.reason), clean(item.rule), item.line),
                    *(answer.status if answer else None, item.attempts, item.not_before),
                    *(item.evidence, self.crawl, digest),
                )
            )
            if answer is not None and item.state == "queued":
                said = (clean(getattr(answer, name)) for name in _RETRY)
                retries.append((self.crawl, digest, *said))
            elif answer is not None:
                targets = None
                if self._depth is not None:
                    digests_of = (digest_of(clean(each)) for each in item.targets)
                    targets = bytes.fromhex("".join(digests_of))
                answers.append((self.crawl, digest, *map(clean, answer), targets))
            if item.pace is not None:
                paces[item.url.host] = (self.crawl, item.url.host[:255], *item.pace)
        connection.exec_driver_sql(self._set, states)
        if answers:
            connection.exec_driver_sql(self._keep, answers)
        if retries:
            connection.exec_driver_sql(self._again, retries)
        if paces:
            connection.exec_driver_sql(self._pace, list(paces.values()))


class _Look:
    """Looks at what is named in one transaction, and writes down what is new or better about it."""

    def __init__(self, frontier: Frontier) -> None:
        self._of = frontier
        self._rows: dict[str, _Row] = {}
        self.hosts: set[str] = set()
        self.states: Counter[str] = Counter()
        self._is_cut = False

    def load(self, connection: Connection, digests: Iterable[str]) -> dict[str, _Row]:
        """What is known of URLs."""
        wanted = [each for each in dict.fromkeys(digests) if each not in self._rows]
        if wanted:
            among = json.dumps(wanted) if self._of._is_sqlite else wanted
            rows = connection.exec_driver_sql(self._of._look, (self._of.crawl, among))
            for digest, *known in rows:
                self._rows[digest] = _Row(*known)
        return self._rows

    def name(self, connection: Connection, named: Sequence[Named]) -> None:
        """Look at URLs that are named."""
        if not named:
            return
        digests = [digest_of(clean(each.url)) for each in named]
        rows, shorter = self.load(connection, digests), []
        for digest, each in zip(digests, named, strict=True):
            row = rows.get(digest)
            if row is None:
                self._new(digest, each)
            elif self._better(row, each):
                shorter.append(digest)
        self.shorten(connection, shorter)

    def _new(self, digest: str, named: Named) -> None:
        row = _Row(named.depth, named.hops, "blocked", "", named.kind, named.priority)
        row.is_new, row.is_counted = True, False
        self._settle(row, self._reason(named), named)
        row.is_counted = True
        if self._of._rooms[named.kind].takes(host(named.url), is_out=row.state == "blocked"):
            self._rows[digest] = row
        else:
            self._is_cut = True

    def _reason(self, named: Named) -> str:
        """Why a URL is not to be fetched, going by this way to it."""
        if named.reason:
            return named.reason
        if named.hops > self._of._redirects:
            return TOO_MANY_HOPS
        limit = self._of._depth
        is_deep = limit is not None and named.depth > limit and named.kind == "page"
        return DEPTH if is_deep else ""

    def _settle(self, row: _Row, reason: str, named: Named) -> None:
        """Queue a URL, or say why not: what it looks like counts before who names it."""
        why = rule = ""
        if named.kind == "page" and named.source != "start" and reason != OTHER_HOST:
            # What a site lists itself is no trap by its number, nor what is not asked for.
            why, rule = self._of._judge(named.url, not reason and named.source == "link")
        row.reason, row.rule = (why, rule) if why else (reason, named.rule if reason else "")
        row.state, row.by = "blocked" if row.reason else "queued", named
        if row.is_counted and not row.reason:
            name = host(named.url)
            self._of._rooms[row.kind].move_in(name)
            if not row.is_new:
                self.count(row.kind, "blocked", "queued")
                self.hosts.add(name)

    def _better(self, row: _Row, named: Named) -> bool:
        """Note what is better about a way to a known URL; whether that is shorter by it."""
        reason = self._reason(named)
        way, before = _WAYS.get(reason, _NONE), row.way
        if before == _NONE or way < min(before, _KEPT):
            return False
        depth, hops, priority = named.depth, named.hops, max(row.priority, named.priority)
        if before >= _KEPT or way == before:
            depth, hops = min(depth, row.depth), min(hops, row.hops)
        is_shorter = depth < row.depth or hops < row.hops
        if (depth, hops, priority) != (row.depth, row.hops, row.priority):
            row.depth, row.hops, row.priority, row.is_nearer = depth, hops, priority, True
        if way > before:
            self._settle(row, reason, named)
        return is_shorter and before == _WAYS[""]

    def count(self, kind: str, before: str, now: str) -> None:
        """A page that was in one state is in another."""
        if kind == "page":
            self.states[before] -= 1
            self.states[now] += 1

    def shorten(self, connection: Connection, digests: Iterable[str]) -> None:
        """The way to some pages is shorter than was known: so is the way to what they lead to."""
        frontier, waiting = self._of, list(dict.fromkeys(digests))
        while waiting:
            among: Any = json.dumps(waiting) if frontier._is_sqlite else waiting
            waiting = []
            found = connection.exec_driver_sql(frontier._targets, (frontier.crawl, among)).all()
            for digest, blob, location in found:
                at = self._rows[digest]
                depth, hops = at.depth + 1, 0
                targets = [
                    blob[place : place + 16].hex() for place in range(0, len(blob or b""), 16)
                ]
                if location:
                    depth, hops, targets = at.depth, at.hops + 1, [digest_of(location)]
                rows = self.load(connection, targets)
                for target in targets:
                    row = rows.get(target)
                    if row is not None and self._nearer(connection, row, target, depth, hops):
                        waiting.append(target)

    def _nearer(
        self, connection: Connection, row: _Row, digest: str, depth: int, hops: int
    ) -> bool:
        """Note a shorter way to a URL; whether it leads on."""
        if row.way < _INSIDE or (row.depth <= depth and row.hops <= hops):
            return False
        named = row.by or Named("", "link", "", depth)
        if row.by is None and row.state == "blocked":  # it may be settled anew, for what it is
            query = select(urls.c.url, urls.c.source, urls.c.found_in)
            mine = (urls.c.crawl == self._of.crawl) & (urls.c.digest == digest)
            named = Named(*connection.execute(query.where(mine)).one(), depth)
        named = named._replace(depth=depth, hops=hops, reason="", rule="", kind=row.kind)
        return self._better(row, named)

    def write(self, connection: Connection) -> Change:
        """Write it all down, and drop what there is no room for."""
        frontier, new, nearer, settled = self._of, [], [], []
        before = frontier._seq
        for digest, row in self._rows.items():
            named, way = row.by, (row.depth, row.hops, row.priority)
            if row.is_new and named is not None:
                frontier._seq += 1
                name = host(named.url)
                if row.kind == "page":
                    self.states[row.state] += 1
                if row.state == "queued":
                    self.hosts.add(name)
                new.append(
                    (
                        *(frontier.crawl, digest, clean(named.url), name, named.source),
                        *(clean(named.found_in), row.depth, row.priority, clean(named.lastmod)),
                        *(row.reason, clean(row.rule), 0, row.kind, row.state, row.hops),
                        frontier._seq,
                    )
                )
            elif named is not None:
                fate = (row.state, row.reason, clean(row.rule), named.source, clean(named.found_in))
                settled.append((*way, *fate, frontier.crawl, digest))
            elif row.is_nearer:
                nearer.append((*way, frontier.crawl, digest))
        for statement, rows in (
            (frontier._insert, new),
            (frontier._settled, settled),
            (frontier._nearer, nearer),
        ):
            if rows:
                connection.exec_driver_sql(statement, rows)
        for room in frontier._rooms.values():
            for name, number in room.over():
                self._drop_worst(connection, room, name, number, before)
        return Change(frozenset(self.hosts), self.states, self._is_cut)

    def _drop_worst(
        self, connection: Connection, room: "_Room", name: str, number: int, before: int
    ) -> None:
        """Drop the worst that is queued for a host: what is new is forgotten, the rest says why."""
        frontier, kind, self._is_cut = self._of, room.kind, True
        rows: Sequence[Any] = ()
        # Sitemaps stand before all pages; those that do not are looked for among these.
        for least in (_SITEMAPS, -1.0) if kind == "sitemap" else (-1.0,):
            if len(rows) < number:
                values = (frontier.crawl, name, kind, least, number)
                rows = connection.exec_driver_sql(frontier._worst, values).all()
        new = [digest for digest, seq in rows if seq > before]
        old = [digest for digest, seq in rows if seq <= before]
        among: Callable[[list[str]], Any] = json.dumps if frontier._is_sqlite else list
        if new:
            connection.exec_driver_sql(frontier._forget, (frontier.crawl, among(new)))
        if old:
            why = (NO_ROOM, room.setting, frontier.crawl, among(old))
            connection.exec_driver_sql(frontier._drop, why)
            room.dropped += len(old)
        if kind == "page":
            self.states["queued"] -= len(rows)
            if old:
                self.states["blocked"] += len(old)


def _told(change: Change, number: int) -> list[Change]:
    """One change for all who wait for it: the first is told."""
    return [change, *[_NOTHING] * (number - 1)]
