"""Prunes a store: old records are deleted, and each chain continues from a checkpoint."""

from sqlalchemy import Connection, delete, func, insert, select, update

from manners.evidence import anchors
from manners.evidence.numbering import SHARED, strand_of
from manners.evidence.queries import first_records, strand_starts, within
from manners.evidence.strands import lock_additions
from manners.evidence.tables import anchors as anchors_table
from manners.evidence.tables import checkpoints, evidence, head, snapshots


def lock_all(connection: Connection) -> None:
    """Let nobody append before the end of the transaction, to any strand, nor add one."""
    lock_additions(connection)
    heads = select(head.c.one).order_by(head.c.one)
    connection.execute(heads.with_for_update()).all()


def prune(connection: Connection, before: int, now: int) -> int:
    """Delete the records of every strand from before a time, in milliseconds; returns how many.

    In each strand they are deleted from the beginning, up to the first that is not older. Nobody
    may append meanwhile: see `lock_all`.
    """
    removed = 0
    for strand in sorted({strand_of(first.id) for first in first_records(connection)}):
        removed += _prune_strand(connection, strand, before, now)
    if not removed:
        return 0
    # Whoever remembers which snapshots are stored looks at this: see `_StoredSnapshots`.
    times = update(head).where(head.c.one == SHARED).values(batch=head.c.batch + 1)
    connection.execute(times)
    _prune_anchors(connection, now)
    used = select(evidence.c.snapshot).where(evidence.c.snapshot.is_not(None))
    connection.execute(delete(snapshots).where(snapshots.c.sha256.not_in(used)))
    return removed


def _prune_strand(connection: Connection, strand: int, before: int, now: int) -> int:
    own = within(strand)
    young = select(func.min(evidence.c.id)).where(own, evidence.c.at >= before)
    first = connection.execute(young).scalar()
    old = select(func.max(evidence.c.id)).where(own)
    if first is not None:
        old = old.where(evidence.c.id < first)
    last = connection.execute(old).scalar()
    if last is None:
        return 0
    hashed = connection.execute(select(evidence.c.hash).where(evidence.c.id == last)).scalar_one()
    mark = {"number": last, "hash": hashed, "at": now}
    connection.execute(insert(checkpoints).values(mark))
    return connection.execute(delete(evidence).where(own, evidence.c.id <= last)).rowcount


def _prune_anchors(connection: Connection, now: int) -> None:
    """Delete the anchors that name only pruned records, from the beginning; leave a checkpoint.

    The last one stays: the next follows it, and it says how many strands there are.
    """
    starts, last, final = strand_starts(connection), None, anchors.end_of(connection)
    for anchor in anchors.stored(connection):
        if anchor.number == final.number:
            break
        try:
            named = list(anchor.ends.named())
        except ValueError:  # it was tampered with: it stays, for `verify` to find
            break
        if any(head.number > starts.of(strand).number for strand, head in named):
            break
        last = anchor.head
    if last is None or last.number <= starts.anchors.number:
        return
    mark = {"number": -last.number, "hash": last.hash, "at": now}
    connection.execute(insert(checkpoints).values(mark))
    connection.execute(delete(anchors_table).where(anchors_table.c.number <= last.number))
