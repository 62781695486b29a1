"""Numbers, times and reasons as people read them. Quiet."""

import math
from datetime import UTC, datetime

from manners._text import count

REASONS = {
    "rule-matched": "A line of robots.txt disallows it",
    "excluded": "Your own settings leave it out",
    "other-host": "It is on another host",
    "nofollow": "What names it says nofollow",
    "depth": "More links away than are followed",
    "no-room": "No room for it: its host had most of it",
    "not-named": "No sitemap names it",
    "too-many-redirects": "Too many redirects lead to it",
    "unreachable": "The robots.txt could not be reached",
    "too-large": "The robots.txt is too large",
    "invalid-url": "It is not a URL that can be asked for",
    "trap: repeated-segment": "The same part of a path again and again",
    "trap: too-long": "Longer than URLs are that people write",
    "trap: too-deep": "More parts than paths have that people write",
    "trap: too-many-alike": "Too many of the same form",
}
DECISIONS = {
    "rule-matched": "the rule that matches",
    "no-rule-matched": "no rule matches",
    "no-group": "no group is for this agent",
    "robots-txt-itself": "robots.txt is always allowed",
    "excluded": "your own settings",
    "unavailable": "there is no robots.txt",
    "unreachable": "the robots.txt could not be reached",
    "stale-copy": "an earlier copy of the robots.txt",
    "not-respected": "your settings: robots.txt is not asked",
    "too-large": "the robots.txt is too large",
    "too-many-rules": "the robots.txt has too many rules",
}
PROBLEMS = {
    "missing-colon": "no colon",
    "misspelt-key": "misspelt",
    "line-too-long": "too long",
    "no-separator": "not a rule",
    "rule-outside-group": "for nobody: no User-agent above it",
    "bad-value": "a value that means nothing",
    "nul": "cut at a NUL",
    "not-utf8": "not UTF-8",
    "no-leading-slash": "never matches: no / at the beginning",
}


def size(number: int) -> str:
    """So many bytes.

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


_UNITS = ("", "kB", "MB", "GB", "TB")


def share(part: float, whole: float) -> str:
    """A part of a whole.

    >>> share(1, 3), share(1, 8), share(1, 200), share(0, 0)
    ('33 %', '13 %', '< 1 %', '0 %')
    """
    if not part or not whole:
        return "0 %"
    found = 100 * part / whole
    return "< 1 %" if found < 1 else f"{math.floor(found + 0.5)} %"


def instant(seconds: float, step: float) -> str:
    """A time on a line that is cut into steps, with as many digits as tell them apart.

    >>> instant(11, 2.5), instant(11, 0.22), instant(3_675.25, 0.05)
    ('11 s', '11.0 s', '1 h 1 min 15.25 s')
    """
    digits = min(max(math.ceil(-math.log10(step)), 0), 3) if step > 0 else 0
    left, said = round(seconds * 10**digits), list[str]()
    for unit, length in (("d", 86_400), ("h", 3_600), ("min", 60)):
        whole, left = divmod(left, length * 10**digits)
        if whole:
            said.append(f"{whole} {unit}")
    if left or not said:
        said.append(f"{left / 10**digits:.{digits}f} s")
    return " ".join(said)


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
    """What is wrong with a line, as people say it."""
    return PROBLEMS.get(name, name)
