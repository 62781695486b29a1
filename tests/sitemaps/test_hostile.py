"""Files that are broken, mixed up or made to do harm, each with what it yields.

The files lie in `hostile/`, the table beside it; those that are too large to keep are made in
`test_limits.py`.
"""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from tests.sitemaps.reading import read

FOLDER = Path(__file__).parent / "hostile"
TABLE: dict[str, dict[str, Any]] = tomllib.loads(
    FOLDER.with_suffix(".toml").read_text(encoding="utf-8")
)


def test_the_table_has_every_file() -> None:
    """And every file is in the table."""
    assert set(TABLE) == {path.name for path in FOLDER.iterdir()}


@pytest.mark.parametrize("name", TABLE)
def test_a_hostile_file_yields_what_it_should(name: str) -> None:
    """What was readable, and a list of problems; in one piece or byte by byte."""
    body = (FOLDER / name).read_bytes()
    found = read(body)
    assert {
        "form": found.form,
        "urls": found.urls,
        "problems": [str(problem) for problem in found.problems],
    } == TABLE[name]
    assert read(body[i : i + 1] for i in range(len(body))) == found
