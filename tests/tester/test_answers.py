"""What the tester answers: the same as the engine, the linter and the command, within bounds."""

import json
import sys
from typing import Any

import pytest

import manners
from manners import lint
from manners.lint.difference import difference
from manners.robots import dialects
from manners.tester import BadQuestion, answer, names
from manners.tester.answers.findings import MAX_LINTED
from manners.tester.question import MAX_AGENTS, MAX_BYTES, MAX_LENGTH, MAX_URLS
from tests.conformance.test_tables import load
from tests.crawler.hostile import ATTACKS, ROBOTS

FILE = """\
User-agent: *
Disallow: /search
Allow: /search/help
Disallow: /a/b
Disallow: /a
Crawl-delay: 2

User-agent: GPTBot
Disallow: /
Content-Signal: search=yes, ai-train=no
Sitemap: https://a.example/s.xml
"""
SITE = "https://a.example"


def ask(name: str, robots: str = FILE, **values: Any) -> dict[str, Any]:
    """The answer, after a journey through JSON."""
    question = {"agents": ["MyBot"], "urls": [f"{SITE}/search/help"], **values}
    found = answer(name, json.loads(json.dumps({"robots": robots, **question})))
    copied: dict[str, Any] = json.loads(json.dumps(found))
    return copied


CASES = [
    (dialect, case)
    for dialect in dialects.names()
    for case in load(dialect)
    if isinstance(case.get("robots"), str) and isinstance(case.get("agent", "FooBot"), str)
]


def test_the_tables_have_cases_for_the_tester() -> None:
    assert len(CASES) > 100


@pytest.mark.parametrize("dialect", dialects.names())
def test_verdicts_are_those_of_the_engine(dialect: str) -> None:
    """For every case of the conformance tables that can be typed."""
    checked = 0
    for name, case in CASES:
        if name != dialect:
            continue
        agent, url = case.get("agent", "FooBot"), case["url"]
        robots = manners.parse(case["robots"], dialect)
        verdict = robots.check(url, robots.dialect.own_name(agent))
        values = {"robots": case["robots"], "agents": [agent], "urls": [url], "dialect": dialect}
        found = answer("verdicts", values)["rows"][0]["cells"][0]
        assert (found["allowed"], found["line"]) == (verdict.allowed, verdict.line), case
        assert found["reason"] == verdict.reason.value, case
        rules = answer("rules", values)
        assert [rule["line"] for rule in rules["rules"] if rule["decides"]][:1] == (
            [verdict.line] if verdict.line else []
        ), case
        checked += 1
    assert checked


def test_a_table_has_a_verdict_for_each_url_and_agent() -> None:
    found = ask("verdicts", agents=["MyBot", "GPTBot"], urls=[f"{SITE}/", "/search/help", "/a/b"])
    lines = [[cell["line"] for cell in row["cells"]] for row in found["rows"]]
    assert lines == [[0, 9], [3, 9], [4, 9]]


def test_an_agent_may_have_several_names() -> None:
    """As Googlebot-Image obeys the group of Googlebot where it has none of its own."""
    robots = "User-agent: googlebot\nDisallow: /a\n\nUser-agent: *\nDisallow:"
    agents = ["Googlebot-Image", "Googlebot-Image, Googlebot"]
    found = ask("verdicts", robots, agents=agents, urls=["/a"])
    assert [cell["allowed"] for cell in found["rows"][0]["cells"]] == [True, False]


def test_every_rule_that_matches_is_listed_by_rank() -> None:
    found = ask("rules")
    assert [(rule["line"], rule["decides"]) for rule in found["rules"]] == [(3, True), (2, False)]
    assert {engine["dialect"] for engine in found["engines"]} == set(dialects.names())
    assert [(group["line"], group["chosen"]) for group in found["groups"]] == [
        (1, True),
        (8, False),
    ]


def test_engines_that_disagree_are_named() -> None:
    """Only Disallow counts in WWW::RobotRules, so an exception counts for nothing there."""
    found = ask("engines", urls=["/search/help", "/none"])
    assert found["rows"][0][0] == ["robotrules"]
    assert found["rows"][1][0] == []


@pytest.mark.parametrize("robots", [FILE, "Disallow: admin\nUser-agent: é𝄞*\nDisallow: /a*\r\n"])
def test_findings_are_those_of_the_linter(robots: str) -> None:
    found = ask("findings", robots)
    expected = lint.run(robots)
    assert [each["code"] for each in found["findings"]] == [each.code for each in expected]
    assert sum(found["counts"].values()) == len(expected)
    assert set(found["rules"]) == {each.name for each in expected}


def applied(text: str, edits: list[list[Any]]) -> str:
    """What a browser makes of edits, which count UTF-16 units."""
    units = text.encode("utf-16-le")
    for start, end, replacement in sorted(edits, reverse=True):
        units = units[: 2 * start] + replacement.encode("utf-16-le") + units[2 * end :]
    return units.decode("utf-16-le")


