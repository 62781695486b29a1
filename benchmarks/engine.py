"""How fast the engine is, next to every parser that can be called from Python: `make bench`.

All parsers take turns within each repetition, so that a busy moment of the machine hits all of
them, and each repetition has files and URLs that no other has. What counts is the ratio.

    python -m benchmarks.engine                  in an environment of its own, with all peers
    python -m benchmarks.engine --here --quick   in this one, with what it has, roughly
"""

import argparse
import json
import os
import platform
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks import environments, turns, workloads
from benchmarks.peers import PEERS
from benchmarks.report import OWN, Report, Row
from benchmarks.turns import Failed, Times, Turn
from benchmarks.workloads import File, Shape

PLAIN = "manners, plain Python"
FEW = (OWN, "fastrobots")
PART = 1_000
"""How many real files are a turn."""
SMALL = 2_000
"""Most real files are smaller. What a parser does for every file shows in these."""


@dataclass(frozen=True)
class Effort:
    """How long to measure."""

    repetitions: int
    least: int
    """Repetitions that a parser takes part in even when it needs three times its seconds."""
    seconds: float
    """What a parser may use for one row."""
    limit: float
    """What it may use for one turn."""
    files: int
    """How many files of the corpus."""
    patient: bool
    """Whether slow parsers are waited for: in the next shape, after one that was too much for them,
    and when memory is measured."""


FULL = Effort(repetitions=61, least=3, seconds=1.5, limit=3, files=6_000, patient=True)
QUICK = Effort(repetitions=5, least=1, seconds=0.1, limit=1, files=600, patient=False)


