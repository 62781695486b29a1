"""The ledger of a discovery: who names each URL, what became of it, and the best to keep. Quiet.

What is known of a URL is a key of 16 bytes and a small number, so that a million of them fit into
memory.
"""

import heapq
from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

from manners.crawler.frontier.values import FoundUrl, key_of
from manners.crawler.frontier.ways import rank_of
from manners.crawler.reasons import OVER_CAP

_SOURCES = {"start": 1, "sitemap": 2, "link": 4}
_OPEN = 8


class Standing(NamedTuple):
    """How a URL stands that was just named."""

    key: bytes
    is_new: bool = False
    is_open: bool = False
    """Whether it may be fetched."""
    rank: int = -1
    """How good the best way to it is; below 0 where no way changes anything."""


class Ledger:
    """Counts and keeps the URLs of a discovery.

    `keep` is called with every URL that is blocked, and in the end with those that are kept. A
    later call about a URL overrules an earlier one.
    """

    def __init__(self, max_found: int, max_kept: int, keep: Callable[[FoundUrl], None]) -> None:
        self._max_found, self._max_kept, self._keep = max_found, max_kept, keep
        self.found: Counter[str] = Counter()
        """How many URLs each source names; one that two of them name counts for both."""
        self.allowed: Counter[str] = Counter()
        """How many of those may be fetched."""
        self.filtered: Counter[tuple[str, str, int]] = Counter()
        """How many are blocked, by reason, rule and line."""
        self._known: dict[bytes, int] = {}
        self._reasons: dict[bytes, tuple[str, str]] = {}
        """Reason and rule of URLs that a better way to them would open."""
        self._best: list[tuple[float, int, FoundUrl]] = []
        self._number = 0

    @property
    def kept(self) -> list[FoundUrl]:
        """What is to be fetched, the best first."""
        return [found for *_, found in sorted(self._best, reverse=True)]

    def name(self, url: str, source: str) -> Standing | None:
        """Count a URL that a source names; None where the limit is reached."""
        key, bit = key_of(url), _SOURCES[source]
        known = self._known.get(key, 0)
        if not known and len(self._known) >= self._max_found:
            return None
        if not known & bit:
            self._known[key] = known | bit
            self.found[source] += 1
            if known & _OPEN:
                self.allowed[source] += 1
        reason, _ = self._reasons.get(key, ("", ""))
        rank = rank_of(reason) if reason else -1
        return Standing(key, not known, bool(known & _OPEN), rank)

    def settle(self, found: FoundUrl, key: bytes) -> None:
        """Write down what becomes of a URL, for the first time or by a better way to it."""
        if key in self._reasons:
            before = (*self._reasons.pop(key), 0)
            self.filtered[before] -= 1
            if not self.filtered[before]:
                del self.filtered[before]
        if found.is_kept:
            self._open(found, key)
        else:
            if rank_of(found.reason) >= 0:
                self._reasons[key] = found.reason, found.rule
            self._filter(found)

    def _open(self, found: FoundUrl, key: bytes) -> None:
        self._known[key] |= _OPEN
        for source, bit in _SOURCES.items():
            if self._known[key] & bit:
                self.allowed[source] += 1
        self._number += 1
        heapq.heappush(self._best, (found.priority, -self._number, found))
        if len(self._best) > self._max_kept:
            *_, worst = heapq.heappop(self._best)
            self._filter(worst._replace(reason=OVER_CAP, rule=f"max_urls = {self._max_kept}"))

    def _filter(self, found: FoundUrl) -> None:
        self.filtered[found.reason, found.rule, found.line] += 1
        self._keep(found)

    def close(self) -> None:
        """Hand out the URLs that are kept."""
        for found in self.kept:
            self._keep(found)
