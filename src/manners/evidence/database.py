"""A database that evidence is kept in: SQLite by default, PostgreSQL by URL; opened and upgraded.

One schema and one code path on SQLAlchemy Core. Everything is written with `writing()`, in one
transaction that is durable when it ends; readers see a store as it was when they began.
"""

import os
import sqlite3
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

from manners import _forks
from manners._secrets import LIBPQ, hidden_in, is_libpq, without_secrets
from manners._text import printable, to_text
from manners.errors import MissingExtra, StoreError, StoreTimeout
from manners.evidence import schema

try:
    import sqlalchemy
    from sqlalchemy import Connection, Engine, event, insert, inspect, select
    from sqlalchemy.engine import make_url
except ModuleNotFoundError as error:
    if error.name != "sqlalchemy":
        raise
    raise MissingExtra("sqlalchemy", "crawl") from None

TIMEOUT = 30.0
"""Seconds that a server has for an answer, and another process to write to a file."""
_TRIES = 100
"""How often a lock is looked for that others take and remove."""
_MIGRATIONS = Path(__file__).parent / "migrations"
_upgrading = threading.Lock()
"""Alembic upgrades one database at a time: what it works on is known to the whole process."""


class InUse(StoreError):
    """Somebody else is at work."""


class Unanswered(Exception):
    """The server has not answered in time; its connection is closed.

    It is no error of the driver on purpose: nothing tries the same again, and waits once more.
    """


