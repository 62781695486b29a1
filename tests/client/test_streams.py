"""Pages piece by piece: the slot is held until the end, whatever the end is."""

import asyncio
import gzip
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from manners import AsyncClient
from manners.client.streams import PageStream
from manners.errors import MannersError, SlotLost, SlotTimeout
from manners.politeness.backends import Lease
from manners.politeness.backends.memory import MemoryBackend
from tests.client.asking import asking, rules, run, silence, site, statuses, to, until
from tests.faults.server import Call, Handler, Site, page

HEAD = b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n"


async def trickle(call: Call) -> None:
    """A long body, a little at a time, until the client leaves."""
    await call.request()
    await call.send(HEAD)
    while True:
        await call.send(b"x" * 10)
        await call.pause(0.02)


async def begin(call: Call) -> None:
    """The beginning of a body, and then nothing."""
    await call.request()
    await call.send(HEAD, b"x" * 10)
    await call.pause()


def exchange(
    handler: Handler,
    ask: Callable[[AsyncClient, Site, str], Awaitable[Any]],
    **changes: Any,
) -> Site:
    """Let a client ask a server for /page; what the server has seen."""

    async def main() -> Site:
        answer = site(rules("Disallow: /closed"), page=handler)
        async with Site(answer) as server:
            async with asking(**{"concurrency": 1, "slot_timeout": 0.3, **changes}) as client:
                await ask(client, server, server.url(path="/page"))
                assert await is_free(client, server), "a slot stayed taken"
            assert server.failures == []
            assert await server.emptied()
        return server

    return run(main)


async def is_free(client: AsyncClient, server: Site) -> bool:
    """Whether the only slot of the host is free."""
    try:
        return (await client.get(server.url(path="/other"))).ok
    except SlotTimeout:
        return False


async def read(stream: PageStream) -> bytes:
    return b"".join([chunk async for chunk in stream.chunks()])


def test_a_stream_brings_the_body_in_pieces() -> None:
    """What is known before the body is there at once."""
    body = bytes(range(256)) * 1000

    async def ask(client: AsyncClient, _: Site, url: str) -> None:
        async with client.stream(url, {"X-Own": "1"}) as stream:
            assert stream.page.ok
            assert stream.page.headers["x-a"] == "1"
            assert stream.page.body == b""
            pieces = [chunk async for chunk in stream.chunks()]
            assert b"".join(pieces) == body
            assert len(pieces) > 1
            assert stream.complete

    server = exchange(page(body, headers=[("X-A", "1")]), ask)
    assert server.log[1].headers["x-own"] == "1"


def test_a_stream_is_decompressed_and_bounded() -> None:
    """A bomb ends at the limit, and the stream says so."""

    async def ask(client: AsyncClient, _: Site, url: str) -> None:
        async with client.stream(url) as stream:
            assert await read(stream) == bytes(100_000)
            assert not stream.complete

    bomb = page(gzip.compress(bytes(20_000_000)), headers=[("Content-Encoding", "gzip")])
    exchange(bomb, ask, page_max_bytes=100_000)


@pytest.mark.parametrize(("limit", "complete"), [(999, False), (1000, True)])
def test_a_stream_ends_at_the_limit(limit: int, complete: bool) -> None:
    """No byte more is handed out."""

    async def ask(client: AsyncClient, _: Site, url: str) -> None:
        async with client.stream(url) as stream:
            assert await read(stream) == b"x" * limit
            assert stream.complete is complete

    exchange(page(b"x" * 1000), ask, page_max_bytes=limit)


def test_a_stream_follows_redirects() -> None:
    """Hop by hop, as every request; a closed one has no body."""

    async def ask(client: AsyncClient, server: Site, url: str) -> None:
        async with client.stream(url) as stream:
            assert statuses(stream.page) == [302, 200]
            assert stream.page.final_url == server.url(path="/there")
            assert await read(stream) == b"hi"

    exchange(to("/there"), ask)

    async def closed(client: AsyncClient, _: Site, url: str) -> None:
        async with client.stream(url) as stream:
            assert not stream.page.was_allowed
            assert statuses(stream.page) == [302, None]
            assert await read(stream) == b""
            assert stream.complete

    server = exchange(to("/closed"), closed)
    assert "/closed" not in [visit.path for visit in server.log]


def test_a_stream_without_an_answer_has_a_cause() -> None:
    """And no body."""

    async def ask(client: AsyncClient, _: Site, url: str) -> None:
        async with client.stream(url) as stream:
            assert (stream.page.status, stream.page.cause) == (None, "timeout")
            assert await read(stream) == b""

    exchange(silence, ask, page_read_timeout=0.2)


async def cut_short(call: Call) -> None:
    await call.request()
    await call.send(HEAD, b"hi")


@pytest.mark.parametrize(("handler", "cause"), [(cut_short, "body cut short"), (begin, "timeout")])
def test_a_body_that_breaks_off_is_an_error(handler: Handler, cause: str) -> None:
    """What came before it may be in use already, so that it cannot be a cause of the page."""

    async def ask(client: AsyncClient, _: Site, url: str) -> None:
        async with client.stream(url) as stream:
            with pytest.raises(MannersError, match=cause):
                await read(stream)

    exchange(handler, ask, page_read_timeout=0.3)


