"""The rules about groups and agents: what their examples do not show."""

import pytest

from manners.lint.finding import Finding, Severity, apply_edits
from manners.lint.rule import LintRule
from manners.lint.rules import (
    blank_line_in_group,
    group_without_rules,
    joined_agents,
    nameless_agent,
    nobody_else,
    repeated_agent,
    several_agents_on_a_line,
    shortened_agent,
    split_group,
    unrestricted_agent,
    version_in_agent,
    whole_user_agent_header,
    wildcard_in_agent,
)
from manners.lint.source import Source

RULES = [
    module.RULE
    for module in (
        blank_line_in_group,
        group_without_rules,
        joined_agents,
        nameless_agent,
        nobody_else,
        repeated_agent,
        several_agents_on_a_line,
        shortened_agent,
        split_group,
        unrestricted_agent,
        version_in_agent,
        whole_user_agent_header,
        wildcard_in_agent,
    )
]
AGENT_RULES = RULES[3:4] + RULES[6:8] + RULES[10:]
"""Those that look at one User-agent line by itself."""


def found(rule: LintRule, text: str) -> list[Finding]:
    """What a rule finds in a file."""
    return list(rule.check(Source(text.encode())))


def fixed(rule: LintRule, text: str) -> str:
    """A file after the first fix that a rule offers, again and again until there is none."""
    for _ in range(20):
        fixes = [finding.fix for finding in found(rule, text) if finding.fix is not None]
        if not fixes:
            return text
        text = apply_edits(text.encode(), list(fixes[0].edits)).decode()
    raise AssertionError("fixing does not come to an end")


# Joined agents.


def test_every_break_between_agents_is_one_finding() -> None:
    """Three agents with delays between them are two findings, each at the agent that joins."""
    text = "User-agent: a\nCrawl-delay: 1\nUser-agent: b\n\nUser-agent: *\nDisallow: /x\n"
    assert [finding.line for finding in found(joined_agents.RULE, text)] == [3, 5]


def test_ending_the_group_above_keeps_its_directives_in_it() -> None:
    """The empty Disallow comes below the delay, and above a Sitemap, which is in no group."""
    text = (
        "User-agent: a\nCrawl-delay: 1\n\nSitemap: https://x.example/s\n\n"
        "User-agent: *\nDisallow: /x\n"
    )
    after = fixed(joined_agents.RULE, text)
    assert after == text.replace("Crawl-delay: 1\n", "Crawl-delay: 1\nDisallow:\n")
    assert found(joined_agents.RULE, text)[0].fix.safety == "unsafe"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        ("no rules below", "User-agent: a\nCrawl-delay: 1\n\nUser-agent: b\nCrawl-delay: 1\n"),
        ("an empty rule below", "User-agent: a\n\nUser-agent: b\nDisallow:\n"),
        ("a comment between", "User-agent: a\n# b, too\nUser-agent: b\nDisallow: /\n"),
        ("named below as well", "User-agent: a\n\nUser-agent: A\nUser-agent: b\nDisallow: /\n"),
        ("a nameless line above", "User-agent:\n\nUser-agent: b\nDisallow: /\n"),
    ],
)
def test_agents_that_nobody_joins_by_mistake(reason: str, text: str) -> None:
    """Nothing is reported where nobody gets a rule that looks like somebody else's."""
    assert found(joined_agents.RULE, text) == [], reason


# Blank lines.


def test_all_blank_lines_of_a_group_are_one_finding_and_one_fix() -> None:
    """The finding is at the first rule that is lost; lines of white space are blank."""
    text = "User-agent: *\n\n \t\nDisallow: /a\n\n# more\nDisallow: /b\n\nSitemap: https://x/\n"
    finding, *more = found(blank_line_in_group.RULE, text)
    assert more == []
    assert finding.line == 4
    assert "and 1 more" in finding.message
    assert fixed(blank_line_in_group.RULE, text) == (
        "User-agent: *\nDisallow: /a\n# more\nDisallow: /b\n\nSitemap: https://x/\n"
    )


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: *\n\nDisallow:\n",
        "User-agent: *\nDisallow: /a\n\nCrawl-delay: 1\n",
        "User-agent: a\n\nUser-agent: b\nDisallow: /a\n",
    ],
)
def test_blank_lines_that_cost_no_rule(text: str) -> None:
    """A blank line above an empty rule, a delay or another agent is not this rule's business."""
    assert found(blank_line_in_group.RULE, text) == []


