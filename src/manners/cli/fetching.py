"""Many URLs fetched while the command runs: each host at its own pace, answers as they come."""

import queue
import threading
import time
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from manners._portal import portal
from manners.crawler.scheduler import Request, Scheduler
from manners.crawler.tasks import TaskSet
from manners.errors import InvalidURL, MannersError
from manners.urls import host

_MAX_UNANSWERED = 100_000
"""How many URLs are read before the first of them is answered."""
_PROGRESS_SECONDS = 0.2
"""Seconds without an answer after which `waiting` is called."""

_T = TypeVar("_T")


class _Fetched(NamedTuple, Generic[_T]):
    """An answer on its way from the event loop to the command."""

    url: str
    answer: _T | MannersError
    request: Request[str] | None
    """None where the URL was invalid."""


class Fetching(Generic[_T]):
    """Fetches many URLs, in the order in which the scheduler lets their hosts be asked.

    `fetch` fetches one URL; `answered` says of an answer whether the host answers, None if that is
    not known. A request counts as under way until its answer was taken: a slow reader slows
    everything down, and memory stays bounded, however long the list is.
    """

    def __init__(
        self,
        fetch: Callable[[str], Coroutine[Any, Any, _T]],
        scheduler: Scheduler[str],
        answered: Callable[[_T], bool | None] = lambda _: True,
        clock: Callable[[], float] = time.time,
    ) -> None:
        self.read = self.done = 0
        """How many URLs were read so far, and how many of them are answered."""
        self._fetch, self._answered, self._clock = fetch, answered, clock
        self._room = threading.Semaphore(_MAX_UNANSWERED)
        self._answers: queue.SimpleQueue[_Fetched[_T] | BaseException | None] = queue.SimpleQueue()
        # Only the portal's thread uses these.
        self._scheduler = scheduler
        self._tasks = TaskSet()
        self._is_stopped = False

    @property
    def hosts(self) -> int:
        """How many hosts are being asked, or waited for."""
        return len(self._scheduler.queues)

    def answers(
        self, urls: Iterable[str], waiting: Callable[[], None]
    ) -> Generator[tuple[str, _T | MannersError], None, None]:
        """Each URL with its answer or its error; `waiting` is called while there is none."""
        threading.Thread(target=self._feed, args=(urls,), daemon=True).start()
        is_read = False
        try:
            while not (is_read and self.done == self.read):
                try:
                    item = self._answers.get(timeout=_PROGRESS_SECONDS)
                except queue.Empty:
                    waiting()
                    continue
                if isinstance(item, BaseException):
                    raise item
                if item is None:
                    is_read = True
                    continue
                self.done += 1
                yield item.url, item.answer
                self._room.release()
                if item.request is not None:
                    portal.call(self._finish, item.request, item.answer)
        finally:
            portal.run(self._stop())

    def _feed(self, urls: Iterable[str]) -> None:
        """Read the URLs, in a thread of its own: they may come slowly, or never end."""
        try:
            for url in urls:
                self._room.acquire()
                self.read += 1
                portal.call(self._add, url)
        except BaseException as error:
            self._answers.put(error)
        else:
            self._answers.put(None)

    # In the portal's thread.

    def _add(self, url: str) -> None:
        try:
            self._scheduler.add(host(url), url)
        except InvalidURL as error:
            self._answers.put(_Fetched(url, error, None))
        else:
            self._look()

    def _finish(self, request: Request[str], answer: _T | MannersError) -> None:
        """An answer was taken, and there is room for another."""
        answered = None if isinstance(answer, MannersError) else self._answered(answer)
        self._scheduler.finished(request, answered=answered)
        self._look()

    def _look(self) -> None:
        """Start what may be started now, and come back when there is more."""
        if not self._is_stopped:
            now = self._clock()
            start, _, at = self._scheduler.next(now)
            for request in start:
                self._tasks.start(self._run(request))
            self._tasks.call_later(None if at is None else at - now, self._look)

    async def _run(self, request: Request[str]) -> None:
        try:
            answer: _T | MannersError = await self._fetch(request.item)
        except MannersError as error:
            answer = error
        except Exception as error:  # a defect of ours
            self._answers.put(error)
            return
        self._answers.put(_Fetched(request.item, answer, request))

    async def _stop(self) -> None:
        self._is_stopped = True
        await self._tasks.cancel()
