"""SQLite files: how a connection is set up, and how a file is read that may not be written."""

import os
import sqlite3
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, event

from manners._text import to_text
from manners.errors import StoreError

_PAUSE = 0.01
"""Seconds between two attempts to do what another process is in the way of."""


def create_engine(url: sqlalchemy.URL, readonly: bool, timeout: float) -> Engine:
    """An engine for a file; every commit is on the disk when it returns."""
    if readonly:
        opened = partial(_open_readonly, Path(url.database or ""), timeout)
        # How the file is opened depends on what is beside it at the time, so nothing is pooled.
        engine = sqlalchemy.create_engine(url, creator=opened, poolclass=sqlalchemy.NullPool)
    else:
        engine = sqlalchemy.create_engine(url, connect_args={"timeout": timeout})

    @event.listens_for(engine, "connect")
    def _(connection: Any, _: object) -> None:
        connection.isolation_level = None  # transactions begin and end where this package says so
        connection.text_factory = to_text  # text that is not UTF-8 can be read, and is reported
        # With NORMAL, the last commits may be lost when the machine fails.
        connection.execute("PRAGMA synchronous = FULL")

    return engine


def use_wal(connection: Connection, timeout: float) -> None:
    """Have a file use a write-ahead log: its readers and its writer do not block each other.

    SQLite's own timeout does not cover this: it reads the header of the file before it writes it,
    and a reader that would wait for another one's lock could wait for ever. So of several processes
    that open a new file at once, all but one are told at once that it is locked.
    """
    gives_up_at = time.monotonic() + timeout
    while True:
        try:
            connection.exec_driver_sql("PRAGMA journal_mode = WAL")
        except sqlalchemy.exc.OperationalError as error:
            code = getattr(error.orig, "sqlite_errorcode", 0)
            if code & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > gives_up_at:
                raise
            time.sleep(_PAUSE)
        else:
            return


def is_writable(path: str | Path) -> bool:
    """Whether this process may write a file, and others beside it."""
    return os.access(path, os.W_OK) and os.access(Path(path).absolute().parent, os.W_OK)


def check_unchanged(connection: Connection, place: str) -> None:
    """Raise an error if a file that was opened as immutable has changed since."""
    opened = connection.connection.dbapi_connection
    if isinstance(opened, _Immutable) and _state(opened.path) != opened.state:
        raise StoreError(place, "another process wrote to it while it was read: try again")


class _Immutable(sqlite3.Connection):
    """A file opened as if no process could change it."""

    path = Path()
    state: tuple[int, ...] = ()


def _open_readonly(path: Path, timeout: float) -> sqlite3.Connection:
    """Open a file to read it, even where this process may write neither it nor its folder.

    SQLite reads a database in WAL mode through the files `-wal` and `-shm` beside it, and creates
    them if need be. That is fine where it can remove them afterwards. Elsewhere they are used only
    if they exist, because a process is writing: files that a reader created would stay, in the
    writer's way. Without them the database file is complete, and is opened as immutable;
    `check_unchanged` notices when a process began to write meanwhile.
    """
    connect: Callable[..., Any] = partial(
        sqlite3.connect, uri=True, timeout=timeout, check_same_thread=False
    )
    if is_writable(path):
        connection: sqlite3.Connection = connect(_uri(path, "mode=rw"))
        connection.execute("PRAGMA query_only = ON")
        return connection
    log, index = Path(f"{path}-wal"), Path(f"{path}-shm")
    if log.exists() and index.exists():
        readable: sqlite3.Connection = connect(_uri(path, "mode=ro"))
        return readable
    if _size(log):
        raise sqlite3.OperationalError(
            f"{log.name} beside it has records that are not in it yet, and reading them needs the"
            " right to write: copy both files to a folder of your own"
        )
    state = _state(path)
    immutable: _Immutable = connect(_uri(path, "immutable=1"), factory=_Immutable)
    immutable.path, immutable.state = path, state
    return immutable


def _uri(path: Path, options: str) -> str:
    return f"{path.absolute().as_uri()}?{options}"


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _state(path: Path) -> tuple[int, ...]:
    found = path.stat()
    log = _size(Path(f"{path}-wal"))
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, log
