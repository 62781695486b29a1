"""What is kept about a site's robots.txt, and what becomes of it when the site is asked again."""

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
    """What a site last said, and how the last attempt to ask it went.

    While a site cannot be reached, `outcome` says so and the body is that of an earlier time.
    """

    origin: str
    body: bytes | None
    """The file as it was received, decompressed; None when there is none."""
    charset: str
    """The charset that came with the body; empty when none was named."""
    outcome: Outcome
    """How the last retrieval went."""
    fetched_at: float
    """When the body was received, or the site said that there is none."""
    validated_at: float
    """When the site last said that this is how it is."""
    fresh_until: float
    """When the site is to be asked again."""
    etag: str = ""
    """The marks of the body, where it came whole and without a redirect: another URL has marks of
    its own, and the rest of a body that was cut is unknown."""
    last_modified: str = ""
    unreachable_since: float | None = None
    """When the site was first found out of reach; None while it can be reached."""

    @property
    def copy(self) -> Copy | None:
        """What to ask the site about, if there is a copy that has marks."""
        if self.body is None or not (self.etag or self.last_modified):
            return None
        return Copy(robots_url(self.origin), self.etag, self.last_modified)

    @property
    def refresh_at(self) -> float:
        """From when on the site is asked in the background, if the entry is asked for."""
        if self.unreachable_since is not None:  # a site that is out of reach is not pressed
            return self.fresh_until
        asked_at = self.outcome.at
        return asked_at + (self.fresh_until - asked_at) * REFRESH_AHEAD

    def to_dict(self) -> dict[str, Any]:
        """The entry without its body, as plain values, ready for JSON."""
        made = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "body"}
        return {**made, "outcome": self.outcome.to_dict()}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any], body: bytes | None) -> "Entry":
        """The entry that `to_dict` wrote, with its body."""
        return cls(body=body, **{**values, "outcome": Outcome.from_dict(values["outcome"])})

    def has_usable_copy(self, profile: Profile, now: float) -> bool:
        """Whether the body may stand in for a site that cannot be reached."""
        if self.body is None or self.unreachable_since is None or not profile.stale_for:
            return False
        return (
            now - self.validated_at <= profile.stale_for
            and now - self.unreachable_since >= profile.disallow_first
        )


def renewed(  # noqa: PLR0913, PLR0917 (an entry, and all that happened to it)
    before: Entry | None, origin: str, outcome: Outcome, body: bytes, profile: Profile, now: float
) -> Entry:
    """The entry after a retrieval.

    >>> from manners.retrieval.profiles import get
    >>> gone = Outcome(Availability.UNAVAILABLE, "404")
    >>> renewed(None, "https://example.com", gone, b"", get("rfc9309"), 1000.0).fresh_until
    87400.0
    """
    outcome = outcome.but(at=now)
    if outcome.availability is Availability.UNREACHABLE:
        since, waited = now, 0.0
        if before is not None and before.unreachable_since is not None:
            since, waited = before.unreachable_since, before.fresh_until - before.outcome.at
        until = now + fresh_for(outcome, profile, now, waited)
        if before is None:
            return Entry(origin, None, "", outcome, now, now, until, unreachable_since=since)
        return replace(before, outcome=outcome, fresh_until=until, unreachable_since=since)
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
    has_marks = is_file and outcome.complete
    return Entry(
        origin,
        body if is_file else None,
        outcome.charset,
        outcome,
        fetched_at=now,
        validated_at=now,
        fresh_until=until,
        etag=etag if has_marks else "",
        last_modified=last_modified if has_marks else "",
    )
