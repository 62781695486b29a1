"""Sites asked while the command runs: many side by side, answers in the order of the questions."""

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
    from manners.exclusions import Rulings
    from manners.robots.verdict import Verdict

    Answer = Site | Verdict | InvalidURL

_AHEAD = 1000
"""How many URLs are read before the first of them is answered."""
_PATIENCE = 0.5
"""Seconds of silence, after which somebody who watches is told what is being waited for."""


def sites(
    urls: Iterable[str], cache: "AsyncRobotsCache", rulings: "Rulings", progress: "Progress"
) -> Iterator[tuple[str, "Answer"]]:
    """Each URL with what its site says, with what is ruled without it, or with what is wrong."""
    ahead: queue.Queue[tuple[str, Answer | Future[Site]] | BaseException | None]
    ahead = queue.Queue(_AHEAD)
    # URLs are read in a thread of their own: whoever types them waits for an answer before the
    # next question, and whoever pipes them in wants many sites asked at once.
    threading.Thread(target=_read, args=(urls, cache, rulings, ahead), daemon=True).start()
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
        future.exception(_PATIENCE)
    except TimeoutError:
        return future.done()
    return True


def _read(
    urls: Iterable[str],
    cache: "AsyncRobotsCache",
    rulings: "Rulings",
    ahead: "queue.Queue[tuple[str, Answer | Future[Site]] | BaseException | None]",
) -> None:
    try:
        for url in urls:
            try:
                ruled = rulings.check(url)
                ahead.put((url, _ask(url, cache) if ruled is None else ruled))
            except InvalidURL as error:
                ahead.put((url, error))
    except BaseException as error:
        ahead.put(error)
    else:
        ahead.put(None)


def _ask(url: str, cache: "AsyncRobotsCache") -> "Site | Future[Site]":
    now = time.time()
    held = cache._fresh(origin(url), now)
    return held.at(now) if held else portal.submit(cache.get(url))