class Bench:
    """One run: the parsers, and what to measure them with."""

    def __init__(self, seed: int, effort: Effort) -> None:
        self.seed, self.effort, self.begin = seed, effort, time.monotonic()
        self.used: dict[str, float] = {}
        self.failed: set[str] = set()
        self.turns: dict[str, Turn] = {}
        self.missing: dict[str, str] = {}
        for name in PEERS:
            try:
                self.turns[name] = Turn(name)
            except Failed as error:
                self.missing[name] = str(error)
        if OWN not in self.turns:
            raise SystemExit(f"manners cannot be imported: {self.missing[OWN]}")
        about = {
            "python": f"{platform.python_implementation()} {platform.python_version()}",
            "machine": f"{platform.machine()}, {os.cpu_count()} cores, {processor()}",
            "kernel": self.turns[OWN].ask(turns.kernel),
            "seed": seed,
        }
        versions = {name: turn.version for name, turn in self.turns.items()}
        self.report = Report(about, versions, self.missing)

    def draw(self, *what: object) -> random.Random:
        """Random numbers of their own for each thing, so that the seed repeats it."""
        return random.Random("/".join(map(str, (self.seed, *what))))

    def rounds(self, row: Row, but_plain: bool = False) -> Iterator[tuple[int, list[str]]]:
        """The repetitions, each with the parsers still in it; another begins each time."""
        self.used = dict.fromkeys(self.turns, 0.0)
        for number in range(self.effort.repetitions):
            staying = [
                name
                for name in self.turns
                if name not in row.notes
                and not (but_plain and name == PLAIN)
                and self.used[name]
                < self.effort.seconds * (1 if number >= self.effort.least else 3)
            ]
            if OWN not in staying:
                return
            first = number % len(staying)
            yield number, staying[first:] + staying[:first]

    def ask(self, name: str, job: Callable[..., Any], *arguments: Any) -> Any:
        """A turn; the time it takes in all is put on the parser's account."""
        start = time.monotonic()
        try:
            return self.turns[name].ask(job, *arguments, limit=self.effort.limit)
        finally:
            self.used[name] = self.used.get(name, 0.0) + time.monotonic() - start

    def done(self, *rows: Row) -> None:
        self.report.rows += rows
        print(
            f"{time.monotonic() - self.begin:4.0f} s  {rows[0].title}", file=sys.stderr, flush=True
        )

    # What is measured.

    def agree(self) -> None:
        """How many verdicts of each parser are those of manners."""
        same = dict.fromkeys(self.turns, 0)
        total = disallowed = 0
        for number in range(20):
            draw = self.draw("agree", number)
            file = workloads.typical(draw)
            urls = file.urls(draw, 200)
            try:
                own = self.ask(OWN, turns.answers, file.body, urls)
            except Failed as error:
                raise SystemExit(f"manners itself fails: {error}") from error
            total += len(own)
            disallowed += own.count(False)
            for name in list(self.turns):
                try:
                    found = self.ask(name, turns.answers, file.body, urls)
                    same[name] += sum(a == b for a, b in zip(own, found, strict=True))
                except Failed as error:
                    self.missing[name] = str(error)
                    del self.turns[name], self.report.versions[name]
        self.report.agreement = {name: same[name] / total for name in self.turns}
        self.report.disallowed = disallowed / total

    def checks(self, title: str, make: Callable[[random.Random], File], bulk: bool = False) -> None:
        """Nanoseconds a check."""
        row = Row(title)
        for number, staying in self.rounds(row, bulk):
            draw = self.draw(title, number)
            file = make(draw)
            arguments = file.body, file.urls(draw, 500), file.urls(draw, 5_000), bulk
            for name in staying:
                self._note(row, name, turns.checks, *arguments)
        self.done(row)

    def session(self, title: str, make: Callable[[random.Random], File], count: int) -> None:
        """Nanoseconds from bytes to 100 verdicts: nothing that is put off is left out."""
        row = Row(title)
        for number, staying in self.rounds(row):
            draw = self.draw(title, number)
            files = [make(draw) for _ in range(count)]
            arguments = [file.body for file in files], [file.urls(draw, 100) for file in files]
            for name in staying:
                self._note(row, name, turns.session, *arguments)
        self.done(row)

    def corpus(self, title: str, bodies: list[bytes]) -> None:
        """Nanoseconds a file, from bytes to a first verdict, over all files."""
        row = Row(f"{len(bodies):,} {title}: parse, policy, first check")
        nothing = File(b"", [])
        for number, staying in self.rounds(row, but_plain=True):
            draw = self.draw(title, number)
            total = dict.fromkeys(staying, 0.0)
            for start in range(0, len(bodies), PART):
                part = [
                    body + f"\n# {draw.getrandbits(64):x}\n".encode()
                    for body in bodies[start : start + PART]
                ]
                urls = nothing.urls(draw, len(part))
                for name in [name for name in staying if name not in row.notes]:
                    try:
                        (spent,) = self.ask(name, turns.files, part, urls)
                        total[name] += spent
                    except Failed as error:
                        row.notes[name] = str(error)
            for name in staying:
                if name not in row.notes:
                    row.times.setdefault(name, []).append(total[name] / len(bodies))
        self.done(row)

    def shape(self, shape: Shape) -> None:
        """Parsing and checking, and how both grow when the file or the path is doubled."""
        parts = ("parse, policy, first check", "parse, policy, 10 checks", "check")
        rows = [Row(f"{shape.title}: {part}") for part in parts]
        too_large: set[str] = set()
        for name in () if self.effort.patient else self.failed:
            rows[0].notes[name] = rows[1].notes[name] = rows[2].notes[name] = "left out"
        for number, staying in self.rounds(rows[0], but_plain=True):
            work = [self._shaped(shape, number, scale) for scale in (1, 2)]
            for name in staying:
                found: list[Times] = []
                # Both sizes one after the other, so that a busy moment hits both.
                for arguments in work[: 1 if name in too_large else 2]:
                    try:
                        found.append(self.ask(name, turns.shape, *arguments))
                    except Failed as error:
                        too_large.add(name)
                        self.failed.add(name)
                        for row in () if found else rows:
                            row.notes[name] = str(error)
                        break
                for i, row in enumerate(rows if found else ()):
                    row.times.setdefault(name, []).append(found[0][i])
                    if len(found) == 2:
                        row.growth.setdefault(name, []).append(found[1][i] / found[0][i])
        self.done(*rows)

    def _shaped(self, shape: Shape, number: int, scale: int) -> tuple[bytes, list[str], list[str]]:
        draw = self.draw(shape.title, number, scale)
        file = shape.make(draw, scale)
        warm, urls = (shape.urls(draw, file, scale, 100) for _ in range(2))
        return file.body, warm, urls

    def memory(self, bodies: list[bytes]) -> None:
        """What a process grows by for each file, with one policy; each parser in a new process."""
        draw, nothing = self.draw("memory"), File(b"", [])
        bodies = [body + f"\n# {draw.getrandbits(64):x}\n".encode() for body in bodies]
        size = sum(map(len, bodies))
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"".join(bodies))
            file.flush()
            for name in self.turns:
                if name == PLAIN or not (self.effort.patient or name in FEW):
                    continue
                sizes = [len(body) for body in bodies]
                figures = {"mean body": size / len(bodies)}
                for title, count in (("one policy", 0), ("one policy, 10 checks", 10)):
                    grown = self._grown(name, file.name, sizes, nothing.urls(draw, count))
                    if grown is None:
                        break
                    figures[f"{title}: growth"] = grown / len(bodies)
                    figures[f"{title}: growth without the body"] = (grown - size) / len(bodies)
                else:
                    self.report.memory[name] = figures

    def _grown(self, name: str, path: str, sizes: list[int], urls: list[str]) -> float | None:
        turn = Turn(name)
        try:
            grown, parsed = turn.ask(turns.memory, path, sizes, urls)
        except Failed as error:
            self.report.remarks.append(f"memory of {name}: {error}")
            return None
        finally:
            turn.close()
        if parsed < len(sizes):
            self.report.remarks.append(
                f"{name} refuses {len(sizes) - parsed} of {len(sizes)} files"
            )
        return float(grown)

    def _note(self, row: Row, name: str, job: Callable[..., Any], *arguments: Any) -> None:
        try:
            (spent,) = self.ask(name, job, *arguments)
            row.times.setdefault(name, []).append(spent)
        except Failed as error:
            row.notes[name] = str(error)


