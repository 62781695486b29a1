"""The product token of a User-Agent header, by which rfc9309 knows an agent."""

import re
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import manners

TABLE = tomllib.loads(Path(__file__).with_name("user_agents.toml").read_text("utf-8"))
HEADERS: list[tuple[str, str]] = [(entry["header"], entry["token"]) for entry in TABLE["agent"]]

FILE = """\
User-agent: FooBot
User-agent: Mozilla
Disallow: /named

User-agent: *
Disallow: /anyone
"""


def test_the_table_is_large_and_has_no_header_twice() -> None:
    """The table of published headers has at least fifty, each once."""
    headers = [header for header, _ in HEADERS]
    assert len(headers) >= 50
    assert len(set(headers)) == len(headers)


@pytest.mark.parametrize(("header", "token"), HEADERS)
def test_published_headers(header: str, token: str) -> None:
    """Each published header gives the token that the rules read from it."""
    assert manners.product_token(header) == token


@pytest.mark.parametrize("token", sorted({token for _, token in HEADERS}))
def test_a_token_is_its_own_token(token: str) -> None:
    """A header that is nothing but a token is that token."""
    assert manners.product_token(token) == token


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("FooBot", "FooBot"),
        ("FooBot/1.0", "FooBot"),
        ("FooBot 1.0", "FooBot"),
        ("FooBot2/1.0", "FooBot2"),
        ("4Bot", "4Bot"),
        ("Foo_Bot-News/1", "Foo_Bot-News"),
        ("Foo.Bot/1.0", "Foo"),
        ("FooBotü/1.0", "FooBot"),
        ("FooBot (compatible; BarBot/1.0)", "FooBot"),
        ("FooBot/1.0 Mozilla/5.0 (compatible; BarBot/1.0)", "FooBot"),
        ("MozillaBot/5.0 (compatible; BarBot/1.0)", "MozillaBot"),
        ("Mozilla", "Mozilla"),
    ],
)
def test_rule_1_the_header_starts_with_its_token(header: str, token: str) -> None:
    """A header that does not start with `Mozilla/` gives its leading name."""
    assert manners.product_token(header) == token


@pytest.mark.parametrize("header", ["(FooBot)", "/1.0", "!FooBot", "üBot", "+http://example.com"])
def test_rule_1_may_find_nothing(header: str) -> None:
    """A header that starts with another character has an empty token."""
    assert manners.product_token(header) == ""


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Mozilla/5.0 (compatible; FooBot/1.0)", "FooBot"),
        ("Mozilla/5.0 (compatible; FooBot)", "FooBot"),
        ("Mozilla/5.0 (compatible; FooBot 1.0)", "FooBot"),
        ("Mozilla/5.0 (compatible; Foo.Bot/1.0)", "Foo"),
        ("Mozilla/5.0 (compatible; Monitor/1.0)", "Monitor"),
        ("Mozilla/5.0 (X11; compatible; Monitor/1.0; +https://example.com)", "Monitor"),
        ("Mozilla/5.0 (X11) Gecko/1; compatible; Monitor/1.0", "Monitor"),
        ("Mozilla/5.0 (compatible; FooBot/1.0) (compatible; BarBot/1.0)", "BarBot"),
        ("Mozilla/4.0 (compatible; MSIE 7.0; compatible; Monitor/1.0)", "Monitor"),
        ("Mozilla/5.0 (FooBot/1.0) (compatible; Monitor/1.0)", "Monitor"),
    ],
)
def test_rule_2_the_last_compatible_name(header: str, token: str) -> None:
    """The last `compatible; NAME` decides, whatever the name and wherever it stands."""
    assert manners.product_token(header) == token


