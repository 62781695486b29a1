"""How a crawl stands, or how it ended, as its store has it."""

from collections import Counter
from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, distinct, func, select, union_all

from manners.crawler.frontier import REDIRECT
from manners.errors import StoreError
from manners.evidence.schema import crawls, pages, retries, urls
from manners.evidence.store import EvidenceStore

RUNNING, KILLED = "running", "stopped without an end"


class Blocked(NamedTuple):
    """Pages that are not asked for, for the same reason."""

    reason: str
    rule: str
    line: int
    number: int


class Status(NamedTuple):
    """How a crawl stands."""

    crawl: int
    crawls: int
    """How many there are in the store."""
    latest: int
    """The number of the last one."""
    start: str
    began: str
    ended: str
    """Why; or that it runs, or was killed."""
    seconds: float
    """Of running."""
    states: dict[str, int]
    """Pages in each state."""
    statuses: dict[str, int]
    """Pages that were answered, by status."""
    redirects: int
    """Pages that are elsewhere; they are not among the statuses."""
    failures: dict[str, int]
    """Pages that have failed, by what went wrong."""
    retries: dict[str, int]
    """Requests after which a page was to be asked for again, by status or by what went wrong."""
    sitemaps: int
    """Sitemaps that were read."""
    unread: int
    """Sitemaps that are still to be read."""
    lost: int
    """Sitemaps that could not be had."""
    undecided: int
    """Pages and sitemaps whose robots.txt could not be reached: a resume tries them again."""
    blocked: list[Blocked]
    """The most frequent reasons."""
    reasons: int
    """How many there are."""
    hosts: int
    bytes: int

    @property
    def fetched(self) -> int:
        """Pages that were answered, those that are elsewhere not counted."""
        return self.states.get("done", 0) - self.redirects

    @property
    def left(self) -> int:
        """Pages that are still to be asked for."""
        return self.states.get("queued", 0) + self.states.get("leased", 0)

    @property
    def resumable(self) -> bool:
        """Whether a resume would find something to ask for."""
        is_unbegun = not self.states and self.ended == KILLED
        return bool(self.left or self.unread or self.undecided or is_unbegun)

    def to_dict(self) -> dict[str, Any]:
        """The status as plain values, ready for JSON."""
        return {
            **self._asdict(),
            "blocked": [each._asdict() for each in self.blocked],
            "fetched": self.fetched,
            "left": self.left,
            "resumable": self.resumable,
        }


class Listed(NamedTuple):
    """One crawl of a store, in a list of all of them."""

    crawl: int
    start: str
    began: str
    ended: str
    """Why; or that it runs, or was killed."""
    seconds: float
    """Of running."""
    fetched: int
    failed: int
    blocked: int
    left: int
    """Pages that are still to be asked for."""
    unread: int
    """Sitemaps that are still to be read."""


def crawls_of(store: EvidenceStore) -> list[Listed]:
    """All crawls of a store, the oldest first."""
    need_crawls(store)
    counted: dict[int, Counter[str]] = {}
    with store.reading() as connection:
        mine = select(crawls).where(crawls.c.command == "crawl").order_by(crawls.c.id)
        rows = connection.execute(mine).all()
        is_redirect = urls.c.reason == REDIRECT
        by = (urls.c.crawl, urls.c.kind, urls.c.state, is_redirect)
        for crawl, kind, state, redirected, number in connection.execute(
            select(*by, func.count()).group_by(*by)
        ):
            name = "left" if state in ("queued", "leased") else state
            if kind != "page" or (state == "done" and redirected):
                name = "unread" if name == "left" else "other"
            counted.setdefault(crawl, Counter())[name] += number
    return [
        Listed(
            crawl=row.id,
            start=row.start,
            began=_time(row.at),
            ended=row.ended or _going_on(store, row.id),
            seconds=row.seconds,
            fetched=found["done"],
            failed=found["failed"],
            blocked=found["blocked"],
            left=found["left"],
            unread=found["unread"],
        )
        for row in rows
        for found in (counted.get(row.id, Counter[str]()),)
    ]


def _time(milliseconds: int) -> str:
    return datetime.fromtimestamp(milliseconds / 1000, UTC).isoformat(timespec="seconds")


def status_of(store: EvidenceStore, crawl: int | None = None, most: int = 20) -> Status:
    """How a crawl stands; without a number, the last one of a store."""
    need_crawls(store)
    with store.reading() as connection:
        mine = crawls.c.command == "crawl"
        counted_crawls = select(func.count(), func.max(crawls.c.id)).where(mine)
        number, latest = connection.execute(counted_crawls).one()
        query = select(crawls).where(mine if crawl is None else mine & (crawls.c.id == crawl))
        row = connection.execute(query.order_by(crawls.c.id.desc()).limit(1)).first()
        if row is None:
            which = "no crawl" if crawl is None else f"no crawl {crawl}"
            raise StoreError(store.place, f"there is {which} in it")
        counted = _counted(connection, row.id, most)
    return Status(
        crawl=row.id,
        crawls=number,
        latest=latest or 0,
        start=row.start,
        began=_time(row.at),
        ended=row.ended or _going_on(store, row.id),
        seconds=row.seconds,
        **counted,
    )


