"""An event loop that skips waiting: hours pass at once, and in order."""

import asyncio
import selectors
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import Executor
from contextlib import contextmanager
from typing import Any, TypeVar, TypeVarTuple

from manners import _threads
from manners._portal import portal
from manners.testing.clock import Clock

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")
_RESOLUTION = 2.0**-20
"""Seconds, about a microsecond: timers that are closer to each other are due together."""
_POLL = 0.01
"""Real seconds between two looks at whether a thread still works."""
_PATIENCE = 1.0
"""Real seconds after which a loop that nothing can wake is a deadlock."""


class Deadlock(AssertionError):
    """Every task waits, and no timer is set: nothing will ever happen."""


class SkippingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps to the next timer when every task waits.

    The loop's time is the time of its clock. It does not skip the work of threads: while one works
    for the loop, the clock stands still. Nor does it skip real sockets: use `ScriptedSender`.
    """

    def __init__(self, clock: Clock | None = None, *, detects_deadlocks: bool = True) -> None:
        self.clock = clock or Clock()
        self._jobs = self._callers = 0
        self._detects_deadlocks = detects_deadlocks
        super().__init__(_Selector(self))
        self._clock_resolution = _RESOLUTION

    def time(self) -> float:
        """The time of the clock."""
        return self.clock.now

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*_Ts], _T], *args: *_Ts
    ) -> "asyncio.Future[_T]":
        """As in any loop; the clock stands still until the thread is done."""
        future = super().run_in_executor(executor, func, *args)
        self._jobs += 1
        future.add_done_callback(self._end_job)
        return future

    async def shutdown_default_executor(self, timeout: float | None = None) -> None:  # noqa: ARG002
        """As in any loop; threads have all the time that they need, and the clock stands still."""
        self._jobs += 1
        try:
            await super().shutdown_default_executor()
        finally:
            self._jobs -= 1

    def create_task(self, coro: Any, **options: Any) -> "asyncio.Task[Any]":
        """As in any loop; a task that is started from outside is waited for."""
        is_call = asyncio._get_running_loop() is not self or asyncio.current_task(self) is None
        task: asyncio.Task[Any] = super().create_task(coro, **options)
        if is_call:
            self._callers += 1
            task.add_done_callback(self._end_call)
        return task

    def wait(self, select: Callable[[float | None], Any], timeout: float | None) -> Any:
        """What is ready, at once if anything is; else the clock jumps to the next timer."""
        ready = select(0)
        if ready or timeout == 0:
            return ready
        if self._jobs or _threads.busy(self):
            ready = select(_POLL)
        elif not self._callers:  # a blocking program works between two calls
            ready = select(None)
        elif timeout is not None:
            self.clock.advance(timeout)
        else:
            ready = select(_PATIENCE if self._detects_deadlocks else None)
            if not ready:
                raise Deadlock("every task waits, and no timer is set")
        return ready

    def _end_job(self, _: object) -> None:
        self._jobs -= 1

    def _end_call(self, _: object) -> None:
        self._callers -= 1


class _Selector(selectors.SelectSelector):
    def __init__(self, loop: SkippingLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> Any:
        return self._loop.wait(super().select, timeout)


def run(coroutine: Coroutine[Any, Any, _T], clock: Clock | None = None) -> _T:
    """Run a coroutine in a loop that skips waiting, and return its result.

    Give the clock to the client, too: both have to agree on the time.

    >>> import asyncio
    >>> clock = Clock()
    >>> run(asyncio.sleep(3600, "done"), clock)
    'done'
    >>> round(clock() - clock.start)
    3600
    """
    with asyncio.Runner(loop_factory=lambda: SkippingLoop(clock)) as runner:
        return runner.run(coroutine)


@contextmanager
def skip_waiting(clock: Clock) -> Iterator[None]:
    """Let blocking code skip waiting: what `Client` and `RobotsCache` do in this block.

    Make them, and close them, inside the block.
    """
    loop = SkippingLoop(clock, detects_deadlocks=False)
    thread = threading.Thread(target=loop.run_forever, name="manners-testing", daemon=True)
    thread.start()
    try:
        with portal.replaced_by(loop):
            yield
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
