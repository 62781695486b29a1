"""Manners for aiohttp: a middleware that asks robots.txt and waits for the turn of each request.

aiohttp.ClientSession(middlewares=[PoliteMiddleware("MyBot/1.0 (+https://example.com/bot)")])
"""

import asyncio
from typing import Any, Self
from weakref import ref

from manners import errors

with errors.Extra("aiohttp"):
    from aiohttp import ClientError, ClientHandlerType, ClientRequest, ClientResponse
    from aiohttp.http import SERVER_SOFTWARE

    from manners.client.async_client import AsyncClient
    from manners.client.dropins import ResponseUsage, alive, has_no_body, judged, sent_as
    from manners.client.visit import Visit
    from manners.settings import Settings

# Not a ClientConnectionError, which is what programs retry.
Disallowed = errors.both(errors.Disallowed, ClientError)
"""Raised for a disallowed request: a `manners.Disallowed`, and an error of aiohttp."""

_raised_as = errors.RaisedAs(ClientError)


def _trace(request: ClientRequest, visit: Visit) -> None:
    """Report to a visit when its request has left."""
    send = request.send

    async def send_and_report(connection: Any) -> ClientResponse:
        response = await send(connection)
        visit.departed()
        return response

    request.send = send_and_report  # type: ignore[method-assign, assignment]


def _usage(url: str, response: ClientResponse, visit: Visit) -> ResponseUsage:
    """What a response may be used for: `response.usage`."""
    found = ref(response)  # it has the usage, and would keep itself alive

    def read() -> tuple[int, list[tuple[str, str]], bytes | None]:
        response = alive(found())
        return response.status, list(response.headers.items()), response._body

    return ResponseUsage(url, visit, read)


class PoliteMiddleware:
    """Makes every request of a session wait for its turn; raises `Disallowed`.

    It takes the arguments of `manners.AsyncClient`. Close it after the session.

        async with PoliteMiddleware("MyBot/1.0 (+https://example.com/bot)") as polite:
            async with aiohttp.ClientSession(middlewares=[polite]) as session:
                ...
    """

    def __init__(
        self, agent: str | None = None, settings: Settings | None = None, **arguments: Any
    ) -> None:
        self.client = AsyncClient(agent, settings, **arguments)
        """Decides and waits; has the robots.txt files, the evidence, the budget."""
        self._leaving: set[asyncio.Task[None]] = set()

    async def __call__(self, request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
        """Send a request when its turn comes."""
        url = judged(str(request.url), request.headers.get("Host"))
        with _raised_as:
            own, header = self.client.identity.user_agent, request.headers.get("User-Agent")
            sent = sent_as(header, SERVER_SOFTWARE, own)
            request.headers["User-Agent"] = sent
            visit = await self.client.visit(url, tells=True, user_agent=sent)
        try:
            _trace(request, visit)
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
        response.usage = _usage(url, response, visit)  # type: ignore[attr-defined]
        connection = response.connection
        # It may have been read already, or be a WebSocket, which stays open.
        if connection is None or has_no_body(request.method, response.status, response.headers):
            await visit.leave()
        else:
            connection.add_callback(lambda: self._leave(visit))
        return response

    def _leave(self, visit: Visit) -> None:
        """Release a slot, fire-and-forget: aiohttp does not wait at the end of a response."""
        task = asyncio.get_running_loop().create_task(visit.leave())
        self._leaving.add(task)
        task.add_done_callback(self._leaving.discard)

    async def close(self) -> None:
        """Close the connections, and turn away requests that wait."""
        await asyncio.gather(*self._leaving, return_exceptions=True)
        await self.client.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()
