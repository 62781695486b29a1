"""When a host may be asked next: the numbers of semantics part C, without a clock."""

from datetime import UTC, datetime, time, timedelta

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from manners.politeness.schedule import (
    TOO_MUCH,
    Defer,
    Health,
    Pace,
    Reply,
    Wait,
    after,
    opens_at,
    rate_gap,
    turn,
)
from manners.robots.directives import RequestRate, VisitTime

PACE = Pace()
NOW = datetime(2027, 1, 15, 12, 0, tzinfo=UTC).timestamp()
DAY = 86_400.0
MIDDLE = 0.5
"""The draw that adds no jitter."""

DRAWS = st.floats(0, 1)
SECONDS = st.floats(0, 10_000)
MOMENTS = st.floats(0, 4e9) | st.integers(0, 4 * 10**9).map(float)
TIMES = st.times().map(lambda each: each.replace(second=0, microsecond=0))


def at(text: str) -> float:
    """A moment, in UTC: `2027-01-15 06:00`."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()


def hours(text: str) -> tuple[time, time]:
    """Two times of day: `0600-0845`."""
    start, end = (datetime.strptime(part, "%H%M").time() for part in text.split("-"))
    return start, end


# The gap from one start to the next.


def test_a_pace_has_the_numbers_of_the_specification() -> None:
    """Every default of part C."""
    assert PACE._asdict() == {
        "concurrency": 2,
        "lease": 300.0,
        "slot_timeout": 10.0,
        "min_delay": 0.2,
        "max_delay": 0.5,
        "defer_beyond": 60.0,
        "requests_per_second": None,
        "adaptive_factor": 1.0,
        "adaptive_weight": 0.3,
        "max_adaptive_delay": 30.0,
        "initial_backoff": 5.0,
        "max_backoff": 900.0,
        "backoff_jitter": 0.2,
        "backoff_window": 5.0,
        "backoff_reset": 3,
    }


@pytest.mark.parametrize(("draw", "gap"), [(0.0, 0.2), (0.5, 0.35), (1.0, 0.5)])
def test_a_gap_is_drawn_from_200_to_500_ms(draw: float, gap: float) -> None:
    """The draw says where between them."""
    assert PACE.gap(draw) == pytest.approx(gap)


@pytest.mark.parametrize("draw", [0.0, 0.5, 1.0])
def test_what_a_site_asks_for_counts_when_it_is_slower(draw: float) -> None:
    """A Crawl-delay of 5 s is 5 s; one of 0.1 s changes nothing (seed 002 would go faster)."""
    assert PACE.gap(draw, least=5.0) == 5.0
    assert PACE.gap(draw, least=3600.0) == 3600.0
    assert PACE.gap(draw, least=0.1) == PACE.gap(draw, least=0.0) == PACE.gap(draw)


def test_a_host_is_not_asked_faster_than_it_answers() -> None:
    """Adaptive: the smoothed response time, at most 30 s."""
    assert PACE.gap(1.0, smoothed=0.1) == PACE.gap(1.0)
    assert PACE.gap(1.0, smoothed=2.5) == 2.5
    assert PACE.gap(1.0, smoothed=29.5) == 29.5
    assert PACE.gap(1.0, smoothed=31.0) == PACE.gap(1.0, smoothed=3600.0) == 30.0
    assert PACE.gap(1.0, least=45.0, smoothed=3600.0) == 45.0


def test_the_adaptive_factor_multiplies_and_0_turns_it_off() -> None:
    """Twice as slow as it answers, half as slow, or not at all."""
    assert Pace(adaptive_factor=2.0).gap(0.0, smoothed=2.5) == 5.0
    assert Pace(adaptive_factor=2.0).gap(0.0, smoothed=20.0) == 30.0
    assert Pace(adaptive_factor=0.5).gap(0.0, smoothed=2.5) == 1.25
    assert Pace(adaptive_factor=0.0).gap(0.0, smoothed=2.5) == 0.2
    assert Pace(max_adaptive_delay=1.0).gap(0.0, smoothed=2.5) == 1.0


def test_a_host_s_own_delay_stands_instead_of_the_draw_and_the_response_time() -> None:
    """Be it 0; what the site asks for is never ignored for it."""
    for draw in (0.0, 1.0):
        assert PACE.gap(draw, own=0.0) == 0.0
        assert PACE.gap(draw, own=2.5) == 2.5
        assert PACE.gap(draw, own=0.0, smoothed=9.0) == 0.0
        assert PACE.gap(draw, own=0.0, least=5.0) == 5.0
        assert PACE.gap(draw, own=9.0, least=5.0) == 9.0


def test_requests_per_second_is_the_most_that_a_host_is_asked() -> None:
    """Whatever else would be faster; what is slower stays."""
    one, four = Pace(requests_per_second=1.0), Pace(requests_per_second=4.0)
    assert one.gap(1.0) == one.gap(0.0, own=0.0) == one.gap(0.0, smoothed=0.9) == 1.0
    assert one.gap(0.0, least=7.0) == 7.0
    assert one.gap(0.0, own=7.0) == 7.0
    assert four.gap(0.0) == 0.25
    assert four.gap(1.0) == 0.5
    assert Pace(requests_per_second=0.1).gap(1.0) == pytest.approx(10.0)


@given(DRAWS, SECONDS, st.none() | SECONDS, st.none() | SECONDS, st.none() | st.floats(0.01, 1e6))
def test_a_gap_is_never_below_any_demand(
    draw: float, least: float, smoothed: float | None, own: float | None, rate: float | None
) -> None:
    """Nor above the slowest of them."""
    pace = Pace(requests_per_second=rate)
    demands = [least]
    if rate is not None:
        demands.append(1 / rate)
    if own is not None:
        demands.append(own)
    elif smoothed is not None:
        demands += [0.2, min(smoothed, 30.0)]
    else:
        demands.append(0.2)
    gap = pace.gap(draw, least, smoothed, own)
    assert max(demands) <= gap
    assert gap <= max(*demands, 0.5 if own is None else 0.0) + 1e-9


# Request-rate.


@pytest.mark.parametrize(
    ("requests", "seconds", "gap"), [(1, 10, 10.0), (10, 1, 0.1), (100, 900, 9.0), (1, 86400, DAY)]
)
def test_a_request_rate_is_so_many_seconds_for_each(
    requests: int, seconds: int, gap: float
) -> None:
    """Without hours, at any time."""
    for now in (0.0, NOW, NOW + 0.5):
        assert rate_gap(RequestRate(requests, seconds), now) == gap


def test_no_request_rate_asks_for_nothing() -> None:
    """The gap is then what it would be without."""
    assert rate_gap(None, NOW) == 0.0


@pytest.mark.parametrize(
    ("window", "inside", "outside"),
    [
        ("0600-0845", ["06:00", "06:01", "08:44:59"], ["05:59:59", "08:45", "12:00", "00:00"]),
        ("2200-0400", ["22:00", "23:59:59", "00:00", "03:59:59"], ["04:00", "12:00", "21:59:59"]),
        ("0000-0600", ["00:00", "05:59:59"], ["06:00", "23:59:59"]),
        ("2200-0000", ["22:00", "23:59:59"], ["00:00", "21:59:59"]),
        ("0600-0600", ["05:59:59", "06:00", "06:01", "00:00", "23:59:59"], []),
        ("0000-0000", ["00:00", "12:00", "23:59:59"], []),
    ],
)
@pytest.mark.parametrize("day", ["2027-01-15", "2028-02-29", "2026-12-31", "1970-01-02"])
def test_a_request_rate_counts_in_its_hours(
    window: str, inside: list[str], outside: list[str], day: str
) -> None:
    """UTC; past midnight; from a time to itself is all day."""
    rate = RequestRate(1, 10, *hours(window))
    assert [rate_gap(rate, at(f"{day} {clock}")) for clock in inside] == [10.0] * len(inside)
    assert [rate_gap(rate, at(f"{day} {clock}")) for clock in outside] == [0.0] * len(outside)


# Visit-time.


@pytest.mark.parametrize(
    ("window", "now", "opening"),
    [
        ("0600-0845", "2027-01-15 00:00", "2027-01-15 06:00"),
        ("0600-0845", "2027-01-15 05:59:59.999999", "2027-01-15 06:00"),
        ("0600-0845", "2027-01-15 06:00", None),
        ("0600-0845", "2027-01-15 07:30", None),
        ("0600-0845", "2027-01-15 08:44:59.999999", None),
        ("0600-0845", "2027-01-15 08:45", "2027-01-16 06:00"),
        ("0600-0845", "2027-01-15 23:59:59", "2027-01-16 06:00"),
        ("0600-0845", "2027-01-31 09:00", "2027-02-01 06:00"),
        ("0600-0845", "2027-02-28 09:00", "2027-03-01 06:00"),
        ("0600-0845", "2028-02-28 09:00", "2028-02-29 06:00"),
        ("0600-0845", "2026-12-31 09:00", "2027-01-01 06:00"),
        ("2200-0400", "2026-12-31 21:59:59", "2026-12-31 22:00"),
        ("2200-0400", "2026-12-31 22:00", None),
        ("2200-0400", "2026-12-31 23:59:59.999999", None),
        ("2200-0400", "2027-01-01 00:00", None),
        ("2200-0400", "2027-01-01 03:59:59.999999", None),
        ("2200-0400", "2027-01-01 04:00", "2027-01-01 22:00"),
        ("0000-0600", "2027-01-15 06:00", "2027-01-16 00:00"),
        ("0000-0600", "2027-01-16 00:00", None),
        ("2200-0000", "2027-01-16 00:00", "2027-01-16 22:00"),
        ("0600-0600", "2027-01-15 05:59:59", None),
        ("0600-0600", "2027-01-15 06:00", None),
    ],
)
def test_a_site_opens_at_its_hours(window: str, now: str, opening: str | None) -> None:
    """Before, inside, after, past midnight, at both ends, across days, months and years."""
    found = opens_at(VisitTime(*hours(window)), at(now))
    assert found == at(now if opening is None else opening)


def test_a_site_without_hours_is_open() -> None:
    """No Visit-time is any time."""
    assert opens_at(None, NOW) == NOW


@given(TIMES, TIMES, MOMENTS)
@example(time(6), time(8), 21_600.0)
@example(time(6), time(8), 28_800.0)
@example(time(0), time(0), 0.0)
def test_a_site_opens_within_a_day_and_inside_its_hours(start: time, end: time, now: float) -> None:
    """Never in the past, at most a day ahead, and open once it is so far, not earlier."""
    window = VisitTime(start, end)
    opening = opens_at(window, now)
    assert now <= opening <= now + DAY
    assert opens_at(window, opening) == opening
    if opening > now:
        assert opens_at(window, (now + opening) / 2) == opening
        assert datetime.fromtimestamp(opening, UTC).time() == start
        closes = opening + window.minutes * 60
        assert opens_at(window, closes - 1) == closes - 1
        assert opens_at(window, closes) == opening + DAY


@given(TIMES, TIMES, MOMENTS)
def test_a_rate_and_a_visit_time_mean_the_same_hours(start: time, end: time, now: float) -> None:
    """Where a window is open, a rate with the same hours counts."""
    is_open = opens_at(VisitTime(start, end), now) == now
    assert (rate_gap(RequestRate(1, 1, start, end), now) == 1.0) is is_open


def test_hours_are_utc_whatever_the_zone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The computer may be anywhere."""
    import time as clock

    monkeypatch.setenv("TZ", "Asia/Kolkata")
    clock.tzset()
    try:
        assert opens_at(VisitTime(time(6), time(8)), 0.0) == timedelta(hours=6).total_seconds()
        assert rate_gap(RequestRate(1, 10, time(0), time(1)), 0.0) == 10.0
    finally:
        monkeypatch.undo()
        clock.tzset()


