"""Entries of a sitemap, and problems with it."""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime
from typing import Literal, NamedTuple
from urllib.parse import urljoin

from manners._text import cut, printable
from manners.errors import InvalidURL
from manners.urls import origin

CHANGEFREQS = ("always", "hourly", "daily", "weekly", "monthly", "yearly", "never")

MAX_TEXT = 16_384
"""Characters of one URL or date."""

# W3C Date and Time Formats: a year, up to a time with a zone.
_W3C = re.compile(
    r"[0-9]{4}(?:-(?:0[1-9]|1[0-2])(?:-(?:0[1-9]|[12][0-9]|3[01])"
    r"(?:[T ](?:[01][0-9]|2[0-4]):[0-5][0-9](?::[0-6][0-9](?:\.[0-9]{1,9})?)?"
    r"(?:Z|[+-][0-9]{2}:?[0-9]{2})?)?)?)?"
).fullmatch
_HTTP = ("https://", "http://")
_ABSOLUTE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:").match
_PRIORITY = re.compile(r"\+?(?:[0-9]{1,20}(?:\.[0-9]{0,20})?|\.[0-9]{1,20})").fullmatch

Kind = Literal["page", "sitemap"]


class SitemapEntry(NamedTuple):
    """A page, or another sitemap, that a sitemap lists."""

    url: str
    kind: Kind = "page"
    lastmod: str | None = None
    """When it last changed, in ISO 8601."""
    changefreq: str | None = None
    priority: float | None = None
    """From 0 to 1; the default is 0.5."""


class Problem(NamedTuple):
    """Something wrong in a sitemap, and where."""

    problem: str
    """A code, for programs."""
    detail: str = ""
    """For people; text of the file is escaped and cut."""
    line: int = 0
    """0 when it is about the file."""

    def __str__(self) -> str:
        place = f"line {self.line}: " if self.line else ""
        return f"{place}{self.problem}" + (f": {self.detail}" if self.detail else "")


def read_entry(
    fields: dict[str, str], kind: Kind, base: str
) -> tuple[SitemapEntry | None, list[Problem]]:
    """An entry from its fields, and the problems with them.

    >>> read_entry({"loc": "/a", "priority": "2"}, "page", "https://example.com/s.xml")[0].url
    'https://example.com/a'
    """
    problems: list[Problem] = []
    location = fields.get("loc", "").strip()
    if not location:
        return None, [Problem("no-location", "an entry without a URL")]
    url = location
    try:
        if not location.startswith(_HTTP) and not _ABSOLUTE(location):
            url = urljoin(base, location)
            problems.append(Problem("relative-url", shown(location)))
        origin(url)
    except (InvalidURL, ValueError):
        return None, [Problem("bad-url", shown(location))]
    lastmod = frequency = priority = None
    written = fields.get("lastmod")
    if written:
        lastmod = _lastmod(written.strip(), problems)
    written = fields.get("changefreq")
    if written:
        frequency = written.strip().lower() or None
        if frequency is not None and frequency not in CHANGEFREQS:
            problems.append(Problem("bad-changefreq", shown(frequency)))
            frequency = None
    written = fields.get("priority")
    if written:
        written = written.strip()
        priority = float(written) if _PRIORITY(written) else None
        if written and (priority is None or priority > 1):
            problems.append(Problem("bad-priority", shown(written)))
            priority = None
    return SitemapEntry(url, kind, lastmod, frequency, priority), problems


def _lastmod(text: str, problems: list[Problem]) -> str | None:
    if not text or _W3C(text):
        return text or None
    try:  # RSS: a date as in mail
        moment = parsedate_to_datetime(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).isoformat()
    except (ValueError, TypeError, IndexError, OverflowError):
        problems.append(Problem("bad-lastmod", shown(text)))
        return None


def shown(text: str) -> str:
    """Text of a file, safe to show."""
    return printable(cut(text, 200))
