"""The part is the unit of recovery: whatever is missing is made again, and nothing else is."""

import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import manners
from manners import bulk
from tests.bulk.test_promises_run import Files, expected, given
from tests.bulk.truth import (
    archive,
    assert_rows,
    input_table,
    pa,
    parquet,
    rows,
    world,
    written_table,
)
from tests.sizes import seed, size

SEED = seed("BULK_SEED")
PARTS = 4


@pytest.fixture
def files(tmp_path: Path) -> Files:
    return Files(tmp_path)


def state(folder: Path) -> dict[str, tuple[int, int]]:
    """Which files there are, each with what changes when it is written again."""
    found = {path.name: path.stat() for path in folder.glob("part-*")}
    return {name: (each.st_ino, each.st_mtime_ns) for name, each in found.items()}


# Part by part.


@pytest.mark.parametrize("prepared", [False, True])
def test_all_parts_together_are_the_run(files: Files, prepared: bool) -> None:
    """`part="k/n"` for each k, in any order, by filtering the inputs or from prepared buckets."""
    if prepared:
        bulk.run(
            files.urls, files.robots, files.out, agent="MyBot", parts=PARTS, prepare=True,
        )  # fmt: skip
        parts = [path.name for path in files.out.glob("part-*")]
        assert parts == []
    order = list(range(PARTS))
    random.Random(SEED).shuffle(order)
    for done, number in enumerate(order, start=1):
        bulk.run(files.urls, files.robots, files.out, agent="MyBot", part=f"{number}/{PARTS}")
        names = [path.name for path in files.out.glob("part-*")]
        assert f"part-{number:05}-of-{PARTS:05}.parquet" in names
        assert len(names) == done
    assert_rows(written_table(files.out), expected())


def test_a_part_has_the_rows_of_its_hosts(files: Files) -> None:
    """Alone, and as a part of a run: the same rows, and `hosts.buckets` says which."""
    from manners.bulk import hosts

    files.run("out", parts=PARTS)
    homes = hosts.buckets(given().column("url"), PARTS).tolist()
    for number in (0, 3):
        name = f"part-{number:05}-of-{PARTS:05}.parquet"
        alone = files.folder / f"alone{number}"
        bulk.run(files.urls, files.robots, alone, agent="MyBot", part=f"{number}/{PARTS}")
        assert [path.name for path in alone.glob("part-*")] == [name]
        wanted = expected().filter(pa.array([home == number for home in homes]))
        assert_rows(written_table(alone / name), wanted)
        assert_rows(written_table(files.out / name), wanted)


@pytest.mark.parametrize("part", ["7/7", "8/7", "-1/7", "1", "1/0", "a/b", "1/7/9", "", "0.5/7"])
def test_a_part_that_cannot_be_is_refused(files: Files, part: str) -> None:
    """Parts are counted from 0; the error says so."""
    with pytest.raises((manners.MannersError, ValueError), match="part"):
        bulk.run(files.urls, files.robots, files.out, agent="MyBot", part=part)
    assert not files.out.exists() or not list(files.out.glob("part-*"))


def test_a_part_that_is_there_is_not_made_again(files: Files) -> None:
    """Without `resume` it is an error, with it nothing is done."""
    options: dict[str, Any] = {"agent": "MyBot", "part": f"2/{PARTS}"}
    bulk.run(files.urls, files.robots, files.out, **options)
    before = state(files.out)
    with pytest.raises(manners.MannersError, match="resume"):
        bulk.run(files.urls, files.robots, files.out, **options)
    bulk.run(files.urls, files.robots, files.out, resume=True, **options)
    assert state(files.out) == before


# Resumed.


def test_missing_parts_are_made_again_and_nothing_else(files: Files) -> None:
    """Any subset of parts deleted, then `resume`: the same rows, and the others are untouched."""
    files.run("out", parts=PARTS)
    rng = random.Random(f"{SEED} missing")
    whole = state(files.out)
    for count in (0, 1, 2, PARTS):
        gone = rng.sample(sorted(whole), count)
        for name in gone:
            (files.out / name).unlink()
        before = state(files.out)
        assert_rows(files.run("out", resume=True, parts=PARTS), expected())
        after = state(files.out)
        assert sorted(after) == sorted(whole)
        assert {name: after[name] for name in before} == before


def test_what_is_half_written_does_not_count(files: Files) -> None:
    """A temporary file of a process that was killed is no part, and is not in the way."""
    files.run("out", parts=PARTS)
    part = files.out / f"part-00003-of-{PARTS:05}.parquet"
    half = part.read_bytes()[:100]
    part.unlink()
    for name in (f"{part.name}.tmp", f".{part.name}.tmp", f"{part.name}.1234.tmp"):
        (files.out / name).write_bytes(half)
    bulk.run(files.urls, files.robots, files.out, agent="MyBot", parts=PARTS, resume=True)
    parts = sorted(files.out.glob("part-*.parquet"))
    assert len(parts) == PARTS
    assert_rows(pa.concat_tables([written_table(each) for each in parts]), expected())


