"""SQLite files of this package: created if missing, refused if another application made them."""

import os
import sqlite3
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from manners.errors import StoreError

Schema = Sequence[Sequence[str]]
"""The statements that make the tables, and for each later version those that upgrade them."""
OTHER_APPLICATION = "a database of another application: choose another place"
"""What is wrong with a file that somebody else made."""


def explain(error: sqlite3.Error, place: Path | str) -> str:
    """What SQLite says about a file, with the cause or what to do, as far as that is known."""
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_CANTOPEN:
            more = _why_not_opened(Path(place))
        case sqlite3.SQLITE_FULL:
            more = "free some space, then try again"
        case sqlite3.SQLITE_IOERR:
            more = "the disk may be full, or fail"
        case sqlite3.SQLITE_NOTADB:
            more = "choose another place"
        case _:
            more = ""
    return f"{error}: {more}" if more else str(error)


def _why_not_opened(path: Path) -> str:
    folder = path.parent
    if path.is_dir():
        return "it is a folder, and a file is needed"
    if not folder.is_dir():
        return f"there is no folder {str(folder)!r}"
    if path.exists():
        return "" if os.access(path, os.R_OK) else "this user may not read it"
    return "" if os.access(folder, os.W_OK) else f"this user may not write to {str(folder)!r}"


def connect(place: Path | str, application: int, schema: Schema, wait: float) -> sqlite3.Connection:
    """Open a file that several processes may use at once; `:memory:` is for one.

    `application` marks the file as ours, so that no other database is overwritten by mistake;
    `wait` is how many seconds another process may take to write. A file with an earlier schema is
    opened as it is: `upgrade` it before the first change.
    """
    try:
        connection = sqlite3.connect(
            place, timeout=wait, isolation_level=None, check_same_thread=False
        )
    except sqlite3.Error as error:
        raise StoreError(str(place), f"cannot be opened: {explain(error, place)}") from None
    try:
        _prepare(connection, str(place), application, schema)
    except BaseException:
        connection.close()
        raise
    return connection


def upgrade(connection: sqlite3.Connection, schema: Schema) -> None:
    """Bring the tables of a file up to date, in a transaction that may write."""
    version = version_of(connection)
    for statements in schema[version:]:
        for statement in statements:
            connection.execute(statement)
    if version < len(schema):
        connection.execute(f"PRAGMA user_version = {len(schema)}")


def version_of(connection: sqlite3.Connection) -> int:
    """The version of the tables in a file; 0 in an empty one."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _prepare(connection: sqlite3.Connection, place: str, application: int, schema: Schema) -> None:
    try:
        with connection:  # commits, or rolls back
            connection.execute("BEGIN")  # does not wait for a writer
            is_ours = _is_ours(connection, place, application, schema)
        if not is_ours:
            with connection:
                connection.execute("BEGIN IMMEDIATE")
                _claim(connection, place, application, schema)
        connection.execute("PRAGMA synchronous = NORMAL")  # a power failure may lose the latest
    except sqlite3.Error as error:
        raise StoreError(place, f"not a usable database: {explain(error, place)}") from None
    # Only now: it changes the file, and a database of another application is not changed. With WAL,
    # readers and a writer do not block each other; it is no error if another process prevents it.
    with suppress(sqlite3.OperationalError):
        connection.execute("PRAGMA journal_mode = WAL")


def _claim(connection: sqlite3.Connection, place: str, application: int, schema: Schema) -> None:
    if _is_ours(connection, place, application, schema):  # another process was faster
        return
    connection.execute(f"PRAGMA application_id = {application}")
    connection.execute("PRAGMA user_version = 0")
    upgrade(connection, schema)


def _is_ours(connection: sqlite3.Connection, place: str, application: int, schema: Schema) -> bool:
    """Whether the file is one of ours; False when it is empty."""
    found = connection.execute("PRAGMA application_id").fetchone()[0]
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if is_empty and found == 0:
        return False
    if found != application:
        raise StoreError(place, OTHER_APPLICATION)
    if version_of(connection) > len(schema):
        raise StoreError(place, "made by a later version of this package; upgrade it")
    return True
