"""What a cache and an evidence store know of the past, for commands that make no request."""

import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from manners._secrets import is_libpq, without_secrets
from manners._text import printable
from manners.cache.site import ParsedEntry, Site
from manners.cache.versions import (
    Version,
    entry_at,
    merged,
    version_at,
    versions_around,
)
from manners.cli import inputs
from manners.cli.linting import UnreadFile
from manners.cli.record_filter import parse_time
from manners.errors import StoreError
from manners.robots import dialects
from manners.urls import origin, with_scheme

if TYPE_CHECKING:
    from manners.cache.backends import CacheBackend
    from manners.cli.options import Options
    from manners.evidence.store import EvidenceStore
    from manners.settings import Settings

_MAX_SITES = 200
"""Sites that are remembered while a list of URLs is checked."""
_HOW = "a cache in a file (--cache FILE) and the evidence store (--store PLACE) keep it"


class NotKnownThen(UnreadFile):
    """Nothing says what a site's robots.txt was at a time."""

    def __init__(self, site: str, moment: float, versions: Sequence[Version]) -> None:
        self.site, self.moment = site, moment
        self.around = versions_around(versions, moment)
        super().__init__(site, moment)

    @property
    def known(self) -> str:
        """What is known nearest to the time."""
        before, after = self.around
        parts = []
        if before is not None:
            parts.append(f"{_result(before)} was last seen {utc(before.last)}")
        if after is not None:
            parts.append(f"{_result(after)} was first seen {utc(after.first)}")
        return " and ".join(parts) or "nothing is known of this site"

    def __str__(self) -> str:
        return f"{self.site}: not known what robots.txt was at {utc(self.moment)}: {self.known}"

    def to_dict(self, url: str) -> dict[str, Any]:
        """What is not known about a URL, as plain values, ready for JSON."""
        before, after = self.around
        return {
            "allowed": None,
            "reason": "not-known-then",
            "url": url,
            "at": self.moment,
            "before": before.to_dict() if before else None,
            "after": after.to_dict() if after else None,
        }


def _result(version: Version) -> str:
    return str(version.outcome) if version.body is None else f"a file ({version.sha256[:12]})"


def utc(moment: float) -> str:
    """A time as people read it.

    >>> utc(1_790_812_800.0)
    '2026-10-01 00:00:00 UTC'
    """
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(moment))


def parse_moment(text: str, option: str = "--at") -> float:
    """Seconds since the epoch of a date, which is its beginning, or a date and a time; else UTC.

    >>> parse_moment("2026-10-01"), parse_moment("2026-10-01T12:00Z")
    (1790812800.0, 1790856000.0)
    """
    return parse_time(option, text)


def version_of(site: str, moment: float, options: "Options") -> Version:
    """What a site's robots.txt was at a time, by the cache and the store of these options.

    Raises `NotKnownThen`, which says what is known.
    """
    with open_histories(options.load()) as histories:
        url = origin(with_scheme(site))
        versions = histories.of(url)
        version = version_at(versions, moment)
        if version is None:
            raise NotKnownThen(url, moment, versions)
        return version


class Histories:
    """The histories of sites: those of a cache and of an evidence store, if there are any."""

    def __init__(self, cache: "CacheBackend | None", store: "EvidenceStore | None") -> None:
        self._cache, self._store = cache, store

    def of(self, site: str) -> list[Version]:
        """The versions of an origin's robots.txt, oldest first."""
        found: list[list[Version]] = []
        try:
            if self._cache is not None:
                from manners._portal import portal
                from manners.cache.backends import history

                found.append(portal.run(history(self._cache, site)))
            if self._store is not None:
                found.append(self._store.history(site))
        except StoreError as error:
            raise UnreadFile(str(error)) from None
        return merged(*found)


@contextmanager
def open_histories(settings: "Settings") -> Iterator[Histories]:
    """The cache and the store of some settings; the default store, if it is there."""
    store = settings.store
    if store is None and Path(inputs.STORE).is_file():
        store = inputs.STORE
    if settings.cache is None and store is None:
        raise inputs.Unusable(
            f"nothing to look into: name a cache (--cache FILE) or an evidence store"
            f" (--store PLACE); there is no {inputs.STORE} here"
        )
    with ExitStack() as stack:
        cache = None if settings.cache is None else _open_cache(settings.cache, settings)
        if cache is not None:
            from manners._portal import portal

            stack.callback(lambda: portal.run(cache.close()))
        opened = None
        if store is not None:
            from manners.evidence.store import EvidenceStore

            timeout = settings.server_timeout
            opened = EvidenceStore(store, create=False, readonly=True, timeout=timeout)
            stack.enter_context(opened)
        yield Histories(cache, opened)


def _open_cache(where: str, settings: "Settings") -> "CacheBackend":
    """A cache that is there: looking does not create one."""
    from manners.cache.backends import open_backend

    path = where.removeprefix("sqlite:///")
    if "://" not in path and not is_libpq(path) and not Path(path).exists():
        raise inputs.Unusable(f"there is no cache at {without_secrets(where)!r}")
    return open_backend(where, settings.server_timeout)


def explain_nothing(site: str) -> str:
    """What to say, and to do, if nothing is known of a site."""
    return f"nothing is known of {printable(site)} from before: {_HOW} from the first request on"


class SitesThen:
    """Sites as they were at a time; each is looked up once."""

    def __init__(self, histories: Histories, moment: float, settings: "Settings") -> None:
        self._histories, self._moment = histories, moment
        self._dialect, self._profile = dialects.get(settings.dialect), settings.retrieval
        self._known: dict[str, tuple[Site, Version] | NotKnownThen] = {}

    def get(self, url: str) -> tuple[Site, Version]:
        """The site of a URL at that time, and the version that held; or raises `NotKnownThen`."""
        site = origin(url)
        known = self._known.get(site)
        if known is None:
            if len(self._known) >= _MAX_SITES:
                del self._known[next(iter(self._known))]
            known = self._known[site] = self._find(site)
        if isinstance(known, NotKnownThen):
            raise known
        return known

    def _find(self, site: str) -> tuple[Site, Version] | NotKnownThen:
        versions = self._histories.of(site)
        version, entry = version_at(versions, self._moment), entry_at(versions, self._moment)
        if version is None or entry is None:
            return NotKnownThen(site, self._moment, versions)
        return ParsedEntry(entry, self._dialect, self._profile).at(self._moment), version
