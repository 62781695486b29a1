"""The versions of a site's robots.txt: what it said, from when, until when. Quiet.

A site said something from when it was first seen so until when that was last confirmed. In between
it may have said something else that nobody saw.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import chain, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

from manners.cache.entry import Entry
from manners.retrieval.outcome import Availability, Outcome

MAX_VERSIONS = 1_000
"""Versions that are kept of one site; the oldest are dropped."""
MAX_BYTES = 64 * 1024 * 1024
"""Bytes of all versions of one site; the oldest are dropped."""


class Version(NamedTuple):
    """What a site's robots.txt was for a time.

    >>> gone = Outcome(Availability.UNAVAILABLE, "404")
    >>> Version("https://example.com", 1000.0, 2000.0, 88_400.0, gone, None).holds_at(3000.0)
    True
    """

    origin: str
    first: float
    """When the site was first seen to say this, in seconds since the epoch."""
    last: float
    """When that was last confirmed."""
    fresh_until: float
    """Until when the last confirmation counted."""
    outcome: Outcome
    """How the first retrieval of it went."""
    body: bytes | None
    """The file as received, decompressed; None when there was none."""
    charset: str = ""
    """The charset in the reply; empty when it named none."""

    @property
    def sha256(self) -> str:
        """The SHA-256 of the file in hexadecimal; empty when there was none."""
        return "" if self.body is None else sha256(self.body).hexdigest()

    @property
    def content(self) -> bytes:
        """A digest of what the site said: two versions in a row differ in it."""
        parts = [self.outcome.availability.value]
        if self.body is not None:
            parts += [self.charset, str(self.outcome.complete), self.sha256]
        return sha256(json.dumps(parts).encode()).digest()

    def holds_at(self, moment: float) -> bool:
        """Whether this is what is known of a moment, if no later version begins before it."""
        return self.first <= moment <= max(self.last, self.fresh_until)

    def to_dict(self) -> dict[str, Any]:
        """The version without the file, as plain values, ready for JSON."""
        return {
            "origin": self.origin,
            "first": self.first,
            "last": self.last,
            "fresh_until": self.fresh_until,
            "bytes": None if self.body is None else len(self.body),
            "sha256": self.sha256 or None,
            "charset": self.charset,
            "outcome": self.outcome.to_dict(),
        }


def versions_of(entry: Entry) -> list[Version]:
    """What one cache entry says about the past: one version, or a copy and a site out of reach.

    >>> from manners.retrieval.profiles import get
    >>> from manners.cache.entry import next_entry
    >>> gone = Outcome(Availability.UNAVAILABLE, "404")
    >>> entry = next_entry(None, "https://example.com", gone, b"", get("rfc9309"), 1000.0)
    >>> [(version.first, version.last) for version in versions_of(entry)]
    [(1000.0, 1000.0)]
    """
    outcome, now = entry.outcome, entry.outcome.at
    if outcome.availability is not Availability.UNREACHABLE:
        return [_version(entry, min(entry.fetched_at, now), now)]
    since = now if entry.unreachable_since is None else min(entry.unreachable_since, now)
    unreachable = _version(entry, since, now)
    if entry.body is None or entry.validated_at > since:
        return [unreachable]
    # How the copy was retrieved is not in the entry any more.
    was = Outcome(
        Availability.AVAILABLE,
        profile=outcome.profile,
        url=outcome.url,
        bytes=len(entry.body),
        charset=entry.charset,
        at=entry.validated_at,
    )
    earlier = replace(entry, outcome=was, fresh_until=since)
    return [_version(earlier, min(entry.fetched_at, was.at), was.at), unreachable]


def _version(entry: Entry, first: float, last: float) -> Version:
    outcome = entry.outcome.but(age=0.0, copy=False)
    is_file = outcome.availability is Availability.AVAILABLE
    body, charset = (entry.body, entry.charset) if is_file else (None, "")
    return Version(entry.origin, first, last, entry.fresh_until, outcome, body, charset)


class VersionsAround(NamedTuple):
    """What is known nearest to a moment: the last version that began by then, and the next one."""

    before: Version | None
    after: Version | None


def version_at(versions: Sequence[Version], moment: float) -> Version | None:
    """The version in force at a moment; None if that is not known.

    `versions` are those of one site, oldest first. What was last confirmed counts for as long as
    that confirmation did, unless something else was seen before.

    >>> gone = Outcome(Availability.UNAVAILABLE, "404")
    >>> version = Version("https://example.com", 1000.0, 2000.0, 88_400.0, gone, None)
    >>> version_at([version], 1500.0) is version, version_at([version], 999.0)
    (True, None)
    """
    around = versions_around(versions, moment)
    return around.before if around.before and around.before.holds_at(moment) else None


def versions_around(versions: Sequence[Version], moment: float) -> VersionsAround:
    """The versions before and after a moment.

    >>> versions_around([], 1000.0)
    VersionsAround(before=None, after=None)
    """
    before = [version for version in versions if version.first <= moment]
    after = [version for version in versions if version.first > moment]
    return VersionsAround(before[-1] if before else None, after[0] if after else None)


def merged(*histories: Sequence[Version]) -> list[Version]:
    """The versions of a site by several sources as one history, oldest first.

    >>> gone = Outcome(Availability.UNAVAILABLE, "404")
    >>> one = Version("https://example.com", 1000.0, 2000.0, 2000.0, gone, None)
    >>> [version.last for version in merged([one], [one._replace(first=1500.0, last=3000.0)])]
    [3000.0]
    """
    found: list[Version] = []
    for version in sorted(chain(*histories), key=attrgetter("first")):
        if not found or found[-1].content != version.content:
            found.append(version)
            continue
        earlier = found[-1]
        last = max(earlier.last, version.last)
        until = max(earlier.fresh_until, version.fresh_until)
        found[-1] = earlier._replace(last=last, fresh_until=until)
    return found


def entry_at(versions: Sequence[Version], moment: float) -> Entry | None:
    """The cache entry that a site had at a moment; None if that is not known.

    While a site is unreachable, its entry has the file of the version before: whether that decides
    is up to the profile, as it is for a live site.

    >>> gone = Outcome(Availability.UNAVAILABLE, "404")
    >>> version = Version("https://example.com", 1000.0, 2000.0, 88_400.0, gone, None)
    >>> entry_at([version], 1500.0).outcome.note
    '404'
    """
    version = version_at(versions, moment)
    if version is None:
        return None
    confirmed = min(max(version.last, version.first), moment)
    entry = Entry(
        version.origin,
        version.body,
        version.charset,
        version.outcome,
        fetched_at=version.first,
        validated_at=confirmed,
        fresh_until=max(version.last, version.fresh_until),
    )
    if version.outcome.availability is not Availability.UNREACHABLE:
        return entry
    entry = replace(entry, unreachable_since=version.first)
    before = next((one for one, after in pairwise(versions) if after is version), None)
    if before is None or before.body is None:
        return entry
    return replace(
        entry,
        body=before.body,
        charset=before.charset,
        fetched_at=before.first,
        validated_at=before.last,
    )
