"""Which robots.txt applies to each site of an archive: the records of a table, put together.

The same rules as for a live site: the replies among the records are played to
`retrieval.flow.retrieve`, and an unreachable site may use an earlier copy as `cache.entry` allows.
Python looks only at sites that need it: redirects, and sites that are unreachable after earlier
records.
"""

from collections.abc import Iterator
from dataclasses import replace
from enum import IntEnum
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manners.bulk.records import RECORDS, TIME, normalise
from manners.cache.entry import Entry
from manners.net.messages import Response
from manners.retrieval.flow import retrieve
from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile
from manners.urls import host, redirect_target

SITES = pa.schema(
    [
        ("origin", pa.string()),
        ("state", pa.uint8()),  # a State
        ("charset", pa.string()),
        ("complete", pa.bool_()),
        ("fetched_at", TIME),  # of the last reply: of the body, where there is one
        ("body", pa.binary()),  # null where no rules decide
    ]
)
"""The columns of resolved sites: one row for each origin."""


class State(IntEnum):
    """What decides about the URLs of a site.

    >>> State.STALE_COPY.has_rules
    True
    """

    AVAILABLE = 0
    UNAVAILABLE = 1
    UNREACHABLE = 2
    STALE_COPY = 3
    """The rules of an earlier copy, because the site is unreachable."""
    TOO_LARGE = 4
    UNKNOWN = 5
    """A redirect whose target is not among the records: no verdict."""

    @property
    def has_rules(self) -> bool:
        """Whether the rules of a file decide."""
        return self in (State.AVAILABLE, State.STALE_COPY)


def resolve(records: pa.Table, profile: Profile) -> pa.Table:
    """One row for each site: the file that applies, or what is true instead.

    The latest record of `origin/robots.txt` counts; without a time, a record is older than any
    with one, and the last of several counts.

    >>> from manners.retrieval.profiles import get
    >>> table = normalise(pa.table({"origin": ["https://a.example"], "body": ["User-agent: *"]}))
    >>> resolve(table, get("rfc9309"))["state"].to_pylist()
    [0]
    """
    if records.schema != RECORDS:
        records = normalise(records)
    if not records.num_rows:
        return SITES.empty_table()
    if _is_plain(records, profile):
        state = pa.chunked_array([pa.repeat(pa.scalar(0, pa.uint8()), records.num_rows)])
        columns = [records[name] for name in ("charset", "complete", "fetched_at", "body")]
        return pa.table([records["origin"], state, *columns], schema=SITES)
    return _assembled(records, _Resolver(records, profile).sites(), profile)


def missing_targets(records: pa.Table, profile: Profile) -> list[str]:
    """The URLs that redirects lead to and that no record has.

    >>> from manners.retrieval.profiles import get
    >>> moved = {"origin": ["http://a.example"], "body": [None], "status": [301]}
    >>> table = normalise(pa.table({**moved, "location": ["https://a.example/robots.txt"]}))
    >>> missing_targets(table, get("rfc9309"))
    ['https://a.example/robots.txt']
    """
    if records.schema != RECORDS:
        records = normalise(records)
    if not records.num_rows:
        return []
    resolver = _Resolver(records, profile)
    resolver.sites()
    return sorted(resolver.missing)


def _is_plain(records: pa.Table, profile: Profile) -> bool:
    """Whether each row is the file of a site of its own."""
    if records["status"].null_count or records["body"].null_count:
        return False
    statuses = pc.min_max(records["status"]).as_py()
    if records.num_rows and not 200 <= statuses["min"] <= statuses["max"] < 300:
        return False
    if (pc.max(pc.binary_length(records["body"])).as_py() or 0) > profile.max_read:
        return False
    if profile.too_large == "allow" and not pc.all(records["complete"]).as_py():
        return False
    if not pc.all(_is_robots_txt(records)).as_py():
        return False
    return bool(pc.count_distinct(records["origin"]).as_py() == records.num_rows)


def _is_robots_txt(records: pa.Table) -> pa.ChunkedArray:
    own = pc.binary_join_element_wise(records["origin"], "/robots.txt", "")
    return pc.equal(own, records["url"])


