"""Seed 000, a C++ crawler: which group speaks to an agent, in dialect `specificity`."""

import pytest

import manners
from manners import Reason
from manners.robots.agents import matches_user_agent, normalize_user_agent, specificity

EXAMPLE = """\
# Specific rules for Googlebot (highest priority)
User-agent: googlebot
Disallow: /temp
Allow: /temp/cache

# Rules for Bingbot
User-agent: bingbot
Disallow: /tmp

# Fallback rules for all other bots
User-agent: *
Disallow: /private
Disallow: /admin
"""


def read(body: str) -> manners.Robots:
    return manners.parse(body, dialect="specificity")


def test_the_example_file_has_three_groups() -> None:
    """The example file is read as the three RobotRule values of the seed."""
    groups = [
        (tuple(group.agents), group.disallows, group.allows, group.specificity)
        for group in read(EXAMPLE).groups
    ]
    assert groups == [
        (("googlebot",), ("/temp",), ("/temp/cache",), 3),
        (("bingbot",), ("/tmp",), (), 3),
        (("*",), ("/private", "/admin"), (), 1),
    ]


def test_a_group_knows_the_line_it_starts_on() -> None:
    """A group carries the number of its first User-agent line."""
    assert [group.line for group in read(EXAMPLE).groups] == [2, 7, 11]


@pytest.mark.parametrize(
    ("agent", "path", "allowed", "line"),
    [
        ("googlebot/1.2", "/temp", False, 3),
        ("googlebot/1.2", "/temp/other", False, 3),
        ("googlebot/1.2", "/temp/cache", True, 4),
        ("googlebot/1.2", "/temp/cache/page", True, 4),
        ("googlebot/1.2", "/private", True, 0),
        ("googlebot/1.2", "/admin", True, 0),
        ("bingbot", "/tmp", False, 8),
        ("bingbot", "/temp", True, 0),
        ("bingbot", "/private", True, 0),
        ("bingbot", "/admin", True, 0),
        ("unknownbot", "/private", False, 12),
        ("unknownbot", "/admin", False, 13),
        ("unknownbot", "/temp", True, 0),
        ("unknownbot", "/tmp", True, 0),
    ],
)
def test_matching_results(agent: str, path: str, allowed: bool, line: int) -> None:
    """Each row of "Matching Results" gets the answer the seed gives, with its line."""
    verdict = read(EXAMPLE).check(f"https://example.com{path}", agent=agent)
    assert (verdict.allowed, verdict.line) == (allowed, line)
    assert verdict.reason is (Reason.RULE_MATCHED if line else Reason.NO_RULE_MATCHED)


@pytest.mark.parametrize(
    ("agent", "group", "value"),
    [("googlebot/1.2", "googlebot", 3), ("bingbot", "bingbot", 3), ("unknownbot", "*", 1)],
)
@pytest.mark.parametrize("path", ["/temp", "/tmp", "/private", "/elsewhere"])
def test_matching_results_name_the_group(agent: str, group: str, value: int, path: str) -> None:
    """A verdict names the group that spoke and its specificity, whichever path is asked."""
    verdict = read(EXAMPLE).check(path, agent=agent)
    assert (verdict.agent, verdict.specificity) == (group, value)


def test_no_group_at_all_allows() -> None:
    """An agent nobody speaks to, in a file without a wildcard, is allowed with specificity 0."""
    verdict = read("User-agent: googlebot\nDisallow: /\n").check("/", agent="unknownbot")
    assert (verdict.allowed, verdict.reason, verdict.specificity) == (True, Reason.NO_GROUP, 0)


