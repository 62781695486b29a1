"""Verdicts on Dask: the same rows as on one machine, whatever is killed on the way."""

from pathlib import Path

import pytest

from tests.bulk.clusters import expected, needs, run, write_data, write_recipes, written

pytestmark = needs("dask", "distributed", "pandas", "pyarrow")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Data, and the programs of the page about clusters."""
    write_data(tmp_path)
    write_recipes(tmp_path)
    return tmp_path


def test_an_archive_at_a_place(folder: Path) -> None:
    """Each worker reads it; the program of the page does it."""
    run("dask_job.py", folder=folder)
    assert written(folder / "verdicts") == expected(folder)


def test_an_archive_of_any_size(folder: Path) -> None:
    """A task for each part."""
    run("dask_by_part.py", folder=folder)
    assert written(folder / "verdicts_by_part") == expected(folder)


def test_a_killed_worker_changes_nothing(folder: Path) -> None:
    """In the middle of the job; another process is started in its place."""
    run("-m", "tests.bulk.cluster_dask", folder=folder)
    assert (folder / "killed.flag").exists(), "nobody was killed"
    assert written(folder / "killed") == expected(folder)
