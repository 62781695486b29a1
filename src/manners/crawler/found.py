"""What was found, kept in a store: each URL with where it was found and, if so, why it is out."""

import hashlib
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

from sqlalchemy import func, insert, select

from manners._text import to_bytes
from manners.crawler.discovery import Found
from manners.evidence.database import TIMEOUT, Database
from manners.evidence.schema import crawls, urls
from manners.urls import host, without_credentials

_AT_A_TIME = 1_000


class FoundUrls:
    """Writes down what a discovery finds, and reads it again.

    with FoundUrls("manners.db") as found:
        discovery = Discovery(client, keep=found.begin("https://example.com/").add)
        await discovery.run("https://example.com/")
    """

    def __init__(self, place: str | Path, *, create: bool = True, timeout: float = TIMEOUT) -> None:
        self._database = Database(place, create=create, timeout=timeout)
        self.place = self._database.place
        self.crawl = 0
        """The number of what is being written."""
        self._waiting: dict[str, dict[str, Any]] = {}

    def begin(self, start: str) -> Self:
        """Begin a discovery: what is added from now on is its own."""
        self.flush()
        with self._database.writing() as connection:
            row = {"start": clean(without_credentials(start)), "at": int(time.time() * 1000)}
            made = connection.execute(insert(crawls).values(row))
            self.crawl = int((made.inserted_primary_key or (0,))[0])
        return self

    def add(self, found: Found) -> None:
        """Write down a URL whose fate is settled; a later word about it counts."""
        row = {name: clean(value) for name, value in found._asdict().items()}
        row |= {"digest": digest_of(row["url"]), "host": host(row["url"]), "crawl": self.crawl}
        row["state"] = "queued" if found.is_kept else "blocked"
        self._waiting[row["digest"]] = row
        if len(self._waiting) >= _AT_A_TIME:
            self.flush()

    def flush(self) -> None:
        """Write what is waiting; durable when this returns."""
        if not self._waiting:
            return
        with self._database.writing() as connection:
            of_this = urls.c.crawl == self.crawl
            connection.execute(urls.delete().where(of_this & urls.c.digest.in_(self._waiting)))
            connection.execute(insert(urls), list(self._waiting.values()))
        self._waiting = {}

    def latest(self) -> int:
        """The number of the last discovery; 0 where there is none."""
        with self._database.reading() as connection:
            return int(connection.execute(select(func.max(crawls.c.id))).scalar() or 0)

    def read(self, crawl: int) -> Iterator[Found]:
        """What a discovery found, in the order of URLs."""
        columns, url = [urls.c[name] for name in Found._fields], urls.c.url
        by_url = url if self._database.is_sqlite else url.collate("C")  # byte by byte, on both
        query = select(*columns).where(urls.c.crawl == crawl).order_by(by_url)
        with self._database.reading() as connection:
            for row in connection.execution_options(yield_per=_AT_A_TIME).execute(query):
                yield Found(*row)

    def close(self) -> None:
        """Write what is waiting, and close."""
        try:
            self.flush()
        finally:
            self._database.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def digest_of(url: str) -> str:
    """What a URL is found by: it may be too long for a key.

    PostgreSQL has no index on more than 2,700 bytes.
    """
    return hashlib.blake2b(url.encode(), digest_size=16).hexdigest()


def clean(value: Any) -> Any:
    """Text as a database can hold it: no NUL, and no bytes that are no UTF-8."""
    if not isinstance(value, str) or (value.isascii() and "\0" not in value):
        return value
    return to_bytes(value).decode("utf-8", "replace").replace("\0", "\ufffd")
