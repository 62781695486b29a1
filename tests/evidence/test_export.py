"""Records outside of a store: what a file of them shows, and a table that does nobody harm."""

import csv
import io
import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.evidence.chain import GENESIS, Head, canonical, hash_of
from manners.evidence.export import MAX_LINE, Exported, NotAnExport, as_dict, holds
from manners.evidence.record import Record
from manners.evidence.spreadsheet import COLUMNS, cells, harmless, row_writer


def chain(*urls: str) -> list[Record]:
    """Records about URLs, linked as a store links them."""
    made, previous = [], GENESIS
    for number, url in enumerate(urls, 1):
        content = {"allowed": True, "matchedRule": None, "crawlDelay": 0.5, "timestamp": "2026"}
        metadata = {"url": url, "agent": "é", "line": 0, "outcome": {"age": 1e21, "note": "x"}}
        texts = canonical(content), canonical(metadata)
        own = hash_of(previous, number, "robots_allowed", *texts)
        made.append(Record(number, "robots_allowed", content, metadata, own, previous))
        previous = own
    return made


FIVE = chain(*(f"http://a/{number}?token={number}" for number in range(1, 6)))


def lines(records: list[Record], redact: bool = False) -> list[bytes]:
    """An exported file."""
    return [json.dumps(as_dict(record, redact)).encode() + b"\n" for record in records]


def verified(file: list[bytes], noted: Head | None = None) -> list[str]:
    return [str(finding) for finding in Exported(noted).findings(file)]


def limits(file: list[bytes], noted: Head | None = None) -> list[str]:
    checked = Exported(noted)
    assert list(checked.findings(file)) == []
    return list(checked.limits())


def end(records: list[Record]) -> Head:
    return Head(records[-1].id, records[-1].hash)


# What is found.


def test_nothing_is_found_in_a_file_as_it_was_exported() -> None:
    """All of it, a part of it, or none of it."""
    assert verified(lines(FIVE)) == []
    assert verified(lines(FIVE), end(FIVE)) == []
    assert verified(lines(FIVE[2:4])) == []
    assert verified(lines([FIVE[0], FIVE[3]])) == []
    assert verified([]) == []
    assert verified([b"\xef\xbb\xbf" + lines(FIVE)[0], b"\n", b" \r\n", *lines(FIVE[1:])]) == []


def changed(number: int, **changes: Any) -> Callable[[list[dict[str, Any]]], None]:
    def change(values: list[dict[str, Any]]) -> None:
        values[number - 1].update(changes)

    return change


def moved(values: list[dict[str, Any]]) -> None:
    values[1], values[2] = values[2], values[1]


def renumbered(values: list[dict[str, Any]]) -> None:
    """One taken out, and the numbers made to look as if nothing was."""
    del values[2]
    for number, each in enumerate(values, 1):
        each["id"] = number


def doubled(values: list[dict[str, Any]]) -> None:
    values.insert(2, dict(values[1]))


def put_in(values: list[dict[str, Any]]) -> None:
    """A record that is right by itself, in the place of another."""
    other = chain("http://b/", "http://b/2", "http://b/3")[2]
    values[2] = as_dict(other)


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (changed(3, type="blocked_by_robots"), ["line 3, record 3: was changed"]),
        (changed(3, metadata={"url": "http://b/"}), ["line 3, record 3: was changed"]),
        (changed(3, content={}), ["line 3, record 3: was changed"]),
        (
            changed(3, hash="ab" * 32),
            [
                "line 3, record 3: was changed",
                "line 4, record 4: does not follow record 3 as it is here",
            ],
        ),
        (
            changed(3, previous="ab" * 32),
            [
                "line 3, record 3: was changed",
                "line 3, record 3: does not follow record 2 as it is here",
            ],
        ),
        (
            changed(1, previous="ab" * 32),
            [
                "line 1, record 1: was changed",
                "line 1, record 1: is the first record, but has a previous hash",
            ],
        ),
        (moved, ["line 3, record 2: comes after record 3"]),
        (doubled, ["line 3, record 2: comes after record 2"]),
        (
            renumbered,
            [
                "line 3, record 3: was changed",
                "line 3, record 3: does not follow record 2 as it is here",
                "line 4, record 4: was changed",
            ],
        ),
        (
            put_in,
            [
                "line 3, record 3: does not follow record 2 as it is here",
                "line 4, record 4: does not follow record 3 as it is here",
            ],
        ),
    ],
)  # fmt: skip
def test_what_was_done_to_a_file_is_named(
    change: Callable[[list[dict[str, Any]]], None], found: list[str]
) -> None:
    """The line, the record, and what is wrong with it."""
    values = [as_dict(record) for record in FIVE]
    change(values)
    assert verified([json.dumps(each).encode() for each in values]) == found


