"""What is reported after a look at a site, given what was reported before."""

import json
from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from manners.cache.entry import Entry, next_entry
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.retrieval.profiles import get
from manners.watch.deciding import MAX_BODY, Event, body_of, decide
from manners.watch.sight import Known

SITE = "https://shop.example"
AWAY = None
"""A site that cannot be reached."""
NONE = b"(none)"
"""A site without a robots.txt."""

Look = bytes | None


def entry_of(look: Look, before: Entry | None, now: float, **headers: str) -> Entry:
    """The entry after a look, made as the cache makes it."""
    pairs = tuple((name.replace("_", "-"), text) for name, text in headers.items())
    if look is AWAY:
        outcome = Outcome(Availability.UNREACHABLE, "timeout", headers=pairs)
    elif look == NONE:
        outcome = Outcome(Availability.UNAVAILABLE, "404", hops=(RobotsHop(SITE, 404),))
    else:
        outcome = Outcome(Availability.AVAILABLE, "200", hops=(RobotsHop(SITE, 200),))
    body = look if look is not None and look != NONE else b""
    return next_entry(before, SITE, outcome, body, get("rfc9309"), now)


def events_of(looks: Sequence[Look], *, killed: frozenset[int] = frozenset()) -> list[Event]:
    """The events of a row of looks, an hour apart.

    After each of the looks in `killed`, the entry is kept and what is known is lost, as when a
    process is killed in between; the next process looks at the same file again.
    """
    known: Known | None = None
    entry: Entry | None = None
    events = []
    for hour, look in enumerate(looks):
        now = 1000.0 + 3600 * hour
        if hour in killed:
            entry = entry_of(look, entry, now)
            decide(SITE, known, entry, now)
            now += 60
        entry = entry_of(look, entry, now)
        known, event = decide(SITE, known, entry, now)
        if event is not None:
            events.append(event)
    return events


def expected(looks: Sequence[Look]) -> list[str]:
    """What has to be reported, said in another way: by going through the looks in words."""
    kinds, last, is_away = [], None, False
    for look in looks:
        if look is AWAY:
            kinds += [] if is_away else ["unreachable"]
        elif last is None:
            kinds.append("watching")
        elif look != last:
            kinds.append("changed")
        elif is_away:
            kinds.append("back")
        last, is_away = (last, True) if look is AWAY else (look, False)
    return kinds


LOOKS = st.lists(st.sampled_from([AWAY, NONE, b"a", b"b", b"<html>"]), max_size=12)


@given(LOOKS)
def test_a_row_of_looks_is_reported_as_it_should_be(looks: list[Look]) -> None:
    """First sight, changes of bytes, out of reach once, and back once."""
    assert [event.kind for event in events_of(looks)] == expected(looks)


@given(LOOKS, st.frozensets(st.integers(0, 11)))
def test_what_is_lost_is_found_again_as_the_same_event(
    looks: list[Look], killed: frozenset[int]
) -> None:
    """A watch that is killed before it wrote what it knows reports the same events later."""
    events, again = events_of(looks), events_of(looks, killed=killed)
    assert [event.kind for event in again] == [event.kind for event in events]
    if not killed & {0}:  # the beginning of the watch is a part of every identity
        assert [event.identity for event in again] == [event.identity for event in events]


@given(LOOKS)
def test_no_two_events_have_one_identity(looks: list[Look]) -> None:
    """A file that changes there and back gives different events."""
    events = events_of(looks)
    assert len({event.identity for event in events}) == len(events)
    assert [event.number for event in events] == list(range(1, len(events) + 1))


@given(LOOKS)
def test_every_event_has_something_to_say(looks: list[Look]) -> None:
    """Each has a sentence that names the robots.txt, and plain values."""
    for event in events_of(looks):
        assert f"{SITE}/robots.txt" in event.sentences()[0]
        assert json.loads(body_of(event, None, []))["event"] == event.kind


def test_each_kind_of_change_has_its_sentence() -> None:
    """A file that goes, comes, or becomes a web page says what that means."""
    html = b"<!doctype html><title>Not found</title>"
    looks: list[Look] = [b"User-agent: *", NONE, b"User-agent: *", html, AWAY, html, AWAY, b"a"]
    known, entry, lines = None, None, []
    for hour, look in enumerate(looks):
        now = 3600.0 * hour
        entry = entry_of(look, entry, now)
        if look == html:
            entry = entry_of(look, entry, now)
            note = entry.outcome.but(note="200, looks like HTML")
            entry = next_entry(entry, SITE, note, html, get("rfc9309"), now)
        known, event = decide(SITE, known, entry, now)
        assert event is not None
        lines.append(" ".join(event.sentences()))
    url = f"{SITE}/robots.txt"
    assert lines == [
        f"Watching {url}: 13 bytes.",
        f"{url} is gone (404): everything is allowed now. It had 13 bytes.",
        f"{url} is there now, 13 bytes. There was none (404), and everything was allowed.",
        f"{url} is a web page (HTML) now, and no robots.txt: what it disallowed is allowed,"
        " unless a line of the page happens to be a rule. It had 13 bytes.",
        f"{url} cannot be reached: timeout.",
        f"{url} can be reached again, after 1 h, and is the same.",
        f"{url} cannot be reached: timeout.",
        f"{url} can be reached again, after 1 h. {url} changed: 39 bytes, a web page (HTML) before,"
        " 1 byte now.",
    ]


def test_a_pause_that_a_site_asks_for_is_known() -> None:
    """Retry-After of a site that cannot serve counts until the next look; else there is none."""
    known, _ = decide(SITE, None, entry_of(AWAY, None, 100.0, retry_after="7200"), 100.0)
    assert known.not_before == 7300.0
    known, _ = decide(SITE, known, entry_of(AWAY, None, 7400.0), 7400.0)
    assert known.not_before == 0.0


def test_a_very_large_event_is_cut() -> None:
    """Whatever a file says, an event has a size that receivers accept, and is JSON."""
    (event,) = events_of([b"a"])
    impact = {"changes": ["x" * 1000] * 1000}
    text = body_of(event, impact, ["word " * 100] * 1000)
    assert len(text) < MAX_BODY
    values = json.loads(text)
    assert (values["impact"], values["is_cut"], values["id"]) == (None, True, event.identity)


def test_what_a_site_says_is_escaped() -> None:
    """The cause of a failure may hold anything, and ends up on screens."""
    outcome = Outcome(Availability.UNREACHABLE, "\x1b[2J503")
    entry = next_entry(None, SITE, outcome, b"", get("rfc9309"), 0.0)
    _, event = decide(SITE, None, entry, 0.0)
    assert event is not None
    assert "\x1b" not in "".join(event.sentences())
    assert body_of(event, None, []).isascii()