# A start time, and what it means.


@pytest.mark.parametrize(
    ("ahead", "answer"),
    [
        (-5.0, Wait(0.0)),
        (0.0, Wait(0.0)),
        (0.25, Wait(0.25)),
        (60.0, Wait(60.0)),
        (60.25, Defer(NOW + 60.25)),
        (DAY, Defer(NOW + DAY)),
    ],
)
def test_a_start_is_waited_for_up_to_60_s(ahead: float, answer: Wait | Defer) -> None:
    """Beyond, it is put off until then."""
    assert turn(PACE, NOW + ahead, NOW) == answer


def test_how_far_is_waited_for_is_a_setting() -> None:
    """Up to never, and up to an hour."""
    assert turn(Pace(defer_beyond=0.0), NOW + 0.25, NOW) == Defer(NOW + 0.25)
    assert turn(Pace(defer_beyond=0.0), NOW, NOW) == Wait(0.0)
    assert turn(Pace(defer_beyond=3600.0), NOW + 3600, NOW) == Wait(3600.0)


def test_a_slot_is_waited_for_10_s() -> None:
    """Those for which all were in use count."""
    assert PACE.patience(0.0) == 10.0
    assert PACE.patience(9.75) == 0.25
    assert max(PACE.patience(10.0), PACE.patience(11.0)) <= 0
    assert Pace(slot_timeout=0.5).patience(0.0) == 0.5


