"""Manners for httpx: a transport that asks robots.txt and waits for the turn of each request.

httpx.Client(transport=PoliteTransport("MyBot/1.0 (+https://example.com/bot)"))
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast
from weakref import ref

from manners import errors

with errors.Extra("httpx"):
    import httpx

    from manners.client.async_client import AsyncClient
    from manners.client.blocking import BlockingVisit, Client
    from manners.client.dropins import ResponseUsage, alive, has_no_body, judged, sent_as
    from manners.client.visit import Visit
    from manners.settings import Settings

# Not a TransportError, which is what programs retry.
Disallowed = errors.both(errors.Disallowed, httpx.RequestError)
"""Raised for a disallowed request: a `manners.Disallowed`, and an error of httpx."""


class _DepartureTrace:
    """Follows the steps of a request, and reports when it has left.

    See "trace" in https://www.python-httpx.org/advanced/extensions/. A trace that the user has set
    is called as well.
    """

    def __init__(self, visit: Visit | BlockingVisit, user: Any) -> None:
        self._visit, self._user, self._is_tunnel = visit, user, False

    def follow(self, event: str, info: dict[str, Any]) -> None:
        if self._user is not None:
            self._user(event, info)
        self._follow(event, info)

    async def follow_async(self, event: str, info: dict[str, Any]) -> None:
        if self._user is not None:
            await self._user(event, info)
        self._follow(event, info)

    def _follow(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(".send_request_headers.started"):
            self._is_tunnel = info["request"].method == b"CONNECT"  # to a proxy, not to the site
        elif event.endswith(".send_request_headers.complete") and not self._is_tunnel:
            self._visit.departed()


class PoliteTransport(httpx.BaseTransport):
    """Makes every request of an `httpx.Client` wait for its turn; raises `Disallowed`.

    It takes the arguments of `manners.Client`. `transport` sends the requests, instead of httpx's
    own.
    """

    def __init__(
        self,
        agent: str | None = None,
        settings: Settings | None = None,
        *,
        transport: httpx.BaseTransport | None = None,
        **arguments: Any,
    ) -> None:
        self.client = Client(agent, settings, **arguments)
        """Decides and waits; has the robots.txt files, the evidence, the budget."""
        self._transport = transport or httpx.HTTPTransport()
        self._is_traced = isinstance(self._transport, httpx.HTTPTransport)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request when its turn comes."""
        raised_as = _raised_as(request)
        with raised_as:
            sent = _sent_as(request, self.client.identity.user_agent)
            visit = self.client.visit(_judged(request), tells=self._is_traced, user_agent=sent)
        extensions = request.extensions
        try:
            if self._is_traced:
                trace = _DepartureTrace(visit, extensions.get("trace"))
                request.extensions = {**extensions, "trace": trace.follow}
            response = self._transport.handle_request(request)
        except BaseException:
            visit.leave()
            raise
        finally:
            request.extensions = extensions
        response.extensions["usage"] = _usage(request, response, visit)
        body = _Body(cast(httpx.SyncByteStream, response.stream), visit, raised_as)
        try:
            with raised_as:
                visit.replied(response.status_code, response.headers)
        except BaseException:
            body.close()
            raise
        if _is_over(request, response):
            visit.leave()
        else:
            response.stream = body
        return response

    def close(self) -> None:
        """Close the connections, and turn away requests that wait."""
        self.client.close()
        self._transport.close()


class _Body(httpx.SyncByteStream):
    """A body that has a slot until it is closed; httpx closes it once it is read."""

    def __init__(
        self, stream: httpx.SyncByteStream, visit: BlockingVisit, raised_as: errors.RaisedAs
    ) -> None:
        self._stream, self._visit, self._raised_as = stream, visit, raised_as

    def __iter__(self) -> Iterator[bytes]:
        for piece in self._stream:
            if self._visit.is_due:
                with self._raised_as:
                    self._visit.renew()
            yield piece

    def close(self) -> None:
        try:
            self._stream.close()
        finally:
            self._visit.leave()


