"""What `manners.lint.impact` promises, by examples, nasty files and real ones."""

import random
from itertools import islice

import pytest

import manners
from manners import Policy, Robots
from manners.lint.impact import (
    AgentImpact,
    Impact,
    RuleStatus,
    compare,
    compare_agents,
    compare_policies,
    examine,
    minimise,
)
from manners.lint.impact.agents import stranger
from manners.robots import dialects
from tests.differential.generate import cases
from tests.lint.impact.brute import (
    IS_PATH,
    SITE,
    assert_real,
    named_agents,
    one_line_edit,
)
from tests.shared import corpus, needs_shared
from tests.sizes import seed, size

ROUNDS = size("IMPACT_ROUNDS")
SEED = seed("IMPACT_SEED")
NAMES = dialects.names()


def robots(*lines: str, dialect: str = "rfc9309") -> Robots:
    return manners.parse("\n".join(lines), dialect)


def everybody(*lines: str, dialect: str = "rfc9309") -> Robots:
    """A file with one group, for everybody; its first rule is line 2."""
    return robots("User-agent: *", *lines, dialect=dialect)


def paths(impact: Impact) -> tuple[str | None, str | None]:
    """What is opened and closed."""
    return (
        impact.opened.path if impact.opened else None,
        impact.closed.path if impact.closed else None,
    )


# Two files.


def test_a_change_opens_and_closes() -> None:
    """Each way the shortest path, with the lines that decided and decide."""
    before = everybody("Disallow: /p7/*x0=", "Allow: /p7/ok")
    after = everybody("Disallow: /p7/", "Allow: /p7/ok")
    impact = compare(before, after)
    assert impact.is_equal is False
    assert impact.is_shortest
    assert paths(impact) == ("/p7/okx0=", "/p7/")
    assert impact.opened is not None
    assert impact.closed is not None
    disallow, allow = before.groups[0].rules
    assert (impact.opened.before, impact.opened.after) == (disallow, allow)
    assert (impact.closed.before, impact.closed.after) == (None, after.groups[0].rules[0])


@pytest.mark.parametrize("dialect", NAMES)
def test_a_file_equals_itself(dialect: str) -> None:
    """Nothing is opened, nothing is closed, and that is proved; comments do not count."""
    before = everybody("Disallow: /a", "Allow: /a/b*c", "Disallow: /*.pdf$", dialect=dialect)
    after = manners.parse(before.body + b"\n# a comment\n", dialect)
    assert compare(before, after) == Impact(is_equal=True, opened=None, closed=None)
    assert compare_agents(before, after) == []


@pytest.mark.parametrize("dialect", NAMES)
def test_everything_closed(dialect: str) -> None:
    """The shortest path there is, and no rule before."""
    impact = compare(robots(dialect=dialect), everybody("Disallow: /", dialect=dialect))
    assert paths(impact) == (None, "/")
    assert impact.closed is not None
    assert (impact.closed.before, impact.closed.after and impact.closed.after.line) == (None, 2)


def test_a_star_at_the_end_is_not_free() -> None:
    """It makes the rule longer, and the longer rule decides."""
    before = everybody("Allow: /a*", "Disallow: /ab")
    after = everybody("Allow: /a", "Disallow: /ab")
    assert paths(compare(before, after)) == (None, "/ab")


def test_the_order_of_rules_counts_where_the_first_decides() -> None:
    """WWW::RobotRules takes the first match, RFC 9309 the longest."""
    lines = "Disallow:", "Disallow: /a"
    for dialect, opened in (("rfc9309", None), ("robotrules", "/a")):
        before = everybody(*reversed(lines), dialect=dialect)
        after = everybody(*lines, dialect=dialect)
        assert paths(compare(before, after)) == (opened, None), dialect


def test_an_agent_is_asked_for_by_name() -> None:
    """Everybody without a name; a group of its own otherwise."""
    before = robots("User-agent: *", "Disallow: /a", "User-agent: bot", "Disallow: /b")
    after = robots("User-agent: *", "Disallow: /a", "User-agent: bot", "Disallow: /c")
    assert compare(before, after).is_equal is True
    assert paths(compare(before, after, agent="bot")) == ("/b", "/c")
    assert paths(compare(before, after, "BOT/1.0")) == ("/b", "/c")


