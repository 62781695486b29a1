"""What each drop-in gains over what it replaces: `python -m benchmarks.dropins`.

It measures in the Python it is run with, and leaves out what is not installed there. A drop-in and
its original take turns within each repetition, which has files and URLs that no other has; what
counts is the median of the ratios. Drop-ins answer by RFC 9309, so that first the share of verdicts
is found that both have in common. What manners costs in the clients of other libraries is measured
by `benchmarks.callers`.

    python -m benchmarks.dropins                 less than 6 minutes, 4 GB of memory
    python -m benchmarks.dropins --quick         less than a minute, roughly
    python -m benchmarks.dropins --clients       the clients alone
    python -m benchmarks.dropins --json FILE     writes the figures there too
"""

import argparse
import json
import multiprocessing
import os
import platform
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from time import perf_counter_ns, process_time_ns
from typing import Any, ClassVar
from urllib.parse import urlsplit

import manners
from benchmarks import callers, peers, turns, workloads
from benchmarks.engine import processor
from benchmarks.peers import AGENT, PEERS, Peer
from benchmarks.report import MOST, OWN, Row
from benchmarks.turns import Failed, Turn
from benchmarks.workloads import File
from manners.urls import origin

ORIGINS = 1_000
FEW = 20_000
"""How many URLs the slow ways are given."""
MANY = 1_000_000
"""How many URLs memory is measured with, at most, and the ways that are neither slow nor quick."""
COPIES = 4
"""How often a column has the same rows: to make them takes longer than to check them."""


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    typical: int
    """Repetitions with typical files."""
    large: int
    """Repetitions with large ones."""
    arrow: int
    """Repetitions with columns."""
    urls: int
    """The length of a column."""
    different: int
    """How many paths a column is made from, with a number behind each that only one row has."""
    seconds: float
    """What the run may take, but for first repetitions, the memory and the clients."""
    clients: float
    """The part of their turns that clients have."""


FULL = Effort(41, 9, 5, urls=10_000_000, different=200_000, seconds=215, clients=1.0)
QUICK = Effort(5, 1, 1, urls=1_000_000, different=50_000, seconds=25, clients=0.2)


@dataclass
class Comparison(Row):
    """Ways to do one thing. `OWN` is the first way, the one that others are compared with."""

    own: str = OWN
    """What that way is called."""
    same: dict[str, float] = field(default_factory=dict)
    """The share of verdicts that a way has in common with `OWN`."""
    counts: dict[str, int] = field(default_factory=dict)
    """How many rows a way was given at a time."""
    work: dict[str, list[float]] = field(default_factory=dict)
    """Nanoseconds of all processors, which other programs do not prolong as they do the time."""

    def note(self, name: str, nanoseconds: float, work: float | None = None) -> None:
        self.times.setdefault(name, []).append(nanoseconds)
        if work is not None:
            self.work.setdefault(name, []).append(work)

    def slower(self, name: str) -> str:
        """How many times as long a way takes; in parentheses when its verdicts are others."""
        value = self.ratio(name)
        if value is None:
            return "-"
        text = f"{value:,.{0 if value >= 100 else 1 if value >= 10 else 2}f}"
        return text if self.same.get(name, 1) >= MOST else f"({text})"

    def to_dict(self) -> dict[str, Any]:
        return {
            **super().to_dict(),
            "manners is": self.own,
            "processor nanoseconds": {
                name: statistics.median(each) for name, each in self.work.items()
            },
            "same verdicts": self.same,
            "rows a time": self.counts,
        }


# The drop-ins for parsers, and their originals, as users call them.


class UrllibDropIn(peers.Urllib):
    name = "manners.compat.urllib_robotparser"
    requirement = "manners"

    def __init__(self) -> None:
        self.make = import_module(self.name).RobotFileParser

    def parse(self, body: bytes) -> Any:
        robots = self.make()
        robots.parse(body.decode(errors="replace").splitlines())
        return robots


class ProtegoDropIn(peers.Protego):
    name = "manners.compat.protego"
    requirement = "manners"

    def __init__(self) -> None:
        self.make = import_module(self.name).Protego.parse


