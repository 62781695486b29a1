"""HTTP on aiohttp: one request, bounded in time and size, never to a refused address.

Every failure between here and the server comes back as `Unreachable`, with the cause in a few words
of ours.
"""

import asyncio
import base64
import socket
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import lru_cache, partial
from typing import TYPE_CHECKING, NamedTuple

from manners import _forks
from manners._text import header_problem
from manners.errors import Broken, MissingExtra
from manners.net import guard
from manners.net.messages import TLS, Exchange, Get, Response, Unreachable, joined
from manners.urls import host, origin, requestable

try:
    import aiohttp
    from aiohttp.abc import AbstractCookieJar, AbstractResolver
    from multidict import istr
    from yarl import URL

    from manners.net.bodies import ENCODINGS, pieces, read_body
    from manners.net.capture import Capture, exchange_of
    from manners.net.connecting import guarded_connector, tls_trusting, tls_with
    from manners.net.cookies import Cookies
    from manners.net.departures import (
        ATTEMPT,
        Attempt,
        Departure,
        LostBeforeReply,
        PacedRequest,
        SingleReply,
        TurnLost,
    )
    from manners.net.failures import FAILURES, ProxyFailed, cause_of, tls_detail
    from manners.net.resolver import RefusedAddress, open_socket
except ModuleNotFoundError as error:
    if error.name not in ("aiohttp", "multidict", "yarl"):
        raise
    raise MissingExtra("aiohttp", "crawl") from None

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType

_CONTENT_ENCODING = istr("Content-Encoding")


