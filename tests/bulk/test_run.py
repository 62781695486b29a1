"""A run can be killed at any moment: what is there is complete, and the rest can be resumed."""

import gc
import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from manners import bulk
from manners.bulk import stages
from manners.bulk.records import BulkError
from tests.sizes import seed, size

HOSTS, ROWS = 120, 6_000
AGENT = "MyBot"
PROGRAM = """
import sys
from manners.bulk import run, stages, deciding, bucketing
stages.PART_ROWS, bucketing._FLUSH = 500, 20_000
options = eval(sys.argv[4])
run(*sys.argv[1:4], agent="MyBot", on_progress=lambda _: print(flush=True), **options)
"""
"""A run in small pieces, so that there is much to interrupt."""


def robots_of(host: int) -> str:
    return f"User-agent: *\nDisallow: /x{host % 3}\n"


def url(draw: random.Random) -> str | None:
    if draw.random() < 0.01:
        return draw.choice([None, "mailto:someone@example.com", "https://nowhere.example/"])
    # Half of the URLs are those of one host.
    host = 0 if draw.random() < 0.5 else draw.randrange(HOSTS)
    return f"https://h{host}.example/x{draw.randrange(5)}/{draw.randrange(10**6)}"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """URLs in many row groups, and an archive, in which a site redirects to one of another part."""
    monkeypatch.chdir(tmp_path)
    draw = random.Random(7)
    origins = [f"https://h{host}.example" for host in range(HOSTS)]
    robots = pa.table(
        {
            "origin": origins,
            "body": [robots_of(host) if host % 7 else "" for host in range(HOSTS)],
            "status": [200 if host % 7 else 301 for host in range(HOSTS)],
            "location": [
                None if host % 7 else f"https://h{host + 1}.example/robots.txt"
                for host in range(HOSTS)
            ],
        }
    )
    parquet.write_table(robots, "robots.parquet")
    urls = pa.table({"id": range(ROWS), "url": [url(draw) for _ in range(ROWS)]})
    parquet.write_table(urls, "urls.parquet", row_group_size=250)
    with Path("urls.csv").open("w") as file:
        file.write("id,url\n" + "".join(f"{r['id']},{r['url'] or ''}\n" for r in urls.to_pylist()))
    return tmp_path


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stages, "PART_ROWS", 500)


def rows_of(place: str) -> list[tuple[Any, ...]]:
    """What an output holds; of a folder, by the ids of the rows."""
    if place.endswith(".csv"):
        from pyarrow import csv

        table = csv.read_csv(place)
    elif place.endswith(".jsonl"):
        table = pa.Table.from_pylist(
            [json.loads(line) for line in Path(place).read_text().splitlines()]
        )
    else:
        table = parquet.read_table(place)
    columns = ("id", "url", "allowed", "reason", "line")
    rows = [tuple(str(row[name]) for name in columns) for row in table.to_pylist()]
    return sorted(rows, key=lambda row: int(row[0])) if Path(place).is_dir() else rows


