"""What bad hosts do to the pace of good ones: `python -m benchmarks.fairness`.

One crawl over many hosts on loopback, served by a process of its own. Good hosts have small pages
and ask for a second between requests. Beside them stand hosts that

    hang    accept connections and never answer, every second one for pages only,
    fail    reset the connection, or answer 500,
    are huge: every page has 10,000 links that no other page has, the sitemap 20,000 URLs.

The server writes down when each request came. Compared is the median gap between requests to a good
host, with the others and without them; a ratio of 1 means that nobody notices them. Each case is a
crawl in a process made for it, stopped after some seconds; cases take turns, and ratios are medians
of those of single turns. What is CPU-ms a page is the processor time of the crawl, all its
processes and threads, by the good hosts' pages.

    python -m benchmarks.fairness               1 turn of 30 seconds, 50 hosts
    python -m benchmarks.fairness --quick       1 turn of 15 seconds, 20 hosts
    python -m benchmarks.fairness --hosts 100 --seconds 60 --turns 3
    python -m benchmarks.fairness --json FILE   writes the figures there too
"""

import argparse
import asyncio
import json
import resource
import socket
import statistics
import struct
import tempfile
import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path

from benchmarks.crawl import AGENT, process

HOSTS, SECONDS, TURNS = 50, 30.0, 1
LINKS, ENTRIES = 10_000, 20_000
BEFORE = 5.0
"""Seconds at the beginning that do not count: robots.txt files, sitemaps, and what is loaded."""
GOOD, HANGING, FAILING, HUGE = range(4)
ROBOTS = b"User-agent: *\nCrawl-delay: 1\nDisallow: /private/\n"
TEXT = "<p>Lorem ipsum dolor sit amet, consectetur adipisici elit, sed eiusmod tempor.</p>" * 20


@dataclass(frozen=True)
class Case:
    """How many hosts of each kind there are."""

    name: str
    hosts: tuple[int, int, int, int]

    def addresses(self, kind: int) -> list[str]:
        """The hosts of a kind."""
        return [f"127.77.{kind}.{number + 1}" for number in range(self.hosts[kind])]

    def starts(self, port: int) -> list[str]:
        """Where the crawl begins: the kinds mixed, as a list of sites would have them."""
        found = [
            (number / len(each), address)
            for kind in range(4)
            if (each := self.addresses(kind))
            for number, address in enumerate(each)
        ]
        return [f"http://{address}:{port}/" for _, address in sorted(found)]


def good_page(path: str) -> bytes:
    """A small page, with some links to pages of its own."""
    number = int(path[1:] or 0)
    links = "".join(f'<a href="/{number * 3 + each}">{each}</a>' for each in (1, 2, 3))
    menu = "".join(f'<a href="/{each}">{each}</a>' for each in range(1, 10))
    return f"<title>Page {number}</title><nav>{menu}</nav>{TEXT}{links}".encode()


def huge_page(path: str) -> bytes:
    """A page with very many links, to pages that no other page names."""
    name = path.strip("/").replace("/", "-") or "x"
    links = "".join(
        f'<li><a class="link" href="/{name}/{number}">Item {number}</a></li>\n'
        for number in range(LINKS)
    )
    return f"<title>{name[:50]}</title><ul>{links}</ul>".encode()


def huge_sitemap(base: str) -> bytes:
    """A sitemap with very many entries."""
    urls = "".join(f"<url><loc>{base}/s{number}</loc></url>" for number in range(ENTRIES))
    return f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'.encode()


