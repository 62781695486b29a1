"""`manners evidence`: records listed, shown, verified, decided again, exported, and pruned."""

import csv
import hashlib
import io
import os
import pty
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from manners.cache.entry import Entry
from manners.cache.site import ParsedEntry, Site
from manners.cli import main
from manners.evidence.record import Clerk, Draft, engine
from manners.evidence.store import EvidenceStore
from manners.exclusions import Exclusions, Overrides
from manners.retrieval import profiles
from manners.retrieval.outcome import Availability, Outcome, RobotsHop
from manners.robots import dialects
from manners.urls import origin, robots_url
from tests.cli.running import RanRaw as Ran
from tests.cli.running import settle, shown_on_terminal
from tests.contracts.postgres import Postgres
from tests.evidence.strands import with_strands

ROBOTS = b"# ours\nUser-agent: *\nDisallow: /private/\nAllow: /private/press/\nCrawl-delay: 2\n"
SHA256 = hashlib.sha256(ROBOTS).hexdigest()
START = 1_798_761_600.0  # 2027-01-01
HOSTILE = "\x1b]0;x\x07\x9b31m\x85\u202e"


def site(url: str, body: bytes | None = ROBOTS, at: float = START) -> Site:
    """What a site says; without a body, it cannot be reached."""
    found = Availability.AVAILABLE if body is not None else Availability.UNREACHABLE
    where = robots_url(url)
    outcome = Outcome(
        found,
        "200" if body is not None else "timeout",
        url=where,
        hops=(RobotsHop(where, 200 if body is not None else None),),
        at=at,
    )
    entry = Entry(origin(url), body, "", outcome, at, at, at + 86_400.0)
    return ParsedEntry(entry, dialects.get("rfc9309"), profiles.get("rfc9309")).at(at)


def draft(
    url: str, at: float, agent: str = "MyBot", body: bytes | None = ROBOTS, by: str | None = None
) -> Draft:
    """The record of a decision, as the client writes it."""
    clerk = Clerk(agent, profiles.get("rfc9309"), "rfc9309", by or engine())
    ruled = Overrides(Exclusions(["/admin"]), lambda _: True).check(url)
    if ruled is not None:
        return clerk.draft(url, ruled, None, at)
    known = site(url, body)
    return clerk.draft(url, known.check(url, agent), known, at)


def keep(*drafts: Draft, place: str = "manners.db") -> None:
    with EvidenceStore(place) as store:
        for each in drafts:
            store.append_blocking(each)


FIVE = [
    draft("https://a.example/", START),
    draft("https://a.example/private/x?token=hidden", START + 1.5),
    draft("https://b.example/admin/x", START + 86_400),
    draft("https://c.example/x", START + 2 * 86_400, body=None),
    draft("https://a.example/private/press/1", START + 3 * 86_400, agent="Other/2.0"),
]


Run = Callable[..., Ran]


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No settings but those of the test."""
    settle(monkeypatch, tmp_path)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store, made once."""
    place = tmp_path_factory.mktemp("made") / "manners.db"
    keep(*FIVE, place=str(place))
    return place


@pytest.fixture
def five(made: Path) -> Path:
    """The store, in the folder of the test."""
    shutil.copy(made, "manners.db")
    return Path("manners.db")


@pytest.fixture
def run(capsysbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch) -> Run:
    """Run the command in this process, with `stdin` as its standard input."""

    def run(*arguments: str | Path, stdin: bytes = b"") -> Ran:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8"))
        code = main(["evidence", *map(str, arguments)])
        out, err = capsysbinary.readouterr()
        return Ran(code, out, err.decode())

    return run


def change(statement: str, place: Path | str = "manners.db") -> None:
    """What somebody might do to a store."""
    with closing(sqlite3.connect(place)) as connection:
        connection.execute(statement)
        connection.commit()


def head() -> str:
    with EvidenceStore("manners.db", create=False) as store:
        return str(store.head())


# list.


@pytest.mark.usefixtures("five")
def test_a_line_for_each_record(run: Run) -> None:
    """Number, time, answer, URL, and what decided, in the order of the chain."""
    ran = run("list")
    assert (ran.code, ran.err) == (0, "")
    assert ran.lines == [
        "     1  2027-01-01T00:00:00.000Z  allowed  https://a.example/  no-rule-matched",
        "     2  2027-01-01T00:00:01.500Z  blocked  https://a.example/private/x?token=hidden"
        "  line 3: Disallow: /private/",
        "     3  2027-01-02T00:00:00.000Z  blocked  https://b.example/admin/x"
        "  excluded (exclude: /admin)",
        "     4  2027-01-03T00:00:00.000Z  blocked  https://c.example/x  unreachable (timeout)",
        "     5  2027-01-04T00:00:00.000Z  allowed  https://a.example/private/press/1"
        "  line 4: Allow: /private/press/",
    ]


