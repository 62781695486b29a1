"""Headers that a caller adds to a request: which it may, and those of a conditional request."""

from collections.abc import Mapping

from manners._text import header_problem
from manners.client.page import Page
from manners.urls import without_credentials


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
