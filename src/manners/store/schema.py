"""What all tables share. Each package defines the tables it writes, in its own `tables.py`.

How older stores become these is in `migrations/versions/`.
"""

from sqlalchemy import BigInteger, Integer, MetaData

VERSION = "0004"
"""The latest migration: what this package reads and writes."""
VERSIONS_TABLE = "manners_version"
TABLES = frozenset(
    {
        *("evidence", "snapshots", "evidence_head", "evidence_checkpoints", "evidence_anchors"),
        *("crawls", "urls", "pages", "retries", "hosts", "workers", "counts", "forms"),
    }
)
"""Names of all tables. A database with one of them and no version is another program's."""

tables = MetaData()

Number = BigInteger().with_variant(Integer, "sqlite")
"""A 64-bit number; SQLite uses only INTEGER as the row id."""
