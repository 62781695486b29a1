"""The lines of a robots.txt that carry signals, with the User-agent lines they are for.

Allow and Disallow keep the groups of RFC 9309, where only they end a run of User-agent lines. For
AIPREF, a Content-Usage line is a rule and ends one, too (draft-ietf-aipref-attach section 3). So a
signal belongs to the User-agent lines directly above it, whatever a crawler without the
extension makes of the same lines.
"""

from functools import lru_cache
from typing import NamedTuple

from manners._text import to_bytes
from manners.robots.dialects import Dialect
from manners.robots.directives import RULES
from manners.robots.groups import Rule
from manners.robots.lines import read_lines
from manners.robots.patterns import RuleSet
from manners.robots.policy import Policy, Robots
from manners.signals.claims import Citation, Confidence
from manners.urls import match_path

RULE_KEYS = frozenset(("content-usage", "content-signal", "disallowaitraining", "allowaitraining"))
"""Signals that end a run of User-agent lines; a License line does not."""
KEYS = RULE_KEYS | {"license"}
MAX_LINES = 10_000
"""Signals of one file that are read."""


class SignalLine(NamedTuple):
    """One line with a signal."""

    key: str
    value: str
    number: int
    text: str
    agents: tuple[str, ...] = ()
    """The User-agent lines directly above; none for a line outside any group, or for License."""
    group: int = -1
    """The number of its group as RFC 9309 has them; -1 before the first."""
    is_last: bool = False
    """Whether it stands behind a blank line with no rule and no User-agent line below."""

    def citation(self, url: str, path: str = "", confidence: Confidence = "high") -> Citation:
        """Where it stands, in the robots.txt of this URL."""
        group = ", ".join(self.agents[:_MAX_SHOWN])
        return Citation("robots.txt", url, self.text, self.number, group, path, confidence)


_MAX_SHOWN = 5


class SignalLines:
    """The signals of a file, and the groups that they stand in.

    >>> from manners import parse
    >>> lines = SignalLines(parse("User-agent: a\\nContent-Usage: search=n\\nUser-agent: b"))
    >>> [(line.key, line.agents) for line in lines.lines]
    [('content-usage', ('a',))]
    """

    def __init__(self, robots: Robots) -> None:
        self.lines: list[SignalLine] = []
        self.groups: list[tuple[str, ...]] = []
        """The User-agent values of each group."""
        run: list[str] = []
        above: tuple[str, ...] | None = ()  # the run; one tuple, shared by all signals below
        group: list[str] = []
        run_is_over = group_is_over = True
        is_after_blank, tail = False, 0
        for line in read_lines(robots.body, robots.dialect, robots.url):
            key = line.key.lower() if line.kind == "unknown" else line.kind
            if key == "user-agent":
                if group_is_over:
                    self.groups.append(tuple(group))
                    group, group_is_over = [], False
                if run_is_over:
                    run = []
                run.append(line.value)
                above = None
                group.append(line.value)
                run_is_over = is_after_blank = False
                tail = len(self.lines)
            elif key in RULES:
                run_is_over = group_is_over = True
                is_after_blank, tail = False, len(self.lines)
            elif key == "blank":
                is_after_blank = True
            elif key in KEYS and len(self.lines) < MAX_LINES:
                agents: tuple[str, ...] = ()
                if key in RULE_KEYS:  # a License line leaves the run open, and needs none
                    run_is_over = True
                    above = agents = tuple(run) if above is None else above
                number = len(self.groups) - 1 if group else -1
                is_last = is_after_blank and number >= 0
                self.lines.append(
                    SignalLine(key, line.value, line.number, line.text, agents, number, is_last)
                )
        self.groups = [*self.groups[1:], tuple(group)]
        self.lines = [
            line._replace(is_last=line.is_last and place >= tail)
            for place, line in enumerate(self.lines)
        ]


@lru_cache(maxsize=64)
def signal_lines(robots: Robots) -> SignalLines:
    """The signals of a file; those of the last few files are kept, since a site has many pages."""
    return SignalLines(robots)


class AgentLines:
    """The signals of a file that are for one agent."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._all = signal_lines(policy.robots)
        self._is_meant: dict[int, bool] = {}

    def _names_agent(self, agents: tuple[str, ...]) -> bool:
        # By identity: lines below the same User-agent lines share one tuple, which may be long.
        meant = self._is_meant.get(id(agents))
        if meant is None:
            key, keys = self._policy.robots.dialect.agent_key, self._policy.choice.keys
            meant = self._is_meant[id(agents)] = any(key(name) in keys for name in agents)
        return meant

    def of(self, *keys: str) -> list[SignalLine]:
        """Lines of the agent's own groups, or of those for `*` where it has none."""
        return [
            line for line in self._all.lines if line.key in keys and self._names_agent(line.agents)
        ]

    def outside(self, *keys: str) -> list[SignalLine]:
        """Lines before the first User-agent line."""
        return [line for line in self._all.lines if line.key in keys and line.group < 0]

    def of_group(self, key: str) -> list[SignalLine]:
        """Lines of the agent's groups as RFC 9309 has them."""
        return [
            line
            for line in self._all.lines
            if line.key == key
            and line.group >= 0
            and self._names_agent(self._all.groups[line.group])
        ]

    def at_end(self, key: str) -> list[SignalLine]:
        """Lines at the end of the file, set off by a blank line: meant for everybody."""
        return [line for line in self._all.lines if line.key == key and line.is_last]


class UrlPath:
    """The path of a URL, to be matched with patterns by the engine's own rules."""

    def __init__(self, url: str, dialect: Dialect) -> None:
        # The rules that `index_html` adds belong to Allow.
        self._dialect = dialect.but(index_html=False) if dialect.index_html else dialect
        self._path = self._dialect.normalise_path(match_path(url))

    def length(self, pattern: str) -> int:
        """How long a pattern is that matches, in octets as the engine counts them; else -1."""
        normalised = self._dialect.normalise_pattern(to_bytes(pattern), None)
        if not normalised:
            return -1
        rule = Rule(allow=False, pattern=normalised.decode("utf-8", "surrogateescape"))
        return len(normalised) if RuleSet([rule], self._dialect).best(self._path) else -1
