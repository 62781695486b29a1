"""The robots.txt of every site, retrieved when first asked for and kept while it is fresh."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Protocol, Self

from manners._portal import portal
from manners.cache.backends.memory import Memory
from manners.cache.entry import Entry, renewed
from manners.cache.site import Held, Site
from manners.net.messages import Get, Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.flow import retrieve
from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.dialects import Dialect
from manners.robots.verdict import Verdict
from manners.urls import origin, robots_url

ENTRIES = 128
MAX_BYTES = 64 * 1024 * 1024
AT_A_TIME = 256
"""Retrievals under way at a time; more wait, and their time does not run meanwhile."""


class Sender(Protocol):
    """What sends requests: `manners.net.http.Http`, or something that is more patient."""

    async def send(self, get: Get) -> Response | Unreachable:
        """Send a request; what goes wrong is a value."""

    async def close(self) -> None:
        """Close what is open."""


@dataclass(slots=True)
class Statistics:
    """What a cache has done so far."""

    hits: int = 0
    """Questions answered from memory."""
    misses: int = 0
    """Questions that had to wait for a retrieval."""
    retrievals: int = 0
    """Retrievals made, in the background too."""
    not_modified: int = 0
    """Retrievals that confirmed the copy at hand."""
    unreachable: int = 0
    """Retrievals of sites that could not be reached."""
    evicted: int = 0
    """Entries dropped because there was no room."""
    entries: int = 0
    """Entries held."""
    bytes: int = 0
    """What they take, roughly."""


class AsyncRobotsCache:
    """The robots.txt of every site, for async code.

    `profile` says how files are retrieved, `dialect` how they are read. With `offline`, nothing is
    retrieved: what is not known is unreachable. `http` sends the requests; without one, the cache
    makes its own, which introduces itself as `user_agent`.

        async with AsyncRobotsCache() as cache:
            verdict = await cache.check("https://example.com/a", agent="MyBot")
    """

    def __init__(
        self,
        *,
        dialect: str | Dialect = dialects.DEFAULT,
        profile: str | Profile = profiles.DEFAULT,
        user_agent: str | None = None,
        allow_private: bool = False,
        offline: bool = False,
        entries: int = ENTRIES,
        max_bytes: int = MAX_BYTES,
        http: Sender | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self.dialect, self.profile = dialects.get(dialect), profiles.get(profile)
        self.offline = offline
        self._http = http
        if http is None and not offline:
            self._http = _own_http(user_agent, allow_private)
        self._owns_http = http is None
        self._now = now
        self._memory = Memory(entries, max_bytes)
        self._flights: dict[str, asyncio.Task[Held]] = {}
        self._turn: asyncio.Semaphore | None = None
        self._counts = Statistics()

    async def get(self, url: str) -> Site:
        """What is known of the site that a URL belongs to; retrieved if need be."""
        return (await self._held(url)).at(self._now())

    async def check(self, url: str, agent: str | Sequence[str]) -> Verdict:
        """Whether the agent may fetch the URL, and why."""
        return (await self.get(url)).check(url, agent)

    async def allowed(self, url: str, agent: str | Sequence[str]) -> bool:
        """Whether the agent may fetch the URL."""
        return (await self.get(url)).allowed(url, agent)

    async def prefetch(self, urls: Iterable[str]) -> None:
        """Retrieve the files of many sites at once, so that later questions need not wait."""
        await asyncio.gather(*(self._held(url) for url in {origin(url) for url in urls}))

    def forget(self, url: str) -> bool:
        """Drop what is known of a site; whether anything was."""
        return self._memory.forget(origin(url))

    def statistics(self) -> Statistics:
        """What the cache has done so far."""
        memory = self._memory
        return replace(
            self._counts, evicted=memory.evicted, entries=len(memory), bytes=memory.bytes
        )

    async def close(self) -> None:
        """Stop what is under way."""
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, return_exceptions=True)
        if self._owns_http and self._http is not None:
            await self._http.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def fresh(self, site: str, now: float) -> Held | None:
        """What is held of an origin and still good; from any thread."""
        held = self._memory.get(site)
        if held is None or now >= held.fresh_until:
            return None
        self._counts.hits += 1
        return held

    async def _held(self, url: str) -> Held:
        site, now = origin(url), self._now()
        held = self.fresh(site, now)
        if held is not None:
            if now >= held.refresh_at:
                self.refresh(site)
            return held
        self._counts.misses += 1
        if self.offline:
            return self._out_of_reach(site, now)
        # Whoever asks while the site is being asked waits for the same answer, and may stop
        # waiting without taking it from the others.
        return await asyncio.shield(self.refresh(site) or self._flights[site])

    def refresh(self, site: str) -> "asyncio.Task[Held] | None":
        """Ask a site again, unless it is being asked."""
        if site in self._flights or self.offline:
            return None
        flight = self._flights[site] = asyncio.create_task(self._fly(site))
        flight.add_done_callback(lambda done: self._landed(site, done))
        return flight

    def _landed(self, site: str, flight: "asyncio.Task[Held]") -> None:
        del self._flights[site]
        if not flight.cancelled():
            flight.exception()  # whoever waits gets it; nobody may be waiting

    async def _fly(self, site: str) -> Held:
        if self._turn is None:
            self._turn = asyncio.Semaphore(AT_A_TIME)
        before = self._memory.get(site)
        async with self._turn:
            outcome, body = await self._retrieve(site, before.entry if before else None)
        counts = self._counts
        counts.retrievals += 1
        counts.not_modified += outcome.not_modified
        counts.unreachable += outcome.availability is Availability.UNREACHABLE
        return self._keep(before, site, outcome, body)

    async def _retrieve(self, site: str, before: Entry | None) -> tuple[Outcome, bytes]:
        assert self._http is not None  # noqa: S101 (there is none only where nothing is asked)
        flow = retrieve(robots_url(site), self.profile, before.copy if before else None)
        get = next(flow)
        while True:
            reply = await self._http.send(get)
            try:
                get = flow.send(reply)
            except StopIteration as end:
                result: tuple[Outcome, bytes] = end.value
                return result

    def _keep(self, before: Held | None, site: str, outcome: Outcome, body: bytes) -> Held:
        known = before.entry if before else None
        entry = renewed(known, site, outcome, body, self.profile, self._now())
        held = Held(entry, self.dialect, self.profile)
        self._memory.put(held)
        return held

    def _out_of_reach(self, site: str, now: float) -> Held:
        """What holds of a site that is not to be asked; nothing of it is kept."""
        before = self._memory.get(site)
        outcome = Outcome(
            Availability.UNREACHABLE,
            "offline",
            profile=self.profile.name,
            url=robots_url(site),
            confidence="low" if self.profile.unreachable == "allow" else "high",
        )
        entry = renewed(before.entry if before else None, site, outcome, b"", self.profile, now)
        return Held(entry, self.dialect, self.profile)


class RobotsCache:
    """The robots.txt of every site, for blocking code; safe from several threads.

    What is in memory is answered on the calling thread, the rest by the portal's. It takes what
    `AsyncRobotsCache` takes.

        with RobotsCache() as cache:
            verdict = cache.check("https://example.com/a", agent="MyBot")
    """

    def __init__(
        self,
        *,
        dialect: str | Dialect = dialects.DEFAULT,
        profile: str | Profile = profiles.DEFAULT,
        user_agent: str | None = None,
        allow_private: bool = False,
        offline: bool = False,
        entries: int = ENTRIES,
        max_bytes: int = MAX_BYTES,
        http: Sender | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._now = now
        self._cache = AsyncRobotsCache(
            dialect=dialect,
            profile=profile,
            user_agent=user_agent,
            allow_private=allow_private,
            offline=offline,
            entries=entries,
            max_bytes=max_bytes,
            http=http,
            now=now,
        )

    def get(self, url: str) -> Site:
        """What is known of the site that a URL belongs to; retrieved if need be."""
        held = self._remembered(url)
        return portal.run(self._cache.get(url)) if held is None else held.at(self._now())

    def check(self, url: str, agent: str | Sequence[str]) -> Verdict:
        """Whether the agent may fetch the URL, and why."""
        return self.get(url).check(url, agent)

    def allowed(self, url: str, agent: str | Sequence[str]) -> bool:
        """Whether the agent may fetch the URL."""
        held = self._remembered(url)
        if held is not None and held.is_plain and not held.robots.dialect.token_from_header:
            return held.robots.policy(agent).allowed(url)
        return self.get(url).allowed(url, agent)

    def prefetch(self, urls: Iterable[str]) -> None:
        """Retrieve the files of many sites at once, so that later questions need not wait."""
        portal.run(self._cache.prefetch(urls))

    def forget(self, url: str) -> bool:
        """Drop what is known of a site; whether anything was."""
        return portal.run(_forget(self._cache, url))

    def statistics(self) -> Statistics:
        """What the cache has done so far."""
        return self._cache.statistics()

    def close(self) -> None:
        """Stop what is under way."""
        portal.run(self._cache.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _remembered(self, url: str) -> Held | None:
        site, now = origin(url), self._now()
        held = self._cache.fresh(site, now)
        if held is not None and now >= held.refresh_at:
            portal.call(self._cache.refresh, site)
        return held


async def _forget(robots_cache: AsyncRobotsCache, url: str) -> bool:
    return robots_cache.forget(url)  # in the loop, where everything changes


def check(
    url: str,
    agent: str | Sequence[str],
    *,
    dialect: str | Dialect = dialects.DEFAULT,
    profile: str | Profile = profiles.DEFAULT,
    allow_private: bool = False,
) -> Verdict:
    """Whether the agent may fetch the URL, in one line for scripts: retrieves, decides.

    Files are kept for as long as the program runs, or as they are fresh.
    """
    return _shared(dialect, profile, allow_private).check(url, agent)


@cache
def _shared(dialect: str | Dialect, profile: str | Profile, allow_private: bool) -> RobotsCache:
    import atexit

    made = RobotsCache(dialect=dialect, profile=profile, allow_private=allow_private)
    atexit.register(made.close)
    return made


def _own_http(user_agent: str | None, allow_private: bool) -> Sender:
    from manners.net.http import Http

    return Http(user_agent=user_agent or default_user_agent(), allow_private=allow_private)


def default_user_agent() -> str:
    """What requests introduce themselves as, when nobody says otherwise."""
    from importlib.metadata import version

    return f"manners/{version('manners')}"
