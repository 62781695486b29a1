"""When a request leaves, and that it leaves once.

The gap between two requests counts from when the first one really left. So aiohttp's request and
reply classes are extended to report that: right before a request is written, and right after.
"""

from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol

import aiohttp

if TYPE_CHECKING:
    from aiohttp.connector import Connection


class Departure(Protocol):
    """A listener for the departure of a request: the visit that paces it."""

    @property
    def is_late(self) -> bool:
        """Whether the request may not leave without asking `may_depart`."""

    async def may_depart(self) -> bool:
        """Whether a late request may leave now."""

    def departed(self) -> None:
        """The request has just left."""


class Attempt:
    """One request being sent: its departure, and how many connections were opened for it.

    With `wants_address`, the address of the server is noted.
    """

    __slots__ = ("address", "connections", "departure", "wants_address")

    def __init__(self, departure: Departure | None, *, wants_address: bool = False) -> None:
        self.departure, self.connections = departure, 0
        self.wants_address, self.address = wants_address, ""


ATTEMPT: ContextVar[Attempt] = ContextVar("the request that is being sent")


class PacedRequest(aiohttp.ClientRequest):
    """A request that leaves only while it is its turn."""

    def send(self, conn: "Connection") -> Any:
        """Write the request to a connection."""
        departure = ATTEMPT.get().departure
        if departure is None or not departure.is_late:
            return super().send(conn)
        return self._send_late(conn, departure)

    async def _send_late(self, conn: "Connection", departure: Departure) -> aiohttp.ClientResponse:
        if not await departure.may_depart():
            conn.release()  # for the next turn: to connect may be what took so long
            raise TurnLost
        return await super().send(conn)


class SingleReply(aiohttp.ClientResponse):
    """The reply to a request that is sent once.

    When the connection is lost, aiohttp would send the request again, without a turn or a slot.
    """

    async def start(self, connection: "Connection") -> aiohttp.ClientResponse:
        """Wait for the head of the reply."""
        attempt = ATTEMPT.get()
        if attempt.departure is not None:
            attempt.departure.departed()  # aiohttp has just written it
        if attempt.wants_address and connection.transport is not None:
            peer = connection.transport.get_extra_info("peername")
            attempt.address = peer[0].partition("%")[0] if peer else ""  # without its interface
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as lost:
            raise LostBeforeReply from lost


class ConnectionLost(aiohttp.ClientError):
    """A connection that ended too early."""


class LostBeforeReply(ConnectionLost):
    """A connection that ended before the reply."""


class TurnLost(aiohttp.ClientError):
    """A request that could not leave in time."""
