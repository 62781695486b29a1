"""Whoever stops waiting, and whoever is turned away, leaves nothing behind."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from manners import AsyncClient, Page
from manners.errors import ClientClosed, MannersError
from manners.politeness.backends import Lease
from manners.politeness.backends.memory import MemoryBackend
from tests.client.asking import asking, in_turn, page_or_error, rules, run, silence, site, until
from tests.faults.server import Call, Handler, Site, page

Task = asyncio.Task[Page]


@asynccontextmanager
async def meeting(
    robots: Handler | None = None, **changes: Any
) -> AsyncIterator[tuple[AsyncClient, Site]]:
    """A client and a server; /slow never answers, everything else does, one at a time."""
    answer = site(robots or rules(), slow=silence)
    async with Site(answer, ports=2) as server:
        async with asking(**{"concurrency": 1, "slot_timeout": 20.0, **changes}) as client:
            yield client, server
        assert server.failures == []
        assert await server.emptied()


def visited(server: Site, path: str) -> int:
    return sum(visit.path == path for visit in server.log)


def start(client: AsyncClient, url: str) -> Task:
    return asyncio.create_task(client.get(url))


# Cancelling.


async def in_the_request(client: AsyncClient, server: Site) -> list[Task]:
    task = start(client, server.url(path="/slow"))
    await until(lambda: visited(server, "/slow"))
    return [task]


async def in_line(client: AsyncClient, server: Site) -> list[Task]:
    """The first waits for the slot, the others behind it."""
    (running,) = await in_the_request(client, server)
    waiting = [start(client, server.url(path=f"/{number}")) for number in range(5)]
    await asyncio.sleep(0.05)
    return [*waiting, running]


async def in_robots_txt(client: AsyncClient, server: Site) -> list[Task]:
    """The robots.txt of the second port is being retrieved, for several."""
    tasks = [start(client, server.url(path=f"/{number}", port=1)) for number in range(3)]
    await until(lambda: visited(server, "/robots.txt"))
    return tasks


async def in_line_for_robots_txt(client: AsyncClient, server: Site) -> list[Task]:
    """It waits for a slot, as pages do."""
    (running,) = await in_the_request(client, server)
    tasks = [start(client, server.url(path=f"/{number}", port=1)) for number in range(3)]
    await asyncio.sleep(0.05)
    return [*tasks, running]


SITUATIONS = [in_the_request, in_line, in_robots_txt, in_line_for_robots_txt]
Situation = Callable[[AsyncClient, Site], Awaitable[list[Task]]]


def robots_for(situation: Situation) -> Handler:
    """A robots.txt that never comes, the first time, where that is what is waited for."""
    return in_turn(silence, rules()) if situation is in_robots_txt else rules()


@pytest.mark.parametrize("situation", SITUATIONS)
@pytest.mark.parametrize("order", [1, -1])
def test_cancelling_leaves_no_slot_taken(situation: Situation, order: int) -> None:
    """Wherever they are on their way, and whoever is first: the next request works at once."""

    async def main() -> None:
        async with meeting(robots_for(situation), read_timeout=0.5) as (client, server):
            tasks = await situation(client, server)
            for task in tasks[::order]:
                task.cancel()
                await asyncio.sleep(0)
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(each, asyncio.CancelledError) for each in found)
            for _ in range(3):
                page = await client.get(server.url(path="/next"))
                assert page.ok
            assert visited(server, "/0") == 0

    run(main)


def test_cancelling_while_waiting_for_the_time() -> None:
    """The others take their turns, as far apart as ever."""

    async def main() -> None:
        async with meeting(min_delay=0.2, max_delay=0.2) as (client, server):
            await client.get(server.url(path="/first"))
            tasks = [start(client, server.url(path=f"/{number}")) for number in range(5)]
            await asyncio.sleep(0.05)
            for number in (0, 2, 3):
                tasks[number].cancel()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert [isinstance(each, Page) for each in found] == [False, True, False, False, True]
            asked = [visit.path for visit in server.log]
            assert asked == ["/robots.txt", "/first", "/1", "/4"]

    run(main)


def test_cancelling_one_who_waits_for_robots_txt_does_not_harm_the_others() -> None:
    """It is retrieved for all of them."""

    async def main() -> None:
        gate = asyncio.Event()

        async def robots(call: Call) -> None:
            await call.request()
            await gate.wait()
            await rules()(call)

        async with meeting(robots) as (client, server):
            tasks = [start(client, server.url(path=f"/{number}")) for number in range(3)]
            await until(lambda: visited(server, "/robots.txt"))
            tasks[0].cancel()
            await asyncio.sleep(0.02)
            gate.set()
            found = await asyncio.gather(*tasks, return_exceptions=True)
            assert [isinstance(each, Page) for each in found] == [False, True, True]
            assert visited(server, "/robots.txt") == 1

    run(main)


def test_requests_that_are_cancelled_at_any_moment_leave_nothing() -> None:
    """After a hundred of them, at a hundred moments, both slots are there."""

    async def main() -> None:
        async with meeting(concurrency=2, min_delay=0.002, max_delay=0.002) as (client, server):
            for number in range(100):
                tasks = [start(client, server.url(path=f"/{n}")) for n in range(4)]
                await asyncio.sleep(number * 0.0002)
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)
            running = [start(client, server.url(path="/slow")) for _ in range(2)]
            await until(lambda: visited(server, "/slow") == 2)
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)

    run(main)


# Closing.


@pytest.mark.parametrize("situation", SITUATIONS)
def test_closing_turns_everybody_away(situation: Situation) -> None:
    """Those who wait are told so; a request under way ends, as a page or as an error of ours."""

    async def main() -> None:
        async with meeting(robots_for(situation)) as (client, server):
            tasks = await situation(client, server)
            await client.close()
            async with asyncio.timeout(10):
                found = await asyncio.gather(*tasks, return_exceptions=True)
            for each in found:
                assert isinstance(each, Page | MannersError), repr(each)
                assert not (isinstance(each, Page) and each.ok)
            if situation is not in_the_request:
                waiting = found if situation is in_robots_txt else found[:-1]
                assert {type(each) for each in waiting} == {ClientClosed}
            assert await server.emptied()
            assert not visited(server, "/0")

    run(main)


@pytest.mark.parametrize("delay", [0.0, 30.0])
def test_a_closed_client_turns_away_whoever_comes(delay: float) -> None:
    """At once, even where there would be something to wait for."""

    async def main() -> None:
        async with meeting(hosts={"127.0.0.1": {"delay": delay}}) as (client, server):
            first = start(client, server.url())
            await until(lambda: visited(server, "/robots.txt"))
            if delay == 0.0:
                await first
            await client.close()
            await page_or_error(first)
            async with asyncio.timeout(10):
                for verb in ("get", "head"):
                    with pytest.raises(ClientClosed):
                        await getattr(client, verb)(server.url(path="/late"))
                with pytest.raises(ClientClosed):
                    async with client.stream(server.url(path="/late")):
                        pass
                with pytest.raises(ClientClosed):
                    await client.get(server.url("127.0.0.5", "/late"))
            assert not visited(server, "/late")

    run(main)


def test_a_question_that_waits_is_turned_away_too() -> None:
    """Whoever only wants to know is told that the client is closed, not that it was cancelled."""

    async def main() -> None:
        async with meeting(silence) as (client, server):
            question = asyncio.create_task(client.check(server.url()))
            await until(lambda: visited(server, "/robots.txt"))
            await client.close()
            with pytest.raises(ClientClosed):
                await question

    run(main)


def test_closing_twice_is_fine() -> None:
    """And so is closing what was never used."""

    async def main() -> None:
        client = asking()
        await client.close()
        await client.close()
        async with meeting() as (client, server):
            assert (await client.get(server.url())).ok
            await client.close()
            await asyncio.gather(client.close(), client.close())

    run(main)


def test_closing_ends_a_stream() -> None:
    """Its reader is not left waiting."""

    async def begin(call: Call) -> None:
        await call.request()
        await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhi")
        await call.pause()

    async def main() -> None:
        async with Site(site(page=begin)) as server:
            client = asking()

            async def reading() -> None:
                async with client.stream(server.url(path="/page")) as stream:
                    async for _ in stream.chunks():
                        pass

            task = asyncio.create_task(reading())
            await until(lambda: visited(server, "/page"))
            await asyncio.sleep(0.05)
            await client.close()
            async with asyncio.timeout(10):
                with pytest.raises(MannersError):
                    await task
            assert await server.emptied()

    run(main)


class Remote(MemoryBackend):
    """Slots that are somewhere else: everything takes a moment."""

    async def reserve(
        self, host: str, delay: float, now: float | None = None, within: float | None = None
    ) -> float:
        await asyncio.sleep(0.01)
        return await super().reserve(host, delay, now, within)

    async def take(
        self, host: str, now: float | None = None, delay: float | None = None
    ) -> Lease | float:
        await asyncio.sleep(0.01)
        taken = await super().take(host, now, delay)
        await asyncio.sleep(0.01)
        return taken

    async def release(self, lease: Lease) -> None:
        await asyncio.sleep(0.01)
        await super().release(lease)


@pytest.mark.parametrize("moment", [0.0, 0.005, 0.015, 0.025, 0.035, 0.05])
def test_closing_while_a_slot_is_being_taken_opens_nothing(moment: float) -> None:
    """Nothing is asked for, and nothing opened, after the client was closed."""

    async def main() -> None:
        async with Site(site(page=page(b"hi"))) as server:
            client = asking(politeness=Remote())
            assert (await client.get(server.url())).ok
            tasks = [start(client, server.url(path="/late")) for _ in range(3)]
            await asyncio.sleep(moment)
            await client.close()
            seen = len(server.log)
            async with asyncio.timeout(10):
                await asyncio.gather(*map(page_or_error, tasks))
            assert len(server.log) <= seen + 1
            assert await server.emptied()

    run(main)
