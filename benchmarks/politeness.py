"""What sharing politeness costs: `python -m benchmarks.politeness`.

Reservations a second, and slots taken and given back, in memory and on Valkey (a real server from a
wheel), by one process and by four, 16 tasks in each, another host each time. Then pages through a
client, and how often the server was asked for each of them, by its own count: two round trips where
nobody else is in the way, one more where the start was ahead.

    python -m benchmarks.politeness               about a minute
    python -m benchmarks.politeness --quick       some seconds
    python -m benchmarks.politeness --json FILE   writes the figures there too
"""

import argparse
import asyncio
import json
import multiprocessing
import os
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from benchmarks.client import HOSTS, SETTINGS, pages, serve, spread
from benchmarks.engine import machine
from manners.client.async_client import AsyncClient
from manners.politeness.backends import Lease, PolitenessBackend, open_backend
from manners.politeness.backends.memory import MemoryBackend
from tests.contracts.valkey import Valkey

NAMES, TASKS, PROCESSES, PAGES = 1_000, 16, 4, 400


async def reserve(backend: PolitenessBackend, host: str) -> None:
    await backend.reserve(host, 0.0)


async def take(backend: PolitenessBackend, host: str) -> None:
    """A slot, taken and given back."""
    lease = await backend.take(host)
    assert isinstance(lease, Lease)
    await backend.release(lease)


VERBS = {"reservations": reserve, "slots, taken and given back": take}


async def rate(
    backend: PolitenessBackend,
    verb: Callable[[PolitenessBackend, str], Awaitable[None]],
    seconds: float,
) -> float:
    """How often a second, with several tasks, each on hosts of its own."""
    done, start = 0, time.perf_counter()

    async def worker(first: int) -> None:
        nonlocal done
        number = first
        while time.perf_counter() < start + seconds:
            number = (number + TASKS) % (NAMES * TASKS)
            await verb(backend, f"{os.getpid()}.{number}.example")
            done += 1

    await asyncio.gather(*map(worker, range(TASKS)))
    return done / (time.perf_counter() - start)


def measure(where: str | None, name: str, seconds: float) -> float:
    """The rate of one process."""

    async def run() -> float:
        backend = MemoryBackend(TASKS) if where is None else open_backend(where, TASKS)
        found = await rate(backend, VERBS[name], seconds)
        await backend.close()
        return found

    return asyncio.run(run())


def together(where: str, name: str, seconds: float) -> float:
    """The rate of all processes."""
    with multiprocessing.get_context("spawn").Pool(PROCESSES) as pool:
        return sum(pool.starmap(measure, [(where, name, seconds)] * PROCESSES))


def fetch(where: str, port: int, first: int, delay: float) -> float:
    """Pages a second of one client, by its own or with others."""

    async def run() -> float:
        settings = SETTINGS.but(politeness=where, min_delay=delay, max_delay=delay)
        async with AsyncClient("MyBot/1.0", settings) as client:

            async def get(url: str) -> None:
                assert (await client.get(url)).ok

            start = time.perf_counter()
            await spread(get, pages(port, PAGES, first))
            return PAGES / (time.perf_counter() - start)

    return asyncio.run(run())


def calls(server: Valkey) -> int:
    """How many scripts a server has run."""
    for line in server.command("INFO", "commandstats").decode().splitlines():
        if line.startswith("cmdstat_evalsha:calls="):
            return int(line.partition("=")[2].partition(",")[0])
    return 0


def through_clients(server: Valkey, processes: int, delay: float) -> tuple[float, float]:
    """Pages a second, and round trips for each, those for robots.txt files included."""
    ready, told = multiprocessing.Pipe(duplex=False)
    spawn = multiprocessing.get_context("spawn")
    site = spawn.Process(target=serve, args=(told,), daemon=True)
    site.start()
    port, before = ready.recv(), calls(server)
    with spawn.Pool(processes) as pool:
        work = [(server.url, port, number, delay) for number in range(processes)]
        total = sum(pool.starmap(fetch, work))
    site.terminate()
    return total, (calls(server) - before) / (PAGES * processes)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seconds = 0.5 if options.quick else 5.0
    print(f"{machine()}\n")
    figures: dict[str, float] = {}
    for name in VERBS:
        figures[f"memory: {name}, a second"] = measure(None, name, seconds)
    with tempfile.TemporaryDirectory() as folder, Valkey(Path(folder)) as server:
        for name in VERBS:
            figures[f"Valkey, 1 process: {name}, a second"] = measure(server.url, name, seconds)
            title = f"Valkey, {PROCESSES} processes: {name}, a second"
            figures[title] = together(server.url, name, seconds)
        for processes, delay in ((1, 0.0), (1, 0.05), (PROCESSES, 0.0), (PROCESSES, 0.05)):
            server.command("FLUSHALL")
            rate, trips = through_clients(server, processes, delay)
            title = f"client, {processes} x {HOSTS} hosts, delay {delay:g} s"
            figures[f"{title}: pages a second"] = rate
            figures[f"{title}: round trips a page"] = trips
    for name, figure in figures.items():
        print(f"{name:<66}{figure:>12,.{2 if 'trips' in name else 0}f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
