"""A web of up to a thousand hosts and more on loopback, for crawls by several processes.

    with Web(WebSpec(hosts=40, pages=38), folder) as web:
        ...                             crawl web.site.starts
        seen = web.seen()               every request, by the clock of the server

The server is a process of its own. Each host is an address of 127/8, all on one port. What is on a
host follows from its number by a formula, so that the truth needs no search: every page leads to
two that lie below it, to pages beside it, and to pages of other hosts; the first page of a host
also leads to the first pages of two other hosts, to redirects, to what is not there, to what is
disallowed, and on some hosts to what fails.

Every request is appended to a file when it is answered, with the address it came from: processes
of a fleet call from an address that says who they are (`fleet_process.py`).
"""

import asyncio
import gc
import json
import os
import subprocess
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from functools import cached_property
from pathlib import Path
from typing import NamedTuple, Self

from tests.crawler.fleet_process import pid_of
from tests.crawler.generated_process import Watch
from tests.faults.arrival import arrived

ROOT = Path(__file__).parents[2]
_SECTIONS = ("news", "shop", "help", "team", "town")
_SPREAD = 2_654_435_761  # a prime: pages that are linked lie all over the web
_FIRST = 127 << 24 | 16 << 16 | 1
_TENTH = 10
"""One host in so many asks for a longer delay, and another one has a page that fails."""


# What there is.


class WebSpec(NamedTuple):
    """What a web is made from: the same makes the same."""

    hosts: int = 40
    pages: int = 38
    """Of each host, besides redirects and the like."""
    crawl_delay: float = 0.0
    """What the robots.txt of some hosts asks for; 0: none does."""
    links: int = 4
    """To other pages, besides those that lie below a page."""
    answer_seconds: float = 0.0
    """How long an answer takes."""
    specials: bool = True
    """Whether there are redirects, pages that are not there, disallowed ones, and failures."""
    padding: int = 200
    """Bytes of text on each page."""


class Fate(NamedTuple):
    """What a crawl has to make of a URL."""

    state: str
    status: int | None
    reason: str | None = ""
    """None: any, as the words for what failed are not told here."""
    asked: int = 1
    """How often it is asked for."""


