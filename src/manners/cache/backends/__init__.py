"""Where entries are kept behind the memory tier, one file each.

A backend keeps raw bytes and metadata, and returns them fresh or stale: freshness is decided above
it. It is chosen by the scheme of its URL; a path is an SQLite file.
"""

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from manners import _family
from manners._secrets import LIBPQ, is_libpq
from manners.cache.entry import Entry
from manners.cache.versions import Version
from manners.errors import StoreError

_FILE = "sqlite"


class CacheBackend(Protocol):
    """A place for entries that outlives a process, and may be shared by several.

    - An entry is loaded as it was saved, until a newer one is saved.
    - `save` keeps the newer of two: a slow process does not overwrite a later result.
    - Every method may raise anything, or never return: the tier above it has a timeout.
    """

    async def load(self, origin: str) -> Entry | None:
        """The entry of an origin, fresh or stale; None when there is none."""

    async def save(self, entry: Entry) -> None:
        """Save an entry, unless a newer one is there."""

    async def forget(self, origin: str) -> bool:
        """Drop the entry of an origin; False when there was none."""

    def entries(self) -> AsyncIterator[Entry]:
        """All entries, sorted by origin where that is cheap."""

    async def close(self) -> None:
        """Close files and connections."""


@runtime_checkable
class VersionBackend(Protocol):
    """A backend that keeps what each site said, and when.

    - A save adds a version only if the site says something else than before; otherwise it moves on
      when the latest version was last confirmed.
    - Versions are limited in number, not in the age of the first.
    """

    async def history(self, origin: str) -> list[Version]:
        """The versions of an origin's robots.txt, oldest first; empty when none is known."""


async def history(backend: CacheBackend, origin: str) -> list[Version]:
    """The versions of an origin's robots.txt in a backend, oldest first.

    >>> import asyncio
    >>> asyncio.run(history(open_backend(":memory:"), "https://example.com"))
    []
    """
    if isinstance(backend, VersionBackend):
        return await backend.history(origin)
    place = str(getattr(backend, "place", type(backend).__name__))
    raise StoreError(
        place,
        "this cache keeps no history of robots.txt, only the latest: use a cache in a file, or an"
        " evidence store",
    )


def open_backend(where: str, timeout: float = 30.0) -> CacheBackend:
    """The backend at a place: a path, or a URL such as `valkey://localhost:6379/0`.

    A server has `timeout` seconds for each answer.

    >>> open_backend("nosuch://place")
    Traceback (most recent call last):
    manners.errors.UnknownName: unknown cache 'nosuch'; choose from: redis, sqlite, valkey, …
    """
    if is_libpq(where):
        raise StoreError(where, LIBPQ)
    scheme, separator, rest = where.partition("://")
    scheme = scheme.lower() if separator else _FILE
    module = _family.by_scheme(__name__, "cache", scheme)
    backend: CacheBackend = module.open_backend(
        f"{scheme}://{rest}" if separator else where, timeout
    )
    return backend
