"""Posting a message: what arrives, and what is never done."""

import asyncio
import ssl
from collections.abc import Coroutine
from typing import Any

import pytest
import trustme
from aiohttp.abc import AbstractResolver

from manners.net import connecting, guard
from manners.net.messages import Response, Unreachable
from manners.net.posting import Poster
from manners.net.resolver import GuardedResolver
from tests.net.servers import Answers, Server, hang, serving

BODY = b'{"event": "changed"}'


def post(
    url: str,
    *,
    total: float = 30.0,
    headers: dict[str, str] | None = None,
    allow_private: bool = True,
    resolver: AbstractResolver | None = None,
    ca_file: str | None = None,
) -> Coroutine[Any, Any, Response | Unreachable]:
    poster = Poster(
        user_agent="MyBot/1.0", allow_private=allow_private, resolver=resolver, ca_file=ca_file
    )
    return poster.post(url, BODY, headers or {}, total)


async def take(reader: Any, writer: Any, _: bytes) -> None:
    """Read a body, and accept it."""
    assert await reader.readexactly(len(BODY)) == BODY
    writer.write(b"HTTP/1.1 204 No Content\r\n\r\n")
    await writer.drain()


def test_a_message_arrives_as_it_is() -> None:
    """One request with the body and the headers, and the status as the answer."""

    async def main() -> tuple[Response | Unreachable, Server]:
        async with serving(take) as server:
            url = f"http://127.0.0.1:{server.port}/hook?a=b%20c#top"
            return await post(url, headers={"X-A": "b"}), server

    reply, server = asyncio.run(main())
    assert isinstance(reply, Response)
    assert reply.status == 204
    assert server.heads[0].startswith(b"POST /hook?a=b%20c HTTP/1.1\r\n")
    sent = server.headers()
    assert (sent["x-a"], sent["user-agent"]) == ("b", "MyBot/1.0")
    assert sent["content-length"] == str(len(BODY))
    assert "cookie" not in sent


def test_a_redirect_is_not_followed() -> None:
    """Wherever it leads, the answer is the redirect itself, and nobody else is asked."""

    async def main() -> None:
        async with serving(take) as elsewhere:
            location = f"Location: http://127.0.0.1:{elsewhere.port}/".encode()
            for status in (301, 302, 303, 307, 308):
                answer = b"HTTP/1.1 %d Moved\r\n%s\r\nContent-Length: 0\r\n\r\n"
                async with serving(answer % (status, location)) as server:
                    reply = await post(f"http://127.0.0.1:{server.port}/")
                assert isinstance(reply, Response)
                assert reply.status == status
            assert elsewhere.connections == 0

    asyncio.run(main())


def test_cookies_are_not_kept() -> None:
    """What a receiver sets is not sent back to it."""

    async def main() -> Server:
        answer = b"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n"
        async with serving(answer) as server:
            poster = Poster(user_agent="MyBot/1.0", allow_private=True)
            for _ in range(2):
                await poster.post(f"http://127.0.0.1:{server.port}/", BODY, {})
            return server

    server = asyncio.run(main())
    assert server.connections == 2  # each has its own
    assert b"cookie:" not in b"".join(server.heads).lower()


@pytest.mark.parametrize(
    "form",
    ["localhost", "127.0.0.1", "0x7f.1", "[::ffff:127.0.0.1]", "10.0.0.1", "169.254.169.254"],
)
def test_private_addresses_are_refused(form: str) -> None:
    """However it is written, nothing is sent there."""

    async def main() -> None:
        async with serving() as server:
            reply = await post(f"http://{form}:{server.port}/", allow_private=False)
            assert isinstance(reply, Unreachable)
            assert (reply.cause, server.connections) == ("refused address", 0)

    asyncio.run(main())


