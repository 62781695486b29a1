"""The memory tier: parsed files, the least recently used of them dropped first."""

from collections import OrderedDict

from manners.cache.site import Held

_OVERHEAD = 2048
"""Bytes that an entry is counted for besides its body: the outcome, the policies."""


class Memory:
    """Parsed files by origin, bounded in number and in bytes.

    Looking something up is safe from any thread; changes are made by one.
    """

    def __init__(self, entries: int, max_bytes: int) -> None:
        self.entries, self.max_bytes = entries, max_bytes
        self.bytes = 0
        self.evicted = 0
        self._held: OrderedDict[str, Held] = OrderedDict()

    def get(self, origin: str) -> Held | None:
        """What is held of an origin, which counts as a use."""
        held = self._held.get(origin)
        if held is not None:
            try:  # noqa: SIM105 (every hit comes here, and a context manager costs as much again)
                self._held.move_to_end(origin)
            except KeyError:  # dropped by another thread in this very moment
                pass
        return held

    def put(self, held: Held) -> None:
        """Hold this; drop what is then too much."""
        self.forget(held.entry.origin)
        self._held[held.entry.origin] = held
        self.bytes += _size(held)
        while len(self._held) > 1 and (
            len(self._held) > self.entries or self.bytes > self.max_bytes
        ):
            self.bytes -= _size(self._held.popitem(last=False)[1])
            self.evicted += 1

    def forget(self, origin: str) -> bool:
        """Drop what is held of an origin; whether there was anything."""
        held = self._held.pop(origin, None)
        if held is None:
            return False
        self.bytes -= _size(held)
        return True

    def __len__(self) -> int:
        return len(self._held)


def _size(held: Held) -> int:
    return len(held.entry.body or b"") + _OVERHEAD
