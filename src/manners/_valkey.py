"""Connections to a Valkey or Redis server, for everything that may be kept in one."""

from urllib.parse import SplitResult, urlsplit

from manners.errors import MissingExtra, StoreError

SCHEMES = ("redis", "rediss", "valkey", "valkeys")

_CONNECTIONS = 32


class Server:
    """A server at `valkey://host:port/database`; connections are opened when they are needed.

    It has so many seconds for each answer.
    """

    def __init__(self, url: str, seconds: float) -> None:
        try:
            from redis.asyncio import BlockingConnectionPool, Redis
            from redis.asyncio.retry import Retry
            from redis.backoff import NoBackoff
            from redis.exceptions import AuthenticationError, RedisError
            from redis.exceptions import ConnectionError as Lost
        except ModuleNotFoundError:
            raise MissingExtra("redis", "valkey") from None
        self.failures: tuple[type[Exception], ...] = (RedisError, OSError)
        """What it raises when something goes wrong."""
        self._refused: type[Exception] = AuthenticationError
        hidden = url.partition("://")[0] + "://…"  # what is no URL may have a password anywhere
        try:
            parts = urlsplit(url)
            if problem := _problem(parts):
                raise StoreError(hidden, f"{problem}; valkey://host:port/database is a URL")
            pool = BlockingConnectionPool.from_url(
                parts._replace(scheme=parts.scheme.replace("valkey", "redis")).geturl(),
                max_connections=_CONNECTIONS,  # more questions than that wait for their turn
                timeout=seconds,
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                # One more try, at once: a server that was restarted has closed our connections.
                retry=Retry(NoBackoff(), 1, (Lost,)),
            )
            pool.connection_class(**pool.connection_kwargs)  # not opened; it knows its options
        except TypeError:
            raise StoreError(hidden, "has an option that there is not") from None
        except ValueError:
            raise StoreError(hidden, "not a URL of a server") from None
        self.place = without_password(url)
        """The URL as it may be shown."""
        self._has_password = parts.password is not None
        self.redis = Redis.from_pool(pool)

    def problem(self, error: Exception) -> str:
        """What went wrong, in words."""
        if isinstance(error, self._refused) and not self._has_password:
            return "it wants a password: valkey://:password@host:port/database"
        return str(error) or type(error).__name__


def without_password(url: str) -> str:
    """The URL of a server as it may be shown and kept.

    >>> without_password("valkey://name:secret@example.com:6379/0")
    'valkey://example.com:6379/0'
    """
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _problem(parts: SplitResult) -> str:
    """What redis-py would pass over, and then guess."""
    database = parts.path.strip("/")
    if not parts.hostname:
        return "names no host"
    if database and not (database.isascii() and database.isdigit()):
        return "its database is not a number"
    return ""
