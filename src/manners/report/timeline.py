"""The timeline of a crawl: when each host was asked, how far apart, and response times. Quiet.

Requests are added in the order in which they started. A few numbers are kept of each, and the
result is as long for ten requests as for a million.
"""

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_LANES = 8
"""Hosts in the timeline, those with most requests."""
BINS = 120
"""The number of steps in the timeline."""
_PAUSE = 60.0
"""Seconds without any request that are not yet a pause. In a long crawl it takes a quarter of the
running time."""
_RECENT = 8
"""Responses of a host that are remembered: with the usual settings no more are in flight."""
_EDGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Where the bars of the response times end, in seconds."""


class Bin(NamedTuple):
    """The requests to a host that started in one step of the timeline."""

    at: float
    """Seconds from the beginning of the timeline."""
    requests: int
    gap: float | None
    """The shortest gap between the starts of two requests; None for the first to a host."""
    delay: float
    """The minimum delay in force for that gap."""


class Lane(NamedTuple):
    """One host in the timeline."""

    host: str
    requests: int
    shortest: float | None
    bins: list[Bin]


class Pause(NamedTuple):
    """A time without requests to any host; the timeline skips it."""

    at: float
    seconds: float


class Timeline(NamedTuple):
    """When each host was asked, and how far apart."""

    began: float
    """When the first request started, in seconds since the epoch."""
    seconds: float
    """The length, without pauses."""
    step: float
    """The length of a step."""
    pauses: list[Pause]
    lanes: list[Lane]
    hosts: int
    """The number of all hosts; those with most requests have a lane."""


class Span(NamedTuple):
    """The number of responses that took up to `up_to` seconds; None is no limit."""

    up_to: float | None
    number: int


class ResponseTimes(NamedTuple):
    """How long responses took, in seconds."""

    answers: int
    median: float
    p90: float
    p99: float
    longest: float
    spans: list[Span]


class HostRequests:
    """The requests to one host."""

    __slots__ = ("_recent", "bytes", "delay", "index", "last", "requests", "seconds", "shortest")

    def __init__(self, index: int) -> None:
        self.index = index
        self.requests = self.bytes = 0
        self.seconds = 0.0
        """The sum of all response times."""
        self.last: float | None = None
        """When the last request started."""
        self.shortest: float | None = None
        """The shortest gap between the starts of two requests."""
        self.delay = 0.0
        """The delay in force after the last request."""
        self._recent: deque[tuple[float, float]] = deque(maxlen=_RECENT)
        """When the last responses arrived, and the delay from then on."""

    def start(self, at: float, seconds: float, delay: float) -> tuple[float | None, float]:
        """Add a request; returns the gap to the one before and the delay in force for it.

        `delay` is in force from the response on, `seconds` later. The gap before the next request
        was drawn shortly before this one started, so responses that arrived later had no influence.
        """
        gap, in_force = None, delay
        if self.last is not None:
            known = sorted(entry for entry in self._recent if entry[0] <= self.last)[-2:]
            gap = at - self.last
            in_force = min(delay for _, delay in known or self._recent)
            self.shortest = gap if self.shortest is None else min(gap, self.shortest)
        self.last, self.delay = at, delay
        self._recent.append((at + seconds, delay))
        return gap, in_force


class Requests:
    """Collects requests, and summarises them as a timeline and as response times.

    `minimum` is given a host and the delay that was stored for it, and returns the shortest gap
    that this delay permits; `running` is the running time of the crawl.

    >>> requests = Requests(running=2.0)
    >>> for at in (100.0, 100.5, 101.5):
    ...     requests.add("a.example", at, seconds=0.1, delay=0.5, size=1_000, counts=True)
    >>> requests.timeline().lanes[0].shortest, requests.times().median
    (0.5, 0.1)
    """

    def __init__(
        self, running: float, minimum: Callable[[str, float], float] = lambda _, delay: delay
    ) -> None:
        self._pause, self._minimum = max(_PAUSE, running / 4), minimum
        self.hosts: dict[str, HostRequests] = {}
        self._began = self._last = self._axis = 0.0
        self._pauses: list[Pause] = []
        self._response_times = array("d")
        # One entry for each request.
        self._at, self._gaps, self._delays = array("d"), array("d"), array("d")
        self._hosts = array("l")

    def add(
        self, host: str, at: float, *, seconds: float, delay: float, size: int, counts: bool
    ) -> None:
        """Add a request; with `counts`, it is among the response times."""
        requests = self.hosts.get(host)
        if requests is None:
            requests = self.hosts[host] = HostRequests(len(self.hosts))
        requests.requests += 1
        requests.bytes += size
        requests.seconds += seconds
        if counts:
            self._response_times.append(seconds)
        gap, in_force = requests.start(at, seconds, self._minimum(host, delay))
        self._move_to(at)
        self._at.append(self._axis)
        self._gaps.append(-1.0 if gap is None else gap)
        self._delays.append(in_force)
        self._hosts.append(requests.index)

    def _move_to(self, at: float) -> None:
        if not self._at:
            self._began = self._last = at
        passed = at - self._last
        self._last = at
        if passed > self._pause:
            self._pauses.append(Pause(self._axis, passed))
        else:
            self._axis += passed

    def timeline(self) -> Timeline:
        """The timeline of the hosts with most requests."""
        busiest = sorted(self.hosts.items(), key=lambda item: (-item[1].requests, item[0]))[:_LANES]
        step = self._axis / BINS or 1.0
        bins: dict[int, dict[int, Bin]] = {host.index: {} for _, host in busiest}
        rows = zip(self._hosts, self._at, self._gaps, self._delays, strict=True)
        for index, at, stored_gap, delay in rows:
            lane = bins.get(index)
            if lane is None:
                continue
            number = min(int(at / step), BINS - 1)
            gap = None if stored_gap < 0 else stored_gap
            known = lane.get(number)
            if known is None:
                lane[number] = Bin(number * step, 1, gap, delay)
            elif gap is not None and (known.gap is None or gap < known.gap):
                lane[number] = Bin(known.at, known.requests + 1, gap, delay)
            else:
                lane[number] = known._replace(requests=known.requests + 1)
        lanes = [
            Lane(name, host.requests, host.shortest, [*bins[host.index].values()])
            for name, host in busiest
        ]
        return Timeline(self._began, self._axis, step, self._pauses, lanes, len(self.hosts))

    def times(self) -> ResponseTimes:
        """How long responses took."""
        times = sorted(self._response_times)
        counts = [0] * (len(_EDGES) + 1)
        for seconds in times:
            counts[bisect_left(_EDGES, seconds)] += 1
        spans = [Span(edge, number) for edge, number in zip((*_EDGES, None), counts, strict=True)]
        while spans and not spans[-1].number:
            spans.pop()
        while spans and not spans[0].number:
            spans.pop(0)

        def quantile(share: float) -> float:
            return times[int(share * (len(times) - 1))] if times else 0.0

        return ResponseTimes(
            len(times), quantile(0.5), quantile(0.9), quantile(0.99), quantile(1.0), spans
        )
