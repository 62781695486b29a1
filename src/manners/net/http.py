"""HTTP on aiohttp: one request, bounded in time and size, never to a refused address.

Whatever goes wrong between here and the server comes back as `Unreachable`, with the cause in a
few words of ours.
"""

import asyncio
import base64
import errno
import socket
import ssl
import threading
import time
import zlib
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from contextvars import ContextVar
from functools import lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from manners import _forks
from manners._text import header_problem, printable
from manners.errors import Broken, MissingExtra
from manners.net import guard
from manners.net.messages import REFUSED, TLS, Get, Response, Unreachable
from manners.urls import host, origin, requestable

try:
    import aiohttp
    from aiohttp.abc import AbstractResolver, ResolveResult
    from multidict import istr
    from yarl import URL
except ModuleNotFoundError as error:
    if error.name not in ("aiohttp", "multidict", "yarl"):
        raise
    raise MissingExtra("aiohttp", "crawl") from None

if TYPE_CHECKING:
    from aiohttp.connector import AddrInfoType, Connection

_CHUNK = 65_536
_MEMBERS = 100
"""Streams in one gzip body: more than one is rare, an endless row of empty ones an attack."""
_ENCODED = istr("Content-Encoding")
_LOOK_UPS = 64
"""Look-ups at a time: a name server that does not answer blocks a thread, and nobody else."""


class Departure(Protocol):
    """Who has to know when a request leaves: the gap to the next one counts from there."""

    @property
    def is_late(self) -> bool:
        """Whether it may not leave without asking."""

    async def departs(self) -> bool:
        """Whether it may leave now; asked only where it is late."""

    def left(self) -> None:
        """It has left just now."""


