"""The versions of a robots.txt: which one held when, and what it decided."""

import asyncio
from dataclasses import replace
from itertools import pairwise

import pytest

from manners.cache.entry import Entry, next_entry
from manners.cache.robots import AsyncRobotsCache
from manners.cache.site import ParsedEntry
from manners.cache.versions import (
    Version,
    entry_at,
    merged,
    version_at,
    versions_around,
    versions_of,
)
from manners.net.messages import Response
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome
from manners.robots import dialects
from manners.testing import Clock
from tests.cache.steps import DAY, FILE, START
from tests.cache.test_robots_cache import Script
from tests.contracts.entries import entry

SITE = "https://a.example"
URL = f"{SITE}/a"
FOUND = Outcome(Availability.AVAILABLE, "200", bytes=1)
GONE = Outcome(Availability.UNAVAILABLE, "404")
AWAY = Outcome(Availability.UNREACHABLE, "503")
CLOSED, OPEN = b"User-agent: *\nDisallow: /", b""


def version(first: float, last: float, body: bytes | None, outcome: Outcome = FOUND) -> Version:
    """A version, whose last confirmation counts for ten seconds."""
    return Version(SITE, first, last, last + 10, outcome, body)


HISTORY = [
    version(100, 200, CLOSED),
    version(205, 300, OPEN),
    version(400, 450, None, GONE),
    version(455, 500, None, AWAY),
]


@pytest.mark.parametrize(
    ("moment", "place"),
    [
        (99.9, None),
        (100, 0),
        (150, 0),
        (200, 0),
        (204.9, 0),  # still counted
        (205, 1),  # although the one before would have counted on
        (310, 1),
        (310.1, None),
        (399, None),
        (400, 2),
        (454, 2),
        (510, 3),
        (510.1, None),
    ],
)
def test_a_version_holds_from_when_it_was_seen_until_it_counts_no_more(
    moment: float, place: int | None
) -> None:
    """Before the first, after the last has expired, and in gaps, nothing is known."""
    assert version_at(HISTORY, moment) is (None if place is None else HISTORY[place])


def test_what_is_known_around_a_moment_is_found() -> None:
    """Whoever asks about a gap is told what is before and after it."""
    assert versions_around(HISTORY, 350) == (HISTORY[1], HISTORY[2])
    assert versions_around(HISTORY, 99) == (None, HISTORY[0])
    assert versions_around(HISTORY, 9999) == (HISTORY[3], None)
    assert versions_around([], 0) == (None, None)


def test_versions_differ_by_what_the_site_says() -> None:
    """Bytes, charset, availability and whether it is all of it count; status and headers do not."""
    one = version(100, 200, b"a")
    assert one.content == version(1, 2, b"a").content
    assert (
        one.content == one._replace(outcome=FOUND.but(note="206", headers=(("age", "1"),))).content
    )
    gone = version(1, 2, None, GONE)
    assert gone.content == gone._replace(outcome=GONE.but(note="410"), charset="latin-1").content
    different = {
        one.content,
        gone.content,
        version(1, 2, None, AWAY).content,
        version(1, 2, b"b").content,
        version(1, 2, b"").content,
        one._replace(charset="utf-16").content,
        one._replace(outcome=FOUND.but(complete=False)).content,
    }
    assert len(different) == 7


def test_several_sources_make_one_history() -> None:
    """What both saw is one version, what one saw alone is in its place, whoever is named first."""
    mine = [version(100, 200, CLOSED), version(400, 450, OPEN)]
    theirs = [version(150, 250, CLOSED), version(300, 310, None, GONE), version(420, 500, OPEN)]
    for found in (merged(mine, theirs), merged(theirs, mine)):
        assert [(each.first, each.last, each.fresh_until, each.body) for each in found] == [
            (100, 250, 260, CLOSED),
            (300, 310, 320, None),
            (400, 500, 510, OPEN),
        ]
    assert merged() == merged([], []) == []


