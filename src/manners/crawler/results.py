"""Pages that were fetched and not read yet; a slow reader slows the crawl."""

import asyncio
from collections import deque

from manners.crawler.page import CrawledPage

MAX_PAGES = 256
"""Pages that may wait to be read; then no more requests start."""
MAX_BYTES = 64 * 1024 * 1024
"""The same limit in bytes of memory: some pages are huge."""
_LINK_BYTES = 200
"""Memory that a link of a page takes, about."""


class Results:
    """A bounded queue of pages, for one reader in the same event loop."""

    def __init__(self) -> None:
        self._pages: deque[CrawledPage] = deque()
        self._bytes = 0
        self.pending = 0
        """Pages that were fetched and are not in the store yet."""
        self._changed = asyncio.Event()
        self._is_closed = False

    @property
    def has_room(self) -> bool:
        """Whether more pages may be fetched."""
        return len(self._pages) + self.pending < MAX_PAGES and self._bytes < MAX_BYTES

    def expect(self, page: CrawledPage) -> None:
        """Count a page that was fetched; it is `put` here when it is in the store."""
        self.pending += 1
        self._bytes += _size(page)

    def put(self, page: CrawledPage) -> None:
        """Hand a page that was expected to the reader."""
        self.pending -= 1
        self._pages.append(page)
        self._changed.set()

    def forget(self) -> None:
        """Expect nothing any more: whoever fetched what was expected has to begin anew."""
        self.pending, self._bytes = 0, sum(map(_size, self._pages))

    def close(self) -> None:
        """No more pages will come."""
        self._is_closed = True
        self._changed.set()

    async def take(self) -> list[CrawledPage]:
        """The pages that are there, or come next; none at the end."""
        while not self._pages and not self._is_closed:
            self._changed.clear()
            await self._changed.wait()
        pages = list(self._pages)
        self._pages.clear()
        self._bytes -= sum(map(_size, pages))
        return pages


class NoResults(Results):
    """For a run whose pages nobody reads."""

    def expect(self, page: CrawledPage) -> None:
        """Nothing waits."""

    def put(self, page: CrawledPage) -> None:
        """Nothing is handed out."""


def _size(page: CrawledPage) -> int:
    """Bytes of memory that a page takes, about."""
    return len(page.body) + _LINK_BYTES * len(page.links)
