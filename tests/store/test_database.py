"""Where a store may be, what is refused, and how an older one becomes a newer one."""

import asyncio
import json
import os
import shlex
import shutil
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory

from manners.cache.backends import open_backend
from manners.crawler.frontier import tables as crawl_tables
from manners.errors import MissingExtra, StoreAway, StoreConflict, StoreError, StoreTimeout
from manners.evidence import tables as evidence_tables
from manners.evidence.chain import AnchorHead, Head
from manners.evidence.store import EvidenceStore
from manners.evidence.strands import add_strand
from manners.store import database, schema
from manners.store.database import Store
from manners.store.postgres import OneByOne, _session
from tests.contracts.postgres import Postgres
from tests.contracts.valkey import free_port
from tests.evidence.drafts import drafts
from tests.evidence.places import Places, all_ended, ended, execute, process

# Places.

NAMES = [
    *("store.db", "a b.db", "a?b.db", "a%20b.db", "100%.db", "a#b.db", "ü😀.db", "a?mode=memory"),
    *("a&b=c;d.db", "C:\\evidence\\proof.db", "..db", "'; --.db", "file:x.db", ":memory:x"),
]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("as_path", [True, False])
def test_a_path_is_taken_as_it_is(tmp_path: Path, name: str, as_path: bool) -> None:
    """No character of it means anything else."""
    path = tmp_path / name
    with EvidenceStore(path if as_path else str(path)) as store:
        store.append_blocking(drafts(1)[0])
        assert store.place == str(path)
        assert path.is_file()
        beside = {each.name for each in tmp_path.iterdir()}
        assert beside == {name, f"{name}-wal", f"{name}-shm"}
    with EvidenceStore(path, create=False) as store:
        assert store.head().number == 1


def test_a_url_names_a_file_too(tmp_path: Path) -> None:
    """With three slashes for a relative path, and four for an absolute one."""
    for url in (f"sqlite:///{tmp_path}/a.db", f"sqlite+pysqlite:///{tmp_path}/a.db"):
        with EvidenceStore(url) as store:
            store.append_blocking(drafts(1)[0])
            assert store.place == f"{tmp_path}/a.db"
    with EvidenceStore(tmp_path / "a.db") as store:
        assert store.head().number == 2


@pytest.mark.parametrize(
    "place", ["store.db", Path("store.db"), "sqlite:///store.db", "./store.db"]
)
def test_a_relative_path_stays_where_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str | Path
) -> None:
    """Whoever goes elsewhere afterwards still writes to the file that was meant."""
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    monkeypatch.chdir(here)
    with EvidenceStore(place) as store:
        monkeypatch.chdir(there)
        records = store.records()  # so that one more connection is opened
        assert next(records, None) is None
        half = store.reading()
        with half:
            assert store.append_blocking(drafts(1)[0]) == 1
            assert store.head().number == 1
    assert list(there.iterdir()) == []
    assert [each.name for each in here.iterdir()] == ["store.db"]


REFUSED: list[tuple[str, str]] = [
    ("", "memory"),
    (":memory:", "memory"),
    ("sqlite://", "memory"),
    ("sqlite:///", "memory"),
    ("sqlite:///:memory:", "memory"),
    ("sqlite:///file::memory:?uri=true", "options"),
    ("sqlite:///file:x?mode=memory&uri=true", "options"),
    ("sqlite:///x.db?timeout=1", "options"),
    ("sqlite://host/x.db", "no host"),
    ("mysql://user:sesame@host/db", "not a store"),
    ("https://example.com/", "not a store"),
    ("nosuch://x", "not a store"),
    ("://", "not a path"),
    ("postgresql://user:sesame@host:port/db", "not a path"),
    ("postgresql://user:ses@me@host/db", "%40"),
    ("postgresql://user:sesame@127.0.0.1:1/db", "127.0.0.1"),
    ("postgresql://127.0.0.1:1/db?password=sesame", "127.0.0.1"),
    ("postgresql://user:sesame@127.0.0.1:1/db?nosuch=sesame", ""),
    ("postgresql+nosuch://user:sesame@127.0.0.1:1/db", "127.0.0.1"),
    ("sqlite://user:sesame@host/x.db", "no host"),
]


