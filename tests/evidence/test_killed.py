"""Nothing is lost: whoever is killed, and whenever, nothing was asked for without a record of it.

Clients are killed with SIGKILL, at random moments: after some time, or in the very moment in which
the server gets a request. What the server has seen is then compared with what is in the store.
`KILLED_SEED` repeats the choices of a run, as far as a machine repeats itself.
"""

import asyncio
import os
import random
import signal
import subprocess
import sys
import threading
import time
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count, islice
from pathlib import Path

import pytest

from manners.evidence.record import engine
from manners.evidence.replay import Replay
from manners.evidence.store import EvidenceStore
from tests.contracts.postgres import Postgres
from tests.evidence.killed_process import BUGS, url
from tests.sizes import seed, size

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")

ROOT = Path(__file__).parents[2]
PATIENCE = 30.0
"""Seconds in which something happens that has to; no promise depends on them."""


SEED = seed("KILLED_SEED")
KILLS = size("KILLS")


# The server, which survives everything.


class Trap:
    """Kills a process as soon as the server has so many requests for pages of its run."""

    def __init__(self, run: str, process: int, requests: int) -> None:
        self._mark, self._process, self._left = f"/{run}/", process, requests
        self.is_sprung = threading.Event()

    def feel(self, path: str) -> None:
        if self._mark in path:
            self._left -= 1
            if self._left == 0:
                os.kill(self._process, signal.SIGKILL)  # it is no one else's yet: nobody has waited
                self.is_sprung.set()


class Server:
    """Hosts on loopback, whose log has every byte that arrived, also from those who died."""

    def __init__(self) -> None:
        self.pages: list[str] = []
        """Every request for a page: its URL."""
        self.files = 0
        """Requests for robots.txt."""
        self.open = 0
        self.trap: Trap | None = None
        self.port = 0

    @contextmanager
    def running(self) -> Iterator["Server"]:
        loop, ready = asyncio.new_event_loop(), threading.Event()

        def run() -> None:
            made = loop.run_until_complete(loop.create_server(lambda: _Talk(self), "0.0.0.0", 0))
            self.port = made.sockets[0].getsockname()[1]
            ready.set()
            loop.run_forever()
            made.close()
            loop.run_until_complete(made.wait_closed())

        thread = threading.Thread(target=run, name="server")
        thread.start()
        try:
            assert ready.wait(PATIENCE)
            yield self
            self.empty()
        finally:
            loop.call_soon_threadsafe(loop.stop)
            thread.join()
            loop.close()

    def empty(self) -> None:
        """Wait until everything was read that the dead have sent."""
        until(lambda: self.open == 0)


class _Talk(asyncio.Protocol):
    """One connection, request by request."""

    def __init__(self, server: Server) -> None:
        self._server, self._begun, self._count = server, b"", 0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport
        self._server.open += 1

    def connection_lost(self, _: Exception | None) -> None:
        self._server.open -= 1

    def data_received(self, data: bytes) -> None:
        head, end, self._begun = (self._begun + data).partition(b"\r\n\r\n")
        if not end:
            self._begun = head
            return
        first, *lines = head.decode().split("\r\n")
        method, path, _ = first.split(" ")
        headers = dict(line.lower().split(": ", 1) for line in lines)
        self._count += 1
        server = self._server
        if path == "/robots.txt":
            server.files += 1
            # No two are alike: each is a snapshot of its own.
            self._reply(method, f"# {server.files}\nUser-agent: *\nDisallow: /private/\n".encode())
            return
        server.pages.append(f"http://{headers['host']}{path}")
        if server.trap is not None:
            server.trap.feel(path)
        self._answer(method, path)

    def _answer(self, method: str, path: str) -> None:
        _, kind, rest = path.split("/", 2)
        host = zlib.crc32(rest.encode())
        match kind:
            case "moved":
                self._reply(method, to=url(self._server.port, host, f"/target/{rest}"))
            case "shut":
                self._reply(method, to=url(self._server.port, host, f"/private/{rest}"))
            case "slammed" if self._count > 1:  # a connection that was kept turns out to be stale
                self._transport.abort()
            case _:
                self._reply(method, b"page" * 100)

    def _reply(self, method: str, body: bytes = b"", to: str = "") -> None:
        status = f"302 Found\r\nLocation: {to}" if to else "200 OK"
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
        self._transport.write(head.encode() + (b"" if method == "HEAD" else body))


