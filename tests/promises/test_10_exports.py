"""Section 10 of the defects, exports: what is removed from an exported file is found."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from manners.evidence.store import EvidenceStore
from tests.cli.running import Ran, Run, runner, settle
from tests.evidence.drafts import drafts

FIVE = 5


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settle(monkeypatch, tmp_path)
    with EvidenceStore("manners.db") as store:
        for each in drafts(FIVE):
            store.append_blocking(each)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "evidence")


def exported(run: Run, *filters: str) -> list[str]:
    ran = run("export", *filters)
    assert ran.code == 0
    return ran.out.splitlines(keepends=True)


def verified(run: Run, lines: list[str], *more: str) -> Ran:
    Path("file.jsonl").write_text("".join(lines))
    return run("verify", "file.jsonl", *more)


def test_the_last_line_says_what_the_export_is(run: Run) -> None:
    """Whole or filtered, how many records of how many, and where the chain ends."""
    head = run("head").out.strip()
    whole = json.loads(exported(run)[-1])
    assert (whole["export"], whole["records"], whole["total"]) == ("whole", FIVE, FIVE)
    assert (whole["start"], whole["head"]) == (f"0:{'0' * 64}", head)
    some = json.loads(exported(run, "--type", "blocked_by_robots")[-1])
    assert (some["export"], some["records"], some["total"]) == ("filtered", 1, FIVE)
    assert some["head"] == head


def test_a_whole_export_verifies_as_such(run: Run) -> None:
    ran = verified(run, exported(run))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("OK: 5 records verified, a whole export, chain intact; head 5:")


def test_an_emptied_file_is_no_export(run: Run) -> None:
    """It cannot be verified, as a file of something else: exit code 3."""
    for lines in ([], ["\n"]):
        ran = verified(run, lines)
        assert (ran.code, ran.out) == (3, "")
        assert "is not an exported file: it is empty" in ran.err


def test_a_finding_about_no_line_begins_with_what_is_wrong(run: Run) -> None:
    ran = verified(run, exported(run)[:-1])
    assert ran.out == "the last line of the export is missing: the file was cut short\n"


def without(*places: int) -> Callable[[list[str]], list[str]]:
    return lambda lines: [line for at, line in enumerate(lines) if at not in places]


@pytest.mark.parametrize(
    "change",
    [
        *(pytest.param(without(at), id=f"record {at + 1}") for at in range(FIVE)),
        pytest.param(without(3, 4), id="the last two"),
        pytest.param(without(0, 1), id="the first two"),
        pytest.param(without(*range(FIVE)), id="all records"),
        pytest.param(without(FIVE), id="the last line"),
        pytest.param(without(FIVE - 1, FIVE), id="the last record and the last line"),
        pytest.param(without(0, FIVE), id="the first record and the last line"),
        pytest.param(lambda lines: [*lines[:-1], lines[1], lines[-1]], id="one twice"),
        pytest.param(lambda lines: [*lines, lines[0]], id="one behind the end"),
    ],
)
@pytest.mark.parametrize("redact", [[], ["--redact-query"]], ids=["plain", "redacted"])
def test_removal_from_a_whole_export_is_found(
    run: Run, change: Callable[[list[str]], list[str]], redact: list[str]
) -> None:
    """Of any record, of the last ones, and of the last line itself."""
    ran = verified(run, change(exported(run, *redact)))
    assert ran.code == 1
    assert ran.out != ""
    assert ran.err.startswith("FAILED: ")


@pytest.mark.parametrize("at", range(4))
def test_removal_from_a_filtered_export_is_found(run: Run, at: int) -> None:
    """The last line has their number and a digest of them."""
    lines = exported(run, "--type", "robots_allowed")
    assert len(lines) == 5
    assert verified(run, without(at)(lines)).code == 1
    assert verified(run, without(4)(lines)).code == 1
    assert verified(run, [*without(at)(lines)[:-1], lines[(at + 1) % 4], lines[-1]]).code == 1


def test_a_filtered_export_verifies_as_far_as_it_can(run: Run) -> None:
    """And says plainly what it is."""
    ran = verified(run, exported(run, "--type", "robots_allowed"))
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("OK: 4 records verified\n")
    assert "filtered: 4 of 5 records; gaps are expected" in ran.err


def test_an_export_of_an_older_version_still_verifies(run: Run) -> None:
    """Without a last line; whether it is complete cannot be known, and that is said."""
    old = run("list", "--all", "--json").out.splitlines(keepends=True)
    ran = verified(run, old)
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.startswith("OK: 5 records verified\n")
    assert "whether it is complete" in ran.err
    assert verified(run, without(2)(old)).code == 0
    head = run("head").out.strip()
    assert verified(run, old[:-1], "--head", head).code == 1


def test_lines_of_two_exports_do_not_pass_for_one(run: Run) -> None:
    """Neither a filtered one with another's last line, nor older lines among newer ones."""
    whole, some = exported(run), exported(run, "--type", "robots_allowed")
    old = run("list", "--all", "--json").out.splitlines(keepends=True)
    assert verified(run, [*some[:-1], whole[-1]]).code == 1
    assert verified(run, [*whole[:2], old[2], *whole[3:]]).code == 1


def test_what_is_left_after_pruning_is_a_whole_export(run: Run) -> None:
    """It begins at the checkpoint, and what was pruned is said."""
    with EvidenceStore("manners.db") as store:
        third = store.record(4)
        assert third
    when = third.content["timestamp"]
    checkpoint = run("prune", "--yes", "--before", when).out.split()[-1]
    lines = exported(run)
    assert json.loads(lines[-1])["start"] == checkpoint
    ran = verified(run, lines)
    assert (ran.code, ran.out) == (0, "")
    assert "records up to 3 were pruned before" in ran.err
    assert verified(run, lines[1:]).code == 1
    assert verified(run, lines, "--head", checkpoint).code == 0
    assert run("verify").err.startswith("OK: 2 records verified, chain intact; head 5:")


def test_a_table_has_no_last_line_and_says_how_much_it_has(run: Run) -> None:
    """CSV is for people, and cannot be verified; a row for each record, and no other."""
    ran = run("export", "--format", "csv", "--type", "robots_allowed", "-o", "table.csv")
    assert ran.err == "4 of 5 records in table.csv\n"
    assert Path("table.csv").read_text().count("\n") == 5
    assert run("verify", "table.csv").code == 3
