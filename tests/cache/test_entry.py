"""What becomes of an entry when its site is asked again: semantics part B."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from manners.cache.entry import Entry
from manners.net.messages import Response
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability
from tests.cache.steps import (
    BODY,
    DAY,
    DOWN,
    FILE,
    GONE,
    HOUR,
    MINUTE,
    SAME,
    START,
    TIMEOUT,
    Step,
    after,
)
from tests.retrieval.scripted import HOST, ROBOTS, Reply, moved


def usable(entry: Entry, at: float, profile: str = "rfc9309") -> bool:
    return entry.has_usable_copy(profiles.get(profile), START + at)


# One retrieval.


def test_a_file_is_kept_with_its_marks() -> None:
    """A first file is kept as it came, with its charset, its marks and the time."""
    entry = after((0, FILE))
    assert entry.origin == HOST
    assert (entry.body, entry.charset, entry.etag) == (BODY, "utf-8", '"1"')
    assert (entry.fetched_at, entry.validated_at, entry.outcome.at) == (START, START, START)
    assert entry.fresh_until == START + DAY
    assert entry.unreachable_since is None


@pytest.mark.parametrize("reply", [GONE, Response(403), [moved("/robots.txt")]])
def test_no_file_is_kept_as_none(reply: Reply | list[Reply]) -> None:
    """A site without a robots.txt has an entry without a body."""
    entry = after((0, reply))
    assert entry.body is None
    assert (entry.etag, entry.last_modified, entry.copy) == ("", "", None)
    assert entry.unreachable_since is None


@pytest.mark.parametrize("reply", [DOWN, TIMEOUT, Response(429), Response(301), Response(304)])
def test_a_site_out_of_reach_from_the_start_has_no_copy(reply: Reply) -> None:
    """What was never reached has no body, and is known to be out of reach since then."""
    entry = after((0, reply))
    assert entry.body is None
    assert entry.unreachable_since == START
    assert not usable(entry, 0)


def test_an_empty_file_is_a_file() -> None:
    """A body of no bytes is a copy like any other."""
    entry = after((0, Response(200)), (DAY, DOWN))
    assert entry.body == b""
    assert usable(entry, DAY)


# Sequences.


def test_304_keeps_the_body_and_moves_the_time() -> None:
    """A confirmed copy stays as it was received, and is as good as new."""
    entry = after((0, FILE), (DAY, SAME))
    assert (entry.body, entry.charset) == (BODY, "utf-8")
    assert (entry.fetched_at, entry.validated_at) == (START, START + DAY)
    assert entry.fresh_until == START + 2 * DAY
    assert entry.outcome.not_modified
    assert (entry.outcome.bytes, entry.outcome.charset) == (len(BODY), "utf-8")


def test_304_may_bring_new_marks() -> None:
    """The marks of a confirmation take the place of the old ones; none means no change."""
    renamed = after((0, FILE), (DAY, Response(304, {"etag": '"2"'})))
    assert renamed.etag == '"2"'
    assert after((0, FILE), (DAY, Response(304))).etag == '"1"'


def test_304_after_an_outage_ends_it() -> None:
    """A copy that stood in is confirmed once the site is back."""
    entry = after((0, FILE), (DAY, DOWN), (DAY + 300, TIMEOUT), (2 * DAY, SAME))
    assert entry.body == BODY
    assert entry.unreachable_since is None
    assert entry.validated_at == START + 2 * DAY
    assert entry.fetched_at == START


def test_a_new_file_takes_the_place_of_the_old() -> None:
    """Nothing of an earlier file is left."""
    entry = after((0, FILE), (DAY, Response(200, body=b"new")))
    assert (entry.body, entry.charset, entry.etag) == (b"new", "", "")
    assert entry.fetched_at == START + DAY


def test_a_failure_keeps_what_was_known() -> None:
    """While a site is out of reach, body, marks and times are those of the last file."""
    known, failed = after((0, FILE)), after((0, FILE), (DAY, DOWN))
    assert (failed.body, failed.charset, failed.etag) == (known.body, known.charset, known.etag)
    assert (failed.fetched_at, failed.validated_at) == (START, START)
    assert failed.outcome.availability is Availability.UNREACHABLE
    assert failed.outcome.at == START + DAY
    assert failed.unreachable_since == START + DAY
    assert failed.fresh_until == START + DAY + 300


def test_an_outage_has_one_beginning() -> None:
    """Later failures do not move the time since when a site is out of reach."""
    entry = after((0, FILE), (100, DOWN), (400, TIMEOUT), (1000, Response(429)))
    assert entry.unreachable_since == START + 100


def test_a_second_outage_begins_anew() -> None:
    """After an answer, the next failure is a first one again: 5 minutes."""
    entry = after((0, FILE), (100, DOWN), (400, DOWN), (1000, FILE), (2000, DOWN))
    assert entry.unreachable_since == START + 2000
    assert entry.fresh_until == START + 2300


def test_404_makes_the_old_copy_go() -> None:
    """A site that says there is no file has none, also when it is out of reach afterwards."""
    gone = after((0, FILE), (DAY, GONE))
    assert (gone.body, gone.copy, gone.etag) == (None, None, "")
    later = after((0, FILE), (DAY, GONE), (2 * DAY, DOWN))
    assert later.body is None
    assert not usable(later, 2 * DAY)


def test_a_copy_is_not_left_from_before_404() -> None:
    """A 304 after a 404 answers nothing that was asked."""
    entry = after((0, FILE), (DAY, GONE), (2 * DAY, SAME))
    assert entry.outcome.availability is Availability.UNREACHABLE
    assert entry.body is None


# The copy that stands in.


@pytest.mark.parametrize(
    ("profile", "at", "stands_in"),
    [
        ("rfc9309", DAY, True),
        ("rfc9309", 30 * DAY - 1, True),
        ("rfc9309", 30 * DAY + 1, False),
        ("google", DAY, False),
        ("google", DAY + 12 * HOUR - 1, False),
        ("google", DAY + 12 * HOUR + 1, True),
        ("google", 30 * DAY - 1, True),
        ("google", 30 * DAY + 1, False),
        ("open", 0, False),
        ("open", DAY, False),
        ("open", 30 * DAY + 1, False),
    ],
)
def test_a_copy_stands_in_for_so_long(profile: str, at: float, stands_in: bool) -> None:
    """A site out of reach from the second day on: who uses its copy, and when."""
    failed_at = min(at, DAY)
    entry = after((0, FILE), (failed_at, DOWN), profile=profile)
    assert usable(entry, at, profile) is stands_in


@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
def test_no_copy_stands_in_for_a_site_that_answers(profile: str) -> None:
    """A copy is for outages only."""
    for step in (FILE, GONE):
        assert not usable(after((0, step), profile=profile), 13 * HOUR, profile)


def test_a_copys_thirty_days_begin_when_it_was_confirmed() -> None:
    """A 304 is as good as a new file."""
    entry = after((0, FILE), (20 * DAY, SAME), (21 * DAY, DOWN))
    assert usable(entry, 50 * DAY - 1)
    assert not usable(entry, 50 * DAY + 1)


def test_more_failures_do_not_lengthen_a_copys_life() -> None:
    """Thirty days are counted from the last answer, not from the last failure."""
    steps: list[Step] = [(day * DAY, DOWN) for day in range(1, 31)]
    assert not usable(after((0, FILE), *steps), 30 * DAY + 1)


# Conditional requests.


@pytest.mark.parametrize(
    ("steps", "asked"),
    [
        pytest.param([(0, FILE)], True, id="direct"),
        pytest.param([(0, Response(200, {"last-modified": "x"}, BODY))], True, id="date only"),
        pytest.param([(0, Response(200, {}, BODY))], False, id="no marks"),
        pytest.param([(0, [moved("/b"), FILE])], False, id="after a redirect"),
        pytest.param([(0, [moved("http://example.com/robots.txt"), FILE])], False, id="scheme"),
        pytest.param([(0, Response(404, {"etag": '"1"'}))], False, id="no file"),
        pytest.param([(0, Response(503, {"etag": '"1"'}))], False, id="never reached"),
        pytest.param([(0, FILE), (DAY, DOWN)], True, id="out of reach, with a copy"),
        pytest.param([(0, FILE), (DAY, SAME)], True, id="confirmed"),
        pytest.param([(0, FILE), (DAY, [moved("/b"), FILE])], False, id="moved since"),
        pytest.param([(0, FILE), (DAY, GONE)], False, id="gone since"),
        pytest.param(
            [(0, Response(200, {"etag": '"1"'}, BODY, complete=False))], False, id="cut short"
        ),
    ],
)
def test_a_copy_is_asked_about_only_where_its_marks_hold(steps: list[Step], asked: bool) -> None:
    """Only a whole body that came without a redirect is asked about by its marks."""
    copy = after(*steps).copy
    assert (copy is not None) is asked
    if copy is not None:
        assert copy.url == ROBOTS


# Ahead of time.


@pytest.mark.parametrize(
    ("profile", "reply", "seconds"),
    [
        ("rfc9309", FILE, DAY),
        ("rfc9309", Response(200, {"cache-control": "max-age=3600"}), HOUR),
        ("rfc9309", GONE, DAY),
        ("google", FILE, DAY),
        ("open", FILE, 30 * MINUTE),
        ("open", GONE, 10 * MINUTE),
    ],
)
def test_refreshing_begins_at_nine_tenths(profile: str, reply: Reply, seconds: float) -> None:
    """An entry is refreshed from 90 % of its lifetime."""
    entry = after((0, reply), profile=profile)
    assert entry.fresh_until == pytest.approx(START + seconds)
    assert entry.refresh_at == pytest.approx(START + 0.9 * seconds)


def test_refreshing_counts_from_the_last_answer() -> None:
    """A confirmed entry has a lifetime of its own."""
    entry = after((0, FILE), (DAY, SAME))
    assert entry.refresh_at == pytest.approx(START + DAY + 0.9 * DAY)


@pytest.mark.parametrize("profile", ["rfc9309", "google", "open"])
@pytest.mark.parametrize(
    "reply", [DOWN, TIMEOUT, Response(429, {"retry-after": "7200"}), Response(302)]
)
def test_a_site_out_of_reach_is_not_asked_ahead_of_time(profile: str, reply: Reply) -> None:
    """A wait is waited out to the end, the site's own above all."""
    for entry in (after((0, reply), profile=profile), after((0, FILE), (DAY, reply))):
        assert entry.refresh_at >= entry.fresh_until
    patient = after((0, Response(429, {"retry-after": "7200"})))
    assert patient.fresh_until == START + 7200


