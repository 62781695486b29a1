"""Connections to a Valkey or Redis server, for everything that may be kept in one."""

from urllib.parse import urlsplit

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
            from redis.exceptions import ConnectionError as Lost
            from redis.exceptions import RedisError
        except ModuleNotFoundError:
            raise MissingExtra("redis", "valkey") from None
        self.failures: tuple[type[Exception], ...] = (RedisError, OSError)
        """What it raises when something goes wrong."""
        try:
            self.place = without_password(url)
            """The URL as it may be shown."""
            pool = BlockingConnectionPool.from_url(
                url.replace("valkey", "redis", 1) if url.startswith("valkey") else url,
                max_connections=_CONNECTIONS,  # more questions than that wait for their turn
                timeout=seconds,
                socket_timeout=seconds,
                socket_connect_timeout=seconds,
                # One more try, at once: a server that was restarted has closed our connections.
                retry=Retry(NoBackoff(), 1, (Lost,)),
            )
        except ValueError:  # which may have a password in it
            raise StoreError(f"{url.partition('://')[0]}://…", "not a URL of a server") from None
        self.redis = Redis.from_pool(pool)


def without_password(url: str) -> str:
    """The URL of a server as it may be shown and kept.

    >>> without_password("valkey://name:secret@example.com:6379/0")
    'valkey://example.com:6379/0'
    """
    host = urlsplit(url).netloc.rpartition("@")[2]
    return f"{url.partition('://')[0]}://{host}{urlsplit(url).path}"
