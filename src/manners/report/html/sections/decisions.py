"""Which rule decided about how many URLs."""

from manners._text import count
from manners.report.data import Decision, Report
from manners.report.html import charts, words
from manners.report.html.elements import Child, untrusted
from manners.report.html.parts import (
    badge,
    cut_notice,
    missing_records,
    note,
    nothing,
    small,
    table,
)

ORDER = 30
TITLE = "Decisions"


def content(report: Report) -> Child:
    """A row for each rule, or for each reason where no rule decided."""
    decisions = report.decisions
    if not decisions.rows:
        return nothing(missing_records(report) or "There is no record of any.")
    most = max(decision.number for decision in decisions.rows)
    return [
        note(
            "What decided whether a page or a sitemap may be fetched:"
            f" {count(report.proof.decisions, 'decision')} on record, each with its reason."
            f" {missing_records(report)}",
        ),
        table(
            "Decisions by rule",
            ("", "Because of", "|", "URLs>"),
            (_row(decision, most) for decision in decisions.rows),
            hide=True,
        ),
        cut_notice(decisions, "rule", report),
    ]


def _row(decision: Decision, most: int) -> tuple[Child, ...]:
    kind = "ok" if decision.allowed else "no"
    return (
        badge("allowed" if decision.allowed else "blocked", kind),
        _grounds(decision),
        charts.bar(decision.number, most, kind),
        f"{decision.number:,}",
    )


def _grounds(decision: Decision) -> Child:
    reason = words.DECISIONS.get(decision.reason, decision.reason)
    if decision.line:
        same = f", and {count(decision.sites - 1, 'other')}" if decision.sites > 1 else ""
        place = small(f"line {decision.line} of ", untrusted(decision.robots), same)
        return [untrusted(decision.rule), place]
    if decision.rule:
        return [untrusted(decision.rule), small(reason)]
    return reason