@pytest.mark.usefixtures("five")
def test_records_in_json(run: Run) -> None:
    """What `Record.to_dict()` has, one a line."""
    with EvidenceStore("manners.db") as store:
        expected = [record.to_dict() for record in store.records()]
    assert run("list", "--json").objects == expected


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("filters", "numbers"),
    [
        (["--host", "a.example"], [1, 2, 5]),
        (["--host", "A.Example"], [1, 2, 5]),
        (["--host", "https://a.example:8443/x"], [1, 2, 5]),
        (["--host", "nobody.example"], []),
        (["--since", "2027-01-02"], [3, 4, 5]),
        (["--until", "2027-01-02"], [1, 2]),
        (["--until", "2027-01-02T00:00:00.001"], [1, 2, 3]),
        (["--since", "2027-01-02T01:00+01:00", "--until", "2027-01-03T00:00:00Z"], [3]),
        (["--since", "2027-01-02T00:00-01:00"], [4, 5]),
        (["--type", "robots_allowed"], [1, 5]),
        (["--type", "blocked_by_robots"], [2, 4]),
        (["--type", "blocked_by_exclusion"], [3]),
        (["--agent", "Other/2.0"], [5]),
        (["--agent", "other"], []),
        (["--host", "a.example", "--type", "blocked_by_robots"], [2]),
    ],
    ids=str,
)
def test_filters(run: Run, filters: list[str], numbers: list[int]) -> None:
    """By host, time, type and agent, the same for `list`, `replay` and `export`."""
    assert [record["id"] for record in run("list", "--json", *filters).objects] == numbers
    *exported, last = run("export", *filters).objects
    assert [record["id"] for record in exported] == numbers
    assert (last["export"], last["records"], last["total"]) == ("filtered", len(numbers), 5)
    ran = run("replay", *filters)
    assert ran.code == 0
    count = "1 record" if len(numbers) == 1 else f"{len(numbers)} records"
    assert ran.err.startswith(f"{count} decided again: all the same\n")


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("words", ["list", "replay", "export"])
@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--since", "yesterday"], "--since is a date, or a date and a time"),
        (["--until", "2027-02-30"], "--until is a date"),
        (["--until", HOSTILE], "--until is a date"),
        (
            ["--type", "allowed"],
            "unknown type 'allowed'; choose from: robots_allowed, blocked_by_robots",
        ),
        (["--host", "a b"], "'http://a b/': "),
        (["--nonsense"], "No such option: --nonsense"),
    ],
    ids=str,
)
def test_mistakes_are_one_line(run: Run, words: str, options: list[str], said: str) -> None:
    """Exit code 2, and what to write instead."""
    ran = run(words, *options)
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert ran.err.startswith(f"manners: {said}")
    assert ran.err.strip().isprintable()


def test_the_latest_fifty_unless_somebody_asks_for_more(run: Run) -> None:
    """It is said that there are more."""
    keep(*(draft(f"https://a.example/{number}", START + number) for number in range(60)))
    ran = run("list")
    assert [int(line.split()[0]) for line in ran.lines] == list(range(11, 61))
    assert ran.err == "the latest 50 of 60 records; --all lists all\n"
    assert len(run("list", "--all").lines) == 60
    assert [int(line.split()[0]) for line in run("list", "--last", "2").lines] == [59, 60]
    ran = run("list", "--json")
    assert (len(ran.lines), ran.err) == (50, "")
    assert run("list", "--last", "0").code == 2
    assert run("list", "--last", "2", "--all").code == 2


# show.


@pytest.mark.usefixtures("five")
def test_everything_about_one_record(run: Run) -> None:
    """With the deciding line in its place, and what comes out today."""
    ran = run("show", "2")
    assert (ran.code, ran.err) == (0, "")
    with EvidenceStore("manners.db") as store:
        record = store.record(2)
    assert record
    assert ran.lines == [
        "record 2",
        "  url       https://a.example/private/x?token=hidden",
        "  decided   blocked",
        "  because   line 3: Disallow: /private/",
        "  at        2027-01-01T00:00:01.500Z",
        "  type      blocked_by_robots",
        "  agent     MyBot, in the group for *",
        "  delay     2 s",
        f"  read by   dialect rfc9309, {engine()}",
        "  retrieval available (200), https://a.example/robots.txt",
        "            2027-01-01T00:00:00.000Z, 0 s old",
        "            profile rfc9309, confidence high",
        f"  robots    {SHA256}, {len(ROBOTS)} bytes",
        "              1  # ours",
        "              2  User-agent: *",
        "            > 3  Disallow: /private/",
        "              4  Allow: /private/press/",
        "              5  Crawl-delay: 2",
        "              6",
        "  replay    same decision",
        f"  previous  {record.previous}",
        f"  hash      {record.hash}",
    ]


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("number", "because"),
    [(1, "no-rule-matched"), (3, "excluded (exclude: /admin)"), (4, "unreachable (timeout)")],
)
def test_records_without_a_line(run: Run, number: int, because: str) -> None:
    """What decided is said, and there is no line to show."""
    ran = run("show", str(number))
    assert f"  because   {because}" in ran.lines
    assert "  replay    same decision" in ran.lines
    assert not [line for line in ran.lines if ">" in line]


@pytest.mark.usefixtures("five")
def test_a_record_in_json(run: Run) -> None:
    """The record, and beside it what is known about it."""
    (told,) = run("show", "5", "--json").objects
    with EvidenceStore("manners.db") as store:
        record = store.record(5)
    assert record
    assert told["record"] == record.to_dict()
    assert (told["hash_holds"], told["difference"], told["robots_bytes"]) == (
        True,
        None,
        len(ROBOTS),
    )
    assert told["lines"][3] == {"number": 4, "text": "Allow: /private/press/"}


