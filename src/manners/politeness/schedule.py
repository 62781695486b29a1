"""When a host may be requested next. Quiet: time and random draws are arguments.

What a site asks for is obeyed: Crawl-delay, Request-rate, Visit-time, Retry-After. Beyond that,
requests come no faster than the host answers, and back off when it replies that it is overloaded.
There are four answers: start at a time, wait for it, come back later, give up:

    Pace.gap        how far apart two starts are
    turn            a start time: `Wait` for it, or `Defer`
    grace           how late a request may leave without other processes knowing
    opens_at        when the Visit-time of a site begins
    after           what a reply says about the host: its health, and until when to back off
    Pace.patience   how long to wait for a slot; 0 is to give up
"""

from datetime import UTC, datetime, time, timedelta
from typing import NamedTuple

from manners.robots.directives import RequestRate, VisitTime

TOO_MUCH = (429, 503)
"""The statuses of a server that gets too many requests (RFC 6585, RFC 9110)."""
_STEPS = 64
"""Most doublings of the back-off: more make no difference to any limit."""


class Pace(NamedTuple):
    """How fast requests to a host may follow each other: settings of the same names.

    >>> Pace(min_delay=1.0, max_delay=1.0).gap(draw=0.5)
    1.0
    """

    concurrency: int = 2
    lease: float = 300.0
    slot_timeout: float = 10.0
    min_delay: float = 0.2
    max_delay: float = 0.5
    defer_beyond: float = 60.0
    requests_per_second: float | None = None
    adaptive_factor: float = 1.0
    adaptive_weight: float = 0.3
    max_adaptive_delay: float = 30.0
    initial_backoff: float = 5.0
    max_backoff: float = 900.0
    backoff_jitter: float = 0.2
    backoff_window: float = 5.0
    backoff_reset: int = 3

    def gap(
        self,
        draw: float,
        least: float = 0.0,
        smoothed: float | None = None,
        own: float | None = None,
    ) -> float:
        """Seconds from one start to the next, for a random draw from 0 to 1.

        `least` is the delay that the site asks for, `smoothed` its average response time. `own` is
        the user's delay for this host, instead of the draw and of the response time.

        >>> Pace().gap(0.0, least=5.0), Pace().gap(1.0, least=0.1), Pace().gap(0.5, smoothed=2.0)
        (5.0, 0.5, 2.0)
        """
        if own is not None:
            gap = own
        else:
            gap = self.min_delay + (self.max_delay - self.min_delay) * draw
            if smoothed is not None and self.adaptive_factor:
                gap = max(gap, min(smoothed * self.adaptive_factor, self.max_adaptive_delay))
        if self.requests_per_second is not None:
            gap = max(gap, 1 / self.requests_per_second)
        return max(gap, least)

    def smoothed(self, before: float | None, seconds: float) -> float:
        """The average response time of a host, after another response.

        >>> Pace().smoothed(None, 2.0), Pace().smoothed(1.0, 2.0)
        (2.0, 1.3)
        """
        return seconds if before is None else before + self.adaptive_weight * (seconds - before)

    def patience(self, full: float) -> float:
        """Seconds that remain to wait for a slot, after all were taken for `full` seconds.

        >>> Pace().patience(4.0)
        6.0
        """
        return self.slot_timeout - full


class Wait(NamedTuple):
    """Wait for some seconds; 0 is to start now."""

    seconds: float


class Defer(NamedTuple):
    """Come back at a time that is too far ahead to wait for."""

    until: float


def turn(pace: Pace, start: float, now: float) -> Wait | Defer:
    """Whether to wait for a start time, or to come back.

    >>> turn(Pace(), 105.0, now=100.0), turn(Pace(), 220.0, now=100.0)
    (Wait(seconds=5.0), Defer(until=220.0))
    """
    ahead = start - now
    return Defer(start) if ahead > pace.defer_beyond else Wait(max(ahead, 0.0))


def grace(gap: float, answer_time: float) -> float:
    """Seconds that a request may take to leave, once it may start.

    They are added to the gap for processes that share a host by a server, so that the server need
    not know when the request really left. A request that takes longer asks again before it leaves.
    The grace covers the time that the server takes to answer (`answer_time`), up to a part of the
    gap.

    >>> grace(1.0, 0.001), grace(10.0, 0.001), grace(1.0, 0.08)
    (0.02, 0.05, 0.16)
    """
    usual = min(gap * _GRACE, _GRACE_MOST)
    return max(min(max(usual, 2 * answer_time), gap * _GRACE_PART), _GRACE_LEAST)


_GRACE, _GRACE_MOST = 1 / 50, 0.05
_GRACE_LEAST, _GRACE_PART = 0.01, 1 / 5


class Health(NamedTuple):
    """The response time and overload of a host so far."""

    smoothed: float | None = None
    """Response time in seconds, a moving average."""
    steps: int = 0
    """How often in a row it was overloaded."""
    stepped_at: float = float("-inf")
    successes: int = 0
    """Other replies since then."""


class Reply(NamedTuple):
    """What a reply says about its host."""

    status: int
    seconds: float
    retry_after: float | None = None
    """Seconds."""


def after(
    health: Health, pace: Pace, reply: Reply, now: float, draw: float
) -> tuple[Health, float | None]:
    """The health of a host after a reply, and until when to back off, if necessary.

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
    # Several at once are one step: they were under way when the first reply came.
    is_step = now - health.stepped_at >= pace.backoff_window
    until = None
    if reply.retry_after is not None:
        until = now + reply.retry_after
    elif is_step:
        wait = min(pace.initial_backoff * 2.0**health.steps, pace.max_backoff)
        until = now + wait * (1 + pace.backoff_jitter * (2 * draw - 1))
    if not is_step:
        return health._replace(successes=0), until
    steps = min(health.steps + 1, _STEPS)
    return health._replace(steps=steps, stepped_at=now, successes=0), until


def rate_gap(rate: RequestRate | None, now: float) -> float:
    """Seconds from one start to the next by a Request-rate, during its hours (UTC).

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
    """Whether it is between two times of day; equal times are all day."""
    clock = datetime.fromtimestamp(now, UTC).time()
    if start < end:
        return start <= clock < end
    return clock >= start or clock < end
