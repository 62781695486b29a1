"""The shared cases of usage signals, each by its id."""

import json
from functools import cache

import pytest

from manners.signals import usage
from tests.shared import SHARED, Case, needs_shared

FILE = SHARED / "signals" / "cases.jsonl"


@cache
def cases() -> dict[str, Case]:
    """The cases by id; none where they are not at hand."""
    if not FILE.is_file():
        return {}
    with FILE.open(encoding="utf-8") as file:
        return {case["id"]: case for case in map(json.loads, file)}


@needs_shared
def test_the_cases_are_at_hand() -> None:
    """Where the shared files are, the cases of signals are among them."""
    assert len(cases()) > 100


@needs_shared
@pytest.mark.parametrize("case", sorted(cases()))
def test_a_case_has_the_expected_answer(case: str) -> None:
    """Each case, with the conditions that it names."""
    row = cases()[case]
    licences = row.get("rsl_xml") or {}
    if isinstance(licences, str):
        licences = {"https://example.com/license.xml": licences}
    found = usage(
        row["url"],
        agent=row["agent"],
        robots_txt=row.get("robots_txt"),
        headers=[(name, value) for name, value in row.get("headers", ())],
        html=row.get("html"),
        tdmrep=row.get("tdmrep"),
        licences=licences,
        trust_txt=row.get("trust_txt"),
        ai_txt=row.get("ai_txt"),
        media=row.get("media"),
        now=row.get("now"),
    )[row["purpose"]]
    assert found.answer == row["expected"], row["reason"]
    assert set(row.get("conditions", ())) <= set(found.conditions)
