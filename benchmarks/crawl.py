"""What a crawl costs, next to Scrapy: `python -m benchmarks.crawl`.

Both crawl the same site on loopback, made by formula in a process of its own: pages of 10 KB with
30 links each, through which all are reached, and some to what its robots.txt does not allow. 16
requests at a time, no delays, robots.txt obeyed, no cache, nothing logged below warnings, links
taken from every page. Manners keeps its frontier and its evidence in a file; Scrapy keeps its queue
in memory, and no cookies. A row is manners with a purpose, which has to look at every page; nothing
says anything about it there. Another archives every page. For orientation: aiohttp and lexbor in a
loop that keeps nothing, and knows without asking what is not allowed.

Everybody crawls in a process made for one turn, and has a turn before anybody has the next.
Processor time is that of the whole process, all threads of it, from its start; what of it was spent
before the first page has a column of its own. Ratios are medians of those of single turns. The
server counts what it is asked for: who leaves a page out, asks for one twice (Scrapy does so with
the first), or for one that is not allowed, ends the benchmark.

    python -m benchmarks.crawl                  3 turns of 2,000 pages
    python -m benchmarks.crawl --quick          1 turn of 500
    python -m benchmarks.crawl --pages 20000 --turns 1
    python -m benchmarks.crawl --memory         manners alone: memory for 20,000 and 100,000 pages
    python -m benchmarks.crawl --memory 1000 5000
    python -m benchmarks.crawl --json FILE      writes the figures there too
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import sqlite3
import statistics
import tempfile
import time
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from importlib.metadata import PackageNotFoundError, version
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

IN_FLIGHT = 16
PAGES, TURNS, QUICK = 2_000, 3, 500
MEMORY = (20_000, 100_000)
LIMIT = 3_600
"""Seconds after which a turn has failed."""
AGENT = "MyBot/1.0 (+https://example.com/bot)"


# The site.

LINKS, BRANCHES, MENU, BARRED = 30, 12, 6, 2
SECTIONS = ("about", "articles", "events", "guide", "news", "products", "support")
ROBOTS = b"""\
User-agent: *
Disallow: /private/
Disallow: /*.pdf$
Disallow: /search?
Allow: /private/press.html$

User-agent: OtherBot
Disallow: /
"""
TEXT = "Lorem ipsum dolor sit amet, consectetur adipisici elit, sed eiusmod tempor incidunt. " * 2
TEXT += "Ut enim ad minim veniam, quis nostrud exercitation."
HEAD = "HTTP/1.1 200 OK\r\nContent-Type: %s; charset=utf-8\r\nContent-Length: %d\r\n\r\n"
MISSING = b"HTTP/1.1 404 Not Found\r\nContent-Type: text/plain\r\nContent-Length: 0\r\n\r\n"
SPREAD = 2_654_435_761  # a prime: pages that are linked lie all over the site


def path(number: int) -> str:
    """Where a page is."""
    return f"/{SECTIONS[number % len(SECTIONS)]}/{number}.html"


def is_allowed(where: str) -> bool:
    """What the site's robots.txt says, known by heart."""
    return not (where.startswith(("/private/", "/search?")) or where.endswith(".pdf"))


def links(number: int, total: int) -> list[str]:
    """What a page links to: the menu, what lies below it, others, and what is not allowed.

    Page n leads to pages 12n + 1 to 12n + 12, so that each is reached from the first.
    """
    first = number * BRANCHES + 1
    below = [path(each) for each in range(first, min(first + BRANCHES, total))]
    menu = [path(each) for each in range(min(MENU, total))]
    barred = [f"/private/{number // 20}.html", f"/files/{number // 20}.pdf"]
    rest = LINKS - len(below) - len(menu) - BARRED
    others = [path((number * SPREAD + each * 40_503 + 1) % total) for each in range(rest)]
    # People write links in several ways.
    others[0] += "#top"
    others[1] = ".." + others[1]
    return [*menu, *below, *others, *barred]


def page(number: int, total: int) -> str:
    """A page as sites have them: a title, a list of links with some text, a footer."""
    items = "".join(
        f'<li class="item"><a class="link" href="{link}"><span>Link {place}</span></a>'
        f'<p class="text">{TEXT}</p></li>\n'
        for place, link in enumerate(links(number, total))
    )
    return (
        f"<!DOCTYPE html><html lang=en><head><meta charset=utf-8><title>Page {number}</title>"
        '<link rel=stylesheet href="/s.css"><script>window.data = {a: 1 < 2};</script></head>'
        f"<body><header><h1>Page {number}</h1></header><main><ul>\n{items}</ul></main>"
        "<footer><p>The end</p></footer></body></html>\n"
    )


class Log:
    """What a server was asked for."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.asked = bytearray(total)
        """How often, for each page."""
        self.robots = 0
        self.barred: list[str] = []
        """What is not allowed, or not there."""

    def answer(self, where: str) -> bytes:
        """The reply to a request, which is noted."""
        if where == "/robots.txt":
            self.robots += 1
            return (HEAD % ("text/plain", len(ROBOTS))).encode() + ROBOTS
        name = where.rpartition("/")[2].removesuffix(".html")
        number = int(name) if name.isdecimal() else self.total
        if number < self.total and where == path(number):
            self.asked[number] = min(self.asked[number] + 1, 255)
            body = page(number, self.total).encode()
            return (HEAD % ("text/html", len(body))).encode() + body
        self.barred.append(where)
        return MISSING


class _Server(asyncio.Protocol):
    def __init__(self, log: Log) -> None:
        self._log, self._received = log, b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        if self._received.endswith(b"\r\n\r\n"):  # nobody here sends two requests at once
            where = self._received.split(b" ", 2)[1].decode("ascii")
            self._received = b""
            self._transport.write(self._log.answer(where))


def serve(pipe: Connection, total: int) -> None:
    """Serve a site until something comes through the pipe; then tell what was asked for."""

    async def run() -> None:
        loop, log, end = asyncio.get_running_loop(), Log(total), asyncio.Event()
        server = await loop.create_server(lambda: _Server(log), "127.0.0.1", 0)
        pipe.send(server.sockets[0].getsockname()[1])
        loop.add_reader(pipe.fileno(), end.set)
        await end.wait()
        pipe.send((Counter(log.asked), log.robots, log.barred[:10]))

    asyncio.run(run())


# Who crawls it.


@dataclass
class Measure:
    """What one crawl cost."""

    total: int
    """Pages of the site."""
    pages: int = 0
    """Pages that were fetched, in fact."""
    seconds: float = 0.0
    """From the call that begins the crawl to its end."""
    used: float = 0.0
    """Seconds of processor time, of the whole process."""
    before: float = 0.0
    """What of it was used before the first page."""
    resident: list[int] = field(default_factory=list)
    """Bytes in memory after each fifth of the pages."""
    peak: int = 0

    def fetched(self) -> None:
        """Note that a page was fetched."""
        self.pages += 1
        if self.pages == 1:
            self.before = _used()
        if self.pages % max(self.total // 5, 1) == 0:
            self.resident.append(_memory("VmRSS"))

    @contextmanager
    def crawling(self) -> Iterator[None]:
        """Note what is used in here."""
        start = time.perf_counter()
        yield
        self.seconds, self.used = time.perf_counter() - start, _used()
        self.peak = _memory("VmHWM")


def _used() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def _memory(name: str) -> int:
    """Bytes, by the name that Linux has for it; ru_maxrss would be the parent's at first."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition(f"{name}:")[2].split()[0]) * 1024


def own(start: str, measure: Measure, folder: Path, **changes: Any) -> None:
    import manners

    settings = manners.Settings(
        agent=AGENT,
        allow_private=True,
        min_delay=0.0,
        max_delay=0.0,
        adaptive_factor=0.0,
        concurrency=IN_FLIGHT,
        connections=IN_FLIGHT,
        max_pages=10**6,
        max_minutes=LIMIT / 60,
        source="links",
        trap_alike=10**9,
        store=str(folder / "crawl.db"),
        log_level="warning",
        **changes,
    )
    with measure.crawling():
        for each in manners.crawl([start], settings):
            if each.ok:
                measure.fetched()


def for_purpose(start: str, measure: Measure, folder: Path) -> None:
    own(start, measure, folder, purpose="ai-train")


def archiving(start: str, measure: Measure, folder: Path) -> None:
    own(start, measure, folder, warc=str(folder / "warc"))


def scrapy(start: str, measure: Measure, folder: Path) -> None:  # noqa: ARG001
    from scrapy import Request, Spider
    from scrapy.crawler import CrawlerProcess
    from scrapy.http import Response, TextResponse

    class Everything(Spider):
        name = "everything"
        start_urls = [start]  # noqa: RUF012

        def parse(self, response: Response, **_: Any) -> Iterable[Request]:
            measure.fetched()
            assert isinstance(response, TextResponse)
            # The cheapest of its ways: with LinkExtractor a page costs a quarter more.
            return response.follow_all(css="a::attr(href)", callback=self.parse)

    settings = {
        "USER_AGENT": AGENT,
        "ROBOTSTXT_OBEY": True,
        "CONCURRENT_REQUESTS": IN_FLIGHT,
        "CONCURRENT_REQUESTS_PER_DOMAIN": IN_FLIGHT,
        "DOWNLOAD_DELAY": 0,
        "AUTOTHROTTLE_ENABLED": False,
        "HTTPCACHE_ENABLED": False,
        "COOKIES_ENABLED": False,
        "TELNETCONSOLE_ENABLED": False,
        "LOG_LEVEL": "WARNING",
    }
    with measure.crawling():
        process = CrawlerProcess(settings)
        process.crawl(Everything)
        process.start()


def bare(start: str, measure: Measure, folder: Path) -> None:  # noqa: ARG001
    import aiohttp
    from selectolax.lexbor import LexborHTMLParser

    async def run() -> None:
        waiting, known, running = deque([start]), {start}, set[asyncio.Task[None]]()
        site = start.removesuffix(path(0))

        async def fetch(session: aiohttp.ClientSession, url: str) -> None:
            async with session.get(url) as reply:
                body = await reply.read()
            measure.fetched()
            for node in LexborHTMLParser(body).css("a[href]"):
                link = urljoin(url, node.attributes["href"] or "").partition("#")[0]
                if link not in known and is_allowed(link.removeprefix(site)):
                    known.add(link)
                    waiting.append(link)

        connector = aiohttp.TCPConnector(limit=IN_FLIGHT)
        async with aiohttp.ClientSession(connector=connector) as session:
            while waiting or running:
                while waiting and len(running) < IN_FLIGHT:
                    running.add(asyncio.create_task(fetch(session, waiting.popleft())))
                done, running = await asyncio.wait(running, return_when="FIRST_COMPLETED")
                for task in done:
                    task.result()

    with measure.crawling():
        asyncio.run(run())


Way = Callable[[str, Measure, Path], None]
OWN, OTHER, BARE = "manners", "scrapy", "aiohttp, lexbor"
PURPOSE, ARCHIVE = "manners --purpose", "manners --warc"
WAYS: dict[str, Way] = {
    OWN: own,
    PURPOSE: for_purpose,
    ARCHIVE: archiving,
    OTHER: scrapy,
    BARE: bare,
}


def crawl(pipe: Connection, name: str, port: int, total: int, folder: Path) -> None:
    """Crawl the site at a port in one of these ways, and tell what it cost."""
    measure = Measure(total)
    WAYS[name](f"http://127.0.0.1:{port}{path(0)}", measure, folder)
    pipe.send(measure)


# The turns.


@contextmanager
def process(work: Callable[..., None], *arguments: object) -> Iterator[Connection]:
    """A process of its own for some work, and a pipe to it."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    made = context.Process(target=work, args=(there, *arguments), daemon=True)
    made.start()
    there.close()
    try:
        yield here
        made.join(5)
    finally:
        made.kill()
        made.join()


def turn(name: str, total: int) -> Measure:
    """One crawl by one of them, of a site that nobody else is on; checked."""
    Path(".bench").mkdir(exist_ok=True)  # where /tmp is memory, nothing there is durable
    with (
        tempfile.TemporaryDirectory(prefix="crawl-", dir=".bench") as made,
        process(serve, total) as server,
    ):
        folder = Path(made).resolve()
        with process(crawl, name, server.recv(), total, folder) as crawler:
            if not crawler.poll(LIMIT):
                raise SystemExit(f"{name}: not done within {LIMIT} seconds")
            try:
                measure: Measure = crawler.recv()
            except EOFError:
                raise SystemExit(f"{name}: failed") from None
        server.send("end")
        check(name, measure, *server.recv())
        if name in (OWN, PURPOSE, ARCHIVE):
            check_store(folder / "crawl.db", total)
    return measure


def check(name: str, measure: Measure, asked: Counter[int], robots: int, barred: list[str]) -> None:
    """Fail where a crawl is not what it has to be."""
    total = measure.total
    # Scrapy does not take the first page for known when it is linked.
    expected, pages = ({1: total - 1, 2: 1}, total + 1) if name == OTHER else ({1: total}, total)
    problems = []
    if asked != expected:
        problems.append(f"how often pages were asked for, and how many so often: {dict(asked)}")
    if measure.pages != pages:
        problems.append(f"{measure.pages:,} pages were seen, not {pages:,}")
    if barred:
        problems.append(f"asked for what is not allowed, or not there: {barred}")
    if robots != (name != BARE):
        problems.append(f"robots.txt was asked for {robots} times")
    if problems:
        raise SystemExit(f"{name}: {'; '.join(problems)}")


def check_store(store: Path, total: int) -> None:
    """Fail where a page is not in the frontier, or a decision not in the evidence."""
    barred = len({link for number in range(total) for link in links(number, total)[-BARRED:]})
    with closing(sqlite3.connect(store)) as connection:
        states = dict(connection.execute("SELECT state, count(*) FROM urls GROUP BY state"))
        records = connection.execute("SELECT count(*) FROM evidence").fetchone()[0]
    if states != {"done": total, "blocked": barred} or records != total + barred:
        raise SystemExit(f"{OWN}: {total:,} pages, but {states}, and {records:,} records")


def compare(names: list[str], total: int, turns: int) -> dict[str, float]:
    """Everybody by turns, and a table."""
    found: dict[str, list[Measure]] = {name: [] for name in names}
    for _ in range(turns):
        for name in names:
            found[name].append(turn(name, total))
    print(f"\n{total:,} pages, {IN_FLIGHT} at a time, turns: {turns}")
    print(f"{'':<18}{'pages a second':>16}{'processor ms each':>20}", end="")
    print(f"{'s before the first':>20}{'MB at the end':>16}{'at most':>10}")
    figures: dict[str, float] = {}
    for name, measures in found.items():

        def middle(title: str, figure: Callable[[Measure], float]) -> float:
            value = statistics.median(map(figure, measures))  # noqa: B023
            figures[f"{name}, {title}"] = value  # noqa: B023
            return value

        print(f"{name:<18}", end="")
        print(f"{middle('pages a second', lambda each: each.pages / each.seconds):>16,.0f}", end="")
        print(f"{middle('processor ms', lambda each: each.used / each.pages * 1e3):>20.2f}", end="")
        print(f"{middle('processor s before', lambda each: each.before):>20.2f}", end="")
        print(f"{middle('MB at the end', lambda each: each.resident[-1] / 1e6):>16.0f}", end="")
        print(f"{middle('MB at most', lambda each: each.peak / 1e6):>10.0f}")
    for name in names[1:]:
        pairs = list(zip(found[OWN], found[name], strict=True))
        rates = [a.pages / a.used / (b.pages / b.used) for a, b in pairs]
        later = [_later(a) / _later(b) for a, b in pairs]
        figures[f"ratio to {name}"] = statistics.median(rates)
        figures[f"ratio to {name}, after the first"] = statistics.median(later)
        print(f"pages a processor-second, {OWN} / {name}: {statistics.median(rates):.2f}", end="")
        print(f" ({statistics.median(later):.2f} after the first page)")
    return figures


def _later(measure: Measure) -> float:
    """Pages a second of processor time, from the first on."""
    return (measure.pages - 1) / (measure.used - measure.before)


def remember(sizes: list[int]) -> dict[str, float]:
    """How much memory manners needs for sites of several sizes, and a table."""
    print(f"\n{'pages':<12}{'MB at a fifth, …, at the end':<40}{'at most':>10}", end="")
    print(f"{'pages a second':>18}{'processor ms each':>20}", flush=True)
    figures: dict[str, float] = {}
    ends: list[int] = []
    for total in sizes:
        measure = turn(OWN, total)
        ends.append(measure.resident[-1])
        figures[f"MB at the end of {total}"] = ends[-1] / 1e6
        figures[f"MB at most of {total}"] = measure.peak / 1e6
        steps = "".join(f"{each / 1e6:>7.1f}" for each in measure.resident)
        print(f"{total:<12,}{steps:<40}{measure.peak / 1e6:>10.1f}", end="")
        print(f"{measure.pages / measure.seconds:>18,.0f}", end="")
        print(f"{measure.used / measure.pages * 1e3:>20.2f}", flush=True)
    figures["memory, ratio"] = ends[-1] / ends[0]
    print(f"the last / the first, at the end: {figures['memory, ratio']:.3f}")
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages", type=int, default=PAGES)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--memory", type=int, nargs="*", metavar="PAGES")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    from benchmarks.engine import machine

    print(machine(), end="")
    names = [OWN, PURPOSE]
    for name, library in ((ARCHIVE, "fastwarc"), (OTHER, "scrapy"), (BARE, "aiohttp")):
        try:
            print(f", {library} {version(library)}", end="")
            names.append(name)
        except PackageNotFoundError:
            print(f", without {library}", end="")
    print(flush=True)
    if options.memory is not None:
        figures = remember(options.memory or list(MEMORY))
    else:
        total, turns = (QUICK, 1) if options.quick else (options.pages, options.turns)
        figures = compare(names, total, turns)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
