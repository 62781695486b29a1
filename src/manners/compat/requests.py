"""Manners for requests: an adapter that asks robots.txt and waits for the turn of each request.

polite = PoliteAdapter("MyBot/1.0 (+https://example.com/bot)")
session.mount("https://", polite)
session.mount("http://", polite)
"""

import threading
from collections.abc import Iterator
from functools import cache
from typing import Any
from weakref import ref

from manners import errors

with errors.Extra("requests"):
    import requests
    from requests.adapters import BaseAdapter, HTTPAdapter
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.util import Retry

    from manners.client.blocking import BlockingVisit, Client
    from manners.client.dropins import ResponseUsage, alive, has_no_body, judged, sent_as
    from manners.settings import Settings

Disallowed = errors.both(errors.Disallowed, requests.RequestException)
"""Raised for a disallowed request: a `manners.Disallowed`, and an error of requests."""


_sending = threading.local()
"""The visit whose request the thread is about to send."""


class _TracedConnection(HTTPConnection):
    """A connection that reports when a request has left; CONNECT requests do not come this way."""

    def endheaders(self, *arguments: Any, **options: Any) -> None:
        super().endheaders(*arguments, **options)
        _sending.visit.departed()


class _TracedConnectionTLS(_TracedConnection, HTTPSConnection):
    """The same with TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _TracedConnection


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = _TracedConnectionTLS


class _TracedAdapter(HTTPAdapter):
    """The default adapter of a session, on traced connections."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTLS}

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTLS}
        return manager


class PoliteAdapter(BaseAdapter):
    """Makes every request of a session wait for its turn; raises `Disallowed`.

    It takes the arguments of `manners.Client` and is as thread-safe. `adapter` sends the requests,
    instead of the default adapter of a session.
    """

    def __init__(
        self,
        agent: str | None = None,
        settings: Settings | None = None,
        *,
        adapter: BaseAdapter | None = None,
        **arguments: Any,
    ) -> None:
        super().__init__()
        if isinstance(adapter, HTTPAdapter) and _sends_again(adapter.max_retries):
            raise ValueError(
                "max_retries would send requests again without waiting for their turn. Retry in "
                "your own code, or retry connecting only: "
                "Retry(connect=3, read=0, other=0, respect_retry_after_header=False)"
            )
        self.client = Client(agent, settings, **arguments)
        """Decides and waits; has the robots.txt files, the evidence, the budget."""
        self._adapter = adapter or _TracedAdapter()
        self._is_traced = isinstance(self._adapter, _TracedAdapter)

    def send(
        self, request: requests.PreparedRequest, *arguments: Any, **options: Any
    ) -> requests.Response:
        """Send a request when its turn comes."""
        raised_as = _raised_as(request)
        with raised_as:
            own, default = self.client.identity.user_agent, requests.utils.default_user_agent()
            sent = sent_as(request.headers.get("User-Agent"), default, own)
            request.headers["User-Agent"] = sent
            url = judged(request.url or "", request.headers.get("Host"))
            visit = self.client.visit(url, tells=self._is_traced, user_agent=sent)
        _sending.visit = visit
        try:
            response = self._adapter.send(request, *arguments, **options)
            try:
                with raised_as:
                    visit.replied(response.status_code, response.headers)
            except BaseException:
                response.close()
                raise
        except BaseException:
            visit.leave()
            raise
        response.usage = _usage(url, response, visit)  # type: ignore[attr-defined]
        method, status = request.method or "", response.status_code
        # A hook may have read it already.
        if response._content_consumed or has_no_body(method, status, response.headers):
            visit.leave()
        else:
            _keep_slot(response, visit)
        return response

    def close(self) -> None:
        """Close the connections, and turn away requests that wait."""
        self.client.close()
        self._adapter.close()


def _raised_as(request: requests.PreparedRequest | None) -> errors.RaisedAs:
    """Turns errors of ours that stop a request into errors of requests as well."""
    return errors.RaisedAs(requests.RequestException, request=request)


def _usage(url: str, response: requests.Response, visit: BlockingVisit) -> ResponseUsage:
    """What a response may be used for: `response.usage`."""
    found = ref(response)  # it has the usage, and would keep itself alive

    def read() -> tuple[int, list[tuple[str, str]], bytes | None]:
        response = alive(found())
        # The session's headers join lines; those of urllib3 keep them apart.
        lines = getattr(response.raw, "headers", None)
        items = getattr(lines, "iteritems", response.headers.items)()
        body = response.content if isinstance(response._content, bytes) else None
        return response.status_code, list(items), body

    return ResponseUsage(url, visit, read)


def _sends_again(retry: Retry) -> bool:
    """Whether urllib3 would retry after a reply or an error; to retry connecting is harmless.

    Turning a reply into an error counts as well: the status and Retry-After would be lost.
    """
    method = next(iter(retry.allowed_methods or ("GET",)))
    if any(retry.is_retry(method, status, has_retry_after=True) for status in range(100, 600)):
        return True
    if retry.total == 0:
        return False
    return any(number is None or number > 0 for number in (retry.read, retry.other))


class _SlotResponse(requests.Response):
    """A response that has a slot until it is read or closed; everything reads it by this class."""

    _visit: BlockingVisit

    def iter_content(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        pieces = super().iter_content(*arguments, **options)
        return _pieces(pieces, self._visit, _raised_as(self.request))

    def close(self) -> None:
        try:
            super().close()
        finally:
            self._visit.leave()

    def __reduce__(self) -> tuple[Any, ...]:
        """A pickle has the class it had before."""
        return _new, (type(self).__mro__[2],), self.__getstate__()


def _new(kind: type[requests.Response]) -> requests.Response:
    return kind.__new__(kind)


@cache
def _slot_class(kind: type[requests.Response]) -> type[_SlotResponse]:
    """The same for a subclass of responses, which the user's adapter may have."""
    return type(kind.__name__, (_SlotResponse, kind), {})


def _keep_slot(response: requests.Response, visit: BlockingVisit) -> None:
    # Methods set on the response would be a reference cycle, and keep the connection open longer.
    response.__class__ = _slot_class(type(response))  # type: ignore[arg-type]
    response._visit = visit  # type: ignore[attr-defined]


def _pieces(
    pieces: Iterator[Any], visit: BlockingVisit, raised_as: errors.RaisedAs
) -> Iterator[Any]:
    try:
        for piece in pieces:
            if visit.is_due:
                with raised_as:
                    visit.renew()
            yield piece
    except Exception:  # a caller that breaks off (GeneratorExit) may read on
        visit.leave()
        raise
    visit.leave()
