"""What the service costs: `python -m benchmarks.web`.

- The tester: milliseconds from a keystroke to the reply with all verdicts, over loopback; and,
  where there is Chromium, to the cell that changes on the page.
- The API: requests for each second of the server's processor time, next to those of an empty
  handler of aiohttp; the two take turns.
- Many URLs in a request: URLs for each second of the server's processor time, as JSON and as a
  column, next to the engine alone.

    python -m benchmarks.web --quick           shorter
    python -m benchmarks.web --json FILE       writes the figures there too
"""

import argparse
import asyncio
import json
import random
import shutil
import statistics
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple

import aiohttp
import pyarrow as pa
from aiohttp import web

from benchmarks.engine import machine
from manners import parse
from manners.settings import Settings
from manners.web.columns import CONTENT_TYPE
from manners.web.service import Serving
from manners.web.serving import listening

KEYSTROKE, LARGE_KEYSTROKE = 50.0, 300.0
"""Milliseconds: the matrix, and with a file of 500 KB."""
LARGE_SIZE = 500_000
AGENTS, URLS = 5, 20
LEAST_RATIO = 0.8
LEAST_URLS = 1e6


class WebRow(NamedTuple):
    """A row of the table."""

    title: str
    value: float
    target: float | None = None
    at_most: bool = True

    def __str__(self) -> str:
        text = f"{self.title:<62}{self.value:>14,.2f}"
        if self.target is None:
            return text
        met = self.value <= self.target if self.at_most else self.value >= self.target
        return f"{text}{self.target:>14,.2f} {'ok' if met else 'MISSED'}"


class Server(NamedTuple):
    """A server in a process of its own."""

    address: str
    process: asyncio.subprocess.Process

    @property
    def seconds(self) -> float:
        """Processor time of its threads."""
        tasks = Path(f"/proc/{self.process.pid}/task").iterdir()
        return sum(int((task / "schedstat").read_text().split()[0]) for task in tasks) / 1e9


@asynccontextmanager
async def started(kind: str) -> AsyncIterator[Server]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "benchmarks.web", "--serve", kind),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        yield Server((await process.stdout.readline()).decode().strip(), process)
    finally:
        process.kill()
        await process.wait()


async def serve(kind: str) -> None:
    """The server, until it is killed: the service, or aiohttp with an empty handler."""
    if kind == "service":
        async with listening(Settings(allow_private=True), Serving(port=0)) as address:
            print(address, flush=True)
            await asyncio.Event().wait()

    async def answer(_: web.Request) -> web.Response:
        return web.Response(body=b"{}", content_type="application/json")

    async def robots(_: web.Request) -> web.Response:
        return web.Response(text="User-agent: *\nDisallow: /private/\nCrawl-delay: 2\n")

    app = web.Application()
    app.router.add_get("/v1/check", answer)
    app.router.add_get("/robots.txt", robots)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}/", flush=True)
    await asyncio.Event().wait()


def robots_of(size: int) -> str:
    """A file with groups for the agents, and rules up to a size."""
    chance, lines, total = random.Random(1), ["User-agent: *", "Disallow: /private/"], 0
    while total < size:
        words = "/".join(f"{chance.randrange(10**6):x}" for _ in range(chance.randrange(1, 5)))
        star = "*" if chance.random() < 0.1 else ""
        lines.append(f"{chance.choice(('Allow', 'Disallow'))}: /{words}{star}")
        total += len(lines[-1]) + 1
        if chance.random() < 0.01:
            lines.append(f"\nUser-agent: Bot{chance.randrange(AGENTS)}")
    return "\n".join(lines) + "\n"


def matrix(robots: str) -> dict[str, Any]:
    urls = [f"https://shop.example/{number:x}/{number * 7}?q={number}" for number in range(URLS)]
    return {"robots": robots, "agents": [f"Bot{n}" for n in range(AGENTS)], "urls": urls}


async def keystrokes(server: Server, robots: str, times: int) -> float:
    """Milliseconds from sending the question to having the answer, in the median."""
    values, taken = matrix(robots), []
    async with aiohttp.ClientSession() as session:
        for number in range(times):
            typed = {**values, "robots": f"{robots}# {number}"}
            start = time.perf_counter()
            async with session.post(f"{server.address}tester/verdicts", json=typed) as reply:
                found = await reply.json()
            taken.append(time.perf_counter() - start)
            assert len(found["rows"]) == URLS
    return statistics.median(taken) * 1_000


_TYPE = """async ([text, times]) => {
    const place = document.querySelector(".sheet textarea");
    const cell = () => document.querySelector(".verdicts tbody td .where").parentElement;
    const pause = (wait) => new Promise((done) => setTimeout(done, wait));
    place.value = `${text}\\nUser-agent: Bot0\\nDisallow: /0/0?q=0x`;
    place.dispatchEvent(new Event("input"));
    await pause(3000);
    const taken = [];
    for (let number = 0; number < times; number += 1) {
        const before = cell().getAttribute("aria-label");
        place.focus();
        place.setSelectionRange(place.value.length - 1, place.value.length);
        const start = performance.now();
        document.execCommand("insertText", false, number % 2 ? "x" : "$"); // as a key does
        while (cell().getAttribute("aria-label") === before) await pause(1);
        taken.push(performance.now() - start);
        await pause(1500);
    }
    return taken;
}"""


