"""What a polite request costs, next to bare aiohttp: `python -m benchmarks.client`.

64 requests in flight on 8 hosts (addresses of 127.0.0.0/8), pages of 10 KB, all delays at zero and
slots for everybody: what is measured is the work of asking robots.txt, standing in line, taking a
slot and following the rules, not the waiting. Both ways take short turns; processor time is that of
the asking process alone, and the ratio is the median of those of single turns.

    python -m benchmarks.client                 100 turns of 300 pages
    python -m benchmarks.client --quick         20 turns
    python -m benchmarks.client --json FILE     writes the figures there too
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import statistics
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager
from multiprocessing.connection import Connection
from pathlib import Path

import aiohttp

from benchmarks.engine import machine
from manners.client.async_client import AsyncClient
from manners.compat.prometheus import Metrics
from manners.events import Listener
from manners.evidence.store import EvidenceStore
from manners.settings import Settings

Fetch = Callable[[str], Awaitable[None]]
Figure = tuple[float, float]
HOSTS, IN_FLIGHT = 8, 64
PAGES, TURNS, QUICK, WARM_UP = 300, 100, 20, 3
BODY = b"<!doctype html>" + b"x" * 10_000
ROBOTS = b"User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\n"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n"
SETTINGS = Settings(
    min_delay=0.0,
    max_delay=0.0,
    adaptive_factor=0.0,
    concurrency=IN_FLIGHT,
    allow_private=True,
)


class _Server(asyncio.Protocol):
    """Answers every request with a page, and every robots.txt with the same file."""

    def __init__(self, robots: bytes) -> None:
        self._robots = robots

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def data_received(self, data: bytes) -> None:
        if data.endswith(b"\r\n\r\n"):
            body = self._robots if data.startswith(b"GET /robots.txt ") else BODY
            self.transport.write(HEAD % len(body) + body)


def serve(ready: Connection, robots: bytes = ROBOTS) -> None:
    """Run the server; its port goes through the pipe."""

    async def run() -> None:
        loop = asyncio.get_running_loop()
        server = await loop.create_server(lambda: _Server(robots), "0.0.0.0", 0, backlog=4096)
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


@asynccontextmanager
async def bare() -> AsyncIterator[Fetch]:
    """What a program does that asks nobody."""
    connector = aiohttp.TCPConnector(limit=IN_FLIGHT * 4)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def fetch(url: str) -> None:
            async with session.get(url) as reply:
                assert len(await reply.read()) == len(BODY)

        yield fetch


@asynccontextmanager
async def polite(
    evidence: EvidenceStore | None = None, on_event: Listener | None = None
) -> AsyncIterator[Fetch]:
    """The same with manners, and perhaps somebody who listens."""
    async with AsyncClient("MyBot/1.0", SETTINGS, evidence=evidence, on_event=on_event) as client:

        async def fetch(url: str) -> None:
            assert len((await client.get(url)).body) == len(BODY)

        yield fetch


async def by_turns(
    port: int, ways: Mapping[str, AbstractAsyncContextManager[Fetch]], turns: int, count: int
) -> dict[str, list[Figure]]:
    """Pages a second and microseconds of processor time a page, turn by turn, for each way.

    Turns are short, and everybody has one before anybody has the next: the machine's speed changes
    from second to second, and hits all of them alike. The first turns are for warming up, and for
    the robots.txt files.
    """
    found: dict[str, list[Figure]] = {name: [] for name in ways}
    async with AsyncExitStack() as stack:
        fetches = {name: await stack.enter_async_context(way) for name, way in ways.items()}
        for turn in range(turns + WARM_UP):
            for name, fetch in fetches.items():
                urls = pages(port, count, turn)
                before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
                await spread(fetch, urls)
                seconds, after = (
                    time.perf_counter() - start,
                    resource.getrusage(resource.RUSAGE_SELF),
                )
                used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
                if turn >= WARM_UP:
                    found[name].append((count / seconds, used / count * 1e6))
    return found


def ratio(found: Mapping[str, list[Figure]], name: str, base: str) -> float:
    """How many times the processor time of another way, in the middle of all turns."""
    pairs = zip(found[name], found[base], strict=True)
    return statistics.median(used / other for (_, used), (_, other) in pairs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{machine()}, aiohttp {aiohttp.__version__}")
    ready, told = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("spawn").Process(target=serve, args=(told,), daemon=True)
    server.start()
    ways = {"aiohttp": bare(), "manners": polite(), "with metrics": polite(on_event=Metrics())}
    turns = QUICK if options.quick else TURNS
    found = asyncio.run(by_turns(ready.recv(), ways, turns, PAGES))
    server.terminate()
    figures: dict[str, float] = {
        "processor, ratio": ratio(found, "manners", "aiohttp"),
        "with metrics, ratio": ratio(found, "with metrics", "manners"),
    }
    print(f"\n{'':<12}{'pages a second':>18}{'processor us each':>20}")
    for name, measured in found.items():
        rate = figures[f"{name}, pages a second"] = statistics.median(rate for rate, _ in measured)
        used = figures[f"{name}, processor us"] = statistics.median(used for _, used in measured)
        print(f"{name:<12}{rate:>18,.0f}{used:>20,.0f}")
    print(f"{'ratio':<12}{'':>18}{figures['processor, ratio']:>20.2f}")
    print(f"{'metrics':<12}{'':>18}{figures['with metrics, ratio']:>20.3f} times without")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
