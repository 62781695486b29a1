"""What goes into a frontier and what comes out of it, as values. Quiet."""

import hashlib
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, NamedTuple

from manners._text import to_bytes
from manners.crawler.page import CrawledPage
from manners.crawler.reasons import NOT_NAMED


class FoundUrl(NamedTuple):
    """A URL that a page, a sitemap or a redirect names."""

    url: str
    source: str
    """`start`, `sitemap`, `link` or `redirect`."""
    found_in: str
    """The page or the sitemap that names it; empty for the first."""
    depth: int
    priority: float = 0.5
    lastmod: str | None = None
    reason: str = ""
    """Why it is blocked; empty where it is not."""
    rule: str = ""
    """What decided so: a rule, a pattern, a host, or what says nofollow."""
    line: int = 0
    """Where the rule stands in robots.txt."""
    kind: str = "page"
    """Or `sitemap`."""
    hops: int = 0
    """Redirects between the last link and this URL."""
    to_fetch: bool = True
    """False for a URL that a discovery lists and does not fetch."""
    is_forced: bool = False
    """Whether it is to be fetched whatever is known of it."""

    @property
    def is_kept(self) -> bool:
        """Whether it may be fetched."""
        return not self.reason


class LeasedUrl(NamedTuple):
    """A URL to fetch now."""

    url: str
    host: str
    kind: str
    source: str
    found_in: str
    depth: int
    hops: int
    priority: float
    attempts: int
    """How often it was requested before."""


class LeasedBatch(NamedTuple):
    """URLs of one host to fetch now, and when there are more."""

    urls: tuple[LeasedUrl, ...]
    more_at: float | None
    """None where nothing else is queued."""


class FetchResult(NamedTuple):
    """What came of a leased URL, and where it leads to."""

    url: LeasedUrl
    page: CrawledPage
    found: Sequence[FoundUrl] = ()
    """The possibly new URLs that it leads to."""
    targets: Sequence[str] = ()
    """All URLs that it leads to and that may be followed."""
    joined_host: str = ""
    """A host that is part of the crawl from now on."""
    pace: tuple[float, float] | None = None
    """The delay of its host, and when that may be requested again."""
    is_cut: bool = False
    """Whether it has more links than are read."""

    @property
    def page_for_reader(self) -> CrawledPage | None:
        """The page, unless it is a sitemap, is tried again, or was never to be fetched."""
        page = self.page
        is_hidden = page.kind != "page" or page.state == "queued" or page.reason == NOT_NAMED
        return None if is_hidden else page


class Change(NamedTuple):
    """What one step changed in the frontier."""

    hosts: frozenset[str] = frozenset()
    """Hosts with newly queued URLs."""
    states: Mapping[str, int] = MappingProxyType({})
    """By how many the pages in each state changed; sitemaps are not counted."""
    is_cut: bool = False
    """Whether a URL was dropped because a limit was reached."""


def key_of(url: str) -> bytes:
    """What a URL is known by, in 16 bytes: it may be very long."""
    return hashlib.blake2b(url.encode(), digest_size=16).digest()


def digest_of(url: str) -> str:
    """The key of a URL in a store: PostgreSQL has no index on more than 2,700 bytes."""
    return key_of(url).hex()


def clean(value: Any) -> Any:
    """Text as a database can hold it: without NUL, and valid UTF-8; anything else as it is."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return to_bytes(value).decode("utf-8", "replace").replace("\0", "\ufffd")
