"""What a change of robots.txt does, and to whom: in sentences, and as data.

The automata say for every URL at once which agents lose and gain what. Known crawlers that neither
file names are among everybody else; the list of them is dated (`manners.lint.data`).
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from manners.lint.agent_signals import SignalChange, signal_changes
from manners.lint.data.crawlers import STAR_IGNORERS
from manners.lint.data.known_crawlers import CRAWLERS, PROMINENCE, SPELLING
from manners.lint.directive_changes import (
    DirectiveChange,
    changed_directives,
    differing_delays,
)
from manners.lint.impact import STEPS, Impact, Witness, compare_agents, compare_policies
from manners.lint.impact.searching import StepBudget
from manners.lint.sentences import sentences
from manners.robots.agents import WILDCARD
from manners.robots.groups import Rule
from manners.robots.policy import Policy, Robots

EXAMPLES = 5
"""Paths shown of what is closed to a class of agents, and of what is opened."""
ALL_STEPS = 4 * STEPS
"""Steps of automata for all classes of agents together."""
SAMPLE = 5
"""URLs of the user's own that are kept as examples."""
_IGNORES_STAR = {name.lower() for name in STAR_IGNORERS}


@dataclass(frozen=True)
class UrlCounts:
    """How many of some URLs a change closes and opens for a class of agents, with a few of them."""

    total: int = 0
    closed: int = 0
    opened: int = 0
    closed_sample: tuple[str, ...] = ()
    opened_sample: tuple[str, ...] = ()


@dataclass(frozen=True)
class AgentChange:
    """What changes for agents that both files treat alike."""

    agents: tuple[str, ...]
    """Those that a file names, as it writes them; `*` is everybody whom neither names."""
    crawlers: tuple[str, ...]
    """Known crawlers among everybody else."""
    closed: tuple[Witness, ...]
    """Paths that were allowed and are not any more: the shortest, then others in kind."""
    opened: tuple[Witness, ...]
    is_decided: bool
    """False: the steps were used up. What is here is real; there may be more."""
    asked: tuple[str, str]
    """The agent that the engine is asked about, before and after."""
    urls: UrlCounts | None = None
    """The user's own URLs, if there are any."""

    @property
    def names(self) -> tuple[str, ...]:
        """All agents and crawlers by name, those that most people know first."""
        agents = (SPELLING.get(name.lower(), name) for name in self.agents if name != WILDCARD)
        names = [*agents, *self.crawlers]
        names.sort(key=lambda name: PROMINENCE.get(name.lower(), len(PROMINENCE)))
        return tuple(dict.fromkeys(names))

    @property
    def is_for_everybody(self) -> bool:
        """Whether it is about everybody whom no file names."""
        return WILDCARD in self.agents


class _Tally(NamedTuple):
    """An agent of a class before and after, and what is counted for it."""

    before: Policy
    after: Policy
    counts: list[int]
    samples: tuple[list[str], list[str]]

    def add(self, urls: Sequence[str]) -> None:
        """Count some URLs."""
        old, new = self.before.allowed_many(urls), self.after.allowed_many(urls)
        self.counts[2] += len(urls)
        if old == new:
            return
        for url, was, now in zip(urls, old, new, strict=True):
            if was != now:
                self.counts[now] += 1
                if len(self.samples[now]) < SAMPLE:
                    self.samples[now].append(url)

    def result(self) -> UrlCounts:
        """What was counted."""
        closed, opened, total = self.counts
        return UrlCounts(total, closed, opened, *map(tuple, self.samples))