class Database:
    """A store that is open.

    Who opens it to write finds its tables as this version of the package has them. With `readonly`
    nothing is written, upgraded or left behind: older tables are read as they are (`version`). A
    file that may not be written is opened so in any case.

    No wait for a server, or for a lock of another process, is longer than `timeout` seconds: then
    it is a `StoreTimeout`, and the next one who asks gets a new connection.
    """

    def __init__(
        self,
        place: str | Path,
        *,
        create: bool = True,
        readonly: bool = False,
        timeout: float = TIMEOUT,
    ) -> None:
        self.place, url = _url(place)
        self.timeout = timeout
        self._written = str(place)
        if url.get_backend_name() == "sqlite":
            if Path(self.place).is_dir():
                raise StoreError(self.place, "it is a folder, and a file is needed")
            if not create and not Path(self.place).is_file():
                raise StoreError(self.place, "there is no such file")
            readonly |= Path(self.place).exists() and not _is_writable(self.place)
        self.readonly = readonly
        try:
            self.engine = _engine(url, readonly, timeout)
        except ModuleNotFoundError as error:
            if error.name is None or not error.name.startswith("psycopg"):
                raise
            raise MissingExtra("psycopg", "postgres") from None
        self._fork, self._inherited = _forks.generation, list[sqlalchemy.Pool]()
        try:
            with self._told():
                self.version = _upgrade(self.engine, self.place, create, readonly, timeout)
        except BaseException:
            self.engine.dispose()
            raise

    @property
    def is_sqlite(self) -> bool:
        """Whether it is a file."""
        return self.engine.dialect.name == "sqlite"

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction in which nobody else writes, durable when it ends without an error."""
        if self.readonly:
            raise StoreError(
                self.place,
                "attempt to write a readonly database: this user may not write it, or its folder",
            )
        with self._connected() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            yield connection
            with self._told(is_commit=True):
                connection.commit()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A view of the store as it is now, whoever writes meanwhile."""
        with self._connected() as connection:
            if self.is_sqlite:
                connection.exec_driver_sql("BEGIN")
            else:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
                # Whoever reads may take a rest: nobody waits for a reader.
                connection.exec_driver_sql("SET LOCAL idle_in_transaction_session_timeout TO 0")
            try:
                yield connection
            except sqlalchemy.exc.SQLAlchemyError:
                _look_again(connection, self.place)
                raise
            _look_again(connection, self.place)

    @contextmanager
    def _connected(self) -> Iterator[Connection]:
        self._leave_to_parent()
        with self._told(), _connection(self.engine) as connection:
            yield connection

    @contextmanager
    def alone(self, what: str, number: int, wait: float) -> Iterator[None]:
        """Be the only one, in all processes, who works on something; `InUse` otherwise.

        Whoever is killed is no longer in the way, once that is noticed: `wait` seconds are spent on
        it.
        """
        held, until = None, time.monotonic() + wait
        while held is None:
            held = self._lock(what, number)
            if held is None:
                if time.monotonic() >= until:
                    raise InUse(self.place, f"another process works on {what} {number} of it")
                time.sleep(0.05)
        try:
            yield
        finally:
            held()

    def is_locked(self, what: str, number: int) -> bool:
        """Whether some process works on something; a file beside the store is only looked at."""
        if not self.is_sqlite:
            give_back = self._lock(what, number)
            if give_back is not None:
                give_back()
            return give_back is None
        path = Path(f"{self.place}-{what}-{number}")
        try:
            with closing(sqlite3.connect(_uri(path, "mode=ro"), uri=True, timeout=0.0)) as lock:
                lock.execute("SELECT 1 FROM sqlite_master")
        except sqlite3.OperationalError as error:  # no such file, unless it is locked
            return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
        return False

    def _lock(self, what: str, number: int) -> Callable[[], object] | None:
        """Take a lock that ends with the process; what gives it back, or None if it is taken."""
        if not self.is_sqlite:
            query = f"SELECT pg_try_advisory_lock({zlib.crc32(what.encode()) >> 1}, {number})"
            with ExitStack() as left, self._told():
                connection = left.enter_context(_connection(self.engine))
                if not connection.exec_driver_sql(query).scalar():
                    return None
                connection.commit()  # the lock is the session's, which may be idle now
                held = left.pop_all()

            def give_back() -> None:
                with held:
                    connection.invalidate()  # and with the connection the lock is gone

            return give_back
        return _locked(Path(f"{self.place}-{what}-{number}"))

    def close(self) -> None:
        """Close the connections; those of a parent process are left to it."""
        self._leave_to_parent()
        self.engine.dispose()

    def _leave_to_parent(self) -> None:
        """Take new connections in a forked process.

        Those that are open are the parent's: closing one would end it for the parent, and so would
        forgetting it, because then it is closed.
        """
        if self._fork != _forks.generation:
            self._fork = _forks.generation
            self._inherited.append(self.engine.pool)
            self.engine.dispose(close=False)

    @contextmanager
    def _told(self, *, is_commit: bool = False) -> Iterator[None]:
        """What the database says is said about this store, in one line."""
        try:
            yield
        except (sqlalchemy.exc.SQLAlchemyError, Unanswered) as error:
            orig = getattr(error, "orig", None)
            is_lost = orig is None or getattr(error, "connection_invalidated", False)
            # Nobody knows whether a commit was made whose answer did not come.
            unknown = "; whether the last write was made is not known" * (is_commit and is_lost)
            late = _late(orig or error, self.timeout)
            if late is not None:
                if is_lost:  # nor will other connections answer; whoever comes next gets a new one
                    self.engine.dispose()
                raise StoreTimeout(self.place, late + unknown) from None
            said = str(orig or error).strip().partition("\n")[0]
            said = hidden_in(said, self._written)
            raise StoreError(self.place, printable(said[:500]) + unknown) from None


@contextmanager
def _connection(engine: Engine) -> Iterator[Connection]:
    """A connection; one on which the server did not answer is not used again."""
    with engine.connect() as connection:
        try:
            yield connection
        except (Unanswered, StoreTimeout):
            if not (connection.closed or connection.invalidated):
                connection.invalidate()
            raise


def _late(error: object, timeout: float) -> str | None:
    """What is said about an error that is about time; None for any other."""
    if isinstance(error, Unanswered):
        return (
            f"Timeout: no answer from the server for {timeout:g} s (server_timeout);"
            " see that it runs and can be reached, then try again"
        )
    if isinstance(error, sqlite3.OperationalError):
        if getattr(error, "sqlite_errorcode", 0) & 0xFF == sqlite3.SQLITE_BUSY:
            return (
                f"Timeout: {error}: another process has been writing for {timeout:g} s"
                " (server_timeout); try again when it has ended"
            )
        return None
    match getattr(error, "sqlstate", None):
        case "55P03":
            return (
                f"Timeout: another session has held a lock for {timeout:g} s (server_timeout);"
                " end that session, or try again"
            )
        case "57014":
            return (
                f"Timeout: one statement took the server {timeout:g} s (server_timeout);"
                " try again, or set a longer limit"
            )
    return None


