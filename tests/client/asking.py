"""A client on loopback, in no hurry and without delays, and what it leaves behind."""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from manners import AsyncClient, Client, Page
from manners.errors import MannersError
from manners.settings import Settings
from tests.faults.server import Call, Handler, by_path, page

T = TypeVar("T")

STANDSTILL = 60.0
"""Seconds after which a test has come to a standstill; none takes nearly as long."""
AT_ONCE: dict[str, Any] = {
    "allow_private": True,
    "min_delay": 0.0,
    "max_delay": 0.0,
    "adaptive_factor": 0.0,
}
"""Settings for loopback addresses, without any delay that a site does not ask for."""


def asking(agent: str = "MyBot", **changes: Any) -> AsyncClient:
    """A client that may go to loopback addresses, at once."""
    return AsyncClient(agent, **{**AT_ONCE, **changes})


def blocking(agent: str = "MyBot", **changes: Any) -> Client:
    """The same for blocking code."""
    return Client(agent, **{**AT_ONCE, **changes})


def settings(**changes: Any) -> Settings:
    return Settings(**{**AT_ONCE, **changes})


def run(work: Callable[[], Coroutine[Any, Any, T]], seconds: float = STANDSTILL) -> T:
    """Run some work; nothing hangs, no task is left behind, no exception goes unseen."""
    complaints: list[str] = []

    async def watched() -> T:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(f"loop: {context}"))
        async with asyncio.timeout(seconds):
            result = await work()
        for _ in range(5):  # what is closed is gone a few turns later
            await asyncio.sleep(0)
        left = asyncio.all_tasks() - {asyncio.current_task()}
        complaints.extend(f"left behind: {task}" for task in left)
        gc.collect()  # what was not closed is reported now
        return result

    result = asyncio.run(watched())
    assert not complaints, "\n".join(complaints)
    return result


async def until(holds: Callable[[], object], seconds: float = 20.0) -> None:
    """Wait until something holds."""
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.005)


async def keep_busy(
    tasks: int,
    enough: Coroutine[Any, Any, object],
    fetch: Callable[[int], Coroutine[Any, Any, object]],
    least: int = 1,
) -> None:
    """Let so many tasks fetch one page after the other, until it is enough.

    However slow the machine is, each of them has fetched at least so many by then.
    """
    done = [0] * tasks

    async def one(number: int) -> None:
        while True:
            await fetch(number)
            done[number] += 1

    running = [asyncio.create_task(one(number)) for number in range(tasks)]
    ending = asyncio.create_task(enough)
    await asyncio.wait([ending, *running], return_when=asyncio.FIRST_COMPLETED)
    while min(done) < least and not any(task.done() for task in running):
        await asyncio.sleep(0.05)
    for task in running:
        task.cancel()
    results = await asyncio.gather(*running, return_exceptions=True)
    ending.cancel()
    failed = [each for each in results if not isinstance(each, asyncio.CancelledError)]
    assert failed == []


# Handlers.


def rules(*lines: str) -> Handler:
    """A robots.txt, for everybody."""
    return page("\n".join(("User-agent: *", *lines)).encode())


OPEN = rules("Allow: /")


def to(location: str, status: int = 302) -> Handler:
    """A redirect."""
    return page(status=status, headers=[("Location", location)])


def site(robots: Handler = OPEN, **pages: Handler) -> Handler:
    """A robots.txt, and pages by their first segment; everything else says hi."""
    known = {f"/{name}": handler for name, handler in pages.items()}
    return by_path({"/robots.txt": robots, **known}, page(b"hi"))


async def silence(call: Call) -> None:
    """No answer, until the client leaves."""
    await call.request()
    await call.pause()


def slow(seconds: float, body: bytes = b"slow") -> Handler:
    """An answer that takes its time."""

    async def answer(call: Call) -> None:
        await call.request()
        await call.pause(seconds)
        await call.reply(200, body)

    return answer


def in_turn(*handlers: Handler) -> Handler:
    """One handler after the other; the last one for all that follow."""
    left = list(handlers)

    async def answer(call: Call) -> None:
        await call.request()
        await (left.pop(0) if len(left) > 1 else left[0])(call)

    return answer


def statuses(found: Page) -> list[int | None]:
    return [hop.status for hop in found.hops]


async def page_or_error(task: "asyncio.Task[Page]") -> Page | MannersError:
    """What came of a request; anything but a page or an error of ours is raised."""
    try:
        return await task
    except MannersError as error:
        return error