# What replies say: how long it takes to answer.


def told(health: Health, *replies: Reply, pace: Pace = PACE) -> Health:
    """A host after these replies, one a minute."""
    for number, reply in enumerate(replies):
        health, _ = after(health, pace, reply, NOW + 60 * number, MIDDLE)
    return health


def test_response_times_are_smoothed_with_a_weight_of_0_3() -> None:
    """The first counts as it is, each later one 0.3."""
    assert Health().smoothed is None
    assert told(Health(), Reply(200, 1.0)).smoothed == 1.0
    assert told(Health(), Reply(200, 1.0), Reply(200, 2.0)).smoothed == pytest.approx(1.3)
    three = told(Health(), Reply(200, 1.0), Reply(404, 2.0), Reply(200, 0.0))
    assert three.smoothed == pytest.approx(0.91)
    half = Pace(adaptive_weight=0.5)
    assert told(Health(), Reply(200, 1.0), Reply(200, 2.0), pace=half).smoothed == 1.5


@pytest.mark.parametrize("status", TOO_MUCH)
def test_a_refusal_says_nothing_about_how_long_an_answer_takes(status: int) -> None:
    """It comes at once: it would make the host look fast."""
    assert told(Health(), Reply(200, 4.0), Reply(status, 0.01)).smoothed == 4.0
    assert told(Health(), Reply(status, 0.01)).smoothed is None


