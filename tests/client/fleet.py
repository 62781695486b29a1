"""Clients in processes of their own, which share their politeness.

    with apart("tests.client.hosts:mixed") as site:
        with crew(4, site, valkey.url, hosts) as workers:
            ...
            for worker in workers:
                worker.end()

Each keeps asking the same hosts until it is told to end, with two tasks for each of them, and goes
on when the server that they share is away. When it stood still, or that server did, comes back to
the site, and is allowed for in its `early`.
"""

import asyncio
import itertools
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

from manners._valkey import Server
from manners.errors import PolitenessError
from manners.politeness.backends import Lease
from tests.client.apart import BEAT, ROOT, STANDSTILL, Apart, Standstill, steady
from tests.client.asking import asking, keep_busy

PATHS = ("/", "/a")


class Worker:
    """A process that asks for pages, one of them after the other, with a task for each URL."""

    def __init__(self, name: str, site: Apart, told: dict[str, Any]) -> None:
        self.name, self._site = name, site
        self.errors = 0
        """How often nobody knew whether a host may be asked."""
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, name, json.dumps(told)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def get_ready(self) -> None:
        """Wait until it has loaded what it needs, and asked for a page."""
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n"

    def begin(self) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write("go\n")
        self._process.stdin.flush()

    def wait_for_error(self, since: float) -> None:
        """Wait until it has found, later than at some moment, that nobody is there to ask."""
        assert self._process.stdout is not None
        while float(self._process.stdout.readline()) <= since:
            pass

    def end(self) -> None:
        """Tell it to end, and wait until it has, well."""
        told, _ = self._process.communicate("enough\n", timeout=STANDSTILL)
        assert self._process.returncode == 0
        seen = json.loads(told.splitlines()[-1])
        self.errors = seen["errors"]
        self._site.standstills_of[self.name] = list(map(tuple, seen["standstills"]))

    def kill(self) -> None:
        """End it at once, if it still runs."""
        if self._process.returncode is None:
            self._process.kill()
            self._process.communicate()


@contextmanager
def crew(
    number: int, site: Apart, politeness: str, hosts: list[str], /, **settings: Any
) -> Iterator[list[Worker]]:
    """So many workers, who begin together: `Bot0`, `Bot1` and so on."""
    told = {
        "first": site.url("127.0.9.9"),
        "urls": [site.url(host, path) for path in PATHS for host in hosts],
        "settings": {"politeness": politeness, **settings},
    }
    workers = list[Worker]()
    try:
        workers += [Worker(f"Bot{each}", site, told) for each in range(number)]
        for worker in workers:
            worker.get_ready()
        for worker in workers:
            worker.begin()
        yield workers
    finally:
        for worker in workers:
            worker.kill()


@asynccontextmanager
async def watched(url: str, standstills: list[Standstill]) -> AsyncIterator[None]:
    """Write down when the server that is shared stands still: it has given out a start by then."""
    server = Server(url, 2.0)

    async def watch() -> None:
        while True:
            begun = time.monotonic()
            with suppress(*server.failures):
                await server.answer(server.redis.ping())
                ended = time.monotonic()
                ours = sum(lost for until, lost in standstills[-20:] if until >= begun)
                if ended - begun - ours > BEAT:
                    standstills.append((ended, ended - begun - ours))
            await asyncio.sleep(4 * BEAT)

    watching = asyncio.create_task(watch())
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])
        await server.redis.aclose()


def standing_still(enter: Callable[..., Awaitable[Lease]], seconds: float) -> Any:
    """The way to a slot, behind which the process stands still every second time."""
    turns = itertools.cycle((0.0, seconds))

    async def enter_and_stand_still(*arguments: Any, **more: Any) -> Lease:
        lease = await enter(*arguments, **more)
        time.sleep(next(turns))
        return lease

    return enter_and_stand_still


async def work(name: str, first: str, urls: list[str], settings: dict[str, Any]) -> None:
    standstills: list[Standstill] = []
    begun, errors = set[int](), 0
    stall = settings.pop("stall", 0.0)

    async with (
        asking(name, **settings) as client,
        steady(standstills),
        watched(settings["politeness"], standstills),
    ):
        if stall:
            client._gate.enter = standing_still(client._gate.enter, stall)  # type: ignore[method-assign]

        async def fetch(number: int) -> None:
            nonlocal errors
            if number not in begun:  # not all at once: so many connections take their time
                begun.add(number)
                await asyncio.sleep(0.02 * number)
            try:
                await client.get(urls[number])
            except PolitenessError:
                errors += 1
                print(time.monotonic(), flush=True)
                await asyncio.sleep(0.05)

        with suppress(PolitenessError):
            await client.get(first)
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        await keep_busy(len(urls), asyncio.to_thread(sys.stdin.readline), fetch)
    print(json.dumps({"standstills": standstills, "errors": errors}), flush=True)


if __name__ == "__main__":
    asyncio.run(work(sys.argv[1], **json.loads(sys.argv[2])))
