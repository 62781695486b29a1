"""What the promises about the command share."""

from pathlib import Path

import pytest

from tests.cli.running import AT_ONCE, Run, runner, settle


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Run:
    """What runs the command, in an empty folder and without delays."""
    settle(monkeypatch, tmp_path, **AT_ONCE)
    return runner(capsys)
