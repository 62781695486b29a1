"""What drop-ins need to know about the requests that another library sends."""

from collections.abc import Mapping

from manners._text import to_text
from manners.errors import InvalidURL
from manners.urls import origin


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
