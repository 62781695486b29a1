"""A store that is copied while a crawl writes to it, and comes back: as the documentation says."""

import asyncio
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import make_url

from manners.cli import main
from manners.crawler.status import status_of
from manners.store.database import Store
from tests.client.asking import run
from tests.contracts.postgres import Postgres
from tests.web.crawling import crawling

SECONDS = 240.0


def backup_file(place: str, tmp_path: Path) -> str:
    """A copy through SQLite."""
    restored = str(tmp_path / "restored.db")
    with closing(sqlite3.connect(place)) as source, closing(sqlite3.connect(restored)) as copy:
        source.backup(copy)
    return restored


def backup_database(server: Postgres, place: str, tmp_path: Path) -> str:
    """A dump, in another database."""
    restored, dump = server.database(), tmp_path / "crawls.dump"
    for program, *words in (
        ["pg_dump", "--format=custom", f"--file={dump}", plain(place)],
        ["pg_restore", "--no-owner", f"--dbname={plain(restored)}", str(dump)],
    ):
        done = subprocess.run(
            [str(server.programs / program), *words], capture_output=True, check=False
        )
        assert done.returncode == 0, done.stderr
    return restored


def plain(place: str) -> str:
    """The address as PostgreSQL's programs read it."""
    return make_url(place).set(drivername="postgresql").render_as_string(hide_password=False)


def head(place: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Where the evidence ends: the anchor, which covers every strand."""
    capsys.readouterr()
    assert main(["evidence", "head", "--store", place]) == 0
    return capsys.readouterr().out.split()[-1]


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_backup_of_a_running_crawl_comes_back(
    kind: str,
    tmp_path: Path,
    request: pytest.FixtureRequest,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The head from before the backup holds, one from later shows what is missing."""
    server = None if kind == "sqlite" else request.getfixturevalue("postgres")
    place = str(tmp_path / "crawl.db") if server is None else server.database()
    found: dict[str, str] = {}

    async def copy() -> None:
        async with crawling(place) as running:
            found["before"] = head(place, capsys)
            found["place"] = (
                backup_file(place, tmp_path)
                if server is None
                else backup_database(server, place, tmp_path)
            )
            seen = running.shop.pages
            running.shop.most += 6
            while running.shop.pages < seen + 3 and not running.task.done():
                await asyncio.sleep(0.02)

    run(copy, SECONDS)
    restored, later = found["place"], head(place, capsys)
    assert later != found["before"]
    assert main(["evidence", "verify", "--store", restored, "--head", found["before"]]) == 0
    assert main(["evidence", "verify", "--store", restored, "--head", later]) == 1
    assert main(["evidence", "replay", "--store", restored]) == 0
    with Store(restored, readonly=True) as store:
        status = status_of(store)
    assert status.resumable
    assert status.states["queued"]