@pytest.mark.parametrize(
    ("agent", "normalized"),
    [
        ("googlebot/1.2", "googlebot"),
        ("bingbot*", "bingbot"),
        ("crawler/2.0", "crawler"),
        ("googlebot", "googlebot"),
        ("GoogleBot", "googlebot"),
        ("  GoogleBot  ", "googlebot"),
        ("MyBot /1.0", "mybot"),
        ("My Bot/1.0", "my bot"),
        ("a*b/c", "a"),
        ("a/b*c", "a"),
        ("", ""),
    ],
)
def test_normalization(agent: str, normalized: str) -> None:
    """A name is cut at its first slash or asterisk, trimmed and lower-cased."""
    assert normalize_user_agent(agent) == normalized


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("googlebot", 3),
        ("GoogleBot", 3),
        ("google bot", 3),
        ("googlebot*", 2),
        ("*bot", 2),
        ("crawler/1.0", 2),
        ("*/1.0", 2),
        ("*", 1),
    ],
)
def test_specificity_of_a_line(line: str, value: int) -> None:
    """A line counts 3 for a plain name, 2 with an asterisk or slash in it, 1 for the wildcard."""
    assert specificity(line) == value


@pytest.mark.parametrize(
    ("rule_agent", "agent", "matches"),
    [
        ("googlebot", "MyBot/1.0", False),
        ("googlebot", "googlebot", True),
        ("googlebot", "googlebot/1.2", True),
        ("GOOGLEBOT", "googlebot/1.2", True),
        ("googlebot", "GoogleBot", True),
        ("googlebot*", "googlebot/1.2", True),
        ("googlebot/2.0", "googlebot/1.2", True),
        ("google", "googlebot", False),
        ("googlebot", "google", False),
        ("googlebot-news", "googlebot", False),
        ("*", "MyBot/1.0", True),
        ("*", "googlebot", True),
    ],
)
def test_manual_user_agent_matching(rule_agent: str, agent: str, matches: bool) -> None:
    """A line names an agent when both are equal once normalised, and the wildcard names all."""
    assert matches_user_agent(rule_agent, agent) is matches


@pytest.mark.parametrize(
    ("lines", "value"),
    [
        (("googlebot",), 3),
        (("googlebot*",), 2),
        (("crawler/1.0",), 2),
        (("*",), 1),
        (("*", "crawler/1.0"), 2),
        (("*", "googlebot", "crawler/1.0"), 3),
    ],
)
def test_specificity_of_a_group(lines: tuple[str, ...], value: int) -> None:
    """A group is as specific as the most specific of its lines."""
    body = "".join(f"User-agent: {line}\n" for line in lines) + "Disallow: /\n"
    (group,) = read(body).groups
    assert group.specificity == value


@pytest.mark.parametrize(
    ("agent", "value"), [("googlebot/1.2", 2), ("bingbot", 3), ("unknownbot", 1)]
)
def test_a_verdict_has_the_specificity_of_the_line_that_matched(agent: str, value: int) -> None:
    """In a group of several lines the verdict counts the one that named the agent."""
    robots = read("User-agent: googlebot*\nUser-agent: bingbot\nUser-agent: *\nDisallow: /\n")
    verdict = robots.check("/", agent=agent)
    assert (verdict.allowed, verdict.specificity) == (False, value)


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/private", False),
        ("/private/data", False),
        ("/private/public", True),
        ("/private/public/page", True),
        ("/elsewhere", True),
    ],
)
def test_allow_precedence(path: str, allowed: bool) -> None:
    """The seed's example opens `/private/public` and nothing else under `/private`."""
    body = "User-agent: googlebot\nDisallow: /private\nAllow: /private/public\n"
    assert read(body).allowed(path, agent="googlebot") is allowed


@pytest.mark.parametrize(
    "rules",
    [
        "Allow: /a\nDisallow: /a/much/longer",
        "Disallow: /a/much/longer\nAllow: /a",
        "Disallow: /\nDisallow: /a/much/longer/path\nAllow: /a/m",
    ],
)
def test_any_matching_allow_beats_any_disallow(rules: str) -> None:
    """Neither length nor order matters: one matching Allow is enough."""
    verdict = read(f"User-agent: *\n{rules}\n").check("/a/much/longer/path", agent="bot")
    assert verdict.allowed
    assert verdict.rule is not None
    assert verdict.rule.allow