class Http:
    """Sends requests. Made anywhere, used in one event loop, closed there.

    `auth` is a name and a password for each origin that asks for them; they go nowhere else.
    With `proxy`, the proxy looks up names, so that the guard sees only what is written in the URL.
    A `resolver` that is passed stays open; whoever made it closes it.
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
        resolver: AbstractResolver | None = None,
    ) -> None:
        if problem := header_problem(user_agent):
            raise ValueError(f"user_agent {problem}")
        self._allow_private = allow_private
        self._user_agent, self._proxy = user_agent, proxy
        # A wrong file is an error here and now. True: aiohttp's own, with the system's authorities.
        self._tls = ssl.create_default_context(cafile=ca_file) if ca_file else True
        self._auth = {origin(url): _basic(*pair) for url, pair in (auth or {}).items()}
        self._connections, self._keep_alive = connections, keep_alive
        self._cookies = cookies
        self._resolver = resolver
        self._opened: _Opened | None = None
        self._reading: set[aiohttp.ClientResponse] = set()

    async def send(self, get: Get, departure: Departure | None = None) -> Response | Unreachable:
        """Send a request and read the reply, as far as it may be read."""
        start, url = time.monotonic(), requestable(get.url)  # what is judged is what is sent
        _SENDING.set(_Sending(departure))
        try:
            reply = await self._ask(url, get, get.total)
            self._heed(reply)
            self._reading.add(reply)
            try:
                body, complete = b"", True
                if (get.any_status or 200 <= reply.status < 300) and get.method != "HEAD":
                    # Most bodies say how long they are, and are not compressed: aiohttp reads no
                    # more than that.
                    size = reply.content_length
                    if size is None or size > get.max_bytes or _ENCODED in reply.headers:
                        body, complete = await _read(reply, get.max_bytes)
                    else:
                        body = await reply.read()
                if not complete:
                    reply.close()  # the rest is never read
            finally:
                self._reading.discard(reply)
                reply.release()
        except _FAILURES as failure:
            return self._failed(failure, start)
        return Response(reply.status, _headers(reply), body, complete, time.monotonic() - start)

    @asynccontextmanager
    async def stream(
        self, get: Get, departure: Departure | None = None
    ) -> AsyncIterator["Stream | Unreachable"]:
        """Send a request and hand out the body piece by piece; `total` ends with the headers."""
        start, url = time.monotonic(), requestable(get.url)
        _SENDING.set(_Sending(departure))
        try:
            async with asyncio.timeout(get.total):
                reply = await self._ask(url, get, None)
                self._heed(reply)
        except _FAILURES as failure:
            yield self._failed(failure, start)
            return
        self._reading.add(reply)
        try:
            yield Stream(reply, get.max_bytes, time.monotonic() - start, self._cause)
        finally:
            self._reading.discard(reply)
            reply.release()

    async def close(self) -> None:
        """Close what is open. Another request opens it again."""
        opened, self._opened = self._opened, None
        for reply in tuple(self._reading):  # whoever reads it would wait for the rest
            reply.close()
        if opened is not None:
            await opened.session.close()
            if opened.fresh is not None:
                await opened.fresh.close()

    def _ask(self, url: str, get: Get, total: float | None) -> Awaitable[aiohttp.ClientResponse]:
        """What is awaited for the reply to a request, its body still to be read."""
        if not self._allow_private and _refuses(host(url)):
            raise _Refused(host(url))
        headers: Mapping[str, str] | None = get.headers or None
        if self._auth and (own := self._auth.get(origin(url))):
            headers = {**own, **get.headers}
        return self._open(get.fresh).request(
            get.method,
            URL(url, encoded=True),
            headers=headers,
            allow_redirects=False,
            proxy=self._proxy,
            timeout=_limits(get.connect, get.read, total),
        )

    def _heed(self, reply: aiohttp.ClientResponse) -> None:
        if reply.status == 407 and self._proxy is not None:
            reply.close()
            raise _ProxyFailed  # RFC 9110 section 15.5.8: the proxy speaks, not the site

    def _open(self, fresh: bool = False) -> aiohttp.ClientSession:
        loop, fork = asyncio.get_running_loop(), _forks.generation
        if self._opened is not None and self._opened.fork != fork:
            _INHERITED.append(self._opened)
            self._opened = None
        if self._opened is None:
            cookies = (
                aiohttp.CookieJar(unsafe=True)  # of servers without a name, too
                if self._cookies
                else aiohttp.DummyCookieJar()
            )
            self._opened = _Opened(self._session(cookies, self._keep_alive), loop, fork)
        elif self._opened.loop is not loop:
            raise RuntimeError("in use in another event loop: close it there, or make one for each")
        if not fresh:
            return self._opened.session
        session = self._opened.fresh
        if session is None:
            session = self._session(self._opened.session.cookie_jar, keep_alive=False)
            self._opened = self._opened._replace(fresh=session)
        return session

    def _session(
        self, cookies: aiohttp.abc.AbstractCookieJar, keep_alive: bool
    ) -> aiohttp.ClientSession:
        guarded = not self._allow_private and self._proxy is None
        connector = aiohttp.TCPConnector(
            limit=self._connections,
            force_close=not keep_alive,
            use_dns_cache=False,  # one look-up for each connection, judged and used
            resolver=_GuardedResolver(self._resolver or _Resolver(), guarded),
            socket_factory=_guarded_socket if guarded else _socket,
            ssl=self._tls,
        )
        return aiohttp.ClientSession(
            connector=connector,
            headers={"User-Agent": self._user_agent, "Accept-Encoding": "gzip, deflate"},
            cookie_jar=cookies,
            auto_decompress=False,
            trust_env=False,
            request_class=_Request,
            response_class=_Reply,
        )

    def _failed(self, failure: BaseException, start: float) -> Unreachable:
        lost = isinstance(failure, _LostBefore | aiohttp.ClientConnectionResetError)
        is_stale, is_unsent = lost and not _SENDING.get().made, isinstance(failure, _TurnLost)
        cause = self._cause(failure)
        detail = _tls_detail(failure) if cause == TLS else ""
        return Unreachable(cause, time.monotonic() - start, is_stale, is_unsent, detail)

    def _cause(self, failure: BaseException) -> str:
        """Why there is no answer, in a few words."""
        if self._proxy is not None and isinstance(failure, aiohttp.ClientConnectorDNSError):
            return "proxy failed"  # its name is the only one that is looked up here
        return _cause(failure)


class Stream:
    """A reply whose body is read piece by piece, decompressed and bounded."""

    def __init__(
        self,
        reply: aiohttp.ClientResponse,
        limit: int,
        seconds: float,
        cause: Callable[[BaseException], str],
    ) -> None:
        self.begun = Response(reply.status, _headers(reply), seconds=seconds)
        """The reply without its body."""
        self.complete = True
        """False when the body is longer than what was asked for; known at its end."""
        self._reply, self._limit, self._cause = reply, limit, cause

    def close(self) -> None:
        """End it here and now: the rest is never read."""
        self._reply.close()

    async def chunks(self) -> AsyncIterator[bytes]:
        """The body, decompressed, up to the limit; `Broken` is raised where it breaks off."""
        left = self._limit
        try:
            async for piece in _pieces(self._reply, left):
                if len(piece) > left:
                    self.complete = False
                    self._reply.close()  # the rest is never read
                    yield piece[:left]
                    return
                left -= len(piece)
                yield piece
        except _FAILURES as failure:
            raise Broken(self._cause(failure)) from None


_refuses = lru_cache(maxsize=10_000)(guard.refuses)


@lru_cache(maxsize=128)
def _limits(connect: float, read: float, total: float | None) -> aiohttp.ClientTimeout:
    """The limits of time as aiohttp has them; a limit of 0 would be none."""
    return aiohttp.ClientTimeout(
        total=None if total is None else max(total, 0.001),
        sock_connect=connect,
        sock_read=read if total is None or read < total else None,
        ceil_threshold=float("inf"),  # to the point: aiohttp would round up to whole seconds
    )


def _headers(reply: aiohttp.ClientResponse) -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in reply.headers.items():
        name = name.lower()
        if name in found:  # several are one list (RFC 9110 section 5.3), but for this one
            value = found[name] + ("\n" if name == "x-robots-tag" else ", ") + value
        found[name] = value
    return found


class _Opened(NamedTuple):
    """A session, and where it may be used."""

    session: aiohttp.ClientSession
    loop: asyncio.AbstractEventLoop
    fork: int
    fresh: aiohttp.ClientSession | None = None
    """For requests that need a new connection each."""


_INHERITED: list[_Opened] = []
"""Sessions of the process this one was forked from: to close them would disturb it."""


def _basic(name: str, password: str) -> dict[str, str]:
    """The header that says who asks (RFC 7617)."""
    if ":" in name:
        raise ValueError("a name with a colon cannot be told from its password")
    pair = base64.b64encode(f"{name}:{password}".encode())
    return {"Authorization": f"Basic {pair.decode()}"}


class _Sending:
    """A request on its way: who has to know when it leaves, and the connections made for it."""

    __slots__ = ("departure", "made")

    def __init__(self, departure: Departure | None) -> None:
        self.departure, self.made = departure, 0


_SENDING: ContextVar[_Sending] = ContextVar("the request that is being sent")


class _Request(aiohttp.ClientRequest):
    """A request that leaves only while it is its turn."""

    def send(self, conn: "Connection") -> Any:
        departure = _SENDING.get().departure
        if departure is None or not departure.is_late:
            return super().send(conn)
        return self._send_late(conn, departure)

    async def _send_late(self, conn: "Connection", departure: Departure) -> aiohttp.ClientResponse:
        if not await departure.departs():
            conn.release()  # for the next turn: to connect may be what took so long
            raise _TurnLost
        return await super().send(conn)


class _Reply(aiohttp.ClientResponse):
    """A reply to a request that is sent one time.

    When the connection is lost, aiohttp would send the request again, and nobody would have waited
    for it, nor have a slot for it.
    """

    async def start(self, connection: "Connection") -> aiohttp.ClientResponse:
        departure = _SENDING.get().departure
        if departure is not None:
            departure.left()  # aiohttp has written it just now, and waits for the answer
        try:
            return await super().start(connection)
        except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as lost:
            raise _LostBefore from lost


class _Lost(aiohttp.ClientError):
    """A connection that ended too early."""


class _LostBefore(_Lost):
    """A connection that ended before the answer."""


class _TurnLost(aiohttp.ClientError):
    """A request that could not leave in time."""


class _ProxyFailed(aiohttp.ClientError):
    """A proxy that answered for itself."""


# Where a request may go.


class _Refused(OSError):
    """An address that the guard refuses."""

    def __init__(self, address: str) -> None:
        super().__init__(errno.EACCES, f"{address}: refused address")


class _Resolver(AbstractResolver):
    """The system's look-up, in threads of its own that nobody waits for, not even at exit."""

    def __init__(self) -> None:
        self._turns = asyncio.Semaphore(_LOOK_UPS)

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[list[Any]] = loop.create_future()

        def tell(found: list[Any], failure: Exception | None) -> None:
            self._turns.release()  # only now: whoever stopped waiting did not stop the thread
            if not answer.done():
                answer.set_exception(failure) if failure else answer.set_result(found)

        def look_up() -> None:
            found, failure = [], None
            try:
                found = _look_up(host, port, family)
            except Exception as error:
                failure = error
            with suppress(RuntimeError):  # the loop is closed
                loop.call_soon_threadsafe(tell, found, failure)

        await self._turns.acquire()
        threading.Thread(target=look_up, name="manners-look-up", daemon=True).start()
        found = await answer
        return [
            ResolveResult(
                hostname=host,
                host=str(address[0]),
                port=int(address[1]),
                family=kind,
                proto=protocol,
                flags=socket.AI_NUMERICHOST,
            )
            for kind, _, protocol, _, address in found
        ]

    async def close(self) -> None:
        pass


