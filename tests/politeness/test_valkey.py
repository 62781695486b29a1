"""Politeness in Valkey, with a real server that is killed, stopped, emptied and full of rubbish."""

import asyncio
import gc
import os
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from manners.errors import HostDeferred, MissingExtra, PolitenessError, StoreError, UnknownName
from manners.politeness.backends import Lease, NotBefore, open_backend
from manners.politeness.backends import valkey as module
from manners.politeness.backends.valkey import ValkeyBackend
from manners.politeness.gate import Gate
from manners.politeness.schedule import Pace
from tests.contracts.valkey import NO_SERVERS, Valkey

HOST = "example.com"
SLOTS, TIMES = f"host_concurrency:{{{HOST}}}", f"host_delay:{{{HOST}}}"
NOW = 1_800_000_000.0
STANDSTILL = 60
"""Seconds after which a test that stands still is ended; no promise depends on them."""
PATIENCE = 2.0
"""Seconds that a stopped server is waited for; one that runs answers sooner, however busy."""
NOWHERE = "valkey://:secret@127.0.0.1:1/0"


@pytest.fixture
def server(valkey: Valkey) -> Valkey:
    """A server with nothing in it, whose calls are counted from now on."""
    valkey.command("FLUSHALL")
    valkey.command("CONFIG", "RESETSTAT")
    return valkey


