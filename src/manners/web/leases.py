"""Leases: slots of hosts that crawlers in other processes hold, until they give them back.

A crawler that dies gives nothing back, so a lease ends by itself. Until its request has left, as
far as this service knows, no other request starts at that host: the delay counts from when the
crawler says that it has, or else from when it gives the slot back.
"""

import asyncio
import secrets
from collections.abc import Callable

from manners.client.visit import Visit
from manners.errors import SlotLost

_BYTES = 18
"""Bytes of a name: whoever knows it may end the lease."""


class _HeldVisit:
    """A visit of a crawler elsewhere."""

    __slots__ = ("release_count", "seconds", "timer", "visit")

    def __init__(
        self,
        visit: Visit,
        seconds: float,
        timer: asyncio.TimerHandle,
        release_count: Callable[[], None],
    ) -> None:
        self.visit, self.seconds, self.timer = visit, seconds, timer
        self.release_count = release_count
        """Called when the lease ends, however it does."""


class Leases:
    """The leases of all crawlers, by name."""

    def __init__(self) -> None:
        self._visits: dict[str, _HeldVisit] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self.expired = 0
        """How many ended by themselves."""

    def __len__(self) -> int:
        return len(self._visits)

    def add(self, visit: Visit, seconds: float, release_count: Callable[[], None]) -> str:
        """The name of a new lease, which ends after some seconds."""
        name = secrets.token_urlsafe(_BYTES)
        timer = asyncio.get_running_loop().call_later(seconds, self._expire, name)
        self._visits[name] = _HeldVisit(visit, seconds, timer, release_count)
        return name

    async def renew(self, name: str, *, departed: bool) -> float | None:
        """Begin a lease anew; returns its seconds, or None if there is none of this name.

        With `departed`, its request has left: the delay to the next one counts from here.
        """
        lease = self._visits.get(name)
        if lease is None:
            return None
        if departed and not lease.visit.departed_at:
            lease.visit.departed()
        if lease.visit.is_due:
            try:
                await lease.visit.renew()
            except SlotLost:
                await self.release(name)
                return None
        lease.timer.cancel()
        if name in self._visits:  # it may have ended while the backend was asked
            loop = asyncio.get_running_loop()
            lease.timer = loop.call_later(lease.seconds, self._expire, name)
        return lease.seconds

    async def release(self, name: str) -> bool:
        """End a lease, and give its slot back; False if there is none of this name."""
        visit = self.take(name)
        if visit is None:
            return False
        await visit.leave()
        return True

    def take(self, name: str) -> Visit | None:
        """The visit of a lease, which ends; the caller gives the slot back."""
        lease = self._visits.pop(name, None)
        if lease is None:
            return None
        lease.timer.cancel()
        lease.release_count()
        return lease.visit

    async def close(self) -> None:
        """Give all slots back."""
        for name in tuple(self._visits):
            await self.release(name)
        if self._ending:
            await asyncio.wait(self._ending)

    def _expire(self, name: str) -> None:
        visit = self.take(name)
        if visit is not None:
            self.expired += 1
            task = asyncio.create_task(visit.leave())
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
