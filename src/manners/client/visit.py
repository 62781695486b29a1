"""A visit: one request at a host, from when it may be sent until its slot is released.

Every request has one, whoever sends it: the client, or another library with a drop-in.
"""

import asyncio
import time
from collections.abc import Mapping
from typing import Self

from manners import events
from manners.client.hosts import HostPace
from manners.client.page import LazyVerdict
from manners.client.reports import RequestReport
from manners.client.transport import ReplyStream
from manners.errors import SlotLost
from manners.logs import Reporter
from manners.net.messages import Response, Unreachable
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
        "_reporter",
        "_started",
        "budget",
        "departed_at",
        "lazy_verdict",
        "report",
    )

    def __init__(self, gate: Gate, host: HostPace, lease: Lease | None, reporter: Reporter) -> None:
        self._gate, self._host, self._lease, self._reporter = gate, host, lease, reporter
        self.report: RequestReport | None = None
        """Who tells what becomes of the request, if anybody listens."""
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
        if self.report is not None:
            self.report.departed(self.departed_at)

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
        seconds = self.seconds if seconds is None else seconds
        if self.report is not None and self.report.ends_at_reply:
            self.report.end(Response(status, seconds=seconds))
        until = self._host.note(status, headers, seconds)
        if until is not None:
            now = self._host.clock()
            self._reporter.tell(events.HostBackoff(now, self.name, status, until - now))
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
                now, page = self._host.clock(), events.PAGE.get()
                self._reporter.tell(events.SlotLoss(now, page, self.name))
                raise SlotLost(self.name)

    def end(self, reply: Response | Unreachable, size: int | None = None) -> None:
        """Tell how the request ended; with `size` if its body was read piece by piece."""
        if self.report is None:
            return
        if isinstance(reply, Response) and size is not None:
            reply = reply._replace(seconds=self.seconds)
        self.report.end(reply, size)

    async def leave(self) -> None:
        """Release the slot; a second call does nothing."""
        lease, self._lease = self._lease, None
        if self.report is not None:  # unless its end is known
            self.report.end(Unreachable("given up", self.seconds))
        if lease is not None:
            await self._gate.leave(lease)


def tell_wait(reporter: Reporter, gate: Gate, host: HostPace) -> None:
    """Tell for how long a request has to wait, if it has to."""
    now = host.clock()
    seconds = gate.earliest(host.name) - now
    if seconds > 0:
        reporter.tell(events.HostWait(now, events.PAGE.get(), host.name, seconds))


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