def test_two_agents_of_one_file() -> None:
    """What the one may fetch that the other may not."""
    file = robots("User-agent: one", "Disallow: /a", "User-agent: two", "Disallow: /b")
    assert paths(compare_policies(file.policy("one"), file.policy("two"))) == ("/a", "/b")


def test_too_many_rules_open_everything() -> None:
    """A scanner reads at most 1,000 rules, and allows everything in a longer file."""
    lines = [f"Disallow: /{number}" for number in range(1_000)]
    before = everybody(*lines, dialect="scanner")
    after = everybody(*lines, "Disallow: /more", dialect="scanner")
    impact = compare(before, after)
    assert impact.closed is None
    assert impact.opened is not None
    assert len(impact.opened.path) == 2
    assert_real(impact.opened, before.policy("*"), after.policy("*"), is_opened=True)


# Which paths.


@pytest.mark.parametrize(
    ("dialect", "line", "path"),
    [
        ("rfc9309", "/%7ejoe", "/~joe"),
        ("google", "/%7ejoe", "/%7Ejoe"),
        ("rfc9309", "/é", "/%C3%A9"),
        ("google", "/é", "/%C3%A9"),
        ("rfc9309", "/a b", "/a%20b"),
        ("rfc9309", "/a$b", "/a%24b"),
        ("google", "/a$b", "/a$b"),
        ("specificity", "/a*b$", "/a*b$"),
        ("robotrules", "/a*b$", "/a*b$"),
        ("specificity", "/a%2ab", "/a*b"),
        ("rfc9309", "/a%2fb", "/a%2Fb"),
        ("audit", "/a%2fb", "/a%2Fb"),
        ("robotrules", "/a%2fb", "/a%2fb"),
        ("scanner", "/a%2fb", "/a%2Fb"),
        ("rfc9309", "/a%zz", "/a%25zz"),
        ("rfc9309", "/?q=1&r[]=2", "/?q=1&r[]=2"),
        ("rfc9309", "//a///b", "//a///b"),
        # What no path can be.
        ("google", "/a%zz", None),
        ("google", "/a b", None),
        ("google", "/%é", None),
        ("rfc9309", "a", None),
        ("scanner", "/a?b", None),
        ("scanner", "/a//b", None),
        ("scanner", "/é", None),
    ],
)
def test_paths_are_canonical(dialect: str, line: str, path: str | None) -> None:
    """A path is one that a URL can have and the dialect leaves as it is."""
    impact = compare(everybody(dialect=dialect), everybody(f"Disallow: {line}", dialect=dialect))
    assert impact.is_equal is (path is None)
    assert paths(impact) == (None, path)


def test_robots_txt_itself_is_allowed() -> None:
    """By RFC 9309, with any query; no rule decides about it. Google's matcher has no such rule."""
    for pattern in ("/robots.txt$", "/robots.txt?", "/robots.txt?a*b$"):
        impact = compare(everybody(), everybody(f"Disallow: {pattern}"))
        assert impact.is_equal is True, pattern
        (status,) = examine(everybody(f"Disallow: {pattern}").policy("*"))
        assert (status.decides, status.matters) == (None, None), pattern
    closed = compare(everybody(), everybody("Disallow: /robots.txt")).closed
    assert closed is not None
    assert len(closed.path) == len("/robots.txtx")
    google = everybody("Disallow: /robots.txt", dialect="google")
    assert paths(compare(everybody(dialect="google"), google)) == (None, "/robots.txt")


def test_an_index_page_stands_for_its_directory() -> None:
    """To Google: what an Allow line opens is its directory, too, and its line decides."""
    lines = "Disallow: /d/", "Allow: /d/index.html"
    before, after = everybody(*lines, dialect="google"), everybody(lines[0], dialect="google")
    impact = compare(before, after)
    assert paths(impact) == (None, "/d/")
    assert impact.closed is not None
    assert impact.closed.before == manners.Rule(True, "/d/$", 3, lines[1])
    assert paths(compare(everybody(*lines), everybody(lines[0]))) == (None, "/d/index.html")


# Two dialects.


