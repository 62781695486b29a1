"""Where entries are kept behind the memory tier, one file each.

A backend keeps raw bytes and metadata, and returns what it has, stale or not: freshness is decided
above it. It is chosen by the scheme of its URL; a path is an SQLite file.
"""

import json
from collections.abc import AsyncIterator
from functools import cache
from types import UnionType
from typing import Any, Literal, Protocol, TypeGuard, get_args, get_origin, get_type_hints
from zlib import crc32

from manners import _family
from manners._secrets import LIBPQ, is_libpq
from manners.cache.entry import Entry
from manners.errors import StoreError, UnknownName
from manners.retrieval.outcome import Availability, Hop, Outcome

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


def open_backend(where: str, timeout: float = 30.0) -> Backend:
    """The backend at a place: a path, or a URL such as `valkey://localhost:6379/0`.

    A server has `timeout` seconds for each answer.

    >>> open_backend("nosuch://place")
    Traceback (most recent call last):
    manners.errors.UnknownName: no cache 'nosuch'; there are: redis, rediss, sqlite, valkey, valkeys
    """
    if is_libpq(where):
        raise StoreError(where, LIBPQ)
    scheme, separator, rest = where.partition("://")
    known = {}
    for name in _family.names(__name__):
        module = _family.member(__name__, "cache", name)
        known.update(dict.fromkeys(getattr(module, "SCHEMES", ()), module))
    if separator:
        scheme = scheme.lower()
        where = f"{scheme}://{rest}"
    else:
        scheme = _FILE
    if scheme not in known:
        raise UnknownName("cache", scheme, sorted(known))
    backend: Backend = known[scheme].open_backend(where, timeout)
    return backend


def metadata(entry: Entry) -> str:
    """All of an entry but its body, as text; it begins with a checksum of both."""
    return _sealed(json.dumps(entry.to_dict()), entry.body)


def read_entry(place: str, text: str | bytes, body: bytes | None) -> Entry:
    """The entry of which `metadata` made a text: what others can write to may be rubbish.

    >>> read_entry("cache.db", "0 {}", None)
    Traceback (most recent call last):
    manners.errors.StoreError: 'cache.db': has an entry that cannot be read
    """
    try:
        text = text.decode() if isinstance(text, bytes) else text
        plain = text.partition(" ")[2]
        entry = Entry.from_dict(json.loads(plain), body) if text == _sealed(plain, body) else None
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        entry = None
    if not is_entry(entry):
        raise StoreError(place, "has an entry that cannot be read")
    return entry


def _sealed(text: str, body: bytes | None) -> str:
    # Disks and memories have accidents: a rule with one bit wrong would be obeyed.
    marked = b"" if body is None else b"+" + body
    return f"{crc32(marked, crc32(text.encode())):08x} {text}"


def is_entry(value: object) -> TypeGuard[Entry]:
    """Whether a value is an entry through and through: a file that is there has a body."""
    if not (isinstance(value, Entry) and _fits(value, Entry)):
        return False
    return value.body is not None or value.outcome.availability is not Availability.AVAILABLE


_YEAR_10000 = 253_402_300_800.0
_hints = cache(get_type_hints)


def _fits(value: Any, kind: Any) -> bool:
    """Whether a value is what its annotation says."""
    if kind is float:  # all of ours are times, and time spans
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and abs(value) < _YEAR_10000
    if kind in (Entry, Outcome, Hop):
        return isinstance(value, kind) and all(
            _fits(getattr(value, name), each) for name, each in _hints(kind).items()
        )
    parts = get_args(kind)
    if get_origin(kind) is UnionType:
        return any(_fits(value, part) for part in parts)
    if get_origin(kind) is Literal:
        return value in parts
    if get_origin(kind) is tuple:
        return isinstance(value, tuple) and _fit(value, parts)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _fit(values: tuple[Any, ...], kinds: tuple[Any, ...]) -> bool:
    if kinds[-1] is ...:
        kinds = kinds[:1] * len(values)
    return len(values) == len(kinds) and all(map(_fits, values, kinds))
