"""What a status, a redirect, a failure and an earlier copy mean: by profile, and as live."""

import itertools
import random
from typing import Any

import pytest

from manners import bulk
from manners.retrieval import profiles
from tests.bulk.truth import (
    NO_ROBOTS,
    NOON,
    Answer,
    Record,
    Truth,
    archive,
    assert_same,
    column,
    hours,
    pa,
    read,
)
from tests.sizes import seed

SEED = seed("BULK_SEED")
RULES = b"User-agent: *\nDisallow: /no\n"
DAY = 24

ALLOW_ALL = (True, "unavailable")
DISALLOW_ALL = (False, "unreachable")
LOW_CONFIDENCE = (True, "unreachable")
RULES_DECIDE = (False, "rule-matched")


def ask(records: list[Record], asked: list[str], profile: str = "rfc9309") -> list[Answer]:
    sites = bulk.Sites.from_table(archive(records), agent="MyBot", profile=profile)
    return read(sites.verdicts(pa.record_batch({"url": column(asked)})))


def about(records: list[Record], profile: str, url: str = "https://a.example/no") -> Any:
    """Verdict and reason for one URL; live says the same."""
    found = ask(records, [url], profile)
    assert_same(found, Truth(records, profile=profile).answers([url]), [url], profile)
    return found[0][:2]


STATUSES: list[tuple[int | None, tuple[bool, str]]] = [
    *((status, RULES_DECIDE) for status in (200, 201, 203, 204, 206, 226, 299)),
    *((status, ALLOW_ALL) for status in (400, 401, 403, 404, 405, 410, 418, 428, 430, 451, 499)),
    *((status, DISALLOW_ALL) for status in (429, 500, 501, 502, 503, 504, 508, 599)),
    *((status, DISALLOW_ALL) for status in (100, 102, 199, 600, 666, 999, 0, -1, 32_767)),
    *((status, DISALLOW_ALL) for status in (300, 301, 302, 303, 304, 305, 307, 308, 399, None)),
]
"""RFC 9309 section 2.3.1, for replies without a Location."""


@pytest.mark.parametrize("profile", profiles.names())
@pytest.mark.parametrize(("status", "expected"), STATUSES)
def test_a_status_decides_by_profile(
    status: int | None, expected: tuple[bool, str], profile: str
) -> None:
    """2xx is read; 4xx but 429 allows; all else disallows, or allows where the profile is open."""
    if profile == "open" and expected == DISALLOW_ALL:
        expected = LOW_CONFIDENCE
    record = Record("https://a.example", RULES, status)
    assert about([record], profile) == expected


@pytest.mark.parametrize("profile", profiles.names())
def test_all_statuses_in_one_archive_keep_apart(profile: str) -> None:
    """Sites with the same body and other statuses, in one batch, asked about several paths."""
    records = [
        Record(f"https://s{at}.example", RULES, status) for at, (status, _) in enumerate(STATUSES)
    ]
    paths = ("/no", "/yes", "/robots.txt", "/robots.txt?x", "", "/no#x")
    asked = [record.origin + path for record in records for path in paths]
    random.Random(SEED).shuffle(asked)
    expected = Truth(records, profile=profile).answers(asked)
    assert_same(ask(records, asked, profile), expected, asked, profile)


def test_the_robots_txt_of_an_unreachable_site_may_be_fetched() -> None:
    """As live: /robots.txt is always allowed, whatever happened to it."""
    url = "https://a.example/robots.txt"
    for status in (404, 503, None):
        record = Record("https://a.example", None, status)
        assert about([record], "rfc9309", url) == (True, "robots-txt-itself")


@pytest.mark.parametrize("kind", ["int8", "int16", "int32", "int64", "uint16", "float64"])
def test_a_status_is_any_number(kind: str) -> None:
    """A column of the users' own may have another type than ours."""
    if kind == "int8":
        statuses, expected = [100, None], [DISALLOW_ALL, DISALLOW_ALL]
    else:
        statuses, expected = [404, 503, 200, None], [ALLOW_ALL, DISALLOW_ALL, RULES_DECIDE]
        expected = [*expected, DISALLOW_ALL]
    table = pa.table(
        {
            "origin": [f"https://s{at}.example" for at in range(len(statuses))],
            "status": pa.array(statuses, getattr(pa, kind)()),
            "body": pa.array([RULES] * len(statuses)),
        }
    )
    sites = bulk.Sites.from_table(table, agent="MyBot")
    asked = [f"https://s{at}.example/no" for at in range(len(statuses))]
    found = read(sites.verdicts(pa.table({"url": asked})))
    assert [answer[:2] for answer in found] == expected


