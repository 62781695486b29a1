"""Files with usage signals that cost requests: fetched when first needed, kept while fresh.

Each is a request like any other of the client: robots.txt of its own host decides, it waits for its
turn, addresses are guarded, and it is on record. So a licence on another host is fetched only if
that host's robots.txt allows it.
"""

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol

from manners._text import cut
from manners.cache.flights import Flights
from manners.cache.freshness import fresh_for
from manners.client.headers import limit_logins
from manners.client.page import Page
from manners.client.page_signals import material_of
from manners.errors import ClientClosed, HostDeferred, InvalidURL, SlotTimeout
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.retrieval.profiles import DAY, Profile
from manners.signals.claims import MAX_TEXT, Place, Purpose, SignalProblem, Usage
from manners.signals.licence_document import max_age
from manners.signals.markup import media_type
from manners.signals.material import MAX_FILE, Material
from manners.signals.readers.rsl import licence_urls
from manners.urls import origin, without_credentials

MAX_FILES = 1_000
"""Files in memory, those included that do not exist."""
MAX_BYTES = 16 * 1024 * 1024
"""Their size together."""
MAX_LICENCES = 20
"""Licences that the pages of one origin may make this client ask for."""
MAX_LICENCE_DAYS = 30
"""The longest `max-age` of a licence that counts: RSL's default."""
_MAX_URL = 2_000


class SiteFile(NamedTuple):
    """Where a site has the file of a standard, and of what type it is.

    >>> SITE_FILES["tdmrep"].paths
    ('/.well-known/tdmrep.json',)
    """

    argument: str
    """What `manners.signals.usage` calls it."""
    paths: tuple[str, ...]
    """The first that exists counts."""
    type: str = ""
    """The only media type, where a server names one; empty for any."""


SITE_FILES: Mapping[str, SiteFile] = {
    "tdmrep": SiteFile("tdmrep", ("/.well-known/tdmrep.json",)),
    # Servers answer with pages of their own, and several formats share the name ai.txt.
    "trust-txt": SiteFile("trust_txt", ("/trust.txt", "/.well-known/trust.txt"), "text/plain"),
    "ai-txt": SiteFile("ai_txt", ("/ai.txt",), "text/plain"),
}


class SignalFile(NamedTuple):
    """A file that was asked for: its body, or why there is none."""

    body: bytes | None
    """None where the site has no such file, or it could not be had."""
    fresh_until: float
    code: str = ""
    """The code of a problem; empty for none."""
    reason: str = ""
    type: str = ""
    """Its media type; empty where the server names none."""
    fetched_at: float = 0.0
    waited: float = 0.0
    """The last back-off, in seconds, while it cannot be had."""


@dataclass(slots=True)
class GatheredFiles:
    """The files of a page's site, as `manners.signals.usage` takes them, and what went wrong."""

    arguments: dict[str, Any] = field(default_factory=dict)
    licences: dict[str, bytes] = field(default_factory=dict)
    problems: list[SignalProblem] = field(default_factory=list)

    def note(self, standard: str, url: str, code: str, reason: str) -> None:
        """Note a problem with a file."""
        place: Place = "licence" if standard == "rsl" else "file"
        shown = cut(without_credentials(url), MAX_TEXT)
        text = cut(f"{shown}: {reason}", 2 * MAX_TEXT)
        self.problems.append(SignalProblem(code, standard, place, text, where=shown))


async def material_with(
    files: "SignalFiles", page: Page, sources: Iterable[str], fetch: "FileFetcher"
) -> tuple[Material, list[SignalProblem]]:
    """The sources of a page with the files of its site, and what went wrong with these."""
    material = material_of(page)
    gathered = await files.gather(material, sources, fetch)
    material = replace(material, licences=gathered.licences, **gathered.arguments)
    return material, gathered.problems


def usage_with(
    usages: Mapping[Purpose, Usage], problems: Iterable[SignalProblem]
) -> Mapping[Purpose, Usage]:
    """The usages of a page, with the problems of files."""
    problems = tuple(problems)
    return MappingProxyType(
        {
            purpose: replace(usage, problems=usage.problems + problems)
            for purpose, usage in usages.items()
        }
    )


class FileFetcher(Protocol):
    """Fetches a file politely, within the limits of a profile: `AsyncClient.fetch_file`."""

    def __call__(self, url: str, limits: Profile) -> Awaitable[Page]:
        """The page that came of it."""