@given(st.integers(0, 10**6), st.integers(0, 255))
def test_every_changed_byte_is_found(place: int, byte: int) -> None:
    """Unless the line still says the same: white space, or the same character as an escape."""
    file = b"".join(lines(FIVE))
    place %= len(file)
    other = file[:place] + bytes([byte]) + file[place + 1 :]
    try:
        before = [json.loads(line) for line in file.splitlines()]
        same = [json.loads(line) for line in other.split(b"\n") if line.strip()] == before
    except ValueError:
        same = False
    assert bool(verified(other.split(b"\n"))) is not same


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (b"nonsense", "not JSON"),
        (b"\xff", "not UTF-8"),
        (b"[]", "a member is missing"),
        (b"{}", "a member is missing"),
        (b"[" * 100_000, ""),
        (b"9" * 5000, ""),
        (lines(FIVE)[1].replace(b'"id": 2', b'"id": 2, "id": 3'), "a member is in it twice"),
        (
            lines(FIVE)[1].replace(b'"id": 2', b'"id": 2, "note": 1'),
            "unknown member 'note'",
        ),
        (lines(FIVE)[1].replace(b'"id": 2', b'"id": "2"'), "not a record"),
        (lines(FIVE)[1].replace(b'"id": 2', b'"id": true'), "not a record"),
        (lines(FIVE)[1].replace(b'"id": 2', b'"id": 0'), "its number is below 1"),
        (b" " * MAX_LINE + b"{}", "too long"),
    ],
    ids=lambda value: value[:40] if isinstance(value, bytes) else None,
)
def test_a_line_that_is_no_record_is_a_finding(line: bytes, problem: str) -> None:
    """It is named, and the rest is read all the same."""
    (finding,) = Exported().findings([*lines(FIVE[:1]), line, *lines(FIVE[2:])])
    assert (finding.line, finding.id) == (2, None)
    assert finding.problem.startswith(f"is not a record: {problem}")
    assert finding.problem.isprintable()


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), 10**400, "\ud800"], ids=lambda value: str(value)[:10]
)
def test_what_nobody_can_have_hashed_was_changed(value: Any) -> None:
    """Values that JSON texts may have, and canonical JSON has not, are no reason to stop."""
    values = as_dict(FIVE[0])
    values["content"]["crawlDelay"] = value
    assert verified([json.dumps(values).encode()]) == ["line 1, record 1: was changed"]


def test_a_hash_that_is_no_hash_is_not_that_of_a_record() -> None:
    """However a record and its hash are broken, the two do not fit."""
    assert not holds(Record(1, "x", {"a": float("nan")}, {}, "", ""))
    assert not holds(Record(1, "x", {}, {}, "", "no hex"))


@pytest.mark.parametrize("file", [[b"id,url\n"], [b"\x00\xff" * 100] * 1000, [b"{}"] * 50])
def test_a_file_of_something_else_is_one_error(file: list[bytes]) -> None:
    """Not a finding for each of its lines."""
    with pytest.raises(NotAnExport, match="no line is a record"):
        verified(file)


def test_a_file_is_read_line_by_line() -> None:
    """What is found is told before the rest is there."""

    def endless() -> Iterator[bytes]:
        yield from lines(FIVE[:2])
        yield b"nonsense"
        pytest.fail("nobody asked for more")

    assert next(Exported().findings(endless())).line == 3


# The head.


def test_a_noted_head_shows_what_a_file_does_not_show_by_itself() -> None:
    """A file that ends early, and one that was written anew."""
    head = end(FIVE)
    missing = "record 5: is the noted head, and is missing: the file was cut short, or filtered"
    assert verified(lines(FIVE[:4]), head) == [missing]
    assert verified([], head) == [missing]
    anew = chain("http://b/1", "http://b/2", "http://b/3", "http://b/4", "http://b/5")
    other = "line 5, record 5: the hash of record 5 differs from the noted head"
    assert verified(lines(anew), head) == [other]
    assert verified(lines(chain(*(record.url for record in FIVE), "http://a/6")), head) == []


def test_a_noted_head_may_be_that_of_the_record_before_the_file() -> None:
    """The first line says what it follows."""
    head = Head(2, FIVE[1].hash)
    assert verified(lines(FIVE[2:]), head) == []
    assert verified(lines(FIVE[2:]), Head(2, "ab" * 32)) == [
        "line 3, record 3: the hash of record 2 differs from the noted head".replace(
            "line 3", "line 1"
        )
    ]
    assert verified(lines(FIVE), Head(0, GENESIS)) == []
    assert verified([], Head()) == []


# What cannot be known.


def test_what_a_file_cannot_show_is_said() -> None:
    """A whole file with a head leaves nothing open."""
    assert limits(lines(FIVE), end(FIVE)) == []
    (without_head,) = limits(lines(FIVE))
    assert without_head.startswith("without --head: cannot tell whether records are missing")
    first, gaps, _ = limits(lines([FIVE[1], FIVE[4]]))
    assert first == "it begins with record 2: earlier ones are unknown"
    assert gaps.startswith("gaps between the numbers: 1, as in a filtered export")


