"""The writer: one thread that owns the connection, and commits what is waiting in one go.

Whoever has something to write waits until it is durable. While one commit is on its way to the
disk, others queue up, and all of them go with the next: a thousand waiters cost one commit, not a
thousand.
"""

import asyncio
import math
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from manners import _forks
from manners.errors import StoreError, StoreTimeout

_Item = TypeVar("_Item")

MOST = 2_000
"""Items in one transaction."""
_FAREWELL = 5.0
"""Seconds beyond all timeouts in which a batch ends."""


class Writer(Generic[_Item]):
    """Writes items in the order they come, many in one transaction.

    `write` is called in the writer's thread with all that is waiting, and returns an answer for
    each when they are durable; when it fails, everybody whose items it had gets the error. When
    that is a `StoreTimeout`, so does everybody else who waits: nobody waits for one timeout after
    another.
    """

    def __init__(
        self, write: Callable[[Sequence[_Item]], Sequence[Any]], place: str, timeout: float
    ) -> None:
        self._write, self._place, self._timeout = write, place, timeout
        self._batches = 0
        self._queue: queue.SimpleQueue[list[_Waiting[_Item]] | None] = queue.SimpleQueue()
        self._gathered: dict[asyncio.AbstractEventLoop, list[_Waiting[_Item]]] = {}
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._fork = _forks.generation
        self._is_closed = False

    async def add(self, item: _Item) -> Any:
        """Write an item; returns its answer when it is durable."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Any] = loop.create_future()
        # What is added in one round of the event loop goes to the thread together: handing over
        # is what costs, not writing. Each loop has its own round: one that ends in the middle of it
        # takes nobody else's items along.
        gathered = self._gathered.get(loop)
        if gathered is None:
            gathered = self._gathered[loop] = []
            loop.call_soon(self._hand_over, loop)
        gathered.append((item, future))
        return await future

    def add_blocking(self, item: _Item) -> Any:
        """The same for a thread without an event loop."""
        future: Future[Any] = Future()
        self._put([(item, future)])
        return future.result()

    def _hand_over(self, loop: asyncio.AbstractEventLoop) -> None:
        gathered = self._gathered.pop(loop, None)
        if gathered is None:  # `close` was faster
            return
        try:
            self._put(gathered)
        except Exception as error:  # closed, or no thread can be started: nobody waits for ever
            _tell(gathered, None, error)

    def close(self) -> None:
        """Write what is waiting, and stop; `StoreTimeout` when nothing goes on for too long."""
        with suppress(RuntimeError):  # no loop runs here
            self._hand_over(asyncio.get_running_loop())
        with self._lock:
            self._is_closed = True
            thread = self._thread if self._fork == _forks.generation else None
            if thread is not None:
                self._queue.put(None)
        if thread is None:
            return
        while thread.is_alive():
            before = self._batches
            # A batch waits for the server no longer than the timeout; what else may hang is a disk.
            thread.join(2 * self._timeout + _FAREWELL)
            if thread.is_alive() and self._batches == before:
                raise StoreTimeout(
                    self._place, "closed while writing to it hangs; see that its disk works"
                )

    def _put(self, waiting: "list[_Waiting[_Item]]") -> None:
        # With the lock, so that nothing is put behind the end of the queue.
        with self._lock:
            if self._is_closed:
                raise StoreError(self._place, "the store is closed")
            if self._fork != _forks.generation:  # the thread, and what waits, are the parent's
                self._fork, self._queue, self._thread = _forks.generation, queue.SimpleQueue(), None
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(
                    target=self._run, name="manners-writer", daemon=True
                )
                self._thread.start()
            self._queue.put(waiting)

    def _run(self) -> None:
        is_open = True
        while is_open:
            waiting = self._queue.get()
            if waiting is None:
                return
            is_open = self._take_all(waiting, MOST)
            try:
                answers = self._write([item for item, _ in waiting])
            except BaseException as error:
                if isinstance(error, StoreTimeout):
                    is_open = is_open and self._take_all(waiting)
                _tell(waiting, None, error)
            else:
                _tell(waiting, answers, None)
            self._batches += 1

    def _take_all(self, waiting: "list[_Waiting[_Item]]", most: float = math.inf) -> bool:
        """Add what is in the queue; False when its end is."""
        while len(waiting) < most:
            try:
                more = self._queue.get_nowait()
            except queue.Empty:
                return True
            if more is None:
                return False
            waiting += more
        return True


_Waiting = tuple[_Item, "asyncio.Future[Any] | Future[Any]"]


def _tell(
    waiting: Sequence[_Waiting[_Item]],
    answers: Sequence[Any] | None,
    error: BaseException | None,
) -> None:
    """Wake everybody who waits; each event loop once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for place, (_, future) in enumerate(waiting):
        answer = answers[place] if answers is not None else None
        if isinstance(future, Future):
            future.set_exception(error) if error else future.set_result(answer)
        else:
            by_loop.setdefault(future.get_loop(), []).append((future, answer))
    for loop, told in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, told, error)
        except RuntimeError:  # the loop is closed, and nobody waits
            continue


def _resolve(told: list[tuple["asyncio.Future[Any]", Any]], error: BaseException | None) -> None:
    for future, answer in told:
        if not future.done():
            future.set_exception(error) if error else future.set_result(answer)
