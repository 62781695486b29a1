"""What was measured, as tables and as JSON."""

import statistics
from dataclasses import dataclass, field
from typing import Any

from benchmarks.peers import PEERS

OWN = "manners"
MOST = 0.95
"""The share of verdicts that a parser has to have in common with manners to be compared."""
REMARKS = """\
(prepared): fastrobots with text decoded and paths cut out beforehand, which nobody else gets.
In parentheses: the parser gives other verdicts too often, so it does other work.
Check and bulk come after some other checks; what a parser puts off until then is in the rows that
begin with parsing."""


@dataclass
class Row:
    """The times of all parsers for one thing, in nanoseconds.

    A parser's first time is of the same repetition as another's first, and so on: what is
    compared is the median of the ratios within a repetition.
    """

    title: str
    times: dict[str, list[float]] = field(default_factory=dict)
    growth: dict[str, list[float]] = field(default_factory=dict)
    """How much longer it takes when everything is doubled."""
    notes: dict[str, str] = field(default_factory=dict)
    """Why a parser has no time."""

    def median(self, name: str) -> float | None:
        times = self.times.get(name)
        return statistics.median(times) if times else None

    def ratio(self, name: str) -> float | None:
        times, own = self.times.get(name), self.times.get(OWN)
        if not times or not own:
            return None
        return statistics.median(each / base for each, base in zip(times, own, strict=False))

    def grown(self, name: str) -> float | None:
        growth = self.growth.get(name)
        return statistics.median(growth) if growth else None

    def to_dict(self) -> dict[str, Any]:
        return {
            "title": self.title,
            "nanoseconds": {name: self.median(name) for name in self.times},
            "ratio to manners": {name: self.ratio(name) for name in self.times},
            "growth when doubled": {name: self.grown(name) for name in self.growth},
            "repetitions": {name: len(times) for name, times in self.times.items()},
            "no time": self.notes,
        }


@dataclass
class Report:
    """One run."""

    about: dict[str, Any]
    versions: dict[str, str]
    missing: dict[str, str]
    agreement: dict[str, float] = field(default_factory=dict)
    disallowed: float = 0.0
    rows: list[Row] = field(default_factory=list)
    memory: dict[str, dict[str, float]] = field(default_factory=dict)
    remarks: list[str] = field(default_factory=list)

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.about,
            "versions": self.versions,
            "missing": self.missing,
            "agreement with manners": self.agreement,
            "disallowed by manners": self.disallowed,
            "rows": [row.to_dict() for row in self.rows],
            "memory, bytes a file": self.memory,
            "remarks": self.remarks,
        }

    def heading(self) -> str:
        """What took part, and whether it gives the same answers."""
        lines = [f"{key}: {value}" for key, value in self.about.items()]
        lines += ["", f"{'parser':<27}{'version':<25}{'same verdicts as manners':>24}"]
        for name, version in self.versions.items():
            share = f"{self.agreement[name]:.1%}" if name in self.agreement else ""
            lines.append(f"{name:<27}{version:<25}{share:>24}")
        lines += [f"{name:<27}{'absent: ' + why}" for name, why in self.missing.items()]
        lines.append(f"(typical files; manners disallows {self.disallowed:.0%} of these URLs)")
        return "\n".join(lines)

    def tables(self) -> str:
        """All figures."""
        names = list(self.versions)
        times = [
            (row.title, [_time(row.median(name), row.notes.get(name)) for name in names])
            for row in self.rows
        ]
        ratios = [(row.title, [self._ratio(row, name) for name in names]) for row in self.rows]
        grown = [
            (row.title, [_number(row.grown(name)) for name in names])
            for row in self.rows
            if row.growth
        ]
        memory = [
            (title, [_bytes(self.memory.get(name), title) for name in names])
            for title in next(iter(self.memory.values()), {})
        ]
        parts = [
            _table("Median time", names, times),
            _table("Times as long as manners", names, ratios),
            _table("Growth when doubled", names, grown),
            _table("Memory, bytes a file", names, memory),
            "\n".join([*self.remarks, REMARKS]),
        ]
        return "\n\n".join(part for part in parts if part)

    def _ratio(self, row: Row, name: str) -> str:
        value = row.ratio(name)
        if value is None:
            return "-" if name in row.notes else ""
        digits = 0 if value >= 100 else 1 if value >= 10 else 2
        text = f"{value:,.{digits}f}"
        return text if self.agreement.get(name, 1) >= MOST else f"({text})"


def _table(title: str, names: list[str], rows: list[tuple[str, list[str]]]) -> str:
    if not rows:
        return ""
    heads = [PEERS[name].short or name for name in names]
    used = [i for i in range(len(names)) if any(cells[i] for _, cells in rows)]
    wide = max(len(title), *(len(each) for each, _ in rows))
    lines = [f"{title:<{wide}}" + "".join(f"{heads[i]:>16}" for i in used)]
    lines += [f"{each:<{wide}}" + "".join(f"{cells[i]:>16}" for i in used) for each, cells in rows]
    return "\n".join(lines)


def _time(value: float | None, note: str | None) -> str:
    if value is None:
        return (note or "").partition(":")[0]
    for unit, size in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if value >= size:
            return f"{value / size:.3g} {unit}"
    return f"{value:.0f} ns"


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def _bytes(figures: dict[str, float] | None, title: str) -> str:
    return "" if figures is None else f"{figures[title]:,.0f}"
