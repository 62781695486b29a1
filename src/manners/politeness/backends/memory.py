"""Start times and slots in this process."""

import itertools
import time
from collections.abc import Callable, Mapping

from manners import _forks
from manners.politeness.backends import Lease, NotBefore

_HOSTS = 10_000
"""Hosts from which on those that need not be remembered are forgotten, now and then."""


class _Host:
    __slots__ = ("delay", "earliest", "last", "leases", "next_start", "penalty")

    def __init__(self) -> None:
        self.next_start = 0.0
        """The next start time that is given out."""
        self.delay = 0.0
        """Seconds from the start given out last to the next."""
        self.earliest = 0.0
        """The same counted from when it was really made."""
        self.penalty = 0.0
        self.last = ""
        """The token of who started last."""
        self.leases: dict[str, float] = {}


class MemoryBackend:
    """The five verbs, for one process; `own` has the slots of hosts that have another number."""

    def __init__(
        self,
        concurrency: int = 2,
        lease: float = 300.0,
        own: Mapping[str, int] | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._concurrency, self._lease, self._clock = concurrency, lease, clock
        self._own = dict(own or {})
        self._hosts: dict[str, _Host] = {}
        self._tokens = map(str, itertools.count())
        self._room = _HOSTS
        self._fork = _forks.generation

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one `delay` seconds later."""
        now = self._clock() if now is None else now
        state = self._hosts.get(host) or self._new(host, now)
        start = max(now, state.next_start, state.penalty)
        if within is None or start - now <= within:
            state.next_start, state.delay = start + delay, delay
        return start

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        """A slot, or when to try again."""
        now = self._clock() if now is None else now
        state = self._hosts.get(host) or self._new(host, now)
        earliest = max(state.penalty, state.earliest)
        if earliest > now:
            return NotBefore(earliest)
        if self._fork != _forks.generation:
            self._forget_the_parents()
        leases = state.leases
        slots = self._own.get(host, self._concurrency) if self._own else self._concurrency
        if len(leases) >= slots:
            for token in [token for token, until in leases.items() if until <= now]:
                del leases[token]
            if len(leases) >= slots:
                return min(leases.values())
        # Whoever starts late moves the next start: the host sees starts, not plans.
        state.earliest = now + (state.delay if delay is None else delay)
        state.next_start = max(state.next_start, state.earliest)
        token = state.last = next(self._tokens)
        leases[token] = until = now + self._lease
        return Lease(host, token, until)

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""
        state = self._hosts.get(lease.host)
        if state is not None:
            state.leases.pop(lease.token, None)

    async def renew(
        self, lease: Lease, now: float | None = None, delay: float | None = None
    ) -> Lease | None:
        """Hold a slot for longer; with a delay, for a request that leaves only now."""
        now = self._clock() if now is None else now
        state = self._hosts.get(lease.host)
        if state is None or state.leases.get(lease.token, 0.0) <= now:
            return None
        if delay is not None:
            if state.last != lease.token and max(state.earliest, state.penalty) > now:
                return None
            state.last, state.earliest = lease.token, max(state.earliest, now + delay)
            state.next_start = max(state.next_start, state.earliest)
        state.leases[lease.token] = until = now + self._lease
        return lease._replace(until=until)

    async def penalise(self, host: str, until: float, now: float | None = None) -> None:  # noqa: ARG002 (there is one clock)
        """Let nothing start before a time."""
        state = self._hosts.setdefault(host, _Host())
        state.penalty = max(state.penalty, until)

    async def close(self) -> None:
        """Nothing is open."""

    def _new(self, host: str, now: float) -> _Host:
        if len(self._hosts) >= self._room:
            self._hosts = {
                name: each
                for name, each in self._hosts.items()
                if max(each.next_start, each.penalty, *each.leases.values()) > now
            }
            self._room = _HOSTS + 2 * len(self._hosts)
        return self._hosts.setdefault(host, _Host())

    def _forget_the_parents(self) -> None:
        """The requests that were under way when this process was forked are not its own."""
        self._fork = _forks.generation
        for each in self._hosts.values():
            each.leases.clear()
