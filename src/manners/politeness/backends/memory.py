"""Start times and slots in this process."""

import itertools
import time
from collections.abc import Callable, Mapping

from manners import _forks
from manners.politeness.backends import Lease, NotBefore

_HOSTS = 10_000
"""Hosts from which on idle ones are forgotten, now and then."""


class _HostTimes:
    """The start times and leases of one host."""

    __slots__ = ("delay", "earliest", "last", "leases", "next_start", "penalty")

    def __init__(self) -> None:
        self.next_start = 0.0
        """The next start time to reserve."""
        self.delay = 0.0
        """Seconds from the last reserved start to the next."""
        self.earliest = 0.0
        """The earliest next start, counted from when the last one was really made."""
        self.penalty = 0.0
        self.last = ""
        """The token of the last start."""
        self.leases: dict[str, float] = {}


class MemoryBackend:
    """The five verbs, for one process; `own` has the number of slots of single hosts."""

    def __init__(
        self,
        concurrency: int = 2,
        lease: float = 300.0,
        own: Mapping[str, int] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._concurrency, self._lease, self._clock = concurrency, lease, clock
        self._own = dict(own or {})
        self._hosts: dict[str, _HostTimes] = {}
        self._tokens = map(str, itertools.count())
        self._max_hosts = _HOSTS
        self._fork = _forks.generation

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one may `delay` seconds later."""
        now = self._clock() if now is None else now
        times = self._hosts.get(host) or self._new(host, now)
        start = max(now, times.next_start, times.penalty)
        if within is None or start - now <= within:
            times.next_start, times.delay = start + delay, delay
        return start

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        """A slot, or when to try again."""
        now = self._clock() if now is None else now
        times = self._hosts.get(host) or self._new(host, now)
        earliest = max(times.penalty, times.earliest)
        if earliest > now:
            return NotBefore(earliest)
        if self._fork != _forks.generation:
            self._drop_inherited_leases()
        leases = times.leases
        slots = self._own.get(host, self._concurrency) if self._own else self._concurrency
        if len(leases) >= slots:
            for token in [token for token, until in leases.items() if until <= now]:
                del leases[token]
            if len(leases) >= slots:
                return min(leases.values())
        # A late start moves the next one: the host sees starts, not plans.
        times.earliest = now + (times.delay if delay is None else delay)
        times.next_start = max(times.next_start, times.earliest)
        token = times.last = next(self._tokens)
        leases[token] = until = now + self._lease
        return Lease(host, token, until)

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""
        times = self._hosts.get(lease.host)
        if times is not None:
            times.leases.pop(lease.token, None)

    async def renew(
        self, lease: Lease, now: float | None = None, delay: float | None = None
    ) -> Lease | None:
        """Extend a lease; with a delay, for a request that leaves only now."""
        now = self._clock() if now is None else now
        times = self._hosts.get(lease.host)
        if times is None or times.leases.get(lease.token, 0.0) <= now:
            return None
        if delay is not None:
            if times.last != lease.token and max(times.earliest, times.penalty) > now:
                return None
            times.last, times.earliest = lease.token, max(times.earliest, now + delay)
            times.next_start = max(times.next_start, times.earliest)
        times.leases[lease.token] = until = now + self._lease
        return lease._replace(until=until)

    async def penalise(self, host: str, until: float, now: float | None = None) -> None:  # noqa: ARG002 (one clock for all)
        """Start nothing at a host before a time."""
        times = self._hosts.setdefault(host, _HostTimes())
        times.penalty = max(times.penalty, until)

    async def close(self) -> None:
        """Nothing is open."""

    def _new(self, host: str, now: float) -> _HostTimes:
        if len(self._hosts) >= self._max_hosts:
            self._hosts = {
                name: times
                for name, times in self._hosts.items()
                if max(times.next_start, times.penalty, *times.leases.values()) > now
            }
            self._max_hosts = _HOSTS + 2 * len(self._hosts)
        return self._hosts.setdefault(host, _HostTimes())

    def _drop_inherited_leases(self) -> None:
        """Forget the leases of the process that this one was forked from."""
        self._fork = _forks.generation
        for times in self._hosts.values():
            times.leases.clear()
