"""Where it is kept who may start when, and who holds a slot: in this process, or for a fleet."""

from typing import NamedTuple, Protocol


class Lease(NamedTuple):
    """A slot that is taken, and until when."""

    host: str
    token: str
    until: float


class NotBefore(float):
    """When a host may be asked: it is to be left alone until then, slot or no slot."""


class Backend(Protocol):
    """Five verbs. `now` is in seconds since the epoch; None is the backend's own clock.

    - Start times of one host are apart by the delays that were asked for, whoever asks; whoever
      takes a slot late moves the next start.
    - No more leases of one host than its slots are good at any time.
    - A lease that is not released ends by itself.
    - `release` and `renew` with a lease that has ended, or of somebody else, do nothing.
    """

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        """When a request may start; the next one `delay` seconds later.

        Where that is more than `within` seconds ahead, nothing is reserved.
        """

    async def take(self, host: str, now: float | None = None) -> Lease | float:
        """A slot, or when to try again: `NotBefore` where it is for the time, not for a slot."""

    async def release(self, lease: Lease) -> None:
        """Give a slot back."""

    async def renew(self, lease: Lease, now: float | None = None) -> Lease | None:
        """Hold a slot for longer; None when it is lost."""

    async def penalise(self, host: str, until: float) -> None:
        """Let nothing start before a time."""

    async def close(self) -> None:
        """Close what is open."""
