"""Seed 004, a Java scanner specified in Korean: sections and limits, in dialect `scanner`."""

import pytest

import manners
from manners import Reason

AGENT = "WebKillerAI"


def read(body: str) -> manners.Robots:
    return manners.parse(body, dialect="scanner")


def closed(body: str, *paths: str, agent: str = AGENT) -> list[str]:
    robots = read(body)
    return [path for path in paths if not robots.allowed(f"https://example.com{path}", agent=agent)]


# User-Agent


@pytest.mark.parametrize("line", ["WebKillerAI", "webkillerai", "WEBKILLERAI"])
def test_the_own_section_is_found_ignoring_case(line: str) -> None:
    """The section is compared with the agent ignoring case, and `*` is then not asked."""
    body = f"User-agent: *\nDisallow: /b\n\nUser-agent: {line}\nDisallow: /a\n"
    assert closed(body, "/a", "/b") == ["/a"]


@pytest.mark.parametrize("line", ["WebKillerAI/0.3", "WebKiller", "WebKillerAI Pro", "Other"])
def test_other_sections_are_ignored(line: str) -> None:
    """Names are compared whole, so everything but an equal name leaves `*` in charge."""
    body = f"User-agent: {line}\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n"
    assert closed(body, "/a", "/b") == ["/b"]


def test_no_section_allows() -> None:
    """A file that speaks to neither the agent nor `*` closes nothing."""
    verdict = read("User-agent: Other\nDisallow: /\n").check("/", agent=AGENT)
    assert (verdict.allowed, verdict.reason) == (True, Reason.NO_GROUP)


def test_groups_of_one_agent_merge() -> None:
    """Sections for the same agent are evaluated as one set of rules."""
    body = (
        "User-agent: WebKillerAI\nDisallow: /a\n\nUser-agent: *\nDisallow: /x\n\n"
        "User-agent: webkillerai\nDisallow: /b\nAllow: /a/open\n"
    )
    assert closed(body, "/a", "/a/open", "/b", "/x") == ["/a", "/b"]


@pytest.mark.parametrize("section", ["", "Disallow:\n", "Allow:\n", "Crawl-delay: 5\n"])
def test_an_own_section_without_rules_counts_as_absent(section: str) -> None:
    """`rulesFor(ua) or rulesFor("*")`: an empty section falls back to `*`."""
    body = f"User-agent: WebKillerAI\n{section}\nUser-agent: *\nDisallow: /b\n"
    assert closed(body, "/a", "/b") == ["/b"]


# Records


def test_a_record_ends_at_the_next_user_agent() -> None:
    """Of two consecutive User-agent lines the second alone gets the rule."""
    body = "User-agent: A\nUser-agent: B\nDisallow: /x\n"
    assert closed(body, "/x", agent="A") == []
    assert closed(body, "/x", agent="B") == ["/x"]


def test_a_record_ends_at_a_blank_line() -> None:
    """A rule after a blank line belongs to nobody."""
    body = "User-agent: WebKillerAI\nDisallow: /a\n\nDisallow: /b\n"
    assert closed(body, "/a", "/b") == ["/a"]


def test_comments_are_ignored() -> None:
    """A comment ends a line and leaves what stands before it."""
    assert closed("User-agent: * # all\nDisallow: /a # not b\n", "/a", "/b") == ["/a"]


@pytest.mark.parametrize("key", ["Disallow", "disallow", "DISALLOW"])
def test_directives_ignore_case(key: str) -> None:
    """User-agent, Allow and Disallow are recognised in any case."""
    assert closed(f"USER-AGENT: *\n{key}: /a\naLLow: /a/b\n", "/a", "/a/b") == ["/a"]


@pytest.mark.parametrize(
    "line", ["Crawl-delay: 10", "Sitemap: https://example.com/s.xml", "Foo: /"]
)
def test_other_directives_do_not_disturb_a_record(line: str) -> None:
    """A directive the scanner does not use leaves its record whole."""
    assert closed(f"User-agent: *\n{line}\nDisallow: /a\n{line}\nDisallow: /b\n", "/a", "/b") == [
        "/a",
        "/b",
    ]


def test_crawl_delay_and_sitemaps_stay_exposed() -> None:
    """What the scanner ignores can still be read by whoever asks: a listed deviation."""
    robots = read(
        "User-agent: *\nCrawl-delay: 10\nDisallow: /a\nSitemap: https://a.example/s.xml\n"
    )
    assert robots.policy(AGENT).crawl_delay == 10
    assert [sitemap.url for sitemap in robots.sitemaps] == ["https://a.example/s.xml"]


@pytest.mark.parametrize("key", ["Allow", "Disallow"])
def test_empty_values_are_no_rules(key: str) -> None:
    """An Allow or Disallow without a value changes nothing."""
    assert closed(f"User-agent: *\n{key}:\nDisallow: /a\n", "/a", "/b") == ["/a"]


# Patterns


def test_pattern_example_private_star() -> None:
    """`Disallow: /private*` closes `/private`, `/private123` and `/private/x`."""
    paths = ["/private", "/private123", "/private/x"]
    assert closed("User-agent: *\nDisallow: /private*\n", *paths, "/privat", "/x") == paths


def test_pattern_example_private_end() -> None:
    """`Allow: /private$` opens exactly `/private`: both patterns count nine, and Allow wins."""
    body = "User-agent: *\nDisallow: /private*\nAllow: /private$\n"
    assert closed(body, "/private", "/private123", "/private/x") == ["/private123", "/private/x"]


