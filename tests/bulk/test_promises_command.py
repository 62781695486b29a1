"""`manners bulk` as people run it: a process of its own, its exit code, and what it says."""

import json
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from manners.cli import main
from tests.bulk.test_promises_parts import command
from tests.bulk.test_promises_run import COUNT, Files, asked, expected, given
from tests.bulk.truth import (
    ADDED,
    Truth,
    assert_rows,
    input_table,
    pa,
    parquet,
    with_answers,
    world,
    written_table,
)


class Ended(NamedTuple):
    """A process that ended."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    return Files(tmp_path_factory.mktemp("bulk"))


def run(files: Files, *options: object, send: str | None = None, **places: Any) -> Ended:
    """Runs the command, with the inputs that a test does not name otherwise."""
    inputs = {"urls": files.urls, "robots": files.robots, **places}
    words = [word for name, place in inputs.items() for word in (f"--{name}", str(place))]
    ran = subprocess.run(
        [*command(), *words, *map(str, options)],
        input=send,
        stdin=subprocess.DEVNULL if send is None else None,
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        cwd=files.folder,
    )
    assert "Traceback" not in ran.stderr, ran.stderr
    return Ended(ran.returncode, ran.stdout, ran.stderr)


def run_here(
    files: Files, capsys: pytest.CaptureFixture[str], *options: object, **places: Any
) -> Ended:
    """The same in this process, for what needs no other."""
    inputs = {"urls": files.urls, "robots": files.robots, **places}
    words = [word for name, place in inputs.items() for word in (f"--{name}", str(place))]
    code = main(["bulk", "--agent", "MyBot", *words, *map(str, options)])
    return Ended(code, *capsys.readouterr())


def counts(summary: Any) -> Iterator[dict[str, int]]:
    """Every mapping of a summary whose values are all counts."""
    if isinstance(summary, dict):
        if summary and all(type(value) is int for value in summary.values()):
            yield summary
        for value in summary.values():
            yield from counts(value)
    elif isinstance(summary, list):
        for value in summary:
            yield from counts(value)


def test_done_is_0_and_the_summary_adds_up(files: Files) -> None:
    """`--json`: one object on standard output, whose answers and reasons sum to the rows."""
    ran = run(files, "-o", "a.parquet", "--json")
    assert ran.code == 0, ran.err
    assert_rows(written_table(files.folder / "a.parquet"), expected())
    summary = json.loads(ran.out)
    assert summary["urls"] == COUNT
    reasons = expected().column("reason").to_pylist()
    by_reason = {reason: reasons.count(reason) for reason in set(reasons)}
    found = [each for each in counts(summary) if by_reason.keys() <= each.keys()]
    assert found, summary
    assert {reason: found[0][reason] for reason in by_reason} == by_reason
    assert sum(found[0].values()) == COUNT
    answers = expected().column("allowed").to_pylist()
    right = {
        "allowed": answers.count(True),
        "disallowed": answers.count(False),
        "undecided": answers.count(None),
    }
    assert right.items() <= next(flat(summary, set(right))).items()


def flat(summary: Any, names: set[str]) -> Iterator[dict[str, Any]]:
    """Every mapping of a summary that has these names."""
    if isinstance(summary, dict):
        if names <= summary.keys():
            yield summary
        for value in summary.values():
            yield from flat(value, names)
    elif isinstance(summary, list):
        for value in summary:
            yield from flat(value, names)


def test_options_are_those_of_the_function(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """Agents, columns, filters, parts and profiles, to a folder."""
    options = ["--agent", "OtherBot", "--keep", "id,url", "--only", "disallowed", "--parts", 3]
    options += [
        "--dialect",
        "google",
        "--profile",
        "open",
        "--column",
        "url",
        "-o",
        f"{files.folder}/parts/",
    ]
    ran = run_here(files, capsys, *options)
    assert ran.code == 0, ran.err
    found = written_table(files.folder / "parts")
    assert set(found.schema.names) == {"id", "url", "agent", *ADDED}
    for agent in ("MyBot", "OtherBot"):
        answers = Truth(world(), agent, "google", "open").answers(asked())
        right = with_answers(given().select(["id", "url"]), answers)
        right = right.filter(pa.array([answer.allowed is False for answer in answers]))
        own = found.filter(pa.array([each == agent for each in found["agent"].to_pylist()]))
        assert_rows(own.drop_columns(["agent"]).select(right.schema.names), right)
    again = run_here(files, capsys, *options)
    assert again.code == 2
    assert "--resume" in again.err


def test_standard_input_and_output(files: Files) -> None:
    """URLs line by line in, JSON lines out, and nothing else on standard output."""
    texts = [
        *("https://host0.example/private/a", "n/a", "https://host0.example/é", "/private/a"),
        *("https://host4.example/", "https://host5.example/", "https://nowhere.example/"),
    ]
    ran = run(files, "-o", "-", urls="-", send="".join(f"{text}\n" for text in texts))
    assert ran.code == 0, ran.err
    lines = [json.loads(line) for line in ran.out.splitlines()]
    assert [line["url"] for line in lines] == texts
    answers = Truth(world()).answers(texts)
    assert [[line.get(name) for name in ADDED] for line in lines] == [
        list(each) for each in answers
    ]


def test_nothing_decided_is_3(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    """No URL whose site is in the archive: the rows are written, and the code says so."""
    parquet.write_table(
        input_table([None, "n/a", "https://nowhere.example/"]), files.folder / "n.parquet"
    )
    ran = run_here(
        files, capsys, "-o", files.folder / "none.parquet", urls=files.folder / "n.parquet"
    )
    assert ran.code == 3, (ran.out, ran.err)
    assert ran.err or ran.out


def test_a_part_without_a_decided_row_is_done(
    files: Files, capsys: pytest.CaptureFixture[str]
) -> None:
    """Whatever runs the parts of a job takes another code than 0 for a failure."""
    urls = files.folder / "unknown.txt"
    urls.write_text("https://nowhere.example/\n")
    out = f"{files.folder}/jobs/"
    for number in range(2):
        ran = run_here(files, capsys, "-o", out, "--part", f"{number}/2", urls=urls)
        assert ran.code == 0, ran.err
    assert written_table(files.folder / "jobs").num_rows == 1


@pytest.mark.parametrize(
    ("options", "places", "code", "words"),
    [
        (["--column", "page"], {}, (2, 3), ["page", "url"]),
        (["--keep", "id,nothing"], {}, (2, 3), ["nothing"]),
        ([], {"urls": "no-such.parquet"}, (2, 3), ["no-such.parquet"]),
        ([], {"robots": "no-such.parquet"}, (2, 3), ["no-such.parquet"]),
        (["--only", "some"], {}, (2,), ["only"]),
        (["--part", "7/7"], {}, (2,), ["part"]),
        (["--dialect", "no-such"], {}, (2,), ["no-such"]),
        (["--memory", "much"], {}, (2,), ["memory"]),
        (["--no-such-option"], {}, (2,), ["no-such-option"]),
    ],
    ids=lambda each: " ".join(map(str, each)) if isinstance(each, list) else "",
)
def test_a_mistake_is_named(  # noqa: PLR0917 (a row of the table)
    files: Files,
    capsys: pytest.CaptureFixture[str],
    options: list[str],
    places: dict[str, str],
    code: tuple[int, ...],
    words: list[str],
) -> None:
    """Usage is 2, an input that cannot be read 2 or 3; nothing is written."""
    place = files.folder / "mistake.parquet"
    ran = run_here(files, capsys, "-o", place, *options, **places)
    assert ran.code in code, ran
    for word in words:
        assert word in ran.err, ran.err
    assert ran.out == ""
    assert not place.exists()
    assert len(ran.err.splitlines()) < 25, ran.err


def test_what_exists_stays(files: Files, capsys: pytest.CaptureFixture[str]) -> None:
    """An output that is there is an error that says how to go on."""
    place = files.folder / "exists.parquet"
    place.write_bytes(b"somebody's work")
    ran = run_here(files, capsys, "-o", place)
    assert ran.code == 2
    assert "exists.parquet" in ran.err
    assert place.read_bytes() == b"somebody's work"


def test_a_broken_archive_is_named(files: Files) -> None:
    """What cannot be read is no verdict, and no traceback."""
    broken = files.folder / "broken.parquet"
    broken.write_bytes(b"PAR1" + b"\0" * 100)
    ran = run(files, "-o", "broken-out.parquet", robots=broken)
    assert ran.code == 3, ran
    assert "broken.parquet" in ran.err
    assert not (files.folder / "broken-out.parquet").exists()


def test_stopped_in_the_middle_it_says_how_to_resume(tmp_path: Path) -> None:
    """SIGTERM, and SIGINT: complete parts are there, and `--resume` makes the rest."""
    files = Files(tmp_path)
    options = ("-o", "out/", "--parts", "16", "--threads", "1", "--resume")
    words = ["--urls", str(files.urls), "--robots", str(files.robots), *options]
    for order in (signal.SIGTERM, signal.SIGINT):
        before = len(list(files.out.glob("part-*.parquet")))
        process = subprocess.Popen(
            [*command(), *words], stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path
        )
        while process.poll() is None and len(list(files.out.glob("part-*.parquet"))) <= before:
            time.sleep(0.001)
        process.send_signal(order)
        text = process.communicate()[1].decode()
        assert "Traceback" not in text, text
        for part in files.out.glob("part-*.parquet"):
            parquet.ParquetFile(part).read()
        if process.returncode:  # else it was done before the signal came
            assert "--resume" in text, text
    ran = run(files, *options)
    assert ran.code == 0, ran.err
    assert_rows(written_table(files.out), expected())
