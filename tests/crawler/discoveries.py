"""A discovery in a store that was written without a site."""

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path

from manners.crawler.frontier import crawls
from manners.crawler.frontier.frontier import Frontier
from manners.crawler.frontier.values import FoundUrl
from manners.crawler.inventory import found_urls
from manners.store.database import Store

_AT_A_TIME = 1_000


def begin(store: Store, start: str = "https://example.com/") -> Frontier:
    """Begin a discovery; its URLs go into the frontier."""
    return Frontier(store, crawls.begin(store, [start], now=5.0, command="discover"))


def write(frontier: Frontier, found: Iterable[FoundUrl]) -> None:
    """Write what was found, some at a time."""
    asyncio.run(_write(frontier, found))


async def _write(frontier: Frontier, found: Iterable[FoundUrl]) -> None:
    waiting: list[FoundUrl] = []
    for each in found:
        waiting.append(each._replace(to_fetch=False))
        if len(waiting) == _AT_A_TIME:
            await frontier.add(waiting)
            waiting = []
    await frontier.add(waiting)


def discovery_in(place: str | Path, found: Sequence[FoundUrl] = ()) -> int:
    """A discovery that found these, in the store of a place; its number."""
    with Store(place) as store:
        frontier = begin(store)
        write(frontier, found)
        return frontier.crawl


def read(place: str | Path, number: int | None = None) -> list[FoundUrl]:
    """What a discovery found, by default the last one."""
    with Store(place, create=False) as store:
        return list(found_urls(store, number))
