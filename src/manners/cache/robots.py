"""The robots.txt of every site, retrieved when first asked for and kept while it is fresh."""

import asyncio
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Protocol, Self

from manners import logs
from manners._portal import portal
from manners.cache.backends import Backend, open_backend
from manners.cache.backends.memory import Memory
from manners.cache.entry import Entry, renewed
from manners.cache.freshness import fresh_for
from manners.cache.site import Held, Site
from manners.cache.tier import Tier
from manners.identity import default_user_agent
from manners.net.messages import Get, Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.flow import retrieve
from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.agents import WILDCARD
from manners.robots.dialects import Dialect
from manners.robots.verdict import Verdict
from manners.urls import host, origin, robots_url

ENTRIES = 128
MAX_BYTES = 64 * 1024 * 1024
AT_A_TIME = 256
"""Retrievals under way at a time; more wait, and their time does not run meanwhile."""


_CLOCKS_APART = 60.0
"""Seconds by which the clocks of machines that share a store may differ."""


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
    """Questions answered from memory; those that a client answers without asking again left out."""
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
    retrieved: what is not known is unreachable. `store` keeps files between runs, and for others: a
    path, or `valkey://…`. `http` sends the requests; without one, the cache makes its own, with
    the header `User-Agent: user_agent`, which is `manners/VERSION (+home page)` unless it is given.
    Questions about no agent in particular are about everybody, `*`.

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
        store: str | Path | Backend | None = None,
        http: Sender | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        if http is not None and (user_agent is not None or allow_private):
            raise ValueError(
                "user_agent and allow_private are for http= to know, where it is given"
            )
        self.dialect, self.profile = dialects.get(dialect), profiles.get(profile)
        self.offline = offline
        self._http = http or _own_http(user_agent, allow_private)
        if isinstance(store, str | Path):
            store = open_backend(str(store))
        self._store = None if store is None else Tier(store, logs.cache_failed)
        self._saves: set[asyncio.Task[None]] = set()
        self._now = now
        self._memory = Memory(entries, max_bytes)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._flights: dict[str, asyncio.Task[Held]] = {}
        self._turn = asyncio.Semaphore(AT_A_TIME)
        self._counts = Statistics()
        self.changes = 0
        """How often something that is known has changed."""

    async def get(self, url: str) -> Site:
        """What is known of the site that a URL belongs to; retrieved if need be."""
        return (await self._held(url)).at(self._now())

    async def check(self, url: str, agent: str | Sequence[str] = WILDCARD) -> Verdict:
        """Whether the agent may fetch the URL, and why."""
        verdict = (await self.get(url)).check(url, agent)
        logs.matched(verdict)
        return verdict

    async def allowed(self, url: str, agent: str | Sequence[str] = WILDCARD) -> bool:
        """Whether the agent may fetch the URL."""
        if logs.wants_matches():
            return (await self.check(url, agent)).allowed
        return (await self.get(url)).allowed(url, agent)

    async def prefetch(self, urls: Iterable[str]) -> None:
        """Retrieve the files of many sites at once, so that later questions need not wait."""
        await asyncio.gather(*(self._held(url) for url in {origin(url) for url in urls}))

    async def forget(self, url: str) -> bool:
        """Drop what is known of a site, in the store too; whether anything was."""
        site = origin(url)
        known = self._memory.forget(site)
        self.changes += 1
        if self._store is not None:
            known = await self._store.forget(site) or known
        return known

    def statistics(self) -> Statistics:
        """What the cache has done so far."""
        memory = self._memory
        return replace(
            self._counts, evicted=memory.evicted, entries=len(memory), bytes=memory.bytes
        )

    async def close(self) -> None:
        """Stop what is under way."""
        self._enter()
        flights = list(self._flights.values())
        for flight in flights:
            flight.cancel()
        await asyncio.gather(*flights, *self._saves, return_exceptions=True)
        await self._http.close()
        if self._store is not None:
            await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def _fresh(self, site: str, now: float) -> Held | None:
        """What is held of an origin and still good; from any thread."""
        held = self._memory.get(site)
        if held is None or now >= held.fresh_until:
            return None
        self._counts.hits += 1
        if logs.wants_uses():
            self._tell_use(held.entry)
        return held

    def _remembered(self, url: str) -> Site | None:
        """What is known of a site, where that needs no waiting; in the cache's own loop."""
        site, now = origin(url), self._now()
        held = self._fresh(site, now)
        if held is None:
            return None
        if now >= held.refresh_at:
            self._refresh(site)
        return held.at(now)

    async def _held(self, url: str) -> Held:
        site, now = origin(url), self._now()
        held = self._fresh(site, now)
        if held is not None:
            if now >= held.refresh_at:
                self._refresh(site)
            return held
        self._counts.misses += 1
        # Whoever asks while the site is being asked waits for the same answer, and may stop
        # waiting without taking it from the others.
        return await asyncio.shield(self._refresh(site) or self._flights[site])

    def _refresh(self, site: str) -> "asyncio.Task[Held] | None":
        """Ask a site again, unless it is being asked."""
        self._enter()
        if site in self._flights:
            return None
        flight = self._flights[site] = asyncio.create_task(self._fly(site))
        flight.add_done_callback(lambda done: self._landed(site, done))
        return flight

    def _enter(self) -> None:
        """In a forked child there is another loop, and nothing is under way in it."""
        loop = asyncio.get_running_loop()
        if loop is not self._loop:
            self._loop, self._flights, self._saves = loop, {}, set()
            self._turn = asyncio.Semaphore(AT_A_TIME)

    def _landed(self, site: str, flight: "asyncio.Task[Held]") -> None:
        self._flights.pop(site, None)
        if not flight.cancelled():
            flight.exception()  # whoever waits gets it; nobody may be waiting

    async def _fly(self, site: str) -> Held:
        held = self._memory.get(site)
        before = held.entry if held else None
        if self._store is not None:
            stored = await self._store.load(site)
            if stored is not None and (before is None or stored.outcome.at > before.outcome.at):
                if self._is_good(stored):
                    self._tell(stored, from_cache=True)
                    return self._hold(stored)
                before = stored
        if self.offline:
            return self._out_of_reach(site, before)
        async with self._turn:
            outcome, body = await self._retrieve(site, before)
        self._counts.retrievals += 1
        self._counts.not_modified += outcome.not_modified
        self._counts.unreachable += outcome.availability is Availability.UNREACHABLE
        if held is not None and self._may_wait(held, outcome):
            logs.failed(f"{outcome.url}: {outcome}; what is held is still fresh")
            return held
        entry = renewed(before, site, outcome, body, self.profile, self._now())
        self._tell(entry, from_cache=False)
        if self._store is not None:  # nobody waits for it
            save = asyncio.create_task(self._store.save(entry))
            self._saves.add(save)
            save.add_done_callback(self._saves.discard)
        return self._hold(entry)

    def _may_wait(self, held: Held, outcome: Outcome) -> bool:
        """Whether a refresh ahead that failed changes nothing: what is held is still fresh."""
        now = self._now()
        if outcome.availability is not Availability.UNREACHABLE or now >= held.fresh_until:
            return False
        again = now + fresh_for(outcome, self.profile, now, 0.0)
        if outcome.header("retry-after") and again > held.fresh_until:
            return False  # the site asks for more time than there is: it is left alone for so long
        held.refresh_at = again
        return True

    def _is_good(self, stored: Entry) -> bool:
        """Whether an entry that somebody else made holds for us: another profile asks otherwise.

        Nor does one of a time to come: somebody's clock is wrong, and it would hold for too long.
        """
        now = self._now()
        return (
            stored.outcome.profile == self.profile.name
            and stored.outcome.at <= now + _CLOCKS_APART
            and now < stored.fresh_until
        )

    def _hold(self, entry: Entry) -> Held:
        held = Held(entry, self.dialect, self.profile)
        self._memory.put(held)
        self.changes += 1
        if held.robots.truncated:
            logs.failed(f"{entry.outcome.url}: longer than what is parsed of it")
        if self.dialect.max_rules is not None and held.robots.too_many_rules:
            logs.failed(f"{entry.outcome.url}: more rules than are read, everything is allowed")
        return held

    def _tell_use(self, entry: Entry, from_cache: bool = True) -> None:
        """Log that a robots.txt was used, and how old it is."""
        age, size = self._now() - entry.validated_at, len(entry.body or b"")
        logs.retrieved(host(entry.origin), entry.outcome.status, from_cache, age, size)

    def _tell(self, entry: Entry, from_cache: bool) -> None:
        self._tell_use(entry, from_cache)
        outcome = entry.outcome
        advice = f"; {outcome.advice}" if outcome.advice else ""
        if outcome.availability is Availability.UNREACHABLE:
            logs.failed(f"{outcome.url}: {outcome}{advice}")
        elif outcome.is_failure:
            logs.failed(f"{outcome.url}: {outcome}; everything is allowed")
        elif not outcome.complete:
            logs.failed(f"{outcome.url}: longer than the profile reads")

    async def _retrieve(self, site: str, before: Entry | None) -> tuple[Outcome, bytes]:
        flow = retrieve(robots_url(site), self.profile, before.copy if before else None)
        get = next(flow)
        while True:
            reply = await self._http.send(get)
            try:
                get = flow.send(reply)
            except StopIteration as end:
                result: tuple[Outcome, bytes] = end.value
                return result

    def _out_of_reach(self, site: str, before: Entry | None) -> Held:
        """What holds of a site that is not to be asked; nothing of it is kept."""
        outcome = Outcome(
            Availability.UNREACHABLE,
            "offline",
            profile=self.profile.name,
            url=robots_url(site),
            confidence="low" if self.profile.unreachable == "allow" else "high",
        )
        if before is not None and before.unreachable_since is None:
            since = min(before.fresh_until, self._now())  # as far as is known
            before = replace(before, unreachable_since=since)
        entry = renewed(before, site, outcome, b"", self.profile, self._now())
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
        store: str | Path | Backend | None = None,
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
            store=store,
            http=http,
            now=now,
        )
        if http is None:
            portal.close_behind(self, self._cache._http.close)

    @classmethod
    def _over(cls, cache: AsyncRobotsCache) -> "RobotsCache":
        """A blocking face of a cache that lives in the portal's loop."""
        made = cls.__new__(cls)
        made._cache, made._now = cache, cache._now
        return made

    def get(self, url: str) -> Site:
        """What is known of the site that a URL belongs to; retrieved if need be."""
        held = self._remembered(url)
        return portal.run(self._cache.get(url)) if held is None else held.at(self._now())

    def check(self, url: str, agent: str | Sequence[str] = WILDCARD) -> Verdict:
        """Whether the agent may fetch the URL, and why."""
        verdict = self.get(url).check(url, agent)
        logs.matched(verdict)
        return verdict

    def allowed(self, url: str, agent: str | Sequence[str] = WILDCARD) -> bool:
        """Whether the agent may fetch the URL."""
        if logs.wants_matches():
            return self.check(url, agent).allowed
        held = self._remembered(url)
        if held is None:
            return portal.run(self._cache.allowed(url, agent))
        if held.is_plain and not held.robots.dialect.token_from_header:
            return held.robots.policy(agent).allowed(url)
        return held.at(self._now()).allowed(url, agent)

    def prefetch(self, urls: Iterable[str]) -> None:
        """Retrieve the files of many sites at once, so that later questions need not wait."""
        portal.run(self._cache.prefetch(urls))

    def forget(self, url: str) -> bool:
        """Drop what is known of a site, in the store too; whether anything was."""
        return portal.run(self._cache.forget(url))

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
        held = self._cache._fresh(site, now)
        if held is not None and now >= held.refresh_at:
            portal.call(self._cache._refresh, site)
        return held


def check(
    url: str,
    agent: str | Sequence[str] = WILDCARD,
    *,
    dialect: str | Dialect = dialects.DEFAULT,
    profile: str | Profile = profiles.DEFAULT,
    allow_private: bool = False,
) -> Verdict:
    """Whether the agent may fetch the URL, in one line for scripts: retrieves, decides.

    Without an agent the question is what everybody may (`*`). Whoever it is about, requests are
    sent as `manners/VERSION (+home page)`. Files are kept for as long as the program runs, or as
    they are fresh.
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
