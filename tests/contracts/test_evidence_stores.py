"""What every store of evidence promises: one body of tests, in a file and in PostgreSQL."""

import asyncio
import gc
import hashlib
import itertools
import json
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from manners.errors import StoreError
from manners.evidence import store
from manners.evidence.chain import GENESIS, AnchorHead, Head, canonical
from manners.evidence.record import Draft, Snapshot, engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore, Filter
from manners.store import writer
from tests.contracts.postgres import Postgres
from tests.evidence.drafts import NOW, clerk, draft, drafts, file, site
from tests.evidence.places import Places, all_ended, ended, execute, process

STANDSTILL = 60.0
"""Seconds after which a test that stands still is ended; no promise depends on them."""


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def places(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Places of one kind."""
    folder = tmp_path_factory.mktemp("stores")
    is_file = request.param == "sqlite"
    return Places(folder) if is_file else Places(folder, request.getfixturevalue("postgres"))


@pytest.fixture(scope="module")
def written(places: Places) -> str:
    """A store with six records, of which the third and the sixth are blocked, and two files."""
    return _written(places)


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Places:
    """Places for files, for what only SQLite does."""
    return Places(tmp_path_factory.mktemp("files"))


@pytest.fixture(scope="module")
def written_file(files: Places) -> str:
    """The same store in a file."""
    return _written(files)


def _written(places: Places) -> str:
    place = places.new()
    with EvidenceStore(place) as opened:
        for each in (*drafts(5), draft("/private/5", NOW + 5, rules=OTHER)):
            opened.append_blocking(each)
    return place


OTHER = b"User-agent: *\nDisallow: /private\n# another file\n"


def run(work: Callable[[], Any]) -> Any:
    """Run async work, which comes to an end, and of which nothing goes unseen."""
    complaints: list[str] = []

    async def watched() -> Any:
        asyncio.get_running_loop().set_exception_handler(
            lambda _, context: complaints.append(str(context))
        )
        async with asyncio.timeout(STANDSTILL):
            result = await work()
        gc.collect()
        await asyncio.sleep(0)
        return result

    result = asyncio.run(watched())
    assert complaints == []
    return result


def problems(place: str, noted: Head | AnchorHead | None = None) -> list[int]:
    """The records that something is wrong with."""
    with EvidenceStore(place) as opened:
        findings = list(opened.verify(noted))
    assert all(str(each) for each in findings)
    return sorted({each.id for each in findings})


def check(place: str, count: int) -> None:
    """So many records, without gaps, linked, verified, replayed, with the files they rest on."""
    with EvidenceStore(place) as opened:
        assert list(opened.verify()) == []
        found = list(opened.records())
        assert [each.id for each in found] == list(range(1, count + 1))
        previous, replay = GENESIS, Replay(opened.snapshot, engine())
        for each in found:
            whole = {"content": each.content, "id": each.id, "metadata": each.metadata}
            text = canonical({**whole, "type": each.type})
            covered = bytes.fromhex(previous) + text.encode()
            assert each.previous == previous
            assert each.hash == hashlib.sha256(covered).hexdigest()
            assert replay.again(each) is None
            previous = each.hash
        assert opened.head() == Head(count, previous)
        assert opened.count() == count


# Appending.


def test_a_new_store_is_empty(places: Places) -> None:
    """Nothing is there, nothing is wrong, and there is a head."""
    with EvidenceStore(places.new()) as opened:
        assert (opened.head(), opened.count()) == (Head(0, "0" * 64), 0)
        assert list(opened.records()) == []
        assert list(opened.verify()) == list(opened.verify(Head())) == []
        assert opened.record(1) is opened.record(0) is opened.record(-1) is None
        assert opened.snapshot("ab" * 32) is None
        assert opened.prune(NOW) == 0


def test_what_was_written_is_read(places: Places) -> None:
    """Type, content, metadata, and the columns that are searched; also by another object."""
    place, made = places.new(), drafts(7)
    with EvidenceStore(place) as opened:
        assert [opened.append_blocking(each) for each in made] == list(range(1, 8))
    with EvidenceStore(place, create=False) as opened:
        for each, found in zip(made, opened.records(), strict=True):
            assert found.type == each.type
            assert canonical(dict(found.content)) == each.content
            assert canonical(dict(found.metadata)) == each.metadata
    rows = execute(place, "SELECT host, agent, at, snapshot, content FROM evidence ORDER BY id")
    for each, row in zip(made, rows, strict=True):
        assert each.snapshot is not None
        assert row == (each.host, each.agent, each.at, each.snapshot.sha256, each.content)
    check(place, 7)


def test_many_tasks_append_in_the_order_they_come(places: Places) -> None:
    """Each knows its number when its record is durable."""
    place, made = places.new(), drafts(500)

    async def work() -> None:
        with EvidenceStore(place) as opened:
            assert await asyncio.gather(*map(opened.append, made)) == list(range(1, 501))

            async def one(each: Draft) -> None:
                number = await opened.append(each)
                with EvidenceStore(place) as other:  # it is there when its number is known
                    found = other.record(number)
                    assert found is not None
                    assert canonical(dict(found.content)) == each.content

            await asyncio.gather(*map(one, drafts(5, 500)))

    run(work)
    with EvidenceStore(place) as opened:
        urls = [each.url for each in opened.records()]
    assert urls[:500] == [json.loads(each.metadata)["url"] for each in made]
    check(place, 505)


def test_more_than_one_transaction_takes(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crowd is written in several goes, in its order."""
    monkeypatch.setattr(writer, "MAX_BATCH", 7)
    monkeypatch.setattr(store, "_MAX_REMEMBERED", 2)
    place = places.new()

    async def work() -> None:
        with EvidenceStore(place) as opened:
            for start in range(0, 40, 4):
                few = [draft("/", NOW + n, rules=OTHER + b"#%d" % n) for n in range(4)]
                both = await asyncio.gather(*map(opened.append, few + drafts(8)))
                assert both == list(range(start * 3 + 1, start * 3 + 13))

    run(work)
    check(place, 120)


def test_several_loops_and_threads_append(places: Places) -> None:
    """One store for all of a process: every record has a number of its own."""
    place, numbers, errors = places.new(), list[int](), list[BaseException]()
    with EvidenceStore(place) as opened:

        async def tasks(start: int) -> None:
            for round_ in range(6):
                made = drafts(10, start + round_ * 10)
                numbers.extend(await asyncio.gather(*map(opened.append, made)))

        def loop(start: int) -> None:
            try:
                asyncio.run(tasks(start))
            except BaseException as error:
                errors.append(error)

        def blocking(start: int) -> None:
            try:
                numbers.extend(map(opened.append_blocking, drafts(20, start)))
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=loop, args=(n * 100,)) for n in range(4)]
        threads += [threading.Thread(target=blocking, args=(n * 100,)) for n in range(4, 8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(STANDSTILL)
        assert not any(thread.is_alive() for thread in threads)
    assert errors == []
    assert sorted(numbers) == list(range(1, 4 * 60 + 4 * 20 + 1))
    check(place, len(numbers))


def test_a_loop_that_ends_takes_nobody_along(places: Places) -> None:
    """A loop stops in the middle of a round; others go on, and so does this one, if it does."""
    place = places.new()
    with EvidenceStore(place) as opened:
        loop = asyncio.new_event_loop()
        waiting = loop.create_task(opened.append(drafts(1)[0]))

        async def stop() -> None:
            asyncio.get_running_loop().stop()

        last = loop.create_task(stop())
        loop.run_forever()

        async def work() -> int:
            return await opened.append(drafts(1, 1)[0])

        assert run(work) == 1
        assert loop.run_until_complete(waiting) == 2
        assert last.done()
        loop.close()
        gone = asyncio.new_event_loop()
        lost = gone.create_task(opened.append(drafts(1, 2)[0]))
        gone.call_soon(gone.stop)
        gone.run_forever()
        lost.cancel()
        gone.run_until_complete(asyncio.wait([lost]))
        gone.close()
        assert run(work) in {3, 4}  # who was cancelled may have been written


def test_a_cancelled_append_harms_nobody(places: Places) -> None:
    """Its record may be there or not; all others are."""
    place = places.new()

    async def work() -> list[int]:
        with EvidenceStore(place) as opened:
            tasks = [asyncio.ensure_future(opened.append(each)) for each in drafts(60)]
            for number, task in enumerate(tasks):
                if number % 3 == 0:
                    task.cancel()
                if number % 20 == 10:
                    await asyncio.sleep(0)
                if number == 40:
                    await asyncio.sleep(0.01)
            done = await asyncio.gather(*tasks, return_exceptions=True)
            assert all(isinstance(each, int | asyncio.CancelledError) for each in done)
            return [each for each in done if isinstance(each, int)]

    numbers = run(work)
    assert len(numbers) == len(set(numbers)) >= 40
    with EvidenceStore(place) as opened:
        count = opened.head().number
    assert count >= max(numbers)
    check(place, count)


# Files.


def test_a_file_is_kept_once(places: Places) -> None:
    """However many records rest on it, whoever writes them, and whatever bytes it has."""
    place, bodies = places.new(), [b"", bytes(range(256)), OTHER, b"\0" * 1000, b"#" * 1_048_576]
    for _ in range(2):
        with EvidenceStore(place) as opened, EvidenceStore(place) as other:
            for body in bodies * 2:
                made = draft("/", rules=body)
                opened.append_blocking(made)
                other.append_blocking(made)
    with EvidenceStore(place) as opened:
        for body in bodies:
            assert opened.snapshot(hashlib.sha256(body).hexdigest()) == body
    assert execute(place, "SELECT count(*) FROM snapshots") == [(len(bodies),)]
    check(place, 40)


def test_a_record_without_a_file_needs_none(places: Places) -> None:
    """Where nobody answered, or nobody was asked."""
    place = places.new()
    with EvidenceStore(place) as opened:
        made = draft()._replace(snapshot=None)
        metadata = json.loads(made.metadata) | {"snapshot": None}
        opened.append_blocking(made._replace(metadata=canonical(metadata)))
        assert list(opened.verify()) == []
    assert execute(place, "SELECT count(*) FROM snapshots") == [(0,)]


# Reading.


@pytest.fixture(scope="module")
def searched(places: Places) -> str:
    """A store with records of two hosts, two agents and three types."""
    from manners.exclusions import Exclusions, Overrides

    place, known = places.new(), site((0, file(OTHER)))
    with EvidenceStore(place) as opened:
        for number in range(12):
            name = "MyBot" if number % 2 else "OtherBot"
            host = "https://b.example" if number % 3 == 0 else "https://example.com"
            url = f"{host}/{'private/' if number % 4 == 0 else ''}{number}"
            verdict = known.check(url, name)
            if number == 7:
                ruled = Overrides(Exclusions(["/"]), lambda _: True).check(url)
                assert ruled is not None
                opened.append_blocking(clerk(name).draft(url, ruled, None, NOW + number))
            else:
                opened.append_blocking(clerk(name).draft(url, verdict, known, NOW + number))
    return place


ALL = list(range(1, 13))
FILTERS: list[tuple[Filter, int | None, list[int]]] = [
    (Filter(), None, ALL),
    (Filter(host="b.example"), None, [1, 4, 7, 10]),
    (Filter(host="B.example"), None, []),
    (Filter(host="nowhere.example"), None, []),
    (Filter(agent="MyBot"), None, [2, 4, 6, 8, 10, 12]),
    (Filter(agent="mybot"), None, []),
    (Filter(type="blocked_by_robots"), None, [1, 5, 9]),
    (Filter(type="blocked_by_exclusion"), None, [8]),
    (Filter(type="robots_allowed"), None, [2, 3, 4, 6, 7, 10, 11, 12]),
    (Filter(since=NOW + 5), None, [6, 7, 8, 9, 10, 11, 12]),
    (Filter(since=NOW + 5.001), None, [7, 8, 9, 10, 11, 12]),
    (Filter(until=NOW + 5), None, [1, 2, 3, 4, 5]),
    (Filter(until=NOW + 5.001), None, [1, 2, 3, 4, 5, 6]),
    (Filter(since=NOW + 2, until=NOW + 5), None, [3, 4, 5]),
    (Filter(since=NOW + 5, until=NOW + 5), None, []),
    (Filter("b.example", NOW + 1, NOW + 9, "robots_allowed", "MyBot"), None, [4]),
    (Filter(), 3, [10, 11, 12]),
    (Filter(), 0, []),
    (Filter(), 100, ALL),
    (Filter(host="b.example"), 2, [7, 10]),
    (Filter(agent="MyBot", until=NOW + 9), 2, [6, 8]),
    (Filter(host="'; DROP TABLE evidence; --"), 5, []),
]


@pytest.mark.parametrize(("wanted", "last", "numbers"), FILTERS)
def test_records_are_found(
    searched: str, wanted: Filter, last: int | None, numbers: list[int]
) -> None:
    """By host, time, type and agent, and the latest of them, in the order of the chain."""
    with EvidenceStore(searched) as opened:
        found = list(opened.records(wanted, last))
        assert [each.id for each in found] == numbers
        assert [opened.record(each.id) for each in found] == found
        if last is None:
            assert opened.count(wanted) == len(numbers)


def test_a_record_knows_the_hash_before_it(searched: str) -> None:
    """The first follows zeros."""
    with EvidenceStore(searched) as opened:
        found = list(opened.records())
        assert [each.previous for each in found] == [GENESIS, *(each.hash for each in found[:-1])]
        assert opened.record(13) is None


def test_reading_may_be_left_off(searched: str) -> None:
    """Whoever takes a few records does not keep the store from being used, or closed."""
    with EvidenceStore(searched) as opened:
        for _ in range(30):
            assert next(opened.records()).id == 1
            assert next(opened.verify(Head(99, GENESIS)), None) is not None
        half = opened.records()
        next(half)
        assert opened.head().number == 12
        half.close()


# Tampering.

SAID = "UPDATE evidence SET {0} = replace({0}, '{1}', '{2}') WHERE id = {3}"
SWAP = "UPDATE evidence SET {0} = (SELECT {0} FROM evidence e WHERE e.id = {1}) WHERE id = {2}"
TAMPERING: dict[str, tuple[list[str], list[int]]] = {
    "nothing": ([], []),
    # evidence, column by column
    "id": (["UPDATE evidence SET id = 99 WHERE id = 3"], [3, 4, 6, 7, 99]),
    "id of the last": (["UPDATE evidence SET id = 7 WHERE id = 6"], [6, 7]),
    "type": (["UPDATE evidence SET type = 'robots_allowed' WHERE id = 3"], [3]),
    "host": (["UPDATE evidence SET host = 'other.example' WHERE id = 2"], [2]),
    "agent": (["UPDATE evidence SET agent = 'OtherBot' WHERE id = 6"], [6]),
    "at": (["UPDATE evidence SET at = at + 1 WHERE id = 1"], [1]),
    "no file": (["UPDATE evidence SET snapshot = NULL WHERE id = 4"], [4]),
    "another file": ([SWAP.format("snapshot", 6, 1)], [1]),
    "a file that is not there": (["UPDATE evidence SET snapshot = 'x' WHERE id = 2"], [2]),
    "content": ([SAID.format("content", "false", "true", 3)], [3]),
    "content, one digit": ([SAID.format("content", "2027", "2026", 1)], [1]),
    "content, a space": ([SAID.format("content", ":", ": ", 5)], [5]),
    "content of another": ([SWAP.format("content", 1, 2)], [2]),
    "metadata of another": ([SWAP.format("metadata", 1, 2)], [2]),
    "content, nothing": (["UPDATE evidence SET content = '' WHERE id = 4"], [4]),
    "content, a list": (["UPDATE evidence SET content = '[]' WHERE id = 4"], [4]),
    "content, no time": ([SAID.format("content", "2027-", "2027:", 4)], [4]),
    "content, a number for a time": (
        ["""UPDATE evidence SET content = '{"timestamp":5}' WHERE id = 4"""], [4]
    ),
    "content, a time before all times": (
        ["""UPDATE evidence SET content = '{"timestamp":"0001-01-01"}' WHERE id = 4"""], [4]
    ),
    "metadata": ([SAID.format("metadata", "example.com", "example.org", 1)], [1]),
    "metadata, the agent": ([SAID.format("metadata", "MyBot", "HisBot", 6)], [6]),
    "metadata, a number for a URL": (
        ["""UPDATE evidence SET metadata = '{"url":5}' WHERE id = 2"""], [2]
    ),
    "metadata, a list for a URL": (
        ["""UPDATE evidence SET metadata = '{"url":[],"agent":{}}' WHERE id = 2"""], [2]
    ),
    "metadata, no URL": (
        ["""UPDATE evidence SET metadata = '{"agent":5,"url":"mailto:x"}' WHERE id = 2"""], [2]
    ),
    "metadata, deep": (
        [f"UPDATE evidence SET metadata = '{'[' * 100_000}' WHERE id = 2"], [2]
    ),
    "metadata, a surrogate": (
        [r"""UPDATE evidence SET metadata = '{"url":"http://a/\ud800"}' WHERE id = 2"""], [2]
    ),
    "hash": ([f"UPDATE evidence SET hash = '{'ab' * 32}' WHERE id = 3"], [3, 4]),
    "hash of the last": ([f"UPDATE evidence SET hash = '{'ab' * 32}' WHERE id = 6"], [6]),
    "hash, which is none": (["UPDATE evidence SET hash = 'x' WHERE id = 3"], [3, 4]),
    "hash, in capitals": (["UPDATE evidence SET hash = upper(hash) WHERE id = 3"], [3]),
    "all columns": (
        ["UPDATE evidence SET type = 'x', host = '', agent = '', at = 0, content = '',"
         " metadata = '', hash = '' WHERE id = 3"],
        [3, 4],
    ),
    # records taken out, put in, moved
    "the first removed": (["DELETE FROM evidence WHERE id = 1"], [1, 2]),
    "an inner one removed": (["DELETE FROM evidence WHERE id = 3"], [3, 4]),
    "several removed": (["DELETE FROM evidence WHERE id IN (3, 4)"], [3, 5]),
    "the last removed": (["DELETE FROM evidence WHERE id = 6"], [6]),
    "all removed": (["DELETE FROM evidence"], [6]),
    "one put in": (
        ["UPDATE evidence SET id = 7 WHERE id = 6", "INSERT INTO evidence SELECT 6, type, host,"
         " agent, at, snapshot, content, metadata, hash FROM evidence WHERE id = 1"],
        [6, 7],
    ),
    "one put before all": (
        ["INSERT INTO evidence SELECT 0, type, host, agent, at, snapshot, content, metadata, hash"
         " FROM evidence WHERE id = 1"],
        [0, 1],
    ),
    "one put behind all": (
        ["INSERT INTO evidence SELECT 7, type, host, agent, at, snapshot, content, metadata, hash"
         " FROM evidence WHERE id = 1"],
        [6, 7],
    ),
    "two swapped": (
        ["UPDATE evidence SET id = -2 WHERE id = 2", "UPDATE evidence SET id = 2 WHERE id = 4",
         "UPDATE evidence SET id = 4 WHERE id = -2"],
        [2, 3, 4, 5],
    ),
    # the head
    "head, number": (["UPDATE evidence_head SET number = 5"], [5]),
    "head, hash": ([f"UPDATE evidence_head SET hash = '{'ab' * 32}'"], [6]),
    "head, no hash": (["UPDATE evidence_head SET hash = 'x'"], [6]),
    "head, none": (["DELETE FROM evidence_head"], [6]),
    "head and last removed": (
        ["DELETE FROM evidence WHERE id = 6", "UPDATE evidence_head SET number = 5"], [5]
    ),
    # checkpoints
    "a checkpoint": (
        ["INSERT INTO evidence_checkpoints SELECT id, hash, 0 FROM evidence WHERE id = 3"], [1]
    ),
    "a checkpoint of nothing": (
        [f"INSERT INTO evidence_checkpoints VALUES (0, '{'ab' * 32}', 0)"], [1]
    ),
    # files
    "a file": (["UPDATE snapshots SET body = {bytes}"], [1, 6]),
    "the name of a file": (
        ["UPDATE snapshots SET sha256 = 'x' WHERE sha256 = (SELECT snapshot FROM evidence WHERE"
         " id = 6)"],
        [6],
    ),
    "a file removed": (["DELETE FROM snapshots"], [1, 6]),
}  # fmt: skip


@pytest.mark.parametrize("name", TAMPERING)
def test_tampering_is_found(places: Places, written: str, name: str) -> None:
    """In every column of every table, and the record is named."""
    statements, numbers = TAMPERING[name]
    place, blob = places.copy(written), "x'00'" if places.is_file else "'\\x00'::bytea"
    if statements:
        execute(place, *(each.replace("{bytes}", blob) for each in statements))
    assert set(numbers) <= set(problems(place)) <= {*numbers, *(n + 1 for n in numbers)}
    assert problems(place) or not numbers


SQLITE_TAMPERING: dict[str, tuple[str, list[int]]] = {
    "a byte that is no UTF-8": ("UPDATE evidence SET content = CAST(x'7bff7d' AS TEXT)", [4]),
    "an agent that is no UTF-8": ("UPDATE evidence SET agent = CAST(x'ff' AS TEXT)", [4]),
    "a hash that is no UTF-8": ("UPDATE evidence SET hash = CAST(x'ff' AS TEXT)", [4, 5]),
    "bytes for text": ("UPDATE evidence SET content = CAST(content AS BLOB)", [4]),
    "bytes for a hash": ("UPDATE evidence SET hash = CAST(hash AS BLOB)", [4, 5]),
    "text for a time": ("UPDATE evidence SET at = 'never'", [4]),
    "a fraction for a time": ("UPDATE evidence SET at = at + 0.5", [4]),
    "a NUL": ("UPDATE evidence SET metadata = metadata || char(0)", [4]),
    "text for a file": ("UPDATE snapshots SET body = 'text'", [1, 6]),
    "text for a number": ("UPDATE evidence_head SET number = 'six'", [6]),
    "bytes for the head": ("UPDATE evidence_head SET hash = CAST(hash AS BLOB)", [6]),
}


@pytest.mark.parametrize("name", SQLITE_TAMPERING)
def test_values_of_another_type_are_found(files: Places, written_file: str, name: str) -> None:
    """SQLite takes any value in any column: nothing of that breaks who reads it."""
    statement, numbers = SQLITE_TAMPERING[name]
    place = files.copy(written_file)
    execute(place, statement + (" WHERE id = 4" if " evidence SET" in statement else ""))
    with EvidenceStore(place) as opened:
        found = list(opened.verify())
        if "text for a number" not in name:
            assert sorted({each.id for each in found}) == numbers
        assert found
        assert all(str(each) for each in found)
        assert [each.id for each in opened.records()] == [1, 2, 3, 4, 5, 6]
        assert all(opened.record(number) for number in range(1, 7))
        opened.snapshot(str(next(opened.records()).metadata["snapshot"]))


@pytest.mark.parametrize("at", range(0, 500, 37))
def test_a_changed_byte_is_found(files: Places, written_file: str, at: int) -> None:
    """Whichever byte it is, of content or metadata, and whatever it becomes."""
    for column in ("content", "metadata"):
        place = files.copy(written_file)
        ((text,),) = execute(place, f"SELECT {column} FROM evidence WHERE id = 5")
        data = bytearray(text.encode())
        data[at % len(data)] ^= (at * 7) % 255 + 1
        execute(place, f"UPDATE evidence SET {column} = CAST(? AS TEXT) WHERE id = 5",
                values=[bytes(data)])  # fmt: skip
        assert problems(place) == [5]


def test_a_noted_head_finds_what_nothing_else_does(places: Places, written: str) -> None:
    """Records cut off at the end together with the head, and a chain that was written anew."""
    with EvidenceStore(written) as opened:
        noted = opened.head()
        assert noted.number == 6
        fifth = opened.record(5)
        assert fifth is not None
        assert list(opened.verify(noted)) == list(opened.verify(Head(5, fifth.hash))) == []
        assert [each.id for each in opened.verify(Head(5, noted.hash))] == [5]
        assert [each.id for each in opened.verify(Head(7, noted.hash))] == [7]
    cut = places.copy(written)
    execute(
        cut,
        "DELETE FROM evidence WHERE id = 6",
        "UPDATE evidence_head SET number = 5, hash = (SELECT hash FROM evidence WHERE id = 5)",
        f"DELETE FROM snapshots WHERE sha256 = '{hashlib.sha256(OTHER).hexdigest()}'",
    )
    assert problems(cut) == []
    assert problems(cut, noted) == [6]
    anew = places.new()
    with EvidenceStore(anew) as opened:
        for each in drafts(8, 100):
            opened.append_blocking(each)
    assert problems(anew) == []
    assert problems(anew, noted) == [6]


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE evidence_head SET hash = 'x'",
        "DELETE FROM evidence_head",
        "UPDATE evidence_head SET number = -1",
    ],
)
def test_nothing_is_linked_to_a_broken_end(places: Places, written: str, statement: str) -> None:
    """Whoever appends is told; verify says the same."""
    place = places.copy(written)
    execute(place, statement)
    with EvidenceStore(place) as opened:
        with pytest.raises(StoreError, match="the head of the chain"):
            opened.append_blocking(drafts(1)[0])
        with pytest.raises(StoreError, match="the head of the chain"):
            opened.prune(NOW + 100)
        assert list(opened.verify())
        assert opened.count() == 6


