"""Posting a small message to one place, such as a webhook of the user's.

Guarded like every request: no refused address, no redirect, no wait without an end. The body of the
reply is not read.
"""

import time
from collections.abc import Callable, Mapping
from functools import partial

import aiohttp
from aiohttp.abc import AbstractResolver
from yarl import URL

from manners._text import header_problem
from manners.net import guard
from manners.net.connecting import guarded_connector, tls_trusting
from manners.net.failures import FAILURES, cause_of, tls_detail
from manners.net.messages import REFUSED, TLS, Response, Unreachable
from manners.net.resolver import open_socket
from manners.urls import host, requestable

CONNECT, TOTAL = 5.0, 10.0
"""Seconds: for one attempt to connect, and from the lookup to the head of the reply."""


class Poster:
    """Posts messages, each over a connection of its own.

    With `proxy`, the proxy looks up names, so that the guard sees only the host in the URL. A
    `resolver` that is passed in is not closed here.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        allow_private: bool = False,
        proxy: str | None = None,
        ca_file: str | None = None,
        resolver: AbstractResolver | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        if problem := header_problem(user_agent):
            raise ValueError(f"user_agent {problem}")
        self._user_agent, self._allow_private = user_agent, allow_private
        self._proxy, self._tls = proxy, tls_trusting(ca_file)
        self._resolver, self._clock = resolver, clock

    async def post(
        self, url: str, body: bytes, headers: Mapping[str, str], total: float = TOTAL
    ) -> Response | Unreachable:
        """Post a body once; the reply comes without its body, and failures are values."""
        start, sent = self._clock(), requestable(url)  # the guard judges what is sent
        if not self._allow_private and guard.refuses(host(sent)):
            return Unreachable(REFUSED)
        timeout = aiohttp.ClientTimeout(total=total, sock_connect=CONNECT)
        try:
            async with (
                self._session(timeout) as session,
                session.post(
                    URL(sent, encoded=True),
                    data=body,
                    headers=headers,
                    allow_redirects=False,
                    proxy=self._proxy,
                ) as reply,
            ):
                status = reply.status
                reply.close()  # its body is never read
        except FAILURES as failure:
            cause = cause_of(failure, has_proxy=self._proxy is not None)
            detail = tls_detail(failure) if cause == TLS else ""
            return Unreachable(cause, self._clock() - start, detail=detail)
        return Response(status, seconds=self._clock() - start)

    def _session(self, timeout: aiohttp.ClientTimeout) -> aiohttp.ClientSession:
        guarded = not self._allow_private and self._proxy is None
        return aiohttp.ClientSession(
            connector=guarded_connector(
                partial(open_socket, guarded=guarded),
                guarded=guarded,
                tls=self._tls,
                resolver=self._resolver,
            ),
            headers={"User-Agent": self._user_agent},
            cookie_jar=aiohttp.DummyCookieJar(),
            timeout=timeout,
            trust_env=False,
        )
