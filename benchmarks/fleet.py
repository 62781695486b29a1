"""What a crawl on several processes costs: `python -m benchmarks.fleet`.

1, 2, 4 and 8 workers (`manners crawl work`) fetch the same number of pages at zero delay, from a
web on loopback that a process of its own plays (`tests/crawler/fleet_web.py`): pages of about 3 KB
with 10 links. PostgreSQL is a real one, from a wheel, durable as it is by default. The crawl begins
with an empty table, and with tables that are full of URLs: 100 on each host, 30 of them done, 70
queued, with pages below them that nobody has found yet. Rows of `urls`, `hosts` and `counts` agree
with each other; what `pages` and the evidence would have of those that are done is left out.

Pages a second are counted from the first request to the last. Processor time is that of all
workers, less that of starting and of the summary at the end: so much as a worker needs that finds
the crawl ended. That of the database is the time of all its processes, vacuum and checkpoints
included, less the same; what one worker costs it at its start and end is told by itself. Round
trips are counted by a proxy between one worker and the database, in a turn of its own: whenever a
client speaks after the server has spoken, on any connection. Transactions are those of
`pg_stat_database`. Workers, web and database share the machine: with more workers than cores, only
processor time can be compared.

    python -m benchmarks.fleet                          3,000 pages; 0, 100,000 and 1 million URLs
    python -m benchmarks.fleet --quick                  500 pages; 0 and 20,000 URLs
    python -m benchmarks.fleet --urls 1000000 10000000  growth: minutes to fill, 10 GB on the disk
    python -m benchmarks.fleet --memory                 a worker's memory: 1,000 to 100,000 hosts
    python -m benchmarks.fleet --json FILE              writes the figures there too
"""

import argparse
import asyncio
import hashlib
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import psycopg

from benchmarks.engine import machine
from tests.contracts.postgres import Postgres
from tests.crawler.fleet_web import ROOT, FleetSite, Web, WebSpec

WORKERS = (1, 2, 4, 8)
PAGES, QUICK = 3_000, 500
URLS, QUICK_URLS = (0, 100_000, 1_000_000), (0, 20_000)
HOSTS = (1_000, 10_000, 100_000)
PER_HOST, DONE = 100, 30
"""URLs of each host of a full table, and how many of them are done."""
LIMIT = 3_600
"""Seconds after which a turn has failed."""
SERVER = ("-c", "shared_buffers=1GB", "-c", "max_wal_size=8GB")
SETTINGS: dict[str, Any] = {
    "agent": "FleetBot",
    "allow_private": True,
    "same_domain": False,
    "source": "links",
    "min_delay": 0.0,
    "max_delay": 0.0,
    "adaptive_factor": 0.0,
    "connections": 32,
    "max_minutes": 600.0,
    "budget_warning": 1.0,
    "max_urls": 1_000_000_000,
    "max_discovered": 1_000_000_000,
    "trap_alike": 1_000_000,
}
_TICKS = os.sysconf("SC_CLK_TCK")


class Measure(NamedTuple):
    """What one turn has cost."""

    pages: int
    seconds: float
    used: float
    """Seconds of processor time of the workers, starting aside."""
    database: float
    """Seconds of processor time of the database, starting aside."""
    transactions: int
    peak: int
    """Bytes of memory of the largest worker, at most."""
    asking: float = 0.0
    """Seconds of processor time of the database for the start and the end of one worker."""


# The table.


def fill(place: str, site: FleetSite, number: int) -> int:
    """Fill the tables of the only crawl with so many URLs; how many of them are done."""
    hosts = number // PER_HOST
    with psycopg.connect(place, autocommit=True) as connection:
        # The key and the index are made at once when all is there: that is much faster.
        (index,) = connection.execute(
            "SELECT indexdef FROM pg_indexes WHERE indexname = 'urls_queued'"
        ).fetchone() or ("",)
        connection.execute("DROP INDEX urls_queued")
        connection.execute("ALTER TABLE urls DROP CONSTRAINT urls_pkey")
        connection.execute("DELETE FROM urls")
        connection.execute("DELETE FROM hosts")
        connection.execute("DELETE FROM counts")
        columns = "crawl, host, digest, url, source, found_in, depth, priority, reason, rule, line"
        columns += ", state, status, attempts, seq"
        with connection.cursor().copy(f"COPY urls ({columns}) FROM STDIN".encode()) as copy:
            for row in _rows(site, hosts):
                copy.write(row)
        connection.execute("ALTER TABLE urls ADD PRIMARY KEY (crawl, host, digest)")
        connection.execute(index.encode())
        connection.execute(
            "INSERT INTO hosts (crawl, host, ready)"
            " SELECT crawl, host, min(not_before) FILTER (WHERE state = 'queued')"
            " FROM urls GROUP BY crawl, host"
        )
        connection.execute(
            "INSERT INTO counts (crawl, worker, kind, what, number)"
            " SELECT crawl, 0, kind, state, count(*) FROM urls GROUP BY crawl, kind, state"
        )
        connection.execute(
            "INSERT INTO counts (crawl, worker, kind, what, number)"
            " SELECT crawl, 0, kind, 'attempts', sum(attempts) FROM urls GROUP BY crawl, kind"
        )
        connection.execute("VACUUM ANALYZE")
        connection.execute("CHECKPOINT")
    return hosts * DONE