@pytest.mark.parametrize("answer", [["127.0.0.1"], ["93.184.215.14", "127.0.0.1"], ["::1"]])
def test_names_of_private_addresses_are_refused(answer: list[str]) -> None:
    """A name is judged by the addresses that are found for it, all of them."""

    async def main() -> None:
        async with serving() as server:
            reply = await post(
                f"http://hooks.example:{server.port}/",
                allow_private=False,
                resolver=Answers(answer),
            )
            assert isinstance(reply, Unreachable)
            assert (reply.cause, server.connections) == ("refused address", 0)

    asyncio.run(main())


def test_the_last_gate_of_a_post_holds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With names and answers unjudged, the socket to a refused address is still not made."""
    monkeypatch.setattr(guard, "refuses", lambda _: False)

    class Unguarded(GuardedResolver):
        def __init__(self, resolver: AbstractResolver, _: bool) -> None:
            super().__init__(resolver, False)

    monkeypatch.setattr(connecting, "GuardedResolver", Unguarded)

    async def main() -> None:
        async with serving() as server:
            for name in ("127.0.0.1", "hooks.example"):
                url = f"http://{name}:{server.port}/"
                reply = await post(url, allow_private=False, resolver=Answers(["127.0.0.1"]))
                assert isinstance(reply, Unreachable)
            assert server.connections == 0

    asyncio.run(main())


async def drip(_: Any, writer: Any, __: bytes) -> None:
    """Send the head of a reply for ever, one line after another."""
    writer.write(b"HTTP/1.1 200 OK\r\n")
    while True:
        writer.write(b"X: y\r\n")
        await writer.drain()
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("answer", [hang, drip])
def test_a_receiver_that_does_not_answer_has_a_timeout(answer: Any) -> None:
    """One that is silent, and one that sends headers for ever."""

    async def main() -> Response | Unreachable:
        async with serving(answer) as server:
            return await post(f"http://127.0.0.1:{server.port}/", total=0.3)

    reply = asyncio.run(main())
    assert isinstance(reply, Unreachable)
    assert reply.cause in ("timeout", "not HTTP")  # aiohttp has a limit for headers, too


async def endless(_: Any, writer: Any, __: bytes) -> None:
    """Reply with a body that never ends."""
    writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
    while True:
        writer.write(b"x" * 65_536)
        await writer.drain()


def test_the_body_of_a_reply_is_not_read() -> None:
    """A receiver that sends without end has answered with its status."""

    async def main() -> Response | Unreachable:
        async with serving(endless) as server:
            return await post(f"http://127.0.0.1:{server.port}/")

    reply = asyncio.run(main())
    assert isinstance(reply, Response)
    assert (reply.status, reply.body) == (200, b"")


@pytest.mark.parametrize(
    ("answer", "cause"),
    [(b"nonsense\r\n\r\n", "not HTTP"), (b"", "connection lost")],
)
def test_what_is_no_reply_is_a_value(answer: bytes, cause: str) -> None:
    """A failure comes back with its cause, and is no exception."""

    async def speak(_: Any, writer: Any, __: bytes) -> None:
        writer.write(answer)

    async def main() -> Response | Unreachable:
        async with serving(speak) as server:
            return await post(f"http://127.0.0.1:{server.port}/")

    reply = asyncio.run(main())
    assert isinstance(reply, Unreachable)
    assert reply.cause == cause


def test_certificates_are_checked(tmp_path: Any) -> None:
    """A receiver has to have a certificate of an authority that is trusted."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(context)
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")

    async def main() -> tuple[Response | Unreachable, Response | Unreachable]:
        async with serving(tls=context) as server:
            url = f"https://127.0.0.1:{server.port}/"
            return await post(url), await post(url, ca_file=str(tmp_path / "ca.pem"))

    stranger, known = asyncio.run(main())
    assert isinstance(stranger, Unreachable)
    assert stranger.full.startswith("TLS error: certificate not trusted")
    assert isinstance(known, Response)


def test_a_header_of_ours_has_no_line_breaks() -> None:
    """A User-Agent that would begin another header is an error right away."""
    with pytest.raises(ValueError, match="control character"):
        Poster(user_agent="a\r\nX: y")