def measure(seed: int, effort: Effort, corpus: Path) -> Report:
    """Every figure of this benchmark."""
    bench = Bench(seed, effort)
    report = bench.report
    bench.agree()
    print(report.heading(), flush=True)
    for title, make, count in (
        ("typical file, 30 rules", workloads.typical, 20),
        ("5,000 rules", lambda draw: workloads.large(draw, 5_000), 1),
    ):
        bench.checks(f"{title}: check", make)
        bench.checks(f"{title}: bulk, a URL", make, bulk=True)
        bench.session(f"{title}: parse, policy, 100 checks", make, count)
    if corpus.is_file():
        bodies = workloads.corpus(corpus)[: effort.files]
        bench.corpus("real files", bodies)
        bench.corpus("of them below 2 KB", [body for body in bodies if len(body) < SMALL])
    else:
        report.remarks.append(f"real files: there is no {corpus.name}; memory is of typical files")
        draw = bench.draw("bodies")
        bodies = [workloads.typical(draw).body for _ in range(effort.files)]
    bench.memory(bodies)
    for shape in workloads.SHAPES:
        bench.shape(shape)
    return report


def processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if "model name" in line), "")


def machine() -> str:
    """Where figures come from, in a line."""
    import manners

    python = f"CPython {platform.python_version()}, {processor()}, {os.cpu_count()} cores"
    return f"{python}, load {os.getloadavg()[0]:.1f}, kernel {manners.KERNEL}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--here", action="store_true", help="measure in this Python, as it is")
    parser.add_argument("--fresh", action="store_true", help="make the environments anew")
    parser.add_argument("--quick", action="store_true", help="a rough run, to try things")
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FILE",
        default=environments.ROOT.parent / "shared" / "corpus" / "robots-real.jsonl.gz",
        help="real files, gzipped JSON Lines with `robots` or `robots_b64`",
    )
    arguments = parser.parse_args()
    if not arguments.here:
        python = environments.best(arguments.fresh).python
        again = [str(python), "-m", "benchmarks.engine", "--here", *sys.argv[1:]]
        # Nothing but what is installed there.
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        sys.exit(subprocess.run(again, env=environment, check=False).returncode)
    start = time.monotonic()
    report = measure(arguments.seed, QUICK if arguments.quick else FULL, arguments.corpus)
    print(f"\n{report.tables()}\n\n{time.monotonic() - start:.0f} s")
    if arguments.json:
        arguments.json.write_text(json.dumps(report.to_dict(), indent=2) + "\n")


if __name__ == "__main__":
    main()
