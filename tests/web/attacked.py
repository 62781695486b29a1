"""A service in a process of its own, with little patience: its memory and files can be counted.

It prints its address, and ends when its standard input does.
"""

import asyncio
import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from subprocess import PIPE, Popen

from manners.settings import Settings
from manners.web.limits import ServiceLimits
from manners.web.service import Serving
from manners.web.serving import listening

LIMITS = ServiceLimits(idle_seconds=1.5, body_seconds=1.5, write_seconds=1.5, connections=250)


class Attacked:
    """The service as the test sees it."""

    def __init__(self, process: "Popen[str]", address: str) -> None:
        self._folder = Path("/proc", str(process.pid))
        self.port = int(address.rstrip("/").rpartition(":")[2])
        self.address = address

    @property
    def memory(self) -> int:
        """Bytes that the process has in memory."""
        pages = int((self._folder / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    @property
    def files(self) -> int:
        """Open files, sockets included."""
        return len(list((self._folder / "fd").iterdir()))


@contextmanager
def attacked(store: str = "", idle_seconds: float = LIMITS.idle_seconds) -> Iterator[Attacked]:
    """A service that can be attacked."""
    command = [sys.executable, "-m", "tests.web.attacked", store, str(idle_seconds)]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield Attacked(process, process.stdout.readline().strip())
        finally:
            process.stdin.close()


async def _collect() -> None:
    """What only waits for the garbage collector is not lost: do not let it wait."""
    while True:
        await asyncio.sleep(0.5)
        gc.collect()


async def _serve(store: str, idle_seconds: float) -> None:
    settings = Settings(store=store or None)
    limits = replace(LIMITS, idle_seconds=idle_seconds)
    async with listening(settings, Serving(port=0, limits=limits)) as address:
        print(address, flush=True)
        collecting = asyncio.create_task(_collect())
        await asyncio.to_thread(sys.stdin.read)
        collecting.cancel()


if __name__ == "__main__":
    asyncio.run(_serve(sys.argv[1], float(sys.argv[2])))