def _look_up(host: str, port: int, family: socket.AddressFamily) -> list[Any]:
    flags = socket.AI_ADDRCONFIG
    try:
        return socket.getaddrinfo(host, port, family=family, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:  # a label that is empty, or too long
        raise socket.gaierror(socket.EAI_NONAME, "not a host name") from None


class _GuardedResolver(AbstractResolver):
    """Refuses a name when one of its addresses is refused."""

    def __init__(self, resolver: AbstractResolver, guarded: bool) -> None:
        self._resolver, self._guarded = resolver, guarded

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        found = await self._resolver.resolve(host, port, family)
        for each in found if self._guarded else ():
            if guard.is_refused(ip_address(each["host"].partition("%")[0])):
                raise _Refused(each["host"])
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "no address")
        return found

    async def close(self) -> None:
        await self._resolver.close()


def _guarded_socket(address: "AddrInfoType") -> socket.socket:
    """The last gate: it sees the very address that is about to be connected to."""
    where = address[4]
    if guard.is_refused(ip_address(str(where[0]).partition("%")[0])):
        raise _Refused(str(where[0]))
    return _socket(address)


def _socket(address: "AddrInfoType") -> socket.socket:
    made = socket.socket(*address[:3])
    made.setblocking(False)
    _SENDING.get().made += 1
    return made