def test_a_missing_record_is_not_papered_over(places: Places, written: str) -> None:
    """Behind a gap, nobody knows the hash before."""
    place = places.copy(written)
    execute(place, "DELETE FROM evidence WHERE id = 3")
    with EvidenceStore(place) as opened:
        fourth = opened.record(4)
        assert fourth is not None
        assert fourth.previous == ""
        assert [each.previous == "" for each in opened.records()] == [
            False,
            False,
            True,
            *[False] * 2,
        ]


# Pruning.


def test_pruning_leaves_a_checkpoint(places: Places) -> None:
    """The rest is verified, is linked to it, and the chain goes on; a head noted later holds."""
    place = places.new()
    with EvidenceStore(place) as opened:
        for each in drafts(10):
            opened.append_blocking(each)
        noted, fourth = opened.head(), opened.record(4)
        assert fourth is not None
        assert opened.prune(NOW + 4) == 4
        assert opened.prune(NOW + 4) == 0
        assert [each.id for each in opened.records()] == [5, 6, 7, 8, 9, 10]
        assert next(opened.records()).previous == fourth.hash
        fifth = opened.record(5)
        assert fifth is not None
        assert fifth.previous == fourth.hash
        assert (opened.record(4), opened.count(), opened.head()) == (None, 6, noted)
        for head in (None, noted, Head(4, fourth.hash), Head(5, fifth.hash)):
            assert list(opened.verify(head)) == []
        assert [each.id for each in opened.verify(Head(3, "ab" * 32))] == [3]
        assert opened.append_blocking(drafts(1, 10)[0]) == 11
        assert opened.prune(NOW + 6) == 2
        assert [each.id for each in opened.records()] == [7, 8, 9, 10, 11]
        assert list(opened.verify(noted)) == []
        assert opened.prune(NOW + 1000) == 5
        assert (opened.count(), opened.head().number) == (0, 11)
        assert list(opened.verify()) == list(opened.verify(opened.head())) == []
        assert opened.append_blocking(drafts(1, 11)[0]) == 12
        assert list(opened.verify()) == []
    rows = execute(place, "SELECT number, hash FROM evidence_checkpoints ORDER BY number")
    assert [number for number, _ in rows] == [4, 6, 11]
    assert rows[0] == (4, fourth.hash)


