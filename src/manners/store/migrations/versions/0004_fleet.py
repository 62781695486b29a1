"""Crawls on several machines: workers, hosts that are owned, counts, and strands of evidence."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from operator import itemgetter

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_NUMBER = sa.BigInteger().with_variant(sa.Integer, "sqlite")
_AT_A_TIME = 1_000
_DIGEST = 16
"""Bytes of a digest."""


def upgrade() -> None:
    """Key what a crawl knows by host, and create the tables of a fleet."""
    if op.get_context().dialect.name == "postgresql":  # a large store takes its time
        op.execute("SET LOCAL statement_timeout TO 0")
    _upgrade_evidence()
    _upgrade_crawls()
    _create_workers()
    _key_by_host()
    _upgrade_hosts()
    _fill()


def _upgrade_evidence() -> None:
    false = sa.false()
    op.add_column(
        "evidence_head", sa.Column("closed", sa.Boolean, nullable=False, server_default=false)
    )
    op.add_column("evidence_head", sa.Column("batch", _NUMBER, nullable=False, server_default="0"))
    if op.get_context().dialect.name == "postgresql":
        op.alter_column("evidence_head", "one", type_=sa.Integer)
    op.create_table(
        "evidence_anchors",
        sa.Column("number", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("at", _NUMBER, nullable=False),
        sa.Column("heads", sa.Text, nullable=False),
        sa.Column("hash", sa.String(64), nullable=False),
    )


def _upgrade_crawls() -> None:
    op.add_column("crawls", sa.Column("seen", sa.Float, nullable=False, server_default="0"))
    op.add_column("crawls", sa.Column("joined", sa.Text, nullable=False, server_default="[]"))


def _create_workers() -> None:
    op.create_table(
        "workers",
        sa.Column("id", _NUMBER, primary_key=True),
        sa.Column("crawl", _NUMBER, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("version", sa.Text, nullable=False),
        sa.Column("strand", sa.Integer, nullable=False),
        sa.Column("began", sa.Float, nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("granted", _NUMBER, nullable=False, server_default="0"),
        sa.Column("is_adding", sa.Boolean, nullable=False, server_default=sa.false()),
        sa.Column("ended", sa.Text),
        # Every beat updates a row: there is room for the new version beside the old one.
        postgresql_with={"fillfactor": 50},
    )
    op.create_index("workers_by_crawl", "workers", ["crawl"])
    op.create_table(
        "counts",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("worker", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.String(8), primary_key=True),
        sa.Column("what", sa.String(16), primary_key=True),
        sa.Column("number", _NUMBER, nullable=False),
        postgresql_with={"fillfactor": 50},
    )
    op.create_table(
        "forms",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("form", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False),
    )


# What a crawl knows, by host.

_URLS = (
    *("crawl", "digest", "url", "host", "source", "found_in", "depth", "priority", "lastmod"),
    *("reason", "rule", "line", "kind", "state", "status", "attempts", "hops", "not_before"),
    *("seq", "evidence"),
)
_PAGES = (
    *("crawl", "digest", "status", "cause", "type", "bytes", "sha256", "title", "links"),
    *("location", "started", "waited", "seconds", "delay", "targets", "problems"),
)


def _key_by_host() -> None:
    connection = op.get_bind()
    if connection.dialect.name == "postgresql":
        # The old key is needed until the targets are known by host.
        op.add_column(
            "pages", sa.Column("host", sa.Text, nullable=False, server_default=sa.text("''"))
        )
        op.add_column(
            "retries", sa.Column("host", sa.Text, nullable=False, server_default=sa.text("''"))
        )
        for table in ("pages", "retries"):
            op.execute(
                f"UPDATE {table} SET host = urls.host FROM urls"  # noqa: S608
                f" WHERE urls.crawl = {table}.crawl AND urls.digest = {table}.digest"
            )
        _name_hosts_of_targets(connection)
        op.alter_column("pages", "host", server_default=None)
        for table in ("urls", "pages"):
            op.execute(
                f"ALTER TABLE {table} DROP CONSTRAINT {table}_pkey,"
                " ADD PRIMARY KEY (crawl, host, digest)"
            )
        return
    op.add_column(
        "retries", sa.Column("host", sa.Text, nullable=False, server_default=sa.text("''"))
    )
    op.execute(
        "UPDATE retries SET host = coalesce((SELECT host FROM urls"
        " WHERE urls.crawl = retries.crawl AND urls.digest = retries.digest), '')"
    )
    _name_hosts_of_targets(connection)
    op.drop_index("urls_queued", "urls")
    for table in ("urls", "pages"):
        op.rename_table(table, f"{table}_before")
    _create_urls()
    _create_pages()
    urls, pages = ", ".join(_URLS), ", ".join(_PAGES)
    op.execute(f"INSERT INTO urls ({urls}) SELECT {urls} FROM urls_before")  # noqa: S608
    columns = ", ".join(f"pages_before.{name}" for name in _PAGES)
    op.execute(
        f"INSERT INTO pages (host, {pages})"  # noqa: S608
        f" SELECT coalesce(urls_before.host, ''), {columns} FROM pages_before"
        " LEFT JOIN urls_before ON urls_before.crawl = pages_before.crawl"
        " AND urls_before.digest = pages_before.digest"
    )
    for table in ("urls", "pages"):
        op.drop_table(f"{table}_before")


def _create_urls() -> None:
    op.create_table(
        "urls",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("digest", sa.String(32), primary_key=True),
        sa.Column("url", sa.Text, nullable=False),
        sa.Column("source", sa.String(16), nullable=False),
        sa.Column("found_in", sa.Text, nullable=False),
        sa.Column("depth", sa.Integer, nullable=False),
        sa.Column("priority", sa.Float, nullable=False),
        sa.Column("lastmod", sa.Text),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("rule", sa.Text, nullable=False),
        sa.Column("line", sa.Integer, nullable=False),
        sa.Column("kind", sa.String(8), nullable=False, server_default="page"),
        sa.Column("state", sa.String(8), nullable=False, server_default="queued"),
        sa.Column("status", sa.Integer),
        sa.Column("attempts", sa.Integer, nullable=False, server_default="0"),
        sa.Column("hops", sa.Integer, nullable=False, server_default="0"),
        sa.Column("not_before", sa.Float, nullable=False, server_default="0"),
        sa.Column("seq", _NUMBER, nullable=False, server_default="0"),
        sa.Column("evidence", _NUMBER),
    )
    queued = sa.text("state = 'queued'")
    op.create_index(
        "urls_queued",
        "urls",
        ["crawl", "host", sa.text("priority DESC"), "depth", "seq"],
        sqlite_where=queued,
    )


def _create_pages() -> None:
    op.create_table(
        "pages",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("host", sa.Text, primary_key=True),
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


# Where a page leads to: digests before, digests by host now.

_URLS_BEFORE = sa.table(
    "urls", sa.column("crawl"), sa.column("digest"), sa.column("host"), sa.column("state")
)
_PAGES_BEFORE = sa.table("pages", sa.column("crawl"), sa.column("digest"), sa.column("targets"))


def _name_hosts_of_targets(connection: sa.Connection) -> None:
    """Write the hosts of what pages lead to."""
    pages = _PAGES_BEFORE.c
    last = (-1, "")
    query = sa.select(pages.crawl, pages.digest, pages.targets).where(pages.targets.is_not(None))
    query = query.order_by(pages.crawl, pages.digest).limit(_AT_A_TIME)
    while True:
        rows = connection.execute(
            query.where(sa.tuple_(pages.crawl, pages.digest) > sa.tuple_(*last))
        ).all()
        if not rows:
            return
        last = (rows[-1].crawl, rows[-1].digest)
        for row in rows:
            blob = _with_hosts(connection, row.crawl, bytes(row.targets))
            own = (pages.crawl == row.crawl) & (pages.digest == row.digest)
            connection.execute(sa.update(_PAGES_BEFORE).where(own).values(targets=blob))


def _with_hosts(connection: sa.Connection, crawl: int, blob: bytes) -> bytes:
    digests = [blob[place : place + _DIGEST].hex() for place in range(0, len(blob), _DIGEST)]
    found: list[tuple[str, str]] = []
    urls = _URLS_BEFORE.c
    for part in _parts(digests):
        query = sa.select(urls.host, urls.digest)
        query = query.where((urls.crawl == crawl) & urls.digest.in_(part))
        found += [(row.host, row.digest) for row in connection.execute(query)]
    parts: list[bytes] = []
    for host, rows in groupby(sorted(found), key=itemgetter(0)):
        own = bytes.fromhex("".join(digest for _, digest in rows))
        parts += [host.encode(), b"\n", len(own).to_bytes(4), own]
    return b"".join(parts)


def _parts(items: Sequence[str]) -> Iterator[Sequence[str]]:
    for place in range(0, len(items), _AT_A_TIME):
        yield items[place : place + _AT_A_TIME]


# Hosts, which are owned.


def _upgrade_hosts() -> None:
    op.rename_table("hosts", "hosts_before")
    op.create_table(
        "hosts",
        sa.Column("crawl", _NUMBER, primary_key=True, autoincrement=False),
        sa.Column("host", sa.Text, primary_key=True),
        sa.Column("delay", sa.Float),
        sa.Column("not_before", sa.Float, nullable=False, server_default="0"),
        sa.Column("owner", _NUMBER),
        sa.Column("epoch", sa.Integer, nullable=False, server_default="0"),
        sa.Column("ready", sa.Float),
        sa.Column("wanted", sa.Float),
        postgresql_with={"fillfactor": 80},
    )
    is_due = sa.text("owner IS NULL AND ready IS NOT NULL")
    op.create_index(
        "hosts_due", "hosts", ["crawl", "ready"], sqlite_where=is_due, postgresql_where=is_due
    )
    is_owned = sa.text("owner IS NOT NULL")
    op.create_index(
        "hosts_owned", "hosts", ["owner"], sqlite_where=is_owned, postgresql_where=is_owned
    )


def _fill() -> None:
    """Write what the new tables would have, had they been there."""
    op.execute("UPDATE urls SET state = 'queued' WHERE state = 'leased'")
    # A host was asked before if it has a pace.
    op.execute(
        "INSERT INTO hosts (crawl, host, delay, not_before, epoch, ready)"
        " SELECT known.crawl, known.host, hosts_before.delay,"
        " coalesce(hosts_before.not_before, 0), 1,"
        " (SELECT min(urls.not_before) FROM urls WHERE urls.crawl = known.crawl"
        " AND urls.host = known.host AND urls.state = 'queued')"
        " FROM (SELECT DISTINCT crawl, host FROM urls) AS known LEFT JOIN hosts_before"
        " ON hosts_before.crawl = known.crawl AND hosts_before.host = known.host"
    )
    op.drop_table("hosts_before")
    op.execute(
        "INSERT INTO counts (crawl, worker, kind, what, number)"
        " SELECT crawl, 0, kind, state, count(*) FROM urls GROUP BY crawl, kind, state"
    )
    never_queued = (
        "reason IN ('not-named', 'nofollow', 'other-host', 'too-many-redirects', 'depth')"
        " OR reason LIKE 'trap: %'"
    )
    is_blocked = f"state = 'blocked' AND ({never_queued})"
    is_dropped = "state = 'blocked' AND reason = 'no-room'"
    for what, condition in (
        ("refused", is_blocked),
        ("dropped", is_dropped),
        ("open", f"NOT ({is_blocked} OR {is_dropped})"),
    ):
        op.execute(
            "INSERT INTO counts (crawl, worker, kind, what, number)"  # noqa: S608
            f" SELECT crawl, 0, kind, '{what}', count(*) FROM urls"
            f" WHERE {condition} GROUP BY crawl, kind"
        )
    op.execute(
        "INSERT INTO counts (crawl, worker, kind, what, number)"
        " SELECT crawl, 0, kind, 'attempts', sum(attempts) FROM urls"
        " WHERE attempts > 0 GROUP BY crawl, kind"
    )
    for table in ("pages", "retries"):
        op.execute(
            "INSERT INTO counts (crawl, worker, kind, what, number)"  # noqa: S608
            f" SELECT urls.crawl, 0, urls.kind, 'bytes', sum({table}.bytes) FROM {table}"
            f" JOIN urls ON urls.crawl = {table}.crawl AND urls.host = {table}.host"
            f" AND urls.digest = {table}.digest GROUP BY urls.crawl, urls.kind"
            " ON CONFLICT (crawl, worker, kind, what)"
            " DO UPDATE SET number = counts.number + excluded.number"
        )