# What comes back.


class _Unreadable(Exception):
    """A body that cannot be decoded."""


async def _read(reply: aiohttp.ClientResponse, limit: int) -> tuple[bytes, bool]:
    """The body up to a limit, decompressed, and whether that is all of it."""
    body = bytearray()
    async for piece in _pieces(reply, limit):
        body += piece
        if len(body) > limit:
            return bytes(body[:limit]), False
    return bytes(body), True


async def _pieces(reply: aiohttp.ClientResponse, limit: int) -> AsyncIterator[bytes]:
    """The body piece by piece, decompressed; no more than a byte beyond the limit."""
    decode, ending = _decoder(reply.headers.get("Content-Encoding", "")), _ending(reply)
    left = limit
    async for chunk in reply.content.iter_chunked(_CHUNK):
        piece = decode.feed(chunk, left + 1)
        left -= len(piece)
        yield piece
        if left < 0:
            return
    if ending is not None and ending.done() and ending.exception() is not None:
        raise _Lost
    decode.end()


def _ending(reply: aiohttp.ClientResponse) -> "asyncio.Future[None] | None":
    """The end of the connection, where that is the end of the body, be it a break for aiohttp."""
    connection = reply.connection
    if connection is None or connection.protocol is None:
        return None
    if "Content-Length" in reply.headers or "Transfer-Encoding" in reply.headers:
        return None
    ending = connection.protocol.closed
    if ending is not None:
        ending.add_done_callback(lambda end: end.cancelled() or end.exception())  # is seen
    return ending


class _Plain:
    """A body that is not compressed."""

    def feed(self, chunk: bytes, room: int) -> bytes:
        return chunk[:room]

    def end(self) -> None:
        pass