def test_an_empty_rule_at_the_end_hides_no_blank_line() -> None:
    """A rule below a blank line is found although an empty one follows it."""
    text = "User-agent: *\n\nDisallow: /a\nDisallow:\n"
    assert [finding.line for finding in found(blank_line_in_group.RULE, text)] == [3]


# Groups without rules.


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("User-agent: *", "User-agent: *\nDisallow:"),
        ("User-agent: *\r\n\r\n# end", "User-agent: *\r\nDisallow:\r\n\r\n# end"),
        ("User-agent: *\nContent-Signal: a=b\n", "User-agent: *\nContent-Signal: a=b\nDisallow:\n"),
    ],
)
def test_an_empty_disallow_completes_a_group(before: str, after: str) -> None:
    """It comes below the last line of the group, with the line end that the file has."""
    assert fixed(group_without_rules.RULE, before) == after


def test_a_group_of_delays_is_left_to_another_rule() -> None:
    """A group with a Crawl-delay is not reported as one without rules."""
    assert found(group_without_rules.RULE, "User-agent: *\nCrawl-delay: 5\n") == []


# Split groups.


def test_comments_move_with_a_group_and_nothing_is_lost() -> None:
    """Comments above, inside and behind the User-agent line move; blank lines are dropped."""
    before = (
        "User-agent: *\nDisallow: /a\n# end of all\n\n"
        "User-agent: b\nDisallow: /\n\n"
        "# about all\nUser-agent: * # again\n\n# shop\nDisallow: /c\n"
        "Sitemap: https://x/\nAllow: /d\n"
        "\n\nUser-agent: e\nDisallow: /\n"
    )
    after = (
        "User-agent: *\nDisallow: /a\n"
        "# about all\n# again\n# shop\nDisallow: /c\nSitemap: https://x/\nAllow: /d\n"
        "# end of all\n\n"
        "User-agent: b\nDisallow: /\n\n"
        "User-agent: e\nDisallow: /\n"
    )
    assert fixed(split_group.RULE, before) == after


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (
            "User-agent: *\nDisallow: /a\n\nUser-agent: *\nDisallow: /b",
            "User-agent: *\nDisallow: /a\nDisallow: /b\n",
        ),
        (
            "User-agent: *\nDisallow: /a\nUser-agent: b\nAllow: /\nUser-agent: *\nDisallow: /b\n",
            "User-agent: *\nDisallow: /a\nDisallow: /b\nUser-agent: b\nAllow: /\n",
        ),
        (
            "User-agent: *\nDisallow: /a\n\nUser-agent: *\n",
            "User-agent: *\nDisallow: /a\n",
        ),
        (
            "User-agent: a\nUser-agent: B\nDisallow: /a\n\n"
            "User-agent: b/2\nUser-agent: A\nAllow: /\n",
            "User-agent: a\nUser-agent: B\nDisallow: /a\nAllow: /\n",
        ),
        (
            "User-agent: a\nDisallow: /1\n\nUser-agent: a\nDisallow: /2\n\n"
            "User-agent: a\nDisallow: /3",
            "User-agent: a\nDisallow: /1\nDisallow: /2\nDisallow: /3\n",
        ),
    ],
)
def test_groups_are_merged(before: str, after: str) -> None:
    """At the end of a file, without blank lines, without rules, with several agents, repeatedly."""
    assert fixed(split_group.RULE, before) == after