@pytest.mark.parametrize("before", ["", "# é𝄞 und so weiter\n", "\ufeff# ü\n"])
def test_the_edits_of_a_fix_fit_the_text_of_a_browser(before: str) -> None:
    """Made one by one, each removes its finding, whatever characters stand before."""
    robots = before + "User-agent: *\nDisallow: /search*\nDisallow: /a\nDisallow: /a/é𝄞\n"
    found = ask("findings", robots)["findings"]
    fixable = [each for each in found if each["fix"] and each["fix"]["alone"]]
    assert {"trailing-star", "redundant-rule"} <= {each["name"] for each in fixable}
    for finding in fixable:
        fixed = applied(robots, finding["fix"]["edits"])
        still = [(each["code"], each["line"]) for each in ask("findings", fixed)["findings"]]
        assert (finding["code"], finding["line"]) not in still


def test_all_fixes_are_those_of_the_linter() -> None:
    found = ask("fixed")
    assert found["robots"].encode() == lint.fix(FILE)
    assert found["changed"] is True
    assert ask("fixed", found["robots"])["changed"] is False


def test_an_overview_says_what_each_agent_is_told() -> None:
    found = ask("overview", agents=["MyBot", "GPTBot"])
    assert [agent["crawl_delay"] for agent in found["agents"]] == [2.0, None]
    assert [agent["group"] for agent in found["agents"]] == ["*", "GPTBot"]
    assert [group["line"] for group in found["groups"]] == [1, 8]
    assert found["sitemaps"] == [{"url": f"{SITE}/s.xml", "line": 11}]


def test_usage_signals_name_their_lines() -> None:
    found = ask("usage", agents=["GPTBot", "MyBot"])
    place = [purpose["name"] for purpose in found["purposes"]].index("ai-train")
    gpt, other = (agent["answers"][place] for agent in found["agents"])
    assert (gpt["answer"], gpt["claims"][0]["line"], other["answer"]) == ("no", 10, "unknown")


def test_the_impact_is_that_of_the_comparison() -> None:
    before = FILE.replace("Disallow: /search\n", "")
    found = ask("impact", before=before, agents=[], urls=[])
    expected = difference(manners.parse(before), manners.parse(FILE))
    assert found["sentences"] == expected.sentences
    assert found["equal"] is False
    witness = found["changes"][0]["closed"][0]
    assert (witness["path"], witness["after"]["line"]) == ("/search", 2)


def test_a_file_of_a_site_applies_to_that_site() -> None:
    """Relative sitemaps are resolved, where it is known where the file came from."""
    found = ask("overview", "Sitemap: /s.xml", file_url=f"{SITE}/robots.txt")
    assert found["sitemaps"][0]["url"] == f"{SITE}/s.xml"


@pytest.mark.parametrize("name", names())
def test_hostile_files_agents_and_urls_get_an_answer(name: str) -> None:
    """Nothing that a site or a person can write raises, and every answer is JSON."""
    robots = ROBOTS.decode("utf-8", "replace")[:20_000]
    attacks = [attack[:MAX_LENGTH] for attack in ATTACKS]
    several = name not in ("rules", "usage")
    for some in [attacks[:MAX_AGENTS]] if several else [[attack] for attack in attacks]:
        found = ask(name, robots, agents=some, urls=some, before=attacks[0] + robots[:5_000])
        json.dumps(found).encode()


@pytest.mark.parametrize(
    ("values", "problem"),
    [
        ({"robots": None}, "'robots' is a text"),
        ({"agents": ["a"] * (MAX_AGENTS + 1)}, "at most 20 agents"),
        ({"urls": ["/"] * (MAX_URLS + 1)}, "at most 100 urls"),
        ({"urls": "/"}, "'urls' is a list"),
        ({"urls": [1]}, "'urls' is a list"),
        ({"urls": ["/" * (MAX_LENGTH + 1)]}, "'urls': none has more"),
        ({"robots": "é" * (MAX_BYTES // 2 + 1)}, "at most 1,048,576 bytes"),
        ({"dialect": "klingon"}, "a dialect is one of audit"),
    ],
)
def test_what_is_wrong_with_a_question_is_said(values: dict[str, Any], problem: str) -> None:
    with pytest.raises(BadQuestion, match=problem):
        answer("verdicts", {"robots": "", "agents": ["a"], "urls": ["/"], **values})


@pytest.mark.parametrize("name", ["findings", "fixed"])
def test_a_file_that_takes_long_to_lint_is_left_to_the_command(name: str) -> None:
    with pytest.raises(BadQuestion, match="run `manners lint`"):
        ask(name, "#" * (MAX_LINTED + 1))


def test_nothing_is_needed_but_the_standard_library() -> None:
    """As in a browser: the engine, the linter and the signals, without what servers need."""
    import subprocess

    script = (
        "import sys; from manners.tester import answer, names\n"
        "for name in names(): answer(name, {'robots': 'User-agent: *', 'agents': ['a'],"
        " 'urls': ['/']})\n"
        "print(*{name.partition('.')[0] for name in sys.modules})"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert {"aiohttp", "msgspec", "jinja2", "typer"}.isdisjoint(ran.stdout.split())
