"""Archives keep what was replied when; packing changes nothing that anybody decides by."""

import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.bulk import archive, changes, readers, sorting
from manners.bulk.readers import parquet
from manners.bulk.records import RECORDS, BulkError, Problems, RobotsRecord, normalise
from manners.bulk.resolving import resolve
from manners.net.messages import Response, Unreachable
from manners.retrieval import profiles
from tests.bulk.live import PROFILES, Reply, record, table

DAY = 86_400.0
FILE, OTHER = Response(200, {}, b"User-agent: *"), Response(200, {}, b"User-agent: a")
REPLIES: list[Reply] = [
    *(FILE, OTHER, Response(404), Response(503), Unreachable("timeout")),
    Response(301, {"location": "https://1.example/robots.txt"}),
]
ROBOTS = "https://0.example/robots.txt"


def put(records: list[RobotsRecord], folder: Path, name: str = "new.parquet") -> Path:
    """Records in a Parquet file."""
    pq.write_table(table(records), folder / name)
    return folder / name


def rows(place: Path) -> list[dict[str, Any]]:
    """The records of an archive, as any reader sees them."""
    batches = readers.open(place)
    return [row for batch in batches for row in batch.to_pylist()]


def packed(folder: Path, records: list[RobotsRecord], **options: Any) -> list[dict[str, Any]]:
    """Records that were added to an archive, and packed."""
    archive.add(folder / "archive", put(records, folder))
    archive.pack(folder / "archive", **options)
    return rows(folder / "archive")


def decided(records: pa.Table) -> dict[str, Any]:
    """What each profile makes of records, by origin."""
    return {
        name: sorted(resolve(records, profiles.get(name)).to_pylist(), key=str) for name in PROFILES
    }


# Adding.


def test_an_archive_is_a_place_of_records(tmp_path: Path) -> None:
    """What was added comes back, from one folder of Parquet files."""
    first = put([record(ROBOTS, FILE, 0)], tmp_path, "a.parquet")
    (tmp_path / "files").mkdir()
    (tmp_path / "files" / "b.example").write_bytes(b"User-agent: b")
    added = archive.add(tmp_path / "archive", [first, tmp_path / "files"])
    assert (added.records, added.files) == (2, 1)
    assert [row["origin"] for row in rows(tmp_path / "archive")] == [
        "https://0.example",
        "https://b.example",
    ]
    assert pq.read_table(tmp_path / "archive").schema == RECORDS


def test_what_is_added_twice_counts_once(tmp_path: Path) -> None:
    """The same places again change no decision, and packing removes them."""
    place = put([record(ROBOTS, reply, day * DAY) for day, reply in enumerate(REPLIES)], tmp_path)
    once = decided(pq.read_table(place))
    for _ in range(3):
        archive.add(tmp_path / "archive", place)
    assert decided(normalise(pq.read_table(tmp_path / "archive"))) == once
    result = archive.pack(tmp_path / "archive")
    assert (result.records_before, result.records) == (18, 6)
    assert (result.files_before, result.files) == (3, 1)
    assert decided(normalise(pq.read_table(tmp_path / "archive"))) == once


