"""Texts for people: counts and time spans."""

import pytest

from manners._text import duration

MINUTE, HOUR, DAY = 60, 3_600, 86_400


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (-5, "0 s"),
        (0, "0 s"),
        (0.0004, "0 ms"),
        (0.099, "99 ms"),
        (0.2, "0.2 s"),
        (0.995, "1 s"),
        (9.96, "10 s"),
        (59.4, "59 s"),
        (59.5, "1 min"),
        (119, "1 min 59 s"),
        (2 * MINUTE, "2 min"),
        (HOUR - 1, "59 min 59 s"),
        (HOUR, "1 h"),
        (2 * HOUR + 59, "2 h"),
        (DAY - 1, "23 h 59 min"),
        (DAY, "1 d"),
        (47 * HOUR, "1 d 23 h"),
        (30 * DAY, "30 d"),
    ],
)
def test_a_time_span_has_at_most_two_units(seconds: float, text: str) -> None:
    """The largest unit, and the next smaller one where it counts."""
    assert duration(seconds) == text
