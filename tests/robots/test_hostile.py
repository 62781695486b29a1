"""Input made to break or stall the engine gets an answer like any other.

None of these asserts a time: a file that took seconds when it was found stands here so that it is
noticed if it does so again.
"""

from pathlib import Path
from typing import Any

import pytest

import manners
from manners import urls
from manners.robots import dialects
from manners.robots.directives import request_rate


def test_spaces_in_a_rate_are_read_once() -> None:
    """A value of spaces is refused after one look at it."""
    assert request_rate("1/1" + " " * 16_000 + "x") is None
    assert request_rate("1/1 " + " " * 16_000 + "0600-0700") is not None


def test_a_long_host_is_refused_at_once() -> None:
    """The message about a URL costs no more than the URL is long."""
    with pytest.raises(manners.InvalidURL, match="too long"):
        urls.origin("http://" + "a" * 200_000)


def test_many_agents_and_delays_are_told_apart_by_runs() -> None:
    """Directives below the same agents share one answer, however many there are."""
    agents = "".join(f"User-agent: a{n}\n" for n in range(6_000))
    delays = "".join(f"Crawl-delay: {n}\n" for n in range(3_000))
    policy = manners.parse(agents + delays + "Disallow: /x").policy("a5999")
    assert policy.crawl_delay == pytest.approx(2999.0)
    assert not policy.allowed("/x")
    assert policy.check("/x").crawl_delay == pytest.approx(2999.0)


def test_one_long_piece_leaves_short_ones_short() -> None:
    """A rule with a long piece does not make its neighbours slower."""
    rules = "".join(f"Disallow: /*{n:x}-\n" for n in range(5_000))
    policy = manners.parse(f"User-agent: *\n{rules}Disallow: /*{'a' * 200}").policy("a")
    assert policy.allowed_many(["/" + "b" * 100] * 20) == [True] * 20
    assert not policy.allowed("/b" + "a" * 200)


def test_grams_cannot_be_chosen_to_collide() -> None:
    """Thousands of rules whose grams differ in one byte only are found like any others."""
    rules = "".join(
        f"Disallow: /*{a}{b}{c}z\n" for a in "abcdefgh" for b in "ijklmnop" * 8 for c in "qr"
    )
    policy = manners.parse("User-agent: *\n" + rules).policy("a")
    assert policy.allowed_many(["/" + "aiq" * 50] * 20) == [True] * 20
    assert policy.allowed_many(["/" + "aiq" * 50 + "z"] * 20) == [False] * 20


def test_more_agents_than_are_kept_get_their_own_answers() -> None:
    """A file keeps the policies of some agents; the others' are made again."""
    body = "".join(f"User-agent: a{n}\nDisallow: /{n}\n" for n in range(200))
    robots = manners.parse(body)
    for _ in range(2):
        for n in range(200):
            assert not robots.allowed(f"/{n}", agent=f"a{n}")


def test_a_policy_cannot_be_made_by_halves() -> None:
    """A policy without a file is refused, not asked."""
    with pytest.raises((TypeError, AttributeError)):
        manners.Policy.__new__(manners.Policy).allowed("/x")


def test_an_agent_is_text() -> None:
    """Bytes and numbers are refused by name."""
    robots = manners.parse("User-agent: *")
    for agent in (b"Bot", [1], ["a", b"b"], None, 3):
        with pytest.raises(TypeError, match="agent is a str"):
            robots.policy(agent)  # type: ignore[arg-type]


@pytest.mark.parametrize("body", [None, 3, Path("robots.txt")], ids=repr)
def test_a_robots_txt_is_its_content(body: Any) -> None:
    """Anything else is refused by name, such as the path of a file."""
    with pytest.raises(TypeError, match=f"bytes or str, not {type(body).__name__}"):
        manners.parse(body)


@pytest.mark.parametrize(
    ("field", "value"),
    [("rank", "longst"), ("record_end", "never"), ("keys", ""), ("rules", ["allow"])],
)
def test_a_dialect_is_checked_when_it_is_made(field: str, value: object) -> None:
    """A value that means nothing is named, with those that do."""
    with pytest.raises(ValueError, match=f"a dialect's {field}"):
        dialects.get("rfc9309").but(name="mine", **{field: value})


def test_a_dialect_of_ones_own_gets_whole_groups() -> None:
    """A user's own choice may depend on rules as well as on names."""

    def most_rules(groups, agents, dialect):  # type: ignore[no-untyped-def]
        return dialects.get("rfc9309").select(
            [max(groups, key=lambda g: len(g.rules))], agents, dialect
        )

    mine = dialects.get("rfc9309").but(name="mine", select=most_rules)
    body = "User-agent: *\nAllow: /\n\nUser-agent: *\nDisallow: /a\nDisallow: /b"
    assert not manners.parse(body, dialect=mine).allowed("/a", agent="x")


def test_a_line_cut_inside_a_character_is_only_too_long() -> None:
    """Where reading stops is our doing, not the file's."""
    (line,) = manners.lines("X: /x" + "é" * 9_000)
    assert line.problems == ("line-too-long",)


def test_credentials_stay_out_of_verdicts_and_errors() -> None:
    """A verdict can be stored and printed, so it has no password in it."""
    verdict = manners.parse("").check("https://user:secret@example.com/a@b", agent="x")
    assert verdict.url == "https://…@example.com/a@b"
    for url in ("/@someone", "/a:b@c", "example.com/a@b", "https://example.com/@someone"):
        assert manners.parse("").check(url, agent="x").url == url
    for url in ("ftp://u:secret@h/", "//u:secret@h/", "https:u:secret@h/", "http://u:secret@h:x/"):
        with pytest.raises(manners.InvalidURL) as refused:
            urls.origin(url)
        assert "secret" not in str(refused.value)


@pytest.mark.parametrize("url", ["ftp://example.com/x", "mailto:someone", "http://other.example/x"])
def test_robotrules_says_nothing_about_what_is_not_its_servers(url: str) -> None:
    """WWW::RobotRules answers for http and https URLs of the file's own server."""
    body = "User-agent: *\nCrawl-delay: 3\nDisallow: /"
    robots = manners.parse(body, dialect="robotrules", url="http://example.com/robots.txt")
    verdict = robots.check(url, agent="x")
    assert robots.allowed(url, agent="x")
    assert (verdict.allowed, verdict.agent, verdict.crawl_delay) == (True, "", None)