class Scrapy(Peer):
    """What Scrapy uses unless it is told otherwise."""

    name = "scrapy"
    requirement = "scrapy"
    parser: ClassVar = ("scrapy.robotstxt", "ProtegoRobotParser")

    def __init__(self) -> None:
        module, name = self.parser
        self.make = getattr(import_module(module), name).from_crawler

    def parse(self, body: bytes) -> Any:
        return self.make(None, body)

    def each(self, parsed: Any, urls: list[str]) -> list[bool]:
        allowed = parsed.allowed
        return [allowed(url, AGENT) for url in urls]


class ScrapyDropIn(Scrapy):
    name = "manners.compat.scrapy"
    requirement = "manners"
    parser: ClassVar = ("manners.compat.scrapy", "MannersRobotParser")


PAIRS = ((UrllibDropIn, peers.Urllib), (ProtegoDropIn, peers.Protego), (ScrapyDropIn, Scrapy))
# A process that `Turn` starts imports this module, too, and finds them there.
PEERS.update({peer.name: peer for pair in PAIRS for peer in pair})


class Bench:
    """One run."""

    def __init__(self, seed: int, effort: Effort) -> None:
        self.seed, self.effort, self.begin = seed, effort, time.monotonic()
        self.about: dict[str, Any] = {
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, {processor()}",
            "kernel": manners.KERNEL,
            "busy": f"load average {os.getloadavg()[0]:.1f} when it began",
            "seed": seed,
        }
        self.versions = {OWN: version("manners")}
        self.missing: dict[str, str] = {}
        self.parsers: list[Comparison] = []
        self.columns: list[Comparison] = []
        self.memory: dict[str, float] = {}
        self.in_memory = 0
        self.clients: list[callers.Cost] = []

    def draw(self, *what: object) -> random.Random:
        """Random numbers of their own for each thing, so that the seed repeats it."""
        return random.Random("/".join(map(str, (self.seed, *what))))

    def rounds(self, repetitions: int) -> Iterator[int]:
        """The numbers of the repetitions, as long as there is time for another."""
        for number in range(repetitions):
            start = time.monotonic()
            yield number
            now = time.monotonic()
            if now + (now - start) > self.begin + self.effort.seconds:
                return

    def say(self, what: str) -> None:
        print(f"{time.monotonic() - self.begin:4.0f} s  {what}", file=sys.stderr, flush=True)

    def library(self, name: str) -> Any:
        """A library, or None where it is missing."""
        try:
            found = import_module(name)
        except ImportError as error:
            self.missing[name] = str(error)
            return None
        self.versions[name] = version(name)
        return found

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.about,
            "versions": self.versions,
            "missing": self.missing,
            "rows": [row.to_dict() for row in (*self.parsers, *self.columns)],
            "memory, bytes a URL": self.memory,
            "memory, URLs": self.in_memory,
            "clients": [cost.to_dict() for cost in self.clients],
        }


# Parsers.


@dataclass(frozen=True)
class Kind:
    """A kind of robots.txt, and how many of them are needed."""

    title: str
    make: Callable[[random.Random], File]
    a_time: int
    """How many are parsed for one time."""
    to_agree: int
    repetitions: int


def measure_parsers(bench: Bench) -> None:
    """Each drop-in next to its original, on typical files and on large ones."""
    kinds = (
        Kind("30 rules", workloads.typical, 50, 20, bench.effort.typical),
        Kind("5,000 rules", lambda draw: workloads.large(draw, 5_000), 1, 4, bench.effort.large),
    )
    for own, original in PAIRS:
        try:
            pair = {OWN: Turn(own.name), original.name: Turn(original.name)}
        except Failed as error:
            bench.missing[original.name] = str(error)
            continue
        bench.versions[original.name] = pair[original.name].version
        for kind in kinds:
            compare(bench, pair, kind)
        for turn in pair.values():
            turn.close()


