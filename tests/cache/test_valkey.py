"""A cache in Valkey, with a real server that is killed, stopped, closed and full of rubbish."""

import asyncio
import gc
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest

from manners.cache.backends import CacheBackend, open_backend
from manners.cache.backends.valkey import ValkeyCache
from manners.cache.blocking import RobotsCache
from manners.cache.encoding import metadata
from manners.cache.robots import AsyncRobotsCache
from manners.cache.tier import Tier
from manners.errors import MissingExtra, StoreError
from manners.testing import Clock
from tests.cache.steps import BODY, FILE, START
from tests.cache.test_robots_cache import CLOSED, OPEN, A, Script
from tests.cache.test_tier import Watch, hear
from tests.contracts.entries import ORIGINS, entry
from tests.contracts.valkey import NO_SERVERS, Valkey

ROOT = Path(__file__).parents[2]
KEY = f"manners:robots:{A}"
STANDSTILL = 60
"""Seconds after which a test that stands still is ended; no promise depends on them."""
BOUND = 20.0
"""Seconds in which an answer is there that a server may delay by a quarter of one."""


@pytest.fixture(autouse=True)
def _heard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Warnings reach the test, also where a command of another test has turned them away."""
    hear(monkeypatch)


@pytest.fixture
def server(valkey: Valkey) -> Valkey:
    """A server with nothing in it."""
    valkey.command("FLUSHALL")
    return valkey


def run(
    url: str,
    work: Callable[[CacheBackend], Coroutine[Any, Any, object]],
) -> None:
    """Do some work with a backend, which is closed behind it and leaves nothing open."""

    async def all_of_it() -> None:
        backend = open_backend(url)
        try:
            await work(backend)
        finally:
            await backend.close()

    asyncio.run(asyncio.wait_for(all_of_it(), STANDSTILL))
    gc.collect()  # a connection that was left open would be a warning


async def save(backend: CacheBackend) -> None:
    await backend.save(entry(A, body=BODY))


def verdicts(url: str | None) -> list[str]:
    """What is answered with a server, or without one."""
    with RobotsCache(http=Script(FILE), clock=Clock(START), store=url) as cache:
        urls = (CLOSED, OPEN, "https://z.example/a")
        return [str(cache.check(each, "MyBot")) for each in urls]


def said(caplog: pytest.LogCaptureFixture) -> list[str]:
    """The warnings about stores."""
    assert {record.levelno for record in caplog.records} <= {logging.WARNING}
    return [each.getMessage() for each in caplog.records if each.name == "manners.cache"]


def unchanged(url: str, caplog: pytest.LogCaptureFixture) -> str:
    """The one warning about a server that does not work, which changes no verdict."""
    began = time.monotonic()
    assert verdicts(url) == verdicts(None)
    assert time.monotonic() - began < BOUND
    gc.collect()
    assert len(said(caplog)) == 1
    assert "not used for 5 s" in said(caplog)[0]
    return said(caplog)[0]


# What is in the server.


def test_keys_have_a_prefix_and_a_time_to_live(server: Valkey) -> None:
    """An entry is one hash under its origin, and goes after 31 days."""
    run(server.url, save)
    assert server.command("KEYS", "*") == b"*1\r\n$%d\r\n%s\r\n" % (len(KEY), KEY.encode())
    assert server.command("TYPE", KEY) == b"+hash\r\n"
    seconds = int(server.command("TTL", KEY)[1:])
    assert 31 * 86_400 - 60 < seconds <= 31 * 86_400


def test_the_time_to_live_begins_anew_with_a_newer_entry(server: Valkey) -> None:
    """What is kept is kept for 31 days from then on; what is refused changes nothing."""
    run(server.url, save)
    server.command("EXPIRE", KEY, "100")
    run(server.url, lambda backend: backend.save(entry(A, START - 1)))
    assert int(server.command("TTL", KEY)[1:]) <= 100
    run(server.url, lambda backend: backend.save(entry(A, START + 1)))
    assert int(server.command("TTL", KEY)[1:]) > 100


def test_other_peoples_keys_are_left_alone(server: Valkey) -> None:
    """Keys that do not begin with the prefix are neither listed nor dropped."""
    for name in ("mine", "manners", "manners:other", "xmanners:robots:https://x.example"):
        server.command("SET", name, "1")

    async def test(backend: CacheBackend) -> None:
        await save(backend)
        assert [each.origin async for each in backend.entries()] == [A]
        assert await backend.forget(A)

    run(server.url, test)
    assert server.command("DBSIZE") == b":4\r\n"


def test_a_prefix_of_ones_own_keeps_fleets_apart(server: Valkey) -> None:
    """Two prefixes on one server are two caches."""

    async def test() -> None:
        one, other = ValkeyCache(server.url, "one:"), ValkeyCache(server.url, "other:")
        await one.save(entry(A))
        assert await other.load(A) is None
        assert [each async for each in other.entries()] == []
        await one.close()
        await other.close()

    asyncio.run(test())
    assert server.command("EXISTS", "one:" + A) == b":1\r\n"


def test_databases_of_a_server_are_apart(server: Valkey) -> None:
    """The path of the URL chooses the database."""
    run(server.url[:-1] + "3", save)
    assert server.command("DBSIZE") == b":0\r\n"


@pytest.mark.parametrize("scheme", ["valkey", "redis"])
def test_both_schemes_are_the_same_place(server: Valkey, scheme: str) -> None:
    """`redis://` and `valkey://` lead to the same entries."""
    run(server.url, save)

    async def test(backend: CacheBackend) -> None:
        assert await backend.load(A) == entry(A, body=BODY)

    run(f"{scheme}://127.0.0.1:{server.port}/0", test)


def test_a_script_that_the_server_forgot_is_sent_again(server: Valkey) -> None:
    """A server that was restarted or flushed knows no scripts."""

    async def test(backend: CacheBackend) -> None:
        for number in range(3):
            server.command("SCRIPT", "FLUSH")
            await backend.save(entry(A, START + number))
            loaded = await backend.load(A)
            assert loaded is not None
            assert loaded.outcome.at == START + number

    run(server.url, test)


# Rubbish.


def kept(text: str, body: bytes) -> list[str | bytes]:
    return ["HSET", KEY, "at", "1", "metadata", text, "body", body]


WHOLE = metadata(entry(A, body=BODY))
RUBBISH: dict[str, list[str | bytes]] = {
    "a string": ["SET", KEY, "x"],
    "a list": ["RPUSH", KEY, "x"],
    "an empty text": kept("", b"+" + BODY),
    "no JSON": kept("{", b"+" + BODY),
    "JSON without a checksum": kept(WHOLE.partition(" ")[2], b"+" + BODY),
    "bytes": ["HSET", KEY, "metadata", b"\xff\xfe", "body", b"+"],
    "another body": kept(WHOLE, b"+User-agent: *\nAllow: /"),
    "a body that was cut": kept(WHOLE, b"+" + BODY[:-1]),
    "an empty body": kept(WHOLE, b""),
    "a body without its mark": kept(WHOLE, BODY),
    "no body": ["HSET", KEY, "metadata", WHOLE],
    "no metadata": ["HSET", KEY, "body", b"+" + BODY],
    "another origin's": kept(metadata(entry(ORIGINS[1], body=BODY)), b"+" + BODY),
}


@pytest.mark.parametrize("command", RUBBISH.values(), ids=RUBBISH)
def test_rubbish_in_the_server_changes_no_verdict(
    server: Valkey, command: list[str | bytes], caplog: pytest.LogCaptureFixture
) -> None:
    """What is no entry of the site is a warning, and the site is asked."""
    assert not server.command(*command).startswith(b"-")
    unchanged(server.url, caplog)


def test_a_hash_of_somebody_else_is_nothing(server: Valkey) -> None:
    """A hash without any field of ours holds no entry."""
    server.command("HSET", KEY, "x", "1")

    async def test(backend: CacheBackend) -> None:
        assert await backend.load(A) is None

    run(server.url, test)


def test_a_time_that_is_none_does_not_stop_a_save(server: Valkey) -> None:
    """Rubbish where the time should be is older than everything."""
    server.command("HSET", KEY, "at", "rubbish", "metadata", "x", "body", "y")
    run(server.url, save)

    async def test(backend: CacheBackend) -> None:
        assert await backend.load(A) == entry(A, body=BODY)

    run(server.url, test)


# Servers that cannot be used.


def test_a_port_where_nobody_listens_changes_no_verdict(caplog: pytest.LogCaptureFixture) -> None:
    """A connection that is refused is a warning that names the place."""
    assert "127.0.0.1:1/0" in unchanged("valkey://127.0.0.1:1/0", caplog)


def test_a_host_that_is_unknown_changes_no_verdict(caplog: pytest.LogCaptureFixture) -> None:
    """A name that nobody has is a warning."""
    unchanged("valkey://nosuch.invalid/0", caplog)


def test_a_wrong_password_changes_no_verdict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that does not let us in is a warning, and no password is in it."""
    with Valkey(tmp_path, "--requirepass", "right-one") as server:
        for user in ("", ":wrong-one@", "somebody:wrong-one@"):
            caplog.clear()
            warning = unchanged(f"valkey://{user}127.0.0.1:{server.port}/0", caplog)
            assert "wrong-one" not in warning
            wants = "password required: use valkey://:password@host:port/database"
            assert (wants in warning) == (not user)
        url = f"valkey://:right-one@127.0.0.1:{server.port}/0"
        caplog.clear()
        assert verdicts(url) == verdicts(None)
        assert said(caplog) == []

        async def test(backend: CacheBackend) -> None:
            assert await backend.load(A) is not None

        run(url, test)