def _locked(path: Path) -> Callable[[], None] | None:
    """A lock on a file that is there only while somebody holds it; SQLite's work everywhere.

    Whoever holds it removes it in the end, perhaps after it was opened here and before it was
    locked: then it is locked, and no longer what the next one finds. So it is looked for again.
    """
    before = None
    for left in reversed(range(_TRIES)):
        try:
            lock = sqlite3.connect(path, timeout=0.0, isolation_level=None, check_same_thread=False)
        except sqlite3.OperationalError as error:
            raise StoreError(str(path), str(error)) from None
        try:
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError as error:
            lock.close()
            code = error.sqlite_errorcode & 0xFF
            if code == sqlite3.SQLITE_BUSY:
                return None
            if code != sqlite3.SQLITE_IOERR or not left:  # so it is when the file was removed
                raise StoreError(str(path), str(error)) from None
            continue
        found = _identity(path)
        if found is not None and found == before:
            break
        before = found
        lock.close()
    else:
        return None

    def give_back() -> None:
        with suppress(OSError):  # Windows keeps what is open; it is locked again next time
            path.unlink()
        lock.close()

    return give_back


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns  # numbers are used again


def _url(place: str | Path) -> tuple[str, sqlalchemy.URL]:
    text = str(place)
    if isinstance(place, str) and is_libpq(text):
        raise StoreError(without_secrets(text), LIBPQ)
    try:
        # A path is no part of a URL: a "?" or "%" in it is one.
        url = make_url(text) if "://" in text else sqlalchemy.URL.create("sqlite", database=text)
    except (sqlalchemy.exc.ArgumentError, ValueError):
        raise StoreError("…", "not a path, and not the URL of a database") from None
    if "@" in (url.host or ""):
        raise StoreError("…", "an @ in a password is written as %40")
    shown = without_secrets(text)
    match url.get_backend_name():
        case "sqlite":
            if url.host or url.query:
                raise StoreError(shown, "a file has no host and no options: sqlite:///path")
            if not url.database or url.database == ":memory:":
                raise StoreError(shown, "evidence needs a file: memory proves nothing")
            return url.database, url.set(drivername="sqlite")
        case "postgresql":
            return shown, url.set(drivername="postgresql+psycopg")
    raise StoreError(shown, "not a store: a path, sqlite:///… or postgresql://… is needed")


