"""Cancellations, injected at every await: what is cancelled ends, and leaves nothing behind.

    @asynccontextmanager
    async def scenario():
        store = ...
        yield store.append(draft)      # the work, which is cancelled
        assert ...                     # what holds afterwards

    assert await at_every_await(scenario) > 0

Nobody waits for luck: the work is run again and again, and cancelled one await later each time,
until it ends before that. Each await is met twice: before what it waits for is there, and when it
is there and the work has not gone on yet. That is when `asyncio.wait_for` of Python 3.11 returns a
result although it was cancelled (python/cpython#86296).
"""

import asyncio
import types
from collections.abc import Callable, Coroutine, Generator
from contextlib import AbstractAsyncContextManager
from typing import Any

Work = Coroutine[Any, Any, Any]
Scenario = Callable[[], AbstractAsyncContextManager[Work]]

_MOST = 500
"""Awaits after which something goes round in circles."""
_STANDSTILL = 60.0
"""Seconds after which something hangs; nothing takes nearly as long."""


async def at_every_await(scenario: Scenario) -> int:
    """Cancel the work of a scenario at each of its awaits; returns how many there are."""
    for number in range(_MOST):
        is_met = False
        for is_late in (False, True):
            before = asyncio.all_tasks()
            async with asyncio.timeout(_STANDSTILL), scenario() as work:
                is_met |= await _cancelled(work, number, is_late)
            for _ in range(5):  # what is closed is gone a few turns later
                await asyncio.sleep(0)
            left = asyncio.all_tasks() - before
            assert not left, f"await {number}, late: {is_late}: left behind: {left}"
        if not is_met:
            return number
    raise AssertionError("there is no end to its awaits")


async def _cancelled(work: Work, number: int, is_late: bool) -> bool:
    """Cancel some work at an await; False when it has ended before."""
    driver = _Driver(work, number, is_late)
    task = asyncio.create_task(driver.run())
    await asyncio.wait([task])
    if not driver.is_met:
        task.result()
        return False
    assert task.cancelled(), f"await {number}, late: {is_late}: the cancellation was lost: {task}"
    return True


class _Driver:
    """Runs some work as a task would, and cancels the task at one await."""

    def __init__(self, work: Work, number: int, is_late: bool) -> None:
        self._work, self._number, self._is_late = work, number, is_late
        self.is_met = False

    async def run(self) -> Any:
        return await self._steps()

    @types.coroutine
    def _steps(self) -> Generator[Any, Any, Any]:
        count, value = 0, None
        problem: BaseException | None = None
        while True:
            try:
                work = self._work
                awaited = work.send(value) if problem is None else work.throw(problem)
            except StopIteration as end:
                return end.value
            if count == self._number:
                self._cancel_at(awaited)
            count, value, problem = count + 1, None, None
            try:
                value = yield awaited
            except BaseException as error:
                problem = error

    def _cancel_at(self, awaited: "asyncio.Future[Any] | None") -> None:
        task, self.is_met = asyncio.current_task(), True
        assert task is not None
        if awaited is None or not self._is_late:
            asyncio.get_running_loop().call_soon(task.cancel)
        else:  # called before what wakes the task, when the result is there
            awaited.add_done_callback(lambda _: task.cancel())