def answer(moment: float, history: list[Version], profile: str = "rfc9309") -> str | None:
    """The reason of the verdict that held at a time, and the verdict."""
    at = entry_at(history, moment)
    if at is None:
        return None
    parsed = ParsedEntry(at, dialects.get("rfc9309"), profiles.get(profile))
    verdict = parsed.at(moment).check(URL, "MyBot")
    return f"{'allowed' if verdict else 'disallowed'}: {verdict.reason}"


def test_what_held_then_is_decided_as_it_was_then() -> None:
    """A file decides; none allows; a site out of reach is up to the profile."""
    assert answer(150, HISTORY) == "disallowed: rule-matched"
    assert answer(250, HISTORY) == "allowed: no-group"
    assert answer(420, HISTORY) == "allowed: unavailable"
    assert answer(460, HISTORY) == "disallowed: unreachable"
    assert answer(460, HISTORY, "open") == "allowed: unreachable"
    assert answer(350, HISTORY) is None


def steps(profile: str) -> tuple[list[Entry], list[Version]]:
    """A site that has a file, and then cannot be reached for 40 days: its entries and versions."""
    rules = profiles.get(profile)
    now, entries = START, [next_entry(None, SITE, FOUND, CLOSED, rules, START)]
    while now < START + 40 * DAY:
        now = max(entries[-1].fresh_until, now + DAY / 4)
        entries.append(next_entry(entries[-1], SITE, AWAY, b"", rules, now))
    first, last = versions_of(entries[0])[0], versions_of(entries[-1])[-1]
    return entries, [first, last]


@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
def test_a_site_out_of_reach_is_decided_as_the_cache_did(profile: str) -> None:
    """At each moment the history gives the verdict that the entry of that moment gave."""
    entries, history = steps(profile)
    for each, later in pairwise(entries):
        moment = (each.outcome.at + min(each.fresh_until, later.outcome.at)) / 2
        live = ParsedEntry(each, dialects.get("rfc9309"), profiles.get(profile))
        then = entry_at(history, moment)
        assert then is not None
        again = ParsedEntry(then, dialects.get("rfc9309"), profiles.get(profile))
        expected, found = (one.at(moment).check(URL, "MyBot") for one in (live, again))
        assert (found.allowed, found.reason) == (expected.allowed, expected.reason)


def test_an_entry_says_what_came_before_it() -> None:
    """The entry of a site out of reach has a copy: both are history."""
    entries, _ = steps("rfc9309")
    away = entries[-1]
    copy, now = versions_of(away)
    assert (copy.first, copy.last, copy.body) == (START, START, CLOSED)
    assert (now.first, now.last, now.body) == (away.unreachable_since, away.outcome.at, None)
    assert version_at([copy, now], START) is copy
    confirmed = replace(entry(SITE), validated_at=START + 9, outcome=FOUND.but(at=START + 9))
    assert [(each.first, each.last) for each in versions_of(confirmed)] == [(START, START + 9)]


async def history_of(cache: AsyncRobotsCache, clock: Clock) -> list[bytes | None]:
    """What is known of a site after three questions, two days apart."""
    async with cache:
        assert await cache.history(URL) == []
        for _ in range(3):
            await cache.get(URL)
            clock.now += 2 * DAY
        return [each.body for each in await cache.history(URL)]


@pytest.mark.parametrize("store", [":memory:", None])
def test_a_cache_tells_what_a_site_said(store: str | None) -> None:
    """With a file behind it, all of it, and at once; without one, the latest."""
    changed = Response(200, {}, b"User-agent: *\nDisallow: /new")
    clock, script = Clock(START), Script(FILE, FILE, changed)
    cache = AsyncRobotsCache(http=script, clock=clock, store=store)
    expected = [FILE.body, changed.body] if store else [changed.body]
    assert asyncio.run(history_of(cache, clock)) == expected
