"""What all tests share."""

import gc
import os
from collections.abc import Iterator

import pytest

from tests.contracts.postgres import Postgres
from tests.contracts.valkey import Valkey

_GZIP = b"\x1f\x8b"


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all who want a database of their own; who ends one starts one."""
    with Postgres("-c", "fsync=off") as server:
        yield server


@pytest.fixture(scope="module")
def valkey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Valkey]:
    """One server for all tests of a file; what one leaves there, the next one finds."""
    with Valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server


def pytest_make_parametrize_id(config: pytest.Config, val: object, argname: str) -> str | None:
    """A name for a gzip file among the parameters of a test, instead of its bytes.

    It holds the time when it was made, and workers that collect in different seconds would not
    agree on which tests there are.
    """
    del config, argname
    return "gzip" if isinstance(val, bytes) and _GZIP in val else None


def pytest_collection_finish() -> None:
    """What is loaded stays: the collector, which tests ask what was left open, is quick then."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Half as many workers again as there are cores: many tests wait more than they work."""
    return max((os.cpu_count() or 1) * 3 // 2, 1)
