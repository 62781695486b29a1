"""The versions of a site's robots.txt, as far as records and snapshots of evidence tell."""

import hashlib
import math
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

import msgspec
from sqlalchemy import Connection, select

from manners.cache.versions import MAX_BYTES, MAX_VERSIONS, Version
from manners.errors import StoreError
from manners.evidence.queries import snapshot_body, streamed
from manners.evidence.tables import evidence
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.urls import host, robots_url

_IN_MEMORY = 20_000
"""Sightings after which those that only confirm others are dropped."""


class _RecordedOutcome(msgspec.Struct, frozen=True):
    """What a record says of the retrieval."""

    availability: Availability
    url: str
    at: datetime
    age: float = 0.0
    note: str = ""
    status: int | None = None
    charset: str = ""
    complete: bool = True
    copy: bool = False


class _RecordedGrounds(msgspec.Struct, frozen=True):
    """The part of a record that says what a site's robots.txt was."""

    outcome: _RecordedOutcome | None = None
    snapshot: str | None = None
    profile: str = ""


class _Content(NamedTuple):
    """What a site said."""

    availability: Availability
    snapshot: str | None = None
    charset: str = ""
    complete: bool = True


class _Sighting(NamedTuple):
    """What a site said at a time."""

    at: float
    content: _Content
    until: float
    """When it decided for the last time."""
    outcome: Outcome


def site_history(connection: Connection, place: str, origin: str) -> list[Version]:
    """The versions of a site, oldest first; of all its records only what differs is in memory."""
    sightings: dict[tuple[float, _Content], _Sighting] = {}
    for sighting in _sightings(connection, origin):
        key = sighting.at, sighting.content
        known = sightings.get(key)
        if known is not None:
            sighting = known._replace(until=max(known.until, sighting.until))
        sightings[key] = sighting
        if len(sightings) >= _IN_MEMORY:
            runs = _runs(sightings.values())
            ends = [end for run in runs for end in dict.fromkeys((run[0], run[-1]))]
            sightings = {(end.at, end.content): end for end in ends}
    return _versions(connection, place, origin, _runs(sightings.values()))


def _runs(sightings: Iterable[_Sighting]) -> list[list[_Sighting]]:
    """The sightings in the order of time, one list for each version; the latest of them."""
    in_order = sorted(sightings, key=attrgetter("at"))
    found = [list(run) for _, run in groupby(in_order, key=attrgetter("content"))]
    return found[-MAX_VERSIONS:]


def _sightings(connection: Connection, origin: str) -> Iterator[_Sighting]:
    read = msgspec.json.Decoder(_RecordedGrounds).decode
    wanted = robots_url(origin)
    query = select(evidence.c.at, evidence.c.metadata).where(evidence.c.host == host(origin))
    with streamed(connection, query.order_by(evidence.c.at)) as rows:
        for row in rows:
            try:
                grounds = read(row.metadata)
                outcome = grounds.outcome
                if outcome is not None and outcome.url == wanted:
                    yield from _seen(outcome, grounds, row.at / 1000)
            except (msgspec.MsgspecError, ValueError, TypeError, OverflowError, OSError):
                continue  # somebody changed it, which `evidence verify` tells


def _seen(
    outcome: _RecordedOutcome, grounds: _RecordedGrounds, until: float
) -> Iterator[_Sighting]:
    """What one record says: the reply, and the earlier copy if that decided."""
    hops = () if outcome.status is None else (RobotsHop(outcome.url, outcome.status),)
    at, availability = outcome.at.timestamp(), outcome.availability
    result = Outcome(
        availability,
        outcome.note,
        grounds.profile,
        outcome.url,
        hops,
        at=at,
        complete=outcome.complete,
    )
    content = _Content(availability)
    is_file = availability is Availability.AVAILABLE
    file = _Content(
        Availability.AVAILABLE, grounds.snapshot, outcome.charset, outcome.complete or not is_file
    )
    if is_file:
        content, result = file, result.but(charset=outcome.charset)
    elif grounds.snapshot is not None and outcome.copy:
        seen = min(until - outcome.age, at)
        was = Outcome(Availability.AVAILABLE, "", grounds.profile, outcome.url, at=seen)
        yield _Sighting(seen, file, seen, was.but(charset=outcome.charset))
    yield _Sighting(at, content, max(until, at), result)


def _versions(
    connection: Connection, place: str, origin: str, runs: Sequence[Sequence[_Sighting]]
) -> list[Version]:
    """The versions with their files, from the latest back, as far as there is room."""
    found: list[Version] = []
    bodies: dict[str | None, bytes | None] = {}
    total, end = 0, math.inf
    for run in reversed(runs):
        content, first, last = run[0].content, run[0].at, run[-1].at
        until = min(max(sighting.until for sighting in run), end)
        body, end = None, first
        if content.availability is Availability.AVAILABLE:
            if content.snapshot not in bodies:
                bodies[content.snapshot] = _body(connection, place, content.snapshot)
            body = bodies[content.snapshot]
            if body is None:  # it was pruned: what the site said then is not known any more
                continue
            total += len(body)
            if total > MAX_BYTES and found:
                break
        outcome = run[0].outcome.but(bytes=len(body or b""))
        found.append(Version(origin, first, last, until, outcome, body, content.charset))
    return found[::-1]


def _body(connection: Connection, place: str, sha256: str | None) -> bytes | None:
    body = None if sha256 is None else snapshot_body(connection, sha256)
    if body is not None and hashlib.sha256(body).hexdigest() != sha256:
        raise StoreError(
            place, f"the robots.txt {sha256} was changed after it was stored: see `evidence verify`"
        )
    return body
