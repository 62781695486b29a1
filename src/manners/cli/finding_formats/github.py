"""GitHub annotations: workflow commands, errors first, ten of a kind; the rest in the summary.

GitHub shows ten errors, ten warnings and ten notices of a step, and drops the others.
https://docs.github.com/en/actions/reference/workflows-and-actions/workflow-commands
"""

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from manners._text import count, printable
from manners.cli.inputs import warn
from manners.cli.linting import LintedFile, page_address
from manners.lint.finding import Finding, Severity

_KINDS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "notice"}
_MAX_SHOWN = 10
_MAX_ROWS = 1_000
"""Rows of the summary, which may have a mebibyte."""
_PUNCTUATION = re.compile(r"([!-/:-@\[-`{-~])")
_Placed = tuple[str, Finding]


def report(files: Sequence[LintedFile]) -> Iterator[str]:
    """Annotations, and how many findings have none."""
    placed = [(file.relative_name, finding) for file in files for finding in file.findings]
    rest: list[_Placed] = []
    for severity, kind in _KINDS.items():
        found = [item for item in placed if item[1].severity is severity]
        yield from (_annotation(kind, name, finding) for name, finding in found[:_MAX_SHOWN])
        rest += found[_MAX_SHOWN:]
    if not rest:
        return
    if _summarise(rest):
        yield f"{count(len(rest), 'more finding')}, not shown above: see the summary of the step"
        return
    yield f"{count(len(rest), 'more finding')}, without an annotation:"
    # Never at the beginning of a line: a file may have a name like a command.
    yield from (f"- {_harmless(f'{name}:{finding}')}" for name, finding in rest)


def _annotation(kind: str, name: str, finding: Finding) -> str:
    properties = {
        "file": name,
        "line": str(finding.line),
        "col": str(finding.column),
        "endColumn": str(finding.end_column or ""),
        "title": f"{finding.code} {finding.name}",
    }
    written = ",".join(f"{key}={_property(text)}" for key, text in properties.items() if text)
    message = f"{finding.message}\n{page_address(finding.name)}"
    return f"::{kind} {written}::{_data(message)}"


def _data(text: str) -> str:
    lines = (_harmless(line) for line in text.replace("%", "%25").split("\n"))
    return "%0A".join(line.replace("\r", "%0D") for line in lines)


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")


def _harmless(text: str) -> str:
    """Text that contains no command of the older form, which counts anywhere in a line."""
    return printable(text).replace("##[", "## [")


def _summarise(rest: list[_Placed]) -> bool:
    """Add findings to the summary of the step; False if there is none."""
    place = os.environ.get("GITHUB_STEP_SUMMARY")
    if not place:
        return False
    rows = [
        f"| {plain(f'{name}:{finding.line}')} | {finding.severity.value} |"
        f" [{finding.code} {finding.name}]({page_address(finding.name)}) |"
        f" {plain(finding.message)} |"
        for name, finding in rest[:_MAX_ROWS]
    ]
    title = f"### manners lint: {count(len(rest), 'finding')} without an annotation"
    lines = ["", title, "", "| Line | Severity | Rule | Finding |", "|---|---|---|---|", *rows]
    if len(rest) > _MAX_ROWS:
        lines += ["", f"And {len(rest) - _MAX_ROWS:,} more, not shown."]
    try:
        with Path(place).open("a", encoding="utf-8") as file:
            file.write("\n".join([*lines, "", ""]))
    except OSError as error:
        warn(f"cannot write the summary of the step: {error.strerror}")
        return False
    return True


def plain(text: str) -> str:
    """Text that Markdown shows as it is: no table, link, image or HTML comes of it."""
    return _PUNCTUATION.sub(r"\\\1", printable(text))
