"""How long an outcome is good for: the row "fresh for" of semantics part B."""

import os
import time
from collections.abc import Iterator
from email.utils import formatdate

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from manners.cache.entry import next_entry
from manners.cache.freshness import fresh_for, retry_after
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome, RobotsHop

NOW = 1_800_000_000.0
MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
LEAST, MOST = 5 * MINUTE, DAY


def http_date(seconds: float) -> str:
    return formatdate(seconds, usegmt=True)


def outcome(status: int = 200, /, **headers: str) -> Outcome:
    """An outcome with this status and these headers."""
    if 200 <= status < 300 or status == 304:
        availability = Availability.AVAILABLE
    elif 400 <= status < 500 and status != 429:
        availability = Availability.UNAVAILABLE
    else:
        availability = Availability.UNREACHABLE
    return Outcome(
        availability,
        str(status),
        hops=(RobotsHop("https://example.com/robots.txt", status),),
        headers=tuple((name.replace("_", "-"), value) for name, value in headers.items()),
        not_modified=status == 304,
    )


def lifetime(made: Outcome, profile: str = "rfc9309") -> float:
    """Seconds for which a first outcome is good."""
    return fresh_for(made, profiles.get(profile), NOW, 0.0)


@pytest.mark.parametrize(
    ("control", "seconds"),
    [
        ("max-age=3600", HOUR),
        ("public, max-age=3600", HOUR),
        ("public,max-age=3600,must-revalidate", HOUR),
        ("MAX-AGE=3600", HOUR),
        ('max-age="3600"', HOUR),
        ("max-age = 3600", HOUR),
        ("max-age=300", LEAST),
        ("max-age=299", LEAST),
        ("max-age=1", LEAST),
        ("max-age=0", LEAST),
        ("max-age=86400", MOST),
        ("max-age=86401", MOST),
        ("max-age=31536000", MOST),
        ("max-age=" + "9" * 18, MOST),
        ("max-age=" + "9" * 1000, MOST),
        ("no-store", LEAST),
        ("No-Store", LEAST),
        ("no-store, max-age=3600", LEAST),
        ("max-age=3600, no-store", LEAST),
        ("private,no-store", LEAST),
        ("no-cache", LEAST),
        ("no-cache, max-age=3600", LEAST),
        ("", MOST),
        ("public", MOST),
        ("must-revalidate", MOST),
        ("s-maxage=600", MOST),
        ("x-max-age=600", MOST),
        ("not-no-store", MOST),
        (";;;,,,===", MOST),
    ],
)
def test_cache_control_counts_within_limits(control: str, seconds: float) -> None:
    """Cache-Control is heeded from 5 minutes to 24 hours; silence means 24 hours."""
    assert lifetime(outcome(cache_control=control)) == seconds
    assert lifetime(outcome(304, cache_control=control)) == seconds


@pytest.mark.parametrize("age", ["", "garbage", "-1", "1.5"])
def test_an_age_that_is_none_is_not_counted(age: str) -> None:
    """Only a number of seconds is an Age."""
    assert lifetime(outcome(cache_control="max-age=3600", age=age)) == HOUR


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"cache_control": "max-age=7200", "age": "3600"}, HOUR),
        ({"cache_control": "max-age=7200", "age": " 3600 "}, HOUR),
        ({"cache_control": "max-age=7200", "age": "7200"}, LEAST),
        ({"cache_control": "max-age=7200", "age": "9" * 18}, LEAST),
        ({"cache_control": "max-age=" + "9" * 1000, "age": "9" * 1000}, LEAST),
        ({"cache_control": "max-age=200000", "age": "3600"}, MOST),
        (
            {"expires": http_date(NOW + 7200), "date": http_date(NOW), "age": "3600"},
            HOUR,
        ),
        ({"age": "3600"}, MOST),
    ],
)
def test_time_spent_in_other_caches_is_over(headers: dict[str, str], seconds: float) -> None:
    """Age is taken off what Cache-Control or Expires gives (RFC 9111 section 4.2.3)."""
    assert lifetime(outcome(200, **headers)) == seconds


@pytest.mark.parametrize(
    ("expires", "date", "seconds"),
    [
        (http_date(NOW + HOUR), "", HOUR),
        (http_date(NOW + HOUR), http_date(NOW), HOUR),
        (http_date(NOW + HOUR), http_date(NOW - HOUR), 2 * HOUR),
        (http_date(NOW + HOUR), "garbage", HOUR),
        (http_date(NOW + 10), "", LEAST),
        (http_date(NOW - HOUR), "", LEAST),
        (http_date(NOW + 10 * DAY), "", MOST),
        ("0", "", LEAST),
        ("-1", "", LEAST),
        ("never", "", LEAST),
        ("Fri, 31 Dec 9999 23:59:59 GMT", "", MOST),
        ("Thu, 01 Jan 1970 00:00:00 GMT", "", LEAST),
        ("Mon, 01 Jan 0001 00:00:00 GMT", "", LEAST),
        ("Mon, 32 Foo 2027 25:61:61 GMT", "", LEAST),
        ("Fri, 31 Dec 99999999999 23:59:59 GMT", "", LEAST),
        ("", http_date(NOW), MOST),
    ],
)
def test_expires_counts_within_limits(expires: str, date: str, seconds: float) -> None:
    """Expires is heeded by the server's own clock; what is no date is past."""
    assert lifetime(outcome(expires=expires, date=date)) == pytest.approx(seconds)


