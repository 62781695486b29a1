"""Matching and normalisation, against oracles that are too simple to be wrong."""

import random
import string
from functools import cache

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import manners
from manners import Rule
from manners._text import to_bytes
from manners.robots import dialects, patterns
from manners.robots.patterns import RuleSet
from tests.sizes import examples

NASTY = "/ab*$%"
RFC = dialects.get("rfc9309")


def matches(pattern: str, path: str) -> bool:
    """The oracle: RFC 9309 section 2.2.3, letter by letter."""

    @cache
    def from_here(p: int, t: int) -> bool:
        if p == len(pattern):
            return True
        if pattern[p] == "$" and p == len(pattern) - 1:
            return t == len(path)
        if pattern[p] == "*":
            return from_here(p + 1, t) or (t < len(path) and from_here(p, t + 1))
        return t < len(path) and pattern[p] == path[t] and from_here(p + 1, t + 1)

    return from_here(0, 0)


def decide(rules: list[Rule], path: str) -> Rule | None:
    """The oracle: the longest match, Allow on a tie, then the earlier line."""
    found = [rule for rule in rules if matches(rule.pattern, path)]
    return max(found, key=lambda rule: (len(rule.pattern), rule.allow, -rule.line), default=None)


def best(rules: list[Rule], path: str) -> Rule | None:
    rule_set = RuleSet(rules, RFC)
    return rule_set.ranked[rule_set.best(path)]


def rule_lists(alphabet: str, most: int) -> st.SearchStrategy[list[Rule]]:
    pair = st.tuples(st.booleans(), st.text(alphabet, max_size=8))
    return st.lists(pair, max_size=most).map(
        lambda pairs: [Rule(allow, "/" + text, n) for n, (allow, text) in enumerate(pairs, 1)]
    )


@given(rule_lists("/ab*$", 12), st.text("/ab$", max_size=12))
@example([Rule(False, "/abc", 1), Rule(True, "/a***", 2)], "bc")
@example([Rule(False, "/*a*ab$", 1)], "aab")
@settings(max_examples=examples(1_000))
def test_the_matcher_agrees_with_the_oracle(rules: list[Rule], rest: str) -> None:
    """Whatever the rules, the one that decides is the one the RFC names."""
    assert best(rules, "/" + rest) == decide(rules, "/" + rest)