# What a status means.

_REDIRECT = 255
_BY_AVAILABILITY = {
    Availability.AVAILABLE: State.AVAILABLE,
    Availability.UNAVAILABLE: State.UNAVAILABLE,
    Availability.UNREACHABLE: State.UNREACHABLE,
}
_PLAIN_TARGET = r"^https?://[a-z0-9._-]{1,253}/robots\.txt$"  # nothing to join or to escape
_FAILED = Outcome(Availability.UNREACHABLE)


class _Where(IntEnum):
    """Where a reply leads to: all that a retrieval looks at in a redirect."""

    NOWHERE = 0
    BACK = 1  # to a URL that was asked for before
    SAME_HOST = 2
    OTHER_HOST = 3


Step = tuple[int, _Where]
"""A reply: its status (0: no answer), and where it leads to."""
_HOST = "https://a.example"


def _state_after(steps: tuple[Step, ...], profile: Profile) -> State | None:
    """The state after some replies, played to a live retrieval; None if it goes on."""
    flow = retrieve(f"{_HOST}/robots.txt", profile)
    next(flow)
    for number, (status, where) in enumerate(steps):
        location = ("", f"{_HOST}/robots.txt", f"{_HOST}/{number}", f"https://b.example/{number}")
        try:
            flow.send(Response(status, {"location": location[where]}))
        except StopIteration as end:
            return _BY_AVAILABILITY[end.value[0].availability]
    flow.close()
    return None


@lru_cache(maxsize=16)
def _states(profile: Profile) -> Any:
    """The state for each status from 0 to 999; `_REDIRECT` where it depends on the Location."""
    states = np.empty(1000, np.uint8)
    for status in range(1000):
        possible = {_state_after(((status, where),), profile) for where in _Where}
        state = possible.pop()
        states[status] = _REDIRECT if possible or state is None else state
    return states


# Sites that need a closer look.


class Resolved(NamedTuple):
    """The sites of a table as numbers of its rows, one for each site."""

    roots: Any
    """The latest record of each /robots.txt."""
    lasts: Any
    """The record that has the body, or else the last reply."""
    states: Any


class _Chain(NamedTuple):
    """A retrieval, played from records."""

    state: State
    last: int
    """The row of the last reply."""
    since: int
    """When all of its records were there, in milliseconds; -1 where that is not known."""


_NO_RECORD = _Chain(State.UNKNOWN, -1, -1)


class _Redirect(NamedTuple):
    url: str
    target: str
    """Empty if it leads nowhere."""
    number: int
    """The number of the target's URL; -1 if no record has it."""


