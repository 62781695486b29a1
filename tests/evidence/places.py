"""Places for stores: files, and databases of a real PostgreSQL server; with a way around the store.

Whoever tampers with evidence has SQL of his own: `execute` is that.
"""

import itertools
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy.engine import make_url

from tests.contracts.postgres import Postgres

ROOT = Path(__file__).parents[2]


class Places:
    """Makes places of one kind."""

    def __init__(self, folder: Path, server: Postgres | None = None) -> None:
        self._folder, self._numbers, self.server = folder, itertools.count(), server

    @property
    def is_file(self) -> bool:
        return self.server is None

    def new(self) -> str:
        """A place where nothing is."""
        if self.server is not None:
            return self.server.database()
        return str(self._folder / f"{next(self._numbers)}.db")

    def copy(self, place: str) -> str:
        """Another place with the same store, which is not open."""
        if self.server is None:
            made = self.new()
            shutil.copyfile(place, made)
            return made
        return self.server.database(make_url(place).database or "")


def execute(place: str, *statements: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
    """Run statements past the store, in one transaction; the rows of the last."""
    rows: list[tuple[Any, ...]] = []
    if "://" not in place:
        with closing(sqlite3.connect(place, timeout=30)) as connection, connection:
            for statement in statements:
                rows = connection.execute(statement, values).fetchall()
        return rows
    import psycopg

    with psycopg.connect(place, connect_timeout=10) as server:
        for statement in statements:
            cursor = server.execute(statement.encode(), values or None)
            rows = cursor.fetchall() if cursor.description else []
    return rows


def process(*arguments: object, module: str = "tests.evidence.store_process") -> Any:
    """A process that uses a store, too."""
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-m", module, *map(str, arguments)],
        cwd=ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def ended(started: Any, seconds: float = 400.0) -> str:
    """What a process has printed, when it has ended well."""
    told, complaints = started.communicate("", timeout=seconds)
    assert (started.returncode, complaints) == (0, ""), complaints
    return str(told)


def all_ended(started: Sequence[Any]) -> list[str]:
    """What several processes have printed; if one failed, the others are ended, too."""
    try:
        return [ended(each) for each in started]
    finally:
        for each in started:
            with each:
                each.kill()
