"""Headers that a caller or the settings add to a request, and those of a conditional request."""

from collections.abc import Collection, Iterable, Mapping

from manners._text import header_problem
from manners.client.page import Page
from manners.client.redirects import LOGINS
from manners.settings.headers import parse_headers
from manners.urls import host, without_credentials


class OwnHeaders:
    """The headers of the settings, for every page.

    >>> own = OwnHeaders(["Accept-Language: de", "Authorization: Bearer 1"])
    >>> own.login_hosts = {"a.example"}
    >>> own.plus({"accept-language": "en"}, "https://b.example/")
    {'accept-language': 'en'}
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._headers = parse_headers(lines)
        self.login_hosts: Collection[str] | None = None
        """The hosts that logins are sent to; None is every host that is asked for a page."""

    def plus(self, headers: Mapping[str, str], url: str) -> Mapping[str, str]:
        """The headers of a request for a page; those of the caller win."""
        if not self._headers:
            return headers
        is_known = self.login_hosts is None or host(url) in self.login_hosts
        given = {name.strip().lower() for name in headers}
        given.update(() if is_known else LOGINS)
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
