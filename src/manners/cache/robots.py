"""The robots.txt of every site, retrieved when first needed and kept while it is fresh."""

import asyncio
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, Self

from manners import events, logs
from manners.cache.backends import CacheBackend, open_backend
from manners.cache.backends.memory import Memory
from manners.cache.entry import Entry, next_entry
from manners.cache.flights import Flights
from manners.cache.freshness import fresh_for
from manners.cache.site import ParsedEntry, Site
from manners.cache.versions import Version, versions_of
from manners.events import Listener
from manners.identity import default_user_agent
from manners.logs import Reporter
from manners.net.messages import Get, Response, Unreachable
from manners.retrieval import profiles
from manners.retrieval.flow import finish, retrieve
from manners.retrieval.outcome import Availability, Outcome
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.agents import WILDCARD
from manners.robots.dialects import Dialect
from manners.robots.verdict import Verdict
from manners.urls import host, origin, robots_url

if TYPE_CHECKING:
    from manners.cache.tier import Tier

ENTRIES = 128
MAX_BYTES = 64 * 1024 * 1024

_CLOCK_SKEW = 60.0
"""Seconds by which the clocks of machines that share a store may differ."""


class Sender(Protocol):
    """Sends requests: `manners.net.http.Http`, or one that waits for its turn first."""

    async def send(self, get: Get) -> Response | Unreachable:
        """Send a request; failures are values."""

    async def close(self) -> None:
        """Close the connections."""


@dataclass(slots=True)
class Statistics:
    """What a cache has done so far."""

    hits: int = 0
    """Questions answered from memory, except those that a client answers without the cache."""
    misses: int = 0
    """Questions that had to wait for a retrieval."""
    retrievals: int = 0
    """Retrievals, background refreshes included."""
    not_modified: int = 0
    """Retrievals that confirmed the cached copy."""
    unreachable: int = 0
    """Retrievals of sites that could not be reached."""
    evicted: int = 0
    """Entries evicted to make room."""
    entries: int = 0
    """Entries in memory."""
    bytes: int = 0
    """Their approximate size."""


