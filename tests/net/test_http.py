"""One request over a real connection: what is sent, what is read, what a failure is called."""

import asyncio
import gzip
import os
import socket
import ssl
import threading
import zlib
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from aiohttp.abc import AbstractResolver
from hypothesis import given
from hypothesis import strategies as st

from manners.cache.robots import AsyncRobotsCache
from manners.errors import InvalidURL
from manners.net import http
from manners.net.http import Http
from manners.net.messages import Get, Response, Unreachable
from manners.urls import requestable
from tests.net.servers import OK, Answer, Answers, Server, serving

AGENT = "Test/1.0 (+https://example.com/bot)"


@asynccontextmanager
async def opened(
    *,
    keep_alive: bool = False,
    resolver: AbstractResolver | None = None,
    ca_file: str | None = None,
    auth: Mapping[str, tuple[str, str]] | None = None,
    connections: int = 256,
) -> AsyncIterator[Http]:
    """An `Http` that may go to loopback addresses, closed in the end."""
    made = Http(
        user_agent=AGENT,
        allow_private=True,
        keep_alive=keep_alive,
        resolver=resolver,
        ca_file=ca_file,
        auth=auth,
        connections=connections,
    )
    try:
        yield made
    finally:
        await made.close()


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


# What is sent.


def test_headers_are_these_and_no_others() -> None:
    """The agent introduces itself, and offers what it can decompress within bounds."""
    reply, server = exchange(OK)
    assert ok(reply).body == b"hi"
    assert server.heads[0].startswith(b"GET / HTTP/1.1\r\n")
    assert server.headers() == {
        "host": f"127.0.0.1:{server.port}",
        "user-agent": AGENT,
        "accept": "*/*",
        "accept-encoding": "gzip, deflate",
        "connection": "close",
    }


def test_headers_of_a_request_are_added() -> None:
    """A request may bring headers of its own, and they win, however they are written."""
    _, server = exchange(
        OK, headers={"If-None-Match": '"a"', "accept-encoding": "identity", "user-agent": "Other"}
    )
    sent = server.headers()
    assert (sent["if-none-match"], sent["accept-encoding"]) == ('"a"', "identity")
    assert sent["user-agent"] == "Other"


@pytest.mark.parametrize("value", ["a\r\nX-Evil: 1", "a\nX-Evil: 1", "a\rb", "a\0b"])
def test_a_header_cannot_smuggle_another(value: str) -> None:
    """A line break in a value sends nothing at all."""
    reply, server = exchange(OK, headers={"If-None-Match": value})
    assert cause(reply) == "failed (ValueError)"
    assert server.heads == []


@pytest.mark.parametrize(
    ("path", "arrives"),
    [
        *(
            (same, same)
            for same in ("/%7e", "/~", "/a%2Fb%2fc", "/%41%zz%", "/a/../b/./c", "//a//b")
        ),
        *(
            (same, same)
            for same in ("/a;b=c,d", "/?a=b+c&d=%20", "/a?b?c", "/[x]?[y]", "/@:!$'()*")
        ),
        ("/a b", "/a%20b"),
        ("/bücher?ü=ü", "/b%C3%BCcher?%C3%BC=%C3%BC"),
        ('/"<>\\^`{|}', "/%22%3C%3E%5C%5E%60%7B%7C%7D"),
        ("/a\r\nX-Evil: 1", "/a%0D%0AX-Evil:%201"),
        ("/a\tb\x00c\x7f", "/a%09b%00c%7F"),
        ("/a#b", "/a"),
        ("?a", "/?a"),
        ("", "/"),
    ],
)
def test_a_url_arrives_as_it_is_written(path: str, arrives: str) -> None:
    """Nothing is decoded or encoded again; what may not be sent as it is, is percent-encoded."""
    _, server = exchange(OK, path)
    assert server.targets == [arrives.encode()]


@pytest.mark.xfail(reason="yarl drops the mark of an empty query")
def test_an_empty_query_arrives() -> None:
    """`/a?` is another URL than `/a`."""
    _, server = exchange(OK, "/a?")
    assert server.targets == [b"/a?"]


