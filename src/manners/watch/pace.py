"""When a site is looked at again, and when a delivery is tried again. Quiet."""

import re
from typing import NamedTuple

from manners._text import duration

MINUTE = 60.0
MIN_EVERY = 5 * MINUTE
"""Seconds. Crawlers may use a copy for a day (RFC 9309 section 2.4), and hardly any sees a change
sooner: to ask more often is traffic that helps nobody."""
MIN_EVERY_HERE = 1.0
"""Seconds, for sites on this machine: somebody tries things out."""
MAX_EVERY = 31 * 86_400.0
JITTER = 0.1
"""The fraction by which the interval varies at random, up and down."""

_UNITS = {"": 1.0, "s": 1.0, "m": MINUTE, "min": MINUTE, "h": 3_600.0, "d": 86_400.0}
_INTERVAL = re.compile(r"\s*([0-9]{1,9}(?:\.[0-9]{1,9})?)\s*([a-z]*)\s*", re.IGNORECASE).fullmatch


def read_interval(text: str, least: float = MIN_EVERY) -> float:
    """The seconds of an interval such as `6h`; raises ValueError that says what is wrong.

    >>> read_interval("6h"), read_interval("30m"), read_interval("1d"), read_interval("900")
    (21600.0, 1800.0, 86400.0, 900.0)
    >>> read_interval("10s")
    Traceback (most recent call last):
    ValueError: '10s' is too short: at least 5 min …
    """
    found = _INTERVAL(text)
    unit = None if found is None else _UNITS.get(found[2].lower())
    if found is None or unit is None:
        raise ValueError(f"{text[:50]!r} is not an interval: write 30m, 6h, 1d, or seconds")
    seconds = float(found[1]) * unit
    if seconds < least:
        raise ValueError(
            f"{text[:50]!r} is too short: at least {duration(least)}; crawlers notice a change"
            " hours later, up to a day"
        )
    if seconds > MAX_EVERY:
        raise ValueError(f"{text[:50]!r} is too long: at most {duration(MAX_EVERY)}")
    return seconds


def next_look(looked_at: float | None, every: float, not_before: float, draw: float) -> float:
    """When to look at a site again, for a random draw from 0 to 1; 0.0 for one never looked at.

    >>> next_look(1000.0, 100.0, 0.0, 0.5), next_look(None, 100.0, 0.0, 0.5)
    (1100.0, 0.0)
    """
    if looked_at is None:
        return 0.0
    return max(looked_at + every * (1 + JITTER * (2 * draw - 1)), not_before)


class Retries(NamedTuple):
    """How often a delivery that fails is tried, and how long to wait in between.

    >>> [Retries().wait(attempts, draw=0.5) for attempts in (1, 2, 3, 30)]
    [1.0, 2.0, 4.0, 21600.0]
    """

    first: float = 1.0
    """Seconds after the first attempt; doubled after each."""
    most: float = 6 * 3_600.0
    attempts: int = 24
    """After that many, a delivery is given up: some days after the first."""
    patience: float = 5.0
    """Seconds that one run with `--once` waits for another attempt; the next run goes on."""

    def wait(self, attempts: int, draw: float) -> float:
        """Seconds to wait after so many attempts, for a random draw from 0 to 1."""
        wait = min(self.first * 2.0 ** min(attempts - 1, 60), self.most)
        return wait * (1 + _SPREAD * (2 * draw - 1))


_SPREAD = 0.2
