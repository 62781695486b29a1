"""Queries for people: everything that status, lists of crawls, reports and the demo read.

`CrawlSummary` reads one crawl in one view of its store; the functions read what all crawls of a
store have. Rows are named like the columns they come from.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    Table,
    and_,
    case,
    cast,
    distinct,
    func,
    select,
    union_all,
)

from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.tables import (
    counts,
    crawls,
    hosts,
    pages,
    retries,
    urls,
    workers,
)
from manners.crawler.reasons import REDIRECT
from manners.evidence.tables import evidence
from manners.store.schema import VERSIONS_TABLE, Number

_BATCH = 1_000
_IS_CRAWL = crawls.c.command == "crawl"
_STATES = ("queued", "done", "failed", "blocked", "kept")

Rows = Sequence[Any]


class UrlFilter(NamedTuple):
    """Which URLs of a crawl to list; what is empty chooses all."""

    state: str = ""
    host: str = ""
    reason: str = ""
    text: str = ""
    """A part of the URL."""
    after: int = -1
    """The last URL before those to list: its `seq`."""
    after_digest: str = ""


def _host_state(now: float) -> "ColumnElement[str]":
    """What a host is at: `asked`, `backing off`, `waiting` for its time, `due`, or `finished`.

    A worker waits for longer than two delays only where the host said so, or failed.
    """
    wait, delay = hosts.c.not_before - now, func.coalesce(hosts.c.delay, 0.0)
    is_long = and_(wait > 2 * delay, wait > 1.0)
    is_open = hosts.c.owner.is_not(None) | hosts.c.ready.is_not(None)
    return case(
        (~is_open, "finished"),
        (is_long, "backing off"),
        (hosts.c.owner.is_not(None), "asked"),
        (hosts.c.ready > now, "waiting"),
        else_="due",
    )


def all_crawls(connection: Connection) -> Rows:
    """Every crawl of a store, the oldest first."""
    return connection.execute(select(crawls).where(_IS_CRAWL).order_by(crawls.c.id)).all()


def crawl_row(connection: Connection, crawl: int) -> Any:
    """What a crawl began with, and how it ended."""
    return connection.execute(select(crawls).where(crawls.c.id == crawl)).one()


def state_counts(connection: Connection) -> Iterator[Any]:
    """URLs of all crawls: `crawl`, `kind`, `state`, `is_redirect` and how many."""
    is_redirect = (urls.c.reason == REDIRECT).label("is_redirect")
    by = (urls.c.crawl, urls.c.kind, urls.c.state, is_redirect)
    yield from connection.execute(select(*by, func.count().label("number")).group_by(*by))


def page_urls(connection: Connection) -> Iterator[str]:
    """The pages that the crawls and discoveries of a store know, each once."""
    query = select(urls.c.url).where(urls.c.kind == "page").distinct()
    yield from connection.execute(query.execution_options(yield_per=_BATCH)).scalars()


class CrawlSummary:
    """Reads one crawl, in one view of its store."""

    def __init__(self, connection: Connection, crawl: int) -> None:
        self._connection, self._crawl = connection, crawl
        self._is_sqlite = connection.dialect.name == "sqlite"
        version = connection.exec_driver_sql(
            f"SELECT version_num FROM {VERSIONS_TABLE}"  # noqa: S608 (a constant)
        ).scalar()
        self._is_keyed_by_host = str(version) >= "0004"
        """Whether the store knows its URLs by host, and counts them."""
        self._all_urls = self._of_crawl(urls)
        self._page_urls = self._all_urls & (urls.c.kind == "page")

    def _of_crawl(self, table: Table) -> "ColumnElement[bool]":
        """The condition for the rows of the crawl, where most of a table is wanted.

        By its index SQLite would look them up one by one, in no order, which takes several times as
        long as reading the table from start to end. An expression has no index.
        """
        column = table.c.crawl
        return (column + 0 if self._is_sqlite else column) == self._crawl

    def _of_url(self, table: Table) -> "ColumnElement[bool]":
        """The condition for the rows of a table that belong to a URL."""
        is_it = and_(urls.c.crawl == table.c.crawl, urls.c.digest == table.c.digest)
        return is_it & (urls.c.host == table.c.host) if self._is_keyed_by_host else is_it

    def _scalar(self, query: "Select[Any]") -> Any:
        return self._connection.execute(query).scalar()

    def _count(self, condition: "ColumnElement[bool]") -> int:
        return int(self._scalar(select(func.count()).where(condition)))

    def _stream(self, query: Any) -> Iterator[Any]:
        """Rows in batches: a large crawl does not fit into memory."""
        return iter(self._connection.execute(query.execution_options(yield_per=_BATCH)))

    # Counts.

    def settings(self) -> str | None:
        """The settings that the crawl was given, as JSON."""
        text: str | None = self._scalar(select(crawls.c.settings).where(crawls.c.id == self._crawl))
        return text

    def states(self) -> Rows:
        """URLs by `kind` and `state`."""
        if self._is_keyed_by_host:
            total = func.sum(counts.c.number)
            own = (counts.c.crawl == self._crawl) & counts.c.what.in_(_STATES)
            columns = (counts.c.kind, counts.c.what.label("state"))
            counted = select(*columns, cast(total, Number).label("number")).where(own)
            counted = counted.group_by(counts.c.kind, counts.c.what).having(total != 0)
            return self._connection.execute(counted).all()
        by = (urls.c.kind, urls.c.state)
        query = select(*by, func.count().label("number")).where(self._all_urls).group_by(*by)
        return self._connection.execute(query).all()

    def outcome_counts(self) -> Rows:
        """URLs that are not queued, by `kind`, `state`, `status` and `reason`."""
        by = (urls.c.kind, urls.c.state, urls.c.status, urls.c.reason)
        is_over = self._all_urls & urls.c.state.not_in(("queued", "leased"))
        query = select(*by, func.count().label("number")).where(is_over).group_by(*by)
        return self._connection.execute(query).all()

    def retries(self) -> Rows:
        """Requests for pages after which the page was queued again, by `status` and `cause`."""
        by = (retries.c.status, retries.c.cause)
        query = select(*by, func.count().label("number"))
        query = query.select_from(retries.join(urls, self._of_url(retries)))
        query = query.where((retries.c.crawl == self._crawl) & (urls.c.kind == "page"))
        return self._connection.execute(query.group_by(*by)).all()

    def blocked_rules(self, limit: int | None = None) -> tuple[int, Rows]:
        """Blocked pages by `reason`, `rule` and `line`: how many rows, and the most frequent."""
        by, number = (urls.c.reason, urls.c.rule, urls.c.line), func.count().label("number")
        # How many rows there are comes with each: the table is read once.
        query = select(*by, number, func.count().over()).where(self._blocked_pages).group_by(*by)
        rows = self._connection.execute(query.order_by(number.desc(), *by).limit(limit)).all()
        return rows[0][-1] if rows else 0, [row[:-1] for row in rows]

    def attempts(self) -> int:
        """Requests for pages."""
        query = select(func.sum(urls.c.attempts)).where(self._page_urls)
        if self._is_keyed_by_host:
            own = (counts.c.crawl == self._crawl) & (counts.c.kind == "page")
            query = select(func.sum(counts.c.number)).where(own & (counts.c.what == "attempts"))
        return int(self._scalar(query) or 0)

    def workers(self) -> Rows:
        """The workers, the first first; none in a store that knows none."""
        if not self._is_keyed_by_host:
            return []
        query = select(workers).where(workers.c.crawl == self._crawl).order_by(workers.c.id)
        return self._connection.execute(query).all()

    def counts_by_worker(self) -> Iterator[Any]:
        """Every number of the crawl: `worker`, `kind`, `what` and `number`."""
        return self._stream(select(counts).where(counts.c.crawl == self._crawl))

    def traffic(self) -> tuple[int, int]:
        """How many hosts were asked, and how many bytes were read."""
        queries = []
        for table in (pages, retries):
            host = table.c.host if self._is_keyed_by_host else urls.c.host
            query = select(host.label("host"), table.c.bytes).where(self._of_crawl(table))
            if not self._is_keyed_by_host:
                query = query.select_from(table.join(urls, self._of_url(table)))
            queries.append(query)
        requests = union_all(*queries).subquery()
        columns = (func.count(distinct(requests.c.host)), func.sum(requests.c.bytes))
        number, size = self._connection.execute(select(*columns)).one()
        return int(number), int(size or 0)

    # Everything once, in batches.

    def requests(self) -> Iterator[Any]:
        """Every request in the order in which they started.

        `host`, `kind`, `status`, `started`, `seconds`, `delay`, `bytes`.
        """
        queries = []
        for table in (pages, retries):
            columns = (table.c.status, table.c.started, table.c.seconds, table.c.delay)
            query = select(urls.c.host, urls.c.kind, *columns, table.c.bytes)
            query = query.select_from(table.join(urls, self._of_url(table)))
            query = query.where(self._of_crawl(table))
            queries.append(query)
        return self._stream(union_all(*queries).order_by("started"))

    def hosts(self) -> Iterator[Any]:
        """Every host: `host`, `delay` and `not_before`."""
        columns = (hosts.c.host, hosts.c.delay, hosts.c.not_before)
        asked = (hosts.c.crawl == self._crawl) & hosts.c.delay.is_not(None)
        return self._stream(select(*columns).where(asked))

    def decisions(self) -> Iterator[Any]:
        """The last decision about every URL.

        The number of its record, its metadata or None, and `state` and `reason` of the URL.
        """
        with_record = urls.outerjoin(evidence, evidence.c.id == urls.c.evidence)
        columns = (urls.c.evidence, evidence.c.metadata, urls.c.state, urls.c.reason)
        query = select(*columns).select_from(with_record)
        return self._stream(query.where(self._all_urls & urls.c.evidence.is_not(None)))

    def outcomes(self) -> Iterator[Any]:
        """Every page, whatever became of it, with the answer where there is one."""
        columns = (urls, pages.c.location, pages.c.seconds, pages.c.delay)
        query = select(*columns).select_from(urls.outerjoin(pages, self._of_url(pages)))
        return self._stream(query.where(self._page_urls))

    # A crawl that runs: what is asked every second, so nothing here reads every URL.

    def numbers(self) -> dict[tuple[str, str], int]:
        """Every number of the crawl, by kind and what it counts."""
        return dict(Queries(self._connection, self._crawl).counted())

    def host_states(self, now: float) -> Rows:
        """How many hosts there are of each `state` (see `_host_state`)."""
        state = _host_state(now).label("state")
        query = select(state, func.count().label("number")).where(hosts.c.crawl == self._crawl)
        return self._connection.execute(query.group_by(state)).all()

    def active_hosts(self, now: float, limit: int) -> Rows:
        """Hosts that are asked or waited for, those that are waited for longest first."""
        state = _host_state(now).label("state")
        query = select(hosts, state).where((hosts.c.crawl == self._crawl) & (state != "finished"))
        query = query.order_by(hosts.c.owner.is_(None), hosts.c.not_before.desc(), hosts.c.host)
        return self._connection.execute(query.limit(limit)).all()

    def queued(self, host: str, most: int) -> int:
        """How many URLs of a host are queued, counted up to a limit."""
        own = (urls.c.crawl == self._crawl) & (urls.c.host == host) & (urls.c.state == "queued")
        return int(
            self._scalar(
                select(func.count()).select_from(select(1).where(own).limit(most).subquery())
            )
        )

    def latest_retries(self, limit: int) -> Rows:
        """The last requests that are repeated: `url`, `status`, `cause` and `started`."""
        columns = (urls.c.url, retries.c.status, retries.c.cause, retries.c.started)
        query = select(*columns).select_from(retries.join(urls, self._of_url(retries)))
        query = query.where(retries.c.crawl == self._crawl).order_by(retries.c.id.desc())
        return self._connection.execute(query.limit(limit)).all()

    # Pages one by one.

    def find_urls(self, wanted: "UrlFilter", limit: int) -> Rows:
        """URLs that a filter chooses, in the order in which they were found."""
        is_next = (urls.c.seq == wanted.after) & (urls.c.digest > wanted.after_digest)
        condition = self._all_urls & ((urls.c.seq > wanted.after) | is_next)
        if wanted.state:
            condition &= urls.c.state == wanted.state
        if wanted.host:
            condition &= urls.c.host == wanted.host
        if wanted.text:
            condition &= urls.c.url.contains(wanted.text, autoescape=True)
        if wanted.reason:
            condition &= urls.c.reason == wanted.reason
        query = select(urls, pages.c.title, pages.c.bytes, pages.c.seconds)
        query = query.select_from(urls.outerjoin(pages, self._of_url(pages))).where(condition)
        return self._connection.execute(
            query.order_by(urls.c.seq, urls.c.digest).limit(limit)
        ).all()

    def url_row(self, host: str, digest: str) -> Any:
        """What is known of one URL and of its last answer; None if the crawl does not know it."""
        is_it = (urls.c.crawl == self._crawl) & (urls.c.digest == digest)
        if self._is_keyed_by_host:
            is_it &= urls.c.host == host
        answer = [column for column in pages.c if column.name not in urls.c]
        query = select(urls, *answer).select_from(urls.outerjoin(pages, self._of_url(pages)))
        return self._connection.execute(query.where(is_it)).first()

    def url_retries(self, row: Any, limit: int) -> Rows:
        """The earlier requests of a URL, the first first."""
        is_it = (retries.c.crawl == self._crawl) & (retries.c.digest == row.digest)
        query = select(retries).where(is_it).order_by(retries.c.id)
        return self._connection.execute(query.limit(limit)).all()

    def found_on(self, url: str, limit: int) -> Rows:
        """URLs that were found on a page first."""
        query = select(urls).where(self._all_urls & (urls.c.found_in == url))
        return self._connection.execute(query.order_by(urls.c.seq).limit(limit)).all()

    # Lists, up to a limit.

    def newest(self, limit: int) -> Rows:
        """Pages that were answered and are no redirects, the latest request first."""
        return self._fetched(pages.c.started.desc(), limit)

    def fetched(self, limit: int) -> Rows:
        """Pages that were answered and are no redirects, in the order of their requests."""
        return self._fetched(pages.c.started, limit)

    def slowest(self, limit: int) -> Rows:
        """Of the same, those that took longest."""
        return self._fetched(pages.c.seconds.desc(), limit)

    def _fetched(self, order: "ColumnElement[Any]", limit: int) -> Rows:
        columns = (urls.c.url, pages.c.status, pages.c.title, pages.c.type)
        query = select(*columns, pages.c.bytes, pages.c.seconds)
        query = query.select_from(pages.join(urls, self._of_url(pages))).where(
            self._of_crawl(pages),
            urls.c.kind == "page",
            urls.c.state == "done",
            urls.c.reason != REDIRECT,
        )
        return self._connection.execute(query.order_by(order, urls.c.seq).limit(limit)).all()

    @property
    def _blocked_pages(self) -> "ColumnElement[bool]":
        return self._page_urls & (urls.c.state == "blocked")

    def blocked_reasons(self, limit: int) -> Rows:
        """Blocked pages by `reason`, the most frequent first."""
        number = func.count().label("number")
        query = select(urls.c.reason, number).where(self._blocked_pages).group_by(urls.c.reason)
        query = query.order_by(number.desc(), urls.c.reason)
        return self._connection.execute(query.limit(limit)).all()

    def blocked_urls(self, reason: str, limit: int) -> Rows:
        """The pages that are blocked for a reason, in the order in which they were found."""
        query = select(urls.c.url, urls.c.rule, urls.c.line, urls.c.found_in, urls.c.depth)
        query = query.where(self._blocked_pages & (urls.c.reason == reason))
        query = query.order_by(urls.c.seq, urls.c.digest)
        return self._connection.execute(query.limit(limit)).all()

    def broken(self, limit: int) -> tuple[int, Rows]:
        """Pages that failed or were answered with an error: how many, and the first of them."""
        is_error = (urls.c.state == "done") & (urls.c.status >= 400)
        condition = self._page_urls & ((urls.c.state == "failed") | is_error)
        columns = (urls.c.url, urls.c.reason, urls.c.status, urls.c.attempts)
        query = select(*columns, urls.c.source, urls.c.found_in).where(condition)
        rows = self._connection.execute(query.order_by(urls.c.seq).limit(limit)).all()
        return self._count(condition), rows

    def sitemaps(self, limit: int) -> tuple[int, Rows]:
        """Sitemaps that were requested: how many, and the first; those with problems come first."""
        condition = self._all_urls & (urls.c.kind == "sitemap") & (urls.c.state != "queued")
        query = select(
            *(urls.c.url, urls.c.found_in, urls.c.state, urls.c.reason, urls.c.status),
            *(pages.c.type, pages.c.links, pages.c.problems),
        ).select_from(urls.outerjoin(pages, self._of_url(pages)))
        rank = case((pages.c.problems != "[]", 0), (urls.c.state != "done", 1), else_=2)
        query = query.where(condition).order_by(rank, urls.c.seq)
        return self._count(condition), self._connection.execute(query.limit(limit)).all()
