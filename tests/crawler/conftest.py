"""Places for the stores of crawls: files, and databases of a real PostgreSQL."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from manners.evidence.store import EvidenceStore
from tests.contracts.postgres import Postgres


@pytest.fixture(params=["sqlite", "postgresql"])
def new(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[], str]:
    """Makes a place where nothing is."""
    if request.param == "postgresql":
        server: Postgres = request.getfixturevalue("postgres")
        return server.database
    return lambda: str(tmp_path / f"{len(list(tmp_path.iterdir()))}.db")


@pytest.fixture
def store(new: Callable[[], str]) -> Iterator[EvidenceStore]:
    with EvidenceStore(new()) as made:
        yield made


@pytest.fixture
def place(tmp_path: Path) -> str:
    """Where the store of a crawl is to be, in a file."""
    return str(tmp_path / "crawl.db")
