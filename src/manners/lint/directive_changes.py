"""Lines that decide no verdict and differ between two files: delays, sitemaps, signals."""

from collections.abc import Iterator
from typing import Any, NamedTuple

from manners._text import count, cut, printable
from manners.lint.impact.agents import AgentIndex, TooManyAgents
from manners.robots.agents import WILDCARD
from manners.robots.directives import TIMED
from manners.robots.policy import Robots

_SHOWN = 3
_LENGTH = 200


class DirectiveChange(NamedTuple):
    """The values of one directive that a file has for some agents and the other has not.

    >>> print(DirectiveChange("crawl-delay", ("*",), removed=("2",), added=("10",)))
    crawl-delay for everybody: 10 instead of 2
    """

    name: str
    agents: tuple[str, ...]
    """For whom; empty for a directive of the file, such as a sitemap."""
    removed: tuple[str, ...]
    added: tuple[str, ...]

    def __str__(self) -> str:
        agents = ", ".join("everybody" if key == WILDCARD else key for key in self.agents[:_SHOWN])
        more = f" and {len(self.agents) - _SHOWN} more" if len(self.agents) > _SHOWN else ""
        agents_part = f" for {agents}{more}" if agents else ""
        removed, added = _values(self.removed), _values(self.added)
        if removed and added:
            what = f"{added} instead of {removed}"
        else:
            what = f"added {added}" if added else f"removed {removed}"
        return printable(f"{self.name}{agents_part}: {what}")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            name: value if name == "name" else list(value) for name, value in self._asdict().items()
        }


def _values(values: tuple[str, ...]) -> str:
    if len(values) > _SHOWN:
        return f"{count(len(values), 'value')}, such as {cut(values[0], _LENGTH)}"
    return ", ".join(cut(value, _LENGTH) or "nothing" for value in values)


def changed_directives(before: Robots, after: Robots) -> Iterator[DirectiveChange]:
    """What each directive says in one file only, delays first: those are asked for each agent."""
    yield from _changed_delays(before, after)
    old, new = _values_by_directive(before), _values_by_directive(after)
    for name, agents in dict.fromkeys((*old, *new)):
        one, two = old.get((name, agents), {}), new.get((name, agents), {})
        removed, added = _without(one, two), _without(two, one)
        if removed or added:
            yield DirectiveChange(name, agents, removed, added)


def _changed_delays(before: Robots, after: Robots) -> Iterator[DirectiveChange]:
    """Crawl-delay, Request-rate and Visit-time by agent: agents with the same change together."""
    try:
        one, two = AgentIndex(before), AgentIndex(after)
    except TooManyAgents:
        return
    agents: dict[tuple[str, tuple[str, ...], tuple[str, ...]], list[str]] = {}
    for agent in dict.fromkeys((WILDCARD, *one.names, *two.names)):
        for change in _delays_between(one.delays(agent), two.delays(agent)):
            agents.setdefault(change, []).append(agent)
    for (name, removed, added), names in agents.items():
        yield DirectiveChange(name, tuple(names), removed, added)


def differing_delays(robots: Robots, one: str, other: str) -> Iterator[DirectiveChange]:
    """What one agent is asked for, and another is not: delays, rates and hours."""
    try:
        index = AgentIndex(robots)
    except TooManyAgents:
        return
    for name, removed, added in _delays_between(index.delays(one), index.delays(other)):
        yield DirectiveChange(name, (other,), removed, added)


def _delays_between(
    old: frozenset[tuple[str, str]], new: frozenset[tuple[str, str]]
) -> Iterator[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    for name in TIMED if old != new else ():
        removed = tuple(sorted(value for key, value in old - new if key == name))
        added = tuple(sorted(value for key, value in new - old if key == name))
        if removed or added:
            yield name, removed, added


def _values_by_directive(robots: Robots) -> dict[tuple[str, tuple[str, ...]], dict[str, None]]:
    """The values of all other directives, by name and the agents of their group."""
    found: dict[tuple[str, tuple[str, ...]], dict[str, None]] = {}
    of_groups: set[int] = set()
    for group in robots.groups:
        keys = (robots.dialect.agent_key(agent) for agent in group.agents)
        agents = tuple(dict.fromkeys(key for key in keys if key is not None))
        for directive in group.directives:
            of_groups.add(directive.line)
            if directive.name not in TIMED:
                found.setdefault((directive.name, agents), {})[directive.written] = None
    for directive in robots.directives:
        if directive.line not in of_groups and directive.name not in TIMED:
            found.setdefault((directive.name, ()), {})[directive.written] = None
    return found


def _without(values: dict[str, None], known: dict[str, None]) -> tuple[str, ...]:
    return tuple(value for value in values if value not in known)
