"""How much memory retrievals take: run in a process of its own, with URLs as JSON on stdin.

Writes the growth for each, and for all of them at once, in megabytes.
"""

import asyncio
import gc
import json
import re
import sys
from pathlib import Path

from manners.cache.robots import AsyncRobotsCache
from tests.faults.play import hurried


def peak() -> float:
    """The most memory since the last call that began anew, in megabytes."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    assert found is not None
    return int(found[1]) / 1024


def anew() -> float:
    """Forget the peak; what is taken now."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5", "ascii")
    return peak()


async def main() -> None:
    """Retrieve one by one, then all at once."""
    urls: list[str] = json.load(sys.stdin)
    grown = []
    async with AsyncRobotsCache(allow_private=True, profile=hurried(sys.argv[1])) as cache:
        await cache.get(urls[0])
        for url in urls:
            await cache.forget(url)
            before = anew()
            await cache.get(url)
            grown.append(round(peak() - before, 1))
        for url in urls:
            await cache.forget(url)
        before = anew()
        await asyncio.gather(*map(cache.get, urls))
        grown.append(round(peak() - before, 1))
    json.dump(grown, sys.stdout)


if __name__ == "__main__":
    asyncio.run(main())
