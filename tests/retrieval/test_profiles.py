"""Every cell of the table in semantics part B that is about a retrieval, for every profile."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import manners
from manners.cache.entry import next_entry
from manners.cache.site import ParsedEntry
from manners.errors import UnknownName
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability
from manners.robots import dialects
from tests.retrieval.scripted import HOST, PROFILES, ROBOTS, Played, Reply, moved, redirects
from tests.shared import SHARED, Case, cases, needs_shared

AVAILABLE, UNAVAILABLE, UNREACHABLE = (
    Availability.AVAILABLE,
    Availability.UNAVAILABLE,
    Availability.UNREACHABLE,
)
CLOSED = b"User-agent: *\nDisallow: /"
DIFFERENCES: list[dict[str, Any]] = tomllib.loads(
    Path(__file__).with_name("http_status_differences.toml").read_text("utf-8")
)["difference"]


def access(replies: list[Reply], profile: str) -> tuple[bool, str]:
    """Whether a page may be fetched, and why, right after a first retrieval that went so."""
    played, chosen = Played(replies, profile), profiles.get(profile)
    entry = next_entry(None, HOST, played.outcome, played.body, chosen, 0.0)
    verdict = (
        ParsedEntry(entry, dialects.get("rfc9309"), chosen).at(0.0).check(HOST + "/a", "MyBot")
    )
    return verdict.allowed, str(verdict.reason)


def meaning(status: int) -> Availability:
    """The availability that the table gives to a status without a Location."""
    if 200 <= status < 300:
        return AVAILABLE
    if 400 <= status < 500 and status != 429:
        return UNAVAILABLE
    return UNREACHABLE


# Statuses.


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("first", range(100, 700, 100))
def test_every_status_means_what_the_table_says(first: int, profile: str) -> None:
    """Every status from 100 to 699 is available, unavailable or unreachable as its row says."""
    for status in range(first, first + 100):
        outcome = Played([Response(status, body=CLOSED)], profile).outcome
        assert outcome.availability is meaning(status), status
        assert outcome.note.startswith(str(status))
        low = profile == "open" and outcome.availability is UNREACHABLE
        assert outcome.confidence == ("low" if low else "high"), status


@pytest.mark.parametrize("status", [0, -1, 99, 700, 999, 10_000])
def test_what_is_no_status_is_out_of_reach(status: int) -> None:
    """A number that is no status of HTTP says nothing about a file."""
    assert Played([Response(status, body=CLOSED)]).outcome.availability is UNREACHABLE


# What happened; whether a page is allowed then, and why, in rfc9309 and google, and in open.
Row = tuple[str, list[Reply], tuple[bool, str], tuple[bool, str]]


def same(name: str, replies: list[Reply], allowed: bool, reason: str) -> Row:
    """A row that is the same in every profile."""
    return name, replies, (allowed, reason), (allowed, reason)


def out_of_reach(name: str, *replies: Reply) -> Row:
    """A row that closes a site, but opens it in profile open."""
    return name, list(replies), (False, "unreachable"), (True, "unreachable")


ROWS: list[Row] = [
    *(
        same(str(status), [Response(status, body=CLOSED)], False, "rule-matched")
        for status in (200, 201, 206, 299)
    ),
    same("200 empty", [Response(200)], True, "no-group"),
    *(
        same(str(status), [Response(status, body=CLOSED)], True, "unavailable")
        for status in (400, 401, 403, 404, 408, 410, 418, 428, 430, 451, 499)
    ),
    *(
        out_of_reach(str(status), Response(status, body=CLOSED))
        for status in (100, 102, 199, 301, 304, 399, 429, 500, 502, 503, 504, 599, 600, 699)
    ),
    *(
        out_of_reach(cause, Unreachable(cause))
        for cause in ("timeout", "refused address", "connection refused", "no such host")
    ),
    out_of_reach("refused after a redirect", moved("/b"), Unreachable("refused address")),
    same("loop", [moved("/a"), moved("/robots.txt")], True, "unavailable"),
    same("too many hops", [*redirects(6)], True, "unavailable"),
]


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize("row", ROWS, ids=[row[0] for row in ROWS])
def test_a_first_retrieval_opens_or_closes_a_site(row: Row, profile: str) -> None:
    """With no copy at hand, each row of the table opens or closes everything."""
    _, replies, closed, opened = row
    assert access(replies, profile) == (opened if profile == "open" else closed)


# Redirects.


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize(("profile", "most"), [("rfc9309", 5), ("google", 5), ("open", 3)])
def test_so_many_redirects_are_followed(profile: str, most: int, number: int) -> None:
    """Redirects in a host are followed up to the limit; beyond it there is no file."""
    played = Played([*redirects(number), Response(200, body=CLOSED)], profile)
    assert len(played.asked) == min(number, most) + 1
    if number <= most:
        assert played.outcome.availability is AVAILABLE
    else:
        assert str(played.outcome) == f"unavailable (more than {most} redirects)"


@pytest.mark.parametrize("number", range(8))
@pytest.mark.parametrize(("profile", "most"), [("rfc9309", 5), ("google", 5), ("open", 0)])
def test_so_many_redirects_across_hosts_are_followed(profile: str, most: int, number: int) -> None:
    """Profile open stays on one host name, the others follow to any."""
    across: list[Reply] = [moved(f"https://{n}.example/robots.txt") for n in range(number)]
    played = Played([*across, Response(200, body=CLOSED)], profile)
    assert len(played.asked) == min(number, most) + 1
    assert played.outcome.availability is (AVAILABLE if number <= most else UNAVAILABLE)


@pytest.mark.parametrize(
    ("location", "followed"),
    [
        ("http://example.com/robots.txt", True),
        ("https://example.com:8443/robots.txt", True),
        ("http://EXAMPLE.com:8080/elsewhere", True),
        ("//example.com/elsewhere", True),
        ("https://www.example.com/robots.txt", False),
        ("https://example.org/robots.txt", False),
        ("https://example.com.evil.example/robots.txt", False),
        ("https://example.com@evil.example/robots.txt", False),
        ("https://xn--example-9ua.com/robots.txt", False),
        ("https://93.184.216.34/robots.txt", False),
    ],
)
def test_open_follows_within_a_host_name(location: str, followed: bool) -> None:
    """Scheme and port may change in profile open, the host may not: then all is allowed."""
    replies: list[Reply] = [moved(location), Response(200, body=CLOSED)]
    played = Played(replies, "open")
    if followed:
        assert access(replies, "open") == (False, "rule-matched")
    else:
        assert str(played.outcome) == "unavailable (redirect to another host)"
        assert played.urls == [ROBOTS]
        assert access(replies, "open") == (True, "unavailable")
        assert played.outcome.confidence == "high"


def test_open_does_not_leave_its_host_in_two_steps() -> None:
    """The host that counts in profile open is the first, at every hop."""
    replies: list[Reply] = [moved("http://example.com/a"), moved("http://evil.example/")]
    assert str(Played(replies, "open").outcome) == "unavailable (redirect to another host)"


@pytest.mark.parametrize("profile", ["rfc9309", "google"])
def test_rules_from_elsewhere_are_the_first_authoritys(profile: str) -> None:
    """A file found on another host decides about the host that was asked."""
    replies: list[Reply] = [moved("https://other.example/r"), Response(200, body=CLOSED)]
    assert access(replies, profile) == (False, "rule-matched")
    assert Played(replies, profile).outcome.url == ROBOTS


# Size and time.


@pytest.mark.parametrize(
    ("profile", "read", "parsed"),
    [
        ("rfc9309", 1_048_576, 512_000),
        ("google", 1_048_576, 512_000),
        ("open", 524_288, 524_288),
    ],
)
def test_sizes_and_times_are_those_of_the_table(profile: str, read: int, parsed: int) -> None:
    """Every request is bounded in bytes and in seconds."""
    get = Played([Response(404)], profile).asked[0]
    assert get.max_bytes == read
    assert profiles.get(profile).max_parsed == parsed
    assert (get.connect, get.read, get.total) == (2.0, 3.0, 10.0)


# The family.


def test_profiles_are_found_by_name() -> None:
    """The three profiles of the table are there, rfc9309 is the default."""
    assert set(PROFILES) <= set(profiles.names())
    assert profiles.DEFAULT == "rfc9309"
    for name in profiles.names():
        assert profiles.get(name).name == name
        assert profiles.get(profiles.get(name)) is profiles.get(name)


def test_a_wrong_name_lists_the_right_ones() -> None:
    """An unknown profile is an error that names those there are."""
    with pytest.raises(
        UnknownName, match="unknown profile 'gogle'; choose from: google, open, rfc9309"
    ):
        profiles.get("gogle")


def test_a_profile_can_be_changed() -> None:
    """A profile is a value: the same but for some fields."""
    mine = profiles.get("open").but(name="mine", max_redirects=0)
    assert str(Played([moved("/a")], mine).outcome) == "unavailable (more than 0 redirects)"
    assert profiles.get("open").max_redirects == 3


# Other projects' cases.


def statuses(case: Case) -> Iterator[int]:
    """Every status that a case is about."""
    told = str(case["status"])
    if told.endswith("XX"):
        first = int(told[0]) * 100
        yield from range(first, first + 100)
    elif "-" in told:
        first, last = map(int, told.split("-"))
        yield from range(first, last + 1)
    else:
        yield int(told)


def is_listed(case: Case, status: int | None = None) -> bool:
    """Whether a case, or one status of it, is among the differences."""
    return any(
        case["source"].startswith(each["source"])
        and (case["status"] if status is None else status) in each["status"]
        and case["access"] == each["access"]
        for each in DIFFERENCES
    )


STATUS_CASES = cases("cases-http-status.jsonl") if SHARED.is_dir() else []


@needs_shared
@pytest.mark.parametrize("case", STATUS_CASES, ids=lambda case: str(case["id"]))
def test_statuses_of_other_suites(case: Case) -> None:
    """What a status means elsewhere it means in rfc9309, or the difference is listed."""
    if is_listed(case):
        assert not case["source"].startswith(("RFC 9309", "temoto"))
        return
    for status in statuses(case):
        body = b"" if "empty body" in case.get("note", "") else CLOSED
        got = access([Response(status, body=body)], "rfc9309")
        if is_listed(case, status):
            assert got == (False, "unreachable")
        elif case["access"] == "parse":
            assert got == (False, "rule-matched")
        elif case["access"] == "allow_all":
            assert got[0]
        elif case["access"] == "disallow_all":
            assert got == (False, "unreachable")
        else:
            assert case["access"] == "follow_at_least_5_then_may_treat_as_unavailable"
            if status != 304:
                hops: list[Reply] = [moved(f"/{n}", status) for n in range(6)]
                assert access([*hops[:5], Response(200, body=CLOSED)], "rfc9309") == (
                    False,
                    "rule-matched",
                )
                assert access(hops, "rfc9309") == (True, "unavailable")


@needs_shared
@pytest.mark.parametrize("difference", DIFFERENCES, ids=lambda each: f"{each['source']}")
def test_every_listed_difference_exists(difference: dict[str, Any]) -> None:
    """No difference is listed that no case has, and each has a reason."""
    assert difference["reason"]
    for status in difference["status"]:
        assert any(
            case["source"].startswith(difference["source"])
            and case["access"] == difference["access"]
            and (case["status"] == status or status in statuses(case))
            for case in STATUS_CASES
        )


def test_the_public_names_are_those_of_the_table() -> None:
    """A verdict's reason for what could not be retrieved is one of the engine's."""
    assert {"unavailable", "unreachable", "stale-copy", "too-large"} <= {*manners.Reason}
