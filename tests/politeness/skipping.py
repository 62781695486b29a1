"""An event loop that skips the time nobody works in: hours pass at once, and in order."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from typing import Any

START = 1_000_000.0
TICK = 2.0**-20
"""Seconds, about a microsecond, that each round of the loop takes."""


class StandsStill(AssertionError):
    """Everybody waits for something, and nothing will ever happen."""


class _Selector(selectors.SelectSelector):
    def __init__(self) -> None:
        super().__init__()
        self.now = START

    def select(self, timeout: float | None = None) -> Any:
        ready = super().select(0)
        if not ready and timeout is None:
            raise StandsStill
        self.now += TICK if ready or not timeout else timeout
        return ready


class SkippingLoop(asyncio.SelectorEventLoop):
    """A loop whose time goes on when everybody sleeps, right to when the first one wakes up."""

    def __init__(self) -> None:
        self._times = _Selector()
        super().__init__(self._times)

    def time(self) -> float:
        return self._times.now


def now() -> float:
    """What time it is in the loop, to the millisecond: seconds since it began."""
    return round(asyncio.get_running_loop().time() - START, 3)


def run(test: Callable[[], Coroutine[Any, Any, None]]) -> None:
    """Run a test in a loop that skips."""
    with asyncio.Runner(loop_factory=SkippingLoop) as runner:
        runner.run(test())
