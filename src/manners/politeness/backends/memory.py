"""Start times and slots in this process."""

import itertools
import os
import time
from collections.abc import Callable, Mapping

from manners.politeness.backends import Lease, NotBefore

_SWEEP = 10_000
"""Calls after which hosts that nobody needs to remember are forgotten."""


class _Host:
    __slots__ = ("delay", "earliest", "leases", "next_start", "penalty")

    def __init__(self) -> None:
        self.next_start = 0.0
        """The next start time that is given out."""
        self.delay = 0.0
        """Seconds from the start given out last to the next."""
        self.earliest = 0.0
        """The same counted from when it was really made."""
        self.penalty = 0.0
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
        self._calls = 0
        self._process = os.getpid()

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one `delay` seconds later."""
        now = self._clock() if now is None else now
        state = self._hosts.get(host)
        if state is None:
            state = self._host(host, now)
        start = max(now, state.next_start, state.penalty)
        if within is None or start - now <= within:
            state.next_start, state.delay = start + delay, delay
        return start

    async def take(self, host: str, now: float | None = None) -> Lease | float:
        """A slot, or when to try again."""
        now = self._clock() if now is None else now
        state = self._host(host, now)
        earliest = max(state.penalty, state.earliest)
        if earliest > now:
            return NotBefore(earliest)
        leases = state.leases
        slots = self._own.get(host, self._concurrency) if self._own else self._concurrency
        if len(leases) >= slots:
            for token in [token for token, until in leases.items() if until <= now]:
                del leases[token]
            if len(leases) >= slots:
                return min(leases.values())
        # Whoever starts late moves the next start: the host sees starts, not plans.
        state.earliest = now + state.delay
        state.next_start = max(state.next_start, state.earliest)
        token = next(self._tokens)
        leases[token] = until = now + self._lease
        return Lease(host, token, until)

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""
        state = self._hosts.get(lease.host)
        if state is not None:
            state.leases.pop(lease.token, None)

    async def renew(self, lease: Lease, now: float | None = None) -> Lease | None:
        """Hold a slot for longer; None when it is lost."""
        now = self._clock() if now is None else now
        state = self._hosts.get(lease.host)
        if state is None or state.leases.get(lease.token, 0.0) <= now:
            return None
        state.leases[lease.token] = until = now + self._lease
        return lease._replace(until=until)

    async def penalise(self, host: str, until: float) -> None:
        """Let nothing start before a time."""
        state = self._hosts.setdefault(host, _Host())
        state.penalty = max(state.penalty, until)

    async def close(self) -> None:
        """Nothing is open."""

    def _host(self, host: str, now: float) -> _Host:
        if self._process != os.getpid():  # a forked child: the requests under way are the parent's
            self._process = os.getpid()
            for each in self._hosts.values():
                each.leases.clear()
        state = self._hosts.get(host)
        if state is None:
            state = self._hosts[host] = _Host()
        self._calls += 1
        if self._calls % _SWEEP == 0:
            self._hosts = {
                name: each
                for name, each in self._hosts.items()
                if each is state or each.leases or max(each.next_start, each.penalty) > now
            }
        return state
