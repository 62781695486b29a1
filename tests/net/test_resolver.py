"""The system's lookup, in threads."""

import asyncio
import socket
import threading
from typing import Any

import pytest

from manners.net.messages import Get, Response, Unreachable
from tests.net.exchanges import cause, ok, opened
from tests.net.servers import serving


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
    monkeypatch.setattr("manners.net.resolver._LOOKUPS", 2)

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
