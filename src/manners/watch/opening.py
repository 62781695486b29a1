"""A watch, put together: the client that asks, and the cache file that remembers."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path

from manners.cache.backends.sqlite import SqliteCache
from manners.client.async_client import AsyncClient
from manners.client.transport import open_http
from manners.errors import StoreError
from manners.robots import dialects
from manners.settings import Settings
from manners.store.locks import InUse, acquire, lock_file
from manners.watch.delivering import Channel
from manners.watch.journal import WAIT, Journal
from manners.watch.looking import Observer
from manners.watch.pace import Retries
from manners.watch.watcher import Watcher

_LOCK_WAIT = 2.0
"""Seconds for which a watch that was just killed may still hold the lock."""


class OpenWatch:
    """A watch that runs once or until it is stopped, and then closes what it opened.

    Robots.txt files are retrieved by a client with these settings: guarded, with the delays and
    slots of its hosts, and with its User-Agent. The file at `path` is a cache like any other.
    """

    def __init__(
        self,
        sites: Sequence[str],
        settings: Settings,
        path: Path,
        channels: Sequence[Channel],
        warn: Callable[[str], None],
        *,
        every: float | None = None,
        retries: Retries | None = None,
    ) -> None:
        self._path = path
        self._client = AsyncClient(
            settings=settings.but(cache=None, store=None),
            http=open_http(settings, keep_alive=False),
        )
        self._versions, self._journal = SqliteCache(path, WAIT), Journal(path)
        observer = Observer(
            self._client.robots.http.send,
            self._versions,
            self._journal,
            dialect=dialects.get(settings.dialect),
            profile=settings.retrieval,
        )
        self.watcher = Watcher(
            sites, observer, self._journal, channels, warn, every=every, retries=retries
        )

    async def run(self) -> None:
        """Run the watch, and close everything."""
        try:
            await self.watcher.run()
        finally:
            await self._client.close()
            await self._versions.close()
            await self._journal.close()


@contextmanager
def only_watch(path: Path) -> Iterator[None]:
    """Keep other watches from the same cache file: each would report and deliver everything."""
    release = acquire(partial(lock_file, Path(f"{path}-watch")), _LOCK_WAIT)
    if release is None:
        raise InUse(str(path), "another watch works with this cache; wait until it ends")
    try:
        yield
    finally:
        release()


def cache_path(place: str) -> Path:
    """The file of a cache; raises `StoreError` for a cache that is no file.

    >>> cache_path("sqlite:///watch.db").name
    'watch.db'
    """
    path = place.removeprefix("sqlite:///")
    if "://" in path or not path:
        raise StoreError(place, "a watch needs a cache in a file: --cache FILE")
    return Path(path)