@pytest.fixture
def own(tmp_path: Path) -> Iterator[Valkey]:
    """A server that the test may do anything to."""
    with Valkey(tmp_path) as server:
        yield server


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that is back is told soon."""
    monkeypatch.setattr(module, "_RETRY", 0.05)


def run(
    url: str, work: Callable[[ValkeyBackend], Coroutine[Any, Any, None]], **options: Any
) -> None:
    """Do some work with a backend, which is closed behind it and leaves nothing open."""
    complaints: list[dict[str, Any]] = []

    async def all_of_it() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, what: complaints.append(what))
        backend = ValkeyBackend(url, **options)
        try:
            await work(backend)
        finally:
            await backend.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    async def bounded() -> None:
        async with asyncio.timeout(STANDSTILL):
            await all_of_it()

    asyncio.run(bounded())
    gc.collect()  # a connection that was left open would be a warning
    assert complaints == []


async def taken(backend: ValkeyBackend, now: float | None = None, host: str = HOST) -> Lease:
    lease = await backend.take(host, now)
    assert isinstance(lease, Lease)
    return lease


async def until(holds: Callable[[], object]) -> None:
    while not holds():
        await asyncio.sleep(0.005)


def slots(server: Valkey) -> int:
    """How many slots of the host are in use, as far as the server knows."""
    return int(server.command("ZCARD", SLOTS)[1:])


def calls(server: Valkey, command: str) -> int:
    """How often the server was asked for something."""
    for line in server.command("INFO", "commandstats").decode().splitlines():
        if line.startswith(f"cmdstat_{command}:calls="):
            return int(line.partition("=")[2].partition(",")[0])
    return 0


# What is in the server.


def test_keys_are_those_of_the_host_and_vanish(server: Valkey) -> None:
    """A sorted set by the end of leases, a hash of times; both are gone when they are over."""

    async def test(backend: ValkeyBackend) -> None:
        await backend.reserve(HOST, 20.0)
        await taken(backend)
        assert server.command("TYPE", SLOTS) == b"+zset\r\n"
        assert server.command("TYPE", TIMES) == b"+hash\r\n"
        assert server.command("DBSIZE") == b":2\r\n"
        assert 2_000 < int(server.command("PTTL", SLOTS)[1:]) <= 3_000
        assert 22_000 < int(server.command("PTTL", TIMES)[1:]) <= 23_000
        await backend.penalise(HOST, time.time() + 100)
        assert 102_000 < int(server.command("PTTL", TIMES)[1:]) <= 103_000

    run(server.url, test, lease=3.0)


def test_an_idle_host_is_forgotten(server: Valkey) -> None:
    """Nothing is left of it when leases and delays are over."""

    async def test(backend: ValkeyBackend) -> None:
        await backend.begin(HOST, 0.0)
        await until(lambda: server.command("DBSIZE") == b":0\r\n")

    run(server.url, test, lease=0.05)


def test_prefixes_are_settings_and_keep_fleets_apart(server: Valkey) -> None:
    """Two pairs of prefixes on one server have nothing to do with each other."""

    async def test(backend: ValkeyBackend) -> None:
        other = open_backend(server.url, 1, 300.0, None, "slots:", "times:")
        await backend.begin(HOST, 50.0)
        await other.reserve(HOST, 0.0)
        assert isinstance(await other.take(HOST), Lease)
        for key in (SLOTS, TIMES, f"slots:{{{HOST}}}", f"times:{{{HOST}}}"):
            assert server.command("EXISTS", key) == b":1\r\n"
        await other.close()

    run(server.url, test)


def test_each_verb_is_one_round_trip(server: Valkey) -> None:
    """Once the server knows the script, which it is told by whoever comes first."""

    async def test(backend: ValkeyBackend) -> None:
        await backend.reserve(HOST, 0.0)
        before = calls(server, "evalsha")
        await backend.reserve(HOST, 0.0)
        lease = await taken(backend)
        await backend.renew(lease)
        await backend.penalise(HOST, 0.0)
        await backend.release(lease)
        await backend.begin(HOST, 0.0)
        assert calls(server, "evalsha") - before == 6
        assert calls(server, "eval") == 0

    run(server.url, test)


def test_a_request_is_two_round_trips(server: Valkey) -> None:
    """A start that nobody is in the way of is reserved and taken at once; then it is released."""

    async def test(backend: ValkeyBackend) -> None:
        gate = Gate(backend, Pace())
        await gate.leave(await gate.enter(HOST, lambda _: 0.02))
        before = calls(server, "evalsha")
        for _ in range(10):
            await gate.leave(await gate.enter(HOST, lambda _: 0.02))
        # Now and then an answer is slow, and the others have to be told.
        assert 20 <= calls(server, "evalsha") - before <= 30

    run(server.url, test)


# Away, and back.


def away(problem: str | None = None) -> Any:
    return pytest.raises(PolitenessError, match=problem)


def test_without_a_server_nobody_starts() -> None:
    """The error says where it is, and not the password; what is only told is no error."""

    async def test(backend: ValkeyBackend) -> None:
        for ask in (backend.reserve, backend.begin):
            with away(
                "'valkey://127.0.0.1:1/0': Error .*no request may start until it answers again"
            ):
                await ask(HOST, 1.0)
        with away() as caught:
            await backend.take(HOST)
        assert "secret" not in str(caught.value) + repr(caught.value)
        with away():
            await backend.renew(Lease(HOST, "x", 0.0))
        await backend.release(Lease(HOST, "x", time.time() + 9))
        await backend.penalise(HOST, time.time() + 9)

    run(NOWHERE, test)


def test_a_gate_without_a_server_lets_nobody_through() -> None:
    """Everybody in line gets the error, and whoever comes after them."""

    async def test(backend: ValkeyBackend) -> None:
        gate = Gate(backend, Pace())
        line = [gate.enter(HOST, lambda _: 0.0) for _ in range(3)]
        found = await asyncio.gather(*line, return_exceptions=True)
        assert [type(each) for each in found] == [PolitenessError] * 3
        with away():
            await gate.enter(HOST, lambda _: 0.0)

    run(NOWHERE, test)


def test_it_goes_on_when_the_server_is_back(own: Valkey) -> None:
    """Killed and started again, and again: errors meanwhile, and none afterwards."""

    async def test(backend: ValkeyBackend) -> None:
        for _ in range(3):
            await backend.release(await taken(backend))
            await asyncio.gather(*(backend.reserve(f"{n}.example", 1.0) for n in range(40)))
            own.kill()
            with away():
                await backend.take(HOST)
            own.start()

    run(own.url, test)


@pytest.mark.usefixtures("quick")
def test_a_slot_that_could_not_be_given_back_is_given_back_later(own: Valkey) -> None:
    """The server stood still, and has forgotten nothing: leases do not have to run out."""

    async def test(backend: ValkeyBackend) -> None:
        lease = await taken(backend)
        own.stop()
        await backend.release(lease)
        own.go_on()
        await until(lambda: slots(own) == 0)

    run(own.url, test, timeout=PATIENCE)


@pytest.mark.usefixtures("quick")
def test_a_slot_that_was_taken_and_nobody_heard_of_is_given_back(own: Valkey) -> None:
    """The server did what it was asked for when nobody waited any more."""

    async def test(backend: ValkeyBackend) -> None:
        await backend.reserve(HOST, 0.0)  # there is a connection
        own.stop()
        with away("Timeout"):
            await backend.take(HOST)
        own.go_on()
        await until(lambda: not backend._notices)
        assert slots(own) == 0

    run(own.url, test, timeout=PATIENCE)


def test_a_slot_whose_answer_was_lost_is_taken_once(server: Valkey) -> None:
    """The connection breaks when it is taken: it is asked for again, and it is the same one."""
    broken = 0

    async def talk(client: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal broken
        there, onwards = await asyncio.open_connection("127.0.0.1", server.port)
        while data := await client.read(65_536):
            onwards.write(data)
            answer = await there.read(65_536)
            if b"take" in data and not broken:
                broken += 1
                break
            writer.write(answer)
        for each in (writer, onwards):
            each.close()

    async def test(direct: ValkeyBackend) -> None:
        await direct.reserve(HOST, 50.0)  # the server knows the script
        async with await asyncio.start_server(talk, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            backend = ValkeyBackend(f"valkey://127.0.0.1:{port}/0")
            lease = await backend.take(HOST, None, 50.0)
            assert isinstance(lease, Lease)
            assert (broken, slots(server)) == (1, 1)
            await backend.release(lease)
            assert slots(server) == 0
            await backend.close()

    run(server.url, test)


@pytest.mark.usefixtures("quick")
def test_a_penalty_that_could_not_be_told_is_told_later(own: Valkey) -> None:
    """The longest of them; one that is over meanwhile is not."""

    async def test(backend: ValkeyBackend) -> None:
        other = ValkeyBackend(own.url)
        own.stop()
        await backend.penalise(HOST, time.time() + 900)
        await backend.penalise(HOST, time.time() + 30)
        await backend.penalise("short.example", time.time() + 0.1)
        own.go_on()
        await until(lambda: not backend._notices)
        start = await other.reserve(HOST, 1.0)
        assert start - time.time() > 800
        assert own.command("EXISTS", "host_delay:{short.example}") == b":0\r\n"
        await other.close()

    run(own.url, test, timeout=PATIENCE)


def test_what_is_still_to_be_told_is_tried_once_more_when_it_closes(own: Valkey) -> None:
    """A server that has come back by then knows; with one that has not, nobody is stuck."""

    async def test(backend: ValkeyBackend) -> None:
        port = own.port
        own.kill()
        await backend.penalise(HOST, time.time() + 900)
        own.start()
        assert own.port == port

    run(own.url, test)
    assert own.command("EXISTS", TIMES) == b":1\r\n"


def test_a_server_that_has_forgotten_everything_makes_nobody_start_sooner(own: Valkey) -> None:
    """What this process started, and was told by the host, it knows by itself."""

    async def test(backend: ValkeyBackend) -> None:
        gate = Gate(backend, Pace())
        await gate.leave(await gate.enter(HOST, lambda _: 1.0))
        begun = time.monotonic()
        await gate.penalise("other.example", time.time() + 1.0)
        own.kill()
        own.start()
        for host in (HOST, "other.example"):
            await gate.leave(await gate.enter(host, lambda _: 1.0))
            assert time.monotonic() - begun >= 0.98

    run(own.url, test)


def test_a_host_that_is_to_be_left_alone_for_long_stays_deferred(own: Valkey) -> None:
    """Also while the server is away: nothing has to be asked for that."""

    async def test(backend: ValkeyBackend) -> None:
        gate = Gate(backend, Pace())
        await gate.penalise(HOST, time.time() + 900)
        own.kill()
        with pytest.raises(HostDeferred):
            await gate.enter(HOST, lambda _: 0.0)

    run(own.url, test)


# Not to be trusted.


@pytest.mark.parametrize(
    ("commands", "problem"),
    [
        ([("SET", SLOTS, "mine")], "WRONGTYPE"),
        ([("SET", TIMES, "mine")], "WRONGTYPE"),
        ([("HSET", TIMES, "next", "1e300")], "has something else in"),
        ([("HSET", TIMES, "penalty", "inf")], "has something else in"),
        ([("HSET", TIMES, "next", "9007199254740991")], "has something else in"),
        ([("ZADD", SLOTS, "1e300", "x"), ("ZADD", SLOTS, "1e300", "y")], "has something else in"),
    ],
)
def test_what_others_have_written_lets_nobody_start(
    server: Valkey, commands: list[tuple[str, ...]], problem: str
) -> None:
    """It is an error that names the keys, and is over when they are."""

    async def test(backend: ValkeyBackend) -> None:
        for command in commands:
            server.command(*command)
        with away(problem):
            await backend.begin(HOST, 0.0)
        await backend.begin("other.example", 0.0)
        server.command("DEL", SLOTS, TIMES)
        await backend.begin(HOST, 0.0)

    run(server.url, test)


@pytest.mark.parametrize(
    "fields", [("next", "abc", "delay", "", "earliest", "\xff", "penalty", "-inf"), ("other", "1")]
)
def test_what_is_no_time_is_none(server: Valkey, fields: tuple[str, ...]) -> None:
    """As if it was not there."""

    async def test(backend: ValkeyBackend) -> None:
        server.command("HSET", TIMES, *fields)
        assert isinstance(await backend.begin(HOST, 50.0), Lease)
        assert isinstance(await backend.begin(HOST, 50.0), NotBefore)

    run(server.url, test)


ANSWERS = [
    b"$-1\r\n",
    b"+OK\r\n",
    b":1\r\n",
    b"*0\r\n",
    b"*3\r\n:1\r\n$4\r\nheld\r\n$1\r\n2\r\n",
    b"*3\r\n:1\r\n$4\r\nhuge\r\n:2\r\n",
    b"*3\r\n:5\r\n$4\r\nheld\r\n:2\r\n",
    b"*3\r\n:-5\r\n$4\r\nheld\r\n:2\r\n",
    b"*3\r\n:5\r\n$5\r\nearly\r\n:9223372036854775807\r\n",
    b"-ERR \x1b[2J" + b"x" * 5000 + b"\r\n",
    b"rubbish\r\n",
]


@pytest.mark.parametrize("answer", ANSWERS, ids=[str(n) for n in range(len(ANSWERS))])
def test_an_answer_that_is_none_lets_nobody_start(answer: bytes) -> None:
    """Whatever listens there; and what it says is not shown as it is."""

    async def work() -> None:
        async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            while data := await reader.read(65_536):
                greeting = b"" if b"EVALSHA" in data else b"+OK\r\n" * max(data.count(b"*"), 1)
                writer.write(greeting or answer)
            writer.close()

        async with await asyncio.start_server(talk, "127.0.0.1", 0) as listening:
            port = listening.sockets[0].getsockname()[1]
            backend = ValkeyBackend(f"valkey://127.0.0.1:{port}/?protocol=2")
            for ask in (backend.reserve, backend.begin):
                with away() as caught:
                    await ask(HOST, 1.0)
                assert str(caught.value).isprintable()
                assert len(str(caught.value)) < 500
            await backend.close()

    asyncio.run(asyncio.wait_for(work(), STANDSTILL))


@pytest.mark.parametrize(("url", "problem"), NO_SERVERS)
def test_a_url_that_is_none_is_an_error_without_the_password(url: str, problem: str) -> None:
    """What cannot be a server is noticed at once."""
    with pytest.raises(StoreError, match=problem) as caught:
        open_backend(url)
    assert "secret" not in str(caught.value)


def test_schemes_have_no_case() -> None:
    """RFC 3986 section 3.1: `VALKEY://` is the same place as `valkey://`."""
    backend = open_backend("VALKEY://:secret@Fleet.internal")
    assert isinstance(backend, ValkeyBackend)
    assert backend.place == "valkey://Fleet.internal"


def test_a_server_that_wants_a_password_says_how_to_give_it(tmp_path: Path) -> None:
    """Whoever gave one is told that it is wrong."""

    async def test(backend: ValkeyBackend, problem: str) -> None:
        with away(problem):
            await backend.reserve(HOST, 1.0)

    with Valkey(tmp_path, "--requirepass", "right-one") as server:
        for user, problem in (
            (
                "",
                r"password required: use valkey://:password@host:port/database; no request may",
            ),
            (":wrong-one@", "invalid username-password pair"),
        ):
            run(f"valkey://{user}127.0.0.1:{server.port}/0", partial(test, problem=problem))


@pytest.mark.parametrize("url", ["nosuch://:secret@host/", "politeness.db", ""])
def test_there_are_no_other_places(url: str) -> None:
    """A file is none: it would not be shared by machines."""
    with pytest.raises(UnknownName, match="choose from: redis, rediss, valkey, valkeys") as caught:
        open_backend(url)
    assert "secret" not in str(caught.value)


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no redis-py is told what to install."""
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(MissingExtra, match=r"manners\[valkey\]"):
        open_backend("valkey://localhost/")


