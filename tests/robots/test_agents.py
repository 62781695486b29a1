"""Names of agents as seed 000 compares them: normalised, matched and ranked."""

import pytest

from manners.robots.agents import matches_user_agent, normalize_user_agent, specificity


@pytest.mark.parametrize(
    ("agent", "normalized"),
    [
        # Version suffixes
        ("FooBot/1.2", "foobot"),
        ("FooBot/", "foobot"),
        ("FooBot/1.2/3.4", "foobot"),
        ("FooBot/1.2 (+https://example.com)", "foobot"),
        # Wildcard suffixes
        ("FooBot*", "foobot"),
        ("FooBot**", "foobot"),
        ("FooBot*/1.0", "foobot"),
        ("FooBot/1.*", "foobot"),
        ("Foo*Bot", "foo"),
        # White space
        (" FooBot", "foobot"),
        ("FooBot\t", "foobot"),
        ("FooBot /1.0", "foobot"),
        (" FooBot *", "foobot"),
        ("Foo  Bot", "foo  bot"),
        # Everything else is part of the name
        ("FooBot-News", "foobot-news"),
        ("Foo_Bot", "foo_bot"),
        ("Foo.Bot", "foo.bot"),
        ("FooBot 1.0", "foobot 1.0"),
        ("FooBot;beta", "foobot;beta"),
        ("FooBot (beta)", "foobot (beta)"),
        ("4Bot2", "4bot2"),
        ("FooBöt", "fooböt"),
        # Nothing left
        ("", ""),
        ("   ", ""),
        ("*", ""),
        ("/", ""),
        ("/1.0", ""),
        ("*Bot", ""),
        (" / FooBot", ""),
    ],
)
def test_normalize_user_agent(agent: str, normalized: str) -> None:
    """A name is cut at its first `/` or `*`, trimmed and lower-cased."""
    assert normalize_user_agent(agent) == normalized


@pytest.mark.parametrize(
    "agent", ["FooBot/1.2", "bar*", " Foo Bot /1", "FooBöt", "", "*", "/1.0", "Foo.Bot"]
)
def test_normalizing_twice_changes_nothing(agent: str) -> None:
    """A normalised name is already in its final form."""
    once = normalize_user_agent(agent)
    assert normalize_user_agent(once) == once


@pytest.mark.parametrize(
    ("rule_agent", "agent"),
    [
        ("FooBot", "FooBot"),
        ("foobot", "FOOBOT"),
        ("FooBot", "FooBot/1.0"),
        ("FooBot/1.0", "FooBot"),
        ("FooBot/1.0", "FooBot/2.0"),
        ("FooBot*", "FooBot"),
        ("FooBot*", "FooBot/2.0"),
        ("FooBot", "FooBot*"),
        ("FooBot ", " foobot"),
        ("Foo Bot/1", "foo bot/2"),
        ("Foo.Bot", "foo.bot/1.0"),
        ("4Bot", "4bot"),
        # The wildcard
        ("*", "FooBot"),
        ("*", "FooBot/1.0 (+https://example.com)"),
        ("*", "4Bot"),
        ("*", "*"),
    ],
)
def test_a_line_that_matches(rule_agent: str, agent: str) -> None:
    """A line names an agent that is equal to it once both are normalised; `*` names everyone."""
    assert matches_user_agent(rule_agent, agent)


@pytest.mark.parametrize(
    ("rule_agent", "agent"),
    [
        ("FooBot", "BarBot"),
        ("FooBot", "Foo"),
        ("Foo", "FooBot"),
        ("Bot", "FooBot"),
        ("FooBot", "FooBot-News"),
        ("FooBot-News", "FooBot"),
        ("FooBot", "Foo Bot"),
        ("FooBot", "FooBot (beta)"),
        ("FooBot", "FooBot 1.0"),
        ("FooBot", "Mozilla/5.0 (compatible; FooBot/1.0)"),
        # An asterisk inside a line cuts it and stands for nothing
        ("Foo*", "FooBot"),
        ("*Bot", "FooBot"),
        ("F*t", "FooBot"),
        ("**", "FooBot"),
        ("*/1.0", "FooBot/1.0"),
        ("/1.0", "FooBot/1.0"),
        # No regular expressions
        ("Foo.ot", "FooBot"),
        ("(FooBot|BarBot)", "FooBot"),
    ],
)
def test_a_line_that_does_not_match(rule_agent: str, agent: str) -> None:
    """A part of a name, a pattern or a regular expression names nobody else."""
    assert not matches_user_agent(rule_agent, agent)


@pytest.mark.parametrize(
    ("line", "value"),
    [
        # Exact
        ("FooBot", 3),
        ("foobot", 3),
        ("Foo Bot", 3),
        ("Foo.Bot", 3),
        ("Foo-Bot_2", 3),
        ("FooBot 1.0", 3),
        ("FooBot (beta)", 3),
        ("4Bot", 3),
        # Pattern
        ("FooBot*", 2),
        ("*Bot", 2),
        ("Foo*Bot", 2),
        ("**", 2),
        ("FooBot/1.0", 2),
        ("FooBot/", 2),
        ("/", 2),
        ("FooBot/1.*", 2),
        ("*/1.0", 2),
        # Wildcard
        ("*", 1),
    ],
)
def test_specificity(line: str, value: int) -> None:
    """A line is 1 when it is `*`, 2 when it contains `*` or `/`, and 3 otherwise."""
    assert specificity(line) == value
