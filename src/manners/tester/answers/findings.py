"""What the linter finds, with places and fixes as the editor of the page needs them."""

from typing import Any

from manners import lint
from manners.lint.finding import Finding, Severity
from manners.lint.rule import all_rules
from manners.tester.positions import Places
from manners.tester.question import BadQuestion, Question

MAX_LINTED = 128 * 1024
"""Bytes of a file that is linted: it takes seconds, and somebody waits. The command has no limit.
"""
MAX_LISTED = 300
"""Findings that are listed, the worst ones."""


def answer(question: Question) -> dict[str, Any]:
    """Findings in the order of lines, how many of each severity, and what their rules say."""
    refuse_large(question)
    found = lint.run(question.body, engines(question), url=question.file_url)
    order = list(Severity)
    worst = sorted(found, key=lambda finding: order.index(finding.severity))[:MAX_LISTED]
    worst.sort(key=lambda finding: (finding.line, finding.column))
    places, names = Places(question.robots), {finding.name for finding in worst}
    return {
        "findings": [_finding(places, finding) for finding in worst],
        "counts": {
            severity.value: sum(finding.severity is severity for finding in found)
            for severity in Severity
        },
        "fixable": sum(finding.fix is not None and finding.fix.is_safe for finding in found),
        "rules": {
            rule.name: {
                "what": rule.page.what,
                "why": rule.page.sections.get("Why it matters", "").strip(),
            }
            for rule in all_rules()
            if rule.name in names
        },
    }


def refuse_large(question: Question) -> None:
    """Raise for a file that takes too long to lint while somebody waits."""
    if len(question.body) > MAX_LINTED:
        raise BadQuestion(
            f"files of more than {MAX_LINTED:,} bytes are not linted here: run `manners lint`"
        )


def engines(question: Question) -> tuple[str, ...]:
    """The dialects for which a fix has to be safe: the linter's, and the chosen one."""
    return tuple(dict.fromkeys((*lint.ENGINES, question.dialect.name)))


def _finding(places: Places, finding: Finding) -> dict[str, Any]:
    """A finding; `from` and `to` are places in its line."""
    line, fix = finding.line, finding.fix
    return {
        **finding.to_dict(),
        "from": places.column(line, finding.column),
        "to": places.column(line, finding.end_column) if finding.end_column else None,
        "fix": fix
        and {
            "summary": fix.summary,
            "safe": fix.is_safe,
            # A safe fix that is not proved by itself is proved together with all others.
            "alone": fix.is_proved or not fix.is_safe,
            "edits": places.edits(fix.edits),
        },
    }
