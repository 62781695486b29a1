"""Every difference between the default dialect and Google's answers has a name and a reason."""

import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import pytest

import manners
from manners import Policy, Verdict
from manners.robots.agents import product_token
from manners.urls import match_path
from tests.conformance.test_tables import bodies, load
from tests.shared import (
    SHARED,
    agents,
    body,
    case_files,
    cases,
    corpus,
    corpus_verdicts,
    google_answer,
)

HERE = Path(__file__).parent
DEVIATIONS = tomllib.loads((HERE / "deviations.toml").read_text("utf-8"))["deviation"]
NAMES = [each["name"] for each in DEVIATIONS]


@dataclass(frozen=True)
class Difference:
    """A question to which the two dialects have two answers."""

    name: str
    robots: bytes
    agent: str | list[str]
    url: str

    @cached_property
    def rfc(self) -> Policy:
        return manners.parse(self.robots).policy(self.agent)

    @cached_property
    def google(self) -> Policy:
        return manners.parse(self.robots, dialect="google").policy(self.agent)

    @cached_property
    def googles(self) -> Verdict:
        return self.google.check(self.url)

    @cached_property
    def same_bytes(self) -> bool:
        return self.rfc.robots.body == self.google.robots.body

    @cached_property
    def same_lines(self) -> bool:
        """The lines that count are the same lines, read as the same directives."""
        return self.same_bytes and _directives(self.rfc) == _directives(self.google)

    @cached_property
    def same_groups(self) -> bool:
        """The same lines decide for this agent."""
        mine, theirs = self.rfc.choice.groups, self.google.choice.groups
        return [group.line for group in mine] == [group.line for group in theirs]

    @cached_property
    def is_robots_txt(self) -> bool:
        return match_path(self.url).partition("?")[0] == "/robots.txt"

    @cached_property
    def agent_is_a_token(self) -> bool:
        names = [self.agent] if isinstance(self.agent, str) else self.agent
        return all(product_token(name) == name for name in names)

    @cached_property
    def reaches_rules(self) -> bool:
        """Both dialects look for this path in the same groups of the same lines."""
        return not self.is_robots_txt and self.same_lines and self.same_groups


def _directives(policy: Policy) -> list[tuple[int, str]]:
    lines = manners.lines(policy.robots.body, policy.robots.dialect)
    counting = ("user-agent", "allow", "disallow")
    return [(line.number, line.kind) for line in lines if line.kind in counting]


def _is_utf16(case: Difference) -> bool:
    return case.robots.startswith((b"\xff\xfe", b"\xfe\xff"))


def _agents_differ(case: Difference) -> bool:
    return not case.is_robots_txt and case.same_lines and not case.same_groups


PREDICATES: dict[str, Callable[[Difference], bool]] = {
    "robots_txt_itself": lambda case: case.is_robots_txt,
    "utf16": lambda case: not case.is_robots_txt and _is_utf16(case),
    "size_limit": lambda case: not case.is_robots_txt and case.rfc.robots.truncated,
    "key_by_prefix": lambda case: (
        not case.is_robots_txt and case.same_bytes and not case.same_lines
    ),
    "agent_is_a_header": lambda case: _agents_differ(case) and not case.agent_is_a_token,
    "agent_with_digits": lambda case: _agents_differ(case) and case.agent_is_a_token,
    "empty_rule": lambda case: (
        case.reaches_rules and case.googles.rule is not None and case.googles.rule.pattern == ""
    ),
    "index_html": lambda case: (
        case.reaches_rules
        and case.googles.rule is not None
        and case.googles.rule not in case.google.rules
    ),
    "percent_encoding": lambda case: (
        case.reaches_rules
        and (case.googles.rule is None or case.googles.rule in case.google.rules)
        and (case.googles.rule is None or case.googles.rule.pattern != "")
        and (
            case.rfc.check(case.url).path != case.googles.path
            or [rule.pattern for rule in case.rfc.rules]
            != [rule.pattern for rule in case.google.rules if rule.pattern]
        )
    ),
}


def questions() -> Iterator[tuple[Difference, tuple[bool, int]]]:
    """Everything Google's answer is known to: our own table, and the shared cases if present."""
    for case in load("google"):
        question = Difference(
            case["section"], to_bytes(bodies(case)[-1]), case.get("agent", "FooBot"), case["url"]
        )
        yield question, (case["allowed"], case["line"])
    if not SHARED.is_dir():
        return
    for name in case_files():
        for case in cases(name):
            if "google_line" in case:
                question = Difference(case["id"], body(case), agents(case), case["url"])
                yield question, google_answer(case)
    for case in corpus_verdicts():
        question = Difference(case["doc"], corpus()[case["doc"]], case["agent"], case["url"])
        yield question, (case["allowed"], case["line"])


def to_bytes(robots: str | bytes) -> bytes:
    return robots.encode() if isinstance(robots, str) else robots


@pytest.fixture(scope="module")
def differences() -> list[Difference]:
    """The questions to which the default dialect has another answer than Google."""
    found = []
    parsed: dict[bytes, manners.Robots] = {}
    for question, answer in questions():
        robots = parsed.setdefault(question.robots, manners.parse(question.robots))
        verdict = robots.check(question.url, question.agent)
        if (verdict.allowed, verdict.line) != answer:
            found.append(question)
    return found


def test_every_difference_has_exactly_one_name(differences: list[Difference]) -> None:
    """No disagreement with Google is unexplained, and none is explained twice."""
    for case in differences:
        names = [name for name, recognises in PREDICATES.items() if recognises(case)]
        assert len(names) == 1, (case.name, case.agent, case.url, names)


def test_every_name_is_needed(differences: list[Difference]) -> None:
    """Each listed deviation occurs, and no more than twelve are listed."""
    seen = Counter(
        name for case in differences for name, recognises in PREDICATES.items() if recognises(case)
    )
    assert set(seen) == set(NAMES) == set(PREDICATES)
    assert len(NAMES) <= 12
    assert all(each["reason"] for each in DEVIATIONS)
