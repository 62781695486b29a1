"""How often a site is looked at, and a delivery tried."""

import pytest

from manners.watch.pace import MIN_EVERY_HERE, Retries, next_look, read_interval
from manners.watch.signing import read_secret, signature


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("30m", 1800),
        ("6h", 21_600),
        ("1d", 86_400),
        ("1.5h", 5400),
        (" 2 H ", 7200),
        ("900", 900),
        ("300s", 300),
        ("5min", 300),
    ],
)
def test_intervals_are_read_as_people_write_them(text: str, seconds: float) -> None:
    """A number with a unit, or of seconds."""
    assert read_interval(text) == seconds


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "is not an interval"),
        ("6 hours", "is not an interval"),
        ("-6h", "is not an interval"),
        ("6h30m", "is not an interval"),
        ("nan", "is not an interval"),
        ("1e9", "is not an interval"),
        ("٣h", "is not an interval"),
        ("299", "too short: at least 5 min"),
        ("0", "too short"),
        ("9999d", "too long"),
    ],
)
def test_other_intervals_are_refused_with_a_reason(text: str, problem: str) -> None:
    """What is no interval, or no sensible one, says so."""
    with pytest.raises(ValueError, match=problem):
        read_interval(text)


def test_sites_on_this_machine_may_be_looked_at_often() -> None:
    """Somebody who tries things out need not wait for minutes."""
    assert read_interval("1s", MIN_EVERY_HERE) == 1.0


def test_looks_are_spread_around_the_interval() -> None:
    """The draw moves a look by a tenth at most, and a pause that a site asks for comes first."""
    looks = [round(next_look(0.0, 100.0, 0.0, draw)) for draw in (0.0, 0.5, 1.0)]
    assert looks == [90, 100, 110]
    assert next_look(0.0, 100.0, 500.0, 0.5) == 500.0


def test_a_delivery_is_tried_for_days_and_a_bounded_number_of_times() -> None:
    """Waits grow up to a limit; all together they are some days."""
    retries = Retries()
    waits = [retries.wait(attempt, 0.5) for attempt in range(1, retries.attempts)]
    assert waits == sorted(waits)
    assert 2 * 86_400 < sum(waits) < 7 * 86_400


def test_a_signature_is_of_the_time_the_body_and_the_secret() -> None:
    """With any of the three different, it is another one."""
    right = signature(b"s" * 16, 1, b"{}")
    assert right.startswith("t=1,v1=")
    others = [(b"t" * 16, 1, b"{}"), (b"s" * 16, 2, b"{}"), (b"s" * 16, 1, b"{} ")]
    signatures = {signature(*other).partition(",")[2] for other in others}
    assert len(signatures | {right.partition(",")[2]}) == 4


@pytest.mark.parametrize("data", [b"", b"\n", b"short", b" " * 40])
def test_a_secret_that_can_be_guessed_is_refused(data: bytes) -> None:
    """It needs 16 bytes that are no white space around it; the message does not show it."""
    with pytest.raises(ValueError, match="needs at least 16") as refused:
        read_secret(data)
    assert "short" not in str(refused.value).replace("too short", "")