class _Zipped(_Plain):
    """A body in gzip or deflate, decompressed no further than there is room."""

    def __init__(self, window: int) -> None:
        self._window, self._members, self._fed = window, 0, False
        self._inflate = zlib.decompressobj(window)
        self._begun = b""

    def feed(self, chunk: bytes, room: int) -> bytes:
        if not self._fed:  # the first two bytes tell zlib from bare deflate, and they come together
            chunk = self._begun + chunk
            self._begun = chunk[:2]
            if len(chunk) < 2:
                return b""
        out = bytearray()
        while chunk and len(out) < room:
            if self._inflate.eof:  # RFC 1952 section 2.2: one member may follow another
                self._members += 1
                if self._window < 0 or self._members >= _MEMBERS:
                    raise _Unreadable
                self._inflate = zlib.decompressobj(self._window)
            try:
                out += self._inflate.decompress(chunk, room - len(out))
            except zlib.error:
                # "deflate" is zlib (RFC 9110 section 8.4.1.2); some servers send it bare.
                if self._fed or self._window != zlib.MAX_WBITS:
                    raise
                self._window = -zlib.MAX_WBITS
                self._inflate = zlib.decompressobj(self._window)
                continue
            self._fed = True
            chunk = self._inflate.unused_data if self._inflate.eof else b""
        return bytes(out)

    def end(self) -> None:
        if self._begun and not self._inflate.eof:
            raise _Unreadable


def _decoder(encoding: str) -> _Plain:
    match encoding.strip().lower():
        case "" | "identity":
            return _Plain()
        case "gzip" | "x-gzip":
            return _Zipped(zlib.MAX_WBITS | 16)
        case "deflate":
            return _Zipped(zlib.MAX_WBITS)
    raise _Unreadable  # not offered, and not ours to guess


_FAILURES = (aiohttp.ClientError, OSError, ValueError, zlib.error, _Unreadable)
# The first that fits; the special before the general.
_CAUSES: tuple[tuple[type[BaseException], str], ...] = (
    (_Refused, REFUSED),
    (TimeoutError, "timeout"),
    (ssl.SSLError, TLS),
    (aiohttp.ClientSSLError, TLS),
    (aiohttp.ClientProxyConnectionError, "proxy failed"),
    (aiohttp.ClientHttpProxyError, "proxy failed"),
    (_ProxyFailed, "proxy failed"),
    (_TurnLost, "turn lost"),
    (aiohttp.ClientConnectorDNSError, "no such host"),
    (ConnectionRefusedError, "connection refused"),
    (aiohttp.ClientConnectorError, "cannot connect"),
    (aiohttp.ClientPayloadError, "body cut short"),
    (aiohttp.ServerDisconnectedError, "connection lost"),
    (_Lost, "connection lost"),
    (OSError, "connection lost"),
    (aiohttp.ClientResponseError, "not HTTP"),
    (_Unreadable, "bad content-encoding"),
    (zlib.error, "bad content-encoding"),
)


def _cause(failure: BaseException) -> str:
    """Why there is no answer, in a few words."""
    below = getattr(failure, "os_error", failure)  # what aiohttp wrapped tells more
    for kind, cause in _CAUSES:
        if isinstance(below, kind) or isinstance(failure, kind):
            return cause
    return f"failed ({type(failure).__name__})"


# Codes of OpenSSL's X509_verify_cert, and reasons of its alerts, in words.
_NOT_TRUSTED = {
    18: "certificate not trusted (self-signed)",
    19: "certificate not trusted (self-signed certificate in its chain)",
    20: "certificate not trusted (unknown issuer)",
    21: "certificate not trusted (incomplete chain)",
    9: "certificate not yet valid",
    10: "certificate expired",
    62: "certificate is for another host",
    64: "certificate is for another address",
}
_HANDSHAKE = {
    "WRONG_VERSION_NUMBER": "the server does not speak TLS on this port",
    "HTTP_REQUEST": "the server does not speak TLS on this port",
    "UNSUPPORTED_PROTOCOL": "no TLS version in common",
    "TLSV1_ALERT_PROTOCOL_VERSION": "no TLS version in common",
    "UNEXPECTED_EOF_WHILE_READING": "the server broke off the handshake",
}


def _tls_detail(failure: BaseException) -> str:
    """Why no connection could be trusted, in words of ours or of OpenSSL's."""
    below = getattr(failure, "os_error", failure)
    below = getattr(below, "certificate_error", below)  # aiohttp's wrapping of this kind
    if isinstance(below, ssl.SSLCertVerificationError):
        known = _NOT_TRUSTED.get(below.verify_code)
        return known or f"certificate not trusted ({printable(below.verify_message)[:100]})"
    reason = getattr(below, "reason", None) or ""
    return _HANDSHAKE.get(reason) or reason.lower().replace("_", " ")[:100]
