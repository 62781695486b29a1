"""The tables of a store. What they look like in older stores is the migrations' business."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    String,
    Table,
    Text,
)

VERSION = "0002"
"""The latest migration: what this package reads and writes."""
VERSIONS_TABLE = "manners_version"

tables = MetaData()

# SQLite counts only INTEGER as the row's own number.
_Number = BigInteger().with_variant(Integer, "sqlite")

evidence = Table(
    "evidence",
    tables,
    Column("id", _Number, primary_key=True, autoincrement=False),
    Column("type", String(32), nullable=False),
    Column("host", Text, nullable=False),
    Column("agent", Text, nullable=False),
    Column("at", _Number, nullable=False),  # milliseconds since the epoch
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
    Column("number", _Number, nullable=False),
    Column("hash", String(64), nullable=False),
)

# Where pruned records ended: the chain goes on from the latest of these.
checkpoints = Table(
    "evidence_checkpoints",
    tables,
    Column("number", _Number, primary_key=True, autoincrement=False),
    Column("hash", String(64), nullable=False),
    Column("at", _Number, nullable=False),  # when it was pruned
)

# A crawl, or a discovery: what began it, and when.
crawls = Table(
    "crawls",
    tables,
    Column("id", _Number, primary_key=True),
    Column("start", Text, nullable=False),
    Column("at", _Number, nullable=False),  # milliseconds since the epoch
)

# What it found; what has a reason is not to be fetched.
urls = Table(
    "urls",
    tables,
    Column("crawl", _Number, primary_key=True, autoincrement=False),
    Column("digest", String(32), primary_key=True),  # of the URL, which may be too long for a key
    Column("url", Text, nullable=False),
    Column("host", Text, nullable=False),
    Column("source", String(16), nullable=False),
    Column("found_in", Text, nullable=False),
    Column("depth", Integer, nullable=False),
    Column("priority", Float, nullable=False),
    Column("lastmod", Text),
    Column("reason", Text, nullable=False),
    Column("rule", Text, nullable=False),
    Column("line", Integer, nullable=False),
)
