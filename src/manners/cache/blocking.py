"""The robots.txt cache for blocking code, and `manners.check` on top of it."""

from collections.abc import Callable, Iterable, Sequence
from functools import cache
from pathlib import Path
from typing import Self, TypedDict, Unpack

from manners import logs
from manners._portal import portal
from manners.cache.backends import CacheBackend
from manners.cache.robots import AsyncRobotsCache, Sender, Statistics
from manners.cache.site import ParsedEntry, Site
from manners.cache.versions import Version
from manners.events import Listener
from manners.logs import Reporter
from manners.retrieval import profiles
from manners.retrieval.profiles import Profile
from manners.robots import dialects
from manners.robots.agents import WILDCARD
from manners.robots.dialects import Dialect
from manners.robots.verdict import Verdict
from manners.urls import origin


class CacheOptions(TypedDict, total=False):
    """The keywords of `AsyncRobotsCache`."""

    dialect: str | Dialect
    profile: str | Profile
    user_agent: str | None
    allow_private: bool
    offline: bool
    entries: int
    max_bytes: int
    store: str | Path | CacheBackend | None
    http: Sender | None
    clock: Callable[[], float]
    now: Callable[[], float] | None
    on_event: Listener | Reporter | None


class RobotsCache:
    """The robots.txt of every site, for blocking code; safe from several threads.

    Entries in memory are answered on the calling thread, everything else by the portal's. It takes
    the keywords of `AsyncRobotsCache`.

        with RobotsCache() as cache:
            verdict = cache.check("https://example.com/a", agent="MyBot")
    """

    def __init__(self, **options: Unpack[CacheOptions]) -> None:
        self._cache = AsyncRobotsCache(**options)
        if options.get("http") is None:
            portal.close_behind(self, self._cache.http.close)

    @classmethod
    def wrap(cls, cache: AsyncRobotsCache) -> "RobotsCache":
        """The blocking face of a cache that lives in the portal's loop."""
        face = cls.__new__(cls)
        face._cache = cache
        return face

    def get(self, url: str) -> Site:
        """The site that a URL belongs to; its robots.txt is retrieved if necessary."""
        cached = self._fresh(url)
        return (
            portal.run(self._cache.get(url)) if cached is None else cached.at(self._cache.clock())
        )

    def check(self, url: str, agent: str | Sequence[str] = WILDCARD) -> Verdict:
        """Whether the agent may fetch the URL, and why."""
        verdict = self.get(url).check(url, agent)
        logs.matched(verdict)
        return verdict

    def allowed(self, url: str, agent: str | Sequence[str] = WILDCARD) -> bool:
        """Whether the agent may fetch the URL."""
        if logs.wants_matches():
            return self.check(url, agent).allowed
        cached = self._fresh(url)
        if cached is None:
            return portal.run(self._cache.allowed(url, agent))
        if cached.is_plain and not cached.robots.dialect.token_from_header:
            return cached.robots.policy(agent).allowed(url)
        return cached.at(self._cache.clock()).allowed(url, agent)

    def prefetch(self, urls: Iterable[str]) -> None:
        """Retrieve the files of many sites at once, so that later questions need not wait."""
        portal.run(self._cache.prefetch(urls))

    def forget(self, url: str) -> bool:
        """Drop the entry of a site, in the store too; False when there was none."""
        return portal.run(self._cache.forget(url))

    def history(self, url: str) -> list[Version]:
        """The versions of a site's robots.txt that were seen, oldest first.

        >>> with RobotsCache(offline=True, store=":memory:") as cache:
        ...     cache.history("https://example.com/")
        []
        """
        return portal.run(self._cache.history(url))

    def statistics(self) -> Statistics:
        """What the cache has done so far."""
        return self._cache.statistics()

    def close(self) -> None:
        """Cancel retrievals, finish saves, and close the connections."""
        portal.run(self._cache.close())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _fresh(self, url: str) -> ParsedEntry | None:
        site, robots = origin(url), self._cache
        now = robots.clock()
        cached = robots.fresh(site, now)
        if cached is not None and now >= cached.refresh_at:
            portal.call(robots.refresh, site)
        return cached


def check(
    url: str,
    agent: str | Sequence[str] = WILDCARD,
    *,
    dialect: str | Dialect = dialects.DEFAULT,
    profile: str | Profile = profiles.DEFAULT,
    allow_private: bool = False,
) -> Verdict:
    """Whether the agent may fetch the URL, in one line for scripts: retrieves, then decides.

    Without an agent the question is about every agent (`*`). Whatever the agent, requests are sent
    as `manners/VERSION (+home page)`. Files stay in memory while they are fresh, until the program
    ends.
    """
    return _shared(dialect, profile, allow_private).check(url, agent)


@cache
def _shared(dialect: str | Dialect, profile: str | Profile, allow_private: bool) -> RobotsCache:
    import atexit

    shared = RobotsCache(dialect=dialect, profile=profile, allow_private=allow_private)
    atexit.register(shared.close)
    return shared