class SignalFiles:
    """The files that a client has asked sites for, by URL; in the client's loop."""

    def __init__(self, profile: Profile, clock: Callable[[], float]) -> None:
        self._profile, self._clock = profile.but(max_read=MAX_FILE), clock
        self._files: OrderedDict[str, SignalFile] = OrderedDict()
        self._size = 0
        self._flights: Flights[SignalFile] = Flights()
        self._licences: OrderedDict[str, set[str]] = OrderedDict()
        """The licences of each origin."""

    async def gather(
        self, material: Material, sources: Iterable[str], fetch: FileFetcher
    ) -> GatheredFiles:
        """The files of these standards for a page; what cannot be had is a problem."""
        gathered, site = GatheredFiles(), origin(material.url)
        for source in sources:
            if source == "rsl":
                await self._gather_licences(material, site, fetch, gathered)
            else:
                await self._gather_file(source, site, fetch, gathered)
        return gathered

    async def close(self) -> None:
        """Cancel what is under way."""
        await self._flights.close()

    async def _gather_file(
        self, standard: str, site: str, fetch: FileFetcher, gathered: GatheredFiles
    ) -> None:
        known = SITE_FILES[standard]
        for path in known.paths:
            file = await self._get(site + path, fetch)
            if file.body is not None and known.type and file.type not in ("", known.type):
                file = file._replace(body=None, code="wrong-type", reason=file.type)
            if file.code:
                gathered.note(standard, site + path, file.code, file.reason)
            if file.body is not None:
                gathered.arguments[known.argument] = file.body
            if file.body is not None or file.code not in ("", "wrong-type"):
                return

    async def _gather_licences(
        self, material: Material, site: str, fetch: FileFetcher, gathered: GatheredFiles
    ) -> None:
        for url in self._licence_urls(material, site, gathered):
            file = await self._get(url, fetch, is_foreign=origin(url) != site)
            if file.code:
                gathered.note("rsl", url, file.code, file.reason)
            if file.body is not None:
                gathered.licences[url] = file.body

    def _licence_urls(
        self, material: Material, site: str, gathered: GatheredFiles
    ) -> Iterator[str]:
        """The licences that a page may make the client ask for: few, since anybody can name any."""
        known = self._licences.setdefault(site, set())
        self._licences.move_to_end(site)
        if len(self._licences) > MAX_FILES:
            self._licences.popitem(last=False)
        for url in licence_urls(material):
            if len(url) > _MAX_URL:
                gathered.note("rsl", url, "too-large", f"more than {_MAX_URL:,} characters")
            elif url in known or len(known) < MAX_LICENCES:
                known.add(url)
                yield url
            else:
                reason = f"not asked for: more than {MAX_LICENCES} licences of one site"
                gathered.note("rsl", url, "too-large", reason)

    async def _get(self, url: str, fetch: FileFetcher, *, is_foreign: bool = False) -> SignalFile:
        """A file from memory while it is fresh, else from its site: once, however many ask."""
        file = self._files.get(url)
        if file is not None and self._clock() < file.fresh_until:
            self._files.move_to_end(url)
            return file

        async def update(url: str) -> SignalFile:
            # A host that a page merely names has no business with the logins for the page.
            with limit_logins(()) if is_foreign else nullcontext():
                return self._keep(url, await self._fetch(url, fetch))

        flight = self._flights.start(url, update)
        try:
            # A caller may stop waiting without cancelling the request for the others.
            return await asyncio.shield(flight)
        except asyncio.CancelledError:
            task = asyncio.current_task()
            if flight.cancelled() and task is not None and not task.cancelling():
                raise ClientClosed from None
            raise

    async def _fetch(self, url: str, fetch: FileFetcher) -> SignalFile:
        waited = self._files[url].waited if url in self._files else 0.0
        try:
            page = await fetch(url, self._profile)
        except (HostDeferred, SlotTimeout, InvalidURL) as error:
            return self._failed(Outcome(Availability.UNREACHABLE), str(error), waited)
        outcome, now = _outcome(page), self._clock()
        fresh_until = now + fresh_for(outcome, self._profile, now, 0.0)
        if outcome.availability is Availability.UNREACHABLE:
            return self._failed(outcome, str(page), waited)
        if page.status in (404, 410):
            return SignalFile(None, fresh_until)
        if not page.ok:
            return SignalFile(None, fresh_until, "not-had", str(page))
        if not page.complete:  # a part of it may say something else
            reason = f"more than {self._profile.max_read:,} bytes"
            return SignalFile(None, fresh_until, "too-large", reason)
        days = max_age(page.body)
        if days is not None:
            fresh_until = now + min(days, MAX_LICENCE_DAYS) * DAY
        kind = media_type(page.headers.get("content-type", ""))
        return SignalFile(page.body, fresh_until, type=kind, fetched_at=now)

    def _failed(self, outcome: Outcome, reason: str, waited: float) -> SignalFile:
        """A file that could not be had now: the back-off doubles."""
        now = self._clock()
        wait = fresh_for(outcome, self._profile, now, waited)
        return SignalFile(None, now + wait, "not-had", reason, waited=wait)

    def _keep(self, url: str, file: SignalFile) -> SignalFile:
        """Keep a file, or an earlier copy while it cannot be had, as with robots.txt."""
        before = self._files.pop(url, None)
        self._size -= _size(before)
        if file.waited and before is not None and before.body is not None:
            age = self._clock() - before.fetched_at
            if age <= self._profile.stale_for:
                file = before._replace(
                    fresh_until=file.fresh_until,
                    code=file.code,
                    reason=f"{file.reason}; an earlier copy counts",
                    waited=file.waited,
                )
        self._files[url] = file
        self._size += _size(file)
        while len(self._files) > 1 and (len(self._files) > MAX_FILES or self._size > MAX_BYTES):
            self._size -= _size(self._files.popitem(last=False)[1])
        return file


def _size(file: SignalFile | None) -> int:
    return len(file.body or b"") if file is not None else 0


def _outcome(page: Page) -> Outcome:
    """How a request went, in the terms of robots.txt."""
    if page.ok:
        availability = Availability.AVAILABLE
    elif 400 <= (page.status or 0) < 500 and page.status != 429:
        availability = Availability.UNAVAILABLE
    else:
        availability = Availability.UNREACHABLE
    hop = RobotsHop(page.final_url, page.status)
    return Outcome(availability, hops=(hop,), headers=tuple(page.headers.items()))