def _engine(url: sqlalchemy.URL, readonly: bool, timeout: float) -> Engine:
    if url.get_backend_name() != "sqlite":
        from manners.evidence import postgres

        options = postgres.options(timeout)
        missing = {name: value for name, value in options.items() if name not in url.query}
        engine = sqlalchemy.create_engine(
            url.update_query_dict(missing), pool_pre_ping=True, pool_size=2, pool_timeout=timeout
        )
        connect = postgres.connector(timeout)

        @event.listens_for(engine, "do_connect")
        def _(_: object, __: object, arguments: Any, options: Any) -> Any:
            return connect(*arguments, **options)

        @event.listens_for(engine, "connect")
        def _(connection: Any, _: object) -> None:
            connection.autocommit = True
            connection.execute(postgres.session(timeout))
            connection.autocommit, connection.is_ready = False, True

        return engine
    if readonly:
        opened = partial(_open_to_read, Path(url.database or ""), timeout)
        # How it is opened depends on what is there at the time.
        engine = sqlalchemy.create_engine(url, creator=opened, poolclass=sqlalchemy.NullPool)
    else:
        engine = sqlalchemy.create_engine(url, connect_args={"timeout": timeout})

    @event.listens_for(engine, "connect")
    def _(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin and end where this package says so
        connection.text_factory = to_text  # what is no UTF-8 any more is read, and found out
        # Every commit is on the disk when it returns; with NORMAL the last ones may not be.
        connection.execute("PRAGMA synchronous = FULL")

    return engine


class _Fixed(sqlite3.Connection):
    """A file that is read as if nobody could change it."""

    path = Path()
    state: tuple[int, ...] = ()


def _open_to_read(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a file to read it, also where this process may write neither it nor its folder.

    SQLite reads a database in WAL mode by the files `-wal` and `-shm` beside it, and makes them if
    need be. Where it can remove them afterwards it may. Otherwise they are used only if they are
    there, because somebody is writing: made by a reader, they would stay, and be in the writer's
    way. Without them the file is all there is, and is read alone; `_look_again` finds out whether
    somebody began to write meanwhile.
    """
    connect: Callable[..., Any] = partial(
        sqlite3.connect, uri=True, timeout=timeout, check_same_thread=False
    )
    if _is_writable(path):
        connection: sqlite3.Connection = connect(_uri(path, "mode=rw"))
        connection.execute("PRAGMA query_only = ON")
        return connection
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if log.exists() and index.exists():
        readable: sqlite3.Connection = connect(_uri(path, "mode=ro"))
        return readable
    if _size(log):
        raise sqlite3.OperationalError(
            f"{log.name} beside it has records that are not in it yet, and cannot be read without"
            " writing: copy both files to a folder of your own"
        )
    state = _state(path)
    fixed: _Fixed = connect(_uri(path, "immutable=1"), factory=_Fixed)
    fixed.path, fixed.state = path, state
    return fixed


def _look_again(connection: Connection, place: str) -> None:
    """Raise an error, if a file that was read as if nobody could change it has changed."""
    opened = connection.connection.dbapi_connection
    if isinstance(opened, _Fixed) and _state(opened.path) != opened.state:
        raise StoreError(place, "somebody wrote to it while it was being read: try again")


def _uri(path: Path, options: str) -> str:
    return f"{path.absolute().as_uri()}?{options}"


def _is_writable(path: str | Path) -> bool:
    """Whether this process may write a file, and others beside it."""
    return os.access(path, os.W_OK) and os.access(Path(path).absolute().parent, os.W_OK)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _state(path: Path) -> tuple[int, ...]:
    found = path.stat()
    log = _size(Path(f"{path}-wal"))
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, log


def _upgrade(engine: Engine, place: str, create: bool, readonly: bool, timeout: float) -> str:
    """Make the tables, or bring them up to date; what is somebody else's, or newer, is refused.

    Returns the version of the tables. Who reads only takes them as they are.
    """
    with _connection(engine) as connection:
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
            f"Timeout: another store has been upgraded for {timeout:g} s (server_timeout) in this"
            " process; try again",
        )
    try:
        _migrate(engine, place)
    finally:
        _upgrading.release()
    return schema.VERSION


def _migrate(engine: Engine, place: str) -> None:
    from alembic import command  # half a second to import, and seldom needed
    from alembic.config import Config
    from alembic.util import CommandError

    config = Config()
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    with _connection(engine) as connection:
        if engine.dialect.name == "sqlite":
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
            connection.exec_driver_sql("BEGIN IMMEDIATE")
        else:  # one process at a time makes the tables
            connection.exec_driver_sql("SELECT pg_advisory_xact_lock(6_385_201_147)")
        if _version(connection, place) != schema.VERSION:  # another process was not faster
            config.attributes["connection"] = connection
            try:
                command.upgrade(config, "head")
            except CommandError as error:  # a version that none of ours ever was
                raise StoreError(place, printable(str(error))) from None
            if not connection.execute(select(schema.head)).first():
                row = {"one": 1, "number": 0, "hash": "0" * 64}
                connection.execute(insert(schema.head).values(row))
        connection.commit()


def _version(connection: Connection, place: str) -> str | None:
    """The version of a store; None for a new one."""
    names = set(inspect(connection).get_table_names())
    if schema.VERSIONS_TABLE in names:
        version = connection.exec_driver_sql(
            f"SELECT version_num FROM {schema.VERSIONS_TABLE}"  # noqa: S608 (a name of ours)
        ).scalar()
        return None if version is None else str(version)
    ours = set(schema.tables.tables)
    if names & ours or (names and connection.dialect.name == "sqlite"):
        raise StoreError(place, "a database that was made for something else")
    return None