# Redirects.


def moved(origin: str, location: str | None, status: int = 301, url: str | None = None) -> Record:
    return Record(origin, b"<html>moved", status, location=location, url=url)


def chain(hops: int) -> list[Record]:
    """A redirect after another, so many, and then rules."""
    records = [
        moved(f"https://{name(at)}.example", f"https://{name(at + 1)}.example/robots.txt")
        for at in range(hops)
    ]
    return [*records, Record(f"https://{name(hops)}.example", RULES)]


def name(at: int) -> str:
    return "abcdefghij"[at]


@pytest.mark.parametrize("profile", ["rfc9309", "google"])
@pytest.mark.parametrize("hops", range(1, 8))
def test_five_redirects_are_followed(hops: int, profile: str) -> None:
    """Over hosts; the rules apply to the first authority. More: as if there were no file."""
    expected = RULES_DECIDE if hops <= 5 else ALLOW_ALL
    for order in (chain(hops), chain(hops)[::-1]):
        assert about(order, profile) == expected


@pytest.mark.parametrize("status", [300, 301, 302, 303, 305, 307, 308, 399])
def test_every_3xx_with_a_location_is_a_redirect(status: int) -> None:
    """But 304, which only answers a conditional request."""
    target = Record("https://b.example", RULES)
    first = moved("https://a.example", "https://b.example/robots.txt", status)
    assert about([first, target], "rfc9309") == RULES_DECIDE
    assert about([first._replace(status=304), target], "rfc9309") == DISALLOW_ALL


LOCATIONS: list[tuple[str, str, bool]] = [
    ("https://b.example/robots.txt", "https://b.example/robots.txt", True),
    ("HTTPS://B.Example:443/robots.txt#top", "https://b.example/robots.txt", True),
    ("https://u:p@b.example/robots.txt", "https://b.example/robots.txt", True),
    ("  https://b.example/robots.txt \t", "https://b.example/robots.txt", True),
    ("//b.example/robots.txt", "https://b.example/robots.txt", True),
    ("https://bücher.example/robots.txt", "https://xn--bcher-kva.example/robots.txt", True),
    ("/other.txt", "https://a.example/other.txt", True),
    ("other.txt?x=1", "https://a.example/other.txt?x=1", True),
    ("https://b.example/é x", "https://b.example/%C3%A9%20x", True),
    ("https://b.example", "https://b.example/", True),
    ("ftp://b.example/robots.txt", "", False),
    ("javascript:alert(1)", "", False),
    ("http:/b.example/robots.txt", "", False),
    ("https://[::1/robots.txt", "", False),
    ("", "", False),
    ("https://b.example/" + "x" * 9_000, "", False),
]


@pytest.mark.parametrize(("location", "target", "usable"), LOCATIONS)
def test_a_location_is_read_as_live(location: str, target: str, usable: bool) -> None:
    """Relative, in upper case, with a fragment; what no request could go to is unreachable."""
    records = [moved("https://a.example", location)]
    if usable:
        records.append(Record(target, RULES, url=target))
    assert about(records, "rfc9309") == (RULES_DECIDE if usable else DISALLOW_ALL)


def test_http_to_https_is_followed_without_a_column_for_the_url() -> None:
    """The most usual redirect, in a table of origin, status, location and body."""
    table = pa.table(
        {
            "origin": ["http://a.example", "https://a.example", "https://www.a.example"],
            "status": [301, 302, 200],
            "location": ["https://a.example/robots.txt", "https://www.a.example/robots.txt", None],
            "body": [b"", None, RULES],
        }
    )
    sites = bulk.Sites.from_table(table, agent="MyBot")
    asked = ["http://a.example/no", "https://a.example/no", "https://www.a.example/no"]
    found = read(sites.verdicts(pa.table({"url": asked})))
    assert [answer[:2] for answer in found] == [RULES_DECIDE] * 3


def test_a_loop_is_no_robots_txt() -> None:
    """Of one, of two and of three: unavailable, as live."""
    for size in (1, 2, 3):
        names = [name(at) for at in range(size)]
        records = [
            moved(f"https://{one}.example", f"https://{other}.example/robots.txt")
            for one, other in zip(names, [*names[1:], "a"], strict=True)
        ]
        assert about(records, "rfc9309") == ALLOW_ALL
        assert about(records, "open") == ALLOW_ALL


