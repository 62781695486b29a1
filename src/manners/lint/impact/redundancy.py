"""Rules that never decide, rules without which nothing changes, and what is left without them."""

from collections.abc import Iterator
from typing import NamedTuple

from manners.lint.impact.automata import ALL, FAR, split
from manners.lint.impact.comparing import differing_path
from manners.lint.impact.rule_list import RankedRule, RuleList
from manners.lint.impact.searching import (
    OutOfSteps,
    SearchTools,
    StepBudget,
    shortest,
    shortest_lazily,
)
from manners.robots.groups import Rule

_FILLING = "qz"
"""What stars stand for in a path that is tried first: no real pattern is about it."""


class RuleStatus(NamedTuple):
    """Whether a rule ever decides, and whether anything would change without it."""

    rule: Rule
    decides: str | None = None
    """A path that it decides; None if it never does."""
    matters: str | None = None
    """A path whose verdict would change without it; None if it is redundant."""
    because: tuple[Rule, ...] = ()
    """The rules that cover one which never decides, or is redundant; none if it matches no path."""
    is_decided: bool = True
    """False: the budget was used up, and nothing is known."""
    is_pointless: bool = False
    """Whether it is a redundant Allow that meets no Disallow: an exception from nothing."""


def status_of(tools: SearchTools, rules: RuleList, rule: Rule, exact: bool) -> RuleStatus:
    """What is to be said about a rule. With `exact`, its paths are the shortest ones."""
    places = rules.places(rule)
    decides, matters = None, None
    try:
        if not exact and len(places) == 1:
            decides, matters = _tried(tools, rules, places[0])
            if matters is not None:
                return RuleStatus(rule, decides, matters)
        if decides is None:
            decides, covers = _decided_by(tools, rules, places)
            if decides is None:
                return RuleStatus(rule, because=tuple(covers))
        if len(places) == 1:
            if rules.allows(places[0]) and _meets_nothing(tools, rules, places[0]):
                return RuleStatus(rule, decides, is_pointless=True)
            matters, covers = _changed_without(tools, rules, places[0], exact)
        else:
            matters, covers = _changed_without_all(tools, rules, rule), []
    except OutOfSteps:
        return RuleStatus(rule, is_decided=False)
    return RuleStatus(rule, decides, matters, tuple(covers) if matters is None else ())


def droppable(tools: SearchTools, rules: RuleList, steps: int) -> list[Rule]:
    """Rules without which, all together, no verdict changes; none of those left can be dropped.

    The best ones are tried first, so that short ones stay. One that is not decided stays.
    """
    dropped: list[Rule] = []
    is_changed = True
    while is_changed:  # what was dropped may make another redundant
        is_changed = False
        for rule in dict.fromkeys(ranked.rule for ranked in rules.ranked if ranked.rule.line > 0):
            part = tools._replace(budget=tools.budget.part(steps))
            status = status_of(part, rules, rule, exact=False)
            if status.is_decided and status.matters is None:
                dropped.append(rule)
                rules, is_changed = rules.without(rule), True
    return dropped


# Does it ever decide?


def _tried(tools: SearchTools, rules: RuleList, place: int) -> tuple[str | None, str | None]:
    """By a few paths: one that a rule decides, and one whose verdict would change without it."""
    decides: str | None = None
    for path in _samples(tools, rules, place):
        matching = rules.matching(path, tools.budget)
        if next(matching) == place:
            decides = decides or path
            if rules.allows(next(matching, len(rules.ranked))) != rules.allows(place):
                return decides, path
    return decides, None


def _decided_by(
    tools: SearchTools, rules: RuleList, places: list[int]
) -> tuple[str | None, list[Rule]]:
    """The shortest path that a rule decides, or None and the rules that cover it."""
    covers: dict[Rule, None] = {}
    found: list[str] = []
    for place in places:
        state, above = rules.ranked[place].state, _Above(tools.budget, rules, place)
        path, used = shortest_lazily(tools, (state,), above.matching)
        covers.update(dict.fromkeys(ranked.rule for ranked in used))
        if path is not None:
            found.append(path)
    return min(found, key=len, default=None), list(covers)


class _Above(NamedTuple):
    """The rules above a place."""

    budget: StepBudget
    rules: RuleList
    place: int

    def matching(self, path: str) -> list[tuple[int, RankedRule]]:
        """Those that match a path, the shortest first: they cover most."""
        ranked = self.rules.ranked
        matching = self.rules.matching(path, self.budget)
        found = [ranked[place] for place in matching if place < self.place]
        found.sort(key=lambda ranked: len(ranked.pattern))
        return [(rule.state, rule) for rule in found]