@given(st.lists(SECONDS, min_size=1))
def test_the_smoothed_time_stays_between_the_fastest_and_the_slowest(times: list[float]) -> None:
    """An average, whatever comes."""
    smoothed = told(Health(), *(Reply(200, each) for each in times)).smoothed
    assert smoothed is not None
    assert min(times) - 1e-6 <= smoothed <= max(times) + 1e-6


# What replies say: too much.


def refused(
    health: Health, now: float, draw: float = MIDDLE, retry_after: float | None = None
) -> tuple[Health, float | None]:
    return after(health, PACE, Reply(503, 0.1, retry_after), now, draw)


def backoffs(number: int, draw: float = MIDDLE, pace: Pace = PACE) -> list[float]:
    """Seconds to leave a host alone that refuses again and again."""
    health, now, found = Health(), NOW, []
    for _ in range(number):
        health, until = after(health, pace, Reply(429, 0.1), now, draw)
        assert until is not None
        found.append(round(until - now, 3))
        now = until + pace.backoff_window
    return found


@pytest.mark.parametrize("status", [200, 204, 301, 304, 403, 404, 410, 500, 502, 504])
def test_only_429_and_503_say_that_it_is_too_much(status: int) -> None:
    """After anything else the host is not left alone."""
    assert TOO_MUCH == (429, 503)
    assert after(Health(), PACE, Reply(status, 0.1, 100.0), NOW, MIDDLE)[1] is None


@pytest.mark.parametrize("status", [429, 503])
def test_a_refusal_is_5_s(status: int) -> None:
    """For both statuses."""
    assert after(Health(), PACE, Reply(status, 0.1), NOW, MIDDLE)[1] == NOW + 5


def test_refusals_double_from_5_s_to_15_min() -> None:
    """And stay there, however many."""
    expected = [5.0, 10.0, 20.0, 40.0, 80.0, 160.0, 320.0, 640.0, 900.0, 900.0]
    assert backoffs(10) == expected
    assert backoffs(2000)[-1] == 900.0
    mine = Pace(initial_backoff=1.0, max_backoff=3.0)
    assert backoffs(4, pace=mine) == [1.0, 2.0, 3.0, 3.0]


@pytest.mark.parametrize(("draw", "part"), [(0.0, 0.8), (0.5, 1.0), (1.0, 1.2)])
def test_jitter_is_20_percent_either_way(draw: float, part: float) -> None:
    """On every step, the longest too."""
    assert backoffs(9, draw) == pytest.approx([part * each for each in backoffs(9)])


