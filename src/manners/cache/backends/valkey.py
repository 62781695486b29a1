"""Entries in Valkey or Redis, shared by a fleet."""

import json
from collections.abc import AsyncIterator
from typing import Any

from manners.cache.entry import Entry
from manners.errors import MissingExtra

SCHEMES = ("redis", "rediss", "valkey", "valkeys")

_PREFIX = "manners:robots:"
_KEPT = 31 * 86_400
"""Seconds: no profile uses a copy that is older."""
_SECONDS = 0.25
# The newer is kept, whoever comes last.
_SAVE = """
local at = redis.call('HGET', KEYS[1], 'at')
if at and tonumber(at) > tonumber(ARGV[1]) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'at', ARGV[1], 'metadata', ARGV[2], 'body', ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
"""


def open_backend(where: str) -> "ValkeyBackend":
    """The backend for `valkey://host:port/database`; `valkeys://` speaks TLS."""
    return ValkeyBackend(where)


class ValkeyBackend:
    """Entries in a server, a hash for each, which the server drops when they are too old."""

    def __init__(self, url: str, prefix: str = _PREFIX) -> None:
        try:
            from redis.asyncio import Redis
        except ModuleNotFoundError:
            raise MissingExtra("redis", "valkey") from None
        self._server = Redis.from_url(
            url.replace("valkey", "redis", 1) if url.startswith("valkey") else url,
            socket_timeout=_SECONDS,
            socket_connect_timeout=_SECONDS,
        )
        self._prefix = prefix
        self._save = self._server.register_script(_SAVE)

    async def load(self, origin: str) -> Entry | None:
        """What is kept of an origin; None when nothing is."""
        return _entry(*await self._read(self._prefix + origin))

    async def save(self, entry: Entry) -> None:
        """Keep this, unless something newer is kept."""
        metadata = json.dumps(entry.to_dict())
        # A body that is there begins with a "+": one that is empty is not one that is missing.
        body = b"" if entry.body is None else b"+" + entry.body
        await self._save(
            keys=[self._prefix + entry.origin],
            args=[repr(entry.outcome.at), metadata, body, _KEPT],
        )

    async def forget(self, origin: str) -> bool:
        """Drop what is kept of an origin; whether there was anything."""
        return int(await self._server.delete(self._prefix + origin)) > 0

    async def entries(self) -> AsyncIterator[Entry]:
        """Everything that is kept, in no order."""
        async for key in self._server.scan_iter(match=self._prefix + "*", count=100):
            entry = _entry(*await self._read(key))
            if entry is not None:
                yield entry

    async def close(self) -> None:
        """Close the connections."""
        await self._server.aclose()

    async def _read(self, key: Any) -> Any:
        return await self._server.hmget(key, ["metadata", "body"])


def _entry(metadata: bytes | None, body: bytes | None) -> Entry | None:
    if metadata is None:
        return None
    return Entry.from_dict(json.loads(metadata), body[1:] if body else None)
