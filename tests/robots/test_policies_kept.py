"""A parsed file keeps the policies of the last agents, and neither keeps the other in memory."""

import gc
import weakref

import pytest

import manners
from manners import Policy, Robots

BODY = "User-agent: a\nDisallow: /a\n\nUser-agent: *\nDisallow: /b\nCrawl-delay: 2\n"


def parsed() -> Robots:
    return manners.parse(BODY, "rfc9309", "https://example.com/robots.txt", max_bytes=50)


def test_an_agent_has_one_policy() -> None:
    """A policy is made once, whoever is asked for meanwhile, and however the name is passed."""
    robots = parsed()
    first = robots.policy("a")
    assert robots.policy("a") is robots.policy(["a"]) is robots.policy(("a",)) is first
    other, both = robots.policy("b"), robots.policy(["a", "b"])
    assert other is not first
    assert [robots.policy("a"), robots.policy("b"), robots.policy(("a", "b"))] == [
        first,
        other,
        both,
    ]
    assert robots.policy("a") is first
    assert robots.policy("b") is other
    assert robots.policy(["a", "b"]) is both


def test_a_name_of_another_class_is_a_name() -> None:
    """A subclass of str is an agent; what is no str is none."""

    class Name(str):
        __slots__ = ()

    robots = parsed()
    assert robots.policy(Name("a")).agents == ("a",)
    assert robots.policy("a") is robots.policy(Name("a"))
    for wrong in (b"a", 3, None, ["a", 3]):
        with pytest.raises(TypeError, match="an agent is a str or a sequence of str"):
            robots.policy(wrong)  # type: ignore[arg-type]


def test_only_the_last_agents_are_kept() -> None:
    """However many agents ask, a file keeps 64 policies."""
    robots = parsed()
    policies = [robots.policy(f"agent-{number}") for number in range(100)]
    assert robots.policy("agent-99") is policies[99]
    assert robots.policy("agent-50") is policies[50]
    assert robots.policy("agent-0") is not policies[0]
    assert robots.policy("agent-0") == policies[0]


def test_a_policy_has_its_file() -> None:
    """As long as somebody has the file, a policy names that one, and else one that is equal."""
    robots = parsed()
    policy = robots.policy("a")
    assert policy.robots is robots
    del robots
    assert policy.robots == parsed()
    assert policy.robots is policy.robots
    assert policy.robots.truncated
    assert policy == parsed().policy("a")
    assert [rule.line for rule in policy.rules] == [2]
    assert policy.check("https://example.com/a").line == 2


@pytest.mark.skipif(
    manners.KERNEL == "python", reason="the plain engine leaves it to the collector"
)
def test_memory_is_freed_at_once() -> None:
    """A file and its policies are gone with the last reference, without the garbage collector."""
    gc.disable()
    try:
        robots = parsed()
        assert not robots.allowed("/a/b", agent="a")
        assert robots.check("/b", agent="b").crawl_delay is None
        gone = weakref.ref(robots)
        del robots
        assert gone() is None
    finally:
        gc.enable()


def test_a_policy_is_made_of_a_file() -> None:
    """What is no parsed file makes no policy."""
    for wrong in (None, BODY, 3):
        with pytest.raises((TypeError, AttributeError)):
            Policy(wrong, ("a",))  # type: ignore[arg-type]
