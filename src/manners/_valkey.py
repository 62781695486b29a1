"""Connections to a Valkey or Redis server, for the cache and for politeness."""

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
"""Default timeout of an answer, in seconds."""
_CONNECTIONS = 32


class Server:
    """A server at `valkey://host:port/database`; connections are opened when needed.

    It has `timeout` seconds for each answer, connecting included.
    """

    def __init__(self, url: str, timeout: float = TIMEOUT) -> None:
        try:
            from redis.asyncio import BlockingConnectionPool, Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import AuthenticationError, RedisError
            from redis.exceptions import ConnectionError as Lost
            from redis.exceptions import TimeoutError as ServerTimeout
        except ModuleNotFoundError:
            raise MissingExtra("redis", "valkey") from None
        self.failures: tuple[type[Exception], ...] = (RedisError, OSError)
        """The exceptions that a call may raise."""
        self._refused: type[Exception] = AuthenticationError
        self._timeouts, self._timeout = (TimeoutError, ServerTimeout), timeout
        hidden = url.partition("://")[0] + "://…"  # an invalid URL may have a password anywhere
        try:
            parts = urlsplit(url)
            if problem := _problem(parts):
                raise StoreError(hidden, f"{problem}; write valkey://host:port/database")
            pool = BlockingConnectionPool.from_url(
                parts._replace(scheme=parts.scheme.replace("valkey", "redis")).geturl(),
                max_connections=_CONNECTIONS,  # more calls than that wait
                timeout=timeout,
                socket_timeout=None,  # `answer` has one timeout for everything
                socket_connect_timeout=timeout,
                # Retry once, at once: a server that was restarted has closed our connections.
                retry=Retry(NoBackoff(), 1, (Lost,)),
            )
            pool.connection_class(
                **pool.connection_kwargs
            )  # not opened; raises for unknown options
        except TypeError:
            raise StoreError(hidden, "unknown URL option") from None
        except ValueError:
            raise StoreError(
                hidden, "invalid server URL; write valkey://host:port/database"
            ) from None
        self.place, self._url = without_login(url), url
        """The URL without its password."""
        self._has_password = bool(secrets_of(url))
        self.redis = Redis.from_pool(pool)

    async def answer(self, question: Awaitable[_T]) -> _T:
        """The answer of the server, within the timeout; a cancellation meanwhile is never lost.

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
        """Close the connections; errors are ignored."""
        with suppress(*self.failures):
            await self.redis.aclose()

    def problem(self, error: Exception) -> str:
        """An error in words."""
        if isinstance(error, self._timeouts):
            return f"Timeout: no answer within {self._timeout:g} s (server_timeout)"
        if isinstance(error, self._refused) and not self._has_password:
            return "password required: use valkey://:password@host:port/database"
        return hidden_in(str(error), self._url) or type(error).__name__


def _problem(parts: SplitResult) -> str:
    """The problem of a URL for which redis-py would guess, if any."""
    database = parts.path.strip("/")
    if not parts.hostname:
        return "no host in the URL"
    if database and not (database.isascii() and database.isdigit()):
        return "the database is not a number"
    return ""
