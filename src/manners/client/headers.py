"""Headers that a caller or the settings add to a request, and those of a conditional request."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from manners._text import header_problem
from manners.client.page import Page
from manners.client.redirects import LOGINS
from manners.settings.headers import parse_headers
from manners.urls import origin, without_credentials

_ORIGINS: ContextVar[Collection[str] | None] = ContextVar("origins that see logins", default=None)


@contextmanager
def limit_logins(origins: Collection[str] | None) -> Iterator[None]:
    """Send the logins of the settings to these origins only, while this block runs.

    None is every origin that is asked for a page: then it is the caller who named the URL.
    """
    before = _ORIGINS.set(origins)
    try:
        yield
    finally:
        _ORIGINS.reset(before)


class OwnHeaders:
    """The headers of the settings, for every page.

    >>> own = OwnHeaders(["Accept-Language: de", "Authorization: Bearer 1"])
    >>> with limit_logins({"https://a.example"}):
    ...     own.plus({"accept-language": "en"}, "http://a.example/")
    {'accept-language': 'en'}
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._headers = parse_headers(lines)

    def plus(self, headers: Mapping[str, str], url: str) -> Mapping[str, str]:
        """The headers of a request for a page; those of the caller win."""
        if not self._headers:
            return headers
        origins = _ORIGINS.get()
        given = {name.strip().lower() for name in headers}
        given.update(() if origins is None or origin(url) in origins else LOGINS)
        own = {name: value for name, value in self._headers.items() if name.lower() not in given}
        return {**own, **headers}


def checked(headers: Mapping[str, str]) -> Mapping[str, str]:
    """The same headers; raises ValueError for one that a request may not have.

    >>> checked({"Host": "other.example"})
    Traceback (most recent call last):
    ValueError: the header Host would ask another site than was checked
    """
    for name, value in headers.items():
        match name.strip().lower():
            case "host":
                raise ValueError("the header Host would ask another site than was checked")
            case "user-agent":
                raise ValueError("the header User-Agent is a setting: user_agent")
        if problem := header_problem(name) or header_problem(value):
            raise ValueError(f"the header {name[:100]!r} {problem}")
    return headers


def conditions(url: str, since: Page) -> dict[str, str]:
    """Headers that ask for a page only if it has changed (RFC 9110 section 13.1)."""
    if since.url != without_credentials(url):
        raise ValueError("since= is a page of another URL")
    if not (since.ok or since.not_modified):
        return {}
    validators = {
        "If-None-Match": since.headers.get("etag", ""),
        "If-Modified-Since": since.headers.get("last-modified", ""),
    }
    return {name: value for name, value in validators.items() if value.isascii() and value.strip()}