def test_nobody_is_left_alone_for_ever(server: Valkey) -> None:
    """A year is the longest that is kept, however long was asked for; nothing is rubbish then."""

    async def test(backend: ValkeyBackend) -> None:
        for forever in (1e300, float("inf")):
            await backend.penalise(HOST, forever)
        await backend.penalise(HOST, float("-inf"))
        assert 0.9 < (await backend.reserve(HOST, 1.0) - time.time()) / (365 * 86_400) < 1.1

    run(server.url, test)


# Clocks.


@pytest.mark.parametrize("wrong", [-3600.0, 3600.0])
def test_clocks_may_differ(server: Valkey, wrong: float) -> None:
    """The server's decides; times are told, and understood, by the clock of whoever asks."""

    def clock() -> float:
        return time.time() + wrong

    async def test(backend: ValkeyBackend) -> None:
        right = ValkeyBackend(server.url)
        await backend.begin(HOST, 20.0)
        for each, offset in ((backend, wrong), (right, 0.0)):
            before = time.time()
            start = await each.begin(HOST, 20.0, None, 1.0)
            assert isinstance(start, NotBefore)
            assert 18 < start - offset - before <= 20 + time.time() - before
        await right.penalise("a.example", time.time() + 30)
        await backend.penalise("b.example", clock() + 30)
        for host in ("a.example", "b.example"):
            for each, offset in ((backend, wrong), (right, 0.0)):
                before = time.time()
                start = await each.reserve(host, 0.0) - offset
                assert 28 < start - before <= 30 + time.time() - before
        lease = await backend.take("c.example")
        assert isinstance(lease, Lease)
        assert lease.until <= clock() + 300
        assert await right.renew(lease) is not None
        await right.close()

    run(server.url, test, clock=clock)


