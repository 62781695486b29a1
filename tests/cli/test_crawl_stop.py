"""`manners crawl stop`: a crawl that runs elsewhere ends as after Ctrl-C."""

import asyncio
from pathlib import Path

import pytest

from tests.cli.running import runner
from tests.client.asking import run
from tests.web.crawling import crawling


def test_a_crawl_is_stopped_from_another_process(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its running requests are finished, and it can be resumed; a second stop finds it ended."""
    stop, place = runner(capsys, "crawl", "stop"), str(tmp_path / "crawl.db")

    async def ask() -> None:
        async with crawling(place) as running:
            told = await asyncio.to_thread(stop, "--store", place)
            assert (told.code, told.out.startswith("crawl 1 is stopping")) == (0, True)
            await running.stops()
            assert running.crawl.is_interrupted
            assert running.crawl.ended == "interrupted"
            again = await asyncio.to_thread(stop, "1", "--store", place, "--json")
            assert (again.code, again.object) == (1, {"crawl": 1, "stopped": False})
            none = await asyncio.to_thread(stop, "2", "--store", place)
            assert none.code == 2
            assert "there is no crawl 2" in none.err

    run(ask)
    status = runner(capsys, "crawl", "status")("--store", place, "--json").object
    assert (status["ended"], status["resumable"]) == ("interrupted", True)
    assert 4 < status["fetched"] < 7  # what was under way was answered and kept
