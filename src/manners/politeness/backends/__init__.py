"""Where it is kept who may start when, and who holds a slot: in this process, or for a fleet.

A backend for a fleet is chosen by the scheme of its URL, one file each.
"""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from manners import _family
from manners.errors import UnknownName


class Lease(NamedTuple):
    """A slot that is taken, and until when."""

    host: str
    token: str
    until: float


class NotBefore(float):
    """When a host may be asked: it is to be left alone until then, slot or no slot."""


class Backend(Protocol):
    """Five verbs. Times are in seconds since the epoch, by the clock of the process that asks.

    `now` says what time it is. None is the backend's own clock: then that is what decides, and a
    backend elsewhere, whose clock may be another, tells and is told times as they are here.

    - Start times of one host are apart by the delays that were asked for, whoever asks; whoever
      takes a slot late moves the next start.
    - A request that leaves later than it could have moves the next start, too, by a `renew` with
      its delay right before that; where another has started meanwhile, it needs another turn.
    - No more leases of one host than its slots are good at any time.
    - A lease that is not released ends by itself.
    - `release` and `renew` with a lease that has ended, or of somebody else, do nothing.
    - A `take` that is cancelled leaves no slot behind.
    - `reserve`, `take` and `renew` raise `PolitenessError` where nobody knows the answer. `release`
      and `penalise` do not: what cannot be told now is told later.

    One that is far away may have a sixth method, `begin`: `reserve`, and `take` unless the start is
    ahead, in one go. It takes the arguments of the one and returns what the other does.
    """

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one `delay` seconds later.

        Where that is more than `within` seconds ahead, nothing is reserved.
        """

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        """A slot, or when to try again: `NotBefore` where it is for the time, not for a slot.

        The next start is `delay` seconds away; None is what was reserved last, by whomever.
        """

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""

    async def renew(
        self, lease: Lease, now: float | None = None, delay: float | None = None
    ) -> Lease | None:
        """Hold a slot for longer; None when it is lost.

        With a `delay` the request leaves only now, and the next start is `delay` seconds away; None
        as well when another has started meanwhile and it is too early after that one. The slot is
        then still held.
        """

    async def penalise(self, host: str, until: float, now: float | None = None) -> None:
        """Let nothing start before a time."""

    async def close(self) -> None:
        """Close what is open."""


def open_backend(
    where: str,
    concurrency: int = 2,
    lease: float = 300.0,
    own: Mapping[str, int] | None = None,
    concurrency_prefix: str = "host_concurrency:",
    delay_prefix: str = "host_delay:",
    timeout: float = 30.0,
) -> Backend:
    """The backend at a URL such as `valkey://localhost:6379/0`.

    A server has `timeout` seconds for each answer.

    >>> open_backend("nosuch://place")
    Traceback (most recent call last):
    manners.errors.UnknownName: no politeness 'nosuch'; there are: redis, rediss, valkey, valkeys
    """
    known = {}
    for name in _family.names(__name__):
        module = _family.member(__name__, "politeness", name)
        known.update(dict.fromkeys(getattr(module, "SCHEMES", ()), module))
    scheme = where.partition("://")[0].lower()
    if scheme not in known:
        raise UnknownName("politeness", scheme, sorted(known))
    backend: Backend = known[scheme].open_backend(
        where, concurrency, lease, own, concurrency_prefix, delay_prefix, timeout
    )
    return backend