@dataclass(frozen=True)
class RobotsDifference:
    """What two files do differently, for all agents and all URLs.

    >>> from manners import parse
    >>> old = parse("User-agent: *\\nDisallow: /cart")
    >>> new = parse("User-agent: *\\nDisallow: /\\nCrawl-delay: 5")
    >>> for sentence in difference(old, new).sentences[:2]:
    ...     print(sentence)
    Everybody, such as Googlebot and bingbot, loses everything.
    crawl-delay for everybody: added 5.
    """

    before: Robots
    after: Robots
    changes: tuple[AgentChange, ...]
    """The classes of agents whose verdicts differ, or are not decided."""
    directives: tuple[DirectiveChange, ...]
    """Lines that decide no verdict and differ: delays, sitemaps, signals."""
    signals: tuple[SignalChange, ...] = ()
    """What changes in the answers to what pages may be used for."""

    @property
    def is_equal(self) -> bool | None:
        """Whether every agent gets the same verdict for every URL; None if not decided."""
        if any(change.closed or change.opened for change in self.changes):
            return False
        return None if self.changes else True

    def change_for(self, agent: str) -> AgentChange | None:
        """What changes for an agent by its product token; None if nothing does."""
        for change in self.changes:
            if agent.lower() in (name.lower() for name in (*change.agents, *change.crawlers)):
                return change
        return None

    @cached_property
    def sentences(self) -> list[str]:
        """What happens, in words: what concerns most people first."""
        return sentences(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        return {
            "equal": self.is_equal,
            "sentences": self.sentences,
            "changes": [_change_dict(change) for change in self.changes],
            "directives": [change.to_dict() for change in self.directives],
            "signals": [change.to_dict() for change in self.signals],
        }


def difference(
    before: Robots, after: Robots, *, names: Sequence[str] = (), steps: int = STEPS
) -> RobotsDifference:
    """What two files do differently; `names` are agents that count beside those of the files.

    `steps` are for each class of agents and direction.
    """
    budget = StepBudget(ALL_STEPS)
    asked = tuple(dict.fromkeys((*names, *CRAWLERS)))
    impacts = compare_agents(before, after, steps, budget, examples=EXAMPLES, names=asked)
    spellings = _spellings(after) | _spellings(before)
    found = (_change(agents, impact, set(asked), spellings) for agents, impact in impacts)
    changes = tuple(change for change in found if change is not None)
    directives = tuple(changed_directives(before, after))
    signals = tuple(signal_changes(before, after))
    return RobotsDifference(before, after, changes, directives, signals)


def count_urls(
    found: Sequence[RobotsDifference], batches: Iterable[Sequence[str]]
) -> list[RobotsDifference]:
    """The same differences, with URLs counted for each class of agents.

    >>> from manners import parse
    >>> files = parse("User-agent: *\\nDisallow: /cart"), parse("User-agent: *\\nDisallow: /")
    >>> counted, = count_urls([difference(*files)], [["https://a.example/x", "/cart"]])
    >>> counted.sentences
    ['Everybody, such as Googlebot and bingbot, loses everything; 1 of your 2 URLs.']
    """
    tallies = [[_tally(item, change) for change in item.changes] for item in found]
    for batch in batches:
        for tally in chain.from_iterable(tallies):
            tally.add(batch)
    results: list[RobotsDifference] = []
    for item, counted in zip(found, tallies, strict=True):
        pairs = zip(item.changes, counted, strict=True)
        changes = tuple(replace(change, urls=tally.result()) for change, tally in pairs)
        results.append(replace(item, changes=changes))
    return results


def _tally(found: RobotsDifference, change: AgentChange) -> _Tally:
    one, other = change.asked
    return _Tally(found.before.policy(one), found.after.policy(other), [0, 0, 0], ([], []))


def difference_of_agents(
    robots: Robots, one: str, other: str, *, steps: int = STEPS
) -> RobotsDifference:
    """What one agent may fetch that another may not: `closed` is what the other may not.

    >>> from manners import parse
    >>> file = parse("User-agent: a\\nDisallow: /x\\n\\nUser-agent: b\\nDisallow: /y")
    >>> change, = difference_of_agents(file, "a", "b").changes
    >>> change.closed[0].path, change.opened[0].path
    ('/y', '/x')
    """
    policies = robots.policy(one), robots.policy(other)
    impact = compare_policies(*policies, steps, examples=EXAMPLES)
    changes: tuple[AgentChange, ...] = ()
    if not impact.is_equal:
        changes = (_changed((one, other), (), impact, (one, other)),)
    delays = tuple(differing_delays(robots, one, other))
    return RobotsDifference(robots, robots, changes, delays)


def _spellings(robots: Robots) -> dict[str, str]:
    """Agents as a file writes them first, by what the dialect compares."""
    found: dict[str, str] = {}
    for group in robots.groups:
        for name in group.agents:
            key = robots.dialect.agent_key(name)
            if key is not None and name.lower().startswith(key.lower()):
                found.setdefault(key, name[: len(key)])
    return found


def _change(
    agents: Sequence[str], impact: Impact, asked: set[str], spellings: Mapping[str, str]
) -> AgentChange | None:
    """The change for a class; None if only crawlers are in it that take no notice of `*`."""
    named = {agent for agent in agents if agent in spellings or agent not in asked}
    own = tuple(spellings.get(agent, agent) for agent in agents if agent in named)
    lower = {agent.lower() for agent in own}
    crawlers = tuple(
        agent
        for agent in agents
        if agent not in named and agent.lower() not in lower and agent.lower() not in _IGNORES_STAR
    )
    if not own and not crawlers:
        return None
    return _changed(own, crawlers, impact, (agents[0], agents[0]))


def _changed(
    agents: tuple[str, ...], crawlers: tuple[str, ...], impact: Impact, asked: tuple[str, str]
) -> AgentChange:
    closed = (impact.closed, *impact.more_closed) if impact.closed else ()
    opened = (impact.opened, *impact.more_opened) if impact.opened else ()
    return AgentChange(agents, crawlers, closed, opened, impact.is_shortest, asked)


def _change_dict(change: AgentChange) -> dict[str, Any]:
    urls = change.urls
    return {
        "agents": list(change.agents),
        "crawlers": list(change.crawlers),
        "decided": change.is_decided,
        "closed": [witness_dict(witness) for witness in change.closed],
        "opened": [witness_dict(witness) for witness in change.opened],
        "urls": urls
        and {
            "total": urls.total,
            "closed": urls.closed,
            "opened": urls.opened,
            "closed_sample": list(urls.closed_sample),
            "opened_sample": list(urls.opened_sample),
        },
    }


def witness_dict(witness: Witness) -> dict[str, Any]:
    """A witness as plain values, ready for JSON."""
    return {
        "path": witness.path,
        "before": _rule_dict(witness.before),
        "after": _rule_dict(witness.after),
    }


def _rule_dict(rule: Rule | None) -> dict[str, Any] | None:
    return None if rule is None else {"line": rule.line, "text": rule.text.strip()}
