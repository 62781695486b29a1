"""What retrieving robots.txt costs, next to bare aiohttp: `python -m benchmarks.retrieval`.

Many origins are addresses of 127.0.0.0/8, all served by one small server in a process of its own.
Both ways ask every origin once, cold, with the same number of requests at a time, and take turns;
processor time is that of the asking process alone. Then a question answered from memory is
compared with the bare policy.

    python -m benchmarks.retrieval                  2,000 origins a turn
    python -m benchmarks.retrieval --quick          200
    python -m benchmarks.retrieval --json FILE      writes the figures there too
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import statistics
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

import aiohttp

from benchmarks.client import serve
from benchmarks.engine import machine
from manners.cache.blocking import RobotsCache
from manners.cache.flights import MAX_CONCURRENT
from manners.cache.robots import AsyncRobotsCache

BODY = b"User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nCrawl-delay: 1\n" * 20


def origins(first: int, count: int, port: int) -> list[str]:
    """Addresses that no other turn has."""
    numbers = range(first, first + count)
    return [f"http://127.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}:{port}" for n in numbers]


async def bare(urls: list[str]) -> None:
    """What a program does that only wants the bytes."""
    turn = asyncio.Semaphore(MAX_CONCURRENT)
    connector = aiohttp.TCPConnector(limit=MAX_CONCURRENT, force_close=True)

    async def one(session: aiohttp.ClientSession, url: str) -> None:
        async with turn, session.get(f"{url}/robots.txt") as reply:
            assert await reply.read() == BODY

    async with aiohttp.ClientSession(connector=connector) as session:
        await asyncio.gather(*(one(session, url) for url in urls))


async def ours(urls: list[str]) -> None:
    """The same, and every file ready to be asked."""
    async with AsyncRobotsCache(allow_private=True, entries=len(urls)) as cache:
        await cache.prefetch(urls)
        assert cache.statistics().retrievals == len(urls)
        assert not await cache.allowed(f"{urls[-1]}/private/x", agent="MyBot")


def cost(work: Callable[[list[str]], Awaitable[None]], urls: list[str]) -> tuple[float, float]:
    """Seconds, and microseconds of processor time a retrieval."""

    async def run() -> None:
        await work(urls)

    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    asyncio.run(run())
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, used / len(urls) * 1e6


def hits(url: str, rounds: int) -> tuple[float, float]:
    """Nanoseconds of a check by the policy, and by a cache that has the file in memory."""
    paths = [f"{url}/page/{number}?q={number * 7}" for number in range(1_000)]
    with RobotsCache(allow_private=True) as cache:
        policy = cache.get(url).robots.policy("MyBot")
        alone, through = [], []
        for _ in range(rounds):
            start = time.perf_counter_ns()
            for path in paths:
                policy.allowed(path)
            middle = time.perf_counter_ns()
            for path in paths:
                cache.allowed(path, agent="MyBot")
            alone.append((middle - start) / len(paths))
            through.append((time.perf_counter_ns() - middle) / len(paths))
    return statistics.median(alone), statistics.median(through)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    count, rounds = (200, 3) if options.quick else (2_000, 7)
    print(f"{machine()}, aiohttp {aiohttp.__version__}")
    ready, told = multiprocessing.Pipe(duplex=False)
    server = multiprocessing.get_context("spawn").Process(
        target=serve, args=(told, BODY), daemon=True
    )
    server.start()
    port = ready.recv()
    found: dict[str, list[tuple[float, float]]] = {"aiohttp": [], "manners": []}
    for number in range(rounds + 1):
        for place, (name, work) in enumerate((("aiohttp", bare), ("manners", ours))):
            urls = origins((2 * number + place + 1) * count + 1, count, port)
            measured = cost(work, urls)
            if number:  # the first turn is for warming up
                found[name].append(measured)
    figures: dict[str, float] = {}
    print(f"\n{'':<10}{'origins a second':>20}{'processor us each':>20}")
    for name, turns in found.items():
        figures[f"{name}, origins a second"] = statistics.median(count / each for each, _ in turns)
        figures[f"{name}, processor us"] = statistics.median(used for _, used in turns)
        print(
            f"{name:<10}{figures[f'{name}, origins a second']:>20,.0f}"
            f"{figures[f'{name}, processor us']:>20,.0f}"
        )
    ratios = [b / a for (_, a), (_, b) in zip(found["aiohttp"], found["manners"], strict=True)]
    figures["processor, ratio"] = statistics.median(ratios)
    print(f"{'ratio':<10}{'':>20}{figures['processor, ratio']:>20.2f}")
    alone, through = hits(f"http://127.0.0.1:{port}", 20 if options.quick else 200)
    figures |= {"policy.allowed, ns": alone, "cache.allowed, ns": through}
    print(f"\npolicy.allowed {alone:,.0f} ns, cache.allowed {through:,.0f} ns:")
    print(f"a hit in memory costs {(through - alone) / 1000:.2f} us more")
    server.terminate()
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