@pytest.mark.parametrize(
    ("reason", "text"),
    [
        (
            "other agents",
            "User-agent: a\nUser-agent: b\nDisallow: /1\n\nUser-agent: b\nDisallow: /2\n",
        ),
        (
            "a delay that is for one of them",
            "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nDisallow: /1\n\n"
            "User-agent: a\nUser-agent: b\nDisallow: /2\n",
        ),
        (
            "a rule on the line of the name",
            "User-agent: a Disallow: /1\nDisallow: /2\n\nUser-agent: a Disallow: /1\nAllow: /2\n",
        ),
        (
            "names that are one only after cutting",
            "User-agent: Sogou web spider\nDisallow: /1\n\nUser-agent: Sogou\nDisallow: /2\n",
        ),
    ],
)
def test_groups_that_are_not_merged(reason: str, text: str) -> None:
    """A split group is reported without a fix where a merge would say something else."""
    assert [finding.fix for finding in found(split_group.RULE, text)] == [None], reason


def test_names_that_are_one_after_cutting_are_information() -> None:
    """Two groups of names that differ as written are no warning."""
    text = "User-agent: Sogou web spider\nDisallow: /\nUser-agent: Sogou inst spider\nDisallow: /\n"
    assert [finding.severity for finding in found(split_group.RULE, text)] == [Severity.INFO]


def test_a_group_of_many_repeated_agents_is_one_finding() -> None:
    """The finding names the first agent and counts the rest; nameless agents do not count."""
    agents = "User-agent:\nUser-agent: a\nUser-agent: b\nUser-agent: c\n"
    finding, *more = found(split_group.RULE, f"{agents}Disallow: /1\n{agents}Disallow: /2\n")
    assert more == []
    assert finding.line == 7
    assert finding.message.startswith("`a` and 2 more have a group already in line 2")


# Repeated agents.


def test_a_repeated_agent_goes_and_its_comment_stays() -> None:
    """Only the User-agent is removed from a line with a comment."""
    before = "User-agent: a\nUser-agent: A/1.0  # old\nUser-agent: a\nDisallow: /\n"
    assert fixed(repeated_agent.RULE, before) == "User-agent: a\n# old\nDisallow: /\n"


@pytest.mark.parametrize(
    "text",
    [
        "User-agent: Sogou web spider\nUser-agent: Sogou inst spider\nDisallow: /\n",
        "User-agent: a\nCrawl-delay: 1\nUser-agent: b\nUser-agent: a\nCrawl-delay: 2\nAllow: /\n",
    ],
)
def test_repeated_agents_without_a_fix(text: str) -> None:
    """Other names, and lines that say whose a delay is, are not removed."""
    assert [finding.fix for finding in found(repeated_agent.RULE, text)] == [None]


# Names.

MANY_VALUES = [
    # value, the rule that reports it, what the fix makes of it
    ("*", None, None),
    ("Googlebot-Image", None, None),
    ("* ", None, None),
    ("", "nameless-agent", None),
    ("*bot*", "nameless-agent", "bot"),
    ('"GPTBot"', "nameless-agent", "GPTBot"),
    ("+http://x.example/", "nameless-agent", None),
    ("Teleport*", "wildcard-in-agent", "Teleport"),
    ("Twitterbot/*", "wildcard-in-agent", "Twitterbot"),
    ("WebEMail.*", "wildcard-in-agent", "WebEMail"),
    ("star*crawler", "wildcard-in-agent", None),
    ("Net Attache*", "shortened-agent", None),
    ("Fastbot crawler", "shortened-agent", None),
    ("HTTrack [NC,OR]", "shortened-agent", None),
    ("MJ12bot", "shortened-agent", None),
    ("008", "shortened-agent", None),
    ("Wget/1.8.1+cvs", "version-in-agent", "Wget"),
    ("libWeb/clsHTTP", "version-in-agent", "libWeb"),
    ("mozilla/4", "version-in-agent", "mozilla"),
    ("Mozilla/5.0 (compatible; A-Bot/2.0; +http://x/)", "whole-user-agent-header", "A-Bot"),
    ("mozilla/5.0(compatible; a-bot; x)", "whole-user-agent-header", "a-bot"),
    ("Mozilla/4.0 (compatible; MSIE 4.0; Windows)", "whole-user-agent-header", None),
    ("Mozilla/5.0 (compatible; Dow Jones Searchbot)", "whole-user-agent-header", None),
    ("Mozilla/5.0 (X11; Linux) Gecko Firefox", "whole-user-agent-header", None),
    ("Foo/1.0 Disallow: /", None, None),
    ("a, b/1.0 ;c|", "several-agents-on-a-line", "a\nUser-agent: b/1.0\nUser-agent: c"),
    ("* Googlebot", "several-agents-on-a-line", "*\nUser-agent: Googlebot"),
]


