"""Decisions counted: which rule, and which robots.txt, decided about how many URLs. Quiet."""

from collections import Counter
from collections.abc import Mapping
from typing import Any

import msgspec

LineCounts = dict[int, tuple[int, int]]
"""By line: how many URLs it allowed, and how many it blocked."""
FileKey = tuple[str | None, str]
"""The SHA-256 of a robots.txt, and the dialect it was read in."""


class RecordedOutcome(msgspec.Struct):
    """What a record has about the retrieval of a robots.txt; other members are not read."""

    url: str = ""
    availability: str = ""
    note: str = ""
    charset: str = ""
    copy: bool = False


class RecordedDecision(msgspec.Struct):
    """What a record has about a decision."""

    allowed: bool
    reason: str
    line: int
    agent: str
    dialect: str
    profile: str
    user_agent: str | None = msgspec.field(default=None, name="userAgent")
    matched: str | None = msgspec.field(default=None, name="matchedRule")
    snapshot: str | None = None
    outcome: RecordedOutcome | None = None

    @property
    def file(self) -> FileKey:
        """The robots.txt it rests on, as it was read."""
        return self.snapshot, self.dialect

    @property
    def robots_url(self) -> str:
        """Where that robots.txt was."""
        return self.outcome.url if self.outcome is not None else ""


class DecisionGroup:
    """Decisions with the same grounds, while they are counted."""

    __slots__ = ("decision", "number", "record", "sites")

    def __init__(self, decision: RecordedDecision) -> None:
        self.decision = decision
        """The first of them."""
        self.number = 0
        self.record = 0
        """The number of the last record."""
        self.sites: set[str] = set()


_Groups = dict[tuple[object, ...], DecisionGroup]


class DecisionCounts:
    """Counts the decisions of a crawl.

    >>> counts = DecisionCounts()
    >>> record = '{"allowed": false, "reason": "rule-matched", "line": 3, "agent": "MyBot",'
    >>> counts.add(1, record + '"dialect": "rfc9309", "profile": "rfc9309", "snapshot": "ab"}')
    >>> counts.add(2, None)
    >>> counts.number, counts.missing, counts.by_line()
    (1, 1, {('ab', 'rfc9309'): {3: (0, 1)}})
    """

    def __init__(self) -> None:
        self._rules: _Groups = {}
        self._files: _Groups = {}
        self.agents: Counter[str] = Counter()
        self.user_agents: Counter[str] = Counter()
        self.number = 0
        self.missing = 0
        """Decisions whose record was pruned or is unreadable."""
        self._decode = msgspec.json.Decoder(RecordedDecision).decode

    def add(self, record: int, metadata: str | None) -> None:
        """Count a decision: the number of its record, and the metadata of that record."""
        try:
            decision = self._decode(metadata or "")
        except (msgspec.MsgspecError, UnicodeError):
            self.missing += 1
            return
        self.number += 1
        self.agents[decision.agent] += 1
        if decision.user_agent is not None:
            self.user_agents[decision.user_agent] += 1
        file = decision.file
        rule = (decision.allowed, decision.reason, decision.matched, decision.line)
        # Decisions without a line are the same, whatever the file.
        _add(self._rules, (*rule, file) if decision.line else rule, decision, record)
        outcome = decision.outcome
        if outcome is not None:
            retrieval = (outcome.availability, outcome.note, outcome.charset)
            _add(self._files, (*file, decision.profile, *retrieval), decision, record)

    def rules(self) -> list[DecisionGroup]:
        """By rule, or by the reason where no rule decided; the most frequent first."""
        return _most_frequent_first(self._rules)

    def files(self) -> list[DecisionGroup]:
        """By robots.txt, or by why there was none; the most frequent first."""
        return _most_frequent_first(self._files)

    def by_line(self) -> dict[FileKey, LineCounts]:
        """How many URLs each line of each file allowed and blocked."""
        files: dict[FileKey, LineCounts] = {}
        for group in self._rules.values():
            decision = group.decision
            if decision.line:
                lines = files.setdefault(decision.file, {})
                allowed, blocked = lines.get(decision.line, (0, 0))
                if decision.allowed:
                    allowed += group.number
                else:
                    blocked += group.number
                lines[decision.line] = (allowed, blocked)
        return files


def _add(
    groups: _Groups, grounds: tuple[object, ...], decision: RecordedDecision, record: int
) -> None:
    group = groups.get(grounds)
    if group is None:
        group = groups[grounds] = DecisionGroup(decision)
    group.number += 1
    group.record = max(group.record, record)
    if decision.outcome is not None:
        group.sites.add(decision.outcome.url)


def _most_frequent_first(groups: Mapping[Any, DecisionGroup]) -> list[DecisionGroup]:
    return sorted(
        groups.values(), key=lambda group: (-group.number, group.decision.line, group.record)
    )