def test_pruning_stops_at_the_first_that_is_younger(places: Places) -> None:
    """A clock that was set back does not tear a hole into the chain."""
    place, made = places.new(), drafts(5)
    with EvidenceStore(place) as opened:
        for number in (0, 1, 4, 2, 3):
            opened.append_blocking(made[number])
        assert opened.prune(NOW) == 0
        assert opened.prune(NOW + 4) == 2
        assert [each.id for each in opened.records()] == [3, 4, 5]
        assert list(opened.verify()) == []


@pytest.mark.parametrize(
    ("statement", "numbers"),
    [
        ("UPDATE evidence_checkpoints SET number = 2", {3, 4}),
        ("UPDATE evidence_checkpoints SET number = 4", {4, 5}),
        (f"UPDATE evidence_checkpoints SET hash = '{'ab' * 32}'", {4}),
        ("UPDATE evidence_checkpoints SET hash = 'x'", {4}),
        ("DELETE FROM evidence_checkpoints", {1, 4}),
        ("DELETE FROM evidence WHERE id = 4", {4, 5}),
        (f"INSERT INTO evidence_checkpoints VALUES (5, '{'ab' * 32}', 0)", {4, 5}),
    ],
)
def test_a_changed_checkpoint_is_found(
    places: Places, written: str, statement: str, numbers: set[int]
) -> None:
    """Number and hash, one taken away and one put in."""
    place = places.copy(written)
    with EvidenceStore(place) as opened:
        assert opened.prune(NOW + 3) == 3
    assert problems(place) == []
    execute(place, statement)
    assert numbers & set(problems(place))


