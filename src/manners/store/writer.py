"""The writer: one thread that writes all waiting items in one transaction.

Whoever adds an item waits until it is durable. While one commit is on its way to the disk, more
items queue up, and all of them go with the next: a thousand callers cost one commit.
"""

import asyncio
import math
import queue
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, Generic, TypeVar

from manners import _forks, _threads
from manners.errors import StoreError, StoreTimeout

_Item = TypeVar("_Item")

MAX_BATCH = 2_000
"""Items in one transaction."""
_GRACE = 5.0
"""Seconds that a batch may take beyond all timeouts, when the writer is closed."""


class Writer(Generic[_Item]):
    """Writes items in the order they come, many in one transaction.

    `write` is called in the writer's thread with all waiting items, and returns an answer for each
    when they are durable. When it fails, the caller of each of these items gets the error. When it
    fails with a `StoreTimeout`, so do the callers that queued up meanwhile: nobody waits for one
    timeout after another.
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
        # Items added in one round of the event loop go to the thread together: handing over is
        # what costs, not writing. Each loop has its own list, so that a loop that is closed in
        # the middle of a round loses only its own items.
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
        if gathered is None:  # `close` handed it over
            return
        _threads.begin(loop, len(gathered))
        try:
            self._put(gathered)
        except Exception as error:  # closed, or no thread can be started
            _resolve_all(gathered, None, error)

    def close(self) -> None:
        """Write what is waiting, and stop; `StoreTimeout` when that makes no progress."""
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
            # No batch waits for the server beyond the timeout; what else may hang is a disk.
            thread.join(2 * self._timeout + _GRACE)
            if thread.is_alive() and self._batches == before:
                raise StoreTimeout(
                    self._place, "writing to it hangs, and it was closed; check that its disk works"
                )

    def _put(self, waiting: "list[_Waiting[_Item]]") -> None:
        # Under the lock, so that nothing is queued after the end mark.
        with self._lock:
            if self._is_closed:
                raise StoreError(self._place, "the store is closed")
            if self._fork != _forks.generation:  # thread and items are the parent's
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
            is_open = self._take_all(waiting, MAX_BATCH)
            try:
                answers = self._write([item for item, _ in waiting])
            except BaseException as error:
                if isinstance(error, StoreTimeout):
                    is_open = is_open and self._take_all(waiting)
                _resolve_all(waiting, None, error)
            else:
                _resolve_all(waiting, answers, None)
            self._batches += 1

    def _take_all(self, waiting: "list[_Waiting[_Item]]", limit: float = math.inf) -> bool:
        """Take items from the queue, up to a limit; False when the writer is to stop."""
        while len(waiting) < limit:
            try:
                more = self._queue.get_nowait()
            except queue.Empty:
                return True
            if more is None:
                return False
            waiting += more
        return True


_Waiting = tuple[_Item, "asyncio.Future[Any] | Future[Any]"]


def _resolve_all(
    waiting: Sequence[_Waiting[_Item]],
    answers: Sequence[Any] | None,
    error: BaseException | None,
) -> None:
    """Give all callers their answers; each event loop is woken once."""
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Any], Any]]] = {}
    for position, (_, future) in enumerate(waiting):
        answer = answers[position] if answers is not None else None
        if isinstance(future, Future):
            future.set_exception(error) if error else future.set_result(answer)
        else:
            by_loop.setdefault(future.get_loop(), []).append((future, answer))
    for loop, results in by_loop.items():
        try:
            loop.call_soon_threadsafe(_resolve, loop, results, error)
        except RuntimeError:  # the loop is closed: nobody waits
            continue


def _resolve(
    loop: asyncio.AbstractEventLoop,
    results: list[tuple["asyncio.Future[Any]", Any]],
    error: BaseException | None,
) -> None:
    _threads.end(loop, len(results))
    for future, answer in results:
        if not future.done():
            future.set_exception(error) if error else future.set_result(answer)