def _samples(tools: SearchTools, rules: RuleList, place: int) -> Iterator[str]:
    """A few paths that a rule surely matches: they answer most questions."""
    literal, pieces, end = split(rules.ranked[place].pattern, True)
    literal = literal or "/"
    short = literal + "".join(pieces) + (end or "")
    paths = [short]
    if end is None:
        paths += [short + _FILLING, short + "/" + _FILLING]
    if pieces or end:
        paths.append(literal + _FILLING + _FILLING.join((*pieces, end or "")))
    state = rules.ranked[place].state
    for path in paths:
        is_canonical = tools.space.contains(path) and rules.read(path) == path
        if is_canonical and tools.automata.matches(state, path):
            tools.budget.take(len(path))
            yield path


# Would anything change without it?


def _changed_without(
    tools: SearchTools, rules: RuleList, place: int, exact: bool
) -> tuple[str | None, list[Rule]]:
    """A path whose verdict changes without a rule, or None and the rules that take its place."""
    rule = rules.ranked[place]
    cover = None if exact else _single_cover(tools, rules, place)
    if cover is not None:
        return None, [rules.ranked[cover].rule]
    best: str | None = None
    covers: dict[Rule, None] = {}
    for instead, state in _instead(tools, rules, place):
        if best is not None and not exact:
            break
        limit = FAR if best is None else len(best)
        must = tuple({rule.state, state} - {ALL}) or (ALL,)
        if max(map(tools.automata.distance.__getitem__, must)) >= limit:
            continue
        between = _Between(tools.budget, rules, place, instead)
        path, used = shortest_lazily(tools, must, between.matching, limit)
        covers.update(dict.fromkeys(ranked.rule for ranked in used))
        best = path or best
    return best, list(covers)


def _meets_nothing(tools: SearchTools, rules: RuleList, place: int) -> bool:
    """Whether no rule below an Allow disallows a path that it matches."""
    allow, below = rules.ranked[place], _instead(tools, rules, place)
    return not any(
        other == len(rules.ranked) or _meet(tools, allow, rules.ranked[other]) for other, _ in below
    )


def _instead(tools: SearchTools, rules: RuleList, place: int) -> list[tuple[int, int]]:
    """What could decide instead, with the opposite verdict: places and states, nearest first."""
    rule = rules.ranked[place]
    found = [
        (other, rules.ranked[other].state)
        for other in rules.near(rule.literal, not rule.allow)
        if other > place
    ]
    if not rule.allow:
        found.append((len(rules.ranked), ALL))
    tools.budget.take(len(found) // 8)
    found.sort(key=lambda item: tools.automata.distance[item[1]])
    return found


class _Between(NamedTuple):
    """The rules that keep a rule, or what would decide instead of it, from deciding."""

    budget: StepBudget
    rules: RuleList
    place: int
    instead: int

    def matching(self, path: str) -> list[tuple[int, RankedRule]]:
        """Those that match a path, the shortest first."""
        ranked = self.rules.ranked
        verdict = ranked[self.place].allow
        found = [
            ranked[place]
            for place in self.rules.matching(path, self.budget)
            # Above the rule those that overrule it; above what would decide instead, those that
            # would decide as the rule did.
            if (place < self.place and ranked[place].allow != verdict)
            or (place < self.instead and place != self.place and ranked[place].allow == verdict)
        ]
        found.sort(key=lambda ranked: len(ranked.pattern))
        return [(rule.state, rule) for rule in found]


def _single_cover(tools: SearchTools, rules: RuleList, place: int) -> int | None:
    """The place of one rule that says the same wherever this one matches, and is not overruled."""
    rule = rules.ranked[place]
    sample = next(_samples(tools, rules, place), None)
    if sample is None:
        return None
    near: list[int] | None = None
    for other in rules.matching(sample, tools.budget):
        if other == place or rules.ranked[other].allow != rule.allow:
            continue
        if shortest(tools, (rule.state,), (rules.ranked[other].state,)) is not None:
            continue
        near = rules.near(rule.literal, not rule.allow) if near is None else near
        between = (rules.ranked[found] for found in near if place < found < other)
        if not any(_meet(tools, rule, opposite) for opposite in between):
            return other
    return None


def _meet(tools: SearchTools, one: RankedRule, other: RankedRule) -> bool:
    """Whether a path is matched by both of two rules."""
    literal = max(one.parts[0], other.parts[0], key=len) or "/"
    ends = max(one.parts[2] or "", other.parts[2] or "", key=len)
    path = literal + "".join((*one.parts[1], *other.parts[1])) + ends
    if one.matches(path) and other.matches(path) and tools.space.contains(path):
        tools.budget.take(1)
        return True
    return shortest(tools, (one.state, other.state), ()) is not None


def _changed_without_all(tools: SearchTools, rules: RuleList, rule: Rule) -> str | None:
    """The shortest path whose verdict changes without a rule that is in several places."""
    fewer = rules.without(rule)
    best: list[str] = []
    for was_allowed in (True, False):
        found: list[str] = []
        differing_path(tools, rules, fewer, was_allowed, found)
        best += found[-1:]
    return min(best, key=len, default=None)


__all__ = ["RuleStatus", "StepBudget", "droppable", "status_of"]
