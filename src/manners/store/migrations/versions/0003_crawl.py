"""What a crawl has fetched, what is still to fetch, and the pace of each host."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")


def _counted(name: str, kind: "sa.types.TypeEngine[int] | sa.types.TypeEngine[float]") -> None:
    op.add_column("urls", sa.Column(name, kind, nullable=False, server_default="0"))


def upgrade() -> None:
    """Give crawls and URLs a state, and create the tables of pages, retries and hosts."""
    for name, length, default in (("command", 16, "discover"), ("settings", None, "{}")):
        text = sa.Text() if length is None else sa.String(length)
        op.add_column("crawls", sa.Column(name, text, nullable=False, server_default=default))
    running = sa.Column("seconds", sa.Float, nullable=False, server_default="0")
    op.add_column("crawls", running)
    op.add_column("crawls", sa.Column("ended", sa.Text))
    for name, default in (("kind", "page"), ("state", "queued")):
        column = sa.Column(name, sa.String(8), nullable=False, server_default=default)
        op.add_column("urls", column)
    op.add_column("urls", sa.Column("status", sa.Integer))
    _counted("attempts", sa.Integer())
    _counted("hops", sa.Integer())
    _counted("not_before", sa.Float())
    _counted("seq", _NUMBER)
    op.add_column("urls", sa.Column("evidence", _NUMBER))
    op.execute("UPDATE urls SET state = 'blocked' WHERE reason <> ''")
    queued = sa.text("state = 'queued'")
    op.create_index(
        "urls_queued",
        "urls",
        ["crawl", "host", sa.text("priority DESC"), "depth", "seq"],
        sqlite_where=queued,
        postgresql_where=queued,
    )
    _create_tables()


def _create_tables() -> None:
    op.create_table(
        "pages",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.String(32), primary_key=True),
        sa.Column("status", sa.Integer),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("type", sa.Text, nullable=False),
        sa.Column("bytes", _NUMBER, nullable=False),
        sa.Column("sha256", sa.String(64), nullable=False),
        sa.Column("title", sa.Text, nullable=False),
        sa.Column("links", sa.Integer, nullable=False),
        sa.Column("location", sa.Text, nullable=False),
        sa.Column("started", sa.Float, nullable=False),
        sa.Column("waited", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("delay", sa.Float, nullable=False),
        sa.Column("targets", sa.LargeBinary),
        sa.Column("problems", sa.Text, nullable=False, server_default="[]"),
    )
    op.create_table(
        "retries",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("crawl", _NUMBER, nullable=False),
        sa.Column("digest", sa.String(32), nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("cause", sa.Text, nullable=False),
        sa.Column("bytes", _NUMBER, nullable=False),
        sa.Column("started", sa.Float, nullable=False),
        sa.Column("waited", sa.Float, nullable=False),
        sa.Column("seconds", sa.Float, nullable=False),
        sa.Column("delay", sa.Float, nullable=False),
    )
    op.create_table(
        "hosts",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("host", sa.String(255), primary_key=True),
        sa.Column("delay", sa.Float, nullable=False),
        sa.Column("not_before", sa.Float, nullable=False),
    )
