"""Strands and anchors: what each worker wrote, tied together, and nothing changed unseen."""

import hashlib
import itertools
import json
import random
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import event

from manners.errors import StoreError, StrandClosed
from manners.evidence import anchors
from manners.evidence.anchoring import Anchor, Ends
from manners.evidence.chain import GENESIS, AnchorHead, Head, canonical, parse_head
from manners.evidence.export import COMPLETE, FILTERED, Exported, Exporting, export_view
from manners.evidence.numbering import SPAN, label, parse_number, strand_of
from manners.evidence.queries import latest_contents
from manners.evidence.record import engine
from manners.evidence.replay import Replay
from manners.evidence.store import EVERYTHING, EvidenceStore, Filter
from tests.evidence.drafts import NOW, draft, drafts
from tests.evidence.places import Places, execute
from tests.evidence.strands import add, close, tables, with_strands, write, writers
from tests.sizes import examples


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Places of one kind."""
    folder = tmp_path_factory.mktemp("strands")
    is_file = request.param == "sqlite"
    return Places(folder) if is_file else Places(folder, request.getfixturevalue("postgres"))


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Places for files."""
    return Places(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def written(places: Places) -> tuple[str, AnchorHead]:
    """A store with three strands, and its head."""
    place = places.new()
    return place, with_strands(place)


@pytest.fixture(scope="module")
def written_file(files: Places) -> tuple[str, AnchorHead]:
    """The same store in a file."""
    place = files.new()
    return place, with_strands(place)


def found(place: str, noted: Head | AnchorHead | None = None) -> list[str]:
    """The findings in a store; programs can read each."""
    with EvidenceStore(place, create=False, readonly=True) as store:
        findings = list(store.verify(noted))
    assert all(json.dumps(finding.to_dict(), default=str) for finding in findings)
    return [str(finding) for finding in findings]


# Numbers.


@given(st.integers(1, 2**19), st.integers(1, SPAN))
def test_a_number_is_read_as_it_is_shown(strand: int, place: int) -> None:
    """Strand and place are one number, and the other way round."""
    number = (strand - 1) * SPAN + place
    assert (strand_of(number), label(number)) == (strand, f"{strand}/{place}")
    assert parse_number(label(number)) == parse_number(str(number)) == number
    assert parse_head(f"{label(number)}:{GENESIS}") == Head(number, GENESIS)
    assert number <= 2**53


@pytest.mark.parametrize("text", ["", "x", "/", "1/", "/1", "0/1", "1/0", "1/2/3", "-1", "1.5",
    "1/17179869185", "524289/1", "9" * 30])  # fmt: skip
def test_what_is_no_number_is_an_error(text: str) -> None:
    """And what one looks like is said."""
    with pytest.raises(ValueError, match=r"record|place"):
        parse_number(text)


# Anchors.


def test_a_store_with_one_chain_has_no_anchors(places: Places) -> None:
    """It stays as it was, however often somebody asks for one."""
    with EvidenceStore(places.new()) as store:
        assert store.anchor(NOW) is None
        store.append_blocking(drafts(1)[0])
        assert store.anchor(NOW) is store.anchor(NOW, wait=True) is None
        assert not store.has_strands()
        assert store.head() == Head(1, next(store.records()).hash)
        assert type(store.head()) is Head
        assert len(store.strands()) == 1


def test_an_anchor_is_added_when_something_has_changed(places: Places) -> None:
    """A strand was added, has moved, or was closed; else there is none."""
    place = places.new()
    with writers(place, 3) as (shared, second, third):
        first = shared.anchor(NOW)
        assert first is not None
        assert first.ends == Ends(
            {1: Head(), 2: Head(SPAN, GENESIS), 3: Head(2 * SPAN, GENESIS)}, {}, 3
        )
        assert third.anchor(NOW + 1) is None
        number = second.append_blocking(drafts(1)[0])
        moved = shared.anchor(NOW + 2)
        assert moved is not None
        assert moved.ends.open[2].number == number == SPAN + 1
        assert close(place, 2)
        closed = third.anchor(NOW + 3)
        assert closed is not None
        assert (set(closed.ends.open), set(closed.ends.closed)) == ({1, 3}, {2})
        assert closed.ends.closed[2] == moved.ends.open[2]
        assert third.anchor(NOW + 4) is None
        assert shared.head() == closed.head
        # A strand may come and go between two anchors.
        with EvidenceStore(place) as fourth:
            fourth.use_strand(add(place))
            fourth.append_blocking(drafts(1)[0])
            close(place, 4)
        last = shared.anchor(NOW + 5)
        assert last is not None
        assert (set(last.ends.open), set(last.ends.closed), last.ends.strands) == ({1, 3}, {4}, 4)
        assert [number for number, *_ in execute(place, "SELECT number FROM evidence_anchors")] == [
            1, 2, 3, 4,
        ]  # fmt: skip
    assert found(place, last.head) == []


def test_the_hash_of_an_anchor_covers_all_of_it(places: Places) -> None:
    """SHA-256 over the hash before it, as bytes, and the canonical JSON of the anchor."""
    place = places.new()
    with_strands(place)
    previous = GENESIS
    query = "SELECT number, at, heads, hash FROM evidence_anchors ORDER BY number"
    for number, at, heads, digest in execute(place, query):
        whole = canonical({"heads": json.loads(heads), "number": number, "at": at})
        assert digest == hashlib.sha256(bytes.fromhex(previous) + whole.encode()).hexdigest()
        previous = digest


def test_one_process_adds_an_anchor_at_a_time(places: Places) -> None:
    """Another one that is about to is left to do it; whoever wants to, waits."""
    if places.is_file:
        pytest.skip("a file has one writer at a time")
    place = places.new()
    with writers(place, 2) as (shared, own):
        own.append_blocking(drafts(1)[0])
        with shared.writing() as connection:
            assert anchors.append(connection, NOW) is not None
            assert own.anchor(NOW) is None
            # What is appended meanwhile is not waited for, and does not wait.
            assert own.append_blocking(drafts(1, 1)[0]) == SPAN + 2
        moved = own.anchor(NOW + 1, wait=True)
        assert moved is not None
        assert (moved.number, moved.ends.open[2].number) == (2, SPAN + 2)
        with shared.writing() as connection:  # and a writer in a transaction is not waited for
            connection.exec_driver_sql("SELECT * FROM evidence_head FOR UPDATE")
            connection.exec_driver_sql("UPDATE evidence_head SET batch = batch + 1")
            assert own.anchor(NOW + 2) is None
    assert found(place) == []


def test_anchors_go_on_after_one_that_was_changed(places: Places) -> None:
    """Whoever crawls is not stopped by it, and it is found."""
    for damage in ("heads = 'x'", "hash = 'x'", "heads = '{}'", "heads = '[[[['"):
        place = places.new()
        with_strands(place)
        execute(place, f"UPDATE evidence_anchors SET {damage} WHERE number = 4")
        with EvidenceStore(place) as store:
            anchor = store.anchor(NOW + 100)
        assert anchor is not None
        assert anchor.number == 5
        assert any(text.startswith("anchor 4: ") for text in found(place))


# Strands.


def test_a_closed_strand_refuses(places: Places) -> None:
    """Its owner cannot write any more, and nobody else is kept from it."""
    place = places.new()
    with writers(place, 3) as (shared, second, third):
        assert write([shared, second, third], drafts(3)) == [1, SPAN + 1, 2 * SPAN + 1]
        assert close(place, 2)
        assert not close(place, 2)
        for _ in range(2):
            with pytest.raises(StrandClosed, match="strand 2 was closed"):
                second.append_blocking(drafts(1, 3)[0])
        assert write([shared, third], drafts(2, 4)) == [2, 2 * SPAN + 2]
        assert [record.id for record in second.records()] == [
            1, SPAN + 1, 2 * SPAN + 1, 2, 2 * SPAN + 2,
        ]  # fmt: skip
    assert found(place) == []


@pytest.mark.parametrize("is_late", [False, True], ids=["made before", "made while looking"])
def test_a_commit_without_an_answer_is_made_once(
    places: Places, monkeypatch: pytest.MonkeyPatch, is_late: bool
) -> None:
    """Whether the store shows it at once, or the old transaction ends after a look at it."""
    from manners.errors import StoreAway
    from manners.evidence import store as module

    monkeypatch.setattr(module, "AGAIN", 0.001)
    place = places.new()
    with writers(place, 2) as (_, own):
        write_once, times = own._write_once, itertools.count()

        def unanswered(batch: Any) -> Any:
            answers = write_once(batch)
            if next(times) % 2 == 0:
                error = StoreAway(own.place, "the connection is lost")
                error.is_unknown = True
                raise error
            return answers

        monkeypatch.setattr(own, "_write_once", unanswered)
        if is_late:
            monkeypatch.setattr(own, "_answers_if_made", lambda: None)
        numbers = [own.append_blocking(each) for each in drafts(6)]
    assert numbers == [SPAN + place for place in range(1, 7)]
    with EvidenceStore(place) as store:
        assert [record.id for record in store.records()] == numbers
        assert list(store.verify()) == []


# Reading.


def test_records_are_in_the_order_of_time(places: Places) -> None:
    """Across strands; within one, as they were written, whatever the clocks say."""
    place, made = places.new(), drafts(40)
    with writers(place, 4) as stores:
        draw, order = random.Random(1), list[tuple[int, int]]()
        for number, each in enumerate(made):
            order.append((number, draw.choice(stores).append_blocking(each)))
        store = stores[0]
        numbers = [number for _, number in order]
        records = list(store.records())
        assert [record.id for record in records] == numbers
        assert [store.record(number) for number in numbers] == records
        for last in (0, 1, 7, 39, 40, 100):
            assert list(store.records(last=last)) == records[len(records) - min(last, 40) :]
        blocked = Filter(type="blocked_by_robots", since=NOW + 3, until=NOW + 30)
        chosen = [r for n, r in enumerate(records) if n % 3 == 2 and 3 <= n < 30]
        assert list(store.records(blocked)) == chosen
        assert list(store.records(blocked, 4)) == chosen[-4:]
        assert store.count(blocked) == len(chosen)
        by_strand: dict[int, str] = {}
        for record in records:
            assert record.previous == by_strand.get(strand_of(record.id), GENESIS)
            by_strand[strand_of(record.id)] = record.hash
        replay = Replay(store.snapshot, engine())
        assert all(replay.again(record) is None for record in records)


def test_a_clock_that_was_set_back_does_not_turn_a_strand_round(places: Places) -> None:
    """A strand has one order; another one is merged into it."""
    place, made = places.new(), drafts(10)
    with writers(place, 2) as (shared, own):
        for number in (5, 2, 9):
            own.append_blocking(made[number])
        for number in (1, 6):
            shared.append_blocking(made[number])
        assert [label(record.id) for record in shared.records()] == [
            "1/1", "2/1", "2/2", "1/2", "2/3",
        ]  # fmt: skip


def test_what_was_last_recorded_of_a_host_is_read_whatever_the_number_of_strands(
    places: Places,
) -> None:
    """One statement for each host: a fleet adds a strand whenever a worker is replaced."""
    place, statements = places.new(), list[str]()
    with writers(place, 5) as stores:
        write(stores, drafts(10))
        last = draft("/last", NOW + 100, rules=b"User-agent: *\nCrawl-delay: 7\n")
        stores[1].append_blocking(last)
        with stores[0].reading() as connection:

            def note(*args: Any) -> None:
                statements.append(args[2])

            event.listen(connection, "before_cursor_execute", note)
            found = latest_contents(connection, ["example.com", "unknown.example"])
    assert found["unknown.example"] == {}
    assert found["example.com"]["crawlDelay"] == 7
    assert len(statements) == 2


def test_many_strands_are_read_in_small_parts(
    files: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is left out where a part ends."""
    from manners.evidence import merging, queries

    monkeypatch.setattr(merging, "_LEAST", 2)
    monkeypatch.setattr(merging, "_MOST", 3)
    monkeypatch.setattr(merging, "_IN_MEMORY", 5)
    monkeypatch.setattr(queries, "AT_A_TIME", 2)
    monkeypatch.setattr(anchors, "_AT_A_TIME", 2)
    place = files.new()
    head = with_strands(place, strands=5, rounds=6)
    with EvidenceStore(place) as store:
        numbers = [record.id for record in store.records()]
        assert len(numbers) == len(set(numbers)) == store.count() == 61
        assert numbers == [record.id for record in store.records(last=100)]
        assert list(store.verify(head)) == []
        assert exported(store)[1:].count(b"") == 0
        assert checked(exported(store), head) == []


# Tampering.

ANY = "UPDATE evidence SET {} WHERE id = {}"
SECOND, THIRD = SPAN, 2 * SPAN
"""The numbers before the first of strands 2 and 3, which have six records each."""
REMOVED = "DELETE FROM evidence WHERE id > {} AND id <= {}"
BACK = (
    "UPDATE evidence_head SET number = {0}, hash = (SELECT hash FROM evidence WHERE id = {0})"
    " WHERE one = {1}"
)
AGAIN = "UPDATE evidence_anchors SET number = {1} WHERE number = {0}"
TAMPERING: dict[str, tuple[list[str], list[str]]] = {
    "nothing": ([], []),
    "a record": (
        [ANY.format("content = replace(content, 'false', 'true')", THIRD + 1)],
        ["strand 3, record 1: was changed, or does not follow the record before it"],
    ),
    "a column": (
        [ANY.format("host = 'x'", SECOND + 6)],
        ["strand 2, record 6: indexed columns disagree with the record"],
    ),
    "one removed": (
        [REMOVED.format(THIRD + 2, THIRD + 4)],
        ["strand 3, record 3: is missing (3 to 4)",
         "strand 3, record 5: was changed, or does not follow the record before it"],
    ),
    "the last removed": (
        [REMOVED.format(THIRD + 5, THIRD + 6)],
        ["strand 3, record 6: is the stored head, but the chain ends at 5"],
    ),
    "the last removed, and the head set back": (
        [REMOVED.format(THIRD + 4, THIRD + 6), BACK.format(THIRD + 4, 3)],
        ["strand 3, record 5: records are missing at its end: anchor 3 names record 6"],
    ),
    "the last of a closed one": (
        [REMOVED.format(SECOND + 5, SECOND + 6), BACK.format(SECOND + 5, 2)],
        ["strand 2, record 6: records are missing at its end: anchor 3 names record 6"],
    ),
    "a strand but for its head": (
        [REMOVED.format(THIRD, THIRD + 9)],
        ["strand 3, record 6: is the stored head, but the chain ends at 0"],
    ),
    "a strand with its head": (
        [REMOVED.format(THIRD, THIRD + 9), "DELETE FROM evidence_head WHERE one = 3"],
        ["strand 3, record 1: all its records are missing: anchor 1 names record 2"],
    ),
    "an inner strand with its head": (
        [REMOVED.format(SECOND, SECOND + 9), "DELETE FROM evidence_head WHERE one = 2"],
        ["strand 2, record 1: all its records are missing: anchor 1 names record 2"],
    ),
    "a head": (
        ["DELETE FROM evidence_head WHERE one = 2"],
        ["strand 2, record 6: is the last record, and the stored head is missing"],
    ),
    "the head of strand 1": (
        ["DELETE FROM evidence_head WHERE one = 1"],
        ["strand 1, record 7: is the last record, and the stored head is missing"],
    ),
    "all heads": (
        ["DELETE FROM evidence_head"],
        ["strand 1, record 7: is the last record, and the stored head is missing",
         "strand 2, record 6: is the last record, and the stored head is missing",
         "strand 3, record 6: is the last record, and the stored head is missing"],
    ),
    "two heads swapped": (
        ["UPDATE evidence_head SET one = 9 WHERE one = 2",
         "UPDATE evidence_head SET one = 2 WHERE one = 3",
         "UPDATE evidence_head SET one = 3 WHERE one = 9"],
        ["strand 2, record 17179869190: is the stored head, but the chain ends at 6",
         "strand 3, record -17179869178: is the stored head, but the chain ends at 6"],
    ),
    "a head that is too far": (
        ["UPDATE evidence_head SET number = number + 1 WHERE one = 3"],
        ["strand 3, record 7: is the stored head, but the chain ends at 6"],
    ),
    "a record that was moved to another strand": (
        [f"UPDATE evidence SET id = {THIRD + 7} WHERE id = {SECOND + 6}"],
        ["strand 2, record 6: is the stored head, but the chain ends at 5",
         "strand 3, record 7: was changed, or does not follow the record before it",
         "strand 3, record 6: is the stored head, but the chain ends at 7"],
    ),
    "an anchor": (
        ["UPDATE evidence_anchors SET at = at + 1 WHERE number = 2"],
        ["anchor 2: was changed, or does not follow the anchor before it"],
    ),
    "the heads of an anchor": (
        ["UPDATE evidence_anchors SET heads = replace(heads, ',6,', ',5,') WHERE number = 3"],
        ["anchor 3: was changed, or does not follow the anchor before it",
         "anchor 3: record 5 of strand 1 has another hash than the anchor says",
         "anchor 3: record 5 of strand 2 has another hash than the anchor says",
         "anchor 3: record 5 of strand 3 has another hash than the anchor says"],
    ),
    "the hash of an anchor": (
        [f"UPDATE evidence_anchors SET hash = '{'ab' * 32}' WHERE number = 2"],
        ["anchor 2: was changed, or does not follow the anchor before it",
         "anchor 3: was changed, or does not follow the anchor before it"],
    ),
    "an anchor without heads": (
        ["UPDATE evidence_anchors SET heads = '' WHERE number = 2"],
        ["anchor 2: was changed, or does not follow the anchor before it"],
    ),
    "an anchor removed": (
        ["DELETE FROM evidence_anchors WHERE number = 2"],
        ["anchor 2: is missing (2)",
         "anchor 3: was changed, or does not follow the anchor before it"],
    ),
    "the first anchors removed": (
        ["DELETE FROM evidence_anchors WHERE number < 3"],
        ["anchor 1: is missing (1 to 2)",
         "anchor 3: was changed, or does not follow the anchor before it"],
    ),
    "two anchors swapped": (
        [AGAIN.format(2, 9), AGAIN.format(3, 2), AGAIN.format(9, 3)],
        ["anchor 2: was changed, or does not follow the anchor before it",
         "anchor 3: was changed, or does not follow the anchor before it",
         "anchor 4: was changed, or does not follow the anchor before it"],
    ),
    "an anchor moved to the end": (
        [AGAIN.format(1, 5)],
        ["anchor 1: is missing (1)",
         "anchor 2: was changed, or does not follow the anchor before it",
         "anchor 5: was changed, or does not follow the anchor before it",
         "anchor 5: names strand 2, which was closed before"],
    ),
    "a checkpoint": (
        ["INSERT INTO evidence_checkpoints SELECT id, hash, 0 FROM evidence"
         f" WHERE id = {THIRD + 3}"],
        ["strand 3, record 1: comes after record 3",
         "strand 3, record 1: was changed, or does not follow the record before it"],
    ),
    "a checkpoint of anchors": (
        ["INSERT INTO evidence_checkpoints SELECT -number, hash, 0 FROM evidence_anchors"
         " WHERE number = 2"],
        ["anchor 1: comes after anchor 2",
         "anchor 1: was changed, or does not follow the anchor before it"],
    ),
    "records after a strand was closed": (
        [f"INSERT INTO evidence SELECT {SECOND + 7}, type, host, agent, at, snapshot, content,"
         f" metadata, hash FROM evidence WHERE id = {SECOND + 6}",
         BACK.format(SECOND + 7, 2)],
        ["strand 2, record 7: was changed, or does not follow the record before it",
         "strand 2, record 7: comes after the strand was closed (anchor 4)"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_found(places: Places, written: tuple[str, AnchorHead], name: str) -> None:
    """In records, heads, anchors and checkpoints; strand and place are named."""
    place, head = places.copy(written[0]), written[1]
    statements, texts = TAMPERING[name]
    if statements:
        execute(place, *statements)
    assert found(place) == texts
    assert bool(found(place, head)) == bool(texts)


def test_what_only_a_noted_head_finds(places: Places, written: tuple[str, AnchorHead]) -> None:
    """The last anchors removed, with the records that they named; or all of it written anew."""
    place, head = places.copy(written[0]), written[1]
    execute(
        place,
        "DELETE FROM evidence_anchors WHERE number > 2",
        REMOVED.format(THIRD + 4, THIRD + 6),
        BACK.format(THIRD + 4, 3),
    )
    assert found(place) == []
    missing = "anchor 4: is missing: the last anchor is 2, the noted head is anchor 4"
    assert found(place, head) == [missing]
    anew = places.new()
    with_strands(anew, rounds=4)
    assert found(anew) == []
    assert found(anew, head) == ["anchor 4: its hash differs from the noted head"]
    one = places.new()
    with EvidenceStore(one) as store:
        store.append_blocking(drafts(1)[0])
    assert found(one, head) == ["anchor 4: is the noted head, and there are no anchors"]


def test_the_head_of_a_strand_is_compared(written: tuple[str, AnchorHead]) -> None:
    """A head that was noted before there were anchors, or a checkpoint, belongs to its strand."""
    place = written[0]
    with EvidenceStore(place) as store:
        heads = {strand.strand: strand.head for strand in store.strands()}
        for number in (1, 6, SECOND + 3, THIRD + 6):
            record = store.record(number)
            assert record is not None
            assert found(place, Head(number, record.hash)) == []
            wrong = found(place, Head(number, "ab" * 32))
            strand = strand_of(number)
            assert len(wrong) == 1
            assert wrong[0].startswith(
                f"strand {strand}, record {number - (strand - 1) * SPAN}: its"
            )
    assert found(place, Head(SECOND, GENESIS)) == found(place, Head()) == []
    assert found(place, heads[3]._replace(number=THIRD + 8)) == [
        "strand 3, record 8: is missing: the chain ends at 6, the noted head is record 8"
    ]
    assert found(place, Head(8 * SPAN + 1, "ab" * 32)) == [
        "strand 9, record 1: is missing: the chain ends at 0, the noted head is record 1"
    ]


SQLITE_TAMPERING = [
    "UPDATE evidence_head SET one = x'33' WHERE one = 3",
    "UPDATE evidence_head SET one = 'three' WHERE one = 3",
    "UPDATE evidence_head SET one = 3.5 WHERE one = 3",
    "UPDATE evidence_head SET one = -3 WHERE one = 3",
    "UPDATE evidence_head SET one = 9223372036854775807 WHERE one = 3",
    "UPDATE evidence_head SET number = 'six' WHERE one = 3",
    "UPDATE evidence_head SET number = 1.5 WHERE one = 3",
    "UPDATE evidence_head SET hash = CAST(hash AS BLOB) WHERE one = 3",
    "UPDATE evidence_head SET hash = x'' WHERE one = 3",
    "UPDATE evidence_anchors SET at = 'never'",
    "UPDATE evidence_anchors SET at = 1.5 WHERE number = 1",
    "UPDATE evidence_anchors SET heads = CAST(heads AS BLOB) WHERE number = 2",
    "UPDATE evidence_anchors SET heads = x'ff' WHERE number = 2",
    "UPDATE evidence_anchors SET heads = CAST(x'ff' AS TEXT) WHERE number = 2",
    "UPDATE evidence_anchors SET heads = 17 WHERE number = 2",
    'UPDATE evidence_anchors SET heads = \'{"open":5,"closed":[],"strands":1}\'',
    'UPDATE evidence_anchors SET heads = \'{"open":[[1,2]],"closed":[],"strands":1}\'',
    'UPDATE evidence_anchors SET heads = \'{"open":[],"closed":[],"strands":1e400}\'',
    'UPDATE evidence_anchors SET heads = \'{"open":[],"closed":[],"strands":[]}\'',
    "UPDATE evidence_anchors SET hash = x'00' WHERE number = 2",
    "UPDATE evidence_anchors SET hash = 5 WHERE number = 4",
    "UPDATE evidence_anchors SET number = -4 WHERE number = 4",
    "UPDATE evidence_anchors SET number = 9223372036854775807 WHERE number = 4",
    "UPDATE evidence SET at = 'never' WHERE id = 17179869185",
    "UPDATE evidence SET at = x'' WHERE id = 1",
    "UPDATE evidence SET id = 9223372036854775807 WHERE id = 6",
    "UPDATE evidence SET id = -9223372036854775808 WHERE id = 6",
    "UPDATE evidence SET id = 17179869184 WHERE id = 6",
    "UPDATE evidence SET hash = CAST(hash AS BLOB) WHERE id = 17179869190",
    "INSERT INTO evidence_checkpoints VALUES (-9223372036854775808, 5, 'x')",
    "INSERT INTO evidence_checkpoints VALUES (9223372036854775807, x'00', 'x')",
    "INSERT INTO evidence_checkpoints VALUES (34359738370, 5, 0)",
]


@pytest.mark.parametrize("statement", SQLITE_TAMPERING)
def test_values_that_do_not_belong_are_found(
    files: Places, written_file: tuple[str, AnchorHead], statement: str
) -> None:
    """SQLite takes any value in any column: nothing of that breaks who reads it, or goes on."""
    place, head = files.copy(written_file[0]), written_file[1]
    execute(place, statement)
    assert found(place)
    assert found(place, head)
    with EvidenceStore(place) as store:
        assert len(list(store.records())) == store.count() == 19
        assert len(list(store.records(last=50))) == 19
        assert len(store.strands()) >= 2
        checked(exported(store))
        store.anchor(NOW + 100)
    assert found(place)


def tampered(data: st.DataObject, place: str) -> None:
    """Change something of a store, by chance."""
    draw = data.draw
    with closing(sqlite3.connect(place)) as connection, connection:
        table, key = draw(
            st.sampled_from(
                [("evidence", "id"), ("evidence_head", "one"), ("evidence_anchors", "number")]
            )
        )
        keys = [row[0] for row in connection.execute(f"SELECT {key} FROM {table} ORDER BY {key}")]
        which = draw(st.sampled_from(keys))
        what = draw(st.sampled_from(["change", "remove", "swap", "strand", "tail"]))
        columns = {
            "evidence": ["content", "metadata", "hash", "host"],
            "evidence_head": ["hash", "number"],
            "evidence_anchors": ["heads", "hash", "at"],
        }[table]
        if what == "change":
            column = draw(st.sampled_from(columns))
            change = f"UPDATE {table} SET {column} = {column} || '1' WHERE {key} = ?"
            if column in ("number", "at"):
                change = f"UPDATE {table} SET {column} = {column} + 1 WHERE {key} = ?"
            connection.execute(change, [which])
        elif what == "remove":
            connection.execute(f"DELETE FROM {table} WHERE {key} = ?", [which])
        elif what == "swap":
            other = draw(st.sampled_from([each for each in keys if each != which]))
            for old, new in ((which, 999), (other, which), (999, other)):
                connection.execute(
                    f"UPDATE {table} SET {key} = ? WHERE {key} = ?",
                    [new, old],
                )
        else:  # a strand, or its end, with its head
            strand = draw(st.integers(1, 3))
            first = (strand - 1) * SPAN
            kept = draw(st.integers(0, 5)) if what == "tail" else 0
            connection.execute(REMOVED.format(first + kept, first + SPAN))
            if kept:
                connection.execute(BACK.format(first + kept, strand))
            else:
                connection.execute("DELETE FROM evidence_head WHERE one = ?", [strand])


@settings(max_examples=examples(300), deadline=None)
@given(st.data())
def test_whatever_is_changed_is_found(
    files: Places, written_file: tuple[str, AnchorHead], data: st.DataObject
) -> None:
    """Records, heads and anchors: changed, removed or swapped, also whole strands."""
    place, head = files.copy(written_file[0]), written_file[1]
    tampered(data, place)
    is_changed = tables(place) != tables(written_file[0])
    assert bool(found(place, head)) is is_changed
    with EvidenceStore(place, readonly=True) as store:
        list(store.records())
        is_seen = is_changed and not _is_same_export(place, written_file[0])
        assert checked(exported(store), head) or not is_seen
    Path(place).unlink()


def _is_same_export(place: str, before: str) -> bool:
    """Whether only what an export does not have was changed: the columns that are searched."""
    one, other = tables(place), tables(before)
    for found_there in (one, other):
        rows = found_there["evidence"]
        found_there["evidence"] = [(*row[:2], *row[6:]) for row in rows]
    return one == other


# Exports.


def exported(
    store: EvidenceStore, wanted: Filter = EVERYTHING, redact: bool = False
) -> list[bytes]:
    """The lines of an export."""
    made: list[bytes] = []
    exporting = Exporting(COMPLETE if wanted == EVERYTHING else FILTERED, redact)
    with store.view(wanted) as view:
        export_view(
            view,
            exporting,
            lambda values: made.append(json.dumps(values, default=str).encode() + b"\n"),
            lambda _: None,
        )
    return made


def checked(lines: list[bytes], noted: Head | AnchorHead | None = None) -> list[str]:
    """The findings in an exported file."""
    return [str(finding) for finding in Exported(noted).findings(lines)]


def test_an_export_has_everything(written: tuple[str, AnchorHead]) -> None:
    """Each anchor after what it covers; and it is verified without the store."""
    place, head = written
    with EvidenceStore(place, readonly=True) as store:
        lines = exported(store)
        heads = [strand.head for strand in store.strands()]
        filtered = exported(store, Filter(type="blocked_by_robots"))
        redacted = exported(store, redact=True)
    values = [json.loads(line) for line in lines]
    assert [value.get("anchor") for value in values].count(None) == 21
    kinds = "".join("a" if "anchor" in value else "r" for value in values[1:-1])
    assert kinds == "rrrrrra" * 3 + "ar"
    assert values[-1]["head"] == str(head)
    assert checked(lines) == checked(lines, head) == checked(redacted, head) == []
    assert [checked(lines, each) for each in heads] == [[], [], []]
    assert checked(lines, AnchorHead(2, values[14]["hash"])) == []
    assert checked(lines, head._replace(hash="ab" * 32)) != []
    assert checked(lines, head._replace(number=5)) == [
        "anchor 5 is the noted head, and is missing: the file was cut short, or filtered"
    ]
    assert checked(filtered) == []
    assert len(filtered) == 8
    assert len(checked(filtered, head)) == 1


def test_every_line_that_is_removed_is_found(written_file: tuple[str, AnchorHead]) -> None:
    """One line, of any kind, or all lines of a strand; one that is moved or doubled, too."""
    place, _ = written_file
    with EvidenceStore(place, readonly=True) as store:
        lines = exported(store)
    for number in range(len(lines)):
        assert checked(lines[:number] + lines[number + 1 :]), number
        assert checked([*lines[: number + 1], *lines[number:]]), number
    for number in range(1, len(lines)):
        swapped = list(lines)
        swapped[number - 1], swapped[number] = lines[number], lines[number - 1]
        one, other = (json.loads(line) for line in swapped[number - 1 : number + 1])
        # Two strands may be read in any order between two anchors; the digest has one.
        assert checked(swapped), (one, other)
    for strand in (1, 2, 3):
        rest = [line for line in lines if strand_of(json.loads(line).get("id", 0)) != strand]
        if strand > 1:
            assert checked(rest)
    cut = [line for line in lines if json.loads(line).get("id") not in (THIRD + 5, THIRD + 6)]
    texts = checked(cut)
    assert "line 20: anchor 3: strand 3 ends with record 4 here, in the anchor with 6" in texts
    assert "strand 3 ends with record 4, in the store with 6" in texts
    gap = [line for line in lines if json.loads(line).get("id") != THIRD + 3]
    assert any(
        "strand 3, record 4: record 3/3 is missing before it" in text for text in checked(gap)
    )


def test_an_exported_anchor_that_was_changed_is_found(written_file: tuple[str, AnchorHead]) -> None:
    """In any of its members; and so are first and last lines."""
    with EvidenceStore(written_file[0], readonly=True) as store:
        lines = exported(store)
    (number,) = [n for n, line in enumerate(lines) if b'"anchor": 2,' in line]
    changes: list[Callable[[dict[str, Any]], object]] = [
        lambda value: value.update(at=value["at"] + 1),
        lambda value: value.update(hash="ab" * 32),
        lambda value: value.update(hash=5),
        lambda value: value.update(heads="x"),
        lambda value: value.update(heads=[[]]),
        lambda value: value.update(anchor=7),
        lambda value: value.update(anchor="x"),
        lambda value: value.update(more=1),
        lambda value: value["heads"].update(strands=9),
        lambda value: value["heads"]["open"].pop(),
    ]
    for change in changes:
        value = json.loads(lines[number])
        change(value)
        assert checked([*lines[:number], json.dumps(value).encode(), *lines[number + 1 :]])
    for place, members in (
        (0, ("strands", "anchors", "export")),
        (-1, ("strands", "head", "start")),
    ):
        for member in members:
            for bad in (None, [], "x", [[1, 2]], [["x", f"1:{GENESIS}"]], f"a1:{GENESIS}"):
                values = [json.loads(line) for line in lines]
                values[place][member] = bad
                assert checked([json.dumps(value).encode() for value in values]), (member, bad)


def test_the_export_of_one_chain_is_what_it_was(files: Places) -> None:
    """No first line, no anchors, the same members at the end, also after the upgrade."""
    with EvidenceStore(files.new()) as store:
        for each in drafts(3):
            store.append_blocking(each)
        values = [json.loads(line) for line in exported(store)]
    assert [list(value) for value in values[:3]] == [
        ["id", "type", "content", "metadata", "previous", "hash", "export"]
    ] * 3
    assert list(values[3]) == ["export", "records", "total", "start", "head", "digest"]


# Pruning.


def test_every_strand_is_pruned(places: Places) -> None:
    """Each continues from a checkpoint, and so do the anchors; later heads can be compared."""
    place = places.new()
    head = with_strands(place, rounds=4)
    with EvidenceStore(place) as store:
        noted = {strand.strand: strand.head for strand in store.strands()}
        everything = list(store.records())
        assert store.prune(NOW - 1) == 0
        assert store.prune(NOW + 9) == 9
        assert list(store.records()) == everything[9:]
        assert found(place, head) == []
        # The first anchor names pruned records only; the second names some that remain.
        assert store.start() == AnchorHead(1, _anchor(place, -1))
        assert execute(place, "SELECT min(number) FROM evidence_anchors") == [(2,)]
        starts = {strand.strand: strand.start for strand in store.strands()}
        assert [label(start.number) for start in starts.values()] == ["1/3", "2/3", "3/3"]
        for start in (*starts.values(), *noted.values()):
            assert found(place, start) == []
        assert found(place, Head(2, "ab" * 32)) == [
            "strand 1, record 2: cannot be verified: records up to 3 were pruned"
        ]
        assert found(place, AnchorHead(0, GENESIS)) == [
            "anchor 0: cannot be verified: anchors up to 1 were pruned"
        ]
        assert checked(exported(store), head) == []
        last = Exported()
        assert list(last.findings(exported(store))) == []
        assert "records of 3 strands were pruned before" in list(last.limits())
        # All of a strand, and then of all of them.
        assert store.prune(NOW + 24) == 15
        assert [label(record.id) for record in store.records()] == ["1/9"]
        assert found(place, head) == []
        assert checked(exported(store), head) == []
        assert store.prune(NOW + 1000) == 1
        assert found(place, head) == found(place) == []
        assert checked(exported(store)) == []
        # It goes on.
        with EvidenceStore(place) as own:
            own.use_strand(3)
            own._batch = 100
            assert own.append_blocking(drafts(1, 50)[0]) == THIRD + 9
        again = store.anchor(NOW + 2000)
        assert again is not None
        assert found(place, again.head) == []
        assert checked(exported(store), again.head) == []


def _anchor(place: str, checkpoint: int) -> str:
    """The hash of a checkpoint."""
    query = f"SELECT hash FROM evidence_checkpoints WHERE number = {checkpoint}"
    return str(execute(place, query)[0][0])


def test_a_strand_removed_after_pruning_is_found(places: Places) -> None:
    """Its head row is missed even if no anchor names it any more."""
    place = places.new()
    with_strands(place, rounds=2)
    with EvidenceStore(place) as store:
        for number in (1100, 1200):
            store.append_blocking(drafts(1, number)[0])
            store.anchor(NOW + number)
            head = store.head()
        assert store.prune(NOW + 1150) == 14
    assert execute(place, "SELECT number FROM evidence_anchors") == [(5,)]
    assert found(place, head) == []
    execute(
        place,
        "DELETE FROM evidence_head WHERE one = 2",
        f"DELETE FROM evidence_checkpoints WHERE number > {SECOND} AND number <= {THIRD}",
    )
    assert found(place, head) == ["strand 2: its head is missing"]


def test_pruning_any_strand_is_noticed_by_every_writer(places: Places) -> None:
    """A robots.txt that was stored before is stored again when it is needed."""
    place, rules = places.new(), b"User-agent: *\nDisallow: /once\n"
    with writers(place, 3) as stores:
        for turn in range(3):
            for store in stores:
                store.append_blocking(draft("/", NOW + 10 * turn, rules=rules))
            assert stores[turn].prune(NOW + 10 * turn + 5) == 3
            assert execute(place, "SELECT count(*) FROM snapshots") == [(0,)]
        for store in reversed(stores):
            store.append_blocking(draft("/", NOW + 100, rules=rules))
            assert list(store.verify()) == []


# Older stores.


@pytest.fixture
def of_before(tmp_path: Path) -> Path:
    """A store without the tables of strands, as it was before them."""
    path = tmp_path / "before.db"
    with EvidenceStore(path) as store:
        for each in drafts(4):
            store.append_blocking(each)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DROP TABLE evidence_anchors")
        connection.execute("ALTER TABLE evidence_head DROP COLUMN closed")
        connection.execute("ALTER TABLE evidence_head DROP COLUMN batch")
        connection.execute("UPDATE manners_version SET version_num = '0003'")
    return path


def test_a_store_without_strands_is_read(of_before: Path) -> None:
    """Every way of reading does without what was not there."""
    with EvidenceStore(of_before, readonly=True) as store:
        assert store.version == "0003"
        head = store.head()
        assert (head.number, store.start(), store.has_strands()) == (4, Head(), False)
        assert list(store.verify(head)) == list(store.verify()) == []
        assert len(list(store.records())) == store.count() == 4
        assert store.record(4) == next(store.records(last=1))
        assert checked(exported(store), head) == []
        with pytest.raises(StoreError, match="readonly"):
            store.anchor(NOW)


def test_a_value_of_an_anchor_comes_back() -> None:
    """What was written is read; what cannot be is an error."""
    anchor = Anchor(1, 0, Ends({1: Head(3, "ab" * 32)}, {2: Head(SPAN, GENESIS)}, 2).to_text(), "")
    assert dict(anchor.ends.named()) == {1: Head(3, "ab" * 32), 2: Head(SPAN, GENESIS)}
    for bad in ("", "[]", "null", '{"open":[],"closed":[]}', '{"open":[[1,1,"x"]]}', "[" * 9999):
        with pytest.raises(ValueError, match=r"not an anchor|Expecting"):
            Ends.parse(bad)
