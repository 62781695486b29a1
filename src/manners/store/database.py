"""One database: SQLite by default, PostgreSQL by URL; opened, upgraded, read, written and locked.

One schema and one code path on SQLAlchemy Core. Each write is one transaction, durable when it
ends. A reader sees the store as it was when it began to read.
"""

import random
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Self, TypeVar

from manners import _forks
from manners._sqlite import OTHER_APPLICATION
from manners._text import printable
from manners.errors import MissingExtra, StoreAway, StoreConflict, StoreError, StoreTimeout

try:
    import sqlalchemy
    from sqlalchemy import Connection, Engine, inspect
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    raise MissingExtra("sqlalchemy", "crawl") from None

from manners.store import failures, locks, schema, sqlite
from manners.store.failures import NoAnswer
from manners.store.locks import InUse, Release
from manners.store.places import check_access, parse_place
from manners.store.writer import Writer

TIMEOUT = 30.0
"""Seconds to wait for an answer of a server, or for another process that writes to the file."""
_T = TypeVar("_T")
PATIENCE, AGAIN = 900.0, 0.5
"""Seconds for which a server that is away is waited for, and between two attempts to reach it."""
_ATTEMPTS = 20
"""Attempts to write what other processes get in the way of."""
_PAUSE = 0.02
"""Seconds between two of them, at most."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_upgrading = threading.Lock()
"""Alembic keeps its state in the process: it upgrades one database at a time."""

Job = Callable[[Connection, Sequence[Any]], Sequence[Any]]
"""Writes items of one kind in the current transaction, and returns an answer for each."""


def first(job: Job) -> Job:
    """Have a job called before the others of its transaction: it locks what many wait for."""
    job.is_first = True  # type: ignore[attr-defined]
    return job


class Store:
    """A database that is open: connections, one writer, and locks.

    `place` is a path, `sqlite:///path` or `postgresql://…`. With `create=False`, a missing file is
    an error. Opening a store to write upgrades its tables to this version of the package. With
    `readonly` nothing is written, upgraded or left behind: older tables are read as they are
    (`version`). A file without write permission is always opened that way.

    No wait for a server, or for a lock of another process, takes longer than `timeout` seconds. It
    ends with a `StoreTimeout`, and the next call gets a new connection.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        create: bool = True,
        readonly: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        self.place, url = parse_place(place)
        """Where it is, as it may be shown."""
        self.timeout = timeout
        self._given = str(place)
        create = create and not readonly
        if url.get_backend_name() == "sqlite":
            check_access(Path(self.place))
            if Path(self.place).is_dir():
                raise StoreError(self.place, "it is a folder, and a file is needed")
            if not create and not Path(self.place).is_file():
                raise StoreError(self.place, "there is no such file")
            readonly |= Path(self.place).exists() and not sqlite.is_writable(self.place)
        self.readonly = readonly
        try:
            self.engine = _create_engine(url, readonly, timeout)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("psycopg"):
                raise
            raise MissingExtra("psycopg", "postgres") from None
        self._fork, self._inherited = _forks.generation, list[sqlalchemy.Pool]()
        try:
            with self._store_errors():
                self.version = _upgrade(self.engine, self.place, create, readonly, timeout)
                """The version of its tables: the number of the last migration."""
        except BaseException:
            self.engine.dispose()
            raise
        self._answers: Sequence[Any] = ()
        """Those of the last transaction that was to be committed."""
        self._effects: list[Callable[[], None]] = []
        self._when_lost: list[Callable[[], None]] = []
        self.is_closing = threading.Event()
        """Set when a server that is away is not waited for any more."""
        self._writer: Writer[tuple[Job, Any]] = Writer(self._write, self.place, timeout)

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.engine.dialect.name == "sqlite"

    # Reading and writing.

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A view of the store as it is now, whatever is written meanwhile."""
        with self._connected() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN")
            else:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
                # A reader may be slow: nobody waits for it.
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout TO 0")
                if (self.engine.dialect.server_version_info or (0,)) >= (17,):
                    connection.exec_driver_sql("SET LOCAL transaction_timeout TO 0")
            try:
                yield connection
            except sqlalchemy.exc.SQLAlchemyError:
                if self.is_sqlite:  # a server may have ended the connection, which is told as it is
                    sqlite.check_unchanged(connection, self.place)
                raise
            if self.is_sqlite:
                sqlite.check_unchanged(connection, self.place)

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction in which nobody else writes, durable when it ends without an error."""
        self._refuse_readonly()
        with self._connected() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            with self._store_errors(is_commit=True):
                connection.commit()

    def when_back(
        self, read: Callable[[], _T], is_stopped: Callable[[], bool] = lambda: False
    ) -> _T:
        """What a function reads; from a server that is away, when it is there again.

        `is_stopped` is whether to wait no longer: then the error is raised.
        """
        gives_up_at = time.monotonic() + PATIENCE
        while True:
            try:
                return read()
            except (StoreAway, StoreTimeout):
                if time.monotonic() > gives_up_at or is_stopped() or self.is_closing.wait(AGAIN):
                    raise

    def stop_waiting(self) -> None:
        """Wait no longer for a server that is away, from now on."""
        self.is_closing.set()

    def limit_transactions(self, idle: float, transaction: float | None = None) -> None:
        """Have the server end a transaction in which nothing comes for `idle` seconds.

        And one that takes longer than `transaction`: a process that stood still while sending does
        not count as idle.
        """
        if not self.is_sqlite:
            self.engine.limits = idle, transaction  # type: ignore[attr-defined]  # see `postgres`
            self.engine.dispose()

    async def write(self, job: Job, item: Any) -> Any:
        """Have the writer write an item; returns the answer of `job` when it is durable.

        `job` is called in the writer's thread, with all the items that wait for it.
        """
        return await self._writer.add((job, item))

    def write_blocking(self, job: Job, item: Any) -> Any:
        """The same for a thread without an event loop."""
        return self._writer.add_blocking((job, item))

    def _write(self, batch: Sequence[tuple[Job, Any]]) -> Sequence[Any]:
        """Write a batch; once more if another process was in the way.

        So a job may be called several times: what it changes besides the store, it changes when
        its answer is there.
        """
        for remaining in reversed(range(_ATTEMPTS)):
            try:
                return self._write_once(batch)
            except StoreConflict:
                if not remaining:
                    raise
                time.sleep(random.uniform(0.0, _PAUSE))  # noqa: S311 (no secret)
        raise AssertionError("the last attempt returns or raises")

    def _write_once(self, batch: Sequence[tuple[Job, Any]]) -> Sequence[Any]:
        """Write a batch in one transaction, calling each job once with all its items."""
        self._effects.clear()
        for forget in self._when_lost:
            forget()
        self._when_lost.clear()
        positions: dict[Job, list[int]] = {}
        for position, (job, _) in enumerate(batch):
            positions.setdefault(job, []).append(position)
        answers: list[Any] = [None] * len(batch)
        with self.writing() as connection:
            self._begin(connection)
            # In the order in which they came, but for those that are to be first.
            for job in sorted(positions, key=lambda job: not getattr(job, "is_first", False)):
                of_job = positions[job]
                found = job(connection, [batch[position][1] for position in of_job])
                for position, answer in zip(of_job, found, strict=True):
                    answers[position] = answer
            self._answers = answers
        self._take_effect()
        return answers

    def when_written(self, effect: Callable[[], None]) -> None:
        """Have something done when the transaction is durable; for jobs, in the writer's thread."""
        self._effects.append(effect)

    def when_lost(self, forget: Callable[[], None]) -> None:
        """Have something done if the transaction was not made."""
        self._when_lost.append(forget)

    def _take_effect(self) -> None:
        """The transaction is durable."""
        self._when_lost.clear()
        for effect in self._effects:
            effect()
        self._effects.clear()

    def _begin(self, connection: Connection) -> None:
        """Called first in every transaction of the writer."""

    # Locks.

    @contextmanager
    def lock(self, what: str, number: int, wait: float = 0.0) -> Iterator[None]:
        """Keep other processes from working on a part of the store; `InUse` if one already does.

        The lock ends with the process. That a process was killed may show late: `wait` is how many
        seconds to go on trying.
        """
        self._refuse_readonly()
        release = locks.acquire(partial(self._try_lock, what, number), wait)
        if release is None:
            raise InUse(
                self.place, f"another process works on {what} {number} of it; wait until it ends"
            )
        try:
            yield
        finally:
            release()

    def is_locked(self, what: str, number: int) -> bool:
        """Whether some process holds a lock; a file beside the store is only read."""
        if self.is_sqlite:
            return locks.is_file_locked(self._lock_path(what, number))
        release = self._try_lock(what, number)
        if release is not None:
            release()
        return release is None

    def _try_lock(self, what: str, number: int) -> Release | None:
        if self.is_sqlite:
            return locks.lock_file(self._lock_path(what, number))
        with self._store_errors():
            return locks.lock_session(_connect(self.engine), what, number)

    def _lock_path(self, what: str, number: int) -> Path:
        return Path(f"{self.place}-{what}-{number}")

    # Closing, forks and errors.

    def _refuse_readonly(self) -> None:
        if self.readonly:
            raise StoreError(
                self.place,
                "attempt to write a readonly database: this user may not write it, or its folder",
            )

    def close(self) -> None:
        """Write what is waiting, and close; a `StoreError` if that does not end in time."""
        try:
            self._writer.close()
        finally:
            self._leave_to_parent()
            self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        self._leave_to_parent()
        with self._store_errors(), _connect(self.engine) as connection:
            yield connection

    def _leave_to_parent(self) -> None:
        """Use new connections in a forked process.

        Open ones belong to the parent: closing one here would end it for the parent too, and so
        would dropping it, because the garbage collector closes it.
        """
        if self._fork != _forks.generation:
            self._fork = _forks.generation
            self._inherited.append(self.engine.pool)
            self.engine.dispose(close=False)

    @contextmanager
    def _store_errors(self, *, is_commit: bool = False) -> Iterator[None]:
        """Turn errors of the database into a `StoreError` of one line, without secrets."""
        try:
            yield
        except (sqlalchemy.exc.SQLAlchemyError, NoAnswer) as error:
            failure = failures.explained(error, self.place, self._given, self.timeout, is_commit)
            if isinstance(failure, StoreTimeout) and failure.is_away:
                self.engine.dispose()  # other connections will not answer either
            raise failure from None


