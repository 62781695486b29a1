"""What tests of commands share."""

from pathlib import Path

import pytest

from tests.cli.running import AT_ONCE, settle
from tests.faults.server import Site


@pytest.fixture
def site(server: Site) -> Site:
    """The server of the test's file, which has seen nothing yet."""
    server.log.clear()
    return server


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Nothing is waited for that no robots.txt asks for, in an empty folder."""
    settle(monkeypatch, tmp_path, **AT_ONCE)
