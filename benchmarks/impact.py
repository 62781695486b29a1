"""How fast the automata of `manners.lint.impact` are: `python -m benchmarks.impact`.

Real files with one line edited, for all agents; pairs of real files that have nothing to do with
each other; every rule of a real file; and rule sets made to be expensive. Processor time of one
question, files already parsed, the automata made anew each time. Beside it stand the figures of the
prototype that the method was chosen by; they come from another machine, so only the order of
magnitude compares.

    python -m benchmarks.impact               everything: about five minutes
    python -m benchmarks.impact --quick       a tenth of the files
    python -m benchmarks.impact --json FILE   writes the figures there too
"""

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import manners
from benchmarks import environments, workloads
from benchmarks.engine import machine
from manners import Policy, Robots
from manners.lint.impact import AgentImpact, compare, compare_agents, compare_policies, examine
from tests.lint.impact import shapes
from tests.lint.impact.brute import one_line_edit

SEED = 1
EDITS, GOOGLE_EDITS, PAIRS = 1_500, 600, 1_000


@dataclass
class Question:
    """One row: what was asked so many times, and what it took in milliseconds."""

    title: str
    research: str = ""
    """Median, 90 %, 99 % and most, in milliseconds, or one figure where one was measured."""
    times: list[float] = field(default_factory=list)
    undecided: int = 0

    def ask(self, work: Callable[[], bool]) -> None:
        """Does something once; it says whether everything was decided."""
        start = time.process_time()
        is_decided = work()
        self.times.append((time.process_time() - start) * 1_000)
        self.undecided += not is_decided

    @property
    def figures(self) -> list[float]:
        if len(self.times) < 100:
            return [statistics.median(self.times), max(self.times)]
        cuts = statistics.quantiles(self.times, n=100, method="inclusive")
        return [cuts[49], cuts[89], cuts[98], max(self.times)]

    def __str__(self) -> str:
        figures = self.figures
        cells = [*figures[:1], *figures[1:-1], *[None] * (4 - len(figures)), *figures[-1:]]
        columns = "".join(f"{cell:>10,.2f}" if cell is not None else " " * 10 for cell in cells)
        return (
            f"{self.title:<58}{len(self.times):>6}{columns}{self.undecided:>11}   {self.research}"
        )


HEADING = (
    f"{'':<58}{'times':>6}{'median':>10}{'90 %':>10}{'99 %':>10}{'most':>10}{'undecided':>11}"
    "   prototype, ms"
)


# Real files.


def edits(bodies: list[bytes], count: int, dialect: str) -> Iterator[tuple[Robots, Robots]]:
    """Real files and what one edited line makes of them."""
    rng = random.Random(f"{SEED} {dialect}")
    while count:
        body = rng.choice(bodies)
        edit = one_line_edit(rng, body)
        if edit is not None:
            count -= 1
            yield manners.parse(body, dialect), manners.parse(edit, dialect)


def is_decided(classes: list[AgentImpact]) -> bool:
    return all(entry.impact.is_equal is not None for entry in classes)


def edited(bodies: list[bytes], count: int, dialect: str, research: str) -> Question:
    question = Question(f"one line edited, all agents, {dialect}", research)
    for before, after in edits(bodies, count, dialect):
        question.ask(lambda before=before, after=after: is_decided(compare_agents(before, after)))  # type: ignore[misc]
    return question


def unrelated(bodies: list[bytes], count: int) -> Question:
    question = Question("unrelated files, `*`", "0.9  3.0  29  535 (19,128 rules)")
    rng = random.Random(SEED)
    for _ in range(count):
        before, after = map(manners.parse, rng.sample(bodies, 2))
        question.ask(
            lambda before=before, after=after: compare(before, after).is_equal is not None  # type: ignore[misc]
        )
    return question


def every_rule(bodies: list[bytes]) -> Question:
    question = Question(
        "every rule of a file: decides? redundant?", "1.04  12  186  9,600 (1,353 rules)"
    )
    for body in bodies:
        policies = list(distinct_policies(manners.parse(body)))
        if policies:
            question.ask(
                lambda policies=policies: all(  # type: ignore[misc]
                    status.is_decided for policy in policies for status in examine(policy)
                )
            )
    return question


