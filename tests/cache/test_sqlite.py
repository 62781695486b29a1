"""A cache in a file: shared by processes, killed at any moment, locked, full, broken, not ours."""

import asyncio
import logging
import os
import random
import resource
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

import pytest

from manners.cache import tier
from manners.cache.backends import open_backend, sqlite
from manners.cache.backends.sqlite import SqliteCache
from manners.cache.blocking import RobotsCache
from manners.cache.encoding import valid_entry
from manners.cache.entry import Entry
from manners.errors import StoreError
from manners.testing import Clock
from tests.cache.sqlite_process import SITES, made, newest
from tests.cache.steps import FILE
from tests.cache.test_robots_cache import CLOSED, OPEN, Script, in_child, needs_fork
from tests.cache.test_tier import hear
from tests.contracts.entries import START, entry
from tests.sizes import seed, size

ROOT = Path(__file__).parents[2]
STANDSTILL = 120
"""Seconds after which a process that stands still is ended; no promise depends on them."""
OWN_TIMEOUT, OWN_WAIT = tier.CALL_TIMEOUT, sqlite._WAIT
"""What the package itself waits for a file."""
BOUND = 20.0
"""Seconds in which an answer is there that a file may delay by a quarter of one."""


@pytest.fixture(autouse=True)
def _heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings reach the test, also where a command of another test has turned them away."""
    hear(monkeypatch)


def process(*words: object) -> "subprocess.Popen[str]":
    """Another process that uses a file."""
    return subprocess.Popen(
        [sys.executable, "-m", "tests.cache.sqlite_process", *map(str, words)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@contextmanager
def ended(*processes: "subprocess.Popen[str]") -> Iterator[None]:
    """No process is left, whatever happens."""
    try:
        yield
    finally:
        for each in processes:
            each.kill()
            each.communicate()


def run(work: Callable[[SqliteCache], object], path: Path) -> None:
    """Do some work with a backend, which is closed behind it."""

    async def all_of_it() -> None:
        backend = SqliteCache(path)
        try:
            await work(backend)  # type: ignore[misc]
        finally:
            await backend.close()

    asyncio.run(asyncio.wait_for(all_of_it(), STANDSTILL))


def all_of(path: Path) -> dict[str, Entry]:
    """Everything that is kept in a file."""
    found: list[Entry] = []

    async def look(backend: SqliteCache) -> None:
        found.extend([each async for each in backend.entries()])

    run(look, path)
    return {each.origin: each for each in found}


def filled(path: Path, number: int = 5) -> Path:
    """A file with entries."""

    async def fill(backend: SqliteCache) -> None:
        for place in range(number):
            await backend.save(made(f"https://{place}.example", START))

    run(fill, path)
    return path


def query(path: Path, text: str) -> list[tuple[object, ...]]:
    """What SQLite itself says about a file."""
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(text).fetchall()
        connection.commit()
    return found


# Several processes.


def test_processes_share_a_file(tmp_path: Path) -> None:
    """Four write and two read at once: nothing is lost or mixed up, and the newest is kept."""
    path = tmp_path / "cache.db"
    writers = [process("write", path, number, 4) for number in range(4)]
    readers = [process("read", path) for _ in range(2)]
    with ended(*writers, *readers):
        for each in (*writers, *readers):
            out, err = each.communicate(timeout=STANDSTILL)
            assert (each.returncode, err) == (0, "")
            assert int(out) >= 0
    assert all_of(path) == {site: made(site, newest(4)) for site in SITES}
    assert query(path, "PRAGMA integrity_check") == [("ok",)]


def test_a_new_file_is_made_by_one_of_many(tmp_path: Path) -> None:
    """Backends that open a new file at the same moment all find it ready."""

    async def save(path: Path) -> None:
        backends = [SqliteCache(path) for _ in range(8)]
        await asyncio.gather(
            *(each.save(made(f"https://{n}.example", START)) for n, each in enumerate(backends))
        )
        for each in backends:
            await each.close()

    for number in range(20):
        path = tmp_path / f"{number}.db"
        asyncio.run(asyncio.wait_for(save(path), STANDSTILL))
        assert len(all_of(path)) == 8
        assert query(path, "PRAGMA journal_mode") == [("wal",)]


def test_a_reader_does_not_wait_for_a_writer(tmp_path: Path) -> None:
    """While another process writes, what is there can be read, from a new object too."""
    path = filled(tmp_path / "cache.db")
    holder = process("lock", path, "IMMEDIATE")
    with ended(holder):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        assert set(all_of(path)) == {f"https://{n}.example" for n in range(5)}


# SIGKILL.


def kill_writers(folder: Path, times: int, seed: int) -> int:
    """Kill a process that saves, again and again, at random moments; how many saves it made."""
    draw, acknowledged, path = random.Random(seed), dict[str, float](), folder / "0.db"
    total = 0
    for number in range(times):
        if number % 5 == 0:  # the moment in which a file is made counts too
            path, acknowledged = folder / f"{number}.db", {}
        reader, writer = os.pipe()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads
            child = os.fork()
        if child == 0:
            with suppress(BaseException):
                signal.alarm(STANDSTILL)
                os.close(reader)
                asyncio.run(_write_on(path, number, writer))
            os._exit(1)
        os.close(writer)
        with os.fdopen(reader, "rb") as said:
            saved = b""
            if number % 2:  # in the middle of its work, however late that begins
                saved = b"".join(said.readline() for _ in range(draw.randint(1, 20)))
            time.sleep(draw.choice([0.005, 0.05, 0.15]) * draw.random())
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)
            for line in (saved + said.read()).splitlines():
                site, at = line.decode().split()
                acknowledged[site] = float(at)
                total += 1
        check_after_a_crash(path, acknowledged)
    return total


async def _write_on(path: Path, number: int, said: int) -> None:
    backend = SqliteCache(path)
    for turn in range(1_000_000):
        site, at = SITES[turn % len(SITES)], START + 1000 * number + turn / 1000
        await backend.save(_large(site, at))
        os.write(said, f"{site} {at!r}\n".encode())


def _large(site: str, at: float) -> Entry:
    return entry(site, at, f"# {site} {at!r}\n".encode() * random.Random(at).randrange(1, 2000))


def check_after_a_crash(path: Path, acknowledged: dict[str, float]) -> None:
    """The file opens, is sound, has what was saved, and can be written to."""
    found = all_of(path)
    for site, each in found.items():
        assert each == _large(site, each.outcome.at)
    for site, at in acknowledged.items():
        assert found[site].outcome.at >= at
    assert query(path, "PRAGMA integrity_check") == [("ok",)]

    async def look_back(backend: SqliteCache) -> None:
        for site, each in found.items():
            versions = await backend.history(site)
            assert versions[-1].body == each.body
            assert versions[-1].last == each.outcome.at

    run(look_back, path)

    async def go_on(backend: SqliteCache) -> None:
        await backend.save(entry("https://after.example", time.time()))
        assert valid_entry(await backend.load("https://after.example"))
        await backend.forget("https://after.example")

    run(go_on, path)


@needs_fork
@pytest.mark.long
def test_a_process_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    """After SIGKILL the file opens, is sound, and has every save that was confirmed."""
    assert kill_writers(tmp_path, size("CACHE_KILLS"), seed("KILLED_SEED")) > 0


# Files that cannot be used.


def somebody_elses(path: Path) -> None:
    query(path, "CREATE TABLE people (name TEXT)")
    query(path, "INSERT INTO people VALUES ('Ada')")


def somebody_elses_in_wal(path: Path) -> None:
    query(path, "PRAGMA journal_mode = WAL")
    somebody_elses(path)


def somebody_elses_by_mark(path: Path) -> None:
    query(path, "PRAGMA application_id = 7")


def with_a_table_of_our_name(path: Path) -> None:
    query(path, "CREATE TABLE entries (origin TEXT PRIMARY KEY)")


def of_a_later_version(path: Path) -> None:
    filled(path)
    query(path, "PRAGMA user_version = 99")


def not_a_database(path: Path) -> None:
    path.write_bytes(b"User-agent: *\nDisallow: /\n" * 500)


def a_short_text(path: Path) -> None:
    path.write_bytes(b"x\n")


def cut_in_the_middle(path: Path) -> None:
    filled(path, 200)
    os.truncate(path, path.stat().st_size // 2)


def cut_in_the_header(path: Path) -> None:
    filled(path)
    os.truncate(path, 60)


def overwritten(path: Path) -> None:
    size = filled(path, 200).stat().st_size
    with path.open("r+b") as file:
        file.seek(100)
        file.write(random.Random(3).randbytes(size - 100))


def without_its_table(path: Path) -> None:
    filled(path)
    query(path, "DROP TABLE entries")


def a_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").write_bytes(b"x")


def rubbish_inside(path: Path) -> None:
    filled(path)
    query(path, "UPDATE entries SET origin = 'https://a.example', metadata = '{' WHERE rowid = 1")


def another_kind_inside(path: Path) -> None:
    filled(path)
    query(path, "UPDATE entries SET origin = 'https://a.example', metadata = 7 WHERE rowid = 1")


def another_origin_inside(path: Path) -> None:
    filled(path)
    query(path, "UPDATE entries SET origin = 'https://a.example' WHERE rowid = 1")


def no_body_inside(path: Path) -> None:
    filled(path)
    query(path, "UPDATE entries SET origin = 'https://a.example', body = NULL WHERE rowid = 1")


NOT_OURS = [somebody_elses, somebody_elses_in_wal, somebody_elses_by_mark, with_a_table_of_our_name]
UNUSABLE = [
    *NOT_OURS,
    of_a_later_version,
    not_a_database,
    a_short_text,
    cut_in_the_middle,
    cut_in_the_header,
    overwritten,
    without_its_table,
    a_folder,
    rubbish_inside,
    another_kind_inside,
    another_origin_inside,
    no_body_inside,
]


def verdicts(path: Path | None) -> list[str]:
    """What is answered with a file, or without one."""
    with RobotsCache(http=Script(FILE), clock=Clock(START), store=path) as cache:
        return [str(cache.check(url, "MyBot")) for url in (CLOSED, OPEN, "https://z.example/a")]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings about stores."""
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return [each.getMessage() for each in caplog.records if each.name == "manners.cache"]