@given(st.text(st.characters(codec="utf-8"), max_size=40))
def test_a_requestable_url_stays_as_it_is(path: str) -> None:
    """What is ready to be sent is not changed by being made ready again."""
    once = requestable("http://example.com/" + path)
    assert requestable(once) == once
    assert once.isascii()
    assert " " not in once


@pytest.mark.parametrize(
    "url",
    [
        *("ftp://127.0.0.1/", "file:///etc/passwd", "127.0.0.1", "/a", "", "http://", "http:///a"),
        *("http://a b/", "http://[::1/", "http://127.0.0.1:99999/", "http://a\\@127.0.0.1/"),
    ],
)
@pytest.mark.parametrize("allow_private", [True, False])
def test_what_is_no_url_is_an_error(url: str, allow_private: bool) -> None:
    """That is the caller's mistake, not the network's."""

    async def main() -> None:
        sender = Http(user_agent=AGENT, allow_private=allow_private)
        with pytest.raises(InvalidURL):
            await sender.send(Get(url))
        await sender.close()

    asyncio.run(main())


# Names and passwords.


def test_a_password_goes_to_its_origin_only() -> None:
    """Another port, another name or another scheme is another origin."""

    async def main() -> None:
        async with serving() as mine, serving() as other:
            known = {f"http://SITE.example:{mine.port}/": ("me", "pässword")}
            async with opened(auth=known, resolver=Answers(["127.0.0.1"])) as sender:
                ok(await sender.send(Get(f"http://site.example:{mine.port}/a")))
                sent = mine.headers()["authorization"]
                assert sent == "Basic bWU6cMOkc3N3b3Jk"
                for url in (
                    f"http://other.example:{mine.port}/",
                    f"http://sub.site.example:{mine.port}/",
                    f"http://site.example.:{mine.port}/",
                    f"http://127.0.0.1:{mine.port}/",
                ):
                    ok(await sender.send(Get(url)))
                    assert "authorization" not in mine.headers(), url
                ok(await sender.send(Get(f"http://site.example:{other.port}/")))
                assert "authorization" not in other.headers()

    asyncio.run(main())


def test_a_password_is_not_carried_along_by_a_redirect() -> None:
    """Each hop gets what belongs to its own origin."""

    async def main() -> None:
        async with serving() as other:
            there = f"Location: http://127.0.0.1:{other.port}/robots.txt"
            async with serving(answer_with(b"", there, status="302 Found")) as mine:
                known = {f"http://127.0.0.1:{mine.port}": ("me", "secret")}
                async with opened(auth=known) as sender, AsyncRobotsCache(http=sender) as cache:
                    await cache.get(f"http://127.0.0.1:{mine.port}/")
                assert "authorization" in mine.headers()
                assert len(other.heads) == 1
                assert "authorization" not in other.headers()

    asyncio.run(main())


def test_a_password_in_a_url_is_not_sent() -> None:
    """URLs come from others; passwords come from `auth`."""

    async def main() -> None:
        async with serving() as server:
            known = {f"http://127.0.0.1:{server.port}": ("me", "secret")}
            for auth in (None, known):
                async with opened(auth=auth) as sender:
                    ok(await sender.send(Get(f"http://you:other@127.0.0.1:{server.port}/")))
            assert "authorization" not in server.headers(0)
            assert server.headers(1)["authorization"] == "Basic bWU6c2VjcmV0"
            assert server.targets == [b"/", b"/"]

    asyncio.run(main())


def test_a_name_with_a_colon_is_an_error() -> None:
    """It could not be told from its password (RFC 7617 section 2)."""
    with pytest.raises(ValueError, match="colon"):
        Http(user_agent=AGENT, auth={"http://example.com": ("a:b", "c")})


# TLS.


