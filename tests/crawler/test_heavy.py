"""Large pages are read one at a time, and hosts take turns."""

import asyncio

from manners.crawler.heavy import MAX_BYTES, MAX_LINKS, MAX_TAGS, Turns, is_heavy
from tests.client.asking import run


def test_what_is_a_large_page() -> None:
    """One with many links, many tags, or many bytes."""
    assert not is_heavy(b"")
    assert not is_heavy(b"<a href=/>" * MAX_LINKS)
    assert is_heavy(b"<a href=/>" * MAX_LINKS + b"<A HREF=/>")
    assert not is_heavy(b"<b>" * MAX_TAGS)
    assert is_heavy(b"<b>" * (MAX_TAGS + 1))
    assert not is_heavy(b"b" * MAX_BYTES)
    assert is_heavy(b"b" * (MAX_BYTES + 1))


async def served(*waiting: tuple[str, float]) -> list[str]:
    """The order in which hosts have their turns that wait for them all at once."""
    turns, order, is_free = Turns(), list[str](), asyncio.Event()

    async def hold() -> None:
        async with turns.turn("first", 1):
            await is_free.wait()

    async def work(host: str, cost: float) -> None:
        async with turns.turn(host, cost):
            order.append(host)
            await asyncio.sleep(0)

    tasks = [asyncio.create_task(hold())]
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(work(*each)) for each in waiting]
    await asyncio.sleep(0)
    assert turns.waiting == 1 + len(waiting)
    is_free.set()
    await asyncio.gather(*tasks)
    assert turns.waiting == 0
    return order


def test_a_host_waits_behind_its_own_pages() -> None:
    """Another, that comes later, waits behind one of them and not behind all."""

    async def main() -> None:
        assert await served(("a", 10), ("a", 10), ("a", 10), ("b", 10)) == ["a", "b", "a", "a"]

    run(main)


def test_a_host_whose_pages_cost_less_has_more_turns() -> None:
    """What counts is how much it costs, not how many they are."""

    async def main() -> None:
        order = await served(("huge", 30), ("huge", 30), *[("large", 10)] * 4)
        assert order == ["large", "large", "huge", "large", "large", "huge"]

    run(main)


def test_one_at_a_time() -> None:
    """Whoever is cancelled, waiting or not, does not stand in the way of the others."""

    async def main() -> None:
        turns, inside, most = Turns(), 0, 0

        async def work(number: int) -> None:
            nonlocal inside, most
            async with turns.turn(f"host {number % 3}", 1):
                inside += 1
                most = max(most, inside)
                try:
                    await asyncio.sleep(0)
                finally:
                    inside -= 1

        tasks = [asyncio.create_task(work(number)) for number in range(30)]
        await asyncio.sleep(0)
        for task in tasks[::4]:
            task.cancel()
        await asyncio.sleep(0)
        for task in tasks[1::7]:
            task.cancel()
        found = await asyncio.gather(*tasks, return_exceptions=True)
        assert {type(each) for each in found} == {type(None), asyncio.CancelledError}
        assert (most, inside, turns.waiting) == (1, 0, 0)

    run(main)
