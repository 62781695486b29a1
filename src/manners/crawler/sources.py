"""Which sources name each URL of a discovery, in little memory. Quiet."""

from collections import Counter
from collections.abc import Iterable

from manners.crawler.frontier.values import key_of

_BITS = {"start": 1, "sitemap": 2, "link": 4}


class Sources:
    """Counts the URLs that each source names; a URL that two of them name counts for both.

    A URL takes a key of 16 bytes and a small number, so that a million of them fit into memory.

    >>> sources = Sources(limit=2)
    >>> sources.name("https://example.com/", "start"), sources.name("https://example.com/", "link")
    (True, True)
    >>> sources.name("https://example.com/a", "link"), sources.name("https://example.com/b", "link")
    (True, False)
    >>> dict(sources.found)
    {'start': 1, 'link': 2}
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._known: dict[bytes, int] = {}
        self.found: Counter[str] = Counter()
        """How many URLs each source names."""

    def name(self, url: str, source: str) -> bool:
        """Count a URL that a source names; False, and not counted, beyond the limit."""
        key, bit = key_of(url), _BITS[source]
        known = self._known.get(key, 0)
        if not known and len(self._known) >= self._limit:
            return False
        if not known & bit:
            self._known[key] = known | bit
            self.found[source] += 1
        return True

    def count(self, keys: Iterable[bytes]) -> "Counter[str]":
        """How many of some URLs each source names."""
        numbers = Counter(self._known.get(key, 0) for key in keys)
        return Counter(
            {
                source: total
                for source, bit in _BITS.items()
                if (total := sum(number for bits, number in numbers.items() if bits & bit))
            }
        )
