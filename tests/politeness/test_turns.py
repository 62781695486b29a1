"""Turns are handed over, and never lost to a cancellation."""

import asyncio
from collections import deque

import pytest

from manners.politeness.turns import Turn, give_turn, wait_for_turn


def test_the_first_who_still_waits_has_the_turn() -> None:
    """Whoever was cancelled meanwhile is passed over."""

    async def main() -> None:
        waiting: deque[Turn] = deque()
        tasks = [asyncio.create_task(wait_for_turn(waiting.append, lambda: None)) for _ in range(3)]
        await asyncio.sleep(0)
        tasks[0].cancel()
        await asyncio.sleep(0)
        assert give_turn(waiting)
        await tasks[1]
        assert not tasks[2].done()
        assert give_turn(waiting)
        await tasks[2]
        assert not give_turn(waiting)

    asyncio.run(main())


def test_a_turn_that_comes_with_a_cancellation_is_handed_on() -> None:
    """It is given and cancelled in the same moment: the next one has it."""

    async def main() -> None:
        waiting: deque[Turn] = deque()
        first, second = (
            asyncio.create_task(wait_for_turn(waiting.append, lambda: assert_given(waiting)))
            for _ in range(2)
        )
        await asyncio.sleep(0)
        assert give_turn(waiting)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await second

    asyncio.run(main())


def assert_given(waiting: deque[Turn]) -> None:
    assert give_turn(waiting)
