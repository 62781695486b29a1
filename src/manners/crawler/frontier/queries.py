"""The SQL of the frontier: what one crawl asks of its tables, in one transaction.

What runs for every page is text, prepared once: to build such statements would take longer than to
run them.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, case, func, insert, select, update

from manners.crawler.frontier.tables import crawls, hosts, urls
from manners.crawler.frontier.values import LeasedUrl
from manners.crawler.frontier.ways import RANKS, KnownUrl
from manners.crawler.reasons import DEPTH, OTHER_HOST, TRAP
from manners.settings.names import current_names

PAGE_COLUMNS = (
    *("status", "cause", "type", "bytes", "sha256", "title", "links", "location", "started"),
    *("waited", "seconds", "delay", "problems"),
)
"""What is kept of the last answer."""
RETRY_COLUMNS = ("status", "cause", "bytes", "started", "waited", "seconds", "delay")
"""What is kept of an answer after which a URL is tried again."""
_URL_COLUMNS = (
    *("crawl", "digest", "url", "host", "source", "found_in", "depth", "priority", "lastmod"),
    *("reason", "rule", "line", "kind", "state", "hops", "seq"),
)
_SITEMAPS = 1.5
"""Sitemaps have a priority above this; pages have 1 at most."""
_AT_A_TIME = 1_000
_MAY_FETCH = (urls.c.kind == "page") & (urls.c.state != "blocked")
_BEST_FIRST = (urls.c.priority.desc(), urls.c.seq)

Row = tuple[Any, ...]


def _statements(is_sqlite: bool) -> dict[str, str]:
    mark = "?" if is_sqlite else "%s"
    among = "IN (SELECT value FROM json_each(?))" if is_sqlite else "= ANY(%s)"
    page_columns = ("crawl", "digest", *PAGE_COLUMNS, "targets")
    retry_columns = ("crawl", "digest", *RETRY_COLUMNS)
    updates = ", ".join(f"{name} = excluded.{name}" for name in page_columns[2:])
    texts = {
        "insert": f"INSERT INTO urls {_values(_URL_COLUMNS)}",
        "known": "SELECT digest, depth, hops, state, reason, kind, priority FROM urls"
        " WHERE crawl = ? AND digest {among}",
        "targets": "SELECT digest, targets, location FROM pages WHERE crawl = ? AND digest {among}",
        "settle": "UPDATE urls SET depth = ?, hops = ?, priority = ?, state = ?, reason = ?,"
        " rule = ?, line = ?, source = ?, found_in = ? WHERE crawl = ? AND digest = ?",
        "shorten": "UPDATE urls SET depth = ?, hops = ?, priority = ?, state = ?"
        " WHERE crawl = ? AND digest = ?",
        "finish": "UPDATE urls SET state = ?, reason = ?, rule = ?, line = ?, status = ?,"
        " attempts = ?, not_before = ?, evidence = ? WHERE crawl = ? AND digest = ?",
        "page": f"INSERT INTO pages {_values(page_columns)}"
        f" ON CONFLICT (crawl, digest) DO UPDATE SET {updates}",
        "retry": f"INSERT INTO retries {_values(retry_columns)}",
        "pace": f"INSERT INTO hosts {_values(('crawl', 'host', 'delay', 'not_before'))}"
        " ON CONFLICT (crawl, host)"
        " DO UPDATE SET delay = excluded.delay, not_before = excluded.not_before",
        "due": f"SELECT {', '.join(LeasedUrl._fields)}, digest FROM urls"  # noqa: S608
        " WHERE crawl = ? AND host = ? AND state = 'queued' AND not_before <= ?"
        " ORDER BY priority DESC, depth, seq LIMIT ?",
        "later": "SELECT min(not_before) FROM urls"
        " WHERE crawl = ? AND host = ? AND state = 'queued' AND not_before > ?",
        # The order of leasing, from its end.
        "worst": "SELECT digest, seq FROM urls WHERE crawl = ? AND host = ? AND state = 'queued'"
        " AND kind = ? AND priority >= ? ORDER BY priority, depth DESC, seq DESC LIMIT ?",
        "delete": "DELETE FROM urls WHERE crawl = ? AND digest {among}",
        "drop": "UPDATE urls SET state = 'blocked', reason = ?, rule = ?, line = 0"
        " WHERE crawl = ? AND digest {among}",
    }
    return {name: text.replace("{among}", among).replace("?", mark) for name, text in texts.items()}


def _values(columns: Sequence[str]) -> str:
    return f"({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})"


def insert_crawl(
    connection: Connection, start: str, now: float, settings: Mapping[str, Any], command: str
) -> int:
    """Add a crawl, a discovery or a list; returns its number."""
    row = {"start": start, "at": int(now * 1000), "command": command}
    row["settings"] = json.dumps(settings)
    inserted = connection.execute(insert(crawls).values(row))
    return int((inserted.inserted_primary_key or (0,))[0])


_SQLITE, _POSTGRES = _statements(True), _statements(False)


class Queries:
    """What a crawl reads and writes in one transaction."""

    __slots__ = ("_connection", "_crawl", "_is_sqlite", "_sql")

    def __init__(self, connection: Connection, crawl: int) -> None:
        self._connection, self._crawl = connection, crawl
        self._is_sqlite = connection.dialect.name == "sqlite"
        self._sql = _SQLITE if self._is_sqlite else _POSTGRES

    def _run(self, name: str, values: Any) -> Any:
        return self._connection.exec_driver_sql(self._sql[name], values)

    def _among(self, digests: Sequence[str]) -> Any:
        return json.dumps(digests) if self._is_sqlite else list(digests)

    # URLs that were found.

    def known(self, digests: Sequence[str]) -> Iterator[tuple[str, KnownUrl]]:
        """Those of some URLs that are known."""
        for digest, *values in self._run("known", (self._crawl, self._among(digests))):
            yield digest, KnownUrl(*values)

    def targets(self, digests: Sequence[str]) -> Sequence[tuple[str, bytes | None, str]]:
        """Fetched pages: the digest of each, the digests it leads to, where it redirects to."""
        rows: Sequence[tuple[str, bytes | None, str]] = self._run(
            "targets", (self._crawl, self._among(digests))
        ).all()
        return rows

    def origin(self, digest: str) -> tuple[str, str, str]:
        """A URL, its source, and what names it."""
        query = select(urls.c.url, urls.c.source, urls.c.found_in)
        row = self._connection.execute(query.where(self._own & (urls.c.digest == digest))).one()
        return row.url, row.source, row.found_in

    def outside(self, host: str) -> Iterator[Row]:
        """URLs of a host that are blocked because the host was not part of the crawl."""
        blocked = (urls.c.state == "blocked") & (urls.c.reason == OTHER_HOST)
        columns = (urls.c.url, urls.c.source, urls.c.found_in, urls.c.depth, urls.c.priority)
        query = select(*columns).where(self._own & (urls.c.host == host) & blocked)
        yield from map(tuple, self._connection.execute(query))

    def insert(self, rows: Iterable[Row]) -> None:
        """Add URLs: all columns but the crawl."""
        self._many("insert", [(self._crawl, *row) for row in rows])

    def settle(self, rows: Iterable[tuple[Row, str]]) -> None:
        """Write what became of known URLs, by digest: the way to each, its state and source."""
        self._many("settle", [(*row, self._crawl, digest) for row, digest in rows])

    def shorten(self, rows: Iterable[tuple[Row, str]]) -> None:
        """Write depth, hops, priority and state of known URLs, by digest."""
        self._many("shorten", [(*row, self._crawl, digest) for row, digest in rows])

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

    def worst(self, host: str, kind: str, number: int) -> list[tuple[str, int]]:
        """The URLs of a host that would be leased last, with their sequence numbers."""
        rows: list[tuple[str, int]] = []
        # Sitemaps usually stand before all pages: an index finds them without the pages.
        for least in (_SITEMAPS, -1.0) if kind == "sitemap" else (-1.0,):
            if len(rows) < number:
                rows = self._run("worst", (self._crawl, host, kind, least, number)).all()
        return rows

    def delete(self, digests: Sequence[str]) -> None:
        """Forget URLs."""
        if digests:
            self._run("delete", (self._crawl, self._among(digests)))

    def drop(self, digests: Sequence[str], reason: str, rule: str) -> None:
        """Block queued URLs."""
        if digests:
            self._run("drop", (reason, rule, self._crawl, self._among(digests)))

    # URLs to fetch, and what came of them.

    def hosts_with_work(self) -> dict[str, float]:
        """The hosts with queued URLs, and when the first of each may be fetched."""
        query = select(urls.c.host, func.min(urls.c.not_before).label("soonest"))
        query = query.where(self._own & (urls.c.state == "queued")).group_by(urls.c.host)
        return {row.host: row.soonest for row in self._connection.execute(query)}

    def due(self, host: str, limit: int, now: float) -> Iterator[tuple[str, LeasedUrl]]:
        """The URLs of a host that may be fetched now, the best first, by digest."""
        for *values, digest in self._run("due", (self._crawl, host, now, limit)):
            yield digest, LeasedUrl(*values)

    def later(self, host: str, now: float) -> float | None:
        """When the next queued URL of a host may be fetched that may not be now."""
        at: float | None = self._run("later", (self._crawl, host, now)).scalar()
        return at

    def finish(self, rows: Iterable[tuple[Row, str]]) -> None:
        """Write what became of leased URLs, by digest."""
        self._many("finish", [(*row, self._crawl, digest) for row, digest in rows])

    def keep_pages(self, rows: Iterable[Row]) -> None:
        """Write the last answers: digest, `PAGE_COLUMNS`, and the digests they lead to."""
        self._many("page", [(self._crawl, *row) for row in rows])

    def keep_retries(self, rows: Iterable[Row]) -> None:
        """Write earlier answers: digest and `RETRY_COLUMNS`."""
        self._many("retry", [(self._crawl, *row) for row in rows])

    def keep_paces(self, paces: Iterable[tuple[str, float, float]]) -> None:
        """Write the delay of hosts, and when each may be requested again."""
        self._many("pace", [(self._crawl, host[:255], *pace) for host, *pace in paces])

    # The crawl as a whole.

    @property
    def _own(self) -> Any:
        return urls.c.crawl == self._crawl

    def exists(self) -> bool:
        """Whether there is such a crawl."""
        query = select(crawls.c.id).where(crawls.c.id == self._crawl)
        return self._connection.execute(query).first() is not None

    def sequence(self) -> int:
        """The highest sequence number of a URL."""
        query = select(func.max(urls.c.seq)).where(self._own)
        return self._connection.execute(query).scalar() or 0

    def totals(self) -> Iterator[Row]:
        """Kind, host, state and reason of URLs, and how many there are of each."""
        columns = (urls.c.kind, urls.c.host, urls.c.state, urls.c.reason)
        query = select(*columns, func.count()).where(self._own).group_by(*columns)
        yield from map(tuple, self._connection.execute(query))

    def states(self) -> "Counter[tuple[str, str]]":
        """How many URLs there are, by kind and state."""
        query = select(urls.c.kind, urls.c.state, func.count()).where(self._own)
        rows = self._connection.execute(query.group_by(urls.c.kind, urls.c.state))
        return Counter({(kind, state): number for kind, state, number in rows})

    def pages_used(self) -> int:
        """How many requests for pages count for the budget."""
        query = select(func.sum(urls.c.attempts)).where(self._own & (urls.c.kind == "page"))
        return int(self._connection.execute(query).scalar() or 0)

    def seconds(self) -> float:
        """How long the crawl has been running, in all."""
        query = select(crawls.c.seconds).where(crawls.c.id == self._crawl)
        return float(self._connection.execute(query).scalar() or 0.0)

    def paces(self) -> dict[str, tuple[float, float]]:
        """The delay of each host, and when it may be requested again."""
        rows = self._connection.execute(select(hosts).where(hosts.c.crawl == self._crawl))
        return {row.host: (row.delay, row.not_before) for row in rows}

    def starts(self, *, given: bool = False) -> Iterator[str]:
        """The URLs that the crawl started with; unless `given`, also where those redirect to."""
        query = select(crawls.c.start).where(crawls.c.id == self._crawl)
        yield from str(self._connection.execute(query).scalar() or "").split()
        query = select(urls.c.url).where(self._own & (urls.c.source == "start"))
        if given:
            query = query.where(urls.c.found_in == "")
        yield from self._connection.execute(query).scalars()

    def followed(self) -> Iterator[str]:
        """The URLs of links that were queued once, whatever became of them."""
        never_queued = urls.c.reason.in_(RANKS) | urls.c.reason.like(f"{TRAP}%")
        links = self._own & (urls.c.source == "link")
        query = select(urls.c.url).where(links & ~((urls.c.state == "blocked") & never_queued))
        streamed = self._connection.execution_options(yield_per=_AT_A_TIME)
        yield from streamed.execute(query).scalars()

    def settings(self) -> dict[str, Any]:
        """The settings that the crawl was given, without defaults, by their present names."""
        query = select(crawls.c.settings).where(crawls.c.id == self._crawl)
        return current_names(json.loads(self._connection.execute(query).scalar() or "{}"))

    def requeue(self, reasons: Iterable[str], max_depth: int | None) -> None:
        """Queue URLs that are blocked for some reasons, or for a depth that counts now.

        What is too deep now is blocked. Before version 0.2.0, URLs were `leased` while they were
        fetched: such are queued, too.
        """
        is_near = urls.c.reason == DEPTH
        if max_depth is not None:
            is_near &= urls.c.depth <= max_depth
        is_open = (urls.c.state == "blocked") & (urls.c.reason.in_(reasons) | is_near)
        queued = {"state": "queued", "reason": "", "rule": "", "line": 0}
        is_queued = self._own & ((urls.c.state == "leased") | is_open)
        self._connection.execute(update(urls).where(is_queued).values(queued))
        if max_depth is not None:
            too_deep = (urls.c.state == "queued") & (urls.c.depth > max_depth)
            block = update(urls).where(self._own & too_deep & (urls.c.kind == "page"))
            self._connection.execute(block.values(state="blocked", reason=DEPTH))

    def resume(self, settings: dict[str, Any]) -> None:
        """Write that the crawl runs again, with which settings."""
        values = {"ended": None, "settings": json.dumps(settings)}
        self._connection.execute(update(crawls).where(crawls.c.id == self._crawl).values(values))

    def end(self, reason: str | None, seconds: float) -> None:
        """Write why the crawl ended, if it did, and how long it has been running."""
        own = update(crawls).where(crawls.c.id == self._crawl)
        self._connection.execute(own.values(ended=reason, seconds=seconds))
