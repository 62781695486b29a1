"""`manners top`: a crawl that runs elsewhere, on a terminal and printed once."""

import asyncio
import os
import pty
import select
import signal
import sqlite3
import subprocess
import sys
import termios
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from manners import Settings
from manners.cli.overview import STATES, Screen
from manners.cli.snapshots import HOSTS, HostLine, ServiceSource, SourceReader, StoreSource
from manners.store.database import Store
from manners.web.service import Serving
from manners.web.serving import listening
from tests.cli.running import Run, runner
from tests.client.asking import run, settings
from tests.contracts.postgres import Postgres
from tests.crawler import hostile
from tests.web.service import TOKEN, service

MODES = 3
"""The local modes of a terminal, in what `tcgetattr` returns."""


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A store of a crawl of sites that would like to control a terminal."""
    where = tmp_path_factory.mktemp("top") / "crawl.db"
    hostile.made(where)
    return str(where)


@pytest.fixture
def top(capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys, "top")


def test_without_a_terminal_it_prints_once(top: Run, place: str) -> None:
    """Totals, hosts and the slowest pages; nothing of a site can control a terminal."""
    ran = top(place)
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith("crawl 1 of ")
    for words in ("pages ", "rate ", "answers ", "hosts ", "slowest pages"):
        assert f"\n{words}" in ran.out
    assert all(line.isprintable() for line in ran.out.splitlines())


def test_json_is_what_the_service_answers(top: Run, place: str) -> None:
    """One object with the numbers of the crawl; a service has the same."""
    printed = top(place, "--json").object

    async def ask() -> Any:
        async with service(store=place) as asker:
            return (await asker.get("/v1/crawl", crawl="1", hosts=str(HOSTS))).json

    asked = run(ask)
    for values in (printed, asked):
        del values["progress"]["at"]
        for retry in values["progress"]["retries"]:
            del retry["ago"]
    assert printed == asked
    assert printed.keys() == {"progress", "status", "latest", "slowest"}


def test_it_reads_while_somebody_writes(top: Run, place: str) -> None:
    """Neither waits for the other."""
    with sqlite3.connect(place, isolation_level=None) as writer:
        writer.execute("BEGIN IMMEDIATE")
        assert top(place).code == 0
        writer.execute("ROLLBACK")


def test_what_cannot_be_read_is_an_error(top: Run, tmp_path: Path, place: str) -> None:
    """A usage error if it will stay so; exit code 3 if it may come back."""
    with Store(tmp_path / "empty.db"):
        pass
    for words in ([tmp_path / "none.db"], [tmp_path / "empty.db"], [""], [place, "--crawl", "9"]):
        ran = top(*words)
        assert (ran.code, ran.out) == (2, ""), words
        assert ran.err.startswith("manners: ")
    assert top(place, "--token", TOKEN).code == 2
    ran = top("http://127.0.0.1:1/")
    assert (ran.code, ran.out) == (3, "")
    assert "connection refused" in ran.err


def test_a_service_that_goes_away_is_waited_for(place: str) -> None:
    """What was seen last stays, with a word about why; then it goes on."""

    async def look() -> None:
        own = settings(store=place)
        async with listening(own, Serving(port=0, token=TOKEN)) as address:
            source = ServiceSource(address, None, TOKEN, Settings(server_timeout=5.0))
            reader = SourceReader(source)
            await asyncio.to_thread(reader.look)
            assert reader.snapshot is not None
            assert reader.snapshot.progress.crawl == 1
            stranger = ServiceSource(address, None, "wrong" * 5, Settings())
            refused = SourceReader(stranger)
            await asyncio.to_thread(refused.look)
            await asyncio.to_thread(stranger.close)
            assert "pass --token" in str(refused.failure)
        await asyncio.to_thread(reader.look)
        assert reader.failure is None
        assert "no reply" in reader.problem
        assert reader.snapshot is not None
        port = int(address.rstrip("/").rpartition(":")[2])
        async with listening(own, Serving(port=port, token=TOKEN)):
            await asyncio.to_thread(reader.look)
            assert reader.problem == ""
        await asyncio.to_thread(source.close)

    run(look)


def test_a_database_that_goes_away_is_waited_for() -> None:
    """The numbers of before stay, and it goes on when the server is back; the same at the start."""
    with Postgres() as server:
        place, own = server.database(), Settings(server_timeout=5.0)
        hostile.made(place)
        sources = StoreSource(place, None, own), StoreSource(place, None, own)
        seen, late = map(SourceReader, sources)
        seen.look()
        server.kill()
        for reader in (seen, late):
            reader.look()
            assert "connection" in reader.problem
            assert reader.failure is None
        assert seen.snapshot is not None
        server.start()
        seen.look()
        assert (seen.problem, seen.failure) == ("", None)
        for source in sources:
            source.close()


def test_what_is_no_service_of_ours_is_said() -> None:
    """A reply is read as untrusted: what is missing or wrong is named, and nothing breaks."""

    class Other:
        """A source with a reply of somebody else."""

        place, pause = "x", 1.0

        def __init__(self, values: dict[str, Any]) -> None:
            self.values = values

        def read(self) -> dict[str, Any]:
            return self.values

        def close(self) -> None:
            pass

    for values in ({}, {"progress": 1}, {"progress": {"crawl": "\x1b[2J"}}):
        reader = SourceReader(Other(values))
        reader.look()
        assert "not the crawl" in str(reader.failure)


def line(host: str, state: str, wait: float, queued: int, delay: float | None = 1.0) -> HostLine:
    return HostLine(host, state, delay, wait, None, queued)


def test_keys_choose_and_sort_hosts() -> None:
    """s goes through the orders, f through the states, / through what is typed."""
    hosts = [
        line("b.example", "asked", 0.0, 5),
        line("a.example", "backing off", 60.0, 1, None),
        line("c.test", "waiting", 5.0, 9, 3.0),
    ]

    def names(keys: str) -> str:
        screen = Screen()
        for key in keys:
            screen = screen.press(key)
        return "".join(host.host[0] for host in screen.hosts(hosts))

    assert [names("s" * n) for n in range(5)] == ["acb", "cba", "cba", "abc", "acb"]
    assert [names("f" * n) for n in range(len(STATES) + 1)] == ["acb", "b", "a", "c", "", "acb"]
    assert names("/Test") == "c"
    assert names("/testx\x7f\r") == "c"
    assert names("/test\x1b") == "acb"
    assert names("/test\rf") == ""
    assert names("/test\rf\x1b") == "acb"
    assert names("/q\r") == ""
    assert names("x\x00é") == "acb"


class Session:
    """The command on a terminal, in a process group of its own, as a shell starts it."""

    def __init__(self, place: str) -> None:
        self._ours, self.terminal = pty.openpty()
        self.before = termios.tcgetattr(self.terminal)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "manners", "top", place],
            stdin=self.terminal,
            stdout=self.terminal,
            stderr=self.terminal,
            env={**os.environ, "TERM": "xterm", "COLUMNS": "140", "LINES": "50"},
            process_group=0,
        )

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def until(self, words: str) -> str:
        """What is shown until these words come."""
        shown = ""
        while words not in shown:
            assert select.select([self._ours], [], [], 120)[0], shown
            shown += os.read(self._ours, 65_536).decode(errors="replace")
        return shown

    @property
    def is_as_before(self) -> bool:
        return bool(termios.tcgetattr(self.terminal)[MODES] == self.before[MODES])


@contextmanager
def session(place: str) -> Iterator[Session]:
    opened = Session(place)
    try:
        opened.until("crawl 1 of")
        yield opened
    finally:
        with suppress(ProcessLookupError):
            opened.process.kill()
        opened.process.wait()
        os.close(opened.terminal)
        os.close(opened._ours)


def test_the_terminal_is_given_back_whatever_ends_it(place: str) -> None:
    """While it is stopped by Ctrl-Z, and after SIGTERM; keys work before and after."""
    with session(place) as shown:
        assert not shown.is_as_before
        shown.press("s")
        shown.until("by queued")
        os.kill(shown.process.pid, signal.SIGTSTP)
        _, status = os.waitpid(shown.process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status)
        assert shown.is_as_before
        shown.until("\x1b[?1049l")  # the screen of the shell
        os.kill(shown.process.pid, signal.SIGCONT)
        shown.until("\x1b[?1049h")
        shown.until("by queued")
        assert not shown.is_as_before
        shown.press("f")
        shown.until("shown: asked")
        os.kill(shown.process.pid, signal.SIGTERM)
        shown.until("\x1b[?1049l")
        assert shown.process.wait(120) == 0
        assert shown.is_as_before


@pytest.mark.parametrize("end", ["q", "\x03"])
def test_q_and_ctrl_c_end_it(place: str, end: str) -> None:
    """With exit code 0, and the terminal as it was."""
    with session(place) as shown:
        if end == "q":
            shown.press(end)
        else:  # what the terminal of a shell makes of Ctrl-C
            os.kill(shown.process.pid, signal.SIGINT)
        assert "Traceback" not in shown.until("\x1b[?1049l")
        assert shown.process.wait(120) == 0
        assert shown.is_as_before
