"""Tables of crawls: the crawls, their URLs, pages, retries, hosts and workers."""

from sqlalchemy import (
    Boolean,
    Column,
    Float,
    Index,
    Integer,
    LargeBinary,
    String,
    Table,
    Text,
    false,
    text,
)

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
    Column("seen", Float, nullable=False, server_default="0"),  # when a worker was last heard of
    Column("joined", Text, nullable=False, server_default="[]"),  # JSON: hosts besides the first
)

# What it found, and what became of it; what is blocked has a reason. What belongs to a host lies
# together: it is read and written together.
urls = Table(
    "urls",
    tables,
    Column("crawl", Number, primary_key=True, autoincrement=False),
    Column("host", Text, primary_key=True),
    Column("digest", String(32), primary_key=True),  # of the URL, which may be too long for a key
    Column("url", Text, nullable=False),
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
    Column("host", Text, primary_key=True),
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
    Column("targets", LargeBinary),  # what it leads to, where depth is limited
    Column("problems", Text, nullable=False, server_default="[]"),  # JSON: of a sitemap
)

# Answers, or failures, after which a URL was to be asked for again.
retries = Table(
    "retries",
    tables,
    Column("id", Number, primary_key=True),
    Column("crawl", Number, nullable=False),
    Column("host", Text, nullable=False, server_default=text("''")),
    Column("digest", String(32), nullable=False),
    Column("status", Integer),
    Column("cause", Text, nullable=False),
    Column("bytes", Number, nullable=False),
    Column("started", Float, nullable=False),
    Column("waited", Float, nullable=False),
    Column("seconds", Float, nullable=False),
    Column("delay", Float, nullable=False),
)

# The hosts of a crawl: who asks each, how fast, and when there is something to ask.
hosts = Table(
    "hosts",
    tables,
    Column("crawl", Number, primary_key=True, autoincrement=False),
    Column("host", Text, primary_key=True),
    Column("delay", Float),  # between requests; NULL until one was finished
    Column("not_before", Float, nullable=False, server_default="0"),  # seconds since the epoch
    Column("owner", Number),  # the worker that asks it
    Column("epoch", Integer, nullable=False, server_default="0"),  # how often it was taken
    Column("ready", Float),  # when it may be taken; NULL: nothing is queued
    Column("wanted", Float),  # since when another worker needs it for one request
    postgresql_with={"fillfactor": 80},
)
_IS_DUE = hosts.c.owner.is_(None) & hosts.c.ready.is_not(None)
Index(
    "hosts_due",
    hosts.c.crawl,
    hosts.c.ready,
    sqlite_where=_IS_DUE,
    postgresql_where=_IS_DUE,
)
Index(
    "hosts_owned",
    hosts.c.owner,
    sqlite_where=hosts.c.owner.is_not(None),
    postgresql_where=hosts.c.owner.is_not(None),
)

# The processes that work on crawls, or did. Times are those of the database's clock.
workers = Table(
    "workers",
    tables,
    Column("id", Number, primary_key=True),
    Column("crawl", Number, nullable=False),
    Column("name", Text, nullable=False),  # machine and process
    Column("version", Text, nullable=False),  # of this package
    Column("strand", Integer, nullable=False),  # of evidence
    Column("began", Float, nullable=False),
    Column("seen", Float, nullable=False),  # its last beat
    Column("until", Float, nullable=False),  # any other may close it after this
    Column("granted", Number, nullable=False, server_default="0"),  # pages that it may fetch in all
    Column("is_adding", Boolean, nullable=False, server_default=false()),  # the URLs to begin with
    Column("ended", Text),  # why, when it has
    postgresql_with={"fillfactor": 50},
)
Index("workers_by_crawl", workers.c.crawl)

# How many there are of everything, as each worker has changed it: the sum is right at any time.
counts = Table(
    "counts",
    tables,
    Column("crawl", Number, primary_key=True, autoincrement=False),
    Column("worker", Number, primary_key=True, autoincrement=False),
    Column("kind", String(8), primary_key=True),  # page or sitemap
    Column("what", String(16), primary_key=True),  # a state, or another number
    Column("number", Number, nullable=False),
    postgresql_with={"fillfactor": 50},
)

# Links of one form on a host, such as /calendar/0/0: too many of them are a trap.
forms = Table(
    "forms",
    tables,
    Column("crawl", Number, primary_key=True, autoincrement=False),
    Column("host", Text, primary_key=True),
    Column("form", Number, primary_key=True, autoincrement=False),  # a hash of it
    Column("number", Integer, nullable=False),
)
