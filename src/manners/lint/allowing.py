"""Comments that allow a finding: `# manners: allow NAME` above a line, or behind it."""

import re
from typing import NamedTuple

from manners.lint.finding import Finding
from manners.lint.source import Source, SourceLine

_COMMENT = re.compile(r"manners: *allow +([A-Za-z0-9-]+(?: *, *[A-Za-z0-9-]+)*) *").fullmatch


class Allow(NamedTuple):
    """One name in such a comment."""

    name: str
    """The name or the code of a rule."""
    comment: SourceLine
    lines: frozenset[int]
    """The lines it is for."""

    def covers(self, finding: Finding) -> bool:
        """Whether a finding is allowed by this."""
        return finding.line in self.lines and self.name in (finding.name, finding.code)


def allows_of(source: Source) -> list[Allow]:
    """All names that comments of a file allow.

    A comment is for its own line or, if it stands by itself, for the next line that is neither a
    comment nor blank. Above the first such line it is also for findings about the file as a whole.

    >>> [allow.lines for allow in allows_of(Source(b"a: b\\n# manners: allow F001\\nc: d"))]
    [frozenset({3})]
    """
    allows: list[Allow] = []
    waiting: list[tuple[SourceLine, list[str]]] = []
    is_first = True
    for line in source.lines:
        names: list[str] = []
        found = _COMMENT(line.comment) if b"manners:" in line.raw else None
        if found:
            names = [name.strip() for name in found[1].split(",")]
        if line.kind in ("comment", "blank"):
            if names:
                waiting.append((line, names))
            continue
        if names:
            waiting.append((line, names))
        lines = frozenset({line.number, 1} if is_first else {line.number})
        allows += [Allow(name, comment, lines) for comment, some in waiting for name in some]
        waiting, is_first = [], False
    allows += [Allow(name, comment, frozenset()) for comment, some in waiting for name in some]
    return allows


def split_allowed(
    findings: list[Finding], allows: list[Allow]
) -> tuple[list[Finding], list[Allow]]:
    """The findings that no comment allows, and the allows that no finding needs."""
    if not allows:
        return findings, []
    by_line: dict[int, list[Allow]] = {}
    for allow in allows:
        for line in allow.lines:
            by_line.setdefault(line, []).append(allow)
    kept: list[Finding] = []
    used: set[int] = set()
    for finding in findings:
        covering = [allow for allow in by_line.get(finding.line, ()) if allow.covers(finding)]
        used.update(map(id, covering))
        if not covering:
            kept.append(finding)
    return kept, [allow for allow in allows if id(allow) not in used]
