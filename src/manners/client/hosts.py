"""What a client remembers of hosts: how fast to ask them, and what their robots.txt says."""

from collections.abc import Callable, Mapping

from manners.cache.freshness import retry_after
from manners.cache.site import Site
from manners.events import HostClass
from manners.politeness.schedule import TOO_MUCH, Health, Pace, Reply, after
from manners.robots.policy import Policy
from manners.urls import Target

_MAX_HOSTS = 10_000
"""Hosts that are remembered; beyond that the oldest is forgotten."""
_YEAR = 365 * 86_400.0

Clock = Callable[[], float]


class HostRules:
    """The site and policy used last at a host, valid for a second: pages come one after another."""

    __slots__ = ("_changes", "_origin", "_valid_until", "policy", "site")

    def __init__(self) -> None:
        self.site: Site
        self.policy: Policy
        self._origin, self._changes, self._valid_until = "", -1, 0.0

    def are_for(self, target: Target, changes: int, now: float) -> bool:
        """Whether they are those of a URL, and still valid; `changes` is the cache's counter."""
        return (
            now < self._valid_until and changes == self._changes and target.origin == self._origin
        )

    def keep(self, target: Target, site: Site, policy: Policy, changes: int, now: float) -> None:
        """Keep what the cache answered just now."""
        self.site, self.policy, self._origin, self._changes = site, policy, target.origin, changes
        # A verdict tells the age of its robots.txt to the second.
        self._valid_until = min(now + 1.0, site.entry.fresh_until) if site.entry else 0.0


class HostPace:
    """How fast one host may be asked: what its robots.txt asks for, and how it answers."""

    __slots__ = (
        "_delays",
        "_draw",
        "_health",
        "_own_delay",
        "_response_time",
        "clock",
        "crawl_delay",
        "name",
        "pace",
        "robots_requested",
        "rules",
    )

    def __init__(
        self,
        name: str,
        pace: Pace,
        own_delay: float | None,
        clock: Clock,
        draw: Callable[[], float],
    ) -> None:
        self.name, self.pace, self.clock = name, pace, clock
        self._own_delay, self._draw = own_delay, draw
        self._health = Health()
        """Back-off after 429 and 503."""
        self._response_time: float | None = None
        """Seconds the host takes to reply, smoothed."""
        self._delays: dict[str, float] = {}
        self.crawl_delay = 0.0
        """Seconds between requests that its robots.txt files ask for, the longest of all origins:
        the delay belongs to the host, all ports and schemes together."""
        self.robots_requested: float | None = None
        """When its robots.txt was requested last, until the delay in it has been applied."""
        self.rules = HostRules()

    @property
    def has_delays(self) -> bool:
        """Whether any of its robots.txt files asked for a delay so far."""
        return bool(self._delays)

    @property
    def host_class(self) -> HostClass:
        """How it is asked, for the events of its requests."""
        if self._health.steps:
            return "backing-off"
        return "delayed" if self.crawl_delay > self.pace.max_delay else "normal"

    def set_delay(self, origin: str, seconds: float) -> None:
        """Keep the delay that the robots.txt of an origin asks for."""
        self._delays[origin] = seconds
        self.crawl_delay = max(self._delays.values())

    def gap(self, draw: float) -> float:
        """Seconds to the next start, for a random draw."""
        return self.pace.gap(draw, self.crawl_delay, self._response_time, self._own_delay)

    def note(self, status: int, headers: Mapping[str, str], seconds: float) -> float | None:
        """Take a reply into account; returns until when the host is backed off from, if it is."""
        is_too_much, response_time = status in TOO_MUCH, self._response_time
        if not (is_too_much or self._health.steps):  # as nearly always
            self._response_time = self.pace.smoothed(response_time, seconds)
            return None
        now, pause = self.clock(), None
        if is_too_much:
            pause = retry_after(headers.get("retry-after", ""), now)
            pause = None if pause is None else min(pause, _YEAR)
        health = self._health._replace(smoothed=response_time)
        reply = Reply(status, seconds, pause)
        self._health, until = after(health, self.pace, reply, now, self._draw())
        self._response_time = self._health.smoothed
        return until


class Hosts:
    """The hosts that a client has asked; the oldest are forgotten when there are too many."""

    def __init__(
        self,
        pace: Pace,
        own_delays: Mapping[str, float | None],
        clock: Clock,
        draw: Callable[[], float],
    ) -> None:
        self._pace, self._own_delays, self._clock, self._draw = pace, own_delays, clock, draw
        self._hosts: dict[str, HostPace] = {}

    def get(self, name: str) -> HostPace:
        """The pace of a host."""
        host = self._hosts.get(name)
        if host is None:
            if len(self._hosts) >= _MAX_HOSTS:
                del self._hosts[next(iter(self._hosts))]
            host = self._hosts[name] = HostPace(
                name, self._pace, self._own_delays.get(name), self._clock, self._draw
            )
        return host

    def gap(self, name: str, draw: float) -> float:
        """Seconds between requests to a host, for a random draw; the default for a new host."""
        host = self._hosts.get(name)
        return self._pace.gap(draw) if host is None else host.gap(draw)
