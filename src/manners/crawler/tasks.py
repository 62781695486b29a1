"""Tasks of an event loop that are cancelled together, and one timer."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any


class TaskSet:
    """Tasks that run beside each other, and a timer that is set anew again and again."""

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        return len(self._tasks)

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Start a task."""
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def call_later(self, seconds: float | None, function: Callable[[], None]) -> None:
        """Set the timer, instead of the one before; None sets none."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None:
            self._timer = asyncio.get_running_loop().call_later(seconds, function)

    async def cancel(self) -> None:
        """Cancel the timer and all tasks, and wait until they have ended."""
        self.call_later(None, lambda: None)
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


def soonest(*times: float | None) -> float | None:
    """The first of some times; None are those that never come."""
    return min((at for at in times if at is not None), default=None)