def test_pruning_keeps_the_files_that_are_needed(places: Places) -> None:
    """Those of the rest stay; those of nobody go, and are stored again when they are needed."""
    place, old, both = places.new(), OTHER + b"# old", OTHER + b"# both"
    names = [hashlib.sha256(body).hexdigest() for body in (old, both)]
    with EvidenceStore(place) as opened, EvidenceStore(place) as other:
        for number, body in enumerate((old, both, both)):
            each = draft("/", NOW + number, rules=body)
            (other if number % 2 else opened).append_blocking(each)
        other.append_blocking(draft("/", NOW + 9, rules=old))
        assert opened.prune(NOW + 2) == 2
        assert [opened.snapshot(name) for name in names] == [old, both]
        assert opened.prune(NOW + 10) == 2
        assert [opened.snapshot(name) for name in names] == [None, None]
        for writing in (opened, other):  # both have stored them before, one has pruned
            writing.append_blocking(draft("/", NOW + 20, rules=old))
            writing.append_blocking(draft("/", NOW + 20, rules=both))
        assert [opened.snapshot(name) for name in names] == [old, both]
        assert list(opened.verify()) == []
        assert [each.id for each in opened.records()] == [5, 6, 7, 8]


def test_pruning_while_others_append(places: Places) -> None:
    """Records that are written meanwhile keep the files they rest on."""
    place, over = places.new(), threading.Event()
    bodies = [OTHER + b"#%d" % number for number in range(3)]
    with EvidenceStore(place) as opened, EvidenceStore(place) as other:

        def prune() -> None:
            while not over.is_set():
                other.prune(NOW + 1000)
                assert list(other.verify()) == []

        thread = threading.Thread(target=prune)
        thread.start()
        try:
            for number in range(60):
                opened.append_blocking(draft("/", NOW + number, rules=bodies[number % 3]))
        finally:
            over.set()
            thread.join(STANDSTILL)
        opened.append_blocking(draft("/", rules=bodies[0]))
        assert list(opened.verify()) == []
        assert opened.head().number == 61


