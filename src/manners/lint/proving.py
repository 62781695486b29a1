"""Proving that an edit of a robots.txt changes nothing, for anybody, in any engine asked for."""

from collections.abc import Iterable

from manners.lint.agent_signals import signals_differ
from manners.lint.impact import compare_agents
from manners.lint.impact.agents import AgentIndex, TooManyAgents
from manners.lint.impact.searching import StepBudget
from manners.robots.agents import WILDCARD
from manners.robots.dialects import get
from manners.robots.directives import BY_NAME, TIMED
from manners.robots.policy import Robots, parse

STEPS = 300_000
"""Steps of automata for each class of agents; beyond, nothing is proved."""


def unchanged(
    before: bytes,
    after: bytes,
    engines: Iterable[str],
    url: str | None = None,
    budget: StepBudget | None = None,
) -> bool:
    """Whether two files are proved to mean the same.

    Every agent gets the same verdict on every path in each engine; delays, sitemaps and all other
    directives are the same, and for the same agents. What is not decided is not proved, nor is
    anything once a `budget` that several proofs share is used up.

    >>> unchanged(b"User-agent: *\\nDisallow: /a*", b"User-agent: *\\nDisallow: /a", ["rfc9309"])
    True
    """
    if before == after:
        return True
    for engine in engines:
        if budget is not None and not budget.has(len(before)):  # for reading the files
            return False
        old, new = (parse(body, get(engine), url) for body in (before, after))
        if old.truncated != new.truncated or _directives(old) != _directives(new):
            return False
        if _delays_differ(old, new) or signals_differ(old, new):
            return False
        if _verdicts_differ(old, new, budget):
            return False
    return True


def _verdicts_differ(old: Robots, new: Robots, budget: StepBudget | None) -> bool:
    """Whether some agent gets another verdict on some path, or that is not decided."""
    try:
        names = [*AgentIndex(old).joint_names(), *AgentIndex(new).joint_names()]
    except TooManyAgents:
        return True
    return bool(compare_agents(old, new, STEPS, budget, names=names))


def _delays_differ(old: Robots, new: Robots) -> bool:
    """Whether some agent is asked to come otherwise than before."""
    if not any(directive.name in TIMED for directive in (*old.directives, *new.directives)):
        return False
    try:
        one, two = AgentIndex(old), AgentIndex(new)
    except TooManyAgents:
        return True
    names = {*one.names, *two.names, WILDCARD}
    return any(one.delays(name) != two.delays(name) for name in names)


def _directives(robots: Robots) -> set[tuple[object, ...]]:
    """Every directive but rules, and the agents it is for."""
    dialect = robots.dialect
    found: set[tuple[object, ...]] = {
        (directive.name, directive.written)
        for directive in robots.directives
        if directive.name in BY_NAME and BY_NAME[directive.name].scope == "file"
    }
    for group in robots.groups:
        keys = frozenset(map(dialect.agent_key, group.agents))
        for directive in group.directives:
            timed = frozenset(map(dialect.agent_key, directive.agents))
            found.add((directive.name, directive.written, timed or keys))
    return found