def compare(bench: Bench, pair: dict[str, Turn], kind: Kind) -> None:
    """Nanoseconds a file to a first verdict, and nanoseconds a check afterwards."""
    original = list(pair)[1]
    title = f"{original}, {kind.title}"
    same = {original: agreement(bench.draw(title, "agree"), pair, kind)}
    bench.say(f"{title}: {same[original]:.1%} same verdicts")
    first = Comparison(f"{title}: parse, first check", same=same)
    later = Comparison(f"{title}: check", same=same)
    for number in bench.rounds(kind.repetitions):
        draw = bench.draw(title, number)
        made = [kind.make(draw) for _ in range(kind.a_time)]
        bodies, urls = [file.body for file in made], [file.urls(draw, 1)[0] for file in made]
        file = kind.make(draw)
        work = file.body, file.urls(draw, 500), file.urls(draw, 5_000), False
        for name in _rotated(list(pair), number):
            (spent,) = pair[name].ask(turns.files, bodies, urls)
            first.note(name, spent / kind.a_time)
            later.note(name, pair[name].ask(turns.checks, *work)[0])
    bench.parsers += [first, later]


def agreement(draw: random.Random, pair: dict[str, Turn], kind: Kind) -> float:
    """The share of verdicts that two parsers have in common."""
    same = total = 0
    for _ in range(kind.to_agree):
        file = kind.make(draw)
        urls = file.urls(draw, 200)
        ours, theirs = (turn.ask(turns.answers, file.body, urls) for turn in pair.values())
        same += _same(ours, theirs)
        total += len(urls)
    return same / total


def _same(ours: list[bool], theirs: list[bool]) -> int:
    return sum(a == b for a, b in zip(ours, theirs, strict=True))


def _rotated(names: list[str], number: int) -> list[str]:
    first = number % len(names)
    return names[first:] + names[:first]


# Columns.


@dataclass(frozen=True)
class Way:
    """A way to deal with a column or a table, and the rows that it is given."""

    check: Callable[[Any], Any]
    column: Any

    def nanoseconds(self) -> tuple[float, float]:
        """The time for a row, and the work of all processors."""
        start, idle = perf_counter_ns(), process_time_ns()
        self.check(self.column)
        spent, work = perf_counter_ns() - start, process_time_ns() - idle
        return spent / len(self.column), work / len(self.column)


Ways = dict[str, Way]
Policies = manners.Policy | Mapping[str, manners.Policy]