class FleetSite:
    """Hosts and pages by number, and what has to become of each."""

    def __init__(self, spec: WebSpec, port: int, attempts: int = 2) -> None:
        self.spec, self.port, self.attempts = spec, port, attempts

    def address(self, host: int) -> str:
        """The address of a host."""
        number = _FIRST + host
        return ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))

    def number(self, address: str) -> int:
        """The host that has an address; below 0, or too large, where none has."""
        value = 0
        for part in address.split("."):
            value = value << 8 | int(part)
        return value - _FIRST

    def url(self, host: int, path: str = "/") -> str:
        return f"http://{self.address(host)}:{self.port}{path}"

    @property
    def starts(self) -> list[str]:
        """Where a crawl begins: from here all hosts are reached."""
        return [self.url(0)]

    def delay(self, host: int) -> float:
        """What the robots.txt of a host asks for."""
        return self.spec.crawl_delay if host % _TENTH == 3 else 0.0

    def path(self, page: int) -> str:
        return f"/{_SECTIONS[page % len(_SECTIONS)]}/{page}" if page else "/"

    def links(self, host: int, page: int) -> Iterator[tuple[int, str]]:
        """Where a page leads to: hosts and paths."""
        hosts, pages = self.spec.hosts, self.spec.pages
        for below in (2 * page + 1, 2 * page + 2):
            if below < pages:
                yield host, self.path(below)
        for number in range(self.spec.links):
            mixed = ((host * 31 + page) * 7 + number) * _SPREAD >> 7
            other = host if number % 2 else mixed % hosts
            yield other, self.path((mixed >> 5) % pages)
        if page == 0:
            for below in (2 * host + 1, 2 * host + 2):
                if below < hosts:
                    yield below, "/"
            if self.spec.specials:
                yield from ((host, path) for path in self._specials(host))

    def _specials(self, host: int) -> Iterator[str]:
        yield from ("/go/near", "/go/far", "/gone/a", "/private/a")
        if host % _TENTH == 5:
            yield "/broken/a"

    def target(self, host: int, path: str) -> tuple[int, str]:
        """Where a redirect leads to: a page that is linked, too."""
        if path == "/go/near":
            return host, self.path(self.spec.pages - 1)
        return (host + 1) % self.spec.hosts, self.path(self.spec.pages // 2)

    @cached_property
    def truth(self) -> dict[str, Fate]:
        """What has to become of every URL; it is a plain product, as every page is linked."""
        found = {}
        for host in range(self.spec.hosts):
            for page in range(self.spec.pages):
                found[self.url(host, self.path(page))] = Fate("done", 200)
            for path in self._specials(host) if self.spec.specials else ():
                found[self.url(host, path)] = {
                    "/go/near": Fate("done", 302, "redirect"),
                    "/go/far": Fate("done", 302, "redirect"),
                    "/gone/a": Fate("done", 404),
                    "/private/a": Fate("blocked", None, "rule-matched", 0),
                    "/broken/a": Fate("failed", 500, None, self.attempts),
                }[path]
        return found

    def answer(self, address: str, path: str) -> tuple[int, str, bytes]:
        """A status, a header line or nothing, and a body."""
        host = self.number(address)
        if not 0 <= host < self.spec.hosts:
            return 404, "", b""
        if path == "/robots.txt":
            delay = self.delay(host)
            line = f"Crawl-delay: {delay:g}\n" if delay else ""
            return 200, "Content-Type: text/plain", f"{_ROBOTS}{line}".encode()
        if path.startswith("/go/") and self.spec.specials:
            return 302, f"Location: {self.url(*self.target(host, path))}", b""
        if path == "/broken/a":
            return 500, "", b""
        page = self._page(path)
        if page is None:
            return 404, "", b""
        items = "".join(
            f'<li><a href="{there if other == host else self.url(other, there)}">to</a>\n'
            for other, there in self.links(host, page)
        )
        text = "x" * self.spec.padding
        body = f"<!DOCTYPE html><title>{host} {page}</title><ul>\n{items}</ul><p>{text}"
        return 200, "Content-Type: text/html; charset=utf-8", body.encode()

    def _page(self, path: str) -> int | None:
        if path == "/":
            return 0
        _, _, number = path.rpartition("/")
        page = int(number) if number.isdecimal() else -1
        return page if 0 < page < self.spec.pages and self.path(page) == path else None


_ROBOTS = "User-agent: *\nDisallow: /private/\n"


# The log.


class Ask(NamedTuple):
    """One request, as the server saw it."""

    at: float
    """When it came, by the clock that only goes forward."""
    wall: float
    """The same by the clock on the wall, which stores go by."""
    host: str
    path: str
    left: float
    """When it was answered, or the client was gone."""
    status: int
    """What was answered; 0 where the client was gone before."""
    pid: int
    """The process that asked; 0 where it did not say so."""
    peer: int
    """The port that it came from: one for each connection."""
    read: float
    """When the server read it, by the clock on the wall."""

    def __str__(self) -> str:
        clock = time.strftime("%H:%M:%S", time.gmtime(self.wall))
        parts = f"{clock}.{int(self.wall % 1 * 1e3):03} {self.host}{self.path} {self.status}"
        return f"{parts} after {(self.left - self.at) * 1e3:.0f} ms, process {self.pid}:{self.peer}"


class Seen:
    """All requests that a server saw, as they came."""

    def __init__(self, asks: Iterable[Ask], port: int) -> None:
        self.asks, self.port = sorted(asks), port
        self.by_host: dict[str, list[Ask]] = defaultdict(list)
        for ask in self.asks:
            self.by_host[ask.host].append(ask)

    def url(self, ask: Ask) -> str:
        return f"http://{ask.host}:{self.port}{ask.path}"

    @cached_property
    def by_url(self) -> dict[str, list[Ask]]:
        """The requests for each URL, robots.txt files aside."""
        found: dict[str, list[Ask]] = defaultdict(list)
        for ask in self.asks:
            if ask.path != "/robots.txt":
                found[self.url(ask)].append(ask)
        return found

    @property
    def requests(self) -> Counter[str]:
        return Counter({url: len(asks) for url, asks in self.by_url.items()})

    def around(self, ask: Ask, number: int = 3) -> str:
        """What the same host saw before and after a request, one line each."""
        asks = self.by_host[ask.host]
        place = asks.index(ask)
        lines = asks[max(place - number, 0) : place + number + 1]
        return "\n".join(f"    {'>' if each is ask else ' '} {each}" for each in lines)


# The side of the test.


class Web:
    """A server somewhere else; `folder` keeps its log."""

    def __init__(self, spec: WebSpec, folder: Path) -> None:
        self.spec, self.folder = spec, folder
        self._log = folder / "requests"
        self._counted = (0, 0)

    def __enter__(self) -> Self:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__, json.dumps(self.spec), str(self.folder)],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        self.site = FleetSite(self.spec, int(self._process.stdout.readline()))
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate("")  # it ends by itself

    @property
    def pid(self) -> int:
        return self._process.pid

    def count(self) -> int:
        """How many requests there were, robots.txt files included."""
        if not self._log.exists():
            return 0
        place, number = self._counted
        with self._log.open("rb") as file:
            file.seek(place)
            data = file.read()
        self._counted = place + len(data), number + data.count(b"\n")
        return self._counted[1]

    def seen(self) -> Seen:
        """What was answered so far."""
        lines = self._log.read_text().splitlines() if self._log.exists() else []
        return Seen(map(_read, lines), self.site.port)


