"""Requests and replies as values, so that the layers above need no socket."""

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, str] = MappingProxyType({})


class Get(NamedTuple):
    """One request, with its limits.

    >>> Get("https://example.com/robots.txt").total
    10.0
    """

    url: str
    headers: Mapping[str, str] = _NONE
    max_bytes: int = 1_048_576
    """Limit of the body, after decompression."""
    connect: float = 2.0
    """Timeout of one attempt to connect, in seconds."""
    read: float = 3.0
    """Timeout between two bytes."""
    total: float = 10.0
    """Timeout of everything: lookup, connection, reply and body."""
    method: str = "GET"
    any_status: bool = False
    """Read the body of every status; otherwise only of a success."""
    fresh: bool = False
    """Use a new connection, because one that was kept open turned out to be closed."""
    body: bytes = b""
    """What a form sends."""
    all_encodings: bool = False
    """Offer brotli and zstd, too, where they can be read; otherwise only gzip and deflate."""


class Exchange(NamedTuple):
    """One request and its reply as they were on the wire, for an archive.

    >>> Exchange("HEAD", b"HEAD / HTTP/1.1\\r\\n", b"HTTP/1.1 200 OK\\r\\n").truncated
    ''
    """

    method: str
    request: bytes
    """The request line and the headers, without those that may hold secrets."""
    head: bytes
    """The status line and the headers of the reply; see `net.capture` for the one that differs."""
    body: bytes = b""
    """The body as it was sent, compressed if it was, without the lengths of chunks."""
    address: str = ""
    """The address of the server; empty behind a proxy."""
    truncated: str = ""
    """Why the body is not complete, as WARC has it: `length` or `unspecified`."""


class Response(NamedTuple):
    """The reply of a server. Header names are in lower case.

    >>> Response(404).status
    404
    """

    status: int
    headers: Mapping[str, str] = _NONE
    body: bytes = b""
    complete: bool = True
    """False when the body is larger than the limit."""
    seconds: float = 0.0
    """How long it took."""
    exchange: Exchange | None = None
    """What was sent and received, if it is to be archived."""


_SINGLE_LINES = ("x-robots-tag", "set-cookie")
"""Headers whose lines are no list, and stay apart."""


def joined(lines: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Header lines by name in lower case.

    >>> joined([("Link", "<a>"), ("link", "<b>"), ("X-Robots-Tag", "noai")])
    {'link': '<a>, <b>', 'x-robots-tag': 'noai'}
    """
    found: dict[str, str] = {}
    for name, value in lines:
        name = name.lower()
        if name in found:  # several are one list (RFC 9110 section 5.3), except these
            value = found[name] + ("\n" if name in _SINGLE_LINES else ", ") + value
        found[name] = value
    return found


class Unreachable(NamedTuple):
    """No reply, and why.

    >>> Unreachable("timeout").cause
    'timeout'
    """

    cause: str
    """In a few words of ours, never the server's."""
    seconds: float = 0.0
    is_stale: bool = False
    """True when the request went to a kept-alive connection that the server had closed meanwhile:
    that says nothing about the site, and the request may be sent again on a fresh one."""
    is_unsent: bool = False
    """True when the request was not sent, because its turn was over."""
    detail: str = ""
    """More about the cause, if there is more to say; not the server's words either."""

    @property
    def full(self) -> str:
        """The cause with its detail.

        >>> Unreachable("TLS error", detail="certificate expired").full
        'TLS error: certificate expired'
        """
        return f"{self.cause}: {self.detail}" if self.detail else self.cause


REFUSED = "refused address"
TLS = "TLS error"
PROXY_FAILED = "proxy failed"


def advice(cause: str) -> str:
    """What to do about a failure; empty if there is nothing to do.

    >>> advice("refused address")
    'private or local address; set allow_private to request it'
    """
    if cause == REFUSED:
        return "private or local address; set allow_private to request it"
    if cause.startswith(f"{TLS}: certificate not trusted"):
        return "set ca_file to its authority, or fix the site"
    if cause == PROXY_FAILED:
        return "check that the proxy runs, and where it is: the setting proxy"
    return ""


Send = Callable[[Get], Awaitable[Response | Unreachable]]
"""Sends a request. Failures are values, not exceptions."""
