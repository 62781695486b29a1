"""The cache entry of a site's robots.txt, and the next one after another retrieval."""

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from manners.cache.freshness import REFRESH_AHEAD, fresh_for
from manners.retrieval.flow import Copy
from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile
from manners.urls import robots_url


@dataclass(frozen=True, slots=True)
class Entry:
    """The robots.txt of a site, and how its last retrieval went.

    While the site is unreachable, `outcome` says so and the body is an earlier copy.
    """

    origin: str
    body: bytes | None
    """The file as received, decompressed; None when the site has none."""
    charset: str
    """The charset in the reply; empty when it named none."""
    outcome: Outcome
    """How the last retrieval went."""
    fetched_at: float
    """When the body was received, or the site replied that it has none."""
    validated_at: float
    """When the site last confirmed it."""
    fresh_until: float
    """When it has to be retrieved again."""
    etag: str = ""
    """The validators of the body, if it is complete and came without a redirect: another URL has
    validators of its own, and the rest of a truncated body is unknown."""
    last_modified: str = ""
    unreachable_since: float | None = None
    """When the site was first found unreachable; None while it can be reached."""

    @property
    def copy(self) -> Copy | None:
        """The copy to revalidate, if its body has validators."""
        if self.body is None or not (self.etag or self.last_modified):
            return None
        return Copy(robots_url(self.origin), self.etag, self.last_modified)

    @property
    def refresh_at(self) -> float:
        """From when on a use of the entry starts a refresh in the background."""
        if self.unreachable_since is not None:  # an unreachable site gets its full back-off
            return self.fresh_until
        asked_at = self.outcome.at
        return asked_at + (self.fresh_until - asked_at) * REFRESH_AHEAD

    def to_dict(self) -> dict[str, Any]:
        """The entry without its body, as plain values, ready for JSON."""
        names = [field.name for field in fields(self) if field.name != "body"]
        values = {name: getattr(self, name) for name in names}
        return {**values, "outcome": self.outcome.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], body: bytes | None) -> "Entry":
        """The entry that `to_dict` wrote, with its body."""
        return cls(body=body, **{**values, "outcome": Outcome.from_dict(values["outcome"])})

    def has_usable_copy(self, profile: Profile, now: float) -> bool:
        """Whether the body may be used while the site is unreachable."""
        if self.body is None or self.unreachable_since is None or not profile.stale_for:
            return False
        return (
            now - self.validated_at <= profile.stale_for
            and now - self.unreachable_since >= profile.disallow_first
        )


def next_entry(  # noqa: PLR0913, PLR0917 (an entry, and what changes it)
    before: Entry | None, origin: str, outcome: Outcome, body: bytes, profile: Profile, now: float
) -> Entry:
    """The entry after a retrieval.

    >>> from manners.retrieval.profiles import get
    >>> gone = Outcome(Availability.UNAVAILABLE, "404")
    >>> next_entry(None, "https://example.com", gone, b"", get("rfc9309"), 1000.0).fresh_until
    87400.0
    """
    outcome = outcome.but(at=now)
    if outcome.availability is Availability.UNREACHABLE:
        return _unreachable_entry(before, origin, outcome, profile, now)
    until = now + fresh_for(outcome, profile, now, 0.0)
    direct = len(outcome.hops) == 1
    etag = outcome.header("etag") if direct else ""
    last_modified = outcome.header("last-modified") if direct else ""
    if outcome.not_modified and before is not None:
        return replace(
            before,
            outcome=outcome.but(bytes=len(before.body or b""), charset=before.charset),
            validated_at=now,
            fresh_until=until,
            etag=etag or before.etag,
            last_modified=last_modified or before.last_modified,
            unreachable_since=None,
        )
    is_file = outcome.availability is Availability.AVAILABLE
    has_validators = is_file and outcome.complete
    return Entry(
        origin,
        body if is_file else None,
        outcome.charset,
        outcome,
        fetched_at=now,
        validated_at=now,
        fresh_until=until,
        etag=etag if has_validators else "",
        last_modified=last_modified if has_validators else "",
    )


def _unreachable_entry(
    before: Entry | None, origin: str, outcome: Outcome, profile: Profile, now: float
) -> Entry:
    since, waited = now, 0.0
    if before is not None and before.unreachable_since is not None:
        since, waited = before.unreachable_since, before.fresh_until - before.outcome.at
    until = now + fresh_for(outcome, profile, now, waited)
    if before is None:
        return Entry(origin, None, "", outcome, now, now, until, unreachable_since=since)
    return replace(before, outcome=outcome, fresh_until=until, unreachable_since=since)
