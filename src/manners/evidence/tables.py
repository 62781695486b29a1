"""Tables of evidence: records, robots.txt snapshots, the head of the chain, checkpoints."""

from sqlalchemy import Column, Index, LargeBinary, SmallInteger, String, Table, Text

from manners.store.schema import Number, tables

evidence = Table(
    "evidence",
    tables,
    Column("id", Number, primary_key=True, autoincrement=False),
    Column("type", String(32), nullable=False),
    Column("host", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("at", Number, nullable=False),  # milliseconds since the epoch
    Column("snapshot", String(64)),
    Column("content", Text, nullable=False),  # canonical JSON, like the next
    Column("metadata", Text, nullable=False),
    Column("hash", String(64), nullable=False),
    Index("evidence_by_host", "host", "at"),
)

snapshots = Table(
    "snapshots",
    tables,
    Column("sha256", String(64), primary_key=True),
    Column("body", LargeBinary, nullable=False),
)

# One row: where the chain ends. Whoever appends locks it first.
head = Table(
    "evidence_head",
    tables,
    Column("one", SmallInteger, primary_key=True, autoincrement=False),
    Column("number", Number, nullable=False),
    Column("hash", String(64), nullable=False),
)

# Where pruned records ended: the chain continues from the latest of these.
checkpoints = Table(
    "evidence_checkpoints",
    tables,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),
    Column("at", Number, nullable=False),  # when it was pruned
)
