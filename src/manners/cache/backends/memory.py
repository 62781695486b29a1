"""The memory tier: parsed files, the least recently used evicted first."""

from collections import OrderedDict

from manners.cache.site import ParsedEntry

_OVERHEAD = 2048
"""Bytes that an entry counts for besides its body: the outcome, the policies."""


class Memory:
    """Parsed files by origin, limited in number and in bytes.

    Lookups are safe from any thread; one thread makes changes.
    """

    def __init__(self, entries: int, max_bytes: int) -> None:
        self.entries, self.max_bytes = entries, max_bytes
        self.bytes = 0
        self.evicted = 0
        self._parsed: OrderedDict[str, ParsedEntry] = OrderedDict()

    def get(self, origin: str) -> ParsedEntry | None:
        """The entry of an origin; getting it counts as a use."""
        parsed = self._parsed.get(origin)
        if parsed is not None:
            try:  # noqa: SIM105 (the hot path: a context manager would double its cost)
                self._parsed.move_to_end(origin)
            except KeyError:  # evicted by another thread just now
                pass
        return parsed

    def put(self, parsed: ParsedEntry) -> None:
        """Add an entry, and evict others if there is no room."""
        self.forget(parsed.entry.origin)
        self._parsed[parsed.entry.origin] = parsed
        self.bytes += _size(parsed)
        while len(self._parsed) > 1 and (
            len(self._parsed) > self.entries or self.bytes > self.max_bytes
        ):
            self.bytes -= _size(self._parsed.popitem(last=False)[1])
            self.evicted += 1

    def forget(self, origin: str) -> bool:
        """Drop the entry of an origin; False when there was none."""
        parsed = self._parsed.pop(origin, None)
        if parsed is None:
            return False
        self.bytes -= _size(parsed)
        return True

    def __len__(self) -> int:
        return len(self._parsed)


def _size(parsed: ParsedEntry) -> int:
    return len(parsed.entry.body or b"") + _OVERHEAD