def test_two_dialects_of_one_file() -> None:
    """Where engines disagree, each with the line it follows."""
    lines = "Disallow: /*.pdf$", "Disallow: /a", "Allow: /"
    impact = compare(everybody(*lines), everybody(*lines, dialect="specificity"))
    assert paths(impact) == ("/a", None)
    assert impact.opened is not None
    assert impact.opened.before is not None
    assert impact.opened.after is not None
    assert (impact.opened.before.line, impact.opened.after.line) == (3, 4)


@pytest.mark.parametrize("one", NAMES)
@pytest.mark.parametrize("other", NAMES)
def test_every_pair_of_dialects_is_decided(one: str, other: str) -> None:
    """A plain file says the same to every engine, but for /robots.txt."""
    plain = compare(
        everybody("Disallow: /a", dialect=one), everybody("Disallow: /a", dialect=other)
    )
    # The one engine that drops doubled slashes reads //a as /a.
    assert plain.is_equal is ((one == "scanner") == (other == "scanner"))
    closed = compare(everybody("Disallow: /", dialect=one), everybody("Disallow: /", dialect=other))
    before, after = always_allowed(one), always_allowed(other)
    opened, closed_path = (
        min(each, key=len, default=None) for each in (after - before, before - after)
    )
    assert paths(closed) == (opened, closed_path)
    assert closed.is_equal is (before == after)


def always_allowed(dialect: str) -> set[str]:
    """Where everything is disallowed: what a dialect allows all the same, short of a query."""
    if not dialects.get(dialect).robots_txt_allowed:
        return set()
    return {"/robots.txt", "//robots.txt"} if dialect == "scanner" else {"/robots.txt"}


# Agents in classes.


def by_agent(classes: list[AgentImpact]) -> dict[str, tuple[str | None, str | None]]:
    return {agent: paths(entry.impact) for entry in classes for agent in entry.agents}


def test_agents_are_named_by_either_file() -> None:
    """Who is named before or after, and `*` for everybody else, where something changes."""
    before = robots("User-agent: A", "Disallow: /a", "User-agent: *", "Disallow: /x")
    after = robots(
        *("User-agent: B/1.0", "Disallow: /b", "User-agent: *", "Disallow: /x"),
        *("User-agent: C", "Disallow: /x"),
    )
    assert by_agent(compare_agents(before, after)) == {"a": ("/a", "/x"), "b": ("/x", "/b")}


def test_everybody_else_is_a_star() -> None:
    """Also where only `*` is named, or nobody was."""
    after = robots("User-agent: a", "Disallow:", "User-agent: *", "Disallow: /x")
    assert by_agent(compare_agents(robots(), after)) == {"*": (None, "/x")}
    assert by_agent(compare_agents(after, robots())) == {"*": ("/x", None)}


def test_an_empty_name_is_part_of_every_name() -> None:
    """In `robotrules`, a User-agent line without a name is for agents that no file names, too."""
    old, new = (
        manners.parse(f"User-agent:\nDisallow: {path}\n", "robotrules") for path in ("/a*", "/a")
    )
    found = compare_agents(old, new)
    assert [name for entry in found for name in entry.agents] == ["*"]
    assert not any(entry.impact.is_equal for entry in found)


def test_agents_of_one_group_are_one_class() -> None:
    """Thousands of names with the same rules are compared once."""
    names = [f"bot-{number}" for number in range(2_000)]
    lines = [f"User-agent: {name}" for name in names]
    others = "User-agent: *", "Disallow: /tmp"
    before = robots(*lines, "Disallow: /a", *others)
    after = robots(*lines, "Disallow: /b", *others)
    (entry,) = compare_agents(before, after)
    assert sorted(entry.agents) == sorted(names)
    assert paths(entry.impact) == ("/a", "/b")


def test_agents_of_several_groups_that_say_the_same_are_one_class() -> None:
    """The lines that decide are those of the first of them."""
    before = robots("User-agent: a", "Disallow: /x", "User-agent: b", "Disallow: /x")
    after = robots("User-agent: a", "Disallow:", "User-agent: b", "Disallow:")
    (found,) = compare_agents(before, after)
    assert found.agents == ("a", "b")
    opened = found.impact.opened
    assert opened is not None
    assert opened.before is not None
    assert (opened.path, opened.before.line) == ("/x", 2)


