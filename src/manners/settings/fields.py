"""Every setting: its type, its default, its limits, and the option that commands offer for it.

It needs no library, so commands can make their options from it without msgspec.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

if TYPE_CHECKING:
    from manners.settings.model import HostSettings


class Range(NamedTuple):
    """The numbers that a setting may have."""

    low: float
    high: float
    is_open: bool = False
    """Whether `low` itself is too low."""

    def problem(self, value: float) -> str:
        """What is wrong with a number; empty if it is in range.

        >>> Range(1, 5).problem(0)
        'must be at least 1, not 0'
        """
        if value > self.high:
            return f"must be at most {self.high:,}, not {value}"
        if self.is_open and not value > self.low:
            return f"must be above {self.low}, not {value}"
        return "" if value >= self.low else f"must be at least {self.low}, not {value}"


class Option(NamedTuple):
    """The option of commands that sets a setting."""

    metavar: str
    """What stands for the value in the help; empty for a switch."""
    help: str
    panel: str
    """The heading in the help under which it stands."""
    name: str = ""
    """How it is written, if not as the setting is."""
    also: tuple[str, ...] = ()
    """Other settings that it sets to the same value."""


WHAT = "What to fetch"
ROBOTS = "How robots.txt is read"
SPEED = "How fast"
REQUESTS = "How requests are sent"
STORED = "Where it is stored"
OUTPUT = "Output and logs"
PANELS = (WHAT, ROBOTS, SPEED, REQUESTS, STORED, OUTPUT)
"""The headings of options in the help, in this order."""

_YEAR = 365 * 86_400
Seconds = Annotated[float, Range(0, _YEAR, is_open=True)]
Pause = Annotated[float, Range(0, _YEAR)]
Minutes = Annotated[float, Range(0, _YEAR / 60, is_open=True)]
Rate = Annotated[float, Range(0, 10**6, is_open=True)]
Factor = Annotated[float, Range(0, 1000)]
Fraction = Annotated[float, Range(0, 1)]
Count = Annotated[int, Range(1, 10**12)]
Redirects = Annotated[int, Range(0, 100)]
Depth = Annotated[int, Range(0, 10**6)]
PurposeName = Literal[
    "crawl", "search", "snippet", "archive", "follow", "ai-input", "ai-index", "ai-train", "tdm"
]
"""What pages are wanted for; `signals.Purpose` has the same names."""
SignalSource = Literal["tdmrep", "rsl", "trust-txt", "ai-txt"]
"""A standard of usage signals whose files cost requests; named as its reader is."""


@dataclass(frozen=True, kw_only=True)
class Fields:
    """The fields of `Settings`."""

    # Identity: see `identity`.
    agent: Annotated[
        str | None,
        Option("NAME", "Your crawler: it is sent, and robots.txt is read for it.", REQUESTS),
    ] = None
    user_agent: Annotated[
        str | None, Option("TEXT", "The User-Agent header, if not the agent.", REQUESTS)
    ] = None

    # What robots.txt means.
    like: Annotated[
        str | None,
        Option("NAME", "A system to behave like: scanner or audit.", ROBOTS),
    ] = None
    dialect: Annotated[
        str, Option("NAME", "How to read it (default rfc9309): see manners dialects.", ROBOTS)
    ] = "rfc9309"
    profile: Annotated[
        str,
        Option("NAME", "How to retrieve it: rfc9309 (default), google or open.", ROBOTS),
    ] = "rfc9309"
    respect_robots: bool = True
    """Whether robots.txt is respected; if not, every verdict says so."""
    exclude: Annotated[
        tuple[str, ...],
        Option("PATTERN", "Exclude URLs: a prefix, a glob or re:…; repeatable.", WHAT),
    ] = ()
    include: Annotated[
        tuple[str, ...], Option("PATTERN", "Fetch only URLs that match; repeatable.", WHAT)
    ] = ()

    signals: Annotated[
        tuple[SignalSource, ...],
        Option(
            "NAME",
            "Ask for usage signals in files: tdmrep, rsl, trust-txt, ai-txt; repeatable.",
            REQUESTS,
        ),
    ] = ()
    """Which files with usage signals are requested, besides robots.txt and the page."""
    purpose: Annotated[
        PurposeName | None,
        Option("NAME", "Keep no page that may not be used for this, such as ai-train.", WHAT),
    ] = None
    """What pages are wanted for; those that refuse it are blocked."""
    unknown: Annotated[
        Literal["allow", "deny"],
        Option("NAME", "Pages that say nothing about --purpose: allow (default) or deny.", WHAT),
    ] = "allow"
    """What it means for the purpose if a page says nothing about it."""

    # How a robots.txt is retrieved; None is the profile's value.
    connect_timeout: Seconds | None = None
    read_timeout: Seconds | None = None
    total_timeout: Annotated[
        Seconds | None,
        Option(
            "SECONDS",
            "Timeout for one robots.txt (default 10).",
            REQUESTS,
            name="--timeout",
            also=("connect_timeout", "read_timeout"),
        ),
    ] = None
    max_redirects: Redirects | None = None
    fresh_minutes: Minutes | None = None
    """How long a robots.txt stays fresh."""
    retry_minutes: Minutes | None = None
    """How long a failure stays fresh, and a robots.txt that does not exist (404, 410)."""
    unreachable: Literal["disallow", "allow"] | None = None
    """The verdict for sites whose robots.txt is unreachable."""
    allow_private: Annotated[
        bool, Option("", "Allow requests to private and local addresses.", REQUESTS)
    ] = False
    proxy: Annotated[
        str | None, Option("URL", "An http or https proxy; it looks up host names.", REQUESTS)
    ] = None
    """A proxy for all requests."""
    ca_file: str | None = None
    """A file of certificate authorities to trust, instead of the system's."""
    cache: Annotated[
        str | None,
        Option("PLACE", "Keep robots.txt files: in a file, or valkey://…", STORED),
    ] = None
    cache_entries: Count = 128
    """How many robots.txt files are kept in memory."""

    # How fast.
    politeness: Annotated[
        str | None, Option("URL", "Share the pace with other processes: valkey://…", SPEED)
    ] = None
    concurrency: Annotated[
        Count, Option("N", "Requests at a time to each host (default 2).", SPEED)
    ] = 2
    connections: Count = 256
    """Requests at a time, all hosts together."""
    concurrency_prefix: str = "host_concurrency:"
    """The prefix of slot keys in a shared store."""
    lease: Seconds = 300.0
    """Seconds until a slot expires that its holder did not release."""
    min_delay: Annotated[
        Pause,
        Option(
            "SECONDS",
            "Between requests to a host (default 0.2 to 0.5); a longer Crawl-delay counts.",
            SPEED,
            name="--delay",
            also=("max_delay",),
        ),
    ] = 0.2
    """The delay between requests to a host is drawn at random between this and `max_delay`."""
    max_delay: Pause = 0.5
    delay_prefix: str = "host_delay:"
    """The prefix of delay keys in a shared store."""
    slot_timeout: Pause = 10.0
    """Seconds to wait for a slot while all slots of a host are in use."""
    defer_beyond: Pause = 60.0
    """A request that would wait longer than this many seconds for a host is deferred."""
    requests_per_second: Rate | None = None
    """The highest request rate for any host."""
    adaptive_factor: Factor = 1.0
    """The delay is at least this factor times the smoothed response time; 0 turns it off."""
    adaptive_weight: Fraction = 0.3
    """The weight of the latest response time in the smoothed one."""
    max_adaptive_delay: Pause = 30.0
    """The longest delay, in seconds, that response times can cause."""
    initial_backoff: Seconds = 5.0
    """Initial back-off in seconds after 429 or 503, doubled each time; Retry-After overrides it."""
    max_backoff: Seconds = 900.0
    backoff_jitter: Fraction = 0.2
    """The fraction by which back-off varies at random, up and down."""
    backoff_window: Pause = 5.0
    """Several 429 or 503 replies within this many seconds count as one."""
    backoff_reset: Count = 3
    """Back-off starts over after this many successes."""
    hosts: "Mapping[str, HostSettings]" = field(default_factory=dict)
    """Settings for single hosts, by name."""

    # One page.
    page_max_bytes: Count = 10 * 1024 * 1024
    """How much of a page is read, after decompression."""
    page_connect_timeout: Seconds = 10.0
    page_read_timeout: Seconds = 60.0
    page_total_timeout: Annotated[
        Seconds,
        Option(
            "SECONDS",
            "Timeout for one page (default 60).",
            REQUESTS,
            name="--timeout",
            also=("page_connect_timeout", "page_read_timeout"),
        ),
    ] = 60.0
    """Seconds for one request; a stream may take as long as it is being read."""
    headers: Annotated[
        tuple[str, ...],
        Option("LINE", "A header for pages: 'Name: value'; repeatable.", REQUESTS, "--header"),
    ] = ()
    cookies: bool = False
    """Whether cookies that sites set are sent back to them."""
    cookie_file: Annotated[
        str | None, Option("FILE", "Send the cookies of a Netscape cookies.txt.", REQUESTS)
    ] = None
    logins: Mapping[str, str] = field(default_factory=dict)
    """Names and passwords of Basic authentication, by origin: `name:password`."""
    client_certs: Mapping[str, str] = field(default_factory=dict)
    """Files with a client certificate and its key, by origin."""
    page_max_redirects: Redirects = 10

    # How much.
    max_pages: Annotated[Count, Option("N", "Stop after this many pages (a crawl: 200).", WHAT)] = (
        200
    )
    max_minutes: Annotated[
        Minutes, Option("N", "Stop after this many minutes (a crawl: 60).", WHAT)
    ] = 60.0
    budget_warning: Fraction = 0.8
    """The used fraction of either budget at which there is a warning."""

    # What is discovered.
    source: Annotated[
        Literal["auto", "sitemap", "links"],
        Option("NAME", "Where to find URLs: auto (both), sitemap or links.", WHAT),
    ] = "auto"
    same_domain: Annotated[
        bool,
        Option(
            "",
            "Stay on the hosts of the start URLs (default).",
            WHAT,
            "--same-domain/--no-same-domain",
        ),
    ] = True
    max_depth: Annotated[
        Depth | None, Option("N", "Follow at most this many links in a row.", WHAT, "--depth")
    ] = None
    render: Annotated[
        Literal["never", "auto", "always"],
        Option(
            "WHEN", "Run scripts in Chromium: auto (if a page has no links or text), always.", WHAT
        ),
    ] = "never"
    """Which pages a crawl renders in a browser."""
    attempts: Count = 3
    """How often a crawl tries a page that does not answer, or answers with a server error."""
    max_urls: Annotated[
        Count, Option("N", "Keep at most this many URLs (default 10000).", WHAT)
    ] = 10_000
    """URLs of a site to keep: the best by priority, then those found first."""
    max_discovered: Count = 1_000_000
    """URLs to consider; in a crawl, shared among its hosts."""
    max_sitemaps: Count = 500
    """Sitemaps to read, of a site or of a crawl; in a crawl, shared among its hosts."""
    sitemap_depth: Count = 5
    """How deep sitemap indexes may nest."""
    link_depth: Annotated[
        Count, Option("N", "Follow links this far (default 1: the first page).", WHAT, "--depth")
    ] = 1
    drop_tracking: bool = False
    """Whether tracking parameters are removed from URLs."""
    trap_repeats: Count = 3
    """A URL is a trap if a path segment occurs this often."""
    trap_length: Count = 2_000
    """A URL is a trap if it has more bytes."""
    trap_segments: Count = 20
    """A URL is a trap if its path has more segments."""
    trap_alike: Count = 1_000
    """After this many URLs of one form and host, further ones are a trap."""

    # What is kept.
    store: Annotated[
        str | None,
        Option("PLACE", "The store: a file (default manners.db), or postgresql://…", STORED),
    ] = None
    warc: Annotated[
        str | None, Option("DIR", "Archive what is fetched in WARC files in DIR.", STORED)
    ] = None
    warc_size: Annotated[
        Count, Option("BYTES", "Begin another WARC file at this size (default 1 GB).", STORED)
    ] = 10**9
    redact_query: Annotated[
        bool, Option("", "Leave the queries of URLs out of the evidence.", STORED)
    ] = False
    server_timeout: Seconds = 30.0
    """Seconds to wait for PostgreSQL or Valkey to answer, or for a locked store."""
    worker_lease: Seconds = 30.0
    """Seconds after which a worker of a crawl that is not heard of is closed by another."""

    # Logs.
    log_level: Annotated[
        Literal["none", "debug", "info", "warning", "error"],
        Option("LEVEL", "debug, info, warning, error, or none (default).", OUTPUT),
    ] = "none"
    log_format: Annotated[
        Literal["text", "json"], Option("FORMAT", "text (default) or json.", OUTPUT)
    ] = "text"
    log_matches: Annotated[bool, Option("", "Log every match, at level debug.", OUTPUT)] = False
    metrics_port: Annotated[
        str | None,
        Option("[ADDRESS:]PORT", "Serve metrics for Prometheus; 0 is any free port.", OUTPUT),
    ] = None

    def __post_init__(self) -> None:
        """`Settings` checks the values."""


def option_of(name: str) -> Option | None:
    """The option for a setting, if commands have one.

    >>> option_of("max_depth").name
    '--depth'
    """
    annotation = Fields.__annotations__[name]
    found = (item for item in getattr(annotation, "__metadata__", ()) if isinstance(item, Option))
    return next(found, None)


def flag_of(name: str) -> str:
    """How the option for a setting is written.

    >>> flag_of("max_pages"), flag_of("max_depth")
    ('--max-pages', '--depth')
    """
    option = option_of(name) if name in Fields.__annotations__ else None
    written = option.name.partition("/")[0] if option else ""
    return written or f"--{name.replace('_', '-')}"
