"""What goes into a frontier and what comes out of it, as values. Quiet."""

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from manners._text import to_bytes
from manners.crawler.page import CrawledPage
from manners.crawler.reasons import NOT_NAMED
from manners.urls import host

Key = tuple[str, str]
"""What a URL is known by: its host, and a digest of it."""
_DIGEST = 16
"""Bytes of a digest."""
_host_of = lru_cache(maxsize=4_096)(host)


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


class OwnedHost(NamedTuple):
    """A host that was taken, and is this worker's alone until it is handed back."""

    name: str
    epoch: int
    """How often it was taken, by anybody."""
    delay: float | None
    """Seconds between requests; None where none was finished."""
    not_before: float
    """When it may be asked."""


class TakenHosts(NamedTuple):
    """Hosts that were taken, and when there are more."""

    hosts: Sequence[OwnedHost]
    more_at: float | None
    """None where no other host has anything that anybody knows of."""


class ReturnedHost(NamedTuple):
    """A host that is handed back."""

    name: str
    delay: float
    not_before: float
    """When it may be asked again, by whoever takes it."""
    ready: float | None
    """When there is something to ask it for; None where nothing is known of."""


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
        if is_hidden:
            return None
        if page.decision is None:
            return page
        from manners.client.purposes import with_usage  # few crawls have a purpose

        return with_usage(page, page.decision, title="", links=(), rendered="")


class Change(NamedTuple):
    """What one step changed in the frontier."""

    hosts: frozenset[str] = frozenset()
    """Hosts with newly queued URLs, of those that are owned."""
    states: Mapping[str, int] = MappingProxyType({})
    """By how many the pages in each state changed; sitemaps are not counted."""
    is_cut: bool = False
    """Whether a URL was dropped because a limit was reached."""
    to_wake: frozenset[str] = frozenset()
    """Hosts with newly queued URLs that are not owned, and may have had nothing queued."""
    has_new_hosts: bool = False
    """Whether there are hosts to take that were not there before."""


def key_of(url: str) -> bytes:
    """What a URL is known by, in 16 bytes: it may be very long."""
    return hashlib.blake2b(url.encode(), digest_size=16).digest()


def digest_of(url: str) -> str:
    """The key of a URL in a store: PostgreSQL has no index on more than 2,700 bytes."""
    return key_of(url).hex()


def place_of(url: str) -> Key:
    """The host of a URL, and its digest.

    >>> place_of("https://example.com:8443/a")[0]
    'example.com'
    """
    end = url.find("/", 8)  # behind "https://": pages of one site have one beginning
    return _host_of(url if end < 0 else url[:end]), digest_of(clean(url))


def pack(places: Iterable[Key]) -> bytes:
    """Where a page leads to, as bytes: digests by host.

    >>> list(unpack(pack([("example.com", "ab" * 16)]))) == [("example.com", "ab" * 16)]
    True
    """
    by_host: dict[str, list[str]] = {}
    for name, digest in places:
        by_host.setdefault(name, []).append(digest)
    parts: list[bytes] = []
    for name, digests in by_host.items():
        own = bytes.fromhex("".join(digests))
        parts += [name.encode(), b"\n", len(own).to_bytes(4, "big"), own]
    return b"".join(parts)


def unpack(packed: bytes) -> Iterator[Key]:
    """What `pack` was given."""
    place = 0
    while place < len(packed):
        end = packed.index(b"\n", place)
        name, size = packed[place:end].decode(), int.from_bytes(packed[end + 1 : end + 5], "big")
        first = place = end + 5
        while place < first + size:
            yield name, packed[place : place + _DIGEST].hex()
            place += _DIGEST


def clean(value: Any) -> Any:
    """Text as a database can hold it: without NUL, and valid UTF-8; anything else as it is."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return to_bytes(value).decode("utf-8", "replace").replace("\0", "\ufffd")
