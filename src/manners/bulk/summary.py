"""What came out of a bulk run: counts by agent, by reason and by host."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from manners._text import count, duration, printable
from manners.bulk.decisions import ALLOWED, DISALLOWED, REASONS, UNDECIDED, Decisions
from manners.bulk.sites import Sites

KEPT_HOSTS = 200
"""Hosts of a part that are counted: those with most URLs, and with most disallowed ones."""
_SHOWN_HOSTS = 5
_HOST = r"^https?://(?P<host>\[[^\]]*\]|[^:/]*)"


@dataclass(slots=True)
class AgentSummary:
    """What was decided for one agent.

    >>> AgentSummary(allowed=2, disallowed=1).decided
    3
    """

    allowed: int = 0
    disallowed: int = 0
    undecided: int = 0
    """URLs without a verdict: no URL at all, or no robots.txt in the archive."""
    reasons: Counter[str] = field(default_factory=Counter)
    """How many URLs each reason decided."""
    hosts: dict[str, tuple[int, int]] = field(default_factory=dict)
    """URLs of a host, and how many of them are disallowed; of the largest hosts only."""

    @property
    def decided(self) -> int:
        """URLs with a verdict."""
        return self.allowed + self.disallowed

    def largest(self, number: int = 10) -> list[tuple[str, int, int]]:
        """The hosts with most URLs: name, URLs, disallowed ones."""
        return self._sorted(0, number)

    def most_disallowed(self, number: int = 10) -> list[tuple[str, int, int]]:
        """The hosts with most disallowed URLs: name, URLs, disallowed ones."""
        return [row for row in self._sorted(1, number) if row[2]]

    def _sorted(self, place: int, number: int) -> list[tuple[str, int, int]]:
        rows = sorted(self.hosts.items(), key=lambda item: (-item[1][place], item[0]))
        return [(name, *counts) for name, counts in rows[:number]]

    def add(self, other: "AgentSummary") -> None:
        """Count what another part found."""
        self.allowed += other.allowed
        self.disallowed += other.disallowed
        self.undecided += other.undecided
        self.reasons.update(other.reasons)
        for name, (rows, disallowed) in other.hosts.items():
            known = self.hosts.get(name, (0, 0))
            self.hosts[name] = known[0] + rows, known[1] + disallowed
        if len(self.hosts) > 4 * KEPT_HOSTS:
            kept = [*self.largest(KEPT_HOSTS), *self.most_disallowed(KEPT_HOSTS)]
            self.hosts = {name: (rows, disallowed) for name, rows, disallowed in kept}

    def to_dict(self, hosts: int = 10) -> dict[str, Any]:
        """The counts as plain values, ready for JSON, with so many hosts of each list."""
        listed = {
            name: {"host": name, "urls": rows, "disallowed": disallowed}
            for name, rows, disallowed in (*self.largest(hosts), *self.most_disallowed(hosts))
        }
        return {
            "allowed": self.allowed,
            "disallowed": self.disallowed,
            "undecided": self.undecided,
            "reasons": dict(self.reasons.most_common()),
            "hosts": list(listed.values()),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "AgentSummary":
        """The counts that `to_dict` wrote."""
        return cls(
            values["allowed"],
            values["disallowed"],
            values["undecided"],
            Counter(values["reasons"]),
            {row["host"]: (row["urls"], row["disallowed"]) for row in values["hosts"]},
        )


@dataclass(slots=True)
class Summary:
    """What came out of a bulk run.

    >>> print(Summary(urls=3, sites=1, agents={"MyBot": AgentSummary(2, 1)}, seconds=1.5))
    3 URLs, 1 site, 1.5 s
    MyBot: 2 allowed, 1 disallowed, 0 undecided
    """

    urls: int = 0
    """URLs that were read."""
    written: int = 0
    """Rows of the output."""
    sites: int = 0
    """Sites whose robots.txt was read."""
    parts: int = 0
    """Parts of the output, those of an earlier run included."""
    dropped: int = 0
    """Rows of CSV files that were skipped: too few or too many cells."""
    problems: Counter[str] = field(default_factory=Counter)
    """What was skipped in the archive, and how often."""
    agents: dict[str, AgentSummary] = field(default_factory=dict)
    seconds: float = 0.0

    def add(self, other: "Summary") -> None:
        """Count another part."""
        for name in ("urls", "written", "parts", "dropped"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.sites += other.sites
        self.problems.update(other.problems)
        for name, found in other.agents.items():
            self.agents.setdefault(name, AgentSummary()).add(found)

    @property
    def decided(self) -> int:
        """Verdicts: one for each URL and agent that has one."""
        return sum(found.decided for found in self.agents.values())

    def to_dict(self, hosts: int = 10) -> dict[str, Any]:
        """The summary as plain values, ready for JSON."""
        return {
            "urls": self.urls,
            "written": self.written,
            "sites": self.sites,
            "parts": self.parts,
            "dropped": self.dropped,
            "problems": dict(self.problems),
            "agents": {name: found.to_dict(hosts) for name, found in self.agents.items()},
            "seconds": round(self.seconds, 3),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> "Summary":
        """The summary that `to_dict` wrote.

        >>> summary = Summary(urls=3, agents={"MyBot": AgentSummary(2, 1)})
        >>> Summary.from_dict(summary.to_dict()) == summary
        True
        """
        given = dict(values)
        given["problems"] = Counter(given["problems"])
        agents = given["agents"].items()
        given["agents"] = {name: AgentSummary.from_dict(found) for name, found in agents}
        return cls(**given)

    def __str__(self) -> str:
        head = [count(self.urls, "URL"), count(self.sites, "site"), duration(self.seconds)]
        lines = [", ".join(head)]
        for name, found in self.agents.items():
            lines.append(
                f"{printable(name)}: {found.allowed:,} allowed, {found.disallowed:,} disallowed,"
                f" {found.undecided:,} undecided"
            )
            lines += [f"  {number:>13,}  {why}" for why, number in found.reasons.most_common()]
            for title, rows in (
                ("most URLs", found.largest(_SHOWN_HOSTS)),
                ("most disallowed", found.most_disallowed(_SHOWN_HOSTS)),
            ):
                lines += [f"  {title}:"] if rows else []
                lines += [
                    f"  {urls:>13,}  {printable(host)}, {disallowed:,} disallowed"
                    for host, urls, disallowed in rows
                ]
        if self.dropped:
            lines.append(f"{count(self.dropped, 'row')} of CSV skipped: too few or too many cells")
        lines += [
            f"skipped {number:,}: {printable(what)}" for what, number in self.problems.items()
        ]
        return "\n".join(lines)


class Tally:
    """Counts decisions of one part, for one agent, as they are made."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._codes = np.zeros(len(REASONS) << 2, np.int64)
        self._urls = np.zeros(len(sites) + 1, np.int64)
        self._disallowed = np.zeros(len(sites) + 1, np.int64)

    def add(self, decisions: Decisions) -> None:
        """Count a batch. URLs without a site are counted, too, in the last place."""
        self._codes += np.bincount(decisions.codes, minlength=len(self._codes))
        places = decisions.sites
        if len(self._urls) <= len(places):
            self._urls += np.bincount(places + 1, minlength=len(self._urls))
            is_disallowed = (decisions.codes & 3) == DISALLOWED
            self._disallowed += np.bincount(places[is_disallowed] + 1, minlength=len(self._urls))
        else:  # more sites than rows: only those that occur are touched
            found, numbers = np.unique(places + 1, return_counts=True)
            self._urls[found] += numbers
            disallowed = places[(decisions.codes & 3) == DISALLOWED]
            found, numbers = np.unique(disallowed + 1, return_counts=True)
            self._disallowed[found] += numbers

    def summary(self) -> AgentSummary:
        """What was counted."""
        by_answer = self._codes.reshape(-1, 4).sum(axis=0)
        by_reason = self._codes.reshape(-1, 4).sum(axis=1)
        return AgentSummary(
            int(by_answer[ALLOWED]),
            int(by_answer[DISALLOWED]),
            int(by_answer[UNDECIDED]),
            Counter(
                {
                    reason: int(number)
                    for reason, number in zip(REASONS, by_reason, strict=True)
                    if number
                }
            ),
            self._hosts(),
        )

    def _hosts(self) -> dict[str, tuple[int, int]]:
        """The hosts with most URLs and with most disallowed ones; a host may have several sites."""
        seen = np.flatnonzero(self._urls[1:])
        if not len(seen):
            return {}
        origins = pa.array(self._sites.origins()).take(pa.array(seen))
        table = pa.table(
            {
                "host": pc.struct_field(pc.extract_regex(origins, _HOST), "host"),
                "urls": self._urls[1:][seen],
                "disallowed": self._disallowed[1:][seen],
            }
        )
        sums = table.group_by("host").aggregate([("urls", "sum"), ("disallowed", "sum")])
        found: dict[str, tuple[int, int]] = {}
        for order in ("urls_sum", "disallowed_sum"):
            keys = [(order, "descending"), ("host", "ascending")]
            top = pc.select_k_unstable(sums, min(KEPT_HOSTS, len(sums)), keys)
            found |= {
                row["host"]: (row["urls_sum"], row["disallowed_sum"])
                for row in sums.take(top).to_pylist()
            }
        return found


def total(parts: Iterable[Summary]) -> Summary:
    """The summary of all parts."""
    summary = Summary()
    for part in parts:
        summary.add(part)
    return summary