@pytest.mark.parametrize(
    ("rule", "path", "matches"),
    [
        ("/admin", "/admin", True),
        ("/admin", "/admin/", True),
        ("/admin", "/admin/users", True),
        ("/admin", "/administrator", True),
        ("/admin", "/admi", False),
        ("/admin", "/Admin", False),
        ("/admin", "/x/admin", False),
        ("/", "/", True),
        ("/", "/anything/at/all?x=1", True),
        ("/*.pdf", "/file.pdf", False),
        ("/*.pdf", "/*.pdf", True),
        ("/*.pdf", "/*.pdf.gz", True),
        ("/end$", "/end", False),
        ("/end$", "/end$", True),
        ("/end$", "/end$/more", True),
    ],
)
def test_paths_match_by_prefix(rule: str, path: str, matches: bool) -> None:
    """A rule is a prefix, and `*` and `$` in it are ordinary characters."""
    assert read(f"User-agent: *\nDisallow: {rule}\n").allowed(path, agent="bot") is not matches


@pytest.mark.parametrize("path", ["/", "/index.html", "/a/b/c", "/?q=1", "https://example.com"])
def test_root_disallow_blocks_everything(path: str) -> None:
    """`Disallow: /` leaves no page open."""
    assert not read("User-agent: *\nDisallow: /\n").allowed(path, agent="bot")


COMBINED = """\
User-agent: googlebot
Disallow: /one

User-agent: *
Disallow: /anyone

User-agent: GoogleBot
Disallow: /two

User-agent: googlebot*
Disallow: /three

User-agent: googlebot/9
Disallow: /four
Allow: /one/open
"""


@pytest.mark.parametrize(
    ("path", "allowed"),
    [
        ("/one", False),
        ("/two", False),
        ("/three", False),
        ("/four", False),
        ("/one/open", True),
        ("/anyone", True),
    ],
)
def test_specific_groups_combine(path: str, allowed: bool) -> None:
    """Every group that names the agent applies, exact or pattern, and the wildcard does not."""
    assert read(COMBINED).allowed(path, agent="googlebot/1.2") is allowed


@pytest.mark.parametrize(("path", "allowed"), [("/anyone", False), ("/one", True), ("/two", True)])
def test_wildcard_is_the_fallback(path: str, allowed: bool) -> None:
    """An agent no group names gets the wildcard group and only that."""
    assert read(COMBINED).allowed(path, agent="unknownbot") is allowed


def test_a_named_group_without_a_matching_rule_keeps_the_wildcard_out() -> None:
    """Once a group names the agent, the wildcard group is not asked."""
    verdict = read("User-agent: MyBot\nDisallow: /a\n\nUser-agent: *\nDisallow: /\n").check(
        "/b", agent="MyBot/1.0"
    )
    assert (verdict.allowed, verdict.line) == (True, 0)


@pytest.mark.parametrize("agent", ["*", ""])
def test_no_name_selects_the_wildcard_only(agent: str) -> None:
    """A wildcard or empty agent never meets a line that is empty once normalised."""
    robots = read("User-agent: /\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\n")
    assert robots.allowed("/a", agent=agent)
    assert not robots.allowed("/b", agent=agent)


def test_comments_are_stripped() -> None:
    """A comment ends a line wherever it starts."""
    robots = read("User-agent: bot # that one\nDisallow: /a # not this\n")
    assert robots.groups[0].disallows == ("/a",)
    assert not robots.allowed("/a/b", agent="bot")


def test_an_empty_disallow_blocks_nothing() -> None:
    """A Disallow without a path is no prefix of anything."""
    assert read("User-agent: bot\nDisallow:\n").allowed("/a", agent="bot")