@contextmanager
def certified(tmp_path: Path, *names: str) -> Iterator[tuple[ssl.SSLContext, str]]:
    """A server's side of TLS for these names, and the file of the authority behind it."""
    authority = trustme.CA()
    path = tmp_path / "ca.pem"
    authority.cert_pem.write_to_path(path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(*names).configure_cert(context)
    yield context, str(path)


def test_a_certificate_of_the_given_authority_is_trusted(tmp_path: Path) -> None:
    """With `ca_file` a server answers for the names in its certificate, and for no others."""

    async def main(tls: ssl.SSLContext, ca_file: str) -> None:
        async with serving(tls=tls) as server:
            for trusted, name, works in (
                (ca_file, "site.example", True),
                (ca_file, "127.0.0.1", True),
                (ca_file, "site.example.", True),
                (ca_file, "other.example", False),
                (ca_file, "sub.site.example", False),
                (None, "site.example", False),
            ):
                async with opened(ca_file=trusted, resolver=Answers(["127.0.0.1"])) as sender:
                    reply = await sender.send(Get(f"https://{name}:{server.port}/"))
                    assert isinstance(reply, Response) is works, name
                    assert works or cause(reply) == "TLS error"
            assert len(server.heads) == 3  # nothing is sent before the certificate is checked

    with certified(tmp_path, "site.example", "127.0.0.1") as (tls, ca_file):
        asyncio.run(main(tls, ca_file))


def test_no_tls_where_tls_is_expected() -> None:
    """A server that speaks plain HTTP on a TLS port gets no request."""

    async def main() -> None:
        async with serving() as server, opened() as sender:
            # The greeting of TLS is no request; the server waits for one, or gives up.
            reply = await sender.send(Get(f"https://127.0.0.1:{server.port}/", connect=0.1))
            assert cause(reply) in ("TLS error", "timeout", "connection lost")
            assert server.heads == []

    asyncio.run(main())


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_an_authority_that_cannot_be_read_is_an_error(tmp_path: Path, content: str | None) -> None:
    """A wrong `ca_file` is told at once, and not taken for a site that cannot be reached."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(OSError):  # noqa: PT011 (which one is OpenSSL's business)
        Http(user_agent=AGENT, ca_file=str(path))


# Bodies.

TEXT = b"User-agent: *\nDisallow: /a\n" * 4


def bare(data: bytes) -> bytes:
    """Deflate without the zlib header."""
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return squeeze.compress(data) + squeeze.flush()


BODIES = {
    "identity": ("identity", TEXT),
    "none": ("", TEXT),
    "gzip": ("gzip", gzip.compress(TEXT)),
    "GZIP": (" GZIP ", gzip.compress(TEXT)),
    "x-gzip": ("x-gzip", gzip.compress(TEXT)),
    "gzip, two members": ("gzip", gzip.compress(TEXT[:50]) + gzip.compress(TEXT[50:])),
    "gzip, empty members": ("gzip", gzip.compress(b"") * 40 + gzip.compress(TEXT)),
    "gzip, uncompressed": ("gzip", gzip.compress(TEXT, 0)),
    "deflate": ("deflate", zlib.compress(TEXT)),
    "deflate, level 0": ("deflate", zlib.compress(TEXT, 0)),
    "deflate, bare": ("deflate", bare(TEXT)),
}
bodies = pytest.mark.parametrize(("encoding", "body"), BODIES.values(), ids=BODIES)


@bodies
def test_a_body_is_decompressed(encoding: str, body: bytes) -> None:
    """What was offered is understood, and so is deflate without its header."""
    reply, _ = exchange(answer_with(body, f"Content-Encoding: {encoding}"))
    assert (ok(reply).body, ok(reply).complete) == (TEXT, True)


@bodies
def test_a_body_may_come_byte_by_byte(encoding: str, body: bytes) -> None:
    """Where the network cuts a body does not matter."""

    async def drip(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(f"HTTP/1.1 200 OK\r\nContent-Encoding: {encoding}\r\n".encode())
        writer.write(b"Transfer-Encoding: chunked\r\n\r\n")
        for place in range(len(body)):
            writer.write(b"1\r\n" + body[place : place + 1] + b"\r\n")
            await writer.drain()
            await asyncio.sleep(0)
        writer.write(b"0\r\n\r\n")

    reply, _ = exchange(drip)
    assert (ok(reply).body, ok(reply).complete) == (TEXT, True)


@bodies
def test_a_body_may_be_cut_anywhere(encoding: str, body: bytes) -> None:
    """Every pair of pieces, and every piece of one byte, decodes to the same."""
    for cut in range(len(body) + 1):
        decode = http._decoder(encoding)
        assert decode.feed(body[:cut], 999) + decode.feed(body[cut:], 999) == TEXT
        decode.end()
    decode = http._decoder(encoding)
    assert b"".join(decode.feed(body[at : at + 1], 999) for at in range(len(body))) == TEXT
    decode.end()


@bodies
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_a_body_is_read_up_to_its_limit(encoding: str, body: bytes, more: int) -> None:
    """At the limit a body is complete; one byte beyond, it is cut there and says so."""
    answer = answer_with(body, f"Content-Encoding: {encoding}")
    limit = len(TEXT) + more
    reply = ok(exchange(answer, max_bytes=limit)[0])
    assert (reply.body, reply.complete) == (TEXT[:limit], more >= 0)


@given(st.binary(max_size=300), st.integers(0, 310), st.integers(1, 40), st.sampled_from(range(4)))
def test_limits_and_pieces_do_not_mix(data: bytes, limit: int, size: int, form: int) -> None:
    """However a body is squeezed, cut and bounded, what comes out is its beginning."""
    encoding, body = [
        ("", data),
        ("gzip", gzip.compress(data[:100]) + gzip.compress(data[100:])),
        ("deflate", zlib.compress(data)),
        ("deflate", bare(data)),
    ][form]
    decode, out = http._decoder(encoding), b""
    for at in range(0, len(body), size):
        out += decode.feed(body[at : at + size], limit + 1 - len(out))
        if len(out) > limit:
            break
    else:
        decode.end()
    assert out == data[: limit + 1]


def test_a_bomb_is_not_unfolded() -> None:
    """A megabyte of zeros in a kilobyte is read as far as was asked, and no further."""
    bomb = gzip.compress(bytes(10_000_000))
    reply = ok(exchange(answer_with(bomb, "Content-Encoding: gzip"), max_bytes=1000)[0])
    assert (reply.body, reply.complete) == (bytes(1000), False)


@pytest.mark.parametrize("limit", [0, 1, 2])
def test_small_limits_hold(limit: int) -> None:
    """A limit of nothing reads nothing."""
    reply = ok(exchange(OK, max_bytes=limit)[0])
    assert (reply.body, reply.complete) == (b"hi"[:limit], limit >= 2)
    empty = ok(exchange(answer_with(b""), max_bytes=limit)[0])
    assert (empty.body, empty.complete) == (b"", True)


def test_an_empty_body_needs_no_decompression() -> None:
    """Some servers say gzip about nothing."""
    for encoding in ("gzip", "deflate"):
        reply, _ = exchange(answer_with(b"", f"Content-Encoding: {encoding}"))
        assert (ok(reply).body, ok(reply).complete) == (b"", True)


@pytest.mark.parametrize(
    ("encoding", "body"),
    [
        ("br", TEXT),
        ("gzip, gzip", gzip.compress(gzip.compress(TEXT))),
        ("gzip", TEXT),
        ("gzip", b"\x1f"),
        ("gzip", gzip.compress(TEXT)[:-1]),
        ("gzip", gzip.compress(TEXT) + b"garbage"),
        ("gzip", gzip.compress(b"") * 200 + gzip.compress(TEXT)),
        ("deflate", TEXT),
        ("deflate", b"\x78"),
        ("deflate", zlib.compress(TEXT)[:-1]),
        ("deflate", bare(TEXT)[:-1]),
        ("deflate", bare(TEXT) + b"garbage"),
    ],
)
def test_a_body_that_is_not_what_it_says(encoding: str, body: bytes) -> None:
    """Nothing is made of a body that cannot be decoded to its end."""
    reply, _ = exchange(answer_with(body, f"Content-Encoding: {encoding}"))
    assert cause(reply) == "bad content-encoding"


@pytest.mark.parametrize("status", ["301 Moved", "404 Not Found", "500 Oh", "600 Odd", "299 OK"])
@pytest.mark.parametrize("keep_alive", [True, False])
def test_only_a_success_is_read(status: str, keep_alive: bool) -> None:
    """The body of an error is not waited for, and not what comes back for the next request."""

    async def stall(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
        writer.write(
            f"HTTP/1.1 {status}\r\nX-A: 1\r\nX-A: 2\r\nContent-Length: 9\r\n\r\nhi".encode()
        )
        await writer.drain()
        if not status.startswith("299"):
            await asyncio.sleep(60)  # until the test is over
        writer.write(b" there.")

    async def main() -> None:
        async with serving(stall) as server, opened(keep_alive=keep_alive) as sender:
            for _ in range(2):
                sent = await sender.send(Get(f"http://127.0.0.1:{server.port}/"))
                if isinstance(sent, Unreachable) and sent.is_stale:  # the server closed it
                    sent = await sender.send(Get(f"http://127.0.0.1:{server.port}/"))
                reply = ok(sent)
                assert reply.status == int(status[:3])
                assert reply.headers["x-a"] == "1, 2"
                assert reply.body == (b"hi there." if status.startswith("299") else b"")

    asyncio.run(main())


@pytest.mark.parametrize(("size", "connections"), [(10, 1), (4_000_000, 3)])
def test_a_body_that_is_left_unread_is_not_the_next_reply(size: int, connections: int) -> None:
    """With keep-alive, a connection is used again only when its reply has come to the end."""

    async def main() -> None:
        async with (
            serving(answer_with(OK * (size // len(OK) + 1))) as server,
            opened(keep_alive=True) as sender,
        ):
            get = Get(f"http://127.0.0.1:{server.port}/", max_bytes=10)
            for _ in range(3):
                reply = ok(await sender.send(get))
                assert (reply.body, reply.complete) == (OK[:10], False)
            assert server.connections == connections

    asyncio.run(main())


# What a failure is called.


async def drop(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
    """Answer nothing."""


async def reset(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
    """End the connection with an RST."""
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
    )
    writer.transport.abort()


async def hang(_: object, __: object, ___: bytes) -> None:
    """Answer nothing, and keep the connection."""
    await asyncio.sleep(60)


async def hang_in_body(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
    """Begin an answer."""
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi")
    await asyncio.sleep(60)


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        (drop, "connection lost"),
        (reset, "connection lost"),
        (hang, "timeout"),
        (hang_in_body, "timeout"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nConnection: close\r\n\r\nhi", "body cut short"),
        (b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n9\r\nhi", "body cut short"),
        (b"SSH-2.0-OpenSSH_9.2\r\n\r\n", "not HTTP"),
        (b"\x16\x03\x01\x00\x00\r\n\r\n", "not HTTP"),
        (answer_with(TEXT, "Content-Encoding: br"), "bad content-encoding"),
    ],
)
def test_a_failure_has_a_name(answer: bytes | Answer, expected: str) -> None:
    """What goes wrong on the way is told in a few words of ours, and asked for once."""
    reply, server = exchange(answer, read=0.05)
    assert cause(reply) == expected
    assert reply.seconds < 9  # it was told 0.05, and has 10 where nobody says
    assert len(server.heads) == 1


def test_a_port_where_nobody_listens() -> None:
    """A refused connection is not a refused address."""

    async def main() -> None:
        async with serving() as gone:
            pass
        async with opened() as sender:
            reply = await sender.send(Get(f"http://127.0.0.1:{gone.port}/"))
            assert cause(reply) == "connection refused"

    asyncio.run(main())


@pytest.mark.parametrize(
    "answer", [socket.gaierror(socket.EAI_NONAME, "?"), OSError("?"), []], ids=repr
)
def test_a_name_without_an_address(answer: list[str] | Exception) -> None:
    """A look-up that fails, or finds nothing, finds no such host."""

    async def main() -> None:
        async with opened(resolver=Answers(answer)) as sender:
            assert cause(await sender.send(Get("http://site.example/"))) == "no such host"

    asyncio.run(main())


@pytest.mark.parametrize("name", ["a..b", "x" * 64 + ".example", "example.."])
def test_a_name_that_cannot_be(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A label that no name may have is no such host either."""

    def look_up(name: str, *_: object, **__: object) -> list[object]:
        name.encode("idna")  # as `socket.getaddrinfo` does, before it asks anybody
        raise socket.gaierror(socket.EAI_NONAME, "?")

    monkeypatch.setattr(socket, "getaddrinfo", look_up)

    async def main() -> None:
        async with opened() as sender:
            assert cause(await sender.send(Get(f"http://{name}/"))) == "no such host"

    asyncio.run(main())


@pytest.mark.parametrize("answer", [drop, reset])
def test_a_request_is_sent_once(answer: Answer) -> None:
    """A connection that is lost is a failure: whoever counts requests decides what comes next."""

    async def main() -> None:
        async with serving(answer) as server, opened() as sender:
            assert cause(await sender.send(Get(f"http://127.0.0.1:{server.port}/"))) == (
                "connection lost"
            )
            assert (server.connections, len(server.heads)) == (1, 1)

    asyncio.run(main())


# Time.


def test_a_connection_that_is_not_accepted() -> None:
    """A server whose queue is full counts as one that does not answer in time."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(0)
        waiting = []
        for _ in range(8):
            waiting.append(socket.socket())
            waiting[-1].setblocking(False)
            waiting[-1].connect_ex(listening.getsockname())

        async def main() -> Response | Unreachable:
            async with opened() as sender:
                url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
                return await sender.send(Get(url, connect=0.05, read=0.05))

        reply = asyncio.run(main())
        for each in waiting:
            each.close()
    assert cause(reply) == "timeout"
    assert reply.seconds < 9  # it was told 0.05, and has 10 where nobody says


class Slow(Answers):
    """A resolver that does not answer in time."""

    async def resolve(self, *_: object, **__: object) -> list[object]:  # type: ignore[override]
        await asyncio.sleep(60)
        return []


async def trickle(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
    """Send a byte now and then, for ever."""
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"a")
        await writer.drain()
        await asyncio.sleep(0.005)


def test_the_total_bounds_everything() -> None:
    """A server that keeps sending, and a look-up that never ends, take no longer than in all."""
    reply, _ = exchange(trickle, max_bytes=10**9, total=0.05)
    assert cause(reply) == "timeout"
    assert reply.seconds < 9  # it was told 0.05, and has 10 where nobody says

    async def main() -> None:
        async with opened(resolver=Slow([])) as sender:
            reply = await sender.send(Get("http://site.example/", total=0.05))
            assert cause(reply) == "timeout"
            assert cause(await sender.send(Get("http://site.example/", total=0.0))) == "timeout"

    asyncio.run(main())


def test_waiting_for_a_connection_counts() -> None:
    """When all connections are taken, the time of those who wait runs too."""

    async def main() -> None:
        async with serving(hang) as server, opened(connections=1) as sender:
            url = f"http://127.0.0.1:{server.port}/"
            first = asyncio.create_task(sender.send(Get(url, total=0.2)))
            others = await asyncio.gather(*(sender.send(Get(url, total=0.05)) for _ in range(3)))
            assert [cause(reply) for reply in others] == ["timeout"] * 3
            assert server.connections == 1
            assert cause(await first) == "timeout"

    asyncio.run(main())


def test_whoever_stops_waiting_gives_the_connection_back() -> None:
    """A cancelled request leaves nothing behind that the next one would wait for."""

    async def main() -> None:
        async def first_hangs(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
            if len(server.heads) == 1:
                await asyncio.sleep(60)
            writer.write(OK)

        async with serving(first_hangs) as server, opened(connections=1) as sender:
            get = Get(f"http://127.0.0.1:{server.port}/")
            task = asyncio.create_task(sender.send(get))
            while not server.heads:
                await asyncio.sleep(0)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert ok(await sender.send(get)).body == b"hi"

    asyncio.run(main())


# Opening and closing.


def test_close_and_use_again() -> None:
    """Closing twice is fine, and another request opens everything again."""

    async def main() -> None:
        async with serving() as server, opened(keep_alive=True) as sender:
            await sender.close()
            for _ in range(2):
                ok(await sender.send(Get(f"http://127.0.0.1:{server.port}/")))
                await sender.close()
                await sender.close()
            assert server.connections == 2

    asyncio.run(main())


def test_close_while_a_request_is_under_way() -> None:
    """The request ends as a failure, not as an exception, and a new one is not in its way."""

    async def main() -> None:
        async with serving(hang) as slow, serving() as quick, opened() as sender:
            task = asyncio.create_task(sender.send(Get(f"http://127.0.0.1:{slow.port}/")))
            while not slow.heads:
                await asyncio.sleep(0)
            _, reply = await asyncio.gather(
                sender.close(), sender.send(Get(f"http://127.0.0.1:{quick.port}/"))
            )
            assert ok(reply).body == b"hi"
            assert cause(await task) == "connection lost"
            assert len(slow.heads) == 1

    asyncio.run(main())


def test_a_resolver_that_is_passed_stays_open() -> None:
    """It belongs to whoever made it."""

    async def main() -> None:
        passed = Answers(["127.0.0.1"])
        async with serving() as server, opened(resolver=passed) as sender:
            ok(await sender.send(Get(f"http://site.example:{server.port}/")))
        assert not passed.closed

    asyncio.run(main())


def test_a_look_up_that_hangs_holds_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its thread keeps its turn, not the others, and not the program when it ends."""
    release, system = threading.Event(), socket.getaddrinfo

    def look_up(name: str, *rest: Any, **named: Any) -> Any:
        if name == "slow.example":
            release.wait(10)
        return system("127.0.0.1", *rest, **named)

    def threads() -> list[threading.Thread]:
        return [each for each in threading.enumerate() if each.name == "manners-look-up"]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.setattr(http, "_LOOK_UPS", 2)

    async def main() -> None:
        async with serving() as server, opened() as sender:

            async def ask(name: str) -> Response | Unreachable:
                return await sender.send(Get(f"http://{name}:{server.port}/", total=0.1))

            assert cause(await ask("slow.example")) == "timeout"
            assert [each.daemon for each in threads()] == [True]
            ok(await sender.send(Get(f"http://quick.example:{server.port}/")))
            both = await asyncio.gather(ask("slow.example"), ask("quick.example"))
            assert [cause(reply) for reply in both] == ["timeout", "timeout"]
            release.set()
            ok(await sender.send(Get(f"http://quick.example:{server.port}/")))

    asyncio.run(main())
    for each in threads():
        each.join(1)
    assert threads() == []


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_forked_child_opens_its_own() -> None:
    """What the parent has open is left alone, and both go on."""
    sender = Http(user_agent=AGENT, allow_private=True, keep_alive=True)

    async def ask(port: int) -> bytes:
        return ok(await sender.send(Get(f"http://127.0.0.1:{port}/"))).body

    async def main() -> None:
        async with serving() as server:
            assert await ask(server.port) == b"hi"
            child = os.fork()
            if child == 0:
                asyncio.events._set_running_loop(None)
                code = 1
                try:
                    code = asyncio.run(ask(server.port)) != b"hi"
                finally:
                    os._exit(code)
            _, status = await asyncio.to_thread(os.waitpid, child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            assert await ask(server.port) == b"hi"
            await sender.close()
            assert (server.connections, len(server.heads)) == (2, 3)

    asyncio.run(main())


def test_one_event_loop_at_a_time() -> None:
    """Another loop may use a sender when it was closed in the first, and is told so when not."""
    sender = Http(user_agent=AGENT, allow_private=True)

    async def once() -> None:
        async with serving() as server:
            ok(await sender.send(Get(f"http://127.0.0.1:{server.port}/")))

    async def once_and_close() -> None:
        await once()
        await sender.close()

    asyncio.run(once_and_close())
    asyncio.run(once_and_close())
    asyncio.run(once())
    with pytest.raises(RuntimeError, match="in use in another event loop"):
        asyncio.run(once())
    asyncio.run(sender.close())  # nothing is open that belongs to the first loop
    asyncio.run(once_and_close())


class Departing:
    """Somebody who wants to know when a request leaves, and what the server had seen by then."""

    def __init__(self, server: Server, *answers: bool) -> None:
        self._server, self._answers = server, list(answers)
        self.seen: list[tuple[str, int]] = []

    @property
    def is_late(self) -> bool:
        return bool(self._answers)

    async def departs(self) -> bool:
        self.seen.append(("departs", len(self._server.heads)))
        return self._answers.pop(0)

    def left(self) -> None:
        self.seen.append(("left", len(self._server.heads)))


@pytest.mark.parametrize("streams", [False, True])
def test_it_is_told_when_a_request_leaves(streams: bool) -> None:
    """Before the answer; who is late is asked first."""

    async def main() -> None:
        async with serving() as server, opened(keep_alive=True) as sender:
            get = Get(f"http://127.0.0.1:{server.port}/")
            for number, answers in enumerate([[], [True]]):
                departing = Departing(server, *answers)
                if streams:
                    async with sender.stream(get, departing) as begun:
                        assert not isinstance(begun, Unreachable)
                        assert [each async for each in begun.chunks()] == [b"hi"]
                else:
                    ok(await sender.send(get, departing))
                expected = [("departs", number)] * len(answers) + [("left", number)]
                assert departing.seen == expected

    asyncio.run(main())


def test_a_request_whose_turn_is_over_does_not_leave() -> None:
    """It is a value that says so, and its connection is there for the next turn."""

    async def main() -> None:
        async with serving() as server, opened(keep_alive=True) as sender:
            get = Get(f"http://127.0.0.1:{server.port}/")
            departing = Departing(server, False, True)
            lost = await sender.send(get, departing)
            assert isinstance(lost, Unreachable)
            assert (lost.cause, lost.is_unsent, lost.is_stale) == ("turn lost", True, False)
            assert server.heads == []
            ok(await sender.send(get, departing))
            assert departing.seen == [("departs", 0), ("departs", 0), ("left", 0)]
            assert (server.connections, len(server.heads)) == (1, 1)

    asyncio.run(main())


def test_a_request_that_cannot_connect_does_not_leave() -> None:
    """Nobody is told that it has left."""

    async def main() -> None:
        async with serving() as server, opened() as sender:
            departing = Departing(server)
            with socket.socket() as closed:
                closed.bind(("127.0.0.1", 0))
                port = closed.getsockname()[1]
                lost = await sender.send(Get(f"http://127.0.0.1:{port}/"), departing)
            assert lost[0] == "connection refused"
            assert departing.seen == []

    asyncio.run(main())


@pytest.mark.parametrize("cookies", [False, True])
def test_a_fresh_request_has_a_connection_of_its_own(cookies: bool) -> None:
    """Whatever is kept open; cookies are the same, and the connection is not kept."""

    async def main() -> None:
        answer = OK.replace(b"\r\n\r\n", b"\r\nSet-Cookie: a=b\r\n\r\n")
        sender = Http(user_agent=AGENT, allow_private=True, keep_alive=True, cookies=cookies)
        async with serving(answer) as server:
            get = Get(f"http://127.0.0.1:{server.port}/")
            for fresh in (False, False, True, True, False):
                reply = await sender.send(get._replace(fresh=fresh))
                assert not isinstance(reply, Unreachable)
            assert server.connections == 3
            sent = [server.headers(number) for number in range(5)]
            assert [each.get("cookie") for each in sent[1:]] == ["a=b" if cookies else None] * 4
            assert [each.get("connection") for each in sent[2:4]] == ["close"] * 2
            await sender.close()

    asyncio.run(main())