class Columns:
    """Columns of URLs, and the ways to check them."""

    def __init__(self, bench: Bench, pyarrow: Any) -> None:
        self.bench, self.pyarrow = bench, pyarrow
        self.compute = import_module("pyarrow.compute")
        self.polars, self.protego = bench.library("polars"), bench.library("protego")
        self.arrow = import_module("manners.compat.arrow")
        self.pool = ThreadPoolExecutor(2)
        # The plain engine is there to say what is right.
        self.length = bench.effort.urls // (1 if manners.KERNEL == "cython" else 50)

    # What they are made of.

    def make(self, draw: random.Random, files: list[File], grouped: bool = False) -> Any:
        """A column of URLs, of one origin for each file.

        Each is there `COPIES` times, far apart. In each copy, the rows of an origin come one after
        another, or all rows in no order.
        """
        compute, count = self.compute, self.length // COPIES
        each = self.bench.effort.different // len(files)
        known = self.pyarrow.array(
            [
                url.replace("www", _host(number), 1)
                for number, file in enumerate(files)
                for url in file.urls(draw, each)
            ]
        )
        row = self.pyarrow.arange(0, count, 1)
        owner = (
            compute.divide(compute.multiply(row, len(files)), count)
            if grouped
            else self._numbers(draw, len(files))
        )
        place = compute.add(compute.multiply(owner, each), self._numbers(draw, each))
        # A number behind the end of a path would hide it from a rule with `$`.
        ends = compute.match_substring_regex(known, r"\.(pdf|php)$").take(place)
        number = compute.if_else(ends, "", row.cast("string"))
        urls = compute.binary_join_element_wise(known.take(place), number, "")
        return self.pyarrow.concat_arrays([urls] * COPIES)

    def _numbers(self, draw: random.Random, below: int) -> Any:
        drawn = self.compute.random(self.length // COPIES, initializer=draw.getrandbits(62))
        return self.compute.multiply(drawn, float(below)).cast("int64", safe=False)

    def table(self, files: list[File]) -> Any:
        """The robots.txt files of all origins."""
        origins = [f"https://{_host(number)}.example.com" for number in range(len(files))]
        return self.pyarrow.table({"origin": origins, "robots": [file.body for file in files]})

    # How they are checked.

    def check(self, policy: Policies, column: Any) -> Any:
        """From a column of URLs to a column of booleans."""
        return self.pyarrow.array(self.arrow.allowed(column, policy))

    def check_in_two(self, policy: Policies, column: Any) -> Any:
        """The same, with a thread for each half."""
        half = len(column) // 2
        parts = self.pool.map(partial(self.check, policy), (column[:half], column[half:]))
        return self.pyarrow.chunked_array(list(parts))

    def one_policy(self, draw: random.Random) -> Ways:
        """One policy for all rows."""
        file = workloads.typical(draw)
        text, policy = file.body.decode(), manners.parse(file.body).policy(AGENT)
        column = self.make(draw, [file])
        large, views = column.cast("large_string"), column.cast("string_view")
        one, two = partial(self.check, policy), partial(self.check_in_two, policy)
        ways = {
            OWN: Way(one, column),
            "string, two threads": Way(two, column),
            "large_string": Way(one, large),
            "large_string, two threads": Way(two, large),
            "string_view": Way(one, views),
            "string_view, two threads": Way(two, views),
            "to_pylist, manners": Way(partial(loop, policy.allowed), column[:MANY]),
        }
        if self.polars is not None:
            series = self.polars.Series(column[:MANY])
            check = partial(map_elements, policy.allowed, self.polars.Boolean)
            ways["polars map_elements, manners"] = Way(check, series)
        if self.protego is not None:
            robots = self.protego.Protego.parse(text)
            check = partial(loop, lambda url: robots.can_fetch(url, AGENT))
            ways["to_pylist, Protego"] = Way(check, column[:FEW])
        standard = peers.Urllib().parse(file.body)
        check = partial(loop, lambda url: standard.can_fetch(AGENT, url))
        ways["to_pylist, urllib.robotparser"] = Way(check, column[:FEW])
        return ways

    def read_files(self, draw: random.Random) -> Ways:
        """From a table of files to policies."""
        table = self.table([workloads.typical(draw) for _ in range(ORIGINS)])
        ways = {OWN: Way(lambda table: self.arrow.policies(table, AGENT), table)}
        if self.protego is not None:
            parse = self.protego.Protego.parse
            ways["to_pylist, Protego"] = Way(
                lambda table: {
                    row["origin"]: parse(row["robots"].decode()) for row in table.to_pylist()
                },
                table,
            )
        return ways

    def by_origin(self, draw: random.Random) -> Ways:
        """A policy for each of many origins."""
        files = [workloads.typical(draw) for _ in range(ORIGINS)]
        policies = self.arrow.policies(self.table(files), AGENT)
        mixed, grouped = self.make(draw, files), self.make(draw, files, grouped=True)
        one, two = partial(self.check, policies), partial(self.check_in_two, policies)
        ways = {
            OWN: Way(one, mixed),
            "shuffled, two threads": Way(two, mixed),
            "sorted by origin": Way(one, grouped),
            "sorted by origin, two threads": Way(two, grouped),
            "to_pylist, manners, shuffled": Way(
                partial(loop, lambda url: policies[origin(url)].allowed(url)), mixed[:MANY]
            ),
        }
        if self.protego is not None:
            parse = self.protego.Protego.parse
            parsed = {
                f"{_host(number)}.example.com": parse(file.body.decode())
                for number, file in enumerate(files)
            }
            check = partial(loop, lambda url: parsed[urlsplit(url).netloc].can_fetch(url, AGENT))
            ways["to_pylist, Protego, shuffled"] = Way(check, mixed[:FEW])
        return ways


def _host(number: int) -> str:
    return f"www{number:04}"


def loop(allowed: Callable[[str], bool], column: Any) -> list[bool]:
    """What people do with a column today."""
    return [allowed(url) for url in column.to_pylist()]


def map_elements(allowed: Callable[[str], bool], boolean: Any, series: Any) -> Any:
    return series.map_elements(allowed, return_dtype=boolean)


def measure_columns(bench: Bench) -> None:
    """Nanoseconds a row, way by way; then memory."""
    pyarrow = bench.library("pyarrow")
    if pyarrow is None:
        return
    columns = Columns(bench, pyarrow)
    kinds = (
        (Comparison("one policy, a URL", own="arrow.allowed: string"), columns.one_policy),
        (
            Comparison(f"{ORIGINS:,} policies, a URL", own="arrow.allowed: shuffled"),
            columns.by_origin,
        ),
        (Comparison("making policies, a file", own="arrow.policies"), columns.read_files),
    )
    for number in bench.rounds(bench.effort.arrow):
        for row, make in kinds:
            ways = make(bench.draw(row.title, number))
            agree(row, ways)
            for name in _rotated(list(ways), number):
                row.note(name, *ways[name].nanoseconds())
            bench.say(f"{row.title}, {number + 1}")
    bench.columns += [row for row, _ in kinds]
    measure_memory(bench, columns)


def agree(row: Comparison, ways: Ways) -> None:
    """The share of verdicts that are those of manners, on the first rows.

    What is put off until a first check is done then, too.
    """
    for name, way in ways.items():
        few = way.column[:FEW]
        ours, theirs = (_verdicts(each.check(few)) for each in (ways[OWN], way))
        row.counts[name] = len(way.column)
        if ours:
            row.same[name] = _same(ours, theirs) / len(ours)


def _verdicts(found: Any) -> list[bool]:
    """The answers, whatever they are in; nothing for policies."""
    if isinstance(found, dict):
        return []
    return [each if isinstance(each, bool) else each.as_py() for each in found]


# Memory.


def measure_memory(bench: Bench, columns: Columns) -> None:
    """Bytes a URL by which a process grows meanwhile; each way in a process of its own."""
    if not Path("/proc/self/clear_refs").exists():
        bench.missing["memory"] = "it is measured on Linux only"
        return
    draw = bench.draw("memory")
    files = [workloads.typical(draw) for _ in range(ORIGINS)]
    table = columns.table(files)
    policies = columns.arrow.policies(table, AGENT)
    policy = next(iter(policies.values()))
    ways: tuple[tuple[str, Callable[..., Any], Any], ...] = (
        ("arrow.allowed, one policy", check_column, policy),
        (f"arrow.allowed, {ORIGINS:,} policies", check_column, policies),
        ("to_pylist and a loop", check_list, policy),
    )
    context = multiprocessing.get_context("spawn")
    with tempfile.NamedTemporaryFile() as file:
        whole = columns.pyarrow.table({"url": columns.make(draw, files)[:MANY]})
        bench.in_memory = len(whole)
        with columns.pyarrow.ipc.new_file(file.name, whole.schema) as writer:
            writer.write_table(whole)
        for name, check, by in ways:
            with ProcessPoolExecutor(1, context) as pool:
                bench.memory[name] = pool.submit(grown, file.name, check, by).result()
    bench.say("memory")


def grown(path: str, check: Callable[..., Any], policy: Policies) -> float:
    """Bytes a URL between what a process has before a check, and the most it has during one."""
    pyarrow = import_module("pyarrow")
    with pyarrow.OSFile(path) as source:
        column = pyarrow.ipc.open_file(source).read_all()["url"]
    check(policy, column[:FEW])
    before = turns.resident()
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    check(policy, column)
    status = Path("/proc/self/status").read_text(encoding="ascii")
    most = int(status.partition("VmHWM:")[2].split()[0]) * 1024
    return (most - before) / len(column)


def check_column(policy: Policies, column: Any) -> Any:
    arrow = import_module("manners.compat.arrow")
    return import_module("pyarrow").array(arrow.allowed(column, policy))


def check_list(policy: manners.Policy, column: Any) -> list[bool]:
    return loop(policy.allowed, column)


# Clients.


def measure_clients(bench: Bench) -> None:
    """Processor time of a request, for each library alone and with manners."""
    with callers.server() as port:
        for each in callers.LIBRARIES:
            if bench.library(each.module) is not None:
                turns = max(round(each.turns * bench.effort.clients), 1)
                cost = each.measure(each.name, each.make, port, turns, each.pages)
                bench.clients.append(cost)
                bench.say(f"{each.name}: {cost.ratio:.2f}")


# What is shown.

REMARKS = """\
In parentheses: the original gives other verdicts too often, so it does other work.
A check comes after some other checks. A time of arrow.allowed is from a column of URLs to a pyarrow
array of booleans; a loop makes a list. Two threads gain little where other programs keep the
processors busy; "processor ns" is the work of all threads. Memory is the most that a process has
meanwhile, beyond what it had with the column alone. A request is a page of 10 KB from this machine,
with no delays; requests and httpx make one after the other, what is async 64 at a time. Scrapy by
itself asks robots.txt, too."""


def heading(bench: Bench) -> str:
    """What took part."""
    lines = [f"{key}: {value}" for key, value in bench.about.items()]
    lines += [f"{name}: {each}" for name, each in bench.versions.items()]
    lines += [f"{name}: left out: {why}" for name, why in bench.missing.items()]
    return "\n".join(lines)


def tables(bench: Bench) -> str:
    """All figures."""
    heads = ("manners, ns", "original, ns", "times as long", "same verdicts")
    parts = [_table("Median time", heads, [_parser_line(row) for row in bench.parsers])]
    ways = ("ns", "times as long", "processor ns", "same verdicts", "rows")
    for row in bench.columns:
        title = row.title[0].upper() + row.title[1:]
        parts.append(_table(title, ways, [_way_line(row, name) for name in row.counts]))
    memory: list[tuple[str, ...]] = [(name, f"{size:,.1f}") for name, size in bench.memory.items()]
    parts.append(_table(f"Memory, {bench.in_memory:,} URLs", ("bytes a URL",), memory))
    clients = ("alone, us", "with manners", "times as much")
    parts.append(_table("Processor time of a request", clients, list(map(_client, bench.clients))))
    parts.append(REMARKS)
    return "\n\n".join(part for part in parts if part)


def _parser_line(row: Comparison) -> tuple[str, ...]:
    (original,) = row.same
    times = (_number(row.median(name)) for name in (OWN, original))
    return (row.title, *times, row.slower(original), f"{row.same[original]:.1%}")


def _way_line(row: Comparison, name: str) -> tuple[str, ...]:
    share = f"{row.same[name]:.1%}" if name in row.same else ""
    slower = "" if name == OWN else row.slower(name)
    title = row.own if name == OWN else name
    work = _number(statistics.median(row.work[name]))
    return title, _number(row.median(name)), slower, work, share, f"{row.counts[name]:,}"


def _client(cost: callers.Cost) -> tuple[str, ...]:
    times = (f"{statistics.median(each):,.0f}" for each in (cost.alone, cost.polite))
    return (cost.library, *times, f"{cost.ratio:.2f}")


def _number(nanoseconds: float | None) -> str:
    return "-" if nanoseconds is None else f"{nanoseconds:,.0f}"


def _table(title: str, heads: tuple[str, ...], lines: list[tuple[str, ...]]) -> str:
    if not lines:
        return ""
    wide = max(len(line[0]) for line in [(title,), *lines])
    return "\n".join(
        f"{first:<{wide}}" + "".join(f"{cell:>15}" for cell in cells)
        for first, *cells in [(title, *heads), *lines]
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a rough run, to try things")
    parser.add_argument("--clients", action="store_true", help="the clients alone")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    arguments = parser.parse_args()
    bench = Bench(arguments.seed, QUICK if arguments.quick else FULL)
    if not arguments.clients:
        measure_parsers(bench)
        measure_columns(bench)
    measure_clients(bench)
    print(f"{heading(bench)}\n\n{tables(bench)}\n\n{time.monotonic() - bench.begin:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(bench.to_dict(), indent=2) + "\n")


if __name__ == "__main__":
    main()