CHANGES: dict[str, dict[str, Any]] = {
    "agent": {"agent": "OtherBot"},
    "dialect": {"dialect": "google"},
    "profile": {"profile": "open"},
    "parts": {"parts": PARTS + 1},
    "only": {"only": "allowed"},
    "keep": {"keep": ["id"]},
    "column": {"column": "other"},
}


@pytest.mark.parametrize("name", CHANGES)
def test_other_settings_are_no_resume(files: Files, name: str) -> None:
    """Parts by other settings would not belong together: the error names what differs."""
    table = given().append_column("other", given().column("url"))
    parquet.write_table(table, files.urls)
    files.run("out", parts=PARTS)
    (files.out / f"part-00003-of-{PARTS:05}.parquet").unlink()
    before = state(files.out)
    options: dict[str, Any] = {"parts": PARTS, **CHANGES[name]}
    with pytest.raises(manners.MannersError, match=name):
        files.run("out", resume=True, **options)
    assert state(files.out) == before
    files.run("out", resume=True, parts=PARTS)


@pytest.mark.parametrize("side", ["urls", "robots"])
def test_other_inputs_are_no_resume(files: Files, side: str) -> None:
    """A file that was replaced in between is named, or what it is for."""
    files.run("out", parts=PARTS)
    (files.out / f"part-00003-of-{PARTS:05}.parquet").unlink()
    before = state(files.out)
    if side == "urls":
        parquet.write_table(input_table(rows("others", 1_500)), files.urls)
    else:
        parquet.write_table(archive(world()[:-2]), files.robots)
    with pytest.raises(manners.MannersError, match=side):
        files.run("out", resume=True, parts=PARTS)
    assert state(files.out) == before


def test_resume_begins_where_there_is_nothing(files: Files) -> None:
    """So one command line does for the first run and for all others."""
    assert_rows(files.run("out", resume=True, parts=PARTS), expected())
    assert_rows(files.run("one.parquet", resume=True, parts=PARTS), expected())


# Killed.


@cache
def command(agent: str = "MyBot") -> tuple[str, ...]:
    return sys.executable, "-m", "manners", "bulk", "--agent", agent


def start(
    files: Files, out: str, *options: str, errors: int = subprocess.DEVNULL
) -> "subprocess.Popen[bytes]":
    """The command as a process of its own."""
    places = (
        "--urls",
        str(files.urls),
        "--robots",
        str(files.robots),
        "-o",
        str(files.folder / out),
    )
    return subprocess.Popen(
        [*command(), *places, *options],
        stdout=subprocess.DEVNULL,
        stderr=errors,
        start_new_session=True,
    )


def look(folder: Path) -> set[tuple[str, int]]:
    """The files below a folder and their sizes; some are gone while one looks."""
    found = set()
    for place, _, names in os.walk(folder):
        for name in names:
            path = f"{place}/{name}"
            with contextlib.suppress(FileNotFoundError):
                found.add((path, Path(path).stat().st_size))
    return found


def kill_after(process: "subprocess.Popen[bytes]", folder: Path, changes: int) -> bool:
    """Kills a process when so many files have come, grown or gone; False where it ended before."""
    seen, changed = look(folder), 0
    while process.poll() is None:
        now = look(folder)
        changed += len(now ^ seen)
        seen = now
        if changed >= changes:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            return True
        time.sleep(0.001)
    return False


@pytest.mark.long
@pytest.mark.parametrize("out", ["out/", "out.parquet"])
def test_killed_at_any_moment_and_resumed_is_a_run(files: Files, out: str) -> None:
    """SIGKILL while it reads, sorts into buckets, works and puts together: the same rows."""
    rng = random.Random(f"{SEED} kills {out}")
    options = ("--parts", "8", "--resume")
    inputs, killed = set(files.folder.iterdir()), 0
    while killed < size("CRAWL_KILLS"):
        with start(files, out, *options) as process:
            if kill_after(process, files.folder, rng.choice((0, 1, 2, 5, 10, 20, 40, 80))):
                killed += 1
                continue
        assert process.returncode == 0
        assert_rows(written_table(files.folder / out), expected())
        for place in set(files.folder.iterdir()) - inputs:  # to be made, and killed, once more
            shutil.rmtree(place) if place.is_dir() else place.unlink()
    with start(files, out, *options, errors=subprocess.PIPE) as last:
        errors = last.communicate()[1]
    assert last.returncode == 0, errors.decode()
    assert_rows(written_table(files.folder / out), expected())