def test_the_slot_is_held_while_the_stream_is_open() -> None:
    """Whether it is read or not; and nobody else gets it."""

    async def ask(client: AsyncClient, server: Site, url: str) -> None:
        async with client.stream(url) as stream:
            assert not await is_free(client, server)
            async for _ in stream.chunks():
                break
            assert not await is_free(client, server)

    exchange(trickle, ask)


def test_a_stream_may_take_longer_than_a_page() -> None:
    """The total time of a request ends with the headers."""

    async def ask(client: AsyncClient, _: Site, url: str) -> None:
        begun, count = time.monotonic(), 0
        async with client.stream(url) as stream:
            async for _chunk in stream.chunks():
                count += 1
                if time.monotonic() > begun + 0.6:
                    break
        assert count > 1

    exchange(trickle, ask, page_total_timeout=0.3)


async def leave_early(client: AsyncClient, url: str) -> None:
    async with client.stream(url) as stream:
        async for _ in stream.chunks():
            return


async def leave_unread(client: AsyncClient, url: str) -> None:
    async with client.stream(url):
        pass


async def fail(client: AsyncClient, url: str) -> None:
    async def reading() -> None:
        async with client.stream(url) as stream:
            async for _ in stream.chunks():
                raise LookupError

    with pytest.raises(LookupError):
        await reading()


async def give_up(client: AsyncClient, url: str) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.2), client.stream(url) as stream:
            await read(stream)


async def be_cancelled(client: AsyncClient, url: str) -> None:
    async def reading() -> None:
        async with client.stream(url) as stream:
            await read(stream)

    task = asyncio.create_task(reading())
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def be_cancelled_twice(client: AsyncClient, url: str) -> None:
    """The second time while it is tidying up."""

    async def reading() -> None:
        async with client.stream(url) as stream:
            await read(stream)

    for steps in range(6):
        task = asyncio.create_task(reading())
        await asyncio.sleep(0.1)
        task.cancel()
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


@pytest.mark.parametrize(
    "leave", [leave_early, leave_unread, fail, give_up, be_cancelled, be_cancelled_twice]
)
@pytest.mark.parametrize("handler", [trickle, begin])
def test_a_stream_that_is_left_gives_its_slot_back(
    leave: Callable[[AsyncClient, str], Awaitable[None]], handler: Handler
) -> None:
    """And closes the connection: nothing more of the body is read."""

    async def ask(client: AsyncClient, server: Site, url: str) -> None:
        await leave(client, url)
        pages = [visit for visit in server.log if visit.path == "/page"]
        await until(lambda: all(visit.left is not None for visit in pages))

    exchange(handler, ask)


# Leases.


class Renewals(MemoryBackend):
    """Slots that are counted when they are renewed, and can be lost."""

    def __init__(self, lease: float, good: int, failure: Exception | None = None) -> None:
        super().__init__(1, lease)
        self.renewed, self._good, self._failure = 0, good, failure

    async def renew(
        self, lease: Lease, now: float | None = None, delay: float | None = None
    ) -> Lease | None:
        self.renewed += 1
        if self.renewed <= self._good:
            return await super().renew(lease, now, delay)
        if self._failure is not None:
            raise self._failure
        await super().release(lease)
        return None


SHORT: dict[str, Any] = {"lease": 0.6, "page_total_timeout": 0.5, "total_timeout": 0.5}


def test_a_stream_renews_its_slot() -> None:
    """Every third of the lease, so that it is good for longer than one."""
    backend = Renewals(0.6, good=1000)

    async def ask(client: AsyncClient, server: Site, url: str) -> None:
        begun = time.monotonic()
        async with client.stream(url) as stream:
            async for _ in stream.chunks():
                if time.monotonic() > begun + 1.5:
                    break
            assert not await is_free(client, server)
        assert 4 <= backend.renewed <= (time.monotonic() - begun) / 0.2

    exchange(trickle, ask, politeness=backend, **SHORT)


async def unmeasured(call: Call) -> None:
    """A body that ends when the connection does."""
    await call.request()
    await call.send(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 10)
    await call.pause()


@pytest.mark.parametrize("failure", [None, ConnectionError("away")])
@pytest.mark.parametrize("handler", [trickle, begin, unmeasured])
def test_a_stream_whose_slot_is_lost_ends(handler: Handler, failure: Exception | None) -> None:
    """Somebody else may have the slot by now; also while nothing comes."""
    backend = Renewals(0.6, good=1, failure=failure)

    async def ask(client: AsyncClient, _: Site, url: str) -> None:
        async with asyncio.timeout(20), client.stream(url) as stream:
            with pytest.raises(SlotLost):
                await read(stream)
        assert backend.renewed == 2

    exchange(handler, ask, politeness=backend, **SHORT)


def test_a_stream_whose_slot_is_lost_closes_its_connection() -> None:
    """Whether or not anybody is reading: the host would have one more at a time than it should."""
    backend = Renewals(0.6, good=0)

    async def ask(client: AsyncClient, server: Site, url: str) -> None:
        async with client.stream(url) as stream:
            (visit,) = [visit for visit in server.log if visit.path == "/page"]
            await until(lambda: visit.left is not None)
            with pytest.raises(SlotLost):
                await read(stream)

    exchange(trickle, ask, politeness=backend, **SHORT)
