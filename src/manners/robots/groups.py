"""From lines to groups: User-agent lines, with the rules and directives that belong to them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from manners.robots.agents import specificity
from manners.robots.directives import BY_NAME, RULES, TIMED, Value

if TYPE_CHECKING:
    from manners.robots.dialects import Dialect
    from manners.robots.lines import Line


class Rule(NamedTuple):
    """One Allow or Disallow line.

    >>> Rule(allow=False, pattern="/private/", line=3, text="Disallow: /private/").allow
    False
    """

    allow: bool
    pattern: str
    """The path pattern, normalised as the dialect says."""
    line: int = 0
    """The number of the line, counted from 1."""
    text: str = ""
    """The line as written."""


class Directive(NamedTuple):
    """One line that is neither User-agent nor a rule: Crawl-delay, Sitemap, or any other.

    >>> Directive("crawl-delay", 2.5, line=4, text="Crawl-delay: 2.5").value
    2.5
    """

    name: str
    """The name in the directive table, or the key in lower case where it is unknown."""
    value: Value | None
    """The parsed value; None when it is invalid."""
    line: int = 0
    text: str = ""
    written: str = ""
    """The value as the file writes it."""
    agents: tuple[str, ...] = ()
    """The User-agent values directly above, for a directive that belongs to them."""


class Sitemap(NamedTuple):
    """One Sitemap line; it belongs to the file, not to a group.

    >>> Sitemap("https://example.com/sitemap.xml", line=5).line
    5
    """

    url: str
    line: int = 0


@dataclass(frozen=True, slots=True)
class Group:
    """User-agent lines and the rules that follow them (RFC 9309 section 2.1).

    >>> group = Group(("googlebot", "*"), (Rule(False, "/tmp/"), Rule(True, "/tmp/a")))
    >>> group.disallows, group.allows, group.specificity
    (('/tmp/',), ('/tmp/a',), 3)
    """

    agents: tuple[str, ...]
    """The User-agent values as the file writes them."""
    rules: tuple[Rule, ...] = ()
    directives: tuple[Directive, ...] = ()
    """The other lines of the group that are for its agents."""
    line: int = 0
    """The number of its first line."""

    @property
    def allows(self) -> tuple[str, ...]:
        """The patterns of its Allow rules."""
        return tuple(rule.pattern for rule in self.rules if rule.allow)

    @property
    def disallows(self) -> tuple[str, ...]:
        """The patterns of its Disallow rules."""
        return tuple(rule.pattern for rule in self.rules if not rule.allow)

    @property
    def specificity(self) -> int:
        """That of its most specific agent: 3 a name, 2 a pattern, 1 `*`."""
        return max(map(specificity, self.agents), default=0)


@dataclass(slots=True)
class _OpenGroup:
    line: int
    agents: list[str] = field(default_factory=list)
    rules: list[Rule] = field(default_factory=list)
    directives: list[Directive] = field(default_factory=list)
    has_rule_line: bool = False
    """A rule line was read, even one that is dropped: the next User-agent starts a new group."""
    run_start: int = 0
    """Where the last consecutive User-agent values begin: timed directives belong to these."""
    run_ended: bool = False
    _above: tuple[str, ...] | None = None

    def add_agent(self, name: str) -> None:
        if self.run_ended:
            self.run_start = len(self.agents)
        self.run_ended = False
        self._above = None
        self.agents.append(name)

    def above(self) -> tuple[str, ...]:
        """The last consecutive User-agent values; one tuple, shared by all directives below."""
        if self._above is None:
            self._above = tuple(self.agents[self.run_start :])
        return self._above

    def closed(self) -> Group:
        return Group(tuple(self.agents), tuple(self.rules), tuple(self.directives), self.line)


class Gathered(NamedTuple):
    """The groups and directives of a file."""

    groups: tuple[Group, ...]
    directives: tuple[Directive, ...]
    rule_lines: int
    """Allow and Disallow lines with a value, in a group or not."""


def gather(lines: "Iterable[Line]", dialect: "Dialect") -> Gathered:
    """All groups of a file, and all its directives, in file order.

    Sitemaps and unknown lines never end a group: RFC 9309 section 2.2.4, "Parsing of other
    records MUST NOT interfere with the parsing of explicitly defined records".
    """
    groups: list[_OpenGroup] = []
    directives: list[Directive] = []
    current: _OpenGroup | None = None
    agent_seen = False
    rule_lines = 0
    for line in lines:
        if line.kind == "user-agent":
            agent_seen = True
            if current is None or current.has_rule_line or dialect.record_end == "agent":
                current = _OpenGroup(line.number)
                groups.append(current)
            current.add_agent(line.value)
        elif line.kind in RULES:
            rule_lines += line.value != ""
            if current is None:
                if agent_seen or dialect.rules_without_agent == "nobody":
                    continue
                current = _OpenGroup(line.number, agents=["*"])
                groups.append(current)
            current.has_rule_line = current.run_ended = True
            if line.pattern is not None and (line.pattern or dialect.empty_rule == "allows"):
                rule = Rule(line.kind == "allow", line.pattern, line.number, line.text)
                current.rules.append(rule)
        elif line.kind == "blank":
            if dialect.record_end != "rule":
                current = None
        elif line.key:
            directive = _directive(line, current)
            directives.append(directive)
            if current is not None and _scope(line.kind) == "group":
                current.directives.append(directive)
                current.run_ended |= line.kind in TIMED
    closed = tuple(group.closed() for group in groups)
    return Gathered(closed, tuple(directives), rule_lines)


def _scope(kind: str) -> str:
    return BY_NAME[kind].scope if kind in BY_NAME else "group"


def _directive(line: "Line", current: _OpenGroup | None) -> Directive:
    if line.kind not in BY_NAME:
        return Directive(line.key.lower(), line.value, line.number, line.text, line.value)
    agents = current.above() if current is not None and line.kind in TIMED else ()
    value = BY_NAME[line.kind].read(line.value)
    return Directive(line.kind, value, line.number, line.text, line.value, agents)
