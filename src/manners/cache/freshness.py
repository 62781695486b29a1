"""How long an outcome is good for. Quiet: the time is an argument.

RFC 9309 section 2.4 leaves it to "standard cache control as defined in RFC 9111", within limits
that the profile sets.
"""

import re
from datetime import UTC
from email.utils import parsedate_to_datetime

from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile

REFRESH_AHEAD = 0.9
"""The part of its lifetime from which an entry that is asked for is refreshed in the background."""

_MAX_AGE = re.compile(r"""(?:^|[,\s])max-age\s*=\s*"?([0-9]{1,18})""", re.IGNORECASE).search
_UNCACHED = re.compile(r"(?:^|[,\s])no-(?:store|cache)(?:$|[,\s=])", re.IGNORECASE).search
_SECONDS = re.compile(r"[0-9]+").fullmatch  # however many: a float has room, if only as infinity


def fresh_for(outcome: Outcome, profile: Profile, now: float, waited: float) -> float:
    """Seconds for which an outcome is good.

    `waited` says how long a site that is out of reach was left alone the last time.

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
    told = _told(outcome, now) if profile.heeds_headers else None
    if told is None:
        return profile.fresh
    return min(max(told, profile.fresh_least), profile.fresh_most)


def retry_after(text: str, now: float) -> float | None:
    """Seconds until a Retry-After, which is a number or a date (RFC 9110 section 10.2.3).

    >>> retry_after("120", 0.0), retry_after("Thu, 01 Jan 1970 00:02:00 GMT", 60.0)
    (120.0, 60.0)
    """
    text = text.strip()
    if _SECONDS(text):
        return float(text)
    date = _date(text)
    return None if date is None else max(date - now, 0.0)


def _told(outcome: Outcome, now: float) -> float | None:
    """Seconds that the headers speak of; None when they say nothing."""
    control = outcome.header("cache-control")
    if _UNCACHED(control):
        return 0.0
    # RFC 9111 section 4.2.3: what was spent in other caches is over.
    age = outcome.header("age").strip()
    spent = float(age) if _SECONDS(age) else 0.0
    if found := _MAX_AGE(control):
        return float(found[1]) - spent
    expires = outcome.header("expires").strip()
    if not expires:
        return None
    until = _date(expires)
    if until is None:  # RFC 9111 section 5.3: an invalid date, "0" above all, is in the past
        return 0.0
    sent = _date(outcome.header("date"))
    return until - (now if sent is None else sent) - spent


def _date(text: str) -> float | None:
    try:
        date = parsedate_to_datetime(text)
        if date.tzinfo is None:  # RFC 9110 section 5.6.7: in GMT, also where it does not say so
            date = date.replace(tzinfo=UTC)
        return date.timestamp()
    except (ValueError, TypeError, IndexError, OverflowError, OSError):
        return None
