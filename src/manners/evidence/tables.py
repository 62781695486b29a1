"""Tables of evidence: records, robots.txt snapshots, the head of the chain, checkpoints."""

from sqlalchemy import (
    Boolean,
    Column,
    Index,
    Integer,
    LargeBinary,
    SmallInteger,
    String,
    Table,
    Text,
    false,
)

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

# Where each strand ends. Whoever appends locks its row first. Strand 1 is for everybody; any other
# belongs to one worker, and nothing follows when it is closed.
head = Table(
    "evidence_head",
    tables,
    Column(
        "one", Integer().with_variant(SmallInteger, "sqlite"), primary_key=True, autoincrement=False
    ),  # the strand
    Column("number", Number, nullable=False),
    Column("hash", String(64), nullable=False),
    Column("closed", Boolean, nullable=False, server_default=false()),
    Column(
        "batch", Number, nullable=False, server_default="0"
    ),  # the last transaction of its owner; of strand 1: how often the store was pruned
)

# What ties the strands together: where each of them ended at a time. A chain of its own.
anchors = Table(
    "evidence_anchors",
    tables,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("at", Number, nullable=False),  # milliseconds since the epoch
    Column("heads", Text, nullable=False),  # canonical JSON
    Column("hash", String(64), nullable=False),
)

# Where pruned records ended: each strand continues from the latest of these, and the number says
# which strand. A negative number is that of an anchor, up to which anchors were pruned.
checkpoints = Table(
    "evidence_checkpoints",
    tables,
    Column("number", Number, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),
    Column("at", Number, nullable=False),  # when it was pruned
)
