"""Clients that send rubbish, slowly, and without end: the service neither grows nor stops."""

import asyncio
import json
import sys
import time
import zlib
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from manners.web.columns import CONTENT_TYPE
from tests.client.asking import STANDSTILL, run
from tests.web.attacked import Attacked, attacked

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="counts files in /proc")

CLIENTS = 100
GROWTH = 8 * 1024 * 1024
"""Bytes: what an interpreter keeps after many requests, and far less than what was sent."""
WAVES = 8
Connection = tuple[asyncio.StreamReader, asyncio.StreamWriter]
BOMB = zlib.compress(bytes(100_000_000), 9)
HEAD = b"POST /v1/check HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"


async def slow_head(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A byte at a time (slowloris)."""
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-A: ")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(0.1)


async def nothing(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
    """Not a byte."""
    await reader.read()


async def huge_headers(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Headers without end."""
    writer.write(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
    while True:
        writer.write(b"X-A: " + b"a" * 4_000 + b"\r\n")
        await writer.drain()


async def endless_line(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A first line without end."""
    writer.write(b"GET /")
    while True:
        writer.write(b"a" * 65_536)
        await writer.drain()


async def endless_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body in chunks, without end and fast."""
    writer.write(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    while True:
        writer.write(b"10000\r\n" + b"a" * 65_536 + b"\r\n")
        await writer.drain()


async def slow_body(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A body a byte at a time."""
    writer.write(HEAD + b"Content-Length: 1000000\r\n\r\n")
    while True:
        writer.write(b" ")
        await writer.drain()
        await asyncio.sleep(0.1)


async def slow_column(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A table of URLs a byte at a time: it begins as it should, and has room of its own."""
    head = HEAD.replace(b"application/json", CONTENT_TYPE.encode())
    writer.write(head + b"Content-Length: 100000000\r\n\r\n\xff\xff\xff\xff")
    while True:
        writer.write(b"\0")
        await writer.drain()
        await asyncio.sleep(0.1)


async def rubbish(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Bytes that are no HTTP."""
    while True:
        writer.write(bytes(range(256)) * 16)
        await writer.drain()


async def never_reads(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Requests one after the other, whose replies nobody reads."""
    while True:
        writer.write(b"GET /v1/openapi.json HTTP/1.1\r\nHost: localhost\r\n\r\n" * 50)
        await writer.drain()


async def compressed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """A small body that becomes a large one."""
    head = f"Content-Encoding: deflate\r\nContent-Length: {len(BOMB)}\r\n\r\n"
    writer.write(HEAD + head.encode() + BOMB)
    await reader.read()


async def nested(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """JSON in JSON in JSON."""
    body = b'{"urls": ' + b"[" * 1_000_000
    writer.write(HEAD + f"Content-Length: {len(body)}\r\n\r\n".encode() + body)
    await reader.read()


ATTACKS = (
    *(slow_head, nothing, huge_headers, endless_line, endless_body, slow_body),
    *(slow_column, rubbish, never_reads, compressed, nested),
)


async def attack(
    port: int, act: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
) -> float:
    """Seconds until the service has ended a connection of one attacker."""
    began = time.monotonic()
    with suppress(OSError, asyncio.IncompleteReadError):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            await act(reader, writer)
        finally:
            writer.transport.abort()
    return time.monotonic() - began


async def check(port: int) -> int:
    """The status of a good request, over a connection of its own."""
    body = json.dumps({"urls": ["https://a.example/"], "robots": ""}).encode()
    head = HEAD + f"Connection: close\r\nContent-Length: {len(body)}\r\n\r\n".encode()
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(head + body)
        status = int((await reader.readline()).split()[1])
        await reader.read()
        return status
    finally:
        writer.close()


async def wave(service: Attacked) -> list[int]:
    """All attackers at once, again and again for a while, and good clients among them."""
    acts = [ATTACKS[number % len(ATTACKS)] for number in range(CLIENTS)]
    attackers = [asyncio.create_task(attack(service.port, act)) for act in acts]
    statuses = []
    for _ in range(10):
        statuses.append(await check(service.port))
        await asyncio.sleep(0.1)
    # Each of them is sent away: nobody has to be waited for.
    await asyncio.gather(*attackers)
    return statuses


async def settle(service: Attacked, files: int) -> int:
    """Open files, once they are as many as before; or after a while."""
    until = time.monotonic() + 60
    while service.files > files and time.monotonic() < until:
        await asyncio.sleep(0.1)
    return service.files


def test_a_hundred_attackers_take_nothing_that_stays() -> None:
    """Every attacker is sent away, others are answered, and memory and files are as before."""

    async def ask() -> None:
        with attacked() as service:
            assert await check(service.port) == 200
            files = service.files
            assert await wave(service) == [200] * 10
            assert await settle(service, files) <= files
            # What Python keeps for next time grows at first; what is lost, grows each time.
            grown: list[int] = []
            while not grown or (grown[-1] >= GROWTH and len(grown) < WAVES):
                memory = service.memory
                assert await wave(service) == [200] * 10
                assert await settle(service, files) <= files
                grown.append(service.memory - memory)
            assert grown[-1] < GROWTH, grown

    run(ask, seconds=300)


def test_there_are_no_more_connections_than_allowed() -> None:
    """One too many is closed at once; when others have gone, new ones are answered."""

    async def ask() -> None:
        with attacked(idle_seconds=STANDSTILL) as service:  # none is closed because it is idle
            files = service.files
            idle = await asyncio.gather(
                *(asyncio.open_connection("127.0.0.1", service.port) for _ in range(400))
            )
            try:
                assert await settle(service, files + 250 + 5) <= files + 250 + 5
            finally:
                for _, writer in idle:
                    writer.transport.abort()
            assert await settle(service, files) <= files
            assert await check(service.port) == 200

    run(ask)
