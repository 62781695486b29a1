"""What the automata say is what trying every path says, in every dialect.

`IMPACT_SEED` repeats a run; `TEST_IMPACT_ROUNDS` is how many pairs of rule sets a test tries.
"""

import random
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import combinations

import pytest

import manners
from manners import Policy
from manners.lint.impact import (
    RuleStatus,
    compare,
    compare_agents,
    compare_policies,
    examine,
    minimise,
)
from manners.robots import dialects
from tests.lint.impact.brute import (
    ESCAPES,
    INDEX_PAGES,
    TERRAINS,
    Rules,
    Terrain,
    assert_as_brute,
    assert_real,
    both,
    edited,
    edited_groups,
    named_agents,
    policies,
    some_groups,
    some_rules,
    text,
    text_of_groups,
    without,
)
from tests.sizes import seed, size

ROUNDS = size("IMPACT_ROUNDS")
SEED = seed("IMPACT_SEED")

each_dialect = pytest.mark.parametrize("terrain", TERRAINS, ids=lambda terrain: terrain.dialect)


def draws(*what: object, share: int = 1) -> Iterator[random.Random]:
    """Random numbers for each round of a test that has one round in so many."""
    for number in range(max(ROUNDS // share, 3)):
        yield random.Random(f"{SEED} {what} {number}")


def some_pair(rng: random.Random, terrain: Terrain) -> tuple[Rules, Rules]:
    """Mostly a file and what somebody made of it, else two files."""
    before = some_rules(rng, terrain.parts)
    if rng.random() < 0.75:
        return before, edited(rng, before, terrain.parts)
    return before, some_rules(rng, terrain.parts)


@contextmanager
def shown(*what: object) -> Iterator[None]:
    """A failure shows the files it is about."""
    try:
        yield
    except AssertionError as error:
        error.add_note("\n".join(map(str, (f"IMPACT_SEED={SEED}", *what))))
        raise


def test_every_dialect_has_a_terrain() -> None:
    """No dialect of the package is forgotten."""
    for terrains in (TERRAINS, ESCAPES):
        assert sorted(terrain.dialect for terrain in terrains) == list(dialects.names())


# Two files.


@pytest.mark.long
@each_dialect
def test_impact_is_that_of_every_path(terrain: Terrain) -> None:
    """Which paths a change opens and closes, by the shortest of each and the deciding rules."""
    seen: Counter[str] = Counter()
    for rng in draws("impact", terrain.dialect):
        one, two = some_pair(rng, terrain)
        before, after = (manners.parse(text(rules), terrain.dialect) for rules in (one, two))
        with shown(text(one), text(two)):
            impact = compare(before, after)
            assert_as_brute(impact, before.policy("*"), after.policy("*"), terrain)
        seen["equal"] += impact.is_equal is True
        seen["opened"] += impact.opened is not None
        seen["closed"] += impact.closed is not None
    assert min(seen[kind] for kind in ("equal", "opened", "closed")) > 0, seen


@pytest.mark.long
@pytest.mark.parametrize("terrain", ESCAPES, ids=lambda terrain: terrain.dialect)
def test_escapes_are_those_of_canonical_paths(terrain: Terrain) -> None:
    """A path that is found has the escapes that the dialect leaves in it, and no others."""
    found: set[str] = set()
    for rng in draws("escapes", terrain.dialect):
        one, two = some_pair(rng, terrain)
        before, after = policies(text(one), text(two), terrain)
        with shown(text(one), text(two)):
            impact = compare_policies(before, after)
            assert_as_brute(impact, before, after, terrain)
        found |= {witness.path for witness in (impact.opened, impact.closed) if witness}
    assert any("%" in path for path in found)


@pytest.mark.long
def test_index_pages_stand_for_their_directories() -> None:
    """Google reads `Allow: /dir/index.html` as a rule for `/dir/`, too."""
    derived = 0
    for rng in draws("index pages"):
        one, two = some_pair(rng, INDEX_PAGES)
        before, after = policies(text(one), text(two), INDEX_PAGES)
        with shown(text(one), text(two)):
            impact = compare_policies(before, after)
            assert_as_brute(impact, before, after, INDEX_PAGES)
        rules = [
            rule
            for witness in (impact.opened, impact.closed)
            if witness
            for rule in (witness.before, witness.after)
        ]
        derived += any(rule and rule.pattern not in rule.text for rule in rules)
    assert derived > 0


@pytest.mark.long
@pytest.mark.parametrize("names", list(combinations(dialects.names(), 2)), ids="-".join)
def test_two_dialects_of_one_file(names: tuple[str, str]) -> None:
    """Where two ways to read a file disagree about a path that both read alike."""
    terrain = both(*names)
    for rng in draws("dialects", names, share=8):
        body = text(some_rules(rng, terrain.parts))
        one, two = (manners.parse(body, name) for name in names)
        with shown(names, body):
            impact = compare(one, two)
            assert_as_brute(impact, one.policy("*"), two.policy("*"), terrain)
            back = compare(two, one)
            assert back.is_equal == impact.is_equal
            lengths = [len(each.path) if each else None for each in (impact.opened, impact.closed)]
            mirror = [len(each.path) if each else None for each in (back.closed, back.opened)]
            assert lengths == mirror


@pytest.mark.long
@each_dialect
def test_a_small_budget_never_says_something_else(terrain: Terrain) -> None:
    """Whatever the budget: the same answer or none, and a path that was found is real."""
    undecided = 0
    for rng in draws("budget", terrain.dialect, share=3):
        one, two = some_pair(rng, terrain)
        before, after = policies(text(one), text(two), terrain)
        full = compare_policies(before, after)
        for steps in (0, 1, 10, 30, 100, 1_000):
            impact = compare_policies(before, after, steps=steps)
            with shown(steps, text(one), text(two)):
                assert impact.is_equal in (full.is_equal, None)
                undecided += impact.is_equal is None
                for name in ("opened", "closed"):
                    witness, shortest = getattr(impact, name), getattr(full, name)
                    if witness is not None:
                        assert impact.is_equal is False
                        assert_real(witness, before, after, name == "opened")
                        assert len(witness.path) >= len(shortest.path)
                    if impact.is_shortest:
                        assert (witness and len(witness.path)) == (shortest and len(shortest.path))
    assert undecided > 0


# Several agents.


@pytest.mark.long
@each_dialect
def test_two_agents_of_one_file(terrain: Terrain) -> None:
    """What one agent may fetch that the other may not."""
    for rng in draws("agents", terrain.dialect, share=3):
        one, two = some_pair(rng, terrain)
        body = f"{text(one, 'ant')}\n{text(two, 'bee')}"
        robots = manners.parse(body, terrain.dialect)
        ant, bee = robots.policy("ant"), robots.policy("bee")
        with shown(body):
            assert_as_brute(compare_policies(ant, bee), ant, bee, terrain)


@pytest.mark.long
@each_dialect
def test_every_agent_of_two_files(terrain: Terrain) -> None:
    """Agents that a change concerns are listed, once, with what it does to each; no others are."""
    seen: Counter[bool] = Counter()
    for rng in draws("groups", terrain.dialect):
        groups = some_groups(rng, terrain.parts)
        blank = rng.choice(("", "", "# a comment"))
        before = manners.parse(text_of_groups(groups, blank), terrain.dialect)
        groups = edited_groups(rng, groups, terrain.parts)
        after = manners.parse(text_of_groups(groups, blank), terrain.dialect)
        with shown(before.body.decode(), after.body.decode()):
            classes = compare_agents(before, after)
            listed = [agent for entry in classes for agent in entry.agents]
            agents = {"*", *named_agents(before, after)}
            assert len(listed) == len(set(listed))
            assert set(listed) <= agents
            impacts = {agent: entry.impact for entry in classes for agent in entry.agents}
            for agent in agents:
                was, now = before.policy(agent), after.policy(agent)
                if agent in impacts:
                    assert impacts[agent].is_equal is False
                    assert_as_brute(impacts[agent], was, now, terrain)
                else:
                    assert terrain.changes(was, now) == (None, None), f"{agent} is not listed"
                seen[agent in impacts] += 1
    assert min(seen[True], seen[False]) > 0


# One file: rules that never decide, that change nothing, that can be dropped.


def assert_status(status: RuleStatus, policy: Policy, terrain: Terrain) -> None:
    """What is said of a rule is what trying every path shows."""
    dialect, body = terrain.dialect, policy.robots.body.decode()
    line = status.rule.line
    assert status.is_decided
    if status.decides is None:
        assert line not in terrain.deciding_lines(policy), "it decides a path"
        assert status.matters is None
    else:
        assert policy.check(f"https://example.com{status.decides}").line == line
        assert terrain.is_canonical(status.decides)
    fewer = manners.parse(without(body, {line}, dialect), dialect).policy(policy.agents)
    if status.matters is None:
        assert terrain.changes(policy, fewer) == (None, None), "a verdict changes without it"
        assert_reason(status, policy, terrain)
    else:
        url = f"https://example.com{status.matters}"
        assert policy.allowed(url) != fewer.allowed(url)
        assert terrain.is_canonical(status.matters)


def assert_reason(status: RuleStatus, policy: Policy, terrain: Terrain) -> None:
    """The rules that are named are reason enough: with no other lines the same would hold."""
    dialect, line = terrain.dialect, status.rule.line
    assert status.rule not in status.because
    assert set(status.because) <= set(policy.rules)
    reasons = {rule.line for rule in status.because}
    dropped = {rule.line for rule in policy.rules} - reasons - {line}
    body = without(policy.robots.body.decode(), dropped, dialect)
    small = manners.parse(body, dialect).policy(policy.agents)
    with shown("by these lines only:", body):
        if status.decides is None:
            assert line not in terrain.deciding_lines(small), "it decides a path"
        fewer = manners.parse(without(body, {line}, dialect), dialect).policy(policy.agents)
        assert terrain.changes(small, fewer) == (None, None), "a verdict changes without it"


@pytest.mark.long
@pytest.mark.parametrize(
    "terrain",
    [*TERRAINS, *ESCAPES[:3], INDEX_PAGES],
    ids=lambda terrain: f"{terrain.dialect}, {terrain.parts[-1]}",
)
def test_what_every_rule_does(terrain: Terrain) -> None:
    """Whether it ever decides, whether a verdict changes without it, and if not, why not."""
    seen: Counter[str] = Counter()
    for rng in draws("rules", terrain.dialect, share=3):
        rules = some_rules(rng, terrain.parts)
        body = text(edited(rng, rules, terrain.parts) if rng.random() < 0.5 else rules)
        policy = manners.parse(body, terrain.dialect).policy("*")
        with shown(body):
            statuses = examine(policy)
            assert [status.rule for status in statuses] == list(policy.rules)
            for status in statuses:
                with shown(status):
                    assert_status(status, policy, terrain)
                seen["never decides"] += status.decides is None
                seen["redundant"] += status.matters is None and status.decides is not None
                seen["matters"] += status.matters is not None
    assert min(seen[kind] for kind in ("never decides", "redundant", "matters")) > 0, seen


@pytest.mark.long
@each_dialect
def test_minimised_rules_say_the_same(terrain: Terrain) -> None:
    """The rules that can be dropped are dropped together, and no other can."""
    dropped = 0
    for rng in draws("minimise", terrain.dialect, share=3):
        body = text(some_rules(rng, terrain.parts, 9))
        policy = manners.parse(body, terrain.dialect).policy("*")
        with shown(body):
            rules = minimise(policy)
            assert len(rules) == len(set(rules))
            assert set(rules) <= set(policy.rules)
            lines = {rule.line for rule in rules}
            small = parsed_without(body, lines, terrain)
            assert terrain.changes(policy, small) == (None, None)
            assert compare_policies(policy, small).is_equal is True
            for rule in set(policy.rules) - set(rules):
                fewer = parsed_without(body, {*lines, rule.line}, terrain)
                impact = compare_policies(small, fewer)
                assert impact.is_equal is False, f"line {rule.line} can be dropped, too"
                assert_as_brute(impact, small, fewer, terrain)
        dropped += len(rules)
    assert dropped > 0


def parsed_without(body: str, lines: set[int], terrain: Terrain) -> Policy:
    return manners.parse(without(body, lines, terrain.dialect), terrain.dialect).policy("*")


@pytest.mark.long
def test_rules_of_two_groups_are_examined_together() -> None:
    """RFC 9309 section 2.2.1: the rules of all groups that name an agent are combined."""
    terrain = TERRAINS[0]
    for rng in draws("two groups", share=6):
        one, two, three = (some_rules(rng, terrain.parts, 4) for _ in range(3))
        body = text(one, "ant") + "Disallow:\n" + text(two) + "Disallow:\n" + text(three, "Ant/1")
        policy = manners.parse(body).policy("ant")
        assert len(policy.rules) <= len(one) + len(three)
        with shown(body):
            for status in examine(policy):
                with shown(status):
                    assert_status(status, policy, terrain)
