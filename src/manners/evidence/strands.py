"""Strands: chains of one store, one for each worker, so that nobody waits for another's.

Strand 1 is the chain of everybody who has none of his own, and the only one of most stores. Any
other belongs to one worker. Closing it is what keeps that worker out: each of its transactions
begins with its strand, and fails when that is closed. So a worker that was stopped for a minute,
and closed by another meanwhile, writes nothing more; and what it cannot write, it may not request.

`numbering.py` says which numbers the records of a strand have.
"""

from sqlalchemy import Connection, func, insert, select, update

from manners.evidence.chain import GENESIS
from manners.evidence.numbering import SHARED, SPAN, before_first, strand_of
from manners.evidence.tables import head

__all__ = ["SHARED", "SPAN", "add_strand", "before_first", "close_strand", "strand_of"]

_LOCK = 6_385_201_148
"""An advisory lock of PostgreSQL: strands are added one at a time."""


def lock_additions(connection: Connection) -> None:
    """Let nobody add a strand before the end of the transaction."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")


def add_strand(connection: Connection) -> int:
    """Add a strand; returns its number."""
    lock_additions(connection)
    last = connection.execute(select(func.max(head.c.one))).scalar() or SHARED
    strand = int(last) + 1
    row = {"one": strand, "number": before_first(strand), "hash": GENESIS}
    connection.execute(insert(head).values(row))
    return strand


def close_strand(connection: Connection, strand: int) -> bool:
    """Let nothing follow in a strand; False where it was closed before.

    It waits for a transaction of its worker that is under way, and the next one fails.
    """
    is_open = (head.c.one == strand) & ~head.c.closed
    return bool(connection.execute(update(head).where(is_open).values(closed=True)).rowcount)


def lock_strand(connection: Connection, strand: int) -> bool:
    """Whether no transaction of its worker is under way; none begins until the end of this one."""
    query = select(head.c.one).where(head.c.one == strand).with_for_update(skip_locked=True)
    return connection.execute(query).first() is not None


def end_session(connection: Connection, strand: int) -> None:
    """End the session of PostgreSQL in which a transaction of a strand's worker is under way.

    The server ends one that waits for its client by itself, but not one that is in the middle of a
    batch: there it waits for the rest for ever, with all its locks.
    """
    connection.exec_driver_sql(
        "SELECT pg_terminate_backend(activity.pid) FROM evidence_head"
        " JOIN pg_locks ON transactionid = evidence_head.xmax AND granted"
        " JOIN pg_stat_activity AS activity ON activity.pid = pg_locks.pid"
        " WHERE one = %s AND mode = 'ExclusiveLock' AND usename = current_user",
        (strand,),
    )
