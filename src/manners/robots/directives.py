"""Every directive this package knows, in one table: name, misspellings, scope, value.

User-agent, Allow and Disallow are RFC 9309's; Sitemap is mentioned there (section 2.2.4); the
rest are extensions in use. A key that is not in the table is kept: RFC 9309 section
2.2.4, "Crawlers MAY interpret other records that are not part of the robots.txt protocol".
"""

import re
from collections.abc import Callable
from datetime import time
from typing import Literal, NamedTuple

Scope = Literal["group", "file"]


class RequestRate(NamedTuple):
    """How many requests a site accepts in how many seconds, and in which hours (UTC).

    >>> request_rate("1/10s 0600-0845").interval
    10.0
    """

    requests: int
    seconds: int
    start: time | None = None
    end: time | None = None

    @property
    def interval(self) -> float:
        """Seconds from one request to the next."""
        return self.seconds / self.requests


class VisitTime(NamedTuple):
    """The hours (UTC) in which a site wants to be visited; the end may lie past midnight.

    >>> visit_time("2200-0400").minutes
    360
    """

    start: time
    end: time

    @property
    def minutes(self) -> int:
        """How long the window is open; a window that ends where it starts is open all day."""
        started = self.start.hour * 60 + self.start.minute
        return (self.end.hour * 60 + self.end.minute - started) % (24 * 60) or 24 * 60


Value = str | float | RequestRate | VisitTime

_NUMBER = re.compile(r"\+?(?:[0-9]{1,400}(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?").fullmatch
_RATE = re.compile(
    # Possessive throughout, so that spaces cause no backtracking.
    r"([0-9]{1,9}) *+/ *+([0-9]{1,9})(?: *+([smhd]))?(?: ++([0-9]{4}) *+- *+([0-9]{4}))?",
    re.IGNORECASE,
).fullmatch
_WINDOW = re.compile(r"([0-9]{2}):?([0-9]{2})[ -]+([0-9]{2}):?([0-9]{2})").fullmatch
_UNIT_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86400}


def seconds(text: str) -> float | None:
    """A finite number of seconds, zero or more; None for anything else.

    >>> seconds("2.5"), seconds("-1"), seconds("soon")
    (2.5, None, None)
    """
    value = float(text) if _NUMBER(text) else float("inf")
    return value if value != float("inf") else None


def request_rate(text: str) -> RequestRate | None:
    """A rate as `requests/time`: the time in s, m, h or d, perhaps followed by hours of the day.

    >>> request_rate("100/15m")
    RequestRate(requests=100, seconds=900, start=None, end=None)
    """
    found = _RATE(text)
    if found is None:
        return None
    requests, span = int(found[1]), int(found[2]) * _UNIT_SECONDS[(found[3] or "s").lower()]
    if requests == 0 or span == 0:
        return None
    if found[4] is None:
        return RequestRate(requests, span)
    start, end = _clock(found[4][:2], found[4][2:]), _clock(found[5][:2], found[5][2:])
    return None if start is None or end is None else RequestRate(requests, span, start, end)


def visit_time(text: str) -> VisitTime | None:
    """A window as `0600-0845`.

    >>> visit_time("0600-0845")
    VisitTime(start=datetime.time(6, 0), end=datetime.time(8, 45))
    """
    found = _WINDOW(text)
    if found is None:
        return None
    start, end = _clock(found[1], found[2]), _clock(found[3], found[4])
    return None if start is None or end is None else VisitTime(start, end)


def _clock(hour: str, minute: str) -> time | None:
    return time(int(hour), int(minute)) if int(hour) < 24 and int(minute) < 60 else None


def _some_text(text: str) -> str | None:
    return text or None


class DirectiveType(NamedTuple):
    """One row of the table."""

    name: str
    scope: Scope
    misspellings: tuple[str, ...] = ()
    read: Callable[[str], Value | None] = str
    """Parses the text; None when it is invalid."""

    @property
    def spelling(self) -> str:
        """The key as most files write it: 5,178 of 5,949 have `User-agent`, for example.

        >>> BY_NAME["crawl-delay"].spelling, BY_NAME["content-usage"].spelling
        ('Crawl-delay', 'Content-Usage')
        """
        if self.name.endswith("aitraining"):
            return f"{self.name.removesuffix('aitraining').capitalize()}AITraining"
        # Those that begin with "Content-" are written as their specifications do.
        is_title = self.name.startswith("content-")
        return self.name.title() if is_title else self.name.capitalize()


# The misspellings of the first four are those that google/robotstxt accepts (kAllowFrequentTypos
# in robots.cc); those of Crawl-delay occur in the wild and in other parsers' suites.
TABLE = (
    DirectiveType("user-agent", "group", ("useragent", "user agent")),
    DirectiveType("allow", "group"),
    DirectiveType(
        "disallow", "group", ("dissallow", "dissalow", "disalow", "diasllow", "disallaw")
    ),
    DirectiveType("sitemap", "file", ("site-map",), _some_text),
    DirectiveType("crawl-delay", "group", ("crawldelay", "crawl delay"), seconds),
    DirectiveType("request-rate", "group", (), request_rate),
    DirectiveType("visit-time", "group", (), visit_time),
    DirectiveType("host", "file", (), _some_text),  # Yandex: the main mirror
    DirectiveType("clean-param", "file"),  # Yandex: parameters that do not change a page
    DirectiveType("content-signal", "group"),  # contentsignals.org
    DirectiveType("content-usage", "group"),  # IETF aipref working group
    # draft-canel-robots-ai-control-00, which has expired; the lines are in use.
    DirectiveType("disallowaitraining", "group"),
    DirectiveType("allowaitraining", "group"),
    # RSL 1.0 section 4.4: a group's own licences, else those before the first User-agent line.
    DirectiveType("license", "group"),
    DirectiveType("noindex", "group"),  # Google until 2019
)
BY_NAME = {row.name: row for row in TABLE}

RULES = ("allow", "disallow")
TIMED = ("crawl-delay", "request-rate", "visit-time")
"""The directives that say how fast and when; they belong to the User-agent lines above them."""