# Rules of one file.


def test_what_a_rule_does() -> None:
    """A path that it decides, a path that changes without it; else the rules that cover it."""
    policy = everybody("Disallow: /a", "Disallow: /a/b", "Allow: /a/b$", "Allow: /a*b").policy("*")
    plain, longer, anchored, wild = examine(policy)
    assert [status.rule.line for status in (plain, longer, anchored, wild)] == [2, 3, 4, 5]
    assert plain.decides == plain.matters == "/a"
    assert plain.because == ()
    # Of four octets each, Allow wins; so the rule without a star never decides.
    assert (longer.decides, longer.matters, longer.because) == (None, None, (wild.rule,))
    assert (anchored.decides, anchored.matters) == ("/a/b", None)
    assert anchored.because == (wild.rule,)
    assert wild.matters is not None
    assert all(status.is_decided for status in (plain, longer, anchored, wild))


def test_covered_by_two_rules_together() -> None:
    """No single rule is the reason; both are named."""
    lines = "Disallow: /a*", "Disallow: /b*", "Allow: /a*x$", "Allow: /a*y$", "Allow: /a*z$"
    assert all(status.matters for status in examine(everybody(*lines).policy("*")))
    policy = everybody("Allow: /*", "Disallow: /a*$", "Allow: /ab*", "Disallow: /a").policy("*")
    statuses = {status.rule.line: status for status in examine(policy)}
    assert statuses[5].decides is None
    assert {rule.line for rule in statuses[5].because} <= {2, 3, 4}
    assert statuses[5].because


def test_a_rule_that_no_path_matches_needs_no_other() -> None:
    """It never decides, and no rule covers it."""
    (status,) = examine(everybody("Disallow: images/").policy("*"))
    assert status == RuleStatus(everybody("Disallow: images/").groups[0].rules[0], None, None, ())


def test_an_empty_rule_decides_where_the_engine_says_so() -> None:
    """To Google it matches everything, with the lowest priority, and changes nothing."""
    (status,) = examine(everybody("Disallow:", dialect="google").policy("*"))
    assert status.decides is not None
    assert status.matters is None
    policy = everybody("Disallow:", "Disallow: /a", dialect="robotrules").policy("*")
    empty, never = examine(policy)
    assert empty.decides is not None
    assert empty.matters is not None
    assert (never.decides, never.matters, never.because) == (None, None, (empty.rule,))


def test_of_two_equal_rules_one_stays() -> None:
    """Each of them is redundant, the earlier decides; together they are not."""
    policy = everybody("Disallow: /a", "Disallow: /a").policy("*")
    first, second = examine(policy)
    assert (first.decides, first.matters, first.because) == ("/a", None, (second.rule,))
    assert (second.decides, second.matters, second.because) == (None, None, (first.rule,))
    assert len(minimise(policy)) == 1


def test_the_longest_are_dropped_first() -> None:
    """Of rules that say the same, the shortest stays."""
    policy = everybody("Disallow: /a*", "Disallow: /a", "Disallow: /a/b", "Disallow: /a**")
    assert {rule.line for rule in minimise(policy.policy("*"))} == {2, 4, 5}


def test_what_becomes_redundant_is_dropped_too() -> None:
    """A rule may matter only because of another that is dropped after it."""
    policy = everybody("Disallow: /", "Allow: /").policy("*")
    assert {rule.line for rule in minimise(policy)} == {2, 3}
    policy = everybody("Allow: /x*", "Disallow: /**", "Disallow: /**x").policy("*")
    assert {rule.line for rule in minimise(policy)} == {2, 4}


def test_nothing_to_examine() -> None:
    """A policy without a rule has no status and nothing to drop."""
    policy = robots("User-agent: bot", "Disallow: /").policy("other")
    assert (examine(policy), minimise(policy)) == ([], [])


