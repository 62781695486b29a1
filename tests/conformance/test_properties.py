"""Delays, rates, visiting hours, sitemaps and hosts, as other projects' suites expect them."""

import tomllib
from datetime import time
from pathlib import Path
from typing import Any

import manners
from tests.shared import Case, agents, body, cases, needs_shared

pytestmark = needs_shared

LISTED = tomllib.loads(Path(__file__).with_name("properties.toml").read_text("utf-8"))


def ours(case: Case) -> Any:
    """What we read where the case says what to expect, in the words of the case."""
    robots = manners.parse(body(case), url=case.get("robots_url"))
    if case["property"] == "sitemaps":
        return [sitemap.url for sitemap in robots.sitemaps]
    if case["property"] == "host":
        return robots.host
    value = getattr(robots.policy(agents(case)), case["property"])
    if not isinstance(case["value"], dict) or value is None:
        return value
    found = value._asdict()
    return {key: clock(found[key]) for key in case["value"]}


def clock(value: object) -> object:
    return value.strftime("%H%M") if isinstance(value, time) else value


def test_each_property_holds_or_is_listed_with_a_reason() -> None:
    """Every row holds, or is one of at most 15 listed ones, and every listed one is needed."""
    differing = {
        case["id"] for case in cases("cases-properties.jsonl") if ours(case) != case["value"]
    }
    assert differing == set(LISTED)
    assert len(LISTED) <= 15
    assert all(entry["reason"] for entry in LISTED.values())
