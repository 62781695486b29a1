"""A server for a generated site, in a process of its own, whose log survives whoever asks it.

    with Server(Spec(seed=1)) as server:
        site = server.site
        ...
        log = server.log()

It is told what to do line by line, and answers line by line; it ends when nobody is left to tell.
"""

import asyncio
import gc
import json
import subprocess
import sys
import time
from bisect import bisect_left, bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple, Self

from tests.client.apart import AFTERMATH, Standstill, steady
from tests.crawler.generated import Answer, Site, Spec
from tests.faults.arrival import arrived

ROOT = Path(__file__).parents[2]


# The log.


class Visit(NamedTuple):
    """One request: when it came, to which host, what for, and when it was over."""

    at: float
    host: str
    path: str
    left: float
    """When the answer was given, or the client gone."""
    status: int
    """What was answered; 0 where the client was gone before."""
    port: int

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}{self.path}"


class Log:
    """What the server has seen, and when a process stood still through no fault of its own."""

    def __init__(self, visits: Iterable[Visit], standstills: Iterable[Standstill]) -> None:
        self.visits = sorted(visits)
        self._standstills = sorted(standstills)
        self._ended = [ended for ended, _ in self._standstills]
        self._by_host: dict[str, list[Visit]] = defaultdict(list)
        for visit in self.visits:
            self._by_host[visit.host].append(visit)

    @property
    def hosts(self) -> set[str]:
        return set(self._by_host)

    def at(self, host: str) -> list[Visit]:
        """The requests that a host has seen, as they came."""
        return self._by_host[host]

    @property
    def requests(self) -> Counter[str]:
        """How often each URL was asked for, robots.txt files aside."""
        return Counter(each.url for each in self.visits if each.path != "/robots.txt")

    def early(
        self, host: str, delay: float, asked_for: float = 0.0
    ) -> list[tuple[float, str, str]]:
        """The requests that came too early: by how much, behind which, and what for.

        `asked_for` is what the robots.txt asks for; whoever has to ask for that again has not read
        it. Where a request was held up by the machine, the one behind it was in time.
        """
        found = []
        for before, after in pairwise(self.at(host)):
            is_unread = before.path == after.path == "/robots.txt"
            least = delay if is_unread else max(delay, asked_for)
            missing = least - (after.at - before.at)
            if missing > 0 and (missing := missing - self._held_up(before.at, missing)) > 0:
                found.append((missing, before.url, after.url))
        return found

    def _held_up(self, moment: float, late: float) -> float:
        """Seconds lost while a request was on its way that came so late, if it did."""
        first = bisect_left(self._ended, moment - late - AFTERMATH)
        last = bisect_right(self._ended, moment + AFTERMATH)
        return sum(lost for _, lost in self._standstills[first:last])

    def most_at_once(self, host: str = "", grace: float = 0.005) -> int:
        """The most requests at a time: of a host, or of all together.

        A client that closes a connection and opens another is seen leaving a moment late.
        """
        events = []
        for visit in self.at(host) if host else self.visits:
            events += [(visit.at, 1), (max(visit.left - grace, visit.at), -1)]
        running = most = 0
        for _, step in sorted(events):
            running += step
            most = max(most, running)
        return most


# The side of the test.