# Redacted.


def test_a_redacted_line_says_so_and_keeps_its_hash() -> None:
    """Only lines from which something is missing are marked; the record itself is as it was."""
    values = as_dict(FIVE[0], redact_query=True)
    assert (values["metadata"]["url"], values["redacted"]) == ("http://a/1?…", True)
    assert values["hash"] == FIVE[0].hash
    assert FIVE[0].url == "http://a/1?token=1"
    for url in ("http://a/", "http://a/?…"):
        (plain,) = chain(url)
        assert as_dict(plain, redact_query=True) == plain.to_dict()


def test_redacted_lines_are_verified_by_what_links_them() -> None:
    """What was left out cannot be known, what was moved or cut out still is."""
    redacted = lines(FIVE, redact=True)
    assert verified(redacted, end(FIVE)) == []
    (said,) = limits(redacted, end(FIVE))
    assert said.startswith("5 redacted: cannot tell whether these were changed; the hashes of 0")
    (said,) = limits([*redacted[:2], *lines(FIVE[2:])], end(FIVE))
    assert said.startswith("2 redacted:")
    assert "the hashes of 1 are covered by the next record" in said
    assert verified([redacted[0], redacted[2], redacted[1]]) == [
        "line 3, record 2: comes after record 3"
    ]
    other = redacted[2].replace(FIVE[2].hash.encode(), b"ab" * 32)
    assert verified([*redacted[:2], other, redacted[3]]) == [
        "line 4, record 4: does not follow record 3 as it is here"
    ]


def test_a_changed_record_cannot_hide_behind_the_mark() -> None:
    """What is marked as redacted has something left out."""
    values = as_dict(FIVE[0]) | {"redacted": True}
    values["metadata"] = {**values["metadata"], "url": "http://a/other"}
    assert verified([json.dumps(values).encode()]) == [
        "line 1, record 1: is marked as redacted, but nothing is left out"
    ]


def test_a_record_without_query_verifies_in_a_redacted_file() -> None:
    """Its hash is right, so nothing has to be believed."""
    records = chain("http://a/", "http://a/2")
    assert limits(lines(records, redact=True), end(records)) == []


# Tables.


def csv_text(row: list[str]) -> str:
    """A row as it is written, without the end of its line."""
    written: list[str] = []
    row_writer(written.append)(row)
    return "".join(written).removesuffix("\r\n")


def table(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


def test_a_row_has_everything_flat() -> None:
    """Absent values are empty, others are as JSON has them."""
    row = dict(zip(COLUMNS, cells(as_dict(FIVE[0])), strict=True))
    assert row["allowed"] == "true"
    assert (row["crawlDelay"], row["matchedRule"], row["robots_note"]) == ("0.5", "", "x")
    assert (row["id"], row["hash"], row["previous"]) == ("1", FIVE[0].hash, GENESIS)
    assert row["redacted"] == "false"
    assert dict(zip(COLUMNS, cells(as_dict(FIVE[0], True)), strict=True))["redacted"] == "true"


@pytest.mark.parametrize(
    "beginning", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"]
)
def test_a_cell_that_begins_like_a_formula_is_harmless(beginning: str) -> None:
    """An apostrophe goes before it, in every column that has text."""
    assert harmless(f"{beginning}1+1").startswith("'")
    assert harmless(f"a{beginning}1") in (f"a{beginning}1", "a\\t1", "a\\r1", "a\\n1")
    evil = f"{beginning}1+1"
    record = Record(
        1,
        evil,
        {"matchedRule": evil, "timestamp": evil, "allowed": evil, "crawlDelay": evil},
        {
            **dict.fromkeys(("url", "agent", "group", "dialect", "reason", "snapshot"), evil),
            "exclusion": {"exclude": evil},
            "outcome": {"note": evil, "url": evil, "charset": evil},
        },
        evil,
        evil,
    )
    for cell in cells(as_dict(record)):
        assert not cell.startswith(("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠"))


@given(st.lists(st.text(st.characters(exclude_categories=["Cs"]))))
def test_cells_come_back_as_they_are(texts: list[str]) -> None:
    """Commas, quotes and ends of lines are in quotes; one record is one line."""
    row = [harmless(text) for text in texts]
    written = csv_text(row)
    assert written.isprintable()
    assert table(written) == ([row] if row else [])


@given(st.recursive(st.none() | st.booleans() | st.floats() | st.text(), st.lists))
def test_a_row_can_be_made_of_whatever_a_record_has(value: Any) -> None:
    """Somebody may have changed it, and it is shown all the same."""
    values = dict.fromkeys(("url", "agent", "exclusion", "outcome", "line"), value)
    for metadata in (values, {"outcome": values, "exclusion": {"exclude": value}}):
        row = cells(as_dict(Record(1, "x", values, metadata, "", "")))
        assert len(row) == len(COLUMNS)
        assert csv_text(row).isprintable()