class _Server(asyncio.Protocol):
    def __init__(self, log: list[tuple[float, str, str]]) -> None:
        self._log, self._received = log, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._address: str = transport.get_extra_info("sockname")[0]
        self._kind = int(self._address.split(".")[2])

    def data_received(self, data: bytes) -> None:
        self._received += data
        if not self._received.endswith(b"\r\n\r\n"):
            return
        path = self._received.split(b" ", 2)[1].decode("ascii")
        self._received = b""
        self._log.append((time.monotonic(), self._address, path))
        if self._kind == HANGING:
            if path == "/robots.txt" and int(self._address.split(".")[3]) % 2:
                self._reply(ROBOTS, "text/plain")
        elif self._kind == FAILING:
            self._fail(path)
        elif path == "/robots.txt":
            self._reply(ROBOTS, "text/plain")
        elif self._kind == GOOD:
            if path.startswith("/sitemap"):
                self._reply(b"", "text/plain", 404)
            else:
                self._reply(good_page(path))
        elif path.startswith("/sitemap"):
            port = self._transport.get_extra_info("sockname")[1]
            self._reply(huge_sitemap(f"http://{self._address}:{port}"), "application/xml")
        else:
            self._reply(huge_page(path))

    def _fail(self, path: str) -> None:
        if path == "/robots.txt":
            self._reply(b"", "text/plain", 404)
        elif len(self._log) % 2:
            self._reply(b"", "text/plain", 500)
        else:
            linger = struct.pack("ii", 1, 0)
            self._transport.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
            self._transport.abort()

    def _reply(self, body: bytes, kind: str = "text/html", status: int = 200) -> None:
        head = f"HTTP/1.1 {status} {status}\r\nContent-Type: {kind}\r\n"
        self._transport.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)


def serve(pipe: Connection) -> None:
    """Serve all hosts until something comes through the pipe; then tell who came when."""

    async def run() -> None:
        log: list[tuple[float, str, str]] = []
        loop, end = asyncio.get_running_loop(), asyncio.Event()
        server = await loop.create_server(lambda: _Server(log), "0.0.0.0", 0, backlog=1024)
        pipe.send(server.sockets[0].getsockname()[1])
        loop.add_reader(pipe.fileno(), end.set)
        await end.wait()
        pipe.send(log)

    asyncio.run(run())


@dataclass
class Cost:
    """What a crawl used."""

    seconds: float = 0.0
    """Of processor time, after it had begun."""
    peak: int = 0
    """Bytes in memory at most, with the processes that it started."""
    pages: int = 0
    notes: list[str] = field(default_factory=list)


def crawl(pipe: Connection, starts: list[str], seconds: float, folder: Path) -> None:
    """Crawl for some seconds, and tell what it cost."""
    import manners

    settings = manners.Settings(
        agent=AGENT,
        allow_private=True,
        max_pages=10**6,
        max_minutes=60,
        store=str(folder / "crawl.db"),
        log_level="error",
    )
    cost, before = Cost(), _used()
    made = manners.crawl(starts, settings)
    timer = threading.Timer(seconds, made.abort)
    timer.daemon = True
    timer.start()
    watch = threading.Thread(target=_watch, args=(cost,), daemon=True)
    watch.start()
    for _ in made:
        cost.pages += 1
    cost.seconds = _used() - before
    pipe.send(cost)


def _watch(cost: Cost) -> None:
    while True:
        cost.peak = max(cost.peak, _memory())
        time.sleep(0.5)


def _memory() -> int:
    """Bytes in memory, of this process and of those that it started."""
    total, waiting = 0, ["self"]
    while waiting:
        place = Path("/proc", waiting.pop())
        try:
            total += int((place / "statm").read_text().split()[1]) * resource.getpagesize()
            for task in (place / "task").iterdir():
                waiting += (task / "children").read_text().split()
        except OSError:
            continue
    return total


