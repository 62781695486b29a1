"""The time line of a crawl: when which host was asked, how far apart, and how long it took. Quiet.

Requests are told one after the other, in the order in which they started. What is kept of each is a
few numbers, and what comes out is as long for ten of them as for a million.
"""

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

_LANES = 8
"""Hosts in the time line, those that were asked most."""
BINS = 120
"""The parts that it is cut into."""
_PAUSE = 60.0
"""Seconds in which nothing is asked that are no pause yet, however short the crawl; in a long one
that is a quarter of the time that it ran."""
_ANSWERS = 8
"""Answers of a host that are remembered: more are never under way with the usual settings."""
_EDGES = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0)
"""Seconds: where one bar of response times ends and the next begins."""


class Bin(NamedTuple):
    """Requests to a host that started in one part of the time line."""

    at: float
    """Seconds from the beginning of the time line."""
    requests: int
    gap: float | None
    """The shortest time from one start to the next; None for the first request to a host."""
    delay: float
    """The least delay that was in force for it."""


class Lane(NamedTuple):
    """One host in the time line."""

    host: str
    requests: int
    shortest: float | None
    bins: list[Bin]


class Pause(NamedTuple):
    """A time in which nothing was asked of anybody; the time line leaves it out."""

    at: float
    seconds: float


class TimeLine(NamedTuple):
    """When which host was asked, and how far apart."""

    began: float
    """When the first request started, in seconds since the epoch."""
    seconds: float
    """How long it is, without the pauses."""
    step: float
    """How long each of its parts is."""
    pauses: list[Pause]
    lanes: list[Lane]
    hosts: int
    """How many were asked; the time line has those that were asked most."""


class Span(NamedTuple):
    """Answers that took up to so many seconds, and longer than those before; None is no limit."""

    up_to: float | None
    number: int


class Times(NamedTuple):
    """How long answers took, in seconds."""

    answers: int
    median: float
    p90: float
    p99: float
    longest: float
    spans: list[Span]


class Asked:
    """What was asked of one host."""

    __slots__ = ("_answers", "bytes", "delay", "last", "place", "requests", "seconds", "shortest")

    def __init__(self, place: int) -> None:
        self.place = place
        self.requests = self.bytes = 0
        self.seconds = 0.0
        """How long it took to answer, in all."""
        self.last: float | None = None
        """When the last request started."""
        self.shortest: float | None = None
        """The shortest time from one start to the next."""
        self.delay = 0.0
        """The delay that the last request has left in force."""
        self._answers: deque[tuple[float, float]] = deque(maxlen=_ANSWERS)
        """When each of the last answers came, and the delay from then on."""

    def start(self, at: float, seconds: float, delay: float) -> tuple[float | None, float]:
        """A request starts; how long after the one before it, and which delay was in force.

        `delay` is what its answer, so many seconds later, has made of it. A gap is drawn shortly
        before the request at its beginning starts: of answers that come later it knows nothing.
        """
        gap, force = None, delay
        if self.last is not None:
            known = sorted(each for each in self._answers if each[0] <= self.last)[-2:]
            gap, force = at - self.last, min(its for _, its in known or self._answers)
            self.shortest = gap if self.shortest is None else min(gap, self.shortest)
        self.last, self.delay = at, delay
        self._answers.append((at + seconds, delay))
        return gap, force


class Requests:
    """Takes in requests, and says what they look like together.

    `least` says of a host and a delay that was kept for it how short the gaps are that it stands
    for; `running` is how long the crawl ran.

    >>> requests = Requests(running=2.0)
    >>> for at in (100.0, 100.5, 101.5):
    ...     requests.add("a.example", at, seconds=0.1, delay=0.5, size=1_000, counts=True)
    >>> requests.timeline().lanes[0].shortest, requests.times().median
    (0.5, 0.1)
    """

    def __init__(
        self, running: float, least: Callable[[str, float], float] = lambda _, delay: delay
    ) -> None:
        self._pause, self._least = max(_PAUSE, running / 4), least
        self.hosts: dict[str, Asked] = {}
        self._began = self._last = self._axis = 0.0
        self._pauses: list[Pause] = []
        self._took = array("d")
        self._at, self._gaps, self._delays = array("d"), array("d"), array("d")
        self._places = array("l")

    def add(
        self, host: str, at: float, *, seconds: float, delay: float, size: int, counts: bool
    ) -> None:
        """A request; `counts` is whether its answer is one of a page."""
        its = self.hosts.get(host)
        if its is None:
            its = self.hosts[host] = Asked(len(self.hosts))
        its.requests += 1
        its.bytes += size
        its.seconds += seconds
        if counts:
            self._took.append(seconds)
        gap, force = its.start(at, seconds, self._least(host, delay))
        self._move_to(at)
        self._at.append(self._axis)
        self._gaps.append(-1.0 if gap is None else gap)
        self._delays.append(force)
        self._places.append(its.place)

    def _move_to(self, at: float) -> None:
        if not self._at:
            self._began = self._last = at
        passed = at - self._last
        self._last = at
        if passed > self._pause:
            self._pauses.append(Pause(self._axis, passed))
        else:
            self._axis += passed

    def timeline(self) -> TimeLine:
        """The time line of the hosts that were asked most."""
        most = sorted(self.hosts.items(), key=lambda each: (-each[1].requests, each[0]))[:_LANES]
        step = self._axis / BINS or 1.0
        bins: dict[int, dict[int, Bin]] = {its.place: {} for _, its in most}
        every = zip(self._places, self._at, self._gaps, self._delays, strict=True)
        for place, at, apart, delay in every:
            lane = bins.get(place)
            if lane is None:
                continue
            number = min(int(at / step), BINS - 1)
            gap = None if apart < 0 else apart
            known = lane.get(number)
            if known is None:
                lane[number] = Bin(number * step, 1, gap, delay)
            elif gap is not None and (known.gap is None or gap < known.gap):
                lane[number] = Bin(known.at, known.requests + 1, gap, delay)
            else:
                lane[number] = known._replace(requests=known.requests + 1)
        lanes = [
            Lane(host, its.requests, its.shortest, [*bins[its.place].values()])
            for host, its in most
        ]
        return TimeLine(self._began, self._axis, step, self._pauses, lanes, len(self.hosts))

    def times(self) -> Times:
        """How long answers took."""
        every = sorted(self._took)
        counts = [0] * (len(_EDGES) + 1)
        for each in every:
            counts[bisect_left(_EDGES, each)] += 1
        spans = [Span(edge, number) for edge, number in zip((*_EDGES, None), counts, strict=True)]
        while spans and not spans[-1].number:
            spans.pop()
        while spans and not spans[0].number:
            spans.pop(0)

        def part(share: float) -> float:
            return every[int(share * (len(every) - 1))] if every else 0.0

        return Times(len(every), part(0.5), part(0.9), part(0.99), part(1.0), spans)
