"""Section 11 of what was found by fuzzing: the plain engine's work grows with its input, no faster.

Work is counted, not timed: lines and calls of the engine as the interpreter reports them, the same
in every run.
"""

import sys
from collections.abc import Callable, Sequence
from types import FrameType
from typing import Any

import pytest

import manners
from manners.robots import dialects, patterns
from manners.robots.matcher import PlainMatcher
from manners.robots.policy import Robots

HERE = patterns.__name__.rpartition(".")[0]
FILE = "http://h/robots.txt"
LONG = 2_000
"""Octets of a long value."""


def work(do: Callable[[], object]) -> int:
    """Lines and calls of the engine, and what it calls directly, while something is done."""
    counted = 0

    def profile(frame: FrameType, event: str, _: Any) -> None:
        nonlocal counted
        counted += event in ("call", "c_call") and is_ours(frame)

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal counted
        counted += event == "line"
        return trace if is_ours(frame) else None

    before = sys.getprofile(), sys.gettrace()
    sys.setprofile(profile)
    sys.settrace(trace)
    try:
        do()
    finally:
        sys.settrace(before[1])
        sys.setprofile(before[0])
    return counted


def is_ours(frame: FrameType) -> bool:
    name: str = frame.f_globals.get("__name__", "")
    return name.startswith(HERE)


def everything(body: str, urls: Sequence[str], dialect: str) -> None:
    """All that is ever asked of a file."""
    robots = Robots(body.encode(), dialects.get(dialect), FILE)
    policy = robots.policy("bot")
    plain = PlainMatcher(robots, ("bot",))
    for url in urls:
        plain.allowed(url)
        policy.check(url)
        policy.matching(url)
    _ = policy.crawl_delay, policy.request_rate, policy.visit_time, policy.rules
    _ = robots.sitemaps, robots.host, [group.specificity for group in robots.groups]
    for _ in manners.lines(body, dialect, FILE):
        pass


def repeated(line: str) -> Callable[[int], tuple[str, list[str]]]:
    return lambda n: ("User-agent: *\n" + line * n, ["/x", "/ab" * 50])


def numbered(line: str) -> Callable[[int], tuple[str, list[str]]]:
    def made(n: int) -> tuple[str, list[str]]:
        return "User-agent: *\n" + "".join(line.format(i, i % 24) for i in range(n)), ["/x", "/7"]

    return made