# Several processes.


def test_processes_append_to_one_store(places: Places) -> None:
    """Four at a time, on a store that is not there yet: one chain, every number once."""
    place = places.new()
    started = [process("append", place, number, 150) for number in range(4)]
    numbers = [json.loads(told) for told in all_ended(started)]
    assert sorted(itertools.chain(*numbers)) == list(range(1, 601))
    assert all(mine == sorted(mine) for mine in numbers)
    check(place, 600)
    assert execute(place, "SELECT count(*) FROM snapshots") == [(13,)]


def test_a_reader_sees_a_store_as_it_was_when_it_began(places: Places) -> None:
    """While others write, every look at a store is at a whole one."""
    place, over = places.new(), threading.Event()
    looks, seen = Counter[str](), list[BaseException]()

    def look() -> None:
        try:
            with EvidenceStore(place) as reader:
                last = 0
                while not over.is_set() or not looks:
                    assert list(reader.verify()) == []
                    numbers = [each.id for each in reader.records()]
                    assert numbers == list(range(1, len(numbers) + 1))
                    assert len(numbers) >= last
                    last = len(numbers)
                    looks["all"] += 1
        except BaseException as error:
            seen.append(error)

    async def work() -> None:
        with EvidenceStore(place) as opened:
            for start in range(0, 1000, 20):
                await asyncio.gather(*map(opened.append, drafts(20, start)))

    with EvidenceStore(place) as opened:
        opened.append_blocking(drafts(1)[0])
        # A look that has begun stays at what it saw.
        half = opened.records()
        next(half)
        opened.append_blocking(drafts(1)[0])
        assert list(half) == []
    thread = threading.Thread(target=look)
    thread.start()
    try:
        run(work)
    finally:
        over.set()
        thread.join(STANDSTILL)
    assert seen == []
    assert looks["all"]
    check(place, 1002)


