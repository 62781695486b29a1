"""The pages "Coming from …": every row of "your call, ours, the answer" is run."""

import ast
import re
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from manners import Settings
from tests.docs.test_docs import COMING_FROM, DOCS, Block, Reader, blocks, with_free_ports

RUN_HERE = ("urllib.robotparser", "Protego", "Scrapy")
"""Whose calls are Python, and installed: their side of the table is run, too."""

_TABLE = re.compile(r"^\| (.+) \| manners \| answer \|\n\| --- .*\n((?:\|.*\n)+)", re.MULTILINE)
_SETTINGS = re.compile(
    r"^\| Scrapy setting \| manners setting \|.*\n\| --- .*\n((?:\|.*\n)+)", re.MULTILINE
)
_CODE = re.compile(r"`([^`]+)`")


class Row(NamedTuple):
    """One row: somebody's call, ours, and what both answer."""

    library: str
    theirs: str
    ours: str
    answer: str
    line: int


def rows(page: str) -> list[Row]:
    found = []
    for table in _TABLE.finditer(page):
        line = page.count("\n", 0, table.start(2)) + 1
        for number, text in enumerate(table[2].splitlines(), start=line):
            theirs, ours, answer = text.strip("| ").split(" | ")
            assert _CODE.fullmatch(ours), f"line {number}: {text}"
            assert _CODE.fullmatch(answer), f"line {number}: {text}"
            found.append(Row(table[1], theirs, ours.strip("`"), answer.strip("`"), number))
    return found


def check(row: Row, reader: Reader) -> None:
    """Run our side, and theirs where it can be run, and compare with the answer."""
    place = f"{reader.page.name}, line {row.line}: {row.ours}"
    if row.ours.startswith("manners "):
        assert row.answer in reader.run_manners(row.ours.split()[1:]), place
        return
    answer = eval(row.answer, reader.names)
    assert eval(row.ours, reader.names) == answer, place
    if row.library in RUN_HERE:
        assert eval(row.theirs.strip("`"), reader.names) == answer, f"{place}: {row.theirs}"


@pytest.mark.parametrize("page", COMING_FROM, ids=lambda page: page.stem)
def test_every_row_answers_what_it_says(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Blocks and rows are run in the order of the page."""
    monkeypatch.chdir(tmp_path)
    text = with_free_ports(page.read_text(encoding="utf-8"))
    steps: list[Block | Row] = sorted([*blocks(text), *rows(text)], key=lambda step: step.line)
    with closing(Reader(page, monkeypatch)) as reader:
        for step in steps:
            check(step, reader) if isinstance(step, Row) else reader.follow(step)


@pytest.mark.parametrize("page", COMING_FROM, ids=lambda page: page.stem)
def test_a_page_has_a_table_of_calls(page: Path) -> None:
    """Somebody who comes from there finds at least three calls."""
    assert len(rows(page.read_text(encoding="utf-8"))) >= 3


def test_every_setting_of_scrapy_exists_on_both_sides() -> None:
    """Ours are settings with values that fit; theirs are settings of Scrapy."""
    from scrapy.settings import default_settings

    (table,) = _SETTINGS.findall((DOCS / "coming-from" / "scrapy.md").read_text("utf-8"))
    for text in table.splitlines():
        theirs, ours = _CODE.findall(text)[:2]
        name, _, value = theirs.partition(" = ")
        ast.literal_eval(value)
        # Scrapy has no default for these two.
        assert hasattr(default_settings, name) or name in {"JOBDIR", "ROBOTSTXT_USER_AGENT"}, name
        given: dict[str, Any] = eval(f"dict({ours})")
        made = Settings(**given).to_dict()
        assert {key: made[key] for key in given} == given
