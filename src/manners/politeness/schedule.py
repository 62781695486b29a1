"""When a host may be asked next. Quiet: time and chance are arguments.

What a site asks for is kept to (Crawl-delay, Request-rate, Visit-time, Retry-After). Beyond that a
host is asked no faster than it answers, and left alone for a while when it says that it is too
much. There are four answers: start at a time, wait for it, come back later, give up:

    Pace.gap        how far apart two starts are
    turn            a start time: `Wait` for it, or `Defer`
    grace           how late a request may leave without telling the others of a fleet
    opens_at        the hours of a site
    after           what a reply says about the host: how it is doing, until when to leave it alone
    Pace.patience   how long to wait for a slot; nothing left is giving up
"""

from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

from manners.robots.directives import RequestRate, VisitTime

TOO_MUCH = (429, 503)
"""The statuses by which a server says that it is asked too often (RFC 6585, RFC 9110)."""
_STEPS = 64
"""Doublings that are counted: more make no difference to any limit."""


class Pace(NamedTuple):
    """How fast hosts are asked: numbers that `Settings` has under the same names.

    >>> Pace(delay_least=1.0, delay_most=1.0).gap(draw=0.5)
    1.0
    """

    concurrency: int = 2
    lease: float = 300.0
    slot_wait: float = 10.0
    delay_least: float = 0.2
    delay_most: float = 0.5
    defer_beyond: float = 60.0
    requests_per_second: float | None = None
    adaptive_factor: float = 1.0
    adaptive_weight: float = 0.3
    adaptive_most: float = 30.0
    backoff_first: float = 5.0
    backoff_most: float = 900.0
    backoff_jitter: float = 0.2
    backoff_step: float = 5.0
    backoff_reset: int = 3

    def gap(
        self,
        draw: float,
        least: float = 0.0,
        smoothed: float | None = None,
        own: float | None = None,
    ) -> float:
        """Seconds from one start to the next, for a random draw from 0 to 1.

        `least` is what the site asks for, `smoothed` how long it takes to answer. `own` is what the
        user set for this very host, which stands instead of the draw and of the response time.

        >>> Pace().gap(0.0, least=5.0), Pace().gap(1.0, least=0.1), Pace().gap(0.5, smoothed=2.0)
        (5.0, 0.5, 2.0)
        """
        if own is not None:
            gap = own
        else:
            gap = self.delay_least + (self.delay_most - self.delay_least) * draw
            if smoothed is not None and self.adaptive_factor:
                gap = max(gap, min(smoothed * self.adaptive_factor, self.adaptive_most))
        if self.requests_per_second is not None:
            gap = max(gap, 1 / self.requests_per_second)
        return max(gap, least)

    def smoothed(self, before: float | None, seconds: float) -> float:
        """How long a host takes to answer, after an answer that took so long.

        >>> Pace().smoothed(None, 2.0), Pace().smoothed(1.0, 2.0)
        (2.0, 1.3)
        """
        return seconds if before is None else before + self.adaptive_weight * (seconds - before)

    def patience(self, full: float) -> float:
        """Seconds left to wait for a slot, when all were in use for `full` seconds meanwhile.

        >>> Pace().patience(4.0)
        6.0
        """
        return self.slot_wait - full


class Wait(NamedTuple):
    """Wait so many seconds; none is to start now."""

    seconds: float


class Defer(NamedTuple):
    """Come back at a time: it is too far ahead to wait for it."""

    until: float


def turn(pace: Pace, start: float, now: float) -> Wait | Defer:
    """What a start time means for whoever is to start.

    >>> turn(Pace(), 105.0, now=100.0), turn(Pace(), 220.0, now=100.0)
    (Wait(seconds=5.0), Defer(until=220.0))
    """
    ahead = start - now
    return Defer(start) if ahead > pace.defer_beyond else Wait(max(ahead, 0.0))


def grace(gap: float, answer_time: float) -> float:
    """Seconds within which a request that may start leaves: others elsewhere start a gap behind.

    So much is added to the gap for those who share a host by a server, which need not be told then
    when the request really left. One that takes longer to leave asks again before it does. The
    server's answer comes within it, unless it takes longer (`answer_time`) than a part of the gap.

    >>> grace(1.0, 0.001), grace(10.0, 0.001), grace(1.0, 0.08)
    (0.02, 0.05, 0.16)
    """
    usual = min(gap * _GRACE, _GRACE_MOST)
    return max(min(max(usual, 2 * answer_time), gap * _GRACE_PART), _GRACE_LEAST)


_GRACE, _GRACE_MOST = 1 / 50, 0.05
_GRACE_LEAST, _GRACE_PART = 0.01, 1 / 5


class Health(NamedTuple):
    """How a host has been answering."""

    smoothed: float | None = None
    """Seconds it takes to answer, the latest counting most."""
    steps: int = 0
    """How often in a row it said that it is too much."""
    stepped_at: float = float("-inf")
    successes: int = 0
    """Answers since then that say otherwise."""


class Reply(NamedTuple):
    """What a reply says about the host it came from."""

    status: int
    seconds: float
    retry_after: float | None = None
    """Seconds."""


def after(
    health: Health, pace: Pace, reply: Reply, now: float, draw: float
) -> tuple[Health, float | None]:
    """How a host is doing after a reply, and until when to leave it alone, if so.

    `draw` is random, from 0 to 1.

    >>> after(Health(), Pace(), Reply(503, 0.1), now=100.0, draw=0.5)[1]
    105.0
    """
    if reply.status not in TOO_MUCH:
        smoothed = pace.smoothed(health.smoothed, reply.seconds)
        successes = health.successes + 1
        if not health.steps or successes >= pace.backoff_reset:
            return Health(smoothed), None
        return health._replace(smoothed=smoothed, successes=successes), None
    # Several at once are one step: they were all under way when the first came back.
    is_step = now - health.stepped_at >= pace.backoff_step
    until = None
    if reply.retry_after is not None:
        until = now + reply.retry_after
    elif is_step:
        wait = min(pace.backoff_first * 2.0**health.steps, pace.backoff_most)
        until = now + wait * (1 + pace.backoff_jitter * (2 * draw - 1))
    if not is_step:
        return health._replace(successes=0), until
    steps = min(health.steps + 1, _STEPS)
    return health._replace(steps=steps, stepped_at=now, successes=0), until


def rate_gap(rate: RequestRate | None, now: float) -> float:
    """Seconds from one start to the next by a Request-rate, at the hours it is for (UTC).

    >>> rate_gap(RequestRate(1, 10), 0.0), rate_gap(RequestRate(1, 10, time(6), time(8)), 0.0)
    (10.0, 0.0)
    """
    if rate is None:
        return 0.0
    has_hours = rate.start is not None and rate.end is not None
    if has_hours and not _is_within(rate.start, rate.end, now):  # type: ignore[arg-type]
        return 0.0
    return rate.interval


def opens_at(window: VisitTime | None, now: float) -> float:
    """When a host may be visited by its Visit-time (UTC): now, or when its hours begin.

    >>> opens_at(VisitTime(time(6), time(8)), 0.0)
    21600.0
    """
    if window is None or _is_within(*window, now):
        return now
    today = datetime.fromtimestamp(now, UTC)
    opening = datetime.combine(today.date(), window.start, UTC)
    if opening <= today:
        opening += timedelta(days=1)
    return opening.timestamp()


def _is_within(start: time, end: time, now: float) -> bool:
    """Whether it is between two times of day; from a time to itself is all day."""
    clock = datetime.fromtimestamp(now, UTC).time()
    if start < end:
        return start <= clock < end
    return clock >= start or clock < end