@pytest.mark.parametrize("make", UNUSABLE, ids=lambda make: make.__name__)
def test_a_file_that_cannot_be_used_changes_no_verdict(
    make: Callable[[Path], None], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """There is one warning, soon, and the verdicts are those without a file."""
    path = tmp_path / "cache.db"
    make(path)
    began = time.monotonic()
    assert verdicts(path) == verdicts(None)
    assert time.monotonic() - began < BOUND
    assert len(said(caplog)) == 1
    assert "not used for 5 s" in said(caplog)[0]


@pytest.mark.parametrize("make", [*UNUSABLE[:7], a_folder], ids=lambda make: make.__name__)
def test_a_file_of_somebody_else_is_left_as_it_is(
    make: Callable[[Path], None], tmp_path: Path
) -> None:
    """Not a byte of it is changed, and nothing is put beside it that stays."""
    path = tmp_path / "cache.db"
    make(path)
    before = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    verdicts(path)
    for work in (_save, _forget, _list):
        with pytest.raises(StoreError):
            run(work, path)
    after = {each: each.read_bytes() for each in tmp_path.rglob("*") if each.is_file()}
    assert after == before


async def _save(backend: SqliteCache) -> None:
    await backend.save(entry())


async def _forget(backend: SqliteCache) -> None:
    await backend.forget("https://a.example")


async def _list(backend: SqliteCache) -> None:
    assert [each async for each in backend.entries()]


def test_a_folder_that_is_missing_is_not_made(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A file in a folder that is not there is a warning."""
    assert verdicts(tmp_path / "missing" / "cache.db") == verdicts(None)
    assert len(said(caplog)) == 1
    assert list(tmp_path.iterdir()) == []


def test_an_error_names_the_file_and_what_is_wrong(tmp_path: Path) -> None:
    """What is raised says which file, and whether to upgrade or to choose another."""
    for make, words in (
        (somebody_elses, "a database of another application"),
        (of_a_later_version, "made by a later version of this package; upgrade it"),
        (not_a_database, "file is not a database"),
        (a_folder, "cannot be opened"),
        (rubbish_inside, "has an entry that cannot be read"),
    ):
        path = tmp_path / make.__name__
        make(path)
        with pytest.raises(StoreError, match=words) as caught:
            run(_list, path)
        assert str(path) in str(caught.value)


def test_an_empty_file_is_a_new_one(tmp_path: Path) -> None:
    """A file without a byte is taken, as `mktemp` makes them."""
    path = tmp_path / "cache.db"
    path.touch()
    filled(path)
    assert len(all_of(path)) == 5


@pytest.mark.parametrize("seed", range(12))
def test_wrong_bytes_in_the_middle_change_no_verdict(tmp_path: Path, seed: int) -> None:
    """Wherever a disk lies, an entry is read as it was or not at all."""
    path, draw = filled(tmp_path / "cache.db", 60), random.Random(seed)
    urls = [f"https://{n}.example/{page}" for n in range(60) for page in "ab"]

    def answers(store: Path | None) -> list[tuple[bool, int]]:
        reply = made("https://0.example", START)  # comments only, whatever the site
        script = Script(type(FILE)(200, {}, reply.body or b""))
        with RobotsCache(http=script, clock=Clock(START), store=store) as cache:
            return [(each.allowed, each.line) for each in (cache.check(u, "MyBot") for u in urls)]

    expected = answers(None)
    size = path.stat().st_size
    with path.open("r+b") as file:
        for _ in range(draw.choice([1, 5, 50])):
            file.seek(draw.randrange(size))
            file.write(b"\nUser-agent: *\nDisallow: /\n"[: draw.randrange(1, 27)])
    assert answers(path) == expected


@pytest.mark.parametrize("how", ["IMMEDIATE", "EXCLUSIVE"])
@pytest.mark.parametrize("is_new", [False, True], ids=["a cache", "a new file"])
def test_a_file_that_another_process_locks_changes_no_verdict(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    how: str,
    is_new: bool,
) -> None:
    """Whoever holds the lock for longer than 250 ms costs that, a warning, and what was to keep."""
    expected = verdicts(None)
    path = tmp_path / "cache.db"
    if not is_new:
        filled(path)
    holder = process("lock", path, how)
    with ended(holder):
        assert holder.stdout is not None
        assert holder.stdout.readline() == "locked\n"
        with monkeypatch.context() as product:
            product.setattr(tier, "CALL_TIMEOUT", OWN_TIMEOUT)
            product.setattr(sqlite, "_WAIT", OWN_WAIT)
            began = time.monotonic()
            assert verdicts(path) == expected
            assert time.monotonic() - began < BOUND
    assert len(said(caplog)) == 1
    assert "locked" in said(caplog)[0] or "TimeoutError" in said(caplog)[0]
    caplog.clear()
    assert verdicts(path) == expected
    assert said(caplog) == []
    assert "https://a.example" in all_of(path)


@needs_fork
@pytest.mark.parametrize("size", [0, 1024, 40_000, 100_000])
def test_a_full_disk_changes_no_verdict(tmp_path: Path, size: int) -> None:
    """What cannot be written is not kept, what is there stays, and later there is room again."""
    path = filled(tmp_path / "cache.db")
    before = all_of(path)

    def child() -> bool:
        # No file may grow beyond a size, which to SQLite is like a disk that is full.
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
        with RobotsCache(http=Script(FILE), clock=Clock(START), store=path) as cache:
            sites = [f"https://full{number}.example" for number in range(100)]
            return not any(cache.allowed(site + "/a", "MyBot") for site in sites)

    assert in_child(child)
    after = all_of(path)
    assert before.items() <= after.items()
    assert len(after) < 105
    assert query(path, "PRAGMA integrity_check") == [("ok",)]
    verdicts(path)
    assert "https://a.example" in all_of(path)


@pytest.fixture
def readable() -> Iterator[Path]:
    """A folder that every user may look into, and nobody but its owner may write to."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    shutil.rmtree(folder)


@needs_fork
@pytest.mark.parametrize("has_entries", [True, False])
def test_a_file_that_may_only_be_read_changes_no_verdict(readable: Path, has_entries: bool) -> None:
    """A cache of another user is read if it can be, and never stops anybody."""
    path, plain = readable / "cache.db", verdicts(None)
    if has_entries:
        filled(path)
    else:
        path.touch()
    path.chmod(0o444)
    before = path.read_bytes()

    def child() -> bool:
        if os.geteuid() == 0:  # to whom everything is allowed
            os.seteuid(65_534)
        else:
            readable.chmod(0o555)
        return verdicts(path) == plain

    try:
        assert in_child(child)
    finally:
        readable.chmod(0o755)
    assert path.read_bytes() == before


def test_a_file_that_was_replaced_is_opened_again(tmp_path: Path) -> None:
    """After a failure the file is opened anew: who puts a good one there need not start again."""
    path = tmp_path / "cache.db"
    good = filled(tmp_path / "good.db")

    async def test(backend: SqliteCache) -> None:
        await backend.save(entry())
        for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
            (tmp_path / name).unlink(missing_ok=True)
        not_a_database(path)
        other = SqliteCache(path)
        with pytest.raises(StoreError):
            await other.load("https://0.example")
        path.unlink()
        good.rename(path)
        assert await other.load("https://0.example") == made("https://0.example", START)
        await other.close()

    run(test, path)


def test_what_nobody_can_use_any_more_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file does not grow for ever: entries older than any profile uses go, now and then."""
    monkeypatch.setattr("manners.cache.backends.sqlite._SAVES", 10)
    path = tmp_path / "cache.db"
    day = 86_400.0

    async def test(backend: SqliteCache) -> None:
        await backend.save(entry("https://old.example", START - 32 * day))
        await backend.save(entry("https://copy.example", START - 30 * day))
        for number in range(10):
            await backend.save(entry(f"https://{number}.example", START))

    run(test, path)
    assert "https://old.example" not in all_of(path)
    assert "https://copy.example" in all_of(path)


def test_history_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A site that changes all the time leaves its latest versions, by number and by size."""
    monkeypatch.setattr("manners.cache.version_tables.MAX_VERSIONS", 3)
    monkeypatch.setattr("manners.cache.version_tables.MAX_BYTES", 100)
    path = tmp_path / "cache.db"

    async def test(backend: SqliteCache) -> None:
        for number in range(9):
            await backend.save(entry("https://many.example", START + number, b"%d" % number))
            await backend.save(entry("https://large.example", START + number, b"%d" % number * 60))
        many = await backend.history("https://many.example")
        assert [each.body for each in many] == [b"6", b"7", b"8"]
        assert [each.body for each in await backend.history("https://large.example")] == [b"8" * 60]

    run(test, path)
    assert query(path, "SELECT count(*) FROM bodies") == [(4,)]


def test_history_that_nobody_confirms_any_more_is_dropped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two years after the last confirmation a version goes, and its file if no other has it."""
    monkeypatch.setattr("manners.cache.backends.sqlite._SAVES", 10)
    path, day = tmp_path / "cache.db", 86_400.0

    async def test(backend: SqliteCache) -> None:
        for site, age in (("https://old.example", 740), ("https://kept.example", 700)):
            await backend.save(entry(site, START - age * day, b"shared"))
        await backend.save(entry("https://old.example", START - 735 * day, b"own"))
        for number in range(7):
            await backend.save(entry(f"https://{number}.example", START))
        assert await backend.history("https://old.example") == []
        assert [each.body for each in await backend.history("https://kept.example")] == [b"shared"]

    run(test, path)
    assert query(path, "SELECT count(*) FROM bodies") == [(2,)]


def test_a_file_is_kept_once(tmp_path: Path) -> None:
    """Sites with the same file, and a file that comes back, take its room once."""
    path = tmp_path / "cache.db"

    async def test(backend: SqliteCache) -> None:
        for number in range(10):
            for place, body in enumerate((b"a" * 1000, b"b" * 1000, b"a" * 1000)):
                await backend.save(entry(f"https://{number}.example", START + place, body))

    run(test, path)
    assert query(path, "SELECT count(*) FROM versions") == [(30,)]
    assert query(path, "SELECT count(*), max(length(body)) < 100 FROM bodies") == [(2, 1)]


def of_the_first_schema(path: Path) -> None:
    """A file as it was made before there were versions."""
    filled(path)
    for statement in (
        "DROP TABLE versions",
        "DROP TABLE bodies",
        "PRAGMA user_version = 1",
    ):
        query(path, statement)


def test_a_file_of_the_first_schema_has_the_history_of_its_entries(tmp_path: Path) -> None:
    """It is read as it is; the first save upgrades it, and what the entry said stays known."""
    path = tmp_path / "cache.db"
    of_the_first_schema(path)
    site, before = "https://0.example", made("https://0.example", START)

    async def look(backend: SqliteCache) -> None:
        assert [each.body for each in await backend.history(site)] == [before.body]
        assert await backend.history("https://unknown.example") == []

    async def change(backend: SqliteCache) -> None:
        await backend.save(entry(site, START + 60, b"new"))
        found = [(each.first, each.last, each.body) for each in await backend.history(site)]
        assert found == [(START, START, before.body), (START + 60, START + 60, b"new")]
        assert len(await backend.history("https://1.example")) == 1

    run(look, path)
    assert query(path, "PRAGMA user_version") == [(1,)]
    run(change, path)
    assert query(path, "PRAGMA user_version") == [(2,)]
    assert len(all_of(path)) == 5


def test_several_processes_upgrade_a_file_once(tmp_path: Path) -> None:
    """Whoever comes second finds it upgraded."""
    path = tmp_path / "cache.db"

    async def test() -> None:
        backends = [SqliteCache(path) for _ in range(8)]
        await asyncio.gather(*(each.load("https://0.example") for each in backends))
        await asyncio.gather(
            *(
                each.save(entry(f"https://{n}.example", START + 9))
                for n, each in enumerate(backends)
            )
        )
        for number, each in enumerate(backends):
            assert len(await each.history(f"https://{number}.example")) == (2 if number < 5 else 1)
            await each.close()

    of_the_first_schema(path)
    asyncio.run(asyncio.wait_for(test(), STANDSTILL))


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE versions SET metadata = '{'",
        "UPDATE versions SET metadata = 7",
        "UPDATE versions SET first = first + 1",
        "UPDATE versions SET last = 'x'",
        "UPDATE versions SET last = 9e99",
        "UPDATE versions SET origin = 'https://1.example' WHERE origin = 'https://0.example'",
        "UPDATE versions SET size = 1",
        "UPDATE versions SET size = 'x'",
        "UPDATE bodies SET body = x'00'",
        "UPDATE bodies SET body = 7",
        "DELETE FROM bodies",
    ],
)
def test_history_that_was_damaged_is_not_believed(tmp_path: Path, change: str) -> None:
    """A version that is not as it was written is an error; the entry is still read."""
    path = tmp_path / "cache.db"

    async def fill(backend: SqliteCache) -> None:
        await backend.save(entry("https://0.example", body=b"some file"))

    async def look(backend: SqliteCache) -> None:
        site = "https://1.example" if "1.example" in change else "https://0.example"
        with pytest.raises(StoreError, match="has a version that cannot be read"):
            await backend.history(site)
        assert valid_entry(await backend.load("https://0.example"))

    run(fill, path)
    query(path, change)
    run(look, path)


def test_a_cache_of_one_process_needs_no_file() -> None:
    """`:memory:` is a file that nobody else sees."""

    async def test() -> None:
        backend = open_backend(":memory:")
        await backend.save(entry())
        assert await backend.load("https://a.example") == entry()
        await backend.close()

    asyncio.run(test())
    assert not Path(":memory:").exists()
