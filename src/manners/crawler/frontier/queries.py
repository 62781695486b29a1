"""What one crawl asks of its tables, in one transaction."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, case, func, insert, literal, select, update

from manners.crawler.frontier.statements import POSTGRES, SQLITE, URL_COLUMNS
from manners.crawler.frontier.tables import counts, crawls, hosts, urls
from manners.crawler.frontier.values import Key, LeasedUrl, OwnedHost, ReturnedHost
from manners.crawler.frontier.ways import RANKS, KnownUrl
from manners.crawler.reasons import DEPTH, NO_ROOM, OTHER_HOST, TRAP
from manners.errors import StoreConflict
from manners.settings.names import current_names

NOBODY = 0
"""The number of no worker."""
_COUNTED_AGAIN = ("queued", "done", "failed", "blocked", "kept", "open", "refused", "dropped")
"""The numbers that follow from the URLs; others, such as attempts, cannot be counted again."""
_SITEMAPS = 1.5
"""Sitemaps have a priority above this; pages have 1 at most."""
_AT_A_TIME = 1_000
_MAY_FETCH = (urls.c.kind == "page") & (urls.c.state != "blocked")
_BEST_FIRST = (urls.c.priority.desc(), urls.c.seq)

Row = tuple[Any, ...]


def insert_crawl(
    connection: Connection, start: str, now: float, settings: Mapping[str, Any], command: str
) -> int:
    """Add a crawl, a discovery or a list; returns its number."""
    row = {"start": start, "at": int(now * 1000), "command": command}
    row["settings"] = json.dumps(settings)
    inserted = connection.execute(insert(crawls).values(row))
    return int((inserted.inserted_primary_key or (0,))[0])


class Queries:
    """What a crawl reads and writes in one transaction."""

    __slots__ = ("_connection", "_crawl", "_is_sqlite", "_sql")

    def __init__(self, connection: Connection, crawl: int) -> None:
        self._connection, self._crawl = connection, crawl
        self._is_sqlite = connection.dialect.name == "sqlite"
        self._sql = SQLITE if self._is_sqlite else POSTGRES

    def _run(self, name: str, values: Any) -> Any:
        return self._connection.exec_driver_sql(self._sql[name], values)

    def _keys(self, keys: Sequence[Key]) -> tuple[Any, ...]:
        """Hosts and digests as a statement takes them."""
        if self._is_sqlite:
            return (json.dumps(keys),)
        return [name for name, _ in keys], [digest for _, digest in keys]

    def _names(self, names: Iterable[str]) -> Any:
        """Hosts as a statement takes them."""
        return json.dumps(list(names)) if self._is_sqlite else list(names)

    # URLs that were found.

    def known(self, keys: Sequence[Key]) -> Iterator[tuple[Key, KnownUrl]]:
        """Those of some URLs that are known."""
        for name, digest, *values in self._run("known", (*self._keys(keys), self._crawl)):
            yield (name, digest), KnownUrl(*values)

    def targets(self, keys: Sequence[Key]) -> Iterable[tuple[Key, bytes | None, str]]:
        """Fetched pages: the key of each, what it leads to, where it redirects to."""
        rows = self._run("targets", (*self._keys(keys), self._crawl)).all()
        return [((name, digest), packed, location) for name, digest, packed, location in rows]

    def origin(self, key: Key) -> tuple[str, str, str]:
        """A URL, its source, and what names it."""
        query = select(urls.c.url, urls.c.source, urls.c.found_in)
        is_it = (urls.c.host == key[0]) & (urls.c.digest == key[1])
        row = self._connection.execute(query.where(self._own & is_it)).one()
        return row.url, row.source, row.found_in

    def count_forms(
        self, forms: Mapping[tuple[str, int], int]
    ) -> Iterator[tuple[tuple[str, int], int]]:
        """Count URLs by host and form; returns how many there are now."""
        rows = [(name, form, number) for (name, form), number in forms.items()]
        if self._is_sqlite:
            found = self._run("forms", (self._crawl, json.dumps(rows)))
        else:
            found = self._run("forms", (self._crawl, *map(list, zip(*rows, strict=True))))
        for name, form, number in found:
            yield (name, form), number

    def outside(self, host: str) -> Iterator[Row]:
        """URLs of a host that are blocked because the host was not part of the crawl."""
        blocked = (urls.c.state == "blocked") & (urls.c.reason == OTHER_HOST)
        columns = (urls.c.url, urls.c.source, urls.c.found_in, urls.c.depth, urls.c.priority)
        query = select(*columns).where(self._own & (urls.c.host == host) & blocked)
        yield from map(tuple, self._connection.execute(query))

    def insert(self, rows: Sequence[Row]) -> None:
        """Add URLs: all columns but the crawl. `StoreConflict` if another worker just did."""
        if not rows:
            return
        if self._is_sqlite:
            self._many("insert", [(self._crawl, *row) for row in rows])
            return
        # In one order for all workers: no two wait for each other.
        new = [
            dict(zip(URL_COLUMNS, (self._crawl, *row), strict=True))
            for row in sorted(rows, key=_key_of_row)
        ]
        if len(self._run("insert", (json.dumps(new),)).all()) < len(rows):
            raise StoreConflict("urls", "another worker found the same")

    def settle(self, rows: Iterable[tuple[Row, Key, Row]]) -> None:
        """Write what became of known URLs: the way to each, its state and source.

        The last row of each is what is known of it: `StoreConflict` if that is no longer so.
        """
        self._change("settle", rows)

    def shorten(self, rows: Iterable[tuple[Row, Key, Row]]) -> None:
        """Write depth, hops, priority and state of known URLs, in the same way."""
        self._change("shorten", rows)

    def _change(self, name: str, rows: Iterable[tuple[Row, Key, Row]]) -> None:
        changes = [(*row, self._crawl, *key, *before) for row, key, before in rows]
        if changes and self._run(name, changes).rowcount < len(changes):
            raise StoreConflict("urls", "another worker changed the same")

    def _many(self, name: str, rows: list[Row]) -> None:
        if rows:
            self._run(name, rows)

    # What a discovery lists.

    def found(self, columns: Iterable[str]) -> Iterator[Row]:
        """All pages, in the order of their URLs byte by byte."""
        order = urls.c.url if self._is_sqlite else urls.c.url.collate("C")
        yield from self._listed(columns, urls.c.kind == "page", order)

    def kept(self, columns: Iterable[str]) -> Iterator[Row]:
        """The pages that may be fetched, the best first."""
        yield from self._listed(columns, _MAY_FETCH, *_BEST_FIRST)

    def _listed(self, columns: Iterable[str], condition: Any, *order: Any) -> Iterator[Row]:
        # What came of a link page is no reason against it.
        without = {"reason": "", "rule": "", "line": 0}
        named = (
            case((urls.c.state == "blocked", urls.c[name]), else_=without[name])
            if name in without
            else urls.c[name]
            for name in columns
        )
        query = select(*named).where(self._own & condition).order_by(*order)
        streamed = self._connection.execution_options(yield_per=_AT_A_TIME)
        yield from map(tuple, streamed.execute(query))

    def cap(self, limit: int, reason: str, rule: str) -> None:
        """Block the pages that may be fetched beyond a number, the worst of them."""
        ordered = select(urls.c.priority, urls.c.seq).where(self._own & _MAY_FETCH)
        first = self._connection.execute(
            ordered.order_by(*_BEST_FIRST).offset(limit).limit(1)
        ).first()
        if first is not None:
            is_equal = (urls.c.priority == first.priority) & (urls.c.seq >= first.seq)
            is_beyond = self._own & _MAY_FETCH & ((urls.c.priority < first.priority) | is_equal)
            values = {"state": "blocked", "reason": reason, "rule": rule, "line": 0}
            self._connection.execute(update(urls).where(is_beyond).values(values))

    def open_keys(self, reason: str) -> Iterator[bytes]:
        """The keys of pages that may be fetched, or are blocked for one reason only."""
        is_open = _MAY_FETCH | ((urls.c.kind == "page") & (urls.c.reason == reason))
        streamed = self._connection.execution_options(yield_per=_AT_A_TIME)
        query = select(urls.c.digest).where(self._own & is_open)
        yield from map(bytes.fromhex, streamed.execute(query).scalars())

    def worst(self, host: str, kind: str, number: int) -> list[str]:
        """The digests of the URLs of a host that would be leased last."""
        rows: list[str] = []
        # Sitemaps usually stand before all pages: an index finds them without the pages.
        for least in (_SITEMAPS, -1.0) if kind == "sitemap" else (-1.0,):
            if len(rows) < number:
                values = (self._crawl, host, kind, least, number)
                rows = list(self._run("worst", values).scalars())
        return rows

    def delete(self, keys: Sequence[Key]) -> None:
        """Forget URLs."""
        if keys:
            self._run("delete", (self._crawl, *self._keys(keys)))

    def drop(self, keys: Sequence[Key], reason: str, rule: str) -> None:
        """Block queued URLs."""
        if keys:
            self._run("drop", (reason, rule, self._crawl, *self._keys(keys)))

    def lock_hosts(self, names: Iterable[str], worker: int) -> set[str]:
        """Keep other workers from taking hosts; returns those that nobody else has."""
        return set(self._run("lock_hosts", (self._crawl, self._names(names), worker)).scalars())

    # URLs to fetch, and what came of them.

    def due(self, wanted: Sequence[tuple[str, int]], now: float) -> Iterator[tuple[str, LeasedUrl]]:
        """The URLs of hosts that may be fetched now, the best first, by digest; so many of each."""
        if self._is_sqlite:
            for name, most in wanted:
                for *values, digest in self._run("due", (self._crawl, name, now, most)):
                    yield digest, LeasedUrl(*values)
            return
        names, numbers = map(list, zip(*wanted, strict=True))
        for *values, digest in self._run("due", (names, numbers, self._crawl, now)):
            yield digest, LeasedUrl(*values)

    def later(self, names: Sequence[str], now: float) -> dict[str, float | None]:
        """When the next queued URL of each host may be fetched that may not be now."""
        if self._is_sqlite:
            return {name: self._run("later", (self._crawl, name, now)).scalar() for name in names}
        rows = self._run("later", (self._crawl, now, list(names)))
        return {name: at for name, at in rows}  # noqa: C416 (rows are no pairs for mypy)

    def finish(self, rows: Iterable[tuple[Row, Key]]) -> None:
        """Write what became of leased URLs."""
        self._many("finish", [(*row, self._crawl, *key) for row, key in rows])

    def keep_pages(self, rows: Iterable[Row]) -> None:
        """Write the last answers: key, `PAGE_COLUMNS`, and where they lead to."""
        self._many("page", [(self._crawl, *row) for row in rows])

    def keep_retries(self, rows: Iterable[Row]) -> None:
        """Write earlier answers: key and `RETRY_COLUMNS`."""
        self._many("retry", [(self._crawl, *row) for row in rows])

    def keep_paces(self, paces: Iterable[tuple[str, float, float]]) -> None:
        """Write the delay of hosts, and when each may be requested again."""
        self._many("pace", [(*pace, self._crawl, name) for name, *pace in paces])

    def count(self, worker: int, changes: Mapping[tuple[str, str], int]) -> None:
        """Write by how many numbers change, by kind and what they count."""
        rows = [(self._crawl, worker, *key, number) for key, number in changes.items() if number]
        self._many("count", rows)

    # Hosts.

    def add_hosts(self, names: Iterable[str], ready: float | None) -> set[str]:
        """Add hosts that are not there yet, and returns which: each may be taken from a time on."""
        values: Row = (self._crawl, ready, self._names(names))
        if not self._is_sqlite:
            values = (*values, self._crawl)
        return set(self._run("new_hosts", values).scalars())

    def take_hosts(self, worker: int, most: int, now: float) -> Iterator[OwnedHost]:
        """Own hosts whose time has come, the longest due first."""
        values: Row = (worker, self._crawl, self._crawl, now, most)
        if not self._is_sqlite:
            values = (self._crawl, now, most, worker, self._crawl)
        for row in self._run("take_hosts", values).all():
            yield OwnedHost(*row)

    def borrow_host(self, worker: int, name: str, now: float) -> OwnedHost | None:
        """Own a host that nobody owns, whether it has something queued or not.

        Where somebody does, he is told that it is wanted: he hands it back soon.
        """
        is_it = (hosts.c.crawl == self._crawl) & (hosts.c.host == name)
        columns = (hosts.c.host, hosts.c.epoch, hosts.c.delay, hosts.c.not_before)
        values = {"owner": worker, "epoch": hosts.c.epoch + 1, "wanted": None}
        taken = update(hosts).where(is_it & hosts.c.owner.is_(None)).values(values)
        row = self._connection.execute(taken.returning(*columns)).first()
        if row is not None:
            return OwnedHost(*row)
        notice = update(hosts).where(is_it & (hosts.c.owner != worker) & hosts.c.wanted.is_(None))
        self._connection.execute(notice.values(wanted=now))
        return None

    def wanted_hosts(self, worker: int) -> list[str]:
        """The hosts of a worker that another one wants."""
        query = select(hosts.c.host).where((hosts.c.owner == worker) & hosts.c.wanted.is_not(None))
        return list(self._connection.execute(query).scalars())

    def next_host(self) -> float | None:
        """When the next host that nobody owns may be taken."""
        is_due = hosts.c.owner.is_(None) & hosts.c.ready.is_not(None)
        query = select(func.min(hosts.c.ready)).where((hosts.c.crawl == self._crawl) & is_due)
        at: float | None = self._connection.execute(query).scalar()
        return at

    def release_hosts(self, worker: int, returned: Iterable[ReturnedHost]) -> None:
        """Hand hosts back."""
        rows = [
            (host.delay, host.not_before, host.ready, self._crawl, host.name, worker)
            for host in sorted(returned)
        ]
        self._many("release", rows)

    def wake(self, names: Iterable[str], ready: float) -> None:
        """Let those hosts be taken that had nothing queued, and do now."""
        self._run("wake", (ready, self._crawl, self._names(names)))

    def add_queued_hosts(self, ready: float) -> None:
        """Add the hosts of queued URLs that are not there yet."""
        is_there = select(hosts.c.host).where(
            (hosts.c.crawl == self._crawl) & (hosts.c.host == urls.c.host)
        )
        query = select(literal(self._crawl), urls.c.host, literal(ready)).distinct()
        query = query.where(self._own & (urls.c.state == "queued") & ~is_there.exists())
        self._connection.execute(insert(hosts).from_select(["crawl", "host", "ready"], query))

    def wake_all(self, ready: float) -> int:
        """The same for every host: somebody may have added URLs, and died before he said so."""
        return int(self._run("wake_all", (ready, self._crawl)).rowcount)

    def active_hosts(self, most: int) -> int:
        """How many hosts are owned, or have something queued; counted up to a limit."""
        number, is_owned = 0, hosts.c.owner.is_not(None)
        # One by one, because each has an index.
        for is_active in (is_owned, ~is_owned & hosts.c.ready.is_not(None)):
            own = (hosts.c.crawl == self._crawl) & is_active
            found = select(hosts.c.host).where(own).limit(most).subquery()
            number += self._connection.execute(select(func.count()).select_from(found)).scalar_one()
        return min(number, most)

    def is_any_owned(self) -> bool:
        """Whether any host is owned."""
        query = select(hosts.c.host).where(
            (hosts.c.crawl == self._crawl) & hosts.c.owner.is_not(None)
        )
        return self._connection.execute(query.limit(1)).first() is not None

    def is_any_queued(self) -> bool:
        """Whether any URL is queued."""
        query = select(urls.c.digest).where(self._own & (urls.c.state == "queued"))
        return self._connection.execute(query.limit(1)).first() is not None

    # The crawl as a whole.

    @property
    def _own(self) -> Any:
        return urls.c.crawl == self._crawl

    def exists(self) -> bool:
        """Whether there is such a crawl."""
        query = select(crawls.c.id).where(crawls.c.id == self._crawl)
        return self._connection.execute(query).first() is not None

    def hosts_of_room(self, kind: str, worker: int) -> Iterator[tuple[str, int, int]]:
        """Each host, how many URLs of a kind are open, and how many of these may be dropped."""
        never_queued = urls.c.reason.in_((*RANKS, NO_ROOM)) | urls.c.reason.like(f"{TRAP}%")
        is_open = ~((urls.c.state == "blocked") & never_queued)
        is_free = hosts.c.owner.is_(None) | (hosts.c.owner == worker)
        is_queued = (urls.c.state == "queued") & is_free
        columns = (urls.c.host, func.count(), func.sum(case((is_queued, 1), else_=0)))
        of_host = (hosts.c.crawl == urls.c.crawl) & (hosts.c.host == urls.c.host)
        query = select(*columns).select_from(urls.outerjoin(hosts, of_host))
        query = query.where(self._own & (urls.c.kind == kind) & is_open).group_by(urls.c.host)
        yield from map(tuple, self._connection.execute(query))

    def counted(self, worker: int | None = None) -> "Counter[tuple[str, str]]":
        """Every number of the crawl, by kind and what it counts; or of one worker."""
        by = (counts.c.kind, counts.c.what)
        query = select(*by, func.sum(counts.c.number)).where(counts.c.crawl == self._crawl)
        if worker is not None:
            query = query.where(counts.c.worker == worker)
        rows = self._connection.execute(query.group_by(*by))
        return Counter({(kind, what): int(number) for kind, what, number in rows})

    def recount(self) -> None:
        """Count the URLs, after many were changed at once; what differs is put down to nobody."""
        never_queued = urls.c.reason.in_(RANKS) | urls.c.reason.like(f"{TRAP}%")
        is_blocked = urls.c.state == "blocked"
        room = case(
            (is_blocked & (urls.c.reason == NO_ROOM), "dropped"),
            (is_blocked & never_queued, "refused"),
            else_="open",
        ).label("room")
        columns = (urls.c.kind, urls.c.state, room)
        query = select(*columns, func.count()).where(self._own).group_by(*columns)
        found: Counter[tuple[str, str]] = Counter()
        for kind, state, place, number in self._connection.execute(query):
            found[kind, state] += number
            found[kind, place] += number
        counted = self.counted()
        for key in found.keys() | {key for key in counted if key[1] in _COUNTED_AGAIN}:
            found[key] -= counted[key]
        self.count(NOBODY, found)

    def seconds(self) -> float:
        """How long the crawl has been running, in all."""
        query = select(crawls.c.seconds).where(crawls.c.id == self._crawl)
        return float(self._connection.execute(query).scalar() or 0.0)

    def starts(self) -> Iterator[tuple[str, bool]]:
        """The URLs that the crawl started with, and where those redirect to: False for these."""
        query = select(crawls.c.start).where(crawls.c.id == self._crawl)
        for url in str(self._connection.execute(query).scalar() or "").split():
            yield url, True
        columns = (urls.c.url, urls.c.found_in == "")
        query = select(*columns).where(self._own & (urls.c.source == "start"))
        yield from map(tuple, self._connection.execute(query))

    def settings(self) -> dict[str, Any]:
        """The settings that the crawl was given, without defaults, by their present names."""
        query = select(crawls.c.settings).where(crawls.c.id == self._crawl)
        return current_names(json.loads(self._connection.execute(query).scalar() or "{}"))

    def requeue(self, reasons: Iterable[str], max_depth: int | None) -> None:
        """Queue URLs that are blocked for some reasons, or for a depth that counts now.

        What is too deep now is blocked.
        """
        is_near = urls.c.reason == DEPTH
        if max_depth is not None:
            is_near &= urls.c.depth <= max_depth
        is_open = (urls.c.state == "blocked") & (urls.c.reason.in_(reasons) | is_near)
        queued = {"state": "queued", "reason": "", "rule": "", "line": 0}
        self._connection.execute(update(urls).where(self._own & is_open).values(queued))
        if max_depth is not None:
            too_deep = (urls.c.state == "queued") & (urls.c.depth > max_depth)
            block = update(urls).where(self._own & too_deep & (urls.c.kind == "page"))
            self._connection.execute(block.values(state="blocked", reason=DEPTH))

    def resume(self, settings: dict[str, Any]) -> None:
        """Write that the crawl runs again, with which settings."""
        values = {"ended": None, "settings": json.dumps(settings)}
        self._connection.execute(update(crawls).where(crawls.c.id == self._crawl).values(values))


def _key_of_row(row: Row) -> Key:
    return row[0], row[1]
