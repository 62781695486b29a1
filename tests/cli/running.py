"""Commands that run in the process of the test, in a folder of their own, and what they leave."""

import json
import os
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from manners.cli import main

AT_ONCE = {"MIN_DELAY": "0", "MAX_DELAY": "0", "ADAPTIVE_FACTOR": "0", "ALLOW_PRIVATE": "true"}
"""Settings by which nothing is waited for that no robots.txt asks for."""


@dataclass(frozen=True)
class Ran:
    """What one run of the command left behind."""

    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def object(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.out)
        return found

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.lines]


@dataclass(frozen=True)
class RanRaw:
    """The same, for a command whose output may be no text."""

    code: int
    raw: bytes
    err: str

    @property
    def out(self) -> str:
        return self.raw.decode()

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()

    @property
    def objects(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.out.splitlines()]


Run = Callable[..., Ran]


def without_times(shown: str) -> str:
    """What a command shows, with TIME for every duration: no two runs take the same."""
    return re.sub(r"[\d.]+ m?s(?=$|  |:)", "TIME", shown, flags=re.MULTILINE)


def runner(capsys: pytest.CaptureFixture[str], *command: str) -> Run:
    """What runs a command with the arguments that it is given."""

    def run(*arguments: str | Path) -> Ran:
        code = main([*command, *map(str, arguments)])
        out, err = capsys.readouterr()
        return Ran(code, out, err)

    return run


def settle(monkeypatch: pytest.MonkeyPatch, folder: Path, **settings: str) -> None:
    """Be in a folder, with these settings in the environment, and nothing there about terminals."""
    names = ("FORCE_COLOR", "NO_COLOR", "PYTHONUNBUFFERED", "PYTHONIOENCODING", "COLUMNS")
    for name in (*names, "MANNERS_STORE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(f"MANNERS_{name}", value)
    monkeypatch.chdir(folder)


def shown_on_terminal(controller: int) -> str:
    """What a terminal shows until its other end is closed; it is closed behind it."""
    shown = b""
    try:
        while chunk := os.read(controller, 65_536):
            shown += chunk
    except OSError:  # Linux reports the closed end so
        pass
    os.close(controller)
    return shown.decode().replace("\r\n", "\n")


class PlainSite(BaseHTTPRequestHandler):
    """A handler of the standard library's server that logs nothing."""

    def visit(self) -> None:
        """Answer a request."""
        raise NotImplementedError

    def do_GET(self) -> None:
        self.visit()

    def answer(self, status: int, body: bytes, *headers: tuple[str, str]) -> None:
        """Reply to the request."""
        self.send_response(status)
        for name, value in (("Content-Length", str(len(body))), *headers):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(handler: type[PlainSite]) -> Iterator[ThreadingHTTPServer]:
    """One server for all addresses of loopback."""
    server = ThreadingHTTPServer(("0.0.0.0", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
