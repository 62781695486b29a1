"""Text for people: the line with a caret, why it matters, where to read more; a summary."""

from collections import Counter
from collections.abc import Iterator, Sequence
from unicodedata import combining, east_asian_width

from manners._text import count, printable
from manners.cli.linting import LintedFile, page_address, why
from manners.cli.render import styled
from manners.lint.finding import Finding, Severity
from manners.lint.rule import all_rules

_STYLES = {Severity.ERROR: "red", Severity.WARNING: "yellow", Severity.INFO: "dim"}
_MARGIN = "    "
_BEFORE, _MAX_SHOWN = 40, 100
"""Characters of a long line: those before the place that is meant, and all."""


def report(files: Sequence[LintedFile]) -> Iterator[str]:
    """Every finding with its line; what its rule is about, at the first of each rule."""
    rules = {rule.code: rule for rule in all_rules()}
    seen = set()
    for file in files:
        for finding in file.findings:
            yield from _shown(file, finding)
            if finding.code not in seen and finding.code in rules:
                seen.add(finding.code)
                yield styled(_MARGIN + printable(why(rules[finding.code])), "dim")
                yield styled(_MARGIN + page_address(finding.name), "dim")
            yield ""
    if files:
        yield _summary(files)


def _shown(file: LintedFile, finding: Finding) -> Iterator[str]:
    place = printable(f"{file.name}:{finding.line}:{finding.column}")
    severity = styled(finding.severity.value, _STYLES[finding.severity])
    rule = styled(f"{finding.code} {finding.name}", "bold")
    yield f"{place} {severity} {rule}: {printable(finding.message)}"
    line = file.line(finding.line)
    if not line.strip():
        return
    start = max(finding.column - 1, 0)
    end = finding.end_column - 1 if finding.end_column else len(line.rstrip())
    first = max(start - _BEFORE, 0) if len(line) > _MAX_SHOWN else 0
    last = first + _MAX_SHOWN
    before = ("…" if first else "") + printable(line[first:start])
    meant, behind = printable(line[start : min(end, last)]), printable(line[max(start, end) : last])
    yield f"{_MARGIN}{before}{meant}{behind}" + ("…" if len(line) > last else "")
    carets = styled("^" * max(_width(meant), 1), _STYLES[finding.severity])
    yield _MARGIN + " " * _width(before) + carets


def _width(text: str) -> int:
    """The columns that a terminal needs for a text.

    >>> _width("a"), _width("日")
    (1, 2)
    """
    if text.isascii():
        return len(text)
    return sum(
        0 if combining(character) else 2 if east_asian_width(character) in "WF" else 1
        for character in text
    )


def _summary(files: Sequence[LintedFile]) -> str:
    found = [finding for file in files for finding in file.findings]
    where = f"in {count(len(files), 'file')}"
    if not found:
        return f"no findings {where}"
    numbers = Counter(finding.severity for finding in found)
    parts = [count(numbers[severity], severity.value) for severity in Severity if numbers[severity]]
    fixes = Counter(finding.fix.safety for finding in found if finding.fix is not None)
    fixable = []
    if fixes["safe"]:
        fixable.append(f"{fixes['safe']} fixable with --fix")
    if fixes["unsafe"]:
        more = " more" if fixes["safe"] else " fixable"
        fixable.append(f"{fixes['unsafe']}{more} with --unsafe-fixes")
    return "; ".join([f"{', '.join(parts)} {where}", *fixable])