class _Resolver:
    """The records by URL and time."""

    def __init__(self, records: pa.Table, profile: Profile) -> None:
        self.records, self.profile = records, profile
        self.missing: set[str] = set()
        """URLs that redirects lead to and that no record has."""
        encoded = records["url"].dictionary_encode().unify_dictionaries().chunks
        self.urls = encoded[0].dictionary
        self.numbers = np.concatenate([chunk.indices.to_numpy() for chunk in encoded])
        self.times = pc.fill_null(records["fetched_at"].cast(pa.int64()), -1).to_numpy()
        # By URL and time, and with equal times as in the table.
        self.order = np.lexsort((self.times, self.numbers))
        self.ends = np.cumsum(np.bincount(self.numbers, minlength=len(self.urls)))
        self.status = np.clip(pc.fill_null(records["status"], 0).to_numpy(), 0, 999)
        self.states = self._row_states()
        self.redirects = self._redirects()
        self._known: dict[tuple[Step, ...], State | None] = {}

    def sites(self) -> Resolved:
        """The state of each site, in the order of the latest records."""
        latest = self.order[self.ends - 1]
        roots = np.sort(latest[_is_robots_txt(self.records).to_numpy()[latest]])
        lasts, states = roots.copy(), self.states[roots]
        slow = states == _REDIRECT
        if self.profile.stale_for:
            records = np.diff(self.ends, prepend=0)[self.numbers[roots]]
            slow |= (states == State.UNREACHABLE) & (records > 1)
        for place in np.flatnonzero(slow).tolist():
            states[place], lasts[place] = self._site(int(self.numbers[roots[place]]))
        return Resolved(roots, lasts, states)

    def _site(self, url: int) -> tuple[State, int]:
        """The state of one site, and the row that decides it."""
        chain = self._chain(url, None) or _NO_RECORD
        if chain.state is State.UNREACHABLE:
            copy = self._usable_copy(url, chain.since)
            if copy is not None:
                return State.STALE_COPY, copy
        return chain.state, chain.last

    def _chain(self, url: int, before: int | None) -> _Chain | None:
        """The retrieval of a URL with the latest records before a time; None without any."""
        row = self._latest(url, before)
        if row is None:
            return None
        if row not in self.redirects:
            return _Chain(State(self.states[row]), row, int(self.times[row]))
        first, rows, numbers = self.redirects[row].url, [row], {url}
        steps: tuple[Step, ...] = ()
        while True:
            redirect = self.redirects.get(rows[-1])
            where = self._where(redirect, first, numbers) if redirect else _Where.NOWHERE
            steps += ((int(self.status[rows[-1]]), where),)
            state = self._state_after(steps)
            if state is not None or redirect is None:
                break
            if redirect.number < 0:
                self.missing.add(redirect.target)
            row = self._latest(redirect.number, before)
            if row is None:
                break
            rows.append(row)
            numbers.add(redirect.number)
        if state is State.AVAILABLE:  # or too large
            state = State(self.states[rows[-1]])
        times = self.times[rows].tolist()
        since = max(times) if min(times) >= 0 else -1
        return _Chain(State.UNKNOWN if state is None else state, rows[-1], since)

    def _where(self, redirect: _Redirect, first: str, numbers: set[int]) -> _Where:
        if not redirect.target:
            return _Where.NOWHERE
        if redirect.number in numbers:
            return _Where.BACK
        if self.profile.redirects_leave_host or host(redirect.target) == host(first):
            return _Where.SAME_HOST  # or it does not matter
        return _Where.OTHER_HOST

    def _state_after(self, steps: tuple[Step, ...]) -> State | None:
        if steps not in self._known:
            self._known[steps] = _state_after(steps, self.profile)
        return self._known[steps]

    def _usable_copy(self, url: int, now: int) -> int | None:
        """The row of an earlier copy that may be used while the site is unreachable.

        Goes back in time from one change to the one before. Without times, no copy can be used.
        """
        since = before = now
        oldest = now - self.profile.stale_for * 1000
        while before >= max(oldest, 0):
            chain = self._chain(url, before)
            if chain is None or chain.since < 0:
                return None
            if chain.state in (State.AVAILABLE, State.TOO_LARGE):
                validated = self.times[chain.last] / 1000
                entry = Entry("", b"", "", _FAILED, validated, validated, 0.0)
                entry = replace(entry, unreachable_since=since / 1000)
                return chain.last if entry.has_usable_copy(self.profile, now / 1000) else None
            if chain.state is State.UNAVAILABLE:
                return None
            if chain.state is State.UNREACHABLE:
                since = chain.since
            before = chain.since
        return None

    def _latest(self, url: int, before: int | None) -> int | None:
        """The row of the latest record of a URL, before a time if one is given."""
        if url < 0:
            return None
        begin, end = int(self.ends[url - 1]) if url else 0, int(self.ends[url])
        if before is not None:
            times = self.times[self.order[begin:end]]
            end = begin + int(np.searchsorted(times, before, "left"))
        return int(self.order[end - 1]) if end > begin else None

    def _row_states(self) -> Any:
        """The state that follows from each row alone."""
        records, profile = self.records, self.profile
        states = _states(profile)[self.status]
        files = states == State.AVAILABLE
        absent = records["body"].is_null().to_numpy()
        states[files & absent] = State.UNKNOWN
        if profile.too_large == "allow":
            partial = pc.invert(_complete(records, profile)).to_numpy()
            states[files & ~absent & partial] = State.TOO_LARGE
        return states

    def _redirects(self) -> dict[int, _Redirect]:
        """The rows that are redirects."""
        rows = np.flatnonzero(self.states == _REDIRECT)
        moved = self.records.select(["url", "location"]).take(pa.array(rows))
        urls, targets = moved["url"].to_pylist(), moved["location"].to_pylist()
        plain = pc.match_substring_regex(moved["location"], _PLAIN_TARGET)
        for number in np.flatnonzero(~pc.fill_null(plain, False).to_numpy()).tolist():
            targets[number] = redirect_target(urls[number], targets[number] or "")[0]
        numbers = pc.index_in(pa.array(targets, pa.string()), self.urls)
        redirects = map(_Redirect, urls, targets, pc.fill_null(numbers, -1).to_pylist())
        return dict(zip(rows.tolist(), redirects, strict=True))


