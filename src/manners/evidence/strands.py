"""Strands: chains of one store, one for each worker, so that nobody waits for another's.

Strand 1 is the chain of everybody who has none of his own, and the only one of most stores. Any
other belongs to one worker. Closing it is what keeps that worker out: each of its transactions
begins with its strand, and fails when that is closed. So a worker that was stopped for a minute,
and closed by another meanwhile, writes nothing more; and what it cannot write, it may not request.

    number of a record = (strand - 1) * 2**34 + its place in the strand

All numbers are below 2**53, as canonical JSON needs them: half a million strands of 17 billion
records each.
"""

from sqlalchemy import Connection, func, insert, select, update

from manners.evidence.chain import GENESIS
from manners.evidence.tables import head

SHARED = 1
"""The strand of everybody who has none of his own."""
SPAN = 2**34
"""Numbers of records in a strand."""
_LOCK = 6_385_201_148
"""An advisory lock of PostgreSQL: strands are added one at a time."""


def strand_of(number: int) -> int:
    """The strand of a record, or of a head.

    >>> strand_of(1), strand_of(2**34), strand_of(2**34 + 1)
    (1, 1, 2)
    """
    return max(number - 1, 0) // SPAN + 1


def before_first(strand: int) -> int:
    """The number before the first record of a strand.

    >>> before_first(1), before_first(2) == 2**34
    (0, True)
    """
    return (strand - 1) * SPAN


def add_strand(connection: Connection) -> int:
    """Add a strand; returns its number."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
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