@pytest.mark.parametrize("profile", profiles.names())
def test_a_target_that_is_not_in_the_archive_is_no_answer(profile: str) -> None:
    """Nobody knows what it would say: null, and no-robots. Also behind several redirects."""
    for hops in (1, 2):
        records = chain(hops)[:-1]
        asked = ["https://a.example/no", "https://a.example/yes", "https://a.example/robots.txt"]
        found = ask(records, asked, profile)
        if profile == "open":  # another host is not asked: there is nothing to miss
            assert found[0][:2] == ALLOW_ALL
        else:
            assert found == [NO_ROBOTS] * 3


@pytest.mark.parametrize(
    ("status", "rfc9309", "is_open"),
    [
        (200, RULES_DECIDE, RULES_DECIDE),
        (404, ALLOW_ALL, ALLOW_ALL),
        (503, DISALLOW_ALL, LOW_CONFIDENCE),
        (None, DISALLOW_ALL, LOW_CONFIDENCE),
    ],
)
def test_the_status_of_the_target_decides(
    status: int | None, rfc9309: tuple[bool, str], is_open: tuple[bool, str]
) -> None:
    """Behind a redirect, as for the site itself; open stays on the host, whatever the port."""
    near = "https://a.example:8443/rules"
    records = [moved("http://a.example", near), Record(near, RULES, status, url=near)]
    url = "http://a.example/no"
    assert about(records, "rfc9309", url) == rfc9309
    assert about(records, "open", url) == is_open


@pytest.mark.parametrize("hops", range(1, 6))
def test_open_follows_three_redirects_on_its_host(hops: int) -> None:
    """Scheme and port may change; another host allows everything."""
    steps = [f"https://a.example/{at}" for at in range(1, hops + 1)]
    records = [moved("https://a.example", steps[0])]
    records += [moved("https://a.example", to, url=at) for at, to in itertools.pairwise(steps)]
    records.append(Record("https://a.example", RULES, url=steps[-1]))
    assert about(records, "open") == (RULES_DECIDE if hops <= 3 else ALLOW_ALL)
    assert about(chain(1), "open") == ALLOW_ALL


def test_a_record_of_another_page_is_no_robots_txt() -> None:
    """A target of a redirect says nothing about its own site."""
    page = Record("https://b.example", RULES, url="https://b.example/rules")
    assert ask([page], ["https://b.example/no"]) == [NO_ROBOTS]
    records = [moved("https://a.example", "https://b.example/rules"), page]
    assert ask(records, ["https://b.example/no"]) == [NO_ROBOTS]
    assert about(records, "rfc9309") == RULES_DECIDE


# Several records, and copies.

OLD, NEW = b"User-agent: *\nDisallow: /old\n", b"User-agent: *\nDisallow: /new\n"
ASKED = ["https://a.example/old", "https://a.example/new", "https://a.example/"]


@pytest.mark.parametrize("order", list(itertools.permutations(range(3))))
def test_the_latest_record_counts(order: tuple[int, ...]) -> None:
    """In whatever order they come, from however many files."""
    records = [
        Record("https://a.example", OLD, fetched_at=hours(-2)),
        Record("https://a.example", None, 404, fetched_at=hours(-1)),
        Record("https://a.example", NEW, fetched_at=NOON),
    ]
    found = ask([records[at] for at in order], ASKED)
    assert_same(found, Truth(records).answers(ASKED), ASKED, order)
    assert [answer.allowed for answer in found] == [True, False, True]


@pytest.mark.parametrize("status", [404, 410, 403, 200])
def test_a_later_record_replaces_an_earlier_one(status: int) -> None:
    """No robots.txt any more is no copy of an earlier one; nor is an empty file."""
    records = [
        Record("https://a.example", OLD, fetched_at=hours(-2)),
        Record("https://a.example", b"", status),
    ]
    assert [answer.allowed for answer in ask(records, ASKED)] == [True] * 3
    assert_same(ask(records, ASKED), Truth(records).answers(ASKED), ASKED, status)


