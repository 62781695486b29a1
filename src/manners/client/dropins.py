"""What drop-ins need to know about the requests that another library sends."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

from manners._text import to_text
from manners.client.page import Hop, Page
from manners.errors import InvalidURL
from manners.net.messages import joined
from manners.urls import origin

if TYPE_CHECKING:
    from manners.client.blocking import BlockingVisit
    from manners.client.visit import Visit
    from manners.signals import Purpose, Usage

_Reply = TypeVar("_Reply")
ReadReply = Callable[[], tuple[int, Iterable[tuple[str, str]], bytes | None]]
"""Reads a response: status, header lines, and the body; None while that is not read."""


def judged(url: str, host: str | bytes | None) -> str:
    """The URL that a request is judged by; `host` is its header Host, if it has one.

    >>> judged("wss://example.com/chat", "example.com")
    'https://example.com/chat'
    """
    if url.startswith(("ws:", "wss:")):  # RFC 6455 section 4.1: it begins with a GET
        url = "http" + url.removeprefix("ws")
    if host is not None and not _is_of(url, host if isinstance(host, str) else to_text(host)):
        raise ValueError(
            "the header Host would ask another site than was checked: leave it out, and put the "
            "host in the URL"
        )
    return url


def sent_as(header: str | bytes | None, default: str, own: str) -> str:
    """The User-Agent that a request of another library is sent with.

    The header that the library's user has set; if there is none, or only the library's default,
    the client's own, so that robots.txt is read for the agent that is sent.

    >>> sent_as("python-httpx/0.28", "python-httpx/0.28", own="MyBot/1.0")
    'MyBot/1.0'
    >>> sent_as("Other/1.0", "python-httpx/0.28", own="MyBot/1.0")
    'Other/1.0'
    """
    text = to_text(header) if isinstance(header, bytes) else header
    return own if not text or text == default else text


def has_no_body(method: str, status: int, headers: Mapping[str, str]) -> bool:
    """Whether a reply ends with its headers, so that nothing is to be read (RFC 9112 section 6.3).

    What follows a 101 is another protocol, and lasts as long as both sides like.
    """
    return (
        method == "HEAD"
        or status < 200
        or status in (204, 304)
        or (headers.get("content-length") == "0" and "transfer-encoding" not in headers)
    )


class ResponseUsage(Mapping["Purpose", "Usage"]):
    """What a response of another library may be used for, by purpose; read when first asked for.

    Like `page.usage`: by the robots.txt that decided, the headers, and the body where it is HTML.
    Before the body is read, the headers and robots.txt count.
    """

    __slots__ = ("_read", "_started", "_url", "_usage", "_verdict")

    def __init__(self, url: str, visit: "Visit | BlockingVisit", read: "ReadReply") -> None:
        self._url, self._verdict, self._started = url, visit.lazy_verdict, time.time()
        self._read: ReadReply | None = read
        self._usage: Mapping[Purpose, Usage] = {}

    def __getitem__(self, purpose: "Purpose") -> "Usage":
        return self._find()[purpose]

    def __iter__(self) -> "Iterator[Purpose]":
        return iter(self._find())

    def __len__(self) -> int:
        return len(self._find())

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy is a plain mapping of what was found."""
        return dict, (dict(self),)

    def _find(self) -> "Mapping[Purpose, Usage]":
        if self._read is None:
            return self._usage
        status, lines, body = self._read()
        hop = Hop(self._url, True, self._verdict, status, started=self._started)
        usage = Page(self._url, (hop,), joined(lines), body or b"").usage
        if body is not None:
            self._usage, self._read = usage, None
        return usage


def alive(found: _Reply | None) -> _Reply:
    """A response that usage is read from; it is not kept alive for that."""
    if found is None:
        raise ReferenceError("the response is gone: read its usage before, as in dict(usage)")
    return found


def _is_of(url: str, host: str) -> bool:
    site = origin(url)
    try:
        named = origin(site.partition(":")[0] + "://" + host)
    except InvalidURL:
        return False
    return _without_dot(named) == _without_dot(site)


def _without_dot(site: str) -> str:
    """The origin without the dot that ends a complete name: aiohttp drops it from the header."""
    return site.replace(".:", ":").removesuffix(".")