async def in_browser(server: Server, robots: str, times: int) -> float | None:
    """Milliseconds from a keystroke to the cell that changes, in Chromium; None without it."""
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        return None
    from playwright.async_api import async_playwright

    values = matrix("")
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=program)
        page = await browser.new_page()
        await page.goto(server.address)
        await page.wait_for_selector(".verdict")
        await page.get_by_label("Agents, one a line").fill("\n".join(values["agents"]))
        await page.get_by_label("URLs, one a line").fill("\n".join(values["urls"]))
        await page.wait_for_selector(f".verdicts tbody tr:nth-child({URLS}) td:nth-child({AGENTS})")
        taken: list[float] = await page.evaluate(_TYPE, [robots, times + 1])
        await browser.close()
    return statistics.median(taken[1:])


Ask = Callable[[aiohttp.ClientSession], Awaitable[None]]


async def asked(server: Server, ask: Ask, number: int, at_a_time: int = 8) -> float:
    """Requests for each second of the server's processor time."""

    async def client(session: aiohttp.ClientSession) -> None:
        for _ in range(number // at_a_time):
            await ask(session)

    async with aiohttp.ClientSession() as session:
        await ask(session)
        before = server.seconds
        await asyncio.gather(*(client(session) for _ in range(at_a_time)))
    return number // at_a_time * at_a_time / (server.seconds - before)


def getting(url: str) -> Ask:
    async def ask(session: aiohttp.ClientSession) -> None:
        async with session.get(url) as reply:
            assert reply.status == 200, await reply.text()
            await reply.read()

    return ask


def posting(url: str, body: bytes, kind: str, headers: dict[str, str]) -> Ask:
    async def ask(session: aiohttp.ClientSession) -> None:
        data = aiohttp.BytesPayload(body, content_type=kind)
        async with session.post(url, data=data, headers=headers) as reply:
            assert reply.status == 200, await reply.text()
            await reply.read()

    return ask


async def api_rows(service: Server, empty: Server, number: int) -> list[WebRow]:
    """One URL in memory, next to nothing at all."""
    query = f"v1/check?agent=MyBot&url={empty.address}private/a"
    ours, theirs, ratios = getting(service.address + query), getting(empty.address + query), []
    for _ in range(7):
        rates = [await asked(service, ours, number), await asked(empty, theirs, number)]
        ratios.append((rates[0] / rates[1], *rates))
    ratio = statistics.median(each[0] for each in ratios)
    rate, bare = (max(each[place] for each in ratios) for place in (1, 2))
    return [
        WebRow("empty handler of aiohttp, requests a second a core", bare),
        WebRow("check of one URL, requests a second a core", rate),
        WebRow("check of one URL, times those of an empty handler", ratio, LEAST_RATIO, False),
    ]


def urls_of(number: int) -> list[str]:
    chance = random.Random(2)
    return [
        f"https://shop.example/{chance.randrange(10**6):x}/{chance.randrange(10**6):x}"
        for _ in range(number)
    ]


async def bulk_rows(service: Server, number: int) -> list[WebRow]:
    """Many URLs in a request."""
    robots, urls = robots_of(1_000), urls_of(number)
    policy = parse(robots).policy("Bot1")
    start = time.process_time()
    policy.allowed_many(urls)
    alone = number / (time.process_time() - start)
    some = urls[: 4_000_000 // 45]
    listed = json.dumps({"robots": robots, "urls": some, "agents": ["Bot1"], "detail": "allowed"})
    table = pa.table({"url": urls}).replace_schema_metadata({"robots": robots})
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    address = f"{service.address}v1/check"
    as_json = posting(address, listed.encode(), "application/json", {})
    column = posting(f"{address}?agent=Bot1", bytes(sink.getvalue()), CONTENT_TYPE, {})
    rates = []
    for ask, size in ((as_json, len(some)), (column, number)):
        # A client sends one table at a time.
        best = max([await asked(service, ask, 5, at_a_time=1) for _ in range(3)])
        rates.append(best * size)
    return [
        WebRow("the engine alone, URLs a second a core", alone),
        WebRow("a list of URLs as JSON, URLs a second a core", rates[0], LEAST_URLS, False),
        WebRow("a column of URLs as Arrow IPC, URLs a second a core", rates[1], LEAST_URLS, False),
    ]


async def measure(quick: bool) -> list[WebRow]:
    requests, times = (1_000, 20) if quick else (5_000, 100)
    rows = []
    async with started("service") as service, started("empty") as empty:
        small, large = robots_of(1_000), robots_of(LARGE_SIZE)
        title = f"{AGENTS} agents x {URLS} URLs after a keystroke"
        for size, robots, target in (
            ("", small, KEYSTROKE),
            (", file of 500 KB", large, LARGE_KEYSTROKE),
        ):
            milliseconds = await keystrokes(service, robots, times)
            rows.append(WebRow(f"{title}{size}: reply, ms", milliseconds, target))
            shown = await in_browser(service, robots, times // 4)
            if shown is not None:
                rows.append(WebRow(f"{title}{size}: seen in Chromium, ms", shown, target))
        rows += await api_rows(service, empty, requests)
        rows += await bulk_rows(service, 1_000_000)
    return rows


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--quick", action="store_true")
    options.add_argument("--json", type=Path, metavar="FILE")
    options.add_argument("--serve", choices=("service", "empty"), help=argparse.SUPPRESS)
    given = options.parse_args()
    if given.serve:
        asyncio.run(serve(given.serve))
        return
    rows = asyncio.run(measure(given.quick))
    print(machine())
    print(f"{'':<62}{'measured':>14}{'target':>14}")
    for row in rows:
        print(row)
    if given.json:
        given.json.write_text(json.dumps([row._asdict() for row in rows], indent=1))


if __name__ == "__main__":
    main()
