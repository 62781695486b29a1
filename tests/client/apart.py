"""The server in a process of its own, so that nothing the client does delays its clock.

    with apart("tests.client.hosts:mixed") as site:
        ...
    assert site.log[0].path == "/robots.txt"

Handlers go by name, and the log comes back when everything is over. It is all that is looked at,
but for one thing: on a busy machine a process may have to stand still in the middle of a request,
through no fault of its own. Both sides watch for that, and `early` makes allowance for it.
"""

import asyncio
import gc
import importlib
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.faults.server import Handler, Site, Visit

ROOT = Path(__file__).parents[2]
STANDSTILL = 120.0
"""Seconds after which a test has come to a standstill; none takes nearly as long."""
BEAT = 0.005
_TRIES, _STOOD_STILL = 10, 0.1
"""How often work is done again during which the machine stood still for so many seconds."""
AFTERMATH = 0.04
"""Seconds that it takes to catch up after a standstill, and to notice it."""
ON_THE_WAY = 0.5
LATE = 0.020
"""Seconds by which an arrival may come too early: the one before it may have been on its way for so
long."""

Standstill = tuple[float, float]
"""When it ended, and how long it was, not counting the work that was done meanwhile."""


class Apart:
    """A server somewhere else; its log is there when it has ended, or when it is asked for."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self.ports: list[int] = json.loads(self._line())
        self.log: list[Visit] = []
        self.standstills: list[Standstill] = []
        self.standstills_of: dict[str, list[Standstill]] = {}
        """Those of single clients, where there are several, by their User-Agent."""

    def url(self, address: str = "127.0.0.1", path: str = "/", port: int = 0) -> str:
        return f"http://{address}:{self.ports[port]}{path}"

    def wait_until(self, holds: Callable[[], object]) -> None:
        """Look at the log again and again, until something holds of it."""
        end = time.monotonic() + STANDSTILL
        while True:
            assert self._process.stdin is not None
            self._process.stdin.write("\n")
            self._process.stdin.flush()
            self.log = [Visit(**each) for each in json.loads(self._line())]
            if holds():
                return
            assert time.monotonic() < end, "it never held"
            time.sleep(0.05)

    def _line(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()

    def at(self, address: str) -> list[Visit]:
        """The requests that one host has seen, on all ports, as they came."""
        return sorted((each for each in self.log if each.address == address), key=lambda it: it.at)

    def gaps(self, address: str) -> list[float]:
        """Seconds from each arrival at a host to the next."""
        return [after.at - before.at for before, after in pairwise(self.at(address))]

    def early(self, address: str, delay: float) -> list[float]:
        """Seconds by which each arrival at a host was late, less than zero if it came too early.

        It did not where the one before it was held up by the machine; of several clients, where it
        was held up itself, and should have been the one before.
        """
        return self.early_of(self.at(address), delay)

    def early_of(self, visits: list[Visit], delay: float) -> list[float]:
        """The same for some of them."""
        return [
            after.at
            - before.at
            - delay
            + self._held_up(before)
            + max(self._on_the_way(before), self._on_the_way(after))
            for before, after in pairwise(visits)
        ]

    def _held_up(self, visit: Visit) -> float:
        return self._lost_at(visit.at)

    def _lost_at(self, moment: float) -> float:
        return sum(lost for ended, lost in self.standstills if abs(moment - ended) <= AFTERMATH)

    def _on_the_way(self, visit: Visit) -> float:
        """The same for one of several clients, whose start was given out elsewhere."""
        its = self.standstills_of.get(visit.headers.get("user-agent", ""), ())
        since, until = visit.at - ON_THE_WAY, visit.at + AFTERMATH
        return sum(lost for ended, lost in its if since <= ended <= until)

    def most_at_once(self, address: str) -> int:
        """The most requests that a host had at a time.

        A client that closes a connection and opens another is seen leaving a moment late, and
        later where the machine stood still.
        """
        visits = self.at(address)
        events = [(visit.at, 1) for visit in visits]
        events += [
            (max(visit.left - LATE - self._lost_at(visit.left), visit.at), -1)
            for visit in visits
            if visit.left
        ]
        running = most = 0
        for _, step in sorted(events):
            running += step
            most = max(most, running)
        return most

    @property
    def paths(self) -> list[str]:
        return [visit.path for visit in self.log]


@contextmanager
def apart(handler: str, ports: int = 1) -> Iterator[Apart]:
    """Run a server elsewhere, with a handler of this name (`module:name`)."""
    command = [sys.executable, "-m", __name__, handler, str(ports)]
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        site = Apart(process)
        try:
            yield site
        finally:
            told, _ = process.communicate("")
    seen: dict[str, Any] = json.loads(told)
    assert seen["failures"] == []
    site.log = [Visit(**each) for each in seen["log"]]
    site.standstills += map(tuple, seen["standstills"])


@asynccontextmanager
async def stalling(seconds: float) -> AsyncIterator[None]:
    """Let every turn of the event loop take so long, as on a machine that is busy otherwise."""

    async def stall() -> None:
        while True:
            time.sleep(seconds)
            await asyncio.sleep(0)

    task = asyncio.create_task(stall())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@asynccontextmanager
async def steady(standstills: list[Standstill]) -> AsyncIterator[None]:
    """Write down when this process stands still, and keep the collector from being the reason."""
    gc.collect()
    gc.freeze()  # all that tests have loaded takes long to look through
    watching = asyncio.create_task(_watch(standstills))
    try:
        yield
    finally:
        watching.cancel()
        await asyncio.wait([watching])


async def judged(work: Callable[[], Awaitable[list[str]]]) -> list[str]:
    """What is wrong, where something has to be done in time: complaints, none when all is well.

    If the loop stood still meanwhile, nobody knows who was late, and all is done again.
    """
    complaints: list[str] = []
    for _ in range(_TRIES):
        standstills: list[Standstill] = []
        async with steady(standstills):
            complaints = await work()
        if not complaints or sum(lost for _, lost in standstills) < _STOOD_STILL:
            break
    return complaints


async def _watch(standstills: list[Standstill]) -> None:
    while True:
        begun, worked = time.monotonic(), time.thread_time()
        await asyncio.sleep(BEAT)
        ended = time.monotonic()
        lost = ended - begun - BEAT - (time.thread_time() - worked)
        if lost > BEAT / 2:
            standstills.append((ended, lost))


async def serve(handler: Handler, ports: int) -> None:
    standstills: list[Standstill] = []
    async with Site(handler, ports=ports) as site, steady(standstills):
        print(json.dumps(site.ports), flush=True)
        while await asyncio.to_thread(sys.stdin.readline):
            print(json.dumps(list(map(asdict, site.log))), flush=True)
    told = {
        "log": list(map(asdict, site.log)),
        "failures": list(map(repr, site.failures)),
        "standstills": standstills,
    }
    print(json.dumps(told), flush=True)


if __name__ == "__main__":
    place, _, name = sys.argv[1].partition(":")
    asyncio.run(serve(getattr(importlib.import_module(place), name), int(sys.argv[2])))