def test_every_way_to_run_gives_the_same_rows() -> None:
    """Streamed, by parts, part by part, from prepared ones, with little memory, to any format."""
    first = bulk.run("urls.parquet", "robots.parquet", "one.parquet", agent=AGENT)
    right = rows_of("one.parquet")
    assert [int(row[0]) for row in right] == list(range(ROWS))
    assert {row[3] for row in right} == {
        *("rule-matched", "no-rule-matched", "no-url", "invalid-url", "no-robots"),
    }
    bulk.run("urls.csv", "robots.parquet", "two.csv", agent=AGENT, threads=1)
    bulk.run("urls.parquet", "robots.parquet", "three.jsonl", agent=AGENT)
    summary = bulk.run("urls.parquet", "robots.parquet", "four/", agent=AGENT, parts=5)
    bulk.run("urls.parquet", "robots.parquet", "five/", agent=AGENT, parts=4, prepare=True)
    for part in range(4):
        for out in ("five/", "six/"):
            bulk.run("urls.parquet", "robots.parquet", out, agent=AGENT, part=f"{part}/4")
    bulk.run("urls.parquet", "robots.parquet", "seven.parquet", agent=AGENT, memory=2**26, parts=9)
    assert rows_of("three.jsonl") == right
    for out in ("four", "five", "six"):
        assert rows_of(out) == right
    assert sorted(rows_of("seven.parquet")) == sorted(right)
    assert [row[0] for row in rows_of("two.csv")] == [row[0] for row in right]
    assert summary.agents[AGENT] == first.agents[AGENT]
    assert (summary.urls, summary.parts, first.parts) == (ROWS, 5, ROWS // 500)
    assert sorted(path.name for path in Path().glob("*.work")) == ["five.work", "six.work"]


def test_sites_are_gone_once_nobody_has_them() -> None:
    """At once: if Python had to look for cycles, a run would have the sites of many parts."""
    table = pa.table({"origin": ["https://a.example"], "body": ["User-agent: *\nDisallow: /x"]})
    gc.collect()
    gc.disable()
    try:
        # Those of other tests may be there, too: `cached_sites` keeps some.
        others = [found for found in gc.get_objects() if isinstance(found, bulk.Sites)]
        sites = bulk.Sites.from_table(table, agent=AGENT)
        sites.verdicts(pa.table({"url": ["https://a.example/x"]}))
        assert [found for found in gc.get_objects() if found is sites]
        del sites
        found = [found for found in gc.get_objects() if isinstance(found, bulk.Sites)]
        assert len(found) == len(others)
    finally:
        gc.enable()


def test_an_archive_that_does_not_fit_is_sorted_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    """The answers are those of one that fits; within a part, rows keep their order."""
    bulk.run("urls.parquet", "robots.parquet", "one.parquet", agent=AGENT)
    monkeypatch.setattr(stages, "_SHARE", 0.0001)
    phases = set()
    bulk.run(
        "urls.parquet",
        "robots.parquet",
        "two/",
        agent=AGENT,
        on_progress=lambda progress: phases.add(progress.phase),
    )
    assert {"sorting robots.txt", "sorting URLs", "deciding"} <= phases
    assert rows_of("two") == rows_of("one.parquet")
    for part in Path("two").glob("*.parquet"):
        ids = parquet.read_table(part)["id"].to_pylist()
        assert ids == sorted(ids)


def start(out: str, urls: str, options: dict[str, Any]) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-c", PROGRAM, urls, "robots.parquet", out, repr(options)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def complete_parts(out: str) -> Iterator[Path]:
    for folder in (Path(out), Path(f"{out}.work/parts")):
        if folder.is_dir():
            yield from folder.glob("part-*.parquet")


@pytest.mark.long
@pytest.mark.parametrize(
    ("out", "urls", "options"),
    [
        ("one.parquet", "urls.parquet", {}),
        ("two", "urls.csv", {}),
        ("three", "urls.parquet", {"parts": 16}),
        ("four.parquet", "urls.parquet", {"parts": 16}),
    ],
)
def test_a_killed_run_loses_no_part(out: str, urls: str, options: dict[str, Any]) -> None:
    """SIGKILL at any moment, again and again, then resume: equal to a run that was not killed."""
    draw = random.Random(f"{seed('BULK_SEED')} {out}")
    bulk.run(urls, "robots.parquet", f"right.{out}", agent=AGENT, **options)
    kept: dict[Path, bytes] = {}
    for _ in range(size("KILLS")):
        process = start(out, urls, {**options, "resume": bool(kept) or Path(out).exists()})
        assert process.stdout is not None
        for _ in range(draw.randrange(1, 60)):  # steps of the run; none at its end
            process.stdout.readline()
        time.sleep(draw.random() / 50)
        process.kill()
        process.wait()
        process.stdout.close()
        for part, content in kept.items():
            assert Path(out).is_file() or part.read_bytes() == content, part
        for part in complete_parts(out):
            parquet.read_table(part)  # whole
            kept[part] = part.read_bytes()
        if Path(out).is_file():
            parquet.read_table(out)
            break
    if not Path(out).is_file() or Path(f"{out}.work").exists():
        bulk.run(urls, "robots.parquet", out, agent=AGENT, resume=True, **options)
    assert rows_of(out) == rows_of(f"right.{out}")
    assert not Path(f"{out}.work").exists()
    assert not list(Path(out).glob(".*")) if Path(out).is_dir() else True


def test_an_output_is_never_overwritten() -> None:
    """Neither a file nor a part; the error says how to go on."""
    Path("x.parquet").write_bytes(b"mine")
    with pytest.raises(BulkError, match="exists already"):
        bulk.run("urls.parquet", "robots.parquet", "x.parquet", agent=AGENT)
    with pytest.raises(BulkError, match="nothing to resume"):
        bulk.run("urls.parquet", "robots.parquet", "x.parquet", agent=AGENT, resume=True)
    assert Path("x.parquet").read_bytes() == b"mine"
    bulk.run("urls.parquet", "robots.parquet", "y", agent=AGENT, parts=2)
    with pytest.raises(BulkError, match="--resume"):
        bulk.run("urls.parquet", "robots.parquet", "y", agent=AGENT, parts=2)


@pytest.mark.parametrize(
    ("name", "changed"),
    [
        ("agent", {"agent": "Other"}),
        ("only", {"only": "allowed"}),
        ("keep", {"keep": ["id"]}),
        ("parts", {"parts": 3}),
        ("dialect", {"dialect": "google"}),
        ("profile", {"profile": "open"}),
        ("add", {"add": ["allowed"]}),
    ],
)
def test_a_run_is_not_resumed_with_other_settings(name: str, changed: dict[str, Any]) -> None:
    """The error names what has changed."""
    given: dict[str, Any] = {"agent": AGENT, "parts": 2}
    bulk.run("urls.parquet", "robots.parquet", "out", **given)
    with pytest.raises(BulkError, match=f"{name} was .*, and is now "):
        bulk.run("urls.parquet", "robots.parquet", "out", resume=True, **{**given, **changed})


def test_a_run_is_not_resumed_with_other_inputs() -> None:
    """A file that has changed since is another one."""
    bulk.run("urls.parquet", "robots.parquet", "out", agent=AGENT, parts=2)
    os.utime("urls.parquet", ns=(1, 1))
    with pytest.raises(BulkError, match="urls was "):
        bulk.run("urls.parquet", "robots.parquet", "out", agent=AGENT, parts=2, resume=True)


def test_several_agents_have_a_row_each() -> None:
    """URL by URL, and for each URL agent by agent; filtered by what is true for the agent."""
    robots = pa.table({"origin": ["https://h1.example"], "body": ["User-agent: A\nDisallow: /"]})
    parquet.write_table(robots, "mine.parquet")
    parquet.write_table(
        pa.table({"url": ["https://h1.example/1", "https://h1.example/2"]}), "u.parquet"
    )
    summary = bulk.run("u.parquet", "mine.parquet", "o.parquet", agent=["A", "B"])
    found = parquet.read_table("o.parquet").to_pylist()
    assert [(row["url"][-1], row["agent"], row["allowed"]) for row in found] == [
        *(("1", "A", False), ("1", "B", True), ("2", "A", False), ("2", "B", True)),
    ]
    assert summary.agents["A"].disallowed == summary.agents["B"].allowed == 2
    bulk.run("u.parquet", "mine.parquet", "p.parquet", agent=["A", "B"], only="allowed", keep=[])
    rows = parquet.read_table("p.parquet").to_pylist()
    assert [row["agent"] for row in rows] == ["B", "B"]
    assert "url" not in rows[0]


def test_mixed_sites_are_decided_as_sorted_ones(monkeypatch: pytest.MonkeyPatch) -> None:
    """Deciding in another order changes neither the answers nor the order of rows."""
    from manners.bulk import deciding

    bulk.run("urls.parquet", "robots.parquet", "one.parquet", agent=AGENT)
    monkeypatch.setattr(deciding, "_FEW_SITES", 0)
    monkeypatch.setattr(deciding, "_TOGETHER", 400)
    monkeypatch.setattr(deciding, "_changes", lambda _: 1.0)
    bulk.run("urls.parquet", "robots.parquet", "two.parquet", agent=AGENT)
    assert parquet.read_table("two.parquet").equals(parquet.read_table("one.parquet"))


def test_columns_of_the_same_name_are_an_error() -> None:
    """Nothing of the input is overwritten."""
    parquet.write_table(pa.table({"url": ["https://h1.example/"], "reason": ["x"]}), "u.parquet")
    with pytest.raises(BulkError, match="'reason'"):
        bulk.run("u.parquet", "robots.parquet", "o.parquet", agent=AGENT)
    bulk.run("u.parquet", "robots.parquet", "o.parquet", agent=AGENT, keep=["url"])
    with pytest.raises(BulkError, match="no column 'uurl'; there are: url"):
        bulk.run("u.parquet", "robots.parquet", "p.parquet", agent=AGENT, keep=["uurl"])


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"part": "4/4"}, "counted from 0: the last is 3/4"),
        ({"part": "x"}, "as in 0/256"),
        ({"part": "0/4", "parts": 5}, "there are 5 parts"),
        ({"only": "maybe"}, "choose from: allowed, disallowed, undecided"),
        ({"add": ["why"]}, "choose from: allowed"),
        ({"memory": 5}, "at least"),
        ({"threads": 0}, "at least 1"),
        ({"agent": []}, "name the agent"),
        ({"agent": ["A", "A"]}, "twice"),
        ({"format": "xml"}, "choose from parquet, csv, jsonl"),
    ],
)
def test_what_cannot_be_done_is_said_at_once(options: dict[str, Any], problem: str) -> None:
    """Before anything is read or written."""
    with pytest.raises(BulkError) as raised:
        bulk.run("urls.parquet", "robots.parquet", "out/", **{"agent": AGENT, **options})
    assert problem in str(raised.value)
    assert not Path("out").exists()
    assert not Path("out.work").exists()
