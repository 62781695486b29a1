"""PostgreSQL connections on which no wait is without end.

A server that was stopped, or a network that swallows packets, says nothing at all: TCP alone
notices it after minutes, if ever. So each wait has a limit here, and the server has a shorter one
for each statement and each lock, so that it can still say what was in the way.
"""

import threading
import time
from collections.abc import Callable, Generator
from typing import Any, Self, TypeVar

import psycopg

from manners.evidence.database import Unanswered

_T = TypeVar("_T")
_connecting = threading.local()


class Connection(psycopg.Connection[Any]):
    """A connection that is closed when the server does not answer within `timeout` seconds."""

    timeout: float
    is_ready = False
    """Whether the session is set up; until then nobody else closes it when something fails."""

    @classmethod
    def connect(cls, *arguments: Any, **options: Any) -> Self:
        """Connect within the timeout, whatever number of addresses there are to try."""
        _connecting.until = time.monotonic() + cls.timeout
        return super().connect(*arguments, **options)

    @classmethod
    def _connect_gen(cls, *arguments: Any, **options: Any) -> Any:
        return _limited(super()._connect_gen(*arguments, **options), _connecting.until)

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """Wait for an answer."""
        until = time.monotonic() + self.timeout
        try:
            return super().wait(_limited(gen, until), *arguments, **options)
        except BaseException as error:
            if isinstance(error, Unanswered) or not self.is_ready:
                self.close()
            raise


def _limited(work: Generator[Any, Any, _T], until: float) -> Generator[Any, Any, _T]:
    """The same work, which ends with `Unanswered` when nothing came until a time.

    psycopg says at least every 100 ms that nothing came.
    """
    try:
        wanted = next(work)
        while True:
            ready = yield wanted
            if not ready and time.monotonic() >= until:
                work.close()
                raise Unanswered
            wanted = work.send(ready)
    except StopIteration as end:
        result: _T = end.value
        return result


def connector(timeout: float) -> Callable[..., Connection]:
    """What opens connections with a timeout."""

    class Limited(Connection):
        pass

    Limited.timeout = timeout
    return Limited.connect


def options(timeout: float) -> dict[str, str]:
    """Options of a connection, where its URL has none of its own."""
    return {
        "connect_timeout": str(max(2, int(timeout / 2))),  # for each address; whole seconds
        "keepalives_idle": str(max(1, int(timeout))),
        "tcp_user_timeout": str(max(1, int(timeout * 1000))),
    }


def session(timeout: float) -> str:
    """What the server is told when a connection is new."""
    # Shorter than what is waited here, so that the server can say what it was.
    lock, statement = max(1, int(timeout * 800)), max(1, int(timeout * 900))
    idle = int(max(10.0, 2 * timeout) * 1000)
    return (
        # Every commit is on the disk when it returns, whatever the server does by default.
        "SET synchronous_commit TO on;"
        f"SET statement_timeout TO {statement};"
        f"SET lock_timeout TO {lock};"
        # Whoever stands still in the middle of writing does not keep everybody else from it.
        f"SET idle_in_transaction_session_timeout TO {idle}"
    )
