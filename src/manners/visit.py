"""A visit: one request at a host, from when it may leave until it is over.

Whoever sends the request, the client or a program that has its own, makes a visit of it: it says
what came back, and when it is over.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Self

from manners import logs
from manners._portal import portal
from manners._text import to_text
from manners.cache.freshness import retry_after
from manners.cache.site import Site
from manners.errors import InvalidURL, SlotLost
from manners.net.http import Stream
from manners.politeness.backends import Lease
from manners.politeness.budget import Budget
from manners.politeness.gate import Gate
from manners.politeness.schedule import TOO_MUCH, Health, Pace, Reply, after
from manners.robots.policy import Policy
from manners.urls import origin

_YEAR = 365 * 86_400.0


class Visit:
    """A request that may leave now, and has a slot until it is over.

    visit = await client.visit(url)
    try:
        reply = await send(url)
        await visit.replied(reply.status, reply.headers)
    finally:
        await visit.leave()
    """

    __slots__ = (
        "_begun",
        "_draw",
        "_gate",
        "_host",
        "_lease",
        "_renewed",
        "budget",
        "left_at",
        "name",
    )

    def __init__(
        self, gate: Gate, known: "Host", name: str, lease: Lease | None, draw: Callable[[], float]
    ) -> None:
        self._gate, self._host, self._lease, self._draw = gate, known, lease, draw
        self.name = name
        """The host."""
        self.budget: Budget | None = None
        """Where a page goes back to when it turns out to be a redirect."""
        self.left_at = 0.0
        """When the request left, in seconds since the epoch; 0 until somebody has told."""
        self._begun = self._renewed = time.monotonic()

    @property
    def seconds(self) -> float:
        """Seconds since it may leave."""
        return time.monotonic() - self._begun

    @property
    def is_late(self) -> bool:
        """Whether the request may not leave any more without asking whether it `departs`."""
        return self._lease is not None and self._gate.is_late(self._lease)

    async def departs(self) -> bool:
        """Whether a request that is late may leave now; else it has to take another turn."""
        return self._lease is None or await self._gate.departs(self._lease)

    def left(self) -> None:
        """The request has left just now: the gap to the next one counts from here."""
        self.left_at = time.time()
        if self._lease is not None:
            self._gate.left(self._lease)

    @property
    def delay(self) -> float:
        """Seconds from one request to the next that the host's robots.txt files ask for."""
        return self._host.least

    def note(
        self, status: int, headers: Mapping[str, str], seconds: float | None = None
    ) -> float | None:
        """Remember what a reply says, and tell until when to leave the host alone, if so."""
        if self.budget is not None and 300 <= status < 400 and status != 304:
            self.budget.give_back()
            self.budget = None
        seconds = self.seconds if seconds is None else seconds
        until = self._host.note(status, headers, seconds, self._draw)
        if until is not None:
            logs.backed_off(self.name, status, until - time.time())
        return until

    async def replied(
        self, status: int, headers: Mapping[str, str], seconds: float | None = None
    ) -> None:
        """Keep to what a reply says about the host. Names of headers are found in lower case."""
        if not self.left_at:
            self.left()  # at the latest
        until = self.note(status, headers, seconds)
        if until is not None:
            await self.penalise(until)

    async def penalise(self, until: float) -> None:
        """Let nothing start at this host before a time."""
        await self._gate.penalise(self.name, until)

    @property
    def is_due(self) -> bool:
        """Whether a third of the lease is over, so that the slot is to be renewed."""
        return time.monotonic() - self._renewed > self._host.pace.lease / 3

    async def renew(self) -> None:
        """Hold the slot for longer; `SlotLost` is raised where it is too late for that."""
        if self._lease is not None:
            self._renewed = time.monotonic()
            try:
                # With no answer within another third of the lease, there is a third left to stop.
                async with asyncio.timeout(self._host.pace.lease / 3):
                    renewed = await self._gate.renew(self._lease)
            except TimeoutError:
                renewed = None
            if renewed is None:
                raise SlotLost(self.name)

    async def leave(self) -> None:
        """Give the slot back; to do it again does nothing."""
        lease, self._lease = self._lease, None
        if lease is not None:
            await self._gate.leave(lease)


class BlockingVisit:
    """A visit for blocking code, which does not wait for what nobody needs to wait for."""

    def __init__(self, visit: Visit, tells: bool = False) -> None:
        self._visit, self._is_to_tell = visit, tells
        self.name = visit.name
        """The host."""
        self._reply: tuple[int, float] | None = None
        self._is_over = False

    @property
    def delay(self) -> float:
        """Seconds from one request to the next that the host's robots.txt files ask for."""
        return self._visit.delay

    def replied(self, status: int, headers: Mapping[str, str]) -> None:
        """Keep to what a reply says about the host. Names of headers are found in lower case."""
        self.left()  # at the latest
        if status in TOO_MUCH:
            portal.run(self._visit.replied(status, headers))
        else:
            self._reply = status, self._visit.seconds  # one way to the loop is enough

    def left(self) -> None:
        """The request has left just now: the gap to the next one counts from here."""
        if self._is_to_tell:
            self._is_to_tell = False
            portal.call(self._visit.left)

    @property
    def is_due(self) -> bool:
        """Whether a third of the lease is over, so that the slot is to be renewed."""
        return self._visit.is_due

    def renew(self) -> None:
        """Hold the slot for longer; `SlotLost` is raised where it is too late for that."""
        portal.run(self._visit.renew())

    def leave(self) -> None:
        """Give the slot back, soon: before anybody who asks for one from now on."""
        if not self._is_over:
            self._is_over = True
            portal.submit(self._leave())

    async def _leave(self) -> None:
        if self._reply is not None:
            status, seconds = self._reply
            self._visit.note(status, {}, seconds)
        await self._visit.leave()


