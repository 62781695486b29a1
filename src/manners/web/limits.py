"""Limits: how much one client may ask for, so that no client takes what all need."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass

from manners.web.problems import ServiceProblem

_CLIENTS = 10_000
"""Clients that are remembered; from there on, those that ask for nothing are forgotten."""


@dataclass(frozen=True, kw_only=True)
class ServiceLimits:
    """The numbers; they are for each client unless they say otherwise."""

    rate: float | None = None
    """Requests a second; None is no limit."""
    retrievals: float = 50.0
    """Requests a second that may make this service ask a site."""
    burst: float = 10.0
    """Seconds for which a client that asked for nothing may ask for at once."""
    requests: int = 64
    """Requests at a time."""
    all_requests: int = 512
    """Requests at a time, all clients together."""
    connections: int = 500
    """Connections, all clients together."""
    streams: int = 16
    """Live pages at a time."""
    leases: int = 1_000
    """Slots at a time."""
    computations: int = 2
    """Long computations at a time, all clients together; more wait."""
    bulk: int = 4
    """Tables of URLs at a time, all clients together: more wait. Of each client, one."""
    body: int = 4 * 1024 * 1024
    """Bytes of a request."""
    bulk_body: int = 128 * 1024 * 1024
    """Bytes of a table of URLs."""
    body_seconds: float = 20.0
    """For the body of a request to arrive."""
    idle_seconds: float = 15.0
    """For the head of a request to arrive, on a connection that is open."""
    request_seconds: float = 120.0
    """For a request."""
    write_seconds: float = 60.0
    """For a client to read what was sent."""


class _ClientUse:
    """What one client uses now, and what it may ask for next."""

    __slots__ = (
        *("allowance", "at", "leases", "requests", "retrieval_allowance", "streams", "tables"),
    )

    def __init__(self, limits: ServiceLimits, now: float) -> None:
        self.at = now
        self.allowance = (limits.rate or 0.0) * limits.burst
        self.retrieval_allowance = limits.retrievals * limits.burst
        self.requests = self.streams = self.leases = 0
        self.tables = False

    @property
    def is_idle(self) -> bool:
        """Whether nothing of it is under way."""
        return not (self.requests or self.streams or self.leases)


class Traffic:
    """Who uses how much; `now` is any clock that does not go back."""

    def __init__(self, limits: ServiceLimits, clock: Callable[[], float]) -> None:
        self.limits, self._clock = limits, clock
        self._clients: dict[str, _ClientUse] = {}
        self.requests = self.streams = 0
        """Under way now, all clients together."""
        self.computing = asyncio.Semaphore(limits.computations)
        """Taken for a long computation."""
        self._tables = asyncio.Semaphore(limits.bulk)

    def begin(self, client: str) -> None:
        """Count a request that begins, or refuse it."""
        use = self._use(client)
        limits = self.limits
        if self.requests >= limits.all_requests or use.requests >= limits.requests:
            raise _too_many(1.0)
        if limits.rate is not None:
            if use.allowance < 1.0:
                raise _too_many((1.0 - use.allowance) / limits.rate)
            use.allowance -= 1.0
        use.requests += 1
        self.requests += 1

    def end(self, client: str) -> None:
        """Count a request that has ended."""
        self._clients[client].requests -= 1
        self.requests -= 1

    def retrieve(self, client: str, sites: int = 1) -> None:
        """Count sites that are about to be asked, or refuse."""
        use, rate = self._use(client), self.limits.retrievals
        if use.retrieval_allowance < sites:
            raise _too_many((sites - use.retrieval_allowance) / rate)
        use.retrieval_allowance -= sites

    @asynccontextmanager
    async def table(self, client: str) -> AsyncIterator[None]:
        """Take room for a table of URLs, or refuse a second one of a client."""
        use = self._use(client)
        if use.tables:
            raise _too_many(1.0)
        use.tables = True
        try:
            async with self._tables:
                yield
        finally:
            use.tables = False

    @asynccontextmanager
    async def stream(self, client: str) -> AsyncIterator[None]:
        """Count a live page for as long as it is open, or refuse it."""
        use = self._use(client)
        if use.streams >= self.limits.streams:
            raise _too_many(10.0)
        use.streams += 1
        self.streams += 1
        try:
            yield
        finally:
            use.streams -= 1
            self.streams -= 1

    def take_lease(self, client: str) -> None:
        """Count a lease, or refuse it."""
        use = self._use(client)
        if use.leases >= self.limits.leases:
            raise _too_many(1.0)
        use.leases += 1

    def end_lease(self, client: str) -> None:
        """Count a lease that has ended."""
        self._clients[client].leases -= 1

    def _use(self, client: str) -> _ClientUse:
        now, limits = self._clock(), self.limits
        use = self._clients.get(client)
        if use is None:
            if len(self._clients) >= _CLIENTS:
                self._forget(now)
            use = self._clients[client] = _ClientUse(limits, now)
        elif now > use.at:
            seconds, use.at = now - use.at, now
            rate = limits.rate or 0.0
            use.allowance = min(use.allowance + seconds * rate, rate * limits.burst)
            most = limits.retrievals * limits.burst
            use.retrieval_allowance = min(
                use.retrieval_allowance + seconds * limits.retrievals, most
            )
        return use

    def _forget(self, now: float) -> None:
        """Forget clients that have their full allowance again."""
        rested = now - self.limits.burst
        self._clients = {
            name: use for name, use in self._clients.items() if not use.is_idle or use.at > rested
        }
        if len(self._clients) >= _CLIENTS:
            raise _too_many(self.limits.burst)


def client_of(address: str | None) -> str:
    """The client behind an address: in IPv6, a customer has a whole /64.

    >>> client_of("192.0.2.1"), client_of("2001:db8:0:1:2:3:4:5")
    ('192.0.2.1', '2001:db8:0:1::')
    """
    if address is None or ":" not in address:
        return address or ""
    network = ipaddress.IPv6Network((address.partition("%")[0], 64), strict=False)
    return str(network.network_address)


def _too_many(seconds: float) -> ServiceProblem:
    return ServiceProblem(
        429,
        "This client asks for too much at a time.",
        "Ask again after Retry-After, and for less at a time.",
        retry_after=seconds,
    )
