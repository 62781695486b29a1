"""The file that is linted: its lines with their places, and its groups with their lines.

A parsed file (`manners.Robots`) says what a robots.txt means. A linter also needs where each part
of it stands, what surrounds it, and what nobody reads.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from manners._text import printable, to_text
from manners.lint.analysis import STEPS, LineStatus, examine_lines, rule_lists
from manners.lint.finding import Edit
from manners.lint.impact.searching import StepBudget
from manners.robots.dialects import Dialect, get
from manners.robots.directives import RULES
from manners.robots.groups import Rule
from manners.robots.lines import MAX_LINE, Line, decode, known_keys, read_line
from manners.robots.policy import MAX_BYTES, Robots, parse

ENGINES = ("rfc9309", "google")
"""The dialects that matter unless a caller names others."""

_SPLIT = re.compile(rb"[^\r\n]*+(?:\r\n|\r|\n|\Z)")
_SPACE = b" \t\v\f"


class SourceLine(NamedTuple):
    """A line of the file: what it says as RFC 9309 reads it, and where its parts are.

    Offsets named `…_at` and `…_end` count bytes of `raw`; for a line without that part both are
    the same.
    """

    line: Line
    """As `manners.lines` gives it: kind, key, value, pattern, problems."""
    start: int
    """Where the line begins in `Source.data`."""
    raw: bytes
    """The line without its line end."""
    line_end: bytes
    """CR LF, LF, CR, or nothing at the end of the file."""

    @property
    def number(self) -> int:
        """Counted from 1."""
        return self.line.number

    @property
    def kind(self) -> str:
        """The directive's name in the table, or `unknown`, `invalid`, `comment`, `blank`."""
        return self.line.kind

    @property
    def value(self) -> str:
        """The value as written, without comment and surrounding white space."""
        return self.line.value

    @property
    def is_rule(self) -> bool:
        """Whether it is an Allow or a Disallow line."""
        return self.line.kind in RULES

    @property
    def end(self) -> int:
        """Where the line ends in `Source.data`, behind its line end."""
        return self.start + len(self.raw) + len(self.line_end)

    # Places within the line.

    @property
    def comment_at(self) -> int:
        """Where `#` is; the length of the line if it has no comment."""
        found = self.raw.find(b"#")
        return len(self.raw) if found < 0 else found

    @property
    def comment(self) -> str:
        """What follows `#`, without surrounding white space."""
        return to_text(self.raw[self.comment_at + 1 :].strip())

    @property
    def key_at(self) -> int:
        """Where the first character is that is not white space."""
        return len(self.raw) - len(self.raw.lstrip())

    @property
    def value_at(self) -> int:
        """Where the value begins, or would begin: behind the colon and white space."""
        before = self.raw[: self.comment_at]
        colon = before.find(b":")
        if colon < 0:  # a key and a value with white space between them
            words = before[self.key_at :].split(None, 1)
            return before.rfind(words[1]) if len(words) > 1 else len(before.rstrip())
        rest = before[colon + 1 :]
        return colon + 1 + len(rest) - len(rest.lstrip())

    @property
    def value_end(self) -> int:
        """Where the value ends, without white space and comment."""
        return max(self.value_at, len(self.raw[: self.comment_at].rstrip()))

    def column(self, offset: int) -> int:
        """The column of a byte of `raw`, counted from 1 in characters."""
        return len(to_text(self.raw[:offset])) + 1

    # Edits.

    def removed(self) -> Edit:
        """Remove the line, with its line end; a comment behind it stays, and is the line then.

        Only a comment that allows findings of this line goes with it.
        """
        has_comment = b"#" in self.raw and bool(self.raw[: self.comment_at].strip())
        if has_comment and not self.comment.startswith("manners:"):
            return self.replaced(0, self.comment_at, b"")
        return Edit(self.start, self.end, b"")

    def with_value(self, value: bytes) -> Edit:
        """Replace the value."""
        return Edit(self.start + self.value_at, self.start + self.value_end, value)

    def replaced(self, start: int, end: int, replacement: bytes) -> Edit:
        """Replace some bytes of `raw`."""
        return Edit(self.start + start, self.start + end, replacement)

    def inserted_before(self, text: bytes) -> Edit:
        """Insert a line above this one."""
        return Edit(self.start, self.start, text + (self.line_end or b"\n"))


class SourceGroup(NamedTuple):
    """User-agent lines, and what follows them up to the next group, as RFC 9309 section 2.1."""

    agents: list[SourceLine]
    rules: list[SourceLine]
    """Its Allow and Disallow lines, those without a value included."""
    directives: list[SourceLine]
    """Its other directives: known ones that belong to groups, and unknown ones."""

    @property
    def first(self) -> SourceLine:
        """Its first User-agent line."""
        return self.agents[0]

    @property
    def last(self) -> SourceLine:
        """Its last line that says something."""
        lines = [*self.agents, *self.rules, *self.directives]
        return max(lines, key=lambda line: line.number)