# Opening.


def _create_engine(url: sqlalchemy.URL, readonly: bool, timeout: float) -> Engine:
    if url.get_backend_name() == "sqlite":
        return sqlite.create_engine(url, readonly, timeout)
    from manners.store import postgres

    return postgres.create_engine(url, timeout)


@contextmanager
def _connect(engine: Engine) -> Iterator[Connection]:
    """A connection; one on which the server did not answer is not used again."""
    with engine.connect() as connection:
        try:
            yield connection
        except (NoAnswer, StoreTimeout):
            if not (connection.closed or connection.invalidated):
                connection.invalidate()
            raise


# Versions.


def _upgrade(engine: Engine, place: str, create: bool, readonly: bool, timeout: float) -> str:
    """Create the tables, or upgrade them; refuse a database of another program, or a newer one.

    Returns the version of the tables. With `readonly` they stay as they are.
    """
    with _connect(engine) as connection:
        version = _version(connection, place)
    if version == schema.VERSION:
        return version
    if version is None and (readonly or not create):
        raise StoreError(place, "there is no evidence in it")
    if version is not None and version > schema.VERSION:
        raise StoreError(
            place,
            f"made by a later version of this package (store {version}, this one knows up to"
            f" {schema.VERSION}): upgrade manners",
        )
    if readonly and version is not None:
        return version
    if not _upgrading.acquire(timeout=timeout):
        raise StoreTimeout(
            place,
            f"Timeout: this process has been upgrading another store for {timeout:g} s"
            " (server_timeout); try again",
        )
    try:
        _migrate(engine, place, timeout)
    finally:
        _upgrading.release()
    return schema.VERSION


def _migrate(engine: Engine, place: str, timeout: float) -> None:
    from alembic import command  # takes half a second to import, and is seldom needed
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with _connect(engine) as connection:
        if engine.dialect.name == "sqlite":
            sqlite.use_wal(connection, timeout)
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # one process at a time
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(6_385_201_147)")
        if _version(connection, place) != schema.VERSION:  # no other process was faster
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:  # a version that no release ever had
                raise StoreError(place, printable(str(error))) from None
        connection.commit()


def _version(connection: Connection, place: str) -> str | None:
    """The version of a store; None for a new one."""
    names = set(inspect(connection).get_table_names())
    if schema.VERSIONS_TABLE in names:
        version = connection.exec_driver_sql(
            f"SELECT version_num FROM {schema.VERSIONS_TABLE}"  # noqa: S608 (a constant)
        ).scalar()
        return None if version is None else str(version)
    if names & schema.TABLES or (names and connection.dialect.name == "sqlite"):
        raise StoreError(place, OTHER_APPLICATION)
    return None
