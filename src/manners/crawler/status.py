"""How a crawl stands, or how it ended, as its store has it."""

from datetime import UTC, datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, Connection, distinct, func, select

from manners.errors import StoreError
from manners.evidence.database import InUse
from manners.evidence.schema import crawls, pages, urls
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
    start: str
    began: str
    ended: str
    """Why; or that it runs, or was killed."""
    seconds: float
    """Of running."""
    states: dict[str, int]
    """Pages in each state."""
    statuses: dict[str, int]
    """Pages that were answered, by status; those without an answer by what went wrong."""
    sitemaps: int
    """Sitemaps that were read."""
    blocked: list[Blocked]
    """The most frequent reasons."""
    hosts: int
    bytes: int

    @property
    def fetched(self) -> int:
        """Pages that were answered, those that are elsewhere not counted."""
        return self.states.get("done", 0) - self.statuses.get("redirect", 0)

    @property
    def left(self) -> int:
        """Pages that are still to be asked for."""
        return self.states.get("queued", 0) + self.states.get("leased", 0)

    def to_dict(self) -> dict[str, Any]:
        """The status as plain values, ready for JSON."""
        return {**self._asdict(), "blocked": [each._asdict() for each in self.blocked]}


def status_of(store: EvidenceStore, crawl: int | None = None, most: int = 20) -> Status:
    """How a crawl stands; without a number, the last one of a store."""
    with store.reading() as connection:
        mine = crawls.c.command == "crawl"
        number = int(connection.execute(select(func.count()).where(mine)).scalar_one())
        query = select(crawls).where(mine if crawl is None else mine & (crawls.c.id == crawl))
        row = connection.execute(query.order_by(crawls.c.id.desc()).limit(1)).first()
        if row is None:
            which = "no crawl" if crawl is None else f"no crawl {crawl}"
            raise StoreError(store.place, f"there is {which} in it")
        states, statuses, blocked, sitemaps, hosts, size = _counted(connection, row.id, most)
    return Status(
        row.id,
        number,
        row.start,
        datetime.fromtimestamp(row.at / 1000, UTC).isoformat(timespec="seconds"),
        row.ended or _going_on(store, row.id),
        row.seconds,
        states,
        statuses,
        sitemaps,
        blocked,
        hosts,
        size,
    )


def _going_on(store: EvidenceStore, crawl: int) -> str:
    """What there is to say of a crawl that has no end."""
    try:
        with store.alone("crawl", crawl), store.reading() as connection:
            query = select(crawls.c.ended).where(crawls.c.id == crawl)
            return connection.execute(query).scalar() or KILLED  # or it has ended just now
    except InUse:
        return RUNNING
    except StoreError:  # where nothing can be written, nobody is at work
        return KILLED


def of_crawl(connection: Connection, column: "ColumnElement[int]", crawl: int) -> Any:
    """The condition for the rows of a crawl, where most of a table is wanted.

    By its index SQLite would look them up one by one, in no order, which takes several times as
    long as to read the table from its beginning to its end. An expression has no index.
    """
    return (column + 0 if connection.dialect.name == "sqlite" else column) == crawl


def _counted(connection: Connection, crawl: int, most: int) -> tuple[Any, ...]:
    every = of_crawl(connection, urls.c.crawl, crawl)
    mine = every & (urls.c.kind == "page")
    count = func.count()
    by_state = select(urls.c.state, count).where(mine).group_by(urls.c.state)
    states = {row[0]: row[1] for row in connection.execute(by_state)}
    said = select(urls.c.status, urls.c.state, urls.c.reason, count)
    said = said.where(mine & urls.c.state.in_(("done", "failed")))
    statuses: dict[str, int] = {}
    for status, _, reason, number in connection.execute(
        said.group_by(urls.c.status, urls.c.state, urls.c.reason)
    ):
        name = "redirect" if reason == "redirect" else str(status) if status else reason
        statuses[name] = statuses.get(name, 0) + number
    why = (urls.c.reason, urls.c.rule, urls.c.line)
    reasons = select(*why, count).where(mine & (urls.c.state == "blocked")).group_by(*why)
    rows = connection.execute(reasons.order_by(count.desc(), *why).limit(most))
    sitemaps = select(count).where(every & (urls.c.kind == "sitemap"))
    read = sitemaps.where(urls.c.status == 200)
    asked = select(func.count(distinct(urls.c.host)), func.sum(pages.c.bytes))
    joined = (urls.c.crawl == pages.c.crawl) & (urls.c.digest == pages.c.digest)
    hosts, size = connection.execute(
        asked.select_from(pages.join(urls, joined)).where(
            of_crawl(connection, pages.c.crawl, crawl)
        )
    ).one()
    return (
        states,
        dict(sorted(statuses.items(), key=lambda each: (-each[1], each[0]))),
        [Blocked(*row) for row in rows],
        int(connection.execute(read).scalar_one()),
        int(hosts or 0),
        int(size or 0),
    )