@dataclass(frozen=True)
class Source:
    """A robots.txt to be linted.

    >>> source = Source(b"User-agent: *\\nDisallow: /a  # soon\\n")
    >>> source.lines[1].value, source.lines[1].comment, source.groups[0].rules[0].number
    ('/a', 'soon', 2)
    """

    body: bytes
    """The file as it was read."""
    engines: tuple[str, ...] = ENGINES
    """The names of the dialects for which everything has to hold."""
    url: str | None = None
    """Where the file came from, if that is known."""

    @cached_property
    def data(self) -> bytes:
        """The file as UTF-8 without a byte order mark. Offsets of edits count its bytes."""
        return decode(self.body, get("rfc9309"))

    @cached_property
    def lines(self) -> list[SourceLine]:
        """All lines, comments and blank ones included; those beyond the size limit, too.

        There is no empty line behind a final line end.
        """
        return list(_lines(self.data, get("rfc9309"), self.url))

    @cached_property
    def groups(self) -> list[SourceGroup]:
        """All groups, as RFC 9309 reads them."""
        return _groups(self.lines)

    @cached_property
    def last_rules(self) -> set[int]:
        """The numbers of rule lines whose groups have no other."""
        return {group.rules[0].number for group in self.groups if len(group.rules) == 1}

    @cached_property
    def stray_rules(self) -> list[SourceLine]:
        """Allow and Disallow lines before the first User-agent line."""
        first = self.groups[0].first.number if self.groups else len(self.lines) + 1
        return [line for line in self.lines if line.is_rule and line.number < first]

    @cached_property
    def directives(self) -> list[SourceLine]:
        """The lines that have a key: everything but comments, blank and invalid lines."""
        return [line for line in self.lines if line.line.key]

    @cached_property
    def dialects(self) -> tuple[Dialect, ...]:
        """The engines, as dialects."""
        return tuple(get(name) for name in self.engines)

    @cached_property
    def robots(self) -> dict[str, Robots]:
        """The file as each engine reads it, by the engine's name."""
        return {dialect.name: self.read_as(dialect) for dialect in self.dialects}

    @cached_property
    def rule_lists(self) -> list[tuple[Rule, ...]]:
        """The rules of every class of agents, as the first engine reads them."""
        return rule_lists(self.robots[self.engines[0]])

    @cached_property
    def duplicates(self) -> dict[int, int]:
        """The rule lines that all their agents have already, and the lines that have them first."""
        found: dict[int, int] = {}
        unique: set[int] = set()
        for rules in self.rule_lists:
            first: dict[tuple[bool, str], int] = {}
            for rule in rules:
                earlier = first.setdefault((rule.allow, rule.pattern), rule.line)
                if earlier == rule.line:
                    unique.add(rule.line)
                else:
                    found.setdefault(rule.line, earlier)
        return {line: earlier for line, earlier in found.items() if line not in unique}

    @cached_property
    def statuses(self) -> dict[int, LineStatus]:
        """What automata say about each rule line, by number: whether it decides, and matters.

        One that does not matter does not matter in any engine. The rest holds for the first.
        """
        first, *further = self.robots.values()
        budget = StepBudget(STEPS)
        statuses = examine_lines(first, budget=budget)
        for robots in further:
            open_questions = {line for line, status in statuses.items() if not status.matters}
            for line, status in examine_lines(robots, open_questions, budget).items():
                statuses[line] = statuses[line].and_by(status)
        return {line: status for line, status in statuses.items() if status.rule.pattern}

    def read_as(self, dialect: Dialect) -> Robots:
        """The file as any dialect reads it, up to the size limit."""
        return parse(self.body, dialect, self.url, MAX_BYTES)

    @property
    def is_utf16(self) -> bool:
        """Whether the file is UTF-16: then no edit of `data` fits `body`."""
        return self.body.startswith((b"\xff\xfe", b"\xfe\xff"))

    @property
    def line_end(self) -> bytes:
        """The line end that the file uses most; LF if it has none."""
        ends = [line.line_end for line in self.lines if line.line_end]
        return max((b"\n", b"\r\n", b"\r"), key=ends.count)

    def of_kind(self, *kinds: str) -> list[SourceLine]:
        """The lines of some directives, by their names in the table."""
        return [line for line in self.lines if line.kind in kinds]


def quoted(value: str, limit: int = 80) -> str:
    """A value of the file for a message: printable, in backticks, not too long.

    >>> quoted("/a" * 50, 10)
    '`/a/a/a/a/…`'
    """
    shown = value if len(value) <= limit else value[: limit - 1] + "…"
    return f"`{printable(shown)}`"


def listed(rules: Iterable[Rule], most: int = 3) -> str:
    """Rules of the file for a message.

    >>> listed([Rule(False, "/a", 4), Rule(True, "/b", 9)])
    '`/a` on line 4 and `/b` on line 9'
    """
    texts = [f"{quoted(rule.pattern)} on line {rule.line}" for rule in rules if rule.line > 0]
    if len(texts) > most:
        texts = [*texts[:most], f"{len(texts) - most} more"]
    return " and ".join(filter(None, (", ".join(texts[:-1]), *texts[-1:])))


def _lines(data: bytes, dialect: Dialect, url: str | None) -> Iterator[SourceLine]:
    keys, in_group = known_keys(dialect), False
    for number, found in enumerate(_SPLIT.finditer(data), 1):
        text = found[0]
        if not text:
            return
        raw = text.rstrip(b"\r\n")
        line = read_line(number, raw, dialect, keys, url)
        if line.kind == "user-agent":
            in_group = True
        elif line.kind in RULES and not in_group:
            line = line._replace(problems=(*line.problems, "rule-outside-group"))
        yield SourceLine(line, found.start(), raw, text[len(raw) :])


def _groups(lines: list[SourceLine]) -> list[SourceGroup]:
    from manners.robots.directives import BY_NAME

    groups: list[SourceGroup] = []
    for line in lines:
        if line.kind == "user-agent":
            if not groups or groups[-1].rules:
                groups.append(SourceGroup([], [], []))
            groups[-1].agents.append(line)
        elif groups and line.is_rule:
            groups[-1].rules.append(line)
        elif groups and line.line.key:
            known = BY_NAME.get(line.kind)
            if known is None or known.scope == "group":
                groups[-1].directives.append(line)
    return groups


__all__ = [
    "ENGINES",
    "MAX_BYTES",
    "MAX_LINE",
    "Source",
    "SourceGroup",
    "SourceLine",
    "listed",
    "quoted",
]
