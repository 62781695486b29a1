"""One request over a real connection: what is sent, and how connections are used."""

import asyncio
import os
import socket
import ssl
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from manners.cache.robots import AsyncRobotsCache
from manners.errors import InvalidURL, SettingsError
from manners.net.http import Http
from manners.net.messages import Get, Response, Unreachable
from manners.urls import requestable
from tests.net.exchanges import AGENT, answer_with, cause, certified, exchange, ok, opened
from tests.net.servers import OK, Answers, hang, serving

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

    asyncio.run(main(*certified(tmp_path, "site.example", "127.0.0.1")))


def test_no_tls_where_tls_is_expected() -> None:
    """A server that speaks plain HTTP on a TLS port gets no request."""

    async def main() -> None:
        async with serving() as server, opened() as sender:
            # The greeting of TLS is no request; the server waits for one, or gives up.
            reply = await sender.send(Get(f"https://127.0.0.1:{server.port}/", connect=0.1))
            assert cause(reply) in ("TLS error", "timeout", "connection lost")
            assert server.heads == []

    asyncio.run(main())


@pytest.mark.parametrize(
    ("content", "problem"),
    [(None, "ca_file: cannot read '.*ca.pem': No such"), ("text", "ca.pem' has no certificate")],
)
def test_an_authority_that_cannot_be_read_is_an_error(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    """A wrong `ca_file` is told at once, and not taken for a site that cannot be reached."""
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingsError, match=problem):
        Http(user_agent=AGENT, ca_file=str(path))


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
