"""Whoever is cancelled while a server is asked ends, whatever redis-py makes of it."""

import asyncio
import time
from typing import Any

import pytest

from manners._valkey import Server
from manners.client.visit import SlotRenewal
from manners.politeness.backends.valkey import ValkeyBackend
from tests.client.asking import run
from tests.contracts.valkey import Valkey

TURNS = range(6)
"""Turns of the event loop after which it is cancelled: a question is sent in some of them."""


@pytest.mark.parametrize("turns", TURNS)
def test_a_question_that_is_cancelled(valkey: Valkey, turns: int) -> None:
    async def work() -> None:
        server = Server(valkey.url, 2.0)
        await server.answer(server.redis.ping())

        async def ask() -> None:
            await server.answer(server.redis.ping())
            await asyncio.sleep(1)

        task = asyncio.create_task(ask())
        for _ in range(turns):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        assert task.cancelled()
        await server.redis.aclose()

    run(work)


class Visit:
    """What renews a slot, and tells when it begins to."""

    def __init__(self, backend: ValkeyBackend, lease: Any) -> None:
        self._backend, self._lease, self.began = backend, lease, asyncio.Event()

    async def renew(self) -> None:
        self.began.set()
        await self._backend.renew(self._lease)

    async def leave(self) -> None:
        await self._backend.release(self._lease)


@pytest.mark.parametrize("turns", TURNS)
def test_a_slot_that_is_left_while_it_is_renewed(valkey: Valkey, turns: int) -> None:
    async def work() -> None:
        backend = ValkeyBackend(valkey.url, concurrency=100)
        visit = Visit(backend, await backend.take("example.com"))
        async with asyncio.timeout(10), SlotRenewal(visit, 0.3):  # type: ignore[arg-type]
            await visit.began.wait()
            for _ in range(turns):
                await asyncio.sleep(0)
        await backend.close()

    run(work)


def test_nothing_goes_on_when_a_backend_was_closed_without_its_server() -> None:
    """`run` finds what is left behind."""

    async def work() -> None:
        backend = ValkeyBackend("valkey://127.0.0.1:1/0")
        telling = asyncio.create_task(backend.penalise("example.com", time.time() + 3_600))
        await asyncio.sleep(0)
        await backend.close()
        await telling

    run(work)