def test_jitter_is_a_setting() -> None:
    """None, or all of it."""
    assert backoffs(2, 1.0, Pace(backoff_jitter=0.0)) == [5.0, 10.0]
    assert backoffs(2, 1.0, Pace(backoff_jitter=1.0)) == [10.0, 20.0]


def test_several_refusals_within_5_s_are_one_step() -> None:
    """They were under way together."""
    health, first = refused(Health(), NOW)
    assert first == NOW + 5
    for late in (0.0, 1.0, 4.75):
        health, until = refused(health, NOW + late)
        assert until is None
        assert health.steps == 1
    health, until = refused(health, NOW + 5)
    assert until == NOW + 15
    health, until = refused(health, NOW + 9.75)
    assert until is None
    assert refused(health, NOW + 10)[1] == NOW + 30


def test_a_retry_after_is_obeyed_instead() -> None:
    """As it is, without jitter, be it shorter or longer than any step."""
    for seconds in (0.0, 1.0, 120.0, 7200.0):
        for draw in (0.0, 1.0):
            assert refused(Health(), NOW, draw, seconds)[1] == NOW + seconds


def test_a_retry_after_is_a_step() -> None:
    """Whoever refuses again without saying until when is left alone for longer."""
    health, _ = refused(Health(), NOW, retry_after=1.0)
    assert refused(health, NOW + 6)[1] == NOW + 6 + 10


def test_a_retry_after_is_obeyed_within_the_5_s_too() -> None:
    """It is no step then, and it counts."""
    health, _ = refused(Health(), NOW)
    health, until = refused(health, NOW + 1, retry_after=30.0)
    assert until == NOW + 31
    assert health.steps == 1
    assert health.stepped_at == NOW


def test_three_successes_start_from_the_beginning() -> None:
    """Two do not, and a refusal between them counts from none again."""
    fine, now = Reply(200, 0.1), NOW

    def step(health: Health) -> tuple[Health, float]:
        nonlocal now
        now += 1000
        health, until = refused(health, now)
        assert until is not None
        return health, until - now

    health, seconds = step(Health())
    health, seconds = step(told(health, fine, fine))
    assert seconds == 10.0
    health, seconds = step(told(health, fine))
    assert seconds == 20.0
    health, seconds = step(told(health, fine, fine))
    assert seconds == 40.0
    health, seconds = step(told(health, fine, fine, fine))
    assert seconds == 5.0


def test_a_refusal_within_a_step_undoes_successes() -> None:
    """The three are in a row."""
    health, _ = refused(Health(), NOW)
    for _ in range(2):
        health, _ = after(health, PACE, Reply(200, 0.1), NOW + 1, MIDDLE)
    health, _ = refused(health, NOW + 2)
    health = told(health, Reply(200, 0.1), Reply(200, 0.1))
    assert refused(health, NOW + 1000)[1] == NOW + 1010


def test_successes_keep_the_response_time_when_they_reset() -> None:
    """How fast a host answers has nothing to do with how often it refused."""
    health, _ = refused(Health(smoothed=2.0), NOW)
    assert told(health, *[Reply(200, 2.0)] * 3) == Health(smoothed=2.0)


REPLIES = st.builds(Reply, st.sampled_from([200, 404, 429, 500, 503]), SECONDS, st.none() | SECONDS)


@given(st.lists(st.tuples(REPLIES, st.floats(0, 100), DRAWS)))
@example([(Reply(429, 0.0), 5.0, 1.0)] * 100)
def test_a_back_off_is_within_its_bounds_whatever_comes(
    story: list[tuple[Reply, float, float]],
) -> None:
    """4 s to 18 min, or what Retry-After says; only after a refusal; one step per 5 s at most."""
    health, now = Health(), NOW
    for reply, later, draw in story:
        now += later
        before = health
        health, until = after(health, PACE, reply, now, draw)
        if reply.status not in TOO_MUCH:
            assert until is None
            assert health.steps in (before.steps, 0)
            continue
        is_step = health.stepped_at != before.stepped_at
        assert is_step is (now - before.stepped_at >= 5)
        if reply.retry_after is not None:
            assert until == now + reply.retry_after
        elif is_step:
            assert until is not None
            assert 4 - 1e-6 <= until - now <= 1080 + 1e-6
        else:
            assert until is None