def test_pattern_example_api_debug() -> None:
    """`Disallow: /api/*/debug$` closes `/api/v1/debug` and not what is below it."""
    body = "User-agent: *\nDisallow: /api/*/debug$\n"
    paths = ["/api/v1/debug", "/api/v1/v2/debug", "/api/v1/debug/x", "/api/debug", "/api/v1/debugs"]
    assert closed(body, *paths) == ["/api/v1/debug", "/api/v1/v2/debug"]


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/a", "/a", True),
        ("/a", "/ab", True),
        ("/a", "/a/b", True),
        ("/a", "/b/a", False),
        ("/a", "/A", False),
        ("/a*c", "/ac", True),
        ("/a*c", "/a/b/c", True),
        ("/a*c", "/a/b/cd", True),
        ("/a*c$", "/a/b/cd", False),
        ("/a$", "/a", True),
        ("/a$", "/a/", False),
        ("*/logout", "/x/y/logout", True),
    ],
)
def test_prefix_wildcard_and_anchor(pattern: str, path: str, matches: bool) -> None:
    """A pattern is a case-sensitive prefix in which `*` crosses slashes and `$` is the end."""
    assert closed(f"User-agent: *\nDisallow: {pattern}\n", path) == ([path] if matches else [])


@pytest.mark.parametrize("pattern", ["/a b", "/a\\b", "/ a", "/a\tb", "\\a"])
def test_abnormal_patterns_are_dropped(pattern: str) -> None:
    """A pattern with white space or a backslash is no rule and its neighbours still are."""
    body = f"User-agent: *\nDisallow: {pattern}\nDisallow: /z\n"
    assert closed(body, pattern, "/a%20b", "/a%5Cb", "/a", "/z") == ["/z"]


# Precedence


@pytest.mark.parametrize(
    ("rules", "path", "allowed", "line"),
    [
        ("Disallow: /a\nAllow: /a/b", "/a/b/c", True, 3),
        ("Allow: /a\nDisallow: /a/b", "/a/b/c", False, 3),
        ("Disallow: /a\nAllow: /a", "/a", True, 3),
        ("Allow: /a\nDisallow: /a", "/a", True, 2),
        ("Disallow: /a*\nAllow: /a", "/a", False, 2),
        ("Disallow: /a\nAllow: /b", "/c", True, 0),
    ],
)
def test_longest_match_and_allow_wins(rules: str, path: str, allowed: bool, line: int) -> None:
    """The longest pattern decides, counting `*` and `$`, then Allow, and no match allows."""
    verdict = read(f"User-agent: *\n{rules}\n").check(path, agent=AGENT)
    assert (verdict.allowed, verdict.line) == (allowed, line)


# URL normalisation


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("https://example.com/a?q=1", "/a"),
        ("https://example.com/a#f", "/a"),
        ("https://example.com/a?q=1#f", "/a"),
        ("https://example.com/a#f?q=1", "/a"),
        ("https://example.com", "/"),
        ("https://example.com?q=1", "/"),
        ("https://example.com#f", "/"),
        ("https://example.com//a", "/a"),
        ("https://example.com/a//b", "/a/b"),
        ("https://example.com/a///b////", "/a/b/"),
        ("HTTPS://EXAMPLE.com:443/A", "/A"),
        ("https://example.com/a%2fb", "/a%2Fb"),
        ("https://example.com/%61%c3%a9", "/%61%C3%A9"),
    ],
)
def test_url_normalisation(url: str, path: str) -> None:
    """Only the path is matched: slashes collapsed, hex digits upper-cased, nothing decoded."""
    assert read("User-agent: *\nDisallow: /\n").check(url, agent=AGENT).path == path


@pytest.mark.parametrize(
    ("pattern", "path", "matches"),
    [
        ("/a%2fb", "/a%2Fb", True),
        ("/a%2Fb", "/a%2fb", True),
        ("/a%2fb", "/a/b", False),
        ("/%61", "/a", False),
        ("/a", "/%61", False),
        ("/a/b", "/a//b", True),
        ("/a$", "/a?q=1", True),
        ("/a$", "/a#f", True),
        ("/a?q", "/a?q", False),
    ],
)
def test_normalised_matching(pattern: str, path: str, matches: bool) -> None:
    """Both sides are brought to upper-case hex and the query never takes part."""
    assert closed(f"User-agent: *\nDisallow: {pattern}\n", path) == ([path] if matches else [])


# Limits


def many_rules(count: int) -> str:
    """A file with `count` rules that are not empty, spread over two sections."""
    half = count // 2
    other = "".join(f"Disallow: /other{number}\n" for number in range(half))
    own = "".join(f"Disallow: /own{number}\n" for number in range(count - half))
    return f"User-agent: Other\n{other}Disallow:\n\nUser-agent: *\n{own}Allow:\n"


def test_a_thousand_rules_are_read() -> None:
    """The limit itself is within the limit, and empty rules do not count."""
    verdict = read(many_rules(1_000)).check("/own1", agent=AGENT)
    assert (verdict.allowed, verdict.reason) == (False, Reason.RULE_MATCHED)


@pytest.mark.parametrize("path", ["/own1", "/other1", "/"])
def test_more_than_a_thousand_rules_allow_everything(path: str) -> None:
    """One rule more in the whole file and everything is allowed, with its reason."""
    verdict = read(many_rules(1_001)).check(path, agent=AGENT)
    assert (verdict.allowed, verdict.reason) == (True, Reason.TOO_MANY_RULES)
    assert (verdict.rule, verdict.line) == (None, 0)
