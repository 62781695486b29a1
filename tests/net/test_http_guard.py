"""Nothing arrives where nothing may arrive: a real server waits there, and hears of nobody."""

import asyncio
from functools import partial
from ipaddress import ip_network
from pathlib import Path

import pytest
from aiohttp.abc import AbstractResolver

from manners.cache.robots import AsyncRobotsCache
from manners.net import connecting, guard
from manners.net.messages import Get, Response
from manners.net.resolver import GuardedResolver
from manners.retrieval.outcome import Availability, Outcome
from tests.net import exchanges
from tests.net.exchanges import cause, certified
from tests.net.servers import OK, Answers, forwarding, serving

keep_alive_or_not = pytest.mark.parametrize("keep_alive", [True, False])


opened = partial(exchanges.opened, allow_private=False)


FORMS = [
    *("127.0.0.1", "127.0.0.1.", "127.0.0.1..", "2130706433", "017700000001", "0x7f000001"),
    *("0x7f.0.0.1", "0X7F.0x0.0.1", "0177.0.0.1", "127.1", "127.0.1", "0x7f.1", "0x7f.1."),
    *("00000000000000000000000177.0.0.1", "0x00000000000000000000000007f000001", "0", "0.0.0.0"),
    *("[::ffff:127.0.0.1]", "[::FFFF:7f00:1]", "[64:ff9b::127.0.0.1]", "[2002:7f00:1::]"),
    *("[::1]", "[0:0:0:0:0:0:0:1]", "[::]", "１２７.0.0.1", "127。0。0。1", "①②⑦.1"),
    *("localhost", "LOCALHOST", "localhost.", "localhost..", "x.localhost", "ⓛocalhost"),
    *("user:secret@127.0.0.1", "example.com@localhost"),
]


@keep_alive_or_not
def test_no_way_of_writing_an_address_reaches_it(keep_alive: bool) -> None:
    """This machine is refused in every form, over http and https."""

    async def main() -> None:
        async with serving() as server, opened(keep_alive=keep_alive) as sender:
            for form in FORMS:
                for scheme in ("http", "https"):
                    reply = await sender.send(Get(f"{scheme}://{form}:{server.port}/robots.txt"))
                    assert cause(reply) == "refused address", form
            assert server.connections == 0

    asyncio.run(main())


@keep_alive_or_not
def test_allow_private_lets_requests_through(keep_alive: bool) -> None:
    """The same server answers when it may be asked, so the tests beside this one mean something."""

    async def main() -> None:
        async with (
            serving() as server,
            opened(
                allow_private=True, keep_alive=keep_alive, resolver=Answers(["127.0.0.1"])
            ) as sender,
        ):
            for form in ("127.0.0.1", "[::ffff:127.0.0.1]", "localhost", "site.example", "0x7f.1"):
                reply = await sender.send(Get(f"http://{form}:{server.port}/"))
                assert isinstance(reply, Response), form
            assert len(server.heads) == 5

    asyncio.run(main())


@keep_alive_or_not
@pytest.mark.parametrize(
    "answer",
    [
        ["127.0.0.1"],
        ["0.0.0.0"],
        ["::1"],
        ["::ffff:127.0.0.1"],
        ["64:ff9b::7f00:1"],
        ["2002:7f00:1::"],
        ["fe80::1%lo"],
        ["::1%lo"],
        # One refused address refuses the name, wherever it stands.
        ["93.184.215.14", "127.0.0.1"],
        ["127.0.0.1", "93.184.215.14"],
        ["2606:4700::1111", "::ffff:127.0.0.1"],
        ["93.184.215.14", "2606:4700::1111", "169.254.169.254"],
    ],
    ids=" ".join,
)
def test_a_name_is_refused_for_any_of_its_addresses(answer: list[str], keep_alive: bool) -> None:
    """A name with a private address is refused, even when it has public ones too."""

    async def main() -> None:
        resolver = Answers(answer)
        async with serving() as server, opened(keep_alive=keep_alive, resolver=resolver) as sender:
            for _ in range(2):
                reply = await sender.send(Get(f"http://site.example:{server.port}/", connect=0.05))
                assert cause(reply) == "refused address"
            assert resolver.asked == ["site.example"] * 2
            assert server.connections == 0

    asyncio.run(main())