class Http:
    """Sends requests. Made anywhere, used in one event loop, closed there.

    `auth` has a name and a password for each origin that needs them, `client_certs` a file with a
    certificate and its key; they are sent nowhere else.
    The cookies of `cookie_file` go to the domains that it names. With `proxy`, the proxy looks up
    names, so that the guard sees only the host in the URL. A
    `resolver` that is passed in is not closed here. `clock` measures how long replies take.
    With `captures`, replies come with what was on the wire.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        allow_private: bool = False,
        proxy: str | None = None,
        ca_file: str | None = None,
        auth: Mapping[str, tuple[str, str]] | None = None,
        connections: int = 256,
        keep_alive: bool = False,
        cookies: bool = False,
        cookie_file: str | None = None,
        client_certs: Mapping[str, str] | None = None,
        resolver: AbstractResolver | None = None,
        clock: Callable[[], float] = time.monotonic,
        captures: bool = False,
    ) -> None:
        if problem := header_problem(user_agent):
            raise ValueError(f"user_agent {problem}")
        self._allow_private = allow_private
        self._user_agent, self._proxy = user_agent, proxy
        # A bad file is an error right here.
        self._tls = tls_trusting(ca_file)
        self._of_origins = _OfOrigins(
            {origin(url): _basic(*login) for url, login in (auth or {}).items()},
            {origin(url): tls_with(ca_file, file) for url, file in (client_certs or {}).items()},
        )
        self._pool = _ConnectionPool(connections, keep_alive)
        self._cookies = cookies
        self._from_file = None if cookie_file is None else Cookies.read(cookie_file)
        self._resolver, self._clock, self.captures = resolver, clock, captures
        self._notes_address = captures and proxy is None
        self._sessions: _Sessions | None = None
        self._reading: set[aiohttp.ClientResponse] = set()

    async def send(self, get: Get, departure: Departure | None = None) -> Response | Unreachable:
        """Send a request and read the reply, up to its limit."""
        start, url = self._clock(), requestable(get.url)  # the guard judges what is sent
        ATTEMPT.set(Attempt(departure, wants_address=self._notes_address))
        try:
            reply = await self._request(url, get, get.total)
            self._check_proxy(reply)
            self._reading.add(reply)
            try:
                body, complete, exchange = await self._read(reply, get)
                if not complete:
                    reply.close()  # the rest is never read
            finally:
                self._reading.discard(reply)
                reply.release()
        except FAILURES as failure:
            return self._unreachable(failure, start)
        seconds = self._clock() - start
        headers = joined(reply.headers.items())
        return Response(reply.status, headers, body, complete, seconds, exchange)

    async def _read(
        self, reply: aiohttp.ClientResponse, get: Get
    ) -> tuple[bytes, bool, Exchange | None]:
        """The body, whether it is complete, and what was on the wire."""
        body, complete, raw, limit = b"", True, None, get.max_bytes
        is_read = (get.any_status or 200 <= reply.status < 300) and get.method != "HEAD"
        if is_read:
            # Most bodies have a length and are not compressed: aiohttp reads no more.
            size, is_encoded = reply.content_length, _CONTENT_ENCODING in reply.headers
            if size is None or size > limit or is_encoded:
                raw = Capture(limit) if self.captures and is_encoded else None
                body, complete = await read_body(reply, limit, raw)
            else:
                body = await reply.read()
        if not self.captures:
            return body, complete, None
        is_cut = not complete or (raw is not None and raw.is_cut)
        received = body if raw is None else raw.body
        exchange = exchange_of(reply, received, is_cut=is_cut, is_read=is_read)
        return body, complete, exchange

    @asynccontextmanager
    async def stream(
        self, get: Get, departure: Departure | None = None
    ) -> AsyncIterator["Stream | Unreachable"]:
        """Send a request and read the body piece by piece; `total` ends with the headers."""
        start, url = self._clock(), requestable(get.url)
        ATTEMPT.set(Attempt(departure, wants_address=self._notes_address))
        try:
            async with asyncio.timeout(get.total):
                reply = await self._request(url, get, None)
                self._check_proxy(reply)
        except FAILURES as failure:
            yield self._unreachable(failure, start)
            return
        self._reading.add(reply)
        try:
            capture = Capture(get.max_bytes) if self.captures else None
            yield Stream(reply, get.max_bytes, self._clock() - start, self._cause, capture)
        finally:
            self._reading.discard(reply)
            reply.release()

    async def close(self) -> None:
        """Close the connections. Another request opens new ones."""
        sessions, self._sessions = self._sessions, None
        for reply in tuple(self._reading):  # its reader would wait for the rest
            reply.close()
        if sessions is not None:
            await sessions.shared.close()
            if sessions.fresh is not None:
                await sessions.fresh.close()

    def _request(
        self, url: str, get: Get, total: float | None
    ) -> Awaitable[aiohttp.ClientResponse]:
        """Send a request; its reply comes without the body."""
        if not self._allow_private and _refuses(host(url)):
            raise RefusedAddress(host(url))
        headers: Mapping[str, str] | None = get.headers or None
        logins, tls = self._of_origins
        if logins and (login := logins.get(origin(url))) and not _has(get.headers, "authorization"):
            headers = {**login, **get.headers}
        if get.all_encodings and not _has(get.headers, "accept-encoding"):
            headers = {"Accept-Encoding": ENCODINGS, **(headers or {})}
        if self._from_file is not None:
            headers = _with_cookies(headers or {}, self._from_file.header(url, time.time()))
        return self._session(get.fresh).request(
            get.method,
            URL(url, encoded=True),
            headers=headers,
            data=get.body or None,
            allow_redirects=False,
            proxy=self._proxy,
            ssl=tls.get(origin(url), True) if tls else True,
            timeout=_timeouts(get.connect, get.read, total),
        )

    def _check_proxy(self, reply: aiohttp.ClientResponse) -> None:
        if reply.status == 407 and self._proxy is not None:
            reply.close()
            raise ProxyFailed  # RFC 9110 section 15.5.8: from the proxy, not from the site

    def _session(self, fresh: bool) -> aiohttp.ClientSession:
        """The session for a request, opened when first used."""
        loop, fork = asyncio.get_running_loop(), _forks.generation
        if self._sessions is not None and self._sessions.fork != fork:
            _INHERITED.append(self._sessions)
            self._sessions = None
        if self._sessions is None:
            cookies = (
                aiohttp.CookieJar(unsafe=True)  # of hosts that are addresses, too
                if self._cookies
                else aiohttp.DummyCookieJar()
            )
            self._sessions = _Sessions(self._open(cookies, self._pool.keep_alive), loop, fork)
        elif self._sessions.loop is not loop:
            raise RuntimeError("in use in another event loop: close it there, or make one for each")
        if not fresh:
            return self._sessions.shared
        session = self._sessions.fresh
        if session is None:
            session = self._open(self._sessions.shared.cookie_jar, keep_alive=False)
            self._sessions = self._sessions._replace(fresh=session)
        return session

    def _open(self, cookies: AbstractCookieJar, keep_alive: bool) -> aiohttp.ClientSession:
        guarded = not self._allow_private and self._proxy is None
        connector = guarded_connector(
            partial(_socket, guarded),
            guarded=guarded,
            tls=self._tls,
            resolver=self._resolver,
            connections=self._pool.connections,
            keep_alive=keep_alive,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "gzip, deflate"},
            cookie_jar=cookies,
            auto_decompress=False,
            trust_env=False,
            request_class=PacedRequest,
            response_class=SingleReply,
        )

    def _unreachable(self, failure: BaseException, start: float) -> Unreachable:
        lost = isinstance(failure, LostBeforeReply | aiohttp.ClientConnectionResetError)
        is_stale = lost and not ATTEMPT.get().connections
        cause = self._cause(failure)
        return Unreachable(
            cause,
            self._clock() - start,
            is_stale,
            is_unsent=isinstance(failure, TurnLost),
            detail=tls_detail(failure) if cause == TLS else "",
        )

    def _cause(self, failure: BaseException) -> str:
        return cause_of(failure, has_proxy=self._proxy is not None)


class Stream:
    """A reply whose body is read piece by piece, decompressed and limited."""

    def __init__(
        self,
        reply: aiohttp.ClientResponse,
        limit: int,
        seconds: float,
        cause: Callable[[BaseException], str],
        capture: Capture | None = None,
    ) -> None:
        self.head = Response(reply.status, joined(reply.headers.items()), seconds=seconds)
        """The reply without its body."""
        self.complete = True
        """False when the body is larger than the limit; known at its end."""
        self._reply, self._limit, self._cause = reply, limit, cause
        self._capture, self._has_ended = capture, False

    @property
    def exchange(self) -> Exchange | None:
        """What was sent and received so far, if it is to be archived."""
        capture = self._capture
        if capture is None:
            return None
        is_cut = capture.is_cut or not (self.complete and self._has_ended)
        if self._reply.method == "HEAD" or self._reply.content_length == 0:
            is_cut = False
        return exchange_of(self._reply, capture.body, is_cut=is_cut)

    def close(self) -> None:
        """Close the connection; the rest is never read."""
        self._reply.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed, up to the limit; raises `Broken` if it breaks off."""
        room = self._limit
        try:
            async for piece in pieces(self._reply, room, self._capture):
                if len(piece) > room:
                    self.complete = False
                    self._reply.close()  # the rest is never read
                    yield piece[:room]
                    return
                room -= len(piece)
                yield piece
            self._has_ended = True
        except FAILURES as failure:
            raise Broken(self._cause(failure)) from None


