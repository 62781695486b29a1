"""SQLite files of this package: made when they are new, refused when they are somebody else's."""

import sqlite3
from contextlib import suppress
from pathlib import Path

from manners.errors import StoreError

VERSION = 1


def connect(place: Path | str, application: int, schema: str, wait: float) -> sqlite3.Connection:
    """Open a file that several processes may use at once; `:memory:` is for one alone.

    `application` marks the file as ours, so that nobody's database is written into by mistake;
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
            connection.execute("BEGIN")  # nobody who writes is waited for
            is_ours = _is_ours(connection, place, application)
        if not is_ours:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _claim(connection, place, application, schema)
        connection.execute("PRAGMA synchronous = NORMAL")  # a crash of the machine loses the latest
    except sqlite3.Error as error:
        raise StoreError(place, f"not a database that can be used: {error}") from None
    # Only now, because it is written into the file, and somebody else's is left as it is. Readers
    # and a writer no longer wait for each other; where another process is in the way, they do.
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
    """Whether the file is one of ours; False when it is new."""
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if is_empty and found == 0:
        return False
    if found != application:
        raise StoreError(place, "a database that was made for something else")
    if version > VERSION:
        raise StoreError(place, "made by a later version of this package; upgrade it")
    return True
