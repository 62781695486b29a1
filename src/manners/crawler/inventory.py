"""The inventory of a site: the URLs that a discovery found, kept in a store."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Self

from manners.crawler.frontier.crawls import latest_of_all
from manners.crawler.frontier.queries import Queries, insert_crawl
from manners.crawler.frontier.values import FoundUrl, clean, digest_of
from manners.store.database import TIMEOUT, Store
from manners.urls import host, without_credentials

FIELDS = FoundUrl._fields[:9]
"""What there is to say of a URL that was found: not how a crawl would fetch it."""
_AT_A_TIME = 1_000


class FoundUrls:
    """Writes down what a discovery finds, and reads it again.

    with FoundUrls("manners.db") as found:
        discovery = Discovery(client, keep=found.begin("https://example.com/").add)
        await discovery.run("https://example.com/")
    """

    def __init__(
        self,
        place: str | Path,
        *,
        create: bool = True,
        timeout: float = TIMEOUT,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self._store = Store(place, create=create, timeout=timeout)
        self._clock = clock
        self.place = self._store.place
        self.crawl = 0
        """The number of the discovery that is being written."""
        self._waiting: dict[str, dict[str, Any]] = {}

    def begin(self, start: str) -> Self:
        """Begin a discovery: URLs that are added from now on belong to it."""
        self.flush()
        with self._store.writing() as connection:
            self.crawl = insert_crawl(connection, clean(without_credentials(start)), self._clock())
        return self

    def add(self, found: FoundUrl) -> None:
        """Write down what became of a URL; a later call about it overrules an earlier one."""
        row = {name: clean(value) for name, value in found._asdict().items()}
        row |= {"host": host(row["url"]), "state": "queued" if found.is_kept else "blocked"}
        self._waiting[digest_of(row["url"])] = row
        if len(self._waiting) >= _AT_A_TIME:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting; durable when this returns."""
        if not self._waiting:
            return
        with self._store.writing() as connection:
            Queries(connection, self.crawl).replace(self._waiting)
        self._waiting = {}

    def latest(self) -> int:
        """The number of the last discovery or crawl; 0 where there is none."""
        return latest_of_all(self._store)

    def read(self, crawl: int) -> Iterator[FoundUrl]:
        """What a discovery found, in the order of URLs."""
        with self._store.reading() as connection:
            for values in Queries(connection, crawl).found(FIELDS):
                yield FoundUrl(*values)

    def close(self) -> None:
        """Write what is waiting, and close."""
        try:
            self.flush()
        finally:
            self._store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
