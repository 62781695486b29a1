"""Records decide as the same replies decide live: semantics part B."""

import random
from itertools import pairwise, product

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.bulk.records import MAX_BODY, RECORDS, RobotsRecord
from manners.bulk.resolving import SITES, State, missing_targets, resolve
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from tests.bulk.live import (
    BODY,
    HOST,
    PROFILES,
    ROBOTS,
    START,
    Reply,
    Timeline,
    record,
    site_of,
    table,
)

HOUR, DAY = 3600.0, 86_400.0
FILE, GONE, DOWN, TIMEOUT = Response(200, {}, BODY), Response(404), Response(503), Unreachable("x")
REPLIES: list[Reply] = [FILE, GONE, DOWN, TIMEOUT]
OTHER = "https://other.example"
every_profile = pytest.mark.parametrize("profile", PROFILES)


def moved(location: str, status: int = 301) -> Response:
    return Response(status, {"location": location})


def asked(profile: str, *steps: tuple[float, dict[str, Reply]]) -> Timeline:
    timeline = Timeline(profiles.get(profile))
    for at, replies in steps:
        timeline.ask(at, replies)
    return timeline


def agreed(timeline: Timeline) -> State:
    """The state that both the live cache and the records have."""
    assert timeline.resolved == timeline.live
    return timeline.resolved[0]


# One retrieval.


@every_profile
def test_every_status_decides_as_it_does_live(profile: str) -> None:
    """Each status from 100 to 699, with a body and without a Location, is what it is live."""
    states = {
        status: agreed(asked(profile, (0, {ROBOTS: Response(status, {}, BODY)})))
        for status in range(100, 700)
    }
    assert states[206] is State.AVAILABLE
    assert states[404] is State.UNAVAILABLE
    assert states[429] is states[503] is states[304] is states[301] is State.UNREACHABLE


@every_profile
def test_no_answer_is_unreachable(profile: str) -> None:
    """A record without a status is a site that did not answer."""
    assert agreed(asked(profile, (0, {ROBOTS: TIMEOUT}))) is State.UNREACHABLE


@every_profile
@pytest.mark.parametrize("hops", range(8))
@pytest.mark.parametrize("end", [FILE, GONE, DOWN, TIMEOUT, moved("")], ids=str)
def test_chains_of_redirects_end_as_they_do_live(profile: str, hops: int, end: Reply) -> None:
    """So many redirects, of every status there is, and then any end."""
    statuses = [301, 302, 303, 307, 308, 300, 399]
    urls = [ROBOTS, *(f"{HOST}/{number}" for number in range(hops))]
    replies: dict[str, Reply] = {
        url: moved(target, statuses[number]) for number, (url, target) in enumerate(pairwise(urls))
    }
    agreed(asked(profile, (0, {**replies, urls[-1]: end})))


@every_profile
@pytest.mark.parametrize("back", range(4))
def test_a_loop_is_unavailable(profile: str, back: int) -> None:
    """A redirect to any URL of the chain before it ends as it does live."""
    urls = [ROBOTS, f"{HOST}/1", f"{HOST}/2", f"{HOST}/3"]
    replies: dict[str, Reply] = {
        url: moved(target) for url, target in zip(urls, [*urls[1:], urls[back]], strict=True)
    }
    assert agreed(asked(profile, (0, replies))) is State.UNAVAILABLE


@every_profile
@pytest.mark.parametrize(
    "location",
    [
        f"{OTHER}/robots.txt",
        "http://example.com/robots.txt",
        "https://example.com:8443/robots.txt",
        "https://EXAMPLE.com/x/../robots.txt?q#f",
        "//other.example/",
        "/caf\u00e9 b",
        "javascript:alert(1)",
        "http:/x",
        "",
        " ",
        "https://[::1",
    ],
)
def test_a_redirect_leads_where_it_leads_live(profile: str, location: str) -> None:
    """Another host, scheme or port, a relative or an unusable target: as it is live."""
    everywhere = dict.fromkeys(
        [
            *(f"{OTHER}/robots.txt", f"{OTHER}/", "http://example.com/robots.txt"),
            *("https://example.com:8443/robots.txt", f"{HOST}/robots.txt?q"),
            f"{HOST}/caf%C3%A9%20b",
        ],
        FILE,
    )
    agreed(asked(profile, (0, {**everywhere, ROBOTS: moved(location)})))