@pytest.mark.parametrize(("place", "problem"), REFUSED)
def test_what_is_no_place_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, problem: str
) -> None:
    """In one line, with a reason, without a password; and nothing is made."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError) as caught:
        EvidenceStore(place)
    told = str(caught.value) + caught.value.place + caught.value.problem
    assert problem in told
    assert "sesame" not in told
    assert "ses@me" not in told
    assert "\n" not in told
    assert caught.value.__cause__ is None
    assert list(tmp_path.iterdir()) == []


def test_a_folder_and_what_is_not_there_are_refused(tmp_path: Path) -> None:
    """A folder is no file, nor is there one in a folder that does not exist."""
    for create in (True, False):
        with pytest.raises(StoreError, match="it is a folder, and a file is needed"):
            EvidenceStore(tmp_path, create=create)
    with pytest.raises(StoreError):
        EvidenceStore(tmp_path / "nosuch" / "store.db")
    with pytest.raises(StoreError, match="no such file"):
        EvidenceStore(tmp_path / "store.db", create=False)
    assert list(tmp_path.iterdir()) == []


def test_whoever_reads_makes_no_store(places: Places) -> None:
    """Without create, a database that has no evidence stays as it is."""
    place = places.new()
    if places.is_file:
        Path(place).touch()
    with pytest.raises(StoreError, match=r"no evidence|no such file"):
        EvidenceStore(place, create=False)
    if places.is_file:
        assert Path(place).read_bytes() == b""
    else:
        assert execute(place, "SELECT 1 FROM pg_tables WHERE schemaname = 'public'") == []


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what to install."""
    import sys

    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtra, match=r"manners\[postgres\]"):
        EvidenceStore("postgresql://127.0.0.1:1/db")


# Files of others.


