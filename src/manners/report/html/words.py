"""Numbers, times and reasons as people read them. Quiet."""

import math
from datetime import UTC, datetime

from manners._text import count

REASONS = {
    "rule-matched": "Disallowed by a line of robots.txt",
    "excluded": "Excluded by your settings",
    "other-host": "On another host",
    "nofollow": "Found only through nofollow links",
    "depth": "Too many links away from the start",
    "no-room": "Over the limit for found URLs",
    "not-named": "Not listed in any sitemap",
    "too-many-redirects": "Too many redirects",
    "unreachable": "robots.txt unreachable",
    "too-large": "robots.txt too large",
    "usage": "Refused for the purpose of the crawl",
    "invalid-url": "Invalid URL",
    "trap: repeated-segment": "The same path segment again and again",
    "trap: too-long": "URL too long",
    "trap: too-deep": "Too many path segments",
    "trap: too-many-alike": "Too many URLs of the same form",
}
DECISIONS = {
    "rule-matched": "matching rule",
    "no-rule-matched": "no rule matches",
    "no-group": "no group for this agent",
    "robots-txt-itself": "robots.txt is always allowed",
    "excluded": "excluded by your settings",
    "unavailable": "no robots.txt",
    "unreachable": "robots.txt unreachable",
    "stale-copy": "an earlier copy of robots.txt",
    "not-respected": "robots.txt ignored by your settings",
    "usage": "refused for the purpose of the crawl",
    "too-large": "robots.txt too large",
    "too-many-rules": "too many rules in robots.txt",
}
PROBLEMS = {
    "missing-colon": "no colon",
    "misspelt-key": "misspelt",
    "line-too-long": "too long",
    "no-separator": "not a rule",
    "rule-outside-group": "applies to nobody: no User-agent above it",
    "bad-value": "invalid value",
    "nul": "cut at a NUL",
    "not-utf8": "not UTF-8",
    "no-leading-slash": "never matches: no leading /",
}

_UNITS = ("", "kB", "MB", "GB", "TB")


def size(number: int) -> str:
    """A number of bytes.

    >>> size(812), size(12_400_000)
    ('812 bytes', '12.4 MB')
    """
    if number < 1_000:
        return count(number, "byte")
    power = 1
    while number >= 999.5 * 1_000**power and power < len(_UNITS) - 1:
        power += 1
    value = number / 1_000**power
    return f"{value:.{0 if value >= 99.5 else 1}f} {_UNITS[power]}"


def share(part: float, total: float) -> str:
    """A percentage.

    >>> share(1, 3), share(1, 8), share(1, 200), share(0, 0)
    ('33 %', '13 %', '< 1 %', '0 %')
    """
    if not part or not total:
        return "0 %"
    percent = 100 * part / total
    return "< 1 %" if percent < 1 else f"{math.floor(percent + 0.5)} %"


def instant(seconds: float, step: float) -> str:
    """A time on an axis with steps, with as many digits as it takes to tell them apart.

    >>> instant(11, 2.5), instant(11, 0.22), instant(3_675.25, 0.05)
    ('11 s', '11.0 s', '1 h 1 min 15.25 s')
    """
    digits = min(max(math.ceil(-math.log10(step)), 0), 3) if step > 0 else 0
    rest, parts = round(seconds * 10**digits), list[str]()
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        number, rest = divmod(rest, length * 10**digits)
        if number:
            parts.append(f"{number} {unit}")
    if rest or not parts:
        parts.append(f"{rest / 10**digits:.{digits}f} s")
    return " ".join(parts)


def moment(iso: str) -> str:
    """A time in ISO 8601, in UTC.

    >>> moment("2027-01-01T10:00:00+00:00")
    '1 January 2027, 10:00:00 UTC'
    """
    try:
        at = datetime.fromisoformat(iso).astimezone(UTC)
    except ValueError:
        return iso
    return f"{at.day} {at:%B %Y, %H:%M:%S} UTC"


def problem(name: str) -> str:
    """A problem of a line, by its name."""
    return PROBLEMS.get(name, name)
