"""SQLite files of this package: created if missing, refused if another application made them."""

import sqlite3
from contextlib import suppress
from pathlib import Path

from manners.errors import StoreError

VERSION = 1


def connect(place: Path | str, application: int, schema: str, wait: float) -> sqlite3.Connection:
    """Open a file that several processes may use at once; `:memory:` is for one.

    `application` marks the file as ours, so that no other database is overwritten by mistake;
    `wait` is how many seconds another process may take to write.
    """
    try:
        connection = sqlite3.connect(
            place, timeout=wait, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise StoreError(str(place), f"cannot be opened: {error}") from None
    try:
        _prepare(connection, str(place), application, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def _prepare(connection: sqlite3.Connection, place: str, application: int, schema: str) -> None:
    try:
        with connection:  # commits, or rolls back
            connection.execute("BEGIN")  # does not wait for a writer
            is_ours = _is_ours(connection, place, application)
        if not is_ours:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _claim(connection, place, application, schema)
        connection.execute("PRAGMA synchronous = NORMAL")  # a power failure may lose the latest
    except sqlite3.Error as error:
        raise StoreError(place, f"not a usable database: {error}") from None
    # Only now: it changes the file, and a database of another application is not changed. With WAL,
    # readers and a writer do not block each other; it is no error if another process prevents it.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _claim(connection: sqlite3.Connection, place: str, application: int, schema: str) -> None:
    if _is_ours(connection, place, application):  # another process was faster
        return
    for statement in schema.split(";"):
        connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {application}")
    connection.execute(f"PRAGMA user_version = {VERSION}")


def _is_ours(connection: sqlite3.Connection, place: str, application: int) -> bool:
    """Whether the file is one of ours; False when it is empty."""
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if is_empty and found == 0:
        return False
    if found != application:
        raise StoreError(place, "a database of another application")
    if version > VERSION:
        raise StoreError(place, "made by a later version of this package; upgrade it")
    return True