def long_value(start: str, filler: str) -> Callable[[int], tuple[str, list[str]]]:
    """One long line, and a URL made of it."""

    def made(n: int) -> tuple[str, list[str]]:
        value = filler * (n * 40 // len(filler))
        return f"User-agent: *\n{start}{value}\n", ["/" + value]

    return made


SHAPES: dict[str, Callable[[int], tuple[str, list[str]]]] = {
    "agents": numbered("User-agent: a{0}\n"),
    "groups": numbered("User-agent: a{0}\nDisallow: /{0}\n"),
    "groups of one agent": numbered("User-agent: bot\nDisallow: /{0}\n\n"),
    "agents with delays": numbered("User-agent: bot{0}\nCrawl-delay: {0}\n"),
    "delays": numbered("Crawl-delay: {0}\n"),
    "rates": numbered("Request-rate: 1/{0}\n"),
    "hours": numbered("Visit-time: 0000-{1:02}00\n"),
    "sitemaps": numbered("Sitemap: /{0}.xml\n"),
    "unknown keys": numbered("x{0}: y\n"),
    "no keys": repeated("<a href='x'>\n"),
    "line ends": repeated("\r"),
    "the same rule": repeated("Disallow: /a\n"),
    "the same rule with stars": repeated("Disallow: /*a*b\n"),
    "rules": numbered("Disallow: /{0}\n"),
    "rules with stars": numbered("Disallow: /*-{0}*x\n"),
    "rules with many stars": numbered("Disallow: /*a*b*a*b*{0}\n"),
    "index pages": numbered("Allow: /{0}/index.html\n"),
    "absolute rules": numbered("Disallow: http://h/{0}\n"),
    "relative rules": repeated("Disallow: ../../a\n"),
    "a long value of %": long_value("Disallow: /", "%"),
    "a long value of %2f": long_value("Disallow: /", "%2f"),
    "a long value of é": long_value("Disallow: /", "é"),
    "a long value of a|": long_value("Disallow: /", "a|"),
    "a long value of stars": long_value("Disallow: /", "*"),
    "a long value of pieces": long_value("Disallow: /", "*a"),
    "a long value of ../": long_value("Disallow: ", "../"),
    "a long value of spaces": long_value("Disallow: /", " "),
    "a long value of NULs": long_value("Disallow: /", "\0"),
    "a long agent": long_value("User-agent: ", "bot/"),
    "a long key": long_value("", "x"),
    "a long delay": long_value("Crawl-delay: 1.", "1"),
}


@pytest.mark.parametrize("dialect", dialects.names())
@pytest.mark.parametrize("shape", SHAPES)
def test_twice_the_input_is_at_most_twice_the_work(shape: str, dialect: str) -> None:
    """Whatever a file is full of, and whatever is asked of it."""
    size = 60  # beyond where rules begin to be looked up instead of tried
    everything(*SHAPES[shape](2 * size), dialect)  # what is worked out once in a process
    once = work(lambda: everything(*SHAPES[shape](size), dialect))
    twice = work(lambda: everything(*SHAPES[shape](2 * size), dialect))
    assert twice <= 2.1 * once


@pytest.mark.parametrize("octets", ["é", "%", "%2f", "%41", "a|", "\x7f", " "])
@pytest.mark.parametrize("dialect", dialects.names())
def test_octets_that_are_rewritten_take_no_call_each(octets: str, dialect: str) -> None:
    """A value, or a URL, of nothing else is as much work as any other of its length."""
    used = dialects.get(dialect)

    def normalise(length: int) -> None:
        value = "/" + octets * (length // len(octets))
        used.normalise_path(value)
        used.normalise_pattern(value.encode(), FILE)

    normalise(LONG)
    assert work(lambda: normalise(LONG)) == work(lambda: normalise(10))


def tried(body: str, url: str) -> int:
    """The work of one answer."""
    matcher = PlainMatcher(Robots(body.encode(), dialects.get("rfc9309"), FILE), ("bot",))
    return work(lambda: matcher.allowed(url))


@pytest.mark.parametrize("rule", ["/*a*", "/*a*b$", "/*abcd", "/x*y*z"])
def test_a_rule_that_stands_there_many_times_is_tried_once(rule: str) -> None:
    """A file of one rule a thousand times answers as quickly as a file of that rule."""
    group = "User-agent: *\n"
    once, often = (tried(group + f"Disallow: {rule}\n" * n, "/x/q") for n in (1, 1_000))
    assert often == once


@pytest.mark.parametrize("size", [1, 2, 3, 4, 9])
def test_rules_that_need_what_a_path_lacks_are_not_tried(size: int) -> None:
    """However short the pieces between their stars are."""

    def rule(number: int) -> str:
        digits = (number % 10, number // 10 % 10, number // 100)
        return "Disallow: /" + "".join(f"*{str(digit) * size}" for digit in digits) + "\n"

    def many(n: int) -> str:
        return "User-agent: *\n" + "".join(map(rule, range(n)))

    few, more = (tried(many(n), "/some/path.html") for n in (100, 1_000))
    assert more == few


def test_what_a_file_says_about_when_is_read_once() -> None:
    """A client asks for it with every page."""
    lines = "".join(
        f"Request-rate: 1/{n + 1}\nVisit-time: 0000-{n % 24:02}30\n" for n in range(500)
    )
    policy = manners.parse("User-agent: *\n" + lines).policy("bot")

    def ask() -> None:
        _ = policy.request_rate, policy.visit_time, policy.crawl_delay

    assert work(ask) > 1_000
    assert work(ask) < 100
