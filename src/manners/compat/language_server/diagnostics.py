"""Findings as diagnostics, fixes as edits: only those that change no verdict."""

from typing import NamedTuple

from lsprotocol import types

from manners import lint
from manners.compat.language_server.document import MAX_DOCUMENT, OpenDocument
from manners.identity import HOME_PAGE, NAME
from manners.lint.finding import Finding, Fix, Severity
from manners.lint.fixing import is_proved
from manners.lint.formatting import format_body
from manners.lint.impact.searching import StepBudget
from manners.lint.proving import unchanged
from manners.lint.source import Source
from manners.robots.policy import MAX_BYTES

MAX_DIAGNOSTICS = 1000
"""The worst are shown."""

_STEPS = 1_000_000
"""Steps of automata for proofs when fixes are asked for: about a second."""
_SEVERITIES = {
    Severity.ERROR: types.DiagnosticSeverity.Error,
    Severity.WARNING: types.DiagnosticSeverity.Warning,
    Severity.INFO: types.DiagnosticSeverity.Information,
}


def diagnostics(document: OpenDocument) -> list[types.Diagnostic]:
    """What the linter finds in a document."""
    first = types.Range(types.Position(0, 0), types.Position(0, 0))
    if document.is_too_large:
        text = f"not linted: more than {MAX_DOCUMENT:,} bytes; crawlers read {MAX_BYTES:,}"
        return [types.Diagnostic(first, text, types.DiagnosticSeverity.Warning, source=NAME)]
    found = [_diagnostic(document, finding) for finding in document.findings[:MAX_DIAGNOSTICS]]
    more = len(document.findings) - len(found)
    if more:
        text = f"{more:,} more findings are not shown"
        level = types.DiagnosticSeverity.Information
        found.append(types.Diagnostic(first, text, level, source=NAME))
    return found


def _diagnostic(document: OpenDocument, finding: Finding) -> types.Diagnostic:
    fix = finding.fix
    is_harmless = fix is not None and fix.is_safe and fix.is_proved
    edits = [document.text_edit(edit) for edit in fix.edits] if fix and is_harmless else []
    # Lines that can go are shown in grey.
    is_needless = bool(edits) and not any(
        edit.new_text or edit.range.start.character or edit.range.end.character for edit in edits
    )
    return types.Diagnostic(
        range=document.range_of(finding),
        message=f"{finding.message} ({finding.name})",
        severity=_SEVERITIES[finding.severity],
        code=finding.code,
        code_description=types.CodeDescription(f"{HOME_PAGE}lint/{finding.name}.html"),
        source=NAME,
        tags=[types.DiagnosticTag.Unnecessary] if is_needless else None,
    )


class Correction(NamedTuple):
    """Edits to be offered, and the diagnostic that they are for."""

    title: str
    edits: list[types.TextEdit]
    diagnostic: types.Diagnostic | None = None
    is_fix: bool = True
    """False for a comment that allows a finding."""


def corrections(document: OpenDocument, place: types.Range) -> list[Correction]:
    """For what is found in some lines: the proved fixes first, then comments that allow it."""
    numbers = range(place.start.line + 1, place.end.line + 2)
    fixes: list[Correction] = []
    comments: list[Correction] = []
    budget = StepBudget(_STEPS)
    for finding in document.findings[:MAX_DIAGNOSTICS]:
        if finding.line not in numbers:
            continue
        about = _diagnostic(document, finding)
        fix = finding.fix
        if fix is not None and fix.is_safe and _is_harmless(document, fix, budget):
            summary = fix.summary
            edits = [document.text_edit(edit) for edit in fix.edits]
            fixes.append(Correction(summary[:1].upper() + summary[1:], edits, about))
        if edit := _allowing_comment(document, finding):
            comments.append(Correction(f"Allow {finding.name} here", [edit], about, is_fix=False))
    return fixes + comments


def _is_harmless(document: OpenDocument, fix: Fix, budget: StepBudget) -> bool:
    """Whether a fix that is made alone is proved to change no verdict."""
    return fix.is_proved or is_proved(document.source, [fix], budget)


def _allowing_comment(document: OpenDocument, finding: Finding) -> types.TextEdit | None:
    """A comment above the line, or above the first directive for what is about the file."""
    says_something = (
        line for line in document.source.lines if line.kind not in ("comment", "blank")
    )
    if finding.line == 1:
        line = next(says_something, None)
    else:
        line = next((line for line in says_something if line.number == finding.line), None)
    if line is None:  # a comment is for the next line that is neither blank nor a comment
        return None
    return document.text_edit(line.inserted_before(b"# manners: allow " + finding.name.encode()))


def all_fixes(document: OpenDocument) -> list[Correction]:
    """Every proved fix of a document at once."""
    if document.is_too_large:
        return []
    engines, select, ignore = document.options
    fixed = lint.fix(document.body, engines, select=select, ignore=ignore)
    edits = document.edits_to(fixed)
    return [Correction("Apply all fixes that change no verdict", edits)] if edits else []


def formatted(document: OpenDocument) -> list[types.TextEdit]:
    """What `manners format` changes; nothing, if it is not proved that all verdicts stay."""
    if document.is_too_large:
        return []
    body = format_body(document.body)
    data, engines = document.source.data, document.options.engines
    if body == document.body or not unchanged(data, Source(body).data, engines):
        return []
    if document.source.line_end == b"\r\n":  # line ends are the editor's business
        body = body.replace(b"\r\n", b"\n").replace(b"\n", b"\r\n")
    return document.edits_to(body)
