"""Comparing two rule lists: equal for every path, or the shortest path on which they differ.

A path on which two lists differ has a decider in each: a rule, or nothing. So it is matched by both
deciders, and by no rule above one of them that says the opposite. Each pair of deciders with
opposite verdicts is one search.

Most pairs need none. Two rules that both lists have, in the same order, cannot be such a pair: both
match the path in both lists, and so one of them would have decided in both. An edited line costs
one or two searches, however long the file is; and a rule that only becomes longer or shorter, as by
a star at its end, costs none unless it passes a rule that says the opposite.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import groupby
from typing import NamedTuple

from manners.lint.impact.automata import ALL, FAR
from manners.lint.impact.rule_list import RankedRule, RuleList
from manners.lint.impact.searching import SearchTools, StepBudget, shortest_lazily


class _Decider(NamedTuple):
    """A rule that decides in one of the lists, or the end of that list: nothing matched."""

    place: int
    state: int
    literal: str
    is_stable: bool
    """Whether both lists have it, and in the same order as all others that are stable."""


def differing_path(
    tools: SearchTools, old: RuleList, new: RuleList, was_allowed: bool, best: list[str]
) -> None:
    """Find the shortest path with one verdict in `old` and the opposite in `new`.

    Each path found is appended to `best`, the shorter ones later: so when the budget ends, what was
    found is there.
    """
    for bound, pair in _possible_pairs(tools, old, new, was_allowed):
        limit = len(best[-1]) if best else FAR
        if bound >= limit:
            break
        path = pair.shortest(tools, limit)
        if path is not None:
            best.append(path)


def differing_paths(
    tools: SearchTools, old: RuleList, new: RuleList, was_allowed: bool
) -> Iterator[str]:
    """Paths with one verdict in `old` and the opposite in `new`: one for each pair of deciders.

    Each is the shortest for its pair; those that may be short come first.
    """
    for _, pair in _possible_pairs(tools, old, new, was_allowed):
        path = pair.shortest(tools)
        if path is not None:
            yield path


def _possible_pairs(
    tools: SearchTools, old: RuleList, new: RuleList, was_allowed: bool
) -> "list[tuple[int, _Pair]]":
    """The pairs of deciders that may differ, each after a lower bound of the path's length."""
    stable = _stable(old, new)
    firsts, seconds = _deciders(old, was_allowed, stable), _deciders(new, not was_allowed, stable)
    pairs = _pairs(tools, new, firsts, seconds, not was_allowed)
    pairs.sort(key=lambda pair: pair[0])
    return [(bound, _Pair(old, new, first, second, was_allowed)) for bound, first, second in pairs]


class _Pair(NamedTuple):
    """Two deciders with opposite verdicts, one in each list."""

    old: RuleList
    new: RuleList
    first: _Decider
    second: _Decider
    was_allowed: bool

    def shortest(self, tools: SearchTools, limit: int = FAR) -> str | None:
        """The shortest path below a length that both of them decide."""
        old, new, first, second, was_allowed = self
        must = tuple({first.state, second.state} - {ALL}) or (ALL,)
        overruling = _Overruling(tools.budget, old, new, first.place, second.place, was_allowed)
        path, _ = shortest_lazily(tools, must, overruling.rules, limit)
        return path


class _Overruling(NamedTuple):
    """The rules above one of two deciders that say the opposite of it."""

    budget: StepBudget
    old: RuleList
    new: RuleList
    first: int
    second: int
    was_allowed: bool

    def rules(self, path: str) -> list[tuple[int, RankedRule]]:
        """Those that match a path, the shortest first: they keep most paths away."""
        found = [
            rules.ranked[place]
            for rules, end, verdict in (
                (self.old, self.first, not self.was_allowed),
                (self.new, self.second, self.was_allowed),
            )
            for place in rules.matching(path, self.budget)
            if place < end and rules.ranked[place].allow == verdict
        ]
        found.sort(key=lambda ranked: len(ranked.pattern))
        return [(ranked.state, ranked) for ranked in found]


def _first_places(rules: RuleList) -> dict[int, int]:
    """The states of a list's rules, with their first places: what comes later never decides."""
    places: dict[int, int] = {}
    for place, ranked in enumerate(rules.ranked):
        places.setdefault(ranked.state, place)
    return places


def _deciders(rules: RuleList, allow: bool, stable: set[int]) -> dict[int, _Decider]:
    """What may decide with a verdict, by place; that nothing matches allows."""
    found: dict[int, _Decider] = {}
    for state, place in _first_places(rules).items():
        ranked = rules.ranked[place]
        if ranked.allow == allow:
            found[place] = _Decider(place, state, ranked.literal, state in stable)
    if allow:
        end = len(rules.ranked)
        found[end] = _Decider(end, ALL, "", True)
    return found


def _pairs(
    tools: SearchTools,
    new: RuleList,
    firsts: dict[int, _Decider],
    seconds: dict[int, _Decider],
    allow: bool,
) -> list[tuple[int, _Decider, _Decider]]:
    """The pairs of deciders that may differ, each with a lower bound of the path's length.

    `allow` is the verdict of the second ones.
    """
    distance = tools.automata.distance
    changed = [second for second in seconds.values() if not second.is_stable]
    pairs: list[tuple[int, _Decider, _Decider]] = []
    for first in firsts.values():
        if first.is_stable:
            chosen = [second for second in changed if _meet(first.literal, second.literal)]
            tools.budget.take(1 + len(changed) // 3)
        else:
            places = [*new.near(first.literal, allow), len(new.ranked)]
            chosen = [seconds[place] for place in places if place in seconds]
            tools.budget.take(1 + len(places))
        pairs += [
            (max(distance[first.state], distance[second.state]), first, second) for second in chosen
        ]
    return pairs


def _stable(old: RuleList, new: RuleList) -> set[int]:
    """The states of rules that both lists have with the same verdict, in the same order.

    Order matters between opposite verdicts only. So the lists are seen as runs of one verdict, and
    of the runs in which the new list has the old one's rules, the longest ascending part is kept.
    """
    olds, news = _first_places(old), _first_places(new)
    common = {
        state
        for state, place in olds.items()
        if state in news and new.ranked[news[state]].allow == old.ranked[place].allow
    }
    new_runs = _runs(new, news, common)
    run_of = {state: number for number, run in enumerate(new_runs) for state in run}
    ascending: list[int] = []
    ends: list[int] = []  # of the best part of each length: the index of its last state
    before: list[int] = []
    states: list[int] = []
    for run in _runs(old, olds, common):
        for state in sorted(run, key=run_of.__getitem__):
            length = bisect_right(ascending, run_of[state])
            before.append(ends[length - 1] if length else -1)
            states.append(state)
            ascending[length : length + 1] = [run_of[state]]
            ends[length : length + 1] = [len(states) - 1]
    stable: set[int] = set()
    at = ends[-1] if ends else -1
    while at >= 0:
        stable.add(states[at])
        at = before[at]
    return stable


def _runs(rules: RuleList, places: dict[int, int], common: set[int]) -> list[list[int]]:
    """The states that both lists have, in order, in runs of one verdict."""
    states = [state for state in places if state in common]
    verdicts = groupby(states, key=lambda state: rules.ranked[places[state]].allow)
    return [list(run) for _, run in verdicts]


def _meet(one: str, other: str) -> bool:
    """Whether a path may begin with both literals."""
    return one.startswith(other) or other.startswith(one)
