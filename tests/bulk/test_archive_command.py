"""`manners archive` on the command line."""

from pathlib import Path

import pytest

from tests.bulk.live import record
from tests.bulk.test_archive import FILE, OTHER, ROBOTS, put
from tests.cli.running import Run, runner


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "archive")


def test_files_are_added_listed_and_packed(run: Run, tmp_path: Path) -> None:
    """From a folder of files to a list of sites."""
    folder, place = tmp_path / "archive", put([record(ROBOTS, FILE, 0)], tmp_path)
    assert run("add", folder, place).lines[0].startswith("added 1 record (")
    assert run("add", folder, place, "--json").object["records"] == 1
    assert run("pack", folder).lines[0].startswith("packed 2 records")
    assert run("pack", folder, "--json").object["records"] == 1
    lines = run("list", folder).lines
    assert lines[0].split() == ["SITE", "RECORDS", "FIRST", "(UTC)", "LAST", "(UTC)"]
    assert lines[1].split() == ["https://0.example", "1", *["2027-01-15", "08:00:00"] * 2]
    assert lines[2].startswith("1 site, 1 record, 1 file (")
    assert run("list", folder, "--json").objects == [
        {
            "origin": "https://0.example",
            "records": 1,
            "first": "2027-01-15T08:00:00Z",
            "last": "2027-01-15T08:00:00Z",
        }
    ]


def test_a_site_is_shown_over_time(run: Run, tmp_path: Path) -> None:
    """Each record of it, the oldest first; exit code 1 if there is none."""
    records = [record(ROBOTS, OTHER, 60), record(ROBOTS, FILE, 0)]
    run("add", tmp_path / "archive", put(records, tmp_path))
    shown = run("list", tmp_path / "archive", "0.example")
    assert [line.split()[1:4] for line in shown.lines[1:]] == [
        ["08:00:00", "200", "13"],
        ["08:01:00", "200", "13"],
    ]
    replies = run("list", tmp_path / "archive", "0.example", "--json").objects
    assert [reply["fetched_at"] for reply in replies] == [
        "2027-01-15T08:00:00Z",
        "2027-01-15T08:01:00Z",
    ]
    missing = run("list", tmp_path / "archive", "nosuch.example")
    assert (missing.code, missing.out) == (1, "")
    assert "not in the archive: nosuch.example" in missing.err


def test_what_was_skipped_is_told(run: Run, tmp_path: Path) -> None:
    """Damage is a warning while something can be read, and an error if nothing can."""
    good = put([record(ROBOTS, FILE, 0)], tmp_path, "a.parquet")
    bad = tmp_path / "b\x1b[2J.parquet"
    bad.write_bytes(good.read_bytes()[:-30])
    added = run("add", tmp_path / "archive", tmp_path)
    assert (added.code, "added 1 record" in added.out) == (0, True)
    assert "damaged after row 0" in added.err
    assert "\x1b" not in added.err
    failed = run("add", tmp_path / "other", bad)
    assert failed.code not in (0, 1)
    assert "damaged after row 0" in failed.err
    assert "\x1b" not in failed.err


def test_there_has_to_be_an_archive(run: Run, tmp_path: Path) -> None:
    """The error says how to make one."""
    for command in ("list", "pack"):
        failed = run(command, tmp_path / "nosuch")
        assert failed.code not in (0, 1)
        assert "manners archive add" in failed.err
