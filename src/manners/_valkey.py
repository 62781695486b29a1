"""Connections to a Valkey or Redis server, for everything that may be kept in one."""

import asyncio
from collections.abc import Awaitable
from contextlib import suppress
from typing import TypeVar
from urllib.parse import SplitResult, urlsplit

from manners._secrets import hidden_in, secrets_of, without_login
from manners.errors import MissingExtra, StoreError

_T = TypeVar("_T")

SCHEMES = ("redis", "rediss", "valkey", "valkeys")

TIMEOUT = 30.0
"""Seconds for an answer, where the caller does not say."""
_CONNECTIONS = 32


class Server:
    """A server at `valkey://host:port/database`; connections are opened when they are needed.

    It has `timeout` seconds for each answer, with all that it takes to connect.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        try:
            from redis.asyncio import BlockingConnectionPool, Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import AuthenticationError, RedisError
            from redis.exceptions import ConnectionError as Lost
            from redis.exceptions import TimeoutError as TooLate
        except ModuleNotFoundError:
            raise MissingExtra("redis", "valkey") from None
        self.failures: tuple[type[Exception], ...] = (RedisError, OSError)
        """What it raises when something goes wrong."""
        self._refused: type[Exception] = AuthenticationError
        self._too_late, self._timeout = (TimeoutError, TooLate), timeout
        hidden = url.partition("://")[0] + "://…"  # what is no URL may have a password anywhere
        try:
            parts = urlsplit(url)
            if problem := _problem(parts):
                raise StoreError(hidden, f"{problem}; valkey://host:port/database is a URL")
            pool = BlockingConnectionPool.from_url(
                parts._replace(scheme=parts.scheme.replace("valkey", "redis")).geturl(),
                max_connections=_CONNECTIONS,  # more questions than that wait for their turn
                timeout=timeout,
                socket_timeout=None,  # `answer` has one limit for everything
                socket_connect_timeout=timeout,
                # One more try, at once: a server that was restarted has closed our connections.
                retry=Retry(NoBackoff(), 1, (Lost,)),
            )
            pool.connection_class(**pool.connection_kwargs)  # not opened; it knows its options
        except TypeError:
            raise StoreError(hidden, "has an option that there is not") from None
        except ValueError:
            raise StoreError(hidden, "not a URL of a server") from None
        self.place, self._url = without_login(url), url
        """The URL as it may be shown."""
        self._has_password = bool(secrets_of(url))
        self.redis = Redis.from_pool(pool)

    async def answer(self, question: Awaitable[_T]) -> _T:
        """What the server answers, within the limit; a cancellation meanwhile is never lost.

        On Python 3.11 `asyncio.wait_for`, which redis-py uses, returns a result although it was
        cancelled (python/cpython#86296): a loop that only a cancellation ends would never end.
        """
        async with asyncio.timeout(self._timeout):
            task = asyncio.current_task()
            before = 0 if task is None else task.cancelling()
            try:
                answer = await question
            except Exception:
                if task is not None and task.cancelling() > before:
                    raise asyncio.CancelledError from None
                raise
            if task is not None and task.cancelling() > before:
                raise asyncio.CancelledError
            return answer

    async def close(self) -> None:
        """Close the connections; one that does not close in time is given up."""
        with suppress(*self.failures):
            await self.redis.aclose()

    def problem(self, error: Exception) -> str:
        """What went wrong, in words."""
        if isinstance(error, self._too_late):
            return f"Timeout: no answer within {self._timeout:g} s (server_timeout)"
        if isinstance(error, self._refused) and not self._has_password:
            return "it wants a password: valkey://:password@host:port/database"
        return hidden_in(str(error), self._url) or type(error).__name__


def _problem(parts: SplitResult) -> str:
    """What redis-py would pass over, and then guess."""
    database = parts.path.strip("/")
    if not parts.hostname:
        return "names no host"
    if database and not (database.isascii() and database.isdigit()):
        return "its database is not a number"
    return ""
