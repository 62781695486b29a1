"""What errors of a database mean: a timeout, a conflict, a server that is away, or another."""

import sqlite3

import sqlalchemy

from manners._secrets import hidden_in
from manners._sqlite import explain
from manners._text import printable
from manners.errors import StoreAway, StoreConflict, StoreError, StoreTimeout

_CONFLICTS = ("40001", "40P01")
"""Errors of PostgreSQL that end a transaction which may be repeated as it is: another one changed
the same rows, or each waited for the other."""
_AWAY = ("08", "25P03", "25P04", "57P01", "57P02", "57P03", "53300")
"""Errors of PostgreSQL, or how they begin: the connection is lost, or was ended because one side
stood still in a transaction; the server stops or starts, or has no room for another connection."""


class NoAnswer(Exception):
    """The server did not answer in time; its connection is closed.

    Not an error of the driver, on purpose: nothing tries the same again and waits once more.
    """


def explained(
    error: sqlalchemy.exc.SQLAlchemyError | NoAnswer,
    place: str,
    given: str,
    timeout: float,
    is_commit: bool,
) -> StoreError:
    """An error of the database, in one line, without the secrets of the place that was given."""
    orig = getattr(error, "orig", None)
    is_lost = orig is None or getattr(error, "connection_invalidated", False)
    # A commit may have been made even though its answer did not come.
    unknown = "; whether the last write was made is not known" * (is_commit and is_lost)
    late = _timeout_message(orig or error, timeout)
    if late is not None:
        failure = StoreTimeout(place, late + unknown)
        failure.is_away, failure.is_unknown = isinstance(error, NoAnswer), bool(unknown)
        return failure
    if isinstance(orig, sqlite3.Error):
        message = explain(orig, place)
    else:
        message = hidden_in(str(orig or error).strip().partition("\n")[0], given)
    message = printable(message[:500]) + unknown
    if getattr(orig, "sqlstate", None) in _CONFLICTS:
        return StoreConflict(place, message)
    if _is_away(error, orig):
        away = StoreAway(place, message)
        away.is_unknown = bool(unknown)
        return away
    return StoreError(place, message)


def _is_away(error: object, orig: object) -> bool:
    """Whether an error of the driver means that the server cannot be reached now."""
    if isinstance(orig, sqlite3.Error):
        return False
    state = getattr(orig, "sqlstate", None)
    if state is not None:
        return str(state).startswith(_AWAY)
    # Without a state, no server has answered.
    is_lost = getattr(error, "connection_invalidated", False)
    return is_lost or type(orig).__name__ == "OperationalError"


def _timeout_message(error: object, timeout: float) -> str | None:
    """The message for an error that is a timeout; None for any other."""
    if isinstance(error, NoAnswer):
        return (
            f"Timeout: no answer from the server for {timeout:g} s (server_timeout);"
            " check that it runs and can be reached, then try again"
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
