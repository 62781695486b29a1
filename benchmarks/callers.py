"""What manners costs in the clients of other libraries; `benchmarks.dropins` shows it.

As in `benchmarks.client`: pages of 10 KB on loopback, no delays, slots for everybody. What is
measured is the work of asking robots.txt, standing in line and taking a slot, as processor time of
the asking process for each request. Each library is measured alone and with manners, in short turns
one after the other; the ratio is the median of those of single turns.
"""

import asyncio
import json
import multiprocessing
import resource
import statistics
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from typing import Any, NamedTuple

from benchmarks.client import BODY, IN_FLIGHT, SETTINGS, WARM_UP, Fetch, by_turns, pages, serve

AGENT = "MyBot/1.0"
ALONE, POLITE = "alone", "with manners"
Ask = Callable[[str], int]


class Cost(NamedTuple):
    """Processor time of a request, in microseconds, turn by turn."""

    library: str
    alone: list[float]
    polite: list[float]

    @property
    def ratio(self) -> float:
        """How many times as much it is with manners."""
        pairs = zip(self.polite, self.alone, strict=True)
        return statistics.median(polite / alone for polite, alone in pairs)

    def to_dict(self) -> dict[str, Any]:
        return {
            "library": self.library,
            "alone, processor us": statistics.median(self.alone),
            "with manners, processor us": statistics.median(self.polite),
            "ratio": self.ratio,
        }


# Blocking.


@contextmanager
def requests_session(polite: bool) -> Iterator[Ask]:
    import requests

    from manners.compat.requests import PoliteAdapter

    with requests.Session() as session:
        session.trust_env = False
        if polite:
            session.mount("http://", PoliteAdapter(AGENT, SETTINGS))
        yield lambda url: len(session.get(url).content)


@contextmanager
def httpx_client(polite: bool) -> Iterator[Ask]:
    import httpx

    from manners.compat.httpx import PoliteTransport

    transport = PoliteTransport(AGENT, SETTINGS) if polite else httpx.HTTPTransport()
    with httpx.Client(transport=transport) as client:
        yield lambda url: len(client.get(url).content)


def in_turns(library: str, make: Any, port: int, turns: int, count: int) -> Cost:
    """One request after the other, as blocking programs make them."""
    found: dict[str, list[float]] = {ALONE: [], POLITE: []}
    with ExitStack() as stack:
        ways = {name: stack.enter_context(make(name == POLITE)) for name in found}
        for turn in range(turns + WARM_UP):
            for name, ask in ways.items():
                before = processor()
                for url in pages(port, count, turn):
                    if ask(url) != len(BODY):
                        raise AssertionError(url)
                if turn >= WARM_UP:
                    found[name].append((processor() - before) / count * 1e6)
    return Cost(library, found[ALONE], found[POLITE])


def processor() -> float:
    """Seconds of processor time of this process, all threads together."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


# Async.


@asynccontextmanager
async def aiohttp_session(polite: bool) -> AsyncIterator[Fetch]:
    import aiohttp

    from manners.compat.aiohttp import PoliteMiddleware

    ours = PoliteMiddleware(AGENT, SETTINGS)
    async with (
        ours,
        aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=IN_FLIGHT * 4),
            middlewares=[ours] if polite else [],
        ) as session,
    ):

        async def fetch(url: str) -> None:
            async with session.get(url) as reply:
                if len(await reply.read()) != len(BODY):
                    raise AssertionError(url)

        yield fetch


@asynccontextmanager
async def httpx_async_client(polite: bool) -> AsyncIterator[Fetch]:
    import httpx

    from manners.compat.httpx import AsyncPoliteTransport

    transport = AsyncPoliteTransport(AGENT, SETTINGS) if polite else httpx.AsyncHTTPTransport()
    async with httpx.AsyncClient(transport=transport, timeout=60) as client:

        async def fetch(url: str) -> None:
            if len((await client.get(url)).content) != len(BODY):
                raise AssertionError(url)

        yield fetch


def at_once(library: str, make: Any, port: int, turns: int, count: int) -> Cost:
    """Many requests at a time, as async programs make them."""
    ways = {ALONE: make(False), POLITE: make(True)}
    found = asyncio.run(by_turns(port, ways, turns, count))
    return Cost(library, *([used for _, used in found[name]] for name in (ALONE, POLITE)))


# Scrapy.

CRAWL = """
import json, resource, sys

import scrapy
from scrapy import signals
from scrapy.crawler import CrawlerProcess


def processor():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


class Pages(scrapy.Spider):
    name = "pages"

    def parse(self, response):
        pass


urls, polite, manners = json.loads(sys.argv[1])
ours = {
    "scrapy.downloadermiddlewares.robotstxt.RobotsTxtMiddleware": None,
    "manners.compat.scrapy.MannersMiddleware": 100,
}
process = CrawlerProcess({
    "ROBOTSTXT_OBEY": True,
    "DOWNLOADER_MIDDLEWARES": ours if polite else {},
    "MANNERS": manners,
    "USER_AGENT": "MyBot/1.0",
    "LOG_ENABLED": False,
    "TELNETCONSOLE_ENABLED": False,
})
crawler = process.create_crawler(Pages)
marks = []
for signal in (signals.spider_opened, signals.spider_closed):
    crawler.signals.connect(lambda: marks.append(processor()), signal, weak=False)
process.crawl(crawler, start_urls=urls)
process.start()
assert crawler.stats.get_value("downloader/response_status_count/200") >= len(urls)
print(marks[1] - marks[0])
"""
ZERO = {"min_delay": 0.0, "max_delay": 0.0, "adaptive_factor": 0.0, "allow_private": True}


def crawls(library: str, _: Any, port: int, turns: int, count: int) -> Cost:
    """A crawl a turn, in a process of its own; Scrapy alone obeys robots.txt, too."""
    found: dict[str, list[float]] = {ALONE: [], POLITE: []}
    for turn in range(turns):
        for name, times in found.items():
            given = json.dumps([pages(port, count, turn), name == POLITE, ZERO])
            ran = subprocess.run(
                [sys.executable, "-c", CRAWL, given],
                capture_output=True,
                text=True,
                check=True,
                timeout=120,
            )
            times.append(float(ran.stdout) / count * 1e6)
    return Cost(library, found[ALONE], found[POLITE])


class Library(NamedTuple):
    """A library, how it is measured, and how many requests are made in a turn."""

    name: str
    module: str
    measure: Callable[[str, Any, int, int, int], Cost]
    make: Any
    pages: int
    turns: int


LIBRARIES = (
    Library("requests", "requests", in_turns, requests_session, 100, 20),
    Library("httpx", "httpx", in_turns, httpx_client, 60, 20),
    Library("httpx, async", "httpx", at_once, httpx_async_client, 100, 20),
    Library("aiohttp", "aiohttp", at_once, aiohttp_session, 300, 60),
    Library("Scrapy", "scrapy", crawls, None, 300, 5),
)


@contextmanager
def server() -> Iterator[int]:
    """The port of a server in a process of its own."""
    ready, told = multiprocessing.Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=serve, args=(told,), daemon=True)
    process.start()
    try:
        yield ready.recv()
    finally:
        process.terminate()
