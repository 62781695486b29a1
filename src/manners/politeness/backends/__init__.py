"""Start times and slots of hosts, kept in this process or on a server for several.

The backend of a server is chosen by the scheme of its URL, one file each.
"""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, Protocol

from manners import _family


class Lease(NamedTuple):
    """A slot that is taken, and until when."""

    host: str
    token: str
    until: float


class NotBefore(float):
    """The earliest start time of a host, whether it has a free slot or not."""


class PolitenessBackend(Protocol):
    """Five verbs. Times are in seconds since the epoch, by the clock of the calling process.

    `now` is the current time. None means the backend's own clock; a server, whose clock may differ,
    converts times so that they are right for the caller.

    - Start times of one host are apart by the delays of the callers, in all processes; taking a
      slot late moves the next start.
    - A request that leaves late moves the next start, too, by a `renew` with its delay right before
      it leaves; if another has started meanwhile, it needs another turn.
    - A host never has more valid leases than slots.
    - A lease that is not released expires.
    - `release` and `renew` of a lease that has expired, or is unknown, do nothing.
    - A `take` that is cancelled leaves no slot taken.
    - `reserve`, `take` and `renew` raise `PolitenessError` when the backend does not answer.
      `release` and `penalise` do not: they are sent again later.

    A remote backend may have a sixth method, `begin`: `reserve`, then `take` unless the start is in
    the future, in one round trip. It takes the arguments of `reserve` and returns what `take` does.
    """

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one may `delay` seconds later.

        A start more than `within` seconds ahead is not reserved.
        """

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        """A slot, or when to try again: a `NotBefore` if it is too early, whatever the slots.

        The next start is `delay` seconds away; None: the delay of the last `reserve` by anyone.
        """

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""

    async def renew(
        self, lease: Lease, now: float | None = None, delay: float | None = None
    ) -> Lease | None:
        """Extend a lease; None when it is lost.

        With a `delay`, the request leaves only now, and the next start is `delay` seconds away;
        None also when another has started meanwhile and it is too early after that one. The slot
        is then still taken.
        """

    async def penalise(self, host: str, until: float, now: float | None = None) -> None:
        """Start nothing at a host before a time."""

    async def close(self) -> None:
        """Close the connections."""


def open_backend(
    where: str,
    concurrency: int = 2,
    lease: float = 300.0,
    own: Mapping[str, int] | None = None,
    concurrency_prefix: str = "host_concurrency:",
    delay_prefix: str = "host_delay:",
    timeout: float = 30.0,
    clock: Callable[[], float] = time.time,
) -> PolitenessBackend:
    """The backend at a URL such as `valkey://localhost:6379/0`.

    `own` has the number of slots of single hosts. The server has `timeout` seconds for an answer.

    >>> open_backend("nosuch://place")
    Traceback (most recent call last):
    manners.errors.UnknownName: unknown politeness 'nosuch'; choose from: redis, valkey, …
    """
    scheme = where.partition("://")[0].lower()
    module = _family.by_scheme(__name__, "politeness", scheme)
    backend: PolitenessBackend = module.open_backend(
        where, concurrency, lease, own, concurrency_prefix, delay_prefix, timeout, clock
    )
    return backend