def _rows(site: FleetSite, hosts: int) -> Iterator[str]:
    """Lines for COPY, a host at a time."""
    seq = 0
    paths = [site.path(page) for page in range(PER_HOST)]
    for host in range(hosts):
        name = site.address(host)
        base = f"http://{name}:{site.port}"
        lines = []
        for page, path in enumerate(paths):
            seq += 1
            url = base + path
            digest = hashlib.blake2b(url.encode(), digest_size=16).hexdigest()
            above = base + paths[(page - 1) // 2] if page else ""
            end = "done\t200\t1" if page < DONE else "queued\t\\N\t0"
            depth = page.bit_length()
            lines.append(
                f"1\t{name}\t{digest}\t{url}\tlink\t{above}\t{depth}\t0.5\t\t\t0\t{end}\t{seq}\n"
            )
        yield "".join(lines)


def bytes_of(place: str) -> dict[str, float]:
    """Bytes a URL: of the table, and of each of its indexes."""
    with psycopg.connect(place) as connection:
        number = (connection.execute("SELECT count(*) FROM urls").fetchone() or (1,))[0]
        sizes = connection.execute(
            "SELECT 'table', pg_table_size('urls') UNION ALL SELECT indexname,"
            " pg_relation_size(indexname::regclass) FROM pg_indexes WHERE tablename = 'urls'"
        ).fetchall()
    return {name: size / number for name, size in sizes}


# The processes.


def command(*words: str, **more: Any) -> "subprocess.Popen[bytes]":
    environment = {name: value for name, value in os.environ.items() if "MANNERS_" not in name}
    return subprocess.Popen(
        [sys.executable, "-m", "manners", *words],
        cwd=ROOT,
        env=environment,
        **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **more},
    )


def start(place: str, site: FleetSite, folder: Path, **changes: Any) -> None:
    """Make a crawl, in an empty database."""
    lines = [f"{name} = {json.dumps(value)}" for name, value in (SETTINGS | changes).items()]
    config = folder / "manners.toml"
    config.write_text("\n".join(lines))
    words = ("--store", place, "--config", str(config))
    if command("crawl", "start", *site.starts, *words).wait(LIMIT):
        raise SystemExit("the crawl does not start")


def work(place: str, number: int) -> int:
    """So many workers, until they have ended; the memory of the largest."""
    workers = [command("crawl", "work", "--store", place, "--json") for _ in range(number)]
    until, peak = time.monotonic() + LIMIT, 0
    try:
        while any(each.poll() is None for each in workers):
            peak = max(peak, *(_memory(each.pid) for each in workers))
            if time.monotonic() > until:
                raise SystemExit(f"not done within {LIMIT} seconds")
            time.sleep(0.05)
    finally:
        for each in workers:
            each.kill()
            each.wait()
    if any(each.returncode for each in workers):
        raise SystemExit(f"workers ended with {[each.returncode for each in workers]}")
    return peak


def _memory(pid: int) -> int:
    """Bytes of memory that a process had at most, if it still runs."""
    try:
        status = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return 0
    found = status.partition("VmHWM:")[2].split()
    return int(found[0]) * 1024 if found else 0


def used_by_children() -> float:
    """Seconds of processor time of all processes that have ended."""
    told = resource.getrusage(resource.RUSAGE_CHILDREN)
    return told.ru_utime + told.ru_stime


