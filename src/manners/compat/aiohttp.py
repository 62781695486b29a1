"""Manners for aiohttp: one middleware, and a session asks robots.txt and waits its turn.

aiohttp.ClientSession(middlewares=[PoliteMiddleware("MyBot/1.0 (+https://example.com/bot)")])
"""

import asyncio
from typing import Any, Self

from manners import errors

with errors.Extra("aiohttp"):
    from aiohttp import ClientError, ClientHandlerType, ClientRequest, ClientResponse
    from aiohttp.http import SERVER_SOFTWARE

    from manners.client import AsyncClient
    from manners.settings import Settings
    from manners.visit import Visit, has_no_body, judged, sent_as

# Not a ClientConnectionError, which is what programs retry.
Disallowed = errors.both(errors.Disallowed, ClientError)
"""What a request that is not allowed ends in: `manners.Disallowed`, and an error of aiohttp."""

_raised_as = errors.RaisedAs(ClientError)


def _tell(request: ClientRequest, visit: Visit) -> None:
    """Let a visit know when its request leaves."""
    send = request.send

    async def send_and_tell(connection: Any) -> ClientResponse:
        response = await send(connection)
        visit.left()
        return response

    request.send = send_and_tell  # type: ignore[method-assign, assignment]


class PoliteMiddleware:
    """Lets every request of a session wait for its turn; `Disallowed` where it has none.

    It takes what `manners.AsyncClient` takes. Close it behind the session.

        async with PoliteMiddleware("MyBot/1.0 (+https://example.com/bot)") as polite:
            async with aiohttp.ClientSession(middlewares=[polite]) as session:
                ...
    """

    def __init__(
        self, agent: str | None = None, settings: Settings | None = None, **arguments: Any
    ) -> None:
        self.client = AsyncClient(agent, settings, **arguments)
        """What decides and waits: its robots.txt files, its evidence, its budget."""
        self._leaving: set[asyncio.Task[None]] = set()

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Send a request when it is time for it."""
        url = judged(str(request.url), request.headers.get("Host"))
        with _raised_as:
            own, header = self.client.identity.user_agent, request.headers.get("User-Agent")
            sent = sent_as(header, SERVER_SOFTWARE, own)
            request.headers["User-Agent"] = sent
            visit = await self.client.visit(url, tells=True, user_agent=sent)
        try:
            _tell(request, visit)
            response = await handler(request)
            try:
                with _raised_as:
                    await visit.replied(response.status, response.headers)
            except BaseException:
                response.close()
                raise
        except BaseException:
            await visit.leave()
            raise
        connection = response.connection
        # It may have been read to its end already, or be a WebSocket, which stays open.
        if connection is None or has_no_body(request.method, response.status, response.headers):
            await visit.leave()
        else:
            connection.add_callback(lambda: self._leave(visit))
        return response

    def _leave(self, visit: Visit) -> None:
        """Give back a slot, soon: aiohttp tells of the end of a response, and does not wait."""
        task = asyncio.get_running_loop().create_task(visit.leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Close what is open, and turn away whoever waits."""
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
