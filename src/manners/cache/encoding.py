"""Entries as text, and back: what comes from a store is checked before it is believed."""

import json
from zlib import crc32

from manners.cache.entry import Entry
from manners.errors import MissingExtra, StoreError
from manners.retrieval.outcome import Availability

try:
    import msgspec
except ModuleNotFoundError:
    raise MissingExtra("msgspec", "aiohttp") from None

_YEAR_10000 = 253_402_300_800.0


def metadata(entry: Entry) -> str:
    """An entry without its body, as text that begins with a checksum of both."""
    return sealed(json.dumps(entry.to_dict()), entry.body)


def sealed(text: str, body: bytes | None) -> str:
    """A text behind a checksum of itself and a body.

    Disks and memory have bit errors, and a rule with a wrong bit would be obeyed.
    """
    marked = b"" if body is None else b"+" + body
    return f"{crc32(marked, crc32(text.encode())):08x} {text}"


def read_entry(place: str, text: str | bytes, body: bytes | None) -> Entry:
    """The entry that `metadata` wrote as text; other programs may have written anything.

    >>> read_entry("cache.db", "0 {}", None)
    Traceback (most recent call last):
    manners.errors.StoreError: 'cache.db': has an entry that cannot be read
    """
    entry = None
    try:
        text = text.decode() if isinstance(text, bytes) else text
        plain = text.partition(" ")[2]
        if text == sealed(plain, body):
            entry = valid_entry(Entry.from_dict(json.loads(plain), body))
    except (ValueError, TypeError, LookupError, AttributeError, RecursionError):
        pass
    if entry is None:
        raise StoreError(place, "has an entry that cannot be read")
    return entry


def valid_entry(value: object) -> Entry | None:
    """The entry that a value is, if every field has its type and a sensible value."""
    try:
        plain = msgspec.to_builtins(value, builtin_types=(bytes,))
        entry = msgspec.convert(plain, Entry)
    except (msgspec.MsgspecError, ValueError, TypeError, AttributeError, RecursionError):
        return None
    outcome = entry.outcome
    times = (
        *(entry.fetched_at, entry.validated_at, entry.fresh_until, entry.unreachable_since or 0.0),
        *(outcome.at, outcome.seconds, outcome.age),
    )
    if entry != value or not all(abs(seconds) < _YEAR_10000 for seconds in times):
        return None
    if entry.body is None and outcome.availability is Availability.AVAILABLE:
        return None
    return entry
