"""Anchors in a store: about once a second, somebody writes down where all strands end.

    with store.writing() as connection:
        anchors.append(connection, time.time())

Nobody waits for it, and it waits for nobody: the heads are read as they are, without locks. A store
with one chain has no anchors.
"""

from collections.abc import Iterator

from sqlalchemy import Connection, func, insert, or_, select

from manners.evidence.anchoring import Anchor, Ends, anchor_hash, is_head
from manners.evidence.chain import GENESIS, AnchorHead, Head
from manners.evidence.numbering import SHARED
from manners.evidence.tables import anchors, head

_LOCK = 6_385_201_149
"""An advisory lock of PostgreSQL: anchors are added one at a time."""
_MAX_NUMBER = 2**53
_AT_A_TIME = 200


def append(
    connection: Connection, now: float, *, wait: bool = False, every: float = 0.0
) -> Anchor | None:
    """Append an anchor if a strand was added, moved or closed since the last; else None.

    With `every`, only if the last one is so many seconds old.

    One process does this at a time. Another one that is about to is left to do it, and the answer
    is None; with `wait`, this one comes next. The transaction is the caller's to commit, and is
    READ COMMITTED in PostgreSQL, as is the default.
    """
    if connection.dialect.name == "postgresql":
        function = "pg_advisory_xact_lock" if wait else "pg_try_advisory_xact_lock"
        found = connection.exec_driver_sql(f"SELECT {function}({_LOCK})").scalar()
        if not wait and not found:
            return None
    last = last_anchor(connection)
    if last is None and (connection.execute(select(func.max(head.c.one))).scalar() or 1) == SHARED:
        return None
    if last is not None and every and 0 <= now - last.at / 1000 < every:
        return None
    before = _ends_of(last)
    ends = _ends(connection, before)
    number = last.number + 1 if last else 1
    if ends == before or number >= _MAX_NUMBER:
        return None
    # The last anchor may have been tampered with. `verify` finds that; the crawl goes on.
    previous, at, text = last.hash if last else GENESIS, int(now * 1000), ends.to_text()
    try:
        digest = anchor_hash(previous, number, at, text)
    except (TypeError, ValueError):
        digest = anchor_hash(GENESIS, number, at, text)
    anchor = Anchor(number, at, text, digest)
    connection.execute(insert(anchors).values(anchor._asdict()))
    return anchor


def last_anchor(connection: Connection) -> Anchor | None:
    """The last anchor."""
    row = connection.execute(select(anchors).order_by(anchors.c.number.desc()).limit(1)).first()
    return Anchor(*row) if row else None


def stored(connection: Connection) -> Iterator[Anchor]:
    """All anchors, in their order, read a few at a time: other queries may come between."""
    last = None
    while True:
        query = select(anchors).order_by(anchors.c.number).limit(_AT_A_TIME)
        if last is not None:
            query = query.where(anchors.c.number > last)
        rows = connection.execute(query).all()
        for row in rows:
            yield Anchor(*row)
        if len(rows) < _AT_A_TIME:
            return
        last = rows[-1].number


def end_of(connection: Connection) -> AnchorHead:
    """The end of the chain of anchors."""
    last = last_anchor(connection)
    return last.head if last else AnchorHead()


_NOTHING = Ends({}, {}, 0)


def _ends_of(last: Anchor | None) -> Ends:
    """What the last anchor says; nothing if it was tampered with, so that all is said again."""
    try:
        return last.ends._replace(closed={}) if last else _NOTHING
    except ValueError:
        return _NOTHING


def _ends(connection: Connection, before: Ends) -> Ends:
    """Where the strands end now: those that are open, and those closed since the last anchor."""
    known = head.c.one.in_(list(before.open)) if before.open else head.c.one < 0
    query = select(head.c.one, head.c.number, head.c.hash, head.c.closed)
    query = query.where(or_(~head.c.closed, head.c.one > before.strands, known))
    opened: dict[int, Head] = {}
    closed: dict[int, Head] = {}
    for row in connection.execute(query):
        found = Head(row.number, row.hash)
        if is_head(row.one, found):  # else it was tampered with, which `verify` finds
            (closed if row.closed else opened)[row.one] = found
    strands = max([before.strands, *opened, *closed])
    return Ends(opened, closed, strands)