@every_profile
def test_a_redirect_to_what_is_not_there_is_unknown_and_named(profile: str) -> None:
    """A target without a record gives no verdict, and is among the missing targets."""
    timeline = asked(profile, (0, {ROBOTS: moved("/1"), f"{HOST}/1": moved("/2")}))
    assert agreed(timeline) is State.UNKNOWN
    records = table(timeline.records)
    assert missing_targets(records, timeline.profile) == [f"{HOST}/2"]


def test_a_target_that_is_not_followed_is_not_missing() -> None:
    """Where a profile does not follow a redirect, nobody has to look for its target."""
    records = table([record(ROBOTS, moved(f"{OTHER}/robots.txt"), 0)])
    assert missing_targets(records, profiles.get("open")) == []
    assert missing_targets(records, profiles.get("rfc9309")) == [f"{OTHER}/robots.txt"]


@every_profile
@pytest.mark.parametrize("size", [0, 1, 524_288, 524_289, MAX_BODY, MAX_BODY + 1])
@pytest.mark.parametrize("complete", [True, False])
def test_a_large_body_is_cut_or_too_large(profile: str, size: int, complete: bool) -> None:
    """A body beyond the profile's limit, or only the beginning of one, decides as it does live."""
    reply = Response(200, {}, b"#" * size, complete)
    agreed(asked(profile, (0, {ROBOTS: reply})))
    agreed(asked(profile, (0, {ROBOTS: moved("/1"), f"{HOST}/1": reply})))


def test_a_charset_comes_with_the_body() -> None:
    """The charset is that of the reply with the body, not of the redirect to it."""
    plain = Response(200, {"content-type": "text/plain; charset=Latin-1"}, BODY)
    html = Response(301, {"location": "/1", "content-type": "text/html; charset=utf-8"})
    timeline = asked("rfc9309", (0, {ROBOTS: html, f"{HOST}/1": plain}))
    assert site_of(table(timeline.records), timeline.profile)["charset"] == "latin-1"


# Retrievals over time.


TIMES = [0.0, 1.0, HOUR, 11 * HOUR, 12 * HOUR, DAY, 29 * DAY, 30 * DAY, 31 * DAY]


@every_profile
def test_an_earlier_copy_is_used_as_it_is_live(profile: str) -> None:
    """A file, then no answer from one time to another: the copy counts as long as it does live."""
    for down, now in product(TIMES[1:], repeat=2):
        down_since: list[tuple[float, dict[str, Reply]]] = [(down, {ROBOTS: DOWN})]
        if down < now:
            down_since.append((now, {ROBOTS: DOWN}))
        agreed(asked(profile, (0, {ROBOTS: FILE}), *down_since))


@every_profile
def test_the_latest_counts_and_what_was_before_it(profile: str) -> None:
    """Any four replies, a day apart, leave what they leave in a live cache."""
    for later in product(REPLIES, repeat=4):
        agreed(asked(profile, *((day * DAY, {ROBOTS: reply}) for day, reply in enumerate(later))))


ANY_REPLY = st.sampled_from([FILE, Response(200, {}, b"other"), GONE, DOWN, TIMEOUT])
REDIRECTS = st.sampled_from([moved("/1"), moved(f"{OTHER}/robots.txt"), moved("")])
STEP = st.tuples(
    st.sampled_from([1.0, HOUR, 13 * HOUR, 5 * DAY, 20 * DAY]),
    ANY_REPLY | REDIRECTS,
    ANY_REPLY | REDIRECTS,
    ANY_REPLY,
)


@settings(max_examples=300)
@given(st.sampled_from(PROFILES), st.lists(STEP, min_size=1, max_size=6), st.randoms())
def test_any_history_ends_as_it_does_live(
    profile: str, steps: list[tuple[float, Reply, Reply, Reply]], draw: random.Random
) -> None:
    """Whatever a site and its redirects reply over weeks, records in any order say the same."""
    timeline = Timeline(profiles.get(profile))
    at = 0.0
    for wait, first, second, third in steps:
        at += wait
        targets: dict[str, Reply] = {f"{HOST}/1": second, f"{OTHER}/robots.txt": third}
        timeline.ask(at, {ROBOTS: first, **targets, f"{OTHER}/1": third})
    if is_ambiguous(timeline):
        return
    draw.shuffle(timeline.records)
    agreed(timeline)