def others_sqlite(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE mine (x)")
        connection.execute("INSERT INTO mine VALUES (1)")


def others_wal(path: Path) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE evidence (x)")


def others_text(path: Path) -> None:
    path.write_text("User-agent: *\nDisallow: /\n" * 100)


def others_bytes(path: Path) -> None:
    path.write_bytes(b"SQLite format 3\0" + b"\xff" * 5000)


def others_cache(path: Path) -> None:
    import asyncio

    from tests.contracts.entries import entry

    async def save() -> None:
        backend = open_backend(str(path))
        await backend.save(entry())
        await backend.close()

    asyncio.run(save())


@pytest.mark.parametrize(
    "make", [others_sqlite, others_wal, others_text, others_bytes, others_cache]
)
def test_somebody_elses_file_is_left_as_it_is(tmp_path: Path, make: object) -> None:
    """Byte for byte, and nothing beside it."""
    assert callable(make)
    path = tmp_path / "theirs.db"
    make(path)
    before = path.read_bytes()
    for create in (True, False):
        with pytest.raises(StoreError) as caught:
            EvidenceStore(path, create=create)
        assert caught.value.problem in {
            "a database of another application: choose another place",
            "file is not a database: choose another place",
            "database disk image is malformed",
        }
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["theirs.db"]


def test_a_database_may_have_other_tables_but_not_ours(places: Places) -> None:
    """A PostgreSQL database may be shared, unless somebody has a table of the same name."""
    place = places.new()
    execute(place, "CREATE TABLE theirs (x integer)")
    if places.is_file:
        with pytest.raises(StoreError, match="another application"):
            EvidenceStore(place)
        return
    with EvidenceStore(place) as store:
        assert store.append_blocking(drafts(1)[0]) == 1
    place = places.new()
    execute(place, "CREATE TABLE snapshots (x integer)")
    with pytest.raises(StoreError, match="another application"):
        EvidenceStore(place)
    assert execute(place, "SELECT tablename FROM pg_tables WHERE schemaname = 'public'") == [
        ("snapshots",)
    ]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_file_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    """Who may only read is told so when something is to be written, or made."""
    path = tmp_path / "store.db"
    EvidenceStore(path).close()
    path.chmod(0o400)
    tmp_path.chmod(0o500)
    try:
        with EvidenceStore(path) as store, pytest.raises(StoreError, match="readonly"):
            store.append_blocking(drafts(1)[0])
        with pytest.raises(StoreError, match="this user may not write to"):
            EvidenceStore(tmp_path / "other.db")
    finally:
        tmp_path.chmod(0o700)


def where_nobody_can_write(folder: Path, *words: str) -> "subprocess.CompletedProcess[str]":
    """The command in a folder that is mounted for reading, in a world of its own."""
    mounted = "mount --bind . . && mount -o remount,bind,ro . && cd . || exit 99"
    script = f'{mounted}; cd {shlex.quote(str(folder))}; touch x 2>&- && exit 99; exec "$@"'
    command = ["unshare", "-rm", "sh", "-c", script, "sh", sys.executable, "-m", "manners", *words]
    try:
        ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    except FileNotFoundError as error:
        pytest.skip(f"nothing can be mounted here: {error}")
    if ran.returncode == 99 or "unshare" in ran.stderr:
        pytest.skip(f"nothing can be mounted here: {ran.stderr}")
    return ran


def test_a_store_where_nobody_can_write_can_be_looked_at(tmp_path: Path) -> None:
    """As it was closed, whatever it is called; it cannot be written to."""
    for name in ("store.db", "50%20?mode=memory#.db"):
        with EvidenceStore(tmp_path / name) as store:
            store.append_blocking(drafts(1)[0])
            head = str(store.head())
        ran = where_nobody_can_write(tmp_path, "evidence", "head", "--store", name)
        assert (ran.returncode, ran.stderr) == (0, "")
        assert head in ran.stdout
        ran = where_nobody_can_write(tmp_path, "get", "--store", name, "http://127.0.0.1:1/")
        assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
        assert "attempt to write a readonly database" in ran.stderr
    ran = where_nobody_can_write(tmp_path, "get", "--store", "new.db", "http://127.0.0.1:1/")
    assert (ran.returncode, ran.stderr.count("\n")) == (2, 1)
    assert "unable to open database file: this user may not write to '.'" in ran.stderr


def test_a_store_that_was_not_closed_is_not_read_without_its_log(tmp_path: Path) -> None:
    """Where the log cannot be read with it, an older state of it would be wrong."""
    folder = tmp_path / "mounted"
    folder.mkdir()
    with EvidenceStore(tmp_path / "store.db") as store:
        store.append_blocking(drafts(1)[0])
        for name in ("store.db", "store.db-wal"):
            shutil.copy(tmp_path / name, folder)
    ran = where_nobody_can_write(folder, "evidence", "head", "--store", "store.db")
    assert (ran.returncode, ran.stdout) == (2, "")
    assert "store.db-wal beside it has records that are not in it yet" in ran.stderr


def test_a_database_that_cannot_be_written_is_told(places: Places) -> None:
    """Reading goes on, and writing is an error."""
    if places.server is None:
        pytest.skip("the test above is for files")
    place = places.new()
    EvidenceStore(place).close()
    name = place.rpartition("/")[2]
    places.server.execute(f"ALTER DATABASE {name} SET default_transaction_read_only = on")
    with EvidenceStore(place) as store:
        with pytest.raises(StoreError, match="read-only"):
            store.append_blocking(drafts(1)[0])
        assert list(store.verify()) == []


def test_a_file_that_is_being_made_is_waited_for(tmp_path: Path) -> None:
    """Not for ever: whoever holds it for too long is told about."""
    path = tmp_path / "store.db"
    other = process("lock", path, "EXCLUSIVE", module="tests.cache.sqlite_process")
    assert other.stdout.readline() == "locked\n"
    with pytest.raises(StoreError, match="locked"):
        EvidenceStore(path, timeout=0.1)
    ended(other)
    EvidenceStore(path).close()


def test_nothing_stays_open_where_opening_failed(tmp_path: Path) -> None:
    """A file that was refused is not held."""
    path = tmp_path / "theirs.db"
    others_sqlite(path)
    for _ in range(5):
        with pytest.raises(StoreError):
            Store(path)
    held = [each.readlink() for each in Path("/proc/self/fd").iterdir() if each.is_symlink()]
    assert path not in held


# Migrations.


def test_a_new_store_is_at_the_latest_version(places: Places) -> None:
    """The version is written down, and there is a head, once."""
    place = places.new()
    EvidenceStore(place).close()
    assert execute(place, "SELECT version_num FROM manners_version") == [(schema.VERSION,)]
    assert execute(place, "SELECT one, number, hash FROM evidence_head") == [(1, 0, "0" * 64)]
    EvidenceStore(place).close()
    assert execute(place, "SELECT count(*) FROM evidence_head") == [(1,)]


def test_the_latest_migration_is_the_version() -> None:
    """Whoever adds one says so, and there is one line of them."""
    config = Config()
    config.set_main_option("script_location", str(database._MIGRATIONS))
    script = ScriptDirectory.from_config(config)
    assert script.get_heads() == [schema.VERSION]
    names = [each.revision for each in script.walk_revisions()]
    assert names == sorted(names, reverse=True)


def test_migrations_make_the_tables_that_are_used(places: Places) -> None:
    """Columns, types, nullability, keys and indexes: nothing is missing, nothing is left over."""
    place = places.new()
    EvidenceStore(place).close()
    metadata = crawl_tables.crawls.metadata
    assert evidence_tables.evidence.metadata is metadata
    url = f"sqlite:///{place}" if places.is_file else place.replace("://", "+psycopg://")
    engine = sqlalchemy.create_engine(url)
    with engine.connect() as connection:
        context = MigrationContext.configure(
            connection,
            opts={
                "compare_type": True,
                "compare_server_default": True,
                "version_table": schema.VERSIONS_TABLE,
            },
        )
        assert compare_metadata(context, metadata) == []
        made = set(sqlalchemy.inspect(connection).get_table_names())
    engine.dispose()
    assert set(metadata.tables) == schema.TABLES
    assert made == {*schema.TABLES, schema.VERSIONS_TABLE}


@pytest.mark.parametrize("version", ["8999", "9999", f"{schema.VERSION}a", "zzzz"])
def test_a_newer_store_is_refused(places: Places, version: str) -> None:
    """With the reason, and untouched."""
    place = places.new()
    with EvidenceStore(place) as store:
        store.append_blocking(drafts(1)[0])
    execute(place, f"UPDATE manners_version SET version_num = '{version}'")
    with pytest.raises(StoreError) as caught:
        EvidenceStore(place)
    assert f"store {version}, this one knows up to {schema.VERSION}" in caught.value.problem
    assert "upgrade manners" in caught.value.problem
    assert execute(place, "SELECT version_num FROM manners_version") == [(version,)]
    execute(place, f"UPDATE manners_version SET version_num = '{schema.VERSION}'")
    with EvidenceStore(place) as store:
        assert store.head().number == 1


def test_a_version_that_never_was_is_refused(places: Places) -> None:
    """Nobody knows what to do with it."""
    place = places.new()
    EvidenceStore(place).close()
    execute(place, "UPDATE manners_version SET version_num = '0000'")
    with pytest.raises(StoreError, match="0000"):
        EvidenceStore(place)


NEXT = f'''
"""A column more."""
import sqlalchemy as sa
from alembic import op

revision = "9000"
down_revision = "{schema.VERSION}"

def upgrade() -> None:
    op.add_column("snapshots", sa.Column("charset", sa.Text))
    {{0}}
'''


@pytest.fixture
def later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A later version of this package, with one migration more."""
    folder = tmp_path / "100% later"
    shutil.copytree(database._MIGRATIONS, folder, ignore=shutil.ignore_patterns("__pycache__"))
    path = folder / "versions" / "9000_charset.py"
    path.write_text(NEXT.format(""))
    monkeypatch.setattr(database, "_MIGRATIONS", folder)
    monkeypatch.setattr(schema, "VERSION", "9000")
    return path


def test_an_older_store_is_upgraded(places: Places, request: pytest.FixtureRequest) -> None:
    """With all that is in it, and once."""
    place = places.new()
    with EvidenceStore(place) as store:
        for each in drafts(3):
            store.append_blocking(each)
        head = store.head()
    request.getfixturevalue("later")
    for _ in range(2):
        with EvidenceStore(place) as store:
            assert (store.head(), list(store.verify(head))) == (head, [])
        assert execute(place, "SELECT version_num FROM manners_version") == [("9000",)]
        assert execute(place, "SELECT count(charset) FROM snapshots") == [(0,)]
    with EvidenceStore(place) as store:
        assert store.append_blocking(drafts(1, 3)[0]) == 4
    new = places.new()
    EvidenceStore(new).close()
    assert execute(new, "SELECT version_num FROM manners_version") == [("9000",)]


def test_an_upgrade_that_fails_changes_nothing(
    places: Places, request: pytest.FixtureRequest
) -> None:
    """The store is as old as it was, all of it."""
    place = places.new()
    with EvidenceStore(place) as store:
        store.append_blocking(drafts(1)[0])
    path: Path = request.getfixturevalue("later")
    path.write_text(NEXT.format('op.drop_table("nowhere")'))
    with pytest.raises(StoreError, match="nowhere"):
        EvidenceStore(place)
    new = places.new()
    with pytest.raises(StoreError, match="nowhere"):
        EvidenceStore(new)
    path.write_text(NEXT.format(""))
    request.getfixturevalue("monkeypatch").undo()
    with EvidenceStore(place) as store:
        assert (store.head().number, list(store.verify())) == (1, [])
    with EvidenceStore(new) as store:
        assert store.head() == Head()


def test_processes_make_one_store(places: Places) -> None:
    """Four that open it at once find one another's tables, and one head."""
    place = places.new()
    started = [process("open", place) for _ in range(4)]
    for each in started:
        assert each.stdout.readline() == "ready\n"
    for each in started:
        each.stdin.write("\n")
        each.stdin.flush()
    assert all_ended(started) == [f"{Head()}\n"] * 4
    assert execute(place, "SELECT count(*) FROM evidence_head") == [(1,)]
    assert execute(place, "SELECT version_num FROM manners_version") == [(schema.VERSION,)]


def test_a_new_file_that_another_process_locks_is_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """SQLite itself does not wait when a file is to get a write-ahead log."""
    path, waits = tmp_path / "new.db", []
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")

        def wait(seconds: float) -> None:
            waits.append(seconds)
            if len(waits) == 3:
                other.execute("COMMIT")

        monkeypatch.setattr("manners.store.sqlite.time.sleep", wait)
        with EvidenceStore(path) as store:
            assert store.head() == Head()
    assert len(waits) == 3


def test_a_new_file_that_stays_locked_is_a_timeout(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreTimeout, match="another process has been writing"):
            EvidenceStore(path, timeout=0.05)


def test_threads_make_stores_side_by_side(places: Places) -> None:
    """Each gets its own tables, though Alembic works on one database at a time."""
    new = [places.new() for _ in range(6)]

    def make(place: str) -> Head | AnchorHead:
        with EvidenceStore(place) as store:
            return store.head()

    with ThreadPoolExecutor(6) as threads:
        assert list(threads.map(make, new)) == [Head()] * 6
    for place in new:
        assert execute(place, "SELECT version_num FROM manners_version") == [(schema.VERSION,)]


def test_opening_a_store_does_not_load_alembic(places: Places) -> None:
    """It takes half a second, and is needed once in the life of a store."""
    place = places.new()
    assert "alembic" in json.loads(ended(process("modules", place)))
    assert "alembic" not in json.loads(ended(process("modules", place)))


LOCKED_OUT = """
import os, sys
from manners.store.database import Store
if os.geteuid() == 0:
    os.setuid(65534)
try:
    Store(sys.argv[1], create=False)
except PermissionError as error:
    print(error.strerror)
"""


def test_a_store_in_a_folder_that_may_not_be_entered_is_not_called_missing(tmp_path: Path) -> None:
    """Nobody can know whether the file is there; every Python says the same."""
    folder = tmp_path / "locked"
    folder.mkdir(mode=0)
    ran = subprocess.run(
        [sys.executable, "-c", LOCKED_OUT, folder / "evidence.db"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.stdout, ran.stderr) == ("Permission denied\n", "")


# Writes that others get in the way of.


def test_a_write_is_repeated_until_nobody_is_in_the_way(places: Places) -> None:
    """What was done before is undone; effects wait until it is durable, and happen once."""
    with Store(places.new()) as store:
        seen: list[str] = []

        def job(connection: sqlalchemy.Connection, items: object) -> list[int]:
            del items
            attempt = seen.count("try") + 1
            seen.append("try")
            row = {"start": str(attempt), "at": 1}
            connection.execute(crawl_tables.crawls.insert().values(row))
            store.when_written(lambda: seen.append(f"written {attempt}"))
            store.when_lost(lambda: seen.append(f"lost {attempt}"))
            if attempt < 4:
                raise StoreConflict("urls", "another worker was faster")
            return [attempt]

        assert store.write_blocking(job, None) == 4
        assert seen == [
            *("try", "lost 1", "try", "lost 2", "try", "lost 3", "try", "written 4"),
        ]
        assert starts(store) == ["4"]


def test_a_job_may_come_first_in_its_transaction(places: Places) -> None:
    """The others come in the order in which they were asked for."""
    with Store(places.new()) as store:
        seen: list[str] = []

        def job_of(name: str) -> database.Job:
            def job(_: sqlalchemy.Connection, items: Sequence[None]) -> Sequence[None]:
                seen.append(name)
                return items

            return job

        async def main() -> None:
            jobs = [job_of("a"), job_of("b"), database.first(job_of("c")), job_of("d")]
            await asyncio.gather(*(store.write(job, None) for job in jobs))

        asyncio.run(main())
        assert seen == ["c", "a", "b", "d"]


def starts(store: Store) -> list[str]:
    with store.reading() as connection:
        return list(connection.execute(sqlalchemy.select(crawl_tables.crawls.c.start)).scalars())


def test_a_write_is_not_repeated_without_an_end(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then it fails, nothing is written, and the next write has nothing of it."""
    monkeypatch.setattr(database, "_ATTEMPTS", 3)
    with Store(places.new()) as store:
        tries: list[str] = []

        def conflict(connection: sqlalchemy.Connection, items: object) -> list[int]:
            del items
            connection.execute(crawl_tables.crawls.insert().values({"start": "no", "at": 1}))
            store.when_written(lambda: tries.append("written"))
            tries.append("try")
            raise StoreConflict("urls", "another worker was faster")

        with pytest.raises(StoreConflict, match="another worker was faster"):
            store.write_blocking(conflict, None)
        assert tries == ["try"] * 3

        def job(connection: sqlalchemy.Connection, items: Sequence[str]) -> Sequence[str]:
            for start in items:
                connection.execute(crawl_tables.crawls.insert().values({"start": start, "at": 1}))
            return items

        assert store.write_blocking(job, "yes") == "yes"
        assert tries == ["try"] * 3
        assert starts(store) == ["yes"]


def test_two_that_wait_for_each_other_both_write(postgres: Postgres) -> None:
    """The server ends one of two transactions; it is repeated, and nobody hears of it."""
    place = postgres.database()
    with Store(place) as first, Store(place) as second:
        begin = [{"id": number, "start": "", "at": 1} for number in (1, 2)]
        with first.writing() as connection:
            connection.execute(crawl_tables.crawls.insert(), begin)
        both = threading.Barrier(2)

        def writing(store: Store, order: tuple[int, int]) -> int:
            tries: list[int] = []

            def job(connection: sqlalchemy.Connection, items: Sequence[None]) -> Sequence[None]:
                tries.append(1)
                for number in order:
                    row = crawl_tables.crawls.c
                    own = crawl_tables.crawls.update().where(row.id == number)
                    connection.execute(own.values(at=row.at + 1))
                    if len(tries) == 1 and number == order[0]:
                        both.wait(60.0)
                return items

            store.write_blocking(job, None)
            return len(tries)

        with ThreadPoolExecutor(2) as pool:
            futures = [pool.submit(writing, first, (1, 2)), pool.submit(writing, second, (2, 1))]
            tries = [future.result(120.0) for future in futures]
        assert min(tries) == 1 < max(tries)  # who is repeated may meet the other once more
        assert execute(place, "SELECT at FROM crawls ORDER BY id") == [(3,), (3,)]


def test_a_server_that_is_not_there_is_away(postgres: Postgres) -> None:
    """So whoever may waits for it; a mistake of ours is none of that."""
    nowhere = f"postgresql://postgres@127.0.0.1:{free_port()}/nothing"
    with pytest.raises(StoreAway) as caught:
        Store(nowhere, timeout=10.0)
    assert not caught.value.is_unknown
    place = postgres.database()
    with (
        Store(place) as store,
        pytest.raises(StoreError) as mistaken,
        store.writing() as connection,
    ):
        connection.exec_driver_sql("SELECT nothing FROM nowhere")
    assert not isinstance(mistaken.value, (StoreAway, StoreConflict))


def test_a_connection_that_the_server_ends_is_away(postgres: Postgres) -> None:
    """And the next write has a new one."""
    with Store(postgres.database()) as store:

        def job(connection: sqlalchemy.Connection, items: Sequence[bool]) -> Sequence[bool]:
            if items[0]:
                connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
            return items

        with pytest.raises(StoreAway):
            store.write_blocking(job, True)
        assert store.write_blocking(job, False) is False


def test_a_reader_is_told_that_the_server_ended_its_connection(postgres: Postgres) -> None:
    """So that whoever can wait for the server does."""

    def read(store: Store) -> None:
        with store.reading() as connection:
            connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    with Store(postgres.database()) as store, pytest.raises(StoreAway):
        read(store)


@pytest.mark.parametrize("seconds", [600.0, 365 * 86_400.0])
def test_any_limit_of_idle_time_is_taken_by_the_server(postgres: Postgres, seconds: float) -> None:
    """Also a year; and however short it is, it does not mean that there is none."""
    with Store(postgres.database()) as store:
        store.limit_transactions(seconds)
        with store.writing() as connection:
            query = "SELECT setting::int FROM pg_settings WHERE name = %s"
            name = ("idle_in_transaction_session_timeout",)
            limit = connection.exec_driver_sql(query, name).scalar_one()
    assert limit == min(int(seconds * 1_000), 2**31 - 1)
    assert _session(1e-9, 1e-9).count("TO 1") == 3


def test_a_transaction_that_stood_still_for_too_long_is_made_again(postgres: Postgres) -> None:
    """The server ended it: whoever has a strand of his own does it once more, from the start."""
    place = postgres.database()
    with EvidenceStore(place) as store, Store(place) as other:
        with store.writing() as connection:
            strand = add_strand(connection)
        store.use_strand(strand, idle=0.05)
        tries: list[int] = []

        def is_there(process: int) -> bool:
            query = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
            with other.reading() as connection:
                return bool(connection.exec_driver_sql(query, (process,)).scalar_one())

        def job(connection: sqlalchemy.Connection, items: Sequence[None]) -> Sequence[None]:
            process = int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())
            tries.append(process)
            if len(tries) == 1:
                store.limit_transactions(600.0)  # for the next attempt
                until = time.monotonic() + 60.0
                while is_there(process):
                    assert time.monotonic() < until
                    time.sleep(0.02)
            connection.execute(crawl_tables.crawls.insert().values({"start": "x", "at": 1}))
            return items

        store.write_blocking(job, None)
        assert len(tries) == 2
        assert starts(store) == ["x"]


def stands_still(
    connection: sqlalchemy.Connection, cursor: Any, meanwhile: Callable[[], None]
) -> None:
    """Lock a row, and stop while the rows of a statement are being sent."""
    connection.exec_driver_sql("UPDATE things SET number = 1 WHERE id = 0")

    def rows() -> Iterator[tuple[int]]:
        for number in range(1, 900):
            yield (number,)
            if number == 800:
                meanwhile()

    cursor.executemany("UPDATE things SET number = 1 WHERE id = %s", rows())


def make_things(store: Store) -> None:
    with store.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE things (id int PRIMARY KEY, number int)")
        connection.exec_driver_sql("INSERT INTO things SELECT i, 0 FROM generate_series(0, 999) i")


def test_who_stands_still_while_sending_keeps_nobody_waiting_for_ever(postgres: Postgres) -> None:
    """To the server it is not idle: the whole transaction has a limit, and is made again."""
    place = postgres.database()
    with EvidenceStore(place, timeout=1.0) as store, Store(place, timeout=60.0) as other:
        make_things(other)
        with store.writing() as connection:
            strand = add_strand(connection)
        store.use_strand(strand, idle=0.1)
        tries: list[None] = []

        def wait() -> None:
            if len(tries) == 1:
                with other.writing() as connection:  # ends when the server has ended the first
                    connection.exec_driver_sql("UPDATE things SET number = 2 WHERE id = 0")
                store.limit_transactions(600.0)  # for the next attempt

        def job(connection: sqlalchemy.Connection, items: Sequence[None]) -> Sequence[None]:
            tries.append(None)
            cursor: Any = connection.connection.cursor()
            with suppress(psycopg.OperationalError):  # the next statement tells it as ours
                stands_still(connection, cursor, wait)
            connection.exec_driver_sql("SELECT 1")
            return items

        store.write_blocking(job, None)
        assert len(tries) == 2
        with other.reading() as connection:
            query = "SELECT count(*) FROM things WHERE number = 1"
            assert connection.exec_driver_sql(query).scalar_one() == 900


def test_a_server_without_such_a_limit_gets_one_row_at_a_time(postgres: Postgres) -> None:
    """So that whoever stands still is idle, for which every server has a limit."""
    place = postgres.database()
    states: list[str] = []
    with Store(place) as store, Store(place) as other:
        make_things(other)
        with store.writing() as connection:
            process = connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one()

            def look() -> None:
                query = "SELECT state FROM pg_stat_activity WHERE pid = %s"
                with other.reading() as reader:
                    states.append(reader.exec_driver_sql(query, (process,)).scalar_one())

            driver: Any = connection.connection.driver_connection
            with OneByOne(driver) as cursor:
                stands_still(connection, cursor, look)
    assert states == ["idle in transaction"]
