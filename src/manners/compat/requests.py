"""Manners for requests: one adapter, and a session asks robots.txt and waits its turn.

polite = PoliteAdapter("MyBot/1.0 (+https://example.com/bot)")
session.mount("https://", polite)
session.mount("http://", polite)
"""

import threading
from collections.abc import Iterator
from functools import cache
from typing import Any

from manners import errors

with errors.Extra("requests"):
    import requests
    from requests.adapters import BaseAdapter, HTTPAdapter
    from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
    from urllib3.connection import HTTPConnection, HTTPSConnection
    from urllib3.util import Retry

    from manners.client import Client
    from manners.settings import Settings
    from manners.visit import BlockingVisit, has_no_body, judged, sent_as

Disallowed = errors.both(errors.Disallowed, requests.RequestException)
"""What a request that is not allowed ends in: `manners.Disallowed`, and an error of requests."""


_sending = threading.local()
"""The visit whose request a thread is about to send."""


class _Telling(HTTPConnection):
    """A connection that tells when a request has left; one for a tunnel does not come this way."""

    def endheaders(self, *arguments: Any, **options: Any) -> None:
        super().endheaders(*arguments, **options)
        _sending.visit.left()


class _TellingTLS(_Telling, HTTPSConnection):
    """The same with TLS."""


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Telling


class _PoolTLS(HTTPSConnectionPool):
    ConnectionCls = _TellingTLS


class _Adapter(HTTPAdapter):
    """The adapter that a session has by itself, on connections that tell."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        super().init_poolmanager(*arguments, **options)
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTLS}

    def proxy_manager_for(self, *arguments: Any, **options: Any) -> Any:
        manager = super().proxy_manager_for(*arguments, **options)
        manager.pool_classes_by_scheme = {"http": _Pool, "https": _PoolTLS}
        return manager


class PoliteAdapter(BaseAdapter):
    """Lets every request of a session wait for its turn; `Disallowed` where it has none.

    It takes what `manners.Client` takes, and is safe from several threads, as that is. `adapter`
    sends the requests, instead of the one that a session has by itself.
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
                "max_retries sends requests again that have not waited for their turn: leave it "
                "out and ask again yourself, or let it try again to connect only, with "
                "Retry(connect=3, read=0, other=0, respect_retry_after_header=False)"
            )
        self.client = Client(agent, settings, **arguments)
        """What decides and waits: its robots.txt files, its evidence, its budget."""
        self._adapter = adapter or _Adapter()
        self._tells = isinstance(self._adapter, _Adapter)

    def send(
        self, request: requests.PreparedRequest, *arguments: Any, **options: Any
    ) -> requests.Response:
        """Send a request when it is time for it."""
        raised_as = _raised_as(request)
        with raised_as:
            own, default = self.client.identity.user_agent, requests.utils.default_user_agent()
            sent = sent_as(request.headers.get("User-Agent"), default, own)
            request.headers["User-Agent"] = sent
            url = judged(request.url or "", request.headers.get("Host"))
            visit = self.client.visit(url, tells=self._tells, user_agent=sent)
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
        method, status = request.method or "", response.status_code
        # Somebody may have read it already.
        if response._content_consumed or has_no_body(method, status, response.headers):
            visit.leave()
        else:
            _hold(response, visit)
        return response

    def close(self) -> None:
        """Close what is open, and turn away whoever waits."""
        self.client.close()
        self._adapter.close()


def _raised_as(request: requests.PreparedRequest | None) -> errors.RaisedAs:
    """What is ours, and stops a request, is an error of requests as well."""
    return errors.RaisedAs(requests.RequestException, request=request)


def _sends_again(retry: Retry) -> bool:
    """Whether urllib3 would, after a reply or an error; before there is a connection, it may.

    A reply that it would make an error of counts as well: what it says would be lost.
    """
    method = next(iter(retry.allowed_methods or ("GET",)))
    if any(retry.is_retry(method, status, has_retry_after=True) for status in range(100, 600)):
        return True
    if retry.total == 0:
        return False
    return any(number is None or number > 0 for number in (retry.read, retry.other))


class _Held(requests.Response):
    """A response that has its slot until it is read, or closed; whatever reads it, by this."""

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
        """In a pickle it is what it was before."""
        return _new, (type(self).__mro__[2],), self.__getstate__()


def _new(kind: type[requests.Response]) -> requests.Response:
    return kind.__new__(kind)


@cache
def _held(kind: type[requests.Response]) -> type[_Held]:
    """The same for a kind of responses that the user's adapter may have."""
    return type(kind.__name__, (_Held, kind), {})


def _hold(response: requests.Response, visit: BlockingVisit) -> None:
    # Two functions set on the response itself would do, and keep it, and its connection, alive for
    # longer than anybody needs it.
    response.__class__ = _held(type(response))  # type: ignore[arg-type]
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
    except Exception:  # who only breaks off may read on
        visit.leave()
        raise
    visit.leave()