@pytest.mark.parametrize(
    ("header", "token"),
    [
        ("Mozilla/5.0 (FooBot/1.0)", "FooBot"),
        ("Mozilla/5.0 (FOOBOT/1.0)", "FOOBOT"),
        ("Mozilla/5.0 (X11; FooCrawler/1.0)", "FooCrawler"),
        ("Mozilla/5.0 (X11) Gecko/1 (MySpider-2/1.0; linux)", "MySpider-2"),
        ("Mozilla/5.0 (Slurper/1.0)", "Slurper"),
        ("Mozilla/5.0 (FooBot/1.0; BarBot/2.0)", "FooBot"),
        ("Mozilla/5.0 (X11; Trident/7.0; FooBot/1.0)", "FooBot"),
        ("Mozilla/5.0 (Monitor/1.0; +http://example.com)", "Monitor"),
        ("Mozilla/5.0 (Monitor/1.0; +https://example.com)", "Monitor"),
        ("Mozilla/5.0 (X11; Linux) Gecko/1 (Monitor/2;+https://example.com)", "Monitor"),
    ],
)
def test_rule_3_a_comment_names_a_robot(header: str, token: str) -> None:
    """The first comment item that is named like a robot or followed by an address decides."""
    assert manners.product_token(header) == token


@pytest.mark.parametrize(
    "header",
    [
        "Mozilla/5.0",
        "Mozilla/",
        "Mozilla/5.0 ()",
        "Mozilla/5.0 (compatible)",
        "Mozilla/5.0 (compatible;)",
        "Mozilla/5.0 (compatible; )",
        "Mozilla/5.0 (FooBot)",  # no version and no address
        "Mozilla/5.0 FooBot/1.0",  # in no comment
        "Mozilla/5.0 (X11; CUBOT Build/O11019)",  # the item is more than a name
        "Mozilla/5.0 (X11; +https://example.com)",  # an address, but no version
        "Mozilla/5.0 (Site Monitor; +https://example.com)",
        "Mozilla/5.0 (KHTML, like Gecko; +https://example.com)",
        "Mozilla/5.0 (Monitor/1.0; https://example.com)",
        "Mozilla/5.0 (Monitor/1.0; Linux x86_64; +https://example.com)",  # not directly followed
        "Mozilla/5.0 (+https://example.com)",
    ],
)
def test_rule_4_else_mozilla(header: str) -> None:
    """A header that starts with `Mozilla/` and names no robot is a browser's."""
    assert manners.product_token(header) == "Mozilla"


@pytest.mark.parametrize("agent", ["*", ""])
def test_asterisk_and_nothing_select_only_the_wildcard(agent: str) -> None:
    """An agent of `*`, or an empty one, is spoken to by `*` and by no named group."""
    robots = manners.parse(FILE)
    assert robots.allowed("/named", agent=agent)
    verdict = robots.check("/anyone", agent=agent)
    assert (verdict.allowed, verdict.agent, verdict.specificity) == (False, "*", 1)


@pytest.mark.parametrize("agent", ["(FooBot)", "/1.0", "üBot", "***"])
def test_an_agent_without_a_token_selects_only_the_wildcard(agent: str) -> None:
    """An agent with an empty token is not named even by a line that is cut to nothing."""
    robots = manners.parse("User-agent: /1.0\nDisallow: /named\n\nUser-agent: *\nDisallow: /any\n")
    assert robots.allowed("/named", agent=agent)
    assert not robots.allowed("/any", agent=agent)


@pytest.mark.parametrize(("header", "token"), HEADERS)
def test_a_file_speaks_to_the_token_of_a_header(header: str, token: str) -> None:
    """A group that names the token speaks to the header."""
    robots = manners.parse(f"User-agent: {token}\nDisallow: /named\n\nUser-agent: *\nDisallow: /\n")
    assert not robots.allowed("/named", agent=header)
    assert robots.allowed("/anyone", agent=header)


header_pieces = st.sampled_from(
    ["Mozilla/5.0 ", "compatible;", "; ", "(", ")", "Bot", "/1", "+http", "ü", "*", " "]
)
header_text = st.lists(
    header_pieces | st.text(st.characters(exclude_categories=()), max_size=3), max_size=12
).map("".join)
"""Strings of the pieces that have a meaning in a header, and of anything Python can hold."""


@given(header_text)
def test_any_text_has_a_token(header: str) -> None:
    """Every string gives a token of the permitted characters, or an empty one, and never raises."""
    token = manners.product_token(header)
    assert token in {"", "*"} or re.fullmatch(r"[A-Za-z0-9_-]+", token)
    assert token in header