@pytest.mark.usefixtures("five")
def test_the_robots_txt_of_a_record(run: Run) -> None:
    """Byte by byte; where there is none, that is said."""
    ran = run("show", "2", "--robots")
    assert (ran.code, ran.raw, ran.err) == (0, ROBOTS, "")
    ran = run("show", "4", "--robots")
    assert (ran.code, ran.raw) == (1, b"")
    assert ran.err == "manners: warning: no robots.txt decided record 4: unreachable (timeout)\n"
    assert run("show", "2", "--robots", "--json").code == 2


@pytest.mark.usefixtures("five")
def test_a_record_that_is_not_there(run: Run) -> None:
    """Exit code 1; what is no number is a usage error."""
    assert run("show", "6") == Ran(1, b"", "manners: warning: there is no record 6\n")
    for number in ("0", "-1", "x", "99999999999999999999"):
        ran = run("show", number)
        assert ran.code in (1, 2)
        assert (ran.out, ran.err.count("\n")) == ("", 1)


@pytest.mark.usefixtures("five")
def test_a_record_that_was_changed_is_shown_as_such(run: Run) -> None:
    """Its hash is not its own, and it comes out differently."""
    change("UPDATE evidence SET metadata = replace(metadata, '/private/x', '/public') WHERE id = 2")
    ran = run("show", "2")
    assert ran.code == 0
    assert "  replay    was disallowed, now allowed" in ran.lines
    assert ran.lines[-1].endswith(", which does not match the record")
    (told,) = run("show", "2", "--json").objects
    assert told["hash_holds"] is False
    assert told["difference"]["replayed"]["allowed"] is True


# head.


@pytest.mark.usefixtures("five")
def test_the_head_is_what_verify_takes(run: Run) -> None:
    """One line, and nothing else."""
    ran = run("head")
    assert (ran.code, ran.err) == (0, "")
    assert re.fullmatch(r"5:[0-9a-f]{64}\n", ran.out)
    (told,) = run("head", "--json").objects
    assert f"{told['number']}:{told['hash']}\n" == ran.out
    assert run("verify", "--head", ran.out.strip()).code == 0
    assert "verify --head N:HASH" in run("head", "--help").out


def test_an_empty_store(run: Run) -> None:
    """Everything works, and there is nothing."""
    keep()
    assert run("head").out == f"0:{'0' * 64}\n"
    assert run("verify", "--head", f"0:{'0' * 64}").code == 0
    assert run("list") == Ran(0, b"", "")
    assert run("replay").err == "0 records decided again: all the same\n"
    (last,) = run("export").objects
    assert (last["export"], last["records"], last["head"]) == ("whole", 0, f"0:{'0' * 64}")
    assert run("prune", "--before", "2030-01-01", "--yes").out == "nothing to delete\n"
    assert run("show", "1").code == 1


# verify.


@pytest.mark.usefixtures("five")
def test_nothing_is_found_in_a_store_as_it_was_written(run: Run) -> None:
    """What was looked at is said, and what cannot be known without a head."""
    ran = run("verify")
    assert (ran.code, ran.out) == (0, "")
    first, second = ran.err.splitlines()
    assert first == f"OK: 5 records verified, chain intact; head {head()}"
    assert second.startswith("without --head: cannot tell whether records are missing at the end")
    ok = f"OK: 5 records verified, chain intact; head {head()}\n"
    assert run("verify", "--head", head()).err == ok
    assert run("verify", "--json").out == ""


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("UPDATE evidence SET content = replace(content, 'true', 'false') WHERE id = 1", [1]),
        ("DELETE FROM evidence WHERE id = 3", [3]),
        ("UPDATE snapshots SET body = X'00'", [1]),
        ("DELETE FROM snapshots", [1]),
    ],
)
def test_findings_are_printed_one_a_line(run: Run, statement: str, found: list[int]) -> None:
    """As text or as JSON, with exit code 1."""
    change(statement)
    ran = run("verify")
    assert ran.code == 1
    assert [line.partition(":")[0] for line in ran.lines][: len(found)] == [
        f"record {number}" for number in found
    ]
    count = len(ran.lines)
    found_so_many = f"FAILED: {count} finding{'' if count == 1 else 's'} in 5 records; head 5:"
    assert ran.err.startswith(found_so_many)
    ran = run("verify", "--json")
    assert (ran.code, [each["id"] for each in ran.objects][: len(found)]) == (1, found)
    assert all(each["problem"] for each in ran.objects)


@pytest.mark.usefixtures("five")
def test_a_head_shows_that_the_end_is_missing(run: Run) -> None:
    """What a store without its last record does not show by itself."""
    noted = head()
    with EvidenceStore("manners.db") as store:
        fourth = store.record(4)
    assert fourth
    change("DELETE FROM evidence WHERE id = 5")
    change(f"UPDATE evidence_head SET number = 4, hash = '{fourth.hash}'")
    assert run("verify").code == 0
    ran = run("verify", "--head", noted)
    assert ran.code == 1
    assert ran.lines == ["record 5: is missing: the chain ends at 4, the noted head is record 5"]


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("noted", ["5", "x:y", "5:abc", f"-1:{'0' * 64}", HOSTILE])
def test_a_head_that_is_none(run: Run, noted: str) -> None:
    """It is said what one looks like."""
    ran = run("verify", f"--head={noted}")
    assert (ran.code, ran.out) == (2, "")
    assert "a head is a number, a colon and 64 hex digits" in ran.err