def _used() -> float:
    return sum(
        usage.ru_utime + usage.ru_stime
        for usage in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


@dataclass
class Result:
    """What the hosts saw of a crawl, and what it cost."""

    gap: float
    """The median of the gaps at good hosts."""
    high: float
    """What nine tenths of the gaps are below."""
    short: float
    """The shortest gap."""
    pages: int
    """Requests to good hosts."""
    huge: int
    milliseconds: float
    """Of processor time, for each request to a good host."""
    megabytes: float


def turn(case: Case, seconds: float) -> Result:
    """One crawl of a case."""
    Path(".bench").mkdir(exist_ok=True)
    with (
        tempfile.TemporaryDirectory(prefix="fair-", dir=".bench") as made,
        process(serve) as server,
    ):
        port = server.recv()
        with process(crawl, case.starts(port), seconds, Path(made).resolve()) as crawler:
            if not crawler.poll(seconds + 120):
                raise SystemExit(f"{case.name}: the crawl did not end")
            cost: Cost = crawler.recv()
        server.send("end")
        log: list[tuple[float, str, str]] = server.recv()
    return _result(log, cost)


def _result(log: list[tuple[float, str, str]], cost: Cost) -> Result:
    first = log[0][0]
    times: dict[str, list[float]] = defaultdict(list)
    huge = 0
    for at, address, path in log:
        kind = int(address.split(".")[2])
        huge += kind == HUGE
        if kind == GOOD and path != "/robots.txt" and at - first > BEFORE:
            times[address].append(at)
    gaps = sorted(later - sooner for each in times.values() for sooner, later in pairwise(each))
    pages = sum(map(len, times.values()))
    return Result(
        statistics.median(gaps),
        gaps[len(gaps) * 9 // 10],
        gaps[0],
        pages,
        huge,
        cost.seconds / pages * 1e3,
        cost.peak / 1e6,
    )


def cases(hosts: int) -> list[Case]:
    """What is compared; what the first has of good hosts, the others have too."""
    bad = max(hosts // 10, 1)
    good = hosts - 3 * bad
    return [
        Case("good hosts alone", (good, 0, 0, 0)),
        Case("10 % hanging", (good, bad, 0, 0)),
        Case("10 % failing", (good, 0, bad, 0)),
        Case("10 % huge", (good, 0, 0, bad)),
        Case("all of these", (good, bad, bad, bad)),
        Case("5 good hosts alone", (5, 0, 0, 0)),
        Case("and one huge", (5, 0, 0, 1)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--hosts", type=int, default=HOSTS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of cases, from 0")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from benchmarks.engine import machine

    hosts, seconds, turns = options.hosts, options.seconds, options.turns
    if options.quick:
        hosts, seconds, turns = 20, 15.0, 1
    print(f"{machine()}\n{hosts} hosts, {seconds:g} seconds, turns: {turns}", flush=True)
    chosen = [
        case
        for number, case in enumerate(cases(hosts))
        if options.only is None or number in options.only
    ]
    found: dict[str, list[Result]] = {case.name: [] for case in chosen}
    for _ in range(turns):
        for case in chosen:
            found[case.name].append(turn(case, seconds))
            print(".", end="", flush=True)
    print(f"\n{'':<20}{'median gap':>12}{'ratio':>8}{'9 of 10':>9}{'shortest':>10}", end="")
    print(f"{'requests':>10}{'to huge':>9}{'CPU-ms each':>13}{'MB':>6}")
    figures: dict[str, float] = {}
    base: list[Result] = []
    for case in chosen:
        results = found[case.name]
        if not any(case.hosts[1:]):
            base = results
        ratios = [a.gap / b.gap for a, b in zip(results, base or results, strict=True)]
        middle = {
            name: statistics.median(getattr(each, name) for each in results)
            for name in Result.__dataclass_fields__
        }
        ratio = statistics.median(ratios)
        print(f"{case.name:<20}{middle['gap']:>10.3f} s{ratio:>8.2f}{middle['high']:>9.2f}", end="")
        print(f"{middle['short']:>10.3f}{middle['pages']:>10,.0f}{middle['huge']:>9,.0f}", end="")
        print(f"{middle['milliseconds']:>13.1f}{middle['megabytes']:>6.0f}")
        figures |= {f"{case.name}, {name}": value for name, value in middle.items()}
        figures[f"{case.name}, ratio"] = ratio
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
