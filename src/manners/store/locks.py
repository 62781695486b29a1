"""Locks that processes take on a part of a store, such as one crawl.

A lock ends with the process that holds it, however that ends. Nobody waits in a queue: a lock is
free or it is not.
"""

# filelock does not serve: it leaves its files beside the store, cannot look at a lock without the
# right to write, and where flock is missing, a killed process may leave its lock behind.

import sqlite3
import time
import zlib
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack, closing, suppress
from pathlib import Path

from sqlalchemy import Connection

from manners.errors import StoreError

Release = Callable[[], None]
"""Gives a lock back."""

_INTERVAL = 0.05
"""Seconds between two attempts to take a lock."""
_ATTEMPTS = 100
"""Attempts to lock a file that other processes keep removing."""


class InUse(StoreError):
    """Another process holds the lock."""


def acquire(try_lock: Callable[[], Release | None], wait: float) -> Release | None:
    """Try to take a lock for `wait` seconds: a killed process may take a moment to end."""
    deadline = time.monotonic() + wait
    while (release := try_lock()) is None and time.monotonic() < deadline:
        time.sleep(_INTERVAL)
    return release


def lock_session(
    opening: AbstractContextManager[Connection], what: str, number: int
) -> Release | None:
    """Take an advisory lock of PostgreSQL, which lasts as long as its connection."""
    query = f"SELECT pg_try_advisory_lock({zlib.crc32(what.encode()) >> 1}, {number})"
    with ExitStack() as stack:
        connection = stack.enter_context(opening)
        if not connection.exec_driver_sql(query).scalar():
            return None
        connection.commit()  # the session holds the lock and may be idle now
        session = stack.pop_all()

    def release() -> None:
        with session:
            connection.invalidate()  # the lock ends with the connection

    return release


def lock_file(path: Path) -> Release | None:
    """Lock a file that exists only while it is locked; SQLite does the locking, on every system.

    The holder removes the file in the end. It may do so after the file was opened here and before
    it was locked: what is locked then is not the file that the next process will find. So the lock
    counts only when two attempts in a row found the same file.
    """
    previous = None
    for remaining in reversed(range(_ATTEMPTS)):
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
            if code != sqlite3.SQLITE_IOERR or not remaining:  # IOERR: the file was removed
                raise StoreError(str(path), str(error)) from None
            continue
        identity = _identity(path)
        if identity is not None and identity == previous:
            break
        previous = identity
        lock.close()
    else:
        return None

    def release() -> None:
        with suppress(OSError):  # Windows keeps an open file; it is locked again next time
            path.unlink()
        lock.close()

    return release


def is_file_locked(path: Path) -> bool:
    """Whether a process holds the lock; the file is only read."""
    uri = f"{path.absolute().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True, timeout=0.0)) as lock:
            lock.execute("SELECT 1 FROM sqlite_master")
    except sqlite3.OperationalError as error:  # no such file, unless it is locked
        return error.sqlite_errorcode & 0xFF == sqlite3.SQLITE_BUSY
    return False


def _identity(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino, found.st_ctime_ns  # inode numbers are reused
