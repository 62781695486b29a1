"""Which AI crawlers a file shuts out: what is said holds for every path."""

import json
from datetime import date

import pytest

from manners import parse
from manners.lint.ai_access import AiAccess, CrawlerAccess, ai_access
from manners.lint.data.ai_crawlers import AI_CRAWLERS, AS_OF, DOCUMENTED, OTHER_NAMES
from manners.signals import POLICY_TOKENS, PURPOSES

PATHS = ("/", "/a", "/a/b", "/a/b?c=d", "/index.html", "/%C3%A9", "/z.pdf", "/?q")


def row(found: AiAccess, name: str) -> CrawlerAccess:
    """What is said of one crawler."""
    return next(item for item in found.crawlers if item.crawler.name == name)


@pytest.mark.parametrize(
    ("rules", "access", "closed_path", "open_path", "line"),
    [
        ("Disallow: /", "closed", "/", "", 2),
        ("Disallow: /*", "closed", "/", "", 2),
        ("Disallow: /\nAllow: /robots.txt$", "closed", "/", "", 2),
        ("Disallow: /\nAllow: /pub/", "partly", "/", "/pub/", 2),
        ("Disallow: /\nAllow: /$", "partly", "/a", "/", 2),
        ("Allow: /a\nDisallow: /b", "partly", "/b", "/", 3),
        ("Disallow:", "open", "", "/", 0),
        ("Allow: /a\nDisallow: /a", "open", "", "/", 0),
        ("Disallow: a", "open", "", "/", 0),
    ],
)
def test_open_and_closed_hold_for_every_path(
    rules: str, access: str, closed_path: str, open_path: str, line: int
) -> None:
    """The answer is about all paths, with the shortest example and the line behind it."""
    robots = parse(f"User-agent: GPTBot\n{rules}")
    found = row(ai_access(robots), "GPTBot")
    assert found.access == access
    assert (found.closed_path, found.open_path) == (closed_path, open_path)
    assert (found.rule.line if found.rule else 0) == line
    allowed = {robots.allowed(path, "GPTBot") for path in PATHS}
    assert allowed == {"open": {True}, "closed": {False}}.get(access, allowed)


def test_a_group_of_its_own_and_the_group_for_everybody_are_told_apart() -> None:
    """Who is shut out only because everybody is, is not named."""
    found = ai_access(parse("User-agent: *\nDisallow: /\n\nUser-agent: gptbot/1.0\nDisallow: /"))
    by_name, by_star = row(found, "GPTBot"), row(found, "ClaudeBot")
    assert (by_name.access, by_name.is_named, by_name.group) == ("closed", True, "gptbot/1.0")
    assert (by_star.access, by_star.is_named, by_star.group) == ("closed", False, "*")
    assert (by_name.rule and by_name.rule.line, by_star.rule and by_star.rule.line) == (5, 2)


def test_a_group_of_its_own_does_not_inherit() -> None:
    """RFC 9309 section 2.2.1: a crawler that is named has only the rules of its own groups."""
    found = ai_access(parse("User-agent: *\nDisallow: /\n\nUser-agent: CCBot\nDisallow: /x"))
    assert row(found, "CCBot").access == "partly"
    assert row(found, "CCBot").may_fetch_home


def test_a_policy_token_is_refused_only_by_name() -> None:
    """Nobody documents whether `*` speaks for a token that fetches nothing."""
    for_all = ai_access(parse("User-agent: *\nDisallow: /"))
    assert row(for_all, "Google-Extended").access == "unknown"
    assert "Google-Extended" in for_all.purposes["ai-train"].unknown
    by_name = ai_access(parse("User-agent: Google-Extended\nDisallow: /"))
    assert row(by_name, "Google-Extended").access == "closed"
    assert by_name.purposes["ai-input"].closed == ("Google-Extended",)
    assert row(ai_access(parse("")), "Google-Extended").access == "open"


def test_names_without_documentation_are_only_names() -> None:
    """They are listed as written, and counted nowhere."""
    body = "User-agent: Bytespider\nUser-agent: anthropic-ai\nUser-agent: TavilyBot/2\nDisallow: /"
    found = ai_access(parse(body))
    assert found.names_only == ("Bytespider", "anthropic-ai", "TavilyBot")
    assert {item.access for item in found.crawlers} == {"open"}


def test_what_is_not_decided_is_unknown() -> None:
    """Where the steps are used up, nothing is claimed."""
    rules = "\n".join(f"Disallow: /*a{n}*b{n}*c{n}" for n in range(50))
    found = ai_access(parse(f"User-agent: GPTBot\n{rules}"), steps=1)
    assert row(found, "GPTBot").access == "unknown"
    assert "GPTBot" in found.purposes["ai-train"].unknown


def test_purposes_count_every_documented_crawler_once() -> None:
    """The four answers of a purpose are all crawlers that have it."""
    found = ai_access(parse("User-agent: GPTBot\nDisallow: /\n\nUser-agent: CCBot\nDisallow: /x"))
    for purpose, counts in found.purposes.items():
        names = [*counts.closed, *counts.partly, *counts.open, *counts.unknown]
        assert sorted(names) == sorted(
            crawler.name for crawler in DOCUMENTED if purpose in crawler.purposes
        )
    assert str(found.purposes["ai-train"]).endswith("shut out, 1 in part")


def test_the_answer_is_plain_json() -> None:
    """Nothing but plain values, and the day of the table."""
    data = json.loads(json.dumps(ai_access(parse("User-agent: *\nDisallow: /")).to_dict()))
    assert data["as_of"] == AS_OF
    first = data["crawlers"][0]
    assert (first["name"], first["access"], first["line_text"]) == (
        "GPTBot",
        "closed",
        "Disallow: /",
    )
    assert set(data["purposes"]) <= set(PURPOSES)


def test_every_documented_crawler_has_a_page_and_purposes() -> None:
    """A row is documented if its company says what it is for, and it still runs."""
    assert len(DOCUMENTED) >= 30
    assert all(crawler.source.startswith("https://") for crawler in DOCUMENTED)
    assert all(crawler.purposes for crawler in DOCUMENTED)
    assert not any(crawler.until for crawler in DOCUMENTED)
    assert date.fromisoformat(AS_OF)


def test_policy_tokens_are_in_the_table() -> None:
    """A token of the signals fetches nothing, and both tables have it."""
    silent = {crawler.name for crawler in AI_CRAWLERS if not crawler.fetches}
    assert {token.token for token in POLICY_TOKENS} <= silent


def test_other_names_have_no_row() -> None:
    """A name is documented, or only a name."""
    assert not OTHER_NAMES & {crawler.name.lower() for crawler in AI_CRAWLERS}
    assert all(name == name.lower() for name in OTHER_NAMES)