def test_large_additions_are_several_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No file becomes much larger than its limit."""
    monkeypatch.setattr(archive, "FILE_BYTES", 100_000)
    for module in (archive, parquet):
        monkeypatch.setattr(module, "BATCH_ROWS", 100)
    draw = random.Random(1)
    records = [
        record(f"https://{n}.example/robots.txt", Response(200, {}, draw.randbytes(1000)), n)
        for n in range(1000)
    ]
    added = archive.add(tmp_path / "archive", put(records, tmp_path))
    assert added.files > 3
    assert len(rows(tmp_path / "archive")) == 1000
    assert archive.size_of(tmp_path / "archive") == (added.files, added.bytes)


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path) -> None:
    """Files of an archive are not mixed with those of others by mistake."""
    place = put([record(ROBOTS, FILE, 0)], tmp_path)
    with pytest.raises(BulkError, match="a folder of something else"):
        archive.add(tmp_path, place)
    with pytest.raises(BulkError, match="no archive"):
        archive.pack(tmp_path)
    with pytest.raises(BulkError, match="no archive"):
        list(archive.listing(tmp_path / "nosuch"))
    assert not (tmp_path / "nosuch").exists()


def test_a_failed_addition_leaves_nothing(tmp_path: Path) -> None:
    """What is damaged is an error, and no part of it is added; or counted, and the rest is."""
    good = put([record(ROBOTS, FILE, 0)], tmp_path, "good.parquet")
    bad = tmp_path / "bad.parquet"
    bad.write_bytes(good.read_bytes()[:-30])
    with pytest.raises(BulkError, match=r"bad\.parquet: damaged"):
        archive.add(tmp_path / "archive", [good, bad])
    assert list((tmp_path / "archive").iterdir()) == []
    (tmp_path / "both").mkdir()
    for path in (good, bad):
        path.rename(tmp_path / "both" / path.name)
    problems = Problems()
    assert archive.add(tmp_path / "archive", tmp_path / "both", problems=problems).records == 1
    assert len(problems) == 1


# Packing.


def test_the_first_and_the_last_of_equal_replies_are_kept(tmp_path: Path) -> None:
    """It stays known from when to when a site replied so."""
    replies = [FILE, FILE, FILE, OTHER, FILE, FILE, FILE, Response(404), Response(404)]
    found = packed(tmp_path, [record(ROBOTS, reply, n) for n, reply in enumerate(replies)])
    start = found[0]["fetched_at"].timestamp()
    assert [
        (row["fetched_at"].timestamp() - start, row["status"], row["body"]) for row in found
    ] == [
        *((0, 200, FILE.body), (2, 200, FILE.body), (3, 200, OTHER.body), (4, 200, FILE.body)),
        *((6, 200, FILE.body), (7, 404, b""), (8, 404, b"")),
    ]


def test_a_packed_archive_is_sorted(tmp_path: Path) -> None:
    """By origin, URL and time, so that one site is found without reading all."""
    records = [
        record(f"https://{n % 7}.example/{n % 2 or 'robots.txt'}", FILE, -n) for n in range(100)
    ]
    found = packed(tmp_path, records)
    keys = [(row["origin"], row["url"], row["fetched_at"]) for row in found]
    assert keys == sorted(keys)


RECORD = st.builds(
    record,
    st.sampled_from([ROBOTS, "https://1.example/robots.txt", "https://0.example/x"]),
    st.sampled_from(REPLIES),
    st.none() | st.sampled_from([0.0, 1.0, 3600.0, 13 * 3600.0, 5 * DAY, 40 * DAY]),
)


@given(st.lists(RECORD, min_size=1, max_size=40), st.integers(1, 40))
def test_packing_changes_no_decision(records: list[RobotsRecord], size: int) -> None:
    """Any records, in any order, decide the same afterwards, for every profile."""
    given_records = table(records)
    keys = [("origin", "ascending"), ("url", "ascending"), ("fetched_at", "ascending")]
    ordered = given_records.append_column("row", pa.array(range(len(records))))
    ordered = ordered.sort_by([*keys, ("row", "ascending")]).drop("row")
    pieces = [ordered.slice(start, size) for start in range(0, len(records), size)]
    kept = pa.concat_tables(changes.changes(pieces))
    assert decided(kept) == decided(given_records)
    again = pa.concat_tables(changes.changes([kept]))
    if size >= len(records):
        assert again == kept


@given(st.lists(RECORD, min_size=1, max_size=40))
def test_nothing_new_is_made_up(records: list[RobotsRecord]) -> None:
    """Every record that is kept was there, and every reply that was there is kept once at least."""
    ordered = table(records).sort_by(
        [("origin", "ascending"), ("url", "ascending"), ("fetched_at", "ascending")]
    )
    kept = pa.concat_tables(changes.changes([ordered])).to_pylist()
    before = ordered.to_pylist()
    assert all(row in before for row in kept)

    def replies(found: list[dict[str, Any]]) -> set[tuple[Any, ...]]:
        return {(row["url"], row["status"], row["location"], row["body"]) for row in found}

    assert replies(kept) == replies(before)


@pytest.mark.parametrize("memory", [1, 2**28])
def test_packing_needs_little_memory(
    tmp_path: Path, memory: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With any limit, the result is the same: more is sorted on the disk, and merged in rounds."""
    monkeypatch.setattr(sorting, "_PIECE", 2_000)
    draw = random.Random(3)
    hosts = [f"https://{n}.example/robots.txt" for n in range(50)]
    records = [
        record(draw.choice(hosts), draw.choice(REPLIES), draw.choice([None, float(n)]))
        for n in range(600)
    ]
    for part in range(3):
        place = put(records[part::3], tmp_path)
        archive.add(tmp_path / "archive", place)
    result = archive.pack(tmp_path / "archive", memory=memory)
    assert result.records < 600
    found = normalise(pq.read_table(tmp_path / "archive"))
    assert {row["origin"] for row in found.to_pylist()} == {url[:-11] for url in hosts}
    # Records without times count in the order in which they were added.
    timed = table([one for one in records if one.fetched_at is not None])
    assert decided(found.filter(pa.compute.is_valid(found["fetched_at"]))) == decided(timed)


def test_a_damaged_archive_is_not_packed(tmp_path: Path) -> None:
    """Nothing is removed that could not be read."""
    place = put([record(ROBOTS, FILE, 0)], tmp_path)
    for _ in range(2):
        archive.add(tmp_path / "archive", place)
    files = archive.files_of(tmp_path / "archive")
    files[0].write_bytes(files[0].read_bytes()[:-10])
    with pytest.raises(BulkError, match=rf"{files[0].name}: damaged after row 0"):
        archive.pack(tmp_path / "archive")
    assert sorted((tmp_path / "archive").iterdir()) == files