# Whoever stops waiting.


def test_a_slot_that_comes_too_late_is_given_back(own: Valkey) -> None:
    """The server takes its time, nobody waits for it any more: both slots are free afterwards."""

    async def test(backend: ValkeyBackend) -> None:
        await backend.reserve(HOST, 0.0)
        own.stop()
        taking = [
            asyncio.create_task(backend.take(HOST)),
            asyncio.create_task(backend.begin(HOST, 0.0)),
        ]
        await asyncio.sleep(0.05)
        for task in taking:
            task.cancel()
        found = await asyncio.gather(*taking, return_exceptions=True)
        assert [type(each) for each in found] == [asyncio.CancelledError] * 2
        own.go_on()
        await until(lambda: not backend._tasks)
        assert slots(own) == 0

    run(own.url, test)


def test_a_slot_that_is_given_back_by_somebody_who_is_cancelled_is_free(own: Valkey) -> None:
    """To give it back does not depend on who waits for it."""

    async def test(backend: ValkeyBackend) -> None:
        lease = await taken(backend)
        own.stop()
        giving = asyncio.create_task(backend.release(lease))
        await asyncio.sleep(0.05)
        giving.cancel()
        await asyncio.wait([giving])
        own.go_on()
        await until(lambda: slots(own) == 0)

    run(own.url, test)