def until(happens: Callable[[], object]) -> None:
    """Wait for something that has to happen."""
    end = time.monotonic() + PATIENCE
    while not happens():
        assert time.monotonic() < end, "it does not happen"
        time.sleep(0.001)


# The clients.


class Nursery:
    """Starts processes that fetch, and kills them."""

    def __init__(self, server: Server, bug: str = "") -> None:
        self._server = server
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.evidence.killed_process", str(server.port), bug],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._read() == "ready"

    def start(self, run: int, place: object) -> int:
        return int(self._ask(f"start {run} {place}"))

    def end(self, process: int) -> None:
        """Kill a process; it has not died of anything else before."""
        assert self._ask(f"end {process}") == str(-signal.SIGKILL)

    def close(self) -> None:
        """Nobody survives it."""
        self._process.kill()
        self._process.communicate()

    def _ask(self, line: str) -> str:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._read()

    def _read(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline().strip()


@contextmanager
def world(bug: str = "") -> Iterator[tuple[Server, Nursery]]:
    """A server, and somebody who starts clients."""
    with Server().running() as server:
        nursery = Nursery(server, bug)
        try:
            yield server, nursery
        finally:
            nursery.close()


def doom(server: Server, nursery: Nursery, run: int, process: int, draw: random.Random) -> None:
    """Kill a process at a random moment: after a time, or in the moment of a request."""
    if draw.random() < 0.5:
        time.sleep(draw.choice([0.02, 0.1, 0.2]) * draw.random())
    else:
        server.trap = Trap(str(run), process, draw.choice([1, 10, 100]))
        server.trap.is_sprung.wait(5.0)  # a busy machine takes that long
        server.trap = None
    nursery.end(process)


# What holds.


def check(place: object, pages: Iterable[str]) -> Counter[str]:
    """Every request has a record, and the records are whole; how many there are of each type."""
    requests, types, allowed = Counter(pages), Counter[str](), Counter[str]()
    with EvidenceStore(str(place)) as store:
        assert list(store.verify()) == []
        replay = Replay(store.snapshot, engine())
        for record in store.records():
            assert replay.again(record) is None
            types[record.type] += 1
            if record.type == "robots_allowed":
                allowed[record.url] += 1
    unproven = requests - allowed
    assert not unproven, f"asked for without a record: {unproven}"
    return types


_KINDS = {"robots_allowed", "blocked_by_robots", "blocked_by_exclusion"}


def kill_clients(folder: Path, times: int, seed: str, bug: str = "") -> tuple[int, Counter[str]]:
    """Kill clients of a file; how many requests they made, and which records there are.

    On a busy machine most are killed early: then more are, until there is a record of each kind.
    """
    draw, records, path = random.Random(seed), Counter[str](), folder / "0.db"
    found: Counter[str] = Counter()
    with world(bug) as (server, nursery):
        first = 0
        for run in range(10 * times):
            if run >= times and (bug or (records + found).keys() >= _KINDS):
                break
            if run % 5 == 0:  # the moment in which a store is made counts too
                path, first = folder / f"{run}.db", len(server.pages)
                records += found
            process = nursery.start(run, path)
            doom(server, nursery, run, process, draw)
            server.empty()
            try:
                found = check(path, server.pages[first:])
            except AssertionError as failure:
                raise AssertionError(f"KILLED_SEED={SEED}, {seed}, run {run}: {failure}") from None
        assert {page.split("/")[3] for page in server.pages}.isdisjoint({"private", "excluded"})
        return len(server.pages), records + found


@pytest.mark.long
def test_a_client_may_be_killed_at_any_moment(tmp_path: Path) -> None:
    """Every request that left has its record; the store opens, is whole, and replays."""
    requests, records = kill_clients(tmp_path, KILLS, f"file {SEED}")
    assert 0 < requests <= records["robots_allowed"]
    assert records["blocked_by_robots"] > 0
    assert records["blocked_by_exclusion"] > 0


@pytest.mark.parametrize(
    "bug",
    [
        BUGS[0].__name__,
        *(
            pytest.param(bug.__name__, marks=pytest.mark.soak(small="test_a_bug_would_be_found"))
            for bug in BUGS[1:]
        ),
    ],
)
def test_a_bug_would_be_found(tmp_path: Path, bug: str) -> None:
    """These tests can fail."""
    with pytest.raises(AssertionError, match="KILLED_SEED"):
        kill_clients(tmp_path, 200, f"bug {SEED}", bug)


# PostgreSQL, with several processes on one chain.


@pytest.fixture(scope="module")
def postgres() -> Iterator[Postgres]:
    """One that may be ended."""
    with Postgres() as server:
        yield server


EMPTY = "DROP SCHEMA public CASCADE; CREATE SCHEMA public"


def kill_one_of_four(database: Postgres, times: int, seed: str, bug: str = "") -> Counter[str]:
    """Kill one client after the other while three go on; in the middle, the database too."""
    draw, records = random.Random(seed), Counter[str]()
    place = database.database()
    with world(bug) as (server, nursery):
        runs = count()
        for begun in range(0, times, 5):  # the moment in which a store is made counts too
            database.execute(EMPTY, place.rpartition("/")[2])
            first = len(server.pages)
            alive = {run: nursery.start(run, place) for run in islice(runs, 4)}
            for number in range(begun, begun + 5):
                doomed = draw.choice(list(alive))
                doom(server, nursery, doomed, alive.pop(doomed), draw)
                try:
                    if number == begun:  # the tables are there then: nobody waits to make them
                        EvidenceStore(place).close()
                    with stopped(alive.values()):
                        check(place, server.pages[first:])
                    if number == times // 2:
                        crash(database, server, place, first)
                except AssertionError as failure:
                    told = f"KILLED_SEED={SEED}, {seed}, kill {number}: {failure}"
                    raise AssertionError(told) from None
                run = next(runs)
                alive[run] = nursery.start(run, place)
            for process in alive.values():
                nursery.end(process)
            server.empty()
            records += check(place, server.pages[first:])
    return records


@contextmanager
def stopped(processes: Iterable[int]) -> Iterator[None]:
    """Processes that stand still meanwhile, wherever they are, a transaction not excepted."""
    for process in processes:
        os.kill(process, signal.SIGSTOP)
    try:
        yield
    finally:
        for process in processes:
            os.kill(process, signal.SIGCONT)


def crash(database: Postgres, server: Server, place: str, first: int) -> None:
    """Crash the database: what was committed is there, and so is what was asked for meanwhile."""
    with EvidenceStore(place) as store:
        noted = store.head()
    database.kill()
    time.sleep(0.3)  # a client that goes on without a database has the time to show it
    pages = server.pages[first:]
    database.start()
    with EvidenceStore(place) as store:
        assert list(store.verify(noted)) == []
    check(place, pages)
    seen = len(server.pages)
    until(lambda: len(server.pages) > seen + 100)  # the clients have found it again


@pytest.mark.long
def test_clients_that_share_a_database_may_be_killed(postgres: Postgres) -> None:
    """One after the other of four is killed and replaced: every request has its record."""
    records = kill_one_of_four(postgres, KILLS, f"database {SEED}")
    assert records["robots_allowed"] > 0
    assert records["blocked_by_robots"] > 0


def test_a_bug_would_be_found_in_a_database(postgres: Postgres) -> None:
    """This test can fail, too."""
    with pytest.raises(AssertionError, match="KILLED_SEED"):
        kill_one_of_four(postgres, 200, f"bug {SEED}", "told_before_the_commit")
