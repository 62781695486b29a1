"""A visit: one request at a host, from when it may be sent until its slot is released.

Every request has one, whoever sends it: the client, or another library with a drop-in.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Self

from manners import logs
from manners.client.hosts import HostPace
from manners.client.page import LazyVerdict
from manners.client.transport import ReplyStream
from manners.errors import SlotLost
from manners.politeness.backends import Lease
from manners.politeness.budget import Budget
from manners.politeness.gate import Gate
from manners.robots.verdict import Verdict


class Visit:
    """A request that may be sent now, and holds a slot until it is over.

    visit = await client.visit(url)
    try:
        reply = await send(url)
        await visit.replied(reply.status, reply.headers)
    finally:
        await visit.leave()
    """

    __slots__ = (
        "_gate",
        "_host",
        "_lease",
        "_renewed",
        "_started",
        "budget",
        "departed_at",
        "lazy_verdict",
    )

    def __init__(self, gate: Gate, host: HostPace, lease: Lease | None) -> None:
        self._gate, self._host, self._lease = gate, host, lease
        self.budget: Budget | None = None
        """Where the page is given back when it turns out to be a redirect."""
        self.departed_at = 0.0
        """When the request was sent, in seconds since the epoch; 0 until `departed` is called."""
        self.lazy_verdict: LazyVerdict
        """Read `verdict` instead."""
        self._started = self._renewed = time.monotonic()

    @property
    def name(self) -> str:
        """The host."""
        return self._host.name

    @property
    def verdict(self) -> Verdict:
        """Why the request may be sent."""
        return self.lazy_verdict()

    @property
    def seconds(self) -> float:
        """Seconds since the request may be sent."""
        return time.monotonic() - self._started

    @property
    def is_late(self) -> bool:
        """Whether the request took too long to be sent, and has to ask `may_depart` first."""
        return self._lease is not None and self._gate.is_late(self._lease)

    async def may_depart(self) -> bool:
        """Whether a late request may still be sent; if not, it has to wait for another turn."""
        return self._lease is None or await self._gate.may_depart(self._lease)

    def departed(self) -> None:
        """Tell that the request was sent just now: the delay to the next one starts here."""
        self.departed_at = self._host.clock()
        if self._lease is not None:
            self._gate.departed(self._lease)

    @property
    def delay(self) -> float:
        """Seconds between requests that the host's robots.txt files ask for."""
        return self._host.crawl_delay

    def note(
        self, status: int, headers: Mapping[str, str], seconds: float | None = None
    ) -> float | None:
        """Take a reply into account; returns until when the host is backed off from, if it is."""
        if self.budget is not None and 300 <= status < 400 and status != 304:
            self.budget.give_back()
            self.budget = None
        until = self._host.note(status, headers, self.seconds if seconds is None else seconds)
        if until is not None:
            logs.backed_off(self.name, status, until - self._host.clock())
        return until

    async def replied(
        self, status: int, headers: Mapping[str, str], seconds: float | None = None
    ) -> None:
        """Take a reply into account, and back off if it says so; header names are lower-case."""
        if not self.departed_at:
            self.departed()
        until = self.note(status, headers, seconds)
        if until is not None:
            await self.penalise(until)

    async def penalise(self, until: float) -> None:
        """Start no request at this host before a time."""
        await self._gate.penalise(self.name, until)

    @property
    def is_due(self) -> bool:
        """Whether a third of the lease is over, so that it is time to renew the slot."""
        return time.monotonic() - self._renewed > self._host.pace.lease / 3

    async def renew(self) -> None:
        """Renew the slot's lease; raises `SlotLost` when the slot is gone."""
        if self._lease is not None:
            self._renewed = time.monotonic()
            try:
                # If no answer comes within another third of the lease, a third remains to stop in.
                async with asyncio.timeout(self._host.pace.lease / 3):
                    renewed = await self._gate.renew(self._lease)
            except TimeoutError:
                renewed = None
            if renewed is None:
                raise SlotLost(self.name)

    async def leave(self) -> None:
        """Release the slot; a second call does nothing."""
        lease, self._lease = self._lease, None
        if lease is not None:
            await self._gate.leave(lease)


def log_wait(gate: Gate, host: HostPace) -> None:
    """Log for how long a request has to wait, if it has to."""
    seconds = gate.earliest(host.name) - host.clock()
    if seconds > 0:
        logs.waiting(host.name, seconds)


class SlotRenewal:
    """Renews the slot of a visit every third of its lease; a body being read ends if that fails."""

    def __init__(self, visit: Visit, lease: float) -> None:
        self._visit, self._lease = visit, lease
        self.is_lost = self._is_over = False
        self._body: ReplyStream | None = None

    def watch(self, body: ReplyStream) -> None:
        """Close a body that is still to be read when the slot is lost."""
        self._body = body
        if self.is_lost:
            body.close()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._renew())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True  # a backend may swallow the cancellation
        self._task.cancel()
        try:
            await asyncio.gather(self._task, return_exceptions=True)
        finally:  # even if this is cancelled as well
            await self._visit.leave()

    async def _renew(self) -> None:
        while not (self.is_lost or self._is_over):
            await asyncio.sleep(self._lease / 3)
            try:
                await self._visit.renew()
            except Exception:
                self.is_lost = True
        if self.is_lost and self._body is not None:
            self._body.close()