def test_a_slot_is_given_back_after_closing(server: Valkey) -> None:
    """Requests that were under way end after their client; no connection is left open."""

    async def test(backend: ValkeyBackend) -> None:
        leases = [await taken(backend, NOW) for _ in range(2)]
        await backend.close()
        await asyncio.gather(*map(backend.release, leases))

    run(server.url, test)
    assert slots(server) == 0


def test_others_keep_their_distance_from_a_start_that_was_slow(own: Valkey) -> None:
    """A slot whose taking took long: the delay counts from when it was there."""

    async def test(backend: ValkeyBackend) -> None:
        await backend.reserve(HOST, 0.0)
        before = calls(own, "evalsha")
        own.stop()
        entering = asyncio.create_task(Gate(backend, Pace()).enter(HOST, lambda _: 20.0))
        await asyncio.sleep(0.3)
        own.go_on()
        lease = await entering
        assert calls(own, "evalsha") - before == 2  # it asked once more before it went through
        earliest = own.command("HGET", TIMES, "earliest").split(b"\r\n")[1]
        assert int(earliest) / 1e6 >= time.time() + 19.0
        await backend.release(lease)

    run(own.url, test)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_has_connections_of_its_own(server: Valkey) -> None:
    """Both go on with the same backend, and answers do not get mixed up."""

    async def test(backend: ValkeyBackend) -> None:
        assert isinstance(await backend.begin(HOST, 50.0), Lease)
        child = os.fork()
        if child == 0:
            os._exit(_child(backend))
        for number in range(50):
            assert await backend.reserve(f"p{number}.example", 1.0, NOW) == NOW
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert await backend.reserve("p1.example", 1.0, NOW) == NOW + 1

    run(server.url, test)


def _child(backend: ValkeyBackend) -> int:
    async def work() -> bool:
        starts = [await backend.reserve(f"c{number}.example", 1.0, NOW) for number in range(50)]
        second = await backend.begin(HOST, 0.0, None, 1.0)
        await backend.close()
        return set(starts) == {NOW} and isinstance(second, NotBefore)

    asyncio._set_running_loop(None)
    try:
        return 0 if asyncio.new_event_loop().run_until_complete(work()) else 1
    except BaseException:
        return 2
