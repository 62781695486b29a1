"""What a polite request costs, next to bare aiohttp: `python -m benchmarks.client`.

64 requests in flight on 8 hosts (addresses of 127.0.0.0/8), pages of 10 KB, all delays at zero and
slots for everybody: what is measured is the work of asking robots.txt, standing in line, taking a
slot and following the rules, not the waiting. Both ways take turns; processor time is that of the
asking process alone.

    python -m benchmarks.client                 5 turns of 5,000 pages
    python -m benchmarks.client --quick         3 turns of 1,000
    python -m benchmarks.client --json FILE     writes the figures there too
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import platform
import resource
import statistics
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp

import manners
from benchmarks.engine import processor
from manners.client import AsyncClient
from manners.settings import Settings

HOSTS, IN_FLIGHT = 8, 64
BODY = b"<!doctype html>" + b"x" * 10_000
ROBOTS = b"User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
SETTINGS = Settings(
    delay_least=0.0,
    delay_most=0.0,
    adaptive_factor=0.0,
    concurrency=IN_FLIGHT,
    allow_private=True,
)


class _Server(asyncio.Protocol):
    """Answers every request with a page, and every robots.txt with the same file."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"\r\n\r\n"):
            body = ROBOTS if data.startswith(b"GET /robots.txt ") else BODY
            self.transport.write(HEAD % len(body) + body)


def serve(ready: Connection) -> None:
    """Run the server; its port goes through the pipe."""

    async def run() -> None:
        server = await asyncio.get_running_loop().create_server(_Server, "0.0.0.0", 0)
        ready.send(server.sockets[0].getsockname()[1])
        await server.serve_forever()

    asyncio.run(run())


def pages(port: int, count: int, turn: int) -> list[str]:
    """URLs that no other turn has, spread over the hosts."""
    return [f"http://127.0.1.{n % HOSTS + 1}:{port}/page/{turn}/{n}?q=1" for n in range(count)]


async def spread(fetch: Callable[[str], Awaitable[None]], urls: list[str]) -> None:
    """Fetch all URLs, so many at a time."""
    waiting = iter(urls)

    async def worker() -> None:
        for url in waiting:
            await fetch(url)

    await asyncio.gather(*(worker() for _ in range(IN_FLIGHT)))


async def bare(urls: list[str]) -> None:
    """What a program does that asks nobody."""
    connector = aiohttp.TCPConnector(limit=IN_FLIGHT * 4)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def fetch(url: str) -> None:
            async with session.get(url) as reply:
                assert len(await reply.read()) == len(BODY)

        await spread(fetch, urls)


async def polite(urls: list[str]) -> None:
    """The same with manners."""
    async with AsyncClient("MyBot/1.0", SETTINGS) as client:

        async def fetch(url: str) -> None:
            assert len((await client.get(url)).body) == len(BODY)

        await spread(fetch, urls)


def cost(work: Callable[[list[str]], Awaitable[None]], urls: list[str]) -> tuple[float, float]:
    """Pages a second, and microseconds of processor time a page."""

    async def run() -> None:
        await work(urls)

    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    asyncio.run(run())
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return len(urls) / seconds, used / len(urls) * 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    count, rounds = (1_000, 3) if options.quick else (5_000, 5)
    print(f"CPython {platform.python_version()}, aiohttp {aiohttp.__version__}, {processor()},")
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, kernel {manners.KERNEL}")
    ready, told = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(told,), daemon=True)
    server.start()
    port = ready.recv()
    found: dict[str, list[tuple[float, float]]] = {"aiohttp": [], "manners": []}
    for turn in range(rounds + 1):
        for name, work in (("aiohttp", bare), ("manners", polite)):
            measured = cost(work, pages(port, count, turn))
            if turn:  # the first is for warming up
                found[name].append(measured)
    figures: dict[str, float] = {}
    print(f"\n{'':<10}{'pages a second':>18}{'processor us each':>20}")
    for name, turns in found.items():
        figures[f"{name}, pages a second"] = statistics.median(rate for rate, _ in turns)
        figures[f"{name}, processor us"] = statistics.median(used for _, used in turns)
        print(
            f"{name:<10}{figures[f'{name}, pages a second']:>18,.0f}"
            f"{figures[f'{name}, processor us']:>20,.0f}"
        )
    ratios = [b / a for (_, a), (_, b) in zip(found["aiohttp"], found["manners"], strict=True)]
    figures["processor, ratio"] = statistics.median(ratios)
    print(f"{'ratio':<10}{'':>18}{figures['processor, ratio']:>20.2f}")
    server.terminate()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