def test_max_age_goes_before_expires() -> None:
    """Cache-Control wins over Expires (RFC 9111 section 5.3)."""
    made = outcome(cache_control="max-age=3600", expires=http_date(NOW + 2 * HOUR))
    assert lifetime(made) == HOUR
    assert lifetime(outcome(cache_control="public", expires=http_date(NOW + HOUR))) == HOUR


@pytest.fixture(params=["UTC", "America/Los_Angeles", "Asia/Kolkata"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """A machine in some time zone."""
    if not hasattr(time, "tzset"):
        pytest.skip("time zones cannot be set here")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield os.environ["TZ"]
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("zone")
@pytest.mark.parametrize(
    "date",
    [
        "Fri, 15 Jan 2027 09:00:00 GMT",
        "Friday, 15-Jan-27 09:00:00 GMT",
        "Fri Jan 15 09:00:00 2027",
        "Fri, 15 Jan 2027 09:00:00 -0000",
        "Fri, 15 Jan 2027 09:00:00",
        "Fri, 15 Jan 2027 10:00:00 +0100",
    ],
)
def test_all_forms_of_a_date_are_read_wherever_the_machine_is(date: str) -> None:
    """The three forms of RFC 9110 section 5.6.7 are all in GMT."""
    assert lifetime(outcome(expires=date)) == HOUR
    assert retry_after(date, NOW) == HOUR


@pytest.mark.parametrize("status", [404, 410])
@pytest.mark.parametrize("control", ["", "max-age=60", "no-store"])
def test_what_is_gone_is_gone_for_a_day(status: int, control: str) -> None:
    """404 and 410 are good for 24 hours, whatever the headers of an error page say."""
    assert lifetime(outcome(status, cache_control=control)) == DAY


@pytest.mark.parametrize(
    ("control", "seconds"), [("", DAY), ("max-age=3600", HOUR), ("no-store", LEAST)]
)
@pytest.mark.parametrize("status", [400, 401, 403, 451])
def test_other_errors_are_good_for_as_long_as_they_say(
    status: int, control: str, seconds: float
) -> None:
    """Another 4xx heeds its headers like a file does."""
    assert lifetime(outcome(status, cache_control=control)) == seconds


# Out of reach.


def waits(profile: str, failures: int, late: float = 0.0, **headers: str) -> list[float]:
    """How long a site is left alone after each of so many failures in a row."""
    made, now, entry = [], NOW, None
    for _ in range(failures):
        entry = next_entry(
            entry, "https://a.example", outcome(503, **headers), b"", profiles.get(profile), now
        )
        made.append(entry.fresh_until - now)
        now = entry.fresh_until + late
    return made


def test_a_site_out_of_reach_is_tried_less_and_less() -> None:
    """The wait is 5 minutes and doubles with each failure, up to 24 hours."""
    expected = [min(LEAST * 2**n, DAY) for n in range(12)]
    assert waits("rfc9309", 12) == pytest.approx(expected)
    assert expected[-1] == DAY


@pytest.mark.parametrize("late", [1.0, HOUR, 20 * HOUR])
def test_a_site_nobody_asks_for_meanwhile_is_not_punished_for_it(late: float) -> None:
    """The second wait is twice the first, however late the second attempt was."""
    expected = [min(LEAST * 2**n, DAY) for n in range(12)]
    assert waits("rfc9309", 12, late) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("told", "seconds"),
    [
        ("3600", HOUR),
        (" 3600 ", HOUR),
        ("600", 10 * MINUTE),
        ("30", 30.0),
        ("86400", DAY),
        ("86401", DAY),
        ("9" * 18, DAY),
        ("9" * 1000, DAY),
        (http_date(NOW + HOUR), HOUR),
        (http_date(NOW + 10 * DAY), DAY),
        ("", LEAST),
        ("soon", LEAST),
        ("-5", LEAST),
        ("1.5", LEAST),
        ("3600, 7200", LEAST),
        ("\u0663", LEAST),
        ("\x00", LEAST),
    ],
)
@pytest.mark.parametrize("status", [429, 500, 503])
def test_retry_after_is_waited_for(status: int, told: str, seconds: float) -> None:
    """Retry-After is the wait, at most 24 hours; what is none is as if it were not there."""
    assert lifetime(outcome(status, retry_after=told)) == pytest.approx(seconds)


@pytest.mark.parametrize("told", ["0", http_date(NOW), http_date(NOW - DAY)])
def test_a_retry_after_that_is_over_is_no_invitation_to_hammer(told: str) -> None:
    """A site that may be asked at once is not asked in the same second."""
    assert 0 < lifetime(outcome(503, retry_after=told)) <= LEAST


def test_retry_after_counts_only_where_the_site_is_out_of_reach() -> None:
    """A Retry-After beside a file says nothing about the file."""
    assert lifetime(outcome(200, retry_after="600")) == DAY
    assert lifetime(outcome(404, retry_after="600")) == DAY


def test_doubling_goes_on_after_a_retry_after() -> None:
    """The wait after one that the site named is no shorter than 5 minutes."""
    profile = profiles.get("rfc9309")
    first = next_entry(None, "https://a.example", outcome(503, retry_after="1"), b"", profile, NOW)
    second = next_entry(first, "https://a.example", outcome(503), b"", profile, NOW + 1)
    assert second.fresh_until - (NOW + 1) >= LEAST


# The other profiles.

HEADERS = [
    {},
    {"cache_control": "max-age=3600"},
    {"cache_control": "no-store"},
    {"expires": "0"},
    {"retry_after": "3600"},
]


@pytest.mark.parametrize("headers", HEADERS, ids=str)
@pytest.mark.parametrize("status", [200, 206, 304, 400, 403, 404, 410])
def test_google_keeps_for_a_day(status: int, headers: dict[str, str]) -> None:
    """In profile google everything that was answered is good for 24 hours."""
    assert lifetime(outcome(status, **headers), "google") == DAY


@pytest.mark.parametrize("headers", HEADERS, ids=str)
@pytest.mark.parametrize(
    ("status", "minutes"),
    [(200, 30), (206, 30), (304, 30), (400, 10), (404, 10), (410, 10), (429, 10), (503, 10)],
)
def test_open_keeps_files_longer_than_failures(
    status: int, minutes: int, headers: dict[str, str]
) -> None:
    """In profile open a file is good for 30 minutes, everything else for 10."""
    assert lifetime(outcome(status, **headers), "open") == minutes * MINUTE


def test_open_tries_again_every_ten_minutes() -> None:
    """The wait does not grow in profile open."""
    assert waits("open", 5, late=HOUR) == pytest.approx([10 * MINUTE] * 5)


def test_google_waits_no_longer_than_a_day() -> None:
    """A site out of reach is tried again within 24 hours in profile google."""
    assert all(0 < wait <= DAY for wait in waits("google", 12))


# Whatever the headers.

WORDS = [
    *("Mon,", "Monday,", "Jan", "Foo", "GMT", "UTC", "EST", "am", ",", "::", ".", "..", "\u0661"),
    *("0", "1", "01", "-1", "32", "27", "2027", "9999", "99999", "01-Jan-27", "1-Jan", "1/2/2027"),
    *("01:02:03", "25:61:61", "1:2", "+0100", "-0000", "+9999", "-99999", "+999999", ""),
]
dates = st.lists(st.sampled_from(WORDS) | st.integers().map(str), max_size=8).map(" ".join)
values = st.text(max_size=30) | dates | st.integers().map(str)
controls = values | st.builds(
    "{}{}={}".format,
    st.sampled_from(["", "public, ", "no-store ", ","]),
    st.sampled_from(["max-age", "s-maxage", "no-cache", "MAX-AGE "]),
    values,
)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "cache_control": controls,
            "expires": values,
            "age": values,
            "date": values,
            "retry_after": values,
        },
    ),
    st.sampled_from([100, 200, 206, 301, 304, 400, 404, 410, 429, 500, 503, 600]),
    st.sampled_from(["rfc9309", "google", "open"]),
    st.floats(0, 4e9),
    st.floats(0, 4e9),
)
@example({"expires": "\x00"}, 200, "rfc9309", 0.0, 0.0)
@example({"retry_after": "Mon, 01 Jan 0001 00:00:00 +2359"}, 503, "rfc9309", 0.0, 0.0)
def test_whatever_the_headers_limits_hold(
    headers: dict[str, str], status: int, name: str, now: float, before: float
) -> None:
    """Nothing raises, and every lifetime is within what its profile allows."""
    made, profile = outcome(status, **headers), profiles.get(name)
    seconds = fresh_for(made, profile, now, before)
    if made.availability is Availability.UNREACHABLE:
        assert 0 < seconds <= {"rfc9309": DAY, "google": DAY, "open": 10 * MINUTE}[name]
    elif name == "rfc9309":
        assert LEAST <= seconds <= DAY
    elif name == "google":
        assert seconds == DAY
    else:
        is_file = made.availability is Availability.AVAILABLE
        assert seconds == (30 if is_file else 10) * MINUTE
