"""Decisions counted: which rule, and which robots.txt, decided about how many URLs. Quiet."""

from bisect import insort
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby, pairwise
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

LineCounts = dict[int, tuple[int, int]]
"""By line: how many URLs it allowed, and how many it blocked."""
FileKey = tuple[str | None, str]
"""The SHA-256 of a robots.txt, and the dialect it was read in."""

_MAX_SITES = 100_000
"""Sites that are looked at for changes: those that are decided about first."""
_MAX_SIGHTINGS = 40
"""Sightings of one site that are kept."""


class RecordedOutcome(msgspec.Struct):
    """What a record has about the retrieval of a robots.txt; other members are not read."""

    url: str = ""
    availability: str = ""
    note: str = ""
    charset: str = ""
    copy: bool = False
    at: str = ""


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


class FileContent(NamedTuple):
    """What a site said."""

    snapshot: str | None
    """The SHA-256 of its file; None where there was none."""
    charset: str = ""


class FileReading(NamedTuple):
    """How a file was read, and for whom."""

    agent: str
    dialect: str
    profile: str


class FileSighting(NamedTuple):
    """What a site said at a time."""

    at: str
    """In ISO 8601, UTC: as text they are in the order of time."""
    content: FileContent
    reading: FileReading


class SiteVersions:
    """What each site said during a crawl, as far as its decisions tell.

    A site that could not be reached said nothing.
    """

    def __init__(self) -> None:
        self._sites: dict[str, list[FileSighting]] = {}

    def add(self, decision: RecordedDecision, outcome: RecordedOutcome) -> None:
        """Take note of what a decision rests on."""
        match outcome.availability:
            case "available" if decision.snapshot is not None:
                content = FileContent(decision.snapshot, outcome.charset)
            case "unavailable":
                content = FileContent(None)
            case _:
                return
        reading = FileReading(decision.agent, decision.dialect, decision.profile)
        sighting = FileSighting(outcome.at, content, reading)
        known = self._sites.get(outcome.url)
        if known is None:
            if len(self._sites) < _MAX_SITES:
                self._sites[outcome.url] = [sighting]
        elif sighting not in known:
            insort(known, sighting, key=attrgetter("at"))
            if len(known) > _MAX_SIGHTINGS:
                runs = _runs(known)
                ends = [end for run in runs for end in dict.fromkeys((run[0], run[-1]))]
                known[:] = ends[-_MAX_SIGHTINGS:]

    def changes(self) -> Iterator[tuple[str, FileSighting, FileSighting]]:
        """Each change: the robots.txt, the last sighting before, and the first one after."""
        for url, known in self._sites.items():
            for before, after in pairwise(_runs(known)):
                yield url, before[-1], after[0]


def _runs(sightings: Iterable[FileSighting]) -> list[list[FileSighting]]:
    return [list(run) for _, run in groupby(sightings, key=attrgetter("content"))]


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
        self.versions = SiteVersions()
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
            self.versions.add(decision, outcome)

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