# The result.

_SHARED = 4_096
"""Bytes of a body from which on it is not copied for each of the sites that redirect to it."""


def _complete(records: pa.Table, profile: Profile) -> pa.ChunkedArray:
    """Whether each body is complete, and not larger than what is read of it."""
    fits = pc.less_equal(pc.binary_length(records["body"]), profile.max_read)
    return pc.and_(pc.fill_null(records["complete"], True), pc.fill_null(fits, True))


def _assembled(records: pa.Table, sites: Resolved, profile: Profile) -> pa.Table:
    """The table of sites: first those with their own records, then those with another's."""
    rules = np.isin(sites.states, (State.AVAILABLE, State.STALE_COPY))
    sizes = pc.fill_null(pc.binary_length(records["body"]), 0).to_numpy()[sites.lasts]
    is_own = sites.lasts == sites.roots
    is_large = rules & ~is_own & (sizes > _SHARED)
    order = np.lexsort((sites.lasts, is_large, ~is_own))
    sites = Resolved(*(numbers[order] for numbers in sites))
    rules, is_own, is_large = rules[order], is_own[order], is_large[order]
    bodies = _Bodies(records["body"], profile.max_read)
    chunks: list[pa.Array] = []
    for part in (is_own, ~is_own & ~is_large):
        chunks += bodies.copied(sites.lasts[part], rules[part])
    chunks += map(bodies.shared, sites.lasts[is_large].tolist())
    lasts = pa.array(sites.lasts)
    described = records.select(["charset", "fetched_at"]).take(lasts)
    return pa.table(
        [
            records["origin"].take(pa.array(sites.roots)),
            pa.array(sites.states, pa.uint8()),
            described["charset"],
            _complete(records, profile).take(lasts),
            described["fetched_at"],
            pa.chunked_array(chunks, pa.binary()),
        ],
        schema=SITES,
    )


class _Bodies:
    """The bodies of a table, chunk by chunk: together they may be larger than one array."""

    def __init__(self, column: pa.ChunkedArray, limit: int) -> None:
        self._chunks = [
            pc.binary_slice(chunk, 0, limit) if _longest(chunk) > limit else chunk
            for chunk in column.chunks
        ]
        self._starts = np.cumsum([0, *(len(chunk) for chunk in column.chunks)])

    def copied(self, rows: Any, wanted: Any) -> Iterator[pa.Array]:
        """The bodies of rows in ascending order; null where they are not wanted."""
        for chunk, begin, end in zip(self._chunks, self._starts, self._starts[1:], strict=False):
            first, last = np.searchsorted(rows, (begin, end))
            numbers, absent = rows[first:last] - begin, ~wanted[first:last]
            is_all = len(numbers) == len(chunk) and not absent.any()
            if is_all and (numbers == np.arange(len(chunk))).all():
                yield chunk
            elif len(numbers):
                yield chunk.take(pa.array(numbers, pa.int64(), mask=absent))

    def shared(self, row: int) -> pa.Array:
        """The body of one row, in the memory where it is."""
        number = int(np.searchsorted(self._starts, row, "right")) - 1
        return self._chunks[number].slice(row - int(self._starts[number]), 1)


def _longest(bodies: pa.Array) -> int:
    return pc.max(pc.binary_length(bodies)).as_py() or 0
