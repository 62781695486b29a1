"""What linting costs: `python -m benchmarks.lint`.

Processor time, in milliseconds, of a process that has started and linted a file before. Real files
are those of the corpus beside the checkout; without it the rows about them are left out. Hostile
files are made to need more steps than there are: twice the rules may take about twice the time.

    python -m benchmarks.lint                  the whole corpus, some minutes
    python -m benchmarks.lint --quick          one file in twenty
    python -m benchmarks.lint --json FILE      writes the figures there too
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from benchmarks.engine import machine
from manners.lint import fix, run
from tests.lint.impact.shapes import literals, mixed_words, satisfiability, words
from tests.shared import SHARED, corpus

TYPICAL, LARGE = 15.0, 3_000.0
"""Milliseconds that a typical file, and one of 500 KB, may take."""
LARGE_SIZE = 500_000
REPEATED = 7


class MeasuredLint(NamedTuple):
    """A row of the table: milliseconds of processor time."""

    title: str
    milliseconds: float
    target: float | None = None

    def __str__(self) -> str:
        text = f"{self.title:<58}{self.milliseconds:>12,.1f}"
        if self.target is None:
            return text
        return (
            f"{text}{self.target:>10,.0f} {'ok' if self.milliseconds <= self.target else 'MISSED'}"
        )


def milliseconds(work: Callable[[bytes], object], body: bytes) -> float:
    """Processor time of one call."""
    start = time.process_time()
    work(body)
    return (time.process_time() - start) * 1_000


def best(work: Callable[[bytes], object], body: bytes, times: int = REPEATED) -> float:
    """The shortest of some calls: what others do on the machine makes each only longer."""
    return min(milliseconds(work, body) for _ in range(times))


def typical_body(bodies: Sequence[bytes]) -> bytes:
    """The file of the median size."""
    return sorted(bodies, key=len)[len(bodies) // 2]


def large_body(bodies: Sequence[bytes]) -> bytes:
    """500 KB of rules of real files, no two alike, all for everybody."""
    lines: dict[bytes, None] = {}
    total = 0
    for body in bodies:
        for line in body.splitlines():
            is_rule = line.lower().startswith((b"disallow: /", b"allow: /"))
            if is_rule and len(line) < 200 and line not in lines:
                lines[line] = None
                total += len(line) + 1
        if total >= LARGE_SIZE:
            break
    return b"User-agent: *\n" + b"\n".join(lines)[:LARGE_SIZE] + b"\n"


def real_rows(step: int) -> list[MeasuredLint]:
    """A typical file, a large one, and all of the corpus."""
    if not SHARED.is_dir():
        print("The corpus is not beside this checkout: no rows about real files.\n")
        return []
    bodies = list(corpus().values())
    typical, large = typical_body(bodies), large_body(bodies)
    rows = [
        MeasuredLint(f"a typical file, {len(typical):,} bytes: run", best(run, typical), TYPICAL),
        MeasuredLint(f"a typical file, {len(typical):,} bytes: fix", best(fix, typical)),
        MeasuredLint(f"{len(large):,} bytes of real rules: run", best(run, large, 2), LARGE),
    ]
    for title, work in (("run", run), ("fix", fix)):
        times = sorted(milliseconds(work, body) for body in bodies[::step])
        cuts = statistics.quantiles(times, n=100)
        rows += [
            MeasuredLint(f"{len(times):,} files of the corpus: {title}, median", cuts[49]),
            MeasuredLint(f"{len(times):,} files of the corpus: {title}, p90", cuts[89]),
            MeasuredLint(f"{len(times):,} files of the corpus: {title}, p99", cuts[98]),
            MeasuredLint(f"{len(times):,} files of the corpus: {title}, longest", times[-1]),
        ]
    return rows


def made_of(rules: Sequence[str]) -> bytes:
    """A file of some rules for everybody."""
    return "\n".join(("User-agent: *", *rules, "")).encode()


def hostile_rows() -> list[MeasuredLint]:
    """Files made to stall, each in two sizes."""
    shapes: dict[str, Callable[[int], Sequence[str]]] = {
        "literals": lambda n: literals(2_500 * n)[0].before,
        "`/*word=`": lambda n: words(2_500 * n)[0].before,
        "`/*word`, three in ten allowed": lambda n: mixed_words(250 * n)[0].before,
        "a formula that is not decided": lambda n: satisfiability(5 * n).after,
        "pieces, all alike": lambda n: ["Disallow: /" + "*a" * i + "*b" for i in range(40 * n)],
    }
    rows = []
    for title, make in shapes.items():
        for scale in (1, 2):
            body = made_of(make(scale))
            rules = body.count(b"\n") - 1
            rows.append(MeasuredLint(f"{title}: {rules:,} rules", best(run, body, 1)))
    names = [f"User-agent: bot-{n}\nDisallow: /{n}*\n" for n in range(4_000)]
    for part in (2_000, 4_000):
        body = "\n".join(names[:part]).encode()
        rows.append(MeasuredLint(f"groups: {part:,}", best(run, body, 1)))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    print(f"{machine()}\n\n{'':<58}{'processor ms':>12}{'at most':>10}")
    run(b"User-agent: *\nDisallow: /a*\n")
    rows = []
    for some in (real_rows(20 if options.quick else 1), hostile_rows()):
        print(*some, sep="\n", flush=True)
        rows += some
    if options.json:
        figures = {row.title: row.milliseconds for row in rows}
        options.json.write_text(json.dumps(figures, indent=2), encoding="utf-8")


if __name__ == "__main__":
    main()
