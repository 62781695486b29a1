"""One look at a site: retrieve its robots.txt, keep it, and decide what to report."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Protocol

from manners.cache.entry import Entry, next_entry
from manners.cache.site import ParsedEntry
from manners.cache.versions import Version
from manners.errors import StoreError
from manners.net.messages import Send
from manners.retrieval.flow import finish, retrieve
from manners.retrieval.profiles import Profile
from manners.robots.dialects import Dialect
from manners.robots.policy import Robots, parse
from manners.urls import robots_url
from manners.watch.deciding import Event, body_of, decide
from manners.watch.effect import effect_of
from manners.watch.journal import Journal
from manners.watch.sight import Known, Sight, copy_to_confirm


class Versions(Protocol):
    """Where entries and earlier versions are kept."""

    async def load(self, origin: str) -> Entry | None:
        """The entry of an origin."""

    async def save(self, entry: Entry) -> None:
        """Save an entry, and the file as a version if its bytes are new."""

    async def history(self, origin: str) -> Sequence[Version]:
        """The versions of an origin."""


class Observer:
    """Looks at sites: each look is one retrieval, which takes its turn at the host.

    The entry is saved first, then what is known of the site with the event that comes of it. A
    watch that is killed in between finds the same event at the next look: it compares with what
    was reported, not with the latest file.
    """

    def __init__(
        self,
        send: Send,
        versions: Versions,
        journal: Journal,
        *,
        dialect: Dialect,
        profile: Profile,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._send, self._versions, self._journal = send, versions, journal
        self._dialect, self._profile, self._clock = dialect, profile, clock

    async def look(
        self, site: str, channels: Callable[[Event], Sequence[str]]
    ) -> tuple[Known, Event | None]:
        """Look at a site, unless it asked for a pause that is not over.

        `channels` names those that an event is delivered by.
        """
        known = await self._journal.known(site)
        if known is not None and self._clock() < known.not_before:  # it asked for a pause
            return known, None
        before = await self._entry(site)
        flow = retrieve(robots_url(site), self._profile, copy_to_confirm(before))
        outcome, body = await finish(flow, self._send)
        now = self._clock()
        entry = next_entry(before, site, outcome, body, self._profile, now)
        after, event = decide(site, known, entry, now)
        text = "" if event is None else await self._text(event, before, entry, now)
        await self._versions.save(entry)
        report = None if event is None else (event, text)
        await self._journal.record(site, after, report, () if event is None else channels(event))
        return after, event

    async def _entry(self, site: str) -> Entry | None:
        """The latest entry; one that cannot be read counts as none, and is replaced."""
        try:
            return await self._versions.load(site)
        except StoreError:
            return None

    async def _text(self, event: Event, before: Entry | None, entry: Entry, now: float) -> str:
        """The event as JSON, with what it does."""
        if event.kind != "changed" or event.before is None:
            return body_of(event, None, [])
        after = ParsedEntry(entry, self._dialect, self._profile).at(now).robots
        earlier = await self._robots(event.site, event.before, before)
        if earlier is None:
            return body_of(event, None, ["The earlier file is not kept: what changes is unknown."])
        # In a thread: a hostile file may take its time.
        effect = await asyncio.to_thread(effect_of, earlier, after)
        return body_of(event, effect.values, effect.sentences)

    async def _robots(self, site: str, sight: Sight, before: Entry | None) -> Robots | None:
        """The file that was reported last, parsed; None if it is not kept any more."""
        if not sight.has_file:
            return parse(b"", self._dialect, robots_url(site))
        if before is None or before.body is None or Sight.of(before).digest != sight.digest:
            before = await self._version(site, sight.digest)
        return None if before is None else ParsedEntry(before, self._dialect, self._profile).robots

    async def _version(self, site: str, digest: str) -> Entry | None:
        """An earlier file as an entry, by its SHA-256."""
        for version in reversed(await self._versions.history(site)):
            if version.sha256 == digest:
                times = (version.first, version.last, version.fresh_until)
                return Entry(site, version.body, version.charset, version.outcome, *times)
        return None
