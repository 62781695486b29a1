"""Profiles: the ways in which a robots.txt is retrieved, as data, one file each.

RFC 9309 is the default. A profile says how many redirects are followed, what each failure means,
how long an answer stays fresh, and how much time and memory a retrieval may take.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal

from manners import _family

DEFAULT = "rfc9309"
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One way to retrieve a robots.txt, as data.

    >>> get("open").max_redirects
    3
    >>> patient = get("rfc9309").but(name="patient", total=60.0)
    """

    name: str
    summary: str
    """One line for people choosing a profile."""

    # Limits.
    max_redirects: int
    redirects_leave_host: bool
    """Redirects to another host are followed; otherwise they mean that there is no robots.txt."""
    connect: float
    """Seconds for one attempt to connect."""
    read: float
    """Seconds without a byte."""
    total: float
    """Seconds in total: DNS, redirects and body."""
    max_read: int
    """Bytes of the body that are read."""
    max_parsed: int
    """Bytes of the body that are parsed."""
    too_large: Literal["cut", "allow"]
    """A longer body is cut, or allows everything."""

    # An unreachable site.
    unreachable: Literal["disallow", "allow"]
    stale_for: float
    """Seconds for which an earlier copy is used; 0 for never."""
    disallow_first: float
    """Seconds of complete disallow before an earlier copy is used."""

    # How long an answer stays fresh.
    heeds_headers: bool
    """Cache-Control, Expires and Retry-After are respected."""
    fresh: float
    """Seconds, without such a header."""
    fresh_least: float
    fresh_most: float
    fresh_unavailable: float
    """Seconds when there is no robots.txt (404, 410)."""
    retry: float
    """Seconds until an unreachable site is tried again."""
    retry_most: float
    """The upper limit: the wait doubles with each failure."""

    def but(self, **changes: Any) -> "Profile":
        """The same profile with some fields changed."""
        return replace(self, **changes)


def names() -> tuple[str, ...]:
    """The names of all profiles.

    >>> names()
    ('google', 'open', 'rfc9309')
    """
    return _family.names(__name__)


def get(profile: str | Profile) -> Profile:
    """The profile of this name; a `Profile` is returned as it is.

    >>> get("rfc9309").unreachable
    'disallow'
    """
    if isinstance(profile, Profile):
        return profile
    found: Profile = _family.member(__name__, "profile", profile).PROFILE
    return found