@pytest.mark.parametrize("name", ["fetched_at", "fetched"])
@pytest.mark.parametrize("kind", ["ms", "s", "us", "ns", "no zone", "int64", "float64"])
def test_times_are_timestamps_or_seconds(name: str, kind: str) -> None:
    """Of any precision, with and without a zone, and numbers of seconds."""
    times = [NOON, hours(-1), hours(-3)]
    if kind in ("int64", "float64"):
        seconds = [int(each.timestamp()) for each in times]
        values = pa.array(seconds, getattr(pa, kind)())
    elif kind == "no zone":
        values = pa.array([each.replace(tzinfo=None) for each in times], pa.timestamp("us"))
    else:
        values = pa.array(times, pa.timestamp(kind, tz="UTC"))
    table = pa.table({"origin": ["https://a.example"] * 3, "body": [NEW, OLD, RULES], name: values})
    for part in (table, table.take([2, 0, 1]), table.take([1, 2, 0])):
        sites = bulk.Sites.from_table(part, agent="MyBot")
        assert list(sites.allowed(column(ASKED))) == [True, False, True]


def copies(age: float, failing: float = 0) -> list[Record]:
    """A copy of so many hours, and a site that fails since so many."""
    failures = (
        [Record("https://a.example", None, 503, fetched_at=hours(-failing))] if failing else []
    )
    copy = Record("https://a.example", OLD, fetched_at=hours(-age))
    return [copy, *failures, Record("https://a.example", None, 500)]


@pytest.mark.parametrize("profile", profiles.names())
@pytest.mark.parametrize("age", [1, 11, 13, 48, 29 * DAY, 30 * DAY, 30 * DAY + 1, 400 * DAY])
def test_an_earlier_copy_counts_as_the_profile_says(profile: str, age: float) -> None:
    """For 30 days; for Google only after 12 hours of failures; never where all is allowed."""
    for failing in (each for each in (0, 0.5, 11.9, 12, 13) if each < age):
        records, case = copies(age, failing), (profile, age, failing)
        found = ask(records, ASKED, profile)
        assert_same(found, Truth(records, profile=profile).answers(ASKED), ASKED, case)
        waited = profile == "rfc9309" or (profile == "google" and failing >= 12)
        usable = waited and age <= 30 * DAY
        assert found[0].reason == ("stale-copy" if usable else "unreachable"), case
        assert found[0].allowed is (profile == "open"), case
        assert found[0].rule == ("Disallow: /old" if usable else None), case


def test_a_copy_is_not_older_than_the_reply_that_there_is_none() -> None:
    """200, then 404, then 503: the last that was known is that there is no file."""
    records = [
        Record("https://a.example", OLD, fetched_at=hours(-9)),
        Record("https://a.example", None, 404, fetched_at=hours(-5)),
        Record("https://a.example", None, 503),
    ]
    for profile in profiles.names():
        expected = Truth(records, profile=profile).answers(ASKED)
        assert_same(ask(records, ASKED, profile), expected, ASKED, profile)
        assert expected[0].reason == "unreachable"


def test_histories_at_random_are_answered_as_live() -> None:
    """Up to six records of a site, of any status and time: what the cache would say at the last."""
    rng = random.Random(f"{SEED} histories")
    records = []
    for at in range(400):
        times = rng.sample(range(45 * DAY), rng.randint(1, 6))
        for time in times:
            status = rng.choice([200, 200, 200, 206, 404, 403, 429, 503, 503, 500, None])
            body = rng.choice([OLD, NEW, RULES, b""]) if status in (200, 206) else None
            records.append(Record(f"https://h{at}.example", body, status, fetched_at=hours(-time)))
    rng.shuffle(records)
    asked = [
        f"https://h{at}.example{path}" for at in range(400) for path in ("/old", "/new", "/no")
    ]
    for profile in profiles.names():
        expected = Truth(records, profile=profile).answers(asked)
        assert_same(ask(records, asked, profile), expected, asked, (profile, f"BULK_SEED={SEED}"))


def test_webs_of_redirects_at_random_are_answered_as_live() -> None:
    """Any record redirects to any other: chains, loops, and targets that nobody has."""
    rng = random.Random(f"{SEED} webs")
    places = [f"https://w{at}.example{path}" for at in range(150) for path in ("/robots.txt", "/x")]
    records = []
    for place in places:
        chance = rng.random()
        if chance < 0.5:
            records.append(moved(place, rng.choice(places), url=place))
        elif chance < 0.85:
            status = rng.choice([200, 200, 404, 503])
            records.append(Record(place, RULES if status == 200 else None, status, url=place))
    asked = [f"https://w{at}.example{path}" for at in range(150) for path in ("/no", "/yes")]
    for profile in profiles.names():
        expected = Truth(records, profile=profile).answers(asked)
        assert_same(ask(records, asked, profile), expected, asked, (profile, f"BULK_SEED={SEED}"))
