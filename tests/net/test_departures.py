"""When a request leaves, and that it leaves only in its turn."""

import asyncio
import socket

import pytest

from manners.net.messages import Get, Unreachable
from tests.net.exchanges import ok, opened
from tests.net.servers import Server, serving


class Departing:
    """Somebody who wants to know when a request leaves, and what the server had seen by then."""

    def __init__(self, server: Server, *answers: bool) -> None:
        self._server, self._answers = server, list(answers)
        self.seen: list[tuple[str, int]] = []

    @property
    def is_late(self) -> bool:
        return bool(self._answers)

    async def may_depart(self) -> bool:
        self.seen.append(("may_depart", len(self._server.heads)))
        return self._answers.pop(0)

    def departed(self) -> None:
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
                expected = [("may_depart", number)] * len(answers) + [("left", number)]
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
            assert departing.seen == [("may_depart", 0), ("may_depart", 0), ("left", 0)]
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