# Any sequence.

REPLIES: list[Reply] = [
    FILE,
    SAME,
    GONE,
    DOWN,
    TIMEOUT,
    Response(200, body=b"other"),
    Response(200, {"etag": '"3"'}, b"cut", complete=False),
    Response(429, {"retry-after": "60"}),
    Response(403),
]


@settings(deadline=None)
@given(
    st.lists(st.tuples(st.floats(0, 40 * DAY), st.sampled_from(REPLIES)), min_size=1, max_size=12),
    st.sampled_from(["rfc9309", "google", "open"]),
    st.floats(0, 80 * DAY),
)
def test_through_any_sequence_an_entry_makes_sense(
    gaps: list[tuple[float, Reply]], profile: str, later: float
) -> None:
    """Whatever happens to a site, the body is the last one it gave and has not taken back."""
    now, entry, body, since, said = 0.0, None, None, None, 0.0
    for gap, reply in gaps:
        now += gap
        confirmed = reply is SAME and entry is not None and entry.copy is not None
        entry = after((now, reply), profile=profile, before=entry)
        if isinstance(reply, Response) and reply.status == 200:
            body, since, said = reply.body, None, now
        elif confirmed:
            since, said = None, now
        elif isinstance(reply, Response) and reply.status in (403, 404):
            body, since, said = None, None, now
        else:
            since = now if since is None else since
        assert entry.body == body
        assert entry.unreachable_since == (None if since is None else START + since)
        assert START + now < entry.fresh_until <= START + now + DAY
        assert entry.outcome.at <= entry.refresh_at <= entry.fresh_until
        assert entry.fetched_at <= entry.validated_at <= START + now
        if profile == "open":
            assert not usable(entry, now + later, profile)
        elif body is not None and since is not None:
            age, out = now + later - said, now + later - since
            if age < 29 * DAY and out > 12 * HOUR + 1:
                assert usable(entry, now + later, profile)
            if age > 30 * DAY + 1 or (profile == "google" and out < 12 * HOUR - 1):
                assert not usable(entry, now + later, profile)
        else:
            assert not usable(entry, now + later, profile)
