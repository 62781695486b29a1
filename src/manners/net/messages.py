"""Requests and replies as values: what the layers above decide about, without a socket."""

from collections.abc import Awaitable, Callable, Mapping
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, str] = MappingProxyType({})


class Get(NamedTuple):
    """One request, with everything that bounds it.

    >>> Get("https://example.com/robots.txt").total
    10.0
    """

    url: str
    headers: Mapping[str, str] = _NONE
    max_bytes: int = 1_048_576
    """How much of the body is read, after decompression."""
    connect: float = 2.0
    """Seconds for one attempt to connect."""
    read: float = 3.0
    """Seconds without a byte."""
    total: float = 10.0
    """Seconds in all: look-up, connection, reply and body."""
    method: str = "GET"
    any_status: bool = False
    """The body is read whatever the status says; else only that of a success."""
    fresh: bool = False
    """On a new connection: one that was kept open turned out to be closed."""


class Response(NamedTuple):
    """What a server answered. Header names are in lower case.

    >>> Response(404).status
    404
    """

    status: int
    headers: Mapping[str, str] = _NONE
    body: bytes = b""
    complete: bool = True
    """False when the body is longer than what was asked for."""
    seconds: float = 0.0
    """How long it took."""


class Unreachable(NamedTuple):
    """No answer, and why.

    >>> Unreachable("timeout").cause
    'timeout'
    """

    cause: str
    """In a few words of ours, never in the server's."""
    seconds: float = 0.0
    is_stale: bool = False
    """True when the request went to a connection that was kept open, and that the server had given
    up meanwhile: it says nothing about the site, and may be sent again, on a fresh one."""
    is_unsent: bool = False
    """True when the request did not leave, because its turn was over before it could."""
    detail: str = ""
    """More about the cause, where there is more to say; never in the server's words either."""

    @property
    def full(self) -> str:
        """The cause with its detail.

        >>> Unreachable("TLS error", detail="certificate expired").full
        'TLS error: certificate expired'
        """
        return f"{self.cause}: {self.detail}" if self.detail else self.cause


REFUSED = "refused address"
TLS = "TLS error"


def advice(cause: str) -> str:
    """What can be done about a failure; empty where nothing can.

    >>> advice("refused address")
    'a private or local address: allow_private lets it be asked'
    """
    if cause == REFUSED:
        return "a private or local address: allow_private lets it be asked"
    if cause.startswith(f"{TLS}: certificate not trusted"):
        return "name its authority in ca_file, or fix the site"
    return ""


Send = Callable[[Get], Awaitable[Response | Unreachable]]
"""Sends a request. Everything that can go wrong on the way is a value, not an exception."""