@pytest.mark.parametrize("answer", [["0x7f.1"], ["2130706433"], ["127.1"], ["localhost"], [""]])
def test_an_answer_that_is_no_address_leads_nowhere(answer: list[str]) -> None:
    """What cannot be judged is not connected to."""

    async def main() -> None:
        async with serving() as server, opened(resolver=Answers(answer)) as sender:
            cause(await sender.send(Get(f"http://site.example:{server.port}/")))
            assert server.connections == 0

    asyncio.run(main())


@keep_alive_or_not
def test_the_system_s_own_look_up_is_judged_too(
    keep_alive: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A name of this machine that no rule about names knows is refused for its address."""
    monkeypatch.setattr(guard, "refuses", lambda _: False)

    async def main() -> None:
        async with serving() as server, opened(keep_alive=keep_alive) as sender:
            for form in ("localhost", "0x7f.0.0.1", "127.0.0.1", "[::ffff:127.0.0.1]"):
                reply = await sender.send(Get(f"http://{form}:{server.port}/"))
                assert cause(reply) == "refused address", form
            assert server.connections == 0

    asyncio.run(main())


def test_the_last_gate_holds_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """With names and answers unjudged, the socket to a refused address is still not made."""
    monkeypatch.setattr(guard, "refuses", lambda _: False)

    class Unguarded(GuardedResolver):
        def __init__(self, resolver: AbstractResolver, _: bool) -> None:
            super().__init__(resolver, False)

    monkeypatch.setattr(connecting, "GuardedResolver", Unguarded)

    async def main() -> None:
        async with serving() as server:
            for answer in (["127.0.0.1"], ["::ffff:127.0.0.1"], ["127.0.0.1", "::ffff:127.0.0.1"]):
                async with opened(resolver=Answers(answer)) as sender:
                    cause(await sender.send(Get(f"http://site.example:{server.port}/")))
                    cause(await sender.send(Get(f"http://127.0.0.1:{server.port}/")))
            assert server.connections == 0

    asyncio.run(main())


# From here on 127.0.0.1 plays the public site, and 127.0.0.2 the private one.

PUBLIC, PRIVATE = "127.0.0.1", "127.0.0.2"


@pytest.fixture
def two_worlds(monkeypatch: pytest.MonkeyPatch) -> None:
    """A guard that refuses 127.0.0.2 and localhost, and nothing else."""
    monkeypatch.setattr(guard, "REFUSED", (ip_network(f"{PRIVATE}/32"),))


@pytest.mark.usefixtures("two_worlds")
@pytest.mark.parametrize(
    "answers",
    [
        [[PUBLIC], [PRIVATE]],
        [[PUBLIC], [PUBLIC, PRIVATE]],
        [[PUBLIC], ["::ffff:127.0.0.2"]],
    ],
    ids=str,
)
def test_a_name_that_moves_is_judged_each_time(answers: list[list[str] | Exception]) -> None:
    """The address of this look-up is judged, and is the one connected to; there is no other."""

    async def main() -> None:
        resolver = Answers(*answers)
        async with (
            serving(host=PUBLIC) as public,
            serving(host=PRIVATE, port=public.port) as private,
            opened(resolver=resolver) as sender,
        ):
            url = f"http://site.example:{public.port}/"
            assert isinstance(await sender.send(Get(url)), Response)
            assert resolver.asked == ["site.example"]  # once for one connection
            for _ in range(3):
                assert cause(await sender.send(Get(url))) == "refused address"
            assert (public.connections, private.connections) == (1, 0)

    asyncio.run(main())


@pytest.mark.usefixtures("two_worlds")
def test_a_name_that_moves_does_not_move_an_open_connection() -> None:
    """With keep-alive, the connection that was judged goes on; a new one is judged again."""

    async def main() -> None:
        resolver = Answers([PUBLIC], [PRIVATE])
        async with (
            serving(host=PUBLIC) as public,
            serving(host=PRIVATE, port=public.port) as private,
            opened(resolver=resolver, keep_alive=True) as sender,
        ):
            url = f"http://site.example:{public.port}/"
            for _ in range(3):
                assert isinstance(await sender.send(Get(url)), Response)
            assert (len(resolver.asked), public.connections, len(public.heads)) == (1, 1, 3)
            await sender.close()
            assert cause(await sender.send(Get(url))) == "refused address"
            assert private.connections == 0

    asyncio.run(main())


@pytest.mark.usefixtures("two_worlds")
@keep_alive_or_not
@pytest.mark.parametrize(
    "target",
    [
        *("http://127.0.0.2:{port}/x", "//127.0.0.2:{port}/x", "http://2130706434:{port}/"),
        *("http://0x7f.2:{port}/", "http://0177.0.0.2:{port}/", "http://127.2:{port}/"),
        *(
            "http://[::ffff:127.0.0.2]:{port}/",
            "http://127。0。0。2:{port}/",
            "HTTP://１２７.2:{port}",
        ),
        *(
            "http://localhost:{port}/",
            "http://a.localhost.:{port}/",
            "http://moved.example:{port}/",
        ),
        *("http://site.example@127.0.0.2:{port}/", "https://127.0.0.2:{port}/"),
    ],
)
def test_a_redirect_does_not_lead_there(target: str, keep_alive: bool) -> None:
    """Each hop of a retrieval is judged like the first."""

    async def main() -> None:
        async def redirect(_: object, writer: asyncio.StreamWriter, __: bytes) -> None:
            location = target.format(port=public.port).encode()
            writer.write(
                b"HTTP/1.1 302 Found\r\nContent-Length: 0\r\nLocation: " + location + b"\r\n\r\n"
            )

        async with (
            serving(redirect, host=PUBLIC) as public,
            serving(host=PRIVATE, port=public.port) as private,
            opened(resolver=Answers([PUBLIC], [PRIVATE]), keep_alive=keep_alive) as sender,
            AsyncRobotsCache(http=sender) as cache,
        ):
            verdict = await cache.check(f"http://site.example:{public.port}/a", agent="Test")
            assert not verdict.allowed
            outcome = verdict.retrieval
            assert isinstance(outcome, Outcome)
            assert outcome.availability is Availability.UNREACHABLE
            assert str(outcome) == "unreachable (refused address)"
            assert [hop.status for hop in outcome.hops] == [302, None]
            assert (public.connections, private.connections) == (1, 0)

    asyncio.run(main())


# Proxies.


@keep_alive_or_not
def test_a_request_goes_through_the_proxy(keep_alive: bool) -> None:
    """The proxy, on a private address itself, is told the whole URL and looks up the name."""

    async def main() -> None:
        async with (
            serving() as server,
            serving(forwarding(server.port)) as proxy,
            opened(proxy=f"http://127.0.0.1:{proxy.port}", keep_alive=keep_alive) as sender,
        ):
            reply = await sender.send(Get("http://site.example/%7ea?b"))
            assert isinstance(reply, Response)
            assert reply.body == b"hi"
            assert proxy.targets == [b"http://site.example/%7ea?b"]
            assert proxy.headers()["host"] == "site.example"

    asyncio.run(main())


@pytest.mark.parametrize("form", [*FORMS, "010.0.0.1", "0169.254.169.254", "10.0.0.1", "[fd00::1]"])
def test_a_proxy_is_not_asked_for_private_addresses(form: str) -> None:
    """An address or localhost is refused by what is written, however the proxy might read it."""

    async def main() -> None:
        async with (
            serving() as server,
            serving(forwarding(server.port)) as proxy,
            opened(proxy=f"http://127.0.0.1:{proxy.port}") as sender,
        ):
            for scheme in ("http", "https"):
                reply = await sender.send(Get(f"{scheme}://{form}:{server.port}/"))
                assert cause(reply) == "refused address"
            assert (proxy.connections, server.connections) == (0, 0)

    asyncio.run(main())


def test_https_goes_through_a_tunnel(tmp_path: Path) -> None:
    """The proxy is told host and port; name, password and path are for the site alone."""
    tls, ca_file = certified(tmp_path, "site.example")

    async def main() -> None:
        async with (
            serving(tls=tls) as server,
            serving(forwarding(server.port)) as proxy,
            opened(
                proxy=f"http://127.0.0.1:{proxy.port}",
                ca_file=ca_file,
                auth={"https://site.example": ("me", "secret")},
            ) as sender,
        ):
            reply = await sender.send(Get("https://site.example/a"))
            assert isinstance(reply, Response)
            assert proxy.targets == [b"site.example:443"]
            assert "authorization" not in proxy.headers()
            assert "proxy-authorization" not in proxy.headers()
            assert server.targets == [b"/a"]
            assert server.headers()["authorization"].startswith("Basic ")
            # The certificate is for the site, whatever the proxy connects to.
            assert cause(await sender.send(Get("https://other.example/a"))) == "TLS error"
            assert len(server.heads) == 1

    asyncio.run(main())


def test_credentials_of_a_proxy_are_for_the_proxy(tmp_path: Path) -> None:
    """They go with the CONNECT, not through the tunnel."""
    tls, ca_file = certified(tmp_path, "site.example")

    async def main() -> None:
        async with (
            serving(tls=tls) as server,
            serving(forwarding(server.port)) as proxy,
            opened(proxy=f"http://me:secret@127.0.0.1:{proxy.port}", ca_file=ca_file) as sender,
        ):
            assert isinstance(await sender.send(Get("https://site.example/a")), Response)
            assert proxy.headers()["proxy-authorization"] == "Basic bWU6c2VjcmV0"
            assert not {"authorization", "proxy-authorization"} & set(server.headers())

    asyncio.run(main())


@pytest.mark.parametrize(
    ("url", "answer"),
    [
        ("https://site.example/", b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n"),
        ("https://site.example/", b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n"),
        ("https://site.example/", b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n"),
        ("http://site.example/", b"HTTP/1.1 407 Who are you\r\nContent-Length: 0\r\n\r\n"),
    ],
)
def test_a_proxy_that_refuses_has_failed(url: str, answer: bytes) -> None:
    """What the proxy says for itself is not what the site says: a 407 allows nothing."""

    async def main() -> None:
        async with (
            serving(answer) as proxy,
            opened(proxy=f"http://127.0.0.1:{proxy.port}") as sender,
        ):
            assert cause(await sender.send(Get(url))) == "proxy failed"
            async with AsyncRobotsCache(http=sender) as cache:
                assert not await cache.allowed(url, agent="Test")

    asyncio.run(main())


@pytest.mark.parametrize("url", ["http://site.example/", "https://site.example/"])
def test_a_proxy_that_is_not_there_has_failed(url: str) -> None:
    """Neither its port nor its name is taken for the site's."""

    async def main() -> None:
        async with serving() as gone:
            pass
        async with opened(proxy=f"http://127.0.0.1:{gone.port}") as sender:
            assert cause(await sender.send(Get(url))) == "proxy failed"
        nowhere = Answers(OSError("no such host"))
        async with opened(proxy="http://proxy.example:3128", resolver=nowhere) as sender:
            assert cause(await sender.send(Get(url))) == "proxy failed"
            assert nowhere.asked == ["proxy.example"]

    asyncio.run(main())


# What lies around.


@pytest.mark.parametrize("no_proxy", ["", "*"])
def test_proxies_of_the_environment_are_not_trusted(
    no_proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only `proxy=` makes a proxy, and NO_PROXY does not undo it."""

    async def main() -> None:
        async with serving() as server, serving(forwarding(server.port)) as proxy:
            where = f"http://127.0.0.1:{proxy.port}"
            for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
                monkeypatch.setenv(name, where)
                monkeypatch.setenv(name.lower(), where)
            monkeypatch.setenv("NO_PROXY", no_proxy)
            monkeypatch.setenv("no_proxy", no_proxy)
            async with opened(allow_private=True) as sender:
                reply = await sender.send(Get(f"http://127.0.0.1:{server.port}/"))
                assert isinstance(reply, Response)
                assert (proxy.connections, server.connections) == (0, 1)
            async with opened(proxy=where) as sender:
                assert isinstance(await sender.send(Get("http://site.example/")), Response)
                assert proxy.connections == 1

    asyncio.run(main())


def test_netrc_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Passwords that lie around for other programs are not sent."""
    netrc = tmp_path / ".netrc"
    netrc.write_text("machine 127.0.0.1 login me password secret\ndefault login a password b\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("NETRC", str(netrc))

    async def main() -> None:
        async with serving() as server, opened(allow_private=True) as sender:
            assert isinstance(await sender.send(Get(f"http://127.0.0.1:{server.port}/")), Response)
            assert "authorization" not in server.headers()

    asyncio.run(main())


@keep_alive_or_not
def test_cookies_are_not_kept(keep_alive: bool) -> None:
    """A site cannot mark who asks."""
    marked = OK.replace(b"\r\n", b"\r\nSet-Cookie: a=b; Path=/\r\n", 1)

    async def main() -> None:
        async with (
            serving(marked) as server,
            opened(
                allow_private=True, keep_alive=keep_alive, resolver=Answers(["127.0.0.1"])
            ) as sender,
        ):
            for name in ("127.0.0.1", "site.example"):
                for _ in range(2):
                    reply = await sender.send(Get(f"http://{name}:{server.port}/"))
                    assert isinstance(reply, Response)
                    assert "cookie" not in server.headers()

    asyncio.run(main())
