"""A lint rule: one class in one file, whose docstring is its page and its test.

The docstring of a rule is its documentation: what it finds, in one sentence; then sections with the
headings below. The rule fires on every block of *Example* and on none of *Better*; tests do so.
"""

import re
from collections.abc import Iterator
from functools import cache
from inspect import cleandoc
from typing import ClassVar, NamedTuple

from manners import _family
from manners.errors import UnknownName
from manners.lint.finding import Edit, Finding, Fix, Safety, Severity
from manners.lint.source import Source, SourceLine

FAMILIES = {
    "F": "The file",
    "S": "Syntax",
    "G": "Groups and agents",
    "R": "Rules",
    "P": "Paths",
    "D": "Directives",
    "M": "Sitemaps",
    "C": "Crawlers",
    "A": "AI",
    "X": "Engines",
}
"""The first letter of a code, and what its rules are about."""

SECTIONS = ("Why it matters", "Example", "Better", "Fix")
"""The headings of a rule's docstring. *Better* and *Fix* may be left out: some findings have no
better file, and some no fix."""

_HEADING = re.compile(r"^## (.+)$", re.MULTILINE)
_BLOCK = re.compile(r"^```robots\n(.*?)^```$", re.MULTILINE | re.DOTALL)


class RulePage(NamedTuple):
    """The documentation of a rule, from its docstring."""

    what: str
    """What the rule finds: the first paragraph."""
    sections: dict[str, str]
    """The text below each heading."""

    def blocks(self, heading: str) -> list[bytes]:
        """The robots.txt files that a section shows."""
        text = self.sections.get(heading, "")
        return [block.encode() for block in _BLOCK.findall(text)]


class LintRule:
    """What all rules share. A rule has a code, a severity, and finds things in a source."""

    code: ClassVar[str]
    """A letter of `FAMILIES` and three digits; it never changes its meaning."""
    severity: ClassVar[Severity] = Severity.WARNING
    """That of most of its findings."""
    is_default: ClassVar[bool] = True
    """Whether it is used unless a caller selects rules."""
    since: ClassVar[str] = "0.3"
    """The version of this package that had it first."""

    @property
    def name(self) -> str:
        """The name of its module, with hyphens; it reads well after "allow".

        A rule in `rules/trailing_star.py` is called `trailing-star`.
        """
        return type(self).__module__.rpartition(".")[2].replace("_", "-")

    @property
    def page(self) -> RulePage:
        """Its documentation."""
        return _page(type(self).__doc__ or "")

    def check(self, source: Source) -> Iterator[Finding]:
        """What this rule finds in a file, in the order of its lines."""
        raise NotImplementedError

    def finding(
        self,
        line: SourceLine | None,
        message: str,
        *,
        at: int | None = None,
        until: int | None = None,
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> Finding:
        """A finding about a line, or about some bytes of it; None is the file as a whole.

        Without `at` and `until` the line from its first character to its last is meant.
        """
        number, column, end_column = 1, 1, 0
        if line is not None:
            start = line.key_at if at is None else at
            end = max(len(line.raw.rstrip()), start) if until is None else until
            number, column, end_column = line.number, line.column(start), line.column(end)
        severity = severity or self.severity
        return Finding(self.code, self.name, severity, number, column, message, fix, end_column)

    def about_value(
        self,
        line: SourceLine,
        message: str,
        *,
        fix: Fix | None = None,
        severity: Severity | None = None,
    ) -> Finding:
        """A finding about the value of a line."""
        return self.finding(
            line, message, at=line.value_at, until=line.value_end, fix=fix, severity=severity
        )

    def removal(self, source: Source, line: SourceLine) -> Fix | None:
        """The removal of a rule line that is proved to be redundant; None if its group needs it.

        One rule line of a group always remains: the next User-agent line would join the group.
        """
        if line.number in source.last_rules:
            return None
        return self.fix("remove the line", line.removed(), is_proved=not source.is_utf16)

    @staticmethod
    def fix(summary: str, *edits: Edit, safety: Safety = "safe", is_proved: bool = False) -> Fix:
        """A fix; a safe one that is not proved is, before anybody applies it."""
        return Fix(tuple(edits), summary, safety, is_proved)


@cache
def all_rules() -> tuple[LintRule, ...]:
    """Every rule, by code."""
    family = "manners.lint.rules"
    modules = [_family.member(family, "lint rule", name) for name in _family.names(family)]
    return tuple(sorted((module.RULE for module in modules), key=lambda rule: rule.code))


def find_rules(names: tuple[str, ...]) -> frozenset[str]:
    """The codes that names mean: codes, names of rules, or letters of families.

    >>> sorted(find_rules(("crawl-delay", "F001")))
    ['D502', 'F001']
    """
    codes: set[str] = set()
    for name in names:
        if name == "all":
            chosen = {rule.code for rule in all_rules()}
        else:
            chosen = {
                rule.code
                for rule in all_rules()
                if name in (rule.code, rule.name) or (name in FAMILIES and rule.code[0] == name)
            }
        if not chosen:
            known = [rule.name for rule in all_rules()]
            raise UnknownName("lint rule", name, known)
        codes |= chosen
    return frozenset(codes)


@cache
def _page(docstring: str) -> RulePage:
    text = cleandoc(docstring)
    what, *rest = _HEADING.split(text)
    bodies = [body.strip() + "\n" for body in rest[1::2]]
    return RulePage(what.strip(), dict(zip(rest[::2], bodies, strict=True)))
