"""What crawls and discoveries found, and what became of it."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def upgrade() -> None:
    """Create the tables of what was found."""
    op.create_table(
        "crawls",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("start", sa.Text, nullable=False),
        sa.Column("at", _NUMBER, nullable=False),
    )
    op.create_table(
        "urls",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.String(32), primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("found_in", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("priority", sa.Float, nullable=False),
        sa.Column("lastmod", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("line", sa.Integer, nullable=False),
    )
