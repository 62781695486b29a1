"""Manners for httpx: one transport, and a client asks robots.txt and waits its turn.

httpx.Client(transport=PoliteTransport("MyBot/1.0 (+https://example.com/bot)"))
"""

from collections.abc import AsyncIterator, Iterator
from typing import Any, cast

from manners import errors

with errors.Extra("httpx"):
    import httpx

    from manners.client import AsyncClient, Client
    from manners.settings import Settings
    from manners.visit import BlockingVisit, Visit, has_no_body, judged, sent_as

# Not a TransportError, which is what programs retry.
Disallowed = errors.both(errors.Disallowed, httpx.RequestError)
"""What a request that is not allowed ends in: `manners.Disallowed`, and an error of httpx."""


class _Telling:
    """What hears of every step of a request, and tells when it has left.

    See "trace" in https://www.python-httpx.org/advanced/extensions/. Who had asked to hear of them
    still does.
    """

    def __init__(self, visit: Visit | BlockingVisit, user: Any) -> None:
        self._visit, self._user, self._is_tunnel = visit, user, False

    def hear(self, event: str, info: dict[str, Any]) -> None:
        if self._user is not None:
            self._user(event, info)
        self._hear(event, info)

    async def hear_async(self, event: str, info: dict[str, Any]) -> None:
        if self._user is not None:
            await self._user(event, info)
        self._hear(event, info)

    def _hear(self, event: str, info: dict[str, Any]) -> None:
        if event.endswith(".send_request_headers.started"):
            self._is_tunnel = info["request"].method == b"CONNECT"  # to a proxy, not to the site
        elif event.endswith(".send_request_headers.complete") and not self._is_tunnel:
            self._visit.left()


class PoliteTransport(httpx.BaseTransport):
    """Lets every request of an `httpx.Client` wait for its turn; `Disallowed` where it has none.

    It takes what `manners.Client` takes. `transport` sends the requests, instead of httpx's own.
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
        """What decides and waits: its robots.txt files, its evidence, its budget."""
        self._transport = transport or httpx.HTTPTransport()
        self._tells = isinstance(self._transport, httpx.HTTPTransport)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request when it is time for it."""
        raised_as = _raised_as(request)
        with raised_as:
            sent = _sent_as(request, self.client.identity.user_agent)
            visit = self.client.visit(_judged(request), tells=self._tells, user_agent=sent)
        extensions = request.extensions
        try:
            if self._tells:
                trace = _Telling(visit, extensions.get("trace"))
                request.extensions = {**extensions, "trace": trace.hear}
            response = self._transport.handle_request(request)
        except BaseException:
            visit.leave()
            raise
        finally:
            request.extensions = extensions
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
        """Close what is open, and turn away whoever waits."""
        self.client.close()
        self._transport.close()


class _Body(httpx.SyncByteStream):
    """A body whose request has its slot until it is closed, as httpx does when it is read."""

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
    """Lets every request of an `httpx.AsyncClient` wait for its turn, in asyncio's event loop.

    It takes what `manners.AsyncClient` takes. `transport` sends the requests, instead of httpx's
    own.
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
        """What decides and waits: its robots.txt files, its evidence, its budget."""
        self._transport = transport or httpx.AsyncHTTPTransport()
        self._tells = isinstance(self._transport, httpx.AsyncHTTPTransport)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Send a request when it is time for it."""
        raised_as = _raised_as(request)
        with raised_as:
            sent = _sent_as(request, self.client.identity.user_agent)
            visit = await self.client.visit(_judged(request), tells=self._tells, user_agent=sent)
        extensions = request.extensions
        try:
            if self._tells:
                trace = _Telling(visit, extensions.get("trace"))
                request.extensions = {**extensions, "trace": trace.hear_async}
            response = await self._transport.handle_async_request(request)
        except BaseException:
            await visit.leave()
            raise
        finally:
            request.extensions = extensions
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
        """Close what is open, and turn away whoever waits."""
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
    """What is ours, and stops a request, is an error of httpx as well."""
    return errors.RaisedAs(httpx.RequestError, request=request)


def _sent_as(request: httpx.Request, own: str) -> str:
    """The header User-Agent that a request is sent with from now on."""
    default = f"python-httpx/{httpx.__version__}"
    sent = sent_as(request.headers.get("user-agent"), default, own)
    request.headers["user-agent"] = sent
    return sent


def _judged(request: httpx.Request) -> str:
    return judged(str(request.url), request.headers.get("host"))


def _is_over(request: httpx.Request, response: httpx.Response) -> bool:
    """Whether there is nothing to read; a transport may have read it already."""
    return response.is_closed or has_no_body(request.method, response.status_code, response.headers)