def test_a_forked_child_goes_its_own_way(places: Places) -> None:
    """It appends with connections of its own, closes nothing of its parent's, waits for nobody."""
    place = places.new()
    told = json.loads(ended(process("fork", place)))
    assert (told["child"], told["number"], told["last"]) == (0, 5, 6)
    assert (told["problems"], told["after"], told["queued"]) == ([], 7, [9, 10, 11])
    assert (told["head"], told["same"]) == (11, True)
    check(place, 11)


def test_a_process_may_leave_while_records_wait(places: Places) -> None:
    """Nothing hangs, nothing is half written."""
    place = places.new()
    assert ended(process("exit", place)) == ""
    with EvidenceStore(place) as opened:
        count = opened.head().number
    assert count > 0
    check(place, count)


# Failures.


@contextmanager
def out_of_order(places: Places, place: str) -> Iterator[None]:
    """A database that takes no records for a while."""
    if places.is_file:
        begin = [
            "CREATE TRIGGER broken BEFORE UPDATE ON evidence_head"
            " BEGIN SELECT RAISE(ABORT, 'out of order'); END"
        ]
        end = ["DROP TRIGGER broken"]
    else:
        begin = [
            "CREATE FUNCTION broken() RETURNS trigger AS $$ BEGIN RAISE 'out of order'; END $$"
            " LANGUAGE plpgsql",
            "CREATE TRIGGER broken BEFORE UPDATE ON evidence_head EXECUTE FUNCTION broken()",
        ]
        end = ["DROP TRIGGER broken ON evidence_head", "DROP FUNCTION broken"]
    execute(place, *begin)
    try:
        yield
    finally:
        execute(place, *end)