@pytest.mark.usefixtures("five")
def test_an_exported_file_is_verified_alone(run: Run) -> None:
    """Away from its store, from a file or from standard input."""
    noted = head()
    exported = run("export").raw
    Path("file.jsonl").write_bytes(exported)
    Path("manners.db").unlink()
    ok = f"OK: 5 records verified, a whole export, chain intact; head {noted}\n"
    assert run("verify", "file.jsonl", "--head", noted) == Ran(0, b"", ok)
    assert run("verify", "-", "--head", noted, stdin=exported).code == 0
    ran = run("verify", "file.jsonl")
    assert (ran.code, ran.err.count("\n")) == (0, 2)
    ran = run("verify", "-", stdin=exported.replace(b"b.example", b"d.example"))
    assert (ran.code, ran.lines) == (1, ["line 3, record 3: was changed"])
    ran = run("verify", "-", "--json", stdin=exported.replace(b"b.example", b"d.example"))
    assert ran.objects == [{"line": 3, "id": 3, "problem": "was changed"}]


@pytest.mark.usefixtures("five")
def test_what_a_part_of_a_file_cannot_show_is_said(run: Run) -> None:
    """Filtered, or redacted."""
    ran = run("verify", "-", stdin=run("export", "--host", "a.example").raw)
    assert (ran.code, ran.out) == (0, "")
    assert "filtered: 3 of 5 records; gaps are expected" in ran.err
    ran = run("verify", "-", stdin=run("export", "--redact-query").raw)
    assert (ran.code, ran.out) == (0, "")
    assert "1 redacted: cannot tell whether these were changed; the hashes of 1" in ran.err


@pytest.mark.usefixtures("five")
def test_files_that_cannot_be_verified(run: Run) -> None:
    """A file that is not there is a usage error; one of something else could not be read."""
    ran = run("verify", "missing.jsonl")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "manners: cannot read 'missing.jsonl': No such file or directory\n"
    run("export", "--format", "csv", "-o", "table.csv")
    ran = run("verify", "table.csv")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == "manners: 'table.csv' is not an exported file: no line is a record\n"
    assert run("verify", "manners.db").code == 3
    assert run("verify", "x.jsonl", "--store", "manners.db").code == 2


