"""What the automata say about every rule line of a file, for all agents and engines together."""

from collections.abc import Collection
from typing import NamedTuple

from manners.lint.impact.agents import AgentIndex, TooManyAgents, contents
from manners.lint.impact.automata import Automata
from manners.lint.impact.redundancy import RuleStatus, status_of
from manners.lint.impact.rule_list import RuleList
from manners.lint.impact.searching import SearchTools, StepBudget
from manners.lint.impact.spaces import space_of
from manners.robots.agents import WILDCARD
from manners.robots.groups import Rule
from manners.robots.policy import Robots

STEPS = 700_000
"""Steps of automata for all rules of one file, in all engines: about a second."""
RULE_STEPS = 100_000
"""Steps for the questions about one rule of one class of agents."""


class LineStatus(NamedTuple):
    """A rule line: whether it ever decides and whether it matters, for anybody."""

    rule: Rule
    decides: bool = False
    """Whether it decides a path, for some agent."""
    matters: bool = False
    """Whether some agent would get another verdict without it."""
    because: tuple[Rule, ...] = ()
    """The rules that cover it, for the first agent who has it."""
    is_decided: bool = True
    is_pointless: bool = False
    """Whether it is an Allow rule that no Disallow of its agents meets."""

    @property
    def is_redundant(self) -> bool:
        """Whether it decides some path, and nobody gets another verdict without it."""
        return self.is_decided and self.decides and not self.matters

    def merged(self, status: RuleStatus) -> "LineStatus":
        """With what holds for another class of agents."""
        return self._replace(
            decides=self.decides or status.decides is not None,
            matters=self.matters or status.matters is not None,
            is_decided=self.is_decided and status.is_decided,
            is_pointless=self.is_pointless and status.is_pointless,
        )

    def and_by(self, other: "LineStatus") -> "LineStatus":
        """With what holds in another engine."""
        return self._replace(
            decides=self.decides or other.decides,
            matters=self.matters or other.matters,
            is_decided=self.is_decided and other.is_decided,
        )


def rule_lists(robots: Robots) -> list[tuple[Rule, ...]]:
    """The rules of every class of agents, each list once."""
    try:
        index = AgentIndex(robots)
    except TooManyAgents:
        return []
    lists: dict[tuple[int, ...], tuple[Rule, ...]] = {}
    for name in (*index.names, WILDCARD):
        groups = index.groups(name)
        key = tuple(map(id, groups))
        if key not in lists:
            lists[key] = index.rules(name)
    return [rules for rules in lists.values() if rules]


def examine_lines(
    robots: Robots, lines: Collection[int] | None = None, budget: StepBudget | None = None
) -> dict[int, LineStatus]:
    """The status of each rule line, or of some, by number.

    >>> from manners import parse
    >>> found = examine_lines(parse("User-agent: *\\nDisallow: /a\\nDisallow: /a/b"))
    >>> found[2].matters, found[3].matters
    (True, False)
    """
    space = space_of(robots.dialect)
    if space is None:
        return {}
    tools = SearchTools(Automata(), space, budget or StepBudget(STEPS))
    found: dict[int, LineStatus] = {}
    known: dict[tuple[tuple[bool, str], ...], list[RuleStatus]] = {}
    for rules in rule_lists(robots):
        wanted = [rule for rule in rules if lines is None or rule.line in lines]
        if not wanted:
            continue
        key = contents(rules)
        statuses = known.get(key) if lines is None else None
        if statuses is None:
            statuses = _statuses(tools, robots, rules, wanted)
            known[key] = statuses
        for rule, status in zip(wanted, statuses, strict=True):
            first = LineStatus(rule, because=status.because, is_pointless=status.is_pointless)
            found[rule.line] = found.get(rule.line, first).merged(status)
    return found


def _statuses(
    tools: SearchTools, robots: Robots, rules: tuple[Rule, ...], wanted: list[Rule]
) -> list[RuleStatus]:
    """The status of some rules of a list. When the budget of the file ends, the rest is unknown."""
    ranked = RuleList.of(rules, robots.dialect, tools.automata)
    statuses: list[RuleStatus] = []
    for rule in wanted:
        if not tools.budget.has(1):
            statuses.append(RuleStatus(rule, is_decided=False))
            continue
        part = tools._replace(budget=tools.budget.part(RULE_STEPS))
        statuses.append(status_of(part, ranked, rule, exact=False))
    return statuses