def judged(url: str, host: str | bytes | None) -> str:
    """The URL that a request is judged by; `host` is its header Host, if it has one.

    >>> judged("wss://example.com/chat", "example.com")
    'https://example.com/chat'
    """
    if url.startswith(("ws:", "wss:")):  # RFC 6455 section 4.1: it begins with a GET
        url = "http" + url.removeprefix("ws")
    if host is not None and not _is_of(url, host if isinstance(host, str) else to_text(host)):
        raise ValueError(
            "the header Host would ask another site than was checked: leave it out, and put the "
            "host in the URL"
        )
    return url


def sent_as(header: str | bytes | None, default: str, own: str) -> str:
    """The User-Agent that a request of another library is to have.

    That is the header which its user has given it; where that is the library's default, or there is
    none, the client's own: who decides is who is sent.

    >>> sent_as("python-httpx/0.28", "python-httpx/0.28", own="MyBot/1.0")
    'MyBot/1.0'
    >>> sent_as("Other/1.0", "python-httpx/0.28", own="MyBot/1.0")
    'Other/1.0'
    """
    text = to_text(header) if isinstance(header, bytes) else header
    return own if not text or text == default else text


def _is_of(url: str, host: str) -> bool:
    site = origin(url)
    try:
        named = origin(site.partition(":")[0] + "://" + host)
    except InvalidURL:
        return False
    return _without_dot(named) == _without_dot(site)


def _without_dot(site: str) -> str:
    """The same without the dot that ends a complete name: aiohttp leaves it out of the header."""
    return site.replace(".:", ":").removesuffix(".")


def has_no_body(method: str, status: int, headers: Mapping[str, str]) -> bool:
    """Whether a reply ends with its headers, so that nobody has to read it (RFC 9112 section 6.3).

    What follows a 101 is no longer HTTP, and lasts for as long as both sides like.
    """
    return (
        method == "HEAD"
        or status < 200
        or status in (204, 304)
        or (headers.get("content-length") == "0" and "transfer-encoding" not in headers)
    )


class Host:
    """What a client remembers of a host."""

    __slots__ = (
        "_changes",
        "_health",
        "_own",
        "_place",
        "_smoothed",
        "_until",
        "demands",
        "least",
        "pace",
        "policy",
        "robots_asked",
        "site",
    )

    def __init__(self, pace: Pace, own: float | None) -> None:
        self.pace, self._own = pace, own
        self._health = Health()
        """How it was when it last said that it is too much."""
        self._smoothed: float | None = None
        """Seconds it takes to answer."""
        self.demands: dict[str, float] = {}
        """Seconds between requests that its robots.txt files ask for, by origin."""
        self.least = 0.0
        """The most of them: the delay is the host's, all ports and schemes together."""
        self.robots_asked: float | None = None
        """When its robots.txt was last asked for, if nothing has come of it yet."""
        self._place, self._changes, self._until = "", -1, 0.0

    def holds(self, url: str, changes: int, now: float) -> bool:
        """Whether `site` and `policy` are those of a URL, and what they say still holds."""
        return now < self._until and changes == self._changes and url.startswith(self._place)

    def hold(self, url: str, site: Site, policy: Policy, changes: int) -> None:
        """Keep at hand what a site says: its pages are mostly asked for one after another."""
        self.site, self.policy, self._place = site, policy, origin(url) + "/"
        now = time.time()
        # An answer tells its age to the second.
        self._until = min(now + 1.0, site.entry.fresh_until) if site.entry else 0.0
        self._changes = changes

    def demand(self, site: str, seconds: float) -> None:
        """Keep to what a robots.txt asks for."""
        self.demands[site] = seconds
        self.least = max(self.demands.values())

    def gap(self, draw: float) -> float:
        """Seconds to the next start, for a random draw."""
        return self.pace.gap(draw, self.least, self._smoothed, self._own)

    def note(
        self, status: int, headers: Mapping[str, str], seconds: float, draw: Callable[[], float]
    ) -> float | None:
        """Remember what a reply says, and tell until when to leave the host alone, if so."""
        is_too_much, before = status in TOO_MUCH, self._smoothed
        if not (is_too_much or self._health.steps):  # as nearly always
            self._smoothed = self.pace.smoothed(before, seconds)
            return None
        now, asked = time.time(), None
        if is_too_much:
            asked = retry_after(headers.get("retry-after", ""), now)
            asked = None if asked is None else min(asked, _YEAR)
        seen, health = Reply(status, seconds, asked), self._health
        health = health._replace(smoothed=before)
        self._health, until = after(health, self.pace, seen, now, draw())
        self._smoothed = self._health.smoothed
        return until


class Holding:
    """A slot that is renewed every third of its lease; when that fails, its holder has to stop."""

    def __init__(self, visit: Visit, seconds: float) -> None:
        self._visit, self._seconds = visit, seconds
        self.is_lost = self._is_over = False
        self._body: Stream | None = None

    def hold_for(self, body: Stream) -> None:
        """Hold the slot for a body that is still to be read: it ends when the slot is lost."""
        self._body = body
        if self.is_lost:
            body.close()

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._renew())
        return self

    async def __aexit__(self, *_: object) -> None:
        self._is_over = True  # a backend may lose a cancellation
        self._task.cancel()
        try:
            await asyncio.gather(self._task, return_exceptions=True)
        finally:  # whoever is cancelled here as well still gives it back
            await self._visit.leave()

    async def _renew(self) -> None:
        while not (self.is_lost or self._is_over):
            await asyncio.sleep(self._seconds / 3)
            try:
                await self._visit.renew()
            except Exception:
                self.is_lost = True
        if self.is_lost and self._body is not None:
            self._body.close()
