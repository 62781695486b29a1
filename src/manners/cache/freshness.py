"""How long an outcome stays fresh. Quiet: the time is an argument.

RFC 9309 section 2.4 refers to "standard cache control as defined in RFC 9111"; the profile sets
the limits.
"""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile

REFRESH_AHEAD = 0.9
"""The part of its lifetime after which using an entry refreshes it in the background."""

_MAX_AGE = re.compile(r"""(?:^|[,\s])max-age\s*=\s*"?([0-9]{1,18})""", re.IGNORECASE).search
_UNCACHED = re.compile(r"(?:^|[,\s])no-(?:store|cache)(?:$|[,\s=])", re.IGNORECASE).search
_SECONDS = re.compile(r"[0-9]+").fullmatch  # any number of digits: a float may become infinity


def fresh_for(outcome: Outcome, profile: Profile, now: float, waited: float) -> float:
    """Seconds for which an outcome stays fresh.

    `waited` is the last back-off of an unreachable site.

    >>> from manners.retrieval.profiles import get
    >>> fresh_for(Outcome(Availability.AVAILABLE), get("rfc9309"), 0.0, 0.0)
    86400.0
    """
    if outcome.availability is Availability.UNREACHABLE:
        asked = retry_after(outcome.header("retry-after"), now) if profile.heeds_headers else None
        if asked is not None:
            return min(max(asked, 1.0), profile.retry_most)
        return min(max(2 * waited, profile.retry), profile.retry_most)
    gone = outcome.status in (404, 410)
    if gone or (outcome.availability is Availability.UNAVAILABLE and not profile.heeds_headers):
        return profile.fresh_unavailable
    lifetime = _lifetime(outcome, now) if profile.heeds_headers else None
    if lifetime is None:
        return profile.fresh
    return min(max(lifetime, profile.fresh_least), profile.fresh_most)


def retry_after(text: str, now: float) -> float | None:
    """Seconds until a Retry-After, which is a number or a date (RFC 9110 section 10.2.3).

    >>> retry_after("120", 0.0), retry_after("Thu, 01 Jan 1970 00:02:00 GMT", 60.0)
    (120.0, 60.0)
    """
    text = text.strip()
    if _SECONDS(text):
        return float(text)
    date = read_date(text)
    return None if date is None else max(date - now, 0.0)


def _lifetime(outcome: Outcome, now: float) -> float | None:
    """The lifetime in the headers, in seconds; None when they have none."""
    control = outcome.header("cache-control")
    if _UNCACHED(control):
        return 0.0
    # RFC 9111 section 4.2.3: the time spent in other caches counts.
    age = outcome.header("age").strip()
    spent = float(age) if _SECONDS(age) else 0.0
    if found := _MAX_AGE(control):
        return float(found[1]) - spent
    expires = outcome.header("expires").strip()
    if not expires:
        return None
    until = read_date(expires)
    if until is None:  # RFC 9111 section 5.3: an invalid date, "0" above all, is in the past
        return 0.0
    sent = read_date(outcome.header("date"))
    return until - (now if sent is None else sent) - spent


def read_date(text: str) -> float | None:
    """The time of a date in a header (RFC 9110 section 5.6.7); None if it is none.

    >>> read_date("Thu, 01 Jan 1970 00:02:00 GMT")
    120.0
    """
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:  # RFC 9110 section 5.6.7: always GMT
            date = date.replace(tzinfo=UTC)
        return date.timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None
