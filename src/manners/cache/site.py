"""The robots.txt of a site as it applies right now."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from manners._text import to_bytes
from manners.cache.entry import Entry
from manners.retrieval.charset import in_utf8
from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile
from manners.robots.dialects import Dialect
from manners.robots.lines import read_lines, truncate
from manners.robots.policy import Robots, parse
from manners.robots.verdict import Reason, Verdict
from manners.urls import robots_url


@dataclass(frozen=True, slots=True)
class Site:
    """The robots.txt of a site at one moment, and how it was retrieved.

    >>> site = Site(parse("User-agent: *\\nDisallow: /a"), Outcome(Availability.AVAILABLE, "200"))
    >>> site.allowed("https://example.com/a", agent="MyBot")
    False
    """

    robots: Robots
    """The file; an empty one if there is none, or if it does not apply."""
    outcome: Outcome
    """How the last retrieval went."""
    reason: Reason | None = None
    """Why the file does not simply decide; None when it does."""
    everything: bool | None = None
    """The answer for every URL; None when the rules of the file decide."""
    entry: Entry | None = None
    """Its cache entry."""

    @property
    def robots_for_usage(self) -> Robots | None:
        """The file, empty if there is none; None if it is not known what it says about usage."""
        return None if self.reason in (Reason.UNREACHABLE, Reason.TOO_LARGE) else self.robots

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

    def problems(self) -> list[dict[str, Any]]:
        """The lines that are not as they should be, as plain values."""
        robots = self.robots
        return [
            {"line": line.number, "problems": list(line.problems), "text": line.text[:200]}
            for line in read_lines(robots.body, robots.dialect, robots.url)
            if line.problems
        ]

    def to_dict(self) -> dict[str, Any]:
        """What the site says, and how it was retrieved, as plain values ready for JSON."""
        robots = self.robots
        return {
            "url": self.outcome.url,
            "outcome": self.outcome.to_dict(),
            "fresh_until": self.entry.fresh_until if self.entry else None,
            "dialect": robots.dialect.name,
            "truncated": robots.truncated or not self.outcome.complete,
            "groups": [
                {
                    "agents": list(group.agents),
                    "line": group.line,
                    "rules": [rule._asdict() for rule in group.rules],
                    "directives": [
                        {"name": item.name, "value": item.written, "line": item.line}
                        for item in group.directives
                    ],
                }
                for group in robots.groups
            ],
            "sitemaps": [sitemap._asdict() for sitemap in robots.sitemaps],
            "directives": [
                {
                    "name": item.name,
                    "value": item.written,
                    "line": item.line,
                    "agents": list(item.agents),
                }
                for item in robots.directives
                if item.name != "sitemap"
            ],
            "problems": self.problems(),
        }


_AGE = 1.0
"""Precision of the age in a verdict, in seconds."""


class ParsedEntry:
    """An entry and the file parsed from it, as in the memory tier."""

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
            self.robots = parse_body(entry.body, entry.charset, dialect, url, profile)
        self.is_plain = entry.outcome.is_plain and not self._is_too_large
        """Whether the rules of the file decide for as long as the entry is fresh."""
        self._site: Site | None = None

    @property
    def _is_too_large(self) -> bool:
        return not self.entry.outcome.complete and self.profile.too_large == "allow"

    def at(self, now: float) -> Site:
        """The site at a time: while it is unreachable, the answer changes with time."""
        known, entry, profile = self._site, self.entry, self.profile
        if known is not None and 0.0 <= now - entry.validated_at - known.outcome.age < _AGE:
            return known
        outcome = entry.outcome.but(age=max(now - entry.validated_at, 0.0))
        if outcome.availability is Availability.UNREACHABLE and entry.has_usable_copy(profile, now):
            outcome = outcome.but(copy=True)
        site = interpret(outcome, profile, self.robots, self._nothing, entry)
        if self.is_plain:
            self._site = site
        return site


def interpret(
    outcome: Outcome, profile: Profile, robots: Robots, nothing: Robots, entry: Entry | None
) -> Site:
    """What an outcome means under a profile: the rules of the file, or one answer for every URL."""
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


def parse_body(body: bytes, charset: str, dialect: Dialect, url: str, profile: Profile) -> Robots:
    """Parse a file as received, by a dialect, up to the size limit of a profile."""
    text = in_utf8(body, charset)
    if dialect.size_limit:
        return parse(text, dialect, url, profile.max_parsed)
    # The dialect has no limit of its own, the profile has one.
    data = to_bytes(text) if isinstance(text, str) else text
    data, truncated = truncate(data, profile.max_parsed)
    return replace(parse(data, dialect, url), truncated=truncated)
