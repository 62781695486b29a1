"""What a change of robots.txt does, proved for every path by automata.

`compare` says of two parsed files whether an agent gets the same verdict on every path, or names
the shortest path on which it does not, in each direction. `examine` says of every rule whether it
ever decides and whether it matters. Beyond a budget of steps, the same on every machine, the answer
is "not decided", which never counts as equal.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from manners.lint.impact.agents import TooManyAgents, classes, contents
from manners.lint.impact.automata import Automata
from manners.lint.impact.comparing import differing_path, differing_paths
from manners.lint.impact.examples import Witness, varied
from manners.lint.impact.redundancy import RuleStatus, droppable, status_of
from manners.lint.impact.rule_list import RuleList
from manners.lint.impact.searching import OutOfSteps, SearchTools, StepBudget
from manners.lint.impact.spaces import PathSpace, space_of
from manners.robots.dialects import Dialect
from manners.robots.groups import Rule
from manners.robots.policy import Policy, Robots
from manners.robots.verdict import Verdict

__all__ = [
    "STEPS",
    "AgentImpact",
    "Impact",
    "RuleStatus",
    "Witness",
    "compare",
    "compare_agents",
    "compare_policies",
    "examine",
    "minimise",
]

STEPS = 2_000_000
"""Steps of automata for each direction of a comparison: about a second."""
_RULE_STEPS = 500_000
"""Steps for the questions about one rule."""
_GROUPS_A_STEP = 16
"""Groups that the engine looks at in the time of a step."""
_SITE = "https://example.com"


class Impact(NamedTuple):
    """What changes for an agent between two files.

    >>> from manners import parse
    >>> old = parse("User-agent: *\\nDisallow: /shop/")
    >>> new = parse("User-agent: *\\nDisallow: /shop/\\nAllow: /shop/*.html$")
    >>> compare(old, new).opened.path
    '/shop/.html'
    """

    is_equal: bool | None
    """Whether all verdicts are the same; None if that is not decided within the budget."""
    opened: Witness | None = None
    """The shortest path that was disallowed and is allowed."""
    closed: Witness | None = None
    """The shortest path that was allowed and is disallowed."""
    is_shortest: bool = True
    """False: the budget was used up. What was found is real, but there may be a shorter path, or
    one in the direction in which none was found."""
    more_opened: tuple[Witness, ...] = ()
    """Further examples, different in kind, if they were asked for."""
    more_closed: tuple[Witness, ...] = ()


class AgentImpact(NamedTuple):
    """What changes for a class of agents: those for whom both files say the same.

    They may be in several groups that say so. Deciding rules are those of the first agent.
    """

    agents: tuple[str, ...]
    """Their names as the file has them; `*` stands for everybody whom neither file names."""
    impact: Impact


def compare(before: Robots, after: Robots, agent: str = "*", steps: int = STEPS) -> Impact:
    """What changes for an agent between two files, which may be read by two dialects.

    >>> from manners import parse
    >>> compare(parse("User-agent: *\\nDisallow: /a\\nDisallow: /a/b"), parse(
    ...     "User-agent: *\\nDisallow: /a")).is_equal
    True
    """
    return compare_policies(before.policy(agent), after.policy(agent), steps)


def compare_policies(
    before: Policy, after: Policy, steps: int = STEPS, *, examples: int = 0
) -> Impact:
    """What one policy allows and another does not: two files, two agents, or two dialects."""
    old, new = (
        _Side(policy.robots, policy.agents, _rules_of(policy)) for policy in (before, after)
    )
    comparison = _Comparison(old, new, Automata(), steps)
    return comparison.with_examples(comparison.impact(), examples)


def compare_agents(  # noqa: PLR0913 (the last two are for those who show it to people)
    before: Robots,
    after: Robots,
    steps: int = STEPS,
    budget: StepBudget | None = None,
    *,
    examples: int = 0,
    names: Sequence[str] = (),
) -> list[AgentImpact]:
    """For each class of agents whose verdicts differ, or are not decided: what changes.

    Classes are made of the agents that either file names, of `names`, and of everybody else.
    `steps` are for each class and direction; all together take no more than `budget` has, if there
    is one. `examples` is how many are looked for in each direction.
    """
    automata = Automata()
    try:
        found = list(classes(before, after, names))
    except TooManyAgents:
        return [AgentImpact(("*",), Impact(None, is_shortest=False))]
    impacts: list[AgentImpact] = []
    for agents, old, new in found:
        if before.dialect is after.dialect and contents(old) == contents(new):
            continue
        sides = _Side(before, agents[0], old), _Side(after, agents[0], new)
        comparison = _Comparison(*sides, automata, steps, budget)
        impact = comparison.impact()
        if not impact.is_equal:
            impacts.append(AgentImpact(agents, comparison.with_examples(impact, examples)))
    return impacts


def examine(policy: Policy, steps: int = _RULE_STEPS, exact: bool = False) -> list[RuleStatus]:
    """Every rule of a policy, in file order: does it ever decide, and does it matter?

    With `exact`, the paths are the shortest ones, which takes longer. `steps` are for each rule.

    >>> from manners import parse
    >>> policy = parse("User-agent: *\\nDisallow: /\\nAllow: /\\nDisallow: /a").policy("x")
    >>> [status.decides for status in examine(policy)]
    [None, '/', '/a']
    """
    rules = _rules_of(policy)
    space = space_of(policy.robots.dialect)
    if space is None:
        return [RuleStatus(rule, is_decided=False) for rule in rules]
    automata = Automata()
    ranked = RuleList.of(rules, policy.robots.dialect, automata)
    return [
        status_of(SearchTools(automata, space, StepBudget(steps)), ranked, rule, exact)
        for rule in rules
    ]


def minimise(policy: Policy, steps: int = _RULE_STEPS) -> list[Rule]:
    """Rules that can be dropped, all together, and no verdict changes; of the rest, none can.

    >>> from manners import parse
    >>> policy = parse("User-agent: *\\nDisallow: /a\\nDisallow: /a/b\\nAllow: /c").policy("x")
    >>> [rule.pattern for rule in minimise(policy)]
    ['/a/b', '/c']
    """
    dialect = policy.robots.dialect
    space = space_of(dialect)
    if space is None:
        return []
    automata = Automata()
    rules = _rules_of(policy)
    tools = SearchTools(automata, space, StepBudget(steps * max(1, len(rules))))
    dropped = droppable(tools, RuleList.of(rules, dialect, automata), steps)
    return sorted(dropped, key=lambda rule: rule.line)


def _rules_of(policy: Policy) -> tuple[Rule, ...]:
    return () if policy.too_many_rules else policy.rules


def _space(one: Dialect, other: Dialect) -> PathSpace | None:
    """The paths that two dialects read alike."""
    spaces = space_of(one), space_of(other)
    return None if spaces[0] is None or spaces[1] is None else spaces[0] & spaces[1]


class _Side(NamedTuple):
    """One of two things that are compared: a file, an agent, and the rules it has there."""

    robots: Robots
    agent: str | Sequence[str]
    rules: tuple[Rule, ...]

    def check(self, path: str) -> Verdict:
        """What the engine itself says."""
        return self.robots.check(_SITE + path, self.agent)


class _Comparison(NamedTuple):
    """Two files to be compared, each for one agent."""

    before: _Side
    after: _Side
    automata: Automata
    steps: int
    budget: StepBudget | None = None
    """What all comparisons of a caller share."""

    @property
    def space(self) -> PathSpace | None:
        """The paths that both dialects read alike."""
        return _space(self.before.robots.dialect, self.after.robots.dialect)

    def lists(self) -> tuple[RuleList, RuleList]:
        """The rules, ranked."""
        sides = self.before, self.after
        one, two = (RuleList.of(side.rules, side.robots.dialect, self.automata) for side in sides)
        return one, two

    def with_examples(self, impact: Impact, most: int) -> Impact:
        """The impact with paths of other kinds, so that there are so many in each direction."""
        opened, closed = (
            varied((witness, *self._witnesses(witness, was_allowed)), most)[1:]
            if witness is not None and most > 1
            else ()
            for witness, was_allowed in ((impact.opened, False), (impact.closed, True))
        )
        return impact._replace(more_opened=opened, more_closed=closed)

    def _witnesses(self, first: Witness, was_allowed: bool) -> Iterator[Witness]:
        """One witness for each pair of deciding rules, as far as the steps go."""
        space = self.space
        if space is None:
            return
        tools = SearchTools(self.automata, space, StepBudget(self.steps, self.budget))
        try:
            for path in differing_paths(tools, *self.lists(), was_allowed):
                if not self._may_ask():
                    return
                witness = self._witness(path, was_allowed)
                if witness is not None and witness.path != first.path:
                    yield witness
        except OutOfSteps:
            return

    def impact(self) -> Impact:
        """What changes."""
        space = self.space
        if space is None:
            return Impact(None, is_shortest=False)
        one, two = self.lists()
        witnesses: list[Witness | None] = []
        is_complete = True
        for was_allowed in (False, True):
            found: list[str] = []
            tools = SearchTools(self.automata, space, StepBudget(self.steps, self.budget))
            try:
                differing_path(tools, one, two, was_allowed, found)
            except OutOfSteps:
                is_complete = False
            witness = self._witness(found[-1], was_allowed) if found and self._may_ask() else None
            # The engine itself has the last word; if it does not agree, nothing is proved.
            is_complete = is_complete and (witness is not None or not found)
            witnesses.append(witness)
        opened, closed = witnesses
        if opened is not None or closed is not None:
            return Impact(False, opened, closed, is_complete)
        return Impact(True if is_complete else None, is_shortest=is_complete)

    def _may_ask(self) -> bool:
        """Whether the engine may look for an agent among all groups once more.

        In a file with thousands of groups that are all different, that costs more than the search.
        """
        groups = len(self.before.robots.groups) + len(self.after.robots.groups)
        return self.budget is None or self.budget.has(1 + groups // _GROUPS_A_STEP)

    def _witness(self, path: str, was_allowed: bool) -> Witness | None:
        """A path and its deciding rules, as the engine has them."""
        old, new = self.before.check(path), self.after.check(path)
        if old.allowed != was_allowed or new.allowed == was_allowed:
            return None
        return Witness(path, old.rule, new.rule)