def _read(line: str) -> Ask:
    at, wall, host, path, left, status, peer, port, read = line.split("\t")
    who, code = pid_of(peer), int(status)
    return Ask(float(at), float(wall), host, path, float(left), code, who, int(port), float(read))


# The side of the server.


def wall_offset() -> float:
    """Seconds that the clock on the wall is ahead of the monotonic one.

    A busy machine may stop the process between two looks, so that they are not of one moment.
    """
    looks = []
    for _ in range(10):
        before, wall, after = time.monotonic(), time.time(), time.monotonic()
        looks.append((after - before, wall - before))
        if after - before < 0.001:
            break
    return min(looks)[1]


class _Talk(asyncio.Protocol):
    """One connection, request by request."""

    def __init__(self, site: FleetSite, log: int) -> None:
        self._site, self._log, self._begun = site, log, b""
        self._asked: tuple[float, float, str, float] | None = None
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address: str = transport.get_extra_info("sockname")[0]
        self._peer: tuple[str, int] = transport.get_extra_info("peername")

    def connection_lost(self, _: Exception | None) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._note(0)

    def data_received(self, data: bytes) -> None:
        self._begun += data
        head, end, rest = self._begun.partition(b"\r\n\r\n")
        if not end:
            return
        self._begun = rest
        at = arrived(self._transport.get_extra_info("socket"))
        path = head[: head.index(b"\r\n")].split(b" ")[1].decode("ascii")
        self._asked = at, at + wall_offset(), path, time.time()
        if seconds := self._site.spec.answer_seconds:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._reply)
        else:
            self._reply()

    def _reply(self) -> None:
        self._timer = None
        assert self._asked is not None
        status, header, body = self._site.answer(self._address, self._asked[2])
        lines = [f"HTTP/1.1 {status} {status}", *([header] if header else [])]
        lines += [f"Content-Length: {len(body)}", "", ""]
        self._note(status)
        self._transport.write("\r\n".join(lines).encode("latin-1") + body)

    def _note(self, status: int) -> None:
        if self._asked is not None:
            at, wall, path, read = self._asked
            self._asked = None
            line = f"{at:.6f}\t{wall:.6f}\t{self._address}\t{path}\t{time.monotonic():.6f}"
            line += f"\t{status}\t{self._peer[0]}\t{self._peer[1]}\t{read:.6f}\n"
            os.write(self._log, line.encode())


async def _serve(spec: WebSpec, folder: Path) -> None:
    loop = asyncio.get_running_loop()
    log = os.open(folder / "requests", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    site = FleetSite(spec, 0)
    made = await loop.create_server(lambda: _Talk(site, log), "0.0.0.0", 0, backlog=4096)
    site.port = made.sockets[0].getsockname()[1]
    Watch(str(folder / f"standstills.{os.getpid()}"))
    gc.collect()
    gc.freeze()
    print(site.port, flush=True)
    await asyncio.to_thread(sys.stdin.read)
    made.close()


if __name__ == "__main__":
    asyncio.run(_serve(WebSpec(*json.loads(sys.argv[1])), Path(sys.argv[2])))
