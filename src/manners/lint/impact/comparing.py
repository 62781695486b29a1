"""Comparing two rule lists: equal for every path, or the shortest path on which they differ.

A path on which two lists differ has a decider in each: a rule, or nothing. So it is matched by both
deciders, and by no rule above one of them that says the opposite. Each pair of deciders with
opposite verdicts is one search. Pairs of rules that both lists have in the same order cannot
differ, so an edited line costs one or two searches, however long the file is.
"""

from typing import NamedTuple

from manners.lint.impact.automata import ALL, FAR
from manners.lint.impact.rule_list import RankedRule, RuleList
from manners.lint.impact.searching import SearchTools, StepBudget, shortest_lazily

Identity = tuple[bool, int, int]


class _Decider(NamedTuple):
    """A rule that decides in one of the lists, or the end of that list: nothing matched."""

    place: int
    state: int
    literal: str
    identity: Identity | None


def differing_path(
    tools: SearchTools, old: RuleList, new: RuleList, was_allowed: bool, best: list[str]
) -> None:
    """Find the shortest path with one verdict in `old` and the opposite in `new`.

    Each path found is appended to `best`, the shorter ones later: so when the budget ends, what was
    found is there.
    """
    firsts, seconds = _deciders(old, was_allowed), _deciders(new, not was_allowed)
    pairs = _pairs(tools, old, new, firsts, seconds)
    for bound, first, second in sorted(pairs, key=lambda pair: pair[0]):
        limit = len(best[-1]) if best else FAR
        if bound >= limit:
            break
        must = tuple({first.state, second.state} - {ALL}) or (ALL,)
        overruling = _Overruling(tools.budget, old, new, first.place, second.place, was_allowed)
        path, _ = shortest_lazily(tools, must, overruling.rules, limit)
        if path is not None:
            best.append(path)


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


def _deciders(rules: RuleList, allow: bool) -> dict[int, _Decider]:
    """What may decide with a verdict, by place; nothing allows."""
    found = {
        place: _Decider(place, ranked.state, ranked.literal, ranked.identity)
        for place, ranked in enumerate(rules.ranked)
        if ranked.allow == allow
    }
    if allow:
        end = len(rules.ranked)
        found[end] = _Decider(end, ALL, "", None)
    return found


def _pairs(
    tools: SearchTools,
    old: RuleList,
    new: RuleList,
    firsts: dict[int, _Decider],
    seconds: dict[int, _Decider],
) -> list[tuple[int, _Decider, _Decider]]:
    """The pairs of deciders that may differ, each with a lower bound of the path's length."""
    olds = {ranked.identity for ranked in old.ranked}
    news = {ranked.identity for ranked in new.ranked}
    is_same_order = _common(old, news) == _common(new, olds)
    distance = tools.automata.distance
    only_new = [
        second for second in seconds.values() if second.identity and second.identity not in olds
    ]
    pairs: list[tuple[int, _Decider, _Decider]] = []
    for first in firsts.values():
        if is_same_order and (first.identity is None or first.identity in news):
            # Two rules that both lists have would decide alike in both.
            chosen = [second for second in only_new if _meet(first.literal, second.literal)]
        else:
            places = [*new.near(first.literal), len(new.ranked)]
            chosen = [seconds[place] for place in places if place in seconds]
        tools.budget.take(len(chosen) // 8)
        pairs += [
            (max(distance[first.state], distance[second.state]), first, second) for second in chosen
        ]
    return pairs


def _common(rules: RuleList, other: set[Identity]) -> list[tuple[bool, set[Identity]]]:
    """The rules that another list has, too, in runs of one verdict: so far, order matters."""
    runs: list[tuple[bool, set[Identity]]] = []
    for ranked in rules.ranked:
        if ranked.identity in other:
            if not runs or runs[-1][0] != ranked.allow:
                runs.append((ranked.allow, set()))
            runs[-1][1].add(ranked.identity)
    return runs


def _meet(one: str, other: str) -> bool:
    """Whether a path may begin with both literals."""
    return one.startswith(other) or other.startswith(one)