class Server:
    """A server somewhere else."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps(self.spec)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.site = Site(self.spec, int(self._read()))
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate("")  # it ends by itself

    def log(self, standstills: Path | None = None) -> Log:
        """All that was seen so far, when all who came have left.

        `standstills` is where the clients wrote down theirs.
        """
        told = self._ask("log")
        port = self.site.port
        visits = [Visit(*entry) for entry in ([*each, port] for each in told["log"])]
        return Log(visits, [*map(tuple, told["standstills"]), *_written(standstills)])

    def forget(self) -> None:
        """Begin anew, for another crawl."""
        self._ask("forget")

    def wait(self, requests: int, seconds: float, prefix: str = "/") -> None:
        """Wait until so many more requests for such paths have come, or the time is up."""
        self._ask("wait", requests, seconds, prefix)

    def _ask(self, *command: object) -> Any:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return json.loads(self._read())

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


def _written(path: Path | None) -> Iterable[Standstill]:
    if path is not None and path.exists():
        # Whoever was killed may have been killed while writing.
        for line in path.read_text().splitlines():
            ended, _, lost = line.partition(" ")
            if lost:
                yield float(ended), float(lost)


# The side of the server.


class _Hosts:
    """What all connections share."""

    def __init__(self, port: int, spec: Spec) -> None:
        self.site = Site(spec, port)
        self.log: list[list[Any]] = []
        self.asked: Counter[tuple[str, str]] = Counter()
        self.open: set[_Talk] = set()
        self.awaited: tuple[int, str, asyncio.Future[None]] | None = None

    def came(self, at: float, host: str, path: str) -> tuple[list[Any], Answer]:
        entry = [at, host, path, None, 0]
        self.log.append(entry)
        self.asked[host, path] += 1
        if self.awaited is not None and path.startswith(self.awaited[1]):
            left, prefix, future = self.awaited
            self.awaited = (left - 1, prefix, future)
            if left <= 1 and not future.done():
                future.set_result(None)
        return entry, self.site.answer(host, path, self.asked[host, path])

    async def do(self, command: str, *arguments: Any) -> object:
        match command:
            case "log":
                while any(talk.is_asked for talk in self.open):
                    await asyncio.sleep(0.01)
                return self.log
            case "forget":
                self.log, self.asked = [], Counter()
            case "wait":
                requests, seconds, prefix = arguments
                future = asyncio.get_running_loop().create_future()
                self.awaited = requests, prefix, future
                await asyncio.wait([future], timeout=seconds)
                self.awaited = None
        return None


class _Talk(asyncio.Protocol):
    """One connection, request by request."""

    def __init__(self, hosts: _Hosts) -> None:
        self._hosts, self._begun = hosts, b""
        self._entry: list[Any] | None = None
        self._timer: asyncio.TimerHandle | None = None

    @property
    def is_asked(self) -> bool:
        return self._entry is not None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address: str = transport.get_extra_info("sockname")[0]
        self._hosts.open.add(self)

    def connection_lost(self, _: Exception | None) -> None:
        self._hosts.open.discard(self)
        if self._timer is not None:
            self._timer.cancel()
        self._left(0)

    def data_received(self, data: bytes) -> None:
        self._begun += data
        head, end, rest = self._begun.partition(b"\r\n\r\n")
        if not end:
            return
        self._begun = rest
        at = arrived(self._transport.get_extra_info("socket"))
        path = head[: head.index(b"\r\n")].split(b" ")[1].decode("ascii")
        self._entry, answer = self._hosts.came(at, self._address, path)
        if answer.seconds:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(answer.seconds, self._reply, answer)
        else:
            self._reply(answer)

    def _reply(self, answer: Answer) -> None:
        self._timer = None
        lines = [f"HTTP/1.1 {answer.status} {answer.status}"]
        lines += [f"{name}: {value}" for name, value in answer.headers]
        lines += [f"Content-Length: {len(answer.body)}", "", ""]
        body = answer.body[: len(answer.body) // 2] if answer.is_broken else answer.body
        self._left(answer.status)
        self._transport.write("\r\n".join(lines).encode("latin-1") + body)
        if answer.is_broken:
            self._transport.close()

    def _left(self, status: int) -> None:
        if self._entry is not None:
            self._entry[3:] = [time.monotonic(), status]
            self._entry = None


async def _serve(spec: Spec) -> None:
    loop, standstills = asyncio.get_running_loop(), list[Standstill]()
    hosts: _Hosts | None = None

    def talk() -> _Talk:
        assert hosts is not None
        return _Talk(hosts)

    made = await loop.create_server(talk, "0.0.0.0", 0, backlog=1024)
    port = made.sockets[0].getsockname()[1]
    hosts = _Hosts(port, spec)
    async with steady(standstills):
        gc.disable()  # a log is no garbage
        print(port, flush=True)
        while line := await asyncio.to_thread(sys.stdin.readline):
            command = json.loads(line)
            told = await hosts.do(*command)
            if command[0] == "forget":
                standstills.clear()
            answer = {"log": told, "standstills": standstills} if told is not None else None
            print(json.dumps(answer), flush=True)
    made.close()


if __name__ == "__main__":
    asyncio.run(_serve(Spec(*json.loads(sys.argv[1]))))
