"""What all tests share."""

import gc
import os
import signal
from collections.abc import Iterator

import hypothesis
import pytest

from manners.cache import tier
from manners.cache.backends import sqlite
from tests.contracts.postgres import Postgres
from tests.contracts.valkey import Valkey
from tests.sizes import SIZE, examples

_GZIP = b"\x1f\x8b"
PATIENCE = 60.0
"""Seconds that a cache has for an answer in tests; no promise depends on them."""

# A busy machine is no failure: no test says how long an example may take.
hypothesis.settings.register_profile(
    "manners",
    max_examples=examples(100),
    deadline=None,
    derandomize=SIZE != "soak",
    suppress_health_check=[hypothesis.HealthCheck.too_slow],
)
hypothesis.settings.load_profile("manners")


@pytest.fixture(autouse=True, scope="session")
def interruptible() -> None:
    """What tests start can be interrupted, also in the background of a script: it is inherited."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def patient(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache has as long as it needs, because a busy machine is no reason for another answer.

    Tests of a cache that does not answer are marked `impatient`: they have the package's timeout.
    """
    if request.node.get_closest_marker("impatient") is None:
        monkeypatch.setattr(tier, "CALL_TIMEOUT", PATIENCE)
        monkeypatch.setattr(sqlite, "_WAIT", PATIENCE)


@pytest.fixture(scope="session")
def postgres() -> Iterator[Postgres]:
    """One server for all who want a database of their own; who ends one starts one."""
    with Postgres("-c", "fsync=off", "-c", "track_commit_timestamp=on") as server:
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


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What hypothesis makes examples for has a long form: more of them."""
    for item in items:
        if getattr(getattr(item, "obj", None), "is_hypothesis_test", False):
            item.add_marker("long")


def pytest_collection_finish() -> None:
    """What is loaded stays: the collector, which tests ask what was left open, is quick then."""
    gc.collect()
    gc.freeze()


def pytest_xdist_auto_num_workers() -> int:
    """Three workers for each core: many tests wait more than they work."""
    return 3 * (os.cpu_count() or 1)