@pytest.mark.parametrize(("value", "name", "fix"), MANY_VALUES, ids=str)
def test_one_rule_speaks_about_a_name(value: str, name: str | None, fix: str | None) -> None:
    """Each kind of odd name has one rule that reports it, once."""
    text = f"User-agent: {value}\nDisallow: /\n"
    findings = [finding for rule in AGENT_RULES for finding in found(rule, text)]
    assert [finding.name for finding in findings] == ([name] if name else [])
    assert [finding.fix is not None for finding in findings] == ([fix is not None] if name else [])
    for finding in findings:
        if finding.fix is not None:
            after = apply_edits(text.encode(), list(finding.fix.edits)).decode()
            assert after == f"User-agent: {fix}\nDisallow: /\n"


def test_a_digit_matters_for_google_only() -> None:
    """A name with a digit is information, and nothing where Google is not asked for."""
    text = b"User-agent: AI2Bot\nDisallow: /\n"
    finding, *more = shortened_agent.RULE.check(Source(text))
    assert more == []
    assert finding.severity is Severity.INFO
    assert "`AI2Bot` as `AI`" in finding.message
    assert list(shortened_agent.RULE.check(Source(text, engines=("rfc9309",)))) == []


def test_a_cut_name_is_one_finding_for_all_engines() -> None:
    """A name that all engines cut is one warning, with or without digits before the cut."""
    text = "User-agent: b2b.example_bot\nDisallow: /\n"
    findings = found(shortened_agent.RULE, text)
    assert [finding.severity for finding in findings] == [Severity.WARNING]
    assert findings[0].message == "`b2b.example_bot` is read as `b2b`, because `.` ends a name"


def test_fixes_of_names_keep_the_comment_of_the_line() -> None:
    """Only the value is replaced."""
    text = "user-agent : Foo/1.0   # soon\nDisallow: /\n"
    assert fixed(version_in_agent.RULE, text) == "user-agent : Foo   # soon\nDisallow: /\n"


# Everybody else.


def test_an_agent_is_unrestricted_only_if_all_of_its_groups_are() -> None:
    """Groups of the same agent are combined; `*` is no name."""
    text = "User-agent: a\nUser-agent: b\nUser-agent: *\nDisallow:\n\nUser-agent: a\nAllow: /x\n"
    findings = found(unrestricted_agent.RULE, text)
    assert [(finding.line, finding.message[:3]) for finding in findings] == [(2, "`b`")]


@pytest.mark.parametrize("text", ["", "Sitemap: https://x/\n", "User-agent: * all\nDisallow: /\n"])
def test_somebody_else_is_meant(text: str) -> None:
    """A file without groups, or with a star and more words, lacks nobody."""
    assert found(nobody_else.RULE, text) == []


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.name)
def test_any_bytes_are_linted(rule: LintRule) -> None:
    """NUL, bytes that are no UTF-8, odd line ends and empty lines raise nothing."""
    odd = b"\0\xff\xfe*\r\rUser-agent:\xa0\xff*\r\nUser-agent \0 x\nDisallow\n\n"
    for body in (b"", b"\xff\xfeU", odd, odd * 3 + b"User-agent: a\0b*/\nDisallow:\xff", odd[::-1]):
        for finding in rule.check(Source(body)):
            assert finding.message.isprintable()
            assert finding.code == rule.code
