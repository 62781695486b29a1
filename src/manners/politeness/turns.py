"""Waiting in a queue for a turn, so that a cancellation never loses the turn."""

import asyncio
from collections import deque
from collections.abc import Callable

Turn = asyncio.Future[None]


async def wait_for_turn(enqueue: Callable[[Turn], object], hand_on: Callable[[], None]) -> None:
    """Wait until the turn that is enqueued here is given.

    A caller that is cancelled just when its turn comes cannot use it: `hand_on` gives it to the
    next one.
    """
    turn = asyncio.get_running_loop().create_future()
    enqueue(turn)
    try:
        await turn
    except asyncio.CancelledError:
        if not turn.cancelled():
            hand_on()
        raise


def give_turn(waiting: deque[Turn]) -> bool:
    """Give the turn to the first that still waits; False when there is none."""
    while waiting:
        turn = waiting.popleft()
        if not turn.done():
            turn.set_result(None)
            return True
    return False