@pytest.mark.parametrize("count", [5, 60, 400])
def test_large_rule_sets_agree_with_the_oracle(count: int) -> None:
    """The index for many wildcard rules changes no answer."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")
    draw = random.Random(seed)
    for _ in range(20):
        rules = [
            Rule(
                draw.random() < 0.4, "/" + "".join(draw.choices("ab/*c$", k=draw.randint(0, 9))), n
            )
            for n in range(1, count + 1)
        ]
        for _ in range(20):
            path = "/" + "".join(draw.choices("abc/", k=draw.randint(0, 20)))
            assert best(rules, path) == decide(rules, path), (seed, path)


@given(st.text(NASTY, max_size=12))
@settings(max_examples=examples(500))
def test_one_pattern_agrees_with_the_oracle(pattern: str) -> None:
    """A rule alone matches what its pattern says, also in other dialects with wildcards."""
    for path in ("/", "/a", "/ab", "/a$", "/aab/b", "/%", "/b*a"):
        for name in ("rfc9309", "google", "scanner"):
            rule_set = RuleSet([Rule(False, pattern, 1)], dialects.get(name))
            assert bool(rule_set.best(path)) == matches(pattern, path), (name, path)


anything = st.text(st.characters(exclude_characters="#"), max_size=40)


@given(anything)
@example("/%%34%31")
@example("/\udcff\ud800")
@example("/a$b$")
@pytest.mark.parametrize("name", dialects.names())
def test_normalisation_is_idempotent(name: str, text: str) -> None:
    """What is normalised stays as it is, on both sides."""
    dialect = dialects.get(name)
    path = dialect.normalise_path("/" + text)
    assert dialect.normalise_path(path.encode("latin-1").decode("utf-8", "surrogateescape")) == path
    pattern = dialect.normalise_pattern(to_bytes("/" + text), None)
    if pattern is not None:
        assert dialect.normalise_pattern(pattern, None) == pattern


@given(anything)
@pytest.mark.parametrize("name", ["rfc9309", "specificity", "audit"])
def test_a_path_without_operators_matches_the_rule_made_of_it(name: str, text: str) -> None:
    """Both sides are normalised alike, so a rule covers the path it quotes."""
    text = text.translate({ord(c): None for c in "*$?;\r\n\0"}).strip()
    robots = manners.parse("User-agent: *\nDisallow: /x" + text, dialect=name)
    assert not robots.allowed("http://example.com/x" + text + "/more", agent="a")


@pytest.mark.parametrize(
    ("written", "pattern"),
    [
        ("/a-._~", "/a-._~"),
        ("/%61%2D%2E%5F%7E", "/a-._~"),
        ("/a%2fb%3a", "/a%2Fb%3A"),
        ("/100%", "/100%25"),
        ("/%zz%4", "/%25zz%254"),
        ("/é", "/%C3%A9"),
        ('/ "<>\\^`{|}', "/%20%22%3C%3E%5C%5E%60%7B%7C%7D".replace("%20", "%20")),
        ("/a\x01\x7f", "/a%01%7F"),
        ("/:?[]@!&'()+,;=", "/:?[]@!&'()+,;="),
        ("/a$b*$", "/a%24b*$"),
    ],
)
def test_rfc9309_2_2_2_patterns_are_made_comparable(written: str, pattern: str) -> None:
    """RFC 9309 sections 2.2.2 and 2.2.3 on the side of the rule."""
    assert patterns.rfc_pattern(written.encode(), None) == pattern.encode()


def test_a_byte_that_is_not_utf8_is_that_byte() -> None:
    """A surrogate stands for its byte, so a raw byte in the file and in the URL are one."""
    robots = manners.parse(b"User-agent: *\nDisallow: /\xff/")
    assert not robots.allowed("http://example.com/\udcff/", agent="a")
    assert robots.check("http://example.com/\ud800", agent="a").path == "/%ED%A0%80"


HOSTILE = {
    "many stars": (["/*a*a*a*a*a*a*a*a*b$"], "/" + "a" * 2_000),
    "short pieces": (
        [f"/{'*' + letter}" * 1 for letter in string.ascii_lowercase],
        "/" + "z" * 2_000,
    ),
    "long repeats": (["/*" + "a" * (850 + n) for n in range(99)], "/" + ("a" * 899 + "b") * 3),
    "nested prefixes": (["/" + "a" * n for n in range(900)], "/" + "a" * 2_000),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_patterns_get_the_right_answer(name: str) -> None:
    """Patterns made to be slow are decided like any other; `make bench` shows how fast."""
    written, path = HOSTILE[name]
    rules = [Rule(False, pattern, n) for n, pattern in enumerate(written, 1)]
    found = best(rules, path)
    expected = [rule for rule in rules if _greedy(rule.pattern, path)]
    longest = max(expected, key=lambda rule: (len(rule.pattern), -rule.line), default=None)
    assert found == longest


def _greedy(pattern: str, path: str) -> bool:
    """Leftmost pieces by `str.index`, for patterns too long for the oracle's recursion."""
    anchored = pattern.endswith("$")
    head, *pieces = pattern.removesuffix("$").split("*")
    if not path.startswith(head):
        return False
    rest = path[len(head) :]
    if anchored:
        if not rest.endswith(pieces[-1]):
            return False
        rest = rest[: len(rest) - len(pieces.pop())]
    for piece in pieces:
        if piece not in rest:
            return False
        rest = rest.split(piece, 1)[1]
    return True


def test_every_matching_rule_is_listed_once_best_first() -> None:
    """`matching` starts with the deciding rule, and has only rules that match."""
    robots = manners.parse(
        "User-agent: *\nDisallow: /d/\nAllow: /d/index.html\nAllow: /", dialect="google"
    )
    policy = robots.policy("a")
    found = policy.matching("/d/")
    assert [(rule.line, rule.pattern) for rule in found] == [(3, "/d/$"), (2, "/d/"), (4, "/")]
    assert found[0] == policy.check("/d/").rule