def test_packing_removes_what_killed_processes_left(tmp_path: Path) -> None:
    """Temporary files of a day ago are nobody's; newer ones may be in use."""
    archive.add(tmp_path / "archive", put([record(ROBOTS, FILE, 0)], tmp_path))
    old, new = (
        tmp_path / "archive" / f".robots-0000000{n}-0123abcd-0000.parquet.tmp" for n in (2, 3)
    )
    old.touch()
    new.touch()
    os.utime(old, (0, 0))
    archive.pack(tmp_path / "archive")
    assert not old.exists()
    assert new.exists()
    assert len(rows(tmp_path / "archive")) == 1


# Killed processes.


class Killed(BaseException):
    """The process is no more: nobody catches it, and nothing reaches the disk after it."""


class Disk:
    """Stands between an archive and the disk, up to a number of steps that change something."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.steps = 10**9
        monkeypatch.setattr(os, "fsync", self._limited(os.fsync))
        monkeypatch.setattr(os, "unlink", self._limited(os.unlink))
        monkeypatch.setattr(os, "rmdir", self._limited(os.rmdir))
        for name in ("open", "replace", "unlink"):
            monkeypatch.setattr(Path, name, self._limited(getattr(Path, name)))

    def _limited(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def step(*arguments: Any, **options: Any) -> Any:
            self.steps -= 1
            if self.steps < 0:
                raise Killed
            return function(*arguments, **options)

        return step

    def kills(self, steps: int, work: Callable[..., object], *arguments: object) -> bool:
        """Whether some work was killed after so many steps; False if it needed fewer."""
        self.steps = steps
        try:
            work(*arguments)
        except Killed:
            return True
        finally:
            self.steps = 10**9
        return False


def test_a_killed_addition_leaves_the_archive_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whatever step it dies, what was there is there, and the same again succeeds."""
    folder = tmp_path / "archive"
    archive.add(folder, put([record(ROBOTS, FILE, 0)], tmp_path))
    place = put([record(ROBOTS, OTHER, DAY)], tmp_path)
    disk, step = Disk(monkeypatch), 0
    while disk.kills(step, archive.add, folder, place):
        bodies = {row["body"] for row in rows(folder)}
        assert FILE.body in bodies
        assert bodies <= {FILE.body, OTHER.body}
        step += 1
    assert step >= 3
    archive.pack(folder)
    assert [row["body"] for row in rows(folder)] == [FILE.body, OTHER.body]


def test_a_killed_packing_leaves_the_archive_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At whatever step it dies, no decision changes, and no reply is lost."""
    folder = tmp_path / "archive"
    for day, reply in enumerate(REPLIES):
        archive.add(folder, put([record(ROBOTS, reply, day * DAY)], tmp_path))
    before = decided(normalise(pq.read_table(folder)))
    disk, step = Disk(monkeypatch), 0
    while disk.kills(step, archive.pack, folder):
        found = normalise(pq.read_table(folder))
        assert decided(found) == before
        assert {row["body"] for row in found.to_pylist()} >= {FILE.body, OTHER.body}
        step += 1
    assert step >= 5
    assert len(rows(folder)) == len(REPLIES)


# Listing.


def test_sites_are_listed_with_their_times(tmp_path: Path) -> None:
    """How many records, from when to when, also if an archive was not packed."""
    records = [record(f"https://{n % 3}.example/{n}", FILE, n) for n in range(9)]
    records += [record("https://0.example/robots.txt", FILE, None)]
    for part in (records[:5], records[5:]):
        archive.add(tmp_path / "archive", put(part, tmp_path))
    found = list(archive.listing(tmp_path / "archive", memory=1))
    assert [(site.origin, site.records) for site in found] == [
        *(("https://0.example", 4), ("https://1.example", 3), ("https://2.example", 3)),
    ]
    assert found[1].first is not None
    assert found[1].last is not None
    assert (found[1].last - found[1].first).total_seconds() == 6


def test_the_records_of_a_site_are_listed_over_time(tmp_path: Path) -> None:
    """Any URL of a site, or its domain, names it."""
    records = [record(ROBOTS, reply, -n * DAY) for n, reply in enumerate(REPLIES)]
    archive.add(tmp_path / "archive", put(records, tmp_path))
    archive.add(
        tmp_path / "archive", put([record("https://z.example/robots.txt", FILE, 0)], tmp_path)
    )
    for name in ("0.example", "https://0.example/page", ROBOTS):
        found = archive.history(tmp_path / "archive", name)
        assert [reply.status for reply in found] == [301, None, 503, 404, 200, 200]
        assert found[0].location == "https://1.example/robots.txt"
        assert found[-1].bytes == len(FILE.body)
    assert archive.history(tmp_path / "archive", "nosuch.example") == []