def used_by_database(place: str) -> float:
    """Seconds of processor time of all processes of the server, those that have ended included."""
    with psycopg.connect(place) as connection:
        (folder,) = connection.execute("SHOW data_directory").fetchone() or ("",)
    pid = int((Path(folder) / "postmaster.pid").read_text(encoding="utf-8").split()[0])
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text(encoding="ascii").split()
    return _used(str(pid), 4) + sum(_used(child, 2) for child in children)


def _used(pid: str, number: int) -> float:
    """Seconds of a process: by itself, in the system, and with 4 numbers of ended children, too."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    except OSError:
        return 0.0
    return sum(map(int, fields[11 : 11 + number])) / _TICKS


def committed(place: str) -> int:
    """Transactions of a database."""
    with psycopg.connect(place) as connection:
        row = connection.execute(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()"
        ).fetchone()
    return int(row[0]) if row else 0


# The turns.


def turn(place: str, web: Web, workers: int, pages: int) -> Measure:
    """Let workers fetch so many pages; checked."""
    before, used = committed(place), used_by_database(place)
    children, requests = used_by_children(), len(web.seen().asks)
    peak = work(place, workers)
    spent = used_by_children() - children
    database, transactions = used_by_database(place) - used, committed(place) - before
    used = used_by_database(place)
    work(place, 1)  # it finds the crawl ended
    starting = used_by_children() - children - spent
    asking = used_by_database(place) - used
    asks = [ask for ask in web.seen().asks[requests:] if ask.path != "/robots.txt"]
    if len(asks) != pages or len({(ask.host, ask.path) for ask in asks}) != pages:
        raise SystemExit(f"{len(asks):,} pages were asked for, not {pages:,} once each")
    seconds = asks[-1].at - asks[0].at
    own, its = spent - workers * starting, database - workers * asking
    return Measure(pages, seconds, own, its, transactions, peak, asking)


def compare(server: Postgres, sizes: list[int], workers: list[int], pages: int) -> dict[str, float]:
    """Everybody by turns on tables of several sizes, and a table."""
    figures: dict[str, float] = {}
    costs: dict[int, dict[int, float]] = {}
    for urls in sizes:
        with web_of(urls // PER_HOST or 1_000) as web:
            template = server.database()
            began = time.monotonic()
            start(template, web.site, web.folder, max_pages=pages + urls // PER_HOST * DONE)
            if urls:
                fill(template, web.site, urls)
                told = bytes_of(template)
                figures[f"{urls} URLs, bytes each"] = sum(told.values())
                parts = ", ".join(f"{name} {size:.0f}" for name, size in told.items())
                print(f"\n{urls:,} URLs: {sum(told.values()):.0f} bytes each ({parts});", end="")
                print(f" filled in {time.monotonic() - began:.0f} s")
            else:
                print("\nan empty table:")
            print(f"{'workers':<10}{'pages a second':>16}{'processor ms a page':>22}", end="")
            print(f"{'of the database':>18}{'transactions a page':>22}{'MB at most':>12}", end="")
            print(f"{'s for a worker':>16}")
            costs[urls] = {}
            for number in workers:
                with copy_of(server, template) as place:
                    found = turn(place, web, number, pages)
                costs[urls][number] = (found.used + found.database) / pages * 1e3
                row = {
                    "pages a second": pages / found.seconds,
                    "processor ms a page": found.used / pages * 1e3,
                    "database ms a page": found.database / pages * 1e3,
                    "transactions a page": found.transactions / pages,
                    "MB at most": found.peak / 1e6,
                    "database s a worker": found.asking,
                }
                figures |= {f"{urls} URLs, {number} workers, {k}": v for k, v in row.items()}
                rate, own, its, transactions, peak, asking = row.values()
                print(f"{number:<10}{rate:>16,.0f}{own:>22.2f}{its:>18.2f}", end="")
                print(f"{transactions:>22.2f}{peak:>12.0f}{asking:>16.2f}", flush=True)
            with copy_of(server, template) as place:
                trips = round_trips(place, web, pages)
            figures[f"{urls} URLs, round trips a page"] = trips
            print(f"round trips a page, one worker: {trips:.2f}", flush=True)
            drop(server, template)
    full = [urls for urls in sizes if urls]
    for before, after in pairwise(full):
        for number in workers:
            ratio = costs[after][number] / costs[before][number]
            figures[f"growth {before} to {after}, {number} workers"] = ratio
            print(f"processor time a page, {number} workers, {after:,} / {before:,}: {ratio:.2f}")
    return figures


@contextmanager
def web_of(hosts: int) -> Iterator[Web]:
    spec = WebSpec(hosts=hosts, pages=4 * PER_HOST, links=8, specials=False, padding=2_000)
    with tempfile.TemporaryDirectory(prefix="fleet-") as folder, Web(spec, Path(folder)) as web:
        yield web


@contextmanager
def copy_of(server: Postgres, template: str) -> Iterator[str]:
    """A copy of a database, for one turn."""
    place = server.database(urlsplit(template).path[1:])
    try:
        yield place
    finally:
        drop(server, place)


def drop(server: Postgres, place: str) -> None:
    server.execute(f"DROP DATABASE {urlsplit(place).path[1:]} WITH (FORCE)")


def remember(server: Postgres, sizes: list[int], pages: int) -> dict[str, float]:
    """How much memory a worker needs for crawls with so many hosts, and a table."""
    figures: dict[str, float] = {}
    print(f"\n{'hosts':<12}{'URLs':>14}{'MB at most':>12}{'pages a second':>18}")
    for hosts in sizes:
        with web_of(hosts) as web:
            place = server.database()
            start(place, web.site, web.folder, max_pages=pages + hosts * DONE)
            fill(place, web.site, hosts * PER_HOST)
            found = turn(place, web, 1, pages)
            drop(server, place)
        figures[f"MB at most, {hosts} hosts"] = found.peak / 1e6
        print(f"{hosts:<12,}{hosts * PER_HOST:>14,}{found.peak / 1e6:>12.1f}", end="")
        print(f"{pages / found.seconds:>18,.0f}", flush=True)
    ratio = figures[f"MB at most, {sizes[-1]} hosts"] / figures[f"MB at most, {sizes[0]} hosts"]
    figures["memory, ratio"] = ratio
    print(f"the last / the first: {ratio:.3f}")
    return figures


# Round trips.


def round_trips(place: str, web: Web, pages: int) -> float:
    """How often a worker speaks to the database and waits for the answer, for each page."""
    parts = urlsplit(place)
    proxy = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.fleet", "--proxy", str(parts.port)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert proxy.stdout is not None
        port = int(proxy.stdout.readline())
        through = parts._replace(netloc=f"postgres@127.0.0.1:{port}").geturl()
        requests = len(web.seen().asks)
        work(through, 1)
        asks = [ask for ask in web.seen().asks[requests:] if ask.path != "/robots.txt"]
        if len(asks) != pages:
            raise SystemExit(f"{len(asks):,} pages were asked for, not {pages:,}")
        told, _ = proxy.communicate("")
    finally:
        proxy.kill()
        proxy.wait()
    return int(told) / pages


async def serve_proxy(port: int) -> None:
    """Pass everything on to a port, until standard input ends; print how many round trips."""
    number = 0

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        there, back = await asyncio.open_connection("127.0.0.1", port)
        is_answered = True

        async def ask() -> None:
            nonlocal is_answered, number
            while data := await reader.read(65_536):
                number += is_answered
                is_answered = False
                back.write(data)
                await back.drain()

        async def answer() -> None:
            nonlocal is_answered
            while data := await there.read(65_536):
                is_answered = True
                writer.write(data)
                await writer.drain()

        tasks = {asyncio.create_task(ask()), asyncio.create_task(answer())}
        _, pending = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in pending:
            task.cancel()
        with closing(writer), closing(back):
            await asyncio.gather(*tasks, return_exceptions=True)

    server = await asyncio.start_server(talk, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.to_thread(sys.stdin.read)
    print(number, flush=True)
    os._exit(0)  # connections may be open


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--pages", type=int, default=0)
    parser.add_argument("--urls", type=int, nargs="+", metavar="N")
    parser.add_argument("--workers", type=int, nargs="+", default=list(WORKERS))
    parser.add_argument("--memory", type=int, nargs="*", metavar="HOSTS")
    parser.add_argument("--json", type=Path)
    parser.add_argument("--proxy", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.proxy:
        asyncio.run(serve_proxy(options.proxy))
        return
    pages = options.pages or (QUICK if options.quick else PAGES)
    sizes = options.urls or list(QUICK_URLS if options.quick else URLS)
    print(f"{machine()}, {pages:,} pages", flush=True)
    with Postgres(*SERVER) as server:
        if options.memory is not None:
            figures = remember(server, options.memory or list(HOSTS), pages)
        else:
            figures = compare(server, sizes, options.workers, pages)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
