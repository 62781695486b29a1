"""The signals that a robots.txt has for each agent, and what a change of them is, in answers.

Whether two files say the same is compared line by line, for a linter that moves lines. For people,
the answer for each purpose is asked before and after: everywhere, and at a path of each pattern.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from manners._text import count, cut, printable
from manners.lint.data.known_crawlers import SPELLING
from manners.lint.impact.agents import AgentIndex, TooManyAgents
from manners.robots.agents import WILDCARD
from manners.robots.policy import Robots
from manners.signals import POLICY_TOKENS, Purpose, usage
from manners.signals.claims import Answer, Usage
from manners.signals.readers.content_usage import usage_rule
from manners.signals.robots_lines import KEYS, RULE_KEYS, AgentLines, SignalLine, signal_lines

MAX_CHOICES = 1_000_000
"""Agents times groups that are looked at; beyond, what they are told is not compared."""
MAX_CLASSES = 50
"""Kinds of agents whose answers are asked for."""
MAX_PATHS = 20
"""Paths that answers are asked for, for each kind."""

_SITE = "https://example.com"
_NAMES = 3
_SHOWN = 60
_WORDS: dict[Purpose, str] = {
    "search": "search",
    "archive": "archives",
    "ai-input": "input to AI",
    "ai-index": "AI indexes",
    "ai-train": "AI training",
    "tdm": "text and data mining",
}
"""What a robots.txt can speak of, in words."""
_ANSWERS: dict[Answer, str] = {"yes": "allowed", "no": "refused", "unknown": "unknown"}

AgentSignals = frozenset[tuple[str, str, str]]
"""Key, value and scope of each signal for an agent."""


class SignalChange(NamedTuple):
    """What changes for one purpose, for some agents and paths.

    >>> print(SignalChange("ai-train", "yes", "no", ("*",), True, ("/",), True))
    AI training: was allowed, is refused, for everybody
    """

    purpose: Purpose
    before: Answer
    after: Answer
    agents: tuple[str, ...]
    """Those that a file names, or that a token governs; `*` is everybody whom neither names."""
    is_for_all: bool
    """Whether these are all agents."""
    paths: tuple[str, ...]
    """Of the paths that were asked for: those where it changes."""
    is_everywhere: bool
    """Whether these are all that were asked for."""

    def __str__(self) -> str:
        what = f"{_WORDS.get(self.purpose, self.purpose)}: was {_ANSWERS[self.before]}"
        text = f"{what}, is {_ANSWERS[self.after]}, for {self._who()}"
        return text if self.is_everywhere else f"{text}, {self._where()}"

    def _who(self) -> str:
        if WILDCARD in self.agents:
            return "everybody" if self.is_for_all else "everybody else"
        names = [printable(cut(SPELLING.get(name, name), _SHOWN)) for name in self.agents[:_NAMES]]
        more = len(self.agents) - _NAMES
        names += [f"{more} more"] if more > 0 else []
        return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))

    def _where(self) -> str:
        paths = ", ".join(printable(cut(path, _SHOWN)) for path in self.paths[:_NAMES])
        more = len(self.paths) - _NAMES
        return f"at {paths}" + (f" and {count(more, 'more path')}" if more > 0 else "")

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "purpose": self.purpose,
            "before": self.before,
            "after": self.after,
            "agents": list(self.agents),
            "paths": list(self.paths),
            "everywhere": self.is_everywhere,
        }


class SignalIndex:
    """The signals of every agent of a file.

    >>> from manners.robots.policy import parse
    >>> index = SignalIndex(parse("User-agent: *\\nContent-Usage: train-ai=n\\nUser-agent: a"))
    >>> index.of("b"), index.of("a")
    (frozenset({('content-usage', 'train-ai=n', 'group')}), frozenset())
    """

    def __init__(self, robots: Robots) -> None:
        self.robots = robots
        self.lines: list[SignalLine] = signal_lines(robots).lines
        self.agents = AgentIndex(robots)
        if self.lines and len(self.agents.names) * len(robots.groups) > MAX_CHOICES:
            raise TooManyAgents

    def of(self, name: str) -> AgentSignals:
        """What the file says to an agent; `*` is one that no group names."""
        if not self.lines:
            return frozenset()
        lines = AgentLines(self.robots.policy(name))
        scopes = (
            ("group", lines.of(*RULE_KEYS)),
            ("group", lines.of_group("license")),
            ("file", lines.outside(*KEYS)),
            ("end", lines.at_end("license")),
        )
        return frozenset((line.key, line.value, scope) for scope, some in scopes for line in some)


def signals_differ(before: Robots, after: Robots) -> bool:
    """Whether some agent is told something else; also where that would take too long to say.

    >>> from manners.robots.policy import parse
    >>> old = parse("User-agent: *\\nContent-Usage: train-ai=n\\nUser-agent: a\\nDisallow:")
    >>> signals_differ(old, parse("User-agent: *\\nContent-Usage: train-ai=n"))
    True
    """
    if not signal_lines(before).lines and not signal_lines(after).lines:
        return False
    try:
        one, two = SignalIndex(before), SignalIndex(after)
    except TooManyAgents:
        return True
    names = dict.fromkeys((*one.agents.names, *two.agents.names, WILDCARD))
    return any(one.of(name) != two.of(name) for name in names)


def signal_changes(before: Robots, after: Robots) -> Iterator[SignalChange]:
    """What changes in the answer for each purpose, those for most agents first.

    Asked for "/" and for a path of each pattern, up to limits; a licence is not read. Paths that
    are closed or opened are no change of a signal.

    >>> from manners.robots.policy import parse
    >>> old = parse("User-agent: *\\nContent-Usage: train-ai=y")
    >>> for change in signal_changes(old, parse("User-agent: *\\nContent-Usage: train-ai=n")):
    ...     print(change)
    AI training: was allowed, is refused, for everybody
    """
    try:
        one, two = SignalIndex(before), SignalIndex(after)
    except TooManyAgents:
        return
    kinds = _kinds(one, two)
    if not kinds:
        return
    paths = list(dict.fromkeys(("/", *islice(_paths((*one.lines, *two.lines)), MAX_PATHS - 1))))
    found: dict[tuple[Purpose, Answer, Answer, tuple[str, ...]], list[str]] = {}
    for names in kinds[:MAX_CLASSES]:
        changed: dict[tuple[Purpose, Answer, Answer], list[str]] = {}
        for path in paths:
            for change in _between(one.robots, two.robots, names[0], path):
                changed.setdefault(change, []).append(path)
        for change, places in changed.items():
            found.setdefault((*change, tuple(places)), []).extend(names)
    total = sum(map(len, kinds))
    for (purpose, old, new, where), names in found.items():
        is_everywhere = len(where) == len(paths)
        is_for_all = len(names) == total
        yield SignalChange(purpose, old, new, tuple(names), is_for_all, where, is_everywhere)


def _kinds(one: SignalIndex, two: SignalIndex) -> list[list[str]]:
    """Agents that are told the same before, and the same after; empty if nothing differs at all.

    `*` is with the first.
    """
    tokens = [token for token in POLICY_TOKENS if _names_token((one, two), token.token)]
    if not one.lines and not two.lines and not tokens:
        return []
    governed = [name.lower() for token in tokens for name in token.crawlers]
    names = dict.fromkeys((WILDCARD, *one.agents.names, *two.agents.names, *governed))
    silent = {token.token.lower() for token in tokens}
    kinds: dict[tuple[object, ...], list[str]] = {}
    for name in names:
        if name in silent:
            continue
        groups = (tuple(map(id, index.agents.groups(name))) for index in (one, two))
        own = tuple(token for token in tokens if name in map(str.lower, token.crawlers))
        kinds.setdefault((*groups, own), []).append(name)
    return list(kinds.values())


def _names_token(indexes: tuple[SignalIndex, ...], token: str) -> bool:
    return any(token.lower() in index.agents.names for index in indexes)


def _paths(lines: Iterable[SignalLine]) -> Iterator[str]:
    """A path that each pattern of a signal matches."""
    for line in lines:
        pattern = usage_rule(line.value).path if line.key == "content-usage" else line.value
        if line.key.endswith("aitraining") or line.key == "content-usage":
            path = pattern.removesuffix("$").replace("*", "")
            if path.startswith("/") and path.isascii() and path.isprintable():
                yield path


def _between(
    before: Robots, after: Robots, name: str, path: str
) -> Iterator[tuple[Purpose, Answer, Answer]]:
    """The purposes whose answer differs for an agent at a path."""
    old, new = (usage(_SITE + path, name, robots) for robots in (before, after))
    # A path that may not be fetched has no preference by AIPREF; that it is closed is said
    # elsewhere.
    is_moved = old["crawl"].answer != new["crawl"].answer
    for purpose, was in old.items():
        one, two = (_answer(item, is_moved) for item in (was, new[purpose]))
        if purpose != "crawl" and one != two:
            yield purpose, one, two


def _answer(item: Usage, is_moved: bool) -> Answer:
    if not is_moved:
        return item.answer
    claims = tuple(claim for claim in item.claims if claim.standard != "content-usage")
    return Usage(item.purpose, claims).answer
