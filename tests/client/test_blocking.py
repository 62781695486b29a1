"""The client for blocking code: the same, from any thread, and in a forked child."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from manners import Client, Page, Verdict
from manners.errors import BudgetExceeded, ClientClosed, MannersError, SlotTimeout
from manners.politeness.budget import Budget
from tests.cache.test_robots_cache import in_child, needs_fork
from tests.client.asking import blocking, rules, silence, site, slow, to
from tests.faults.server import Call, Handler, Site, in_thread

CLOSED = rules("Disallow: /closed")


async def trickle(call: Call) -> None:
    """A long body, a little at a time, until the client leaves."""
    await call.request()
    await call.send(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    while True:
        await call.send(b"x" * 10)
        await call.pause(0.02)


@contextmanager
def meeting(**changes: Any) -> Iterator[tuple[Client, Site]]:
    """A client and a server, each with a loop of its own."""
    pages: dict[str, Handler] = {
        "slow": slow(0.1),
        "silent": silence,
        "long": trickle,
        "start": to("/end"),
        "away": to("/closed"),
    }
    with in_thread(Site(site(CLOSED, **pages))) as server, blocking(**changes) as client:
        yield client, server
    assert server.failures == []


def paths(server: Site) -> list[str]:
    return [visit.path for visit in server.log]


def until(holds: Any, seconds: float = 20.0) -> None:
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_everything_is_there_without_await() -> None:
    """Verdicts, pages, heads and streams."""
    told: list[Verdict] = []
    with meeting(on_decision=told.append) as (client, server):
        url = server.url(path="/closed")
        assert not client.allowed(url)
        assert client.check(url).line_text == "Disallow: /closed"
        assert not client.get(url).was_allowed
        assert client.get(server.url(), {"X-A": "1"}).body == b"hi"
        assert server.log[-1].headers["x-a"] == "1"
        assert client.head(server.url()).body == b""
        assert client.get(server.url(), since=client.get(server.url())).ok
        assert client.get(server.url(path="/start")).final_url == server.url(path="/end")
        assert not client.get(server.url(path="/away")).was_allowed
        assert client.settings.agent == "MyBot"
        assert len(told) == 9
    assert "/closed" not in paths(server)


def test_a_stream_comes_in_pieces() -> None:
    """Its slot is held until it is left."""
    with meeting(concurrency=1, slot_timeout=0.3) as (client, server):
        with client.stream(server.url()) as stream:
            assert stream.page.ok
            assert b"".join(stream.chunks()) == b"hi"
            assert stream.complete
        with client.stream(server.url(path="/long")) as stream:
            assert next(stream.chunks()) == b"x" * 10
            with pytest.raises(SlotTimeout):
                client.get(server.url())
        assert client.get(server.url()).ok
        with client.stream(server.url(path="/away")) as stream:
            assert not stream.page.was_allowed
            assert list(stream.chunks()) == []


def test_a_stream_ends_at_the_limit() -> None:
    """And says so."""
    with meeting(page_max_bytes=1) as (client, server), client.stream(server.url()) as stream:
        assert b"".join(stream.chunks()) == b"h"
        assert not stream.complete


def test_a_stream_that_fails_in_its_readers_hands_gives_its_slot_back() -> None:
    """The reader's own error comes out, and nothing else."""

    def reading() -> None:
        with client.stream(server.url(path="/long")) as stream:
            for _ in stream.chunks():
                raise LookupError

    with meeting(concurrency=1, slot_timeout=0.3) as (client, server):
        for _ in range(3):
            with pytest.raises(LookupError):
                reading()
        assert client.get(server.url()).ok


def test_errors_come_through() -> None:
    """As they do in async code."""
    with meeting(budget=Budget(pages=1, minutes=None)) as (client, server):
        assert client.get(server.url()).ok
        with pytest.raises(BudgetExceeded):
            client.get(server.url())
        with pytest.raises(BudgetExceeded), client.stream(server.url()):
            pass
        with pytest.raises(ValueError, match="not an http"):
            client.get("ftp://127.0.0.1/")


def test_several_threads_share_a_client() -> None:
    """Its slots, its robots.txt files and its budget."""
    budget = Budget(pages=20, minutes=None)
    with (
        meeting(concurrency=2, budget=budget) as (client, server),
        ThreadPoolExecutor(10) as threads,
    ):

        def one(number: int) -> Page | MannersError:
            try:
                return client.get(server.url(path=f"/slow?{number}"))
            except MannersError as error:
                return error

        found = list(threads.map(one, range(30)))
    assert sum(isinstance(each, Page) and each.ok for each in found) == 20
    assert sum(isinstance(each, BudgetExceeded) for each in found) == 10
    assert paths(server).count("/robots.txt") == 1
    assert len(server.log) == 21
    events = [(visit.at, 1) for visit in server.log] + [
        (visit.left or 0.0, -1) for visit in server.log
    ]
    running = [sum(step for moment, step in events if moment <= at) for at, _ in events]
    assert max(running) <= 2


def test_closing_from_another_thread_turns_everybody_away() -> None:
    """Nobody is left waiting."""
    with meeting(concurrency=1) as (client, server), ThreadPoolExecutor(5) as threads:
        running = threads.submit(client.get, server.url(path="/silent"))
        until(lambda: "/silent" in paths(server))
        waiting = [threads.submit(client.get, server.url(path="/late")) for _ in range(3)]
        asking = threads.submit(client.get, server.url("127.0.0.2", "/silent"))
        until(lambda: paths(server).count("/silent") == 2)
        time.sleep(0.05)
        client.close()
        for each in (running, asking):
            failure = each.exception(20)
            assert failure is None or isinstance(failure, MannersError)
        assert {type(each.exception(20)) for each in waiting} == {ClientClosed}
        with pytest.raises(ClientClosed):
            client.get(server.url(path="/late"))
        with pytest.raises(ClientClosed), client.stream(server.url(path="/late")):
            pass
        client.close()
    assert "/late" not in paths(server)


def test_clients_do_not_disturb_each_other() -> None:
    """Closing one leaves the others open."""
    with meeting() as (client, server):
        with blocking() as other:
            assert other.get(server.url()).ok
        assert client.get(server.url()).ok
        assert threading.active_count() < 20


@needs_fork
def test_a_forked_child_goes_on_with_connections_of_its_own() -> None:
    """Both go on, whatever was under way at the time of the fork."""
    with meeting(concurrency=1) as (client, server), ThreadPoolExecutor(1) as threads:
        assert client.get(server.url(path="/before")).ok
        running = threads.submit(client.get, server.url(path="/silent"))
        until(lambda: "/silent" in paths(server))

        def child() -> bool:
            fine = client.get(server.url(path="/child")).ok  # the slot is the parent's
            fine = fine and not client.get(server.url(path="/closed")).was_allowed
            fine = fine and client.get(server.url("127.0.0.2", "/child")).ok
            with client.stream(server.url(path="/child")) as stream:
                fine = fine and b"".join(stream.chunks()) == b"hi"
            client.close()
            return fine

        assert in_child(child)
        assert client.get(server.url("127.0.0.3", "/parent")).ok
        assert not running.done()
        client.close()
        running.exception(20)
    assert paths(server).count("/child") == 3


@needs_fork
def test_a_forked_child_of_a_client_that_was_never_used() -> None:
    """Each opens what it needs."""
    with meeting() as (client, server):
        assert in_child(lambda: client.get(server.url(path="/child")).ok)
        assert client.get(server.url(path="/parent")).ok
    assert {"/child", "/parent"} <= set(paths(server))
