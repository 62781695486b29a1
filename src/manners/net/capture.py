"""Captures: requests and replies as they were on the wire, for an archive.

What differs from the wire, and why:

- Chunks are joined. They belong to the connection, not to the document (RFC 9112 section 7.1), WARC
  counts them to no payload (WARC 1.1, 6.3.2), and readers disagree about who joins them. The header
  that announced them is kept under another name, as the archives of browsers do.
- Requests are kept without headers that may hold secrets: those that are not known to be harmless.
"""

import aiohttp

from manners.net.departures import ATTEMPT
from manners.net.messages import Exchange

_HARMLESS = frozenset(
    (
        *("host", "user-agent", "connection", "accept", "accept-encoding", "accept-language"),
        *("cache-control", "pragma", "if-modified-since", "if-none-match", "range", "dnt"),
        *("from", "upgrade-insecure-requests"),
    )
)
"""Headers of requests that are kept; a login or a key may be in any other."""
_CHUNKED = b"transfer-encoding"
_RENAMED = b"X-Archive-Orig-"
_NO_BODY = (204, 304)


class Capture:
    """The body of one reply as it is received, up to a limit.

    >>> capture = Capture(4)
    >>> capture.feed(b"abc"), capture.feed(b"def")
    (None, None)
    >>> capture.body, capture.is_cut
    (b'abcd', True)
    """

    def __init__(self, limit: int) -> None:
        self._pieces: list[bytes] = []
        self._room = limit
        self.is_cut = False
        """Whether it is longer than the limit."""

    def feed(self, piece: bytes) -> None:
        """Take a piece of the body."""
        if len(piece) > self._room:
            self.is_cut, piece = True, piece[: self._room]
        self._room -= len(piece)
        if piece:
            self._pieces.append(piece)

    @property
    def body(self) -> bytes:
        """What was received so far."""
        return self._pieces[0] if len(self._pieces) == 1 else b"".join(self._pieces)


def exchange_of(
    reply: aiohttp.ClientResponse, body: bytes, *, is_cut: bool, is_read: bool = True
) -> Exchange:
    """What was sent and received for a reply, whose body is given as it came."""
    method, truncated = reply.method, ""
    if is_cut:
        truncated = "length"
    elif not is_read and method != "HEAD" and reply.status not in _NO_BODY:
        truncated = "" if reply.content_length == 0 else "unspecified"
    address = ATTEMPT.get().address
    return Exchange(method, _request(reply), _head(reply), body, address, truncated)


def _request(reply: aiohttp.ClientResponse) -> bytes:
    sent = reply.request_info
    lines = [f"{sent.method} {sent.url.raw_path_qs} HTTP/1.1"]
    lines += [f"{name}: {text}" for name, text in sent.headers.items() if _is_harmless(name)]
    return "\r\n".join([*lines, "", ""]).encode("utf-8", "surrogateescape")


def _is_harmless(name: str) -> bool:
    return name.lower() in _HARMLESS


def _head(reply: aiohttp.ClientResponse) -> bytes:
    version = reply.version or aiohttp.HttpVersion11
    reason = (reply.reason or "").encode("utf-8", "surrogateescape")
    lines = [b"HTTP/%d.%d %d %s" % (version.major, version.minor, reply.status, reason)]
    for name, text in reply.raw_headers:
        renamed = _RENAMED + name if name.lower() == _CHUNKED else name
        lines.append(renamed + b": " + text)
    return b"\r\n".join([*lines, b"", b""])