class AsyncPoliteTransport(httpx.AsyncBaseTransport):
    """Makes every request of an `httpx.AsyncClient` wait for its turn, in asyncio's event loop.

    It takes the arguments of `manners.AsyncClient`. `transport` sends the requests, instead of
    httpx's own.
    """

    def __init__(
        self,
        agent: str | None = None,
        settings: Settings | None = None,
        *,
        transport: httpx.AsyncBaseTransport | None = None,
        **arguments: Any,
    ) -> None:
        self.client = AsyncClient(agent, settings, **arguments)
        """Decides and waits; has the robots.txt files, the evidence, the budget."""
        self._transport = transport or httpx.AsyncHTTPTransport()
        self._is_traced = isinstance(self._transport, httpx.AsyncHTTPTransport)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request when its turn comes."""
        raised_as = _raised_as(request)
        with raised_as:
            sent = _sent_as(request, self.client.identity.user_agent)
            visit = await self.client.visit(
                _judged(request), tells=self._is_traced, user_agent=sent
            )
        extensions = request.extensions
        try:
            if self._is_traced:
                trace = _DepartureTrace(visit, extensions.get("trace"))
                request.extensions = {**extensions, "trace": trace.follow_async}
            response = await self._transport.handle_async_request(request)
        except BaseException:
            await visit.leave()
            raise
        finally:
            request.extensions = extensions
        response.extensions["usage"] = _usage(request, response, visit)
        body = _AsyncBody(cast(httpx.AsyncByteStream, response.stream), visit, raised_as)
        try:
            with raised_as:
                await visit.replied(response.status_code, response.headers)
        except BaseException:
            await body.aclose()
            raise
        if _is_over(request, response):
            await visit.leave()
        else:
            response.stream = body
        return response

    async def aclose(self) -> None:
        """Close the connections, and turn away requests that wait."""
        await self.client.close()
        await self._transport.aclose()


class _AsyncBody(httpx.AsyncByteStream):
    """The same for async code."""

    def __init__(
        self, stream: httpx.AsyncByteStream, visit: Visit, raised_as: errors.RaisedAs
    ) -> None:
        self._stream, self._visit, self._raised_as = stream, visit, raised_as

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for piece in self._stream:
            if self._visit.is_due:
                with self._raised_as:
                    await self._visit.renew()
            yield piece

    async def aclose(self) -> None:
        try:
            await self._stream.aclose()
        finally:
            await self._visit.leave()


def _raised_as(request: httpx.Request) -> errors.RaisedAs:
    """Turns errors of ours that stop a request into errors of httpx as well."""
    return errors.RaisedAs(httpx.RequestError, request=request)


def _sent_as(request: httpx.Request, own: str) -> str:
    """Set the header User-Agent of a request, and return it."""
    default = f"python-httpx/{httpx.__version__}"
    sent = sent_as(request.headers.get("user-agent"), default, own)
    request.headers["user-agent"] = sent
    return sent


def _judged(request: httpx.Request) -> str:
    return judged(str(request.url), request.headers.get("host"))


def _usage(
    request: httpx.Request, response: httpx.Response, visit: Visit | BlockingVisit
) -> ResponseUsage:
    """What a response may be used for: `response.extensions["usage"]`."""
    found = ref(response)  # it has the usage, and would keep itself alive

    def read() -> tuple[int, list[tuple[str, str]], bytes | None]:
        response = alive(found())
        try:
            body: bytes | None = response.content
        except httpx.ResponseNotRead:
            body = None
        return response.status_code, response.headers.multi_items(), body

    return ResponseUsage(_judged(request), visit, read)


def _is_over(request: httpx.Request, response: httpx.Response) -> bool:
    """Whether there is nothing (more) to read; a transport may have read it already."""
    return response.is_closed or has_no_body(request.method, response.status_code, response.headers)
