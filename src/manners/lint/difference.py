"""What a change of robots.txt does, and to whom: in sentences, and as data.

The automata say for every URL at once which agents lose and gain what. Known crawlers that neither
file names are among everybody else; the list of them is dated (`manners.lint.data`).
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

from manners.lint.data.crawlers import STAR_IGNORERS
from manners.lint.data.known_crawlers import CRAWLERS, PROMINENCE, SPELLING
from manners.lint.directive_changes import DirectiveChange, changed_directives
from manners.lint.impact import STEPS, Impact, Witness, compare_agents
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
    """Those that a file names, as it compares them; `*` is everybody whom neither names."""
    crawlers: tuple[str, ...]
    """Known crawlers among everybody else."""
    closed: tuple[Witness, ...]
    """Paths that were allowed and are not any more: the shortest, then others in kind."""
    opened: tuple[Witness, ...]
    is_decided: bool
    """False: the steps were used up. What is here is real; there may be more."""
    urls: UrlCounts | None = None
    """The user's own URLs, if there are any."""

    @property
    def asked(self) -> str:
        """One of them, for the engine."""
        return self.agents[0] if self.agents else self.crawlers[0]

    @property
    def names(self) -> tuple[str, ...]:
        """All agents and crawlers by name, those that most people know first."""
        agents = (SPELLING.get(name, name) for name in self.agents if name != WILDCARD)
        names = [*agents, *self.crawlers]
        names.sort(key=lambda name: PROMINENCE.get(name.lower(), len(PROMINENCE)))
        return tuple(names)

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

    def with_urls(self, batches: Iterable[Sequence[str]]) -> "RobotsDifference":
        """The same, with URLs counted for each class of agents."""
        tallies = [
            _Tally(
                self.before.policy(change.asked), self.after.policy(change.asked), [0] * 3, ([], [])
            )
            for change in self.changes
        ]
        for batch in batches:
            for tally in tallies:
                tally.add(batch)
        changes = [
            replace(change, urls=tally.result())
            for change, tally in zip(self.changes, tallies, strict=True)
        ]
        return replace(self, changes=tuple(changes))

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
    found = (_change(agents, impact, set(asked)) for agents, impact in impacts)
    changes = tuple(change for change in found if change is not None)
    return RobotsDifference(before, after, changes, tuple(changed_directives(before, after)))


def _change(agents: Sequence[str], impact: Impact, asked: set[str]) -> AgentChange | None:
    """The change for a class; None if only crawlers are in it that take no notice of `*`."""
    own = tuple(agent for agent in agents if agent not in asked)
    lower = {agent.lower() for agent in own}
    crawlers = tuple(
        agent
        for agent in agents
        if agent in asked and agent.lower() not in lower and agent.lower() not in _IGNORES_STAR
    )
    if not own and not crawlers:
        return None
    closed = (impact.closed, *impact.more_closed) if impact.closed else ()
    opened = (impact.opened, *impact.more_opened) if impact.opened else ()
    return AgentChange(own, crawlers, closed, opened, impact.is_shortest)


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