@pytest.mark.impatient
@pytest.mark.parametrize("scheme", ["valkeys", "rediss"])
def test_tls_to_a_plain_port_changes_no_verdict(
    server: Valkey, scheme: str, caplog: pytest.LogCaptureFixture
) -> None:
    """`valkeys://` speaks TLS, which a plain server does not understand."""
    unchanged(f"{scheme}://127.0.0.1:{server.port}/0", caplog)
    assert server.command("DBSIZE") == b":0\r\n"


def test_a_server_that_speaks_something_else_changes_no_verdict(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """A web server on the port is a warning."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer() -> None:
            while True:
                try:
                    connection = listener.accept()[0]
                except OSError:
                    return
                with connection:
                    connection.recv(4096)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        threading.Thread(target=answer, daemon=True).start()
        unchanged(f"valkey://127.0.0.1:{listener.getsockname()[1]}/0", caplog)
        listener.shutdown(socket.SHUT_RDWR)


def test_a_server_without_memory_changes_no_verdict(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that is full keeps nothing more, and says so."""
    with Valkey(tmp_path, "--maxmemory", "1", "--maxmemory-policy", "noeviction") as server:
        assert "maxmemory" in unchanged(server.url, caplog)


@pytest.mark.impatient
def test_a_server_that_stands_still_costs_250_ms(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A server that accepts and never answers is left alone, and used again when it goes on."""
    with Valkey(tmp_path) as server:
        run(server.url, save)
        server.stop()
        unchanged(server.url, caplog)
        server.go_on()

        async def test(backend: CacheBackend) -> None:
            assert await backend.load(A) == entry(A, body=BODY)

        run(server.url, test)


@pytest.mark.impatient
def test_a_late_answer_is_nobodys(tmp_path: Path) -> None:
    """After a server stood still, each question has its own answer."""

    async def test(server: Valkey) -> None:
        watch, reports = Watch(), list[str]()
        tier = Tier(open_backend(server.url), reports.append, watch)
        for site in ORIGINS:
            await tier.save(entry(site, body=site.encode()))
        for number in range(3):
            server.stop()
            found = await asyncio.gather(*(tier.load(site) for site in ORIGINS))
            assert set(found) == {None}
            server.go_on()
            watch.at += 5.0
            for site in reversed(ORIGINS):
                # On a busy machine its answer may be late again, and nobody's again.
                while (loaded := await tier.load(site)) is None:
                    watch.at += 5.0
                assert loaded.body == site.encode()
            assert len(reports) > number
        await tier.close()

    with Valkey(tmp_path) as server:
        asyncio.run(asyncio.wait_for(test(server), STANDSTILL))


def test_a_server_may_be_killed_and_come_back(tmp_path: Path) -> None:
    """While it is away the sites are asked; when it is back, it is used again."""
    server = Valkey(tmp_path)

    async def test() -> None:
        watch, reports, script = Watch(), list[str](), Script(FILE)
        cache = AsyncRobotsCache(http=script, clock=Clock(START), store=server.url)
        cache._store = Tier(open_backend(server.url), reports.append, watch)  # a clock of ours
        for step, is_up in enumerate((True, False, True, True, False, False, True)):
            server.kill()
            if is_up:
                server.start()
            watch.at += 5.0
            for number in range(5):
                assert not await cache.allowed(f"https://{step}-{number}.example/a", "MyBot")
            await asyncio.gather(*cache._flights.saves)
            if is_up:
                assert server.command("DBSIZE") == b":5\r\n"
        assert len(reports) == 3
        assert len(script.asked) == 35
        await cache.close()

    with server:
        asyncio.run(asyncio.wait_for(test(), STANDSTILL))


@pytest.mark.parametrize(("url", "problem"), NO_SERVERS)
def test_a_url_that_is_none_is_an_error_without_the_password(url: str, problem: str) -> None:
    """What cannot be a server is noticed when the cache is made."""
    with pytest.raises(StoreError, match=problem) as caught:
        open_backend(url)
    assert "secret" not in str(caught.value)


def test_schemes_have_no_case(server: Valkey, tmp_path: Path) -> None:
    """RFC 3986 section 3.1: `VALKEY://` is the same place as `valkey://`, and so are others."""
    run(server.url.replace("valkey", "Valkey"), save)
    assert server.command("DBSIZE") == b":1\r\n"
    run(f"SQLite:///{tmp_path}/cache.db", save)
    assert (tmp_path / "cache.db").exists()


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has no redis-py is told what to install."""
    monkeypatch.setitem(sys.modules, "redis.asyncio", None)
    with pytest.raises(MissingExtra, match=r"manners\[valkey\]"):
        open_backend("valkey://localhost/")


# The server of the tests.


def test_a_server_ends_with_the_process_that_started_it(tmp_path: Path) -> None:
    """A test process that is killed leaves no server behind."""
    code = (
        "import sys, time; from pathlib import Path; from tests.contracts.valkey import Valkey\n"
        "server = Valkey(Path(sys.argv[1])).start()\n"
        "print(server.pid, flush=True); time.sleep(60)\n"
    )
    with Valkey(tmp_path):  # or this test is skipped
        pass
    with subprocess.Popen(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        pid = int(process.stdout.readline())
        assert _runs(pid)
        process.send_signal(signal.SIGKILL)
    until = time.monotonic() + STANDSTILL
    while _runs(pid) and time.monotonic() < until:
        time.sleep(0.02)
    assert not _runs(pid)


def _runs(pid: int) -> bool:
    """Whether a process runs; one that has ended may still be listed for a while."""
    try:
        os.kill(pid, 0)
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (ProcessLookupError, FileNotFoundError):
        return False
    return state != "Z"