def is_ambiguous(timeline: Timeline) -> bool:
    """Whether a URL was asked for in some retrievals only: its record then is of another time."""
    times: dict[str, set[int | None]] = {}
    for one in timeline.records:
        times.setdefault(one.url, set()).add(one.fetched_at)
    return len(set(map(frozenset, times.values()))) > 1


def test_a_copy_behind_a_redirect_is_used() -> None:
    """A site whose robots.txt is a redirect has a copy, too, when its target is down."""
    there: dict[str, Reply] = {ROBOTS: moved("/1"), f"{HOST}/1": FILE}
    steps = (0.0, there), (DAY, {**there, f"{HOST}/1": DOWN})
    assert agreed(asked("rfc9309", *steps)) is State.STALE_COPY


def test_a_record_without_a_time_is_older_than_any_with_one() -> None:
    """Of records without times, the last counts; one with a time counts more."""
    old, new = Response(200, {}, b"old"), Response(200, {}, b"new")
    profile = profiles.get("rfc9309")
    for replies in ([(old, None), (new, None)], [(new, 0.0), (old, None)]):
        records = table([record(ROBOTS, reply, at) for reply, at in replies])
        assert site_of(records, profile)["body"] == b"new"


def test_a_copy_without_a_time_is_not_used() -> None:
    """How old a copy is must be known."""
    records = table([record(ROBOTS, FILE, None), record(ROBOTS, DOWN, 0)])
    row = site_of(records, profiles.get("rfc9309"))
    assert (row["state"], row["body"]) == (State.UNREACHABLE, None)


def test_a_success_without_a_body_gives_no_verdict() -> None:
    """Where nobody knows what a file says, it does not allow everything."""
    records = table([RobotsRecord(ROBOTS, 200, body=None)])
    assert site_of(records, profiles.get("rfc9309"))["state"] == State.UNKNOWN


# Tables.


def test_plain_tables_are_passed_through() -> None:
    """The bodies of a table with one file for each site stay where they are."""
    records = table([record(f"https://{n}.example/robots.txt", FILE, n) for n in range(100)])
    sites = resolve(records, profiles.get("rfc9309"))
    assert sites.schema == SITES
    assert (
        sites["body"].chunk(0).buffers()[2].address == records["body"].chunk(0).buffers()[2].address
    )
    assert sites["origin"] == records["origin"]


def test_no_records_are_no_sites() -> None:
    """An empty table gives an empty table."""
    assert resolve(RECORDS.empty_table(), profiles.get("rfc9309")) == SITES.empty_table()
    assert missing_targets(RECORDS.empty_table(), profiles.get("rfc9309")) == []


def test_a_target_that_many_redirect_to_is_in_memory_once() -> None:
    """A thousand sites that redirect to one large file do not need a thousand times its memory."""
    target = record(f"{OTHER}/robots.txt", Response(200, {}, b"#" * 100_000), 0)
    redirects = [
        record(f"https://{n}.example/robots.txt", moved(target.url), 0) for n in range(1000)
    ]
    before = pa.total_allocated_bytes()
    sites = resolve(table([*redirects, target]), profiles.get("rfc9309"))
    assert pa.total_allocated_bytes() - before < 10_000_000
    assert sites.num_rows == 1001
    assert {len(body) for body in sites["body"].to_pylist()} == {100_000}


def test_chunks_do_not_matter() -> None:
    """A table in many chunks gives the same sites as one in one chunk."""
    replies = [FILE, GONE, DOWN, moved(ROBOTS), Response(200, {}, b"x" * 5000)]
    records = table(
        [record(f"https://{n % 70}.example/robots.txt", replies[n % 5], n) for n in range(300)]
        + [record(ROBOTS, FILE, 0)]
    )
    pieces = pa.concat_tables([records.slice(start, 7) for start in range(0, 301, 7)])
    profile = profiles.get("rfc9309")
    one, many = (
        sorted(resolve(given, profile).to_pylist(), key=lambda row: str(row["origin"]))
        for given in (records.combine_chunks(), pieces)
    )
    assert one == many
    assert len(one) == 71


def test_the_time_of_a_site_is_that_of_its_last_reply() -> None:
    """A verdict can say of which day it is: of the body, where there is one."""
    records = table([record(ROBOTS, FILE, 0), record(ROBOTS, DOWN, DAY)])
    row = site_of(records, profiles.get("rfc9309"))
    assert (State(row["state"]), row["fetched_at"].timestamp()) == (State.STALE_COPY, START)
