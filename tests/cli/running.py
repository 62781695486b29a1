"""Commands that run in the process of the test, in a folder of their own, and what they leave."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from manners.cli import main

AT_ONCE = {"DELAY_LEAST": "0", "DELAY_MOST": "0", "ADAPTIVE_FACTOR": "0", "ALLOW_PRIVATE": "true"}
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


Run = Callable[..., Ran]


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