def test_a_failure_is_told_to_everybody_who_waits(places: Places) -> None:
    """No record is half written, no number is used up, and the next one is written."""
    place, errors = places.new(), list[BaseException]()
    with EvidenceStore(place) as opened:
        opened.append_blocking(drafts(1)[0])

        async def all_fail() -> None:
            made = [draft("/", rules=OTHER), *drafts(50)]
            told = await asyncio.gather(*map(opened.append, made), return_exceptions=True)
            assert all(isinstance(each, StoreError) for each in told)
            errors.extend(each for each in told if isinstance(each, StoreError))

        def block() -> None:
            try:
                opened.append_blocking(drafts(1)[0])
            except StoreError as error:
                errors.append(error)

        with out_of_order(places, place):
            threads = [threading.Thread(target=block) for _ in range(4)]
            for thread in threads:
                thread.start()
            run(all_fail)
            for thread in threads:
                thread.join(STANDSTILL)
        assert len(errors) == 55
        assert all("out of order" in str(each) and "\n" not in str(each) for each in errors)
        assert opened.count() == 1
        assert execute(place, "SELECT count(*) FROM snapshots") == [(1,)]
        # The file that was not stored then is stored now.
        assert opened.append_blocking(draft("/", rules=OTHER)) == 2
    check(place, 2)


def test_a_broken_item_is_told_and_forgotten(places: Places) -> None:
    """Whoever brings something that is no record gets the error, and the writer goes on."""
    place = places.new()
    with EvidenceStore(place) as opened:
        nothing: Any = None
        for bad in (nothing, draft()._replace(host=nothing), draft()._replace(content=nothing)):
            with pytest.raises(Exception, match=r"."):
                opened.append_blocking(bad)
        assert opened.append_blocking(drafts(1)[0]) == 1
    check(place, 1)


def test_close_writes_what_is_waiting(places: Places) -> None:
    """Also what nobody has handed over yet."""
    place = places.new()

    async def work() -> list[int]:
        opened = EvidenceStore(place)
        tasks = [asyncio.ensure_future(opened.append(each)) for each in drafts(300)]
        await asyncio.sleep(0)
        opened.close()
        return list(await asyncio.gather(*tasks))

    assert run(work) == list(range(1, 301))
    check(place, 300)


def test_close_waits_for_other_threads(places: Places) -> None:
    """What they have handed over is written; what they bring later is an error, never a wait."""
    place, numbers, errors = places.new(), list[int](), list[str]()
    opened, begun = EvidenceStore(place), threading.Barrier(7)

    def block(start: int) -> None:
        begun.wait(STANDSTILL)
        try:
            numbers.extend(opened.append_blocking(each) for each in drafts(500, start))
        except StoreError as error:
            errors.append(str(error))

    async def tasks(start: int) -> None:
        begun.wait(STANDSTILL)
        try:
            for each in drafts(500, start):
                numbers.append(await opened.append(each))
        except StoreError as error:
            errors.append(str(error))

    threads = [threading.Thread(target=block, args=(n * 1000,)) for n in range(3)]
    threads += [
        threading.Thread(target=lambda n=n: asyncio.run(tasks(n * 1000))) for n in range(3, 6)
    ]
    for thread in threads:
        thread.start()
    begun.wait(STANDSTILL)
    while opened.count() < 10:
        pass
    opened.close()
    for thread in threads:
        thread.join(STANDSTILL)
    assert not any(thread.is_alive() for thread in threads)
    assert len(errors) == 6
    assert all("closed" in each for each in errors)
    with EvidenceStore(place) as again:
        count = again.count()
    check(place, count)


def test_nothing_is_appended_to_a_closed_store(places: Places) -> None:
    """It is an error, whether something was written before or not; closing twice is none."""
    for number in (0, 1):
        place = places.new()
        opened = EvidenceStore(place)
        for each in drafts(number):
            opened.append_blocking(each)
        opened.close()
        opened.close()
        with pytest.raises(StoreError, match="closed"):
            opened.append_blocking(drafts(1)[0])

        async def work(opened: EvidenceStore = opened) -> None:
            with pytest.raises(StoreError, match="closed"):
                await opened.append(drafts(1)[0])

        run(work)
        check(place, number)


def test_a_store_is_opened_again(places: Places) -> None:
    """The chain goes on where it ended, whatever was open before."""
    place = places.new()
    for turn in range(4):
        with EvidenceStore(place) as opened:
            assert opened.append_blocking(drafts(1, turn)[0]) == turn + 1
    check(place, 4)


