"""Queries of evidence, for a connection that is open."""

from typing import Any

from sqlalchemy import Connection, select

from manners._text import to_bytes
from manners.evidence.chain import Head
from manners.evidence.tables import evidence, head, snapshots


def chain_head(connection: Connection) -> Head | None:
    """Where the chain ends; None if that was removed."""
    row = connection.execute(select(head.c.number, head.c.hash).where(head.c.one == 1)).first()
    return Head(row.number, row.hash) if row else None


def snapshot_body(connection: Connection, sha256: str) -> bytes | None:
    """A robots.txt as it was received; None if it was pruned."""
    query = select(snapshots.c.body).where(snapshots.c.sha256 == sha256)
    body = connection.execute(query).scalar()
    return None if body is None else body_bytes(body)


def body_bytes(body: Any) -> bytes:
    """The bytes of a stored body; SQLite returns text if text was put there."""
    return to_bytes(body) if isinstance(body, str) else bytes(body)


def last_content(connection: Connection, host: str) -> str | None:
    """The content of the last record about a host, as JSON."""
    query = select(evidence.c.content).where(evidence.c.host == host)
    text: str | None = connection.execute(query.order_by(evidence.c.at.desc()).limit(1)).scalar()
    return text
