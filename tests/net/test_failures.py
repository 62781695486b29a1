"""What a failure is called."""

import asyncio
import socket

import pytest

from manners.net.messages import Get
from tests.net.exchanges import answer_with, cause, exchange, opened
from tests.net.servers import Answer, Answers, hang, serving


async def drop(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
    """Answer nothing."""


async def reset(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
    """End the connection with an RST."""
    writer.get_extra_info("socket").setsockopt(
        socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0"
    )
    writer.transport.abort()


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
        (answer_with(b"text", "Content-Encoding: br"), "bad content-encoding"),
    ],
)
def test_a_failure_has_a_name(answer: bytes | Answer, expected: str) -> None:
    """What goes wrong on the way is told in a few words of ours, and asked for once."""
    is_waited_for = expected == "timeout"
    reply, server = exchange(answer, read=0.05 if is_waited_for else 60.0, total=60.0)
    assert cause(reply) == expected
    assert reply.seconds < 50  # not the 60 s that it has in all
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