def test_a_writer_that_has_died_is_replaced(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever it died of, whoever comes next is written."""
    place, tell = places.new(), writer._resolve_all
    died = threading.Event()

    def broken(*arguments: Any) -> None:
        monkeypatch.setattr(writer, "_resolve_all", tell)
        tell(*arguments)
        raise RuntimeError("nobody expects this")

    monkeypatch.setattr(threading, "excepthook", lambda _: died.set())
    with EvidenceStore(place) as opened:
        monkeypatch.setattr(writer, "_resolve_all", broken)
        assert opened.append_blocking(drafts(1)[0]) == 1
        assert died.wait(STANDSTILL)
        thread = opened._writer._thread
        assert thread is not None
        thread.join(STANDSTILL)
        assert opened.append_blocking(drafts(1, 1)[0]) == 2
    check(place, 2)


def test_no_thread_is_no_reason_to_wait(places: Places, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no thread can be started, whoever waits is told."""

    def fail(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with EvidenceStore(places.new()) as opened:

        async def work() -> None:
            with pytest.raises(RuntimeError, match="thread"):
                await opened.append(drafts(1)[0])

        with monkeypatch.context() as patched:
            patched.setattr(threading.Thread, "start", fail)
            run(work)
        assert opened.append_blocking(drafts(1)[0]) == 1


def test_hostile_text_is_kept(places: Places) -> None:
    """NULs and bytes that are no UTF-8, in the rules, the agent and the URL."""
    place, rules = places.new(), b"User-agent: *\nDisallow: /\x00\xff\xed\xa0\x80%00\nDisallow: /\n"
    with EvidenceStore(place) as opened:
        for agent in ("My\0Bot", "My\udcffBot", "\ud800", "\u202e", "'; --", "", "😀" * 1000):
            opened.append_blocking(draft("/%00", agent=agent, rules=rules))
            opened.append_blocking(draft("/\udcff\0\x1b", agent=agent, rules=rules))
        assert list(opened.verify()) == []
        assert opened.count() == 14
        names = Counter(str(row[0]) for row in execute(place, "SELECT agent FROM evidence"))
        assert "\0" not in "".join(names)
        assert all(opened.count(Filter(agent=name)) == names[name] for name in names)


def test_a_file_of_another_name_is_found(places: Places) -> None:
    """A store does not take anybody's word for what a file is."""
    place = places.new()
    with EvidenceStore(place) as opened:
        made = draft()
        assert made.snapshot is not None
        bad = Snapshot(made.snapshot.sha256, b"something else")
        opened.append_blocking(made._replace(snapshot=bad))
        assert [each.id for each in opened.verify()] == [1]


# Only PostgreSQL, only SQLite.


def test_a_server_may_die_and_come_back() -> None:
    """Whoever waits is told, nothing that was told to be written is lost, and it goes on."""
    with Postgres() as server:
        place, numbers = server.database(), list[int]()

        async def work() -> None:
            with EvidenceStore(place) as opened:
                over, errors = asyncio.Event(), list[StoreError]()

                async def one(each: Draft) -> None:
                    while not over.is_set():
                        try:
                            numbers.append(await opened.append(each))
                        except StoreError as error:
                            errors.append(error)
                            await asyncio.sleep(0.01)

                tasks = [asyncio.ensure_future(one(each)) for each in drafts(20)]
                while len(numbers) < 200:
                    await asyncio.sleep(0.001)
                server.kill()
                while len(errors) < 40:
                    await asyncio.sleep(0.001)
                assert all("\n" not in str(each) for each in errors)
                server.start()  # in this thread: it ends with the one that started it
                before = len(numbers)
                while len(numbers) < before + 200:
                    await asyncio.sleep(0.001)
                over.set()
                await asyncio.gather(*tasks)

        run(work)
        assert len(numbers) == len(set(numbers))
        with EvidenceStore(place) as opened:
            assert list(opened.verify()) == []
            assert opened.head().number >= max(numbers)
            kept = {each.id for each in opened.records()}
        assert set(numbers) <= kept


def test_a_file_that_somebody_else_writes_to(tmp_path: Any) -> None:
    """Whoever waits for too long is told, and goes on when the other has finished."""
    place = tmp_path / "store.db"
    with EvidenceStore(place, timeout=0.2) as opened:
        opened.append_blocking(drafts(1)[0])
        other = process("lock", place, "IMMEDIATE", module="tests.cache.sqlite_process")
        assert other.stdout.readline() == "locked\n"
        with pytest.raises(StoreError, match="locked"):
            opened.append_blocking(drafts(1)[0])
        with pytest.raises(StoreError, match="locked"):
            opened.prune(NOW)
        assert (opened.count(), list(opened.verify())) == (1, [])  # reading goes on
        with EvidenceStore(place) as another:  # and so does opening
            assert another.head().number == 1
        ended(other)
        assert opened.append_blocking(drafts(1)[0]) == 2
    check(str(place), 2)


def test_the_connection_is_closed_with_the_store(tmp_path: Any) -> None:
    """The file stands alone afterwards: what was in the log beside it is in it."""
    place = tmp_path / "store.db"
    with EvidenceStore(place) as opened:
        opened.append_blocking(drafts(1)[0])
        assert (tmp_path / "store.db-wal").exists()
    assert [each.name for each in tmp_path.iterdir()] == ["store.db"]
    moved = tmp_path / "moved.db"
    place.rename(moved)
    check(str(moved), 1)


def test_commits_are_on_the_disk(tmp_path: Any) -> None:
    """WAL, and synchronous=FULL on every connection: a commit that returned has reached it."""
    with EvidenceStore(tmp_path / "store.db") as opened:
        for manager in (
            opened.writing,
            opened.reading,
            opened.writing,
        ):
            with manager() as connection:
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
                assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2


def test_a_password_is_not_shown(places: Places) -> None:
    """Where a store is may be told to anybody."""
    place = places.new().replace("postgres@", "postgres:sesame@")
    with EvidenceStore(place) as opened:
        assert "sesame" not in opened.place
        assert opened.place == place.replace("sesame", "***")
