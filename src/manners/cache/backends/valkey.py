"""Entries in Valkey or Redis, shared by several machines."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any

from manners import _valkey
from manners.cache.encoding import metadata, read_entry
from manners.cache.entry import Entry
from manners.errors import StoreError

SCHEMES = _valkey.SCHEMES

_PREFIX = "manners:robots:"
_MAX_AGE = 31 * 86_400
"""Seconds: no profile uses an older copy."""
# The newer entry wins. HSET is the first write: a server that is out of memory refuses only that.
_SAVE = """
local at = redis.call('HGET', KEYS[1], 'at')
if at and (tonumber(at) or 0) > tonumber(ARGV[1]) then return 0 end
redis.call('HSET', KEYS[1], 'at', ARGV[1], 'metadata', ARGV[2], 'body', ARGV[3])
redis.call('EXPIRE', KEYS[1], ARGV[4])
return 1
"""


def open_backend(where: str, timeout: float = _valkey.TIMEOUT) -> "ValkeyCache":
    """The backend for `valkey://host:port/database`; `valkeys://` speaks TLS."""
    return ValkeyCache(where, timeout=timeout)


class ValkeyCache:
    """Entries on a server, one hash each, which expire when they are too old."""

    def __init__(self, url: str, prefix: str = _PREFIX, timeout: float = _valkey.TIMEOUT) -> None:
        self._server = server = _valkey.Server(url, timeout)
        self.place, self._redis, self._answer = server.place, server.redis, server.answer
        self._prefix = prefix
        self._save = self._redis.register_script(_SAVE)

    async def load(self, origin: str) -> Entry | None:
        """The entry of an origin, fresh or stale; None when there is none."""
        return await self._read(self._prefix + origin)

    async def save(self, entry: Entry) -> None:
        """Save an entry, unless a newer one is there."""
        # A body begins with a "+": an empty body is not a missing one.
        body = b"" if entry.body is None else b"+" + entry.body
        with self._errors():
            await self._answer(
                self._save(
                    keys=[self._prefix + entry.origin],
                    args=[repr(entry.outcome.at), metadata(entry), body, _MAX_AGE],
                )
            )

    async def forget(self, origin: str) -> bool:
        """Drop the entry of an origin; False when there was none."""
        with self._errors():
            return int(await self._answer(self._redis.delete(self._prefix + origin))) > 0

    async def entries(self) -> AsyncIterator[Entry]:
        """All entries, in no order."""
        cursor, seen = 0, set[Any]()
        while True:
            with self._errors():
                question = self._redis.scan(cursor, self._prefix + "*", 100)
                cursor, keys = await self._answer(question)
            for key in keys:
                if key not in seen:  # a key may come twice while the server grows its table
                    seen.add(key)
                    if (entry := await self._read(key)) is not None:
                        yield entry
            if cursor == 0:
                return

    async def close(self) -> None:
        """Close the connections."""
        await self._server.close()

    async def _read(self, key: Any) -> Entry | None:
        with self._errors():
            text, body = await self._answer(self._redis.hmget(key, ["metadata", "body"]))
        if text is None and body is None:
            return None
        if not isinstance(body, bytes) or body[:1] not in (b"", b"+"):
            text, body = b"", None
        return read_entry(self.place, text or b"", body[1:] if body else None)

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except self._server.failures as error:
            raise StoreError(self.place, self._server.problem(error)) from None
