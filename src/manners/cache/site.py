"""What is known of a site's robots.txt right now, ready to be asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from manners._text import to_bytes
from manners.cache.entry import Entry
from manners.retrieval.charset import in_utf8
from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile
from manners.robots.dialects import Dialect
from manners.robots.lines import truncate
from manners.robots.policy import Robots, parse
from manners.robots.verdict import Reason, Verdict
from manners.urls import robots_url


@dataclass(frozen=True, slots=True)
class Site:
    """What a site's robots.txt says at one moment, and how that is known.

    >>> site = Site(parse("User-agent: *\\nDisallow: /a"), Outcome(Availability.AVAILABLE, "200"))
    >>> site.allowed("https://example.com/a", agent="MyBot")
    False
    """

    robots: Robots
    """The file; an empty one where there is none, or where it does not count."""
    outcome: Outcome
    """How the last retrieval went."""
    reason: Reason | None = None
    """Why the file, or the lack of it, decides as it does; None when it simply decides."""
    everything: bool | None = None
    """What holds for every URL; None when the rules of the file decide."""
    entry: Entry | None = None
    """What is kept of it."""

    def check(self, url: str, agent: str | Sequence[str]) -> Verdict:
        """Whether the agent may fetch the URL, and why."""
        policy = self.robots.policy(self.robots.dialect.own_name(agent))
        verdict = policy.check(url, self.outcome)
        if self.reason is None and self.outcome.complete:
            return verdict
        if verdict.reason is Reason.ROBOTS_TXT_ITSELF:
            return verdict
        return replace(
            verdict,
            allowed=verdict.allowed if self.everything is None else self.everything,
            reason=self.reason or verdict.reason,
            truncated=verdict.truncated or not self.outcome.complete,
        )

    def allowed(self, url: str, agent: str | Sequence[str]) -> bool:
        """Whether the agent may fetch the URL."""
        if self.everything is not None:
            return self.check(url, agent).allowed
        return self.robots.policy(self.robots.dialect.own_name(agent)).allowed(url)


_AGE = 1.0
"""Seconds within which the age in a verdict is right."""


class Held:
    """An entry and the file parsed from it, as the memory tier holds them."""

    __slots__ = (
        "_nothing",
        "_site",
        "entry",
        "fresh_until",
        "is_plain",
        "profile",
        "refresh_at",
        "robots",
    )

    def __init__(self, entry: Entry, dialect: Dialect, profile: Profile) -> None:
        self.entry, self.profile = entry, profile
        self.fresh_until, self.refresh_at = entry.fresh_until, entry.refresh_at
        url = robots_url(entry.origin)
        self._nothing = parse(b"", dialect, url)
        self.robots = self._nothing
        if entry.body is not None:
            self.robots = parsed(entry.body, entry.charset, dialect, url, profile)
        self.is_plain = entry.outcome.is_plain and not self._is_too_large
        """Whether the rules of the file decide, now and for as long as the entry is fresh."""
        self._site: Site | None = None

    @property
    def _is_too_large(self) -> bool:
        return not self.entry.outcome.complete and self.profile.too_large == "allow"

    def at(self, now: float) -> Site:
        """What holds at a time: while a site is out of reach, that changes by itself."""
        known, entry, profile = self._site, self.entry, self.profile
        if known is not None and 0.0 <= now - entry.validated_at - known.outcome.age < _AGE:
            return known
        outcome = entry.outcome.but(age=max(now - entry.validated_at, 0.0))
        if outcome.availability is Availability.UNREACHABLE and entry.has_usable_copy(profile, now):
            outcome = outcome.but(copy=True)
        made = decided(outcome, profile, self.robots, self._nothing, entry)
        if self.is_plain:
            self._site = made
        return made


def decided(
    outcome: Outcome, profile: Profile, robots: Robots, nothing: Robots, entry: Entry | None
) -> Site:
    """What an outcome means by a profile: the rules of the file, or the same for every URL."""
    match outcome.availability:
        case Availability.AVAILABLE if outcome.complete or profile.too_large != "allow":
            return Site(robots, outcome, entry=entry)
        case Availability.AVAILABLE:
            return Site(nothing, outcome, Reason.TOO_LARGE, True, entry)
        case Availability.UNAVAILABLE:
            return Site(nothing, outcome, Reason.UNAVAILABLE, True, entry)
    if outcome.copy:
        return Site(robots, outcome, Reason.STALE_COPY, None, entry)
    return Site(nothing, outcome, Reason.UNREACHABLE, profile.unreachable == "allow", entry)


def parsed(body: bytes, charset: str, dialect: Dialect, url: str, profile: Profile) -> Robots:
    """A file as it was received, read by a dialect, no further than a profile says."""
    text = in_utf8(body, charset)
    if dialect.size_limit:
        return parse(text, dialect, url, profile.max_parsed)
    # The dialect knows no limit, the profile does.
    data = to_bytes(text) if isinstance(text, str) else text
    data, truncated = truncate(data, profile.max_parsed)
    return replace(parse(data, dialect, url), truncated=truncated)
