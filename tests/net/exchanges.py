"""One request to a server on loopback, and what comes of it."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import trustme
from aiohttp.abc import AbstractResolver

from manners.net.http import Http
from manners.net.messages import Get, Response, Unreachable
from tests.net.servers import Answer, Server, serving

AGENT = "Test/1.0 (+https://example.com/bot)"


@asynccontextmanager
async def opened(
    *,
    keep_alive: bool = False,
    resolver: AbstractResolver | None = None,
    ca_file: str | None = None,
    auth: Mapping[str, tuple[str, str]] | None = None,
    connections: int = 256,
    allow_private: bool = True,
    proxy: str | None = None,
) -> AsyncIterator[Http]:
    """An `Http` that may go to loopback addresses, closed in the end."""
    sender = Http(
        user_agent=AGENT,
        allow_private=allow_private,
        proxy=proxy,
        keep_alive=keep_alive,
        resolver=resolver,
        ca_file=ca_file,
        auth=auth,
        connections=connections,
    )
    try:
        yield sender
    finally:
        await sender.close()


def exchange(
    answer: bytes | Answer,
    path: str = "/",
    *,
    headers: Mapping[str, str] | None = None,
    max_bytes: int = 1000,
    read: float = 3.0,
    total: float = 10.0,
) -> tuple[Response | Unreachable, Server]:
    """What comes of one request, and the server that was asked."""

    async def main() -> tuple[Response | Unreachable, Server]:
        async with serving(answer) as server, opened() as sender:
            url = f"http://127.0.0.1:{server.port}{path}"
            get = Get(url, headers or {}, max_bytes, read=read, total=total)
            return await sender.send(get), server

    return asyncio.run(main())


def ok(reply: Response | Unreachable) -> Response:
    """The answer; a failure when there is none."""
    assert isinstance(reply, Response), reply
    return reply


def cause(reply: Response | Unreachable) -> str:
    """Why there is no answer; a failure when there is one."""
    assert isinstance(reply, Unreachable), reply
    return reply.cause


def answer_with(body: bytes, *headers: str, status: str = "200 OK") -> bytes:
    """A reply that says how long it is."""
    lines = [f"HTTP/1.1 {status}", f"Content-Length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


def certified(folder: Path, *names: str) -> tuple[ssl.SSLContext, str]:
    """TLS for a server of these names, and a file with the authority that vouches for it."""
    authority, ca_file = trustme.CA(), folder / "ca.pem"
    authority.cert_pem.write_to_path(ca_file)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(tls)
    return tls, str(ca_file)