def distinct_policies(robots: Robots) -> Iterator[Policy]:
    """One policy for each set of groups that belongs to somebody, found without asking for each of
    thousands of agents."""
    groups: dict[str, list[int]] = {}
    for number, group in enumerate(robots.groups):
        for name in group.agents:
            key = robots.dialect.agent_key(name)
            if key is not None and number not in groups.setdefault(key, [])[-1:]:
                groups[key].append(number)
    for key in {tuple(numbers): key for key, numbers in groups.items()}.values():
        yield robots.policy(key)


def most_agents(bodies: list[bytes]) -> Question:
    """The file that names the most agents."""

    def agents(body: bytes) -> int:
        return body.lower().count(b"user-agent")

    body = max(bodies, key=agents)
    question = Question(f"one line edited, {agents(body):,} agents", "60 (1,773 agents)")
    for before, after in edits([body], 20, "rfc9309"):
        question.ask(lambda before=before, after=after: is_decided(compare_agents(before, after)))  # type: ignore[misc]
    return question


# Worst cases.

WORST: tuple[tuple[list[shapes.Shape], list[str]], ...] = (
    (shapes.literals(5_000), ["18", "19", "58", "", "13"]),
    (shapes.words(5_000), ["71", "24", "39", "2,933"]),
    (shapes.mixed_words(1_000), ["163"]),
    (shapes.two_words(1_000), ["11", "5", ""]),
    (shapes.many_stars(64), ["3.4", ""]),
    (shapes.many_stars(512), ["", "51"]),
    (shapes.chain(14), [""]),
    (
        [shapes.satisfiability(variables, is_strict=False) for variables in (4, 6, 8, 10, 12)],
        ["345", *["600–790, not decided"] * 4],
    ),
)


def worst(shape: shapes.Shape, research: str, turns: int) -> Question:
    """A shape, with the automata made anew each time: the prototype's figures are without."""
    count = max(len(shape.before), len(shape.after))
    question = Question(f"{shape.name} ({count:,})", research)
    before, after = (
        manners.parse("\n".join(["User-agent: *", *lines]), max_bytes=None).policy("*")
        for lines in (shape.before, shape.after)
    )
    for _ in range(turns):
        question.ask(lambda: compare_policies(before, after).is_equal is not None)
    return question


def measure(bodies: list[bytes], share: int) -> Iterator[Question]:
    """Every row."""
    if bodies:
        yield edited(bodies, EDITS // share, "rfc9309", "0.9  4.0  34  85")
        yield edited(bodies, GOOGLE_EDITS // share, "google", "0.85  3.8  35  56")
        yield unrelated(bodies, PAIRS // share)
        yield every_rule(bodies[::share])
        yield most_agents(bodies)
    for made, figures in WORST:
        for shape, research in zip(made, figures, strict=True):
            yield worst(shape, research, 3 if share == 1 else 1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the files")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there too")
    parser.add_argument(
        "--corpus",
        type=Path,
        metavar="FILE",
        default=environments.ROOT.parent / "shared" / "corpus" / "robots-real.jsonl.gz",
        help="real files, gzipped JSON Lines with `robots` or `robots_b64`",
    )
    options = parser.parse_args()
    bodies = workloads.corpus(options.corpus) if options.corpus.is_file() else []
    if not bodies:
        print(f"real files: there is no {options.corpus.name}")
    print(f"{machine()}\nmilliseconds of processor time\n\n{HEADING}", flush=True)
    figures: dict[str, float] = {}
    for question in measure(bodies, 10 if options.quick else 1):
        print(question, flush=True)
        figures[f"{question.title}: median, ms"] = question.figures[0]
        figures[f"{question.title}: most, ms"] = question.figures[-1]
        figures[f"{question.title}: undecided"] = question.undecided
    print(
        "\nRule sets made to be expensive, with their rules counted: the prototype's figures are"
        " without making\nthe automata, which took it 130 to 390 ms for 5,000 rules."
    )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
