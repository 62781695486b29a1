"""Profiles: the ways in which a robots.txt is retrieved, as data, one file each.

RFC 9309 is the default. A profile says how far redirects are followed, what each kind of failure
means, how long an answer is good for, and how much time and space a retrieval may take.
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

    # How far to go.
    max_redirects: int
    redirects_leave_host: bool
    """A redirect to another host is followed; else it means that there is no robots.txt."""
    connect: float
    """Seconds for one attempt to connect."""
    read: float
    """Seconds without a byte."""
    total: float
    """Seconds in all: look-ups, redirects and body."""
    max_read: int
    """Bytes of the body that are read."""
    max_parsed: int
    """Bytes of the body that are parsed."""
    too_large: Literal["cut", "allow"]
    """What becomes of a longer body: its beginning counts, or everything is allowed."""

    # What a site means that cannot be reached.
    unreachable: Literal["disallow", "allow"]
    stale_for: float
    """Seconds for which an earlier copy stands in; 0: never."""
    disallow_first: float
    """Seconds without the site, before an earlier copy stands in."""

    # How long an answer is good for.
    heeds_headers: bool
    """Cache-Control, Expires and Retry-After count."""
    fresh: float
    """Seconds, when no header says otherwise."""
    fresh_least: float
    fresh_most: float
    fresh_unavailable: float
    """Seconds for a robots.txt that is not there (404, 410)."""
    retry: float
    """Seconds until a site that could not be reached is tried again."""
    retry_most: float
    """The wait doubles with each failure, up to here."""

    def but(self, **changes: Any) -> "Profile":
        """The same profile with some fields changed."""
        return replace(self, **changes)


def names() -> tuple[str, ...]:
    """The names of the profiles there are.

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