def need_crawls(store: EvidenceStore) -> None:
    """Say so where a store is of a version that had no crawls."""
    if not store.has_crawls:
        raise StoreError(store.place, "there is no crawl in it: a version without crawls made it")


def _going_on(store: EvidenceStore, crawl: int) -> str:
    """What there is to say of a crawl that has no end."""
    if store.is_locked("crawl", crawl):
        return RUNNING
    with store.reading() as connection:
        query = select(crawls.c.ended).where(crawls.c.id == crawl)
        return connection.execute(query).scalar() or KILLED  # or it has ended just now


def of_crawl(connection: Connection, column: "ColumnElement[int]", crawl: int) -> Any:
    """The condition for the rows of a crawl, where most of a table is wanted.

    By its index SQLite would look them up one by one, in no order, which takes several times as
    long as to read the table from its beginning to its end. An expression has no index.
    """
    return (column + 0 if connection.dialect.name == "sqlite" else column) == crawl


def _counted(connection: Connection, crawl: int, most: int) -> dict[str, Any]:
    every = of_crawl(connection, urls.c.crawl, crawl)
    mine = every & (urls.c.kind == "page")
    count = func.count()
    by_state = select(urls.c.kind, urls.c.state, count).where(every)
    states: dict[str, int] = {}
    unread = lost = 0
    for kind, state, number in connection.execute(by_state.group_by(urls.c.kind, urls.c.state)):
        if kind == "page":
            states[state] = number
        elif state in ("queued", "leased"):
            unread += number
        elif state == "failed":
            lost += number
    said = (urls.c.state, urls.c.status, urls.c.reason)
    answered = select(*said, count).where(mine & urls.c.state.in_(("done", "failed")))
    statuses, failures, redirects = Counter[str](), Counter[str](), 0
    for state, status, reason, number in connection.execute(answered.group_by(*said)):
        if state == "failed":
            failures[reason] += number
        elif reason == REDIRECT:
            redirects += number
        else:
            statuses[str(status)] += number
    why = (urls.c.reason, urls.c.rule, urls.c.line)
    out = select(*why, count).where(mine & (urls.c.state == "blocked")).group_by(*why)
    rows = connection.execute(out.order_by(count.desc(), *why).limit(most))
    away = every & (urls.c.state == "blocked") & (urls.c.reason == "unreachable")
    read = every & (urls.c.kind == "sitemap") & (urls.c.status == 200)
    hosts, size = _asked(connection, crawl)
    return {
        "states": states,
        "statuses": _most(statuses),
        "redirects": redirects,
        "failures": _most(failures),
        "retries": _most(_retries(connection, crawl)),
        "sitemaps": connection.execute(select(count).where(read)).scalar_one(),
        "unread": unread,
        "lost": lost,
        "undecided": connection.execute(select(count).where(away)).scalar_one(),
        "blocked": [Blocked(*row) for row in rows],
        "reasons": connection.execute(select(count).select_from(out.subquery())).scalar_one(),
        "hosts": hosts,
        "bytes": size,
    }


def _most(counted: "Counter[str]") -> dict[str, int]:
    return dict(sorted(counted.items(), key=lambda each: (-each[1], each[0])))


def _retries(connection: Connection, crawl: int) -> "Counter[str]":
    said = (retries.c.status, retries.c.cause)
    joined = (urls.c.crawl == retries.c.crawl) & (urls.c.digest == retries.c.digest)
    query = select(*said, func.count()).select_from(retries.join(urls, joined))
    query = query.where((retries.c.crawl == crawl) & (urls.c.kind == "page")).group_by(*said)
    found = Counter[str]()
    for status, cause, number in connection.execute(query):
        found[str(status or cause)] += number
    return found


def _asked(connection: Connection, crawl: int) -> tuple[int, int]:
    """How many hosts were asked, and how many bytes were read."""
    tables = (pages, retries)
    every = union_all(
        *(
            select(its.c.crawl, its.c.digest, its.c.bytes).where(
                of_crawl(connection, its.c.crawl, crawl)
            )
            for its in tables
        )
    ).subquery()
    joined = (urls.c.crawl == every.c.crawl) & (urls.c.digest == every.c.digest)
    query = select(func.count(distinct(urls.c.host)), func.sum(every.c.bytes))
    hosts, size = connection.execute(query.select_from(every.join(urls, joined))).one()
    return int(hosts), int(size or 0)