def test_too_small_a_budget_says_so() -> None:
    """Without a step there may be an answer, but only the right one."""
    lines = [f"Disallow: /*{one}*{two}" for one in "abc" for two in "xyz"]
    policy = everybody(*lines, "Disallow: /*a*x*b*y", "Disallow: /*abcxyz", "Allow: /a*z").policy(
        "*"
    )
    full = {status.rule: status for status in examine(policy)}
    for steps in (0, 1, 10, 100, 1_000):
        for status in examine(policy, steps=steps):
            expected = full[status.rule]
            if status.is_decided:
                assert (status.decides is None) == (expected.decides is None)
                assert (status.matters is None) == (expected.matters is None)
        dropped = minimise(policy, steps=steps)
        kept = [rule.text for rule in policy.rules if rule not in dropped]
        assert compare_policies(policy, everybody(*kept).policy("*")).is_equal is True


def test_the_same_question_has_the_same_answer() -> None:
    """Nothing depends on chance, nor on what was asked before."""
    lines = [f"{'Allow' if n % 3 else 'Disallow'}: /*{n % 7}*{n}" for n in range(60)]
    before, after = everybody(*lines), everybody(*lines[1:], "Disallow: /*5$")
    answers = [compare(before, after, steps=steps) for steps in (300, 5_000, 2_000_000) * 2]
    assert answers[:3] == answers[3:]
    policy = before.policy("*")
    assert examine(policy) == examine(policy)
    assert minimise(policy) == minimise(policy)


# Nasty files, and real ones.


def assert_holds(impact: Impact, before: Policy, after: Policy, urls: list[str]) -> None:
    """Paths that are found are real, and no URL of a sample shows what the impact denies."""
    for witness in (impact.opened, impact.closed):
        if witness is not None:
            assert impact.is_equal is False
            assert_real(witness, before, after, witness is impact.opened)
    if impact.is_equal is None or not impact.is_shortest:
        return
    normalise = before.robots.dialect.normalise_path
    for url in urls:
        path = manners.urls.match_path(url)
        if not IS_PATH(path) or normalise(path) != path:
            continue
        was, now = before.allowed(SITE + path), after.allowed(SITE + path)
        if was != now:
            witness = impact.opened if now else impact.closed
            assert witness is not None, path
            assert len(witness.path) <= len(path), path


@pytest.mark.long
@pytest.mark.parametrize("dialect", NAMES)
def test_any_bytes_are_compared(dialect: str) -> None:
    """Whatever the file: no error, and the engine agrees with what is found."""
    rng = random.Random(f"{SEED} {dialect}")
    for case in islice(cases(f"{SEED} impact {dialect}"), ROUNDS):
        lines = case.body.splitlines(keepends=True)
        at = rng.randrange(len(lines)) if lines else 0
        edit = b"".join(lines[:at] + lines[at + 1 :])
        before, after = manners.parse(case.body, dialect), manners.parse(edit, dialect)
        one, two = before.policy(case.agents), after.policy(case.agents)
        impact = compare_policies(one, two, steps=100_000)
        assert_holds(impact, one, two, case.urls)
        for entry in compare_agents(before, after, steps=100_000):
            assert entry.impact.is_equal is not True
            named = named_agents(before, after)
            assert set(entry.agents) <= {"*", *named}
            for agent in entry.agents:
                # `*` is everybody whom no group names; for robotrules, a nameless line is for them.
                asked = stranger(sorted(named)) if agent == "*" else agent
                policies = before.policy(asked), after.policy(asked)
                assert_holds(entry.impact, *policies, case.urls)
        for status in examine(one, steps=2_000) if len(one.rules) < 100 else ():
            assert (
                status.decides is None or one.check(SITE + status.decides).line == status.rule.line
            )


@pytest.mark.long
@needs_shared
@pytest.mark.parametrize("dialect", ["rfc9309", "google"])
def test_real_files_are_compared(dialect: str) -> None:
    """One line of a real file is edited: every agent's impact is decided and real."""
    found = 0
    for name, body in sorted(corpus().items())[:: size("CORPUS_STEP")]:
        rng = random.Random(f"{SEED} {dialect} {name}")
        edit = one_line_edit(rng, body)
        if edit is None:
            continue
        before, after = manners.parse(body, dialect), manners.parse(edit, dialect)
        for entry in compare_agents(before, after):
            assert entry.impact.is_equal is False, name
            # Of a class with hundreds of agents, some.
            for agent in rng.sample(entry.agents, min(len(entry.agents), 5)):
                assert_holds(entry.impact, before.policy(agent), after.policy(agent), [])
            found += 1
    assert found > 0
