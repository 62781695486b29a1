"""PostgreSQL connections on which every wait has a limit.

A server that was stopped, or a network that drops packets, sends nothing at all: TCP alone notices
after minutes, if ever. So each wait is limited here, and the server gets shorter limits for each
statement and each lock, so that it can still report the cause.
"""

import threading
import time
from collections.abc import Generator
from typing import Any, Self, TypeVar

import psycopg
import sqlalchemy
from sqlalchemy import Engine, event

from manners.store.failures import NoAnswer

_T = TypeVar("_T")
_connecting = threading.local()
_LIMITS_TRANSACTIONS = 170_000
"""The first version of PostgreSQL that has a limit for whole transactions."""


def create_engine(url: sqlalchemy.URL, timeout: float) -> Engine:
    """An engine whose connections do not wait longer than `timeout` seconds."""
    missing = {name: value for name, value in _options(timeout).items() if name not in url.query}
    engine = sqlalchemy.create_engine(
        url.update_query_dict(missing), pool_pre_ping=True, pool_size=2, pool_timeout=timeout
    )

    class WithTimeout(LimitedConnection):
        pass

    WithTimeout.timeout = timeout

    @event.listens_for(engine, "do_connect")
    def _(_: object, __: object, arguments: Any, options: Any) -> Any:
        return WithTimeout.connect(*arguments, **options)

    @event.listens_for(engine, "connect")
    def _(connection: Any, _: object) -> None:
        idle, transaction = getattr(engine, "limits", (None, None))
        connection.autocommit = True
        connection.execute(_session(timeout, idle))
        if transaction is not None and connection.info.server_version >= _LIMITS_TRANSACTIONS:
            connection.execute(f"SET transaction_timeout TO {_milliseconds(transaction)}")
        elif transaction is not None:
            connection.cursor_factory = OneByOne
        connection.autocommit, connection.is_ready = False, True

    return engine


class OneByOne(psycopg.Cursor[Any]):
    """A cursor that waits for the answer to each row, and so is idle between two of them.

    psycopg sends the rows of one statement without a pause. The server waits for the rest of them
    for ever, with all locks, if this process stands still meanwhile, and before PostgreSQL 17 no
    limit of a session ends that.
    """

    def executemany(self, query: Any, params_seq: Any, *, returning: Any = False) -> None:
        """Execute a statement for each row."""
        del returning  # nobody asks for rows
        for params in params_seq:
            self.execute(query, params)


class LimitedConnection(psycopg.Connection[Any]):
    """A connection that is closed when the server does not answer within `timeout` seconds."""

    timeout: float
    is_ready = False
    """Whether the session is set up; until then nothing else closes it when something fails."""

    @classmethod
    def connect(cls, *arguments: Any, **options: Any) -> Self:
        """Connect within the timeout, however many addresses there are to try."""
        _connecting.deadline = time.monotonic() + cls.timeout
        return super().connect(*arguments, **options)

    @classmethod
    def _connect_gen(cls, *arguments: Any, **options: Any) -> Any:
        return _limited(super()._connect_gen(*arguments, **options), _connecting.deadline)

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Wait for an answer."""
        deadline = time.monotonic() + self.timeout
        try:
            return super().wait(_limited(gen, deadline), *arguments, **options)
        except BaseException as error:
            if isinstance(error, NoAnswer) or not self.is_ready:
                self.close()
            raise


def _limited(work: Generator[Any, Any, _T], deadline: float) -> Generator[Any, Any, _T]:
    """Run psycopg's generator, and raise `NoAnswer` if nothing came by the deadline.

    psycopg resumes it at least every 100 ms while nothing comes.
    """
    try:
        wanted = next(work)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() >= deadline:
                work.close()
                raise NoAnswer
            wanted = work.send(ready)
    except StopIteration as end:
        result: _T = end.value
        return result


def _options(timeout: float) -> dict[str, str]:
    """Connection options, for those that the URL does not set."""
    return {
        "connect_timeout": str(max(2, int(timeout / 2))),  # for each address; whole seconds
        "keepalives_idle": str(max(1, int(timeout))),
        "tcp_user_timeout": str(max(1, int(timeout * 1000))),
    }


def _session(timeout: float, idle_seconds: float | None = None) -> str:
    """The statements that set up a new session."""
    # Shorter than the limit here, so that the server can report the cause.
    lock, statement = _milliseconds(timeout * 0.8), _milliseconds(timeout * 0.9)
    idle = _milliseconds(max(10.0, 2 * timeout) if idle_seconds is None else idle_seconds)
    return (
        # Every commit is on the disk when it returns, whatever the server's default is.
        "SET synchronous_commit TO on;"
        f"SET statement_timeout TO {statement};"
        f"SET lock_timeout TO {lock};"
        # A writer that hangs in a transaction does not block the others for ever.
        f"SET idle_in_transaction_session_timeout TO {idle}"
    )


def _milliseconds(seconds: float) -> int:
    """A limit as the server takes it: at most 24 days; 0 would be no limit."""
    return min(max(1, int(seconds * 1_000)), 2**31 - 1)
