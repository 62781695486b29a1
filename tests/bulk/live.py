"""Records of retrievals, and what a live cache makes of the same replies."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from manners.bulk.records import RobotsRecord, record_batches
from manners.bulk.resolving import State, resolve
from manners.cache.entry import Entry, next_entry
from manners.cache.site import ParsedEntry, Site
from manners.charset import charset_of
from manners.net.messages import Response, Unreachable
from manners.retrieval.flow import retrieve
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.verdict import Reason

HOST = "https://example.com"
ROBOTS = HOST + "/robots.txt"
START = 1_800_000_000.0
BODY = b"User-agent: *\nDisallow: /a\n"
PROFILES = ["rfc9309", "google", "open"]

Reply = Response | Unreachable
Replies = Mapping[str, Reply]
"""What each URL replies."""
_STATES = {
    None: State.AVAILABLE,
    Reason.TOO_LARGE: State.TOO_LARGE,
    Reason.UNAVAILABLE: State.UNAVAILABLE,
    Reason.STALE_COPY: State.STALE_COPY,
    Reason.UNREACHABLE: State.UNREACHABLE,
}


def record(url: str, reply: Reply, at: float | None) -> RobotsRecord:
    """The record of one reply."""
    time = None if at is None else round((START + at) * 1000)
    if isinstance(reply, Unreachable):
        return RobotsRecord(url, fetched_at=time)
    charset = charset_of(reply.headers.get("content-type", "")) or None
    location = reply.headers.get("location")
    return RobotsRecord(url, reply.status, location, charset, reply.complete, time, reply.body)


class Timeline:
    """A site that is asked again and again: its records, and its entry in a live cache."""

    def __init__(self, profile: Profile) -> None:
        self.profile, self.records = profile, list[RobotsRecord]()
        self.entry: Entry | None = None
        self.now = START
        self.is_unknown = False

    def ask(self, at: float, replies: Replies) -> "Timeline":
        """Retrieve the robots.txt once, at a time counted from the start."""
        self.now = START + at
        flow = retrieve(ROBOTS, self.profile)
        get = next(flow)
        while True:
            reply = replies.get(get.url)
            self.is_unknown = reply is None
            if reply is None:
                return self
            self.records.append(record(get.url, reply, at))
            if isinstance(reply, Response) and len(reply.body) > self.profile.max_read:
                reply = reply._replace(body=reply.body[: self.profile.max_read], complete=False)
            try:
                get = flow.send(reply)
            except StopIteration as end:
                outcome, body = end.value
                break
        before, profile = self.entry, self.profile
        self.entry = next_entry(before, HOST, outcome, body, profile, self.now)
        return self

    @property
    def site(self) -> Site:
        """The site as the live cache has it."""
        assert self.entry is not None
        return ParsedEntry(self.entry, dialects.get("rfc9309"), self.profile).at(self.now)

    @property
    def live(self) -> tuple[State, bytes | None]:
        """What decides live, and the body if that is the rules of a file."""
        if self.is_unknown:
            return State.UNKNOWN, None
        state = _STATES[self.site.reason]
        assert self.entry is not None
        return state, self.entry.body if state.has_rules else None

    @property
    def resolved(self) -> tuple[State, bytes | None]:
        """What decides by the records."""
        row = site_of(table(self.records), self.profile)
        return State(row["state"]), row["body"]


def table(records: list[RobotsRecord]) -> pa.Table:
    """Records as a table."""
    return pa.Table.from_batches(record_batches(records))


def site_of(records: pa.Table, profile: Profile, origin: str = HOST) -> dict[str, Any]:
    """The one row of a site."""
    rows = [row for row in resolve(records, profile).to_pylist() if row["origin"] == origin]
    assert len(rows) == 1
    return dict(rows[0])
