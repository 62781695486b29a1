"""Directives beyond the rules: their values, whose they are, and which of several counts."""

from datetime import time

import pytest

import manners
from manners.robots.directives import RequestRate, VisitTime, request_rate, seconds, visit_time


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("10", 10.0),
        ("0", 0.0),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("-1", None),
        ("", None),
        ("1.2.3", None),
        ("10s", None),
        ("nan", None),
        ("inf", None),
        ("1e3", 1000.0),
        ("+5", 5.0),
        ("1e999", None),
        ("1_0", None),
        ("٣", None),
        ("9" * 400, None),
        ("9" * 5_000, None),
    ],
)
def test_a_delay_is_a_finite_number(text: str, value: float | None) -> None:
    """Seconds, with fractions, zero or more; anything else is no delay."""
    assert seconds(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1/10", RequestRate(1, 10)),
        ("1/10s", RequestRate(1, 10)),
        ("100 / 15m", RequestRate(100, 900)),
        ("400/1H", RequestRate(400, 3600)),
        ("9000/1d", RequestRate(9000, 86400)),
        ("1/10 0600-0845", RequestRate(1, 10, time(6), time(8, 45))),
        ("0/10", None),
        ("1/0", None),
        ("1/10 2500-0845", None),
        ("whale/banana", None),
        ("10", None),
    ],
)
def test_a_rate_is_requests_in_a_time(text: str, value: RequestRate | None) -> None:
    """Requests over seconds, minutes, hours or days, perhaps within hours of the day."""
    assert request_rate(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0600-0845", VisitTime(time(6), time(8, 45))),
        ("0200 0630", VisitTime(time(2), time(6, 30))),
        ("06:00-08:45", VisitTime(time(6), time(8, 45))),
        ("2200-0400", VisitTime(time(22), time(4))),
        ("2400-0400", None),
        ("0600", None),
    ],
)
def test_visiting_hours_are_a_window(text: str, value: VisitTime | None) -> None:
    """Two times of the day; the second may be past midnight."""
    assert visit_time(text) == value


FILE = """\
User-agent: a
Crawl-delay: 1
User-agent: b
Disallow: /both
Crawl-delay: 3
Request-rate: 1/5
Request-rate: 1/20
Visit-time: 0600-1800
Visit-time: 0900-1000
User-agent: *
Crawl-delay: 7
Host: old.example
Sitemap: /one.xml
Clean-param: s /forum
Content-Signal: ai-train=no
X-Anything: kept
Host: new.example
"""


def test_a_delay_belongs_to_the_agents_directly_above() -> None:
    """A timed directive does not split its group for rules, and is not shared with it."""
    robots = manners.parse(FILE)
    assert [robots.policy(name).crawl_delay for name in ("a", "b", "c")] == [1.0, 3.0, 7.0]
    assert not robots.allowed("/both", agent="a")
    assert not robots.allowed("/both", agent="b")


def test_the_slowest_of_several_counts() -> None:
    """The longest interval and the shortest window."""
    policy = manners.parse(FILE).policy("b")
    assert policy.request_rate == RequestRate(1, 20)
    assert policy.visit_time == VisitTime(time(9), time(10))
    assert manners.parse("User-agent: x\nCrawl-delay: 1\nUser-agent: x\nCrawl-delay: 5").policy(
        "x"
    ).crawl_delay == pytest.approx(5.0)


def test_what_is_not_understood_is_kept() -> None:
    """Every directive is exposed with its text and line, known or not."""
    robots = manners.parse(FILE, url="https://example.com/robots.txt")
    kept = {each.name: (each.value, each.line) for each in robots.directives}
    assert kept["clean-param"] == ("s /forum", 14)
    assert kept["content-signal"] == ("ai-train=no", 15)
    assert kept["x-anything"] == ("kept", 16)
    assert robots.host == "new.example"
    assert [(each.url, each.line) for each in robots.sitemaps] == [
        ("https://example.com/one.xml", 13)
    ]
    assert manners.parse(FILE).sitemaps[0].url == "/one.xml"


def test_group_directives_are_found_in_their_group() -> None:
    """What is meant for a group's agents stands in the group; file-wide lines do not."""
    group = manners.parse(FILE).groups[1]
    assert [each.name for each in group.directives] == [
        "crawl-delay",
        "content-signal",
        "x-anything",
    ]
    assert group.directives[0].agents == ("*",)


LICENSED = """License: https://a.example/all
License: https://a.example/also

User-agent: a
License: https://a.example/a
Disallow: /x

User-agent: b
Disallow: /

User-agent: a
License: https://a.example/a2
Disallow: /y
"""


def test_a_licence_belongs_to_its_group_or_else_to_the_file() -> None:
    """RSL 1.0 section 4.4: a group's own replace those above the first User-agent line."""
    robots = manners.parse(LICENSED)
    own = ("https://a.example/a", "https://a.example/a2")
    assert robots.policy("a").licences == own
    for name in ("b", "c", "*"):
        assert robots.policy(name).licences == ("https://a.example/all", "https://a.example/also")
    assert [line.name for line in robots.groups[0].directives] == ["license"]
    assert [line.line for line in robots.directives] == [1, 2, 5, 12]
    assert manners.parse("Disallow: /\nLicense: https://a.example/l").policy("a").licences == (
        "https://a.example/l",
    )
    assert manners.parse("").policy("a").licences == ()


@pytest.mark.parametrize("line", ["License: x", "DisallowAITraining: /", "AllowAITraining: /"])
def test_usage_lines_end_no_group(line: str) -> None:
    """RFC 9309 section 2.2.4: other records do not change what is allowed to whom."""
    robots = manners.parse(f"User-agent: a\n{line}\nUser-agent: b\nDisallow: /x")
    assert not robots.allowed("/x", "a")
    assert not robots.allowed("/x", "b")
    assert robots.allowed("/y", "a")