class AsyncRobotsCache:
    """The robots.txt of every site, for async code.

    `profile` says how files are retrieved, `dialect` how they are read. With `offline`, nothing is
    retrieved: a site that is not in the cache is unreachable. `store` keeps files between runs and
    shares them between processes: a path, or `valkey://…`. `http` sends the requests; without it
    the cache makes its own sender, with the header `User-Agent: user_agent`, by default
    `manners/VERSION (+home page)`. Without an agent, questions are about every agent, `*`. `clock`
    returns the time in seconds since the epoch. `on_event` is called with what happens
    (`manners.events`).

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
        store: str | Path | CacheBackend | None = None,
        http: Sender | None = None,
        clock: Callable[[], float] = time.time,
        now: Callable[[], float] | None = None,
        on_event: Listener | Reporter | None = None,
    ) -> None:
        if http is not None and (user_agent is not None or allow_private):
            raise ValueError("http= sends the requests: set user_agent and allow_private there")
        if now is not None:
            warnings.warn("now= is now clock=, and works until 1.0", DeprecationWarning, 2)
            clock = now
        self.dialect, self.profile = dialects.get(dialect), profiles.get(profile)
        self.offline, self.clock = offline, clock
        self.http = http or _default_http(user_agent, allow_private)
        self._events = Reporter.of(on_event, clock)
        self._store = None if store is None else _tier(store, self._events)
        self._memory = Memory(entries, max_bytes)
        self._flights: Flights[ParsedEntry] = Flights()
        self._counts = Statistics()
        self.changes = 0
        """How often an entry was added, changed or dropped."""

    async def get(self, url: str) -> Site:
        """The site that a URL belongs to; its robots.txt is retrieved if necessary."""
        return (await self._load(url)).at(self.clock())

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
        await asyncio.gather(*(self._load(url) for url in {origin(url) for url in urls}))

    async def forget(self, url: str) -> bool:
        """Drop the entry of a site, in the store too; False when there was none."""
        site = origin(url)
        was_known = self._memory.forget(site)
        self.changes += 1
        if self._store is not None:
            was_known = await self._store.forget(site) or was_known
        return was_known

    async def history(self, url: str) -> list[Version]:
        """The versions of a site's robots.txt that were seen, oldest first.

        They are in the store, which has to be a file. Without a store, all that is known is what is
        in memory.
        """
        site = origin(url)
        if self._store is not None:
            await self._flights.finish_saves()
            return await self._store.history(site)
        cached = self._memory.get(site)
        return [] if cached is None else versions_of(cached.entry)

    def statistics(self) -> Statistics:
        """What the cache has done so far."""
        memory = self._memory
        return replace(
            self._counts, evicted=memory.evicted, entries=len(memory), bytes=memory.bytes
        )

    async def close(self) -> None:
        """Cancel retrievals, finish saves, and close the connections."""
        await self._flights.close()
        await self.http.close()
        if self._store is not None:
            await self._store.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def fresh(self, site: str, now: float) -> ParsedEntry | None:
        """The entry of an origin if it is in memory and fresh; from any thread."""
        cached = self._memory.get(site)
        if cached is None or now >= cached.fresh_until:
            return None
        self._counts.hits += 1
        if self._events.wants_uses:
            self.tell_use(cached.entry)
        return cached

    def known(self, site: str) -> Site | None:
        """The site of an origin, if it is in memory and fresh; in the cache's own loop."""
        now = self.clock()
        cached = self.fresh(site, now)
        if cached is None:
            return None
        if now >= cached.refresh_at:
            self.refresh(site)
        return cached.at(now)

    def refresh(self, site: str) -> "asyncio.Task[ParsedEntry]":
        """Retrieve the file of an origin again, unless that is under way; in the cache's loop."""
        return self._flights.start(site, self._update)

    def tell_use(self, entry: Entry, source: events.Source = "memory") -> None:
        """Tell that a robots.txt was used, and how old it is."""
        now, outcome, size = self.clock(), entry.outcome, len(entry.body or b"")
        self._events.tell(
            events.RobotsUse(
                now,
                events.PAGE.get(),
                host(entry.origin),
                outcome.status,
                source,
                now - entry.validated_at,
                size,
                str(outcome.availability),
            )
        )

    def _tell_problem(self, site: str, problem: str) -> None:
        self._events.tell(events.RetrievalProblem(self.clock(), host(site), problem))

    async def _load(self, url: str) -> ParsedEntry:
        site, now = origin(url), self.clock()
        cached = self.fresh(site, now)
        if cached is not None:
            if now >= cached.refresh_at:
                self.refresh(site)
            return cached
        self._counts.misses += 1
        # A caller may stop waiting without cancelling the retrieval for the others.
        return await asyncio.shield(self.refresh(site))

    async def _update(self, site: str) -> ParsedEntry:
        """The entry of an origin from the store, if it is good, or else from the site."""
        cached = self._memory.get(site)
        before = cached.entry if cached else None
        if self._store is not None:
            stored = await self._store.load(site)
            if stored is not None and (before is None or stored.outcome.at > before.outcome.at):
                if self._is_good(stored):
                    self._tell_entry(stored, "store")
                    return self._keep(stored)
                before = stored
        if self.offline:
            return self._unreachable(site, before)
        async with self._flights.limit:
            outcome, body = await self._retrieve(site, before)
        self._count(outcome)
        if cached is not None and self._stays(cached, outcome):
            problem = f"{outcome.url}: {outcome}; the cached copy is still fresh"
            self._tell_problem(site, problem)
            return cached
        entry = next_entry(before, site, outcome, body, self.profile, self.clock())
        self._tell_entry(entry, "site")
        if self._store is not None:
            self._flights.save(self._store.save(entry))
        return self._keep(entry)

    async def _retrieve(self, site: str, before: Entry | None) -> tuple[Outcome, bytes]:
        flow = retrieve(robots_url(site), self.profile, before.copy if before else None)
        return await finish(flow, self.http.send)

    def _count(self, outcome: Outcome) -> None:
        self._counts.retrievals += 1
        self._counts.not_modified += outcome.not_modified
        self._counts.unreachable += outcome.availability is Availability.UNREACHABLE

    def _stays(self, cached: ParsedEntry, outcome: Outcome) -> bool:
        """Whether a failed background refresh changes nothing: the cached copy is still fresh."""
        now = self.clock()
        if outcome.availability is not Availability.UNREACHABLE or now >= cached.fresh_until:
            return False
        again = now + fresh_for(outcome, self.profile, now, 0.0)
        if outcome.header("retry-after") and again > cached.fresh_until:
            return False  # Retry-After reaches beyond it, and is obeyed
        cached.refresh_at = again
        return True

    def _is_good(self, stored: Entry) -> bool:
        """Whether an entry that another process saved may be used here.

        Not if another profile retrieved it. Nor if it is from the future: some clock is wrong, and
        the entry would stay fresh for too long.
        """
        now = self.clock()
        return (
            stored.outcome.profile == self.profile.name
            and stored.outcome.at <= now + _CLOCK_SKEW
            and now < stored.fresh_until
        )

    def _keep(self, entry: Entry) -> ParsedEntry:
        cached = ParsedEntry(entry, self.dialect, self.profile)
        self._memory.put(cached)
        self.changes += 1
        if cached.robots.truncated:
            problem = "too large; only the beginning is parsed"
            self._tell_problem(entry.origin, f"{entry.outcome.url}: {problem}")
        if self.dialect.max_rules is not None and cached.robots.too_many_rules:
            problem = "too many rules, so everything is allowed"
            self._tell_problem(entry.origin, f"{entry.outcome.url}: {problem}")
        return cached

    def _tell_entry(self, entry: Entry, source: events.Source) -> None:
        self.tell_use(entry, source)
        outcome, problem = entry.outcome, ""
        advice = f"; {outcome.advice}" if outcome.advice else ""
        if outcome.availability is Availability.UNREACHABLE:
            problem = f"{outcome}{advice}"
        elif outcome.is_failure:
            problem = f"{outcome}; everything is allowed"
        elif not outcome.complete:
            problem = "larger than the profile's limit"
        if problem:
            self._tell_problem(entry.origin, f"{outcome.url}: {problem}")

    def _unreachable(self, site: str, before: Entry | None) -> ParsedEntry:
        """An entry for a site that may not be asked, because the cache is offline; not kept."""
        outcome = Outcome(
            Availability.UNREACHABLE,
            "offline",
            profile=self.profile.name,
            url=robots_url(site),
            confidence="low" if self.profile.unreachable == "allow" else "high",
        )
        if before is not None and before.unreachable_since is None:
            since = min(before.fresh_until, self.clock())  # as far as is known
            before = replace(before, unreachable_since=since)
        entry = next_entry(before, site, outcome, b"", self.profile, self.clock())
        return ParsedEntry(entry, self.dialect, self.profile)


def _tier(store: str | Path | CacheBackend, reporter: Reporter) -> "Tier":
    from manners.cache.tier import Tier  # needs msgspec

    if isinstance(store, str | Path):
        store = open_backend(str(store))

    def failed(problem: str) -> None:
        reporter.tell(events.CacheProblem(reporter.clock(), problem))

    return Tier(store, failed)


def _default_http(user_agent: str | None, allow_private: bool) -> Sender:
    from manners.net.http import Http

    return Http(user_agent=user_agent or default_user_agent(), allow_private=allow_private)
