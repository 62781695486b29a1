"""Rule sets made to stall the automata get an answer, or none, within their budget.

Work is counted, not timed: lines and calls of the package, the same in every run.
"""

import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import pytest

import manners
from manners import Policy
from manners.lint.impact import Impact, compare_agents, compare_policies, examine, minimise
from tests.lint.impact.brute import assert_real
from tests.lint.impact.shapes import (
    Shape,
    chain,
    literals,
    many_stars,
    mixed_words,
    satisfiability,
    two_words,
    words,
)

RULES = 5_000
STAR_RULES = 1_000
"""Rules of which each has to be compared with many others."""


def policy_of(lines: list[str]) -> Policy:
    return manners.parse("\n".join(["User-agent: *", *lines]), max_bytes=None).policy("*")


def impact_of(shape: Shape, steps: int | None = None) -> Impact:
    """What changes; a path that is found is one for the engine, too."""
    before, after = policy_of(shape.before), policy_of(shape.after)
    if steps is None:
        impact = compare_policies(before, after)
    else:
        impact = compare_policies(before, after, steps=steps)
    for witness in (impact.opened, impact.closed):
        if witness is not None:
            assert impact.is_equal is False
            assert_real(witness, before, after, witness is impact.opened)
    return impact


@pytest.mark.parametrize(
    "shape",
    [
        *literals(RULES),
        *words(RULES),
        *mixed_words(STAR_RULES),
        *two_words(STAR_RULES),
        *many_stars(64),
        *many_stars(512),
        *chain(8),
        *chain(20),
    ],
    ids=lambda shape: shape.name,
)
def test_thousands_of_rules_are_decided(shape: Shape) -> None:
    """What changes among thousands of rules is found within the budget, both ways."""
    impact = impact_of(shape)
    assert (impact.opened is not None, impact.closed is not None) == (shape.opens, shape.closes)
    assert impact.is_equal is not (shape.opens or shape.closes)
    assert impact.is_shortest


def test_a_path_of_hundreds_of_pieces_is_the_shortest() -> None:
    """`/*a*b…` without `/*b*a…` needs one letter for each of its 512 pieces, and a slash."""
    impact = impact_of(many_stars(512)[1])
    assert impact.opened is not None
    assert impact.closed is not None
    assert (len(impact.opened.path), len(impact.closed.path)) == (513, 513)


# A problem for which no quick method is known.


@pytest.mark.parametrize("is_satisfiable", [True, False])
def test_a_small_formula_is_solved(is_satisfiable: bool) -> None:
    """The added rule closes a path exactly if the formula has a solution."""
    impact = impact_of(satisfiability(3, is_satisfiable), 20_000_000)
    assert impact.is_equal is not is_satisfiable
    if is_satisfiable:
        assert impact.closed is not None
        assert impact.closed.path == "/v001v011v021end"


@pytest.mark.parametrize("variables", [8, 10, 12])
def test_a_large_formula_is_not_decided(variables: int) -> None:
    """Beyond the budget there is no answer, which is another one than "equal"."""
    impact = impact_of(satisfiability(variables), 200_000)
    assert impact.is_equal is None
    assert (impact.opened, impact.closed, impact.is_shortest) == (None, None, False)


def test_a_change_that_is_found_counts_although_another_is_not_decided() -> None:
    """One path that differs is enough to know that two files differ."""
    shape = satisfiability(10)
    opened = Shape("both", ["Disallow: /short", *shape.before], shape.after, True, False)
    impact = impact_of(opened, 200_000)
    assert impact.is_equal is False
    assert impact.opened is not None
    assert impact.opened.path == "/short"
    assert not impact.is_shortest


def test_agents_of_a_large_formula_are_listed() -> None:
    """An agent for which nothing is decided is not left out as one for which nothing changes."""
    shape = satisfiability(10)
    before, after = (policy_of(lines).robots for lines in (shape.before, shape.after))
    (entry,) = compare_agents(before, after, steps=100_000)
    assert entry.agents == ("*",)
    assert entry.impact.is_equal is None


def test_a_rule_that_is_not_decided_is_kept() -> None:
    """Nothing is said of a rule beyond the budget, and it is not dropped."""
    lines = satisfiability(8, is_strict=False).after
    policy = policy_of(lines)
    *_, last = examine(policy, steps=5_000)
    assert last.rule.line == len(lines) + 1
    assert (last.is_decided, last.matters) == (False, None)
    assert last.rule not in minimise(policy, steps=5_000)


# Work.


def work(do: Callable[[], object]) -> int:
    """Lines and calls of the package, and what it calls directly, while something is done."""
    counted = 0

    def is_ours(frame: FrameType) -> bool:
        name: str = frame.f_globals.get("__name__", "")
        return name.startswith("manners.")

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


def budgets(do: Callable[[int], object]) -> Iterator[tuple[int, int]]:
    """Some budgets and the work for each, less what no budget can save."""
    least = work(lambda: do(0))
    for steps in (20_000, 40_000, 80_000):
        yield steps, work(lambda steps=steps: do(steps)) - least  # type: ignore[misc]


@pytest.mark.parametrize("variables", [6, 12])
def test_work_is_linear_in_the_budget(variables: int) -> None:
    """A step is a few lines, however many there are."""
    shape = satisfiability(variables)
    before, after = policy_of(shape.before), policy_of(shape.after)
    for steps, done in budgets(lambda steps: compare_policies(before, after, steps=steps)):
        assert done <= 40 * steps + 20_000


def test_work_without_a_budget_is_linear_in_the_rules() -> None:
    """What is done before the first step grows with the files, no faster."""

    def least(count: int) -> int:
        shape = words(count)[0]
        before, after = policy_of(shape.before), policy_of(shape.after)
        return work(lambda: compare_policies(before, after, steps=0))

    small, large = least(500), least(2_000)
    assert large <= 6 * small


@pytest.mark.parametrize("count", [STAR_RULES])
def test_the_same_rule_many_times_is_dropped_but_once(count: int) -> None:
    """One of them stays, the first, which decides."""
    policy = policy_of(["Disallow: /*same="] * count)
    statuses = examine(policy)
    assert [status.rule.line for status in statuses if status.decides] == [2]
    assert not any(status.matters for status in statuses)
    assert len(minimise(policy)) == count - 1


def test_thousands_of_rules_are_examined() -> None:
    """Every rule of a long file has an answer, and those that matter nothing are found."""
    lines = literals(RULES)[0].before
    statuses = examine(policy_of([*lines, f"{lines[77]}/deeper", f"{lines[78]}*"]))
    assert all(status.is_decided for status in statuses)
    redundant = [status for status in statuses if status.matters is None]
    assert {status.rule.line for status in redundant} == {80, RULES + 2, RULES + 3}
    assert [rule.line for rule in redundant[1].because] == [79]