def test_a_line_without_end_fills_no_memory(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only its beginning is read, and what follows it is still seen."""
    from manners.evidence import export

    keep(*FIVE[:2])
    first, second, last = run("export").raw.splitlines(keepends=True)
    monkeypatch.setattr(export, "MAX_LINE", len(second) + 10)
    ran = run("verify", "-", stdin=first + b"x" * 100_000 + b"\n" + second + last)
    assert (ran.code, ran.lines) == (1, ["line 2: is not a record: too long"])


def test_a_store_that_breaks_off_could_not_be_read(run: Run) -> None:
    """Exit code 3: nothing is known of the rest."""
    keep(*(draft(f"https://a.example/{'x' * 1000}{number}", START) for number in range(200)))
    broken = bytearray(Path("manners.db").read_bytes())
    broken[100_000:400_000] = b"\xff" * 300_000
    Path("manners.db").write_bytes(broken)
    for words in ("verify", "replay", "export"):
        ran = run(words)
        assert ran.code == 3, words
        assert ran.err.startswith("manners: 'manners.db': database disk image is malformed")


# replay.


@pytest.mark.usefixtures("five")
def test_everything_comes_out_the_same(run: Run) -> None:
    """With counts by type."""
    ran = run("replay")
    assert (ran.code, ran.out) == (0, "")
    assert ran.err.splitlines() == [
        "5 records decided again: all the same",
        "  1 blocked_by_exclusion",
        "  2 blocked_by_robots",
        "  2 robots_allowed",
    ]


def test_what_comes_out_differently_is_told_with_who_decided(run: Run) -> None:
    """What was, what is, and whether it was another version."""
    url = "https://a.example/private/x"
    known, other = site(url), site(url, b"User-agent: *\nAllow: /")
    drafts = []
    for by in (engine(), "manners 0.0.1"):
        clerk = Clerk("MyBot", profiles.get("rfc9309"), "rfc9309", by)
        drafts.append(clerk.draft(url, other.check(url, "MyBot"), known, START))
    keep(*drafts, draft("https://a.example/", START, by="manners 0.0.1"))
    ran = run("replay")
    assert ran.code == 1
    assert ran.lines == [
        f"record 1: {url}: was allowed, now disallowed",
        f"record 2: {url}: was allowed, now disallowed (decided by manners 0.0.1)",
    ]
    first = ran.err.splitlines()[0]
    assert first == "3 records decided again, 2 different, 1 of these by another version"
    _, told = run("replay", "--json").objects
    assert (told["id"], told["engine"]) == (2, "manners 0.0.1")
    assert (told["recorded"]["allowed"], told["replayed"]["allowed"]) == (True, False)


@pytest.mark.usefixtures("five")
def test_what_cannot_be_decided_again_is_exit_code_3(run: Run) -> None:
    """A robots.txt that is missing decides nothing."""
    change("DELETE FROM snapshots")
    ran = run("replay")
    assert (ran.code, len(ran.lines)) == (3, 3)
    assert f"cannot be decided again: the robots.txt {SHA256} is missing" in ran.lines[0]
    assert ran.err.splitlines()[0] == "5 records decided again, 3 not possible"


# export.


@pytest.mark.usefixtures("five")
def test_an_export_is_what_the_store_has(run: Run) -> None:
    """JSON lines: to standard output, or to a file."""
    ran = run("export")
    *lines, last = ran.objects
    assert [line.pop("export") for line in lines] == ["whole"] * 5
    assert lines == run("list", "--all", "--json").objects
    assert (last["export"], last["records"], last["head"]) == ("whole", 5, head())
    assert run("export", "--json").raw == ran.raw
    assert run("export", "-o", "file.jsonl") == Ran(0, b"", "5 records in file.jsonl\n")
    assert Path("file.jsonl").read_bytes() == ran.raw


@pytest.mark.usefixtures("five")
def test_a_table(run: Run) -> None:
    """A row of names, then a row for each record; it cannot be verified, and is for people."""
    ran = run("export", "--format", "csv")
    assert ran.out.count("\r\n") == 6
    header, *rows = csv.reader(io.StringIO(ran.out, newline=""), strict=True)
    assert header[:5] == ["id", "timestamp", "type", "allowed", "url"]
    second = dict(zip(header, rows[1], strict=True))
    assert (second["allowed"], second["line"], second["crawlDelay"]) == ("false", "3", "2")
    assert second["matchedRule"] == "Disallow: /private/"
    assert (second["snapshot"], second["robots_note"]) == (SHA256, "200")
    assert dict(zip(header, rows[2], strict=True))["exclusion"] == "/admin"
    assert run("export", "--format", "csv", "--json").code == 2
    assert run("export", "--format", "xml").code == 2


def test_a_table_does_no_harm(run: Run) -> None:
    """What a site, or a user, puts at the beginning of a cell is no formula."""
    keep(draft("https://a.example/", START, agent="=HYPERLINK(1)"))
    change("UPDATE evidence SET type = '@SUM(1)'")
    header, row = csv.reader(io.StringIO(run("export", "--format", "csv").out, newline=""))
    cells = dict(zip(header, row, strict=True))
    assert (cells["agent"], cells["type"]) == ("'=HYPERLINK(1)", "'@SUM(1)")


def test_a_file_that_is_there_is_not_replaced_unless_somebody_says_so(run: Run, five: Path) -> None:
    """Nor is anything that is no file, and never the store."""
    Path("file").write_text("precious")
    ran = run("export", "-o", "file")
    assert (ran.code, ran.err) == (2, "manners: 'file' already exists; --force replaces it\n")
    assert Path("file").read_text() == "precious"
    assert run("export", "-o", "file", "--force").code == 0
    assert len(Path("file").read_text().splitlines()) == 6
    Path("folder").mkdir()
    os.mkfifo("pipe")
    for place in ("folder", "pipe", "/dev/null"):
        ran = run("export", "-o", place, "--force")
        assert (ran.code, ran.err) == (2, f"manners: '{place}' is not a file\n")
    before = five.read_bytes()
    Path("link").symlink_to(five)
    Path("manners.db-wal").touch()
    for place in ("manners.db", "link", "manners.db-wal"):
        ran = run("export", "-o", place, "--force")
        assert (ran.code, ran.err) == (2, f"manners: '{place}' is the store\n")
    assert five.read_bytes() == before
    ran = run("export", "-o", "nowhere/file")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err == "manners: cannot write 'nowhere/file': No such file or directory\n"


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_file_is_there_as_a_whole_or_not_at_all(
    run: Run, monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    """What was interrupted leaves what was there before."""
    view = EvidenceStore.view

    @contextmanager
    def interrupted(*arguments: Any) -> Iterator[Any]:
        def records() -> Iterator[Any]:
            yield next(found.records)
            raise error

        with view(*arguments) as found:
            yield found._replace(records=records())

    Path("file").write_text("precious")
    before = sorted(Path().iterdir())
    monkeypatch.setattr(EvidenceStore, "view", interrupted)
    assert run("export", "-o", "file", "--force").code == (130 if error is KeyboardInterrupt else 3)
    assert Path("file").read_text() == "precious"
    assert sorted(Path().iterdir()) == before


@pytest.mark.usefixtures("five")
def test_the_robots_txt_files_go_along(run: Run) -> None:
    """Each once, under its hash; what is there already, and right, stays."""
    for _ in range(2):
        assert run("export", "--snapshots", "deep/files").code == 0
        (path,) = Path("deep/files").iterdir()
        assert (path.name, path.read_bytes()) == (f"{SHA256}.txt", ROBOTS)
    path.write_bytes(b"rubbish")
    assert run("export", "--snapshots", "deep/files").code == 0
    assert path.read_bytes() == ROBOTS
    assert run("export", "--snapshots", "more", "--host", "b.example").code == 0
    assert list(Path("more").iterdir()) == []


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    "statement",
    [
        "DELETE FROM snapshots",
        "UPDATE snapshots SET body = X'00'",
        f"UPDATE evidence SET metadata = replace(metadata, '{SHA256}', '../../evil')",
        f"UPDATE evidence SET metadata = replace(metadata, '\"{SHA256}\"', '[1]')",
    ],
)
def test_robots_txt_files_that_are_not_what_they_were(run: Run, statement: str) -> None:
    """They are not written, the records are, and the exit code is 1."""
    change(statement)
    ran = run("export", "--snapshots", "files")
    assert (ran.code, len(ran.lines)) == (1, 6)
    assert ran.err == (
        "manners: warning: 1 robots.txt file missing or changed:"
        " `manners evidence verify` says which\n"
    )
    assert list(Path("files").iterdir()) == []


# Redacted.


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(
    "words", [["list"], ["list", "--json"], ["show", "2"], ["show", "2", "--json"], ["export"],
              ["export", "--format", "csv"]], ids=str
)  # fmt: skip
def test_queries_can_be_left_out(run: Run, words: list[str]) -> None:
    """Of everything that is printed."""
    assert "token=hidden" in run(*words).out
    ran = run(*words, "--redact-query")
    assert ran.code == 0
    assert "hidden" not in ran.out
    assert "/private/x?" in ran.out


@pytest.mark.usefixtures("five")
def test_a_redacted_line_says_so(run: Run) -> None:
    """At its top; others are as they were."""
    *lines, _ = run("export", "--redact-query").objects
    assert [line.get("redacted") for line in lines] == [None, True, None, None, None]
    assert lines[1]["metadata"]["url"] == "https://a.example/private/x?…"


# prune.


@pytest.mark.usefixtures("five")
def test_what_is_pruned_leaves_a_checkpoint(run: Run) -> None:
    """The rest can still be verified, also with the checkpoint, or a later head, in hand."""
    noted = head()
    with EvidenceStore("manners.db") as store:
        third = store.record(3)
    assert third
    ran = run("prune", "--before", "2027-01-03", "--yes")
    checkpoint = f"3:{third.hash}"
    assert (ran.code, ran.err) == (0, "")
    assert ran.out == f"3 records deleted; the chain continues from {checkpoint}\n"
    assert [record["id"] for record in run("list", "--json").objects] == [4, 5]
    for known in (noted, checkpoint):
        assert run("verify", "--head", known).code == 0
    assert run("replay").code == 0
    assert run("prune", "--before", "2027-01-03", "--yes").out == "nothing to delete\n"
    (told,) = run("prune", "--before", "2030-01-01", "--yes", "--json").objects
    assert told == {
        "removed": 2,
        "checkpoint": {"number": 5, "hash": noted.removeprefix("5:")},
    }
    assert run("verify", "--head", noted).code == 0


@pytest.mark.usefixtures("five")
def test_nothing_is_pruned_where_nobody_can_be_asked(run: Run) -> None:
    """Unless it is said that this is meant."""
    ran = run("prune", "--before", "2030-01-01")
    assert (ran.code, ran.out) == (2, "")
    assert "confirm with --yes" in ran.err
    assert len(run("list").lines) == 5
    assert run("prune").code == 2
    assert run("prune", "--before", "soon", "--yes").code == 2


# Terminals.


def on_terminal(*arguments: str, typed: bytes = b"") -> tuple[int, str]:
    """The exit code, and what a terminal gets to see."""
    controller, terminal = pty.openpty()
    os.write(controller, typed)
    command = [sys.executable, "-m", "manners", "evidence", *arguments]
    with subprocess.Popen(command, stdin=terminal, stdout=terminal, stderr=terminal) as process:
        os.close(terminal)
        shown = shown_on_terminal(controller)
        return process.wait(timeout=60), shown


@pytest.mark.usefixtures("five")
@pytest.mark.parametrize(("typed", "code", "left"), [(b"n\n", 1, 5), (b"y\n", 0, 2)])
def test_a_terminal_is_asked_before_anything_is_dropped(
    run: Run, typed: bytes, code: int, left: int
) -> None:
    """How much it would be is said; no is exit code 1."""
    done, shown = on_terminal("prune", "--before", "2027-01-03", typed=typed)
    assert (done, "Delete 3 records of manners.db for good? [y/N]" in shown) == (code, True)
    assert len(run("list").lines) == left


@pytest.mark.usefixtures("five")
def test_a_terminal_gets_colours(run: Run) -> None:
    """Green and red, and no progress is left over."""
    _, shown = on_terminal("list")
    assert "\x1b[32mallowed\x1b[0m" in shown
    assert "\x1b[31mblocked\x1b[0m" in shown
    code, shown = on_terminal("verify")
    assert code == 0
    assert "verifying 5 records" in shown
    assert shown.rpartition("\x1b[2K")[2].startswith("OK: 5 records verified")
    assert "\x1b" not in run("list").out


def hostile() -> None:
    """A store of what sites, users and somebody with access to it might write."""
    body = f"User-agent: *\nDisallow: /x{HOSTILE}\n".encode()
    keep(
        draft(f"https://a.example/x{HOSTILE}", START, agent=f"My{HOSTILE}", body=body),
        draft("https://a.example/", START),
    )
    change(
        "UPDATE evidence SET type = type || char(27) || '[2J', hash = char(27) || '[2J',"
        ' metadata = replace(metadata, \'"url":"https\', \'"url":"\\u001b[2Jhttps\')'
        " WHERE id = 2"
    )


def test_a_terminal_gets_robots_txt_with_escapes() -> None:
    """Lines are kept, and everything that a terminal might obey is written out."""
    hostile()
    code, shown = on_terminal("show", "1", "--robots")
    assert code == 0
    assert shown == "User-agent: *\nDisallow: /x\\x1b]0;x\\x07\\x9b31m\\x85\\u202e\n"


@pytest.mark.parametrize(
    "words",
    [["list"], ["show", "1"], ["show", "2"], ["head"], ["verify"], ["replay"], ["export"],
     ["export", "--format", "csv"], ["prune", "--before", "2030-01-01", "--yes"]],
    ids=str,
)  # fmt: skip
def test_hostile_text_is_shown_and_not_sent(run: Run, words: list[str]) -> None:
    """In lines, in JSON and in tables, whoever wrote it."""
    for options in ([], ["--json"]):
        if "csv" in words and options:
            continue
        hostile()
        ran = run(*words, *options)
        for text in (ran.out.replace("\r\n", "\n"), ran.err):
            assert all(line.isprintable() for line in text.split("\n")), ran
        Path("manners.db").unlink()


@pytest.mark.parametrize("value", ["", "x", "[]", "null", "{}", '{"a":' * 5000, '{"url":[1]}',
    '{"allowed":{},"matchedRule":[],"timestamp":3,"url":{},"agent":null,"outcome":[],"line":"x",'
    '"snapshot":{},"exclusion":3,"reason":[],"crawlDelay":{}}',
    '{"allowed":true,"line":1e400,"outcome":{"availability":"available"},"reason":"rule-matched"}',
    '{"allowed":true,"line":true,"matchedRule":1,"outcome":{"note":1,"age":"x","copy":3,'
    '"availability":"unreachable"},"snapshot":1}'],
    ids=lambda value: value[:20],
)  # fmt: skip
def test_rubbish_in_a_store_is_shown_and_found(run: Run, five: Path, value: str) -> None:
    """Whatever somebody wrote there, nothing breaks, and `verify` names it."""
    with closing(sqlite3.connect(five)) as connection:
        connection.execute(
            "UPDATE evidence SET metadata = ?, content = ? WHERE id = 2", [value] * 2
        )
        connection.commit()
    for words in (["list"], ["show", "2"], ["export"], ["export", "--format", "csv"]):
        for options in ([], ["--redact-query"]):
            ran = run(*words, *options)
            assert (ran.code, ran.err) == (0, ""), (words, ran)
    assert "record 2: " in run("verify").out
    ran = run("verify", "-", stdin=run("export").raw)
    assert "line 2, record 2: was changed" in ran.lines
    assert "record 2: " in run("replay").out
    assert run("show", "2", "--json").code == 0
    assert run("show", "2", "--robots").code == 1


# Places.

COMMANDS = [
    ["list"],
    ["show", "1"],
    ["head"],
    ["verify"],
    ["replay"],
    ["export"],
    ["prune", "--before", "2030-01-01", "--yes"],
]


@pytest.mark.parametrize("words", COMMANDS, ids=lambda words: words[0])
def test_bad_places_are_one_line(run: Run, words: list[str]) -> None:
    """A place that cannot be used is named, with what is wrong, and nothing is made there."""
    Path("folder").mkdir()
    Path("text").write_text("text\n" * 500)
    change("CREATE TABLE people (name TEXT)", "foreign.db")
    before = sorted(Path().rglob("*"))
    for place, said in (
        (None, "'manners.db': there is no such file"),
        ("missing.db", "'missing.db': there is no such file"),
        ("missing/x.db", "'missing/x.db': there is no such file"),
        ("sqlite:///missing.db", "'missing.db': there is no such file"),
        ("folder", "'folder': it is a folder, and a file is needed"),
        ("text", "'text': file is not a database"),
        ("foreign.db", "'foreign.db': a database of another application"),
        ("mysql://me:secret@127.0.0.1/x", "'mysql://me:***@127.0.0.1/x': not a store"),
        ("postgresql://me:secret@127.0.0.1:1/x", "'postgresql://me:***@127.0.0.1:1/x': "),
    ):
        ran = run(*words, *([] if place is None else ["--store", place]))
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1), place
        assert ran.err.startswith(f"manners: {said}")
        assert "secret" not in ran.err
    assert sorted(Path().rglob("*")) == before


def test_the_place_may_stand_in_the_settings(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file, the environment, an option, in this order."""
    for place, number in (("file.db", 1), ("environment.db", 2), ("option.db", 3)):
        keep(*FIVE[:number], place=place)
    Path("mine.toml").write_text('store = "file.db"\n')
    assert len(run("list", "--config", "mine.toml").lines) == 1
    Path("mine.toml").rename("manners.toml")
    assert len(run("list").lines) == 1
    monkeypatch.setenv("MANNERS_STORE", "environment.db")
    assert len(run("list").lines) == 2
    assert len(run("list", "--store", "option.db").lines) == 3


def test_a_store_in_postgresql(run: Run, postgres: Postgres) -> None:
    """All of it, with `postgresql://…`."""
    place = postgres.database()
    keep(*FIVE, place=place)
    keep(*FIVE)
    for words in COMMANDS:
        here, there = run(*words), run(*words, "--store", place)
        assert here.code == there.code == 0
        assert (here.raw, here.err) == (there.raw, there.err), words
    assert run("verify", "--store", place).code == 0


def test_a_subcommand_is_needed(run: Run) -> None:
    """`manners evidence` alone is a usage error, and its help says what there is."""
    assert run() == Ran(2, b"", "manners: Missing command. See manners evidence -h.\n")
    ran = run("--help")
    assert ran.code == 0
    assert all(words[0] in ran.out for words in COMMANDS)


def test_a_store_in_place_of_an_export(run: Run) -> None:
    """The message says how a store is verified."""
    with closing(sqlite3.connect("other.db")) as database:
        database.execute("CREATE TABLE people (name TEXT)")
    ran = run("verify", "other.db")
    assert (ran.code, ran.out) == (3, "")
    assert ran.err == (
        "manners: 'other.db' is not an exported file: it is a database;"
        " to verify a store: manners evidence verify --store other.db\n"
    )


# Strands.


@pytest.fixture
def stranded() -> str:
    """A store with three strands of six records, and one more record after the last anchor."""
    return str(with_strands("manners.db"))


def test_records_of_strands_are_numbered_by_strand(run: Run, stranded: str) -> None:
    """In lists, and wherever a record is named; programs get the number, and the strand."""
    assert stranded.startswith("a4:")
    names = [line.split()[0] for line in run("list").lines]
    assert names[:7] == ["1/1", "2/1", "3/1", "1/2", "2/2", "3/2", "1/3"]
    assert names[-1] == "1/7"
    number = 2**35 + 2
    listed = run("list", "--json").objects
    assert (listed[5]["id"], listed[5]["strand"]) == (number, 3)
    for named in ("3/2", str(number)):
        ran = run("show", named)
        assert (ran.code, ran.lines[0]) == (0, "record 3/2")
        (values,) = run("show", named, "--json").objects
        assert (values["record"]["id"], values["record"]["strand"]) == (number, 3)
    assert run("show", "3/7").err == "manners: warning: there is no record 3/7\n"
    for named in ("3/", "3/0", "0/1", "x/1"):
        ran = run("show", named)
        assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    changed = "metadata = replace(metadata, '/private/', '/p/')"
    change(f"UPDATE evidence SET {changed} WHERE id = {number}")
    assert run("replay").lines[0].startswith("record 3/2: https://example.com/p/5: was disallowed")
    assert run("replay", "--json").objects[0]["strand"] == 3
    assert run("verify").lines[0].startswith("strand 3, record 2: was changed")
    assert run("verify", "--json").objects[0] == {
        "id": number,
        "problem": "was changed, or does not follow the record before it",
        "strand": 3,
    }


def test_the_head_of_strands_is_an_anchor(run: Run, stranded: str) -> None:
    """A new one, as a record came after the last; it proves everything up to it."""
    ran = run("head")
    assert ran.out.startswith("a5:")
    assert ran.err == ""
    assert run("head").out == ran.out
    (told,) = run("head", "--json").objects
    assert told == {
        "number": 5, "hash": ran.out.strip()[3:], "head": ran.out.strip(), "anchored": True,
    }  # fmt: skip
    for noted in (stranded, ran.out.strip()):
        ok = f"OK: 19 records in 3 strands verified, chains intact; head {ran.out}"
        assert run("verify", "--head", noted) == Ran(0, b"", ok)
    change("DELETE FROM evidence_anchors WHERE number = 5")
    ran = run("verify", "--head", ran.out.strip())
    assert ran.lines == ["anchor 5: is missing: the last anchor is 4, the noted head is anchor 5"]
    assert ran.code == 1
    change("DELETE FROM evidence WHERE id = 34359738374")
    change("DELETE FROM evidence_anchors WHERE number = 3")
    findings = run("verify", "--json").objects
    assert [(each["id"], each.get("strand"), each.get("anchor")) for each in findings][-2:] == [
        (None, None, 3),
        (None, None, 4),
    ]


def test_a_head_without_a_new_anchor_says_so(
    run: Run, stranded: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the store cannot be written, it is that of the last anchor."""
    from manners.store import sqlite

    monkeypatch.setattr(sqlite, "is_writable", lambda _: False)
    ran = run("head")
    assert (ran.code, ran.out) == (0, f"{stranded}\n")
    assert ran.err.startswith("no anchor was added, so records after the last one are not covered")


def test_an_export_of_strands_is_verified(run: Run, stranded: str) -> None:
    """All strands and all anchors are in it."""
    exported = run("export", "-o", "strands.jsonl")
    assert exported.err == "19 records in strands.jsonl\n"
    ok = f"OK: 19 records verified, a whole export, chains intact; head {stranded}\n"
    assert run("verify", "strands.jsonl", "--head", stranded) == Ran(0, b"", ok)
    lines = Path("strands.jsonl").read_text("utf-8").splitlines(keepends=True)
    Path("strands.jsonl").write_text("".join(lines[:3] + lines[4:]), "utf-8")
    ran = run("verify", "strands.jsonl", "--json")
    assert ran.code == 1
    assert ran.objects[0]["line"] == 6
    assert ran.objects[0]["strand"] == 3
    assert len(run("export", "--format", "csv").lines) == 20


def test_strands_are_pruned(run: Run, stranded: str) -> None:
    """Each has its checkpoint, which can be compared later."""
    ran = run("prune", "--before", "2027-01-15T08:01:10", "--yes")
    first, *checkpoints = ran.lines
    assert first == "10 records deleted; each strand continues from its checkpoint"
    assert [each.partition(":")[0] for each in checkpoints] == ["1/4", "2/3", "3/3"]
    for noted in (*checkpoints, stranded):
        ran = run("verify", "--head", noted)
        assert (ran.code, ran.out) == (0, "")
        assert ran.err.endswith("records of 3 strands were pruned before\n")
    (told,) = run("prune", "--before", "2030-01-01", "--yes", "--json").objects
    assert (told["removed"], told["checkpoint"]["number"]) == (9, 3)
    assert [each["strand"] for each in told["strands"]] == [1, 2, 3]
