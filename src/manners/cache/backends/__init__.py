"""Where entries are kept behind the memory tier, one file each.

A backend keeps raw bytes and metadata, and returns what it has, stale or not: freshness is decided
above it. It is chosen by the scheme of its URL; a path is an SQLite file.
"""

from collections.abc import AsyncIterator
from typing import Protocol

from manners import _family
from manners.cache.entry import Entry
from manners.errors import UnknownName

_FILE = "sqlite"


class Backend(Protocol):
    """A place for entries that outlives a process, and may be shared by several.

    - What was saved is loaded as it was, until something newer is saved.
    - `save` keeps the newer of two: whoever was slow does not undo what another found out later.
    - Every method may raise anything, or never return: the tier above it is patient, for a while.
    """

    async def load(self, origin: str) -> Entry | None:
        """What is kept of an origin; None when nothing is."""

    async def save(self, entry: Entry) -> None:
        """Keep this, unless something newer is kept."""

    async def forget(self, origin: str) -> bool:
        """Drop what is kept of an origin; whether there was anything."""

    def entries(self) -> AsyncIterator[Entry]:
        """Everything that is kept, in the order of origins where that is cheap."""

    async def close(self) -> None:
        """Close what is open."""


def open_backend(where: str) -> Backend:
    """The backend at a place: a path, or a URL such as `valkey://localhost:6379/0`.

    >>> open_backend("nosuch://place")
    Traceback (most recent call last):
    manners.errors.UnknownName: no cache 'nosuch'; there are: redis, rediss, sqlite, valkey, valkeys
    """
    scheme, separator, _ = where.partition("://")
    known = {}
    for name in _family.names(__name__):
        module = _family.member(__name__, "cache", name)
        known.update(dict.fromkeys(getattr(module, "SCHEMES", ()), module))
    if not separator:
        scheme = _FILE
    if scheme not in known:
        raise UnknownName("cache", scheme, sorted(known))
    backend: Backend = known[scheme].open_backend(where)
    return backend
