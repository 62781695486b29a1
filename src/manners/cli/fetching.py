"""Pages asked for while the command runs: hosts side by side and in turn, answers as they come."""

import asyncio
import queue
import threading
from collections import Counter, OrderedDict, deque
from collections.abc import Callable, Coroutine, Generator, Iterable
from typing import Any, Generic, NamedTuple, TypeVar

from manners._portal import portal
from manners.errors import InvalidURL, MannersError
from manners.urls import host

_AHEAD = 100_000
"""How many URLs are read before the first of them is answered."""
_AT_ONCE = 256
"""How many are under way, or answered and not taken yet: as many as a client has places for."""
_PATIENCE = 0.2
"""Seconds of silence, after which somebody who watches is told how far the work is."""

_T = TypeVar("_T")


class _Answered(NamedTuple, Generic[_T]):
    """An answer on its way to whoever asked."""

    host: str | None
    url: str
    answer: _T | MannersError


class Fetching(Generic[_T]):
    """Asks for many URLs.

    Each host has a line of its own, and is asked for no more pages at a time than it has slots, so
    that no host's waiting is another's, and none of a host's pages runs out of patience because of
    the others. Hosts take turns where there are more of them than can be asked at once. What is
    not taken yet counts as under way: whoever reads slowly slows everything down, and fills no
    memory.
    """

    def __init__(
        self, ask: Callable[[str], Coroutine[Any, Any, _T]], slots: Callable[[str], int]
    ) -> None:
        self.read = self.done = 0
        """How many URLs there were so far, and how many of them are answered."""
        self._ask, self._slots = ask, slots
        self._room = threading.Semaphore(_AHEAD)
        self._answers: queue.SimpleQueue[_Answered[_T] | BaseException | None] = queue.SimpleQueue()
        # Only the portal's thread sees these.
        self._lines: dict[str, deque[str]] = {}
        self._turns: OrderedDict[str, None] = OrderedDict()
        self._under_way: Counter[str] = Counter()
        self._tasks: set[asyncio.Task[None]] = set()
        self._places = _AT_ONCE

    @property
    def hosts(self) -> int:
        """How many hosts are being asked, or waited for."""
        return len(self._under_way)

    def answers(
        self, urls: Iterable[str], waiting: Callable[[], None]
    ) -> Generator[tuple[str, _T | MannersError], None, None]:
        """Each URL with its answer, or with why there is none; `waiting` is called meanwhile."""
        threading.Thread(target=self._feed, args=(urls,), daemon=True).start()
        is_read = False
        try:
            while not (is_read and self.done == self.read):
                try:
                    item = self._answers.get(timeout=_PATIENCE)
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
                if item.host is not None:
                    portal.call(self._leave, item.host)
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

    def _add(self, url: str) -> None:
        try:
            name = host(url)
        except InvalidURL as error:
            self._answers.put(_Answered(None, url, error))
            return
        self._lines.setdefault(name, deque()).append(url)
        self._line_up(name)
        self._start()

    def _line_up(self, name: str) -> None:
        """Give a host a turn, if there is something to ask it for and a slot to do so."""
        if name in self._lines and self._under_way[name] < self._slots(name):
            self._turns.setdefault(name)

    def _start(self) -> None:
        while self._turns and self._places > 0:
            name, _ = self._turns.popitem(last=False)
            line = self._lines[name]
            url = line.popleft()
            if not line:
                del self._lines[name]
            self._under_way[name] += 1
            self._places -= 1
            self._line_up(name)
            task = asyncio.create_task(self._answer(name, url))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _answer(self, name: str, url: str) -> None:
        try:
            self._answers.put(_Answered(name, url, await self._ask(url)))
        except MannersError as error:
            self._answers.put(_Answered(name, url, error))
        except Exception as error:  # a mistake of ours
            self._answers.put(error)

    def _leave(self, name: str) -> None:
        """An answer was taken, and makes room."""
        self._under_way[name] -= 1
        self._places += 1
        self._line_up(name)
        if not self._under_way[name] and name not in self._lines:
            del self._under_way[name]
        self._start()

    async def _stop(self) -> None:
        self._places = 0
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
