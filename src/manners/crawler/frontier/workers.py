"""The workers of a crawl in its store: who lives, and closing those who do not."""

from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, case, func, select, update

from manners.crawler.frontier.queries import Queries
from manners.crawler.frontier.tables import hosts, workers
from manners.evidence.strands import SHARED, close_strand, end_session, lock_strand


def server_time(connection: Connection) -> float:
    """The time, by the clock of a server."""
    query = "SELECT extract(epoch FROM clock_timestamp())::float8"
    return float(connection.exec_driver_sql(query).scalar_one())


def unended(connection: Connection, crawl: int, worker: int) -> Sequence[Any]:
    """The other workers of a crawl that have not ended; the lease of some may be over."""
    is_other = (workers.c.crawl == crawl) & (workers.c.id != worker) & workers.c.ended.is_(None)
    return connection.execute(select(workers).where(is_other).order_by(workers.c.id)).all()


def living(connection: Connection, crawl: int, worker: int, now: float) -> Sequence[Any]:
    """Those of them that live, as far as anybody can know."""
    return [row for row in unended(connection, crawl, worker) if row.until > now]


def close_late(
    connection: Connection,
    crawl: int,
    worker: int,
    now: float,
    *,
    lease: float,
    is_alone: bool = False,
) -> list[int]:
    """Close the other workers whose lease is over; all of them, if a lock says that none lives.

    Returns which.
    """
    is_late = workers.c.ended.is_(None) & (workers.c.id != worker)
    if not is_alone:
        is_late &= workers.c.until < now
    query = select(workers).where((workers.c.crawl == crawl) & is_late)
    query = query.order_by(workers.c.id).with_for_update(skip_locked=True)
    closed = []
    for row in connection.execute(query).all():
        if row.strand != SHARED:
            # One that was stopped in the middle of a transaction is closed when that has ended:
            # nobody waits for it, but if it takes long, it is ended.
            if not lock_strand(connection, row.strand):
                if now - row.seen > 2 * lease:
                    end_session(connection, row.strand)
                continue
            close_strand(connection, row.strand)
        end(connection, crawl, row.id, f"closed: not heard of for {now - row.seen:.0f} s", now)
        closed.append(row.id)
    if closed:  # one of them may have added URLs, and not said so
        Queries(connection, crawl).wake_all(now)
    return closed


def end(connection: Connection, crawl: int, worker: int, reason: str, now: float) -> None:
    """Write why a worker ended, and hand back what it has.

    Pages that it was granted and has not fetched are free. So are its hosts, each as if it had been
    asked just now.
    """
    spent = Queries(connection, crawl).counted(worker)["page", "attempts"]
    own = update(workers).where(workers.c.id == worker)
    connection.execute(own.values(ended=reason, granted=spent, is_adding=False))
    asked = now + func.coalesce(hosts.c.delay, 0.0)
    at = case((hosts.c.not_before > asked, hosts.c.not_before), else_=asked)
    owned = update(hosts).where(hosts.c.owner == worker)
    connection.execute(owned.values(owner=None, not_before=at, ready=at))
