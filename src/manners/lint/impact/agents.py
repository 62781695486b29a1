"""Agents in classes: all agents with the same rules are one question, not many."""

import string
from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from manners.robots.agents import WILDCARD, by_name, by_specificity
from manners.robots.directives import TIMED
from manners.robots.groups import Group, Rule
from manners.robots.policy import Robots

_MAX_CHOICES = 2_000_000
"""Groups times names, for dialects that compare parts of names: beyond, it is not decided."""

_LETTERS = string.ascii_lowercase + string.digits
"""What names are made of that no file has."""


class TooManyAgents(Exception):
    """A file names too many agents for a dialect that compares parts of their names."""


class AgentIndex:
    """The rules of every agent of a file, found by name without looking at every group.

    >>> from manners.robots.policy import parse
    >>> index = AgentIndex(parse("User-agent: a\\nUser-agent: b\\nDisallow: /"))
    >>> index.names, len(index.rules("b")), len(index.rules("c"))
    (['a', 'b'], 1, 0)
    """

    def __init__(self, robots: Robots) -> None:
        self._robots = robots
        self._dialect = dialect = robots.dialect
        self._groups = () if robots.too_many_rules else robots.groups
        self._by_key: dict[str, list[Group]] = {}
        for group in self._groups:
            for key in dict.fromkeys(dialect.agent_key(name) for name in group.agents):
                if key is not None:
                    self._by_key.setdefault(key, []).append(group)
        self._is_by_name = dialect.select in (by_name, by_specificity)
        self.names = [key for key in self._by_key if key != WILDCARD]
        """The agents that the file names, as the dialect compares them."""
        if not self._is_by_name and len(self.names) * len(self._groups) > _MAX_CHOICES:
            raise TooManyAgents
        self._stranger = "" if self._is_by_name else stranger(self.names)

    def joint_names(self) -> Iterator[str]:
        """Names that contain two of the file's, where a part of a name is enough.

        Which of the two counts is decided by their order or their length, so such an agent may be
        in a class of its own. Three names bring nothing new: one of them counts.
        """
        if self._is_by_name:
            return
        number = len(self.names)
        if number * (number - 1) // 2 * len(self._groups) > _MAX_CHOICES:
            raise TooManyAgents
        for one, other in combinations(self.names, 2):
            yield one + self._stranger + other

    def rules(self, name: str) -> tuple[Rule, ...]:
        """The rules for an agent, as `Policy.rules`; `*` is an agent that no group names."""
        return tuple(rule for group in self.groups(name) for rule in group.rules)

    def groups(self, name: str) -> list[Group]:
        """The groups for an agent, as `Policy.choice` has them."""
        dialect = self._dialect
        if not self._is_by_name:
            wanted = self._stranger if name == WILDCARD else name
            return list(dialect.select(self._groups, (wanted,), dialect).groups)
        own = dialect.own_key(name) if name != WILDCARD else None
        found = self._by_key.get(own, []) if own is not None and own != WILDCARD else []
        if not found or (dialect.empty_section_falls_back and not any(g.rules for g in found)):
            return self._by_key.get(WILDCARD, [])
        return found

    def delays(self, name: str) -> frozenset[tuple[str, str]]:
        """Names and values of the lines that say how fast and when an agent may come."""
        dialect, groups = self._dialect, self.groups(name)
        own = dialect.own_key(name) if name != WILDCARD else WILDCARD
        keys = {key for group in groups for key in map(dialect.agent_key, group.agents)}
        wanted = {own} if own in keys else {WILDCARD} if self._is_by_name else keys
        return frozenset(
            (directive.name, directive.written)
            for group in groups
            for directive in group.directives
            if directive.name in TIMED and wanted & set(map(dialect.agent_key, directive.agents))
        )


class AgentClass(NamedTuple):
    """Agents for whom two files say the same, each before and after."""

    agents: tuple[str, ...]
    before: tuple[Rule, ...]
    after: tuple[Rule, ...]


def classes(before: Robots, after: Robots, names: Iterable[str] = ()) -> Iterator[AgentClass]:
    """Every agent that one of two files names, and `*` for all others, by what they may fetch.

    `names` are agents that count even if no file names them. Classes come in the order of the
    files; those with the same rules before and after do, too.
    """
    one, two = AgentIndex(before), AgentIndex(after)
    texts = _Contents()
    found: dict[tuple[int, int], tuple[list[str], list[Group], list[Group]]] = {}
    for name in dict.fromkeys((*one.names, *two.names, WILDCARD, *names)):
        old, new = one.groups(name), two.groups(name)
        key = texts.number(old), texts.number(new)
        found.setdefault(key, ([], old, new))[0].append(name)
    for agents, old, new in found.values():
        yield AgentClass(tuple(agents), _rules(old), _rules(new))


def stranger(names: Sequence[str]) -> str:
    """A name of which no given name is a part, and which is no part of one; but for the empty one.

    >>> stranger(["a", "xbbx", "ccc"])
    'bbbbb'
    """
    taken, length = set(names), max(map(len, names), default=0) + 1
    for character in _LETTERS:
        if all(character * count not in taken for count in range(1, length)):
            return character * length
    raise TooManyAgents


class _Contents:
    """Numbers for lists of rules: one number for all that say the same in the same order."""

    def __init__(self) -> None:
        self._by_groups: dict[tuple[int, ...], int] = {}
        self._by_rules: dict[tuple[tuple[bool, str], ...], int] = {}

    def number(self, groups: list[Group]) -> int:
        ids = tuple(map(id, groups))
        found = self._by_groups.get(ids)
        if found is None:
            content = contents(_rules(groups))
            found = self._by_rules.setdefault(content, len(self._by_rules))
            self._by_groups[ids] = found
        return found


def contents(rules: Iterable[Rule]) -> tuple[tuple[bool, str], ...]:
    """What rules say, without where they stand."""
    return tuple((rule.allow, rule.pattern) for rule in rules)


def _rules(groups: list[Group]) -> tuple[Rule, ...]:
    return tuple(rule for group in groups for rule in group.rules)
