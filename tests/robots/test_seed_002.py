"""Seed 002, a TypeScript auditor: filtering discovered URLs, in dialect `audit`."""

import pytest

import manners
from manners import Reason

AGENT = "AEO-Audit/1.0"


def read(body: str) -> manners.Robots:
    return manners.parse(body, dialect="audit")


DISCOVERY = """\
User-agent: *
Disallow: /admin
Disallow: /api
Allow: /public
"""

DISCOVERED = [
    ("https://example.com/", True, 0, ""),
    ("https://example.com/page", True, 0, ""),
    ("https://example.com/admin", False, 2, "Disallow: /admin"),
    ("https://example.com/api/users", False, 3, "Disallow: /api"),
]


@pytest.mark.parametrize(("url", "allowed", "line", "text"), DISCOVERED)
def test_url_discovery(url: str, allowed: bool, line: int, text: str) -> None:
    """Each URL of the sitemap is kept or blocked by the rule the example names."""
    verdict = read(DISCOVERY).check(url, agent=AGENT)
    assert (verdict.allowed, verdict.line, verdict.line_text) == (allowed, line, text)
    assert verdict.reason is (Reason.RULE_MATCHED if line else Reason.NO_RULE_MATCHED)


def test_url_discovery_finds_the_wildcard() -> None:
    """The example's agent is named nowhere, so `*` is the matching group."""
    verdict = read(DISCOVERY).check("https://example.com/page", agent=AGENT)
    assert (verdict.agent, verdict.specificity) == ("*", 1)


def test_url_discovery_result() -> None:
    """Two of the four URLs of the example are allowed."""
    policy = read(DISCOVERY).policy(AGENT)
    assert policy.allowed_many([url for url, *_ in DISCOVERED]) == [True, True, False, False]


def test_page_fetch() -> None:
    """The page of the fetch example is allowed by `Allow: /page` of the wildcard group."""
    verdict = read("User-agent: *\nAllow: /page\nDisallow: /\n").check(
        "https://example.com/page", agent=AGENT
    )
    assert (verdict.allowed, verdict.path, verdict.agent) == (True, "/page", "*")
    assert verdict.line_text == "Allow: /page"


def test_evidence_content() -> None:
    """What the evidence example shows comes out of one verdict: rule and delay in seconds."""
    robots = read("User-agent: *\nCrawl-delay: 2\nAllow: /public\nDisallow: /private\n")
    verdict = robots.check("https://example.com/public", agent=AGENT)
    assert (verdict.allowed, verdict.line_text, verdict.crawl_delay) == (True, "Allow: /public", 2)
    assert robots.policy(AGENT).crawl_delay == 2


PRIORITY = """\
User-agent: AEO-Audit/1.0
Disallow: /exact

User-agent: AEO-Audit
Disallow: /partial

User-agent: AEO
Disallow: /short

User-agent: AEO-Audit/1.0 (extended)
Disallow: /around

User-agent: *
Disallow: /anyone
"""


@pytest.mark.parametrize(
    ("agent", "closed"),
    [
        ("AEO-Audit/1.0", {"/exact"}),
        ("AEO-Audit", {"/partial"}),
        ("AEO-Audit/2.0", {"/partial"}),
        ("AEO-Lite", {"/short"}),
        ("AEO-Audit/1.0 (extended)", {"/around"}),
        ("OtherBot", {"/anyone"}),
    ],
)
def test_priority_order(agent: str, closed: set[str]) -> None:
    """The exact line decides, else the longest partial one, else the wildcard, never two kinds."""
    paths = ["/exact", "/partial", "/short", "/around", "/anyone"]
    robots = read(PRIORITY)
    assert {path for path in paths if not robots.allowed(path, agent=agent)} == closed


@pytest.mark.parametrize(
    "line",
    ["AEO-Audit", "Audit", "AEO-Audit/1", "the AEO-Audit/1.0 bot", "1.0"],
)
def test_partial_match_works_both_ways(line: str) -> None:
    """A line matches partially when it is contained in the agent or contains it."""
    robots = read(f"User-agent: {line}\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n")
    assert not robots.allowed("/a", agent=AGENT)
    assert robots.allowed("/b", agent=AGENT)


@pytest.mark.parametrize("line", ["AE", "A", "1.", "OtherBot", "AEO Audit"])
def test_what_is_no_partial_match(line: str) -> None:
    """A line under three characters, or one that shares only letters, is no match."""
    robots = read(f"User-agent: {line}\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n")
    assert robots.allowed("/a", agent=AGENT)
    assert not robots.allowed("/b", agent=AGENT)


def test_equal_partial_matches_merge() -> None:
    """Two groups with the same partial name are read as one."""
    robots = read(
        "User-agent: AEO-Audit\nDisallow: /a\n\nUser-agent: AEO\nDisallow: /b\n\n"
        "User-agent: AEO-Audit\nDisallow: /c\n"
    )
    allowed = [robots.allowed(path, agent=AGENT) for path in ("/a", "/b", "/c")]
    assert allowed == [False, True, False]


@pytest.mark.parametrize(
    ("rules", "path", "allowed"),
    [
        ("Disallow: /a\nAllow: /a", "/a", True),
        ("Allow: /a\nDisallow: /a", "/a", True),
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True),
        ("Allow: /a\nDisallow: /a/b", "/a/b/c", False),
        ("Disallow: /*.pdf$", "/file.pdf", False),
        ("Disallow: /*.pdf$", "/file.pdf?x", True),
        ("Disallow: /a", "/b", True),
        ("Disallow:", "/b", True),
    ],
)
def test_allow_and_disallow_precedence(rules: str, path: str, allowed: bool) -> None:
    """The longer pattern wins, Allow on a tie, and no match allows."""
    assert read(f"User-agent: *\n{rules}\n").allowed(path, agent=AGENT) is allowed


def test_a_group_of_ones_own_without_a_match_allows() -> None:
    """The wildcard is a fallback for a missing group, not for a missing rule."""
    robots = read(f"User-agent: {AGENT}\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n")
    assert robots.allowed("/b", agent=AGENT)
