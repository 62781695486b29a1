"""Dialect `robotrules` answers as WWW::RobotRules does."""

import manners
from manners import urls
from tests.shared import agents, body, cases, needs_shared

pytestmark = needs_shared


def test_every_case_of_its_suite_gets_its_answer() -> None:
    """All verdicts of WWW::RobotRules' own suite are ours."""
    for case in cases("cases-www-robotrules.jsonl"):
        robots = manners.parse(body(case), dialect="robotrules", url=case["robots_url"])
        assert robots.allowed(case["url"], agents(case)) == case["allowed"], case["id"]


def test_the_robots_txt_of_a_page_is_found() -> None:
    """`robots_url` answers as other projects' suites expect, and rejects what they reject."""
    for case in cases("cases-robots-url.jsonl"):
        try:
            found: str | None = urls.robots_url(case["url"])
        except manners.InvalidURL:
            found = None
        assert found == case["robots_url"], case["id"]