class _ConnectionPool(NamedTuple):
    """How many connections there may be, and whether they stay open."""

    connections: int
    keep_alive: bool


class _OfOrigins(NamedTuple):
    """What only one origin each is sent: a header with a login; TLS with a certificate."""

    logins: Mapping[str, Mapping[str, str]]
    tls: Mapping[str, ssl.SSLContext]


class _Sessions(NamedTuple):
    """The sessions of one event loop in one process."""

    shared: aiohttp.ClientSession
    loop: asyncio.AbstractEventLoop
    fork: int
    fresh: aiohttp.ClientSession | None = None
    """For requests that need a new connection each."""


_INHERITED: list[_Sessions] = []
"""Sessions of the process this one was forked from: closing them would disturb it."""

_refuses = lru_cache(maxsize=10_000)(guard.refuses)


def _socket(guarded: bool, address: "AddrInfoType") -> socket.socket:
    opened = open_socket(address, guarded)
    ATTEMPT.get().connections += 1
    return opened


@lru_cache(maxsize=128)
def _timeouts(connect: float, read: float, total: float | None) -> aiohttp.ClientTimeout:
    """The timeouts as aiohttp has them, where 0 would be none."""
    return aiohttp.ClientTimeout(
        total=None if total is None else max(total, 0.001),
        sock_connect=connect,
        sock_read=read if total is None or read < total else None,
        ceil_threshold=float("inf"),  # exact: aiohttp would round up to whole seconds
    )


def _with_cookies(headers: Mapping[str, str], cookies: str) -> Mapping[str, str]:
    """Headers with these cookies, behind those that they have."""
    if not cookies:
        return headers
    name = next((name for name in headers if name.lower() == "cookie"), "Cookie")
    return {**headers, name: "; ".join(filter(None, (headers.get(name), cookies)))}


def _has(headers: Mapping[str, str], wanted: str) -> bool:
    return any(name.lower() == wanted for name in headers)


def _basic(name: str, password: str) -> dict[str, str]:
    """The header of Basic authentication (RFC 7617)."""
    if ":" in name:
        raise ValueError("a user name may not contain a colon")
    login = base64.b64encode(f"{name}:{password}".encode())
    return {"Authorization": f"Basic {login.decode()}"}
