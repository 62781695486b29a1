"""SARIF 2.1.0: one JSON document, for code scanning.

https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
"""

import base64
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import manners
from manners.cli.linting import LintedFile, is_url, page_address
from manners.cli.render import as_json
from manners.identity import HOME_PAGE
from manners.lint.finding import Edit, Finding, Severity
from manners.lint.rule import FAMILIES, LintRule, all_rules

_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
_LEVELS = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.INFO: "note"}


def report(files: Sequence[LintedFile]) -> Iterator[str]:
    """The document: the rules there are, and a result for each finding."""
    driver = {
        "name": "manners",
        "version": manners.__version__,
        "informationUri": HOME_PAGE,
        "rules": [_rule(rule) for rule in all_rules()],
    }
    run = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [result for file in files for result in _results(file)],
    }
    yield as_json({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]})


def _rule(rule: LintRule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.page.what},
        "helpUri": page_address(rule.name),
        "defaultConfiguration": {"level": _LEVELS[rule.severity], "enabled": rule.is_default},
        "properties": {"tags": [FAMILIES[rule.code[0]]]},
    }


def _results(file: LintedFile) -> Iterator[dict[str, Any]]:
    place = {
        "uri": file.name
        if is_url(file.name)
        else quote(file.relative_name, errors="surrogateescape")
    }
    for finding, fingerprint in zip(file.findings, file.fingerprints(), strict=True):
        region = {"startLine": finding.line, "startColumn": finding.column}
        if finding.end_column > finding.column:
            region["endColumn"] = finding.end_column
        result = {
            "ruleId": finding.code,
            "level": _LEVELS[finding.severity],
            "message": {"text": finding.message},
            "locations": [{"physicalLocation": {"artifactLocation": place, "region": region}}],
            "partialFingerprints": {"mannersFinding/v1": fingerprint},
        }
        fixes = _fixes(file, finding, place)
        yield result | ({"fixes": fixes} if fixes else {})


def _fixes(file: LintedFile, finding: Finding, place: dict[str, str]) -> list[dict[str, Any]]:
    """The fix, if by itself it changes no verdict: programs apply what they find here."""
    # Edits count bytes of the text; in a file of UTF-16 these are not bytes of the file.
    fix = finding.fix
    if fix is None or not (fix.is_safe and fix.is_proved) or not file.body.endswith(file.data):
        return []
    mark = len(file.body) - len(file.data)
    replacements = [_replacement(edit, mark) for edit in fix.edits]
    change = {"artifactLocation": place, "replacements": replacements}
    return [{"description": {"text": fix.summary}, "artifactChanges": [change]}]


def _replacement(edit: Edit, mark: int) -> dict[str, Any]:
    region = {"byteOffset": edit.start + mark, "byteLength": edit.end - edit.start}
    found: dict[str, Any] = {"deletedRegion": region}
    if edit.replacement:
        try:
            content = {"text": edit.replacement.decode()}
        except UnicodeDecodeError:
            content = {"binary": base64.b64encode(edit.replacement).decode("ascii")}
        found["insertedContent"] = content
    return found
