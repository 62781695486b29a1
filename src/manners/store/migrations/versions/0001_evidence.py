"""Records, their robots.txt files, the head of the chain, and where it was pruned."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the first tables."""
    op.create_table(
        "evidence",
        sa.Column("id", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("type", sa.String(32), nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("agent", sa.Text, nullable=False),
        sa.Column("at", _NUMBER, nullable=False),
        sa.Column("snapshot", sa.String(64)),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("metadata", sa.Text, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.create_index("evidence_by_host", "evidence", ["host", "at"])
    op.create_table(
        "snapshots",
        sa.Column("sha256", sa.String(64), primary_key=True),
        sa.Column("body", sa.LargeBinary, nullable=False),
    )
    head = op.create_table(
        "evidence_head",
        sa.Column("one", sa.SmallInteger, primary_key=True, autoincrement=False),
        sa.Column("number", _NUMBER, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )
    op.bulk_insert(head, [{"one": 1, "number": 0, "hash": "0" * 64}])
    op.create_table(
        "evidence_checkpoints",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("hash", sa.String(64), nullable=False),
        sa.Column("at", _NUMBER, nullable=False),
    )
