"""The tables of cases beside this file, one per dialect: what each promises, checked by the engine.

A table is a TOML file of ``[[case]]`` entries. Each has

- ``section``: the promise it holds the engine to;
- the file, as ``robots`` (text), ``robots_hex`` (bytes in hex, white space ignored) or
  ``robots_repeat`` (``prefix``, then ``unit`` ``times`` times, then ``suffix``);
- ``url`` and ``allowed``; optionally ``agent`` (a name or a list of names; ``FooBot`` when left
  out) and ``url_of_file``, the address the file came from;
- and any of ``line``, ``reason``, ``matched_agent``, ``specificity``, ``crawl_delay`` (a number, or
  ``"none"``), ``path`` and ``truncated``: what the verdict says.

A file given as text is checked twice, as a string and as its UTF-8 bytes.
"""

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

import manners
from manners.robots import dialects

FOLDER = Path(__file__).parent
BODIES = {"robots", "robots_hex", "robots_repeat"}
REPEAT = {"prefix", "unit", "times", "suffix"}
REQUIRED = {"section", "url", "allowed"}
INPUTS = {"agent", "url_of_file"}
# The key in a table and the attribute of the verdict it speaks of.
EXPECTED = {
    "allowed": "allowed",
    "line": "line",
    "reason": "reason",
    "matched_agent": "agent",
    "specificity": "specificity",
    "crawl_delay": "crawl_delay",
    "path": "path",
    "truncated": "truncated",
}

Case = dict[str, Any]


def load(dialect: str) -> list[Case]:
    """Return the cases of one table; a missing table has none."""
    table = FOLDER / f"{dialect}.toml"
    if not table.exists():
        return []
    cases: list[Case] = tomllib.loads(table.read_text(encoding="utf-8")).get("case", [])
    return cases


TABLES = {dialect: load(dialect) for dialect in dialects.names()}


def case_id(dialect: str, number: int, case: Case) -> str:
    """Name a case by its table, its place there and its promise."""
    slug = re.sub(r"[^a-z0-9.]+", "-", str(case.get("section", "")).lower()).strip("-")
    return f"{dialect}-{number:03}-{slug}"


def bodies(case: Case) -> list[str | bytes]:
    """Return the forms in which the case's file is handed to the engine."""
    if "robots_hex" in case:
        return [bytes.fromhex(case["robots_hex"])]
    if "robots_repeat" in case:
        repeat = case["robots_repeat"]
        text = (
            repeat.get("prefix", "")
            + repeat.get("unit", "") * repeat.get("times", 1)
            + repeat.get("suffix", "")
        )
    else:
        text = case["robots"]
    return [text, text.encode()]


@pytest.mark.parametrize("dialect", TABLES)
def test_a_table_has_enough_cases(dialect: str) -> None:
    """Every dialect has a table, and it holds at least 25 cases."""
    assert (FOLDER / f"{dialect}.toml").exists(), f"no table for the dialect {dialect}"
    assert len(TABLES[dialect]) >= 25


@pytest.mark.parametrize("dialect", TABLES)
def test_a_table_is_well_formed(dialect: str) -> None:
    """Every case has what it needs, one form of the file and no key that nobody reads."""
    for number, case in enumerate(TABLES[dialect], start=1):
        name = case_id(dialect, number, case)
        keys = set(case)
        assert keys >= REQUIRED, f"{name} lacks {REQUIRED - keys}"
        assert len(keys & BODIES) == 1, f"{name} needs one of {BODIES}"
        assert set(case.get("robots_repeat", {})) <= REPEAT, name
        unknown = keys - REQUIRED - BODIES - INPUTS - set(EXPECTED)
        assert not unknown, f"{name} has unknown keys {unknown}"


@pytest.mark.parametrize(
    ("dialect", "case"),
    [
        pytest.param(dialect, case, id=case_id(dialect, number, case))
        for dialect, cases in TABLES.items()
        for number, case in enumerate(cases, start=1)
    ],
)
def test_a_case_holds(dialect: str, case: Case) -> None:
    """The verdict says what the table says, for text and for bytes."""
    for body in bodies(case):
        robots = manners.parse(body, dialect=dialect, url=case.get("url_of_file"))
        verdict = robots.check(case["url"], agent=case.get("agent", "FooBot"))
        expected = {key: case[key] for key in EXPECTED if key in case}
        if expected.get("crawl_delay") == "none":
            expected["crawl_delay"] = None
        found = {key: getattr(verdict, EXPECTED[key]) for key in expected}
        assert found == expected, f"{case['section']} ({type(body).__name__})"
