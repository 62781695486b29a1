"""Many sites asked at once while the command runs; answers in the order of the URLs."""

import queue
import threading
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from typing import TYPE_CHECKING

from manners._portal import portal
from manners._text import count
from manners.errors import InvalidURL
from manners.urls import origin

if TYPE_CHECKING:
    from manners.cache.robots import AsyncRobotsCache
    from manners.cache.site import Site
    from manners.cli.render import Progress
    from manners.exclusions import Overrides
    from manners.robots.verdict import Verdict

    Answer = Site | Verdict | InvalidURL

_MAX_AHEAD = 1000
"""How many URLs are read before the first of them is answered."""
_PROGRESS_SECONDS = 0.5
"""Seconds without an answer after which the progress line says what is waited for."""


def sites(
    urls: Iterable[str], cache: "AsyncRobotsCache", overrides: "Overrides", progress: "Progress"
) -> Iterator[tuple[str, "Answer"]]:
    """Each URL with its site, with a verdict that needs no site, or with what is wrong."""
    ahead: queue.Queue[tuple[str, Answer | Future[Site]] | BaseException | None]
    ahead = queue.Queue(_MAX_AHEAD)
    # URLs are read in a thread: somebody who types them waits for each answer, and somebody who
    # pipes them in wants many sites asked at once.
    threading.Thread(target=_read, args=(urls, cache, overrides, ahead), daemon=True).start()
    done = 0
    while (item := ahead.get()) is not None:
        if isinstance(item, BaseException):
            raise item
        url, answer = item
        if isinstance(answer, Future):
            while not _is_done(answer):
                waiting = f"waiting for {origin(url)}, {count(ahead.qsize(), 'URL')} behind it"
                progress.say(f"{done} checked, {waiting}")
            answer = answer.result()
        progress.clear()
        yield url, answer
        done += 1


def _is_done(future: "Future[Site]") -> bool:
    try:
        future.exception(_PROGRESS_SECONDS)
    except TimeoutError:
        return future.done()
    return True


def _read(
    urls: Iterable[str],
    cache: "AsyncRobotsCache",
    overrides: "Overrides",
    ahead: "queue.Queue[tuple[str, Answer | Future[Site]] | BaseException | None]",
) -> None:
    try:
        for url in urls:
            try:
                verdict = overrides.check(url)
                ahead.put((url, _ask(url, cache) if verdict is None else verdict))
            except InvalidURL as error:
                ahead.put((url, error))
    except BaseException as error:
        ahead.put(error)
    else:
        ahead.put(None)


def _ask(url: str, cache: "AsyncRobotsCache") -> "Site | Future[Site]":
    now = time.time()
    entry = cache.fresh(origin(url), now)
    return entry.at(now) if entry else portal.submit(cache.get(url))
