"""Host names to addresses, and sockets to those addresses; the guard judges both.

A name is looked up once for each connection. All of its addresses are judged, and the connection
goes to one of them.
"""

import asyncio
import errno
import socket
import threading
from contextlib import suppress
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any

from aiohttp.abc import AbstractResolver, ResolveResult

from manners.net import guard

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType

_LOOKUPS = 64
"""Lookups at a time: a name server that does not answer blocks a thread, and nothing else."""


class RefusedAddress(OSError):
    """An address that the guard refuses."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EACCES, f"{address}: refused address")


class SystemResolver(AbstractResolver):
    """The system's lookup, in daemon threads, so that a slow one does not delay the exit."""

    def __init__(self) -> None:
        self._limit = asyncio.Semaphore(_LOOKUPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Any]] = loop.create_future()

        def finish(found: list[Any], failure: Exception | None) -> None:
            self._limit.release()  # only now: a caller that gave up did not stop the thread
            if not answer.done():
                answer.set_exception(failure) if failure else answer.set_result(found)

        def look_up() -> None:
            found, failure = [], None
            try:
                found = _look_up(host, port, family)
            except Exception as error:
                failure = error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(finish, found, failure)

        await self._limit.acquire()
        threading.Thread(target=look_up, name="manners-look-up", daemon=True).start()
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=int(address[1]),
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in await answer
        ]

    async def close(self) -> None:
        """Nothing is open."""


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
    flags = socket.AI_ADDRCONFIG
    try:
        return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:  # a label that is empty, or too long
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None


class GuardedResolver(AbstractResolver):
    """Refuses a name if any of its addresses is refused."""

    def __init__(self, resolver: AbstractResolver, guarded: bool) -> None:
        self._resolver, self._guarded = resolver, guarded

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a host, at least one."""
        found = await self._resolver.resolve(host, port, family)
        if self._guarded:
            for address in found:
                _judge(address["host"])
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "no address")
        return found

    async def close(self) -> None:
        """Close the resolver behind it."""
        await self._resolver.close()


def open_socket(address: "AddrInfoType", guarded: bool) -> socket.socket:
    """A socket for an address: the last check, of the very address that is connected to."""
    if guarded:
        _judge(str(address[4][0]))
    opened = socket.socket(*address[:3])
    opened.setblocking(False)
    return opened


def _judge(address: str) -> None:
    if guard.is_refused(ip_address(address.partition("%")[0])):  # without the zone of an IPv6 one
        raise RefusedAddress(address)
