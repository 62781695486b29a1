"""Tables of crawls: the crawls, their URLs, pages, retries and hosts."""

from sqlalchemy import Column, Float, Index, Integer, LargeBinary, String, Table, Text

from manners.store.schema import Number, tables

FIRST_VERSION = "0003"
"""The version of a store from which on it has these tables."""

# A crawl, or a discovery: what began it, and when.
crawls = Table(
    "crawls",
    tables,
    Column("id", Number, primary_key=True),
    Column("start", Text, nullable=False),
    Column("at", Number, nullable=False),  # milliseconds since the epoch
    Column("command", String(16), nullable=False, server_default="discover"),
    Column("settings", Text, nullable=False, server_default="{}"),  # JSON: what it was told
    Column("ended", Text),  # why, when it has
    Column("seconds", Float, nullable=False, server_default="0"),  # of running
)

# What it found, and what became of it; what is blocked has a reason.
urls = Table(
    "urls",
    tables,
    Column("crawl", Number, primary_key=True, autoincrement=False),
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
    Column("kind", String(8), nullable=False, server_default="page"),  # or sitemap
    Column("state", String(8), nullable=False, server_default="queued"),
    Column("status", Integer),  # of the last answer
    Column("attempts", Integer, nullable=False, server_default="0"),
    Column("hops", Integer, nullable=False, server_default="0"),  # redirects on the way to it
    Column("not_before", Float, nullable=False, server_default="0"),  # seconds since the epoch
    Column("seq", Number, nullable=False, server_default="0"),  # the order in which it was found
    Column("evidence", Number),  # the record of the last decision
)
Index(
    "urls_queued",
    urls.c.crawl,
    urls.c.host,
    urls.c.priority.desc(),
    urls.c.depth,
    urls.c.seq,
    sqlite_where=urls.c.state == "queued",
    postgresql_where=urls.c.state == "queued",
)

# What came of those that were asked for: the last answer.
pages = Table(
    "pages",
    tables,
    Column("crawl", Number, primary_key=True, autoincrement=False),
    Column("digest", String(32), primary_key=True),
    Column("status", Integer),
    Column("cause", Text, nullable=False),  # why there is no answer
    Column("type", Text, nullable=False),
    Column("bytes", Number, nullable=False),
    Column("sha256", String(64), nullable=False),  # of the body
    Column("title", Text, nullable=False),
    Column("links", Integer, nullable=False),
    Column("location", Text, nullable=False),  # where it redirects to
    Column("started", Float, nullable=False),  # seconds since the epoch
    Column("waited", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("delay", Float, nullable=False),  # between requests to its host, then
    Column("targets", LargeBinary),  # digests of what it leads to, where depth is limited
    Column("problems", Text, nullable=False, server_default="[]"),  # JSON: of a sitemap
)

# Answers, or failures, after which a URL was to be asked for again.
retries = Table(
    "retries",
    tables,
    Column("id", Number, primary_key=True),
    Column("crawl", Number, nullable=False),
    Column("digest", String(32), nullable=False),
    Column("status", Integer),
    Column("cause", Text, nullable=False),
    Column("bytes", Number, nullable=False),
    Column("started", Float, nullable=False),
    Column("waited", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("delay", Float, nullable=False),
)

# Where a crawl stands with each host: the delay in force, and when it may be asked again.
hosts = Table(
    "hosts",
    tables,
    Column("crawl", Number, primary_key=True, autoincrement=False),
    Column("host", String(255), primary_key=True),
    Column("delay", Float, nullable=False),
    Column("not_before", Float, nullable=False),
)
