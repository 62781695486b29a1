"""What may be done with the pages: purposes, who says so, and who contradicts whom."""

from manners._text import count
from manners.report.data import ClaimRow, Report, UsageConflict, UsageSummary
from manners.report.html.elements import Child, element, untrusted
from manners.report.html.parts import badge, cut_notice, details, note, small, table

ORDER = 55
TITLE = "What may be done with it"


def content(report: Report) -> Child:
    """A row for each purpose, and for each standard that says something."""
    usage = report.usage
    if usage is None:
        return None
    return [
        note(
            f"{count(usage.pages, 'page')}, fetched or refused for ",
            untrusted(usage.purpose),
            "; pages that say nothing about it were ",
            "refused. " if usage.unknown == "deny" else "kept. ",
            "What sites say in signals that machines read; not legal advice.",
        ),
        table(
            "Answers by purpose",
            ("Purpose", "Yes>", "No>", "Unknown>", "Contradictory>"),
            (
                (
                    _name(row.purpose, usage),
                    *(f"{number:,}" for number in (row.yes, row.no, row.unknown, row.conflicts)),
                )
                for row in usage.purposes
            ),
        ),
        _sources(usage),
        [
            details(
                f"Contradictory: {count(usage.conflicts.total, 'page')}",
                [
                    [_conflict(conflict) for conflict in usage.conflicts.rows],
                    cut_notice(usage.conflicts, "page", report),
                ],
            )
            if usage.conflicts.total
            else None
        ],
    ]


def _name(purpose: str, usage: UsageSummary) -> Child:
    return [purpose, small("the purpose of the crawl")] if purpose == usage.purpose else purpose


def _sources(usage: UsageSummary) -> Child:
    """Who says so; nothing if nobody does."""
    if not usage.sources:
        return None
    return table(
        "Pages by who says so",
        ("Standard", "Version", "Where", "Permits>", "Refuses>"),
        (
            (
                untrusted(row.standard),
                untrusted(row.edition),
                untrusted(row.source),
                f"{row.yes:,}",
                f"{row.no:,}",
            )
            for row in usage.sources
        ),
    )


def _conflict(conflict: UsageConflict) -> Child:
    return element(
        "div",
        untrusted(conflict.url),
        small(untrusted(conflict.purpose)),
        element("ul", [element("li", _claim(claim)) for claim in conflict.claims]),
    )


def _claim(claim: ClaimRow) -> Child:
    line = f" line {claim.line}" if claim.line else f" {claim.where}" if claim.where else ""
    return [
        badge(claim.value, "ok" if claim.value == "yes" else "no"),
        " ",
        untrusted(f"{claim.standard} ({claim.edition}), {claim.source}{line}: {claim.text}"),
    ]
